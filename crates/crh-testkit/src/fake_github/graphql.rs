//! GraphQL: what a query asks for is looked up, field by field; a field that is not there is an error, as at GitHub.

mod node;
mod query;

use std::cell::RefCell;

use node::{Found, Node};
use query::{Document, Field, Kind, Operation, Selection};
use serde_json::{Map, Value, json};

use super::json::View;
use super::rest::{Call, Reply, may};
use super::state::{Permission, State};

/// The most nodes of a connection at once.
const MAX_NODES: usize = 100;

/// A request, read as far as to know whether it writes.
#[derive(Debug)]
pub(super) struct Request {
    document: Document,
    operation: usize,
    variables: Map<String, Value>,
}

/// An error. One with a kind is about one field, which is null then; without one nothing is answered at all.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Refused {
    kind: Option<&'static str>,
    message: String,
}

impl Refused {
    fn new(message: impl Into<String>) -> Self {
        Self { kind: None, message: message.into() }
    }

    fn of(kind: &'static str, message: impl Into<String>) -> Self {
        Self { kind: Some(kind), message: message.into() }
    }

    fn shown(&self) -> Value {
        let mut error = json!({ "message": self.message });
        if let Some(kind) = self.kind {
            error["type"] = json!(kind);
        }
        error
    }

    fn reply(&self) -> Reply {
        Reply::with(200, json!({ "errors": [self.shown()] }))
    }
}

impl Request {
    /// Reads the body of a request.
    pub(super) fn read(body: &Value) -> Result<Self, Reply> {
        let Some(text) = body["query"].as_str() else {
            return Err(Reply::refused(
                400,
                "A query attribute must be specified and must be a string.",
            ));
        };
        let refused = |why: String| Refused::new(why).reply();
        let document = query::read(text).map_err(refused)?;
        let asked = body["operationName"].as_str();
        let operation = document
            .operations
            .iter()
            .position(|operation| asked.is_none() || operation.name.as_deref() == asked)
            .ok_or_else(|| refused(format!("No operation named {asked:?}")))?;
        if asked.is_none() && document.operations.len() > 1 {
            return Err(refused("An operation name is required".to_owned()));
        }
        if let Some(loose) = document.loose_end(&document.operations[operation]) {
            return Err(refused(loose));
        }
        let mut variables = document.operations[operation].defaults.clone();
        let sent = body["variables"].as_object().cloned().unwrap_or_default();
        if let Some(name) =
            sent.keys().find(|name| !document.operations[operation].variables.contains(*name))
        {
            return Err(refused(format!("Variable ${name} is not declared")));
        }
        variables.extend(sent);
        Ok(Self { document, operation, variables })
    }

    fn operation(&self) -> &Operation {
        &self.document.operations[self.operation]
    }

    /// Whether it changes something.
    pub(super) fn writes(&self) -> bool {
        self.operation().kind == Kind::Mutation
    }

    /// Answers, and does what it asks for.
    pub(super) fn answer(&self, state: &mut State, server: &str, call: &Call) -> Reply {
        let Some(login) = &call.login else {
            return Reply::refused(401, "This endpoint requires you to be authenticated.");
        };
        let errors = RefCell::default();
        let answered = match self.operation().kind {
            Kind::Query => {
                let eye = Eye {
                    view: View { state, server },
                    call,
                    login,
                    request: self,
                    errors: &errors,
                };
                eye.selected(&Node::Query, &self.operation().selections)
            }
            Kind::Mutation => self.mutated(state, server, (call, login), &errors),
        };
        match answered {
            Ok(data) => {
                let errors = errors.into_inner();
                let mut body = json!({ "data": data });
                if !errors.is_empty() {
                    body["errors"] = errors.iter().map(Refused::shown).collect();
                }
                Reply::with(200, body)
            }
            Err(refused) => refused.reply(),
        }
    }

