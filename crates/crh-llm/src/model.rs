//! A model that answers requests: at a vendor, or from a recording.

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::{
    Cassette, CassetteError, Effort, ModelError, ModelFacts, ModelReply, ModelRequest, Recorder,
    Redactor, ReplyProgress, VendorClient,
};

/// A model and its facts. Clones are cheap and share connections.
#[derive(Debug, Clone)]
pub struct Model {
    name: String,
    facts: ModelFacts,
    source: ReplySource,
    recorder: Option<Arc<Recorder>>,
    effort: Option<Effort>,
}

#[derive(Debug, Clone)]
enum ReplySource {
    Live(VendorClient),
    Replay(Arc<Cassette>),
}

impl Model {
    /// A model at a vendor.
    pub fn live(name: impl Into<String>, facts: ModelFacts, client: VendorClient) -> Self {
        let source = ReplySource::Live(client);
        Self { name: name.into(), facts, source, recorder: None, effort: None }
    }

    /// A recorded model, with its recorded name and facts. If a recording has several models, the
    /// name and facts of the first are used for all answers.
    pub fn replay(path: &Path, redactor: Redactor) -> Result<Self, CassetteError> {
        Cassette::load(path, redactor).map(Self::from_cassette)
    }

    /// A model from a loaded recording.
    pub fn from_cassette(cassette: Cassette) -> Self {
        let (name, facts) = cassette.model();
        Self {
            name: name.to_owned(),
            facts: facts.clone(),
            source: ReplySource::Replay(Arc::new(cassette)),
            recorder: None,
            effort: None,
        }
    }

    /// Sets the reasoning effort, if the model accepts one.
    pub fn with_effort(self, effort: Option<Effort>) -> Self {
        let effort = effort.filter(|_| self.facts.abilities.effort);
        Self { effort, ..self }
    }

    /// Reasoning effort that callers should put into their requests; `None` uses the vendor's
    /// default.
    pub fn effort(&self) -> Option<Effort> {
        self.effort
    }

    /// Records all requests and replies of this model.
    pub fn with_recorder(self, recorder: Arc<Recorder>) -> Self {
        Self { recorder: Some(recorder), ..self }
    }

    /// The recorder, if requests are recorded. Other models can share it.
    pub fn recorder(&self) -> Option<Arc<Recorder>> {
        self.recorder.clone()
    }

    /// Why the recording is incomplete; `None` if it is complete, or if nothing is recorded. Call
    /// this after the last request, because recording errors do not fail requests.
    pub fn recording_error(&self) -> Option<io::Error> {
        self.recorder.as_ref()?.finish().err()
    }

    /// Hash of the prompts of a recording, if it has one; `None` for a model at a vendor.
    pub fn recorded_prompts(&self) -> Option<&str> {
        match &self.source {
            ReplySource::Live(_) => None,
            ReplySource::Replay(cassette) => cassette.prompts(),
        }
    }

    /// Number of questions that the recording could not answer; zero for a model at a vendor.
    pub fn unrecorded_count(&self) -> usize {
        match &self.source {
            ReplySource::Live(_) => 0,
            ReplySource::Replay(cassette) => cassette.unrecorded_count(),
        }
    }

    /// Name as users write it: `openai:gpt-4.1-mini`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Facts about the model.
    pub fn facts(&self) -> &ModelFacts {
        &self.facts
    }

    /// The error of requests that found no server at a local or private address a moment ago.
    /// Callers fail with it instead of asking. After a pause, one caller gets `None` and asks.
    pub fn stopped_server(&self) -> Option<ModelError> {
        match &self.source {
            ReplySource::Live(client) => client.stopped_server(),
            ReplySource::Replay(_) => None,
        }
    }

