//! What crh itself wrote at a forge is not what people said: it quotes the change, carries markers, and must not be taken for an
//! attack on the next review.

use crh_forge::Comment;
use crh_forge::Proposal;
use crh_forge::Thread;

/// How markers begin, of whichever installation. They count only in what our own account wrote.
const MARKERS: [&str; 2] = ["<!-- crh:", "<!-- code-review-agent:"];

/// Takes own comments about the whole out of what people said. Of own comments on lines the first line stays, which says what the
/// issue is that people reply to.
pub(in crate::commands) fn without(proposal: &mut Proposal, is_own: impl Fn(&Comment) -> bool) {
    fn shorten(threads: &mut [Thread], is_own: impl Fn(&Comment) -> bool) {
        for comment in threads.iter_mut().flat_map(|thread| &mut thread.comments) {
            if is_own(comment) {
                let first = comment.content.lines().find(|line| !is_marked(line));
                comment.content = first.unwrap_or_default().to_owned();
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

/// Whether a marker of crh's is in a text. A person may use the same account, and writes none.
pub(in crate::commands) fn is_marked(text: &str) -> bool {
    MARKERS.iter().any(|marker| text.contains(marker))
}
