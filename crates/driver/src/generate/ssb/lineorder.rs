//! The lines of orders, each with what its order says.

use std::ops::Range;

use tpchgen::distribution::Distributions;
use tpchgen::random::RowRandomInt;

use super::super::Source;
use super::super::fields::{FILL_BYTES, put_number, put_text};
use super::dates::{DAYS, put_date_key};
use super::words::Texts;
use super::{Sizes, stream};
use crate::plan::error::Error;

const MOST_LINES: i32 = 7;
/// Days from 1992-01-01 on which something is ordered: 151 less than the calendar has, so that
/// TPC-H's latest receipts are within it.
const ORDER_DAYS: i64 = DAYS - 151;
/// One customer in three orders nothing.
const MORTALITY: i32 = 3;

/// Rows of lineorder, all of an order's lines or some.
pub struct Lineorder {
    orders: Range<i64>,
    customers: i32,
    parts: i32,
    suppliers: i32,
    of_order: OrderStreams,
    of_line: LineStreams,
    /// Lines of the next order that are left out.
    skipped: usize,
    /// Rows that are still to be written.
    left: u64,
    texts: Option<Texts>,
}

struct OrderStreams {
    date: RowRandomInt,
    customer: RowRandomInt,
    priority: RowRandomInt,
    lines: RowRandomInt,
}

struct LineStreams {
    part: RowRandomInt,
    supplier: RowRandomInt,
    quantity: RowRandomInt,
    discount: RowRandomInt,
    tax: RowRandomInt,
    commit: RowRandomInt,
    mode: RowRandomInt,
}

#[derive(Default, Clone, Copy)]
struct Line {
    part: i64,
    supplier: i64,
    quantity: i64,
    price: i64,
    discount: i64,
    tax: i64,
    commit: usize,
    mode: &'static str,
}

impl Line {
    /// Price in cents of one of it.
    fn unit_price(&self) -> i64 {
        90_000 + self.part / 10 % 20_001 + self.part % 1000 * 100
    }

    fn revenue(&self) -> i64 {
        self.price * (100 - self.discount) / 100
    }
}

/// Rows of lineorder by their number, each with a text of its own as its last field.
#[derive(Debug, Clone, Copy)]
pub struct Stretch {
    /// The first row, from 0.
    pub first: u64,
    /// How many.
    pub rows: u64,
    /// Random words of a text.
    pub words: u16,
    /// How often these are said in it.
    pub times: u16,
}

impl Lineorder {
    /// Rows of orders, which are numbered from 0 on.
    pub fn new(sizes: &Sizes, orders: Range<i64>) -> Self {
        let before = orders.start;
        let of_order = |seed| stream(seed, 1, DAYS + before);
        let of_line = |seed| stream(seed, MOST_LINES, before);
        Self {
            orders,
            customers: sizes.customers as i32,
            parts: sizes.ordered_parts as i32,
            suppliers: sizes.suppliers as i32,
            of_order: OrderStreams {
                date: of_order(1_066_728_069),
                customer: of_order(851_767_375),
                priority: of_order(591_449_447),
                lines: of_order(1_434_868_289),
            },
            of_line: LineStreams {
                part: of_line(1_808_217_256),
                supplier: of_line(2_095_021_727),
                quantity: of_line(209_208_115),
                discount: of_line(554_590_007),
                tax: of_line(721_958_466),
                commit: of_line(904_914_315),
                mode: of_line(675_466_456),
            },
            skipped: 0,
            left: u64::MAX,
            texts: None,
        }
    }

    /// Rows by their number: the orders before them are counted, not made.
    pub fn stretch(sizes: &Sizes, stretch: Stretch) -> Result<Self, Error> {
        let (mut orders, mut rows) = (0, 0);
        let (mut first, mut skipped) = (None, 0);
        let mut lines = Self::new(sizes, 0..0).of_order.lines;
        while first.is_none() || rows < stretch.first + stretch.rows {
            if orders == sizes.orders {
                let text = format!("lineorder has {rows} rows at this scale");
                return Err(Error::user(text)
                    .because(format!(
                        "the script asks for {} from row {} on",
                        stretch.rows, stretch.first
                    ))
                    .hint("choose a larger scale, or fewer rows"));
            }
            let count = lines.next_int(1, MOST_LINES) as u64;
            if first.is_none() && rows + count > stretch.first {
                first = Some(orders);
                skipped = (stretch.first - rows) as usize;
            }
            orders += 1;
            rows += count;
        }
        let mut made = Self::new(sizes, first.unwrap_or_default()..orders);
        made.skipped = skipped;
        made.left = stretch.rows;
        made.texts =
            (stretch.words > 0).then(|| Texts::new(stretch.words, stretch.times, stretch.first));
        Ok(made)
    }