    /// Does the mutations one after another.
    fn mutated(
        &self,
        state: &mut State,
        server: &str,
        (call, login): (&Call, &str),
        errors: &RefCell<Vec<Refused>>,
    ) -> Result<Value, Refused> {
        let mut data = Map::new();
        for selection in &self.operation().selections {
            let Selection::Field(field) = selection else {
                return Err(Refused::new("a mutation is not a fragment"));
            };
            let value = match self.mutate(state, field, (call, login)) {
                Ok(thread) => {
                    let eye =
                        Eye { view: View { state, server }, call, login, request: self, errors };
                    let place = thread.and_then(|id| eye.view.state.thread(&id));
                    eye.selected(&Node::Payload(place), &field.selections)?
                }
                Err(refused) if refused.kind.is_some() => {
                    errors.borrow_mut().push(refused);
                    Value::Null
                }
                Err(refused) => return Err(refused),
            };
            data.insert(field.key.clone(), value);
        }
        Ok(Value::Object(data))
    }

    /// Does one mutation; the thread that it is about, if it is about one.
    fn mutate(
        &self,
        state: &mut State,
        field: &Field,
        (call, login): (&Call, &str),
    ) -> Result<Option<String>, Refused> {
        // GitHub asks for both, although a thread is no content.
        for permission in [Permission::WritePulls, Permission::WriteContents] {
            may(state, call, &[permission]).map_err(|refused| forbidden(&refused))?;
        }
        let input = self.arguments(field).remove("input").unwrap_or(Value::Null);
        let word = |key: &str| {
            let value = input[key].as_str();
            value
                .ok_or_else(|| Refused::new(format!("Argument '{key}' on InputObject is required")))
        };
        let missing = |id: &str| {
            Refused::of(
                "NOT_FOUND",
                format!("Could not resolve to a node with the global id of '{id}'"),
            )
        };
        match field.name.as_str() {
            "resolveReviewThread" | "unresolveReviewThread" => {
                let id = word("threadId")?;
                let thread = state.thread_mut(id).ok_or_else(|| missing(id))?;
                thread.resolved = field.name == "resolveReviewThread";
                thread.resolved_by = thread.resolved.then(|| login.to_owned());
                Ok(Some(id.to_owned()))
            }
            "minimizeComment" => {
                let id = word("subjectId")?;
                word("classifier")?;
                let comment = state.comment_mut(id).ok_or_else(|| missing(id))?;
                comment.minimized = true;
                Ok(None)
            }
            name => Err(unknown("Mutation", name)),
        }
    }

    fn arguments(&self, field: &Field) -> Map<String, Value> {
        let arguments = field.arguments.iter();
        arguments.map(|(name, value)| (name.clone(), value.value(&self.variables))).collect()
    }
}

/// A look at the state: whose it is, and what was asked.
#[derive(Debug, Clone, Copy)]
struct Eye<'a> {
    view: View<'a>,
    call: &'a Call,
    login: &'a str,
    request: &'a Request,
    /// What could not be answered.
    errors: &'a RefCell<Vec<Refused>>,
}

impl<'a> Eye<'a> {
    fn may_read_pulls(&self) -> Result<(), Refused> {
        let any = [Permission::ReadPulls, Permission::WritePulls];
        may(self.view.state, self.call, &any).map_err(|refused| forbidden(&refused))
    }

    /// What was asked for of an object.
    fn selected(&self, node: &Node<'a>, selections: &[Selection]) -> Result<Value, Refused> {
        if selections.is_empty() {
            let name = node.type_name(&self.view);
            return Err(Refused::new(format!("Objects must have selections ({name})")));
        }
        let mut object = Map::new();
        self.select_into(&mut object, node, selections)?;
        Ok(Value::Object(object))
    }

