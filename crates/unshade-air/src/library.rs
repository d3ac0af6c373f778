//! The Metal library: modules with what the function list says of them.

use crate::entry::{Argument, Stage};
use crate::refused;
use crate::shader::Shader;
use crate::target::generation;
use crate::types::MetalType;
use alloc::borrow::Cow;
use alloc::format;
use alloc::vec::Vec;
use unshade_core::Result;
use unshade_metallib::data_type::DATA_TYPES;
use unshade_metallib::file::{OwnedFunction, OwnedModule, VertexAttribute};
use unshade_metallib::function_list::{FunctionVersions, ShortVersion};
use unshade_metallib::library::Dialect;
use unshade_metallib::metadata::AttributeUse;
use unshade_metallib::module::canonical_bitcode;
use unshade_metallib::target::Target;
use unshade_metallib::{DataType, FunctionType, LibraryFile, LibraryType};

/// Makes a Metal library of shaders.
#[derive(Debug)]
pub struct LibraryBuilder {
    file: LibraryFile<'static>,
    target: Target,
}

impl LibraryBuilder {
    /// Creates a library without functions.
    ///
    /// # Errors
    /// If the target is not supported.
    pub fn new(target: Target) -> Result<Self> {
        generation(target)?;
        let mut file = LibraryFile::new(target.header(LibraryType::EXECUTABLE));
        // Libraries of this tool have no reflection.
        file.dialect = Dialect::Legacy;
        Ok(Self { file, target })
    }

    /// Ends a shader and adds it.
    ///
    /// # Errors
    /// If the shader is not finished or for another target, or the library has a function of its name.
    pub fn add(&mut self, shader: Shader) -> Result<()> {
        let (signature, generation) = (shader.signature().clone(), shader.generation());
        if shader.target() != self.target {
            return refused(format!("{} is for another target", signature.name));
        }
        if self.file.functions.iter().any(|function| function.name == signature.name.as_bytes()) {
            return refused(format!("the library has a function {} already", signature.name));
        }
        let bitcode = shader.finish()?.write()?;
        let kind = match signature.stage {
            Stage::Kernel => FunctionType::KERNEL,
            Stage::Vertex => FunctionType::VERTEX,
            Stage::Fragment => FunctionType::FRAGMENT,
        };
        let module = self.file.modules.len();
        let mut function = OwnedFunction::new(signature.name.into_bytes(), kind, module);
        let version = |(major, minor): (u16, u16)| ShortVersion { major, minor };
        function.versions =
            Some(FunctionVersions { air: version(generation.air), language: version(generation.language) });
        let mut attributes = Vec::new();
        for (name, argument) in signature.arguments {
            if let Argument::VertexInput { attribute, ty } = argument {
                attributes.push(vertex_attribute(name.into_bytes(), attribute, &ty)?);
            }
        }
        function.public.attributes = (!attributes.is_empty()).then_some(attributes);
        // A module for one of Apple's platforms has its wrapper already.
        self.file.modules.push(match canonical_bitcode(&bitcode) {
            Some(_) => OwnedModule::of_bytes(bitcode),
            None => OwnedModule::of_bitcode(&bitcode)?,
        });
        self.file.functions.push(function);
        Ok(())
    }

    /// Returns the library as a file that can be changed.
    pub fn file(&self) -> &LibraryFile<'static> {
        &self.file
    }

    /// Returns the bytes of the library.
    ///
    /// # Errors
    /// If a name is too long for the format.
    pub fn write(&self) -> Result<Vec<u8>> {
        Ok(self.file.write()?.to_vec())
    }
}

fn vertex_attribute(name: Vec<u8>, attribute: u32, ty: &MetalType) -> Result<VertexAttribute<'static>> {
    let type_name = ty.name();
    let row = DATA_TYPES.iter().find(|row| row.metal == type_name);
    match (row, u16::try_from(attribute)) {
        (Some(row), Ok(index @ ..8192)) => Ok(VertexAttribute {
            name: Cow::Owned(name),
            index,
            usage: AttributeUse::PER_VERTEX,
            active: true,
            data_type: Some(DataType(row.value)),
        }),
        _ => refused(format!("a vertex attribute of type {type_name}")),
    }
}
