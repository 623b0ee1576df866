//! Decodes bytes from a terminal into keys.

/// A key that a menu understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MenuKey {
    Up,
    Down,
    First,
    Last,
    Enter,
    /// Escape, Ctrl-C or Ctrl-D.
    Cancel,
    /// A character, in lower case.
    Char(char),
}

const ESCAPE: u8 = 0x1b;
const CTRL_C: u8 = 0x03;
const CTRL_D: u8 = 0x04;
/// Maximum bytes of a key sequence. Longer sequences are discarded as noise.
const SEQUENCE_MAX: usize = 32;

/// Holds the bytes of an incomplete key.
#[derive(Debug, Default)]
pub(super) struct KeyDecoder {
    pending: Vec<u8>,
}

impl KeyDecoder {
    /// The keys that these bytes complete. Unknown keys are skipped.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Vec<MenuKey> {
        bytes.iter().filter_map(|byte| self.next(*byte)).collect()
    }

    /// Call after a pause in the input: a lone escape byte was the Escape key.
    pub(super) fn pause(&mut self) -> Option<MenuKey> {
        let pending = std::mem::take(&mut self.pending);
        (pending == [ESCAPE]).then_some(MenuKey::Cancel)
    }

    fn next(&mut self, byte: u8) -> Option<MenuKey> {
        if byte == CTRL_C {
            self.pending.clear();
            return Some(MenuKey::Cancel);
        }
        if self.pending.is_empty() {
            return match byte {
                ESCAPE => {
                    self.pending.push(byte);
                    None
                }
                byte => decode_byte(byte),
            };
        }
        if byte == ESCAPE {
            // A new sequence starts within an incomplete one.
            self.pending = vec![ESCAPE];
            return None;
        }
        self.pending.push(byte);
        match (self.pending.len(), byte) {
            // `ESC [` and `ESC O` start a sequence; any other second byte is a key pressed with
            // Alt, which is ignored.
            (2, b'[' | b'O') => None,
            (2, _) | (SEQUENCE_MAX.., _) => {
                self.pending.clear();
                None
            }
            (_, 0x40..=0x7e) => decode_sequence(&std::mem::take(&mut self.pending)),
            (_, _) => None,
        }
    }
}

fn decode_byte(byte: u8) -> Option<MenuKey> {
    match byte {
        b'\r' | b'\n' => Some(MenuKey::Enter),
        CTRL_D => Some(MenuKey::Cancel),
        b'j' => Some(MenuKey::Down),
        b'k' => Some(MenuKey::Up),
        byte if byte.is_ascii_alphanumeric() => {
            Some(MenuKey::Char(byte.to_ascii_lowercase().into()))
        }
        _ => None,
    }
}

/// The key of a complete sequence: arrows, Home and End, in both terminal modes.
fn decode_sequence(bytes: &[u8]) -> Option<MenuKey> {
    match bytes {
        b"\x1b[A" | b"\x1bOA" => Some(MenuKey::Up),
        b"\x1b[B" | b"\x1bOB" => Some(MenuKey::Down),
        b"\x1b[H" | b"\x1bOH" | b"\x1b[1~" => Some(MenuKey::First),
        b"\x1b[F" | b"\x1bOF" | b"\x1b[4~" => Some(MenuKey::Last),
        b"\x1bOM" => Some(MenuKey::Enter),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], expected: &[MenuKey]) {
        let mut whole = KeyDecoder::default();
        let mut keys = whole.read(bytes);
        keys.extend(whole.pause());
        assert_eq!(keys, expected, "{:?}", bytes.escape_ascii().to_string());
        // The result must not depend on how the bytes are split.
        let mut pieces = KeyDecoder::default();
        let mut keys: Vec<MenuKey> =
            bytes.iter().flat_map(|byte| pieces.read(std::slice::from_ref(byte))).collect();
        keys.extend(pieces.pause());
        assert_eq!(keys, expected, "{:?}", bytes.escape_ascii().to_string());
    }

    #[test]
    fn keys_are_decoded_from_terminal_bytes() {
        use MenuKey::*;
        check(b"\x1b[A\x1b[B\x1bOA\x1bOB", &[Up, Down, Up, Down]);
        check(b"\x1b[H\x1b[F\x1b[1~\x1b[4~", &[First, Last, First, Last]);
        check(b"jk\r\n", &[Down, Up, Enter, Enter]);
        check(b"aB1", &[Char('a'), Char('b'), Char('1')]);
        check(b"\x03", &[Cancel]);
        check(b"\x04", &[Cancel]);
        check(b"\x1b", &[Cancel]);
    }

    #[test]
    fn unknown_keys_are_skipped() {
        use MenuKey::*;
        check(b"\x1b[1;5A\x1b[3~ \t\x7f", &[]);
        // Alt plus a key is ignored.
        check(b"\x1ba", &[]);
        check("é設".as_bytes(), &[]);
        check(b"\x1b[\x03", &[Cancel]);
        check(b"\x1b\x1b[A", &[Up]);
        check(&[b"\x1b[".as_slice(), &[b'0'; 100], b"~"].concat(), &vec![Char('0'); 70]);
    }

    #[test]
    fn incomplete_sequence_is_no_key() {
        check(b"\x1b[", &[]);
        check(b"\x1b[1;", &[]);
    }
}
