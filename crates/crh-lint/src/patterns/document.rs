//! A syntax tree with a step budget for ast-grep's engine.
//!
//! A rule lets the engine walk up, down and sideways from every node, which takes quadratic time or
//! more on crafted text. Each step is counted here. Once the budget is spent, every node seems to
//! have no parent, children or siblings. Then matching ends at once, and the caller discards the
//! result.

use std::borrow::Cow;
use std::cell::Cell;
use std::num::NonZero;
use std::ops::Range;
use std::rc::Rc;

use ast_grep_core::source::{Edit, SgNode};
use ast_grep_core::tree_sitter::TsPre;
use ast_grep_core::{Doc, Position};
use tree_sitter::{Node, Tree, TreeCursor};

use super::grammar::Grammar;
use crh_syntax::SyntaxTree;

/// Budget in steps per byte of text. The built-in rules take fewer than 20 on hand-written files;
/// the rest is for repository rules.
const STEPS_PER_BYTE: u64 = 64;
/// Smallest budget in steps, for short texts with complex rules.
const STEPS_MIN: u64 = 300_000;
/// Bytes of node text that can be read for one step if `byte_cost` is 1.
const BYTES_PER_STEP: usize = 64;
/// Bytes of a compiled regular expression that raise the cost of reading text by 1. A state of a
/// compiled expression has about 24 bytes, so this is about one state.
const REGEX_BYTES_PER_COST: usize = 32;

/// A text with its tree and a step budget.
#[derive(Clone)]
pub(crate) struct Document {
    grammar: Grammar,
    text: String,
    tree: Tree,
    /// Factor for the cost of reading text: 1, plus 1 for each [`REGEX_BYTES_PER_COST`] of the
    /// largest regular expression.
    byte_cost: usize,
    steps_left: Rc<Cell<u64>>,
}

/// A node that counts every step.
#[derive(Clone)]
pub(crate) struct BudgetedNode<'r> {
    node: Node<'r>,
    text: &'r str,
    steps_left: &'r Cell<u64>,
}

impl Document {
    pub(crate) fn new(syntax_tree: &SyntaxTree<'_>) -> Self {
        let length = u64::try_from(syntax_tree.text().len()).unwrap_or(u64::MAX);
        let steps = length.saturating_mul(STEPS_PER_BYTE).max(STEPS_MIN);
        Self {
            grammar: Grammar(syntax_tree.language()),
            text: syntax_tree.text().to_owned(),
            tree: syntax_tree.tree().clone(),
            byte_cost: 1,
            steps_left: Rc::new(Cell::new(steps)),
        }
    }

    /// Sets the cost of reading text for rules whose largest regular expression has this many
    /// bytes.
    pub(crate) fn with_regex_bytes(mut self, regex_bytes: usize) -> Self {
        self.byte_cost = 1 + regex_bytes / REGEX_BYTES_PER_COST;
        self
    }

    /// Spends steps. Returns whether steps are left.
    pub(crate) fn spend(&self, steps: usize) -> bool {
        spend(&self.steps_left, steps)
    }

    /// Spends the steps for reading this many bytes. Returns whether steps are left.
    pub(crate) fn spend_bytes(&self, bytes: usize) -> bool {
        self.spend(bytes.saturating_mul(self.byte_cost) / BYTES_PER_STEP)
    }

    /// Depth of the deepest node.
    pub(crate) fn depth(&self) -> usize {
        let mut cursor = self.tree.walk();
        let (mut depth, mut deepest) = (0_usize, 0);
        loop {
            if cursor.goto_first_child() {
                depth += 1;
                deepest = deepest.max(depth);
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return deepest;
                }
                depth -= 1;
            }
        }
    }

    /// Whether the budget is spent. Then the result is incomplete and must be discarded.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.steps_left.get() == 0
    }
}

impl Doc for Document {
    type Source = String;
    type Lang = Grammar;
    type Node<'r> = BudgetedNode<'r>;

    fn get_lang(&self) -> &Grammar {
        &self.grammar
    }

    fn get_source(&self) -> &String {
        &self.text
    }

