//! Facts that single lines show: routes, signatures, command-line arguments, permission checks,
//! browser code, shell calls, database queries.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

use super::inputs::{FactInputs, InputLine};
use super::word_index::names;

/// Names used in authentication and permission checks, in lower case, sorted for binary search.
const PERMISSION_NAMES: &[&str] = &[
    "authenticate_user",
    "authorize",
    "authorize_resource",
    "check_permission",
    "check_permissions",
    "csrf_exempt",
    "csrf_protect",
    "current_user_can",
    "has_perm",
    "has_permission",
    "hasauthority",
    "haspermission",
    "hasrole",
    "is_admin",
    "is_superuser",
    "isadmin",
    "isauthenticated",
    "isauthorized",
    "login_required",
    "permission_classes",
    "permission_required",
    "preauthorize",
    "protect_from_forgery",
    "require_admin",
    "require_auth",
    "require_login",
    "requireauth",
    "requirelogin",
    "requirepermission",
    "rolesallowed",
    "skip_authorization",
    "skip_before_action",
    "user_passes_test",
];

/// Names of browser APIs and React hooks, in lower case, sorted for binary search.
const BROWSER_NAMES: &[&str] = &[
    "addeventlistener",
    "getelementbyid",
    "innerhtml",
    "intersectionobserver",
    "localstorage",
    "mutationobserver",
    "queryselector",
    "queryselectorall",
    "requestanimationframe",
    "sessionstorage",
    "useeffect",
    "uselayouteffect",
    "usestate",
];

