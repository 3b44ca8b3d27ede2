//! Reproducible random numbers, as a script sees them.

use super::*;

fn drawn(seat: &Seat, seed: u64, options: &[(&str, &str)]) -> BTreeMap<String, u64> {
    let folder = Folder::new();
    let mut plan = folder.plan(
        "function event()
           for i = 1, 4 do dyno.count('u' .. i, sysbench.rand.uniform(1, 1e9)) end
           dyno.count('unique', sysbench.rand.unique())
           assert(type(sysbench.rand.uniform_uint64()) == 'cdata')
           assert(sb_rand_str('a#@') :match('^a%d%l$') and sb_rand_uniq() >= 0)
           assert(#sysbench.rand.varstring(2, 5) >= 2)
        end",
    );
    plan.seed = seed;
    let options = options.iter().map(|(name, text)| (name.to_string(), text.to_string()));
    plan.script.options = options.collect();
    let mut user = User::load(&plan, seat).unwrap();
    assert_eq!(user.begin("event").unwrap(), DONE);
    user.counters()
}

#[test]
fn the_same_seed_and_seat_send_the_same_and_any_other_does_not() {
    let first = drawn(&SEAT, 1, &[]);
    assert_eq!(first, drawn(&SEAT, 1, &[]));
    let others = [
        drawn(&SEAT, 2, &[]),
        drawn(&SEAT, 1, &[("rand_seed", "5")]),
        drawn(&Seat { number: 1, users: 2, ..SEAT }, 1, &[]),
        drawn(&Seat { phase: "other", ..SEAT }, 1, &[]),
        drawn(&Seat { stream: "other", ..SEAT }, 1, &[]),
        drawn(&Seat { command: "other", ..SEAT }, 1, &[]),
    ];
    for (at, other) in others.iter().enumerate() {
        assert_ne!(&first, other);
        assert!(!others[..at].contains(other));
    }
    assert_eq!(others[1], drawn(&SEAT, 9, &[("rand_seed", "5")]));
}
