//! Comments and white space that do not matter, by the kind of a file.

use crh_syntax::Language;

/// How the files of a kind write comments, and where their white space matters.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FileKind {
    /// Marks of comments that end with the line.
    line_marks: &'static [&'static str],
    /// Marks around a comment that may have several lines.
    block_marks: &'static [(&'static str, &'static str)],
    /// Whether the indentation matters.
    is_indented: bool,
    /// Whether white space beside punctuation is free, as in `a=1` and `a = 1`.
    is_freely_spaced: bool,
    /// Whether crh does not know the kind. It then cuts only whole lines of comment.
    is_unknown: bool,
}

impl FileKind {
    /// The kind of a file by its name.
    pub(super) fn from_path(path: &str) -> Self {
        const HTML: &[(&str, &str)] = &[("<!--", "-->")];
        const BLOCK: &[(&str, &str)] = &[("/*", "*/")];
        let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
        let extension = name.rsplit_once('.').map_or(name.as_str(), |(_, extension)| extension);
        let hash = Self { line_marks: &["#"], ..Self::default() };
        let free = Self { is_freely_spaced: true, ..Self::default() };
        match extension {
            _ if name.starts_with("dockerfile.") || name.starts_with(".env") => hash,
            "sh" | "bash" | "zsh" | "ksh" | "bats" | "bashrc" | "dockerfile" | "containerfile"
            | "conf" => hash,
            "yaml" | "yml" | "makefile" | "gnumakefile" | "mk" => {
                Self { is_indented: true, ..hash }
            }
            "py" | "pyi" | "pyw" => Self { is_indented: true, is_freely_spaced: true, ..hash },
            "toml" => Self { is_freely_spaced: true, ..hash },
            "tf" | "tfvars" | "hcl" => {
                Self { line_marks: &["#", "//"], block_marks: BLOCK, ..free }
            }
            "ini" | "cfg" | "properties" => Self { line_marks: &["#", ";"], ..free },
            "sql" => Self { line_marks: &["--"], block_marks: BLOCK, ..free },
            "json" | "jsonc" | "json5" => Self { line_marks: &["//"], block_marks: BLOCK, ..free },
            "css" => Self { block_marks: BLOCK, ..Self::default() },
            "scss" | "less" => Self { line_marks: &["//"], block_marks: BLOCK, ..Self::default() },
            "html" | "htm" | "xml" | "svg" => Self { block_marks: HTML, ..Self::default() },
            "vue" | "svelte" => {
                const BOTH: &[(&str, &str)] = &[("<!--", "-->"), ("/*", "*/")];
                Self { line_marks: &["//"], block_marks: BOTH, ..Self::default() }
            }
            "md" | "mdx" | "markdown" => {
                Self { block_marks: HTML, is_indented: true, ..Self::default() }
            }
            _ => match Language::from_path(path) {
                Some(Language::Ruby) => Self { is_freely_spaced: true, ..hash },
                Some(_) => Self { line_marks: &["//"], block_marks: BLOCK, ..free },
                None => Self { is_indented: true, is_unknown: true, ..hash },
            },
        }
    }

    /// The lines without comments. Text in quotes stays.
    pub(super) fn without_comments(&self, lines: &[String]) -> Vec<String> {
        let last_end = |end: &str| lines.iter().rposition(|line| line.contains(end));
        let last_ends: Vec<Option<usize>> =
            self.block_marks.iter().map(|(_, end)| last_end(end)).collect();
        // The mark that ends the open comment.
        let mut open: Option<&str> = None;
        let mut cut = |at: usize, line: &str| {
            let mut code = String::new();
            let mut rest = line;
            while !rest.is_empty() {
                if let Some(end) = open {
                    let Some((_, after)) = rest.split_once(end) else { break };
                    // The comment is no indentation.
                    rest = if code.trim().is_empty() { after.trim_start() } else { after };
                    open = None;
                    continue;
                }
                let starting = self.block_marks.iter().zip(&last_ends).find_map(|(marks, last)| {
                    let after = rest.strip_prefix(marks.0)?;
                    let is_closed = after.contains(marks.1) || *last > Some(at);
                    is_closed.then_some((marks.1, after))
                });
                if let Some((end, after)) = starting {
                    (open, rest) = (Some(end), after);
                    if !code.is_empty() {
                        code.push(' ');
                    }
                    continue;
                }
                let before = &line[..line.len() - rest.len()];
                let is_interpreter = at == 0 && before.is_empty() && rest.starts_with("#!");
                if !is_interpreter && self.starts_comment(before, rest) {
                    break;
                }
                let (text, after) = rest.split_at(token_length(before, rest));
                code.push_str(text);
                rest = after;
            }
            code
        };
        lines.iter().enumerate().map(|(at, line)| cut(at, line)).collect()
    }

