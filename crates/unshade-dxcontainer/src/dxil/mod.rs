//! Reads the metadata that DXC writes into DXIL modules.
//!
//! | named metadata | contents | type or module |
//! |---|---|---|
//! | `dx.version`, `dx.valver` | versions of DXIL and of the targeted validator | [`DxilModule`] |
//! | `dx.shaderModel` | prefix of the target profile, and the shader model | [`ShaderModel`] |
//! | `dx.entryPoints` | functions, their signatures, resources and properties | [`entry`], [`signature`] |
//! | `dx.resources` | bound resources, by class | [`resource`] |
//! | `dx.typeAnnotations` | names, offsets and types of the fields of structs | [`annotation`] |
//! | `dx.viewIdState` | which outputs depend on which inputs and on the view ID | [`view_id`] |
//! | `dx.subobjects` | state objects of a library, which DXC moves to RDAT | [`subobject`] |
//!
//! Tuples have fixed positions or are lists of tags and values. Unknown tags are ignored. What can't be read is
//! reported
//! in [`DxilModule::diagnostics`], and the rest is still read.
//!
//! ```
//! use unshade_dxcontainer::{Container, program};
//! use unshade_dxcontainer::dxil::DxilModule;
//! use unshade_llvm::Module;
//!
//! # let file = include_bytes!("../../../../tests/fixtures/dxcontainer/pixel_1_6.dxbc");
//! let container = Container::parse(file)?;
//! if let Some(part) = container.find(b"DXIL") {
//!     let (_, bitcode) = program::bitcode(part.data)?;
//!     let module = Module::parse(bitcode.data(), bitcode.base())?;
//!     for resource in &DxilModule::read(&module, bitcode.base()).resources {
//!         println!("{} is {}", resource.name, resource.register_range());
//!     }
//! }
//! # Ok::<(), unshade_core::Error>(())
//! ```
//!
//! Source: DXC's `DxilMetadataHelper.h`, `DxilConstants.h`, and a comparison of 711 modules with DXC's listings.

pub mod annotation;
pub mod assemble;
pub mod entry;
pub mod node_io;
mod nodes;
pub mod resource;
pub mod signature;
pub mod subobject;
pub mod view_id;

pub use annotation::{FieldAnnotation, Matrix, StructAnnotation};
pub use entry::{EntryPoint, Properties};
pub use resource::{Resource, ResourceClass, SamplerKind};
pub use signature::SignatureElement;
pub use subobject::Subobject;
pub use view_id::ViewIdState;

use crate::Container;
use crate::bytes::Text;
use crate::container::Part;
use crate::program::ShaderKind;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use nodes::Nodes;
use unshade_core::{Diagnostics, Error, ErrorKind, open_enum};
use unshade_llvm::module::Module;
use unshade_llvm::{MetadataId, TypeId};

open_enum! {
    /// A component type, named as in DXC's listings.
    pub struct ComponentType(u32) {
        INVALID = 0 => "invalid",
        I1 = 1 => "i1",
        I16 = 2 => "i16",
        U16 = 3 => "u16",
        I32 = 4 => "i32",
        U32 = 5 => "u32",
        I64 = 6 => "i64",
        U64 = 7 => "u64",
        F16 = 8 => "f16",
        F32 = 9 => "f32",
        F64 = 10 => "f64",
        SNORM_F16 = 11 => "snorm_f16",
        UNORM_F16 = 12 => "unorm_f16",
        SNORM_F32 = 13 => "snorm_f32",
        UNORM_F32 = 14 => "unorm_f32",
        SNORM_F64 = 15 => "snorm_f64",
        UNORM_F64 = 16 => "unorm_f64",
        PACKED_S8X32 = 17 => "p32i8",
        PACKED_U8X32 = 18 => "p32u8",
    }
}

/// HLSL names of component types: with native 16-bit types, and with minimum precision.
const HLSL_NAMES: [[&str; 2]; 19] = [
    ["unknown", "unknown"],
    ["bool", "bool"],
    ["int16_t", "min16i"],
    ["uint16_t", "min16ui"],
    ["int", "int"],
    ["uint", "uint"],
    ["int64_t", "int64_t"],
    ["uint64_t", "uint64_t"],
    ["half", "min16float"],
    ["float", "float"],
    ["double", "double"],
    ["snorm_half", "snorm_min16f"],
    ["unorm_half", "unorm_min16f"],
    ["snorm_float", "snorm_float"],
    ["unorm_float", "unorm_float"],
    ["snorm_double", "snorm_double"],
    ["unorm_double", "unorm_double"],
    ["int8_t_packed", "int8_t_packed"],
    ["uint8_t_packed", "uint8_t_packed"],
];

