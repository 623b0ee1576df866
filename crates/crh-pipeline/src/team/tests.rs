//! Tests of the choice of reviewers: facts as text in, team with reasons out.

use std::collections::BTreeSet;

use expect_test::{Expect, expect};

use super::*;
use crate::facts::FactFile;
use crh_syntax::Language;

/// Parses facts: `fact guard`, `python 12 src/a.py`, `- 3 a.sh`, `word go select`, `prose`, `one
/// line`.
fn facts(text: &str) -> ChangeFacts {
    let mut facts = ChangeFacts::default();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let parts: Vec<&str> = line.split(' ').collect();
        match parts.as_slice() {
            ["fact", name] => facts.add_fact(name),
            ["word", language, word] => facts.add_words(language, word),
            ["prose"] => facts.set_extent(Extent::Prose),
            ["one", "line"] => facts.set_extent(Extent::OneLine),
            [language, lines, path] => facts.add_file(FactFile {
                path: (*path).to_owned(),
                language: Language::from_name(language).map(Language::name),
                lines: lines.parse().unwrap(),
            }),
            _ => panic!("{line}"),
        }
    }
    facts
}

/// Parses a selection: `full`, `lite`, `only=a,b`, `off=a,b`, `tiered=a,b`, `scout=NAME:why`.
fn parse_selection(words: &str) -> (PanelSelection, Vec<ScoutSuggestion>) {
    let (mut wanted, mut scouted) = (PanelSelection::default(), Vec::new());
    let list = |names: &str| names.split(',').map(str::to_owned).collect::<Vec<_>>();
    for word in words.split_whitespace() {
        match word.split_once('=') {
            None if word == "lite" => wanted.depth = Depth::Lite,
            None if word == "full" => wanted.depth = Depth::Full,
            Some(("only", names)) => wanted.only = Some(list(names)),
            Some(("off", names)) => wanted.off = list(names),
            Some(("tiered", names)) => wanted.tiered = list(names),
            Some(("scout", named)) => {
                let (name, why) = named.split_once(':').unwrap();
                scouted.push(ScoutSuggestion { name: name.to_owned(), why: why.replace('_', " ") });
            }
            _ => panic!("{word}"),
        }
    }
    (wanted, scouted)
}

/// Compares the team: chosen reviewers with reasons, skipped ones with reasons, notes. Reviewers
/// that are skipped for every change of code are left out.
fn check(known: &str, words: &str, expected: Expect) {
    let small_change = facts("fact code\n- 5 a.sh");
    let catalogue = ReviewerCatalogue::built_in();
    let usual = choose_team(catalogue, &small_change, &PanelSelection::default(), &[]).left_out;
    check_all(known, words, &usual, expected);
}

/// The same with those reviewers, unless they are `usual`.
fn check_all(known: &str, words: &str, usual: &[SkippedReviewer], expected: Expect) {
    let (wanted, scouted) = parse_selection(words);
    let team = choose_team(ReviewerCatalogue::built_in(), &facts(known), &wanted, &scouted);
    let all = team.chosen.len() + team.left_out.len();
    assert_eq!(all, ReviewerCatalogue::built_in().reviewers().len());
    let mut actual = String::new();
    for chosen in &team.chosen {
        actual += &format!("{} -- {}\n", chosen.reviewer.name, chosen.why);
    }
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    let is_usual = |left: &&SkippedReviewer| left.why == NO_TRIGGER || usual.contains(left);
    for left in team.left_out.iter().filter(|left| !is_usual(left)) {
        match reasons.iter_mut().find(|(why, _)| *why == left.why) {
            Some((_, names)) => names.push(&left.name),
            None => reasons.push((&left.why, vec![&left.name])),
        }
    }
    for (why, names) in reasons {
        let names =
            if names.len() > 5 { format!("{} more", names.len()) } else { names.join(", ") };
        actual += &format!("not {names}: {why}\n");
    }
    team.notes.iter().for_each(|note| actual += &format!("! {note}\n"));
    expected.assert_eq(&actual);
}

