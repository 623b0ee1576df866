//! GraphQL: looks up the fields of a query. Unknown fields are errors, as on GitHub.

mod node;
mod query;

use std::cell::RefCell;

use node::{FieldValue, Node};
use query::{Document, Field, Operation, OperationKind, Selection};
use serde_json::{Map, Value, json};

use super::json::View;
use super::rest::{Call, Reply, check_permission};
use super::state::{FakeGitHubState, Permission};

/// Maximum number of nodes per page of a connection, as on GitHub.
const MAX_NODES: usize = 100;

/// A parsed request.
#[derive(Debug)]
pub(super) struct GraphQuery {
    document: Document,
    operation: usize,
    variables: Map<String, Value>,
}

/// An error. An error with a kind concerns one field, which becomes null. Without a kind, the whole
/// request fails.
#[derive(Debug, Clone, PartialEq, Eq)]
struct GraphRefusal {
    kind: Option<&'static str>,
    message: String,
}

impl GraphRefusal {
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

impl GraphQuery {
    /// Reads the body of a request.
    pub(super) fn parse(body: &Value) -> Result<Self, Reply> {
        let Some(text) = body["query"].as_str() else {
            return Err(Reply::refused(
                400,
                "A query attribute must be specified and must be a string.",
            ));
        };
        let refused = |message: String| GraphRefusal::new(message).reply();
        let document = query::parse(text).map_err(refused)?;
        let operation_name = body["operationName"].as_str();
        let operation = document
            .operations
            .iter()
            .position(|operation| {
                operation_name.is_none() || operation.name.as_deref() == operation_name
            })
            .ok_or_else(|| refused(format!("No operation named {operation_name:?}")))?;
        if operation_name.is_none() && document.operations.len() > 1 {
            return Err(refused("An operation name is required".to_owned()));
        }
        if let Some(loose) = document.unused_name(&document.operations[operation]) {
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

    /// Whether the request changes something.
    pub(super) fn writes(&self) -> bool {
        self.operation().kind == OperationKind::Mutation
    }

    /// Answers the request and applies its mutations.
    pub(super) fn answer(&self, state: &mut FakeGitHubState, server: &str, call: &Call) -> Reply {
        let Some(login) = &call.login else {
            return Reply::refused(401, "This endpoint requires you to be authenticated.");
        };
        let errors = RefCell::default();
        let answered = match self.operation().kind {
            OperationKind::Query => {
                let context = QueryContext {
                    view: View { state, server },
                    call,
                    login,
                    request: self,
                    errors: &errors,
                };
                context.select(&Node::Query, &self.operation().selections)
            }
            OperationKind::Mutation => self.run_mutations(state, server, (call, login), &errors),
        };
        match answered {
            Ok(data) => {
                let errors = errors.into_inner();
                let mut body = json!({ "data": data });
                if !errors.is_empty() {
                    body["errors"] = errors.iter().map(GraphRefusal::shown).collect();
                }
                Reply::with(200, body)
            }
            Err(refused) => refused.reply(),
        }
    }

    fn run_mutations(
        &self,
        state: &mut FakeGitHubState,
        server: &str,
        (call, login): (&Call, &str),
        errors: &RefCell<Vec<GraphRefusal>>,
    ) -> Result<Value, GraphRefusal> {
        let mut data = Map::new();
        for selection in &self.operation().selections {
            let Selection::Field(field) = selection else {
                return Err(GraphRefusal::new("a mutation is not a fragment"));
            };
            let value = match self.mutate(state, field, (call, login)) {
                Ok(thread) => {
                    let context = QueryContext {
                        view: View { state, server },
                        call,
                        login,
                        request: self,
                        errors,
                    };
                    let thread = thread.and_then(|id| context.view.state.thread(&id));
                    context.select(&Node::Payload(thread), &field.selections)?
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

    /// Runs one mutation and returns the id of its thread, if any.
    fn mutate(
        &self,
        state: &mut FakeGitHubState,
        field: &Field,
        (call, login): (&Call, &str),
    ) -> Result<Option<String>, GraphRefusal> {
        // GitHub requires both permissions.
        for permission in [Permission::WritePulls, Permission::WriteContents] {
            check_permission(state, call, &[permission]).map_err(|refused| forbidden(&refused))?;
        }
        let input = self.arguments(field).remove("input").unwrap_or(Value::Null);
        let word = |key: &str| {
            let value = input[key].as_str();
            value.ok_or_else(|| {
                GraphRefusal::new(format!("Argument '{key}' on InputObject is required"))
            })
        };
        let missing = |id: &str| {
            GraphRefusal::of(
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

/// State and request, as seen by one account.
#[derive(Debug, Clone, Copy)]
struct QueryContext<'a> {
    view: View<'a>,
    call: &'a Call,
    login: &'a str,
    request: &'a GraphQuery,
    /// Errors so far.
    errors: &'a RefCell<Vec<GraphRefusal>>,
}

impl<'a> QueryContext<'a> {
    fn may_read_pulls(&self) -> Result<(), GraphRefusal> {
        let any = [Permission::ReadPulls, Permission::WritePulls];
        check_permission(self.view.state, self.call, &any).map_err(|refused| forbidden(&refused))
    }

    fn select(&self, node: &Node<'a>, selections: &[Selection]) -> Result<Value, GraphRefusal> {
        if selections.is_empty() {
            let name = node.type_name(&self.view);
            return Err(GraphRefusal::new(format!("Objects must have selections ({name})")));
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
    ) -> Result<(), GraphRefusal> {
        let type_name = node.type_name(&self.view);
        for selection in selections {
            let fragment = match selection {
                Selection::Field(field) => {
                    object.insert(field.key.clone(), self.field(node, field)?);
                    continue;
                }
                Selection::Inline(fragment) => fragment,
                Selection::Spread(name) => {
                    let fragment = self.request.document.fragments.get(name);
                    fragment.ok_or_else(|| {
                        GraphRefusal::new(format!("Fragment {name} was not defined"))
                    })?
                }
            };
            let fits = fragment.on.as_ref().is_none_or(|on| on == type_name || node.is_also(on));
            if fits {
                self.select_into(object, node, &fragment.selections)?;
            }
        }
        Ok(())
    }

    fn field(&self, node: &Node<'a>, field: &Field) -> Result<Value, GraphRefusal> {
        if field.name == "__typename" {
            return Ok(json!(node.type_name(&self.view)));
        }
        let arguments = self.request.arguments(field);
        let value = match node.field(self, &field.name, &arguments) {
            Err(refused) if refused.kind.is_some() => {
                self.errors.borrow_mut().push(refused);
                return Ok(Value::Null);
            }
            found => found?,
        };
        match value {
            FieldValue::Value(value) if field.selections.is_empty() => Ok(value),
            FieldValue::Value(Value::Null) | FieldValue::Missing => Ok(Value::Null),
            FieldValue::Value(_) => Err(GraphRefusal::new(format!(
                "Selections can't be made on scalars ({})",
                field.name
            ))),
            FieldValue::Node(node) => self.select(&node, &field.selections),
            FieldValue::List(nodes) => {
                let nodes = nodes.iter().map(|node| self.select(node, &field.selections));
                Ok(Value::Array(nodes.collect::<Result<_, _>>()?))
            }
            FieldValue::Connection(nodes) => self.connection(&nodes, field, &arguments),
        }
    }

    /// A page of a list.
    fn connection(
        &self,
        nodes: &[Node<'a>],
        field: &Field,
        arguments: &Map<String, Value>,
    ) -> Result<Value, GraphRefusal> {
        let name = &field.name;
        let number = |key: &str| arguments.get(key).and_then(Value::as_u64);
        let (first, last) = (number("first"), number("last"));
        let Some(size) = first.or(last) else {
            return Err(GraphRefusal::of(
                "MISSING_PAGINATION_BOUNDARIES",
                format!(
                    "You must provide a `first` or `last` value to properly paginate the `{name}` connection."
                ),
            ));
        };
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        if size > MAX_NODES {
            let side = if first.is_some() { "first" } else { "last" };
            return Err(GraphRefusal::of(
                "EXCESSIVE_PAGINATION",
                format!(
                    "Requesting {size} records on the `{name}` connection exceeds the `{side}` limit of {MAX_NODES} records."
                ),
            ));
        }
        let cursor = |key: &str| -> Result<Option<usize>, GraphRefusal> {
            let Some(text) = arguments.get(key).and_then(Value::as_str) else { return Ok(None) };
            let place = text.strip_prefix("cursor:").and_then(|place| place.parse().ok());
            place.map(Some).ok_or_else(|| {
                GraphRefusal::new(format!("`{text}` does not appear to be a valid cursor."))
            })
        };
        // A cursor is the position of its node, counted from 1.
        let mut start = cursor("after")?.unwrap_or(0).min(nodes.len());
        let mut end = cursor("before")?.map_or(nodes.len(), |before| before.saturating_sub(1));
        if first.is_some() {
            end = end.min(start + size);
        } else {
            start = start.max(end.saturating_sub(size));
        }
        let piece =
            Node::Piece { start, nodes: nodes[start..end.max(start)].to_vec(), total: nodes.len() };
        self.select(&piece, &field.selections)
    }
}

fn forbidden(refused: &Reply) -> GraphRefusal {
    GraphRefusal::of("FORBIDDEN", refused.body["message"].as_str().unwrap_or_default())
}

fn unknown(type_name: &str, field: &str) -> GraphRefusal {
    GraphRefusal::new(format!("Field '{field}' doesn't exist on type '{type_name}'"))
}
