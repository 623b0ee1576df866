//! Lists that come in pages: the first one says how many there are, and the others are asked for side by side.

use futures_util::StreamExt;
use futures_util::stream;
use serde::de::DeserializeOwned;

use crate::ForgeError;

use super::Client;
use super::Got;
use super::SIDE_BY_SIDE;
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
        let sign = if path.contains('?') { '&' } else { '?' };
        let first_path = format!("{path}{sign}per_page={PAGE}");
        let first = self.get(&self.address(&first_path)).await?;
        let mut list = List { what: format!("GET {path}"), pages: Vec::new(), bytes: 0 };
        let mut links = links(&first);
        if list.take(&first)? == Rest::LeftOut {
            return Ok(list.ended(Rest::LeftOut));
        }
        let last = links.last.unwrap_or(1).min(PAGES_MAX);
        let addresses = (2..=last).map(|page| self.address(&format!("{first_path}&page={page}")));
        let mut others = stream::iter(addresses)
            .map(|address| async move { self.get(&address).await })
            // In order, so that what is left out does not depend on who was faster.
            .buffered(SIDE_BY_SIDE);
        while let Some(got) = others.next().await {
            let got = got?;
            links = self::links(&got);
            if list.take(&got)? == Rest::LeftOut {
                return Ok(list.ended(Rest::LeftOut));
            }
        }
        drop(others);
        // A list that does not say where it ends, or that has grown since, is followed page by page.
        while let Some(next) = links.next.take() {
            let inside =
                next.strip_prefix(self.host().api()).is_some_and(|rest| rest.starts_with('/'));
            if list.pages.len() >= PAGES_MAX || !inside {
                return Ok(list.ended(Rest::LeftOut));
            }
            let got = self.get(&next).await?;
            links = self::links(&got);
            if list.take(&got)? == Rest::LeftOut {
                return Ok(list.ended(Rest::LeftOut));
            }
        }
        Ok(list.ended(Rest::Nothing))
    }
}

/// A list while it is read.
struct List<P> {
    what: String,
    pages: Vec<P>,
    bytes: usize,
}

impl<P: DeserializeOwned> List<P> {
    /// Adds a page, unless that would be too much.
    fn take(&mut self, got: &Got) -> Result<Rest, ForgeError> {
        if self.bytes + got.body.len() > BYTES_MAX {
            return Ok(Rest::LeftOut);
        }
        self.bytes += got.body.len();
        self.pages.push(parsed(&self.what, &got.body)?);
        Ok(Rest::Nothing)
    }

    fn ended(self, rest: Rest) -> Pages<P> {
        Pages { pages: self.pages, rest }
    }
}

fn links(got: &Got) -> Links {
    got.link.as_deref().map(Links::read).unwrap_or_default()
}
