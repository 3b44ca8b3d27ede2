//! 32-bit numbers that no two users of a stream share.

/// A user's numbers, in the order of Preshing's permutation (public domain): of the users of a
/// stream each has every n-th. Streams begin at hashed places, so that two of them overlap only by
/// chance: with a million numbers each, about once in 2000 pairs.
pub struct Unique {
    index: u32,
    step: u32,
    offset: u32,
}

impl Unique {
    /// From the place `start` on, every `users`-th number; streams of one seed share the order.
    pub fn new(start: u32, users: u32, seed: u64) -> Self {
        let offset = permuted(permuted(seed as u32).wrapping_add(0x4679_0905));
        Self { index: start, step: users.max(1), offset }
    }

    /// The next number.
    pub fn next(&mut self) -> u32 {
        let index = self.index;
        self.index = index.wrapping_add(self.step);
        permuted(permuted(index).wrapping_add(self.offset) ^ 0x5bf0_3635)
    }
}

/// A permutation of the 32-bit numbers by quadratic residues (J. Preshing, "How to Generate a
/// Sequence of Unique Random Integers", 2012).
fn permuted(x: u32) -> u32 {
    const PRIME: u32 = 4_294_967_291;
    if x >= PRIME {
        return x;
    }
    let residue = (u64::from(x) * u64::from(x) % u64::from(PRIME)) as u32;
    if x <= PRIME / 2 { residue } else { PRIME - residue }
}
