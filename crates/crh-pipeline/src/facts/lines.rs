//! What single lines tell about a change: routes, signatures, arguments, checks of permissions, code for browsers.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

use super::seen::{Seen, SeenLine};
use super::words::names;

/// Names that stand where somebody is asked who they are or what they may do, in lower case.
const CHECKS: &[&str] = &[
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

/// Names that only code for browsers has, in lower case.
const BROWSER: &[&str] = &[
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

/// Lines that say under which address something is served.
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

/// Lines that say what a program takes on its command line.
const ARGUMENT: &str = r#"(?x)
    \b add_argument \s* \( | \b ArgumentParser \b | \b add_parser \s* \(
  | @ (?: \w+ \. )? (?: click | typer ) | @ \w+ \. (?: command | option | argument ) \s* \(
  | \b typer \. (?: Option | Argument )
  | \#\[ (?: arg | command | clap | structopt ) \b | derive \( [^)]* \b (?: Parser | Subcommand | Args ) \b
  | \b cobra \. Command | \b flag \. (?: String | Bool | Int | Duration | Var ) | \. Flags \( \)
  | \b OptionParser \b | \. option \s* \( \s* ["'] -
  | \b yargs \b | \b process \. argv \b | \b getopts? \b
"#;

static ROUTES: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(ROUTE).ok());
static ARGUMENTS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(ARGUMENT).ok());

/// How a signature that others can call begins, by language.
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
    // What is inside a function is deeper, and what begins with an underscore is nobody else's.
    (&["python"], r"^(?:    )?(?:async )?(?:def|class) [A-Za-z]"),
];

static SIGNATURE: LazyLock<Vec<(&[&str], Regex)>> = LazyLock::new(|| {
    // A test reads every pattern, so that none is left out here.
    let read = |(languages, text): &(&'static [&'static str], &str)| {
        Some((*languages, Regex::new(text).ok()?))
    };
    SIGNATURES.iter().filter_map(read).collect()
});

/// The first line that says under which address something is served.
pub(super) fn route<'a>(seen: &'a Seen<'_>) -> Option<&'a SeenLine<'a>> {
    let routes = ROUTES.as_ref()?;
    seen.lines.iter().find(|line| routes.is_match(&line.text))
}

/// The first added line of that kind.
pub(super) fn added_route<'a>(seen: &'a Seen<'_>) -> Option<&'a SeenLine<'a>> {
    let routes = ROUTES.as_ref()?;
    seen.lines.iter().find(|line| line.is_added && routes.is_match(&line.text))
}

/// The first line that says what a program takes on its command line.
pub(super) fn argument<'a>(seen: &'a Seen<'_>) -> Option<&'a SeenLine<'a>> {
    let arguments = ARGUMENTS.as_ref()?;
    seen.lines.iter().find(|line| arguments.is_match(&line.text))
}

/// The first signature that others can call and that is not there any more as it was. What is only new breaks nobody.
pub(super) fn lost_signature<'a>(seen: &'a Seen<'_>) -> Option<&'a SeenLine<'a>> {
    let added = seen.lines.iter().filter(|line| line.is_added);
    let added: HashSet<&str> = added.map(|line| line.text.trim()).collect();
    let is_public = |line: &SeenLine<'_>| {
        let language = line.language.unwrap_or_default();
        let mut patterns = SIGNATURE.iter().filter(|(languages, _)| languages.contains(&language));
        patterns.any(|(_, pattern)| pattern.is_match(&line.text))
    };
    seen.lines
        .iter()
        .filter(|line| !line.is_added && !added.contains(line.text.trim()))
        .find(|line| is_public(line))
}

/// The first line in which somebody is asked who they are or what they may do, with the name that tells.
pub(super) fn check<'a>(seen: &'a Seen<'_>) -> Option<(&'a SeenLine<'a>, &'a str)> {
    named(seen.lines.iter(), CHECKS)
}

/// The first line that only code for browsers has, with the name that tells.
pub(super) fn browser<'a>(seen: &'a Seen<'_>) -> Option<(&'a SeenLine<'a>, &'a str)> {
    let is_script =
        |line: &&SeenLine<'_>| matches!(line.language, Some("javascript" | "typescript" | "tsx"));
    named(seen.lines.iter().filter(is_script), BROWSER)
}

fn named<'a>(
    mut lines: impl Iterator<Item = &'a SeenLine<'a>>,
    list: &[&str],
) -> Option<(&'a SeenLine<'a>, &'a str)> {
    lines.find_map(|line| {
        let is_one = |name: &&str| list.binary_search(&name.to_lowercase().as_str()).is_ok();
        names(&line.text).find(is_one).map(|name| (line, name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_can_be_read_and_every_list_is_sorted() {
        assert!(ROUTES.is_some() && ARGUMENTS.is_some());
        assert_eq!(SIGNATURE.len(), SIGNATURES.len());
        assert!(CHECKS.is_sorted() && BROWSER.is_sorted());
        assert_eq!(super::super::paths::unreadable_globs(), Vec::<String>::new());
    }
}
