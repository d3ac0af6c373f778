//! Parameters that are structures: a declaration of what is read of each.
//!
//! Members have the names of their offsets, `at_16`; those of one type that stand side by side are one line. What is not
//! read is padding. Parameters of one layout have one type, the first one's.

use super::{Printer, wrap};

/// The types of structures: their declarations, and which parameter has which.
#[derive(Debug, Default)]
pub(super) struct Structures {
    /// Declarations, by their lines.
    pub(super) lines: Vec<String>,
    /// The number of a parameter, and the name of its type.
    names: Vec<(usize, String)>,
}

impl Structures {
    /// The name of a parameter's type, if it is a structure.
    pub(super) fn name(&self, parameter: usize) -> Option<&str> {
        self.names.iter().find(|name| name.0 == parameter).map(|name| name.1.as_str())
    }
}

impl Printer<'_> {
    /// The structures among the parameters.
    pub(super) fn structures(&self) -> Structures {
        let mut structures = Structures::default();
        let mut known: Vec<(Vec<String>, String)> = Vec::new();
        for index in 0..self.parameters.len() {
            if self.parameter_type(index).is_some() {
                continue;
            }
            let members = self.members(index);
            if let Some(same) = known.iter().find(|other| other.0 == members) {
                structures.names.push((index, same.1.clone()));
                continue;
            }
            let name = format!("{}_param_{}", self.source.name, index + 1);
            structures.lines.push(format!("struct {name} {{"));
            for member in &members {
                wrap::lines(member, 4, |line| structures.lines.push(line));
            }
            structures.lines.push(String::from("};"));
            structures.names.push((index, name.clone()));
            known.push((members, name));
        }
        structures
    }

    /// The members of a structure, as they are declared.
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
            let name = super::declaration(*ty, &format!("at_{offset}"));
            match members.last_mut() {
                Some(line) if is_next => {
                    let star = if ty.name().ends_with('*') { "*" } else { "" };
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
