//! The fields of a program with their bytes, one level at a time.
//!
//! Programs emit their whole outline to a sink, which keeps the requested part. Where bytes are read by ranges, a first
//! pass finds the places, the second reads them.

use super::session::Session;
use super::*;
use serde::Serialize;
use std::ops::Range;
use unshade_core::Escaped;
use unshade_core::outline::{Field, OutlineSink, Value};

/// The maximum size of a node that is read in order to show what is in it.
const MAX_READ: u64 = 64 << 20;

/// How many times the nodes that were found are read and emitted again.
const PASSES: usize = 3;

/// Keeps a node and some of its children.
struct Window {
    /// The path to the node.
    way: Vec<u32>,
    from: usize,
    count: usize,
    /// How many children each open field had so far; the first is that of the root.
    places: Vec<u32>,
    /// How many of the open fields are on the path, from the outermost on.
    matched: usize,
    node: Option<OutlineNode>,
    children: Vec<OutlineNode>,
}

impl OutlineSink for Window {
    fn open(&mut self, field: Field<'_>) {
        let depth = self.places.len().saturating_sub(1);
        let place = self.places.last().copied().unwrap_or(0);
        if let Some(last) = self.places.last_mut() {
            *last = last.saturating_add(1);
        }
        let length = self.way.len();
        if self.matched == depth && depth < length {
            if self.way.get(depth) == Some(&place) {
                self.matched += 1;
                if self.matched == length {
                    self.node = Some(node(&field, place));
                }
            }
        } else if self.matched == length && depth == length {
            if (place as usize) >= self.from && self.children.len() < self.count {
                self.children.push(node(&field, place));
            }
        } else if self.matched == length && depth == length + 1 {
            // A grandchild: it counts for the child that is open, if that is kept.
            let parent = self.places.get(length).map(|count| count.saturating_sub(1));
            if let Some(child) = self.children.last_mut().filter(|child| child.index == parent) {
                child.children = child.children.saturating_add(1);
            }
        }
        self.places.push(0);
    }

    fn wants_inside(&self) -> bool {
        let (depth, length) = (self.places.len().saturating_sub(1), self.way.len());
        if depth <= length {
            return self.matched == depth;
        }
        // Of children that are kept the fields are counted.
        let place = self.places.get(length).map(|count| count.saturating_sub(1));
        self.matched == length
            && depth == length + 1
            && self.children.last().is_some_and(|child| child.index == place)
    }

    fn close(&mut self) {
        if self.places.len() < 2 {
            return;
        }
        let children = self.places.pop().unwrap_or(0);
        let depth = self.places.len() - 1;
        if self.matched > depth {
            self.matched = depth;
            if depth + 1 == self.way.len()
                && let Some(node) = &mut self.node
            {
                node.children = children;
            }
        }
    }
}

/// Keeps the nodes that hold a byte.
#[derive(Default)]
struct Path {
    at: u64,
    depth: usize,
    /// How many roots there were so far.
    roots: u32,
    path: Vec<OutlineNode>,
    /// How many nodes of the path are open.
    open: usize,
}

impl OutlineSink for Path {
    fn open(&mut self, field: Field<'_>) {
        if self.open == self.depth {
            let count = match self.depth.checked_sub(1) {
                Some(parent) => self.path.get_mut(parent).map(|parent| &mut parent.children),
                None => Some(&mut self.roots),
            };
            let place = count.map_or(0, |count| {
                *count = count.saturating_add(1);
                *count - 1
            });
            if self.path.len() == self.depth && (field.range.start..field.range.end).contains(&self.at) {
                self.path.push(node(&field, place));
                self.open += 1;
            }
        }
        self.depth += 1;
    }

    fn wants_inside(&self) -> bool {
        self.open == self.depth
    }

    fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.open = self.open.min(self.depth);
    }
}

/// The deepest nodes of a whole outline.
const MAX_DEPTH: usize = 64;

/// The most nodes of a whole outline.
const MAX_WHOLE: usize = 400_000;

/// A node with all that is in it.
#[derive(Debug, Serialize)]
pub(super) struct Nested {
    #[serde(flatten)]
    node: OutlineNode,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    inside: Vec<Nested>,
}

/// Keeps all nodes.
struct Whole {
    /// Those that are open, the root first.
    open: Vec<Nested>,
    /// How many are open below those that are kept.
    below: usize,
    count: usize,
}

impl OutlineSink for Whole {
    fn open(&mut self, field: Field<'_>) {
        if self.below > 0 || self.open.len() > MAX_DEPTH || self.count >= MAX_WHOLE {
            self.below += 1;
            return;
        }
        self.count += 1;
        let place = self.open.last().map_or(0, |parent| parent.inside.len() as u32);
        self.open.push(Nested { node: node(&field, place), inside: Vec::new() });
    }

    fn wants_inside(&self) -> bool {
        self.below == 0 && self.open.len() <= MAX_DEPTH && self.count < MAX_WHOLE
    }

    fn close(&mut self) {
        if self.below > 0 {
            self.below -= 1;
        } else if self.open.len() > 1
            && let Some(nested) = self.open.pop()
            && let Some(parent) = self.open.last_mut()
        {
            parent.node.children = parent.node.children.saturating_add(1);
            parent.inside.push(nested);
        }
    }
}

/// The whole outline of a program.
pub(super) fn tree(session: &Session, program: u32) -> Answer<Nested> {
    let parsed = session.parsed(program)?;
    let name = parsed.format_name().to_owned();
    let node = OutlineNode { name, range: parsed.space(), ..OutlineNode::default() };
    let mut whole = Whole { open: vec![Nested { node, inside: Vec::new() }], below: 0, count: 0 };
    parsed.program.outline(&mut whole);
    if whole.count >= MAX_WHOLE {
        return Err(Fault::new(format!("the outline has more than {MAX_WHOLE} nodes")));
    }
    whole.open.into_iter().next().ok_or_else(|| Fault::new("no outline"))
}

