//! The code of a text without its comments.

use tree_sitter::Node;

use crate::{Language, SyntaxTree};

impl SyntaxTree<'_> {
    /// The text with spaces in place of comments and of Python's docstrings. Lines stay.
    pub fn without_comments(&self) -> String {
        let mut code = self.text().as_bytes().to_vec();
        let mut cursor = self.tree().walk();
        loop {
            let node = cursor.node();
            let is_comment = node.kind().contains("comment") || self.is_docstring(&node);
            if is_comment {
                // The last nodes can end after the text.
                let end = node.end_byte().min(code.len());
                let bytes = code.get_mut(node.start_byte()..end).into_iter().flatten();
                bytes.filter(|byte| !matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
            }
            if !is_comment && cursor.goto_first_child() {
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return String::from_utf8(code)
                        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into());
                }
            }
        }
    }

    /// Whether a node is a statement of Python that is only a string.
    fn is_docstring(&self, node: &Node<'_>) -> bool {
        self.language() == Language::Python
            && node.kind() == "expression_statement"
            && node.named_child_count() == 1
            && node.named_child(0).is_some_and(|child| child.kind() == "string")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_docstrings_become_spaces() {
        let check = |language: Language, text: &str, expected: &str| {
            let code = SyntaxTree::new(language, text).unwrap().without_comments();
            assert_eq!(code.lines().count(), text.lines().count());
            let lines: Vec<&str> = code.lines().map(str::trim_end).collect();
            assert_eq!(lines.join("\n"), expected, "{language:?}");
        };
        let python =
            "\"\"\"Päy\nments.\"\"\"\ndef f():\n    'Doc.'\n    # note\n    x = 'a # b'  # c\n";
        check(Language::Python, python, "\n\ndef f():\n\n\n    x = 'a # b'");
        let rust = "//! Doc\n/// Doc\nfn f() { /* a\nb */ g(\"// c\"); }\n";
        check(Language::Rust, rust, "\n\nfn f() {\n     g(\"// c\"); }");
        check(Language::Go, "package a // b\nvar c = 1\n", "package a\nvar c = 1");
        check(Language::Ruby, "=begin\na\n=end\nb = 1 # c\n", "\n\n\nb = 1");
        check(Language::Swift, "/* a */ let b = 1 // c\n", "        let b = 1");
        check(Language::Kotlin, "/* a */ val b = 1 // c\n", "        val b = 1");
    }
}
