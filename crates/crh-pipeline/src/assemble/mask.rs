//! Masks secrets in a report. This file destructures most structs field by field, so that a new
//! field of such a struct does not compile until this file handles it.

use serde_json::Value;

use crate::change_secrets::ChangeSecrets;
use crh_llm::Redactor;
use crh_review::finding::{Evidence, Finding, Member};
use crh_review::report::{
    AppliedFix, DroppedFinding, Issue, Plan, Report, ReviewedChange, ReviewerNotes, ReviewerRow,
    Scope, TestProof,
};
use crh_review::{CandidatePair, Location, Quote};

struct ReportMask<'a>(&'a ChangeSecrets);

/// Masks `credentials` in every text of the report: quotes, raw findings, unreadable output. Also
/// masks secrets in quotes from files outside the change.
pub fn mask(report: Report, credentials: &ChangeSecrets) -> Report {
    let value = serde_json::to_value(&report).unwrap_or_default();
    let quoted_secrets = credentials.quoted_in(&value);
    // Credentials that only the title, the author or the intent contains are masked only there.
    // Otherwise the author of a change could blank words of the issues.
    let mut report = [credentials, &quoted_secrets]
        .into_iter()
        .fold(report, |report, secrets| mask_report(report, &ReportMask(secrets)));
    let texts = [&report.change.title, &report.change.author, &report.intent];
    let message_secrets = ChangeSecrets::in_texts(texts.into_iter().map(String::as_str));
    for text in [&mut report.change.title, &mut report.change.author, &mut report.intent] {
        message_secrets.mask(text);
    }
    report
}

/// Masks API keys, since a model that saw a key may repeat it.
pub fn mask_keys(report: Report, keys: &Redactor) -> Report {
    mask_report(report, &ReportMask(&ChangeSecrets::from_keys(keys)))
}

fn mask_report(mut report: Report, masker: &ReportMask<'_>) -> Report {
    let Report {
        schema_version: _,
        review_id: _,
        run_id: _,
        artifact,
        mode: _,
        strategy: _,
        status: _,
        is_stopped: _,
        verdict: _,
        verdict_reason,
        command: _,
        fix_order: _,
        model_used: _,
        model_set: _,
        needs_model_flag: _,
        warnings,
        summary,
        change,
        scope,
        intent,
        plan,
        reviewers,
        issues,
        over_cap,
        over_cap_note: _,
        queues: _,
        applied_fixes,
        not_fixed: _,
        pre_existing,
        suppressed,
        residual_risks,
        testing_gaps,
        candidate_pairs,
        notes,
        files_reviewed,
        coverage,
        fix_review_gaps,
        stats: _,
    } = &mut report;
    masker.mask_texts([artifact, verdict_reason, summary, intent]);
    masker.mask_change(change);
    let Scope { line, files: _, additions: _, deletions: _, untracked } = scope;
    masker.mask_text(line);
    for list in [warnings, residual_risks, testing_gaps] {
        masker.mask_texts(list);
    }
    masker.mask_paths(untracked.iter_mut().chain(files_reviewed));
    let ReviewerNotes { learnings, agent_native_gaps, schema_drift, deployment } = notes;
    for list in [learnings, agent_native_gaps, schema_drift, deployment] {
        masker.mask_texts(list);
    }
    plan.iter_mut().for_each(|plan| masker.mask_plan(plan));
    for ReviewerRow { name, origin: _, why, outcome: _, note } in reviewers {
        masker.mask_texts([name, why, note]);
    }
    issues
        .iter_mut()
        .chain(over_cap)
        .chain(pre_existing)
        .for_each(|issue| masker.mask_issue(issue));
    applied_fixes.iter_mut().for_each(|fix| masker.mask_fix(fix));
    suppressed.iter_mut().for_each(|dropped| masker.mask_dropped(dropped));
    candidate_pairs.iter_mut().for_each(|pair| masker.mask_pair(pair));
    for file in coverage {
        masker.mask_paths([&mut file.path]);
        masker.mask_text(&mut file.reason);
    }
    masker.mask_paths(fix_review_gaps.iter_mut().map(|gap| &mut gap.path));
    report
}

