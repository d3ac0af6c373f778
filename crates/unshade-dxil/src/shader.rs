//! A module with one entry point: its resources and signatures, and what becomes of it.

use crate::body::ShaderBody;
use crate::library::{self, Exported};
use crate::metadata;
use crate::packing;
use crate::refused;
use crate::resources::{Resource, ResourceId};
use crate::signature::{Element, Placed, Point};
use crate::target::{Stage, Target};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::{Deref, DerefMut};
use unshade_core::{Reader, Result};
use unshade_dxcontainer::dxil::ResourceClass;
use unshade_dxcontainer::dxil::assemble::{self, Assembler};
use unshade_llvm::build::{GlobalOptions, ModuleBuilder, Version};
use unshade_llvm::{Module, TypeId, ValueId, verify};

/// The address space of variables that the threads of a group share.
const GROUP_SHARED: u32 = 3;
/// The triple of all modules.
const TRIPLE: &str = "dxil-ms-dx";

/// Bits of the flags of a module that its code does not tell.
mod flag {
    pub(super) const EARLY_DEPTH_STENCIL: u64 = 1 << 3;
    pub(super) const NATIVE_16_BIT: u64 = 1 << 23;
    pub(super) const RESOURCES_DO_NOT_ALIAS: u64 = 1 << 33;
}

/// The shader model whose modules say whether resources may alias.
const ALIAS_MODEL: u32 = 7;
/// The validator from which on views count that are used, instead of those that there are.
const USE_VALIDATOR: (u32, u32) = (1, 8);

/// The shader model from which on multisampled textures are written.
const MULTISAMPLED_MODEL: u32 = 7;
/// The shader model from which on resources are in heaps.
const HEAP_MODEL: u32 = 6;
/// The shader models that say how many lanes waves have: a number, and a range.
const WAVE_MODEL: u32 = 6;
pub(crate) const WAVE_RANGE_MODEL: u32 = 8;

/// Which of the signatures of a shader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Input,
    Output,
    /// Patch constants, or what a mesh shader emits for each primitive.
    Patch,
}

/// What a shader is besides its code.
#[derive(Clone, Debug)]
pub(crate) struct Interface {
    pub(crate) target: Target,
    pub(crate) stage: Stage,
    pub(crate) resources: Vec<Resource>,
    inputs: Vec<Placed>,
    outputs: Vec<Placed>,
    patch_elements: Vec<Placed>,
    /// The functions of a library that the system calls.
    pub(crate) exports: Vec<Exported>,
    /// The variables of the resources of a library.
    pub(crate) variables: Vec<Option<ValueId>>,
    /// The second function of a hull shader.
    pub(crate) patch_constant_function: Option<ValueId>,
    /// Whether several resources may be the same memory.
    pub(crate) may_alias: bool,
    /// Whether there are handles of unordered access views that are bound.
    pub(crate) uses_view: bool,
    /// The least, most and preferred lanes of a wave.
    pub(crate) wave_lanes: Option<[u32; 3]>,
}

impl Interface {
    /// Returns where a signature is.
    pub(crate) fn point(&self, direction: Direction) -> Option<Point> {
        Some(match (self.stage, direction) {
            (Stage::Vertex, Direction::Input) => Point::VertexInput,
            (Stage::Vertex, Direction::Output) => Point::VertexOutput,
            (Stage::Pixel { .. }, Direction::Input) => Point::PixelInput,
            (Stage::Pixel { .. }, Direction::Output) => Point::PixelOutput,
            (Stage::Geometry { .. }, Direction::Input) => Point::GeometryInput,
            (Stage::Geometry { .. }, Direction::Output) => Point::GeometryOutput,
            (Stage::Hull { .. }, Direction::Input) => Point::HullInput,
            (Stage::Hull { .. }, Direction::Output) => Point::HullOutput,
            (Stage::Hull { .. }, Direction::Patch) => Point::PatchConstantOutput,
            (Stage::Domain { .. }, Direction::Input) => Point::DomainInput,
            (Stage::Domain { .. }, Direction::Output) => Point::DomainOutput,
            (Stage::Domain { .. }, Direction::Patch) => Point::PatchConstantInput,
            (Stage::Mesh { .. }, Direction::Output) => Point::MeshVertexOutput,
            (Stage::Mesh { .. }, Direction::Patch) => Point::MeshPrimitiveOutput,
            _ => return None,
        })
    }

    pub(crate) fn signature(&self, direction: Direction) -> &[Placed] {
        match direction {
            Direction::Input => &self.inputs,
            Direction::Output => &self.outputs,
            Direction::Patch => &self.patch_elements,
        }
    }

