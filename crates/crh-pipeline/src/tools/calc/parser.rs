//! Reads an expression and evaluates it on the way, by recursive descent:
//!
//! ```text
//! sum     = product (("+" | "-") product)*
//! product = signed (("*" | "/" | "%") signed)*
//! signed  = ("-" | "+") signed | power
//! power   = atom ("^" signed)?             so that -2^2 is -4 and 2^3^2 is 512
//! atom    = number | name | name "(" sum ("," sum)* ")" | "(" sum ")"
//! ```

use super::CalcError;
use super::number::{CalcNumber, CalcResult};

/// Maximum length in characters.
const LENGTH_MAX: usize = 1_000;
/// Maximum nesting, far below what overflows the stack.
const DEPTH_MAX: usize = 100;

pub(super) fn evaluate(text: &str) -> Result<CalcNumber, CalcError> {
    let chars: Vec<char> = text.chars().take(LENGTH_MAX + 1).collect();
    let mut parser = Parser { chars: &chars, position: 0, depth: 0 };
    if chars.len() > LENGTH_MAX {
        return parser.error(LENGTH_MAX, "the expression is longer than 1000 characters");
    }
    let value = parser.sum()?;
    match parser.peek() {
        None => Ok(value),
        Some(char) => {
            parser.error(parser.position, &format!("expected an operator, found `{char}`"))
        }
    }
}

struct Parser<'a> {
    chars: &'a [char],
    position: usize,
    depth: usize,
}

