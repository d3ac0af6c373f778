//! Members of structures in memory: `base[i].at_4`, `base->rows[i][j]`, and the definitions of their types.

use super::type_name::TypeNames;
use super::{GlobalKind, Printer, wrap};
use crate::address::Address;
use crate::ir::{IdVec, Member, Module, Structure, StructureId};
use crate::layout::size::{align_of, size_of};
use crate::types::Type;
use std::borrow::Cow;

/// Maximum depth of structures in structures.
const MAX_DEPTH: usize = 8;

/// How an access reaches a member.
#[derive(Debug, Default)]
struct Path<'m> {
    /// The element of the structure itself.
    element: Address,
    steps: Vec<Step<'m>>,
}

#[derive(Debug)]
enum Step<'m> {
    Name(&'m str),
    /// An index in units of this number of bytes.
    Index(Address, u32),
}

impl Printer<'_, '_> {
    /// Returns the type of the member that an address refers to.
    pub(super) fn member_type(&self, id: StructureId, address: &Address) -> Option<Type> {
        path(&self.module.structures, id, address).map(|found| found.1)
    }

    /// Returns the member that an address refers to as an lvalue, and its type. `base` is the text of a pointer to the
    /// structure.
    pub(super) fn member(
        &mut self,
        base: &str,
        id: StructureId,
        address: &Address,
    ) -> Option<(String, Type)> {
        let module = self.module;
        let size = i64::from(module.structures.get(id)?.size.max(1));
        let (path, ty) = path(&module.structures, id, address)?;
        let index = self.index(&path.element, size);
        let mut text = match index.as_str() {
            "0" => format!("{base}->"),
            index => format!("{base}[{index}]."),
        };
        let steps = self.steps(&path);
        text.push_str(steps.strip_prefix('.').unwrap_or(&steps));
        Some((text, ty))
    }

    /// Returns the type of what an address refers to in an object: a member of the structure that a memory is.
    pub(super) fn object_type(&self, id: StructureId, member: usize, address: &Address) -> Option<Type> {
        object_path(&self.module.structures, id, member, address).map(|found| found.1)
    }

    /// Returns what an address refers to in an object as an lvalue, and its type. `base` is the name of the memory.
    pub(super) fn object(
        &mut self,
        base: &str,
        id: StructureId,
        member: usize,
        address: &Address,
    ) -> Option<(String, Type)> {
        let (path, ty) = object_path(&self.module.structures, id, member, address)?;
        Some((format!("{base}{}", self.steps(&path)), ty))
    }

    /// Returns the text of a path below its element.
    fn steps(&mut self, path: &Path<'_>) -> String {
        let mut text = String::new();
        for step in &path.steps {
            match step {
                Step::Name(name) => text.extend([".", name]),
                Step::Index(address, bytes) => {
                    let index = self.index(address, i64::from(*bytes));
                    text.extend(["[", &index, "]"]);
                }
            }
        }
        text
    }

    /// Returns the member of a parameter with a known structure, and its type.
    pub(super) fn parameter_member(&self, id: StructureId, inside: u32) -> Option<(String, Type)> {
        let address = Address { offset: i64::from(inside), ..Address::default() };
        let (path, ty) = path(&self.module.structures, id, &address)?;
        let mut text = String::new();
        for step in &path.steps {
            match step {
                Step::Name(name) => text.extend([".", name]),
                Step::Index(address, bytes) => {
                    text.push_str(&format!("[{}]", address.offset / i64::from(*bytes)));
                }
            }
        }
        (path.element.offset == 0).then_some((text, ty))
    }

    /// Declares the structures that the text names.
    pub(super) fn declare_structures(&mut self, text: &dyn Fn(&str) -> bool) {
        let module = self.module;
        let names = TypeNames::new(module);
        let mut wanted: Vec<StructureId> = module
            .structures
            .entries()
            .filter(|(id, structure)| !structure.is_builtin && text(&names.structure(*id)))
            .map(|(id, _)| id)
            .collect();
        let mut declared: Vec<StructureId> = Vec::new();
        while let Some(id) = wanted.pop() {
            if declared.contains(&id) {
                continue;
            }
            declared.push(id);
            let depth = depth(&module.structures, id, 0);
            let Some(structure) = module.structures.get(id) else { continue };
            wanted.extend(structure.members.iter().filter_map(|member| match member.ty {
                Type::Structure(id) if module.structures.get(id).is_some_and(|inner| !inner.is_builtin) => {
                    Some(id)
                }
                _ => None,
            }));
            let name = names.structure(id).into_owned();
            let text = definition(module, names, &name, structure);
            self.global(GlobalKind::Type(depth), &name, text);
        }
    }
}

/// Returns how deeply structures are nested in one. Those that contain themselves have the maximum.
fn depth(structures: &IdVec<StructureId, Structure>, id: StructureId, level: usize) -> u8 {
    let Some(structure) = structures.get(id).filter(|_| level < MAX_DEPTH) else { return 0 };
    let inner = structure.members.iter().filter_map(|member| match member.ty {
        Type::Structure(inner) => Some(depth(structures, inner, level + 1)),
        _ => None,
    });
    inner.max().map_or(0, |depth| depth + 1)
}

/// Returns the path to the member that contains a byte, and the member's type.
fn path<'m>(
    structures: &'m IdVec<StructureId, Structure>,
    id: StructureId,
    address: &Address,
) -> Option<(Path<'m>, Type)> {
    let size = i64::from(structures.get(id)?.size);
    if size == 0 {
        return None;
    }
    let (outer, inner): (Vec<_>, Vec<_>) =
        address.terms.iter().copied().partition(|term| term.1.is_multiple_of(size.cast_unsigned()));
    let element = Address { base: None, terms: outer, offset: address.offset.div_euclid(size) * size };
    let path = Path { element, steps: Vec::new() };
    let rest = Address { base: None, terms: inner, offset: address.offset.rem_euclid(size) };
    let member = member_at(structures, structures.get(id)?, rest.offset)?;
    path_within(structures, path, member, rest)
}

