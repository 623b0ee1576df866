use super::*;

/// Context lines of diffs in workspaces.
const DIFF_CONTEXT: usize = 10;
/// More than any test needs.
const PLENTY: u64 = 1_000_000;

/// A file as lines with the sign ` `, `+` or `-`.
struct EditedFile {
    path: &'static str,
    lines: Vec<String>,
}

impl EditedFile {
    /// A file with this many unchanged lines.
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
        let new_lines = self.lines.iter().filter(|line| !line.starts_with('-'));
        new_lines.map(|line| format!("{}\n", &line[1..])).collect()
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

fn select(files: &[EditedFile], shown: DiffShown, budget: u64) -> SelectedContext {
    let diff = Diff::read(files.iter().map(EditedFile::diff).collect::<String>());
    assert_eq!(diff.problems(), []);
    let changed = diff.files().iter().filter_map(|file| ContextFile::from_diff(&diff, file, shown));
    let head = |path: &str| files.iter().find(|file| file.path == path).map(EditedFile::head);
    select_context(changed.collect(), budget, head)
}

/// Shown line ranges per file, then the notes.
fn summary(selected: &SelectedContext) -> Vec<String> {
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
    // Ranges instead of single numbers.
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

fn check(files: &[EditedFile], budget: u64, expected: &[&str]) {
    assert_eq!(summary(&select(files, DiffShown::Whole, budget)), expected);
}

/// Text without functions.
fn prose(number: usize) -> String {
    format!("line {number}")
}

/// Consecutive functions of this length.
fn python(length: usize) -> impl Fn(usize) -> String {
    move |number| match (number - 1) % length {
        0 => format!("def f{number}():"),
        _ => format!("    x = {number}"),
    }
}

#[test]
fn changed_line_has_twenty_lines_of_context() {
    check(&[EditedFile::new("a.txt", 100, prose).added(&[50])], PLENTY, &["a.txt 30-70"]);
    check(&[EditedFile::new("a.txt", 100, prose).added(&[3])], PLENTY, &["a.txt 1-23"]);
    check(&[EditedFile::new("a.txt", 100, prose).added(&[99])], PLENTY, &["a.txt 79-100"]);
}

#[test]
fn removed_line_keeps_its_position() {
    check(&[EditedFile::new("a.txt", 100, prose).lost_before(50)], PLENTY, &["a.txt 30-70"]);
    check(&[EditedFile::new("a.txt", 100, prose).lost_before(1)], PLENTY, &["a.txt 1-21"]);
    check(&[EditedFile::new("a.txt", 100, prose).lost_before(101)], PLENTY, &["a.txt 80-100"]);
}

#[test]
fn context_is_extended_to_the_enclosing_function() {
    check(&[EditedFile::new("a.py", 240, python(80)).added(&[83])], PLENTY, &["a.py 63-160"]);
    check(&[EditedFile::new("a.py", 240, python(80)).added(&[158])], PLENTY, &["a.py 81-178"]);
}

#[test]
fn functions_are_guessed_for_unknown_languages() {
    let edited = EditedFile::new("a.elusive", 240, |number| match (number - 1) % 80 {
        0 => format!("function f{number}() {{"),
        79 => "}".to_owned(),
        _ => format!("    x = {number}"),
    });
    check(&[edited.added(&[83])], PLENTY, &["a.elusive 63-160"]);
}

#[test]
fn long_function_shows_only_its_head() {
    check(
        &[EditedFile::new("a.py", 500, python(300)).added(&[200])],
        PLENTY,
        &["a.py 1-3 … 180-220"],
    );
}

#[test]
fn adjacent_ranges_are_merged() {
    check(&[EditedFile::new("a.txt", 300, prose).added(&[50, 91])], PLENTY, &["a.txt 30-111"]);
    check(
        &[EditedFile::new("a.txt", 300, prose).added(&[50, 92])],
        PLENTY,
        &["a.txt 30-70 … 72-112"],
    );
}

#[test]
fn lines_shown_in_the_diff_are_not_repeated() {
    check(&[EditedFile::new("a.txt", 12, prose).added(&[5])], PLENTY, &[]);
    let selected =
        select(&[EditedFile::new("a.txt", 12, prose).added(&[5])], DiffShown::NotWhole, PLENTY);
    assert_eq!(summary(&selected), &["a.txt 1-12"]);
}

#[test]
fn new_and_deleted_files_need_no_context() {
    let diff = Diff::read(
        "diff --git a/new b/new\nnew file mode 100644\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+a\n\
         diff --git a/old b/old\ndeleted file mode 100644\n--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
    );
    let of = |at: usize, shown| ContextFile::from_diff(&diff, &diff.files()[at], shown);
    assert_eq!(of(0, DiffShown::Whole), None);
    assert_eq!(of(1, DiffShown::Whole), None);
    assert_eq!(of(1, DiffShown::NotWhole), None);
    assert!(of(0, DiffShown::NotWhole).is_some(), "of a diff that is not shown, the lines may be");
}

/// Three files. `b` has the most changed lines, the others have equally many.
fn three() -> [EditedFile; 3] {
    [
        EditedFile::new("a.txt", 100, prose).added(&[50]),
        EditedFile::new("b.txt", 300, prose).added(&[50, 150, 250]),
        EditedFile::new("c.txt", 100, prose).added(&[50]),
    ]
}

#[test]
fn most_changed_files_first_and_omitted_ones_named() {
    check(&three(), PLENTY, &["b.txt 30-70 … 130-170 … 230-270", "a.txt 30-70", "c.txt 30-70"]);
    check(
        &three(),
        1_600,
        &[
            "b.txt 30-70 … 130-170 … 230-270",
            "note: the token budget is too small for all code around the changes in `a.txt`, `c.txt`",
        ],
    );
    check(
        &three(),
        1_000,
        &[
            "b.txt 30-70 … 130-170",
            "note: the token budget is too small for all code around the changes in `b.txt`, `a.txt`, `c.txt`",
        ],
    );
    check(
        &three(),
        100,
        &[
            "note: the token budget is too small for all code around the changes in `b.txt`, `a.txt`, `c.txt`",
        ],
    );
}

#[test]
fn budget_holds_and_output_is_deterministic() {
    for budget in (0..2_500).step_by(50) {
        let once = select(&three(), DiffShown::Whole, budget);
        assert!(text_tokens(&once.text) <= budget, "{budget}");
        assert_eq!(once, select(&three(), DiffShown::Whole, budget));
    }
}

#[test]
fn piece_has_fence_path_and_numbered_lines() {
    let line = |number: usize| match number {
        2 => "y".repeat(600),
        _ => format!("x = {number}"),
    };
    let edited = EditedFile::new("a.txt", 3, line).added(&[1]);
    let text = select(&[edited], DiffShown::NotWhole, PLENTY).text;
    let cut = format!("    2  {}… [cut]\n", "y".repeat(500));
    assert_eq!(text, fence(FENCE_KIND, &format!("a.txt\n    1  x = 1\n{cut}    3  x = 3\n")));
}

#[test]
fn unreadable_file_and_forged_lines_are_harmless() {
    let diff = Diff::read("diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -90 +90 @@\n-b\n+c\n");
    let changed = || {
        let file = &diff.files()[0];
        vec![ContextFile::from_diff(&diff, file, DiffShown::NotWhole).unwrap()]
    };
    assert_eq!(select_context(changed(), PLENTY, |_| None), SelectedContext::default());
    let read = select_context(changed(), PLENTY, |_| Some("one\ntwo\n".to_owned()));
    assert_eq!(summary(&read), &["a 1-2"]);
    assert_eq!(
        select_context(changed(), PLENTY, |_| Some(String::new())),
        SelectedContext::default()
    );
}
