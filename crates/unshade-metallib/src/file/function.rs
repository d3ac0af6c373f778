//! A function with all that the library says of it: its tags in the function list, and its public and private
//! metadata.

use super::{RawTag, Text};
use crate::data_type::DataType;
use crate::function_list::{FunctionType, FunctionVersions, Tessellation};
use crate::metadata::AttributeUse;
use alloc::vec::Vec;
use unshade_core::FourCc;

/// A function that is owned.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnedFunction<'a> {
    /// Its name (`NAME`).
    pub name: Text<'a>,
    /// What it is for (`TYPE`).
    pub kind: Option<FunctionType>,
    /// SHA-256 of its module as it was read (`HASH`); `None` to have it computed.
    pub hash: Option<[u8; 32]>,
    /// Its module: a place in the list of modules. Functions may share one.
    pub module: usize,
    /// Whether the size of the module is said (`MDSZ`); some files of 1.2.2 and 1.2.5 do not.
    pub states_module_size: bool,
    /// The versions of AIR and language (`VERS`).
    pub versions: Option<FunctionVersions>,
    /// How it takes patches (`TESS`).
    pub tessellation: Option<Tessellation>,
    /// The type of its `render_target_array_index` (`LAYR`).
    pub layer_type: Option<DataType>,
    /// Its archive of sources: a place in the list of archives (`SOFF`).
    pub source: Option<usize>,
    /// Its reflection: a place in the list of reflections (`RFLT`).
    pub reflection: Option<usize>,
    /// Other tags of the function list.
    pub other: Vec<RawTag<'a>>,
    /// The order of the tags, where it is not that of the dialect.
    pub order: Option<Vec<FourCc>>,
    /// Its public metadata.
    pub public: PublicTags<'a>,
    /// Its private metadata.
    pub private: PrivateTags<'a>,
}

impl<'a> OwnedFunction<'a> {
    /// A function of a module, with nothing else said of it.
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
    /// The order of the tags, where it is not the usual one.
    pub order: Option<Vec<FourCc>>,
}

/// A vertex attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VertexAttribute<'a> {
    /// Its name in the source.
    pub name: Text<'a>,
    /// The number in `[[attribute(n)]]`, below 8192.
    pub index: u16,
    /// How it is fetched.
    pub usage: AttributeUse,
    /// Whether the function uses it.
    pub active: bool,
    /// Its type; either all attributes of a function have one or none.
    pub data_type: Option<DataType>,
}

/// A function constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionConstant<'a> {
    /// Its name in the source.
    pub name: Text<'a>,
    /// Its type.
    pub data_type: DataType,
    /// The number in `[[function_constant(n)]]`.
    pub index: u16,
    /// Whether the function uses it.
    pub active: bool,
}

/// Private metadata.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PrivateTags<'a> {
    /// Where the function stands in its source (`DEBI`).
    pub location: Option<SourcePlace<'a>>,
    /// The `.air` files that it needs (`DEPF`, one each).
    pub dependencies: Vec<Text<'a>>,
    /// Other tags.
    pub other: Vec<RawTag<'a>>,
    /// The order of the tags, where it is not the usual one.
    pub order: Option<Vec<FourCc>>,
}

/// A line of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcePlace<'a> {
    /// The line, from 1.
    pub line: u32,
    /// The path, as the compiler was given it.
    pub path: Text<'a>,
}
