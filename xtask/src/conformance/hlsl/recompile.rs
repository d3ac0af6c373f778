//! What a text is compiled with, so that it can become the program that it was decompiled from.
//!
//! FXC stores its flags. DXC stores few: `-Od`, `-enable-16bit-types`, `-all-resources-bound` and `-res-may-alias` are flags of
//! the module. Other levels of optimization leave no trace, so each is tried until the program is the same: with the true
//! sources and without the options given for them, 4,876 of 4,879 programs of DXC's and vkd3d's tests become the same. The
//! three others were compiled with `-Gis`, which leaves no trace but operations that are not `fast`, as `precise` does.

use super::input::{Encoding, Shader};
use super::oracle::{Compiler, Job};
use std::path::PathBuf;

/// A decompiled shader.
pub(super) struct Hlsl {
    pub(super) text: String,
    /// The entry point; empty for a library.
    pub(super) entry: String,
    pub(super) profile: String,
    /// Macros of FXC or arguments of DXC that the text needs.
    pub(super) options: Vec<String>,
    /// Flags of D3DCompile that the text needs.
    pub(super) flags: u32,
    /// Instructions and types that could not be expressed.
    pub(super) unknown: usize,
    pub(super) gotos: usize,
    /// The file that includes are relative to, if the text is that of a file.
    pub(super) file: Option<PathBuf>,
}

/// The flags of D3DCompile that change what becomes of a text. The others check the text, or change how it is read (order of
/// matrices, compatibility), or are FXC's own (0x100, which it stores and does not take).
const FXC_FLAGS: u64 = 0x0038_e6e6;
/// Debug information: FXC needs more than Wine has for it, except for shader models 1 to 3.
const FXC_DEBUG: u64 = 1;

/// Options of DXC by bit of the flags of a module.
const DXC_OPTIONS: [(u32, &str); 3] = [(0, "-Od"), (8, "-all-resources-bound"), (23, "-enable-16bit-types")];

/// The bit that says that resources do not alias, and the shader model from which on it is written.
const DOES_NOT_ALIAS: u32 = 33;
const ALIAS_MODEL: u32 = 7;

/// What is tried for DXIL, in turn: the level of optimization that most programs are compiled with first.
const LEVELS: [&str; 4] = ["-O3", "-O1", "-O0", "-O2"];

/// Returns the compiler of a shader, and whether it is the very version.
pub(super) fn compiler(shader: &Shader) -> (Compiler, bool) {
    if shader.encoding != Encoding::Dxil {
        return (Compiler::Fxc, shader.creator.is_empty() || shader.creator.contains("10.1"));
    }
    let creator = shader.creator.as_str();
    match creator {
        // The releases up to 1.6 do not name themselves.
        _ if creator.starts_with("clang version 3.7") => (Compiler::Dxc16, true),
        _ if creator.starts_with("dxcoob 1.9.") => (Compiler::Dxc19, true),
        _ => (Compiler::Dxc110, creator.starts_with("dxc(private) 1.9.0.5517")),
    }
}

/// Returns how many ways of compiling there are to try.
pub(super) fn attempts(shader: &Shader) -> usize {
    let is_unoptimized = shader.flags & 1 != 0;
    if shader.encoding == Encoding::Dxil && !is_unoptimized { LEVELS.len() } else { 1 }
}

/// Returns the job that compiles a text, in the way `attempt`.
pub(super) fn job(shader: &Shader, hlsl: &Hlsl, source: PathBuf, attempt: usize) -> Job {
    let (compiler, _) = compiler(shader);
    let mut options = hlsl.options.clone();
    let mut flags = 0;
    if compiler == Compiler::Fxc {
        let debug = if shader.encoding == Encoding::Direct3d9 { FXC_DEBUG } else { 0 };
        flags = hlsl.flags | u32::try_from(shader.flags & (FXC_FLAGS | debug)).unwrap_or_default();
    } else {
        let of_module = dxc_options(shader).into_iter().map(str::to_owned);
        let level = (attempts(shader) > 1).then(|| LEVELS[attempt].to_owned());
        let given = std::mem::take(&mut options);
        for option in of_module.chain(level).filter(|option| !given.contains(option)) {
            options.push(option);
        }
        options.extend(given);
    }
    Job { compiler, source, profile: hlsl.profile.clone(), entry: hlsl.entry.clone(), flags, options }
}

