//! The header that says where the other pages of a list are. Pure.

/// What a `Link` header names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Links {
    /// The address of the page after this one.
    pub(super) next: Option<String>,
    /// The number of the last page.
    pub(super) last: Option<usize>,
}

impl Links {
    /// Reads the header; what is not understood in it is as if it were not there.
    pub(super) fn read(header: &str) -> Self {
        let mut links = Self::default();
        // An address may hold a comma, so entries are told by their brackets.
        for entry in header.split('<').skip(1) {
            let Some((address, parameters)) = entry.split_once('>') else { continue };
            let rel = parameters.split(';').find_map(|one| {
                let (name, value) = one.split_once('=')?;
                let value = value.trim().trim_end_matches(',').trim().trim_matches('"');
                name.trim().eq_ignore_ascii_case("rel").then_some(value)
            });
            match rel {
                Some("next") => links.next = Some(address.to_owned()),
                Some("last") => links.last = page_of(address),
                Some(_) | None => {}
            }
        }
        links
    }
}

fn page_of(address: &str) -> Option<usize> {
    let (_, query) = address.split_once('?')?;
    query.split('&').find_map(|pair| pair.strip_prefix("page=")?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_and_the_last_page_are_found() {
        let links = |next: Option<&str>, last| Links { next: next.map(str::to_owned), last };
        for (header, expected) in [
            (
                r#"<https://h/x?per_page=100&page=2>; rel="next", <https://h/x?page=7&per_page=100>; rel="last""#,
                links(Some("https://h/x?per_page=100&page=2"), Some(7)),
            ),
            (r#"<https://h/x?a=1,2&page=1>; rel="prev""#, links(None, None)),
            ("<https://h/x?after=abc>; rel=next", links(Some("https://h/x?after=abc"), None)),
            (r#"<https://h/x?page=z>; rel="last""#, links(None, None)),
            ("<https://h/x", links(None, None)),
            ("", links(None, None)),
        ] {
            assert_eq!(Links::read(header), expected, "{header}");
        }
    }
}
