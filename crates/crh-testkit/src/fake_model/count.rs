//! Token counting of the fake model, and its prompt cache. The rule is simple, so that tests can
//! predict the result.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::AddAssign;

use super::asked::{Asked, Mark, Wire};
use super::script::Part;

/// Each text, call and tool is rounded up to whole tokens.
pub const BYTES_PER_TOKEN: usize = 4;

/// The tokens of one answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Everything read, from the cache or not.
    pub input: u64,
    /// Of these, read from the cache.
    pub cached: u64,
    /// Of these, written to the cache. Only Anthropic's format has it.
    pub written: u64,
    /// Everything written, thoughts included.
    pub output: u64,
    /// Of these, thoughts.
    pub thoughts: u64,
}

/// Totals of requests and tokens. Tokens count when a request arrives, even if the stream is cut or
/// the client leaves. A request that fails before its stream costs none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
    /// Requests, failed ones too.
    pub requests: u64,
    /// Requests with an answer, even a partial one.
    pub answered: u64,
    /// Everything read, from the cache or not.
    pub input: u64,
    /// Of these, read from the cache.
    pub cached: u64,
    /// Of these, written to the cache.
    pub written: u64,
    /// Everything written.
    pub output: u64,
}

impl Counted {
    pub(super) fn add(&mut self, tokens: &Tokens) {
        self.answered += 1;
        self.input += tokens.input;
        self.cached += tokens.cached;
        self.written += tokens.written;
        self.output += tokens.output;
    }
}

impl AddAssign for Counted {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.answered += other.answered;
        self.input += other.input;
        self.cached += other.cached;
        self.written += other.written;
        self.output += other.output;
    }
}

/// The tokens of a text.
pub fn tokens(bytes: usize) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN) as u64
}

/// A prompt as its prefixes: for each block, the tokens up to its end and a hash of everything up
/// to there.
#[derive(Debug, Clone, Default)]
pub(super) struct Prompt {
    beginnings: Vec<Beginning>,
}

#[derive(Debug, Clone, Copy)]
struct Beginning {
    tokens: u64,
    hash: u64,
    remembered: bool,
}

/// Cached prefixes.
#[derive(Debug, Default)]
pub(super) struct Memory {
    hashes: HashSet<u64>,
}

impl Prompt {
    /// Anthropic caches up to the marks in a request; the others cache every prefix.
    pub(super) fn of(asked: &Asked) -> Self {
        let mut hasher = DefaultHasher::new();
        (asked.wire, &asked.model).hash(&mut hasher);
        let mut up_to_here = 0;
        let beginnings = asked.blocks().into_iter().map(|block| {
            block.read.hash(&mut hasher);
            up_to_here += tokens(block.read.bytes());
            let remembered = asked.wire != Wire::Messages || block.mark == Mark::Breakpoint;
            Beginning { tokens: up_to_here, hash: hasher.finish(), remembered }
        });
        Self { beginnings: beginnings.collect() }
    }

    fn input(&self) -> u64 {
        self.beginnings.last().map_or(0, |last| last.tokens)
    }
}

impl Memory {
    /// Tokens for reading the prompt and writing the parts.
    pub(super) fn count(&self, wire: Wire, prompt: &Prompt, said: &[Part]) -> Tokens {
        let marked = prompt.beginnings.iter().rposition(|beginning| beginning.remembered);
        let readable = marked.map_or(&[][..], |last| &prompt.beginnings[..=last]);
        let known = readable.iter().rev().find(|start| self.hashes.contains(&start.hash));
        let cached = known.map_or(0, |start| start.tokens);
        let marked = readable.last().map_or(0, |start| start.tokens);
        let written = if wire == Wire::Messages { marked - cached } else { 0 };
        let (mut output, mut thoughts) = (0, 0);
        for part in said {
            match part {
                Part::Thinking { text, .. } | Part::Sealed(text) => thoughts += tokens(text.len()),
                Part::Text(text) | Part::Refusal(text) => output += tokens(text.len()),
                Part::Call { name, arguments } => output += tokens(name.len() + arguments.len()),
            }
        }
        Tokens { input: prompt.input(), cached, written, output: output + thoughts, thoughts }
    }

    /// Caches the prefixes of a prompt.
    pub(super) fn remember(&mut self, prompt: &Prompt) {
        let remembered = prompt.beginnings.iter().filter(|beginning| beginning.remembered);
        self.hashes.extend(remembered.map(|beginning| beginning.hash));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::asked;
    use super::*;

    /// Cost of each request in sequence: input, cached, written.
    fn costs(wire: Wire, bodies: &[Value]) -> Vec<(u64, u64, u64)> {
        let mut memory = Memory::default();
        let mut costs = Vec::new();
        for body in bodies {
            let prompt = Prompt::of(&asked(wire, body.clone()));
            let tokens = memory.count(wire, &prompt, &[]);
            memory.remember(&prompt);
            costs.push((tokens.input, tokens.cached, tokens.written));
        }
        costs
    }

    #[test]
    fn common_prefix_is_read_from_cache() {
        let said = |model: &str, texts: &[&str]| {
            let message = |text: &&str| json!({ "role": "user", "content": text });
            let messages: Vec<Value> = texts.iter().map(message).collect();
            json!({ "model": model, "messages": messages })
        };
        let bodies = [
            said("m", &["12345678", "1234"]),
            said("m", &["12345678", "1234"]),
            said("m", &["12345678", "12345"]),
            said("m", &["changed!", "1234"]),
            said("another", &["12345678", "1234"]),
        ];
        let expected = [(3, 0, 0), (3, 3, 0), (4, 2, 0), (3, 0, 0), (3, 0, 0)];
        assert_eq!(costs(Wire::Chat, &bodies), expected);
    }

    #[test]
    fn anthropic_caches_up_to_marks_only() {
        let mark = json!({ "type": "ephemeral" });
        let system = json!([{ "type": "text", "text": "12345678", "cache_control": mark }]);
        let unmarked = json!([{ "role": "user", "content": "1234" }]);
        let part = json!({ "type": "text", "text": "1234", "cache_control": mark });
        let marked = json!([{ "role": "user", "content": [part] }]);
        let bodies = [
            json!({ "system": "12345678", "messages": unmarked }),
            json!({ "system": system, "messages": unmarked }),
            json!({ "system": system, "messages": unmarked }),
            json!({ "system": system, "messages": marked }),
            json!({ "system": system, "messages": marked }),
        ];
        let expected = [(3, 0, 0), (3, 0, 2), (3, 2, 0), (3, 2, 1), (3, 3, 0)];
        assert_eq!(costs(Wire::Messages, &bodies), expected);
    }
}
