//! `calc`: arithmetic, so that a model does not have to do sums in its head. Nothing but numbers is evaluated.
//!
//! Invariant: an expression has a bounded length and depth, so evaluating one takes neither time nor stack.

mod number;
mod parser;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Bench, Reply, Tool, ToolError};

pub(super) struct Calc;

/// Evaluates an arithmetic expression. Operators `+ - * / % ^` and parentheses, numbers such as `42`, `0xff`,
/// `1.5e-3`, constants `pi` and `e`, functions `abs min max floor ceil round sqrt log ln exp pow`; `log(x)` has base
/// 10, `log(x, b)` base b, `%` has the sign of its left side. Whole numbers are exact up to 38 digits; other results
/// have 14.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CalcInput {
    /// The expression, of at most 1000 characters: `(3 + 4) * 2^10`.
    expression: String,
}

impl Tool for Calc {
    const NAME: &'static str = "calc";
    type Input = CalcInput;

    fn answer(input: CalcInput, _: &Bench) -> Result<Reply, ToolError> {
        parser::evaluate(&input.expression)
            .map(|number| Reply::text(number.to_string()))
            .map_err(|fault| ToolError::TellModel(fault.to_string()))
    }
}

/// Why an expression has no value, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {reason}")]
struct Fault {
    column: usize,
    reason: String,
}

#[cfg(test)]
mod tests;
