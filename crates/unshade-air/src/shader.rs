//! A module with one entry point, as Apple's compiler puts each into a library.

use crate::entry::{Access, AddressSpace, Argument, Signature, Stage};
use crate::metadata::Nodes;
use crate::refused;
use crate::target::{DATA_LAYOUT, Generation, generation, triple};
use crate::types::MetalType;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::{Deref, DerefMut};
use unshade_core::Result;
use unshade_llvm::build::{
    Attr, AttributePlace, BuiltModule, FastMath, FunctionBuilder, GlobalOptions, ModuleBuilder, Version,
};
use unshade_llvm::global::Linkage;
use unshade_llvm::types::Type;
use unshade_llvm::{TypeId, ValueId};
use unshade_metallib::target::Target;

/// What the resources of a shader are limited to, as module flags.
const LIMITS: [(&str, u32); 6] = [
    ("air.max_device_buffers", 31),
    ("air.max_constant_buffers", 31),
    ("air.max_threadgroup_buffers", 31),
    ("air.max_textures", 128),
    ("air.max_read_write_textures", 8),
    ("air.max_samplers", 16),
];

/// Attributes of every function.
const ATTRIBUTES: [Attr<'_>; 6] = [
    Attr::Flag("nounwind"),
    Attr::Text("frame-pointer", "all"),
    Attr::Text("min-legal-vector-width", "0"),
    Attr::Text("no-builtins", ""),
    Attr::Text("no-trapping-math", "true"),
    Attr::Text("stack-protector-buffer-size", "8"),
];

/// Attributes of functions whose floating-point operations may be reordered and approximated.
const FAST_MATH_ATTRIBUTES: [Attr<'_>; 5] = [
    Attr::Text("approx-func-fp-math", "true"),
    Attr::Text("no-infs-fp-math", "true"),
    Attr::Text("no-nans-fp-math", "true"),
    Attr::Text("no-signed-zeros-fp-math", "true"),
    Attr::Text("unsafe-fp-math", "true"),
];

/// A module with one entry point. It is the builder of the module too.
#[derive(Clone, Debug)]
pub struct Shader {
    module: ModuleBuilder,
    function: ValueId,
    signature: Signature,
    generation: Generation,
    target: Target,
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
    /// Creates a module with this entry point, whose body is [built](Shader::body) next.
    ///
    /// # Errors
    /// If the target is not supported, an argument or output does not belong to the stage, or two of them have one
    /// slot.
    pub fn new(target: Target, signature: &Signature) -> Result<Self> {
        let generation = generation(target)?;
        check(signature)?;
        let mut module = ModuleBuilder::new(Version::Llvm14);
        module.set_source_filename(&signature.name);
        module.set_data_layout(DATA_LAYOUT)?;
        module.set_triple(&triple(target)?);
        let ty = function_type(&mut module, signature)?;
        let function = module.add_function(&signature.name, ty)?;
        module.set_unnamed_address(function, true)?;
        set_attributes(&mut module, function, signature)?;
        properties(&mut module, target, generation, signature.fast_math)?;
        Nodes { module: &mut module, generation }.entry(signature, function)?;
        Ok(Self { module, function, signature: signature.clone(), generation, target })
    }

    /// Returns the signature of the entry point.
    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Returns the versions that the module is written for.
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// Returns the target.
    pub fn target(&self) -> Target {
        self.target
    }

    /// Returns the function of the entry point.
    pub fn function(&self) -> ValueId {
        self.function
    }

