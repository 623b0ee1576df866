//! Guessed definitions in languages without a grammar.

use expect_test::{Expect, expect};

use crh_syntax::fallback_spans;

fn check(text: &str, expected: Expect) {
    let shown: Vec<_> = fallback_spans(text)
        .iter()
        .map(|span| format!("{}-{} {}", span.start, span.end, span.name))
        .collect();
    expected.assert_eq(&shown.join("\n"));
}

#[test]
fn lua_functions_end_at_end_keyword() {
    check(
        "
local M = {}

function M.open(path)
  if path then
    return path
  end
end

local function helper(x)
  return function() return x end
end

M.close = function(file)
  file:close()
end

return M
",
        expect![[r#"
            4-8 M.open
            10-12 helper
            14-16 M.close"#]],
    );
}

#[test]
fn indentation_alone_ends_a_block() {
    check(
        "
class Player:
    var health = 10

    func hit(amount):
        health -= amount

        if health < 0:
            die()


func spawn():
    pass
",
        expect![[r#"
            2-9 Player
            5-9 hit
            12-13 spawn"#]],
    );
}

#[test]
fn multi_line_heads_are_recognised() {
    check(
        "
void setup(int a)
{
    run(a);
}

public override fn long_one(
    first: Int,
) {
    body()
}

deploy() {
  echo done
}

int one(int x) { return x; }
",
        expect![[r#"
            2-5 setup
            7-11 long_one
            13-15 deploy
            17-17 one"#]],
    );
}

#[test]
fn scala_and_r_heads_are_recognised() {
    check(
        "
object Main {
  def main(args: Array[String]): Unit = {
    println(1)
  }
}

square <- function(x) {
  x * x
}
",
        expect![[r#"
            2-6 Main
            3-5 main
            8-10 square"#]],
    );
}

#[test]
fn control_flow_calls_and_prose_are_not_definitions() {
    check(
        "
if (a) {
  b()
}
while (x) {
}
foo(bar)
  continued
items.each(x) {
}
return compute(1) {
}
A function of the state is
  never better than
def
",
        expect![[""]],
    );
}

#[test]
fn inconsistent_blocks_are_not_guessed() {
    // Unbalanced braces, an unindented body, and mixed tabs and spaces.
    check("fn a() {\n  {\n}\n", expect![[""]]);
    check("fn a() {\nbody\n}\n", expect![[""]]);
    check("  fn a()\n\tbody\n", expect![[""]]);
    check("fn prototype(x)\n", expect![[""]]);
}

#[test]
fn unusual_text_gives_no_guess_and_no_panic() {
    for text in ["", "\n", "\r\n\r\n", "\u{0}", "fn", "fn ", "fn é", "é(", "(", ")", "}{"] {
        assert!(fallback_spans(text).is_empty(), "{text:?}");
    }
    check("\u{feff}fn a() {\n  1\n}\n", expect!["1-3 a"]);
    check("fn größe() {\r\n  1\r\n}\r\n", expect!["1-3 größe"]);
}