/// Lines that declare a route.
const ROUTE: &str = r#"(?x)
    ^\s* @ (?: \w+ \. )? (?: route | get | post | put | patch | delete | websocket ) \s* \( \s* ["']
  | ^\s* @ (?: Get | Post | Put | Patch | Delete | Request ) (?: Mapping )? \b
  | ^\s* \[ (?: Http (?: Get | Post | Put | Patch | Delete ) | Route ) \b
  | ^\s* \#\[ (?: get | post | put | patch | delete ) \s* \( \s* "
  | \b (?: app | router | server | api ) \. (?: get | post | put | patch | delete ) \s* \( \s* ["'`] /
  | \. route \s* \( \s* ["'] /
  | \b Route :: (?: get | post | put | patch | delete | resource ) \b
  | \b HandleFunc \s* \( \s* "
  | ^\s* (?: re_ )? path \s* \( \s* r?["']
"#;

/// Lines that declare command-line arguments.
const ARGUMENT: &str = r#"(?x)
    \b add_argument \s* \( | \b ArgumentParser \b | \b add_parser \s* \(
  | @ (?: \w+ \. )? (?: click | typer ) | @ \w+ \. (?: command | option | argument ) \s* \(
  | \b typer \. (?: Option | Argument )
  | \#\[ (?: arg | command | clap | structopt ) \b | derive \( [^)]* \b (?: Parser | Subcommand | Args ) \b
  | \b cobra \. Command | \b flag \. (?: String | Bool | Int | Duration | Var ) | \. Flags \( \)
  | \b OptionParser \b | \. option \s* \( \s* ["'] -
  | \b yargs \b | \b process \. argv \b | \b getopts? \b
"#;

/// Calls that run a shell or evaluate code.
const SHELL: &str = r#"(?x)
    \b shell ["']? \s* [=:] \s* (?: True | true ) \b
  | \b os \. (?: system | popen ) \s* \(
  | \b (?: shell_exec | passthru | proc_open ) \s* \(
  | \b child_process \b | \b execSync \s* \( | \b exec \s* \( \s* `
  | ["'] (?: /bin/ )? (?: sh | bash ) ["'] \s* , \s* ["'] -l?c ["']
  | \b Runtime \. getRuntime \( \) \. exec
  | \b (?: eval | exec ) \s* \( \s* [^)"'\s]
"#;

/// Shell commands that are joined from parts. `pattern_of_parts` replaces the names in capitals by
/// the constants of these names.
const JOINED_COMMAND: &str = r#"(?x)
    RUN \s* \( \s*
      (?:
        # "ls " + name, "ls %s" % name, "ls {}".format(name)
        (?: " [^"]* " | ' [^']* ' ) \s* JOIN
        # `ls ${name}`
      | ` [^`]* \$ \{
        # f"ls {name}"
      | r?f ["']{1,3} .* \{
      | FORMAT .* (?: %[sdv] | \{ )
      )
    # system "ls #{name}"
  | RUN \s* \(? \s* " [^"]* \#\{
"#;
/// A call that passes a text to a shell. Some of these functions do so only with another argument,
/// such as `shell=True`.
const RUN: &str = r"\b (?:
    exec (?: Sync | Async )? | execa (?: Command )? (?: Sync )? | spawn (?: Sync )?
  | system | [pP]open | check_output | check_call | getoutput | getstatusoutput
  | create_subprocess_shell | subprocess \. (?: run | call ) | capture2e? | capture3
)";
/// Ruby commands that contain a value, in backticks or `%x`. Messages in quotes may also contain
/// backticks, so no other quote may come before the backtick.
const RUBY_COMMAND: &str = r#"(?x) ^ [^"'`\#]* ` [^`]* \#\{ [^`]* ` | % x \s? [\[({<|!/] .* \#\{"#;
/// PHP commands that contain a value.
const PHP_COMMAND: &str = r#"(?x) \b (?: exec | system | popen ) \s* \( \s* " [^"]* \$ [a-z_{]"#;

/// An SQL statement that crh recognises even outside of a database call.
const STATEMENT: &str =
    r"(?: select \s .* \s from | insert \s+ into | update \s .* \s set | delete \s+ from ) \b";

/// A call that sends a text to a database, up to that text.
const CALL: &str = r"\b (?:
    execute (?: many | script | query | update | sql | _sql | _query | _batch | _unprepared )?
  | query (?: _as | _scalar | _row | _one | _all | _map | row | rowcontext | context | async | raw | rawunsafe | for \w+ )?
  | exec (?: context | _query | _driver_sql ) | raw (?: query | sql )? | prepare (?: statement | context )?
  | create (?: native )? query | find_by_sql | select_all | fromsqlraw
) !? \s* \( \s* (?: \w+ \s* , \s* )? &?";
/// The first word of an SQL statement in a database call.
const VERB: &str = r"\s* (?: select | insert | update | delete | drop | alter | create | truncate | merge | replace ) \b";

/// Database queries that are joined from parts. `pattern_of_parts` replaces the names in
/// capitals by the constants of these names.
const JOINED_QUERY: &str = r#"(?xi)
    ["'`] [^"'`]* \b STATEMENT
      (?:
        # "SELECT … " + name, "… %s" % name, "…".format(name)
        [^"'`]* ["'`]{1,3} \s* JOIN
        # `… ${name}`, "… #{name}", "… \(name)"
      | .* (?: \$ \{ | \#\{ | \\\( )
      )
    # f"… {name}", $"… {name}"
  | (?: \b f | \$@? ) ["']{1,3} [^"']* \b STATEMENT .* \{ \w
  | FORMAT [^"']* \b STATEMENT .* (?: %[sdv] | \{ )
    # Statements of which only the verb is known, in a call.
  | CALL (?: " VERB [^"]* " | ' VERB [^']* ' ) \s* JOIN
  | CALL ["`] VERB [^"`]* (?: \$ \{ | \#\{ | \\\( )
  | CALL (?: f | \$@? ) ["']{1,3} VERB .* \{
  | CALL FORMAT VERB .* (?: %[sdv] | \{ )
    # where("name = '#{name}'")
  | \b where \s* \( \s* " [^"]* \#\{
"#;
/// Operator or method that joins a literal and a value.
const JOIN: &str = r"(?: \+ | % \s* [\w(] | \. \s* (?: format \s* \( | \$ ) | \|\| )";
/// Start of a call that formats a literal.
const FORMAT: &str =
    r#"\b (?: (?: format!? | String\.format ) \s* \( | sn?printf \s* \( [^"']* ) \s* ["']"#;
/// Queries in languages that interpolate `$name` in a string.
const DOLLAR_QUERY: &str = r#"(?xi) (?: " [^"]* \b STATEMENT | CALL " VERB ) [^"]* \$ [a-z_]"#;

static SHELLS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(SHELL).ok());
static JOINED_COMMANDS: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern_of_parts(JOINED_COMMAND));
static RUBY_COMMANDS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(RUBY_COMMAND).ok());
static PHP_COMMANDS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(PHP_COMMAND).ok());
static JOINED_QUERIES: LazyLock<Option<Regex>> = LazyLock::new(|| pattern_of_parts(JOINED_QUERY));
static DOLLAR_QUERIES: LazyLock<Option<Regex>> = LazyLock::new(|| pattern_of_parts(DOLLAR_QUERY));
static ROUTES: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(ROUTE).ok());
static ARGUMENTS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(ARGUMENT).ok());

/// Beginnings of public signatures, by language.
const SIGNATURES: &[(&[&str], &str)] = &[
    (
        &["rust"],
        r"^\s*pub\s+(?:(?:async|unsafe|const|extern)\s+)*(?:fn|struct|enum|trait|type|const|static)\b",
    ),
    (
        &["typescript", "tsx", "javascript"],
        r"^\s*export\s+(?:(?:default|async|abstract|declare)\s+)*(?:function|class|interface|type|enum)\b",
    ),
    (&["go"], r"^func (?:\([^)]*\) )?[A-Z]|^type [A-Z]"),
    (&["java", "csharp", "kotlin", "php", "swift"], r"^\s*(?:public|open)\b[^=;]*\("),
    // Lines that are indented further are inside functions. A leading underscore means private.
    (&["python"], r"^(?:    )?(?:async )?(?:def|class) [A-Za-z]"),
];

static SIGNATURE: LazyLock<Vec<(&[&str], Regex)>> = LazyLock::new(|| {
    // A test checks that every pattern compiles.
    let compile = |(languages, text): &(&'static [&'static str], &str)| {
        Some((*languages, Regex::new(text).ok()?))
    };
    SIGNATURES.iter().filter_map(compile).collect()
});

fn pattern_of_parts(text: &str) -> Option<Regex> {
    let parts = [
        ("RUN", RUN),
        ("STATEMENT", STATEMENT),
        ("CALL", CALL),
        ("VERB", VERB),
        ("JOIN", JOIN),
        ("FORMAT", FORMAT),
    ];
    let text = parts.iter().fold(text.to_owned(), |text, (name, part)| text.replace(name, part));
    Regex::new(&text).ok()
}

/// The first line that declares a route.
pub(super) fn route<'a>(inputs: &'a FactInputs<'_>) -> Option<&'a InputLine<'a>> {
    let routes = ROUTES.as_ref()?;
    inputs.lines.iter().find(|line| routes.is_match(&line.text))
}

/// The first added line that declares a route.
pub(super) fn added_route<'a>(inputs: &'a FactInputs<'_>) -> Option<&'a InputLine<'a>> {
    let routes = ROUTES.as_ref()?;
    inputs.lines.iter().find(|line| line.is_added && routes.is_match(&line.text))
}

/// The first line that declares command-line arguments.
pub(super) fn cli_argument<'a>(inputs: &'a FactInputs<'_>) -> Option<&'a InputLine<'a>> {
    let arguments = ARGUMENTS.as_ref()?;
    inputs.lines.iter().find(|line| arguments.is_match(&line.text))
}

/// The first added line that declares command-line arguments.
pub(super) fn added_cli_argument<'a>(inputs: &'a FactInputs<'_>) -> Option<&'a InputLine<'a>> {
    let arguments = ARGUMENTS.as_ref()?;
    inputs.lines.iter().find(|line| line.is_added && arguments.is_match(&line.text))
}

/// The first added line on which text can become a command, code or a query, with the predicate of
/// a sentence about the line, such as `runs a shell or evaluates code`.
pub(super) fn injection_risk<'a>(
    inputs: &'a FactInputs<'_>,
) -> Option<(&'a InputLine<'a>, &'static str)> {
    let (shells, queries) = (SHELLS.as_ref()?, JOINED_QUERIES.as_ref()?);
    let dollar_queries = DOLLAR_QUERIES.as_ref()?;
    let is_joined = |line: &InputLine<'_>| {
        queries.is_match(&line.text)
            || matches!(line.language, Some("php" | "kotlin"))
                && dollar_queries.is_match(&line.text)
    };
    let commands = JOINED_COMMANDS.as_ref()?;
    let (ruby_commands, php_commands) = (RUBY_COMMANDS.as_ref()?, PHP_COMMANDS.as_ref()?);
    let runs_command = |line: &InputLine<'_>| {
        commands.is_match(&line.text)
            || match line.language {
                Some("ruby") => ruby_commands.is_match(&line.text),
                Some("php") => php_commands.is_match(&line.text),
                Some(_) | None => false,
            }
    };
    let shell = "runs a shell or evaluates code";
    inputs.lines.iter().filter(|line| line.is_added).find_map(|line| {
        if shells.is_match(&line.text) {
            Some((line, shell))
        } else if is_joined(line) {
            Some((line, "joins a database query from parts"))
        } else {
            runs_command(line).then_some((line, shell))
        }
    })
}

/// The first public signature that was removed or changed. New signatures break no caller.
pub(super) fn lost_signature<'a>(inputs: &'a FactInputs<'_>) -> Option<&'a InputLine<'a>> {
    let added = inputs.lines.iter().filter(|line| line.is_added);
    let added: HashSet<&str> = added.map(|line| line.text.trim()).collect();
    let is_public = |line: &InputLine<'_>| {
        let language = line.language.unwrap_or_default();
        let mut patterns = SIGNATURE.iter().filter(|(languages, _)| languages.contains(&language));
        patterns.any(|(_, pattern)| pattern.is_match(&line.text))
    };
    inputs
        .lines
        .iter()
        .filter(|line| !line.is_added && !added.contains(line.text.trim()))
        .find(|line| is_public(line))
}

/// The first line with a permission check, and the name that identifies it.
pub(super) fn permission_check<'a>(
    inputs: &'a FactInputs<'_>,
) -> Option<(&'a InputLine<'a>, &'a str)> {
    first_line_with_name(inputs.lines.iter(), PERMISSION_NAMES)
}

/// The first line with a browser API, and its name.
pub(super) fn browser_api<'a>(inputs: &'a FactInputs<'_>) -> Option<(&'a InputLine<'a>, &'a str)> {
    let is_script =
        |line: &&InputLine<'_>| matches!(line.language, Some("javascript" | "typescript" | "tsx"));
    first_line_with_name(inputs.lines.iter().filter(is_script), BROWSER_NAMES)
}

fn first_line_with_name<'a>(
    mut lines: impl Iterator<Item = &'a InputLine<'a>>,
    list: &[&str],
) -> Option<(&'a InputLine<'a>, &'a str)> {
    lines.find_map(|line| {
        let is_listed = |name: &&str| list.binary_search(&name.to_lowercase().as_str()).is_ok();
        names(&line.text).find(is_listed).map(|name| (line, name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_compile_and_lists_are_sorted() {
        assert!(ROUTES.is_some() && ARGUMENTS.is_some());
        assert!(JOINED_COMMANDS.is_some() && RUBY_COMMANDS.is_some() && PHP_COMMANDS.is_some());
        assert!(SHELLS.is_some() && JOINED_QUERIES.is_some() && DOLLAR_QUERIES.is_some());
        assert_eq!(SIGNATURE.len(), SIGNATURES.len());
        assert!(PERMISSION_NAMES.is_sorted() && BROWSER_NAMES.is_sorted());
        assert_eq!(super::super::paths::unreadable_globs(), Vec::<String>::new());
    }
}
