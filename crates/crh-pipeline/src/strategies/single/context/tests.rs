use super::*;

/// How much of a diff git shows around a change, in workspaces.
const DIFF_CONTEXT: usize = 10;
/// More than any test needs.
const PLENTY: u64 = 1_000_000;

/// A file as its lines after the change, with those it lost: ` `, `+` or `-` and the line.
struct Edited {
    path: &'static str,
    lines: Vec<String>,
}

impl Edited {
    /// A file of so many lines of which some were added or lost.
    fn new(path: &'static str, lines: usize, line: impl Fn(usize) -> String) -> Self {
        Self { path, lines: (1..=lines).map(|number| format!(" {}", line(number))).collect() }
    }

    fn added(mut self, numbers: &[usize]) -> Self {
        for number in numbers {
            self.lines[number - 1].replace_range(..1, "+");
        }
        self
    }

    fn lost_before(mut self, number: usize) -> Self {
        self.lines.insert(number - 1, "-gone".to_owned());
        self
    }

    fn head(&self) -> String {
        let kept = self.lines.iter().filter(|line| !line.starts_with('-'));
        kept.map(|line| format!("{}\n", &line[1..])).collect()
    }

    /// The diff as git prints it.
    fn diff(&self) -> String {
        let changed: Vec<usize> =
            (0..self.lines.len()).filter(|at| !self.lines[*at].starts_with(' ')).collect();
        let is_shown = |at: usize| changed.iter().any(|one| one.abs_diff(at) <= DIFF_CONTEXT);
        let path = self.path;
        let mut out = format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n");
        let (mut old, mut new, mut at) = (1, 1, 0);
        while at < self.lines.len() {
            let hunk: Vec<&String> = self.lines[at..]
                .iter()
                .zip(at..)
                .take_while(|(_, at)| is_shown(*at))
                .map(|(line, _)| line)
                .collect();
            let count = |sign: char| hunk.iter().filter(|line| !line.starts_with(sign)).count();
            let (olds, news) = (count('+'), count('-'));
            if hunk.is_empty() {
                (old, new, at) = (old + 1, new + 1, at + 1);
                continue;
            }
            out.push_str(&format!("@@ -{old},{olds} +{new},{news} @@\n"));
            hunk.iter().for_each(|line| out.push_str(&format!("{line}\n")));
            (old, new, at) = (old + olds, new + news, at + hunk.len());
        }
        out
    }
}

fn select(files: &[Edited], shown: DiffShown, budget: u64) -> Selected {
    let diff = Diff::read(files.iter().map(Edited::diff).collect::<String>());
    assert_eq!(diff.problems(), []);
    let changed = diff.files().iter().filter_map(|file| ChangedFile::of(&diff, file, shown));
    let head = |path: &str| files.iter().find(|file| file.path == path).map(Edited::head);
    selected(changed.collect(), budget, head)
}

/// The paths and the lines that are shown, a file a line, and the notes.
fn summary(selected: &Selected) -> Vec<String> {
    let mut out = String::new();
    for line in selected.text.lines() {
        let number = line.split_whitespace().next().and_then(|word| word.parse::<u32>().ok());
        match number {
            _ if line.starts_with('<') => {}
            Some(number) => out.push_str(&format!(" {number}")),
            None if line.trim() == "…" => out.push_str(" …"),
            None => out.push_str(&format!("\n{line}:")),
        }
    }
    // Runs of numbers as their ends.
    let mut short = Vec::new();
    for row in out.lines().filter(|row| !row.is_empty()) {
        let (path, words) = row.split_once(':').unwrap();
        let places = words.split('…').map(|place| {
            let numbers: Vec<&str> = place.split_whitespace().collect();
            let ends = (numbers.first().unwrap(), numbers.last().unwrap());
            let (first, last): (usize, usize) = (ends.0.parse().unwrap(), ends.1.parse().unwrap());
            assert_eq!(last - first + 1, numbers.len(), "no line is missing or shown twice");
            format!("{first}-{last}")
        });
        short.push(format!("{path} {}", places.collect::<Vec<_>>().join(" … ")));
    }
    short.extend(selected.notes.iter().map(|note| format!("note: {note}")));
    short
}

fn check(files: &[Edited], budget: u64, expected: &[&str]) {
    assert_eq!(summary(&select(files, DiffShown::Whole, budget)), expected);
}

/// Text without any function.
fn prose(number: usize) -> String {
    format!("line {number}")
}

/// Functions of so many lines, one after the other.
fn python(length: usize) -> impl Fn(usize) -> String {
    move |number| match (number - 1) % length {
        0 => format!("def f{number}():"),
        _ => format!("    x = {number}"),
    }
}

#[test]
fn a_changed_line_is_shown_with_twenty_lines_on_both_sides() {
    check(&[Edited::new("a.txt", 100, prose).added(&[50])], PLENTY, &["a.txt 30-70"]);
    check(&[Edited::new("a.txt", 100, prose).added(&[3])], PLENTY, &["a.txt 1-23"]);
    check(&[Edited::new("a.txt", 100, prose).added(&[99])], PLENTY, &["a.txt 79-100"]);
}

#[test]
fn a_removed_line_is_where_it_was() {
    check(&[Edited::new("a.txt", 100, prose).lost_before(50)], PLENTY, &["a.txt 30-70"]);
    check(&[Edited::new("a.txt", 100, prose).lost_before(1)], PLENTY, &["a.txt 1-21"]);
    check(&[Edited::new("a.txt", 100, prose).lost_before(101)], PLENTY, &["a.txt 80-100"]);
}

