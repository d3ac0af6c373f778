//! What an AIR module must have beyond valid IR.
//!
//! | metadata | is |
//! |---|---|
//! | `air.version` | `{i32 major, i32 minor, i32 patch}` |
//! | `air.language_version` | `{"Metal", i32 major, i32 minor, i32 patch}` |
//! | `air.kernel`, `air.vertex`, `air.fragment`, … | `{function, returns, arguments, …}` each |
//! | an argument | `{i32 index, …, "air.KIND", …}`: one for each parameter of the function |
//!
//! The functions that a program calls are named `air.NAME.TYPE…`, and each type in a name is one of the function type.
//!
//! Knowledge: the metadata and the calls of 91,777 modules that Apple's and other compilers wrote.

use super::context::Context;
use super::findings::{Findings, Place};
use super::metadata_view::View;
use crate::ids::{MetadataId, TypeId};
use crate::types::Type;
use crate::value::ValueKind;
use alloc::vec;
use alloc::vec::Vec;

const MODULE: &str = "air-module";
const ENTRY: &str = "air-entry";
const CALL: &str = "air-call";

/// Maximum number of types in the name of a function of the library.
const MAX_TYPES: usize = 16;

/// Lists of entry points, and whether the functions return nothing.
const ENTRIES: &[(&[u8], bool)] = &[
    (b"air.kernel", true),
    (b"air.vertex", false),
    (b"air.fragment", false),
    (b"air.intersection", false),
    (b"air.mesh", true),
    (b"air.object", true),
    (b"air.visible", false),
];

impl Context<'_, '_> {
    /// Returns whether a module is AIR.
    pub(super) fn is_air(&self) -> bool {
        self.module.triple.starts_with(b"air64") || !self.module.named(b"air.version").is_empty()
    }

    /// Checks what an AIR module says of itself.
    pub(super) fn check_air(&self, findings: &mut Findings) {
        self.air_version(b"air.version", false, findings);
        self.air_version(b"air.language_version", true, findings);
        for (index, named) in self.module.named_metadata.iter().enumerate() {
            let Some(&(_, is_void)) = ENTRIES.iter().find(|(name, _)| *name == named.name) else { continue };
            findings.enter(Place::Named(index));
            for &id in &named.nodes {
                findings.enter(Place::Metadata(id));
                self.air_entry(id, is_void, findings);
            }
        }
        for (index, function) in self.module.functions.iter().enumerate() {
            findings.enter(Place::Function(index));
            if let Some(name) = function.symbol.name.strip_prefix(b"air.") {
                findings.require(function.declaration, CALL, "a function of the library is defined");
                self.air_signature(name, function.symbol.ty, findings);
            }
        }
    }

    fn air_version(&self, name: &[u8], has_name: bool, findings: &mut Findings) {
        let index = self.module.named_metadata.iter().position(|named| named.name == name);
        let Some(index) = index else {
            findings.enter(Place::Module);
            findings.require(false, MODULE, "the module does not have its version or that of its language");
            return;
        };
        findings.enter(Place::Named(index));
        let node = self.module.named(name).first().and_then(|&id| self.view(None, id));
        let first = usize::from(has_name);
        let holds = node.is_some_and(|view| {
            let named = !has_name || view.reference(0).is_some_and(|id| self.metadata_text(None, id).is_some());
            let numbers = (0..3).all(|at: usize| {
                let number = view.reference(at.saturating_add(first));
                number.is_some_and(|id| self.metadata_integer(None, id).is_some())
            });
            view.node.references as usize == first.saturating_add(3) && named && numbers
        });
        findings.require(holds, MODULE, "a version is not three numbers");
    }

    fn air_entry(&self, id: MetadataId, is_void: bool, findings: &mut Findings) {
        let view = self.view(None, id).filter(|view| view.node.references >= 3);
        let Some(view) = view else {
            findings.require(false, ENTRY, "an entry point has less than three operands");
            return;
        };
        let function = view.reference(0).and_then(|id| self.metadata_value(None, id));
        let function = function.and_then(|id| match self.value(None, self.stripped(None, id))?.kind {
            ValueKind::Function(index) => self.module.functions.get(index as usize),
            _ => None,
        });
        let Some(function) = function else {
            findings.require(false, ENTRY, "an entry point is no function");
            return;
        };
        let Type::Function { result, parameters, .. } = self.get(function.symbol.ty) else { return };
        if is_void {
            let returns = !matches!(self.get(result), Type::Void);
            findings.require(!returns, ENTRY, "a kernel returns a value");
        }
        let (returns, arguments) = (view.reference(1), view.reference(2));
        let lists = [returns, arguments].iter().all(|list| list.is_some_and(|id| self.view(None, id).is_some()));
        findings.require(lists, ENTRY, "the results or arguments of an entry point are no list");
        if let Some(arguments) = arguments.and_then(|id| self.view(None, id)) {
            self.air_arguments(&arguments, self.table().elements(parameters), findings);
        }
    }

