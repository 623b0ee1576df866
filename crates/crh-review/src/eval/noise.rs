//! How often a tool reports something on commits of a healthy repository, with a sample to read.
//! Measures static checks, which should be silent there.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::bootstrap::{rounded, share};
use super::evaluation::Reported;
use super::scores::graded::Identity;
use crate::identity::content_id;
use crate::sanitise;
use crate::sanitise::one_line;

/// Maximum length of a sample line.
const LINE_MAX: usize = 160;

/// Reports of one review of a commit. With repeats there are several per commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitRun {
    /// The commit.
    pub commit: String,
    /// Why the commit was not fully reviewed.
    pub not_reviewed: Option<String>,
    /// Reports.
    pub reported: Vec<Reported>,
}

/// How often something is reported. Only complete reviews count; findings of the others are listed
/// separately.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Noise {
    /// Number of fully reviewed commits.
    pub commits: usize,
    /// Number of their reviews.
    pub reviews: usize,
    /// Commits that were not fully reviewed, with the reason.
    pub not_reviewed: Vec<(String, String)>,
    /// Commits with at least one finding.
    pub with_findings: usize,
    /// Findings over all reviews.
    pub findings: usize,
    /// Findings per 100 reviews; absent without a review.
    pub per_100_commits: Option<f64>,
    /// Findings by reviewer, over all reviews.
    pub by_reviewer: BTreeMap<String, usize>,
    /// Findings by severity, over all reviews.
    pub by_severity: BTreeMap<String, usize>,
    /// Distinct findings; repeats count once.
    pub different: usize,
    /// A sample of them, by commit.
    pub sample: Vec<Sampled>,
    /// Findings of incomplete reviews. They are in no other number.
    pub incomplete: Apart,
}

/// Findings that are counted separately.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Apart {
    /// Number of distinct findings.
    pub different: usize,
    /// A sample, by commit.
    pub sample: Vec<Sampled>,
}

/// A finding of the sample.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sampled {
    /// Commit.
    pub commit: String,
    /// The finding.
    pub finding: Reported,
}

impl Noise {
    /// Counts findings and draws a sample. The same seed draws the same sample.
    pub fn of(runs: &[CommitRun], sample: usize, seed: u64) -> Self {
        let (whole, others): (Vec<_>, Vec<_>) =
            runs.iter().partition(|run| run.not_reviewed.is_none());
        let mut by_reviewer = BTreeMap::new();
        let mut by_severity = BTreeMap::new();
        for reported in whole.iter().flat_map(|run| &run.reported) {
            for reviewer in &reported.reviewers {
                *by_reviewer.entry(reviewer.clone()).or_default() += 1;
            }
            let severity = reported.severity.map_or("none".to_owned(), |it| it.to_string());
            *by_severity.entry(severity).or_default() += 1;
        }
        let findings = whole.iter().map(|run| run.reported.len()).sum();
        let commits = |runs: &mut dyn Iterator<Item = &&CommitRun>| {
            runs.map(|run| run.commit.as_str()).collect::<BTreeSet<_>>().len()
        };
        let mut named = BTreeSet::new();
        let not_reviewed = others
            .iter()
            .filter_map(|run| Some((run.commit.clone(), run.not_reviewed.clone()?)))
            .filter(|named_once| named.insert(named_once.clone()));
        let said = Apart::of(&whole, sample, seed);
        Self {
            commits: commits(&mut whole.iter()),
            reviews: whole.len(),
            not_reviewed: not_reviewed.collect(),
            with_findings: commits(&mut whole.iter().filter(|run| !run.reported.is_empty())),
            findings,
            per_100_commits: share(findings as u64, whole.len() as u64)
                .map(|of_review| rounded(of_review * 100.0)),
            by_reviewer,
            by_severity,
            different: said.different,
            sample: said.sample,
            incomplete: Apart::of(&others, sample, seed),
        }
    }

