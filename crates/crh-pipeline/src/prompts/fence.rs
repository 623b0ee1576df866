//! Fences around untrusted text: models must treat it as data.

use crh_review::identity::content_id;

/// Hex digits of a tag: 64 bits, so that no text can contain its own tag.
const TAG_DIGITS: usize = 16;

/// Puts a text between marks with its hash, which it cannot forge. `kind` is a word chosen by crh,
/// never text of the change.
pub fn fence(kind: &str, text: &str) -> String {
    let tag = content_id(text.as_bytes());
    let tag = &tag[..TAG_DIGITS];
    let kind: String = kind.chars().map(|char| if is_plain(char) { char } else { '-' }).collect();
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("<data-{tag} kind=\"{kind}\">\n{text}{end}</data-{tag}>")
}

/// Whether a character is allowed in a kind.
fn is_plain(char: char) -> bool {
    char.is_ascii_alphanumeric() || matches!(char, '-' | '_')
}
