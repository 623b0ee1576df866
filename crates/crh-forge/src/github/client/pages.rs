//! Lists that come in pages: the first one says how many there are, and the others are asked for side by side.

use std::collections::BTreeMap;

use futures_util::StreamExt;
use futures_util::stream;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde::de::IgnoredAny;

use crate::ForgeError;

use super::Client;
use super::Got;
use super::SIDE_BY_SIDE;
use super::Source;
use super::link::Links;
use super::parsed;

/// As many entries to a page as GitHub gives.
const PAGE: usize = 100;

/// The most pages of one list: twice as many comments as the largest pull requests have, and more files than GitHub lists.
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
        let rest = self.each_page(path, std::future::ready(()), |page, size| {
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

    /// Reads all pages of a list, and gives each with its size in bytes to `take`, in order, as long as that wants more. The first
    /// one waits until it is `ready`.
    pub(in crate::github) async fn each_page<P: DeserializeOwned>(
        &self,
        path: &str,
        ready: impl Future<Output = ()>,
        mut take: impl FnMut(P, usize) -> Rest,
    ) -> Result<Rest, ForgeError> {
        let sign = if path.contains('?') { '&' } else { '?' };
        let first_path = format!("{path}{sign}per_page={PAGE}");
        let what = format!("GET {path}");
        let mut count = 0;
        let mut taken = |got: &Got| {
            count += 1;
            Ok::<_, ForgeError>((take(parsed(&what, &got.body)?, got.body.len()), count))
        };
        let mut got = self.get(&self.address(&first_path)).await?;
        ready.await;
        let (mut rest, mut pages) = taken(&got)?;
        let last = links(&got).last.unwrap_or(1).min(PAGES_MAX);
        let addresses = (2..=last).map(|page| self.address(&format!("{first_path}&page={page}")));
        let mut others = stream::iter(addresses)
            .map(|address| async move { self.get(&address).await })
            // In order, so that what is left out does not depend on who was faster.
            .buffered(SIDE_BY_SIDE);
        while rest == Rest::Nothing
            && let Some(other) = others.next().await
        {
            got = other?;
            (rest, pages) = taken(&got)?;
        }
        drop(others);
        // A list that does not say where it ends, or that has grown since, is followed page by page.
        while rest == Rest::Nothing
            && let Some(next) = self.after(&got, &first_path, pages)
        {
            let inside =
                next.strip_prefix(self.host().api()).is_some_and(|rest| rest.starts_with('/'));
            if pages >= PAGES_MAX || !inside {
                return Ok(Rest::LeftOut);
            }
            got = self.get(&next).await?;
            (rest, pages) = taken(&got)?;
        }
        Ok(rest)
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
