//! Spells types that are described by nodes, as in Metal source.
//!
//! Only stitchable functions use such nodes; elsewhere the file has the name of the type as text.

use super::schema::{AddressSpace, NodeType};
use super::{FieldValue, Node, NodeId, Reflection};
use alloc::format;
use alloc::string::String;
use core::fmt::Write;
use unshade_core::{Error, ErrorKind, Escaped, Result};

/// Maximum nesting depth of types. Real types stay below 10.
const MAX_DEPTH: usize = 32;

/// Maximum length of a type's name: a hostile function type may refer to itself twice at every level.
const MAX_LENGTH: usize = 4_096;

/// Returns the name of the type that a node describes.
pub(super) fn spell(reflection: &Reflection<'_>, id: NodeId) -> Result<String> {
    let mut out = String::new();
    Speller { reflection, out: &mut out }.spell(id, 0)?;
    Ok(out)
}

struct Speller<'r, 'a> {
    reflection: &'r Reflection<'a>,
    out: &'r mut String,
}

impl<'a> Speller<'_, 'a> {
    fn spell(&mut self, id: NodeId, depth: usize) -> Result<()> {
        if depth > MAX_DEPTH || self.out.len() > MAX_LENGTH {
            let at = self.reflection.buffer().base();
            return Err(Error::new(ErrorKind::Limit, at, "types are nested too deeply")
                .expected(format!("at most {MAX_DEPTH} levels and {MAX_LENGTH} characters")));
        }
        let depth = depth.saturating_add(1);
        let node = self.reflection.node(id)?;
        self.qualifiers(&node)?;
        let spelling = node.kind().schema().map_or("", |schema| schema.spelling);
        match node.kind() {
            NodeType::POINTER_TYPE | NodeType::LVALUE_REFERENCE_TYPE | NodeType::RVALUE_REFERENCE_TYPE => {
                self.inner(&node, "pointee_type", depth)?;
                self.out.push_str(spelling);
            }
            NodeType::VECTOR_TYPE | NodeType::PACKED_VECTOR_TYPE => {
                self.out.push_str(spelling);
                self.inner(&node, "element_type", depth)?;
                self.number(&node, "num_elements")?;
            }
            NodeType::MATRIX_TYPE => {
                self.inner(&node, "element_type", depth)?;
                self.number(&node, "num_columns")?;
                self.out.push('x');
                self.number(&node, "num_rows")?;
            }
            NodeType::ARRAY_TYPE => {
                self.inner(&node, "element_type", depth)?;
                self.out.push('[');
                self.number(&node, "num_elements")?;
                self.out.push(']');
            }
            NodeType::FUNCTION_TYPE => {
                self.inner(&node, "return_type", depth)?;
                self.out.push('(');
                if let Some(FieldValue::Nodes(ids)) = node.get("param_types")? {
                    for (index, id) in ids.iter().enumerate() {
                        self.out.push_str(if index == 0 { "" } else { ", " });
                        self.spell(id, depth)?;
                    }
                }
                self.out.push(')');
            }
            _ => {
                self.name(&node, spelling)?;
                self.parameters(&node, depth)?;
            }
        }
        Ok(())
    }

    /// Writes the address space of a pointee.
    fn qualifiers(&mut self, node: &Node<'a>) -> Result<()> {
        let Some(FieldValue::Nodes(ids)) = node.get("qualifiers")? else { return Ok(()) };
        // A type has at most one address space; longer lists are not worth following.
        for id in ids.iter().take(4) {
            if let Some(FieldValue::Enum(_, raw)) = self.reflection.node(id)?.get("address_space")? {
                let _ = write!(self.out, "{} ", AddressSpace(raw));
            }
        }
        Ok(())
    }

    /// Writes the name of a record or enumeration, or the Metal spelling of the type.
    fn name(&mut self, node: &Node<'a>, spelling: &str) -> Result<()> {
        match node.get("name")? {
            Some(FieldValue::Text(name)) => {
                let _ = write!(self.out, "{}", Escaped(name.get(..MAX_LENGTH).unwrap_or(name)));
            }
            _ if spelling.is_empty() => {
                let _ = write!(self.out, "/* {} */", node.kind());
            }
            _ => self.out.push_str(spelling),
        }
        Ok(())
    }

    /// Writes the list in angle brackets: types, numbers and enumerators, in slot order.
    fn parameters(&mut self, node: &Node<'a>, depth: usize) -> Result<()> {
        let mut separator = "<";
        for field in node.fields() {
            let field = field?;
            let shown = match field.value {
                FieldValue::Node(_) => field.name != "underlying_type" || node.kind() != NodeType::ENUM_TYPE,
                FieldValue::Number(_) => !matches!(field.name, "size" | "alignment"),
                FieldValue::Bool(flag) => flag,
                FieldValue::Enum(..) | FieldValue::Numbers(_) => true,
                _ => false,
            };
            if !shown {
                continue;
            }
            self.out.push_str(separator);
            separator = ", ";
            match field.value {
                FieldValue::Node(id) => self.spell(id, depth)?,
                FieldValue::Number(number) => {
                    let _ = write!(self.out, "{number}");
                }
                FieldValue::Enum(names, raw) => match (names.value_name)(raw) {
                    Some(name) => {
                        let _ = write!(self.out, "{}{name}", prefix(names.name));
                    }
                    None => {
                        let _ = write!(self.out, "{raw}");
                    }
                },
                FieldValue::Numbers(numbers) => {
                    for (index, number) in numbers.iter().take(16).enumerate() {
                        let _ = write!(self.out, "{}{number}", if index == 0 { "" } else { ", " });
                    }
                }
                _ => self.out.push_str(field.name),
            }
        }
        if separator != "<" {
            self.out.push('>');
        }
        Ok(())
    }

    fn inner(&mut self, node: &Node<'a>, slot: &str, depth: usize) -> Result<()> {
        match node.get(slot)? {
            Some(FieldValue::Node(id)) => self.spell(id, depth),
            _ => {
                self.out.push_str("void");
                Ok(())
            }
        }
    }

    fn number(&mut self, node: &Node<'a>, slot: &str) -> Result<()> {
        if let Some(FieldValue::Number(number)) = node.get(slot)? {
            let _ = write!(self.out, "{number}");
        }
        Ok(())
    }
}

/// Returns the scope of an enumeration's values in Metal source.
fn prefix(enumeration: &str) -> &'static str {
    match enumeration {
        "Access" => "access::",
        "Topology" => "topology::",
        _ => "",
    }
}
