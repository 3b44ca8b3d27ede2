//! A row's random values (clauses 2.1.6 and 4.3.2).

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Key;
use crate::schedule::fnv1a;

/// The constant A of NURand for last names.
pub const A_LAST: u32 = 255;
/// Letters or digits out of one random number: its 64 bits favor none of 26^8 texts visibly.
const AT_ONCE: usize = 8;

/// Random numbers of one row.
pub struct Draws(Xoshiro256PlusPlus);

impl Draws {
    /// The same row of the same table has the same, wherever it is made.
    pub fn new(seed: u64, table: u32, [warehouse, district, number]: Key) -> Self {
        let parts = [table, warehouse, district, number];
        let row = fnv1a(0xcbf2_9ce4_8422_2325 ^ seed, parts.into_iter().flat_map(u32::to_le_bytes));
        Self(Xoshiro256PlusPlus::seed_from_u64(row))
    }

    /// A whole number of a range, each alike (Lemire's multiply).
    pub fn number(&mut self, low: i64, high: i64) -> i64 {
        let count = (high - low + 1) as u128;
        low + ((u128::from(self.0.random::<u64>()) * count) >> 64) as i64
    }

    /// True so many times in a hundred.
    pub fn percent(&mut self, share: i64) -> bool {
        self.number(1, 100) <= share
    }

    /// How many lines an order has: what is drawn first for it.
    pub fn lines(&mut self) -> i64 {
        self.number(5, 15)
    }

    /// The number of a last name, below `names`: NURand(255, 0, names - 1) with its constant C.
    pub fn last_name(&mut self, c: u32, names: u32) -> u32 {
        let (a, x) = (self.number(0, A_LAST.into()), self.number(0, i64::from(names) - 1));
        ((a | x) as u32 + c) % names
    }

    /// A field of small letters, between two lengths.
    pub fn put_letters(&mut self, least: usize, most: usize, out: &mut Vec<u8>) {
        let length = self.number(least as i64, most as i64) as usize;
        self.put_signs(b'a', 26, length, out);
        out.push(b'\t');
    }

    /// So many digits, which the field may go on after.
    pub fn put_digits(&mut self, count: usize, out: &mut Vec<u8>) {
        self.put_signs(b'0', 10, count, out);
    }

    fn put_signs(&mut self, first: u8, kinds: u64, count: usize, out: &mut Vec<u8>) {
        let mut left = count;
        while left > 0 {
            let mut bits: u64 = self.0.random();
            let signs: [u8; AT_ONCE] = std::array::from_fn(|_| {
                let product = u128::from(bits) * u128::from(kinds);
                bits = product as u64;
                first + (product >> 64) as u8
            });
            let taken = left.min(AT_ONCE);
            out.extend_from_slice(&signs[..taken]);
            left -= taken;
        }
    }
}
