//! Ties a prompt file to its struct at compile time: every slot of the file is a field and every
//! field a slot, exactly once.

/// Opens a slot.
const OPEN: &str = "{{";
/// Closes a slot.
const CLOSE: &str = "}}";

/// A prompt: a Markdown file with slots, and the values that go into them.
pub(super) trait Prompt {
    /// Name of the file.
    const FILE: &'static str;
    /// Contents of the file.
    const TEXT: &'static str;

    /// Values of the slots.
    fn slots(&self) -> Vec<(&'static str, &str)>;

    /// Renders the prompt. Inserts values verbatim, without filling slots inside them.
    fn render(&self) -> String {
        fill_slots(Self::TEXT.trim_end(), &self.slots())
    }
}

/// Declares prompts: struct, file, and the compile-time check that they agree.
macro_rules! prompts {
    ($(
        $(#[$struct_doc:meta])*
        $name:ident = $file:literal { $( $(#[$field_doc:meta])* $slot:ident, )* }
    )*) => {
        $(
            $(#[$struct_doc])*
            #[derive(Debug, Clone, PartialEq, Eq)]
            pub(super) struct $name { $( $(#[$field_doc])* pub(super) $slot: String, )* }

            impl $crate::prompts::template::Prompt for $name {
                const FILE: &'static str = $file;
                const TEXT: &'static str = include_str!(concat!("../../prompts/", $file));

                fn slots(&self) -> Vec<(&'static str, &str)> {
                    vec![$( (stringify!($slot), &self.$slot), )*]
                }
            }

            const _: () = assert!(
                $crate::prompts::template::slots_match(
                    include_str!(concat!("../../prompts/", $file)),
                    &[$( stringify!($slot), )*],
                ),
                concat!("the slots of ", $file, " are not the fields of its struct, each exactly once"),
            );
        )*

        /// All prompt files with their texts.
        pub(super) const FILES: &[(&str, &str)] = &[$(
            (
                <$name as $crate::prompts::template::Prompt>::FILE,
                <$name as $crate::prompts::template::Prompt>::TEXT,
            ),
        )*];
    };
}

pub(super) use prompts;

/// Whether a text has exactly these slots, each once.
pub(super) const fn slots_match(text: &str, slots: &[&str]) -> bool {
    let mut index = 0;
    while index < slots.len() {
        if count(text, slots[index].as_bytes(), CLOSE.as_bytes()) != 1 {
            return false;
        }
        index += 1;
    }
    count(text, b"", b"") == slots.len()
}

/// How often a slot with this name occurs.
const fn count(text: &str, name: &[u8], close: &[u8]) -> usize {
    let text = text.as_bytes();
    let (mut index, mut matches) = (0, 0);
    while index < text.len() {
        if is_at(text, index, OPEN.as_bytes())
            && is_at(text, index + OPEN.len(), name)
            && is_at(text, index + OPEN.len() + name.len(), close)
        {
            matches += 1;
        }
        index += 1;
    }
    matches
}

const fn is_at(text: &[u8], start: usize, expected: &[u8]) -> bool {
    let mut offset = 0;
    while offset < expected.len() {
        if start + offset >= text.len() || text[start + offset] != expected[offset] {
            return false;
        }
        offset += 1;
    }
    true
}

/// Fills the slots of a text. Leaves unknown slots unchanged. The compile-time check excludes
/// unknown slots.
fn fill_slots(text: &str, slots: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(OPEN) {
        out.push_str(before);
        let slot = after.split_once(CLOSE).and_then(|(name, remainder)| {
            slots.iter().find(|(slot, _)| *slot == name).map(|(_, value)| (value, remainder))
        });
        match slot {
            Some((value, remainder)) => {
                out.push_str(value);
                rest = remainder;
            }
            None => {
                out.push_str(OPEN);
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_and_fields_must_match_exactly_once() {
        for (text, slots, expected) in [
            ("no slot", &[] as &[&str], true),
            ("{{a}} and {{b}}", &["b", "a"], true),
            ("{{a}} and {{a}}", &["a"], false),
            ("{{a}}", &["a", "b"], false),
            ("{{a}} and {{b}}", &["a"], false),
            ("{{a}} and {{ b }}", &["a", "b"], false),
            ("{{a}} and {{", &["a"], false),
            ("{{{a}}", &["a"], false),
            ("{{aa}}", &["a"], false),
        ] {
            assert_eq!(slots_match(text, slots), expected, "{text}");
        }
    }

    #[test]
    fn values_are_inserted_verbatim() {
        let slots = [("a", "{{b}} {{a}} {{"), ("b", "}}")];
        assert_eq!(fill_slots("1 {{a}} 2 {{b}} 3", &slots), "1 {{b}} {{a}} {{ 2 }} 3");
    }
}
