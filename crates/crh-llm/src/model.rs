//! A model that can be asked: a vendor's, or a recording of one.

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::{
    Cassette, CassetteError, Live, ModelError, ModelFacts, Progress, Recorder, Redactor, Reply,
    Request,
};

/// A model, and what is known about it. Cheap to clone; clones share their connections.
#[derive(Debug, Clone)]
pub struct Model {
    name: String,
    facts: ModelFacts,
    source: Source,
    recorder: Option<Arc<Recorder>>,
}

/// Where answers come from.
#[derive(Debug, Clone)]
enum Source {
    Live(Live),
    Replay(Arc<Cassette>),
}

impl Model {
    /// A vendor's model.
    pub fn live(name: impl Into<String>, facts: ModelFacts, live: Live) -> Self {
        Self { name: name.into(), facts, source: Source::Live(live), recorder: None }
    }

    /// The model of a recording, under the name and with the facts that it had: what is asked for follows from them.
    /// If several were recorded, all their answers are served under the name of the first.
    pub fn replay(path: &Path, redactor: Redactor) -> Result<Self, CassetteError> {
        Cassette::read(path, redactor).map(Self::playing)
    }

    /// The model of a recording that has been read.
    pub fn playing(cassette: Cassette) -> Self {
        let (name, facts) = cassette.model();
        Self {
            name: name.to_owned(),
            facts: facts.clone(),
            source: Source::Replay(Arc::new(cassette)),
            recorder: None,
        }
    }

    /// The same model, with everything it is asked and answers written down.
    pub fn recording(self, recorder: Arc<Recorder>) -> Self {
        Self { recorder: Some(recorder), ..self }
    }

    /// Where what it is asked is written down, so that others can be written down there too; none if it is not.
    pub fn recorder(&self) -> Option<Arc<Recorder>> {
        self.recorder.clone()
    }

    /// Why the recording lacks something; none if it lacks nothing, or if there is no recording. For the end of the work:
    /// whoever asks has their answer, whether it could be written down or not.
    pub fn recording_error(&self) -> Option<io::Error> {
        self.recorder.as_ref()?.finish().err()
    }

    /// How people name it: `openai:gpt-4.1-mini`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What is known about it.
    pub fn facts(&self) -> &ModelFacts {
        &self.facts
    }

    /// Asks once. `caller` says who asks (a reviewer's name) and is no part of the question; `watch` hears of the
    /// answer while it comes in, from a recording all at once. Nothing is tried again: that is for the one who
    /// reserved the money.
    pub async fn ask(
        &self,
        caller: &str,
        request: &Request,
        watch: &mut (dyn FnMut(Progress<'_>) + Send),
    ) -> Result<Reply, ModelError> {
        let answer = match &self.source {
            Source::Live(live) => live.ask(caller, request, watch).await,
            Source::Replay(cassette) => played(cassette, request, watch),
        };
        if let Some(recorder) = &self.recorder {
            recorder.record(&self.name, &self.facts, request, &answer);
        }
        answer
    }
}

fn played(
    cassette: &Cassette,
    request: &Request,
    watch: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Result<Reply, ModelError> {
    let reply = cassette.answer(request)?;
    watch(Progress::Started);
    let said = reply.turn.said();
    if !said.is_empty() {
        watch(Progress::Text(&said));
    }
    Ok(reply)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Abilities, Conversation, Price, Stop, Turn};

    #[tokio::test]
    async fn a_recording_is_heard_at_once_and_can_be_recorded_again() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join("first"), folder.path().join("second"));
        let abilities = Abilities { tools: true, schema: true };
        let price = Some(Price::free());
        let facts = ModelFacts { context: 10, max_output: 5, price, abilities };
        let asked = Request::new(Conversation::new("rules"), 5);
        let unknown = Request::new(Conversation::new("other rules"), 5);
        let reply = Reply { turn: Turn::text("yes"), stop: Stop::Done, usage: None, served: None };
        let recorder = Recorder::create(&first, Redactor::default()).unwrap();
        recorder.record("openai:gpt", &facts, &asked, &Ok(reply.clone()));

        let recorder = Arc::new(Recorder::create(&second, Redactor::default()).unwrap());
        let model = Model::replay(&first, Redactor::default()).unwrap();
        let model = model.recording(Arc::clone(&recorder));
        assert_eq!((model.name(), model.facts()), ("openai:gpt", &facts));
        let mut heard = Vec::new();
        let mut watch = |progress: Progress<'_>| heard.push(format!("{progress:?}"));
        assert_eq!(model.ask("anyone", &asked, &mut watch).await, Ok(reply.clone()));
        assert_eq!(heard, ["Started", "Text(\"yes\")"]);
        assert!(model.ask("anyone", &unknown, &mut |_| panic!("heard")).await.is_err());

        assert_eq!(recorder.finish().unwrap(), 1);
        let again = Model::replay(&second, Redactor::default()).unwrap();
        assert_eq!(again.ask("another", &asked, &mut |_| {}).await, Ok(reply));
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_recording_that_fails_costs_no_answer_and_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join("first"), folder.path().join("second"));
        let abilities = Abilities { tools: true, schema: true };
        let price = Some(Price::free());
        let facts = ModelFacts { context: 10, max_output: 5, price, abilities };
        let asked = Request::new(Conversation::new("rules"), 5);
        let reply = Reply { turn: Turn::text("yes"), stop: Stop::Done, usage: None, served: None };
        let recorder = Recorder::create(&first, Redactor::default()).unwrap();
        recorder.record("openai:gpt", &facts, &asked, &Ok(reply.clone()));
        let model = Model::replay(&first, Redactor::default()).unwrap();
        assert!(model.recording_error().is_none());

        let mut full = Recorder::create(&second, Redactor::default()).unwrap();
        full.replace_file(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
        let model = model.recording(Arc::new(full));
        assert!(model.recording_error().is_none());
        assert_eq!(model.ask("anyone", &asked, &mut |_| {}).await, Ok(reply));
        let error = model.recording_error().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}
