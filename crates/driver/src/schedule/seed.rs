//! Seeds that differ by every name, alike on all machines and with all versions of Rust.

/// A stream's seed: by the trial's seed, and the names of its phase and its own.
pub fn seed_of(trial: u64, names: &[&str]) -> u64 {
    let bytes = names.iter().flat_map(|name| name.bytes().chain([0]));
    fnv1a(0xcbf2_9ce4_8422_2325, trial.to_le_bytes().into_iter().chain(bytes))
}

/// The hash FNV-1a of 64 bits, continued from an earlier one.
pub fn fnv1a(hash: u64, bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::seed_of;

    #[test]
    fn seeds_differ_by_trial_phase_and_stream() {
        let seeds = [
            seed_of(1, &["qr100", "writers"]),
            seed_of(2, &["qr100", "writers"]),
            seed_of(1, &["qr500", "writers"]),
            seed_of(1, &["qr100", "readers"]),
            seed_of(1, &["qr100writers", ""]),
        ];
        let distinct: std::collections::BTreeSet<u64> = seeds.into_iter().collect();
        assert_eq!(distinct.len(), seeds.len());
    }
}
