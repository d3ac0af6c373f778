//! The decompiler that is measured.

use super::input::{Encoding, Shader};
use super::recompile::Hlsl;
use unshade::dxcontainer::Container;

/// Decompiles a shader; an error says why not.
pub(super) fn decompile(shader: &Shader) -> Result<Hlsl, String> {
    if shader.encoding == Encoding::Direct3d9 {
        return Err(format!("{} is not decompiled to HLSL yet", shader.profile));
    }
    let container = Container::parse(&shader.data).map_err(|error| error.to_string())?;
    let hlsl = unshade::hlsl::container(&container, &|_, _| true).map_err(|error| error.to_string())?;
    Ok(Hlsl {
        text: hlsl.text(),
        entry: hlsl.entry,
        profile: hlsl.profile,
        options: Vec::new(),
        flags: 0,
        unknown: hlsl.unknown.len(),
        gotos: hlsl.gotos,
        file: None,
    })
}