#[test]
fn it_is_widened_to_the_function_around_it_and_not_to_the_next() {
    check(&[Edited::new("a.py", 240, python(80)).added(&[83])], PLENTY, &["a.py 63-160"]);
    check(&[Edited::new("a.py", 240, python(80)).added(&[158])], PLENTY, &["a.py 81-178"]);
}

#[test]
fn functions_are_guessed_where_the_language_is_not_known() {
    let edited = Edited::new("a.elusive", 240, |number| match (number - 1) % 80 {
        0 => format!("function f{number}() {{"),
        79 => "}".to_owned(),
        _ => format!("    x = {number}"),
    });
    check(&[edited.added(&[83])], PLENTY, &["a.elusive 63-160"]);
}

#[test]
fn of_a_function_that_is_too_long_only_its_head_is_shown() {
    check(&[Edited::new("a.py", 500, python(300)).added(&[200])], PLENTY, &["a.py 1-3 … 180-220"]);
}

#[test]
fn places_that_touch_are_one_and_others_are_apart() {
    check(&[Edited::new("a.txt", 300, prose).added(&[50, 91])], PLENTY, &["a.txt 30-111"]);
    check(&[Edited::new("a.txt", 300, prose).added(&[50, 92])], PLENTY, &["a.txt 30-70 … 72-112"]);
}

#[test]
fn what_the_diff_shows_anyway_is_not_shown_twice() {
    check(&[Edited::new("a.txt", 12, prose).added(&[5])], PLENTY, &[]);
    let selected =
        select(&[Edited::new("a.txt", 12, prose).added(&[5])], DiffShown::NotWhole, PLENTY);
    assert_eq!(summary(&selected), &["a.txt 1-12"]);
}

#[test]
fn new_and_deleted_files_have_nothing_that_the_diff_does_not_show() {
    let diff = Diff::read(
        "diff --git a/new b/new\nnew file mode 100644\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+a\n\
         diff --git a/old b/old\ndeleted file mode 100644\n--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
    );
    let of = |at: usize, shown| ChangedFile::of(&diff, &diff.files()[at], shown);
    assert_eq!(of(0, DiffShown::Whole), None);
    assert_eq!(of(1, DiffShown::Whole), None);
    assert_eq!(of(1, DiffShown::NotWhole), None);
    assert!(of(0, DiffShown::NotWhole).is_some(), "of a diff that is not shown, the lines may be");
}

/// Three files, of which `b` has the most changed lines and the others equally many.
fn three() -> [Edited; 3] {
    [
        Edited::new("a.txt", 100, prose).added(&[50]),
        Edited::new("b.txt", 300, prose).added(&[50, 150, 250]),
        Edited::new("c.txt", 100, prose).added(&[50]),
    ]
}

#[test]
fn the_files_with_the_most_changes_come_first_and_what_does_not_fit_is_named() {
    check(&three(), PLENTY, &["b.txt 30-70 … 130-170 … 230-270", "a.txt 30-70", "c.txt 30-70"]);
    check(
        &three(),
        1_600,
        &[
            "b.txt 30-70 … 130-170 … 230-270",
            "note: the token budget had no room for all of the code around the changes in `a.txt`, `c.txt`",
        ],
    );
    check(
        &three(),
        1_000,
        &[
            "b.txt 30-70 … 130-170",
            "note: the token budget had no room for all of the code around the changes in `b.txt`, `a.txt`, `c.txt`",
        ],
    );
    check(
        &three(),
        100,
        &[
            "note: the token budget had no room for all of the code around the changes in `b.txt`, `a.txt`, `c.txt`",
        ],
    );
}

#[test]
fn the_budget_is_never_passed_and_the_same_input_gives_the_same_bytes() {
    for budget in (0..2_500).step_by(50) {
        let once = select(&three(), DiffShown::Whole, budget);
        assert!(text_tokens(&once.text) <= budget, "{budget}");
        assert_eq!(once, select(&three(), DiffShown::Whole, budget));
    }
}

#[test]
fn a_piece_is_a_fence_with_the_path_and_numbered_lines_and_long_lines_are_cut() {
    let line = |number: usize| match number {
        2 => "y".repeat(600),
        _ => format!("x = {number}"),
    };
    let edited = Edited::new("a.txt", 3, line).added(&[1]);
    let text = select(&[edited], DiffShown::NotWhole, PLENTY).text;
    let cut = format!("    2  {}… [cut]\n", "y".repeat(500));
    assert_eq!(text, fence(KIND, &format!("a.txt\n    1  x = 1\n{cut}    3  x = 3\n")));
}

#[test]
fn a_file_that_cannot_be_read_and_lines_that_a_forged_diff_claims_do_no_harm() {
    let diff = Diff::read("diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -90 +90 @@\n-b\n+c\n");
    let changed = || {
        let file = &diff.files()[0];
        vec![ChangedFile::of(&diff, file, DiffShown::NotWhole).unwrap()]
    };
    assert_eq!(selected(changed(), PLENTY, |_| None), Selected::default());
    let read = selected(changed(), PLENTY, |_| Some("one\ntwo\n".to_owned()));
    assert_eq!(summary(&read), &["a 1-2"]);
    assert_eq!(selected(changed(), PLENTY, |_| Some(String::new())), Selected::default());
}
