//! Finds `token=...` in a log line and hides the value.

const KEY: &[u8] = b"token=";
const LABEL: &[u8] = b"[masked]";

fn is_token_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'-' || b == b'_'
}

/// A copy of `line` with a fixed label in place of every token, so that
/// the log does not show how long a token was. An empty value stays empty.
pub fn mask_tokens(line: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(line.len() + LABEL.len());
    let mut rest = line;
    while let Some(&first) = rest.first() {
        if let Some(after) = rest.strip_prefix(KEY) {
            let len = after.iter().take_while(|&&b| is_token_byte(b)).count();
            out.extend_from_slice(KEY);
            if len > 0 {
                out.extend_from_slice(LABEL);
            }
            rest = &after[len..];
        } else {
            out.push(first);
            rest = &rest[1..];
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hides_the_value() {
        assert_eq!(
            mask_tokens(b"GET /?token=ab-9 200"),
            b"GET /?token=[masked] 200"
        );
    }

    #[test]
    fn hides_every_value() {
        assert_eq!(
            mask_tokens(b"old token=abcdefghijkl new token=x"),
            b"old token=[masked] new token=[masked]"
        );
    }

    #[test]
    fn empty_value_stays_empty() {
        assert_eq!(mask_tokens(b"token=&page=2"), b"token=&page=2");
    }

    #[test]
    fn leaves_other_lines_alone() {
        assert_eq!(mask_tokens(b"GET /index 200"), b"GET /index 200");
    }
}
