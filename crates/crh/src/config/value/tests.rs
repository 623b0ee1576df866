use expect_test::expect;

use super::*;

fn place() -> Place<'static> {
    Place { folder: Path::new("/etc/crh"), home: Some(Path::new("/home/me")) }
}

fn from_text<T: Value>(text: &str) -> Result<T, String> {
    let value = Spanned::new(0..0, DeValue::String(text.into()));
    T::from_toml(&value, place()).map_err(|wrong| wrong.message)
}

#[test]
fn a_glob_that_matches_nothing_or_cannot_be_used_is_refused() {
    let globs = ["", "  ", "a[", "{a", "!docs/**", "./a", "a/../b", "..", "[z-a]", "a\\"];
    let said: String = globs
        .iter()
        .map(|glob| format!("{}: {:?}\n", quoted(glob), Glob::parse(glob).map(|_| "taken")))
        .collect();
    expect![[r#"
        ``: Err("an empty glob matches nothing")
        `  `: Err("an empty glob matches nothing")
        `a[`: Err("unclosed character class; missing ']'")
        `{a`: Err("unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)")
        `!docs/**`: Err("a glob cannot be turned round with `!`")
        `./a`: Err("a glob starts at the root; `.` and `..` match nothing")
        `a/../b`: Err("a glob starts at the root; `.` and `..` match nothing")
        `..`: Err("a glob starts at the root; `.` and `..` match nothing")
        `[z-a]`: Err("invalid range; 'z' > 'a'")
        `a\\`: Err("dangling '\\'")
    "#]]
    .assert_eq(&said);
    assert!(Glob::parse(&"a".repeat(GLOB_MAX + 1)).is_err());
    for good in
        ["*.rs", "docs/", "/docs/**", "src/**/*.{js,ts}", "a b", "ä*", "...", &"a".repeat(GLOB_MAX)]
    {
        assert!(Glob::parse(good).is_ok(), "{good}");
    }
}

#[test]
fn what_is_taken_for_a_glob_can_be_compiled() {
    let half = GLOB_MAX / 2 - 1;
    let nested = format!("{}a{}", "{".repeat(half), "}".repeat(half));
    let mut globs = vec![nested];
    globs.extend(["[!a]", "{a,b}", "**/", "?*", "ä", "{a,[!b]*}/**/"].map(|part| {
        let count = (GLOB_MAX - 1) / part.len();
        format!("{}x", part.repeat(count))
    }));
    for glob in globs {
        let Glob(taken) = Glob::parse(&glob).unwrap();
        assert!(crh_git::Globs::new([&taken]).is_ok(), "{taken}");
    }
}

#[test]
fn more_globs_than_anybody_lists_are_refused() {
    let list = |count: usize| {
        let text = format!("[{}]", "'a',".repeat(count));
        Globs::from_toml(&DeValue::parse(&text).unwrap(), place())
    };
    assert_eq!(list(GLOBS_MAX).map(|globs| globs.0.len()), Ok(GLOBS_MAX));
    assert_eq!(list(GLOBS_MAX + 1).unwrap_err().message, "has 1001 globs; at most 1000 are read");
}

#[test]
fn a_branch_cannot_be_an_option_or_an_expression_of_git() {
    for bad in [
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
        assert!(from_text::<Branch>(bad).is_err(), "{bad:?}");
    }
    for good in ["main", "release/1.x", "origin/main", "a@b", "ünïcode", "a-b", "refs/heads/x"] {
        assert_eq!(from_text(good), Ok(Branch::Named(good.to_owned())));
    }
}

#[test]
fn a_folder_starts_at_its_file_or_at_the_home() {
    for (written, path) in [
        ("/a", "/a"),
        ("a/b", "/etc/crh/a/b"),
        ("~", "/home/me"),
        ("~/", "/home/me"),
        ("~/a", "/home/me/a"),
        ("~//etc", "/home/me/etc"),
    ] {
        assert_eq!(from_text(written), Ok(Folder::At(path.into())), "{written}");
    }
    for bad in ["", "~other/a", "a\0b"] {
        assert!(from_text::<Folder>(bad).is_err(), "{bad:?}");
    }
    let homeless = Place { home: None, ..place() };
    let value = Spanned::new(0..0, DeValue::String("~/a".into()));
    assert_eq!(
        Folder::from_toml(&value, homeless).unwrap_err().message,
        "cannot take `~/a`: `HOME` is not set to an absolute path"
    );
}

#[test]
fn an_instance_name_cannot_end_a_comment() {
    for bad in ["", "a-->", "a--b", "a b", "ä", "a\n", &"a".repeat(65)] {
        assert!(InstanceName::parse(bad).is_err(), "{bad:?}");
    }
    assert!(InstanceName::parse("team-a_1.2").is_ok());
}
