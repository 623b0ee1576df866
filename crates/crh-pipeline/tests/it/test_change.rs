//! A change from a fixture as the stages of a review see it, and findings about it as rows of a table.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};

use serde_json::json;
use tempfile::TempDir;

use crate::samples::{one_round, opened};
use crh_agent::{Contents, Ledger};
use crh_git::{Bare, Globs};
use crh_llm::{Abilities, Endpoint, Live, Model, ModelFacts, Network, Price, Redactor, Wire};
use crh_pipeline::collect::Collected;
use crh_pipeline::events::Event;
use crh_pipeline::found_by_code::FoundByCode;
use crh_pipeline::journal::Journal;
use crh_pipeline::office::Office;
use crh_pipeline::plan::{Assignment, Part};
use crh_pipeline::prompts::Prompts;
use crh_pipeline::revisions::Revisions;
use crh_pipeline::runs::RunRecord;
use crh_pipeline::scope::{DiffAlone, Rules, scope};
use crh_pipeline::subject::Subject;
use crh_pipeline::terms::{Crew, PanelTerms, Profile, PromptOverrides, Terms};
use crh_pipeline::tools::Bench;
use crh_review::finding::{Finding, Member, Origin, Side};
use crh_review::report::{Change, CoverageState, FileCoverage, Mode, Strategy};
use crh_review::verdict::Asked;
use crh_testkit::{FakeModel, Repo};

/// A change in a real repository and a real workspace, which live as long as this.
pub(crate) struct Staged {
    pub(crate) subject: Subject,
    repo: Option<Repo>,
    _workspace: TempDir,
}

impl Staged {
    /// The change of a fixture.
    pub(crate) fn new(fixture: &str) -> Self {
        Self::of(Repo::from_fixture(fixture))
    }

    /// The change of a repository's last commit.
    pub(crate) fn of(repo: Repo) -> Self {
        let (base, head) = (repo.id("HEAD~1"), repo.id("HEAD"));
        let diff = repo.git(&["diff", "-U10", "-M", "--full-index", "--no-color", &base, &head]);
        let bare = Bare::new(&repo.path().join(".git"));
        let revisions = Revisions::new(bare, &base, &head).unwrap();
        let (folder, workspace) = opened(&one_round(diff));
        let bench = Bench::new().with_workspace(workspace);
        let bench = bench.with_repository(move || Ok(revisions));
        Self { subject: subject(bench, &head), repo: Some(repo), _workspace: folder }
    }

    /// A change of which only the diff is known.
    pub(crate) fn of_diff(diff: &str) -> Self {
        let (folder, workspace) = opened(&one_round(diff));
        let bench = Bench::new().with_workspace(workspace);
        Self { subject: subject(bench, "abc"), repo: None, _workspace: folder }
    }

    /// An office that asks this model whatever is asked, and what is told of its runs.
    pub(crate) fn office(
        &self,
        model: &FakeModel,
        terms: Terms,
        earlier: Vec<RunRecord>,
    ) -> (Office, Arc<Mutex<Vec<Event>>>) {
        let facts = ModelFacts {
            context: 200_000,
            max_output: 10_000,
            price: Some(Price::free()),
            abilities: Abilities { tools: true, schema: true },
        };
        let (wire, url) = (Wire::OpenAiChat, model.url().parse().unwrap());
        let endpoint = Endpoint { wire, url, key: None, model: "fake".to_owned() };
        let live = Live::new(endpoint, &Network::default()).unwrap();
        let asked = Model::live("openai:fake", facts, live);
        let crew =
            Crew { reviewer: asked.clone(), cheap: asked.clone(), escalation: asked.clone() };
        let events = Arc::new(Mutex::new(Vec::new()));
        let heard = events.clone();
        let listen = move |event: &Event| heard.lock().unwrap().push(event.clone());
        let redactor = Redactor::default();
        let office = Office {
            prompts: Arc::new(Prompts::new(&self.subject, &terms, 200_000)),
            subject: Arc::new(self.subject.clone()),
            ledger: Ledger::open(terms.allowance.budget()),
            terms: Arc::new(terms),
            crew,
            found: FoundByCode::nothing(),
            journal: Journal::open(None, redactor, Contents::Withheld, earlier, listen),
            seed: 7,
        };
        (office, events)
    }

