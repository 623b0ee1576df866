//! Workflow expressions (`${{ … }}`): which values end up in the resulting text.

/// Nesting limit; the parser is recursive.
const DEPTH_MAX: usize = 32;

/// A value that becomes part of the text, such as `github.event.issue.title`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ValueFlow {
    /// Parts of the name in lower case; `*` for any part.
    pub(super) path: Vec<String>,
    /// How often the value is serialized as JSON, with everything that it contains.
    json_levels: usize,
    /// Whether the name may have more parts, because crh did not follow the expression.
    is_open: bool,
}

impl ValueFlow {
    /// Whether the flow may be the value with this name, or contain that value. `*` matches any
    /// part.
    pub(super) fn matches(&self, name: &str) -> bool {
        let mut parts = name.split('.');
        let is_prefix = self.path.iter().all(|own_part| {
            parts.next().is_some_and(|part| own_part == part || own_part == "*" || part == "*")
        });
        is_prefix && (self.is_json() || self.is_open || parts.next().is_none())
    }

    /// Whether the text is JSON with everything that the value contains.
    pub(super) fn is_json(&self) -> bool {
        self.json_levels > 0
    }

    /// The value of a property.
    fn access(mut self, parts: &[String]) -> Self {
        if !self.is_json() {
            self.path.extend_from_slice(parts);
        }
        self
    }

    /// The dotted name.
    pub(super) fn name(&self) -> String {
        self.path.join(".")
    }
}

/// The expressions in a text: offset and content.
pub(super) fn expressions(text: &str) -> Vec<(usize, &str)> {
    let mut expressions = Vec::new();
    let mut offset = 0;
    while let Some(start) = text[offset..].find("${{").map(|begin| offset + begin) {
        let content_start = start + 3;
        let Some(length) = expression_length(&text[content_start..]) else { break };
        expressions.push((start, &text[content_start..content_start + length]));
        offset = content_start + length;
    }
    expressions
}

/// The length of an expression: up to the first `}}` outside of strings.
fn expression_length(text: &str) -> Option<usize> {
    let mut in_string = false;
    let bytes = text.as_bytes();
    for (offset, byte) in bytes.iter().enumerate() {
        match byte {
            b'\'' => in_string = !in_string,
            b'}' if !in_string && bytes.get(offset + 1) == Some(&b'}') => return Some(offset),
            _ => {}
        }
    }
    None
}

/// The values that become part of the result. Compared values do not: they become `true` or
/// `false`. Empty for invalid expressions. In an expression that is nested too deeply, every value
/// counts.
pub(super) fn flows(expression: &str) -> Vec<ValueFlow> {
    let Some(tokens) = tokenize(expression) else { return Vec::new() };
    let mut parser = ExpressionParser { tokens: &tokens, position: 0, depth: 0 };
    let flows = parser.parse_or();
    match parser.depth > DEPTH_MAX {
        true => all_values(&tokens),
        false => flows.filter(|_| parser.position == tokens.len()).unwrap_or_default(),
    }
}

/// All values of an expression that crh does not follow, each with everything that it contains: a
/// property may be read after a bracket, or by an index that is nested too deeply itself.
fn all_values(tokens: &[Token]) -> Vec<ValueFlow> {
    let mut values = Vec::new();
    let mut is_part = false;
    for (position, token) in (1..).zip(tokens) {
        let mut parser = ExpressionParser { tokens, position, depth: 0 };
        if let Token::Name(name) = token
            && !is_part
            && !parser.consume_sign(b'(')
        {
            let path = [vec![name.clone()], parser.parse_parts().unwrap_or_default()].concat();
            values.push(ValueFlow { path, json_levels: 0, is_open: true });
        }
        is_part = *token == Token::Sign(b'.');
    }
    values
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Name(String),
    Text(String),
    Or,
    And,
    Not,
    Compare,
    /// `.`, `*`, `(`, `)`, `[`, `]`, `,`
    Sign(u8),
}

