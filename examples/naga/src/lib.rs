//! Compiles WGSL to Metal libraries and DXContainers: naga reads and checks the source, this crate lowers naga's
//! representation, and unshade builds LLVM modules of it and puts them into containers.
//!
//! | module | holds |
//! |---|---|
//! | [`types`], [`memory`] | the scalars of values, and where they are in memory |
//! | [`lower`], [`interface`] | the state of an entry point, inlined functions; inputs and outputs |
//! | [`expressions`], [`operators`], [`math`], [`packing`], [`images`] | expressions |
//! | [`statements`] | control flow, stores, atomics |
//! | [`target`] | what a target does its own way |
//! | [`air`] | AIR for Metal |
//! | [`dxil`] | DXIL for DirectX |
//!
//! A value is a list of scalars, variables are memory: drivers make registers of it. What is not supported is an error
//! with the place in the source. Indices are not checked, as naga's back ends don't by default.
#![forbid(unsafe_code)]

pub mod air;
pub mod dxil;
pub mod error;
pub mod expressions;
pub mod images;
pub mod interface;
pub mod lower;
pub mod math;
pub mod memory;
pub mod operators;
pub mod packing;
pub mod statements;
pub mod target;
pub mod types;

pub use error::{Error, Result};

use naga::back::PipelineConstants;
use naga::back::pipeline_constants::process_overrides;
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use naga::{AddressSpace, Module, ResourceBinding, ShaderStage, TypeInner};
use std::collections::{BTreeMap, HashMap};
use unshade_air::library::LibraryBuilder;
use unshade_metallib::Platform;
use unshade_metallib::target::Target;

/// The Metal slot of the buffer with the sizes of buffers.
pub const SIZES_SLOT: u32 = 30;
/// The space of the constant buffer with the numbers of workgroups, register 0, which DirectX does not know itself.
pub const GROUPS_SPACE: u32 = 64;
/// How many slots of each kind Metal has: of buffers without [`SIZES_SLOT`].
const SLOTS: [(ResourceKind, u32); 3] =
    [(ResourceKind::Buffer, SIZES_SLOT), (ResourceKind::Texture, 128), (ResourceKind::Sampler, 16)];

/// How a module is compiled.
#[derive(Clone, Debug)]
pub struct Options {
    /// The entry point [default: all of the module].
    pub entry: Option<String>,
    /// What Metal libraries are for.
    pub target: Target,
    /// Whether Metal may reorder and approximate operations on floats.
    pub fast_math: bool,
    /// The minor version of shader model 6, or a later one that has what a module needs.
    pub shader_model: u32,
    /// Values of constants of the pipeline: of overrides, by name or number.
    pub constants: HashMap<String, f64>,
}

impl Default for Options {
    fn default() -> Self {
        let target = Target { platform: Platform::MACOS, os: (14, 0, 0) };
        Self { entry: None, target, fast_math: false, shader_model: 0, constants: HashMap::new() }
    }
}

/// What a resource is: each kind has slots of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceKind {
    /// A buffer.
    Buffer,
    /// A texture.
    Texture,
    /// A sampler.
    Sampler,
}

/// The Metal slots of the resources of a module: for each kind counted in the order of groups and bindings.
#[derive(Clone, Debug, Default)]
pub struct Bindings {
    /// Kind, slot, and where the size of a buffer is in the buffer of sizes.
    resources: BTreeMap<ResourceBinding, (ResourceKind, u32, Option<u32>)>,
}

impl Bindings {
    /// Assigns the slots.
    pub fn new(module: &Module) -> Self {
        let mut resources = BTreeMap::new();
        for (_, global) in module.global_variables.iter() {
            let Some(binding) = global.binding else { continue };
            let inner = &module.types[global.ty].inner;
            let kind = match (global.space, inner) {
                (AddressSpace::Handle, TypeInner::Sampler { .. }) => ResourceKind::Sampler,
                (AddressSpace::Handle, _) => ResourceKind::Texture,
                _ => ResourceKind::Buffer,
            };
            let is_sized_by_buffer = inner.is_dynamically_sized(&module.types);
            resources.insert(binding, (kind, u32::from(is_sized_by_buffer)));
        }
        let (mut slots, mut sizes) = (BTreeMap::new(), 0);
        let assign = |(binding, (kind, has_size)): (ResourceBinding, (ResourceKind, u32))| {
            let slot = slots.entry(kind as u32).or_insert(0);
            let size = (has_size == 1).then_some(sizes);
            let assigned = (kind, *slot, size);
            (*slot, sizes) = (*slot + 1, sizes + has_size);
            (binding, assigned)
        };
        Self { resources: resources.into_iter().map(assign).collect() }
    }

