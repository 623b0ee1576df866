//! Decodes files that git calls binary: text in UTF-16, or text with zero bytes.

use std::collections::HashSet;

use crh_lint::{AddedLine, ChangedFile, Project};
use crh_review::finding::Side;

/// Maximum bytes of a file to decode. Larger files count as data.
const BYTES_MAX: usize = 8_000_000;
/// A file counts as data if more than one in this many bytes of its decoded text is a control or
/// undecodable character.
const CONTROL_SHARE: usize = 50;

/// Lines of the new version of a file that occur nowhere in the old one.
pub(super) fn added_lines(project: &dyn Project, file: &ChangedFile) -> Vec<AddedLine> {
    let text = |side, path: &str| {
        let bytes = project.file(side, path).ok().flatten()?;
        decode(&bytes)
    };
    let Some(new_text) = text(Side::New, &file.path).filter(|_| !file.is_deleted) else {
        return Vec::new();
    };
    let old_text = file.old_path.as_deref().and_then(|path| text(Side::Old, path));
    let old_lines: HashSet<&str> = old_text.iter().flat_map(|text| text.lines()).collect();
    (1..)
        .zip(new_text.lines())
        .filter(|(_, line)| !old_lines.contains(line))
        .map(|(number, line)| AddedLine { number, text: line.as_bytes().to_vec() })
        .collect()
}

/// All lines of a file after the change; `None` if it is deleted, unreadable or data.
pub(super) fn all_lines(project: &dyn Project, file: &ChangedFile) -> Option<Vec<AddedLine>> {
    let bytes = project.file(Side::New, &file.path).ok().flatten().filter(|_| !file.is_deleted)?;
    let text = decode(&bytes)?;
    let lines = (1..).zip(text.lines());
    Some(lines.map(|(number, line)| AddedLine { number, text: line.as_bytes().to_vec() }).collect())
}

/// The text of a file; `None` if it is data.
fn decode(bytes: &[u8]) -> Option<String> {
    if bytes.len() > BYTES_MAX {
        return None;
    }
    let text = match bytes {
        [0xff, 0xfe, rest @ ..] => decode_utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => decode_utf16(rest, u16::from_be_bytes),
        // Text in UTF-16 without a byte order mark: every other byte of ASCII is zero.
        [_, 0, _, 0, ..] => decode_utf16(bytes, u16::from_le_bytes),
        [0, _, 0, _, ..] => decode_utf16(bytes, u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes).replace('\0', ""),
    };
    let is_control = |char: &char| {
        *char == char::REPLACEMENT_CHARACTER || char.is_control() && !"\t\n\r".contains(*char)
    };
    let control_count = text.chars().filter(is_control).count();
    (control_count * CONTROL_SHARE <= text.len()).then_some(text)
}

fn decode_utf16(bytes: &[u8], unit: impl Fn([u8; 2]) -> u16) -> String {
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    char::decode_utf16(units).map(|char| char.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_decoded_and_data_is_not() {
        let utf16 = |text: &str, bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
            text.encode_utf16().flat_map(bytes).collect()
        };
        let text = "Write-Host 'hi'\r\n# ü\r\n";
        let marked = format!("\u{feff}{text}");
        for bytes in [
            utf16(&marked, u16::to_le_bytes),
            utf16(&marked, u16::to_be_bytes),
            utf16(text, u16::to_le_bytes),
            utf16(text, u16::to_be_bytes),
        ] {
            assert_eq!(decode(&bytes).as_deref(), Some(text));
        }
        assert_eq!(decode(b"ls\n\0rm -rf /\n").as_deref(), Some("ls\nrm -rf /\n"));
        assert_eq!(decode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\x01\x02\x03"), None);
    }
}
