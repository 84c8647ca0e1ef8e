//! A contest: contenders that do the same work in one process, each round all of them in a freshly shuffled order.
//!
//! What the machine does meanwhile meets all of them alike, so a ratio of medians is what counts; the quartiles beside
//! it say how far single samples lie apart. What a sample is, a time or another number, each contender decides
//! itself. Knows nothing of hooks.
#![allow(dead_code, unreachable_pub, reason = "each bench uses its own part")]

pub mod floor;
pub mod place;

use std::hint::black_box;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// How long to measure, from the arguments of `cargo bench -- [ROUNDS]`.
pub fn rounds(usual: usize) -> usize {
    let given = std::env::args().find_map(|argument| argument.parse().ok());
    if is_bench() {
        given.unwrap_or(usual).max(1)
    } else {
        1
    }
}

/// Not with `cargo test --benches`: there each contender runs once, to show that it does, and nothing is judged.
fn is_bench() -> bool {
    std::env::args().any(|argument| argument == "--bench")
}

/// Nanoseconds that `work` takes, and the drop of what it returns.
pub fn timed<T>(work: impl FnOnce() -> T) -> f64 {
    let begin = Instant::now();
    drop(black_box(work()));
    begin.elapsed().as_secs_f64() * 1e9
}

/// Says whether a target is met.
pub fn target(what: &str, value: f64, most: f64) {
    let judgement = if value <= most { "met" } else { "MISSED" };
    println!(
        "  {what}: {value:.3}, at most {most}: {}",
        if is_bench() { judgement } else { "not judged" }
    );
}

/// xorshift64*, for orders that nobody chose; the seed is printed and can be given in `SEED`.
pub struct Random(u64);

impl Random {
    pub fn new() -> Random {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(1, |now| now.as_micros() as u64);
        let seed = std::env::var("SEED")
            .ok()
            .and_then(|seed| seed.parse().ok())
            .unwrap_or(now)
            .max(1);
        println!("SEED={seed}");
        Random(seed)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % bound
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

/// One sample: nanoseconds, mostly.
type Sample<'a> = Box<dyn FnMut() -> f64 + 'a>;

struct Contender<'a> {
    name: &'static str,
    /// It runs in every round of this many.
    every: usize,
    sample: Sample<'a>,
    samples: Vec<f64>,
}

/// Contenders before they have run; the first is the base of the table.
#[derive(Default)]
pub struct Contest<'a>(Vec<Contender<'a>>);

impl<'a> Contest<'a> {
    pub fn with(self, name: &'static str, sample: impl FnMut() -> f64 + 'a) -> Contest<'a> {
        self.rarely(1, name, sample)
    }

    /// One that takes so long that it runs in every round of `every` alone.
    pub fn rarely(
        mut self,
        every: usize,
        name: &'static str,
        sample: impl FnMut() -> f64 + 'a,
    ) -> Contest<'a> {
        self.0.push(Contender {
            name,
            every,
            sample: Box::new(sample),
            samples: Vec::new(),
        });
        self
    }

    /// Runs all, and prints the ratios to the base.
    pub fn run(mut self, title: &str, rounds: usize, random: &mut Random) -> Outcome {
        let mut order: Vec<usize> = (0..self.0.len()).collect();
        // The first rounds warm up.
        let warm = rounds / 20;
        for round in 0..warm + rounds {
            random.shuffle(&mut order);
            for contender in &order {
                let contender = &mut self.0[*contender];
                if round % contender.every == 0 {
                    let sample = (contender.sample)();
                    contender
                        .samples
                        .extend((round >= warm || contender.every > 1).then_some(sample));
                }
            }
        }
        let sorted = self.0.into_iter().map(|mut contender| {
            contender.samples.sort_by(f64::total_cmp);
            (contender.name, contender.samples)
        });
        let outcome = Outcome(sorted.collect());
        println!("\n{title}, {rounds} rounds");
        let base = quantile(&outcome.0[0].1, 0.5);
        println!(
            "  {:<44} {:>8}  {:>17}",
            "ratio of medians to the first", "median", "quartiles"
        );
        for (name, samples) in &outcome.0 {
            let [low, median, high] = [0.25, 0.5, 0.75].map(|part| quantile(samples, part) / base);
            println!("  {name:<44} {median:>8.3}  {low:>8.3} {high:>8.3}");
        }
        outcome
    }
}

/// What the contenders came to.
pub struct Outcome(Vec<(&'static str, Vec<f64>)>);

impl Outcome {
    pub fn median(&self, name: &str) -> f64 {
        let (_, samples) = self
            .0
            .iter()
            .find(|(of, _)| *of == name)
            .unwrap_or_else(|| panic!("no contender {name:?}"));
        quantile(samples, 0.5)
    }

    pub fn target(&self, name: &str, base: &str, most: f64) {
        target(
            &format!("{name} / {base}"),
            self.median(name) / self.median(base),
            most,
        );
    }
}

fn quantile(sorted: &[f64], part: f64) -> f64 {
    let at = (sorted.len() - 1) as f64 * part;
    let (low, high) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    low + (high - low) * at.fract()
}