fn dxc_options(shader: &Shader) -> Vec<&'static str> {
    let set = |bit: u32| shader.flags >> bit & 1 != 0;
    let mut options: Vec<_> =
        DXC_OPTIONS.into_iter().filter(|&(bit, _)| set(bit)).map(|(_, option)| option).collect();
    let minor = shader.profile.rsplit('_').next().and_then(|minor| minor.parse().ok()).unwrap_or(0);
    if shader.has_views && minor >= ALIAS_MODEL && !set(DOES_NOT_ALIAS) {
        options.push("-res-may-alias");
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shader(encoding: Encoding, profile: &str, creator: &str, flags: u64) -> Shader {
        Shader {
            set: String::new(),
            name: String::new(),
            path: PathBuf::new(),
            data: Vec::new(),
            encoding,
            profile: profile.into(),
            creator: creator.into(),
            flags,
            has_views: true,
        }
    }

    fn text(options: &[&str]) -> Hlsl {
        Hlsl {
            text: String::new(),
            entry: "main".into(),
            profile: "cs_6_7".into(),
            options: options.iter().map(|&option| option.into()).collect(),
            flags: 0,
            unknown: 0,
            gotos: 0,
            file: None,
        }
    }

    #[test]
    fn the_compiler_is_that_of_the_program() {
        let cases = [
            (Encoding::Dxil, "clang version 3.7 (tags/RELEASE_370/final)", Compiler::Dxc16, true),
            (Encoding::Dxil, "dxcoob 1.9.2602.17 (21d28f727)", Compiler::Dxc19, true),
            (Encoding::Dxil, "dxc(private) 1.9.0.5517 (9757d44fa)", Compiler::Dxc110, true),
            (Encoding::Dxil, "dxcoob 1.7.2212.1", Compiler::Dxc110, false),
            (Encoding::Dxbc, "Microsoft (R) HLSL Shader Compiler 10.1", Compiler::Fxc, true),
            (Encoding::Direct3d9, "Microsoft (R) HLSL Shader Compiler 9.29.952.3111", Compiler::Fxc, false),
        ];
        for (encoding, creator, expected, is_exact) in cases {
            assert_eq!(compiler(&shader(encoding, "", creator, 0)), (expected, is_exact), "{creator}");
        }
    }

    #[test]
    fn options_are_those_of_the_module() {
        let native = shader(Encoding::Dxil, "cs_6_7", "", 1 << 23);
        let job_of = |shader: &Shader, attempt| job(shader, &text(&["-HV", "2018"]), PathBuf::new(), attempt);
        let expected = ["-enable-16bit-types", "-res-may-alias", "-O3", "-HV", "2018"];
        assert_eq!(job_of(&native, 0).options, expected);
        assert_eq!(job_of(&native, 1).options[2], "-O1");
        let unoptimized = shader(Encoding::Dxil, "cs_6_0", "", 1);
        assert_eq!((attempts(&unoptimized), attempts(&native)), (1, LEVELS.len()));
        assert_eq!(job_of(&unoptimized, 0).options, ["-Od", "-HV", "2018"]);
    }

    #[test]
    fn flags_of_fxc_are_those_that_it_takes() {
        let compiled = shader(Encoding::Dxbc, "cs_5_1", "", 0x10_4509);
        assert_eq!(job(&compiled, &text(&[]), PathBuf::new(), 0).flags, 0x10_4400);
    }
}
