//! Intervals by resampling cases, with a fixed seed: the same evaluation has the same intervals on every machine.
//!
//! What is resampled is a case with its twin and all of its repeats, since these are not independent of each other. Nothing is scored
//! again: every number is made of sums over cases, so that a resample is a sum of counts.

use std::collections::BTreeMap;

use super::scores::Estimate;

/// How often the cases are resampled: the ends of a 95 % interval rest on the 50 outermost.
const RESAMPLES: usize = 2000;
/// The fewest cases that an interval rests on. Few cases agree by chance, and then their interval has no width: if chance alone decided,
/// five would all go the same way once in sixteen times, and only with six it is less than once in twenty (the sign test).
pub(super) const LEAST_CASES: usize = 6;
/// Positions of the 2.5th and the 97.5th percentile among so many sorted values, in thousandths.
const ENDS: [usize; 2] = [25, 975];
/// Where the draws begin. Any number would do, as long as it stays.
const SEED: u64 = 0x6372_6820_6576_616c;

/// Counts that add up over cases.
pub(super) trait Counts: Copy + Default + Ord {
    /// Adds counts so many times.
    fn add(&mut self, other: &Self, times: u64);
}

/// Two evaluations of the same cases, which are resampled together.
impl<C: Counts> Counts for (C, C) {
    fn add(&mut self, other: &Self, times: u64) {
        self.0.add(&other.0, times);
        self.1.add(&other.1, times);
    }
}

/// The counts of all cases, and of every resampled suite.
pub(super) struct Resampled<C> {
    /// Of all cases.
    pub(super) whole: C,
    /// Of each case.
    cases: Vec<C>,
    /// Of the resampled suites; none of fewer cases than an interval rests on.
    samples: Vec<C>,
}

impl<C: Counts> Resampled<C> {
    /// Resamples the counts of cases.
    pub(super) fn new(cases: &[C]) -> Self {
        let mut whole = C::default();
        for case in cases {
            whole.add(case, 1);
        }
        if cases.len() < LEAST_CASES {
            return Self { whole, cases: cases.to_vec(), samples: Vec::new() };
        }
        // Many cases have the same counts. Drawing is by case, but adding is by kind.
        let mut kinds: BTreeMap<C, usize> = BTreeMap::new();
        for case in cases {
            kinds.insert(*case, 0);
        }
        for (number, kind) in kinds.values_mut().enumerate() {
            *kind = number;
        }
        let kind_of: Vec<usize> = cases.iter().map(|case| kinds[case]).collect();
        let mut random = Random::new(SEED);
        let mut times = vec![0; kinds.len()];
        let samples = (0..RESAMPLES).map(|_| {
            times.fill(0);
            for _ in 0..cases.len() {
                times[kind_of[random.below(cases.len())]] += 1;
            }
            let mut sum = C::default();
            for (kind, times) in kinds.keys().zip(&times) {
                sum.add(kind, *times);
            }
            sum
        });
        Self { whole, cases: cases.to_vec(), samples: samples.collect() }
    }

    /// A number that follows from the counts, with its interval. A case has a part in it if the number is defined for it alone.
    pub(super) fn estimate(&self, number: impl Fn(&C) -> Option<f64>) -> Estimate {
        self.estimate_over(|case| number(case).is_some(), &number)
    }

    /// A number that follows from the counts of the cases that have a part in it, with its interval if these are enough. Resamples in
    /// which it is not defined do not count.
    pub(super) fn estimate_over(
        &self,
        has_part: impl Fn(&C) -> bool,
        number: impl Fn(&C) -> Option<f64>,
    ) -> Estimate {
        let value = number(&self.whole).map(rounded);
        let parts = self.cases.iter().filter(|case| has_part(case)).count();
        if value.is_none() || parts < LEAST_CASES {
            return Estimate { value, low: None, high: None };
        }
        let mut values: Vec<f64> = self.samples.iter().filter_map(&number).map(rounded).collect();
        values.sort_by(f64::total_cmp);
        let [low, high] = ENDS.map(|thousandths| {
            let rank = (values.len() * thousandths).div_ceil(1000);
            values.get(rank.saturating_sub(1)).copied()
        });
        Estimate { value, low, high }
    }
}

