//! What people wrote on a pull request, in bounded memory: what is ours is kept whole, and of what others wrote the beginning at least,
//! so that nobody can hide our own words under theirs.

use serde::de::DeserializeOwned;
use tokio::sync::watch;

use super::super::{Client, Rest};
use super::wire::{Comment, Review};
use crate::ForgeError;

/// How much of what others wrote in one list is kept whole, in bytes: five thousand comments of three thousand letters.
const WHOLE_MAX: usize = 16 << 20;

/// What is kept of a text after that, in bytes: enough to see what somebody wants. Ten thousand of them have ten megabytes.
const BEGINNING: usize = 1 << 10;

/// How much of what our own account wrote is kept, in bytes: a hundred times what crh writes on the busiest pull request. More of it
/// is not all read.
const OWN_MAX: usize = 64 << 20;

/// Whom the token belongs to, as soon as that is known.
pub(super) type Viewer = watch::Receiver<Option<u64>>;

/// How much room is left for texts.
#[derive(Debug)]
pub(super) struct Room {
    whole: usize,
    own: usize,
    /// How many texts are not whole.
    pub(super) cut: usize,
}

/// Whose a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// Our own account's.
    Ours,
    /// Anybody else's.
    Theirs,
}

impl Room {
    pub(super) fn new() -> Self {
        Self { whole: WHOLE_MAX, own: OWN_MAX, cut: 0 }
    }

    /// Takes a text in, or as much of it as there is room for. Something of ours that has no room is left out by the caller.
    pub(super) fn take(&mut self, text: &mut String, whose: Whose) -> Rest {
        let room = match whose {
            Whose::Ours => &mut self.own,
            Whose::Theirs => &mut self.whole,
        };
        match (room.checked_sub(text.len()), whose) {
            (Some(left), _) => *room = left,
            (None, Whose::Ours) => return Rest::LeftOut,
            (None, Whose::Theirs) if text.len() > BEGINNING => {
                text.truncate(text.floor_char_boundary(BEGINNING));
                text.shrink_to_fit();
                self.cut += 1;
            }
            (None, Whose::Theirs) => {}
        }
        Rest::Nothing
    }
}

/// Something that somebody wrote.
pub(super) trait Said: DeserializeOwned {
    /// The number of its author; none if the account is gone.
    fn author(&self) -> Option<u64>;
    /// What it says; none if nothing.
    fn text(&mut self) -> Option<&mut String>;
}

impl Said for Comment {
    fn author(&self) -> Option<u64> {
        self.user.as_ref().map(|user| user.id)
    }

    fn text(&mut self) -> Option<&mut String> {
        self.body.as_mut()
    }
}

impl Said for Review {
    fn author(&self) -> Option<u64> {
        self.user.as_ref().map(|user| user.id)
    }

    fn text(&mut self) -> Option<&mut String> {
        self.body.as_mut()
    }
}

/// A list of what people wrote.
#[derive(Debug)]
pub(super) struct Texts<T> {
    pub(super) said: Vec<T>,
    pub(super) rest: Rest,
    /// Of how many only the beginning is kept.
    pub(super) cut: usize,
}

/// Reads a list of what people wrote, page by page.
pub(super) async fn read<T: Said>(
    client: &Client,
    path: &str,
    viewer: &Viewer,
) -> Result<Texts<T>, ForgeError> {
    let mut known = viewer.clone();
    let (mut room, mut said) = (Room::new(), Vec::new());
    let rest = client.each_page(path, async |page: Vec<T>, _| {
        // If nobody will ever say who we are, the burst fails for that reason, and what is made of the list does not matter.
        drop(known.wait_for(Option::is_some).await);
        let viewer = *viewer.borrow();
        for mut one in page {
            let is_ours = viewer.is_some() && one.author() == viewer;
            let whose = if is_ours { Whose::Ours } else { Whose::Theirs };
            let taken = one.text().map_or(Rest::Nothing, |text| room.take(text, whose));
            if taken == Rest::LeftOut {
                return Rest::LeftOut;
            }
            said.push(one);
        }
        Rest::Nothing
    });
    let rest = rest.await?;
    Ok(Texts { said, rest, cut: room.cut })
}

