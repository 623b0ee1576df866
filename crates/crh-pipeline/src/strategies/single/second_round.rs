//! The second round of `single`: whether there is one, on what, by which model, and what is made of its answer.

use super::answer::{ContextRequest, Second, Wrong, read_second, submit_spec};
use super::asking::{Question, TURNS, ask, begin, tokens};
use super::doubts::{
    Candidate, Validation, candidates, is_escalated, suspects_elsewhere, thin_evidence,
};
use super::looks::{Looks, Place, looks};
use super::material::diffs;
use super::purse::{Purse, output_tokens};
use super::verdicts::take_in;
use crate::consolidate::consolidate;
use crate::events::Event;
use crate::office::Office;
use crate::prompts::Prompts;
use crate::runs::{Checked, RunRecord};
use crh_agent::{Driven, Limit, Outcome, Purpose, Submit};
use crh_llm::{Model, text_tokens};
use crh_review::diff::Diff;
use crh_review::finding::{Finding, Member, Side};
use crh_review::{Judged, Judgement, Remembered, stable_json};

/// What the second call goes by.
const ROUND: &str = "single-round";
/// With so few calls in all, nobody validates after this run.
const CALLS_WITHOUT_VALIDATION: u32 = 2;
/// Tokens that a question may have beyond those that were counted before its results were there: the tags of fences,
/// which are hashes, and the word on what was cut.
const SLACK: u64 = 200;

/// Looks again at what is doubtful in a draft, if anything is and there is room for it.
pub(super) async fn look_again(
    office: &Office,
    prompts: &Prompts,
    record: &mut RunRecord,
    requests: &[ContextRequest],
) {
    let Some(candidates) = doubtful(office, record, requests) else { return };
    if office.journal.cancel().is_cancelled() {
        record.notes.push("the review was stopped before the second round".to_owned());
        return;
    }
    let shown: Vec<_> = candidates.iter().map(|one| one.shown(&record.members)).collect();
    let shown = stable_json(&shown).unwrap_or_default();
    let bare = tokens(&prompts.conversation(&prompts.round(&shown, "")));
    let purse = Purse::left(&office.terms.allowance, &office.ledger.spent());
    let (model, output) = match chosen(office, record, purse, bare) {
        Ok(chosen) => chosen,
        Err(limit) => return prevented(record, limit),
    };
    begin(office, ROUND, &record.assignment);
    let place = |finding: &Finding| placed(&office.subject.diff, finding);
    let looks = looks(&candidates, requests, &record.members, place);
    let room = purse.room(model.facts(), output).saturating_sub(bare + SLACK);
    let mut results = diffs_of(office, prompts, record, &candidates, room);
    results.push_str(&looked_up(office, record, looks).await);
    let results = cut(&results, room);
    let turns = purse.calls.min(TURNS);
    let wrong = if turns == 1 { Wrong::SetAside } else { Wrong::Refused };
    let ids: Vec<String> = candidates.iter().map(|candidate| candidate.id.clone()).collect();
    let reviewer = record.assignment.reviewer.clone();
    let read = move |value| read_second(value, &reviewer, &ids, wrong);
    let question = Question {
        caller: ROUND,
        model,
        conversation: prompts.conversation(&prompts.round(&shown, &results)),
        submit: Submit::new(submit_spec(), read),
        // It checks the draft, so it may use what is held back for that.
        purpose: Purpose::Validation,
        turns,
        output,
    };
    let driven = ask(office, question, |second| second.parsed.members.len()).await;
    record.book(&driven, model.name());
    heard(record, &candidates, driven);
}

/// What is looked at again; none if nothing is.
fn doubtful(
    office: &Office,
    record: &mut RunRecord,
    requests: &[ContextRequest],
) -> Option<Vec<Candidate>> {
    let subject = &office.subject;
    let allowance = &office.terms.allowance;
    let alone = |member: &Member| {
        thin_evidence(consolidate(vec![member.clone()], subject, &Remembered::default()))
    };
    let thin: Vec<_> = record.members.iter().map(alone).collect();
    let is_changed = |path: &str| subject.diff.files().iter().any(|file| file.path.shown() == path);
    let validation = if allowance.llm_calls <= CALLS_WITHOUT_VALIDATION {
        Validation::IsTheRound
    } else {
        Validation::Follows
    };
    let mut candidates = candidates(&record.members, &thin, requests, is_changed, validation);
    let over = candidates.len().saturating_sub(allowance.verify);
    if over > 0 {
        candidates.truncate(allowance.verify);
        let most = allowance.verify;
        record.notes.push(format!(
            "{over} more doubtful findings were not looked at again: {most} are the most"
        ));
    }
    let is_wanted = !candidates.is_empty() || suspects_elsewhere(requests, is_changed);
    is_wanted.then_some(candidates)
}

