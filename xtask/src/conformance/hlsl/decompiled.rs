//! The decompiler that is measured.

use super::input::Shader;
use super::recompile::Hlsl;

/// Decompiles a shader; an error says why not.
pub(super) fn decompile(shader: &Shader) -> Result<Hlsl, String> {
    Err(format!("{} is not decompiled to HLSL yet", shader.profile.split('_').next().unwrap_or_default()))
}
