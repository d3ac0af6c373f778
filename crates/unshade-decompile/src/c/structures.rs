//! Structure parameters: a declaration of the fields that are read of each.
//!
//! Fields are named by their offset, as `at_16`; consecutive ones of the same type share a line. Bytes that are not
//! read are padding. Parameters with the same layout share the type of the first one.

use super::{Printer, wrap};
use crate::types::Type;

/// The structure types: their declarations, and the parameters that have them.
#[derive(Debug, Default)]
pub(super) struct Structures {
    /// The lines of the declarations.
    pub(super) lines: Vec<String>,
    /// The index of a parameter, and the name of its type.
    names: Vec<(usize, String)>,
}

impl Structures {
    /// Returns the name of a parameter's type, if it is a structure.
    pub(super) fn name(&self, parameter: usize) -> Option<&str> {
        self.names.iter().find(|name| name.0 == parameter).map(|name| name.1.as_str())
    }
}

impl Printer<'_, '_> {
    /// Returns the structure types of the parameters.
    pub(super) fn structures(&self) -> Structures {
        let mut structures = Structures::default();
        let mut known: Vec<(Vec<String>, String)> = Vec::new();
        for index in 0..self.parameters.len() {
            if self.parameter_type(index).is_some() {
                continue;
            }
            if let Some(Type::Structure(id)) = self.parameters[index].ty {
                structures.names.push((index, self.type_name(Type::Structure(id)).into_owned()));
                continue;
            }
            let members = self.members(index);
            if let Some(same) = known.iter().find(|other| other.0 == members) {
                structures.names.push((index, same.1.clone()));
                continue;
            }
            let name = format!("struct {}_param_{}", self.module.name, index + 1);
            structures.lines.push(format!("{name} {{"));
            for member in &members {
                wrap::lines(member, 4, |line| structures.lines.push(line));
            }
            structures.lines.push(String::from("};"));
            structures.names.push((index, name.clone()));
            known.push((members, name));
        }
        structures
    }

    /// Returns the declarations of a structure's fields.
    fn members(&self, index: usize) -> Vec<String> {
        let mut members: Vec<String> = Vec::new();
        let padding = |from: u32, to: u32| format!("unsigned char padding_{from}[{}];", to - from);
        let mut at = 0;
        let mut last = None;
        for (_, offset, ty) in self.fields.iter().filter(|field| field.0 == index) {
            let offset = *offset;
            let is_next = offset == at && last == Some(ty);
            if offset > at {
                members.push(padding(at, offset));
            }
            let name = self.declaration(*ty, &format!("at_{offset}"));
            match members.last_mut() {
                Some(line) if is_next => {
                    let star = if self.type_name(*ty).ends_with('*') { "*" } else { "" };
                    line.truncate(line.len() - 1);
                    line.push_str(&format!(", {star}at_{offset};"));
                }
                _ => members.push(format!("{name};")),
            }
            at = offset + u32::from(ty.bits()).max(8) / 8;
            last = Some(ty);
        }
        let size = self.parameters[index].size;
        if size > at {
            members.push(padding(at, size));
        }
        members
    }
}
