//! Where two reflections are different.
//!
//! They are compared from the root inwards: what they refer to counts, not the numbers of nodes, and a field that is absent
//! is equal to its default.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use unshade_core::Escaped;
use unshade_metallib::reflection::NodeId;
use unshade_metallib::reflection::schema::{FieldKind, Slot};
use unshade_metallib::reflection::tables::{OwnedTable, Value};

/// The text of a field that a table does not have.
const ABSENT: &str = "nothing";

/// The first difference between two reflections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The names of fields and nodes, from the root inwards.
    pub path: Vec<String>,
    /// What the first has there.
    pub left: String,
    /// What the second has there.
    pub right: String,
}

/// Returns the first difference between two reflections, given by their roots.
pub fn difference(left: &OwnedTable<'_>, right: &OwnedTable<'_>) -> Option<Difference> {
    let mut comparison =
        Comparison { left: nodes(left), right: nodes(right), compared: BTreeSet::new(), waiting: Vec::new() };
    let found = comparison.tables(left, right, &[]);
    found.or_else(|| {
        while let Some((left, right, path)) = comparison.waiting.pop() {
            let found = comparison.nodes(left, right, path);
            if found.is_some() {
                return found;
            }
        }
        None
    })
}

fn nodes<'t, 'a>(root: &'t OwnedTable<'a>) -> &'t [OwnedTable<'a>] {
    match root.get("nodes") {
        Some(Value::Tables(nodes)) => nodes,
        _ => &[],
    }
}

struct Comparison<'t, 'a> {
    left: &'t [OwnedTable<'a>],
    right: &'t [OwnedTable<'a>],
    /// The pairs of nodes that were compared, or wait for it.
    compared: BTreeSet<(NodeId, NodeId)>,
    /// Pairs of nodes to compare, and where they are.
    waiting: Vec<(NodeId, NodeId, Vec<String>)>,
}

impl<'t> Comparison<'t, '_> {
    fn nodes(&mut self, left: NodeId, right: NodeId, path: Vec<String>) -> Option<Difference> {
        let (Some(old), Some(new)) = (self.left.get(left.0 as usize), self.right.get(right.0 as usize))
        else {
            let both_missing = self.left.len() <= left.0 as usize && self.right.len() <= right.0 as usize;
            return (!both_missing).then(|| Difference {
                path,
                left: format!("node {}", left.0),
                right: format!("node {}", right.0),
            });
        };
        self.tables(old, new, &path)
    }

    fn tables(
        &mut self,
        left: &OwnedTable<'t>,
        right: &OwnedTable<'t>,
        path: &[String],
    ) -> Option<Difference> {
        if left.schema() != right.schema() || left.node_type() != right.node_type() {
            let (left, right) = (left.schema().name.to_string(), right.schema().name.to_string());
            return Some(Difference { path: path.to_vec(), left, right });
        }
        let slots = left.schema().slots.iter().filter(|slot| slot.name != "nodes");
        for slot in slots {
            let mut path = path.to_vec();
            path.push(slot.name.to_string());
            let found = self.values(slot, left.get(slot.name), right.get(slot.name), path);
            if found.is_some() {
                return found;
            }
        }
        None
    }

    fn values(
        &mut self,
        slot: &Slot,
        left: Option<&Value<'t>>,
        right: Option<&Value<'t>>,
        mut path: Vec<String>,
    ) -> Option<Difference> {
        match (left, right) {
            (Some(Value::Node(left)), Some(Value::Node(right))) => {
                self.wait(*left, *right, path);
                return None;
            }
            (Some(Value::Nodes(left)), Some(Value::Nodes(right))) if left.len() == right.len() => {
                // The first is compared first.
                for (index, (left, right)) in left.iter().zip(right).enumerate().rev() {
                    let mut path = path.clone();
                    path.push(index.to_string());
                    self.wait(*left, *right, path);
                }
                return None;
            }
            (Some(Value::Table(left)), Some(Value::Table(right))) => return self.tables(left, right, &path),
            (Some(Value::Tables(left)), Some(Value::Tables(right))) if left.len() == right.len() => {
                for (index, (left, right)) in left.iter().zip(right).enumerate() {
                    path.push(index.to_string());
                    let found = self.tables(left, right, &path);
                    if found.is_some() {
                        return found;
                    }
                    path.pop();
                }
                return None;
            }
            _ => {}
        }
        if left == right || (is_default(slot, left) && is_default(slot, right)) {
            return None;
        }
        Some(Difference { path, left: shown(slot, left), right: shown(slot, right) })
    }

    /// Compares two nodes later, unless they were compared before.
    fn wait(&mut self, left: NodeId, right: NodeId, path: Vec<String>) {
        if self.compared.insert((left, right)) {
            self.waiting.push((left, right, path));
        }
    }
}

