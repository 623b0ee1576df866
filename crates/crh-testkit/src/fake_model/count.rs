//! Token counting of the fake model, and its prompt cache. The rule is simple, so that tests can
//! predict the result.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::AddAssign;

use super::request::{FakeRequest, PromptMark, Wire};
use super::script::Part;

/// Bytes per token. Each text, call and tool is rounded up to whole tokens.
pub const BYTES_PER_TOKEN: usize = 4;

/// The tokens of one prompt and its answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Everything read, from the cache or not.
    pub input: u64,
    /// Input tokens read from the cache.
    pub cached: u64,
    /// Input tokens written to the cache. Only Anthropic's format has it.
    pub written: u64,
    /// Everything that the model writes, thoughts included.
    pub output: u64,
    /// Output tokens that are thoughts.
    pub thoughts: u64,
}

/// Totals of requests and tokens. Tokens count when a request arrives, even if the stream is cut or
/// the client leaves. A request that fails before its stream costs none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FakeUsage {
    /// Requests, also those that fail by script.
    pub requests: u64,
    /// Requests with an answer, even a partial one.
    pub answered: u64,
    /// Everything read, from the cache or not.
    pub input: u64,
    /// Input tokens read from the cache.
    pub cached: u64,
    /// Input tokens written to the cache.
    pub written: u64,
    /// Everything that the model writes.
    pub output: u64,
}

impl FakeUsage {
    pub(super) fn add(&mut self, tokens: &Tokens) {
        self.answered += 1;
        self.input += tokens.input;
        self.cached += tokens.cached;
        self.written += tokens.written;
        self.output += tokens.output;
    }
}

impl AddAssign for FakeUsage {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.answered += other.answered;
        self.input += other.input;
        self.cached += other.cached;
        self.written += other.written;
        self.output += other.output;
    }
}

/// The tokens of a text with this many bytes.
pub fn tokens(bytes: usize) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN) as u64
}

/// A prompt as its prefixes: for each block, the tokens up to its end and a hash of everything up
/// to there.
#[derive(Debug, Clone, Default)]
pub(super) struct Prompt {
    prefixes: Vec<PromptPrefix>,
}

#[derive(Debug, Clone, Copy)]
struct PromptPrefix {
    tokens: u64,
    hash: u64,
    is_cacheable: bool,
}

/// Cached prefixes.
#[derive(Debug, Default)]
pub(super) struct PromptCache {
    hashes: HashSet<u64>,
}

impl Prompt {
    /// Anthropic caches up to the marks in a request; the others cache every prefix.
    pub(super) fn from_request(request: &FakeRequest) -> Self {
        let mut hasher = DefaultHasher::new();
        (request.wire, &request.model).hash(&mut hasher);
        let mut token_count = 0;
        let prefixes = request.blocks().into_iter().map(|block| {
            block.part.hash(&mut hasher);
            token_count += tokens(block.part.bytes());
            let is_cacheable =
                request.wire != Wire::Messages || block.mark == PromptMark::Breakpoint;
            PromptPrefix { tokens: token_count, hash: hasher.finish(), is_cacheable }
        });
        Self { prefixes: prefixes.collect() }
    }

    fn input(&self) -> u64 {
        self.prefixes.last().map_or(0, |last| last.tokens)
    }
}

impl PromptCache {
    /// Tokens for reading the prompt and writing the parts.
    pub(super) fn count(&self, wire: Wire, prompt: &Prompt, reply_parts: &[Part]) -> Tokens {
        let last_cacheable = prompt.prefixes.iter().rposition(|prefix| prefix.is_cacheable);
        let cacheable = last_cacheable.map_or(&[][..], |last| &prompt.prefixes[..=last]);
        let cached_prefix =
            cacheable.iter().rev().find(|prefix| self.hashes.contains(&prefix.hash));
        let cached = cached_prefix.map_or(0, |prefix| prefix.tokens);
        let cacheable_tokens = cacheable.last().map_or(0, |prefix| prefix.tokens);
        let written = if wire == Wire::Messages { cacheable_tokens - cached } else { 0 };
        let (mut output, mut thoughts) = (0, 0);
        for part in reply_parts {
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
        let cacheable = prompt.prefixes.iter().filter(|prefix| prefix.is_cacheable);
        self.hashes.extend(cacheable.map(|prefix| prefix.hash));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::asked;
    use super::*;

    /// Cost of each request in sequence: input, cached, written.
    fn costs(wire: Wire, bodies: &[Value]) -> Vec<(u64, u64, u64)> {
        let mut cache = PromptCache::default();
        let mut costs = Vec::new();
        for body in bodies {
            let prompt = Prompt::from_request(&asked(wire, body.clone()));
            let tokens = cache.count(wire, &prompt, &[]);
            cache.remember(&prompt);
            costs.push((tokens.input, tokens.cached, tokens.written));
        }
        costs
    }

    #[test]
    fn common_prefix_is_read_from_cache() {
        let body = |model: &str, texts: &[&str]| {
            let message = |text: &&str| json!({ "role": "user", "content": text });
            let messages: Vec<Value> = texts.iter().map(message).collect();
            json!({ "model": model, "messages": messages })
        };
        let bodies = [
            body("m", &["12345678", "1234"]),
            body("m", &["12345678", "1234"]),
            body("m", &["12345678", "12345"]),
            body("m", &["changed!", "1234"]),
            body("another", &["12345678", "1234"]),
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
