//! What pgbench itself drew.

use super::*;

/// What pgbench 15 drew with `--random-seed=11 -c 2`: uniform, exponential, normal, Zipfian, and
/// of a range beyond 32 bits, three times for each client.
const DRAWN: [[i64; 5]; 6] = [
    [945_128, 127, 506, 1, 569_938_077_066_521_229],
    [731_271, 52, 365, 1, 3_424_097_762_004_273_642],
    [413_375, 2, 644, 32, 2_639_058_219_350_949_400],
    [968_894, 189, 286, 1, 6_847_302_166_109_573_181],
    [947_758, 183, 98, 1, 1_813_093_291_510_877_044],
    [183_197, 172, 531, 1, 902_424_069_626_269_681],
];
const SEED_OF_HASHES: i64 = -1_958_466_976_704_677_522;
/// Which of three scripts with the weights 3, 1 and 2 it played with one client.
const CHOSEN: &str = "220200002112110200020111";

#[test]
fn a_seed_draws_what_it_draws_in_pgbench() {
    let whole = |low, high| [Value::Integer(low), Value::Integer(high)];
    for client in 0..2 {
        let mut scripts = Scripts::default();
        assert_eq!(scripts.seed(11, (1, 2), Some((client, 2))), SEED_OF_HASHES);
        for expected in &DRAWN[3 * client as usize..][..3] {
            let mut draw = |function: Function, range: [Value; 2], shape: Option<f64>| {
                let given: Vec<_> = range.into_iter().chain(shape.map(Value::Double)).collect();
                function.call(&given, &mut scripts.drawn)
            };
            let drawn = [
                draw(Function::Random, whole(1, 1_000_000), None),
                draw(Function::RandomExponential, whole(1, 1000), Some(2.5)),
                draw(Function::RandomGaussian, whole(1, 1000), Some(4.0)),
                draw(Function::RandomZipfian, whole(1, 1000), Some(1.5)),
                draw(
                    Function::Random,
                    whole(-9_000_000_000_000_000, 9_000_000_000_000_000_000),
                    None,
                ),
            ];
            assert_eq!(drawn, expected.map(|it| Ok(Value::Integer(it))));
            let one = draw(Function::Random, whole(7, 7), None);
            assert_eq!(one, Ok(Value::Integer(7)), "which takes nothing from the stream");
        }
    }
}

#[test]
fn a_mix_plays_its_scripts_in_pgbenchs_order() {
    let mut scripts = Scripts::default();
    scripts.seed(11, (1, 2), Some((0, 1)));
    for (number, weight) in [3, 1, 2].into_iter().enumerate() {
        let (steps, kind) = (Vec::new(), 0);
        let program = Program { steps, number, weight, kind, begins: false, first_command: 0 };
        scripts.add(program);
    }
    scripts.draw_from(3);
    let mut chosen = || {
        scripts.draw();
        scripts.current.to_string()
    };
    assert_eq!((0..24).map(|_| chosen()).collect::<String>(), CHOSEN);
}
