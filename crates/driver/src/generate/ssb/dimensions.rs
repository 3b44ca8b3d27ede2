//! Parts, suppliers and customers.

use std::io::Write;
use std::ops::Range;

use tpchgen::distribution::Distributions;
use tpchgen::random::RowRandomInt;

use super::super::Source;
use super::super::fields::{Written, put_last, put_number, put_text};
use super::stream;

/// Of stream 28, which customers and suppliers share.
const PHONE_SEED: i64 = 1_521_138_112;
/// Of stream 49, likewise.
const CITY_SEED: i64 = 1_495_190_827;
const COLORS: usize = 92;

/// Parts, by key from 0 on (their keys count from 1).
pub fn parts(keys: Range<i64>) -> Box<dyn Source> {
    let before = keys.start;
    let words = Distributions::static_default();
    let one = |seed| stream(seed, 1, before);
    let (mut maker, mut category, mut brand) = (one(1), one(637_858_759), one(46_831_694));
    let (mut kind, mut size) = (one(1_841_581_359), one(1_193_163_244));
    let (mut container, mut color) = (one(727_633_698), stream(709_314_158, 92, before));
    let put = move |key: &i64, out: &mut Vec<u8>| {
        let [first, second, third] =
            three_colors(&mut color).map(|at| words.part_colors().get_value(at));
        put_number(key + 1, b'\t', out);
        let _ = write!(out, "{second} {third}\t");
        let (maker, category) = (maker.next_int(1, 5), category.next_int(1, 5));
        let brand = brand.next_int(1, 40);
        let _ =
            write!(out, "MFGR#{maker}\tMFGR#{maker}{category}\tMFGR#{maker}{category}{brand}\t");
        put_text(first, out);
        put_text(words.part_types().random_value(&mut kind), out);
        put_number(size.next_int(1, 50).into(), b'\t', out);
        put_last(words.part_containers().random_value(&mut container), out);
    };
    Box::new(Written { rows: keys, put })
}

/// The first three of all colors, shuffled as TPC-H's dbgen once did: each changes places with any.
/// A shuffle takes all the 92 numbers that a row may take.
fn three_colors(random: &mut RowRandomInt) -> [usize; 3] {
    let mut order: [usize; COLORS] = std::array::from_fn(|at| at);
    for at in 0..COLORS {
        order.swap(at, random.next_int(0, COLORS as i32 - 1) as usize);
    }
    [order[0], order[1], order[2]]
}

/// Where somebody is: address, city, nation, region, phone.
struct Place {
    address: RowRandomInt,
    nation: RowRandomInt,
    city: RowRandomInt,
    phone: RowRandomInt,
}

impl Place {
    /// `shared`: rows that took numbers of the shared streams before.
    fn new(address_seed: i64, nation_seed: i64, before: i64, shared: i64) -> Self {
        Self {
            address: stream(address_seed, 9, before),
            nation: stream(nation_seed, 1, before),
            city: stream(CITY_SEED, 1, shared + before),
            phone: stream(PHONE_SEED, 3, shared + before),
        }
    }

    /// Its fields but for what follows the phone.
    fn put(&mut self, out: &mut Vec<u8>) {
        put_address(&mut self.address, out);
        let words = Distributions::static_default();
        let at = self.nation.next_int(0, words.nations().size() as i32 - 1);
        let nation = words.nations().get_value(at as usize);
        let _ = write!(out, "{nation:9.9}{}\t", self.city.next_int(0, 9));
        put_text(nation, out);
        put_text(words.regions().get_value(words.nations().get_weight(at as usize) as usize), out);
        let _ = write!(out, "{}-", 10 + at);
        let phone = &mut self.phone;
        let (area, exchange) = (phone.next_int(100, 999), phone.next_int(100, 999));
        let _ = write!(out, "{area}-{exchange}-{}", phone.next_int(1000, 9999));
    }
}

const LETTERS: &[u8; 64] = b"0123456789abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ,";

/// 6 to 24 letters, five to a random number of 31 bits. That number's range is counted in 64 bits,
/// where TPC-H's dbgen lets it overflow.
fn put_address(random: &mut RowRandomInt, out: &mut Vec<u8>) {
    let length = random.next_int(6, 24);
    let mut bits = 0;
    for at in 0..length {
        if at % 5 == 0 {
            let share = random.next_rand() as f64 / f64::from(i32::MAX);
            bits = (share * 2_147_483_648.0) as usize;
        }
        out.push(LETTERS[bits % 64]);
        bits >>= 6;
    }
    random.row_finished();
    out.push(b'\t');
}

/// Suppliers, by key from 0 on.
pub fn suppliers(keys: Range<i64>) -> Box<dyn Source> {
    let mut place = Place::new(706_178_559, 110_356_601, keys.start, 0);
    let put = move |key: &i64, out: &mut Vec<u8>| {
        let _ = write!(out, "{0}\tSupplier#{0:09}\t", key + 1);
        place.put(out);
        out.push(b'\n');
    };
    Box::new(Written { rows: keys, put })
}

/// Customers, by key from 0 on; so many suppliers came before them.
pub fn customers(keys: Range<i64>, suppliers: i64) -> Box<dyn Source> {
    let words = Distributions::static_default();
    let mut place = Place::new(881_155_353, 1_489_529_863, keys.start, suppliers);
    let mut segment = stream(1_140_279_430, 1, keys.start);
    let put = move |key: &i64, out: &mut Vec<u8>| {
        let _ = write!(out, "{0}\tCustomer#{0:09}\t", key + 1);
        place.put(out);
        out.push(b'\t');
        put_last(words.market_segments().random_value(&mut segment), out);
    };
    Box::new(Written { rows: keys, put })
}
