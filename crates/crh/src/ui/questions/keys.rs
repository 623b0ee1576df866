//! What a terminal sends for the keys that are pressed, read as keys.

/// A key that means something to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Up,
    Down,
    First,
    Last,
    Enter,
    /// Escape, Ctrl-C or Ctrl-D.
    Leave,
    /// A character, in lower case.
    Char(char),
}

const ESCAPE: u8 = 0x1b;
const CTRL_C: u8 = 0x03;
const CTRL_D: u8 = 0x04;
/// No key sends a longer sequence. What is longer is noise and is let go.
const SEQUENCE_MAX: usize = 32;

/// Bytes that came in and are not yet a key.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    pending: Vec<u8>,
}

impl Decoder {
    /// The keys that are complete with these bytes. What means nothing is left out.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Vec<Key> {
        bytes.iter().filter_map(|byte| self.next(*byte)).collect()
    }

    /// Nothing came for a while: an escape that nothing followed was the key itself.
    pub(super) fn pause(&mut self) -> Option<Key> {
        let pending = std::mem::take(&mut self.pending);
        (pending == [ESCAPE]).then_some(Key::Leave)
    }

    fn next(&mut self, byte: u8) -> Option<Key> {
        if byte == CTRL_C {
            self.pending.clear();
            return Some(Key::Leave);
        }
        if self.pending.is_empty() {
            return match byte {
                ESCAPE => {
                    self.pending.push(byte);
                    None
                }
                byte => plain(byte),
            };
        }
        if byte == ESCAPE {
            // A new sequence begins in the middle of one that was cut off.
            self.pending = vec![ESCAPE];
            return None;
        }
        self.pending.push(byte);
        match (self.pending.len(), byte) {
            // `ESC [` and `ESC O` go on; any other second byte is a key that was pressed with Alt, which means nothing here.
            (2, b'[' | b'O') => None,
            (2, _) | (SEQUENCE_MAX.., _) => {
                self.pending.clear();
                None
            }
            (_, 0x40..=0x7e) => sequence(&std::mem::take(&mut self.pending)),
            (_, _) => None,
        }
    }
}

fn plain(byte: u8) -> Option<Key> {
    match byte {
        b'\r' | b'\n' => Some(Key::Enter),
        CTRL_D => Some(Key::Leave),
        b'j' => Some(Key::Down),
        b'k' => Some(Key::Up),
        byte if byte.is_ascii_alphanumeric() => Some(Key::Char(byte.to_ascii_lowercase().into())),
        _ => None,
    }
}

/// What a whole sequence stands for: the arrow keys and the keys beside them, in the two modes of terminals.
fn sequence(bytes: &[u8]) -> Option<Key> {
    match bytes {
        b"\x1b[A" | b"\x1bOA" => Some(Key::Up),
        b"\x1b[B" | b"\x1bOB" => Some(Key::Down),
        b"\x1b[H" | b"\x1bOH" | b"\x1b[1~" => Some(Key::First),
        b"\x1b[F" | b"\x1bOF" | b"\x1b[4~" => Some(Key::Last),
        b"\x1bOM" => Some(Key::Enter),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], expected: &[Key]) {
        let mut whole = Decoder::default();
        let mut keys = whole.read(bytes);
        keys.extend(whole.pause());
        assert_eq!(keys, expected, "{:?}", bytes.escape_ascii().to_string());
        // However the bytes come in, they are the same keys.
        let mut pieces = Decoder::default();
        let mut keys: Vec<Key> =
            bytes.iter().flat_map(|byte| pieces.read(std::slice::from_ref(byte))).collect();
        keys.extend(pieces.pause());
        assert_eq!(keys, expected, "{:?}", bytes.escape_ascii().to_string());
    }

    #[test]
    fn keys_are_read_from_what_terminals_send() {
        use Key::*;
        check(b"\x1b[A\x1b[B\x1bOA\x1bOB", &[Up, Down, Up, Down]);
        check(b"\x1b[H\x1b[F\x1b[1~\x1b[4~", &[First, Last, First, Last]);
        check(b"jk\r\n", &[Down, Up, Enter, Enter]);
        check(b"aB1", &[Char('a'), Char('b'), Char('1')]);
        check(b"\x03", &[Leave]);
        check(b"\x04", &[Leave]);
        check(b"\x1b", &[Leave]);
    }

    #[test]
    fn what_means_nothing_is_left_out() {
        use Key::*;
        check(b"\x1b[1;5A\x1b[3~ \t\x7f", &[]);
        // A key with Alt is not the key.
        check(b"\x1ba", &[]);
        check("é設".as_bytes(), &[]);
        check(b"\x1b[\x03", &[Leave]);
        check(b"\x1b\x1b[A", &[Up]);
        check(&[b"\x1b[".as_slice(), &[b'0'; 100], b"~"].concat(), &vec![Char('0'); 70]);
    }

    #[test]
    fn a_sequence_that_was_cut_off_is_no_key() {
        check(b"\x1b[", &[]);
        check(b"\x1b[1;", &[]);
    }
}
