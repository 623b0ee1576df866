use serde_json::json;

use super::*;

const TODAY: &str = "2026-11-18";

fn lesson() -> Lesson {
    Lesson {
        id: "prints-are-output".to_owned(),
        text: "Print statements in tools are their output.".to_owned(),
        paths: vec!["tools/**".to_owned()],
        category: Some(Category::Maintainability),
        rule: Some("leftovers/print".to_owned()),
        title: None,
        learned_from: vec![Provenance {
            by: "alice".to_owned(),
            at: "https://forge.example/o/r/pull/1#c2".to_owned(),
            on: "2026-11-01".to_owned(),
        }],
        confirmed_by: Some("bob".to_owned()),
        expires: "2027-11-01".to_owned(),
    }
}

fn member(rule: Option<&str>, severity: &str, category: &str, file: &str) -> Member {
    let finding = json!({
        "title": "A print statement is left", "severity": severity, "category": category,
        "file": file, "line_start": 1, "confidence": 0.9, "evidence": [{ "snippet": "print(rows)" }],
        "why_it_matters": "Noise.", "autofix_class": "manual", "owner": "human",
        "requires_verification": false, "pre_existing": false,
    });
    let mut member = Member::new("r", serde_json::from_value(finding).unwrap());
    member.rule = rule.map(str::to_owned);
    member
}

fn is_held(lesson: Lesson, member: &Member) -> bool {
    let lessons = Lessons::new("`.crh/lessons.toml`", vec![lesson]).unwrap();
    lessons.reason_to_hold_back(member, TODAY).is_some()
}

fn print_member() -> Member {
    member(Some("leftovers/print"), "P3", "maintainability", "tools/a.py")
}

#[test]
fn rule_lesson_holds_back_exact_matches_only() {
    assert!(is_held(lesson(), &print_member()));
    for other in [
        member(Some("leftovers/print2"), "P3", "maintainability", "tools/a.py"),
        member(Some("leftovers/print"), "P3", "style", "tools/a.py"),
        member(Some("leftovers/print"), "P3", "maintainability", "src/a.py"),
        member(None, "P3", "maintainability", "tools/a.py"),
    ] {
        assert!(!is_held(lesson(), &other), "{other:?}");
    }
}

#[test]
fn title_lesson_holds_back_findings_of_models() {
    let by_title =
        Lesson { rule: None, title: Some("a `print` statement is left!".to_owned()), ..lesson() };
    assert!(is_held(by_title.clone(), &member(None, "P2", "maintainability", "tools/a.py")));
    assert!(!is_held(by_title.clone(), &print_member()), "a static finding has a rule");
    let without = Lesson { title: None, ..by_title };
    assert!(!is_held(without, &member(None, "P2", "maintainability", "tools/a.py")));
}

#[test]
fn lesson_never_hides_p0_credentials_or_injections() {
    for (rule, severity, category) in [
        (Some("leftovers/print"), "P0", "maintainability"),
        (Some("secrets/github-token"), "P2", "security"),
        (Some("gitleaks/aws"), "P2", "security"),
        (Some("injection/phrase"), "P3", "security"),
        (None, "P0", "bug"),
        (None, "P3", "security"),
    ] {
        let member = member(rule, severity, category, "tools/a.py");
        let title = rule.is_none().then(|| member.finding.title.clone());
        let matching = Lesson { rule: rule.map(str::to_owned), title, category: None, ..lesson() };
        assert!(!is_held(matching, &member), "{rule:?} {severity}");
    }
}

#[test]
fn unconfirmed_and_expired_lessons_are_not_used() {
    let once = Lesson { confirmed_by: None, ..lesson() };
    assert_eq!(once.state(TODAY), LessonState::Unconfirmed);
    assert!(!is_held(once.clone(), &print_member()));
    let mut same_proposal = once.clone();
    let mut repeated = same_proposal.learned_from[0].clone();
    repeated.at = "https://forge.example/o/r/pull/1#c9".to_owned();
    same_proposal.learned_from.push(repeated.clone());
    assert_eq!(same_proposal.state(TODAY), LessonState::Unconfirmed);
    repeated.at = "https://forge.example/o/r/pull/2#c1".to_owned();
    same_proposal.learned_from.push(repeated);
    assert_eq!(same_proposal.state(TODAY), LessonState::Active);
    let old = Lesson { expires: "2026-11-17".to_owned(), ..lesson() };
    assert_eq!(old.state(TODAY), LessonState::Expired);
    assert!(!is_held(old, &print_member()));
    let last_day = Lesson { expires: TODAY.to_owned(), ..lesson() };
    assert_eq!(last_day.state(TODAY), LessonState::Active);
}

#[test]
fn written_lessons_read_back() {
    let odd = Lesson {
        id: "odd".to_owned(),
        text: "Quotes \" and \\ and ünïcode \u{202e}stay.".to_owned(),
        rule: None,
        title: Some("Title with ''' and \"\"\"".to_owned()),
        category: None,
        confirmed_by: None,
        ..lesson()
    };
    let lessons = vec![lesson(), odd];
    let text = lessons_file(&lessons);
    let read: Vec<Lesson> = Lessons::parse("f", &text).unwrap().iter().cloned().collect();
    assert_eq!(read, lessons);
    let commented = format!("# ours\n{}", lessons_file(&lessons[..1]));
    let longer = append_lessons(Some(&commented), &lessons[1..]);
    assert!(longer.starts_with("# ours\n"));
    let read: Vec<Lesson> = Lessons::parse("f", &longer).unwrap().iter().cloned().collect();
    assert_eq!(read, lessons);
}

