//! Reads an expression and evaluates it on the way, by recursive descent:
//!
//! ```text
//! sum     = product (("+" | "-") product)*
//! product = signed (("*" | "/" | "%") signed)*
//! signed  = ("-" | "+") signed | power
//! power   = atom ("^" signed)?             so that -2^2 is -4 and 2^3^2 is 512
//! atom    = number | name | name "(" sum ("," sum)* ")" | "(" sum ")"
//! ```

use super::Fault;
use super::number::{Number, Outcome};

/// A page of arithmetic; what is longer was not meant for this.
const LENGTH_MAX: usize = 1_000;
/// Deeper than anybody writes, and far from what a stack holds.
const DEPTH_MAX: usize = 100;

/// The value of an expression.
pub(super) fn evaluate(text: &str) -> Result<Number, Fault> {
    let chars: Vec<char> = text.chars().take(LENGTH_MAX + 1).collect();
    let mut parser = Parser { chars: &chars, at: 0, depth: 0 };
    if chars.len() > LENGTH_MAX {
        return parser.fault(LENGTH_MAX, "the expression is longer than 1000 characters");
    }
    let value = parser.sum()?;
    match parser.peek() {
        None => Ok(value),
        Some(char) => parser.fault(parser.at, &format!("expected an operator, found `{char}`")),
    }
}

struct Parser<'a> {
    chars: &'a [char],
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn fault<T>(&self, at: usize, reason: &str) -> Result<T, Fault> {
        Err(Fault { column: at + 1, reason: reason.to_owned() })
    }

    /// The result of an operation whose sign or name is at this place.
    fn done(&self, at: usize, outcome: Outcome) -> Result<Number, Fault> {
        outcome.or_else(|reason| self.fault(at, reason))
    }

    /// The next character that is not blank, which is then the current one.
    fn peek(&mut self) -> Option<char> {
        while self.chars.get(self.at).is_some_and(|char| char.is_whitespace()) {
            self.at += 1;
        }
        self.chars.get(self.at).copied()
    }

    /// Takes one of these signs; gives it and its place.
    fn take(&mut self, signs: &[char]) -> Option<(char, usize)> {
        let char = self.peek().filter(|char| signs.contains(char))?;
        self.at += 1;
        Some((char, self.at - 1))
    }

    fn expect(&mut self, sign: char) -> Result<(), Fault> {
        match (self.take(&[sign]), self.peek()) {
            (Some(_), _) => Ok(()),
            (None, Some(found)) => {
                self.fault(self.at, &format!("expected `{sign}`, found `{found}`"))
            }
            (None, None) => self.fault(self.at, &format!("expected `{sign}`, found the end")),
        }
    }

    fn sum(&mut self) -> Result<Number, Fault> {
        let mut value = self.product()?;
        while let Some((sign, at)) = self.take(&['+', '-']) {
            let right = self.product()?;
            let outcome = if sign == '+' { value.plus(right) } else { value.minus(right) };
            value = self.done(at, outcome)?;
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<Number, Fault> {
        let mut value = self.signed()?;
        while let Some((sign, at)) = self.take(&['*', '/', '%']) {
            let right = self.signed()?;
            let outcome = match sign {
                '*' => value.times(right),
                '/' => value.over(right),
                _ => value.modulo(right),
            };
            value = self.done(at, outcome)?;
        }
        Ok(value)
    }

    /// Everything that nests comes through here, so depth is counted here.
    fn signed(&mut self) -> Result<Number, Fault> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return self.fault(self.at, "the expression is nested more than 100 deep");
        }
        let value = match self.take(&['-', '+']) {
            Some(('-', at)) => {
                let value = self.signed()?;
                self.done(at, value.negated())
            }
            Some(_) => self.signed(),
            None => self.power(),
        };
        self.depth -= 1;
        value
    }

    fn power(&mut self) -> Result<Number, Fault> {
        let base = self.atom()?;
        match self.take(&['^']) {
            Some((_, at)) => {
                let exponent = self.signed()?;
                self.done(at, base.power(exponent))
            }
            None => Ok(base),
        }
    }

    fn atom(&mut self) -> Result<Number, Fault> {
        match self.peek() {
            Some('(') => {
                self.at += 1;
                let value = self.sum()?;
                self.expect(')')?;
                Ok(value)
            }
            Some(char) if char.is_ascii_digit() || char == '.' => self.number(),
            Some(char) if char.is_alphabetic() || char == '_' => self.named(),
            Some(char) => self.fault(self.at, &format!("expected a number, found `{char}`")),
            None => self.fault(self.at, "expected a number, found the end"),
        }
    }

    /// Takes characters as long as they are of a kind.
    fn run(&mut self, is_meant: fn(&char) -> bool) -> String {
        let run: String = self.chars[self.at..].iter().take_while(|char| is_meant(char)).collect();
        self.at += run.chars().count();
        run
    }

    fn number(&mut self) -> Result<Number, Fault> {
        let start = self.at;
        if let Some(['0', 'x' | 'X']) = self.chars.get(start..start + 2) {
            self.at += 2;
            let digits = self.run(char::is_ascii_hexdigit);
            return match i128::from_str_radix(&digits, 16) {
                Ok(value) => Ok(Number::Whole(value)),
                Err(_) if digits.is_empty() => {
                    self.fault(start, "`0x` is followed by no hexadecimal digit")
                }
                Err(_) => self.fault(start, "the number is too large"),
            };
        }
        let mut text = self.run(char::is_ascii_digit);
        if self.chars.get(self.at) == Some(&'.') {
            self.at += 1;
            text.push('.');
            text.push_str(&self.run(char::is_ascii_digit));
        }
        text.push_str(&self.exponent());
        match text.parse() {
            Ok(value) => Ok(Number::Whole(value)),
            Err(_) => match text.parse() {
                Ok(value) => self.done(start, Number::real(value)),
                Err(_) => self.fault(start, &format!("`{text}` is not a number")),
            },
        }
    }

    /// `e-3`, if digits follow; else nothing is taken, and `e` is a name.
    fn exponent(&mut self) -> String {
        let start = self.at;
        if !matches!(self.chars.get(self.at), Some('e' | 'E')) {
            return String::new();
        }
        self.at += 1;
        let mut text = "e".to_owned();
        if let Some(sign @ ('+' | '-')) = self.chars.get(self.at) {
            text.push(*sign);
            self.at += 1;
        }
        let digits = self.run(char::is_ascii_digit);
        if digits.is_empty() {
            self.at = start;
            return String::new();
        }
        text + &digits
    }

    fn named(&mut self) -> Result<Number, Fault> {
        let start = self.at;
        let name = self.run(|char| char.is_alphanumeric() || *char == '_');
        if self.take(&['(']).is_none() {
            return match name.as_str() {
                "pi" => Ok(Number::Real(std::f64::consts::PI)),
                "e" => Ok(Number::Real(std::f64::consts::E)),
                _ => self.fault(start, &format!("`{name}` is no constant; there are `pi` and `e`")),
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
            ("sqrt", [value]) => value.through(f64::sqrt),
            ("exp", [value]) => value.through(f64::exp),
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
            (name, arguments) => return self.fault(start, &not_callable(name, arguments.len())),
        };
        self.done(start, outcome)
    }
}

fn not_callable(name: &str, given: usize) -> String {
    let takes = match name {
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
    format!("`{name}` takes {takes}, not {given}")
}