/// Returns the path to what an address refers to, which is in a member of a structure whatever its indices are.
fn object_path<'m>(
    structures: &'m IdVec<StructureId, Structure>,
    id: StructureId,
    member: usize,
    address: &Address,
) -> Option<(Path<'m>, Type)> {
    let member = structures.get(id)?.members.get(member)?;
    path_within(structures, Path::default(), member, Address { base: None, ..address.clone() })
}

/// Continues a path in a member of a structure, in which an address is.
fn path_within<'m>(
    structures: &'m IdVec<StructureId, Structure>,
    mut path: Path<'m>,
    mut member: &'m Member,
    mut rest: Address,
) -> Option<(Path<'m>, Type)> {
    for _ in 0..MAX_DEPTH {
        rest.offset -= i64::from(member.offset);
        path.steps.push(Step::Name(&member.name));
        rest = indices(&mut path, member, size_of(structures, member.ty), rest)?;
        match member.ty {
            Type::Structure(inner) => member = member_at(structures, structures.get(inner)?, rest.offset)?,
            ty => return (rest.offset == 0 && rest.terms.is_empty()).then_some((path, ty)),
        }
    }
    None
}

/// Adds the indices of an array's dimensions to a path. Returns the rest of the address.
fn indices<'m>(path: &mut Path<'m>, member: &Member, bytes: u32, rest: Address) -> Option<Address> {
    let mut rest = rest;
    let mut unit = member.counts.iter().skip(1).try_fold(bytes, |unit, count| unit.checked_mul(*count))?;
    for count in member.counts.iter().skip(1).copied().map(Some).chain([None]).take(member.counts.len()) {
        if unit == 0 {
            return None;
        }
        let (terms, inner) =
            rest.terms.iter().copied().partition(|term| term.1.is_multiple_of(u64::from(unit)));
        // Before the start, as in `a[i][j - 1]`, an offset is one of the last index.
        let offset = match count {
            Some(_) => rest.offset / i64::from(unit) * i64::from(unit),
            None => rest.offset.div_euclid(i64::from(unit)) * i64::from(unit),
        };
        path.steps.push(Step::Index(Address { base: None, terms, offset }, unit));
        rest = Address { base: None, terms: inner, offset: rest.offset - offset };
        unit = count.map_or(unit, |count| unit / count.max(1));
    }
    Some(rest)
}

/// Returns the member that contains a byte.
fn member_at<'m>(
    structures: &IdVec<StructureId, Structure>,
    structure: &'m Structure,
    offset: i64,
) -> Option<&'m Member> {
    structure.members.iter().rev().find_map(|member| {
        let bytes = size_of(structures, member.ty);
        let count =
            member.counts.iter().try_fold(1_u64, |count, other| count.checked_mul(u64::from(*other)))?;
        let start = i64::from(member.offset);
        let size = i64::try_from(count.checked_mul(u64::from(bytes))?).ok()?;
        (start..start.checked_add(size)?).contains(&offset).then_some(member)
    })
}

/// Returns the definition of a structure.
fn definition(module: &Module<'_>, names: TypeNames<'_>, name: &str, structure: &Structure) -> String {
    let mut lines = vec![format!("struct {name} {{")];
    lines.extend(member_lines(module, names, structure));
    lines.push(String::from("};"));
    lines.join("\n")
}

/// Returns the lines of a structure's members. Padding is explicit where alignment alone doesn't give it.
pub(super) fn member_lines(module: &Module<'_>, names: TypeNames<'_>, structure: &Structure) -> Vec<String> {
    let structures = &module.structures;
    let mut lines: Vec<String> = Vec::new();
    let (mut end, mut align) = (0_u32, 1);
    let mut last = None;
    for member in &structure.members {
        let own = align_of(structures, member.ty).max(1);
        if member.offset < end {
            // Another member of a union.
            continue;
        }
        if end.next_multiple_of(own) != member.offset {
            lines.push(format!("    unsigned char padding_{end}[{}];", member.offset - end));
            last = None;
        }
        let ty = names.of(member.ty);
        let star = if ty.ends_with('*') { "*" } else { "" };
        let counts: String = member.counts.iter().map(|count| format!("[{count}]")).collect();
        match lines.last_mut() {
            Some(line) if last == Some(member.ty) && member.counts.is_empty() => {
                line.truncate(line.len() - 1);
                line.push_str(&format!(", {star}{};", member.name));
            }
            _ => {
                let space = if star.is_empty() { " " } else { "" };
                lines.push(format!("    {ty}{space}{}{counts};", member.name));
            }
        }
        let count = member.counts.iter().fold(1_u32, |count, other| count.saturating_mul(*other));
        end = member.offset.saturating_add(size_of(structures, member.ty).saturating_mul(count));
        align = align.max(own);
        last = Some(member.ty).filter(|_| member.counts.is_empty());
    }
    if end.next_multiple_of(align) < structure.size {
        lines.push(format!("    unsigned char padding_{end}[{}];", structure.size - end));
    }
    let mut wrapped = Vec::new();
    for line in &lines {
        wrap::lines(line.trim_start(), 4, |line| wrapped.push(line));
    }
    wrapped
}

/// Returns the text of a pointer to a member whose lvalue is `text`.
pub(super) fn address_of_member(text: &str) -> Cow<'_, str> {
    // The first element of an array is what its name means.
    match text.strip_suffix("[0]") {
        Some(array) => Cow::Borrowed(array),
        None => Cow::Owned(format!("&{text}")),
    }
}
