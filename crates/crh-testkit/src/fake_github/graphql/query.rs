//! The subset of GraphQL that clients use: operations, fields, arguments, variables, aliases and
//! fragments.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

/// Deepest nesting of selections and arguments, similar to GitHub's.
const MAX_DEPTH: usize = 25;

/// A parsed document.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Document {
    pub(crate) operations: Vec<Operation>,
    pub(crate) fragments: BTreeMap<String, Fragment>,
}

#[derive(Debug, PartialEq)]
pub(crate) struct Operation {
    pub(crate) kind: OperationKind,
    pub(crate) name: Option<String>,
    /// Default values of variables.
    pub(crate) defaults: Map<String, Value>,
    /// Names of all variables.
    pub(crate) variables: Vec<String>,
    pub(crate) selections: Vec<Selection>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OperationKind {
    Query,
    Mutation,
}

/// Fields for objects of a type, or of any type.
#[derive(Debug, PartialEq)]
pub(crate) struct Fragment {
    pub(crate) on: Option<String>,
    pub(crate) selections: Vec<Selection>,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Selection {
    Field(Field),
    Inline(Fragment),
    Spread(String),
}

#[derive(Debug, PartialEq)]
pub(crate) struct Field {
    /// Name in the reply.
    pub(crate) key: String,
    pub(crate) name: String,
    pub(crate) arguments: Vec<(String, Argument)>,
    pub(crate) selections: Vec<Selection>,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Argument {
    Value(Value),
    Variable(String),
    Object(Vec<(String, Self)>),
    List(Vec<Self>),
}

impl Argument {
    /// The value with variables replaced.
    pub(crate) fn value(&self, variables: &Map<String, Value>) -> Value {
        match self {
            Self::Value(value) => value.clone(),
            Self::Variable(name) => variables.get(name).cloned().unwrap_or(Value::Null),
            Self::Object(fields) => {
                let fields =
                    fields.iter().map(|(name, field)| (name.clone(), field.value(variables)));
                Value::Object(fields.collect())
            }
            Self::List(items) => items.iter().map(|item| item.value(variables)).collect(),
        }
    }
}

impl Argument {
    /// Collects the names of the variables in it.
    fn names<'a>(&'a self, names: &mut BTreeSet<&'a str>) {
        match self {
            Self::Value(_) => {}
            Self::Variable(name) => {
                names.insert(name);
            }
            Self::Object(fields) => fields.iter().for_each(|(_, field)| field.names(names)),
            Self::List(items) => items.iter().for_each(|item| item.names(names)),
        }
    }
}

/// Reads a document, or says what is wrong with it.
pub(crate) fn parse(text: &str) -> Result<Document, String> {
    let mut parser = Parser { words: tokenize(text)?, at: 0, depth: 0 };
    let mut document = Document::default();
    while let Some(word) = parser.peek() {
        match word {
            QueryToken::Name(name) if name == "fragment" => {
                parser.at += 1;
                let name = parser.name()?;
                parser.expect_name("on")?;
                let on = Some(parser.name()?);
                let selections = parser.selections()?;
                document.fragments.insert(name, Fragment { on, selections });
            }
            _ => document.operations.push(parser.operation()?),
        }
    }
    Ok(document)
}

impl Document {
    /// Message about an unused fragment, an unused variable or an undeclared variable. GitHub
    /// refuses all three.
    pub(crate) fn unused_name(&self, operation: &Operation) -> Option<String> {
        let (mut fragments, mut variables) = (BTreeSet::new(), BTreeSet::new());
        let mut open: Vec<&Selection> = operation.selections.iter().collect();
        while let Some(selection) = open.pop() {
            match selection {
                Selection::Field(field) => {
                    for (_, argument) in &field.arguments {
                        argument.names(&mut variables);
                    }
                    open.extend(&field.selections);
                }
                Selection::Inline(fragment) => open.extend(&fragment.selections),
                Selection::Spread(name) => {
                    let fragment = self.fragments.get(name);
                    if fragment.is_some() && fragments.insert(name.as_str()) {
                        open.extend(
                            fragment.map(|fragment| &fragment.selections).into_iter().flatten(),
                        );
                    }
                }
            }
        }
        let unused = self.fragments.keys().find(|name| !fragments.contains(name.as_str()));
        if let Some(name) = unused {
            return Some(format!("Fragment {name} was defined, but not used"));
        }
        let unused = operation.variables.iter().find(|name| !variables.contains(name.as_str()));
        if let Some(name) = unused {
            return Some(format!("Variable ${name} is declared but not used"));
        }
        let undefined =
            variables.iter().find(|name| !operation.variables.iter().any(|one| one == *name));
        undefined.map(|name| format!("Variable ${name} is used but not declared"))
    }
}

#[derive(Debug, Clone, PartialEq)]
enum QueryToken {
    Sign(char),
    Spread,
    Name(String),
    Value(Value),
}

fn tokenize(text: &str) -> Result<Vec<QueryToken>, String> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            ' ' | '\t' | '\r' | '\n' | ',' | '\u{feff}' => first.len_utf8(),
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '.' if rest.starts_with("...") => {
                words.push(QueryToken::Spread);
                3
            }
            '{' | '}' | '(' | ')' | '[' | ']' | ':' | '$' | '!' | '=' | '@' => {
                words.push(QueryToken::Sign(first));
                1
            }
            '"' => {
                let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
                let value = values.next().and_then(Result::ok);
                words.push(QueryToken::Value(value.ok_or("a string has no end")?));
                values.byte_offset()
            }
            '-' | '0'..='9' => {
                let end =
                    rest[1..].find(|sign: char| !(sign.is_ascii_alphanumeric() || sign == '.'));
                let length = end.map_or(rest.len(), |end| end + 1);
                let value = serde_json::from_str(&rest[..length]);
                words.push(QueryToken::Value(value.map_err(|error| error.to_string())?));
                length
            }
            'a'..='z' | 'A'..='Z' | '_' => {
                let end = rest.find(|sign: char| !(sign.is_ascii_alphanumeric() || sign == '_'));
                let length = end.unwrap_or(rest.len());
                words.push(QueryToken::Name(rest[..length].to_owned()));
                length
            }
            _ => return Err(format!("Parse error on \"{first}\"")),
        };
        rest = &rest[length..];
    }
    Ok(words)
}

