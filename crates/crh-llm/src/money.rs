//! Money without rounding: whole trillionths of a dollar, so that a price per million tokens is exact per token.

use std::fmt;
use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};

/// Picodollars in a dollar.
const PER_DOLLAR: u64 = 1_000_000_000_000;

/// An amount in US dollars. Sums stop at the largest amount (18 million dollars) instead of wrapping round.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Money {
    picodollars: u64,
}

impl Money {
    /// Nothing.
    pub const ZERO: Self = Self { picodollars: 0 };

    /// Whole dollars and cents: `Money::cents(150)` is 1.50 USD.
    pub const fn cents(cents: u64) -> Self {
        Self { picodollars: cents.saturating_mul(PER_DOLLAR / 100) }
    }

    /// An amount in dollars as people write it; none if it is negative, too large or no number.
    pub fn dollars(dollars: f64) -> Option<Self> {
        let picodollars = (dollars * PER_DOLLAR as f64).round();
        (picodollars >= 0.0 && picodollars < u64::MAX as f64)
            .then_some(Self { picodollars: picodollars as u64 })
    }

    /// The amount in dollars, for people and reports.
    pub fn as_dollars(self) -> f64 {
        self.picodollars as f64 / PER_DOLLAR as f64
    }

    /// This amount so many times: the price of a token, times tokens.
    pub const fn times(self, count: u64) -> Self {
        Self { picodollars: self.picodollars.saturating_mul(count) }
    }

    /// A millionth of the amount: from a price per million tokens to the price of one.
    pub const fn per_million(self) -> Self {
        Self { picodollars: self.picodollars / 1_000_000 }
    }

    /// A percentage of the amount, rounded down to so many hundredths of it.
    pub const fn percent(self, percent: u64) -> Self {
        Self { picodollars: (self.picodollars / 100).saturating_mul(percent) }
    }

    /// What is left after taking an amount away, at least nothing.
    pub const fn less(self, taken: Self) -> Self {
        Self { picodollars: self.picodollars.saturating_sub(taken.picodollars) }
    }
}

impl Add for Money {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { picodollars: self.picodollars.saturating_add(other.picodollars) }
    }
}

impl AddAssign for Money {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl fmt::Display for Money {
    /// `0.0125 USD`: four digits, since single calls cost parts of a cent. What cost something is not shown as nothing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LEAST: f64 = 0.0001;
        match self.as_dollars() {
            dollars if dollars > 0.0 && dollars < LEAST => write!(f, "less than {LEAST} USD"),
            dollars => write!(f, "{dollars:.4} USD"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_per_million_is_exact_per_token() {
        let price = Money::dollars(0.075).unwrap().per_million();
        assert_eq!(price.times(1_000_000), Money::dollars(0.075).unwrap());
    }

    #[test]
    fn an_amount_is_shown_to_a_hundredth_of_a_cent_and_never_as_nothing() {
        let shown = |dollars| Money::dollars(dollars).unwrap().to_string();
        assert_eq!(shown(0.0), "0.0000 USD");
        assert_eq!(shown(0.000_001), "less than 0.0001 USD");
        assert_eq!(shown(0.0001), "0.0001 USD");
        assert_eq!(shown(12.345_67), "12.3457 USD");
    }

    #[test]
    fn what_is_no_amount_is_refused_and_sums_do_not_wrap() {
        for wrong in [-0.01, f64::NAN, f64::INFINITY, 1e9] {
            assert_eq!(Money::dollars(wrong), None, "{wrong}");
        }
        let most = Money::cents(u64::MAX);
        assert_eq!(most + Money::cents(1), most);
        assert_eq!(most.percent(u64::MAX), most);
        assert_eq!(Money::cents(200).percent(125), Money::cents(250));
    }
}