    /// Returns the resources: binding, kind, slot, and where the size of a buffer is in the buffer of sizes.
    pub fn iter(&self) -> impl Iterator<Item = (ResourceBinding, ResourceKind, u32, Option<u32>)> + '_ {
        self.resources.iter().map(|(&binding, &(kind, slot, size))| (binding, kind, slot, size))
    }

    /// Returns a slot.
    ///
    /// # Errors
    /// If Metal has no such slot.
    pub fn slot(&self, binding: ResourceBinding) -> Result<u32> {
        let Some(&(kind, slot, _)) = self.resources.get(&binding) else {
            return Err(Error::new("a resource without a slot"));
        };
        match SLOTS.iter().any(|&(of, count)| of == kind && slot < count) {
            true => Ok(slot),
            false => error::unsupported(format!("a {kind:?} in slot {slot}")),
        }
    }

    /// Returns where the size of a buffer is in the buffer of sizes.
    pub fn size_index(&self, binding: ResourceBinding) -> Option<u32> {
        self.resources.get(&binding).and_then(|resource| resource.2)
    }
}

/// A module that naga has read and checked.
#[derive(Debug)]
pub struct Source {
    /// The module.
    pub module: Module,
    /// What the check found out.
    pub info: ModuleInfo,
}

impl Source {
    /// Reads and checks WGSL.
    ///
    /// # Errors
    /// With naga's message if the source is not valid.
    pub fn parse(path: &str, text: &str) -> Result<Self> {
        let failed = |message: String| Error::new(message.trim_end().to_string());
        let module = naga::front::wgsl::parse_str(text)
            .map_err(|error| failed(error.emit_to_string_with_path(text, path)))?;
        let info = Validator::new(ValidationFlags::all(), Capabilities::all())
            .validate(&module)
            .map_err(|error| failed(error.emit_to_string_with_path(text, path)))?;
        Ok(Self { module, info })
    }

    /// Returns the names and stages of the entry points that are asked for.
    ///
    /// # Errors
    /// If there are none.
    pub fn entries(&self, options: &Options) -> Result<Vec<(ShaderStage, String)>> {
        let is_wanted = |name: &str| options.entry.as_deref().is_none_or(|wanted| wanted == name);
        let points = self.module.entry_points.iter().filter(|point| is_wanted(&point.name));
        let list: Vec<_> = points.map(|point| (point.stage, point.name.clone())).collect();
        match (list.is_empty(), &options.entry) {
            (true, Some(name)) => Err(Error::new(format!("no entry point {name}"))),
            (true, None) => Err(Error::new("no entry points")),
            _ => Ok(list),
        }
    }

    /// Compiles an entry point to AIR.
    ///
    /// # Errors
    /// If something is not in the subset.
    pub fn air(
        &self,
        stage: ShaderStage,
        name: &str,
        options: &Options,
    ) -> Result<unshade_air::shader::Shader> {
        let bindings = Bindings::new(&self.module);
        self.with_entry(stage, name, options, |module, info, entry| {
            air::compile(module, info, entry, &bindings, options)
        })
    }

    /// Compiles entry points to a Metal library.
    ///
    /// # Errors
    /// If something is not in the subset.
    pub fn metallib(&self, options: &Options) -> Result<Vec<u8>> {
        let mut library = LibraryBuilder::new(options.target)?;
        for (stage, name) in self.entries(options)? {
            library.add(self.air(stage, &name, options)?)?;
        }
        Ok(library.write()?)
    }

    /// Compiles an entry point to DXIL.
    ///
    /// # Errors
    /// If something is not in the subset.
    pub fn dxil(
        &self,
        stage: ShaderStage,
        name: &str,
        options: &Options,
    ) -> Result<unshade_dxil::shader::Shader> {
        self.with_entry(stage, name, options, |module, info, entry| {
            dxil::compile(module, info, entry, options)
        })
    }

    /// Compiles an entry point to a DXContainer, which has one.
    ///
    /// # Errors
    /// If something is not in the subset, or there are several entry points and none is asked for.
    pub fn container(&self, options: &Options) -> Result<Vec<u8>> {
        match self.entries(options)?.as_slice() {
            [(stage, name)] => Ok(self.dxil(*stage, name, options)?.container()?),
            list => {
                let names: Vec<&str> = list.iter().map(|(_, name)| name.as_str()).collect();
                Err(Error::new(format!(
                    "a DXContainer has one entry point; choose one of {}",
                    names.join(", ")
                )))
            }
        }
    }

    /// Gives overrides their values, and calls a function with the module and the number of the entry point.
    fn with_entry<R>(
        &self,
        stage: ShaderStage,
        name: &str,
        options: &Options,
        compile: impl FnOnce(&Module, &ModuleInfo, usize) -> Result<R>,
    ) -> Result<R> {
        // A constant may be one that another entry point uses.
        let is_known = |name: &str| {
            self.module.overrides.iter().any(|(_, known)| match known.id {
                Some(id) => id.to_string() == name,
                None => known.name.as_deref() == Some(name),
            })
        };
        let known = options.constants.iter().filter(|(name, _)| is_known(name));
        let constants: PipelineConstants = known.map(|(name, &value)| (name.clone(), value)).collect();
        let (module, info) = process_overrides(&self.module, &self.info, Some((stage, name)), &constants)
            .map_err(|error| Error::new(format!("{name}: {error}")))?;
        let points = &module.entry_points;
        match points.iter().position(|point| point.stage == stage && point.name == name) {
            Some(entry) => compile(&module, &info, entry),
            None => Err(Error::new(format!("no entry point {name}"))),
        }
    }
}
