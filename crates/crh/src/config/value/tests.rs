use expect_test::expect;

use super::*;

fn path_context() -> PathContext<'static> {
    PathContext { folder: Path::new("/etc/crh"), home: Some(Path::new("/home/me")) }
}

fn from_text<T: ConfigValue>(text: &str) -> Result<T, String> {
    let value = Spanned::new(0..0, DeValue::String(text.into()));
    T::from_toml(&value, path_context()).map_err(|error| error.message)
}

#[test]
fn useless_or_invalid_glob_is_rejected() {
    let globs = ["", "  ", "a[", "{a", "!docs/**", "./a", "a/../b", "..", "[z-a]", "a\\"];
    let errors: String = globs
        .iter()
        .map(|glob| format!("{}: {:?}\n", quoted(glob), GlobPattern::parse(glob).map(|_| "taken")))
        .collect();
    expect![[r#"
        ``: Err("an empty glob matches nothing")
        `  `: Err("an empty glob matches nothing")
        `a[`: Err("unclosed character class; missing ']'")
        `{a`: Err("unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)")
        `!docs/**`: Err("a glob cannot be negated with `!`")
        `./a`: Err("globs start at the root of the repository; `.` and `..` match nothing")
        `a/../b`: Err("globs start at the root of the repository; `.` and `..` match nothing")
        `..`: Err("globs start at the root of the repository; `.` and `..` match nothing")
        `[z-a]`: Err("invalid range; 'z' > 'a'")
        `a\\`: Err("dangling '\\'")
    "#]]
    .assert_eq(&errors);
    assert!(GlobPattern::parse(&"a".repeat(GLOB_MAX + 1)).is_err());
    for glob in
        ["*.rs", "docs/", "/docs/**", "src/**/*.{js,ts}", "a b", "ä*", "...", &"a".repeat(GLOB_MAX)]
    {
        assert!(GlobPattern::parse(glob).is_ok(), "{glob}");
    }
}

#[test]
fn accepted_globs_compile() {
    let half = GLOB_MAX / 2 - 1;
    let nested = format!("{}a{}", "{".repeat(half), "}".repeat(half));
    let mut globs = vec![nested];
    globs.extend(["[!a]", "{a,b}", "**/", "?*", "ä", "{a,[!b]*}/**/"].map(|part| {
        let count = (GLOB_MAX - 1) / part.len();
        format!("{}x", part.repeat(count))
    }));
    for glob in globs {
        let GlobPattern(taken) = GlobPattern::parse(&glob).unwrap();
        assert!(crh_git::PathGlobs::new([&taken]).is_ok(), "{taken}");
    }
}

#[test]
fn too_many_globs_are_rejected() {
    let list = |count: usize| {
        let text = format!("[{}]", "'a',".repeat(count));
        GlobList::from_toml(&DeValue::parse(&text).unwrap(), path_context())
    };
    assert_eq!(list(GLOBS_MAX).map(|globs| globs.0.len()), Ok(GLOBS_MAX));
    assert_eq!(
        list(GLOBS_MAX + 1).unwrap_err().message,
        "has 1001 globs; at most 1000 are allowed"
    );
}

#[test]
fn branch_name_like_option_or_expression_is_rejected() {
    for name in [
        "",
        "-x",
        "--upload-pack=sh",
        "a..b",
        "a b",
        "a\nb",
        "main~1",
        "main^",
        "a:b",
        "@{-1}",
        "@",
        "a.lock",
        ".a",
        "a/.b",
        "/a",
        "a/",
        "a//b",
        "a.",
        "a?",
        "a*",
        "a[",
        "a\\b",
        &"a".repeat(256),
    ] {
        assert!(from_text::<BaseBranch>(name).is_err(), "{name:?}");
    }
    for name in ["main", "release/1.x", "origin/main", "a@b", "ünïcode", "a-b", "refs/heads/x"] {
        assert_eq!(from_text(name), Ok(BaseBranch::Named(name.to_owned())));
    }
}

#[test]
fn folder_is_relative_to_file_or_home() {
    for (text, path) in [
        ("/a", "/a"),
        ("a/b", "/etc/crh/a/b"),
        ("~", "/home/me"),
        ("~/", "/home/me"),
        ("~/a", "/home/me/a"),
        ("~//etc", "/home/me/etc"),
    ] {
        assert_eq!(from_text(text), Ok(FolderSetting::At(path.into())), "{text}");
    }
    for text in ["", "~other/a", "a\0b"] {
        assert!(from_text::<FolderSetting>(text).is_err(), "{text:?}");
    }
    let without_home = PathContext { home: None, ..path_context() };
    let value = Spanned::new(0..0, DeValue::String("~/a".into()));
    assert_eq!(
        FolderSetting::from_toml(&value, without_home).unwrap_err().message,
        "cannot be `~/a`: `HOME` is not set to an absolute path"
    );
}

#[test]
fn instance_name_cannot_end_html_comment() {
    for name in ["", "a-->", "a--b", "a b", "ä", "a\n", &"a".repeat(65)] {
        assert!(InstanceName::parse(name).is_err(), "{name:?}");
    }
    assert!(InstanceName::parse("team-a_1.2").is_ok());
}
