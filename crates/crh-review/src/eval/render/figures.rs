//! Formats numbers: shares, intervals, differences, cost, time.

use crate::eval::scores::Estimate;

/// Placeholder for an undefined number.
pub(super) const UNDEFINED: &str = "–";

/// A share with two decimals, or three if two would round to 0 or 1.
pub(super) fn share(value: f64) -> String {
    let looks_whole = (0.0..0.005).contains(&value) || (0.995..=1.0).contains(&value);
    match looks_whole && value != 0.0 && value != 1.0 {
        true => format!("{:.3}", value.clamp(0.001, 0.999)),
        false => amount(value),
    }
}

/// A number with two decimals.
pub(super) fn amount(value: f64) -> String {
    format!("{:.2}", unsigned_zero(value))
}

/// A number with three decimals, or six if three would show zero.
pub(super) fn fine(value: f64) -> String {
    match value != 0.0 && value.abs() < 0.0005 {
        true => format!("{value:.6}"),
        false => format!("{:.3}", unsigned_zero(value)),
    }
}

/// Like [`fine`], with a sign.
pub(super) fn signed(value: f64) -> String {
    let sign = if value < 0.0 { "−" } else { "+" };
    match value == 0.0 {
        true => fine(0.0),
        false => format!("{sign}{}", fine(value.abs())),
    }
}

/// A number that may be undefined.
pub(super) fn format_or_undefined(value: Option<f64>, format_value: fn(f64) -> String) -> String {
    defined(value).map_or_else(|| UNDEFINED.to_owned(), format_value)
}

/// The number, if it is finite.
pub(super) fn defined(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite())
}

/// A number with its interval: `0.62 (0.54–0.70)`.
pub(super) fn estimate(estimate: &Estimate, format_value: fn(f64) -> String) -> String {
    let value = format_or_undefined(estimate.value, format_value);
    match interval(estimate, format_value) {
        Some(interval) if value != UNDEFINED => format!("{value} ({interval})"),
        Some(_) | None => value,
    }
}

/// The interval of a number.
pub(super) fn interval(estimate: &Estimate, format_value: fn(f64) -> String) -> Option<String> {
    let (low, high) = (defined(estimate.low)?, defined(estimate.high)?);
    Some(format!("{}–{}", format_value(low), format_value(high)))
}

/// A cost, with enough decimals for one call.
pub(super) fn money(usd: f64) -> String {
    format!("{:.4} USD", unsigned_zero(usd))
}

/// A time.
pub(super) fn seconds(seconds: f64) -> String {
    match seconds < 1.0 {
        true => format!("{:.0} ms", unsigned_zero(seconds) * 1000.0),
        false => format!("{seconds:.1} s"),
    }
}

/// A count with its noun: `1 case`, `2 cases`.
pub(super) fn count(number: usize, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{ending}")
}

fn unsigned_zero(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partial_share_is_not_rounded_to_100_percent() {
        let texts = [0.0, 0.0001, 0.004, 0.006, 0.5, 0.994, 0.996, 0.9999, 1.0].map(share);
        assert_eq!(
            texts,
            ["0.00", "0.001", "0.004", "0.01", "0.50", "0.99", "0.996", "0.999", "1.00"]
        );
    }

    #[test]
    fn undefined_value_is_a_dash() {
        let undefined = Estimate { value: None, low: Some(0.1), high: Some(0.2) };
        let no_number = Estimate { value: Some(f64::NAN), ..undefined };
        let without_interval = Estimate { value: Some(0.25), low: None, high: None };
        let texts = [undefined, no_number, without_interval].map(|number| estimate(&number, share));
        assert_eq!(texts, ["–", "–", "0.25"]);
    }

    #[test]
    fn difference_has_a_sign_unless_zero() {
        let texts = [-0.08, 0.0, -0.0, 0.5, 0.000_02].map(signed);
        assert_eq!(texts, ["−0.080", "0.000", "0.000", "+0.500", "+0.000020"]);
    }
}