    pub(crate) fn signature_mut(&mut self, direction: Direction) -> &mut Vec<Placed> {
        match direction {
            Direction::Input => &mut self.inputs,
            Direction::Output => &mut self.outputs,
            Direction::Patch => &mut self.patch_elements,
        }
    }
}

/// What follows from the code of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Derived {
    pub(crate) flags: u64,
    /// The words that say which outputs depend on which inputs.
    pub(crate) view_id_state: Vec<u32>,
}

/// A module with one entry point. It is the builder of the module too.
#[derive(Clone, Debug)]
pub struct Shader {
    module: ModuleBuilder,
    /// The function of the entry point, and its name, unless this is a library.
    entry: Option<(ValueId, String)>,
    pub(crate) interface: Interface,
}

impl Deref for Shader {
    type Target = ModuleBuilder;

    fn deref(&self) -> &ModuleBuilder {
        &self.module
    }
}

impl DerefMut for Shader {
    fn deref_mut(&mut self) -> &mut ModuleBuilder {
        &mut self.module
    }
}

impl Shader {
    /// Creates a module with an entry point of this name, whose body is [built](Shader::body) when its resources and
    /// signatures are known.
    ///
    /// # Errors
    /// If the target is not supported, or does not have the stage, or a property of the stage is out of range.
    pub fn new(target: Target, stage: Stage, name: &str) -> Result<Self> {
        if name.is_empty() || stage == Stage::Library {
            return refused("an entry point has a name, and a library has exports");
        }
        let mut shader = Self::with_stage(target, stage)?;
        let void = shader.void();
        let ty = shader.function_type(void, &[])?;
        let function = shader.add_function(name, ty)?;
        shader.entry = Some((function, name.to_string()));
        Ok(shader)
    }

    /// Creates a module without functions.
    pub(crate) fn with_stage(target: Target, stage: Stage) -> Result<Self> {
        target.check()?;
        stage.check(target)?;
        let mut module = ModuleBuilder::new(Version::Dxc);
        module.set_data_layout(target.data_layout())?;
        module.set_triple(TRIPLE);
        let interface = Interface {
            target,
            stage,
            resources: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            patch_elements: Vec::new(),
            exports: Vec::new(),
            variables: Vec::new(),
            patch_constant_function: None,
            may_alias: false,
            uses_view: false,
            wave_lanes: None,
        };
        Ok(Self { module, entry: None, interface })
    }

    /// Returns the target.
    pub fn target(&self) -> Target {
        self.interface.target
    }

    /// Returns the stage.
    pub fn stage(&self) -> Stage {
        self.interface.stage
    }

    /// Returns the function of the entry point; a library has none.
    pub fn function(&self) -> Option<ValueId> {
        self.entry.as_ref().map(|&(function, _)| function)
    }

    /// Adds a resource.
    ///
    /// # Errors
    /// If there is no such resource, or another has one of its registers.
    pub fn resource(&mut self, resource: Resource) -> Result<ResourceId> {
        resource.check()?;
        let known = &self.interface.resources;
        let taken = known.iter().find(|known| {
            known.class == resource.class
                && !(known.in_heap || resource.in_heap)
                && known.binding.space == resource.binding.space
                && known.binding.register <= resource.binding.last().unwrap_or(u32::MAX)
                && resource.binding.register <= known.binding.last().unwrap_or(u32::MAX)
        });
        if let Some(taken) = taken {
            return refused(format!("{}: {} has its registers", resource.shown(), taken.shown()));
        }
        if resource.rasterizer_ordered && !matches!(self.interface.stage, Stage::Pixel { .. }) {
            return refused(format!("{}: only pixel shaders are rasterizer ordered", resource.shown()));
        }
        let is_written = resource.class == ResourceClass::UAV && resource.is_multisampled();
        if is_written && self.interface.target.model < MULTISAMPLED_MODEL {
            return refused("multisampled textures are written from shader model 6.7 on");
        }
        if resource.in_heap && self.interface.target.model < HEAP_MODEL {
            return refused("resources in heaps need shader model 6.6");
        }
        let index = known.len();
        let is_bound = !resource.in_heap && self.interface.stage == Stage::Library;
        let variable = match is_bound {
            true => Some(library::variable(&mut self.module, &resource, self.interface.target, index)?),
            false => None,
        };
        self.interface.variables.push(variable);
        self.interface.resources.push(resource);
        Ok(ResourceId(index))
    }

    /// Says that several resources may be the same memory. Without that, compilers may assume that they are not, from
    /// shader model 6.7 on. Validators of these models refuse modules that do so and have no other flags: that use typed
    /// buffers and textures only.
    pub fn set_resources_may_alias(&mut self) {
        self.interface.may_alias = true;
    }