    /// Text for a terminal.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.headline());
        for (what, counts) in
            [("by reviewer", &self.by_reviewer), ("by severity", &self.by_severity)]
        {
            if !counts.is_empty() {
                text.push_str(&format!("{what}: {}\n", listed(counts)));
            }
        }
        for (commit, why) in &self.not_reviewed {
            text.push_str(&format!("not reviewed: {} {}\n", short(commit), one_line(why)));
        }
        for (heading, sample) in self.samples() {
            text.push_str(&format!("\n{heading}\n"));
            for Sampled { commit, finding } in sample {
                text.push_str(&format!(
                    "\n{} {}\n  {}\n",
                    short(commit),
                    place(finding),
                    said(finding)
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

    /// Markdown, with a column for verdicts.
    pub fn markdown(&self) -> String {
        let mut text = format!("{}\n", self.headline());
        for (commit, why) in &self.not_reviewed {
            let why = sanitise::markdown(why, None);
            text.push_str(&format!(
                "\nNot reviewed: {} {why}\n",
                sanitise::code_span(&short(commit))
            ));
        }
        for (heading, sample) in self.samples() {
            text.push_str(&format!("\n{heading}\n"));
            text.push_str("\n| commit | place | finding | true? |\n|---|---|---|---|\n");
            for Sampled { commit, finding } in sample {
                let cells = [short(commit), place(finding), said(finding)];
                let cells = cells.map(|text| sanitise::cell(&text, None));
                text.push_str(&format!("| {} | |\n", cells.join(" | ")));
            }
        }
        text
    }

    fn headline(&self) -> String {
        let often = self.per_100_commits.map_or("–".to_owned(), |often| format!("{often:.2}"));
        let Self { findings, with_findings, commits, reviews, .. } = self;
        let reviews = match reviews == commits {
            true => String::new(),
            false => format!(" in {reviews} reviews"),
        };
        format!(
            "{findings} findings on {with_findings} of {commits} commits{reviews}: {often} for every 100 commits"
        )
    }

    /// The non-empty samples, each with a heading.
    fn samples(&self) -> impl Iterator<Item = (String, &[Sampled])> {
        let counted = (self.different, self.sample.as_slice(), "");
        let Apart { different, sample } = &self.incomplete;
        let apart =
            (*different, sample.as_slice(), " of incomplete reviews, which are not counted");
        [counted, apart].into_iter().filter(|(_, sample, _)| !sample.is_empty()).map(
            |(different, sample, of)| {
                (format!("{} of {different} findings{of}:", sample.len()), sample)
            },
        )
    }
}

impl Apart {
    /// The distinct findings of some runs, and a sample of them.
    fn of(runs: &[&CommitRun], sample: usize, seed: u64) -> Self {
        let mut different: BTreeMap<&str, BTreeSet<(Identity<'_>, usize)>> = BTreeMap::new();
        let mut order: BTreeMap<&str, usize> = BTreeMap::new();
        let mut lots = Vec::new();
        for (at, CommitRun { commit, reported, .. }) in runs.iter().enumerate() {
            order.entry(commit).or_insert(at);
            // Equal reports of one review are two findings.
            let mut in_run: BTreeMap<Identity<'_>, usize> = BTreeMap::new();
            for finding in reported {
                let times = in_run.entry(Identity::of(finding)).or_default();
                *times += 1;
                let of_commit = different.entry(commit).or_default();
                let number = of_commit.len();
                if of_commit.insert((Identity::of(finding), *times)) {
                    let lot = content_id(format!("{seed} {commit} {number}").as_bytes());
                    let finding = finding.clone();
                    lots.push((lot, Sampled { commit: commit.clone(), finding }));
                }
            }
        }
        let different = lots.len();
        lots.sort_by(|a, b| a.0.cmp(&b.0));
        let mut sample: Vec<Sampled> =
            lots.into_iter().take(sample).map(|(_, sampled)| sampled).collect();
        // Sort by commit, in the order of the history.
        sample.sort_by_key(|sampled| {
            (order.get(sampled.commit.as_str()).copied(), sampled.finding.span.clone())
        });
        Self { different, sample }
    }
}

fn place(finding: &Reported) -> String {
    format!("{}:{}", sanitise::path(finding.span.file()), finding.span.line_start())
}

fn said(finding: &Reported) -> String {
    let severity = finding.severity.map(|severity| format!("{severity} ")).unwrap_or_default();
    let said = format!("{severity}{} ({})", finding.title, finding.reviewers.join(", "));
    crate::truncate(&one_line(&said), LINE_MAX)
}

fn listed(counts: &BTreeMap<String, usize>) -> String {
    let listed = counts.iter().map(|(name, count)| format!("{} {count}", one_line(name)));
    listed.collect::<Vec<_>>().join(", ")
}

fn short(commit: &str) -> String {
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
            span: Span::new("src/a.rs", *line, *line, Side::New).unwrap(),
            title: (*title).to_owned(),
            text: String::new(),
            evidence: format!("\n  let x = {line};\n"),
            category: None,
            severity: Some(Severity::P1),
            confidence: None,
            key: String::new(),
            reviewers: vec!["secrets".to_owned()],
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
        let noise = Noise::of(&runs(), 10, 1);
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
        let mut again = run("aa", &[("in other words", 3), ("new", 8), ("new", 8)]);
        again.reported[1].key = "k".to_owned();
        again.reported[2].key = "k".to_owned();
        let runs = [
            run("aa", &[("first", 3), ("second", 9)]),
            run("bb", &[]),
            again,
            run("bb", &[("b", 1)]),
        ];
        let noise = Noise::of(&runs, 10, 1);
        assert_eq!((noise.commits, noise.reviews, noise.with_findings), (2, 4, 2));
        assert_eq!((noise.findings, noise.per_100_commits), (6, Some(150.0)));
        assert_eq!(noise.by_severity, [("P1".to_owned(), 6)].into());
        let titles: Vec<_> = noise.sample.iter().map(|one| one.finding.title.as_str()).collect();
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
        let noise = Noise::of(&runs, 1, 1);
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
        let taken = |seed| Noise::of(&runs(), 1, seed).sample;
        assert_eq!(taken(1), taken(1));
        let different: BTreeSet<String> =
            (0..50).map(|seed| taken(seed)[0].finding.title.clone()).collect();
        assert_eq!(different.len(), 3);
    }

    #[test]
    fn no_reviews_have_no_rate() {
        assert_eq!(Noise::of(&[], 10, 1).per_100_commits, None);
    }
}