/// Returns whether a value is absent, or that of an absent field.
fn is_default(slot: &Slot, value: Option<&Value<'_>>) -> bool {
    match value {
        None => true,
        Some(Value::Bool(flag)) => !flag,
        Some(Value::Number(number)) => slot.kind == FieldKind::U32 && *number == u32::from(slot.default),
        Some(Value::Enum(raw)) => *raw == slot.default,
        Some(Value::Text(text)) => text.is_empty(),
        Some(Value::Nodes(list)) => list.is_empty(),
        Some(Value::Numbers(list)) => list.is_empty(),
        Some(Value::Texts(list)) => list.is_empty(),
        Some(Value::Tables(list)) => list.is_empty(),
        Some(Value::Version(_) | Value::Bitfield(_) | Value::Node(_) | Value::Table(_)) => false,
    }
}

fn shown(slot: &Slot, value: Option<&Value<'_>>) -> String {
    let entries = |count: usize| format!("{count} {}", if count == 1 { "entry" } else { "entries" });
    match value {
        None => ABSENT.to_string(),
        Some(Value::Bool(flag)) => flag.to_string(),
        Some(Value::Number(number)) => number.to_string(),
        Some(Value::Enum(raw)) => match slot.kind {
            FieldKind::Enum(names) => {
                (names.value_name)(*raw).map_or_else(|| raw.to_string(), str::to_string)
            }
            _ => raw.to_string(),
        },
        Some(Value::Version(version)) => version.to_string(),
        Some(Value::Bitfield(bits)) => format!("{bits:?}"),
        Some(Value::Node(id)) => format!("node {}", id.0),
        Some(Value::Text(text)) => Escaped(text).quoted(),
        Some(Value::Table(table)) => table.schema().name.to_string(),
        Some(Value::Nodes(list)) => entries(list.len()),
        Some(Value::Numbers(list)) => entries(list.len()),
        Some(Value::Texts(list)) => entries(list.len()),
        Some(Value::Tables(list)) => entries(list.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Difference, difference};
    use alloc::string::ToString;
    use alloc::vec;
    use unshade_metallib::reflection::NodeId;
    use unshade_metallib::reflection::schema::{self, Access, NodeType};
    use unshade_metallib::reflection::tables::{OwnedTable, Value};

    /// A kernel with a buffer, and where its nodes are.
    fn reflection(access: Access, name: &'static [u8], places: [usize; 2]) -> OwnedTable<'static> {
        let [kernel_at, buffer_at] = places;
        let mut buffer = OwnedTable::of_node(NodeType::BUFFER_ARG).unwrap();
        buffer.set("access_qualifier", Value::Enum(access.0)).unwrap();
        buffer.set("name", Value::Text(name.into())).unwrap();
        let mut kernel = OwnedTable::of_node(NodeType::KERNEL_FUNCTION).unwrap();
        kernel.set("arguments", Value::Nodes(vec![NodeId(buffer_at as u32)])).unwrap();
        let mut nodes = vec![buffer.clone(); 2];
        nodes[kernel_at] = kernel;
        nodes[buffer_at] = buffer;
        let mut root = OwnedTable::new(&schema::ROOT);
        root.set("nodes", Value::Tables(nodes)).unwrap();
        root.set("kernel_functions", Value::Nodes(vec![NodeId(kernel_at as u32)])).unwrap();
        root
    }

    #[test]
    fn the_first_difference_has_a_path() {
        let old = reflection(Access::READ, b"a", [0, 1]);
        assert_eq!(difference(&old, &old), None);
        assert_eq!(
            difference(&old, &reflection(Access::READ, b"a", [1, 0])),
            None,
            "numbers of nodes don't count"
        );
        let path = ["kernel_functions", "0", "arguments", "0", "access_qualifier"]
            .map(|name| name.to_string())
            .to_vec();
        let found = difference(&old, &reflection(Access::WRITE, b"b", [1, 0]));
        assert_eq!(found, Some(Difference { path, left: "read".into(), right: "write".into() }));
        let found = difference(&old, &reflection(Access::READ, b"b", [0, 1])).unwrap();
        assert_eq!((found.left.as_str(), found.right.as_str()), ("\"a\"", "\"b\""));
        let found = difference(&old, &OwnedTable::new(&schema::ROOT)).unwrap();
        assert_eq!((found.left.as_str(), found.right.as_str()), ("1 entry", "nothing"));
    }

    #[test]
    fn absent_fields_have_their_defaults() {
        let named = reflection(Access::READ, b"", [0, 1]);
        let mut plain = named.clone();
        if let Some(Value::Tables(mut nodes)) = plain.get("nodes").cloned() {
            let mut buffer = OwnedTable::of_node(NodeType::BUFFER_ARG).unwrap();
            buffer.set("access_qualifier", Value::Enum(Access::READ.0)).unwrap();
            nodes[1] = buffer;
            plain.set("nodes", Value::Tables(nodes)).unwrap();
        }
        assert_eq!(difference(&named, &plain), None);
    }
}