    fn do_edit(&mut self, _: &Edit<String>) -> Result<(), String> {
        Err("a text under review cannot be edited".to_owned())
    }

    fn root_node(&self) -> BudgetedNode<'_> {
        BudgetedNode { node: self.tree.root_node(), text: &self.text, steps_left: &self.steps_left }
    }

    fn get_node_text<'a>(&'a self, node: &BudgetedNode<'a>) -> Cow<'a, str> {
        let range = node.range();
        self.spend_bytes(range.len());
        Cow::Borrowed(self.text.get(range).unwrap_or_default())
    }
}

impl<'r> BudgetedNode<'r> {
    /// Whether the node has or is inside a parse error.
    pub(crate) fn has_parse_error(&self) -> bool {
        let mut ancestors = std::iter::successors(self.node.parent(), Node::parent);
        self.node.has_error() || ancestors.any(|node| node.is_error())
    }

    fn spend(&self, steps: usize) -> bool {
        spend(self.steps_left, steps)
    }

    /// Whether the node has text outside of its children, such as the text between the escapes of a
    /// string.
    fn has_own_text(&self) -> bool {
        let mut cursor = self.node.walk();
        let mut end = self.node.start_byte();
        let mut has_child = cursor.goto_first_child();
        while has_child && self.spend(1) {
            let child = cursor.node();
            if self.has_text(end..child.start_byte()) {
                return true;
            }
            end = child.end_byte();
            has_child = cursor.goto_next_sibling();
        }
        self.has_text(end..self.node.end_byte())
    }

    /// Whether a range contains more than white space.
    fn has_text(&self, range: Range<usize>) -> bool {
        let bytes = self.text.as_bytes().get(range).unwrap_or_default();
        !bytes.trim_ascii().is_empty()
    }

    fn with_node(&self, node: Node<'r>) -> Self {
        Self { node, text: self.text, steps_left: self.steps_left }
    }

    fn relative(&self, node: impl FnOnce(&Node<'r>) -> Option<Node<'r>>) -> Option<Self> {
        self.spend(1).then(|| node(&self.node).map(|node| self.with_node(node))).flatten()
    }

    /// The nodes of a walk. Each costs a step, and the walk ends when the budget is spent.
    fn spend_each(&self, walk: impl Iterator<Item = Node<'r>>) -> impl Iterator<Item = Self> {
        let origin = self.clone();
        walk.map_while(move |node| origin.spend(1).then(|| origin.with_node(node)))
    }

    /// The siblings in one direction.
    fn siblings(&self, step: impl Fn(&mut TreeCursor<'r>) -> bool) -> impl Iterator<Item = Self> {
        let parent = self.node.parent().unwrap_or(self.node);
        let mut cursor = parent.walk();
        cursor.goto_first_child_for_byte(self.node.start_byte());
        // A node without text starts at the same byte as the next node, so the search by byte may
        // find the wrong one.
        while cursor.node().id() != self.node.id() && cursor.goto_next_sibling() {
            self.spend(1);
        }
        self.spend_each(std::iter::from_fn(move || step(&mut cursor).then(|| cursor.node())))
    }
}

/// Spends steps. Returns whether steps are left.
fn spend(steps_left: &Cell<u64>, steps: usize) -> bool {
    let steps = u64::try_from(steps).unwrap_or(u64::MAX);
    let remaining = steps_left.get().checked_sub(steps);
    steps_left.set(remaining.unwrap_or_default());
    remaining.is_some_and(|remaining| remaining > 0)
}

struct Children<'r> {
    cursor: TreeCursor<'r>,
    remaining: usize,
    parent: BudgetedNode<'r>,
}

impl<'r> Iterator for Children<'r> {
    type Item = BudgetedNode<'r>;

    fn next(&mut self) -> Option<BudgetedNode<'r>> {
        if self.remaining == 0 || !self.parent.spend(1) {
            self.remaining = 0;
            return None;
        }
        let child = self.parent.with_node(self.cursor.node());
        self.remaining = if self.cursor.goto_next_sibling() { self.remaining - 1 } else { 0 };
        Some(child)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.remaining, Some(self.remaining))
    }
}