    /// Starts the body of the entry point, with an entry block. Floating-point operations have the flags that the
    /// signature asks for.
    ///
    /// # Errors
    /// If the body was started before.
    pub fn body(&mut self) -> Result<FunctionBuilder<'_>> {
        let fast_math = self.signature.fast_math;
        let mut body = self.module.body(self.function)?;
        for (at, (name, _)) in (0..).zip(&self.signature.arguments) {
            let parameter = body.parameter(at)?;
            body.set_name(parameter, name)?;
        }
        let entry = body.block("entry");
        body.select_block(entry)?;
        if fast_math {
            body.set_fast_math(FastMath::FAST);
        }
        Ok(body)
    }

    /// Adds a variable in threadgroup memory, which has no value when a kernel starts. Returns a pointer to it.
    ///
    /// # Errors
    /// If this is no kernel, or the name is taken.
    pub fn threadgroup_variable(&mut self, name: &str, ty: &MetalType) -> Result<ValueId> {
        if self.signature.stage != Stage::Kernel {
            return refused("only kernels have threadgroup memory");
        }
        let of = ty.llvm_in_memory(&mut self.module)?;
        let kernel = &self.signature.name;
        let mangled = format!("_ZZ{}{kernel}E{}{name}", kernel.len(), name.len());
        let options = GlobalOptions {
            address_space: AddressSpace::Threadgroup as u32,
            linkage: Linkage::Internal,
            initializer: Some(self.module.const_undef(of)?),
            ..GlobalOptions::default()
        };
        let variable = self.module.add_global(&mangled, of, &options)?;
        self.module.set_alignment(variable, u64::from(ty.alignment()))?;
        Ok(variable)
    }

    /// Adds a table of constants, and returns a pointer to it.
    ///
    /// # Errors
    /// If the name is taken, or the value is no constant.
    pub fn constant_table(&mut self, name: &str, value: ValueId) -> Result<ValueId> {
        let ty = self.module.type_of(value)?;
        let options = GlobalOptions {
            constant: true,
            address_space: AddressSpace::Constant as u32,
            linkage: Linkage::Internal,
            initializer: Some(value),
            ..GlobalOptions::default()
        };
        let table = self.module.add_global(name, ty, &options)?;
        self.module.set_unnamed_address(table, false)?;
        Ok(table)
    }

    /// Ends the module.
    ///
    /// # Errors
    /// If the entry point has no body, or another function is not finished.
    pub fn finish(self) -> Result<BuiltModule> {
        if self.module.function_of(self.function)?.declaration {
            return refused(format!("entry point {} has no body", self.signature.name));
        }
        self.module.finish()
    }
}

/// Checks that arguments and outputs belong to the stage, and that each slot is used once.
fn check(signature: &Signature) -> Result<()> {
    let name = &signature.name;
    if name.is_empty() {
        return refused("an entry point has a name");
    }
    let mut slots = Vec::new();
    for (argument_name, argument) in &signature.arguments {
        let stage_fits = match argument {
            Argument::Builtin { builtin, .. } => builtin.stages().contains(&signature.stage),
            Argument::VertexInput { .. } => signature.stage == Stage::Vertex,
            Argument::FragmentInput { .. } => signature.stage == Stage::Fragment,
            Argument::Buffer { space: AddressSpace::Threadgroup, .. } => signature.stage == Stage::Kernel,
            _ => true,
        };
        if !stage_fits {
            return refused(format!("{name}: argument {argument_name} does not belong to the stage"));
        }
        if let Argument::Buffer { access, space, .. } = argument {
            let is_written = *access != Access::Read;
            if *space == AddressSpace::Thread || (*space == AddressSpace::Constant && is_written) {
                return refused(format!("{name}: buffer {argument_name} can't be in this address space"));
            }
        }
        let slot = match argument {
            Argument::Buffer { slot, space, .. } => {
                Some((if *space == AddressSpace::Threadgroup { 3 } else { 0 }, *slot))
            }
            Argument::Texture { slot, .. } => Some((1, *slot)),
            Argument::Sampler { slot } => Some((2, *slot)),
            Argument::VertexInput { attribute, .. } => Some((4, *attribute)),
            _ => None,
        };
        if let Some(slot) = slot {
            if slots.contains(&slot) {
                return refused(format!("{name}: slot {} of argument {argument_name} is taken", slot.1));
            }
            slots.push(slot);
        }
    }
    match signature.outputs.iter().find(|(_, output)| output.stage() != signature.stage) {
        Some((output, _)) => refused(format!("{name}: output {output} does not belong to the stage")),
        None => Ok(()),
    }
}

/// Returns the function type of a signature.
fn function_type(module: &mut ModuleBuilder, signature: &Signature) -> Result<TypeId> {
    let mut parameters = Vec::with_capacity(signature.arguments.len());
    for (_, argument) in &signature.arguments {
        parameters.push(match argument {
            Argument::Buffer { ty, space, .. } => {
                let pointee = ty.llvm_in_memory(module)?;
                module.pointer(pointee, *space as u32)?
            }
            Argument::Texture { texture, .. } => {
                handle(module, texture.kind.air_name(), AddressSpace::Device)?
            }
            Argument::Sampler { .. } => handle(module, "sampler", AddressSpace::Constant)?,
            Argument::Builtin { ty, .. }
            | Argument::VertexInput { ty, .. }
            | Argument::FragmentInput { ty, .. } => ty.llvm(module)?,
        });
    }
    let mut members = Vec::with_capacity(signature.outputs.len());
    for (_, output) in &signature.outputs {
        members.push(output.ty().llvm(module)?);
    }
    let result = match members.as_slice() {
        [] => module.void(),
        &[single] => single,
        members => module.packed_struct(members)?,
    };
    module.function_type(result, &parameters)
}