fn tokenize(expression: &str) -> Option<Vec<Token>> {
    let bytes = expression.as_bytes();
    let mut tokens = Vec::new();
    let mut offset = 0;
    while let Some(&byte) = bytes.get(offset) {
        let next = bytes.get(offset + 1).copied();
        let (token, length) = match byte {
            _ if byte.is_ascii_whitespace() => {
                offset += 1;
                continue;
            }
            b'\'' => {
                let (text, length) = parse_string(&expression[offset..])?;
                (Token::Text(text), length)
            }
            b'|' if next == Some(b'|') => (Token::Or, 2),
            b'&' if next == Some(b'&') => (Token::And, 2),
            b'=' | b'!' | b'<' | b'>' if next == Some(b'=') => (Token::Compare, 2),
            b'<' | b'>' => (Token::Compare, 1),
            b'!' => (Token::Not, 1),
            b'.' | b'*' | b'(' | b')' | b'[' | b']' | b',' => (Token::Sign(byte), 1),
            _ => {
                let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-+".contains(byte);
                let length = bytes[offset..].iter().take_while(|byte| is_name(byte)).count();
                let name =
                    expression.get(offset..offset + length).filter(|name| !name.is_empty())?;
                (Token::Name(name.to_ascii_lowercase()), length)
            }
        };
        tokens.push(token);
        offset += length;
    }
    Some(tokens)
}

/// Parses a string, in which two quotes stand for one. Returns the value and the length in bytes.
fn parse_string(text: &str) -> Option<(String, usize)> {
    let mut value = String::new();
    let mut offset = 1;
    loop {
        let end = offset + text.get(offset..)?.find('\'')?;
        value.push_str(&text[offset..end]);
        if text.as_bytes().get(end + 1) != Some(&b'\'') {
            return Some((value, end + 1));
        }
        value.push('\'');
        offset = end + 2;
    }
}

struct ExpressionParser<'t> {
    tokens: &'t [Token],
    position: usize,
    depth: usize,
}

