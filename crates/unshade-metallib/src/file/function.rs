//! A function: its tags in the function list, and its public and private metadata.

use super::{RawTag, Text};
use crate::data_type::DataType;
use crate::function_list::{FunctionType, FunctionVersions, Tessellation};
use crate::metadata::AttributeUse;
use alloc::vec::Vec;
use core::fmt;
use unshade_core::{Escaped, FourCc};

/// An owned function.
#[derive(Clone, PartialEq)]
pub struct OwnedFunction<'a> {
    /// The name (`NAME`).
    pub name: Text<'a>,
    /// The type (`TYPE`).
    pub kind: Option<FunctionType>,
    /// The SHA-256 of its module as parsed (`HASH`); `None` to compute it on writing.
    pub hash: Option<[u8; 32]>,
    /// The index of its module. Functions may share a module.
    pub module: usize,
    /// Whether to write the size of the module (`MDSZ`); some files of 1.2.2 and 1.2.5 do not have it.
    pub states_module_size: bool,
    /// The versions of AIR and of the language (`VERS`).
    pub versions: Option<FunctionVersions>,
    /// The patches of a post-tessellation vertex function (`TESS`).
    pub tessellation: Option<Tessellation>,
    /// The type of its `render_target_array_index` (`LAYR`).
    pub layer_type: Option<DataType>,
    /// The index of its source archive (`SOFF`).
    pub source: Option<usize>,
    /// The index of its reflection (`RFLT`).
    pub reflection: Option<usize>,
    /// Other tags of the function list.
    pub other: Vec<RawTag<'a>>,
    /// The order of the tags, if it is not that of the dialect.
    pub order: Option<Vec<FourCc>>,
    /// The public metadata.
    pub public: PublicTags<'a>,
    /// The private metadata.
    pub private: PrivateTags<'a>,
}

/// Prints what identifies the function.
impl fmt::Debug for OwnedFunction<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedFunction")
            .field("name", &Escaped(&self.name))
            .field("kind", &self.kind)
            .field("module", &self.module)
            .finish_non_exhaustive()
    }
}
impl<'a> OwnedFunction<'a> {
    /// Creates a function that has only a name, a type and a module.
    pub fn new(name: impl Into<Text<'a>>, kind: FunctionType, module: usize) -> Self {
        Self {
            name: name.into(),
            kind: Some(kind),
            hash: None,
            module,
            states_module_size: true,
            versions: None,
            tessellation: None,
            layer_type: None,
            source: None,
            reflection: None,
            other: Vec::new(),
            order: None,
            public: PublicTags::default(),
            private: PrivateTags::default(),
        }
    }
}

/// Public metadata.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PublicTags<'a> {
    /// The vertex attributes (`VATT` and `VATY`).
    pub attributes: Option<Vec<VertexAttribute<'a>>>,
    /// The function constants (`CNST`).
    pub constants: Option<Vec<FunctionConstant<'a>>>,
    /// Other tags.
    pub other: Vec<RawTag<'a>>,
    /// The order of the tags, if it is not the usual one.
    pub order: Option<Vec<FourCc>>,
}

/// A vertex attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VertexAttribute<'a> {
    /// The name in the source.
    pub name: Text<'a>,
    /// The number in `[[attribute(n)]]`, below 8192.
    pub index: u16,
    /// The step function.
    pub usage: AttributeUse,
    /// Whether the function uses it.
    pub active: bool,
    /// The type. Either all attributes of a function have one, or none.
    pub data_type: Option<DataType>,
}

/// A function constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionConstant<'a> {
    /// The name in the source.
    pub name: Text<'a>,
    /// The type.
    pub data_type: DataType,
    /// The number in `[[function_constant(n)]]`.
    pub index: u16,
    /// Whether the function uses it.
    pub active: bool,
}

/// Private metadata.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PrivateTags<'a> {
    /// The location of the function in its source (`DEBI`).
    pub location: Option<SourceLocation<'a>>,
    /// The `.air` files that it depends on (`DEPF`, one each).
    pub dependencies: Vec<Text<'a>>,
    /// Other tags.
    pub other: Vec<RawTag<'a>>,
    /// The order of the tags, if it is not the usual one.
    pub order: Option<Vec<FourCc>>,
}

/// A line of a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLocation<'a> {
    /// The line, from 1.
    pub line: u32,
    /// The path as passed to the compiler.
    pub path: Text<'a>,
}
