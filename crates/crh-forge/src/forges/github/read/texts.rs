//! Reads comments and reviews in bounded memory. Once the texts of other accounts exceed a limit,
//! further long ones are shortened, so that they cannot displace those of our own account.

use serde::de::DeserializeOwned;
use tokio::sync::watch;

use super::super::{GitHubClient, PageCompleteness};
use super::wire::{Comment, Review};
use crate::ForgeError;

/// Bytes of other accounts' texts that are kept whole, per list: five thousand comments of three
/// thousand characters.
const OTHERS_BYTES_MAX: usize = 16 << 20;

/// Bytes that are kept of each further text of other accounts. Ten thousand such excerpts have ten
/// megabytes.
const EXCERPT_BYTES: usize = 1 << 10;

/// Maximum bytes of own texts: a hundred times as much as crh writes on the busiest pull request.
/// If there are more, the list counts as incomplete.
const OWN_BYTES_MAX: usize = 64 << 20;

/// Receives the account id of the token.
pub(super) type ViewerIdReceiver = watch::Receiver<Option<u64>>;

/// Bytes that texts may still use.
#[derive(Debug)]
pub(super) struct TextBudget {
    others_bytes: usize,
    own_bytes: usize,
    /// Number of shortened texts.
    pub(super) shortened_texts: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextOwner {
    /// Our own account.
    Ours,
    /// Any other account.
    Theirs,
}

impl TextBudget {
    pub(super) fn new() -> Self {
        Self { others_bytes: OTHERS_BYTES_MAX, own_bytes: OWN_BYTES_MAX, shortened_texts: 0 }
    }

    /// Takes a text into memory. Shortens a long text of another account that does not fit into the
    /// budget. If an own text does not fit, the result is `Truncated` and the caller must drop it.
    pub(super) fn take(&mut self, text: &mut String, owner: TextOwner) -> PageCompleteness {
        let remaining_bytes = match owner {
            TextOwner::Ours => &mut self.own_bytes,
            TextOwner::Theirs => &mut self.others_bytes,
        };
        match (remaining_bytes.checked_sub(text.len()), owner) {
            (Some(left), _) => *remaining_bytes = left,
            (None, TextOwner::Ours) => return PageCompleteness::Truncated,
            (None, TextOwner::Theirs) if text.len() > EXCERPT_BYTES => {
                text.truncate(text.floor_char_boundary(EXCERPT_BYTES));
                text.shrink_to_fit();
                self.shortened_texts += 1;
            }
            (None, TextOwner::Theirs) => {}
        }
        PageCompleteness::Complete
    }
}

/// A text with an author.
pub(super) trait AuthoredText: DeserializeOwned {
    /// Account id of the author; `None` if the account is gone.
    fn author(&self) -> Option<u64>;
    fn text(&mut self) -> Option<&mut String>;
}

impl AuthoredText for Comment {
    fn author(&self) -> Option<u64> {
        self.user.as_ref().map(|user| user.id)
    }

    fn text(&mut self) -> Option<&mut String> {
        self.body.as_mut()
    }
}

impl AuthoredText for Review {
    fn author(&self) -> Option<u64> {
        self.user.as_ref().map(|user| user.id)
    }

