//! Global variables, functions, aliases and comdats.

use crate::ids::{AttributeListId, AttributeSetId, TypeId, ValueId};
use crate::metadata::Attachments;
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
    /// Decodes a stored linkage.
    pub(crate) fn decode(raw: u64) -> Self {
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

    /// Returns whether the symbol is invisible to other modules.
    pub fn is_local(self) -> bool {
        matches!(self, Self::Internal | Self::Private)
    }

    /// Returns the keyword of the linkage; empty for external.
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
    /// Whether the symbol is known to resolve within the same linkage unit.
    pub dso_local: bool,
    /// The address space.
    pub address_space: u32,
    /// The value type, not the type of the pointer.
    pub ty: TypeId,
    /// Its value id.
    pub value: ValueId,
    /// The section; empty if none is set.
    pub section: Vec<u8>,
    /// The partition; empty if none is set.
    pub partition: Vec<u8>,
    /// The comdat, as an index into [`crate::Module::comdats`].
    pub comdat: Option<u32>,
    /// Whether the comdat follows from the linkage, as before LLVM 3.6.
    pub implicit_comdat: bool,
    /// The exponent of the alignment, plus one; 0 is none.
    pub alignment: u8,
    /// Attached metadata.
    pub attachments: Attachments,
}

impl Symbol {
    /// Creates an external symbol without any other property.
    pub(crate) fn new(name: Vec<u8>, ty: TypeId, address_space: u32, value: ValueId) -> Self {
        Self {
            name,
            linkage: Linkage::External,
            visibility: 0,
            dll_storage: 0,
            thread_local: 0,
            unnamed_address: 0,
            dso_local: false,
            address_space,
            ty,
            value,
            section: Vec::new(),
            partition: Vec::new(),
            comdat: None,
            implicit_comdat: false,
            alignment: 0,
            attachments: Vec::new(),
        }
    }
}

/// A global variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlobalVariable {
    /// Name, linkage and so on.
    pub symbol: Symbol,
    /// Whether it is `constant`.
    pub constant: bool,
    /// Whether it may be initialised outside of the module.
    pub externally_initialized: bool,
    /// The initial value.
    pub initializer: Option<ValueId>,
    /// Its attributes.
    pub attributes: Option<AttributeSetId>,
    /// Sanitizer bits, as LLVM 15 and later store them.
    pub sanitizer: u64,
    /// The code model plus one; 0 is none.
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
    /// The attributes of the function, its result and its parameters.
    pub attributes: AttributeListId,
    /// The garbage collector; empty if none is set.
    pub collector: Vec<u8>,
    /// Prologue data.
    pub prologue: Option<ValueId>,
    /// Prefix data.
    pub prefix: Option<ValueId>,
    /// The personality function.
    pub personality: Option<ValueId>,
    /// The position of its body in the stream, in bits.
    pub(crate) body: Option<usize>,
    /// The position that an upgrade gave it.
    pub(crate) position: UpgradedPosition,
}

impl Function {
    /// Creates a declaration without attributes.
    pub(crate) fn new(symbol: Symbol) -> Self {
        Self {
            symbol,
            calling_convention: 0,
            declaration: true,
            attributes: AttributeListId::NONE,
            collector: Vec::new(),
            prologue: None,
            prefix: None,
            personality: None,
            body: None,
            position: UpgradedPosition::Original,
        }
    }
}

/// The position that an upgrade gave a function in the printed list of functions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum UpgradedPosition {
    /// As in the file.
    #[default]
    Original,
    /// After all functions at their original position.
    AtEnd,
    /// Not listed: another function replaced it.
    Replaced,
}

/// An alias or ifunc.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alias {
    /// Name, linkage and so on.
    pub symbol: Symbol,
    /// Whether it is an ifunc.
    pub indirect: bool,
    /// The aliasee, or the resolver of an ifunc.
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