impl ComponentType {
    /// Returns its HLSL name, in a module with or without minimum precision.
    pub fn hlsl_name(self, min_precision: bool) -> &'static str {
        HLSL_NAMES
            .get(self.0 as usize)
            .map_or("unknown", |&[native, hint]| if min_precision { hint } else { native })
    }
}

/// A version of the validator. 0.0 stands for a program that is not to be validated; it may use what is newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValidatorVersion(pub [u32; 2]);

impl ValidatorVersion {
    /// Whether the version is this one or newer.
    pub fn at_least(self, major: u32, minor: u32) -> bool {
        self.0[0] == 0 || self.0 >= [major, minor]
    }

    /// The version as a pair that compares as versions do: 0.0 becomes the highest.
    pub fn pair(self) -> (u32, u32) {
        if self.0[0] == 0 { (u32::MAX, u32::MAX) } else { (self.0[0], self.0[1]) }
    }
}

/// The target profile in `dx.shaderModel`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShaderModel {
    /// Prefix, such as `ps`.
    pub prefix: Text,
    /// The shader model.
    pub version: [u32; 2],
}

impl ShaderModel {
    /// Returns the kind of shader, if the prefix is known.
    pub fn kind(&self) -> Option<ShaderKind> {
        let named = ShaderKind::NAMED.iter().map(|(kind, _)| *kind);
        let prefix = self.prefix.as_str()?;
        named.into_iter().find(|kind| kind.prefix() == prefix)
    }
}

impl core::fmt::Display for ShaderModel {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}_{}_{}", self.prefix, self.version[0], self.version[1])
    }
}

/// Bit numbers of a module's flags, which are the first property of its entry points.
pub mod flags {
    /// The program uses the view ID.
    pub const VIEW_ID: u32 = 21;
    /// The program uses linear algebra (shader model 6.10).
    pub const LINEAR_ALGEBRA: u32 = 41;
    /// 16-bit types have exactly 16 bits, instead of at least 16.
    pub const NATIVE_LOW_PRECISION: u32 = 23;
}

/// The metadata of a module.
#[derive(Clone, Debug, Default)]
pub struct DxilModule {
    /// Version of DXIL.
    pub version: Option<[u32; 2]>,
    /// Version of the validator that the program targets.
    pub validator: Option<[u32; 2]>,
    /// What `llvm.ident` says of the compiler.
    pub compiler: Text,
    /// The target profile.
    pub model: Option<ShaderModel>,
    /// Entry points; the first one of a library has no function and describes the library.
    pub entries: Vec<EntryPoint>,
    /// Bound resources: shader resource views, unordered access views, constant buffers, samplers.
    pub resources: Vec<Resource>,
    /// Annotations of structs and their fields.
    pub annotations: BTreeMap<TypeId, StructAnnotation>,
    /// Who accesses the members of payloads of rays, see [`annotation`].
    pub payloads: BTreeMap<TypeId, Vec<u32>>,
    /// Dependencies of outputs on inputs and on the view ID.
    pub view_id: Option<ViewIdState>,
    /// The words that they are stored as.
    pub view_id_words: Vec<u32>,
    /// State objects of a library.
    pub subobjects: Vec<Subobject>,
    /// Faults found while reading.
    pub diagnostics: Diagnostics,
}

