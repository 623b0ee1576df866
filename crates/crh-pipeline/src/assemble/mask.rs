//! Masks secrets in a report. Whatever has texts is taken apart field by field, so that a new field stops the build here.

use serde_json::Value;

use crate::credentials::Credentials;
use crh_llm::Redactor;
use crh_review::finding::{Evidence, Finding, Member};
use crh_review::report::{
    AppliedFix, Change, Dropped, Issue, Notes, Plan, Report, ReviewerRow, Scope,
};
use crh_review::{CandidatePair, Location, Quote};

/// What is masked.
struct Secrets<'a>(&'a Credentials);

/// The report with these values masked in every text of it: in quotes, in findings as they were returned, in what could
/// not be read. What it quotes from elsewhere may have other ones in it: those are masked too.
pub fn mask(report: Report, credentials: &Credentials) -> Report {
    let value = serde_json::to_value(&report).unwrap_or_default();
    let quoted = credentials.quoted_in(&value);
    masked(masked(report, &Secrets(credentials)), &Secrets(&quoted))
}

/// The report without the keys that models are asked by: one that was given a key may repeat it.
pub fn mask_keys(report: Report, keys: &Redactor) -> Report {
    masked(report, &Secrets(&Credentials::keys(keys)))
}

fn masked(mut report: Report, secrets: &Secrets<'_>) -> Report {
    let Report {
        schema_version: _,
        review_id: _,
        run_id: _,
        artifact,
        mode: _,
        strategy: _,
        status: _,
        verdict: _,
        verdict_reason,
        fix_order: _,
        model_used: _,
        warnings,
        summary,
        change,
        scope,
        intent,
        plan,
        reviewers,
        issues,
        queues: _,
        applied_fixes,
        pre_existing,
        suppressed,
        residual_risks,
        testing_gaps,
        candidate_pairs,
        notes,
        files_reviewed,
        coverage,
        stats: _,
    } = &mut report;
    secrets.all([artifact, verdict_reason, summary, intent]);
    secrets.change(change);
    let Scope { line, files: _, additions: _, deletions: _, untracked } = scope;
    secrets.text(line);
    for list in [warnings, residual_risks, testing_gaps] {
        secrets.all(list);
    }
    secrets.paths(untracked.iter_mut().chain(files_reviewed));
    let Notes { learnings, agent_native_gaps, schema_drift, deployment } = notes;
    for list in [learnings, agent_native_gaps, schema_drift, deployment] {
        secrets.all(list);
    }
    plan.iter_mut().for_each(|plan| secrets.plan(plan));
    for ReviewerRow { name, origin: _, why, outcome: _, note } in reviewers {
        secrets.all([name, why, note]);
    }
    issues.iter_mut().chain(pre_existing).for_each(|issue| secrets.issue(issue));
    for AppliedFix { number: _, description, files } in applied_fixes {
        secrets.text(description);
        secrets.paths(files);
    }
    suppressed.iter_mut().for_each(|dropped| secrets.dropped(dropped));
    candidate_pairs.iter_mut().for_each(|pair| secrets.pair(pair));
    for file in coverage {
        secrets.paths([&mut file.path]);
        secrets.text(&mut file.reason);
    }
    report
}

impl Secrets<'_> {
    fn text(&self, text: &mut String) {
        self.0.hide(text);
    }

    fn all<'t>(&self, texts: impl IntoIterator<Item = &'t mut String>) {
        texts.into_iter().for_each(|text| self.text(text));
    }

    fn paths<'t>(&self, paths: impl IntoIterator<Item = &'t mut String>) {
        paths.into_iter().for_each(|path| self.0.hide_in_path(path));
    }

    fn change(&self, change: &mut Change) {
        let Change {
            repo: _,
            pr_number: _,
            url,
            title,
            author,
            base_ref,
            head_ref,
            base_sha: _,
            head_sha: _,
        } = change;
        self.all([url, title, author, base_ref, head_ref]);
    }

    fn plan(&self, plan: &mut Plan) {
        self.text(&mut plan.path);
        for requirement in &mut plan.requirements {
            self.all([&mut requirement.id, &mut requirement.text, &mut requirement.evidence]);
        }
    }

    fn issue(&self, issue: &mut Issue) {
        let Issue {
            number: _,
            dedupe_key: _,
            title,
            severity: _,
            category: _,
            location,
            relocated_from: _,
            confidence: _,
            why_it_matters,
            description,
            suggested_fix,
            suggestion,
            replacement,
            evidence_snippet,
            evidence,
            reviewers,
            rule: _,
            disagreement,
            language: _,
            tier: _,
            validation: _,
            autofix_class: _,
            owner: _,
            queue: _,
            action: _,
            requires_verification: _,
            pre_existing: _,
            members,
        } = issue;
        self.all([title, why_it_matters, description, suggestion, evidence_snippet]);
        self.all([suggested_fix, replacement, disagreement].into_iter().flatten());
        self.all(reviewers);
        let Location { file, side: _, line_start: _, line_end: _ } = location;
        self.paths([file]);
        for Quote { file, side: _, line: _, snippet } in evidence {
            self.paths([file]);
            self.text(snippet);
        }
        members.iter_mut().for_each(|member| self.member(member));
    }

    fn member(&self, member: &mut Member) {
        let Member { reviewer, voice, origin: _, proof: _, rule: _, finding } = member;
        self.text(reviewer);
        self.all(voice);
        let Finding {
            title,
            severity: _,
            category: _,
            file,
            line_start: _,
            line_end: _,
            side: _,
            diff_line: _,
            confidence: _,
            evidence,
            why_it_matters,
            suggested_fix,
            replacement,
            autofix_class: _,
            owner: _,
            requires_verification: _,
            pre_existing: _,
        } = finding;
        self.all([title, why_it_matters]);
        self.paths([file]);
        self.all([suggested_fix, replacement].into_iter().flatten());
        for Evidence { file, line: _, side: _, snippet } in evidence {
            self.paths(file);
            self.text(snippet);
        }
    }

    fn dropped(&self, dropped: &mut Dropped) {
        let Dropped { fate: _, reason, into: _, reviewer, member, raw } = dropped;
        self.all([reason, reviewer]);
        member.iter_mut().for_each(|member| self.member(member));
        raw.iter_mut().for_each(|raw| self.value(raw));
    }

    fn value(&self, value: &mut Value) {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => self.text(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.value(value)),
            Value::Object(fields) => {
                let masked = std::mem::take(fields).into_iter().map(|(mut name, mut value)| {
                    self.text(&mut name);
                    self.value(&mut value);
                    (name, value)
                });
                *fields = masked.collect();
            }
        }
    }

    fn pair(&self, pair: &mut CandidatePair) {
        let CandidatePair { id: _, file, left, right } = pair;
        self.paths([file]);
        for side in [left, right] {
            self.all([&mut side.title, &mut side.why_it_matters]);
        }
    }
}