    fn put_order(&mut self, index: i64, out: &mut Vec<u8>) {
        let words = Distributions::static_default();
        let date = self.of_order.date.next_int(0, ORDER_DAYS as i32 - 1);
        let customer = self.next_customer();
        let priority = words.order_priority().random_value(&mut self.of_order.priority);
        let count = self.of_order.lines.next_int(1, MOST_LINES) as usize;
        let mut lines = [Line::default(); MOST_LINES as usize];
        let mut total = 0;
        for line in &mut lines[..count] {
            *line = self.of_line.next(date, self.parts, self.suppliers);
            total += line.revenue() * (100 + line.tax) / 100;
        }
        self.of_line.finish_order();
        let first = std::mem::take(&mut self.skipped);
        for (at, line) in lines[..count].iter().enumerate().skip(first) {
            if self.left == 0 {
                return;
            }
            self.left -= 1;
            let numbers = [order_key(index + 1), at as i64 + 1, customer, line.part, line.supplier];
            for number in numbers {
                put_number(number, b'\t', out);
            }
            put_date_key(date as usize, b'\t', out);
            put_text(priority, out);
            let (revenue, cost) = (line.revenue(), 6 * line.unit_price() / 10);
            let ship_priority = 0;
            for number in [ship_priority, line.quantity, line.price, total, line.discount] {
                put_number(number, b'\t', out);
            }
            for number in [revenue, cost, line.tax] {
                put_number(number, b'\t', out);
            }
            put_date_key(line.commit, b'\t', out);
            out.extend_from_slice(line.mode.as_bytes());
            if let Some(texts) = &mut self.texts {
                out.push(b'\t');
                texts.put(out);
            }
            out.push(b'\n');
        }
    }

    /// Any customer but those who order nothing: their place is taken by the next one, or, behind
    /// the last one, by the one before.
    fn next_customer(&mut self) -> i64 {
        let mut customer = self.of_order.customer.next_int(1, self.customers);
        let mut step = 1;
        while customer % MORTALITY == 0 {
            customer = (customer + step).min(self.customers);
            step = -step;
        }
        customer.into()
    }
}

impl LineStreams {
    fn next(&mut self, ordered: i32, parts: i32, suppliers: i32) -> Line {
        let words = Distributions::static_default();
        let mut line = Line {
            part: self.part.next_int(1, parts).into(),
            supplier: self.supplier.next_int(1, suppliers).into(),
            quantity: self.quantity.next_int(1, 50).into(),
            price: 0,
            discount: self.discount.next_int(0, 10).into(),
            tax: self.tax.next_int(0, 8).into(),
            commit: (ordered + self.commit.next_int(30, 90)) as usize,
            mode: words.ship_modes().random_value(&mut self.mode),
        };
        line.price = line.unit_price() * line.quantity;
        line
    }

    /// Each order takes as many numbers as if it had the most lines.
    fn finish_order(&mut self) {
        let streams = [
            &mut self.part,
            &mut self.supplier,
            &mut self.quantity,
            &mut self.discount,
            &mut self.tax,
            &mut self.commit,
            &mut self.mode,
        ];
        streams.into_iter().for_each(RowRandomInt::row_finished);
    }
}

/// The key of an order, counted from 1: eight of each 32 keys are used, as in TPC-H (`mk_sparse`).
/// From scale 358 on they need more than 31 bits.
fn order_key(order: i64) -> i64 {
    order / 8 * 32 + order % 8
}

impl Source for Lineorder {
    fn fill(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        let end = out.len() + FILL_BYTES;
        while out.len() < end && self.left > 0 {
            let Some(index) = self.orders.next() else { break };
            self.put_order(index, out);
        }
        Ok(())
    }
}
