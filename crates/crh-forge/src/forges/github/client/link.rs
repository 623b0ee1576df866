//! Parses the `Link` header of paginated lists.

/// Contents of a `Link` header.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PageLinks {
    /// Address of the next page.
    pub(super) next: Option<String>,
    /// Number of the last page.
    pub(super) last: Option<usize>,
}

impl PageLinks {
    /// Ignores entries that it does not understand.
    pub(super) fn parse(header: &str) -> Self {
        let mut links = Self::default();
        // Addresses may contain commas, so entries are split at their brackets.
        for entry in header.split('<').skip(1) {
            let Some((address, parameters)) = entry.split_once('>') else { continue };
            let rel = parameters.split(';').find_map(|parameter| {
                let (name, value) = parameter.split_once('=')?;
                let value = value.trim().trim_end_matches(',').trim().trim_matches('"');
                name.trim().eq_ignore_ascii_case("rel").then_some(value)
            });
            match rel {
                Some("next") => links.next = Some(address.to_owned()),
                Some("last") => links.last = page_number(address),
                Some(_) | None => {}
            }
        }
        links
    }
}

fn page_number(address: &str) -> Option<usize> {
    let (_, query) = address.split_once('?')?;
    query.split('&').find_map(|pair| pair.strip_prefix("page=")?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_next_and_last_page() {
        let links = |next: Option<&str>, last| PageLinks { next: next.map(str::to_owned), last };
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
            assert_eq!(PageLinks::parse(header), expected, "{header}");
        }
    }
}
