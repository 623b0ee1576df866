//! `calc`: arithmetic for models. Evaluates only numbers.
//!
//! Invariant: length and depth of an expression are bounded, so evaluation is fast and cannot
//! overflow the stack.

mod number;
mod parser;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{AgentTool, ToolContext, ToolError, ToolReply};

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

impl AgentTool for Calc {
    const NAME: &'static str = "calc";
    type Input = CalcInput;

    fn answer(input: CalcInput, _: &ToolContext) -> Result<ToolReply, ToolError> {
        parser::evaluate(&input.expression)
            .map(|number| ToolReply::text(number.to_string()))
            .map_err(|error| ToolError::TellModel(error.to_string()))
    }
}

/// Why an expression has no value, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {reason}")]
struct CalcError {
    column: usize,
    reason: String,
}

#[cfg(test)]
mod tests;
