//! Renders a pull request as text: everything visible that is stable across runs.

use std::fmt::Write;

use super::state::{PullRequest, Thread};

pub(super) fn render_pull(pull: &PullRequest) -> String {
    let mut text = String::new();
    let state = match (pull.open, pull.draft) {
        (true, false) => "open",
        (true, true) => "draft",
        (false, _) => "closed",
    };
    // Writing to a string does not fail.
    let mut line = |words: std::fmt::Arguments<'_>| writeln!(text, "{words}").unwrap();
    line(format_args!(
        "pull request #{} ({state}) by {}: {}",
        pull.number, pull.author, pull.title
    ));
    for comment in &pull.comments {
        let hidden = if comment.minimized { " (hidden)" } else { "" };
        line(format_args!("\ncomment by {}{hidden}\n{}", comment.author, indented(&comment.body)));
    }
    for review in &pull.reviews {
        let head = if review.commit == pull.head_sha { "the head" } else { "an earlier commit" };
        let (state, author) = (&review.state, &review.author);
        line(format_args!("\nreview by {author}: {state} on {head}\n{}", indented(&review.body)));
    }
    for thread in &pull.threads {
        line(format_args!("\nthread on {}{}", thread_place(thread), thread_state(thread)));
        for comment in &thread.comments {
            line(format_args!("  {}:\n{}", comment.author, indented(&comment.body)));
        }
    }
    text
}

fn thread_place(thread: &Thread) -> String {
    let end = thread.line.unwrap_or(thread.original_line);
    let start = if thread.line.is_some() { thread.start_line } else { thread.original_start_line };
    let lines = start.map_or(end.to_string(), |start| format!("{start}-{end}"));
    format!("{}:{lines} {}", thread.path, thread.side.word())
}

fn thread_state(thread: &Thread) -> String {
    let resolved = match &thread.resolved_by {
        Some(login) => format!(", resolved by {login}"),
        None => String::new(),
    };
    let outdated = if thread.outdated { ", outdated" } else { "" };
    format!("{outdated}{resolved}")
}

fn indented(text: &str) -> String {
    let lines: Vec<String> =
        text.lines().map(|line| format!("    {line}").trim_end().to_owned()).collect();
    lines.join("\n")
}
