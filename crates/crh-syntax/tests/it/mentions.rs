//! Names in code with their roles, none from comments and strings.

use expect_test::{Expect, expect};

use crh_syntax::{Language, MentionRole, mentions};

fn check(language: Language, text: &str, expected: Expect) {
    let mentions_found = mentions(language, text, &["total", "Cart"].into()).unwrap();
    let mut lines = String::new();
    for mentions in mentions_found.chunk_by(|one, next| one.line == next.line) {
        let names: Vec<String> = mentions
            .iter()
            .map(|mention| {
                let role = match &mention.role {
                    MentionRole::Named => "named".to_owned(),
                    MentionRole::Destructured => "destructured".to_owned(),
                    MentionRole::Imported => "imported".to_owned(),
                    MentionRole::Called => "called".to_owned(),
                    MentionRole::Member { owner: of } => format!("of {of}"),
                    MentionRole::Read => "read".to_owned(),
                };
                format!("{} {role}", mention.name)
            })
            .collect();
        lines += &format!("{}: {}\n", mentions[0].line, names.join(", "));
    }
    expected.assert_eq(&lines);
}

#[test]
fn python_names_have_their_roles() {
    check(
        Language::Python,
        r#"from shop import total, Cart
# total() in a comment
"""total() in a text"""
def total(total): pass
x = total(1) + f"{total(2)} total(3)"
self.total(total=3)
def f(a: Cart, total=1): import total
total, b = 1, 2
for total in Cart: pass
@total
class Cart(Cart): pass
"#,
        expect![[r#"
            1: total imported, Cart imported
            4: total named, total named
            5: total called, total called
            6: total of self, total named
            7: Cart read, total named, total imported
            8: total named
            9: total named, Cart read
            10: total read
            11: Cart named, Cart read
        "#]],
    );
}

#[test]
fn rust_names_have_their_roles() {
    check(
        Language::Rust,
        r#"use shop::{total, Cart as C};
/// total()
fn total(total: u32) -> Cart { Cart { total } }
fn f() {
    let total = shop::total(1);
    println!("{} total()", total(2));
    self.total();
    items.iter().map(total);
    let c: Cart = Cart::new();
    for i in 0..total {}
}
"#,
        expect![[r#"
            1: total imported, Cart imported
            3: total named, total named, Cart read, Cart named, total read
            5: total named, total of shop
            6: total called
            7: total of self
            8: total read
            9: Cart read, Cart read
            10: total read
        "#]],
    );
}

#[test]
fn javascript_and_typescript_names_have_their_roles() {
    let text = r#"import { total } from "./total";
// total()
function total(total) { return `total() ${total(1)}`; }
const f = (total) => total + a?.total() + {total: 1, ...total};
const {total} = x;
new Cart(total);
"#;
    let expected = expect![[r#"
        1: total imported
        3: total named, total named, total called
        4: total named, total named, total of a, total named, total read
        5: total destructured
        6: Cart called, total read
    "#]];
    check(Language::JavaScript, text, expected);
    check(
        Language::TypeScript,
        "function f(c: Cart): Cart { return <Cart>total<Cart>(c); }\ninterface Cart {}\n",
        expect![[r#"
            1: Cart read, Cart read, Cart read, total read, Cart read
            2: Cart named
        "#]],
    );
}

#[test]
fn go_java_kotlin_and_ruby_names_have_their_roles() {
    check(
        Language::Go,
        "package a\n// total()\nfunc total(total int) Cart { a, total := total(1), 2; s.total(); return Cart{} }\n",
        expect![[r#"
            3: total named, total named, Cart named, total named, total called, total of s, Cart read
        "#]],
    );
    check(
        Language::Java,
        "import a.Cart;\nclass Cart { int total(Cart total) { this.total(); return total(new Cart()); } }\n",
        expect![[r#"
            1: Cart imported
            2: Cart named, total named, Cart read, total named, total of this, total called, Cart called
        "#]],
    );
    check(
        Language::Kotlin,
        "import a.Cart\nfun total(total: Int) { val total = total(1); x.total(); Cart(total) }\n",
        expect![[r#"
            1: Cart imported
            2: total named, total named, total named, total called, total of x, Cart called, total read
        "#]],
    );
    check(
        Language::Ruby,
        "# total()\ndef total(total)\n  total(1) + Cart.new.total\nend\n",
        expect![[r#"
            2: total named, total named
            3: total called, Cart read, total of new
        "#]],
    );
}

#[test]
fn cpp_swift_csharp_and_php_names_have_their_roles() {
    check(
        Language::Cpp,
        "#include \"Cart\"\n// total()\nint total(int total) { c->total(); Cart::total(); return total(1) + total; }\n",
        expect![[r#"
            3: total named, total named, total of c, Cart read, total of Cart, total called, total read
        "#]],
    );
    check(
        Language::Swift,
        "func total(total: Int) -> Cart { let total = total(1); x.total(); return Cart() }\n",
        expect![[r#"
            1: total named, total named, Cart read, total named, total called, total of x, Cart called
        "#]],
    );
    check(
        Language::CSharp,
        "using Cart;\nclass Cart { int total(Cart total) { this.total(); return total(new Cart()); } }\n",
        expect![[r#"
            1: Cart imported
            2: Cart named, total named, Cart read, total named, total of this, total called, Cart called
        "#]],
    );
    check(
        Language::Php,
        "<?php\nuse Cart;\nfunction total($total) { $this->total(); return total(new Cart()); }\n",
        expect![[r#"
            2: Cart imported
            3: total named, total named, total of this, total called, Cart called
        "#]],
    );
}