    fn text(&mut self) -> Option<&mut String> {
        self.body.as_mut()
    }
}

#[derive(Debug)]
pub(super) struct TextList<T> {
    pub(super) items: Vec<T>,
    pub(super) completeness: PageCompleteness,
    /// Number of shortened texts.
    pub(super) shortened_texts: usize,
}

/// Reads a list of texts page by page.
pub(super) async fn read_texts<T: AuthoredText>(
    client: &GitHubClient,
    path: &str,
    viewer: &ViewerIdReceiver,
) -> Result<TextList<T>, ForgeError> {
    let mut viewer_known = viewer.clone();
    let (mut budget, mut texts) = (TextBudget::new(), Vec::new());
    let completeness = client.each_page(path, async |page: Vec<T>, _| {
        // If the account id never arrives, reading the threads has failed. Then reading the pull
        // request fails, too, and this list does not matter.
        drop(viewer_known.wait_for(Option::is_some).await);
        let viewer = *viewer.borrow();
        for mut item in page {
            let is_ours = viewer.is_some() && item.author() == viewer;
            let owner = if is_ours { TextOwner::Ours } else { TextOwner::Theirs };
            let completeness =
                item.text().map_or(PageCompleteness::Complete, |text| budget.take(text, owner));
            if completeness == PageCompleteness::Truncated {
                return PageCompleteness::Truncated;
            }
            texts.push(item);
        }
        PageCompleteness::Complete
    });
    let completeness = completeness.await?;
    Ok(TextList { items: texts, completeness, shortened_texts: budget.shortened_texts })
}

/// Note about shortened texts.
pub(super) fn cut_note(list_name: &str, count: usize) -> Option<String> {
    let max_megabytes = OTHERS_BYTES_MAX >> 20;
    (count > 0).then(|| {
        format!("{count} {list_name} were shortened, because other accounts wrote more than {max_megabytes} MB.")
    })
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::super::super::{GitHubClientConfig, GitHubCredentials, GitHubHost, ReplyCache};
    use super::*;
    use crate::ForgeRetryPolicy;
    use crh_http::NetworkSettings;
    use crh_testkit::fake_github::{Pull, TOKEN};
    use crh_testkit::{FakeGitHub, Repo};

    fn small_budget() -> TextBudget {
        TextBudget {
            others_bytes: 2 * EXCERPT_BYTES,
            own_bytes: 3 * EXCERPT_BYTES,
            shortened_texts: 0,
        }
    }

    fn take_text(
        budget: &mut TextBudget,
        len: usize,
        owner: TextOwner,
    ) -> (usize, PageCompleteness) {
        let mut text = "x".repeat(len);
        let completeness = budget.take(&mut text, owner);
        (text.len(), completeness)
    }

    #[test]
    fn own_texts_stay_whole_in_a_flood() {
        let mut budget = small_budget();
        for (len, expected) in
            [(2 * EXCERPT_BYTES, 2 * EXCERPT_BYTES), (9 * EXCERPT_BYTES, EXCERPT_BYTES), (7, 7)]
        {
            assert_eq!(
                take_text(&mut budget, len, TextOwner::Theirs),
                (expected, PageCompleteness::Complete),
                "{len}"
            );
        }
        let own = 3 * EXCERPT_BYTES;
        assert_eq!(take_text(&mut budget, own, TextOwner::Ours), (own, PageCompleteness::Complete));
        assert_eq!(budget.shortened_texts, 1);
        assert_eq!(
            take_text(&mut budget, 1, TextOwner::Ours),
            (1, PageCompleteness::Truncated),
            "never in part"
        );
    }

    #[test]
    fn text_is_cut_at_char_boundary_and_shrunk() {
        let mut text = "€".repeat(3 * EXCERPT_BYTES);
        small_budget().take(&mut text, TextOwner::Theirs);
        assert_eq!(text.len(), EXCERPT_BYTES - EXCERPT_BYTES % 3);
        assert!(text.capacity() < 2 * EXCERPT_BYTES);
    }

    fn client(github: &FakeGitHub) -> GitHubClient {
        let config = GitHubClientConfig {
            host: GitHubHost::from_server_url(&github.url()).unwrap(),
            credentials: GitHubCredentials::Token(TOKEN.into()),
            cache: ReplyCache::disabled(),
            retry: ForgeRetryPolicy::default(),
            now: || SystemTime::UNIX_EPOCH,
            seed: 1,
        };
        GitHubClient::new(&NetworkSettings::default(), config).unwrap()
    }

    #[tokio::test]
    async fn pages_are_requested_before_account_is_known() {
        let repo = Repo::from_fixture("\n    //- a.py\n    x = 1\n    ");
        repo.git(&["branch", "feature"]);
        let github = FakeGitHub::start();
        github.repository("acme/shop", &repo);
        let pull = github.pull("acme/shop", Pull::default());
        for _ in 0..250 {
            github.comment(&pull, "ann", "Something.");
        }
        let (viewer_sender, viewer) = watch::channel(None);
        let client = client(&github);
        let path = format!("/repos/acme/shop/issues/{}/comments", pull.number);
        let send_viewer = async {
            while github.requests().len() < 3 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            viewer_sender.send_replace(Some(1));
        };
        let read_all =
            async { tokio::join!(read_texts::<Comment>(&client, &path, &viewer), send_viewer).0 };
        // Several times what a slow machine needs; a failure would wait forever.
        let texts =
            tokio::time::timeout(Duration::from_secs(120), read_all).await.unwrap().unwrap();
        assert_eq!(
            (texts.items.len(), texts.completeness, texts.shortened_texts),
            (250, PageCompleteness::Complete, 0)
        );
    }

    #[test]
    fn shortened_texts_are_noted() {
        assert_eq!(cut_note("comments", 0), None);
        let note = cut_note("comments", 3).unwrap();
        assert_eq!(
            note,
            "3 comments were shortened, because other accounts wrote more than 16 MB."
        );
    }
}
