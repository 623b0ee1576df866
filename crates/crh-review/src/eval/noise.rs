//! How often a tool reports something on commits of a healthy repository, with a sample to read.
//! Measures static checks, which should be silent there.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::bootstrap::{ratio, rounded};
use super::evaluation::Reported;
use super::scores::graded::ReportIdentity;
use crate::identity::content_id;
use crate::sanitise;
use crate::sanitise::one_line;

/// Maximum length of a sample line.
const LINE_MAX: usize = 160;

/// Reports of one review of a commit. With repeats, a commit has several reviews.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitRun {
    /// The commit.
    pub commit: String,
    /// Why the commit was not fully reviewed.
    pub not_reviewed: Option<String>,
    /// Reports.
    pub reported: Vec<Reported>,
}

/// How often something is reported. Only complete reviews count; findings of incomplete reviews are
/// listed separately.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Noise {
    /// Number of fully reviewed commits.
    pub commits: usize,
    /// Number of reviews of these commits.
    pub reviews: usize,
    /// Commits that were not fully reviewed, with the reason.
    pub not_reviewed: Vec<(String, String)>,
    /// Commits with at least one finding.
    pub with_findings: usize,
    /// Findings over all reviews.
    pub findings: usize,
    /// Findings in one review of each of 100 commits, on average; absent without a review.
    pub per_100_commits: Option<f64>,
    /// Findings by reviewer, over all reviews.
    pub by_reviewer: BTreeMap<String, usize>,
    /// Findings by severity, over all reviews.
    pub by_severity: BTreeMap<String, usize>,
    /// Distinct findings; repeats count once.
    pub different: usize,
    /// A sample of the distinct findings, by commit.
    pub sample: Vec<SampledFinding>,
    /// Findings of incomplete reviews. No other number includes these findings.
    pub incomplete: DistinctFindings,
}

/// Distinct findings of some runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DistinctFindings {
    /// Number of distinct findings.
    pub different: usize,
    /// A sample, by commit.
    pub sample: Vec<SampledFinding>,
}

/// A finding of the sample.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SampledFinding {
    /// Commit.
    pub commit: String,
    /// The finding.
    pub finding: Reported,
}

impl Noise {
    /// Counts findings and draws a sample. The same seed draws the same sample.
    pub fn new(runs: &[CommitRun], sample: usize, seed: u64) -> Self {
        let (complete, incomplete): (Vec<_>, Vec<_>) =
            runs.iter().partition(|run| run.not_reviewed.is_none());
        let mut by_reviewer = BTreeMap::new();
        let mut by_severity = BTreeMap::new();
        for reported in complete.iter().flat_map(|run| &run.reported) {
            for reviewer in &reported.reviewers {
                *by_reviewer.entry(reviewer.clone()).or_default() += 1;
            }
            let severity =
                reported.severity.map_or("none".to_owned(), |severity| severity.to_string());
            *by_severity.entry(severity).or_default() += 1;
        }
        let findings = complete.iter().map(|run| run.reported.len()).sum();
        let count_commits = |runs: &mut dyn Iterator<Item = &&CommitRun>| {
            runs.map(|run| run.commit.as_str()).collect::<BTreeSet<_>>().len()
        };
        let mut listed = BTreeSet::new();
        let not_reviewed = incomplete
            .iter()
            .filter_map(|run| Some((run.commit.clone(), run.not_reviewed.clone()?)))
            .filter(|entry| listed.insert(entry.clone()));
        let distinct = DistinctFindings::from_runs(&complete, sample, seed);
        Self {
            commits: count_commits(&mut complete.iter()),
            reviews: complete.len(),
            not_reviewed: not_reviewed.collect(),
            with_findings: count_commits(
                &mut complete.iter().filter(|run| !run.reported.is_empty()),
            ),
            findings,
            per_100_commits: ratio(findings as u64, complete.len() as u64)
                .map(|rate| rounded(rate * 100.0)),
            by_reviewer,
            by_severity,
            different: distinct.different,
            sample: distinct.sample,
            incomplete: DistinctFindings::from_runs(&incomplete, sample, seed),
        }
    }

