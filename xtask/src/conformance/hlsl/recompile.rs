//! What a text is compiled with, so that it can become the program that it was decompiled from.
//!
//! [`unshade::hlsl::target`] reads the flags and options. Levels of optimization leave no trace in DXIL, so each is tried until
//! the program is the same.

use super::oracle::{Compiler, Job};
use std::path::PathBuf;
use unshade::hlsl::target::{Encoding, Target};

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

/// Debug information: FXC needs more than Wine has for it, except for shader models 1 to 3.
const FXC_DEBUG: u64 = 1;

/// What is tried for DXIL, in turn: the level of optimization that most programs are compiled with first.
const LEVELS: [&str; 4] = ["-O3", "-O1", "-O0", "-O2"];

/// Returns the compiler of a shader, and whether it is the very version.
pub(super) fn compiler(target: &Target) -> (Compiler, bool) {
    if target.encoding != Encoding::Dxil {
        return (Compiler::Fxc, target.creator.is_empty() || target.creator.contains("10.1"));
    }
    let creator = target.creator.as_str();
    match creator {
        // The releases up to 1.6 do not name themselves.
        _ if creator.starts_with("clang version 3.7") => (Compiler::Dxc16, true),
        _ if creator.starts_with("dxcoob 1.9.") => (Compiler::Dxc19, true),
        _ => (Compiler::Dxc110, creator.starts_with("dxc(private) 1.9.0.5517")),
    }
}

/// Returns how many ways of compiling there are to try.
pub(super) fn attempts(target: &Target) -> usize {
    if target.encoding == Encoding::Dxil && !target.is_unoptimized() { LEVELS.len() } else { 1 }
}

/// Returns the job that compiles a text, in the way `attempt`.
pub(super) fn job(target: &Target, hlsl: &Hlsl, source: PathBuf, attempt: usize) -> Job {
    let (compiler, _) = compiler(target);
    let mut options = hlsl.options.clone();
    let mut flags = 0;
    if compiler == Compiler::Fxc {
        let debug = if target.encoding == Encoding::Direct3d9 { FXC_DEBUG } else { 0 };
        flags = hlsl.flags | target.fxc_flags() | u32::try_from(target.flags & debug).unwrap_or_default();
    } else {
        let of_module = target.dxc_options().into_iter().map(str::to_owned);
        let level = (attempts(target) > 1).then(|| LEVELS[attempt].to_owned());
        let given = std::mem::take(&mut options);
        for option in of_module.chain(level).filter(|option| !given.contains(option)) {
            options.push(option);
        }
        options.extend(given);
    }
    Job { compiler, source, profile: hlsl.profile.clone(), entry: hlsl.entry.clone(), flags, options }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(encoding: Encoding, profile: &str, creator: &str, flags: u64) -> Target {
        Target { encoding, profile: profile.into(), creator: creator.into(), flags, has_views: true }
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
            assert_eq!(compiler(&target(encoding, "", creator, 0)), (expected, is_exact), "{creator}");
        }
    }

    #[test]
    fn options_are_those_of_the_module() {
        let native = target(Encoding::Dxil, "cs_6_7", "", 1 << 23);
        let job_of = |target: &Target, attempt| job(target, &text(&["-HV", "2018"]), PathBuf::new(), attempt);
        let expected = ["-enable-16bit-types", "-res-may-alias", "-O3", "-HV", "2018"];
        assert_eq!(job_of(&native, 0).options, expected);
        assert_eq!(job_of(&native, 1).options[2], "-O1");
        let unoptimized = target(Encoding::Dxil, "cs_6_0", "", 1);
        assert_eq!((attempts(&unoptimized), attempts(&native)), (1, LEVELS.len()));
        assert_eq!(job_of(&unoptimized, 0).options, ["-Od", "-HV", "2018"]);
    }

    #[test]
    fn flags_of_fxc_are_those_that_it_takes() {
        let compiled = target(Encoding::Dxbc, "cs_5_1", "", 0x10_4509);
        assert_eq!(job(&compiled, &text(&[]), PathBuf::new(), 0).flags, 0x10_4400);
    }
}
