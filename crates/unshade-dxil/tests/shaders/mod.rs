//! Shaders that the tests build.

pub(crate) mod compute;
pub(crate) mod graphics;
pub(crate) mod libraries;
pub(crate) mod stages;

use unshade_core::Result;
use unshade_dxil::shader::Shader;
use unshade_dxil::target::Target;

/// A shader, as `name-profile`, with its bitcode and its container.
pub(crate) struct Built {
    pub(crate) name: String,
    pub(crate) bitcode: Vec<u8>,
    pub(crate) container: Vec<u8>,
}

/// All shader models, for the newest validator and for the first that knows each.
pub(crate) fn targets() -> impl Iterator<Item = Target> {
    (0..=8).flat_map(|model| {
        let target = Target::model(model);
        let old = (model < 8).then_some(target.validator(1, model));
        [Some(target), old].into_iter().flatten()
    })
}

/// Builds a shader; it must be sound.
pub(crate) fn shader(name: &str, target: Target, make: fn(Target) -> Result<Shader>) -> Built {
    let profile = |shader: &Shader| shader.stage().profile(target);
    let shader = make(target).unwrap_or_else(|error| panic!("{name}: {error}"));
    let name = format!("{name}-{}-{}", profile(&shader), target.validator.1);
    let bitcode = shader.clone().bitcode().unwrap_or_else(|error| panic!("{name}: {error}"));
    let container = shader.container().unwrap_or_else(|error| panic!("{name}: {error}"));
    Built { name, bitcode, container }
}
