//! Decompiles AIR, the code of Metal libraries, to the Metal Shading Language.
//!
//! ```
//! use unshade::metal::entry::{Access, Argument, Signature};
//! use unshade::metal::shader::Shader;
//! use unshade::metal::types::MetalType;
//! use unshade::metallib::{Platform, target::Target};
//!
//! let data = Argument::device(0, MetalType::FLOAT, Access::ReadWrite);
//! let signature = Signature::kernel("nothing").argument("data", data);
//! let mut shader = Shader::new(Target { platform: Platform::MACOS, os: (14, 0, 0) }, &signature)?;
//! let mut body = shader.body()?;
//! body.ret_void()?;
//! body.finish()?;
//! let bitcode = shader.finish()?.write()?;
//!
//! let metal = unshade::msl::module(&unshade::llvm::Module::parse(&bitcode, 0)?, &|_, _| true);
//! assert!(metal.text().contains("kernel void nothing(device float* data [[buffer(0)]])"));
//! # Ok::<(), unshade_core::Error>(())
//! ```

mod folder;

pub use folder::{MetalFolder, folder};
use unshade_decompile::ir::metal::interface::MetalProgram;
pub use unshade_decompile::metal::{Metal, PrintedFunction};
use unshade_decompile::{air, metal};
use unshade_llvm::Module;

/// Decompiles the functions of a module that are `wanted` by number and name, and those that they call.
pub fn module(module: &Module<'_>, wanted: &dyn Fn(usize, &str) -> bool) -> Metal {
    let mut program = lift(module);
    select(&mut program, wanted);
    metal::print(program)
}

/// Lifts the functions of a module to the intermediate representation.
pub fn lift(module: &Module<'_>) -> MetalProgram {
    air::lift(module)
}

/// Drops the functions that are not wanted, and that none of the wanted ones calls.
fn select(program: &mut MetalProgram, wanted: &dyn Fn(usize, &str) -> bool) {
    let names: Vec<String> = program.functions.iter().map(|function| function.name.clone()).collect();
    let is_wanted = |function: &unshade_decompile::ir::metal::interface::MetalFunction| {
        !function.is_declared && wanted(function.number as usize, &function.name)
    };
    let mut keep: Vec<bool> = program.functions.iter().map(is_wanted).collect();
    let mut list: Vec<usize> = (0..keep.len()).filter(|index| keep[*index]).collect();
    while let Some(index) = list.pop() {
        for callee in &program.functions[index].function.callees {
            if let Some(callee) = names.iter().position(|name| *name == callee.name)
                && !std::mem::replace(&mut keep[callee], true)
            {
                list.push(callee);
            }
        }
    }
    let mut keep = keep.into_iter();
    program.functions.retain(|_| keep.next() == Some(true));
}
