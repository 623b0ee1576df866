//! Blocks of lines by indentation, in code and in files such as YAML, TOML and JSON.

use std::ops::Range;

/// The block of a line: its own deeper lines if it has any, starts a list item or is at the margin,
/// otherwise the lines around it that are at least as deep. In a file without a grammar, a TOML table
/// is the block of its lines. Lines count from 0.
pub(super) fn block_around(lines: &[String], line: usize, has_syntax: bool) -> Range<usize> {
    let Some(own) = lines.get(line).and_then(|text| indentation(text)) else {
        return line..line + 1;
    };
    let own_lines = own_lines(lines, line);
    let has_tables = own == 0 && !has_syntax;
    match (0..=line).rev().find(|at| has_tables && is_table(&lines[*at])) {
        Some(table) => own_lines_of_table(lines, table),
        None if own_lines.len() > 1 || own == 0 || is_item(&lines[line]) => own_lines,
        None => {
            let is_deep = |text: &String| indentation(text).is_none_or(|depth| depth >= own);
            let above = lines[..line].iter().rev().take_while(|text| is_deep(text)).count();
            let start = line - above;
            // The first line of a list item has its first key.
            let is_first_key =
                |text: &String| is_item(text) && indentation(text) == own.checked_sub(2);
            let has_first_key = start > 0 && is_first_key(&lines[start - 1]);
            let below = lines[line..].iter().take_while(|text| is_deep(text)).count();
            start - usize::from(has_first_key)..without_blank_end(lines, line + below)
        }
    }
}

/// The blocks of the keys and anchors that these lines name in their values, such as the job that
/// `needs: build` names. A block with another one of them or with the lines does not count.
pub(super) fn named_blocks(lines: &[String], cited: &Range<usize>) -> Vec<Range<usize>> {
    let values = lines.get(cited.clone()).unwrap_or_default().iter().map(|line| value(line));
    let values: Vec<&str> = values.collect();
    let is_named = |name: &str| values.iter().any(|value| has_word(value, name));
    let mut blocks: Vec<Range<usize>> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if key(line).into_iter().chain(anchor(line)).any(is_named) {
            let block = match is_table(line) {
                true => own_lines_of_table(lines, at),
                false => own_lines(lines, at),
            };
            if block.end <= cited.start || cited.end <= block.start {
                // The blocks above that contain this one.
                blocks.retain(|outer| outer.end <= at);
                blocks.push(block);
            }
        }
    }
    blocks
}

/// The lines that a line belongs to, the nearest first: each is the next one above with less
/// indentation, and the last may be a TOML table.
pub(super) fn headers(lines: &[String], line: usize) -> Vec<&str> {
    let Some(own) = lines.get(line) else { return Vec::new() };
    let mut headers = Vec::new();
    let (mut depth, mut may_be_listed) = (indentation(own).unwrap_or_default(), is_item(own));
    for text in lines[..line].iter().rev() {
        let Some(above) = indentation(text) else { continue };
        let is_table_above = is_table(text) && !is_table(own);
        // A list may be as deep as its key.
        if above < depth || is_table_above || may_be_listed && above == depth && !is_item(text) {
            headers.push(text.trim());
            (depth, may_be_listed) = (above, is_item(text));
        }
        if is_table_above {
            break;
        }
    }
    headers
}

/// The key of a line, such as `image` in `- image: nginx`, or the last name of a TOML table.
pub(super) fn key(line: &str) -> Option<&str> {
    let text = line.trim();
    let text = text.strip_prefix("- ").unwrap_or(text).trim_start();
    let key = match is_table(line) {
        true => text.trim_matches(['[', ']']).rsplit('.').next()?,
        false => text.split_once([':', '='])?.0,
    };
    let key = key.trim().trim_matches(['"', '\'']);
    let is_name = |char: char| char.is_alphanumeric() || "_-./".contains(char);
    (!key.is_empty() && key.chars().all(is_name)).then_some(key)
}

/// Whether a text contains a name as a whole word.
pub(super) fn has_word(text: &str, name: &str) -> bool {
    let is_part = |char: char| char.is_alphanumeric() || "_-".contains(char);
    text.match_indices(name).any(|(start, _)| {
        !text[..start].ends_with(is_part) && !text[start + name.len()..].starts_with(is_part)
    })
}

/// A line with the deeper lines below it, and with the items of a list at the same depth.
fn own_lines(lines: &[String], line: usize) -> Range<usize> {
    let own = lines.get(line).and_then(|text| indentation(text)).unwrap_or_default();
    let holds_items = !lines.get(line).is_some_and(|text| is_item(text));
    let is_own = |text: &String| match indentation(text) {
        None => true,
        Some(depth) => depth > own || holds_items && depth == own && is_item(text),
    };
    let below = lines[line + 1..].iter().take_while(|text| is_own(text)).count();
    line..without_blank_end(lines, line + 1 + below)
}

