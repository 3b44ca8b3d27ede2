//! TPC-C's initial population (clause 4.3.3): nine tables of any range of warehouses.
//!
//! A row depends on the seed, its table and its key alone, so any range can be made by itself. How
//! many lines an order has is drawn with the order, and its lines look there.

mod draws;
mod rows;

use std::ops::RangeInclusive;

use serde::Deserialize;

use self::draws::Draws;
use super::Source;
use super::fields::Written;
use crate::plan::error::Error;

const DISTRICTS: u32 = 10;
/// Columns of keys take 31 bits.
const MOST: u32 = i32::MAX as u32;

/// A table of TPC-C.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TpccTable {
    /// A row for each warehouse.
    Warehouse,
    /// Ten for each warehouse.
    District,
    /// So many for each district.
    Customer,
    /// A payment of each customer.
    History,
    /// The same for all warehouses.
    Item,
    /// Of each item, for each warehouse.
    Stock,
    /// One of each customer, in random order.
    Orders,
    /// A district's last orders, which are not delivered.
    NewOrders,
    /// 5 to 15 of each order.
    OrderLine,
}

/// Which rows of one table, and what they must know of the others.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Population {
    /// Which of the nine.
    pub table: TpccTable,
    /// Another one makes other rows.
    pub seed: u64,
    /// The first warehouse, from 1; items belong to none.
    #[serde(default = "one")]
    pub first: u32,
    /// How many warehouses.
    #[serde(default = "one")]
    pub warehouses: u32,
    /// Items, and a warehouse's stock of them.
    pub items: u32,
    /// Customers of a district, and its orders.
    pub customers: u32,
    /// A district's first orders, which are delivered.
    pub delivered: u32,
    /// Last names in use: a district's first customers have each once.
    pub last_names: u32,
    /// The constant C by which the other customers' last names are drawn (clause 2.1.6).
    pub c_last: u32,
    /// Delivery date of a line that is not delivered; NULL where absent.
    #[serde(default)]
    pub undelivered: Option<String>,
}

fn one() -> u32 {
    1
}

/// A row's warehouse, district and number; 0 where it has none.
type Key = [u32; 3];

/// Makes ready to make rows.
pub fn open(population: &Population) -> Result<Box<dyn Source>, Error> {
    population.check()?;
    let it = population.clone();
    let (each_warehouse, each_district) = (0..=0, 1..=DISTRICTS);
    let customers = 1..=it.customers;
    Ok(match it.table {
        TpccTable::Warehouse => it.written(each_warehouse, 0..=0, rows::put_warehouse),
        TpccTable::District => it.written(each_district, 0..=0, rows::put_district),
        TpccTable::Customer => it.written(each_district, customers, rows::put_customer),
        TpccTable::History => it.written(each_district, customers, rows::put_history),
        TpccTable::Item => Population { first: 0, warehouses: 1, ..it }.written(
            each_warehouse,
            1..=population.items,
            rows::put_item,
        ),
        TpccTable::Stock => it.written(each_warehouse, 1..=population.items, rows::put_stock),
        TpccTable::Orders => {
            let mut buyers = Buyers::default();
            it.written(each_district, customers, move |it, key, draws, out| {
                rows::put_order(it, key, buyers.of(it, key), draws, out);
            })
        }
        TpccTable::NewOrders => {
            let waiting = it.delivered + 1..=it.customers;
            it.written(each_district, waiting, rows::put_new_order)
        }
        TpccTable::OrderLine => it.written(each_district, customers, rows::put_lines),
    })
}

impl Population {
    /// Rows for each number of each district, written with random numbers of their own.
    fn written(
        self,
        districts: RangeInclusive<u32>,
        numbers: RangeInclusive<u32>,
        mut put: impl FnMut(&Self, Key, &mut Draws, &mut Vec<u8>) + 'static,
    ) -> Box<dyn Source> {
        let rows = (self.first..self.first + self.warehouses).flat_map(move |warehouse| {
            let numbers = numbers.clone();
            districts.clone().flat_map(move |district| {
                numbers.clone().map(move |number| [warehouse, district, number])
            })
        });
        let put = move |key: &Key, out: &mut Vec<u8>| {
            put(&self, *key, &mut self.draws(self.table, *key), out);
        };
        Box::new(Written { rows, put })
    }

    /// The random numbers of a row.
    fn draws(&self, table: TpccTable, key: Key) -> Draws {
        Draws::new(self.seed, table as u32, key)
    }

    fn check(&self) -> Result<(), Error> {
        let refuse = |what: String| Err(Error::user(format!("TPC-C cannot make {what}")));
        let Self { first, warehouses, items, customers, .. } = *self;
        if first < 1 || first.checked_add(warehouses).is_none_or(|end| end > MOST) {
            return refuse(format!("{warehouses} warehouses from {first} on"));
        }
        if !(1..=MOST / 100).contains(&customers) || !(1..=MOST).contains(&items) {
            return refuse(format!("{customers} customers of a district, or {items} items"));
        }
        if self.delivered > customers {
            return refuse(format!("{} delivered orders of {customers}", self.delivered));
        }
        if !(1..=1000).contains(&self.last_names) || self.c_last > draws::A_LAST {
            return refuse(format!("{} last names with C = {}", self.last_names, self.c_last));
        }
        match &self.undelivered {
            Some(date) if date.bytes().any(|byte| !b"0123456789-: ".contains(&byte)) => {
                refuse(format!("date '{date}'"))
            }
            _ => Ok(()),
        }
    }
}

/// Who placed a district's orders: every customer once, in random order.
#[derive(Default)]
struct Buyers {
    district: [u32; 2],
    customers: Vec<u32>,
}

impl Buyers {
    /// The one of an order.
    fn of(&mut self, it: &Population, [warehouse, district, order]: Key) -> u32 {
        if self.district != [warehouse, district] {
            self.district = [warehouse, district];
            self.customers = (1..=it.customers).collect();
            let mut draws = it.draws(TpccTable::Orders, [warehouse, district, 0]);
            for at in (1..self.customers.len()).rev() {
                self.customers.swap(at, draws.number(0, at as i64) as usize);
            }
        }
        self.customers[order as usize - 1]
    }
}

#[cfg(test)]
mod tests;