/// What is said about texts that are not whole; nothing if all are.
pub(super) fn note(what: &str, cut: usize) -> Option<String> {
    let most = WHOLE_MAX >> 20;
    (cut > 0).then(|| {
        format!("Of {cut} {what} only the beginning is here: others wrote more than {most} MB.")
    })
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::super::super::{Cache, Credentials, Host, Setup};
    use super::*;
    use crate::RetryPolicy;
    use crh_http::Network;
    use crh_testkit::fake_github::{Pull, TOKEN};
    use crh_testkit::{FakeGitHub, Repo};

    fn room() -> Room {
        Room { whole: 2 * BEGINNING, own: 3 * BEGINNING, cut: 0 }
    }

    fn taken(room: &mut Room, len: usize, whose: Whose) -> (usize, Rest) {
        let mut text = "x".repeat(len);
        let rest = room.take(&mut text, whose);
        (text.len(), rest)
    }

    #[test]
    fn however_much_others_write_what_is_ours_stays_whole() {
        let mut room = room();
        for (len, kept) in [(2 * BEGINNING, 2 * BEGINNING), (9 * BEGINNING, BEGINNING), (7, 7)] {
            assert_eq!(taken(&mut room, len, Whose::Theirs), (kept, Rest::Nothing), "{len}");
        }
        let own = 3 * BEGINNING;
        assert_eq!(taken(&mut room, own, Whose::Ours), (own, Rest::Nothing));
        assert_eq!(room.cut, 1);
        assert_eq!(taken(&mut room, 1, Whose::Ours), (1, Rest::LeftOut), "never in part");
    }

    #[test]
    fn a_text_is_cut_between_letters_and_gives_its_memory_back() {
        let mut text = "€".repeat(3 * BEGINNING);
        room().take(&mut text, Whose::Theirs);
        assert_eq!(text.len(), BEGINNING - BEGINNING % 3);
        assert!(text.capacity() < 2 * BEGINNING);
    }

    fn client(github: &FakeGitHub) -> Client {
        let setup = Setup {
            host: Host::of(&github.url()).unwrap(),
            credentials: Credentials::Token(TOKEN.into()),
            cache: Cache::none(),
            retry: RetryPolicy::default(),
            now: || SystemTime::UNIX_EPOCH,
            seed: 1,
        };
        Client::new(&Network::default(), setup).unwrap()
    }

    #[tokio::test]
    async fn all_pages_are_asked_for_before_it_is_known_who_we_are() {
        let repo = Repo::from_fixture("\n    //- a.py\n    x = 1\n    ");
        repo.git(&["branch", "feature"]);
        let github = FakeGitHub::start();
        github.repository("acme/shop", &repo);
        let pull = github.pull("acme/shop", Pull::default());
        for _ in 0..250 {
            github.comment(&pull, "ann", "Something.");
        }
        let (known, viewer) = watch::channel(None);
        let client = client(&github);
        let path = format!("/repos/acme/shop/issues/{}/comments", pull.number);
        let tell = async {
            while github.requests().len() < 3 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            known.send_replace(Some(1));
        };
        let all = async { tokio::join!(read::<Comment>(&client, &path, &viewer), tell).0 };
        // Several times what a slow machine takes: it would wait for ever.
        let texts = tokio::time::timeout(Duration::from_secs(120), all).await.unwrap().unwrap();
        assert_eq!((texts.said.len(), texts.rest, texts.cut), (250, Rest::Nothing, 0));
    }

    #[test]
    fn what_is_not_whole_is_said() {
        assert_eq!(note("comments", 0), None);
        let note = note("comments", 3).unwrap();
        assert_eq!(note, "Of 3 comments only the beginning is here: others wrote more than 16 MB.");
    }
}