struct Parser {
    words: Vec<QueryToken>,
    at: usize,
    depth: usize,
}

impl Parser {
    fn peek(&self) -> Option<&QueryToken> {
        self.words.get(self.at)
    }

    fn eat(&mut self, sign: char) -> bool {
        let is_next = self.peek() == Some(&QueryToken::Sign(sign));
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, sign: char) -> Result<(), String> {
        if self.eat(sign) { Ok(()) } else { Err(self.wrong(&format!("`{sign}`"))) }
    }

    fn expect_name(&mut self, name: &str) -> Result<(), String> {
        if self.name()? == name { Ok(()) } else { Err(self.wrong(&format!("`{name}`"))) }
    }

    fn name(&mut self) -> Result<String, String> {
        let Some(QueryToken::Name(name)) = self.peek().cloned() else {
            return Err(self.wrong("a name"));
        };
        self.at += 1;
        Ok(name)
    }

    fn wrong(&self, expected: &str) -> String {
        format!("Parse error: expected {expected}, found {:?}", self.peek())
    }

    fn operation(&mut self) -> Result<Operation, String> {
        let mut operation = Operation {
            kind: OperationKind::Query,
            name: None,
            defaults: Map::new(),
            variables: Vec::new(),
            selections: Vec::new(),
        };
        if self.peek() != Some(&QueryToken::Sign('{')) {
            operation.kind = match self.name()?.as_str() {
                "query" => OperationKind::Query,
                "mutation" => OperationKind::Mutation,
                other => return Err(format!("Parse error on \"{other}\"")),
            };
            if let Some(QueryToken::Name(_)) = self.peek() {
                operation.name = Some(self.name()?);
            }
            if self.eat('(') {
                while !self.eat(')') {
                    self.variable(&mut operation)?;
                }
            }
        }
        operation.selections = self.selections()?;
        Ok(operation)
    }

    fn variable(&mut self, operation: &mut Operation) -> Result<(), String> {
        self.expect('$')?;
        let name = self.name()?;
        self.expect(':')?;
        // Types are not checked: the fake has no schema.
        while self.eat('[') {}
        self.name()?;
        while self.eat('!') || self.eat(']') {}
        if self.eat('=') {
            let value = self.argument()?.value(&Map::new());
            operation.defaults.insert(name.clone(), value);
        }
        operation.variables.push(name);
        Ok(())
    }

    fn selections(&mut self) -> Result<Vec<Selection>, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("Query has a depth of more than {MAX_DEPTH}"));
        }
        self.expect('{')?;
        let mut selections = Vec::new();
        while !self.eat('}') {
            selections.push(self.selection()?);
        }
        self.depth -= 1;
        Ok(selections)
    }

    fn selection(&mut self) -> Result<Selection, String> {
        if self.peek() == Some(&QueryToken::Spread) {
            self.at += 1;
            let on = match self.peek() {
                Some(QueryToken::Name(name)) if name == "on" => {
                    self.at += 1;
                    Some(self.name()?)
                }
                Some(QueryToken::Name(_)) => return Ok(Selection::Spread(self.name()?)),
                _ => None,
            };
            return Ok(Selection::Inline(Fragment { on, selections: self.selections()? }));
        }
        let key = self.name()?;
        let name = if self.eat(':') { self.name()? } else { key.clone() };
        let mut arguments = Vec::new();
        if self.eat('(') {
            while !self.eat(')') {
                let name = self.name()?;
                self.expect(':')?;
                arguments.push((name, self.argument()?));
            }
        }
        let open = self.peek() == Some(&QueryToken::Sign('{'));
        let selections = if open { self.selections()? } else { Vec::new() };
        Ok(Selection::Field(Field { key, name, arguments, selections }))
    }

    fn argument(&mut self) -> Result<Argument, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("Query has a depth of more than {MAX_DEPTH}"));
        }
        let argument = match self.peek().cloned() {
            Some(QueryToken::Value(value)) => {
                self.at += 1;
                Argument::Value(value)
            }
            Some(QueryToken::Name(name)) => {
                self.at += 1;
                Argument::Value(match name.as_str() {
                    "true" => Value::Bool(true),
                    "false" => Value::Bool(false),
                    "null" => Value::Null,
                    _ => Value::String(name),
                })
            }
            Some(QueryToken::Sign('$')) => {
                self.at += 1;
                Argument::Variable(self.name()?)
            }
            Some(QueryToken::Sign('{')) => {
                self.at += 1;
                let mut fields = Vec::new();
                while !self.eat('}') {
                    let name = self.name()?;
                    self.expect(':')?;
                    fields.push((name, self.argument()?));
                }
                Argument::Object(fields)
            }
            Some(QueryToken::Sign('[')) => {
                self.at += 1;
                let mut items = Vec::new();
                while !self.eat(']') {
                    items.push(self.argument()?);
                }
                Argument::List(items)
            }
            _ => return Err(self.wrong("a value")),
        };
        self.depth -= 1;
        Ok(argument)
    }
}
