//! Globals, functions, aliases and comdats, as the module's records declare them.
//!
//! From module version 2 on, every such record starts with the offset and size of its name in the string table;
//! before, the module's symbol table names them.
//!
//! Knowledge: `ModuleCodes` of LLVM's `LLVMBitCodes.h` and the records' growth from 3.2 to 19.

use crate::attributes::index;
use crate::ids::{AttributeListId, AttributeSetId, TypeId, ValueId, narrow};
use crate::metadata::Attachments;
use crate::module::Module;
use crate::types::Type;
use crate::value::{Value, ValueKind};
use alloc::vec::Vec;

/// How a symbol is linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Linkage {
    External,
    AvailableExternally,
    LinkOnceAny,
    LinkOnceOdr,
    WeakAny,
    WeakOdr,
    Appending,
    Internal,
    Private,
    ExternalWeak,
    Common,
}

impl Linkage {
    fn decode(raw: u64) -> Self {
        match raw {
            1 | 16 => Self::WeakAny,
            2 => Self::Appending,
            3 => Self::Internal,
            4 | 18 => Self::LinkOnceAny,
            7 => Self::ExternalWeak,
            8 => Self::Common,
            9 | 13 | 14 => Self::Private,
            10 | 17 => Self::WeakOdr,
            11 | 19 => Self::LinkOnceOdr,
            12 => Self::AvailableExternally,
            _ => Self::External,
        }
    }

    /// Whether no other module sees the symbol.
    pub fn is_local(self) -> bool {
        matches!(self, Self::Internal | Self::Private)
    }

    /// What LLVM writes for it; nothing for external.
    pub fn keyword(self) -> &'static str {
        match self {
            Self::External => "",
            Self::AvailableExternally => "available_externally",
            Self::LinkOnceAny => "linkonce",
            Self::LinkOnceOdr => "linkonce_odr",
            Self::WeakAny => "weak",
            Self::WeakOdr => "weak_odr",
            Self::Appending => "appending",
            Self::Internal => "internal",
            Self::Private => "private",
            Self::ExternalWeak => "extern_weak",
            Self::Common => "common",
        }
    }
}

/// What globals, functions and aliases have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// The name; empty if it has none.
    pub name: Vec<u8>,
    /// The linkage.
    pub linkage: Linkage,
    /// 0 default, 1 hidden, 2 protected.
    pub visibility: u8,
    /// 0 none, 1 import, 2 export.
    pub dll_storage: u8,
    /// 0 none, 1 general dynamic, 2 local dynamic, 3 initial exec, 4 local exec.
    pub thread_local: u8,
    /// 0 none, 1 `unnamed_addr`, 2 `local_unnamed_addr`.
    pub unnamed_address: u8,
    /// Whether it is known to lie in the same linkage unit.
    pub dso_local: bool,
    /// The address space.
    pub address_space: u32,
    /// The type of what it names, not of the pointer.
    pub ty: TypeId,
    /// Its number.
    pub value: ValueId,
    /// The section; empty if none is set.
    pub section: Vec<u8>,
    /// The partition; empty if none is set.
    pub partition: Vec<u8>,
    /// The comdat, as an index into [`Module::comdats`].
    pub comdat: Option<u32>,
    /// Whether the comdat follows from the linkage, as before LLVM 3.6.
    pub implicit_comdat: bool,
    /// The alignment as a power of two plus one; 0 is none.
    pub alignment: u8,
    /// Attached metadata.
    pub attachments: Attachments,
}

/// A global variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlobalVariable {
    /// Name, linkage and so on.
    pub symbol: Symbol,
    /// Whether it is `constant`.
    pub constant: bool,
    /// Whether something else may initialise it.
    pub externally_initialized: bool,
    /// The initial value.
    pub initializer: Option<ValueId>,
    /// Its attributes.
    pub attributes: Option<AttributeSetId>,
    /// Sanitizer bits and code model as LLVM 15 and later store them.
    pub sanitizer: u64,
    /// The code model plus one.
    pub code_model: u64,
}

