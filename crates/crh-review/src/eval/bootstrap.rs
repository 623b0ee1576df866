//! Confidence intervals by bootstrap over cases, with a fixed seed so that results are
//! reproducible.
//!
//! A resampled unit is a case with all its repeats and its twin (the reversed change), since these
//! are not independent. All metrics are ratios of sums over cases, so a resample is a sum of counts
//! and nothing is scored again.

use std::collections::BTreeMap;

use super::scores::Estimate;

/// Number of resamples. Each end of a 95 % interval depends on the 50 outermost resamples.
const RESAMPLES: usize = 2000;
/// Minimum number of cases for an interval. With five cases, all differences have the same sign by
/// chance once in sixteen times; with six cases, less than once in twenty times (sign test).
pub(super) const MIN_CASES: usize = 6;
/// Positions of the 2.5th and 97.5th percentile among sorted values, in thousandths.
const INTERVAL_ENDS: [usize; 2] = [25, 975];
/// Fixed seed of the resampling.
const SEED: u64 = 0x6372_6820_6576_616c;

/// Counts that add up over cases.
pub trait Counts: Copy + Default + Ord {
    /// Adds counts `times` times.
    fn add(&mut self, other: &Self, times: u64);
}

/// Counts of two evaluations of the same cases, resampled together.
impl<C: Counts> Counts for (C, C) {
    fn add(&mut self, other: &Self, times: u64) {
        self.0.add(&other.0, times);
        self.1.add(&other.1, times);
    }
}

/// Counts of all cases and of every resample.
pub struct ResampledCounts<C> {
    /// Total of all cases.
    pub(super) total: C,
    /// Counts per case.
    cases: Vec<C>,
    /// Counts of the resamples; empty if there are too few cases.
    samples: Vec<C>,
}

impl<C: Counts> ResampledCounts<C> {
    /// Resamples the counts of cases.
    pub fn new(cases: &[C]) -> Self {
        let mut total = C::default();
        for case in cases {
            total.add(case, 1);
        }
        if cases.len() < MIN_CASES {
            return Self { total, cases: cases.to_vec(), samples: Vec::new() };
        }
        // Many cases have the same counts. Cases with the same counts are one kind; the draws of a
        // kind are added at once.
        let mut kinds: BTreeMap<C, usize> = BTreeMap::new();
        for case in cases {
            kinds.insert(*case, 0);
        }
        for (index, kind_index) in kinds.values_mut().enumerate() {
            *kind_index = index;
        }
        let kind_by_case: Vec<usize> = cases.iter().map(|case| kinds[case]).collect();
        let mut random = Random::new(SEED);
        let mut draw_counts = vec![0; kinds.len()];
        let samples = (0..RESAMPLES).map(|_| {
            draw_counts.fill(0);
            for _ in 0..cases.len() {
                draw_counts[kind_by_case[random.below(cases.len())]] += 1;
            }
            let mut sum = C::default();
            for (kind, count) in kinds.keys().zip(&draw_counts) {
                sum.add(kind, *count);
            }
            sum
        });
        Self { total, cases: cases.to_vec(), samples: samples.collect() }
    }

    /// A metric with its interval. Only cases that define the metric by themselves count towards
    /// `MIN_CASES`.
    pub fn estimate(&self, metric: impl Fn(&C) -> Option<f64>) -> Estimate {
        self.estimate_over(|case| metric(case).is_some(), &metric)
    }

