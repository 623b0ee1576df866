//! Sees when a model calls what it has called before: the same again, or the same few calls in a circle.

use serde_json::Value;

use crh_llm::{Arguments, ToolCall};

/// The longest circle that is looked for. Longer ones have not been worth a look: they end at the limit on turns.
const LONGEST_CIRCLE: usize = 3;

/// So often a single failing call may stand in a row: once, and once more in case it was bad luck.
const SAME_IN_A_ROW: usize = 2;

/// Where a result stands in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// The message.
    pub(crate) message: usize,
    /// The result in it.
    pub(crate) result: usize,
}

/// What came of an earlier call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Its answer stands in the conversation, or will when this turn's tools are through.
    Answered,
    /// It brought nothing but a sentence that says why.
    Failed,
}

/// Why a call is not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// It has been answered, in the call of this id.
    Answered(String),
    /// It closes a circle of calls.
    Circle,
}

/// All calls of a run that a model can still see the results of, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    past: Vec<Past>,
}

#[derive(Debug)]
struct Past {
    key: String,
    id: String,
    place: Place,
    standing: Standing,
}

impl Repeats {
    /// Whether a call repeats earlier ones.
    pub(crate) fn of(&self, call: &ToolCall) -> Option<Repeat> {
        let key = key(call);
        let answered = self
            .past
            .iter()
            .rev()
            .find(|past| past.key == key && past.standing == Standing::Answered);
        if let Some(past) = answered {
            return Some(Repeat::Answered(past.id.clone()));
        }
        let keys = |back: usize| match back {
            0 => Some(key.as_str()),
            back => self.past.iter().nth_back(back - 1).map(|past| past.key.as_str()),
        };
        let circle = (1..=LONGEST_CIRCLE).any(|period| {
            let compared = if period == 1 { SAME_IN_A_ROW } else { period };
            (0..compared)
                .all(|back| keys(back + period).is_some() && keys(back) == keys(back + period))
        });
        circle.then_some(Repeat::Circle)
    }

    /// Remembers a call whose result has this place.
    pub(crate) fn note(&mut self, call: &ToolCall, place: Place, standing: Standing) {
        self.past.push(Past { key: key(call), id: call.id.clone(), place, standing });
    }

    /// A call that was made has failed, so that it may be tried once more.
    pub(crate) fn failed(&mut self, place: Place) {
        for past in self.past.iter_mut().filter(|past| past.place == place) {
            past.standing = Standing::Failed;
        }
    }

    /// Forgets all calls: what they answered may be another thing by now.
    pub(crate) fn forget_all(&mut self) {
        self.past.clear();
    }

    /// Forgets calls whose results were taken out: the model has been told that it may make them again.
    pub(crate) fn forget(&mut self, places: &[Place]) {
        self.past.retain(|past| !places.contains(&past.place));
    }
}

/// The name and the arguments, these with their keys in order.
fn key(call: &ToolCall) -> String {
    let mut key = format!("{} ", call.name);
    match &call.arguments {
        Arguments::Json(value) => canonical(value, &mut key),
        Arguments::Malformed(text) => key.push_str(text),
    }
    key
}

fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            out.push('{');
            for (key, value) in entries {
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                canonical(value, out);
                out.push(',');
            }
            out.push('}');
        }
        Value::Array(values) => {
            out.push('[');
            for value in values {
                canonical(value, out);
                out.push(',');
            }
            out.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            out.push_str(&value.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    fn call(id: usize, name: &str, arguments: Value) -> ToolCall {
        let arguments = Arguments::Json(arguments);
        ToolCall { id: format!("c{id}"), name: name.to_owned(), arguments, signatures: Vec::new() }
    }

    /// Makes the calls of a script one after the other: `a` is answered, `a!` fails, `-a` has its results taken out.
    fn check(script: &str, expected: Expect) {
        let mut repeats = Repeats::default();
        let mut shown = String::new();
        for (index, word) in script.split(' ').enumerate() {
            let name = word.trim_matches(['!', '-']);
            let call = call(index, name, json!({}));
            if word.starts_with('-') {
                let places: Vec<_> = repeats
                    .past
                    .iter()
                    .filter(|past| past.key == key(&call))
                    .map(|past| past.place)
                    .collect();
                repeats.forget(&places);
                continue;
            }
            let verdict = match repeats.of(&call) {
                None => "made".to_owned(),
                Some(Repeat::Answered(id)) => format!("answered in {id}"),
                Some(Repeat::Circle) => "circle".to_owned(),
            };
            let place = Place { message: index, result: 0 };
            let standing = if verdict == "made" { Standing::Answered } else { Standing::Failed };
            repeats.note(&call, place, standing);
            if word.ends_with('!') {
                repeats.failed(place);
            }
            shown += &format!("{word}: {verdict}\n");
        }
        expected.assert_eq(&shown);
    }

    #[test]
    fn what_was_answered_is_not_called_again_until_the_answer_is_taken_out() {
        check(
            "a b a -a a",
            expect![[r#"
            a: made
            b: made
            a: answered in c0
            a: made
        "#]],
        );
    }

    #[test]
    fn what_failed_may_be_tried_once_more() {
        check(
            "a! a! a! a!",
            expect![[r#"
            a!: made
            a!: made
            a!: circle
            a!: circle
        "#]],
        );
    }

    #[test]
    fn circles_of_two_and_three_are_seen_and_stay_seen() {
        check(
            "a! b! a! b! a! b!",
            expect![[r#"
            a!: made
            b!: made
            a!: made
            b!: circle
            a!: circle
            b!: circle
        "#]],
        );
        check(
            "a! b! c! a! b! c!",
            expect![[r#"
            a!: made
            b!: made
            c!: made
            a!: made
            b!: made
            c!: circle
        "#]],
        );
        check(
            "a b! a b!",
            expect![[r#"
            a: made
            b!: made
            a: answered in c0
            b!: circle
        "#]],
        );
    }

    #[test]
    fn arguments_are_the_same_in_any_order_and_different_by_any_value() {
        let repeats = |first: Value, second: Value| {
            let mut repeats = Repeats::default();
            repeats.note(&call(0, "a", first), Place { message: 0, result: 0 }, Standing::Answered);
            repeats.of(&call(1, "a", second)).is_some()
        };
        assert!(repeats(
            json!({"x": {"a": 1, "b": [2]}, "y": 0}),
            json!({"y": 0, "x": {"b": [2], "a": 1}})
        ));
        assert!(!repeats(json!({"x": [1, 2]}), json!({"x": [2, 1]})));
        assert!(!repeats(json!({"x": 1}), json!({"x": "1"})));
    }
}
