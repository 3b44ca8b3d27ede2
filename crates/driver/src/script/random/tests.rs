//! Each distribution against its law, and streams against one another.

use std::collections::HashSet;

use super::{Distribution, Origin, Rand, Shape};

fn rand(number: u32, users: u32) -> Rand {
    let shape = Shape {
        default: Distribution::Uniform,
        iterations: 12,
        special_percent: 1.0,
        special_share: 75.0,
        pareto_h: 0.2,
        zipfian_exponent: 0.8,
    };
    Rand::new(&Origin { seed: 11, names: ["run", "p", "s"], number, users }, shape)
}

/// 100,000 numbers from 1 to `most`, sorted; all whole and within bounds.
fn drawn(most: f64, mut draw: impl FnMut(&mut Rand, f64, f64) -> f64) -> Vec<f64> {
    let mut rand = rand(0, 1);
    let mut numbers: Vec<f64> = (0..100_000).map(|_| draw(&mut rand, 1.0, most)).collect();
    numbers.sort_by(f64::total_cmp);
    assert!(numbers.iter().all(|n| n.fract() == 0.0 && (1.0..=most).contains(n)));
    numbers
}

fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len() as f64
}

fn share(numbers: &[f64], from: f64, to: f64) -> f64 {
    let within = numbers.iter().filter(|n| (from..=to).contains(*n)).count();
    within as f64 / numbers.len() as f64
}

#[test]
fn uniform_reaches_all_numbers_alike() {
    let numbers = drawn(10.0, Rand::uniform);
    for k in 1..=10 {
        assert!((share(&numbers, f64::from(k), f64::from(k)) - 0.1).abs() < 0.005);
    }
    assert_eq!(rand(0, 1).uniform(5.9, 5.2), 5.0);
}

#[test]
fn gaussian_is_the_mean_of_twelve_uniforms() {
    let numbers = drawn(1000.0, Rand::gaussian);
    let mean = mean(&numbers);
    let variance = numbers.iter().map(|n| (n - mean).powi(2)).sum::<f64>() / 1e5;
    assert!((mean - 500.5).abs() < 2.0, "{mean}");
    assert!((variance.sqrt() - 1000.0 / 12.0).abs() < 1.0, "{}", variance.sqrt());
}

#[test]
fn special_puts_three_quarters_into_the_middle_hundredth() {
    let numbers = drawn(10_000.0, Rand::special);
    let spot = share(&numbers, 4950.0, 5051.0);
    assert!((0.75..0.80).contains(&spot), "{spot}");
    assert!(share(&numbers, 1.0, 4000.0) > 0.01);
    assert!(drawn(1.0, Rand::special).iter().all(|n| *n == 1.0));
    drawn(2.0, Rand::special);
}

#[test]
fn pareto_gives_eighty_percent_to_the_first_fifth() {
    let numbers = drawn(10_000.0, Rand::pareto);
    let first = share(&numbers, 1.0, 2000.0);
    assert!((first - 0.8).abs() < 0.01, "{first}");
}

#[test]
fn zipfian_follows_its_law() {
    let numbers = drawn(100.0, Rand::zipfian);
    let weights: f64 = (1..=100).map(|k| f64::from(k).powf(-0.8)).sum();
    for k in [1.0, 2.0, 10.0, 100.0_f64] {
        let wanted = k.powf(-0.8) / weights;
        let got = share(&numbers, k, k);
        assert!((got - wanted).abs() < 0.1 * wanted, "{k}: {got} for {wanted}");
    }
}

#[test]
fn unique_numbers_repeat_for_no_user_of_a_stream() {
    let mut seen = HashSet::new();
    for number in 0..4 {
        let mut rand = rand(number, 4);
        assert!((0..10_000).all(|_| seen.insert(rand.unique())));
    }
}

#[test]
fn strings_follow_their_template() {
    let mut text = Vec::new();
    rand(0, 1).string(b"##-@@ x", &mut text);
    assert!(text[..2].iter().all(u8::is_ascii_digit));
    assert!(text[3..5].iter().all(u8::is_ascii_lowercase));
    assert_eq!((text[2], &text[5..]), (b'-', &b" x"[..]));
    let mut rand = rand(0, 1);
    for _ in 0..1000 {
        text.clear();
        rand.varstring(2.0, 5.0, &mut text);
        assert!((2..=5).contains(&text.len()));
        assert!(text.iter().all(|byte| (b'0'..=b'z').contains(byte)));
    }
}

#[test]
fn compressible_text_is_of_a_length_within_bounds_and_random_at_its_end() {
    let (mut rand, mut text) = (rand(0, 1), Vec::new());
    let (mut lengths, mut last) = (HashSet::new(), HashSet::new());
    for _ in 0..2000 {
        text.clear();
        rand.compressible(10.0, 20.0, 50.0, &mut text);
        lengths.insert(text.len());
        assert!(text[..text.len().div_ceil(2)].iter().all(|byte| *byte == b'a'));
        last.extend(text[text.len().div_ceil(2)..].iter().copied());
    }
    assert_eq!(lengths, (10..=20).collect());
    assert_eq!(last, (b'a'..=b'z').collect());
}