impl ReportMask<'_> {
    fn mask_text(&self, text: &mut String) {
        self.0.mask(text);
    }

    fn mask_texts<'t>(&self, texts: impl IntoIterator<Item = &'t mut String>) {
        texts.into_iter().for_each(|text| self.mask_text(text));
    }

    fn mask_paths<'t>(&self, paths: impl IntoIterator<Item = &'t mut String>) {
        paths.into_iter().for_each(|path| self.0.mask_path(path));
    }

    fn mask_change(&self, change: &mut ReviewedChange) {
        let ReviewedChange {
            repo: _,
            pr_number: _,
            url,
            title,
            author,
            base_ref,
            head_ref,
            base_sha: _,
            head_sha: _,
            checkout_obstacle: _,
        } = change;
        self.mask_texts([url, title, author, base_ref, head_ref]);
    }

    fn mask_plan(&self, plan: &mut Plan) {
        self.mask_text(&mut plan.path);
        for requirement in &mut plan.requirements {
            self.mask_texts([
                &mut requirement.id,
                &mut requirement.text,
                &mut requirement.evidence,
            ]);
        }
    }

    fn mask_issue(&self, issue: &mut Issue) {
        let Issue {
            number: _,
            dedupe_key: _,
            title,
            severity: _,
            category: _,
            location,
            relocated_from: _,
            other_places,
            confidence: _,
            probability: _,
            why_it_matters,
            description,
            suggested_fix,
            suggestion,
            replacement,
            evidence_snippet,
            evidence,
            proof,
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
        self.mask_texts([title, why_it_matters, description, suggestion, evidence_snippet]);
        self.mask_texts([suggested_fix, replacement, disagreement].into_iter().flatten());
        self.mask_texts(reviewers);
        for Location { file, side: _, line_start: _, line_end: _ } in
            std::iter::once(location).chain(other_places)
        {
            self.mask_paths([file]);
        }
        for Quote { file, side: _, line: _, snippet } in evidence {
            self.mask_paths([file]);
            self.mask_text(snippet);
        }
        if let Some(TestProof { path, content, command, output }) = proof {
            self.mask_paths([path]);
            self.mask_texts([content, command, output]);
        }
        members.iter_mut().for_each(|member| self.mask_member(member));
    }

    fn mask_member(&self, member: &mut Member) {
        let Member { reviewer, voice, origin: _, proof: _, rule: _, finding } = member;
        self.mask_text(reviewer);
        self.mask_texts(voice);
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
        self.mask_texts([title, why_it_matters]);
        self.mask_paths([file]);
        self.mask_texts([suggested_fix, replacement].into_iter().flatten());
        for Evidence { file, line: _, side: _, snippet } in evidence {
            self.mask_paths(file);
            self.mask_text(snippet);
        }
    }

    fn mask_fix(&self, fix: &mut AppliedFix) {
        let AppliedFix { number: _, description, files, outcome: _, author: _, open_places } = fix;
        self.mask_text(description);
        self.mask_paths(files.iter_mut().chain(open_places.iter_mut().map(|it| &mut it.file)));
    }

    fn mask_dropped(&self, dropped: &mut DroppedFinding) {
        let DroppedFinding {
            fate: _,
            reason,
            cause: _,
            into: _,
            open: _,
            validation: _,
            reviewer,
            member,
            raw,
        } = dropped;
        self.mask_texts([reason, reviewer]);
        member.iter_mut().for_each(|member| self.mask_member(member));
        raw.iter_mut().for_each(|raw| self.mask_value(raw));
    }

    fn mask_value(&self, value: &mut Value) {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => self.mask_text(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.mask_value(value)),
            Value::Object(fields) => {
                let masked_fields =
                    std::mem::take(fields).into_iter().map(|(mut name, mut value)| {
                        self.mask_text(&mut name);
                        self.mask_value(&mut value);
                        (name, value)
                    });
                *fields = masked_fields.collect();
            }
        }
    }

    fn mask_pair(&self, pair: &mut CandidatePair) {
        let CandidatePair { id: _, file, left, right } = pair;
        self.mask_paths([file]);
        for side in [left, right] {
            self.mask_texts([&mut side.title, &mut side.why_it_matters]);
        }
    }
}
