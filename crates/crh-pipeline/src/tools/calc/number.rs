//! Numbers that stay whole as long as they can.

use std::fmt;

use Number::{Real, Whole};

/// How many digits of a number that is not whole are shown: those that survive a few operations.
const DIGITS: usize = 14;
/// Beyond these exponents a number is shown with one, as people would write it.
const PLAIN_EXPONENTS: std::ops::Range<i32> = -7..21;
/// What a 128-bit number holds for sure; its end is at 1.7e38.
const WHOLE_MAX: f64 = 1e38;

/// A number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
    /// A whole number, exact.
    Whole(i128),
    /// Any other, or one that has grown too large. Always finite.
    Real(f64),
}

/// Why an operation has no result, in words that follow a column.
pub(super) type Outcome = Result<Number, &'static str>;

const OVERFLOW: &str = "the result is too large";
const BY_ZERO: &str = "division by zero";
const NOT_REAL: &str = "the result is not a real number";

impl Number {
    /// A float, if it is a number at all.
    pub(super) fn real(value: f64) -> Outcome {
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

    /// The result on whole numbers if both are and it fits, else the one on floats.
    fn either(
        self,
        other: Self,
        whole: fn(i128, i128) -> Option<i128>,
        real: fn(f64, f64) -> f64,
    ) -> Outcome {
        if let (Whole(left), Whole(right)) = (self, other)
            && let Some(result) = whole(left, right)
        {
            return Ok(Whole(result));
        }
        Self::real(real(self.as_f64(), other.as_f64()))
    }

    pub(super) fn plus(self, other: Self) -> Outcome {
        self.either(other, i128::checked_add, |left, right| left + right)
    }

    pub(super) fn minus(self, other: Self) -> Outcome {
        self.either(other, i128::checked_sub, |left, right| left - right)
    }

    pub(super) fn times(self, other: Self) -> Outcome {
        self.either(other, i128::checked_mul, |left, right| left * right)
    }

    pub(super) fn over(self, other: Self) -> Outcome {
        if other.as_f64() == 0.0 {
            return Err(BY_ZERO);
        }
        let exact = |left: i128, right| match left.checked_rem(right) {
            Some(0) => left.checked_div(right),
            Some(_) | None => None,
        };
        self.either(other, exact, |left, right| left / right)
    }

    pub(super) fn modulo(self, other: Self) -> Outcome {
        if other.as_f64() == 0.0 {
            return Err(BY_ZERO);
        }
        self.either(other, i128::checked_rem, |left, right| left % right)
    }

    pub(super) fn power(self, exponent: Self) -> Outcome {
        if self.as_f64() == 0.0 && exponent.as_f64() < 0.0 {
            return Err(BY_ZERO);
        }
        let exact = |base: i128, exponent: i128| base.checked_pow(u32::try_from(exponent).ok()?);
        self.either(exponent, exact, f64::powf)
    }

    pub(super) fn is_less(self, other: Self) -> bool {
        match (self, other) {
            (Whole(left), Whole(right)) => left < right,
            (Whole(_) | Real(_), Whole(_) | Real(_)) => self.as_f64() < other.as_f64(),
        }
    }

    pub(super) fn negated(self) -> Outcome {
        Whole(0).minus(self)
    }

    pub(super) fn absolute(self) -> Outcome {
        if self.as_f64() < 0.0 { self.negated() } else { Ok(self) }
    }

    /// Rounded by one of the ways there are; a whole number again, if it is not too large for one.
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and in range")]
    pub(super) fn rounded(self, way: fn(f64) -> f64) -> Outcome {
        match self {
            Whole(_) => Ok(self),
            Real(value) => match way(value) {
                whole if whole.abs() <= WHOLE_MAX => Ok(Whole(whole as i128)),
                huge => Self::real(huge),
            },
        }
    }

    /// A function of one float.
    pub(super) fn through(self, function: fn(f64) -> f64) -> Outcome {
        Self::real(function(self.as_f64()))
    }

    /// The logarithm; the usual base is 10.
    pub(super) fn logarithm(self, base: Option<Self>) -> Outcome {
        if self.as_f64() <= 0.0 {
            return Err(NOT_REAL);
        }
        match base.map(Self::as_f64) {
            None => self.through(f64::log10),
            Some(base) if base <= 0.0 => Err(NOT_REAL),
            Some(1.0) => Err(BY_ZERO),
            Some(base) => Self::real(self.as_f64().log(base)),
        }
    }

    pub(super) fn natural_logarithm(self) -> Outcome {
        if self.as_f64() <= 0.0 { Err(NOT_REAL) } else { self.through(f64::ln) }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Whole(value) => write!(f, "{value}"),
            Real(value) => f.write_str(&shown(*value)),
        }
    }
}

/// A float with at most 14 digits that count, without zeros at the end.
fn shown(value: f64) -> String {
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
