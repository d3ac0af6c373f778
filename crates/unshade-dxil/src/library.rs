//! Libraries: modules with several functions that others call, such as those of ray tracing.
//!
//! A library's first entry has no function and stands for the library. The resources of a library are variables, whose
//! values become handles; from shader model 6.6 on they are handles already.
//!
//! ```
//! use unshade_dxil::ComponentType;
//! use unshade_dxil::library::Export;
//! use unshade_dxil::resources::{Binding, Resource, TextureShape};
//! use unshade_dxil::shader::Shader;
//! use unshade_dxil::target::Target;
//!
//! // RWTexture2D<float> image : register(u0);
//! // [shader("raygeneration")] void generate() { image[DispatchRaysIndex().xy] = 1; }
//! let mut library = Shader::library(Target::model(3))?;
//! let image = Resource::rw_texture(Binding::at(0), TextureShape::D2, ComponentType::F32, 1);
//! let image = library.resource(image.named("image"))?;
//! let generate = library.export("generate", Export::RayGeneration)?;
//!
//! let mut body = library.body_of(generate)?;
//! let byte = body.integer(8)?;
//! let (first, second) = (body.const_int(byte, 0)?, body.const_int(byte, 1)?);
//! let x = body.operation("DispatchRaysIndex", &[first])?;
//! let y = body.operation("DispatchRaysIndex", &[second])?;
//! let image = body.handle(image)?;
//! let one = body.f32(1.0)?;
//! body.store_texture(image, &[x, y], &[one])?;
//! body.ret_void()?;
//! body.finish()?;
//!
//! let bytes = library.container()?;
//! assert!(unshade_dxcontainer::Container::parse(&bytes)?.find(b"RDAT").is_some());
//! # Ok::<(), unshade_core::Error>(())
//! ```

use crate::refused;
use crate::resources::Resource;
use crate::shader::Shader;
use crate::target::{Stage, Target};
use crate::types;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use unshade_core::Result;
use unshade_dxcontainer::program::ShaderKind;
use unshade_llvm::build::{GlobalOptions, ModuleBuilder};
use unshade_llvm::types::Type;
use unshade_llvm::{Opcode, TypeId, ValueId};

/// What a function of a library is. Payloads and attributes are named structs, to which the function gets pointers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Export {
    /// It starts rays.
    RayGeneration,
    /// It finds out where rays meet objects of its own.
    Intersection,
    /// It decides whether a ray hits.
    AnyHit {
        /// What the ray carries.
        payload: TypeId,
        /// Where it hits.
        attributes: TypeId,
    },
    /// It is called for the nearest hit of a ray.
    ClosestHit {
        /// What the ray carries.
        payload: TypeId,
        /// Where it hits.
        attributes: TypeId,
    },
    /// It is called for a ray that hits nothing.
    Miss {
        /// What the ray carries.
        payload: TypeId,
    },
    /// It is called by others.
    Callable {
        /// What it takes and returns.
        parameter: TypeId,
    },
}

impl Export {
    /// Returns its kind, and the structs that it gets pointers to.
    fn facts(self) -> (ShaderKind, Option<TypeId>, Option<TypeId>) {
        match self {
            Self::RayGeneration => (ShaderKind::RAY_GENERATION, None, None),
            Self::Intersection => (ShaderKind::INTERSECTION, None, None),
            Self::AnyHit { payload, attributes } => (ShaderKind::ANY_HIT, Some(payload), Some(attributes)),
            Self::ClosestHit { payload, attributes } => {
                (ShaderKind::CLOSEST_HIT, Some(payload), Some(attributes))
            }
            Self::Miss { payload } => (ShaderKind::MISS, Some(payload), None),
            Self::Callable { parameter } => (ShaderKind::CALLABLE, Some(parameter), None),
        }
    }
}

/// A function of a library that the system calls.
#[derive(Clone, Debug)]
pub(crate) struct Exported {
    pub(crate) name: String,
    pub(crate) function: ValueId,
    pub(crate) kind: ShaderKind,
    /// Bytes of the payload or parameter.
    pub(crate) payload: Option<u32>,
    pub(crate) attributes: Option<u32>,
}

/// The shader model whose resources are handles.
pub(crate) const HANDLE_MODEL: u32 = 6;

impl Shader {
    /// Creates a library without functions. Those that the system calls are [exports](Shader::export); others are
    /// functions of the module, visible to other libraries unless their linkage is internal.
    ///
    /// # Errors
    /// If the shader model has no libraries: they are from 6.3 on.
    pub fn library(target: Target) -> Result<Self> {
        Self::with_stage(target, Stage::Library)
    }

    /// Adds a function that the system calls, whose body is [built](Shader::body_of) next.
    ///
    /// # Errors
    /// If this is no library, the name is taken, or a payload is no named struct.
    pub fn export(&mut self, name: &str, export: Export) -> Result<ValueId> {
        if self.interface.stage != Stage::Library {
            return refused("only libraries have exports");
        }
        let (kind, payload, attributes) = export.facts();
        let mut parameters = Vec::new();
        let mut sizes = [None; 2];
        for (size, structure) in sizes.iter_mut().zip([payload, attributes]) {
            let Some(structure) = structure else { continue };
            *size = Some(self.size_of(structure)?);
            parameters.push(self.pointer(structure, 0)?);
        }
        let void = self.void();
        let ty = self.function_type(void, &parameters)?;
        let function = self.add_function(name, ty)?;
        let [payload, attributes] = sizes;
        self.interface.exports.push(Exported { name: name.to_string(), function, kind, payload, attributes });
        Ok(function)
    }

    /// Returns the bytes of a named struct.
    fn size_of(&self, structure: TypeId) -> Result<u32> {
        let module = self.module();
        match module.types.get(structure) {
            Type::Struct(found) if found.name.is_some() && !found.opaque => {
                let layout = module.data_layout.clone().with_packed_vectors();
                Ok(u32::try_from(layout.allocation_size(&module.types, structure)).unwrap_or(u32::MAX))
            }
            _ => refused(format!("a payload is a named struct, not {}", self.type_text(structure))),
        }
    }
}

/// Adds the variable that a resource of a library is.
pub(crate) fn variable(
    module: &mut ModuleBuilder,
    resource: &Resource,
    target: Target,
    number: usize,
) -> Result<ValueId> {
    let ty = object_type(module, resource, target)?;
    let ty = resource.ranged(module, ty)?;
    let name = if resource.name.is_empty() { format!("resource{number}") } else { resource.name.clone() };
    let options = GlobalOptions { constant: true, ..GlobalOptions::default() };
    let variable = module.add_global(&name, ty, &options)?;
    module.set_alignment(variable, 4)?;
    Ok(variable)
}

/// Returns the type of a value of a resource in a library.
pub(crate) fn object_type(module: &mut ModuleBuilder, resource: &Resource, target: Target) -> Result<TypeId> {
    match target.model >= HANDLE_MODEL {
        true => types::handle(module),
        false => resource.ty(module),
    }
}

/// Returns what the metadata of a resource refers to: its variable, as a pointer to its own type.
pub(crate) fn reference(
    module: &mut ModuleBuilder,
    resource: &Resource,
    variable: ValueId,
) -> Result<ValueId> {
    let ty = resource.ty(module)?;
    let ty = resource.ranged(module, ty)?;
    let pointer = module.pointer(ty, 0)?;
    match module.type_of(variable)? == pointer {
        true => Ok(variable),
        false => module.const_cast(Opcode::BitCast, variable, pointer),
    }
}
