//! Options of DXC that a module keeps and that change what a text means: no text says them.
//!
//! | option | where |
//! |---|---|
//! | `-enable-16bit-types` | a flag of the module |
//! | `-denorm MODE` | an attribute of functions; `any` is the default |
//! | `-no-legacy-cbuf-layout` | loads of single numbers from constant buffers |
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
    if let Some(mode) = denormals(module, &mut program.missing) {
        program.options.push(format!("-denorm {mode}"));
    }
    if reads_plain_buffers(module) {
        program.options.push("-no-legacy-cbuf-layout".into());
    }
    if let Some(space) = dxil.entries.first().and_then(|entry| entry.properties.binding_space) {
        program.options.push(format!("-auto-binding-space {space}"));
    }
    if !dxil.payloads.is_empty() && program.model < PAYLOAD_MODEL {
        program.options.push("-enable-payload-qualifiers".into());
    }
}

/// Attributes of functions that are read: the treatment of denormal numbers, and [`HELPER_LANES`].
const KNOWN_ATTRIBUTES: [&str; 2] = [DENORMALS, HELPER_LANES];

/// The attribute of functions that says how they treat denormal numbers.
const DENORMALS: &str = "fp32-denorm-mode";

/// The attribute of entry points whose operations of waves include lanes of pixels outside of primitives.
pub(super) const HELPER_LANES: &str = "waveops-include-helper-lanes";

/// Returns the attributes of a function that are texts: names and values.
pub(super) fn texts<'m>(module: &'m Module<'_>, function: usize) -> impl Iterator<Item = (&'m str, &'m str)> {
    let function = module.functions.get(function);
    let set = function.and_then(|function| module.attributes.of(function.attributes, index::FUNCTION));
    let all = set.map_or(&[][..], |set| module.attributes.set(set));
    all.iter().filter_map(|attribute| match *attribute {
        Attribute::Text { name, value } => {
            let text = |slice| str::from_utf8(module.attributes.text(slice)).ok();
            Some((text(name)?, text(value)?))
        }
        _ => None,
    })
}

/// Returns how functions treat denormal numbers, if they say so. Other attributes are added to what is missing.
fn denormals(module: &Module<'_>, missing: &mut Vec<String>) -> Option<&'static str> {
    let mut found = None;
    for (index, _) in module.functions_with_bodies() {
        for (name, value) in texts(module, index) {
            if name == DENORMALS {
                found = found.or(["preserve", "ftz"].into_iter().find(|mode| *mode == value));
            } else if !KNOWN_ATTRIBUTES.contains(&name) {
                missing.push(format!("the attribute {} of a function", name.escape_debug()));
            }
        }
    }
    found
}

/// Returns whether the program reads constant buffers that are laid out without rows.
fn reads_plain_buffers(module: &Module<'_>) -> bool {
    module.functions.iter().any(|function| function.symbol.name.starts_with(PLAIN_LOAD))
}

/// The start of the names of the functions that load from constant buffers without rows.
const PLAIN_LOAD: &[u8] = b"dx.op.cbufferLoad.";