/// The reviewers that facts alone trigger, without the default reviewer.
fn chosen_names(known: &str) -> String {
    let (catalogue, facts) = (ReviewerCatalogue::built_in(), facts(known));
    let triggered = catalogue.reviewers().iter().filter(|it| it.triggered_by(&facts).is_some());
    let names = triggered.map(|it| it.name.as_str());
    names.filter(|name| *name != CORRECTNESS).collect::<Vec<_>>().join(" ")
}

/// Facts, and the reviewers that they trigger in addition to the default one.
const TRIGGERS: &str = "\
python 5 a.py =>
python 9 a.py =>
python 10 a.py => python
ts 10 a.ts => typescript
tsx 9 a.tsx =>
ruby 49 a.rb =>
- 49 a.sh =>
- 50 a.sh => adversarial
fact guard => security adversarial
fact tests => testing
fact code_without_tests + - 9 a.sh =>
fact code_without_tests + - 10 a.sh => testing
fact structure + - 29 a.sh =>
fact structure + - 30 a.sh => maintainability
fact deletions + - 30 a.sh => maintainability
fact standards + - 4 a.sh =>
fact standards + - 5 a.sh => project-standards
fact standards + - 0 prompts/a.md => project-standards
fact agent_surface => agent-native
fact solutions + - 9 a.sh =>
fact solutions + - 10 a.sh => learnings
word python password => security
word python passwords =>
fact code + - 1 src/auth/a.go => security
- 9 app/controllers/a.rb =>
- 10 app/controllers/a.rb => security
word python eval =>
word ruby eval => security
word c strcpy => security
word go strcpy =>
word python lru_cache => performance
- 9 src/cache/a.go =>
- 10 src/cache/a.go => performance
fact public_api => api-contract
- 0 api/a.proto => api-contract
- 0 openapi.yml => api-contract
fact migrations => data-migrations deployment
fact schema => data-migrations schema-drift
- 0 lib/backfill_users.rb => data-migrations
fact migrations + - 0 db/migrate/1.rb => data-migrations schema-drift deployment
word python retry => reliability
- 10 app/jobs/a.rb => reliability
word python refund + - 8 a.sh =>
word python refund + - 9 a.sh => adversarial
fact cli + - 4 a.sh =>
fact cli + - 5 a.sh => cli-readiness
fact comments => previous-comments
fact rails + ruby 14 a.rb =>
fact rails + ruby 15 a.rb => rails-clarity
fact rails + ruby 40 a.rb => rails-way rails-clarity
fact rails + - 10 app/services/a.erb => rails-way
ruby 40 a.rb =>
fact frontend =>
fact frontend + word ts useEffect => frontend-races
word ts useEffect =>
fact frontend + - 5 app/a_controller.js => frontend-races
word go mutex => concurrency
word go chan => concurrency
word python chan =>
word rust spawn => concurrency
word cpp thread => concurrency
fact docs =>
fact docs + - 0 README.md => docs-that-lie
- 0 README.md =>
fact docs + - 30 a.sh => docs-that-lie
fact code =>
";

#[test]
fn triggers_fire_only_with_their_facts() {
    let mut actual = String::new();
    for line in TRIGGERS.lines() {
        let (facts_part, _) = line.split_once(" =>").unwrap();
        let row = format!("{facts_part} => {}", chosen_names(&facts_part.replace(" + ", "\n")));
        actual += &format!("{}\n", row.trim_end());
    }
    assert_eq!(actual, TRIGGERS);
}

#[test]
fn every_reviewer_has_a_trigger_test() {
    let reviewers = ReviewerCatalogue::built_in().reviewers();
    // `upkeep` runs if one of its parts is triggered.
    for reviewer in reviewers[1..].iter().filter(|it| it.role != PanelRole::Upkeep) {
        let mut test_lines = TRIGGERS.lines().filter_map(|line| line.split_once(" => "));
        let is_named =
            test_lines.any(|(_, names)| names.split(' ').any(|name| name == reviewer.name));
        assert!(is_named, "{}", reviewer.name);
    }
}