impl Parser<'_> {
    fn error<T>(&self, at: usize, reason: &str) -> Result<T, CalcError> {
        Err(CalcError { column: at + 1, reason: reason.to_owned() })
    }

    /// Adds the position of the operator or function to an error.
    fn with_column(&self, at: usize, outcome: CalcResult) -> Result<CalcNumber, CalcError> {
        outcome.or_else(|reason| self.error(at, reason))
    }

    /// Skips blanks and returns the next character.
    fn peek(&mut self) -> Option<char> {
        while self.chars.get(self.position).is_some_and(|char| char.is_whitespace()) {
            self.position += 1;
        }
        self.chars.get(self.position).copied()
    }

    /// Takes one of these signs; returns it and its position.
    fn take(&mut self, signs: &[char]) -> Option<(char, usize)> {
        let char = self.peek().filter(|char| signs.contains(char))?;
        self.position += 1;
        Some((char, self.position - 1))
    }

    fn expect(&mut self, sign: char) -> Result<(), CalcError> {
        match (self.take(&[sign]), self.peek()) {
            (Some(_), _) => Ok(()),
            (None, Some(found)) => {
                self.error(self.position, &format!("expected `{sign}`, found `{found}`"))
            }
            (None, None) => self.error(self.position, &format!("expected `{sign}`, found the end")),
        }
    }

    fn sum(&mut self) -> Result<CalcNumber, CalcError> {
        let mut value = self.product()?;
        while let Some((sign, at)) = self.take(&['+', '-']) {
            let right = self.product()?;
            let outcome = if sign == '+' { value.plus(right) } else { value.minus(right) };
            value = self.with_column(at, outcome)?;
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<CalcNumber, CalcError> {
        let mut value = self.signed()?;
        while let Some((sign, at)) = self.take(&['*', '/', '%']) {
            let right = self.signed()?;
            let outcome = match sign {
                '*' => value.times(right),
                '/' => value.divided_by(right),
                _ => value.modulo(right),
            };
            value = self.with_column(at, outcome)?;
        }
        Ok(value)
    }

    /// All nesting passes through here, so depth is counted here.
    fn signed(&mut self) -> Result<CalcNumber, CalcError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return self.error(self.position, "the expression is nested more than 100 deep");
        }
        let value = match self.take(&['-', '+']) {
            Some(('-', at)) => {
                let value = self.signed()?;
                self.with_column(at, value.negated())
            }
            Some(_) => self.signed(),
            None => self.power(),
        };
        self.depth -= 1;
        value
    }

    fn power(&mut self) -> Result<CalcNumber, CalcError> {
        let base = self.atom()?;
        match self.take(&['^']) {
            Some((_, at)) => {
                let exponent = self.signed()?;
                self.with_column(at, base.power(exponent))
            }
            None => Ok(base),
        }
    }

    fn atom(&mut self) -> Result<CalcNumber, CalcError> {
        match self.peek() {
            Some('(') => {
                self.position += 1;
                let value = self.sum()?;
                self.expect(')')?;
                Ok(value)
            }
            Some(char) if char.is_ascii_digit() || char == '.' => self.number(),
            Some(char) if char.is_alphabetic() || char == '_' => self.name_or_call(),
            Some(char) => self.error(self.position, &format!("expected a number, found `{char}`")),
            None => self.error(self.position, "expected a number, found the end"),
        }
    }

    /// Takes characters while they match.
    fn take_while(&mut self, is_included: fn(&char) -> bool) -> String {
        let text: String =
            self.chars[self.position..].iter().take_while(|char| is_included(char)).collect();
        self.position += text.chars().count();
        text
    }

    fn number(&mut self) -> Result<CalcNumber, CalcError> {
        let start = self.position;
        if let Some(['0', 'x' | 'X']) = self.chars.get(start..start + 2) {
            self.position += 2;
            let digits = self.take_while(char::is_ascii_hexdigit);
            return match i128::from_str_radix(&digits, 16) {
                Ok(value) => Ok(CalcNumber::Whole(value)),
                Err(_) if digits.is_empty() => {
                    self.error(start, "`0x` is followed by no hexadecimal digit")
                }
                Err(_) => self.error(start, "the number is too large"),
            };
        }
        let mut text = self.take_while(char::is_ascii_digit);
        if self.chars.get(self.position) == Some(&'.') {
            self.position += 1;
            text.push('.');
            text.push_str(&self.take_while(char::is_ascii_digit));
        }
        text.push_str(&self.exponent());
        match text.parse() {
            Ok(value) => Ok(CalcNumber::Whole(value)),
            Err(_) => match text.parse() {
                Ok(value) => self.with_column(start, CalcNumber::from_f64(value)),
                Err(_) => self.error(start, &format!("`{text}` is not a number")),
            },
        }
    }

    /// Takes an exponent such as `e-3` if digits follow. Otherwise takes nothing: `e` is a name.
    fn exponent(&mut self) -> String {
        let start = self.position;
        if !matches!(self.chars.get(self.position), Some('e' | 'E')) {
            return String::new();
        }
        self.position += 1;
        let mut text = "e".to_owned();
        if let Some(sign @ ('+' | '-')) = self.chars.get(self.position) {
            text.push(*sign);
            self.position += 1;
        }
        let digits = self.take_while(char::is_ascii_digit);
        if digits.is_empty() {
            self.position = start;
            return String::new();
        }
        text + &digits
    }

    fn name_or_call(&mut self) -> Result<CalcNumber, CalcError> {
        let start = self.position;
        let name = self.take_while(|char| char.is_alphanumeric() || *char == '_');
        if self.take(&['(']).is_none() {
            return match name.as_str() {
                "pi" => Ok(CalcNumber::Real(std::f64::consts::PI)),
                "e" => Ok(CalcNumber::Real(std::f64::consts::E)),
                _ => self.error(start, &format!("`{name}` is no constant; there are `pi` and `e`")),
            };
        }
        let mut arguments = Vec::new();
        if self.take(&[')']).is_none() {
            arguments.push(self.sum()?);
            while self.take(&[',']).is_some() {
                arguments.push(self.sum()?);
            }
            self.expect(')')?;
        }
        let outcome = match (name.as_str(), arguments.as_slice()) {
            ("abs", [value]) => value.absolute(),
            ("floor", [value]) => value.rounded(f64::floor),
            ("ceil", [value]) => value.rounded(f64::ceil),
            ("round", [value]) => value.rounded(f64::round),
            ("sqrt", [value]) => value.apply(f64::sqrt),
            ("exp", [value]) => value.apply(f64::exp),
            ("ln", [value]) => value.natural_logarithm(),
            ("log", [value]) => value.logarithm(None),
            ("log", [value, base]) => value.logarithm(Some(*base)),
            ("pow", [base, exponent]) => base.power(*exponent),
            ("min", [first, rest @ ..]) => Ok(rest
                .iter()
                .fold(*first, |least, value| if value.is_less(least) { *value } else { least })),
            ("max", [first, rest @ ..]) => Ok(rest
                .iter()
                .fold(*first, |most, value| if most.is_less(*value) { *value } else { most })),
            (name, arguments) => return self.error(start, &not_callable(name, arguments.len())),
        };
        self.with_column(start, outcome)
    }
}

fn not_callable(name: &str, argument_count: usize) -> String {
    let expected = match name {
        "abs" | "floor" | "ceil" | "round" | "sqrt" | "exp" | "ln" => "one number",
        "log" => "one number, or two",
        "pow" => "two numbers",
        "min" | "max" => "at least one number",
        _ => {
            return format!(
                "`{name}` is no function; there are `abs`, `min`, `max`, `floor`, `ceil`, `round`, `sqrt`, `log`, `ln`, `exp` and `pow`"
            );
        }
    };
    format!("`{name}` takes {expected}, not {argument_count}")
}
