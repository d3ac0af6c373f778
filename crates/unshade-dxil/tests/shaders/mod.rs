//! Shaders that the tests build.

pub(crate) mod compute;
pub(crate) mod graphics;

use unshade_core::Result;
use unshade_dxil::shader::Shader;
use unshade_dxil::target::Target;

/// A shader, as `name-profile`, with its bitcode and its container.
pub(crate) struct Built {
    pub(crate) name: String,
    pub(crate) bitcode: Vec<u8>,
    pub(crate) container: Vec<u8>,
}

/// Builds a shader; it must be sound.
pub(crate) fn shader(name: &str, target: Target, make: fn(Target) -> Result<Shader>) -> Built {
    let profile = |shader: &Shader| shader.stage().profile(target);
    let shader = make(target).unwrap_or_else(|error| panic!("{name}: {error}"));
    let name = format!("{name}-{}", profile(&shader));
    let bitcode = shader.clone().bitcode().unwrap_or_else(|error| panic!("{name}: {error}"));
    let container = shader.container().unwrap_or_else(|error| panic!("{name}: {error}"));
    Built { name, bitcode, container }
}
