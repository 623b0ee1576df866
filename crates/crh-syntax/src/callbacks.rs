//! Functions without a name of their own, such as callbacks, and methods of object literals.

use std::ops::Range;

use crate::{Language, SyntaxTree};

/// Parts of the kinds of such nodes in all grammars.
const KINDS: [&str; 8] = [
    "anonymous_function",
    "anonymous_method",
    "arrow_function",
    "closure",
    "func_literal",
    "function_expression",
    "lambda",
    "method_definition",
];

impl SyntaxTree<'_> {
    /// The lines of callbacks and of methods of object literals that have several lines, as indexes
    /// from 0. In Ruby, also of blocks. Named functions may be among them.
    pub fn callbacks(&self) -> Vec<Range<usize>> {
        let is_ruby = self.language() == Language::Ruby;
        let mut callbacks = Vec::new();
        let mut cursor = self.tree().walk();
        loop {
            let node = cursor.node();
            let kind = node.kind();
            let is_callback = KINDS.iter().any(|part| kind.contains(part))
                || is_ruby && matches!(kind, "block" | "do_block");
            let (start, end) = (node.start_position().row, node.end_position().row);
            if node.is_named() && is_callback && start < end {
                callbacks.push(start..end + 1);
            }
            if cursor.goto_first_child() {
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return callbacks;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callbacks_of_several_lines_are_found() {
        let check = |language: Language, text: &str, expected: &[(usize, usize)]| {
            let callbacks = SyntaxTree::new(language, text).unwrap().callbacks();
            let callbacks: Vec<(usize, usize)> =
                callbacks.into_iter().map(|lines| (lines.start, lines.end)).collect();
            assert_eq!(callbacks, expected, "{language:?}");
        };
        let javascript = "app.get('/x', (a) => {\n  b(a);\n});\nit('y', function () {\n  c();\n});\n\
                          const o = {\n  m(x) {\n    return x;\n  },\n};\nd.map((e) => e.f);\n";
        check(Language::JavaScript, javascript, &[(0, 3), (3, 6), (7, 10)]);
        check(Language::Ruby, "get '/x' do\n  a\nend\nb.each { |c| c }\n", &[(0, 3)]);
        check(Language::Go, "package a\n\nvar b = func() {\n\tc()\n}\n", &[(2, 5)]);
        check(Language::Python, "a = map(lambda b:\n    b, c)\n", &[(0, 2)]);
        check(Language::Rust, "static A: fn() = || {\n    b();\n};\n", &[(0, 3)]);
    }
}