    /// The lines without blank ones and without white space that does not matter.
    pub(super) fn visible_lines(&self, lines: &[String]) -> Vec<String> {
        let lines = lines.iter().filter(|line| !line.trim().is_empty());
        lines.map(|line| self.visible_text(line)).collect()
    }

    /// A line with one space instead of several outside of quotes.
    fn visible_text(&self, line: &str) -> String {
        let text = line.trim_start();
        let indentation = if self.is_indented { &line[..line.len() - text.len()] } else { "" };
        let mut visible = indentation.to_owned();
        let text = text.trim_end();
        let mut rest = text;
        while !rest.is_empty() {
            let before = &text[..text.len() - rest.len()];
            let after = rest.trim_start();
            if after.len() < rest.len() {
                let is_between_words = before.ends_with(is_word) && after.starts_with(is_word);
                if is_between_words || !self.is_freely_spaced {
                    visible.push(' ');
                }
                rest = after;
                continue;
            }
            let (token, after) = rest.split_at(token_length(before, rest));
            visible.push_str(token);
            rest = after;
        }
        visible
    }

    fn starts_comment(&self, before: &str, rest: &str) -> bool {
        if self.is_unknown {
            // Other files may use `#` for other things.
            return before.trim().is_empty() && (rest == "#" || rest.starts_with("# "));
        }
        let has_space = before.is_empty() || before.ends_with(char::is_whitespace);
        let is_start = |mark: &str| match mark {
            // `a#b` and `$#` are no comments in a shell and in YAML.
            "#" => has_space || self.is_freely_spaced && !self.line_marks.contains(&";"),
            ";" => has_space,
            // An address.
            "//" => !before.ends_with([':', '(']),
            _ => true,
        };
        self.line_marks.iter().any(|mark| rest.starts_with(mark) && is_start(mark))
    }
}

/// Bytes of the quoted text, escaped character or other character at the start of `rest`. A quote
/// that does not end in its line is like any other character.
fn token_length(before: &str, rest: &str) -> usize {
    let mut chars = rest.char_indices();
    let Some((_, first)) = chars.next() else { return 0 };
    let is_quote = match first {
        '"' | '`' => true,
        // An apostrophe follows a word; `f` and `rb` start strings of Python.
        '\'' => {
            let word = before.len() - before.trim_end_matches(is_word).len();
            word == 0 || word <= 2 && before.ends_with(['b', 'f', 'r', 'u'])
        }
        _ => false,
    };
    let mut is_escaped = false;
    for (at, char) in chars {
        match char {
            _ if first == '\\' => return at + char.len_utf8(),
            _ if !is_quote => break,
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = first == '"',
            _ if char == first => return at + char.len_utf8(),
            _ => {}
        }
    }
    first.len_utf8()
}

fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_outside_of_quotes_are_cut() {
        let check = |path: &str, text: &str, expected: &[&str]| {
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            let kind = FileKind::from_path(path);
            let code = kind.visible_lines(&kind.without_comments(&lines));
            assert_eq!(code, expected, "{path}");
        };
        check("a.sh", "#!/bin/sh\n# x\na=$# # b\nc='#' #d\n", &["#!/bin/sh", "a=$#", "c='#'"]);
        check("a.toml", "a = \"# \\\" #\" # b\nc = 'd'# e\n", &["a=\"# \\\" #\"", "c='d'"]);
        check("a.yml", "a: it's # b\nc: it's\n", &["a: it's", "c: it's"]);
        check("a.ini", "a = b;c ; d\n; e\n# f\n", &["a=b;c"]);
        check("a.tf", "a = \"http://b\" // c\n/* d\ne */ f = 1\n", &["a=\"http://b\"", "f=1"]);
        check("a.css", "a { b: url(//c) } /* d */ e {}\n", &["a { b: url(//c) } e {}"]);
        check("a.md", "# a\n`<!--` b\n<!-- it's\nc --> d\n", &["# a", "`<!--` b", "d"]);
        // The comment does not end.
        check("a.html", "<p> <!-- a\nb\n", &["<p> <!-- a", "b"]);
        check("a.txt", "# a\n#b\nc # d\n", &["#b", "c # d"]);
        check("Makefile", "a:\n\tb \\# c # d\n", &["a:", "\tb \\# c"]);
    }
}