    /// Sends one request, without retries. `caller` is a name for the `User-Agent` header. The
    /// model may write at most `output_cap` tokens, a number that depends on the budget. Recordings
    /// contain neither `caller` nor `output_cap`. `watch` receives the reply while it streams in; a
    /// recording delivers the whole reply at once.
    pub async fn ask(
        &self,
        caller: &str,
        request: &ModelRequest,
        output_cap: u32,
        watch: &mut (dyn FnMut(ReplyProgress<'_>) + Send),
    ) -> Result<ModelReply, ModelError> {
        let answer = match &self.source {
            ReplySource::Live(client) if request.max_output_tokens > output_cap => {
                let capped = ModelRequest { max_output_tokens: output_cap, ..request.clone() };
                client.ask(caller, &capped, watch).await
            }
            ReplySource::Live(client) => client.ask(caller, request, watch).await,
            ReplySource::Replay(cassette) => replay_answer(cassette, request, watch),
        };
        if let Some(recorder) = &self.recorder {
            recorder.record(&self.name, &self.facts, request, &answer);
        }
        answer
    }
}

fn replay_answer(
    cassette: &Cassette,
    request: &ModelRequest,
    watch: &mut (dyn FnMut(ReplyProgress<'_>) + Send),
) -> Result<ModelReply, ModelError> {
    let reply = cassette.answer(request)?;
    watch(ReplyProgress::Started);
    let text = reply.turn.full_text();
    if !text.is_empty() {
        watch(ReplyProgress::Text(&text));
    }
    Ok(reply)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Abilities, Conversation, Price, StopCause, Turn};

    /// A recording with one exchange, and a path for another one.
    struct Fixture {
        folder: tempfile::TempDir,
        facts: ModelFacts,
        request: ModelRequest,
        reply: ModelReply,
    }

    impl Fixture {
        fn new() -> Self {
            let abilities = Abilities { tools: true, schema: true, effort: false };
            let price = Some(Price::free());
            let facts = ModelFacts { context: 10, max_output: 5, price, abilities };
            let request = ModelRequest::new(Conversation::new("rules"), 5);
            let (turn, stop) = (Turn::text("yes"), StopCause::Done);
            let reply = ModelReply { turn, stop, usage: None, served: None };
            let fixture = Self { folder: tempfile::tempdir().unwrap(), facts, request, reply };
            let answer = Ok(fixture.reply.clone());
            fixture.recorder("first").record(
                "openai:gpt",
                &fixture.facts,
                &fixture.request,
                &answer,
            );
            fixture
        }

        fn recorder(&self, name: &str) -> Recorder {
            Recorder::create(&self.folder.path().join(name), Redactor::default()).unwrap()
        }

        fn replay(&self, name: &str) -> Model {
            Model::replay(&self.folder.path().join(name), Redactor::default()).unwrap()
        }
    }

    #[tokio::test]
    async fn replayed_reply_can_be_recorded_again() {
        let fixture = Fixture::new();
        let Fixture { facts, request, reply, .. } = &fixture;
        let unknown_request = ModelRequest::new(Conversation::new("other rules"), 5);
        let recorder = Arc::new(fixture.recorder("second"));
        let model = fixture.replay("first").with_recorder(Arc::clone(&recorder));
        assert_eq!((model.name(), model.facts()), ("openai:gpt", facts));
        let mut events = Vec::new();
        let mut watch = |progress: ReplyProgress<'_>| events.push(format!("{progress:?}"));
        assert_eq!(model.ask("anyone", request, 5, &mut watch).await, Ok(reply.clone()));
        assert_eq!(events, ["Started", "Text(\"yes\")"]);
        assert!(model.ask("anyone", &unknown_request, 5, &mut |_| panic!("heard")).await.is_err());

        assert_eq!(recorder.finish().unwrap(), 1);
        let second_model = fixture.replay("second");
        assert_eq!(second_model.ask("another", request, 5, &mut |_| {}).await, Ok(reply.clone()));
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn recording_error_keeps_the_answer_and_is_reported() {
        let fixture = Fixture::new();
        let model = fixture.replay("first");
        assert!(model.recording_error().is_none());

        let mut recorder = fixture.recorder("second");
        recorder.replace_file(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
        let model = model.with_recorder(Arc::new(recorder));
        assert!(model.recording_error().is_none());
        let answer = model.ask("anyone", &fixture.request, 5, &mut |_| {}).await;
        assert_eq!(answer, Ok(fixture.reply));
        let error = model.recording_error().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}