    fn select_into(
        &self,
        object: &mut Map<String, Value>,
        node: &Node<'a>,
        selections: &[Selection],
    ) -> Result<(), Refused> {
        let type_name = node.type_name(&self.view);
        for selection in selections {
            let fragment = match selection {
                Selection::Field(field) => {
                    object.insert(field.key.clone(), self.field(node, field)?);
                    continue;
                }
                Selection::Inline(fragment) => fragment,
                Selection::Spread(name) => {
                    let found = self.request.document.fragments.get(name);
                    found.ok_or_else(|| Refused::new(format!("Fragment {name} was not defined")))?
                }
            };
            let fits = fragment.on.as_ref().is_none_or(|on| on == type_name || node.is_also(on));
            if fits {
                self.select_into(object, node, &fragment.selections)?;
            }
        }
        Ok(())
    }

    fn field(&self, node: &Node<'a>, field: &Field) -> Result<Value, Refused> {
        if field.name == "__typename" {
            return Ok(json!(node.type_name(&self.view)));
        }
        let arguments = self.request.arguments(field);
        let found = match node.field(self, &field.name, &arguments) {
            Err(refused) if refused.kind.is_some() => {
                self.errors.borrow_mut().push(refused);
                return Ok(Value::Null);
            }
            found => found?,
        };
        match found {
            Found::Value(value) if field.selections.is_empty() => Ok(value),
            Found::Value(Value::Null) | Found::Missing => Ok(Value::Null),
            Found::Value(_) => {
                Err(Refused::new(format!("Selections can't be made on scalars ({})", field.name)))
            }
            Found::Node(node) => self.selected(&node, &field.selections),
            Found::List(nodes) => {
                let nodes = nodes.iter().map(|node| self.selected(node, &field.selections));
                Ok(Value::Array(nodes.collect::<Result<_, _>>()?))
            }
            Found::Connection(nodes) => self.connection(&nodes, field, &arguments),
        }
    }

    /// A piece of a long list.
    fn connection(
        &self,
        nodes: &[Node<'a>],
        field: &Field,
        arguments: &Map<String, Value>,
    ) -> Result<Value, Refused> {
        let name = &field.name;
        let number = |key: &str| arguments.get(key).and_then(Value::as_u64);
        let (first, last) = (number("first"), number("last"));
        let Some(size) = first.or(last) else {
            return Err(Refused::of(
                "MISSING_PAGINATION_BOUNDARIES",
                format!(
                    "You must provide a `first` or `last` value to properly paginate the `{name}` connection."
                ),
            ));
        };
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        if size > MAX_NODES {
            let side = if first.is_some() { "first" } else { "last" };
            return Err(Refused::of(
                "EXCESSIVE_PAGINATION",
                format!(
                    "Requesting {size} records on the `{name}` connection exceeds the `{side}` limit of {MAX_NODES} records."
                ),
            ));
        }
        let cursor = |key: &str| -> Result<Option<usize>, Refused> {
            let Some(text) = arguments.get(key).and_then(Value::as_str) else { return Ok(None) };
            let place = text.strip_prefix("cursor:").and_then(|place| place.parse().ok());
            place.map(Some).ok_or_else(|| {
                Refused::new(format!("`{text}` does not appear to be a valid cursor."))
            })
        };
        // A cursor is the number of nodes up to it.
        let mut start = cursor("after")?.unwrap_or(0).min(nodes.len());
        let mut end = cursor("before")?.map_or(nodes.len(), |before| before.saturating_sub(1));
        if first.is_some() {
            end = end.min(start + size);
        } else {
            start = start.max(end.saturating_sub(size));
        }
        let piece =
            Node::Piece { start, nodes: nodes[start..end.max(start)].to_vec(), total: nodes.len() };
        self.selected(&piece, &field.selections)
    }
}

fn forbidden(refused: &Reply) -> Refused {
    Refused::of("FORBIDDEN", refused.body["message"].as_str().unwrap_or_default())
}

fn unknown(type_name: &str, field: &str) -> Refused {
    Refused::new(format!("Field '{field}' doesn't exist on type '{type_name}'"))
}
