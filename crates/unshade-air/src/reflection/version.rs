//! The version of the reflections that Apple's linker writes to a library.
//!
//! | compiler of the modules | reflection |
//! |---|---|
//! | metalfe-31001 | 0.1.0, from a newer linker 0.2.0 |
//! | metalfe-32023 (.154, .155) | 0.2.0 |
//! | metalfe-32023.329 | 0.3.0 |
//! | metalfe-32023.850, metalfe-32023.883 | 0.4.0 |
//!
//! A library has one version, that of the tools with which it was linked: never older than that of a compiler of its
//! modules. It does not follow the container version: there are containers of 1.2.7 with 0.1.0, 0.2.0 and 0.4.0. Only for
//! modules that no compiler of Apple made, the container version says which tools are about as old.
//!
//! Source: 36,249 reflections of the real libraries at hand, with the compilers that their modules name.

use unshade_llvm::Module;
use unshade_metallib::reflection::schema::Version;
use unshade_metallib::target::FIRST_WITH_REFLECTION;

/// What precedes the number of the build in the name of Apple's compiler.
const BUILD: &[u8] = b"metalfe-";

/// The first builds of the compiler with a version.
const COMPILERS: [((u32, u32), Version); 4] =
    [((0, 0), version(1)), ((32023, 0), version(2)), ((32023, 329), version(3)), ((32023, 850), version(4))];

/// The first container versions (1.2.x) with a version, for modules of other compilers.
const CONTAINERS: [(u16, Version); 3] =
    [(FIRST_WITH_REFLECTION, version(2)), (8, version(3)), (9, version(4))];

const fn version(minor: u32) -> Version {
    Version { major: 0, minor, sub_minor: 0 }
}

/// Returns the version of the reflections in a library whose container is 1.2.`container`, given the newest
/// [`oldest_version`] of its modules; `None` if such a container has no reflections.
pub fn version_for(newest: Option<Version>, container: u16) -> Option<Version> {
    let row = CONTAINERS.iter().rev().find(|(first, _)| *first <= container);
    row.map(|(_, version)| newest.unwrap_or(*version))
}

/// Returns the version that the tools of a module's compiler write, which no library of the module is older than; `None` if
/// no compiler of Apple made the module.
pub fn oldest_version(module: &Module<'_>) -> Option<Version> {
    let build = compiler_build(module.ident()?)?;
    COMPILERS.iter().rev().find(|(first, _)| *first <= build).map(|row| row.1)
}

/// Returns the first two numbers of the compiler's build, such as 32023 and 883 of `metalfe-32023.883`.
fn compiler_build(ident: &[u8]) -> Option<(u32, u32)> {
    let start = ident.windows(BUILD.len()).position(|window| window == BUILD)?.saturating_add(BUILD.len());
    let mut numbers = ident.get(start..)?.split(|byte| !byte.is_ascii_digit()).map(|digits| {
        core::str::from_utf8(digits).ok().and_then(|digits| digits.parse::<u32>().ok()).unwrap_or_default()
    });
    Some((numbers.next()?, numbers.next().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::{COMPILERS, CONTAINERS, compiler_build, version, version_for};

    #[test]
    fn builds_are_read() {
        let apple = b"Apple metal version 32023.883 (metalfe-32023.883)";
        assert_eq!(compiler_build(apple), Some((32023, 883)));
        assert_eq!(
            compiler_build(b"Apple metal version 31001.667 (metalfe-31001.667.2)"),
            Some((31001, 667))
        );
        assert_eq!(compiler_build(b"metalfe-"), Some((0, 0)));
        assert_eq!(compiler_build(b"unshade-air 0.1.0"), None);
    }

    #[test]
    fn without_a_compiler_the_container_decides() {
        let of_none = |container| version_for(None, container);
        assert_eq!(of_none(6), None);
        assert_eq!(
            (version_for(Some(version(1)), 9), version_for(Some(version(1)), 6)),
            (Some(version(1)), None)
        );
        assert_eq!([7, 8, 9, 10].map(of_none), [2, 3, 4, 4].map(|minor| Some(version(minor))));
        assert!(COMPILERS.is_sorted() && CONTAINERS.is_sorted());
    }
}