    /// Sets the number of lanes of waves of a compute shader: from shader model 6.6 on one number, and from 6.8 on the
    /// least, most and preferred one, which may be 0.
    ///
    /// # Errors
    /// If the stage or the shader model does not have that, or a number is no power of two from 4 to 128.
    pub fn set_wave_lanes(&mut self, least: u32, most: u32, preferred: u32) -> Result<()> {
        let model = self.interface.target.model;
        let needed = if least == most { WAVE_MODEL } else { WAVE_RANGE_MODEL };
        if !matches!(self.interface.stage, Stage::Compute { .. }) || model < needed {
            return refused("the stage or the shader model does not set the lanes of waves");
        }
        let is_count = |count: u32| count.is_power_of_two() && (4..=128).contains(&count);
        let is_preferred = preferred == 0 || (is_count(preferred) && (least..=most).contains(&preferred));
        if !(is_count(least) && is_count(most) && least <= most && is_preferred) {
            return refused("lanes of a wave are a power of two from 4 to 128");
        }
        self.interface.wave_lanes = Some([least, most, preferred]);
        Ok(())
    }

    /// Adds an element to the input signature and returns its number there.
    ///
    /// # Errors
    /// If the stage has no such input.
    pub fn input(&mut self, element: Element) -> Result<u32> {
        self.element(element, Direction::Input)
    }

    /// Adds an element to the output signature and returns its number there: of a mesh shader, for each vertex.
    ///
    /// # Errors
    /// If the stage has no such output.
    pub fn output(&mut self, element: Element) -> Result<u32> {
        self.element(element, Direction::Output)
    }

    /// Adds a patch constant to a hull or domain shader, or what a mesh shader emits for each primitive. Returns its
    /// number in that signature.
    ///
    /// # Errors
    /// If the stage has no such element.
    pub fn patch_element(&mut self, element: Element) -> Result<u32> {
        self.element(element, Direction::Patch)
    }

    fn element(&mut self, element: Element, direction: Direction) -> Result<u32> {
        let Some(point) = self.interface.point(direction) else {
            let stage = self.interface.stage.prefix();
            return refused(format!("{}: a {stage} shader has no such signature", element.semantic));
        };
        let placed = Placed::new(element, point)?;
        let signature = self.interface.signature_mut(direction);
        let is_known = signature.iter().any(|known| {
            let (one, other) = (&known.element, &placed.element);
            one.semantic.eq_ignore_ascii_case(&other.semantic)
                && one.stream == other.stream
                && one.index < other.index.saturating_add(other.rows)
                && other.index < one.index.saturating_add(one.rows)
        });
        if is_known {
            return refused(format!("{}{} is there twice", placed.element.semantic, placed.element.index));
        }
        signature.push(placed);
        let number = u32::try_from(signature.len() - 1).unwrap_or(u32::MAX);
        // What does not fit is said where it is added.
        let mut trial = signature.clone();
        packing::pack(&mut trial, point, self.interface.target.native_16_bit)?;
        Ok(number)
    }

    /// Sets the function of a hull shader that makes the constants of a patch; it takes nothing and returns nothing.
    ///
    /// # Errors
    /// If this is no hull shader, or the function has parameters or a result.
    pub fn set_patch_constant_function(&mut self, function: ValueId) -> Result<()> {
        if !matches!(self.interface.stage, Stage::Hull { .. }) {
            return refused("only hull shaders have a function for patch constants");
        }
        let ty = self.module.function_of(self.entry_function()?)?.symbol.ty;
        if self.module.function_of(function)?.symbol.ty != ty {
            return refused("the function for patch constants takes and returns nothing");
        }
        self.interface.patch_constant_function = Some(function);
        Ok(())
    }

