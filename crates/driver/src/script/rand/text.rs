//! Random text: templates, and letters that compress as wanted.

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Rand;

impl Rand {
    /// Appends a template's text: `#` becomes a digit, `@` a letter from a to z.
    pub fn string(&mut self, template: &[u8], text: &mut Vec<u8>) {
        let mut bits = Bits::default();
        for &byte in template {
            text.push(match byte {
                b'#' => b'0' + bits.below(10, &mut self.rng),
                b'@' => b'a' + bits.below(26, &mut self.rng),
                other => other,
            });
        }
    }

    /// Appends `least` to `most` letters; `percent` of them, the last, are random from a to z, and
    /// the rest are a.
    pub fn compressible(&mut self, least: f64, most: f64, percent: f64, text: &mut Vec<u8>) {
        let (least, most) = (least.min(most) as u64, most as u64);
        let length = (least + self.below(most - least + 1)) as usize;
        let varied = (length as f64 * (percent / 100.0).clamp(0.0, 1.0)) as usize;
        text.resize(text.len() + length - varied, b'a');
        let mut bits = Bits::default();
        text.extend((0..varied).map(|_| b'a' + bits.below(26, &mut self.rng)));
    }

    /// Appends `least` to `most` characters from `0` to `z`.
    pub fn varstring(&mut self, least: f64, most: f64, text: &mut Vec<u8>) {
        for _ in 0..self.uniform(least.min(most), most) as usize {
            text.push(self.byte(b'0', b'z' - b'0' + 1));
        }
    }

    fn byte(&mut self, first: u8, count: u8) -> u8 {
        first + ((u64::from(self.word()) * u64::from(count)) >> 32) as u8
    }
}

/// Letters that one draw of 64 bits serves: 8 take 38 of them, so the last is even to 2^-26.
const CHARACTERS_PER_DRAW: u32 = 8;

/// What is left of 64 random bits.
#[derive(Default)]
struct Bits {
    bits: u64,
    characters: u32,
}

impl Bits {
    /// A number below `count` from their top (Lemire's multiply).
    #[inline]
    fn below(&mut self, count: u8, rng: &mut Xoshiro256PlusPlus) -> u8 {
        if self.characters == 0 {
            *self = Self { bits: rng.random::<u64>(), characters: CHARACTERS_PER_DRAW };
        }
        self.characters -= 1;
        let product = u128::from(self.bits) * u128::from(count);
        self.bits = product as u64;
        (product >> 64) as u8
    }
}