/// The model that is asked, and how much it may write; or the limit that keeps every one from being asked.
fn chosen<'a>(
    office: &'a Office,
    record: &mut RunRecord,
    purse: Purse,
    input: u64,
) -> Result<(&'a Model, u32), Limit> {
    let (reviewer, stronger) = (&office.crew.reviewer, &office.crew.escalation);
    let fitting = |model: &'a Model| {
        let output = output_tokens(&office.terms.allowance, model.facts());
        match purse.in_the_way(model.facts(), input, output) {
            None => Ok((model, output)),
            Some(limit) => Err(limit),
        }
    };
    let name = stronger.name();
    if !is_escalated(&record.members) || name == reviewer.name() {
        return fitting(reviewer);
    }
    match fitting(stronger) {
        Ok(chosen) => {
            record
                .notes
                .push(format!("`{name}` was asked about severe findings of low confidence"));
            Ok(chosen)
        }
        Err(limit) => {
            let chosen = fitting(reviewer)?;
            record.notes.push(format!(
                "the budget for {limit} left no room to ask `{name}` about severe findings of low confidence"
            ));
            Ok(chosen)
        }
    }
}

/// The diffs of the candidates' files, as far as they do not stand in the beginning that the question has in common with
/// the draft.
fn diffs_of(
    office: &Office,
    prompts: &Prompts,
    record: &RunRecord,
    candidates: &[Candidate],
    room: u64,
) -> String {
    let is_cited = |path: &str| {
        let mut cited = candidates.iter().filter_map(|one| record.members.get(one.at));
        cited.any(|member| member.finding.file == path)
    };
    let files = office.subject.files().map(|(_, file)| (file.path.shown().into_owned(), file));
    let files = files.filter(|(path, _)| is_cited(path) && !prompts.shows_diff_of(path)).collect();
    let pieces = diffs(&office.subject, files, room).pieces;
    pieces.iter().map(|piece| format!("{piece}\n")).collect()
}

/// Where a finding is. A line of the diff that is in no hunk is taken for the first of the file.
fn placed(diff: &Diff, finding: &Finding) -> Place {
    let (side, line) = match (finding.diff_line, finding.line_start) {
        (Some(number), _) => {
            diff.locate(number.get()).map_or((Side::New, 1), |(_, line)| line.side())
        }
        (None, Some(line)) => (finding.side.unwrap_or_default(), line.get()),
        (None, None) => (Side::New, 1),
    };
    let mut files = diff.files().iter();
    let file = files.find(|file| file.path.shown() == finding.file);
    // Before the change a renamed file has another name.
    let old = file.and_then(|file| file.old_path.as_ref()).filter(|_| side == Side::Old);
    let path = old.map_or_else(|| finding.file.clone(), |old| old.shown().into_owned());
    Place { path, side, line }
}

/// Makes the looks that the ledger has room for: what they brought, one after the other.
async fn looked_up(office: &Office, record: &mut RunRecord, looks: Looks) -> String {
    record.notes.extend(looks.notes);
    let wanted = u32::try_from(looks.made.len()).unwrap_or(u32::MAX);
    let granted = office.ledger.tool_calls(wanted, Purpose::Work);
    record.totals.tool_calls += granted;
    if granted < wanted {
        let missing = wanted - granted;
        record.limited.get_or_insert(Limit::ToolCalls);
        record.notes.push(format!(
            "the budget for {} left no room for {missing} looks at other code",
            Limit::ToolCalls
        ));
    }
    let mut results = String::new();
    for (look, why) in looks.made.iter().take(granted as usize) {
        let (tool, about) = (look.tool(), look.about());
        let run = ROUND.to_owned();
        office.journal.tell(Event::ToolCalled { run, tool: tool.to_owned(), about: about.clone() });
        let result = match in_time(office, look.make(&office.subject)).await {
            Some(Ok(result)) => result,
            Some(Err(failure)) => {
                record.notes.push(format!("{tool} {about} failed: {failure}"));
                format!("this failed: {failure}")
            }
            // Whoever asks next says that the review was stopped.
            None if office.journal.cancel().is_cancelled() => break,
            None => {
                record.notes.push(format!("{tool} {about} was given up: there was no time for it"));
                break;
            }
        };
        results.push_str(&format!("{tool} {about} ({why}):\n{}\n\n", result.trim_end()));
    }
    results
}

