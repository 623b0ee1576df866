//! Fences around what comes from a change or a model: data, whatever it says.

use crh_review::identity::content_id;

/// How many hex digits a tag has: 64 bits, so that nobody finds a text that holds its own tag.
const TAG_DIGITS: usize = 16;

/// Puts a text between marks that it cannot forge, since they carry its hash: it would have to hold the hash of
/// itself. `kind` says what it is and is one of our words, never a text of the change.
pub fn fence(kind: &str, text: &str) -> String {
    let tag = content_id(text.as_bytes());
    let tag = &tag[..TAG_DIGITS];
    let kind: String = kind.chars().map(|char| if is_plain(char) { char } else { '-' }).collect();
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("<data-{tag} kind=\"{kind}\">\n{text}{end}</data-{tag}>")
}

/// Whether a character can stand in the name of a kind.
fn is_plain(char: char) -> bool {
    char.is_ascii_alphanumeric() || matches!(char, '-' | '_')
}