/// A function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Name, linkage and so on; the type is the function type.
    pub symbol: Symbol,
    /// The calling convention.
    pub calling_convention: u32,
    /// Whether it has no body.
    pub declaration: bool,
    /// Its attributes and those of its result and parameters.
    pub attributes: AttributeListId,
    /// The garbage collector; empty if none is set.
    pub collector: Vec<u8>,
    /// Prologue data.
    pub prologue: Option<ValueId>,
    /// Prefix data.
    pub prefix: Option<ValueId>,
    /// The personality function.
    pub personality: Option<ValueId>,
    /// Where its body starts in the stream, in bits.
    pub(crate) body: Option<usize>,
    /// Where an upgrade put it.
    pub(crate) place: Place,
}

/// Where an upgrade put a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Place {
    /// Where the file has it.
    #[default]
    Kept,
    /// Behind all that were kept.
    Moved,
    /// Another took its place.
    Gone,
}

/// An alias or ifunc.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alias {
    /// Name, linkage and so on.
    pub symbol: Symbol,
    /// Whether it is an ifunc.
    pub indirect: bool,
    /// What it stands for, or what resolves it.
    pub target: ValueId,
}

/// A comdat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comdat {
    /// The name.
    pub name: Vec<u8>,
    /// 1 any, 2 exact match, 3 largest, 4 no duplicates, 5 same size.
    pub selection: u64,
}

/// A record's operands with the name taken off.
struct Fields<'r> {
    name: Vec<u8>,
    values: &'r [u64],
}

impl Fields<'_> {
    fn get(&self, at: usize) -> Option<u64> {
        self.values.get(at).copied()
    }

    fn or_zero(&self, at: usize) -> u64 {
        self.get(at).unwrap_or(0)
    }

    fn small(&self, at: usize, most: u64) -> u8 {
        let value = self.or_zero(at);
        if value <= most { value.to_le_bytes()[0] } else { 0 }
    }
}

fn alignment(exponent: u64) -> u8 {
    // The exponent is stored plus one.
    exponent.min(64).to_le_bytes()[0]
}

/// Old linkages that stand for a storage class: 5 import, 6 export.
fn storage_of_linkage(raw: u64) -> u8 {
    match raw {
        5 => 1,
        6 => 2,
        _ => 0,
    }
}

