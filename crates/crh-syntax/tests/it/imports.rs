//! Imports: verbatim, in order, limited.

use expect_test::{Expect, expect};

use crh_syntax::{IMPORT_BYTES_MAX, IMPORTS_MAX, Language, imports};

fn check(language: Language, text: &str, expected: Expect) {
    let imports = imports(language, text).unwrap();
    let lines: Vec<_> = imports
        .all()
        .iter()
        .map(|import| format!("{}-{} {:?}", import.start, import.end, import.text))
        .collect();
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn import_statements_are_kept_verbatim() {
    check(
        Language::Go,
        "package a\n\nimport (\n\t\"fmt\"\n\tlog \"x/log\" // why\n)\nimport \"os\"\n",
        expect![[r#"
            3-6 "import (\n\t\"fmt\"\n\tlog \"x/log\" // why\n)"
            7-7 "import \"os\"""#]],
    );
    check(
        Language::C,
        "#include <a.h>\r\n#  include \"b.h\" /* c */\r\n",
        expect![[r##"
            1-1 "#include <a.h>"
            2-2 "#  include \"b.h\" /* c */""##]],
    );
}

#[test]
fn imports_inside_functions_are_omitted() {
    check(
        Language::Python,
        "import a\ndef f():\n    import b\nclass C:\n    import c\n",
        expect![[r#"
            1-1 "import a"
            5-5 "import c""#]],
    );
}

#[test]
fn excess_imports_are_counted_as_omitted() {
    let many = imports(Language::Python, &"import a\n".repeat(IMPORTS_MAX + 3)).unwrap();
    assert_eq!((many.all().len(), many.omitted()), (IMPORTS_MAX, 3));

    let long = format!("import {}\nimport b\n", "a".repeat(IMPORT_BYTES_MAX));
    let long = imports(Language::Python, &long).unwrap();
    assert_eq!((long.all().len(), long.omitted()), (1, 1));
}
