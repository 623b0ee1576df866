//! Paginated lists. The first page names the last one, so crh requests all others concurrently.

use std::collections::{BTreeMap, VecDeque};

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use tokio::task::JoinHandle;

use super::link::PageLinks;
use super::{GetReply, GetSource, GitHubClient, parse_body};
use crate::ForgeError;
use crate::http::sender::CONCURRENT_MAX;

/// Entries per page: GitHub's maximum.
const PAGE_ENTRIES: usize = 100;

/// Maximum number of pages of one list: twice the comments of the largest pull requests, and more
/// files than GitHub lists. With comments of GitHub's maximum length (65,536 characters) that is
/// 0.7 GB to download, up to four times as much for non-Latin text. Besides the current page, at
/// most [`CONCURRENT_MAX`] downloaded pages wait in memory.
const PAGES_MAX: usize = 100;

/// Maximum bytes of a list that [`GitHubClient::pages`] keeps, so that a hostile list cannot fill
/// the memory.
const BYTES_MAX: usize = 64 << 20;

/// The pages of a list, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pages<P> {
    /// Parsed pages.
    pub pages: Vec<P>,
    /// Whether the list is complete.
    pub completeness: PageCompleteness,
}

/// Whether a list was read completely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageCompleteness {
    /// All pages.
    Complete,
    /// The list exceeds crh's limits.
    Truncated,
}

impl GitHubClient {
    /// Reads the pages of a list, such as `/repos/o/r/pulls/1/files`, up to a size limit.
    pub async fn pages<P: DeserializeOwned>(&self, path: &str) -> Result<Pages<P>, ForgeError> {
        let (mut pages, mut bytes) = (Vec::new(), 0);
        let completeness = self.each_page(path, async |page, size| {
            bytes += size;
            if bytes > BYTES_MAX {
                return PageCompleteness::Truncated;
            }
            pages.push(page);
            PageCompleteness::Complete
        });
        let completeness = completeness.await?;
        Ok(Pages { pages, completeness })
    }

    /// Passes each page with its size in bytes to `on_page`, in order, until `on_page` returns
    /// `Truncated`. Later pages download meanwhile.
    pub(in crate::forges::github) async fn each_page<P: DeserializeOwned>(
        &self,
        path: &str,
        mut on_page: impl AsyncFnMut(P, usize) -> PageCompleteness,
    ) -> Result<PageCompleteness, ForgeError> {
        let separator = if path.contains('?') { '&' } else { '?' };
        let first_path = format!("{path}{separator}per_page={PAGE_ENTRIES}");
        let request = format!("GET {path}");
        let mut reply = self.get(&self.address(&first_path)).await?;
        let last = links(&reply).last.unwrap_or(1).min(PAGES_MAX);
        let mut page_numbers = 2..=last;
        // crh takes pages in order, so that a list beyond the limits loses the same pages on every
        // read.
        let mut pending: VecDeque<PageRequest> = VecDeque::new();
        let mut page_count = 0;
        loop {
            while pending.len() < CONCURRENT_MAX
                && let Some(page) = page_numbers.next()
            {
                pending
                    .push_back(self.spawn_page(self.address(&format!("{first_path}&page={page}"))));
            }
            page_count += 1;
            match on_page(parse_body(&request, &reply.body)?, reply.body.len()).await {
                PageCompleteness::Complete => {}
                PageCompleteness::Truncated => return Ok(PageCompleteness::Truncated),
            }
            reply = if let Some(next) = pending.pop_front() {
                next.wait().await?
            } else if let Some(next) = self.next_address(&reply, &first_path, page_count) {
                // The list does not name its last page, or has grown: follow it page by page.
                let is_same_api =
                    next.strip_prefix(self.host().api()).is_some_and(|rest| rest.starts_with('/'));
                if page_count >= PAGES_MAX || !is_same_api {
                    return Ok(PageCompleteness::Truncated);
                }
                self.get(&next).await?
            } else {
                return Ok(PageCompleteness::Complete);
            };
        }
    }

    /// Requests a page on its own task. The request holds one of the limited slots, so it must
    /// finish even while nothing polls it.
    fn spawn_page(&self, address: String) -> PageRequest {
        let client = self.clone();
        PageRequest(tokio::spawn(async move { client.get(&address).await }))
    }

    /// Address of the page after the last known one. A cached page that is full may have a
    /// successor now, even though the host says "not modified".
    fn next_address(&self, reply: &GetReply, first_path: &str, pages: usize) -> Option<String> {
        let next_page = || self.address(&format!("{first_path}&page={}", pages + 1));
        links(reply).next.or_else(|| {
            let may_have_grown = reply.source == GetSource::NotModified && is_full(&reply.body);
            may_have_grown.then(next_page)
        })
    }
}

/// A requested page. Dropping it cancels the request.
struct PageRequest(JoinHandle<Result<GetReply, ForgeError>>);

impl PageRequest {
    async fn wait(mut self) -> Result<GetReply, ForgeError> {
        match (&mut self.0).await {
            Ok(reply) => reply,
            // Only `drop` cancels the task, so it panicked.
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
}

impl Drop for PageRequest {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A page, parsed only to count its entries: a list, or an object with a list.
#[derive(Deserialize)]
#[serde(untagged)]
enum CountedPage {
    List(Vec<IgnoredAny>),
    Named(BTreeMap<String, CountedField>),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum CountedField {
    List(Vec<IgnoredAny>),
    Other(IgnoredAny),
}

/// Whether a page has the maximum number of entries.
fn is_full(body: &[u8]) -> bool {
    match serde_json::from_slice(body) {
        Ok(CountedPage::List(entries)) => entries.len() >= PAGE_ENTRIES,
        Ok(CountedPage::Named(parts)) => parts.values().any(|part| match part {
            CountedField::List(entries) => entries.len() >= PAGE_ENTRIES,
            CountedField::Other(_) => false,
        }),
        // The caller reports invalid JSON.
        Err(_) => false,
    }
}

fn links(reply: &GetReply) -> PageLinks {
    reply.link.as_deref().map(PageLinks::parse).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_page_is_detected_by_entry_count() {
        let entries = |count: usize| vec!["{}"; count].join(",");
        for (count, full) in [(0, false), (PAGE_ENTRIES - 1, false), (PAGE_ENTRIES, true)] {
            let list = entries(count);
            assert_eq!(is_full(format!("[{list}]").as_bytes()), full, "{count}");
            let object = format!("{{\"total_count\": 7, \"check_runs\": [{list}]}}");
            assert_eq!(is_full(object.as_bytes()), full, "{count}");
        }
        assert!(!is_full(b"<html>"));
    }
}