fn own_lines_of_table(lines: &[String], line: usize) -> Range<usize> {
    let below = lines[line + 1..].iter().take_while(|text| !is_table(text)).count();
    line..without_blank_end(lines, line + 1 + below)
}

fn without_blank_end(lines: &[String], end: usize) -> usize {
    let is_blank = |line: &&String| line.trim().is_empty();
    end - lines[..end].iter().rev().take_while(is_blank).count()
}

/// Width of the white space before a line. `None` for a blank line.
fn indentation(line: &str) -> Option<usize> {
    let rest = line.trim_start();
    (!rest.is_empty()).then(|| line.len() - rest.len())
}

fn is_item(line: &str) -> bool {
    line.trim_start().starts_with("- ")
}

/// Whether a line is the header of a TOML table or of a section of an INI file.
fn is_table(line: &str) -> bool {
    let line = line.trim_end();
    line.starts_with('[') && line.ends_with(']') && line.contains(char::is_alphanumeric)
}

fn anchor(line: &str) -> Option<&str> {
    let (_, anchor) = line.split_once(" &")?;
    anchor.split_whitespace().next()
}

fn value(line: &str) -> &str {
    match key(line) {
        Some(_) => line.split_once([':', '=']).map_or("", |(_, value)| value),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMPOSE: &str = "\
x-log: &log
  driver: json

services:
  web:
    image: shop
    logging: *log
    depends_on:
    - db

  db:
    image: postgres
    environment:
      PGDATA: /data
jobs:
- name: one
  run: make
- name: two
";

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn block_has_the_lines_at_the_indentation_of_the_line() {
        let check = |text: &str, line: &str, expected: (&str, &str)| {
            let lines = lines(text);
            let at = lines.iter().position(|it| it.contains(line)).unwrap();
            let block = &lines[block_around(&lines, at, false)];
            let found = (block.first().unwrap().trim(), block.last().unwrap().trim());
            assert_eq!(found, expected, "{line}");
        };
        check(COMPOSE, "image: shop", ("image: shop", "- db"));
        check(COMPOSE, "image: postgres", ("image: postgres", "PGDATA: /data"));
        check(COMPOSE, "PGDATA", ("PGDATA: /data", "PGDATA: /data"));
        check(COMPOSE, "db:", ("db:", "PGDATA: /data"));
        check(COMPOSE, "depends_on", ("depends_on:", "- db"));
        check(COMPOSE, "name: one", ("- name: one", "run: make"));
        check(COMPOSE, "run: make", ("- name: one", "run: make"));
        check(COMPOSE, "jobs:", ("jobs:", "- name: two"));
        let toml = "name = \"a\"\n\n[profile.dev]\nlto = false\n\npanic = 1\n\n[lints]\nall = 1\n";
        check(toml, "name", ("name = \"a\"", "name = \"a\""));
        check(toml, "lto", ("[profile.dev]", "panic = 1"));
        check(toml, "[lints]", ("[lints]", "all = 1"));
    }

    #[test]
    fn line_belongs_to_the_lines_above_with_less_indentation() {
        let check = |text: &str, line: &str, expected: &[&str]| {
            let lines = lines(text);
            let at = lines.iter().position(|it| it.contains(line)).unwrap();
            assert_eq!(headers(&lines, at), expected, "{line}");
        };
        check(COMPOSE, "PGDATA", &["environment:", "db:", "services:"]);
        check(COMPOSE, "- db", &["depends_on:", "web:", "services:"]);
        check(COMPOSE, "run: make", &["- name: one", "jobs:"]);
        let toml = "name = 1\n\n[a]\nx = 1\n[b]\ny = 1\n";
        check(toml, "name", &[]);
        check(toml, "y", &["[b]"]);
        check(toml, "[b]", &[]);
        check("{\n  \"a\": {\n    \"b\": 1\n  }\n}\n", "b", &["\"a\": {", "{"]);
    }

    #[test]
    fn value_names_other_keys_and_anchors() {
        let check = |text: &str, line: &str, expected: &[&str]| {
            let lines = lines(text);
            let at = lines.iter().position(|it| it.contains(line)).unwrap();
            let blocks = named_blocks(&lines, &(at..at + 1));
            let found: Vec<&str> = blocks.iter().map(|it| lines[it.start].trim()).collect();
            assert_eq!(found, expected, "{line}");
        };
        check(COMPOSE, "logging:", &["x-log: &log"]);
        check(COMPOSE, "- db", &["db:"]);
        // The key of another service, and a key around the line.
        check(COMPOSE, "image: shop", &[]);
        check("web:\n  host: web\n", "host", &[]);
        let json = "{\n  \"$ref\": \"#/defs/Id\",\n  \"defs\": {\n    \"Id\": {}\n  }\n}\n";
        check(json, "$ref", &["\"Id\": {}"]);
    }
}
