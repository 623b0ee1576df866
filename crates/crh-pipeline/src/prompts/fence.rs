//! Fences around untrusted text. Models must treat the text as data.

use crh_review::identity::content_id;

/// Hex digits of the hash in a tag: 64 bits. An attacker cannot find a text that contains that much
/// of its own hash.
const TAG_DIGITS: usize = 16;

/// Puts a text between two tags that contain the hash of the text. The text cannot contain its own
/// closing tag, since that would change the hash. `kind` is a word chosen by crh, never text of the
/// change.
pub fn fence(kind: &str, text: &str) -> String {
    let tag = content_id(text.as_bytes());
    let tag = &tag[..TAG_DIGITS];
    let kind: String =
        kind.chars().map(|char| if is_kind_char(char) { char } else { '-' }).collect();
    let final_newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("<data-{tag} kind=\"{kind}\">\n{text}{final_newline}</data-{tag}>")
}

/// Whether a character is allowed in `kind`.
fn is_kind_char(char: char) -> bool {
    char.is_ascii_alphanumeric() || matches!(char, '-' | '_')
}