    /// Text for a terminal.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.headline());
        for (heading, counts) in
            [("by reviewer", &self.by_reviewer), ("by severity", &self.by_severity)]
        {
            if !counts.is_empty() {
                text.push_str(&format!("{heading}: {}\n", count_list(counts)));
            }
        }
        for (commit, reason) in &self.not_reviewed {
            text.push_str(&format!("not reviewed: {} {}\n", short_id(commit), one_line(reason)));
        }
        for (heading, sample) in self.samples() {
            text.push_str(&format!("\n{heading}\n"));
            for SampledFinding { commit, finding } in sample {
                text.push_str(&format!(
                    "\n{} {}\n  {}\n",
                    short_id(commit),
                    location_text(finding),
                    finding_text(finding)
                ));
                if let Some(quote) = finding.evidence.lines().find(|line| !line.trim().is_empty()) {
                    text.push_str(&format!(
                        "  > {}\n",
                        crate::truncate(&one_line(quote), LINE_MAX)
                    ));
                }
            }
        }
        text
    }

    /// Markdown, with an empty column in which a person notes whether a finding is true.
    pub fn markdown(&self) -> String {
        let mut text = format!("{}\n", self.headline());
        for (commit, reason) in &self.not_reviewed {
            let reason = sanitise::markdown(reason, None);
            text.push_str(&format!(
                "\nNot reviewed: {} {reason}\n",
                sanitise::code_span(&short_id(commit))
            ));
        }
        for (heading, sample) in self.samples() {
            text.push_str(&format!("\n{heading}\n"));
            text.push_str("\n| commit | place | finding | true? |\n|---|---|---|---|\n");
            for SampledFinding { commit, finding } in sample {
                let cells = [short_id(commit), location_text(finding), finding_text(finding)];
                let cells = cells.map(|text| sanitise::cell(&text, None));
                text.push_str(&format!("| {} | |\n", cells.join(" | ")));
            }
        }
        text
    }

    fn headline(&self) -> String {
        let rate = self.per_100_commits.map_or("–".to_owned(), |rate| format!("{rate:.2}"));
        let Self { findings, with_findings, commits, reviews, .. } = self;
        let reviews = match reviews == commits {
            true => String::new(),
            false => format!(" in {reviews} reviews"),
        };
        format!(
            "{findings} findings on {with_findings} of {commits} commits{reviews}: {rate} for every 100 commits"
        )
    }

    /// The non-empty samples, each with a heading.
    fn samples(&self) -> impl Iterator<Item = (String, &[SampledFinding])> {
        let complete = (self.different, self.sample.as_slice(), "");
        let DistinctFindings { different, sample } = &self.incomplete;
        let incomplete =
            (*different, sample.as_slice(), " of incomplete reviews, which are not counted");
        [complete, incomplete].into_iter().filter(|(_, sample, _)| !sample.is_empty()).map(
            |(different, sample, suffix)| {
                (format!("{} of {different} findings{suffix}:", sample.len()), sample)
            },
        )
    }
}