#[test]
fn invalid_lessons_are_rejected() {
    let problem = |change: fn(&mut Lesson)| {
        let mut lesson = lesson();
        change(&mut lesson);
        Lessons::new("f", vec![lesson]).map(|_| ()).unwrap_err().to_string()
    };
    for (change, expected) in [
        ((|it| it.id = "A b".to_owned()) as fn(&mut Lesson), "`id` needs"),
        (|it| it.text = "two\nlines".to_owned(), "`text` needs one line"),
        (|it| it.text = "x".repeat(TEXT_MAX + 1), "`text` needs one line"),
        (|it| it.paths = Vec::new(), "`paths` needs"),
        (|it| it.paths = vec!["a[".to_owned()], "not a pattern"),
        (|it| it.title = Some("t".to_owned()), "not both"),
        (|it| it.rule = Some("!".to_owned()), "`rule` needs the exact name"),
        (|it| it.rule = Some("leftovers/*".to_owned()), "of one rule, without `*`"),
        (
            |it| (it.rule, it.title) = (None, Some("**".to_owned())),
            "`title` needs a letter or a digit",
        ),
        (|it| it.expires = "soon".to_owned(), "`expires` needs a day"),
        (|it| it.confirmed_by = Some(" ".to_owned()), "must name a person"),
    ] {
        let message = problem(change);
        assert!(message.contains(expected), "{message}");
    }
    let twice = Lessons::new("f", vec![lesson(), lesson()]).unwrap_err().to_string();
    assert!(twice.contains("used twice"), "{twice}");
    let newer = Lessons::parse("f", "version = 2").unwrap_err();
    assert_eq!(newer, LessonsError::OtherVersion(2));
    let unknown = Lessons::parse("f", "version = 1\nsilence_all = true").unwrap_err().to_string();
    assert!(unknown.starts_with("line 2: unknown field `silence_all`"), "{unknown}");
    assert!(!unknown.contains('\n'), "{unknown}");
}

#[test]
fn prompt_lines_are_bounded_and_about_the_files() {
    let long =
        |index: usize| Lesson { id: format!("l{index}"), text: "x".repeat(TEXT_MAX), ..lesson() };
    let lessons = Lessons::new("f", (0..100).map(long).collect()).unwrap();
    let lines = lessons.prompt_lines(&["tools/a.py"], TODAY);
    assert!(!lines.is_empty() && lines.concat().chars().count() <= PROMPT_CHARS_MAX);
    assert_eq!(lessons.prompt_lines(&["src/a.py"], TODAY), Vec::<String>::new());
    let one = Lessons::new("f", vec![lesson()]).unwrap();
    assert_eq!(
        one.prompt_lines(&["tools/a.py"], TODAY),
        ["tools/** (maintainability): Print statements in tools are their output."]
    );
}

#[test]
fn held_back_findings_name_their_lesson() {
    let lists = [Lessons::default(), Lessons::new("`.crh/lessons.toml`", vec![lesson()]).unwrap()];
    let p0 = member(Some("leftovers/print"), "P0", "maintainability", "tools/a.py");
    let lessons = ReviewLessons::new(lists.to_vec(), TODAY);
    let (kept, dropped) = lessons.hold_back(vec![print_member(), p0.clone()]);
    assert_eq!(kept, [p0]);
    assert_eq!(dropped.len(), 1);
    assert_eq!(dropped[0].fate, Fate::Lesson);
    assert_eq!(
        dropped[0].reason,
        "lesson `prints-are-output` of `.crh/lessons.toml`: Print statements in tools are their output."
    );
}

#[test]
fn texts_become_ids_and_lessons() {
    assert_eq!(
        lesson_id("By design: it's the CLI's output!", "a1b2c3d4"),
        "by-design-it-s-the-cli-a1b2c3"
    );
    assert_eq!(lesson_id("…", "a1"), "a1");
    assert_eq!(lesson_text(" a\n b\t"), "a b");
    assert_eq!(lesson_text(&"x".repeat(TEXT_MAX + 5)).chars().count(), TEXT_MAX);
    assert_eq!(one_year_after("2028-02-29"), "2029-02-28");
    assert_eq!(one_year_after("2026-11-18"), "2027-11-18");
}

#[test]
fn removed_lesson_leaves_the_others_and_comments() {
    let second = Lesson { id: "second".to_owned(), ..lesson() };
    let text = format!("# ours\n{}", lessons_file(&[lesson(), second.clone()]));
    let shorter = remove_lesson(&text, "prints-are-output").unwrap();
    assert!(shorter.starts_with("# ours\n"), "{shorter}");
    assert_eq!(Lessons::parse("f", &shorter).unwrap().iter().collect::<Vec<_>>(), [&second]);
    let empty = remove_lesson(&shorter, "second").unwrap();
    assert!(Lessons::parse("f", &empty).unwrap().is_empty());
    assert_eq!(remove_lesson(&text, "third"), None);
}

#[test]
fn blank_file_has_no_lessons_and_large_file_is_refused() {
    let large = format!("version = 1\n#{}", "é".repeat(LESSONS_MAX_BYTES as usize / 2));
    let error = Lessons::parse("f", &large).unwrap_err();
    assert_eq!(error.to_string(), "it has more than 256 KiB");
    assert!(Lessons::parse("f", " \n").unwrap().is_empty());
    assert_eq!(append_lessons(Some("\n"), &[lesson()]), lessons_file(&[lesson()]));
}