    /// A metric over all cases, with an interval if at least `MIN_CASES` of them contribute.
    /// Resamples without a defined value do not count.
    pub(super) fn estimate_over(
        &self,
        contributes: impl Fn(&C) -> bool,
        metric: impl Fn(&C) -> Option<f64>,
    ) -> Estimate {
        let value = metric(&self.total).map(rounded);
        let contributing_cases = self.cases.iter().filter(|case| contributes(case)).count();
        if value.is_none() || contributing_cases < MIN_CASES {
            return Estimate { value, low: None, high: None };
        }
        let mut values: Vec<f64> = self.samples.iter().filter_map(&metric).map(rounded).collect();
        values.sort_by(f64::total_cmp);
        let [low, high] = INTERVAL_ENDS.map(|thousandths| {
            let rank = (values.len() * thousandths).div_ceil(1000);
            values.get(rank.saturating_sub(1)).copied()
        });
        Estimate { value, low, high }
    }
}

/// A ratio; `None` if the denominator is zero.
pub(super) fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// A count as `u32`. Real counts are far below the maximum.
pub(super) fn count(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Rounds to six decimals, so that stored numbers are the same everywhere.
pub(super) fn rounded(value: f64) -> f64 {
    // Adding zero normalises a negative zero.
    (value * 1e6).round() / 1e6 + 0.0
}

/// Deterministic pseudo-random numbers (splitmix64).
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    /// A generator with this seed.
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

    /// A number below `end`, which is at most 2³². The bias is at most one part in 2³².
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
        ResampledCounts::new(&cases).estimate(|sum| ratio(sum.hits, sum.all))
    }

    #[test]
    fn random_numbers_follow_splitmix64() {
        // First numbers of the reference implementation for this seed.
        let mut random = Random::new(1_234_567);
        let numbers = [random.next(), random.next(), random.next()];
        assert_eq!(
            numbers,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn interval_width_depends_on_the_cases() {
        // 50 of 100: 0.5 ± 1.96 · 0.05.
        let coin: Vec<_> = (0..100).map(|case| (case % 2, 1)).collect();
        let Estimate { value, low: Some(low), high: Some(high) } = estimate(&coin) else {
            panic!("no interval")
        };
        assert_eq!(value, Some(0.5));
        assert!((low - 0.402).abs() < 0.015 && (high - 0.598).abs() < 0.015, "{low} {high}");
        // Four times as many cases halve the width.
        let coin: Vec<_> = (0..400).map(|case| (case % 2, 1)).collect();
        let narrow_interval = estimate(&coin);
        let width = narrow_interval.high.unwrap() - narrow_interval.low.unwrap();
        assert!((width - (high - low) / 2.0).abs() < 0.015, "{width}");
    }

    #[test]
    fn equal_cases_have_a_zero_width_interval() {
        let expected =
            Estimate { value: Some(0.333333), low: Some(0.333333), high: Some(0.333333) };
        assert_eq!(estimate(&[(1, 3); MIN_CASES]), expected);
    }

    #[test]
    fn few_relevant_cases_have_no_interval() {
        let without_interval = Estimate { value: Some(0.5), low: None, high: None };
        assert_eq!(estimate(&[(1, 2)]), without_interval);
        let mut cases = vec![(0, 0); 100];
        cases.extend([(1, 2); MIN_CASES - 1]);
        assert_eq!(estimate(&cases), without_interval);
        cases.push((1, 2));
        let interval = Estimate { value: Some(0.5), low: Some(0.5), high: Some(0.5) };
        assert_eq!(estimate(&cases), interval);
        assert_eq!(estimate(&[]), Estimate::default());
        assert_eq!(estimate(&[(0, 0); 10]), Estimate::default());
    }

    #[test]
    fn resamples_without_a_value_do_not_count() {
        // Half of the resamples have no defined value. If they counted as zero, the lower end would
        // be zero.
        let cases: Vec<_> = (0..40).map(|case| Hits { hits: case % 2, all: 1 }).collect();
        let resampled = ResampledCounts::new(&cases);
        let ratio_from_20_hits = |sum: &Hits| ratio(sum.hits, sum.all).filter(|_| sum.hits >= 20);
        let Estimate { low, .. } = resampled.estimate_over(|_| true, ratio_from_20_hits);
        assert_eq!(low, Some(0.5));
    }
}
