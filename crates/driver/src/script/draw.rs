//! Random values of a declared event: `sysbench.rand`'s functions, called when it is played.

use serde::Deserialize;

use crate::script::rand::Rand;
use crate::sessions::Value;

/// One of the functions of `sysbench.rand`, with its arguments.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Draw {
    Default(f64, f64),
    Uniform(f64, f64),
    Gaussian(f64, f64),
    Special(f64, f64),
    Pareto(f64, f64),
    Zipfian(f64, f64),
    Unique {},
    UniformDouble {},
    String(String),
    Varstring(f64, f64),
    /// Not one of `sysbench.rand`.
    Compressible(f64, f64, f64),
}

impl Draw {
    /// Puts the next value into a slot, in the place of the last one.
    #[inline]
    pub fn put(&self, slot: &mut Value, rand: &mut Rand) {
        let number = match self {
            Self::Default(a, b) => rand.by_default(*a, *b),
            Self::Uniform(a, b) => rand.uniform(*a, *b),
            Self::Gaussian(a, b) => rand.gaussian(*a, *b),
            Self::Special(a, b) => rand.special(*a, *b),
            Self::Pareto(a, b) => rand.pareto(*a, *b),
            Self::Zipfian(a, b) => rand.zipfian(*a, *b),
            Self::Unique {} => f64::from(rand.unique()),
            Self::UniformDouble {} => return *slot = Value::Real(rand.double()),
            Self::String(template) => return rand.string(template.as_bytes(), text(slot)),
            Self::Compressible(least, most, percent) => {
                return rand.compressible(*least, *most, *percent, text(slot));
            }
            Self::Varstring(least, most) => return rand.varstring(*least, *most, text(slot)),
        };
        *slot = Value::Integer(number as i64);
    }
}

/// The slot's text, emptied.
fn text(slot: &mut Value) -> &mut Vec<u8> {
    if !matches!(slot, Value::Text(_)) {
        *slot = Value::Text(Vec::new());
    }
    match slot {
        Value::Text(text) => {
            text.clear();
            text
        }
        _ => unreachable!(),
    }
}