fn node(field: &Field<'_>, index: u32) -> OutlineNode {
    let value = match &field.value {
        // As much of a long text as a line shows; the bytes are there for the rest.
        Value::Text(text) if text.len() > 4_096 => format!("{}…", Escaped(&text[..4_096]).quoted()),
        value => value.to_text(),
    };
    OutlineNode {
        index: Some(index),
        name: Escaped(field.name.as_bytes()).to_string(),
        value,
        meaning: field.meaning.to_string(),
        range: [field.range.start, field.range.end],
        children: 0,
    }
}

impl Session {
    pub(super) fn outline(&mut self, request: &Outline) -> Answer<OutlineAnswer> {
        self.open()?;
        let mut last: Option<Vec<Range<u64>>> = None;
        for _ in 0..PASSES {
            let answer = self.outline_once(request)?;
            let seen: Vec<Range<u64>> = match &answer {
                OutlineAnswer::Children { node, children, .. } => {
                    std::iter::once(node).chain(children).map(|node| node.range[0]..node.range[1]).collect()
                }
                OutlineAnswer::Path { path } => {
                    path.iter().map(|node| node.range[0]..node.range[1]).collect()
                }
            };
            let is_settled = last.as_ref() == Some(&seen);
            if is_settled || !self.is_partial() {
                return Ok(answer);
            }
            for range in &seen {
                if range.end.saturating_sub(range.start) <= MAX_READ {
                    self.ensure(range.clone())?;
                }
            }
            last = Some(seen);
        }
        self.outline_once(request)
    }

    fn outline_once(&self, request: &Outline) -> Answer<OutlineAnswer> {
        let parsed = self.parsed(request.program)?;
        if let Some(at) = request.at {
            let mut path = Path { at, ..Path::default() };
            parsed.program.outline(&mut path);
            return Ok(OutlineAnswer::Path { path: path.path });
        }
        let count = request.count.map_or(200, |count| count as usize).min(MAX_NODES);
        let mut window = Window {
            way: request.node.clone(),
            from: request.from as usize,
            count,
            places: vec![0],
            matched: 0,
            node: None,
            children: Vec::new(),
        };
        parsed.program.outline(&mut window);
        let roots = window.places.first().copied().unwrap_or(0);
        let node = if request.node.is_empty() {
            let name = parsed.format_name().to_owned();
            OutlineNode { name, range: parsed.space(), children: roots, ..OutlineNode::default() }
        } else {
            window.node.ok_or_else(|| Fault::new("no such node"))?
        };
        Ok(OutlineAnswer::Children { node, children: window.children, from: request.from })
    }
}

#[cfg(test)]
mod tests {
    use super::{Field, OutlineNode, OutlineSink, Path, Whole, Window};

    /// 0..10 { 0..4 { 0..1, 1..4 }, 4..10 }, 10..12
    fn walk(sink: &mut dyn OutlineSink) {
        sink.open(Field::group("a", 0..10));
        sink.open(Field::group("aa", 0..4));
        sink.leaf(Field::group("aaa", 0..1));
        sink.leaf(Field::group("aab", 1..4));
        sink.close();
        sink.leaf(Field::group("ab", 4..10));
        sink.close();
        sink.leaf(Field::group("b", 10..12));
    }

    fn window(way: &[u32], from: usize) -> (Option<OutlineNode>, Vec<(String, u32)>) {
        let mut window = Window {
            way: way.to_vec(),
            from,
            count: 10,
            places: vec![0],
            matched: 0,
            node: None,
            children: Vec::new(),
        };
        walk(&mut window);
        let children = window.children.into_iter().map(|child| (child.name, child.children)).collect();
        (window.node, children)
    }

    #[test]
    fn windows() {
        let named = |name: &str, children| (name.to_owned(), children);
        assert_eq!(window(&[], 0).1, [named("a", 2), named("b", 0)]);
        assert_eq!(window(&[], 1).1, [named("b", 0)]);
        let (node, children) = window(&[0], 0);
        assert_eq!((node.unwrap().children, children), (2, vec![named("aa", 2), named("ab", 0)]));
        assert_eq!(window(&[0, 0], 1).1, [named("aab", 0)]);
        assert_eq!(window(&[1], 0).0.unwrap().name, "b");
        assert!(window(&[2], 0).0.is_none() && window(&[1, 0], 0).1.is_empty());
    }

    #[test]
    fn all_of_it() {
        let root = super::Nested { node: OutlineNode::default(), inside: Vec::new() };
        let mut whole = Whole { open: vec![root], below: 0, count: 0 };
        walk(&mut whole);
        let json = serde_json::to_value(&whole.open[0]).unwrap();
        assert_eq!((whole.count, &json["children"]), (6, &2.into()));
        assert_eq!(json["inside"][0]["inside"][0]["inside"][1]["name"], "aab");
    }

    #[test]
    fn paths() {
        let path = |at| {
            let mut path = Path { at, ..Path::default() };
            walk(&mut path);
            let nodes = path.path.into_iter();
            nodes.map(|node| (node.name, node.index.unwrap(), node.children)).collect::<Vec<_>>()
        };
        let node = |name: &str, index, children| (name.to_owned(), index, children);
        assert_eq!(path(2), [node("a", 0, 2), node("aa", 0, 2), node("aab", 1, 0)]);
        assert_eq!(path(11), [node("b", 1, 0)]);
        assert!(path(12).is_empty());
    }
}