impl DxilModule {
    /// Reads the metadata of a module whose bitcode is at `offset` in its file. The result is empty for modules without
    /// DXIL metadata, such as Apple's.
    pub fn read(module: &Module<'_>, offset: u64) -> Self {
        let nodes = Nodes::new(module);
        let mut read = Self {
            version: version(&nodes, b"dx.version"),
            validator: version(&nodes, b"dx.valver"),
            compiler: Text::from(module.ident().unwrap_or_default()),
            model: shader_model(&nodes),
            ..Self::default()
        };
        let mut faults = Faults { offset, diagnostics: Diagnostics::new() };
        for (index, &id) in module.named(b"dx.entryPoints").iter().enumerate() {
            let entry = EntryPoint::read(&nodes, id);
            if nodes.is_exhausted() {
                break;
            }
            read.entries.extend(faults.take(entry, || format!("entry point {index}")));
        }
        // The validator wants both to be the same; DXC's disassembler reads the first entry point.
        let of_entry = read.entries.first().and_then(|entry| entry.resources);
        if let Some(id) = of_entry.or_else(|| module.named(b"dx.resources").first().copied()) {
            read.resources = resource::read_all(&nodes, id, &mut faults);
        }
        read.annotations = annotation::read_all(&nodes, &mut faults);
        read.payloads = annotation::read_payloads(&nodes, &mut faults);
        read.subobjects = subobject::read_all(&nodes, &mut faults);
        let kind = read.model.as_ref().and_then(ShaderModel::kind);
        read.view_id_words = view_id::words(&nodes).unwrap_or_default();
        read.view_id = view_id::read(&nodes, kind, read.has_flag(flags::VIEW_ID), &mut faults);
        if nodes.is_exhausted() {
            let message = "metadata is referred to so often that reading it was given up";
            faults.diagnostics.error("dx-metadata", Error::new(ErrorKind::Limit, offset, message));
        }
        read.diagnostics = faults.diagnostics;
        read
    }

    /// The version of the validator that the program targets; 1.0 if the module does not say.
    pub fn validator_version(&self) -> ValidatorVersion {
        ValidatorVersion(self.validator.unwrap_or([1, 0]))
    }

    /// The flags of the module: those of the first entry point.
    pub fn flags(&self) -> u64 {
        self.entries.first().map_or(0, |entry| entry.properties.flags)
    }

    /// Whether a flag of the module is set, see [`flags`].
    pub fn has_flag(&self, bit: u32) -> bool {
        self.flags() >> bit & 1 != 0
    }

    /// Whether 16-bit types are a hint, and named so.
    pub fn has_min_precision(&self) -> bool {
        !self.has_flag(flags::NATIVE_LOW_PRECISION)
    }

    /// Whether it is a library.
    pub fn is_library(&self) -> bool {
        self.model.as_ref().and_then(ShaderModel::kind) == Some(ShaderKind::LIBRARY)
    }

    /// The resources of a class, in the order of their numbers.
    pub fn resources_of(&self, class: ResourceClass) -> impl Iterator<Item = &Resource> {
        self.resources.iter().filter(move |resource| resource.class == class)
    }
}

/// Returns the part whose program DXC disassembles: the one with debug information, or else the plain one.
pub fn main_part<'a>(container: &Container<'a>) -> Option<Part<'a>> {
    [b"ILDB", b"DXIL"].into_iter().find_map(|name| container.find(name))
}

/// Collects reports on metadata that can't be read.
struct Faults {
    /// Offset of the module in the file.
    offset: u64,
    diagnostics: Diagnostics,
}

impl Faults {
    fn report(&mut self, what: impl Into<String>) {
        let error = Error::new(ErrorKind::BadValue, self.offset, "metadata of DXIL that can't be read");
        self.diagnostics.error("dx-metadata", error.within(what.into()));
    }

    fn take<T>(&mut self, read: Option<T>, what: impl FnOnce() -> String) -> Option<T> {
        if read.is_none() {
            self.report(what());
        }
        read
    }
}

fn first_node(nodes: &Nodes<'_, '_>, name: &[u8]) -> Option<Vec<Option<MetadataId>>> {
    nodes.operands(*nodes.module().named(name).first()?)
}

fn version(nodes: &Nodes<'_, '_>, name: &[u8]) -> Option<[u32; 2]> {
    let operands = first_node(nodes, name)?;
    Some([nodes.number(*operands.first()?)?, nodes.number(*operands.get(1)?)?])
}

fn shader_model(nodes: &Nodes<'_, '_>) -> Option<ShaderModel> {
    let operands = first_node(nodes, b"dx.shaderModel")?;
    let &[prefix, major, minor] = operands.as_slice() else { return None };
    Some(ShaderModel { prefix: nodes.text(prefix)?, version: [nodes.number(major)?, nodes.number(minor)?] })
}
