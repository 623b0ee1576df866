//! Renders a merge proposal as text: everything visible that is stable across runs.

use std::fmt::Write;

use super::state::Proposal;

pub(super) fn render_proposal(proposal: &Proposal) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let mut line = |words: std::fmt::Arguments<'_>| writeln!(text, "{words}").unwrap();
    let rounds = proposal.diffs.len();
    line(format_args!(
        "merge proposal ({}) by {}, {rounds} preview diffs",
        proposal.status, proposal.registrant
    ));
    for comment in &proposal.comments {
        let vote = comment.vote.as_ref().map(|vote| format!(", {vote}")).unwrap_or_default();
        line(format_args!("\ncomment by {}{vote}\n{}", comment.author, indented(&comment.content)));
        let diff_number =
            |id: u64| proposal.diffs.iter().position(|diff| diff.id == id).map(|at| at + 1);
        let round = comment.preview_diff.and_then(diff_number).unwrap_or_default();
        for (number, text) in &comment.inline {
            line(format_args!("  on line {number} of diff {round}:\n{}", indented(text)));
        }
    }
    text
}

fn indented(text: &str) -> String {
    let lines: Vec<String> =
        text.lines().map(|line| format!("    {line}").trim_end().to_owned()).collect();
    lines.join("\n")
}