#[test]
fn default_team_is_small() {
    let risky = "fact tests\nfact code\npython 80 src/auth/a.py\nword python retry\nword python lru_cache\nfact public_api\nfact cli";
    check(
        risky,
        "",
        expect![[r#"
            correctness -- always
            security -- <code>, and `src/auth/a.py` is under `**/{auth,authentication,authorization,oauth,permissions,policies,middleware,webhooks}/**`
            upkeep -- <tests>
            not testing, maintainability, python: `upkeep` covers its topic; `--depth full` runs it instead of `upkeep`
            not performance, api-contract: other reviewers cover its topic; `--depth full` runs it, too
            not adversarial: one general reviewer is enough for this change
            not cli-readiness: it runs only with `--depth full`, or if `--reviewers` names it
        "#]],
    );
    check_all(
        "fact code\n- 599 a.sh",
        "",
        &[],
        expect![[r#"
            correctness -- always
            not project-standards: no file with the project's rules, such as `AGENTS.md`, applies to the changed files
            not agent-native: it runs only with `--depth full`, or if `--reviewers` names it
            not learnings: there are no notes on past problems in `docs/solutions`
            not adversarial: one general reviewer is enough for this change
            not previous-comments: the change has no review comments
            not schema-drift, deployment: no migration was added and no database schema changed
        "#]],
    );
    check(
        "fact code\n- 600 a.sh",
        "",
        expect![[r#"
            correctness -- always
            adversarial -- 600 executable lines changed
        "#]],
    );
    check(
        "fact tests\n- 30 a.sh",
        "off=upkeep",
        expect![[r#"
            correctness -- always
            not testing: `upkeep` covers its topic; `--depth full` runs it instead of `upkeep`
        "#]],
    );
}

#[test]
fn lite_uses_one_reviewer_and_full_all_useful_ones() {
    check(
        "fact guard\npython 80 a.py",
        "lite",
        expect![[r#"
            correctness -- always
            not 23 more: `--depth lite` uses one reviewer
        "#]],
    );
    check(
        "python 1 a.py",
        "full",
        expect![[r#"
            correctness -- always
            testing -- always
            maintainability -- always
            agent-native -- always
            not upkeep: the reviewers of `--depth full` cover it
        "#]],
    );
    check(
        "fact standards\nfact solutions\nfact comments\nfact migrations\npython 1 a.py",
        "full",
        expect![[r#"
            correctness -- always
            testing -- always
            maintainability -- always
            project-standards -- always
            agent-native -- always
            learnings -- always
            data-migrations -- <migrations>
            previous-comments -- <comments>
            deployment -- <migrations>
            not upkeep: the reviewers of `--depth full` cover it
        "#]],
    );
}

#[test]
fn small_change_has_one_reviewer_except_guards() {
    check(
        "prose\nfact docs",
        "",
        expect![[r#"
            docs-that-lie -- only what people read changed
            not 23 more: only documentation or comments changed: one reviewer is enough
        "#]],
    );
    check(
        "one line\npython 2 auth.py\nfact code\nfact standards",
        "",
        expect![[r#"
            correctness -- always
            not 23 more: one line changed: one reviewer is enough
        "#]],
    );
    check(
        "one line\npython 2 a.py\nfact code\nfact injection_risk",
        "",
        expect![[r#"
            correctness -- always
            security -- <injection_risk>
        "#]],
    );
    check(
        "prose\nfact docs\nfact guard",
        "",
        expect![[r#"
            correctness -- always
            security -- <guard>
            not adversarial: one general reviewer is enough for this change
        "#]],
    );
    check(
        "one line\nfact migrations\n- 1 db/migrate/1.rb",
        "",
        expect![[r#"
            correctness -- always
            data-migrations -- <migrations>
            not schema-drift, deployment: it runs only with `--depth full`, or if `--reviewers` names it
        "#]],
    );
    check(
        "prose\nfact docs",
        "scout=security:it_is_about_keys",
        expect![[r#"
            docs-that-lie -- only what people read changed
            not 23 more: only documentation or comments changed: one reviewer is enough
        "#]],
    );
}

#[test]
fn number_and_kind_of_specialists_depend_on_size() {
    let three = "scout=security:keys scout=reliability:retries scout=performance:a_loop";
    let surplus = "the model that chooses reviewers also asked for `reliability`, `performance`";
    for (known, scout, specialists, note) in [
        ("fact code\n- 599 a.sh", three, "", ""),
        ("fact code\n- 600 a.sh", three, "security", surplus),
        (
            "fact code\n- 1000 a.sh",
            three,
            "reliability, security",
            "the model that chooses reviewers also asked for `perf",
        ),
        ("fact code\n- 599 a.sh", "scout=reliability:retries", "", ""),
        ("fact code\n- 600 a.sh", "scout=reliability:retries", "reliability", ""),
        // Below 600 lines, neither a path nor the scout calls for a specialist, and only two kinds
        // run.
        ("fact code\n- 599 app/routes/a.sh", "", "", ""),
        ("fact code\n- 600 app/routes/a.sh", "", "security", ""),
        ("fact code\nfact public_api\n- 599 a.sh", "", "", ""),
        ("fact code\nfact public_api\n- 600 a.sh", "", "api-contract", ""),
        ("fact code\nfact migrations\n- 5 a.sh", "", "data-migrations", ""),
        ("fact code\nfact migrations\nfact guard\n- 999 a.sh", "", "security", ""),
        (
            "fact code\nfact migrations\nfact guard\n- 1000 a.sh",
            "",
            "data-migrations, security",
            "",
        ),
    ] {
        let (selection, suggestions) = parse_selection(scout);
        let catalogue = ReviewerCatalogue::built_in();
        let team = choose_team(catalogue, &facts(known), &selection, &suggestions);
        let chosen = team.chosen.iter().map(|choice| choice.reviewer.name.as_str());
        let mut chosen: Vec<&str> = chosen.filter(|name| SPECIALISTS.contains(name)).collect();
        chosen.sort_unstable();
        assert_eq!(chosen.join(", "), specialists, "{known}");
        let notes = team.notes.join("\n");
        assert!(notes.starts_with(note) && notes.is_empty() == note.is_empty(), "{known}: {notes}");
    }
}

#[test]
fn guard_gets_a_second_finder_if_security_is_disabled() {
    for (selection, is_adversarial) in [("", false), ("off=security", true)] {
        let (selection, suggestions) = parse_selection(selection);
        let facts = facts("fact code\nfact guard\n- 30 a.sh");
        let team = choose_team(ReviewerCatalogue::built_in(), &facts, &selection, &suggestions);
        assert_eq!(team.get(ADVERSARIAL).is_some(), is_adversarial);
    }
}

#[test]
fn scout_only_adds_reviewers() {
    check(
        "fact code\nfact guard\npython 5 a.py",
        "scout=adversarial:it_lets_everything_pass scout=ce-performance-reviewer:a_query_in_a_loop scout=learnings:maybe scout=unknown:x scout=security:",
        expect![[r#"
            correctness -- always
            security -- <guard>
            not performance: other reviewers cover its topic; `--depth full` runs it, too
            not adversarial: one general reviewer is enough for this change
        "#]],
    );
    check(
        "fact code\npython 5 a.py",
        "full scout=deployment:maybe scout=schema-drift:maybe scout=previous-comments:maybe scout=project-standards:maybe",
        expect![[r#"
            correctness -- always
            testing -- always
            maintainability -- always
            agent-native -- always
            not upkeep: the reviewers of `--depth full` cover it
        "#]],
    );
}

#[test]
fn disabled_reviewers_are_skipped_but_one_remains() {
    check(
        "fact code\npython 60 a.py",
        "off=ce-adversarial-reviewer,python",
        expect![[r#"
            correctness -- always
            not adversarial, python: disabled in `crh.toml`
        "#]],
    );
    check(
        "fact guard\n- 1 ci.sh",
        "off=adversarial",
        expect![[r#"
            correctness -- always
            security -- <guard>
            not adversarial: disabled in `crh.toml`
            ! <guard>, but `adversarial`, the reviewer for such changes, is disabled in `crh.toml`
        "#]],
    );
    check(
        "fact code\npython 5 a.py",
        "off=correctness",
        expect![[r#"
            correctness -- no other reviewer is left
            ! all reviewers for this change are disabled in `crh.toml`; `correctness` reviews it anyway
        "#]],
    );
    check(
        "prose\nfact docs",
        "off=docs-that-lie",
        expect![[r#"
            correctness -- no other reviewer is left
            not 22 more: only documentation or comments changed: one reviewer is enough
            not docs-that-lie: disabled in `crh.toml`
            ! all reviewers for this change are disabled in `crh.toml`; `correctness` reviews it anyway
        "#]],
    );
}

#[test]
fn unknown_reviewers_in_settings_are_noted() {
    check(
        "prose\nfact docs",
        "off=doc-that-lies,python,unknown tiered=securty,security",
        expect![[r#"
            docs-that-lie -- only what people read changed
            not 23 more: only documentation or comments changed: one reviewer is enough
            ! `reviewers.off` names `doc-that-lies`, `unknown`: there is no such reviewer; did you mean `docs-that-lie`?
            ! `model.tiers` names `securty`: there is no such reviewer; did you mean `security`?
        "#]],
    );
}

#[test]
fn only_named_reviewers_run() {
    check(
        "prose\nfact docs",
        "only=security,review:ce-learnings-researcher off=security",
        expect![[r#"
            learnings -- asked for by `--reviewers`
            security -- asked for by `--reviewers`
            not 22 more: not named in `--reviewers`
        "#]],
    );
}

#[test]
fn team_of_note_takers_gets_correctness() {
    check(
        "fact migrations\nsql 4 db/migrate/1.sql",
        "off=correctness,data-migrations,adversarial,security",
        expect![[r#"
            correctness -- no other reviewer is left
            not data-migrations: disabled in `crh.toml`
            not schema-drift, deployment: it runs only with `--depth full`, or if `--reviewers` names it
            ! all reviewers for this change are disabled in `crh.toml`; `correctness` reviews it anyway
        "#]],
    );
}

/// Checks the numbers of changed lines in `docs/reviewers.md` against the triggers.
#[test]
fn reviewers_page_names_the_numbers_of_the_triggers() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reviewers.md");
    let page = std::fs::read_to_string(page).unwrap();
    for reviewer in ReviewerCatalogue::built_in().reviewers() {
        let name = format!("| `{}` ", reviewer.name);
        let row = page.lines().find(|line| line.starts_with(&name));
        let runs_on = row.and_then(|row| row.rsplit(" | ").next()).unwrap();
        let numbers = runs_on.split(|letter: char| !letter.is_ascii_digit());
        let stated: BTreeSet<u64> = numbers.filter_map(|number| number.parse().ok()).collect();
        let mut expected: BTreeSet<u64> = reviewer.when.iter().filter_map(|it| it.lines).collect();
        if reviewer.name == "maintainability" {
            // The row describes the fact `structure`, too.
            expected.insert(100);
        }
        assert_eq!(stated, expected, "{runs_on}");
    }
    assert_eq!(LARGE_CHANGE_LINES, 600);
    assert!(page.contains("as a second finder if 600 lines changed"));
    assert_eq!(SECOND_SPECIALIST_LINES, 1_000);
    assert!(page.contains("one specialist, from 1,000 lines on two"));
    assert!(page.contains("Below 600 executable lines") && page.contains("From 600 lines on"));
}