    /// Starts the body of the entry point, with an entry block.
    ///
    /// # Errors
    /// If the body was started before.
    pub fn body(&mut self) -> Result<ShaderBody<'_>> {
        self.body_of(self.entry_function()?)
    }

    fn entry_function(&self) -> Result<ValueId> {
        match self.function() {
            Some(function) => Ok(function),
            None => refused("a library has no entry point"),
        }
    }

    /// Starts the body of another function, with an entry block.
    ///
    /// # Errors
    /// If the body was started before.
    pub fn body_of(&mut self, function: ValueId) -> Result<ShaderBody<'_>> {
        let mut body = self.module.body(function)?;
        let entry = body.block("");
        body.select_block(entry)?;
        Ok(ShaderBody::new(body, &mut self.interface))
    }

    /// Adds a variable that the threads of a group share, which has no value at first. Returns a pointer to it.
    /// Validators refuse one that is never used.
    ///
    /// # Errors
    /// If the stage has no groups, or the name is taken.
    pub fn group_shared(&mut self, name: &str, ty: TypeId) -> Result<ValueId> {
        if self.interface.stage.threads().is_none() {
            return refused("only compute, mesh and amplification shaders have groups");
        }
        let options = GlobalOptions { address_space: GROUP_SHARED, ..GlobalOptions::default() };
        let variable = self.module.add_global(name, ty, &options)?;
        let module = self.module.module();
        let alignment = module.data_layout.required_alignment(&module.types, ty).max(4).next_power_of_two();
        self.module.set_alignment(variable, alignment)?;
        Ok(variable)
    }

    /// Ends the module and returns its bitcode, which is verified.
    ///
    /// # Errors
    /// If the entry point has no body, another function is not finished, elements have no room in the registers, or the
    /// module breaks a rule of DXIL.
    pub fn bitcode(mut self) -> Result<Vec<u8>> {
        let exports = self.interface.exports.iter().map(|export| (export.function, &export.name));
        let entry = self.entry.iter().map(|(function, name)| (*function, name));
        for (function, name) in entry.chain(exports) {
            if self.module.function_of(function)?.declaration {
                return refused(format!("entry point {name} has no body"));
            }
        }
        if matches!(self.interface.stage, Stage::Hull { .. })
            && self.interface.patch_constant_function.is_none()
        {
            return refused("a hull shader has a function for patch constants");
        }
        for direction in [Direction::Input, Direction::Output, Direction::Patch] {
            if let Some(point) = self.interface.point(direction) {
                let native = self.interface.target.native_16_bit;
                packing::pack(self.interface.signature_mut(direction), point, native)?;
            }
        }
        let bitcode = self.derived()?;
        match verify::bitcode(Reader::new(&bitcode)).iter().next() {
            Some(finding) => Err(finding.error.clone()),
            None => Ok(bitcode),
        }
    }

    /// Ends the module and returns the container, signed.
    ///
    /// # Errors
    /// As [`Shader::bitcode`].
    pub fn container(self) -> Result<Vec<u8>> {
        self.container_with(&assemble::Options::default())
    }

    /// Ends the module and returns the container with further parts, such as a root signature; signed.
    ///
    /// # Errors
    /// As [`Shader::bitcode`].
    pub fn container_with(self, options: &assemble::Options) -> Result<Vec<u8>> {
        assemble::container(&self.bitcode()?, options)
    }

    fn chosen_flags(&self) -> u64 {
        let early = matches!(self.interface.stage, Stage::Pixel { early_depth_stencil: true });
        let mut flags = 0;
        flags |= if early { flag::EARLY_DEPTH_STENCIL } else { 0 };
        flags |= if self.interface.target.native_16_bit { flag::NATIVE_16_BIT } else { 0 };
        let may_alias = self.interface.may_alias || !self.says_alias();
        flags |= if may_alias { 0 } else { flag::RESOURCES_DO_NOT_ALIAS };
        flags
    }

    /// Returns whether the module says if its resources may alias: if it has unordered access views, or for later
    /// validators if it uses them.
    fn says_alias(&self) -> bool {
        let interface = &self.interface;
        let is_view = |resource: &Resource| resource.class == ResourceClass::UAV && !resource.in_heap;
        let has_view = match interface.target.validator >= USE_VALIDATOR {
            true => interface.uses_view,
            false => interface.resources.iter().any(is_view),
        };
        interface.target.model >= ALIAS_MODEL && has_view
    }

    /// Returns the bitcode with all that follows from the code, which is read for that.
    fn derived(self) -> Result<Vec<u8>> {
        let chosen = Derived { flags: self.chosen_flags(), view_id_state: Vec::new() };
        let draft = self.clone().written(&chosen)?;
        let module = Module::parse(&draft, 0)?;
        let assembler = Assembler::new(&module)?;
        let flags = assembler.computed_flags()?;
        if flags == 0 && self.says_alias() {
            // Validators take no flags for those of a module whose resources do not alias.
            return refused("validators refuse a module whose only property is that its resources may alias");
        }
        let view_id_state = assembler.computed_view_id_state(flags)?.unwrap_or_default();
        let derived = Derived { flags, view_id_state };
        if derived == chosen { Ok(draft) } else { self.written(&derived) }
    }

    fn written(mut self, derived: &Derived) -> Result<Vec<u8>> {
        let entry = self.entry.as_ref().map(|(function, name)| (*function, name.as_str()));
        metadata::describe(&mut self.module, &self.interface, entry, derived)?;
        self.module.finish()?.write()
    }
}
