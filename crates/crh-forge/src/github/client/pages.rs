//! Lists that come in pages: the first one says how many there are, and the others are asked for side by side.

use std::collections::{BTreeMap, VecDeque};

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use tokio::task::JoinHandle;

use super::link::Links;
use super::{Client, Got, SIDE_BY_SIDE, Source, parsed};
use crate::ForgeError;

/// As many entries to a page as GitHub gives.
const PAGE: usize = 100;

/// The most pages of one list: twice as many comments as the largest pull requests have, and more files than GitHub lists. Of
/// comments as long as GitHub takes them (65,536 letters) that is 0.7 GB to download, and up to four times that if the letters are not
/// Latin ones; beside the page that is taken in, [`SIDE_BY_SIDE`] of them at most are in memory.
const PAGES_MAX: usize = 100;

/// The most bytes of one list, so that a list of hostile texts cannot fill the memory.
const BYTES_MAX: usize = 64 << 20;

/// The pages of a list, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pages<P> {
    /// Each page as it was read.
    pub pages: Vec<P>,
    /// What is missing.
    pub rest: Rest,
}

/// What of a list was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// Nothing: it is whole.
    Nothing,
    /// There is more of it than is read.
    LeftOut,
}

impl Client {
    /// Reads all pages of a list, such as `/repos/o/r/pulls/1/files`, up to a bound that is said. A page is whatever type `P` reads.
    pub async fn pages<P: DeserializeOwned>(&self, path: &str) -> Result<Pages<P>, ForgeError> {
        let (mut pages, mut bytes) = (Vec::new(), 0);
        let rest = self.each_page(path, async |page, size| {
            bytes += size;
            if bytes > BYTES_MAX {
                return Rest::LeftOut;
            }
            pages.push(page);
            Rest::Nothing
        });
        let rest = rest.await?;
        Ok(Pages { pages, rest })
    }

    /// Reads all pages of a list, and gives each with its size in bytes to `take`, in order, as long as that wants more. While
    /// `take` waits for something, the next pages come.
    pub(in crate::github) async fn each_page<P: DeserializeOwned>(
        &self,
        path: &str,
        mut take: impl AsyncFnMut(P, usize) -> Rest,
    ) -> Result<Rest, ForgeError> {
        let sign = if path.contains('?') { '&' } else { '?' };
        let first_path = format!("{path}{sign}per_page={PAGE}");
        let what = format!("GET {path}");
        let mut got = self.get(&self.address(&first_path)).await?;
        let last = links(&got).last.unwrap_or(1).min(PAGES_MAX);
        let mut unasked = 2..=last;
        // In order, so that what is left out does not depend on who was faster.
        let mut coming: VecDeque<Coming> = VecDeque::new();
        let mut pages = 0;
        loop {
            while coming.len() < SIDE_BY_SIDE
                && let Some(page) = unasked.next()
            {
                coming.push_back(self.coming(self.address(&format!("{first_path}&page={page}"))));
            }
            pages += 1;
            match take(parsed(&what, &got.body)?, got.body.len()).await {
                Rest::Nothing => {}
                Rest::LeftOut => return Ok(Rest::LeftOut),
            }
            got = if let Some(next) = coming.pop_front() {
                next.come().await?
            } else if let Some(next) = self.after(&got, &first_path, pages) {
                // A list that does not say where it ends, or that has grown since, is followed page by page.
                let inside =
                    next.strip_prefix(self.host().api()).is_some_and(|rest| rest.starts_with('/'));
                if pages >= PAGES_MAX || !inside {
                    return Ok(Rest::LeftOut);
                }
                self.get(&next).await?
            } else {
                return Ok(Rest::Nothing);
            };
        }
    }

    /// Asks for a page, on a task of its own: one that nobody looks at for a while must come to its end all the same, since others
    /// wait for its place among those that are under way.
    fn coming(&self, address: String) -> Coming {
        let client = self.clone();
        Coming(tokio::spawn(async move { client.get(&address).await }))
    }

    /// Where a list goes on after its last page so far. A full page that was the last one when it was kept is still the same
    /// page when there is another one after it.
    fn after(&self, got: &Got, first_path: &str, pages: usize) -> Option<String> {
        let more = || self.address(&format!("{first_path}&page={}", pages + 1));
        links(got).next.or_else(|| {
            let may_have_grown = got.source == Source::Kept && is_full(&got.body);
            may_have_grown.then(more)
        })
    }
}

/// A page that was asked for. It is not any more once this is dropped.
struct Coming(JoinHandle<Result<Got, ForgeError>>);

impl Coming {
    async fn come(mut self) -> Result<Got, ForgeError> {
        match (&mut self.0).await {
            Ok(got) => got,
            // Nobody else cancels it, so that it can only have panicked.
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
}

impl Drop for Coming {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A page of a list, as far as its entries are counted: the list alone, or in an object.
#[derive(Deserialize)]
#[serde(untagged)]
enum Page {
    List(Vec<IgnoredAny>),
    Named(BTreeMap<String, Part>),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Part {
    List(Vec<IgnoredAny>),
    Other(IgnoredAny),
}

/// Whether there is no room for more entries on a page.
fn is_full(body: &[u8]) -> bool {
    match serde_json::from_slice(body) {
        Ok(Page::List(entries)) => entries.len() >= PAGE,
        Ok(Page::Named(parts)) => parts.values().any(|part| match part {
            Part::List(entries) => entries.len() >= PAGE,
            Part::Other(_) => false,
        }),
        // Whoever reads it says so.
        Err(_) => false,
    }
}

fn links(got: &Got) -> Links {
    got.link.as_deref().map(Links::read).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_full_by_its_entries() {
        let entries = |count: usize| vec!["{}"; count].join(",");
        for (count, full) in [(0, false), (PAGE - 1, false), (PAGE, true)] {
            let list = entries(count);
            assert_eq!(is_full(format!("[{list}]").as_bytes()), full, "{count}");
            let named = format!("{{\"total_count\": 7, \"check_runs\": [{list}]}}");
            assert_eq!(is_full(named.as_bytes()), full, "{count}");
        }
        assert!(!is_full(b"<html>"));
    }
}
