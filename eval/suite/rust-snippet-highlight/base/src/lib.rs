//! Search over a list of places, with the matching words marked in the output.

pub mod highlight;
pub mod results;
