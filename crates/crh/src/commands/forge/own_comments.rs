//! Removes crh's own comments from a proposal on a forge. They quote the change and contain
//! markers: HTML comments by which crh recognises them. The next review must not take these texts
//! for an attack.

use crh_forge::{ChangeProposal, DiscussionComment, DiscussionThread};

/// Prefixes of markers, for all instances of crh. `code-review-agent` starts the marker with the id
/// of the review, and `crh` starts all others. Markers count only in comments by the forge account
/// that crh uses.
const MARKERS: [&str; 2] = ["<!-- crh:", "<!-- code-review-agent:"];

/// Removes crh's general comments. Shortens crh's inline comments to the first line of each issue,
/// so that replies to them still make sense.
pub(in crate::commands) fn remove_own_comments(
    proposal: &mut ChangeProposal,
    is_own: impl Fn(&DiscussionComment) -> bool,
) {
    fn shorten(threads: &mut [DiscussionThread], is_own: impl Fn(&DiscussionComment) -> bool) {
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

/// Whether a line of the text starts with a marker. The start of a line is enough: people who use
/// the same account write no markers, and a mail reply that quotes a marker puts `> ` before it.
pub(in crate::commands) fn has_marker(text: &str) -> bool {
    text.lines().any(|line| MARKERS.iter().any(|marker| line.starts_with(marker)))
}

/// First line of each issue in an inline comment. The text of an issue ends with its marker.
fn first_lines(text: &str) -> String {
    let lines = text.lines().collect::<Vec<_>>();
    let blocks = lines.split(|line| has_marker(line));
    let titles = blocks.filter_map(|lines| lines.iter().find(|line| !line.trim().is_empty()));
    titles.copied().collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_marker_does_not_count() {
        for (text, expected) in [
            ("Not ready\n\n--\ncrh\n<!-- code-review-agent:review_id=1 -->\n", true),
            ("P1: x\n\n<!-- crh:crh:abc -->", true),
            ("> P1: x\n> <!-- crh:crh:abc -->\n\nI do not think so.", false),
            ("It ends in `<!-- crh:crh:abc -->`, why?", false),
            ("    <!-- crh:crh:abc -->", false),
        ] {
            assert_eq!(has_marker(text), expected, "{text}");
        }
    }

    #[test]
    fn first_line_of_each_issue_is_kept() {
        let text = "P1: one\n\nWhy.\n<!-- crh:crh:a -->\n\nP2: two\n\nWhy.\n<!-- crh:crh:b -->\n";
        assert_eq!(first_lines(text), "P1: one\nP2: two");
    }
}
