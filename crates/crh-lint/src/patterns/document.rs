//! A tree as the engine walks it, with an end to the walking.
//!
//! The engine looks up, down and sideways from every node as a rule asks for it, which on a text made for it takes quadratic time and more.
//! Each step is counted here, and once all are taken no node has relatives any more: matching ends at once, and what it said is not used.

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
use crh_syntax::Parsed;

/// Steps for each byte of a text. The built-in rules take fewer than 20 on files that people wrote; the rest is for the repository's.
const STEPS_PER_BYTE: u64 = 64;
/// A text of a few lines may be as tangled as it likes.
const STEPS_MIN: u64 = 300_000;
/// Reading this many bytes of a node takes as long as a step, without a regular expression or with a small one.
const BYTES_PER_STEP: usize = 64;
/// For each such part of a regular expression reading takes that time again, where no shortcut helps: a state of it has about 24 bytes.
const EXPRESSION_PART: usize = 32;

/// A text with its tree.
#[derive(Clone)]
pub(crate) struct Document {
    grammar: Grammar,
    text: String,
    tree: Tree,
    /// How often as long as otherwise it takes to read a byte.
    slower: usize,
    left: Rc<Cell<u64>>,
}

/// A node of it.
#[derive(Clone)]
pub(crate) struct Counted<'r> {
    node: Node<'r>,
    text: &'r str,
    left: &'r Cell<u64>,
}

impl Document {
    /// A text that was parsed.
    pub(crate) fn new(parsed: &Parsed<'_>) -> Self {
        let length = u64::try_from(parsed.text().len()).unwrap_or(u64::MAX);
        let steps = length.saturating_mul(STEPS_PER_BYTE).max(STEPS_MIN);
        Self {
            grammar: Grammar(parsed.language()),
            text: parsed.text().to_owned(),
            tree: parsed.tree().clone(),
            slower: 1,
            left: Rc::new(Cell::new(steps)),
        }
    }

    /// For rules with regular expressions of a size: the larger, the more is counted for every byte that they may read.
    pub(crate) fn read_by(mut self, expression: usize) -> Self {
        self.slower = 1 + expression / EXPRESSION_PART;
        self
    }

    /// Counts what is done without a step. Whether there is time for it.
    pub(crate) fn takes(&self, steps: usize) -> bool {
        takes(&self.left, steps)
    }

    /// Counts bytes that are read. Whether there is time for it.
    pub(crate) fn reads(&self, bytes: usize) -> bool {
        self.takes(bytes.saturating_mul(self.slower) / BYTES_PER_STEP)
    }

    /// How many nodes there are above the deepest one.
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

    /// Whether there are no more steps, so that what was matched and what was not says nothing.
    pub(crate) fn is_spent(&self) -> bool {
        self.left.get() == 0
    }
}

impl Doc for Document {
    type Source = String;
    type Lang = Grammar;
    type Node<'r> = Counted<'r>;

    fn get_lang(&self) -> &Grammar {
        &self.grammar
    }

    fn get_source(&self) -> &String {
        &self.text
    }

    fn do_edit(&mut self, _: &Edit<String>) -> Result<(), String> {
        Err("a text under review is not edited".to_owned())
    }

    fn root_node(&self) -> Counted<'_> {
        Counted { node: self.tree.root_node(), text: &self.text, left: &self.left }
    }

    fn get_node_text<'a>(&'a self, node: &Counted<'a>) -> Cow<'a, str> {
        let range = node.range();
        self.reads(range.len());
        Cow::Borrowed(self.text.get(range).unwrap_or_default())
    }
}

impl<'r> Counted<'r> {
    /// Whether there is an error in it or around it.
    pub(crate) fn is_doubtful(&self) -> bool {
        let mut above = std::iter::successors(self.node.parent(), Node::parent);
        self.node.has_error() || above.any(|node| node.is_error())
    }

    fn takes(&self, steps: usize) -> bool {
        takes(self.left, steps)
    }

    /// Whether there is text in it that none of its children has, as between the escapes of a string.
    fn has_text_of_its_own(&self) -> bool {
        let mut cursor = self.node.walk();
        let mut end = self.node.start_byte();
        let mut is_there = cursor.goto_first_child();
        while is_there && self.takes(1) {
            let child = cursor.node();
            if self.has_text(end..child.start_byte()) {
                return true;
            }
            end = child.end_byte();
            is_there = cursor.goto_next_sibling();
        }
        self.has_text(end..self.node.end_byte())
    }

    /// Whether there is more than white space in a range.
    fn has_text(&self, range: Range<usize>) -> bool {
        let bytes = self.text.as_bytes().get(range).unwrap_or_default();
        !bytes.trim_ascii().is_empty()
    }

    fn with(&self, node: Node<'r>) -> Self {
        Self { node, text: self.text, left: self.left }
    }

    fn relative(&self, node: impl FnOnce(&Node<'r>) -> Option<Node<'r>>) -> Option<Self> {
        self.takes(1).then(|| node(&self.node).map(|node| self.with(node))).flatten()
    }

    /// What a walk comes to, for as long as there are steps.
    fn counted(&self, walk: impl Iterator<Item = Node<'r>>) -> impl Iterator<Item = Self> {
        let here = self.clone();
        walk.map_while(move |node| here.takes(1).then(|| here.with(node)))
    }

    /// The siblings in one direction.
    fn siblings(&self, step: impl Fn(&mut TreeCursor<'r>) -> bool) -> impl Iterator<Item = Self> {
        let above = self.node.parent().unwrap_or(self.node);
        let mut cursor = above.walk();
        cursor.goto_first_child_for_byte(self.node.start_byte());
        // A node without a byte of its own begins where the next one does.
        while cursor.node().id() != self.node.id() && cursor.goto_next_sibling() {
            self.takes(1);
        }
        self.counted(std::iter::from_fn(move || step(&mut cursor).then(|| cursor.node())))
    }
}

/// Counts steps. Whether there were as many.
fn takes(left: &Cell<u64>, steps: usize) -> bool {
    let steps = u64::try_from(steps).unwrap_or(u64::MAX);
    let more = left.get().checked_sub(steps);
    left.set(more.unwrap_or_default());
    more.is_some_and(|more| more > 0)
}

/// The children of a node.
struct Children<'r> {
    cursor: TreeCursor<'r>,
    more: usize,
    above: Counted<'r>,
}

impl<'r> Iterator for Children<'r> {
    type Item = Counted<'r>;

    fn next(&mut self) -> Option<Counted<'r>> {
        if self.more == 0 || !self.above.takes(1) {
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

impl<'r> SgNode<'r> for Counted<'r> {
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
        // A tree's last nodes can end behind the text.
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
        // A tree knows the way down only.
        let mut way = Vec::new();
        let mut at = Some(root.node);
        while let Some(above) = at.filter(|at| at.id() != self.node.id() && self.takes(1)) {
            way.push(above);
            at = above.child_with_descendant(self.node);
        }
        self.counted(way.into_iter().rev())
    }

    fn dfs(&self) -> impl Iterator<Item = Self> {
        self.counted(TsPre::new(&self.node))
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
        // What is one here is compared by its text, anything else by its children alone.
        self.node.named_child_count() == 0 || self.has_text_of_its_own()
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
        self.counted(wanted.map(|(_, node)| node))
    }

    fn child_by_field_id(&self, field_id: u16) -> Option<Self> {
        self.relative(|node| node.child_by_field_id(field_id))
    }
}