impl Module<'_> {
    fn fields<'r>(&self, values: &'r [u64]) -> Option<Fields<'r>> {
        if self.version < 2 {
            return Some(Fields { name: Vec::new(), values });
        }
        let (&[offset, size], rest) = values.split_first_chunk::<2>()?;
        Some(Fields { name: self.string_table(offset, size).to_vec(), values: rest })
    }

    /// A part of the string table; empty if it lies outside.
    fn string_table(&self, offset: u64, size: u64) -> &[u8] {
        let range = usize::try_from(offset).ok().zip(usize::try_from(offset.saturating_add(size)).ok());
        range.and_then(|(start, end)| self.strings.get(start..end)).unwrap_or_default()
    }

    fn symbol(&self, fields: &mut Fields<'_>, raw_linkage: u64, ty: TypeId, address_space: u32) -> Symbol {
        let linkage = Linkage::decode(raw_linkage);
        Symbol {
            name: core::mem::take(&mut fields.name),
            linkage,
            visibility: 0,
            dll_storage: storage_of_linkage(raw_linkage),
            thread_local: 0,
            unnamed_address: 0,
            dso_local: false,
            address_space,
            ty,
            value: ValueId(narrow(self.values.len() as u64)),
            section: Vec::new(),
            partition: Vec::new(),
            comdat: None,
            implicit_comdat: matches!(raw_linkage, 1 | 4 | 10 | 11),
            alignment: 0,
            attachments: Vec::new(),
        }
    }

    fn section(&self, number: u64) -> Vec<u8> {
        let at = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        at.and_then(|at| self.sections.get(at)).cloned().unwrap_or_default()
    }

    fn pointer_to(&self, ty: TypeId, address_space: u32) -> TypeId {
        self.types
            .find(Type::Pointer { pointee: ty, address_space })
            .or_else(|| self.types.find(Type::OpaquePointer { address_space }))
            .unwrap_or(TypeId::NONE)
    }

    /// `[type, constant and explicit-type bits, initializer + 1, linkage, align, section, visibility, tls,
    /// unnamed_addr, externally initialized, dll, comdat, attributes, dso_local, partition offset and size,
    /// sanitizer, code model]`
    pub(crate) fn take_global(&mut self, values: &[u64]) -> Option<()> {
        let mut fields = self.fields(values)?;
        let (mut ty, bits) = (TypeId(narrow(fields.get(0)?)), fields.get(1)?);
        let address_space;
        let pointer;
        if bits & 2 != 0 {
            address_space = narrow(bits >> 2);
            pointer = self.pointer_to(ty, address_space);
        } else {
            pointer = ty;
            address_space = self.types.address_space(ty)?;
            ty = self.types.pointee(ty)?;
        }
        let raw_linkage = fields.get(3)?;
        let mut symbol = self.symbol(&mut fields, raw_linkage, ty, address_space);
        symbol.alignment = alignment(fields.get(4)?);
        symbol.section = self.section(fields.get(5)?);
        if !symbol.linkage.is_local() {
            symbol.visibility = fields.small(6, 2);
        }
        symbol.thread_local = match fields.or_zero(7) {
            known @ 0..=4 => known.to_le_bytes()[0],
            _ => 1,
        };
        symbol.unnamed_address = fields.small(8, 2);
        if fields.get(10).is_some() {
            symbol.dll_storage = fields.small(10, 2);
        }
        self.finish_symbol(&mut symbol, &fields, 11, 13);
        if let (Some(offset), Some(size)) = (fields.get(14), fields.get(15)) {
            symbol.partition = self.string_table(offset, size).to_vec();
        }
        let attributes = fields.get(12).and_then(|list| self.attribute_list(list));
        let attributes = attributes.and_then(|list| self.attributes.of(list, index::FUNCTION));
        let index = narrow(self.globals.len() as u64);
        self.globals.push(GlobalVariable {
            symbol,
            constant: bits & 1 != 0,
            externally_initialized: fields.or_zero(9) != 0,
            initializer: fields.get(2)?.checked_sub(1).map(|id| ValueId(narrow(id))),
            attributes,
            sanitizer: fields.or_zero(16),
            code_model: fields.or_zero(17),
        });
        self.values.push(Value { kind: ValueKind::Global(index), ty: pointer });
        Some(())
    }

    /// Comdat and `dso_local`, which follow from linkage and visibility where they are not stored.
    fn finish_symbol(&self, symbol: &mut Symbol, fields: &Fields<'_>, comdat: usize, dso_local: usize) {
        if let Some(number) = fields.get(comdat) {
            symbol.comdat = number.checked_sub(1).map(narrow);
            symbol.implicit_comdat = false;
        }
        self.infer_dso_local(symbol, fields.or_zero(dso_local) == 1);
    }

    fn infer_dso_local(&self, symbol: &mut Symbol, stored: bool) {
        let follows = symbol.linkage.is_local()
            || (symbol.visibility != 0 && symbol.linkage != Linkage::ExternalWeak);
        symbol.dso_local = stored || follows;
    }

    /// An attribute list by its stored number, which is plus one.
    pub(crate) fn attribute_list(&self, number: u64) -> Option<AttributeListId> {
        number.checked_sub(1).map(|number| AttributeListId(narrow(number)))
    }

    /// `[type, calling convention, declaration, linkage, attributes, align, section, visibility, gc, unnamed_addr,
    /// prologue, dll, comdat, prefix, personality, dso_local, address space, partition offset and size]`
    pub(crate) fn take_function(&mut self, values: &[u64]) -> Option<()> {
        let mut fields = self.fields(values)?;
        let mut ty = TypeId(narrow(fields.get(0)?));
        let mut address_space = self.data_layout.program_address_space();
        if let Type::Pointer { pointee, address_space: of_type } = self.types.get(ty) {
            ty = pointee;
            address_space = of_type;
        }
        if let Some(stored) = fields.get(16) {
            address_space = narrow(stored);
        }
        if !self.types.is_function(ty) {
            return None;
        }
        let raw_linkage = fields.get(3)?;
        let mut symbol = self.symbol(&mut fields, raw_linkage, ty, address_space);
        symbol.alignment = alignment(fields.get(5)?);
        symbol.section = self.section(fields.get(6)?);
        if !symbol.linkage.is_local() {
            symbol.visibility = fields.small(7, 2);
        }
        symbol.unnamed_address = fields.small(9, 2);
        if fields.get(11).is_some() {
            symbol.dll_storage = fields.small(11, 2);
        }
        self.finish_symbol(&mut symbol, &fields, 12, 15);
        if let (Some(offset), Some(size)) = (fields.get(17), fields.get(18)) {
            symbol.partition = self.string_table(offset, size).to_vec();
        }
        let collector = usize::try_from(fields.or_zero(8)).ok().and_then(|number| number.checked_sub(1));
        let data = |at: usize| fields.or_zero(at).checked_sub(1).map(|id| ValueId(narrow(id)));
        let pointer = self.pointer_to(ty, address_space);
        let index = narrow(self.functions.len() as u64);
        let function = Function {
            symbol,
            calling_convention: narrow(fields.get(1)?),
            declaration: fields.get(2)? != 0,
            attributes: self.attribute_list(fields.get(4)?).unwrap_or(AttributeListId::NONE),
            collector: collector.and_then(|at| self.collectors.get(at)).cloned().unwrap_or_default(),
            prologue: data(10),
            prefix: data(13),
            personality: data(14),
            body: None,
            place: Place::Kept,
        };
        self.functions.push(function);
        self.values.push(Value { kind: ValueKind::Function(index), ty: pointer });
        Some(())
    }

    /// `[type, address space (not in the old form), target, linkage, visibility, dll, tls, unnamed_addr,
    /// dso_local, partition offset and size]`; ifuncs have only visibility of those in the middle.
    pub(crate) fn take_alias(&mut self, values: &[u64], old: bool, indirect: bool) -> Option<()> {
        let mut fields = self.fields(values)?;
        let mut ty = TypeId(narrow(fields.get(0)?));
        let mut at = 1usize;
        let address_space;
        let pointer;
        if old {
            pointer = ty;
            address_space = self.types.address_space(ty)?;
            ty = self.types.pointee(ty)?;
        } else {
            address_space = narrow(fields.get(1)?);
            at = 2;
            pointer = self.pointer_to(ty, address_space);
        }
        let mut next = || {
            at = at.wrapping_add(1);
            at.wrapping_sub(1)
        };
        let target = ValueId(narrow(fields.get(next())?));
        let raw_linkage = fields.get(next())?;
        let mut symbol = self.symbol(&mut fields, raw_linkage, ty, address_space);
        let visibility = next();
        if !symbol.linkage.is_local() {
            symbol.visibility = fields.small(visibility, 2);
        }
        if !indirect {
            let storage = next();
            if fields.get(storage).is_some() {
                symbol.dll_storage = fields.small(storage, 2);
            }
            symbol.thread_local = fields.small(next(), 4);
            symbol.unnamed_address = fields.small(next(), 2);
        }
        self.infer_dso_local(&mut symbol, fields.or_zero(next()) == 1);
        if let (Some(offset), Some(size)) = (fields.get(next()), fields.get(next())) {
            symbol.partition = self.string_table(offset, size).to_vec();
        }
        let index = narrow(self.aliases.len() as u64);
        self.aliases.push(Alias { symbol, indirect, target });
        self.values.push(Value { kind: ValueKind::Alias(index), ty: pointer });
        Some(())
    }

    /// `[selection]` with the name in the string table, or `[selection, length, characters…]`.
    pub(crate) fn take_comdat(&mut self, values: &[u64]) -> Option<()> {
        let fields = self.fields(values)?;
        let selection = fields.get(0)?;
        let name = if self.version < 2 {
            let length = usize::try_from(fields.get(1)?).ok()?;
            let characters = fields.values.get(2..)?.get(..length)?;
            characters.iter().map(|&c| c.to_le_bytes()[0]).collect()
        } else {
            fields.name
        };
        self.comdats.push(Comdat { name, selection });
        Some(())
    }
}
