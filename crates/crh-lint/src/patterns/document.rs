//! A syntax tree with a step budget for ast-grep's engine.
//!
//! A rule lets the engine look up, down and sideways from every node, which takes quadratic time or
//! more on crafted text. Each step is counted here. Once the budget is spent, no node has relatives
//! any more: matching ends at once, and its result is discarded.

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

/// Steps per byte of text. The built-in rules take fewer than 20 on hand-written files; the rest is
/// for repository rules.
const STEPS_PER_BYTE: u64 = 64;
/// Minimum, for short and complex texts.
const STEPS_MIN: u64 = 300_000;
/// Reading this many bytes of a node costs one step, without a regular expression or with a small
/// one.
const BYTES_PER_STEP: usize = 64;
/// Each such part of a regular expression adds the cost once more. A state of an expression has
/// about 24 bytes.
const EXPRESSION_PART: usize = 32;

/// A text with its tree and a step budget.
#[derive(Clone)]
pub(crate) struct Document {
    grammar: Grammar,
    text: String,
    tree: Tree,
    /// Cost factor for reading a byte.
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
    pub(crate) fn new(parsed: &SyntaxTree<'_>) -> Self {
        let length = u64::try_from(parsed.text().len()).unwrap_or(u64::MAX);
        let steps = length.saturating_mul(STEPS_PER_BYTE).max(STEPS_MIN);
        Self {
            grammar: Grammar(parsed.language()),
            text: parsed.text().to_owned(),
            tree: parsed.tree().clone(),
            byte_cost: 1,
            steps_left: Rc::new(Cell::new(steps)),
        }
    }

    /// Sets the cost per byte for rules with regular expressions of this size.
    pub(crate) fn with_regex_size(mut self, expression: usize) -> Self {
        self.byte_cost = 1 + expression / EXPRESSION_PART;
        self
    }

    /// Spends steps. Returns whether the budget allowed it.
    pub(crate) fn spend(&self, steps: usize) -> bool {
        spend(&self.steps_left, steps)
    }

    /// Spends steps for reading bytes. Returns whether the budget allowed it.
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

    /// Whether the budget is spent, so that the result must be discarded.
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
        let mut above = std::iter::successors(self.node.parent(), Node::parent);
        self.node.has_error() || above.any(|node| node.is_error())
    }

    fn spend(&self, steps: usize) -> bool {
        spend(self.steps_left, steps)
    }

    /// Whether the node has text outside of its children, as between the escapes of a string.
    fn has_own_text(&self) -> bool {
        let mut cursor = self.node.walk();
        let mut end = self.node.start_byte();
        let mut is_there = cursor.goto_first_child();
        while is_there && self.spend(1) {
            let child = cursor.node();
            if self.has_text(end..child.start_byte()) {
                return true;
            }
            end = child.end_byte();
            is_there = cursor.goto_next_sibling();
        }
        self.has_text(end..self.node.end_byte())
    }

    /// Whether a range contains more than white space.
    fn has_text(&self, range: Range<usize>) -> bool {
        let bytes = self.text.as_bytes().get(range).unwrap_or_default();
        !bytes.trim_ascii().is_empty()
    }

    fn with(&self, node: Node<'r>) -> Self {
        Self { node, text: self.text, steps_left: self.steps_left }
    }

    fn relative(&self, node: impl FnOnce(&Node<'r>) -> Option<Node<'r>>) -> Option<Self> {
        self.spend(1).then(|| node(&self.node).map(|node| self.with(node))).flatten()
    }

    /// The nodes of a walk, while the budget lasts.
    fn spend_each(&self, walk: impl Iterator<Item = Node<'r>>) -> impl Iterator<Item = Self> {
        let here = self.clone();
        walk.map_while(move |node| here.spend(1).then(|| here.with(node)))
    }

    /// The siblings in one direction.
    fn siblings(&self, step: impl Fn(&mut TreeCursor<'r>) -> bool) -> impl Iterator<Item = Self> {
        let above = self.node.parent().unwrap_or(self.node);
        let mut cursor = above.walk();
        cursor.goto_first_child_for_byte(self.node.start_byte());
        // An empty node starts where the next one does.
        while cursor.node().id() != self.node.id() && cursor.goto_next_sibling() {
            self.spend(1);
        }
        self.spend_each(std::iter::from_fn(move || step(&mut cursor).then(|| cursor.node())))
    }
}

/// Spends steps. Returns whether the budget allowed it.
fn spend(left: &Cell<u64>, steps: usize) -> bool {
    let steps = u64::try_from(steps).unwrap_or(u64::MAX);
    let more = left.get().checked_sub(steps);
    left.set(more.unwrap_or_default());
    more.is_some_and(|more| more > 0)
}

struct Children<'r> {
    cursor: TreeCursor<'r>,
    more: usize,
    above: BudgetedNode<'r>,
}

impl<'r> Iterator for Children<'r> {
    type Item = BudgetedNode<'r>;

    fn next(&mut self) -> Option<BudgetedNode<'r>> {
        if self.more == 0 || !self.above.spend(1) {
            self.more = 0;
            return None;
        }
        let child = self.above.with(self.cursor.node());
        self.more = if self.cursor.goto_next_sibling() { self.more - 1 } else { 0 };
        Some(child)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.more, Some(self.more))
    }
}

impl ExactSizeIterator for Children<'_> {}

impl<'r> SgNode<'r> for BudgetedNode<'r> {
    fn parent(&self) -> Option<Self> {
        self.relative(Node::parent)
    }

    fn children(&self) -> impl ExactSizeIterator<Item = Self> {
        let mut cursor = self.node.walk();
        let more = if cursor.goto_first_child() { self.node.child_count() } else { 0 };
        let more = usize::try_from(more).unwrap_or(usize::MAX);
        Children { cursor, more, above: self.clone() }
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
        // The last nodes of a tree can end behind the text.
        let length = self.text.len();
        self.node.start_byte().min(length)..self.node.end_byte().min(length)
    }

    fn start_pos(&self) -> Position {
        let at = self.node.start_position();
        Position::new(at.row, at.column, self.range().start)
    }

    fn end_pos(&self) -> Position {
        let at = self.node.end_position();
        Position::new(at.row, at.column, self.range().end)
    }

    fn ancestors(&self, root: Self) -> impl Iterator<Item = Self> {
        // A tree can only be walked downwards.
        let mut way = Vec::new();
        let mut at = Some(root.node);
        while let Some(above) = at.filter(|at| at.id() != self.node.id() && self.spend(1)) {
            way.push(above);
            at = above.child_with_descendant(self.node);
        }
        self.spend_each(way.into_iter().rev())
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
        // A leaf is compared by its text, any other node only by its children.
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
        let mut is_there = cursor.goto_first_child();
        let children = std::iter::from_fn(move || {
            let child = is_there.then(|| (cursor.field_id().map(NonZero::get), cursor.node()));
            is_there = is_there && cursor.goto_next_sibling();
            child
        });
        let wanted = children.filter(move |(id, _)| id.is_some() && *id == field_id);
        self.spend_each(wanted.map(|(_, node)| node))
    }

    fn child_by_field_id(&self, field_id: u16) -> Option<Self> {
        self.relative(|node| node.child_by_field_id(field_id))
    }
}
