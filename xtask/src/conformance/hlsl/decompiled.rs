//! The decompiler that is measured.

use super::input::Shader;
use super::recompile::Hlsl;
use unshade::dxcontainer::Container;
use unshade::hlsl::target::Encoding;

/// Decompiles a shader; an error says why not.
pub(super) fn decompile(shader: &Shader) -> Result<Hlsl, String> {
    let hlsl = match shader.target.encoding {
        Encoding::Direct3d9 => unshade::hlsl::direct3d9(&shader.data),
        _ => Container::parse(&shader.data)
            .and_then(|container| unshade::hlsl::container(&container, &|_, _| true)),
    };
    let hlsl = hlsl.map_err(|error| error.to_string())?;
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