impl ExpressionParser<'_> {
    fn consume(&mut self, token: &Token) -> bool {
        let is_next = self.tokens.get(self.position) == Some(token);
        self.position += usize::from(is_next);
        is_next
    }

    fn consume_sign(&mut self, sign: u8) -> bool {
        self.consume(&Token::Sign(sign))
    }

    /// `a || b`: either of them.
    fn parse_or(&mut self) -> Option<Vec<ValueFlow>> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return None;
        }
        let mut flows = self.parse_and()?;
        while self.consume(&Token::Or) {
            flows.extend(self.parse_and()?);
        }
        self.depth -= 1;
        Some(flows)
    }

    /// `a && b`: the last one, or a falsy value, which carries no text.
    fn parse_and(&mut self) -> Option<Vec<ValueFlow>> {
        let mut flows = self.parse_comparison()?;
        while self.consume(&Token::And) {
            flows = self.parse_comparison()?;
        }
        Some(flows)
    }

    fn parse_comparison(&mut self) -> Option<Vec<ValueFlow>> {
        let mut flows = self.parse_unary()?;
        while self.consume(&Token::Compare) {
            self.parse_unary()?;
            flows = Vec::new();
        }
        Some(flows)
    }

    fn parse_unary(&mut self) -> Option<Vec<ValueFlow>> {
        let mut is_negated = false;
        while self.consume(&Token::Not) {
            is_negated = true;
        }
        let flows = self.parse_value()?;
        Some(if is_negated { Vec::new() } else { flows })
    }

    fn parse_value(&mut self) -> Option<Vec<ValueFlow>> {
        if self.consume_sign(b'(') {
            let flows = self.parse_or()?;
            if !self.consume_sign(b')') {
                return None;
            }
            let parts = self.parse_parts()?;
            return Some(flows.into_iter().map(|flow| flow.access(&parts)).collect());
        }
        match self.tokens.get(self.position)?.clone() {
            Token::Text(_) => {
                self.position += 1;
                Some(Vec::new())
            }
            Token::Name(name) => {
                self.position += 1;
                if self.consume_sign(b'(') {
                    return self.parse_call(&name);
                }
                let mut path = vec![name];
                path.extend(self.parse_parts()?);
                Some(vec![ValueFlow { path, json_levels: 0, is_open: false }])
            }
            Token::Or | Token::And | Token::Not | Token::Compare | Token::Sign(_) => None,
        }
    }

    fn parse_call(&mut self, name: &str) -> Option<Vec<ValueFlow>> {
        let mut flows = Vec::new();
        while !self.consume_sign(b')') {
            flows.extend(self.parse_or()?);
            self.consume_sign(b',');
        }
        let parts = self.parse_parts()?;
        match name {
            "contains" | "startswith" | "endswith" | "hashfiles" | "success" | "failure"
            | "always" | "cancelled" => flows.clear(),
            "tojson" => flows.iter_mut().for_each(|flow| flow.json_levels += 1),
            "fromjson" => {
                // A value that is not serialized is a text of JSON. It stays untrusted.
                let parse = |flow: ValueFlow| match flow.json_levels.checked_sub(1) {
                    Some(json_levels) => ValueFlow { json_levels, ..flow }.access(&parts),
                    None => flow,
                };
                flows = flows.into_iter().map(parse).collect();
            }
            _ => {}
        }
        Some(flows)
    }

    /// Property access: `.title`, `.*`, `['title']`, `[0]`.
    fn parse_parts(&mut self) -> Option<Vec<String>> {
        let mut parts = Vec::new();
        loop {
            if self.consume_sign(b'.') {
                let part = match self.tokens.get(self.position)? {
                    Token::Name(name) => name.clone(),
                    Token::Sign(b'*') => "*".to_owned(),
                    _ => return None,
                };
                self.position += 1;
                parts.push(part);
            } else if self.consume_sign(b'[') {
                let text = match self.tokens.get(self.position)? {
                    Token::Text(text) => text.to_ascii_lowercase(),
                    _ => "*".to_owned(),
                };
                if !self.consume_sign(b'*') {
                    self.parse_or()?;
                }
                if !self.consume_sign(b']') {
                    return None;
                }
                parts.push(text);
            } else {
                return Some(parts);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compared_value_does_not_flow() {
        let check = |expression: &str, names: &[&str]| {
            let found: Vec<String> = flows(expression).iter().map(ValueFlow::name).collect();
            assert_eq!(found, names, "{expression}");
        };
        check(" github.head_ref ", &["github.head_ref"]);
        check("github.head_ref == 'x'", &[]);
        check("!github.head_ref", &[]);
        check("github.head_ref && 'x'", &[]);
        check("github.head_ref || github.ref_name", &["github.head_ref", "github.ref_name"]);
        check("a == 'b' && github.head_ref || c", &["github.head_ref", "c"]);
        check("contains(github.event.issue.title, 'x')", &[]);
        check("format('it''s {0}', github.event.issue.title)", &["github.event.issue.title"]);
        check("GitHub.Event['issue'].title", &["github.event.issue.title"]);
        check("github.event.commits[0].message", &["github.event.commits.*.message"]);
        check("github.event.commits.*.message", &["github.event.commits.*.message"]);
        check("(github.head_ref)", &["github.head_ref"]);
        check("(github.event.issue).title", &["github.event.issue.title"]);
        check("fromJSON(toJSON(github.event.issue)).title", &["github.event.issue.title"]);
        check("fromJSON(github.event.issue.body).title", &["github.event.issue.body"]);
        let deep = format!("{}github.head_ref{}", "(".repeat(35), ")".repeat(35));
        check(&deep, &["github.head_ref"]);
        check(&format!("{} == 'x'", "f(".repeat(40) + "a.b"), &["a.b"]);
        let deep_index = format!("a.b[{}'c'{}]", "(".repeat(35), ")".repeat(35));
        check(&deep_index, &["a"]);
        check("github.head_ref github", &[]);
        check("github..x", &[]);
        check(&"(".repeat(100_000), &[]);
        check(&"!".repeat(100_000), &[]);
        check("toJSON(github.event)", &["github.event"]);
    }

    #[test]
    fn json_of_object_contains_its_fields() {
        let is = |expression: &str, name: &str| flows(expression)[0].matches(name);
        assert!(is("toJSON(github.event)", "github.event.issue.title"));
        assert!(is("toJSON(github)", "github.event.issue.title"));
        assert!(is("fromJSON(toJSON(toJSON(github)))", "github.event.issue.title"));
        assert!(!is("fromJSON(toJSON(github))", "github.event.issue.title"));
        assert!(!is("github.event", "github.event.issue.title"));
        assert!(is("github.event.*.title", "github.event.issue.title"));
        assert!(!is("toJSON(github.event.repository)", "github.event.issue.title"));
        assert!(!is("github.event.issue.title.x", "github.event.issue.title"));
        let nested = |text: &str| format!("{}{text}{}", "(".repeat(35), ")".repeat(35));
        let deep_index = format!("github.event.issue[{}]", nested("'title'"));
        assert!(is(&deep_index, "github.event.issue.title"));
        assert!(!flows(&deep_index)[0].is_json(), "JSON counts as safe in JavaScript");
        assert!(is(&format!("{}.title", nested("github.event.issue")), "github.event.issue.title"));
        assert!(!is(&format!("matrix[{}]", nested("'title'")), "github.event.issue.title"));
    }

    #[test]
    fn expression_ends_outside_of_strings() {
        assert_eq!(expressions("a ${{ '}}' }} ${{b}} ${{"), [(2, " '}}' "), (14, "b")]);
    }
}