impl DistinctFindings {
    /// The distinct findings of some runs, and a sample of them.
    fn from_runs(runs: &[&CommitRun], sample: usize, seed: u64) -> Self {
        let mut findings_by_commit: BTreeMap<&str, BTreeSet<(ReportIdentity<'_>, usize)>> =
            BTreeMap::new();
        let mut order: BTreeMap<&str, usize> = BTreeMap::new();
        let mut draws = Vec::new();
        for (index, CommitRun { commit, reported, .. }) in runs.iter().enumerate() {
            order.entry(commit).or_insert(index);
            // Equal reports of one review are two findings.
            let mut counts_in_run: BTreeMap<ReportIdentity<'_>, usize> = BTreeMap::new();
            for finding in reported {
                let occurrence = counts_in_run.entry(ReportIdentity::new(finding)).or_default();
                *occurrence += 1;
                let commit_findings = findings_by_commit.entry(commit).or_default();
                let number = commit_findings.len();
                if commit_findings.insert((ReportIdentity::new(finding), *occurrence)) {
                    let draw = content_id(format!("{seed} {commit} {number}").as_bytes());
                    let finding = finding.clone();
                    draws.push((draw, SampledFinding { commit: commit.clone(), finding }));
                }
            }
        }
        let different = draws.len();
        draws.sort_by(|a, b| a.0.cmp(&b.0));
        let mut sample: Vec<SampledFinding> =
            draws.into_iter().take(sample).map(|(_, sampled)| sampled).collect();
        // Sort by commit, in the order of the history.
        sample.sort_by_key(|sampled| {
            (order.get(sampled.commit.as_str()).copied(), sampled.finding.span.clone())
        });
        Self { different, sample }
    }
}

fn location_text(finding: &Reported) -> String {
    format!("{}:{}", sanitise::path(finding.span.file()), finding.span.line_start())
}

fn finding_text(finding: &Reported) -> String {
    let severity = finding.severity.map(|severity| format!("{severity} ")).unwrap_or_default();
    let text = format!("{severity}{} ({})", finding.title, finding.reviewers.join(", "));
    crate::truncate(&one_line(&text), LINE_MAX)
}

fn count_list(counts: &BTreeMap<String, usize>) -> String {
    let entries = counts.iter().map(|(name, count)| format!("{} {count}", one_line(name)));
    entries.collect::<Vec<_>>().join(", ")
}

fn short_id(commit: &str) -> String {
    one_line(commit.get(..12).unwrap_or(commit))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::eval::Span;
    use crate::finding::{Severity, Side};

    fn run(commit: &str, findings: &[(&str, u32)]) -> CommitRun {
        let reported = findings.iter().map(|(title, line)| Reported {
            evidence: format!("\n  let x = {line};\n"),
            severity: Some(Severity::P1),
            reviewers: vec!["secrets".to_owned()],
            ..Reported::new(Span::new("src/a.rs", *line, *line, Side::New).unwrap(), *title)
        });
        CommitRun { commit: commit.repeat(20), not_reviewed: None, reported: reported.collect() }
    }

    fn runs() -> Vec<CommitRun> {
        let failed = CommitRun { not_reviewed: Some("git failed".to_owned()), ..run("dd", &[]) };
        vec![
            run("aa", &[("a | b\u{1b}[2J", 3), ("second", 9)]),
            run("bb", &[]),
            run("cc", &[("third", 1)]),
            run("ee", &[]),
            failed,
        ]
    }

    #[test]
    fn findings_are_counted_per_hundred_commits() {
        let noise = Noise::new(&runs(), 10, 1);
        expect![[r#"
            3 findings on 2 of 4 commits: 75.00 for every 100 commits
            by reviewer: secrets 3
            by severity: P1 3
            not reviewed: dddddddddddd git failed

            3 of 3 findings:

            aaaaaaaaaaaa src/a.rs:3
              P1 a | b\u{1b}[2J (secrets)
              > let x = 3;

            aaaaaaaaaaaa src/a.rs:9
              P1 second (secrets)
              > let x = 9;

            cccccccccccc src/a.rs:1
              P1 third (secrets)
              > let x = 1;
        "#]]
        .assert_eq(&noise.text());
        expect![[r#"
            3 findings on 2 of 4 commits: 75.00 for every 100 commits

            Not reviewed: `dddddddddddd` git failed

            3 of 3 findings:

            | commit | place | finding | true? |
            |---|---|---|---|
            | aaaaaaaaaaaa | src/a.rs:3 | P1 a \| b\\u{1b}\[2J (secrets) | |
            | aaaaaaaaaaaa | src/a.rs:9 | P1 second (secrets) | |
            | cccccccccccc | src/a.rs:1 | P1 third (secrets) | |
        "#]]
        .assert_eq(&noise.markdown());
    }

    #[test]
    fn repeats_are_averaged_and_deduplicated() {
        // Four reviews of two commits with six findings: 150 per 100 commits. The second review of
        // `aa` repeats one finding and has another with a duplicate key.
        let mut repeated_run = run("aa", &[("in other words", 3), ("new", 8), ("new", 8)]);
        repeated_run.reported[1].key = "k".to_owned();
        repeated_run.reported[2].key = "k".to_owned();
        let runs = [
            run("aa", &[("first", 3), ("second", 9)]),
            run("bb", &[]),
            repeated_run,
            run("bb", &[("b", 1)]),
        ];
        let noise = Noise::new(&runs, 10, 1);
        assert_eq!((noise.commits, noise.reviews, noise.with_findings), (2, 4, 2));
        assert_eq!((noise.findings, noise.per_100_commits), (6, Some(150.0)));
        assert_eq!(noise.by_severity, [("P1".to_owned(), 6)].into());
        let titles: Vec<_> =
            noise.sample.iter().map(|sampled| sampled.finding.title.as_str()).collect();
        assert_eq!(titles, ["first", "new", "new", "second", "b"]);
        expect!["6 findings on 2 of 2 commits in 4 reviews: 150.00 for every 100 commits"]
            .assert_eq(noise.text().lines().next().unwrap());
    }

    #[test]
    fn incomplete_reviews_are_counted_separately() {
        let part = |commit: &str, findings: &[(&str, u32)]| CommitRun {
            not_reviewed: Some("a file is too large".to_owned()),
            ..run(commit, findings)
        };
        let part_of_both = part("bb", &[("loud", 4), ("louder", 5)]);
        let runs = [
            run("aa", &[("counted", 1)]),
            run("bb", &[]),
            part("aa", &[]),
            part_of_both.clone(),
            part_of_both,
        ];
        let noise = Noise::new(&runs, 1, 1);
        assert_eq!((noise.commits, noise.reviews, noise.with_findings), (2, 2, 1));
        assert_eq!((noise.findings, noise.per_100_commits), (1, Some(50.0)));
        assert_eq!((noise.by_reviewer["secrets"], noise.by_severity["P1"]), (1, 1));
        expect![[r#"
            1 findings on 1 of 2 commits: 50.00 for every 100 commits
            by reviewer: secrets 1
            by severity: P1 1
            not reviewed: aaaaaaaaaaaa a file is too large
            not reviewed: bbbbbbbbbbbb a file is too large

            1 of 1 findings:

            aaaaaaaaaaaa src/a.rs:1
              P1 counted (secrets)
              > let x = 1;

            1 of 2 findings of incomplete reviews, which are not counted:

            bbbbbbbbbbbb src/a.rs:5
              P1 louder (secrets)
              > let x = 5;
        "#]]
        .assert_eq(&noise.text());
    }

    #[test]
    fn same_seed_gives_same_sample() {
        let sample = |seed| Noise::new(&runs(), 1, seed).sample;
        assert_eq!(sample(1), sample(1));
        let different: BTreeSet<String> =
            (0..50).map(|seed| sample(seed)[0].finding.title.clone()).collect();
        assert_eq!(different.len(), 3);
    }

    #[test]
    fn no_reviews_have_no_rate() {
        assert_eq!(Noise::new(&[], 10, 1).per_100_commits, None);
    }
}
