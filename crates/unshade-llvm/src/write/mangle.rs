//! The names of symbols in object files.
//!
//! Knowledge: `Mangler.cpp` and the mangling modes of data layouts in LLVM 14 and 19.

use super::Version;
use crate::attributes::{Attribute, index, kind};
use crate::global::{Function, Linkage, Symbol};
use crate::module::Module;
use crate::types::Type;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;

/// Calling conventions of Microsoft's compilers that change names.
mod convention {
    pub(super) const STDCALL: u32 = 64;
    pub(super) const FASTCALL: u32 = 65;
    pub(super) const VECTORCALL: u32 = 80;
}

/// How a data layout asks for names to be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    None,
    Elf,
    Goff,
    MachO,
    Mips,
    WinCoff,
    WinCoffX86,
    Xcoff,
}

impl Mode {
    fn of(data_layout: &[u8]) -> Self {
        let specification =
            data_layout.split(|&byte| byte == b'-').rev().find_map(|part| part.strip_prefix(b"m:"));
        match specification {
            Some(b"e") => Self::Elf,
            Some(b"l") => Self::Goff,
            Some(b"o") => Self::MachO,
            Some(b"m") => Self::Mips,
            Some(b"w") => Self::WinCoff,
            Some(b"x") => Self::WinCoffX86,
            Some(b"a") => Self::Xcoff,
            _ => Self::None,
        }
    }

    fn private_prefix(self, version: Version) -> &'static [u8] {
        match self {
            Self::None => b"",
            Self::Elf | Self::WinCoff => b".L",
            Self::Goff if version == Version::Llvm14 => b"@",
            Self::Goff => b"L#",
            Self::Mips => b"$",
            Self::MachO | Self::WinCoffX86 => b"L",
            Self::Xcoff => b"L..",
        }
    }
}

/// Makes the names of symbols, and numbers those without a name.
pub(crate) struct Mangler<'i, 'a> {
    module: &'i Module<'a>,
    mode: Mode,
    version: Version,
    /// The numbers of symbols without a name, by value.
    numbers: BTreeMap<u32, usize>,
}

impl<'i, 'a> Mangler<'i, 'a> {
    pub(crate) fn new(module: &'i Module<'a>, version: Version) -> Self {
        Self { module, mode: Mode::of(&module.data_layout_text), version, numbers: BTreeMap::new() }
    }

    /// Returns the first character of most names, if they get one.
    pub(super) fn prefix(&self) -> Option<u8> {
        matches!(self.mode, Mode::MachO | Mode::WinCoffX86).then_some(b'_')
    }

    /// Returns the name of a symbol. `function` is the function that it is, or that it is another name of.
    pub(crate) fn name(&mut self, symbol: &Symbol, function: Option<&Function>) -> Vec<u8> {
        let mut text = Vec::new();
        if symbol.name.is_empty() {
            let next = self.numbers.len() + 1;
            let number = *self.numbers.entry(symbol.value.0).or_insert(next);
            self.push(symbol, format!("__unnamed_{number}").as_bytes(), self.prefix(), &mut text);
            return text;
        }
        let is_windows = matches!(self.mode, Mode::WinCoff | Mode::WinCoffX86);
        let is_literal = symbol.name.starts_with(b"\x01") || is_windows && symbol.name.starts_with(b"?");
        let function = function.filter(|function| {
            let changes =
                self.mode == Mode::WinCoffX86 || function.calling_convention == convention::VECTORCALL;
            !is_literal && changes
        });
        let prefix = match function.map(|function| function.calling_convention) {
            Some(convention::FASTCALL) => Some(b'@'),
            Some(convention::VECTORCALL) => None,
            _ => self.prefix(),
        };
        self.push(symbol, &symbol.name, prefix, &mut text);
        if let Some(function) = function {
            self.push_argument_size(function, &mut text);
        }
        text
    }

    fn push(&self, symbol: &Symbol, name: &[u8], prefix: Option<u8>, to: &mut Vec<u8>) {
        if let Some(literal) = name.strip_prefix(b"\x01") {
            to.extend_from_slice(literal);
            return;
        }
        let is_windows = matches!(self.mode, Mode::WinCoff | Mode::WinCoffX86);
        let prefix = prefix.filter(|_| !(is_windows && name.starts_with(b"?")));
        if symbol.linkage == Linkage::Private {
            to.extend_from_slice(self.mode.private_prefix(self.version));
        }
        to.extend(prefix);
        to.extend_from_slice(name);
    }

    /// Appends the size of the arguments in bytes, as some conventions of Microsoft's compilers ask for.
    fn push_argument_size(&self, function: &Function, to: &mut Vec<u8>) {
        let convention = function.calling_convention;
        if convention == convention::VECTORCALL {
            to.push(b'@');
        }
        let types = &self.module.types;
        let Type::Function { parameters, variadic, .. } = types.get(function.symbol.ty) else { return };
        let parameters = types.elements(parameters);
        let is_result = |at: usize| self.attribute(function, at, kind::STRUCT_RESULT).is_some();
        let is_result_only = parameters.len() == 1 && is_result(0);
        let has_size =
            matches!(convention, convention::STDCALL | convention::FASTCALL | convention::VECTORCALL);
        if !has_size || variadic && !parameters.is_empty() && !is_result_only {
            return;
        }
        let layout = &self.module.data_layout;
        let pointer = (layout.pointer_bits(0) / 8).max(1);
        let mut size = 0u64;
        for (at, &ty) in parameters.iter().enumerate().filter(|&(at, _)| !is_result(at)) {
            let by_value = [kind::BY_VALUE, kind::IN_ALLOCA, kind::PREALLOCATED];
            let pointee = by_value.into_iter().find_map(|kind| self.attribute(function, at, kind));
            let ty = match pointee {
                Some(Attribute::Type(_, Some(pointee))) => *pointee,
                Some(_) => types.pointee(ty).unwrap_or(ty),
                None => ty,
            };
            let bytes = layout.allocation_size(types, ty);
            size = size.saturating_add(bytes.div_ceil(pointer).saturating_mul(pointer));
        }
        to.extend_from_slice(format!("@{size}").as_bytes());
    }

    fn attribute(&self, function: &Function, parameter: usize, kind: u32) -> Option<&Attribute> {
        let attributes = &self.module.attributes;
        let set = attributes.of(function.attributes, index::parameter(parameter))?;
        attributes.set(set).iter().find(|attribute| attribute.kind() == Some(kind))
    }
}
