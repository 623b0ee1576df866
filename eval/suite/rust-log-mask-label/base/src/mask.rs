//! Finds `token=...` in a log line and hides the value.

const KEY: &[u8] = b"token=";

fn is_token_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'-' || b == b'_'
}

/// A copy of `line` in which every byte of a token is a `*`.
pub fn mask_tokens(line: &[u8]) -> Vec<u8> {
    let mut out = line.to_vec();
    let mut at = 0;
    while at < out.len() {
        if out[at..].starts_with(KEY) {
            at += KEY.len();
            while at < out.len() && is_token_byte(out[at]) {
                out[at] = b'*';
                at += 1;
            }
        } else {
            at += 1;
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
            b"GET /?token=**** 200"
        );
    }

    #[test]
    fn leaves_other_lines_alone() {
        assert_eq!(mask_tokens(b"GET /index 200"), b"GET /index 200");
    }
}
