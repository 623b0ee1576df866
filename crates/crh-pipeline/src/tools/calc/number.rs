//! Numbers that are exact integers as long as possible.

use std::fmt;

use CalcNumber::{Real, Whole};

/// Shown digits of a non-integer.
const DIGITS: usize = 14;
/// Exponents outside this range are shown in scientific notation.
const PLAIN_EXPONENTS: std::ops::Range<i32> = -7..21;
/// Largest float that rounding turns into an exact integer, safely below the maximum of `i128`,
/// 1.7e38.
const WHOLE_MAX: f64 = 1e38;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum CalcNumber {
    /// An exact integer.
    Whole(i128),
    /// Any other number, and an integer that is too large for `i128`. Always finite.
    Real(f64),
}

/// The error is the reason without the column.
pub(super) type CalcResult = Result<CalcNumber, &'static str>;

const OVERFLOW: &str = "the result is too large";
const BY_ZERO: &str = "division by zero";
const NOT_REAL: &str = "the result is not a real number";

impl CalcNumber {
    /// Rejects NaN and infinity.
    pub(super) fn from_f64(value: f64) -> CalcResult {
        if value.is_nan() {
            Err(NOT_REAL)
        } else if value.is_infinite() {
            Err(OVERFLOW)
        } else {
            Ok(Real(value))
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "what is not exact is shown with 14 digits")]
    pub(super) fn as_f64(self) -> f64 {
        match self {
            Whole(value) => value as f64,
            Real(value) => value,
        }
    }

    /// Computes with integers if both are integers and the result fits, otherwise with floats.
    fn whole_or_real(
        self,
        other: Self,
        whole: fn(i128, i128) -> Option<i128>,
        real: fn(f64, f64) -> f64,
    ) -> CalcResult {
        if let (Whole(left), Whole(right)) = (self, other)
            && let Some(result) = whole(left, right)
        {
            return Ok(Whole(result));
        }
        Self::from_f64(real(self.as_f64(), other.as_f64()))
    }

    pub(super) fn plus(self, other: Self) -> CalcResult {
        self.whole_or_real(other, i128::checked_add, |left, right| left + right)
    }

    pub(super) fn minus(self, other: Self) -> CalcResult {
        self.whole_or_real(other, i128::checked_sub, |left, right| left - right)
    }

    pub(super) fn times(self, other: Self) -> CalcResult {
        self.whole_or_real(other, i128::checked_mul, |left, right| left * right)
    }

    pub(super) fn divided_by(self, other: Self) -> CalcResult {
        if other.as_f64() == 0.0 {
            return Err(BY_ZERO);
        }
        let exact = |left: i128, right| match left.checked_rem(right) {
            Some(0) => left.checked_div(right),
            Some(_) | None => None,
        };
        self.whole_or_real(other, exact, |left, right| left / right)
    }

    pub(super) fn modulo(self, other: Self) -> CalcResult {
        if other.as_f64() == 0.0 {
            return Err(BY_ZERO);
        }
        self.whole_or_real(other, i128::checked_rem, |left, right| left % right)
    }

    pub(super) fn power(self, exponent: Self) -> CalcResult {
        if self.as_f64() == 0.0 && exponent.as_f64() < 0.0 {
            return Err(BY_ZERO);
        }
        let exact = |base: i128, exponent: i128| base.checked_pow(u32::try_from(exponent).ok()?);
        self.whole_or_real(exponent, exact, f64::powf)
    }

    pub(super) fn is_less(self, other: Self) -> bool {
        match (self, other) {
            (Whole(left), Whole(right)) => left < right,
            (Whole(_) | Real(_), Whole(_) | Real(_)) => self.as_f64() < other.as_f64(),
        }
    }

    pub(super) fn negated(self) -> CalcResult {
        Whole(0).minus(self)
    }

    pub(super) fn absolute(self) -> CalcResult {
        if self.as_f64() < 0.0 { self.negated() } else { Ok(self) }
    }

    /// Rounds to an integer, if it is not too large.
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and in range")]
    pub(super) fn rounded(self, round: fn(f64) -> f64) -> CalcResult {
        match self {
            Whole(_) => Ok(self),
            Real(value) => match round(value) {
                whole if whole.abs() <= WHOLE_MAX => Ok(Whole(whole as i128)),
                huge => Self::from_f64(huge),
            },
        }
    }

    /// Applies a function of one float.
    pub(super) fn apply(self, function: fn(f64) -> f64) -> CalcResult {
        Self::from_f64(function(self.as_f64()))
    }

    /// Logarithm; the default base is 10.
    pub(super) fn logarithm(self, base: Option<Self>) -> CalcResult {
        if self.as_f64() <= 0.0 {
            return Err(NOT_REAL);
        }
        match base.map(Self::as_f64) {
            None => self.apply(f64::log10),
            Some(base) if base <= 0.0 => Err(NOT_REAL),
            Some(1.0) => Err(BY_ZERO),
            Some(base) => Self::from_f64(self.as_f64().log(base)),
        }
    }

    pub(super) fn natural_logarithm(self) -> CalcResult {
        if self.as_f64() <= 0.0 { Err(NOT_REAL) } else { self.apply(f64::ln) }
    }
}

impl fmt::Display for CalcNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Whole(value) => write!(f, "{value}"),
            Real(value) => f.write_str(&format_real(*value)),
        }
    }
}

/// Formats a float with at most 14 significant digits, without trailing zeros.
fn format_real(value: f64) -> String {
    let scientific = format!("{value:.*e}", DIGITS - 1);
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if digits == "0" || digits == "-0" {
        return "0".to_owned();
    }
    if !PLAIN_EXPONENTS.contains(&exponent) {
        return format!("{digits}e{exponent}");
    }
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    let digits = digits.replace('.', "");
    match usize::try_from(exponent) {
        Err(_) => {
            let zeros = "0".repeat(usize::try_from(-exponent - 1).unwrap_or_default());
            format!("{sign}0.{zeros}{digits}")
        }
        Ok(exponent) if digits.len() <= exponent + 1 => {
            format!("{sign}{digits}{}", "0".repeat(exponent + 1 - digits.len()))
        }
        Ok(exponent) => format!("{sign}{}.{}", &digits[..=exponent], &digits[exponent + 1..]),
    }
}