    fn air_arguments(&self, arguments: &View<'_>, parameters: &[TypeId], findings: &mut Findings) {
        let mut described = vec![false; parameters.len()];
        for argument in arguments.references() {
            let Some(view) = argument.and_then(|id| self.view(None, id)) else {
                findings.require(false, ENTRY, "an argument is no node");
                continue;
            };
            if let Some(id) = argument {
                findings.enter(Place::Metadata(id));
            }
            let index = view.reference(0).and_then(|id| self.metadata_integer(None, id));
            let at = index.and_then(|index| usize::try_from(index).ok());
            let Some(slot) = at.and_then(|at| described.get_mut(at)) else {
                findings.require(false, ENTRY, "an argument has no index of a parameter");
                continue;
            };
            let first = !core::mem::replace(slot, true);
            findings.require(first, ENTRY, "a parameter is described twice");
            let ty = at.and_then(|at| parameters.get(at)).copied().unwrap_or(TypeId::NONE);
            self.air_argument(&view, ty, findings);
        }
        let all = described.iter().all(|&is| is);
        findings.require(all, ENTRY, "a parameter is not described");
    }

    fn air_argument(&self, view: &View<'_>, ty: TypeId, findings: &mut Findings) {
        let operands: Vec<Option<MetadataId>> = view.references().collect();
        let text = |at: usize| operands.get(at).copied().flatten().and_then(|id| self.metadata_text(None, id));
        // A function constant may decide whether the argument is there.
        let kind_at = if text(1) == Some(b"air.function_constant") { 3 } else { 1 };
        let Some(kind) = text(kind_at) else {
            findings.require(false, ENTRY, "an argument has no kind");
            return;
        };
        findings.require(kind.starts_with(b"air."), ENTRY, "the kind of an argument does not begin with air.");
        if matches!(kind, b"air.buffer" | b"air.indirect_buffer" | b"air.texture" | b"air.sampler") {
            findings.require(self.is_pointer(ty), ENTRY, "a buffer, texture or sampler is no pointer");
        }
        let value = |key: &[u8]| {
            let at = (kind_at..operands.len()).find(|&at| text(at) == Some(key))?;
            self.metadata_integer(None, operands.get(at.saturating_add(1)).copied().flatten()?)
        };
        if let (Some(stated), Some(actual)) = (value(b"air.address_space"), self.table().address_space(ty)) {
            findings.require(stated == u64::from(actual), ENTRY, "a buffer is in another address space than it states");
        }
    }

    /// Checks that the types in the name of a library function are those of its parameters and result.
    fn air_signature(&self, name: &[u8], ty: TypeId, findings: &mut Findings) {
        let Type::Function { result, parameters, .. } = self.get(ty) else { return };
        let parameters = self.table().elements(parameters);
        // The functions of tensors take structs in memory.
        if name.windows(6).any(|part| part == b"tensor") {
            return;
        }
        let parts = name.split(|&c| c == b'.').filter_map(NamedType::parse).take(MAX_TYPES);
        for named in parts {
            let is_there = core::iter::once(&result).chain(parameters).any(|&ty| self.is_named(&named, ty));
            if !is_there {
                let found = alloc::format!("{}", unshade_core::Escaped(name));
                findings.add_found(CALL, "a function of the library is named after a type that it does not have", found);
                return;
            }
        }
    }

    fn is_named(&self, named: &NamedType, ty: TypeId) -> bool {
        if let Type::Struct(structure) = self.get(ty) {
            return self.table().elements(structure.fields).iter().any(|&field| self.is_scalar_or_vector(named, field));
        }
        if named.pointer {
            return self.is_pointer(ty);
        }
        self.is_scalar_or_vector(named, ty)
    }

    fn is_scalar_or_vector(&self, named: &NamedType, ty: TypeId) -> bool {
        let count = self.lanes(ty).map_or(1, |(count, _)| count);
        let scalar = match self.scalar(ty) {
            Type::Half => Scalar::Float(16),
            Type::BFloat => Scalar::Brain,
            Type::Float => Scalar::Float(32),
            Type::Double => Scalar::Float(64),
            Type::Integer(width) => Scalar::Integer(width),
            Type::Unknown => return true,
            _ => return false,
        };
        count == named.count && scalar == named.scalar
    }
}

/// A number type in a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scalar {
    Float(u32),
    Brain,
    Integer(u32),
}

/// A type in the name of a library function: `p1v4f32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NamedType {
    pointer: bool,
    count: u32,
    scalar: Scalar,
}

impl NamedType {
    /// Parses a part of a name; none if it is no type.
    fn parse(text: &[u8]) -> Option<Self> {
        let (pointer, rest) = match text.strip_prefix(b"p") {
            Some(rest) => (true, number(rest)?.1),
            None => (false, text),
        };
        let (count, rest) = match rest.strip_prefix(b"v") {
            Some(rest) => number(rest)?,
            None => (1, rest),
        };
        let scalar = match rest {
            b"f16" => Scalar::Float(16),
            b"f32" => Scalar::Float(32),
            b"f64" => Scalar::Float(64),
            b"bf16" => Scalar::Brain,
            b"i1" => Scalar::Integer(1),
            b"i8" => Scalar::Integer(8),
            b"i16" => Scalar::Integer(16),
            b"i32" => Scalar::Integer(32),
            b"i64" => Scalar::Integer(64),
            _ => return None,
        };
        Some(Self { pointer, count, scalar })
    }
}

/// Splits a decimal number from the start of a text.
fn number(text: &[u8]) -> Option<(u32, &[u8])> {
    let digits = text.iter().take_while(|c| c.is_ascii_digit()).count();
    let (number, rest) = text.split_at_checked(digits).filter(|_| digits > 0)?;
    let number = core::str::from_utf8(number).ok()?.parse().ok()?;
    Some((number, rest))
}