    /// The findings of a table. A row is `reviewer file:line severity confidence "title"`, then any of `quote="…"`,
    /// `why="…"`, `side=old`, `code`. Without a quote it quotes its line.
    pub(crate) fn members(&self, table: &str) -> Vec<Member> {
        let rows = table.lines().map(str::trim).filter(|row| !row.is_empty());
        rows.map(|row| self.member(row)).collect()
    }

    /// The same as what was collected.
    pub(crate) fn collected(&self, table: &str) -> Collected {
        Collected { members: self.members(table), ..Collected::default() }
    }

    fn member(&self, row: &str) -> Member {
        let (head, rest) = row.split_once('"').unwrap();
        let (title, rest) = rest.split_once('"').unwrap();
        let [reviewer, place, severity, confidence] =
            head.split_whitespace().collect::<Vec<_>>().try_into().unwrap();
        let (file, line) = place.split_once(':').unwrap();
        let line: u32 = line.parse().unwrap();
        let option = |name: &str| {
            let (_, after) = rest.split_once(&format!("{name}=\""))?;
            Some(after.split_once('"').unwrap().0.replace("\\n", "\n"))
        };
        let side = if rest.contains("side=old") { Side::Old } else { Side::New };
        let own = || self.line(side, file, line).unwrap_or_else(|| panic!("no line: {row}"));
        let finding = Finding {
            title: title.to_owned(),
            file: file.to_owned(),
            line_start: NonZeroU32::new(line),
            side: Some(side),
            why_it_matters: option("why").unwrap_or_else(|| "It is wrong.".to_owned()),
            ..finding(severity, confidence.parse().unwrap(), &option("quote").unwrap_or_else(own))
        };
        let mut member = Member::new(reviewer, finding);
        if rest.contains(" code") {
            member.origin = Origin::Code;
        }
        member
    }

    fn line(&self, side: Side, file: &str, line: u32) -> Option<String> {
        let commit = match side {
            Side::Old => "HEAD~1",
            Side::New => "HEAD",
        };
        let text = self.repo.as_ref()?.git_or_nothing(&["show", &format!("{commit}:{file}")]);
        let text = String::from_utf8(text).unwrap();
        text.lines().nth(line as usize - 1).map(str::to_owned)
    }
}

fn subject(bench: Bench, head: &str) -> Subject {
    let diff = bench.workspace().unwrap().diff("1").unwrap();
    let none = Globs::default;
    let exclude = Globs::new(["excluded/**"]).unwrap();
    let rules = Rules { exclude, include: none(), generated: none(), max_file_bytes: 1 << 20 };
    Subject {
        scope: scope(&diff, &DiffAlone, &rules),
        diff: Arc::clone(&diff),
        bench,
        change: Change {
            repo: "o/r".to_owned(),
            head_sha: head.to_owned(),
            title: "A change".to_owned(),
            ..Change::default()
        },
        untracked: vec!["notes.txt".to_owned()],
        notes: Vec::new(),
        since: None,
    }
}

/// A finding on the first line of `a.rs` with a quote.
pub(crate) fn finding(severity: &str, confidence: f64, quote: &str) -> Finding {
    serde_json::from_value(json!({
        "title": "Off by one", "severity": severity, "category": "bug", "file": "a.rs",
        "line_start": 1, "confidence": confidence, "evidence": [{ "snippet": quote }],
        "why_it_matters": "It is wrong.", "autofix_class": "manual",
        "owner": "downstream-resolver", "requires_verification": false, "pre_existing": false,
    }))
    .unwrap()
}

pub(crate) fn terms(strategy: Strategy) -> Terms {
    Terms {
        strategy,
        asked: Asked::Review,
        mode: Mode::ReportOnly,
        allowance: Profile::Standard.allowance(),
        language: String::new(),
        side_by_side: 4,
        overrides: PromptOverrides::default(),
        panel: PanelTerms::default(),
    }
}

/// A run that has reviewed these files.
pub(crate) fn run(name: &str, paths: &[&str]) -> RunRecord {
    let assignment = Assignment {
        name: name.to_owned(),
        reviewer: name.to_owned(),
        label: String::new(),
        why: String::new(),
        focus: String::new(),
        parts: paths.iter().map(|path| Part::whole(*path)).collect(),
    };
    let reviewed = |path: &&str| FileCoverage {
        path: (*path).to_owned(),
        state: CoverageState::Reviewed,
        reason: String::new(),
    };
    RunRecord { coverage: paths.iter().map(reviewed).collect(), ..RunRecord::begun(assignment) }
}
