//! What crh itself wrote at a forge is not what people said: it quotes the change, carries markers, and must not be taken for an
//! attack on the next review.

use crh_forge::{Comment, Proposal, Thread};

/// How markers begin, of whichever installation. They count only in what our own account wrote.
const MARKERS: [&str; 2] = ["<!-- crh:", "<!-- code-review-agent:"];

/// Takes own comments about the whole out of what people said. Of own comments on lines the first line of each issue stays,
/// which says what it is that people reply to.
pub(in crate::commands) fn without(proposal: &mut Proposal, is_own: impl Fn(&Comment) -> bool) {
    fn shorten(threads: &mut [Thread], is_own: impl Fn(&Comment) -> bool) {
        for comment in threads.iter_mut().flat_map(|thread| &mut thread.comments) {
            if is_own(comment) {
                comment.content = first_lines(&comment.content);
            }
        }
    }
    proposal.comments.retain(|comment| !is_own(comment));
    shorten(&mut proposal.threads, &is_own);
    for round in &mut proposal.rounds {
        round.comments.retain(|comment| !is_own(comment));
        shorten(&mut round.threads, &is_own);
    }
}

/// Whether a marker of crh's is in a text, on a line of its own. A person may use the same account, and writes none; whoever replies
/// by mail quotes it.
pub(in crate::commands) fn is_marked(text: &str) -> bool {
    text.lines().any(|line| MARKERS.iter().any(|marker| line.starts_with(marker)))
}

/// The first line of each of the issues that stand one after another in a text, and end in a marker.
fn first_lines(text: &str) -> String {
    let issues = text.lines().collect::<Vec<_>>();
    let issues = issues.split(|line| is_marked(line));
    let firsts = issues.filter_map(|lines| lines.iter().find(|line| !line.trim().is_empty()));
    firsts.copied().collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_counts_where_it_was_written_and_not_where_it_is_quoted() {
        for (text, expected) in [
            ("Not ready\n\n--\ncrh\n<!-- code-review-agent:review_id=1 -->\n", true),
            ("P1: x\n\n<!-- crh:crh:abc -->", true),
            ("> P1: x\n> <!-- crh:crh:abc -->\n\nI do not think so.", false),
            ("It ends in `<!-- crh:crh:abc -->`, why?", false),
            ("    <!-- crh:crh:abc -->", false),
        ] {
            assert_eq!(is_marked(text), expected, "{text}");
        }
    }

    #[test]
    fn of_several_issues_on_one_line_each_is_named() {
        let text = "P1: one\n\nWhy.\n<!-- crh:crh:a -->\n\nP2: two\n\nWhy.\n<!-- crh:crh:b -->\n";
        assert_eq!(first_lines(text), "P1: one\nP2: two");
    }
}
