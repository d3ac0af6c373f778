//! The decompiler that is measured.

use super::input::Shader;
use super::recompile::Hlsl;

/// Decompiles a shader; an error says why not.
pub(super) fn decompile(shader: &Shader) -> Result<Hlsl, String> {
    let hlsl = unshade::hlsl::shader(&shader.data).map_err(|error| error.to_string())?;
    Ok(Hlsl {
        text: hlsl.text(),
        entry: hlsl.entry,
        profile: hlsl.profile,
        options: hlsl.options,
        flags: 0,
        unknown: hlsl.unknown.len(),
        gotos: hlsl.gotos,
        file: None,
    })
}