/// A part of a whole; none of nothing.
pub(super) fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Six decimals, so that a stored number is the same text everywhere.
pub(super) fn rounded(value: f64) -> f64 {
    // Adding zero turns a negative zero into a plain one.
    (value * 1e6).round() / 1e6 + 0.0
}

/// Numbers that look random and are the same each time (splitmix64).
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    /// The numbers that begin with a seed.
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is at most 2³². Each is as likely as the others to one part in 2³².
    pub(super) fn below(&mut self, end: usize) -> usize {
        (((self.next() >> 32) * end as u64) >> 32) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
    struct Hits {
        hits: u64,
        all: u64,
    }

    impl Counts for Hits {
        fn add(&mut self, other: &Self, times: u64) {
            self.hits += times * other.hits;
            self.all += times * other.all;
        }
    }

    fn estimate(cases: &[(u64, u64)]) -> Estimate {
        let cases: Vec<_> =
            cases.iter().map(|(hits, all)| Hits { hits: *hits, all: *all }).collect();
        Resampled::new(&cases).estimate(|sum| share(sum.hits, sum.all))
    }

    #[test]
    fn the_numbers_are_those_of_splitmix64() {
        // The reference implementation's first numbers for this seed.
        let mut random = Random::new(1_234_567);
        let numbers = [random.next(), random.next(), random.next()];
        assert_eq!(
            numbers,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn an_interval_is_as_wide_as_the_cases_make_it() {
        // A coin that fell 50 of 100 times: 0.5 ± 1.96 · 0.05.
        let coin: Vec<_> = (0..100).map(|case| (case % 2, 1)).collect();
        let Estimate { value, low: Some(low), high: Some(high) } = estimate(&coin) else {
            panic!("no interval")
        };
        assert_eq!(value, Some(0.5));
        assert!((low - 0.402).abs() < 0.015 && (high - 0.598).abs() < 0.015, "{low} {high}");
        // The same with four times as many is half as wide.
        let coin: Vec<_> = (0..400).map(|case| (case % 2, 1)).collect();
        let wide = estimate(&coin);
        let width = wide.high.unwrap() - wide.low.unwrap();
        assert!((width - (high - low) / 2.0).abs() < 0.015, "{width}");
    }

    #[test]
    fn cases_that_agree_leave_no_doubt() {
        let expected =
            Estimate { value: Some(0.333333), low: Some(0.333333), high: Some(0.333333) };
        assert_eq!(estimate(&[(1, 3); LEAST_CASES]), expected);
    }

    #[test]
    fn few_cases_have_no_interval_however_many_others_there_are() {
        let alone = Estimate { value: Some(0.5), low: None, high: None };
        assert_eq!(estimate(&[(1, 2)]), alone);
        let mut cases = vec![(0, 0); 100];
        cases.extend([(1, 2); LEAST_CASES - 1]);
        assert_eq!(estimate(&cases), alone);
        cases.push((1, 2));
        let interval = Estimate { value: Some(0.5), low: Some(0.5), high: Some(0.5) };
        assert_eq!(estimate(&cases), interval);
        assert_eq!(estimate(&[]), Estimate::default());
        assert_eq!(estimate(&[(0, 0); 10]), Estimate::default());
    }

    #[test]
    fn resamples_in_which_a_number_is_not_defined_do_not_count() {
        // Half of the resamples have fewer hits than the whole, and no number. Were they taken for zero, the lower end would be.
        let cases: Vec<_> = (0..40).map(|case| Hits { hits: case % 2, all: 1 }).collect();
        let resampled = Resampled::new(&cases);
        let often = |sum: &Hits| share(sum.hits, sum.all).filter(|_| sum.hits >= 20);
        let Estimate { low, .. } = resampled.estimate_over(|_| true, often);
        assert_eq!(low, Some(0.5));
    }
}