/// Returns the type of a handle: a pointer to a struct that nobody looks into.
pub(crate) fn handle(module: &mut ModuleBuilder, name: &str, space: AddressSpace) -> Result<TypeId> {
    let opaque = module.named_struct(&format!("struct._{name}_t"));
    module.pointer(opaque, space as u32)
}

fn set_attributes(module: &mut ModuleBuilder, function: ValueId, signature: &Signature) -> Result<()> {
    let mut of_function = ATTRIBUTES.to_vec();
    if signature.fast_math {
        of_function.extend_from_slice(&FAST_MATH_ATTRIBUTES);
    }
    let threads = signature.max_threads.map(|threads| format!("{threads}"));
    if let Some(threads) = &threads {
        of_function.push(Attr::Text("max-work-group-size", threads));
    }
    let mut of_parameters = Vec::new();
    for (_, argument) in &signature.arguments {
        let mut list = alloc::vec![Attr::Flag("noundef")];
        if let Argument::Buffer { ty, reference: true, .. } = argument {
            list.push(Attr::Number("align", u64::from(ty.alignment())));
            list.push(Attr::Number("dereferenceable", u64::from(ty.size())));
        }
        of_parameters.push(list);
    }
    let mut places: Vec<(AttributePlace, &[Attr<'_>])> =
        alloc::vec![(AttributePlace::Function, of_function.as_slice())];
    let parameters = (0u32..).zip(&of_parameters);
    places.extend(parameters.map(|(at, list)| (AttributePlace::Parameter(at), list.as_slice())));
    let attributes = module.attributes(&places)?;
    module.set_attributes(function, attributes)
}

/// Adds what every module says of itself: flags, the compiler, versions and options.
fn properties(
    module: &mut ModuleBuilder,
    target: Target,
    generation: Generation,
    fast_math: bool,
) -> Result<()> {
    let word = module.integer(32)?;
    let sdk = [u32::from(target.os.0), u32::from(target.os.1)];
    let mut numbers = Vec::new();
    for number in sdk {
        numbers.push(module.const_int(word, i128::from(number))?);
    }
    let pair = module.array(2, word)?;
    let sdk = module.const_aggregate(pair, &numbers)?;
    let sdk = [module.metadata_i32(2), module.metadata_string("SDK Version"), module.metadata_value(sdk)?];
    let sdk = module.metadata_tuple(&sdk)?;
    module.add_named_metadata("llvm.module.flags", &[sdk])?;
    module.add_module_flag(1, "wchar_size", 4)?;
    module.add_module_flag(7, "frame-pointer", 2)?;
    for (name, limit) in LIMITS {
        module.add_module_flag(7, name, limit)?;
    }
    let producer = format!("unshade-air {}", env!("CARGO_PKG_VERSION"));
    let ident = [module.metadata_string(&producer)];
    let ident = module.metadata_tuple(&ident)?;
    module.add_named_metadata("llvm.ident", &[ident])?;
    let version = |module: &mut ModuleBuilder, (major, minor): (u16, u16)| {
        [u32::from(major), u32::from(minor), 0].map(|number| module.metadata_i32(number))
    };
    let air = version(module, generation.air);
    let air = module.metadata_tuple(&air)?;
    module.add_named_metadata("air.version", &[air])?;
    let mut language = alloc::vec![module.metadata_string("Metal")];
    language.extend(version(module, generation.language));
    let language = module.metadata_tuple(&language)?;
    module.add_named_metadata("air.language_version", &[language])?;
    let math = if fast_math { "air.compile.fast_math_enable" } else { "air.compile.fast_math_disable" };
    for option in ["air.compile.denorms_disable", math, "air.compile.framebuffer_fetch_enable"] {
        let option = [module.metadata_string(option)];
        let option = module.metadata_tuple(&option)?;
        module.add_named_metadata("air.compile_options", &[option])?;
    }
    Ok(())
}

/// Returns how the names of AIR's functions encode a type: `p1i32`, `v4f32`.
pub(crate) fn suffix(module: &ModuleBuilder, ty: TypeId) -> Result<String> {
    let types = &module.module().types;
    Ok(match types.get(ty) {
        Type::Integer(width) => format!("i{width}"),
        Type::Half => String::from("f16"),
        Type::BFloat => String::from("bf16"),
        Type::Float => String::from("f32"),
        Type::Vector { count, element, .. } => format!("v{count}{}", suffix(module, element)?),
        Type::Pointer { pointee, address_space } => format!("p{address_space}{}", suffix(module, pointee)?),
        _ => return refused(format!("AIR's functions have no operands of type {}", module.type_text(ty))),
    })
}
