//! Responses about relations: control flow, calls, data flow, and differences.

use super::response::{ByteRange, Line, TokenEntry};
use serde::Serialize;

/// The control flow of a function.
#[derive(Clone, Debug, Default, Serialize)]
pub struct GraphAnswer {
    /// The functions of the module that have bodies.
    pub functions: Vec<String>,
    /// Basic blocks; the first is the entry.
    pub blocks: Vec<GraphBlock>,
    /// The edges between them.
    pub edges: Vec<GraphEdge>,
    /// Natural loops, outer ones first.
    pub loops: Vec<GraphLoop>,
    /// The index of the function that is shown.
    pub function: u32,
    /// Functions that begin inside of this one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inner: Vec<GraphInner>,
    /// How many blocks were left out because there are too many.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: u32,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A function that begins inside of another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GraphInner {
    /// Its first block.
    pub block: u32,
    /// Its name.
    pub name: String,
}

/// A basic block.
#[derive(Clone, Debug, Default, Serialize)]
pub struct GraphBlock {
    /// What it is called.
    pub label: String,
    /// Its instructions, as the listing has them; none if the graph has too many lines.
    pub lines: Vec<Line>,
    /// How many lines it has.
    pub count: u32,
    /// The number of its first line in the listing, if all its lines are there one after the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Its number in the whole graph, if blocks were left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    /// The link of its label's definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<i64>,
    /// Whether it is reachable from the entry.
    pub reached: bool,
    /// The number of loops around it.
    pub loop_depth: u32,
    /// Its bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<ByteRange>,
}

/// An edge between blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GraphEdge {
    /// The predecessor.
    pub from: u32,
    /// The successor.
    pub to: u32,
    /// The reason: `true`, `case`, `fall through`.
    pub cause: String,
    /// The constant of a case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Whether it is a back edge of its loop.
    pub back: bool,
}

/// A natural loop.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GraphLoop {
    /// Its header.
    pub header: u32,
    /// Its depth: 1 for an outermost loop.
    pub depth: u32,
    /// The index of the loop around it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<u32>,
    /// Its blocks, without those of the loops in it.
    pub blocks: Vec<u32>,
}

/// Functions and their calls, in steps.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CallsAnswer {
    /// The functions of this step. Functions of several steps with the same key are one.
    pub functions: Vec<CallEntry>,
    /// The calls of this step.
    pub calls: Vec<CallEdge>,
    /// How many items were read.
    pub searched: u64,
    /// How many there are.
    pub total: u64,
    /// Items that can't be read.
    #[serde(skip_serializing_if = "is_zero")]
    pub unread: u32,
    /// Where the next step begins; none at the end.
    pub cursor: Option<String>,
}

/// A function of a call graph.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CallEntry {
    /// What identifies it in the program.
    pub key: String,
    /// Its name, demangled.
    pub name: String,
    /// `item`, `inner`, `external` or `unknown`: an item, a function inside of one, one that is only declared, or the
    /// target of an indirect call.
    pub kind: &'static str,
    /// The item that it is, or is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
}

/// Calls of one function by another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CallEdge {
    /// The caller, as an index into the functions of the answer.
    pub from: u32,
    /// The callee.
    pub to: u32,
    /// How many calls there are.
    pub count: u32,
}

/// The flow of data around a value.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FlowAnswer {
    /// Lines; the first is that of the value.
    pub nodes: Vec<FlowNode>,
    /// From a definition to a use.
    pub edges: Vec<FlowEdge>,
    /// How many lines were left out because of the limits.
    pub more: u32,
}

/// A line that defines or uses a value.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FlowNode {
    /// Its number in the listing.
    pub line: u32,
    /// The number of steps: negative towards definitions, positive towards uses.
    pub step: i64,
    /// Its tokens.
    pub tokens: Vec<TokenEntry>,
    /// Its bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<ByteRange>,
}

/// A value that one line defines and another uses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FlowEdge {
    /// The line that defines it, as an index into the nodes.
    pub from: u32,
    /// The line that uses it.
    pub to: u32,
    /// The value's name.
    pub name: String,
}

/// Items of two programs that are different, in steps.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ChangesAnswer {
    /// The items of this step that are different.
    pub changes: Vec<ItemChange>,
    /// How many items of this step are the same.
    pub same: u64,
    /// How many items were compared.
    pub searched: u64,
    /// How many there are.
    pub total: u64,
    /// Where the next step begins; none at the end.
    pub cursor: Option<String>,
}

/// An item that is different.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ItemChange {
    /// `changed`, `renamed`, `added` or `removed`.
    pub kind: &'static str,
    /// Its name, the new one if it was renamed.
    pub name: String,
    /// Its old name, if it was renamed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The left item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<u32>,
    /// The right item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub right: Option<u32>,
    /// The share of its lines that are different, in thousandths. Renamed registers and values are no difference.
    pub measure: u32,
    /// How many lines the items have.
    pub lines: u64,
    /// How many lines have changed.
    pub changed: u64,
    /// How many lines were added.
    pub added: u64,
    /// How many lines were removed.
    pub removed: u64,
    /// How many lines differ only in the names of registers or values.
    pub renamed: u64,
    /// Why its code was not compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// What has changed.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CompareAnswer {
    /// Whether nothing has changed.
    pub same: bool,
    /// Items, parts and fields that changed.
    pub changes: Vec<ChangeEntry>,
    /// Lines that changed, with some around them.
    pub hunks: Vec<HunkEntry>,
    /// How many changes and hunks were left out.
    pub more: u64,
    /// How many lines differ only in the names of registers or values; these do not count as changed.
    #[serde(skip_serializing_if = "is_none_of_them")]
    pub renamed: u64,
}

fn is_none_of_them(number: &u64) -> bool {
    *number == 0
}

/// Something that changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ChangeEntry {
    /// `added`, `removed`, `renamed`, `changed` or `field`.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// What it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// What it is now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// Lines that changed, with some around them.
#[derive(Clone, Debug, Default, Serialize)]
pub struct HunkEntry {
    /// The first line in the left listing.
    pub left_from: u32,
    /// The first line in the right listing.
    pub right_from: u32,
    /// The lines.
    pub lines: Vec<HunkLineEntry>,
}

/// A line of a hunk.
#[derive(Clone, Debug, Default, Serialize)]
pub struct HunkLineEntry {
    /// `both`, `left` or `right`.
    pub side: &'static str,
    /// Its tokens; those of the right, if it is in both.
    pub tokens: Vec<TokenEntry>,
    /// The tokens of the left, if the line is in both with other names of registers or values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Vec<TokenEntry>>,
    /// Whether a left line and the right line after it are one that changed.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub paired: bool,
    /// The indices of tokens that the other line of a pair does not have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<u32>,
}
