//! Options of DXC that a module keeps and that change what a text means: no text says them.
//!
//! | option | where |
//! |---|---|
//! | `-enable-16bit-types` | a flag of the module |
//! | `-denorm MODE` | an attribute of functions; `any` is the default |
//! | `-auto-binding-space SPACE` | a property of the first entry point |
//! | `-enable-payload-qualifiers` | there are qualifiers; from shader model 6.7 on there always are |
//!
//! Source: DXC's `DxilConstants.h` and what DXC 1.6 to 1.10 write.

use crate::ir::shader::interface::ShaderProgram;
use unshade_dxcontainer::dxil::DxilModule;
use unshade_llvm::Module;
use unshade_llvm::attributes::{Attribute, index};

/// The shader model from which on payloads have qualifiers without an option.
const PAYLOAD_MODEL: (u8, u8) = (6, 7);

/// Adds the options of a module to its program.
pub(super) fn add(module: &Module<'_>, dxil: &DxilModule, program: &mut ShaderProgram) {
    if program.has_native_16_bit {
        program.options.push("-enable-16bit-types".into());
    }
    if let Some(mode) = denormals(module) {
        program.options.push(format!("-denorm {mode}"));
    }
    if let Some(space) = dxil.entries.first().and_then(|entry| entry.properties.binding_space) {
        program.options.push(format!("-auto-binding-space {space}"));
    }
    if !dxil.payloads.is_empty() && program.model < PAYLOAD_MODEL {
        program.options.push("-enable-payload-qualifiers".into());
    }
}

/// Returns how functions treat denormal numbers, if they say so.
fn denormals(module: &Module<'_>) -> Option<&'static str> {
    let of_function = |attribute: &Attribute| match *attribute {
        Attribute::Text { name, value } if module.attributes.text(name) == b"fp32-denorm-mode" => {
            let value = module.attributes.text(value);
            ["preserve", "ftz"].into_iter().find(|mode| mode.as_bytes() == value)
        }
        _ => None,
    };
    let sets = module.functions_with_bodies().filter_map(|(_, function)| {
        let set = module.attributes.of(function.attributes, index::FUNCTION)?;
        Some(module.attributes.set(set))
    });
    sets.flatten().find_map(of_function)
}