impl ExactSizeIterator for Children<'_> {}

impl<'r> SgNode<'r> for BudgetedNode<'r> {
    fn parent(&self) -> Option<Self> {
        self.relative(Node::parent)
    }

    fn children(&self) -> impl ExactSizeIterator<Item = Self> {
        let mut cursor = self.node.walk();
        let remaining = if cursor.goto_first_child() { self.node.child_count() } else { 0 };
        let remaining = usize::try_from(remaining).unwrap_or(usize::MAX);
        Children { cursor, remaining, parent: self.clone() }
    }

    fn kind(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.node.kind())
    }

    fn kind_id(&self) -> u16 {
        self.node.kind_id()
    }

    fn node_id(&self) -> usize {
        self.node.id()
    }

    fn range(&self) -> Range<usize> {
        // tree-sitter can place the last nodes of a tree after the end of the text.
        let length = self.text.len();
        self.node.start_byte().min(length)..self.node.end_byte().min(length)
    }

    fn start_pos(&self) -> Position {
        let position = self.node.start_position();
        Position::new(position.row, position.column, self.range().start)
    }

    fn end_pos(&self) -> Position {
        let position = self.node.end_position();
        Position::new(position.row, position.column, self.range().end)
    }

    fn ancestors(&self, root: Self) -> impl Iterator<Item = Self> {
        // tree-sitter finds a parent by walking down from the root, so one walk collects all
        // ancestors.
        let mut ancestors = Vec::new();
        let mut current = Some(root.node);
        while let Some(ancestor) =
            current.filter(|current| current.id() != self.node.id() && self.spend(1))
        {
            ancestors.push(ancestor);
            current = ancestor.child_with_descendant(self.node);
        }
        self.spend_each(ancestors.into_iter().rev())
    }

    fn dfs(&self) -> impl Iterator<Item = Self> {
        self.spend_each(TsPre::new(&self.node))
    }

    fn child(&self, nth: usize) -> Option<Self> {
        let nth = u32::try_from(nth).ok()?;
        self.relative(|node| node.child(nth))
    }

    fn next(&self) -> Option<Self> {
        self.relative(Node::next_sibling)
    }

    fn prev(&self) -> Option<Self> {
        self.relative(Node::prev_sibling)
    }

    fn next_all(&self) -> impl Iterator<Item = Self> {
        self.siblings(TreeCursor::goto_next_sibling)
    }

    fn prev_all(&self) -> impl Iterator<Item = Self> {
        self.siblings(TreeCursor::goto_previous_sibling)
    }

    fn is_named(&self) -> bool {
        self.node.is_named()
    }

    fn is_named_leaf(&self) -> bool {
        // The engine compares a leaf by its text and any other node only by its children.
        self.node.named_child_count() == 0 || self.has_own_text()
    }

    fn is_leaf(&self) -> bool {
        self.node.child_count() == 0
    }

    fn is_missing(&self) -> bool {
        self.node.is_missing()
    }

    fn is_error(&self) -> bool {
        self.node.is_error()
    }

    fn is_extra(&self) -> bool {
        self.node.is_extra()
    }

    fn field(&self, name: &str) -> Option<Self> {
        self.relative(|node| node.child_by_field_name(name))
    }

    fn field_children(&self, field_id: Option<u16>) -> impl Iterator<Item = Self> {
        let mut cursor = self.node.walk();
        let mut has_child = cursor.goto_first_child();
        let children = std::iter::from_fn(move || {
            let child = has_child.then(|| (cursor.field_id().map(NonZero::get), cursor.node()));
            has_child = has_child && cursor.goto_next_sibling();
            child
        });
        let matching = children.filter(move |(id, _)| id.is_some() && *id == field_id);
        self.spend_each(matching.map(|(_, node)| node))
    }

    fn child_by_field_id(&self, field_id: u16) -> Option<Self> {
        self.relative(|node| node.child_by_field_id(field_id))
    }
}