/// Waits for something until the review is stopped or its time is over.
async fn in_time<T>(office: &Office, work: impl Future<Output = T>) -> Option<T> {
    let time_over = async {
        match office.ledger.deadline() {
            Some(deadline) => tokio::time::sleep_until(deadline).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        done = work => Some(done),
        () = office.journal.cancel().cancelled() => None,
        () = time_over => None,
    }
}

/// The first lines of a text that have so many tokens together, and a word on those that do not.
fn cut(text: &str, most: u64) -> String {
    let mut left = most;
    let mut kept = String::new();
    let mut lines = text.split_inclusive('\n');
    for line in lines.by_ref() {
        let tokens = text_tokens(line);
        if tokens > left {
            let missing = lines.count() + 1;
            kept.push_str(&format!("[{missing} lines are left out: there is no room for them]\n"));
            break;
        }
        left -= tokens;
        kept.push_str(line);
    }
    kept
}

fn heard(record: &mut RunRecord, candidates: &[Candidate], driven: Driven<Second>) {
    let failure = driven.ended.outcome.failure().unwrap_or_default();
    match driven.ended.outcome {
        Outcome::Answered(second) => take_in(record, candidates, second),
        Outcome::OutOfBudget(limit) => prevented(record, limit),
        Outcome::Cancelled => {
            record.notes.push("the review was stopped in the second round".to_owned());
        }
        Outcome::NoAnswer
        | Outcome::BadAnswer(_)
        | Outcome::Stuck
        | Outcome::ContextFull
        | Outcome::Model(_)
        | Outcome::Aborted(_) => {
            // Whoever comes after may make up for it; if nobody does, the finding says that nobody looked.
            let reason = format!("the second round failed: {failure}");
            let members = candidates.iter().filter_map(|one| record.members.get(one.at));
            record.checked.extend(members.map(|member| Checked {
                finding: member.finding.clone(),
                judgement: Judgement { result: Judged::Failed, reason: reason.clone() },
            }));
            record.notes.push(format!("{reason}; the draft stands as it is"));
        }
    }
}

/// Notes what the budget prevented.
fn prevented(record: &mut RunRecord, limit: Limit) {
    record.limited.get_or_insert(limit);
    record.notes.push(format!(
        "the budget for {limit} left no room to look again at doubtful findings, and the draft stands as it is"
    ));
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::super::sample::member;
    use super::*;
    use crh_review::finding::Severity::P1;

    #[test]
    fn a_text_is_cut_between_lines_and_says_how_many_are_missing() {
        let text = "aa\nbb\ncc\n";
        assert_eq!(cut(text, 100), text);
        let of_a_line = text_tokens("aa\n");
        assert_eq!(
            cut(text, of_a_line * 2),
            "aa\nbb\n[1 lines are left out: there is no room for them]\n"
        );
        assert_eq!(cut(text, 0), "[3 lines are left out: there is no room for them]\n");
        assert_eq!(cut("", 0), "");
    }

    #[test]
    fn a_finding_is_on_the_line_that_it_cites_or_that_its_line_of_the_diff_is() {
        let diff = Diff::read(
            "diff --git a/a b/b\nrename from a\nrename to b\n--- a/a\n+++ b/b\n@@ -8,2 +8,2 @@\n x\n-y\n+z\n",
        );
        let mut finding = member("a", P1, 500).finding;
        let place = |finding: &Finding| {
            let Place { path, side, line } = placed(&diff, finding);
            (path, side, line)
        };
        assert_eq!(place(&finding), ("a.py".to_owned(), Side::New, 7));
        finding.side = Some(Side::Old);
        assert_eq!(place(&finding), ("a.py".to_owned(), Side::Old, 7));
        "b".clone_into(&mut finding.file);
        assert_eq!(place(&finding), ("a".to_owned(), Side::Old, 7), "as it was called");
        let mut at = |line: u32| {
            finding.diff_line = NonZeroU32::new(line);
            let (_, side, line) = place(&finding);
            (side, line)
        };
        assert_eq!((at(7), at(8), at(9)), ((Side::New, 8), (Side::Old, 9), (Side::New, 9)));
        assert_eq!((at(1), at(99)), ((Side::New, 1), (Side::New, 1)), "in no hunk");
    }
}
