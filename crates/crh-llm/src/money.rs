//! Exact money: integer picodollars, so that a price per million tokens is exact per token.

use std::fmt;
use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};

const PER_DOLLAR: u64 = 1_000_000_000_000;

/// An amount in US dollars. Arithmetic saturates at 18 million dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Money {
    picodollars: u64,
}

impl Money {
    /// Zero.
    pub const ZERO: Self = Self { picodollars: 0 };

    /// From cents: `Money::cents(150)` is 1.50 USD.
    pub const fn cents(cents: u64) -> Self {
        Self { picodollars: cents.saturating_mul(PER_DOLLAR / 100) }
    }

    /// From dollars; `None` if negative, too large or not a number.
    pub fn dollars(dollars: f64) -> Option<Self> {
        let picodollars = (dollars * PER_DOLLAR as f64).round();
        (picodollars >= 0.0 && picodollars < u64::MAX as f64)
            .then_some(Self { picodollars: picodollars as u64 })
    }

    /// In dollars, for reports.
    pub fn as_dollars(self) -> f64 {
        self.picodollars as f64 / PER_DOLLAR as f64
    }

    /// Multiplies, for example the price of a token by a token count.
    pub const fn times(self, count: u64) -> Self {
        Self { picodollars: self.picodollars.saturating_mul(count) }
    }

    /// Converts a price per million tokens into a price per token.
    pub const fn per_million(self) -> Self {
        Self { picodollars: self.picodollars / 1_000_000 }
    }

    /// A percentage of the amount, rounded down.
    pub const fn percent(self, percent: u64) -> Self {
        Self { picodollars: (self.picodollars / 100).saturating_mul(percent) }
    }

    /// How many items of this price the amount pays for; `u64::MAX` if they are free.
    pub const fn buys(self, price: Self) -> u64 {
        match self.picodollars.checked_div(price.picodollars) {
            Some(count) => count,
            None => u64::MAX,
        }
    }

    /// Divides the amount into equal shares, rounded down.
    pub const fn share(self, shares: u64) -> Self {
        Self { picodollars: self.picodollars / if shares == 0 { 1 } else { shares } }
    }

    /// In whole cents, such as `$0.57`, rounded up.
    pub fn rounded_up(self) -> String {
        Self::in_cents(self.picodollars.div_ceil(PER_DOLLAR / 100))
    }

    /// In whole cents, rounded down.
    pub fn rounded_down(self) -> String {
        Self::in_cents(self.picodollars / (PER_DOLLAR / 100))
    }

    fn in_cents(cents: u64) -> String {
        format!("${}.{:02}", cents / 100, cents % 100)
    }

    /// Subtracts an amount. The result is at least zero.
    pub const fn minus(self, amount: Self) -> Self {
        Self { picodollars: self.picodollars.saturating_sub(amount.picodollars) }
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
    /// `0.0125 USD`: four decimal places, because a call costs fractions of a cent. A small
    /// positive amount is never shown as zero.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MIN_SHOWN: f64 = 0.0001;
        match self.as_dollars() {
            dollars if dollars > 0.0 && dollars < MIN_SHOWN => {
                write!(f, "less than {MIN_SHOWN} USD")
            }
            dollars => write!(f, "{dollars:.4} USD"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn price_per_million_is_exact_per_token() {
        let price = Money::dollars(0.075).unwrap().per_million();
        assert_eq!(price.times(1_000_000), Money::dollars(0.075).unwrap());
    }

    #[test]
    fn small_amount_is_never_shown_as_zero() {
        let text = |dollars| Money::dollars(dollars).unwrap().to_string();
        assert_eq!(text(0.0), "0.0000 USD");
        assert_eq!(text(0.000_001), "less than 0.0001 USD");
        assert_eq!(text(0.0001), "0.0001 USD");
        assert_eq!(text(12.345_67), "12.3457 USD");
    }

    #[test]
    fn cents_are_rounded_up_or_down() {
        let amount = Money::dollars(1.0701).unwrap();
        assert_eq!((amount.rounded_up(), amount.rounded_down()), ("$1.08".into(), "$1.07".into()));
        assert_eq!(Money::cents(16).rounded_up(), "$0.16");
    }

    #[test]
    fn amount_buys_whole_items() {
        assert_eq!(Money::cents(10).buys(Money::cents(3)), 3);
        assert_eq!(Money::cents(10).buys(Money::ZERO), u64::MAX);
        assert_eq!(Money::cents(10).share(4), Money::dollars(0.025).unwrap());
    }

    #[test]
    fn invalid_amounts_are_rejected_and_sums_saturate() {
        for invalid in [-0.01, f64::NAN, f64::INFINITY, 1e9] {
            assert_eq!(Money::dollars(invalid), None, "{invalid}");
        }
        let max = Money::cents(u64::MAX);
        assert_eq!(max + Money::cents(1), max);
        assert_eq!(max.percent(u64::MAX), max);
        assert_eq!(Money::cents(200).percent(125), Money::cents(250));
    }
}
