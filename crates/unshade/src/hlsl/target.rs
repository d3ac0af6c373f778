//! What a shader was compiled for and with, as far as the program says it.
//!
//! | program | compiler | options |
//! |---|---|---|
//! | DXIL | `llvm.ident` | the flags of the module |
//! | token program | RDEF | the flags in RDEF: those of `D3DCompile` |
//! | shader models 1 to 3 | the constant table | the flags in the constant table |
//!
//! DXC stores few options: `-Od`, `-enable-16bit-types`, `-all-resources-bound` and `-res-may-alias` are flags of the module.
//! Levels of optimization leave no trace: with the true sources, 4,876 of 4,879 programs of DXC's and vkd3d's tests become
//! the same at one of the levels. The three others were compiled with `-Gis`, which leaves no trace but operations that are not
//! `fast`, as `precise` does.

use unshade_core::{Diagnostics, Reader, Result};
use unshade_dxbc::d3d9::{ConstantTable, Level9, Program, Version};
use unshade_dxcontainer::Container;
use unshade_dxcontainer::container::Part;
use unshade_dxcontainer::dxil::{DxilModule, ResourceClass};
use unshade_dxcontainer::part::PartData;
use unshade_dxcontainer::program::{ProgramVersion, bitcode};
use unshade_dxcontainer::rdef::ResourceDefinitions;
use unshade_llvm::Module;

/// The encoding of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Encoding {
    /// DXIL, in a container.
    Dxil,
    /// A token program of shader model 4 or 5, in a container.
    Dxbc,
    /// A token program of shader models 1 to 3, without a container.
    Direct3d9,
}

/// What a shader was compiled for and with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The encoding of the program.
    pub encoding: Encoding,
    /// The profile, such as `ps_5_0`.
    pub profile: String,
    /// What names the compiler; empty if nothing does.
    pub creator: String,
    /// The flags of the DXIL module, or those of `D3DCompile`.
    pub flags: u64,
    /// Whether the DXIL module has views of unordered access: only then do its flags say whether resources may alias.
    pub has_views: bool,
}

/// Flags of `D3DCompile` that change what becomes of a text. The others check the text, or change how it is read (order of
/// matrices, compatibility), or are FXC's own (0x100, which it stores and does not take).
const FXC_FLAGS: u32 = 0x0038_e6e6;

/// Options of FXC by flags of `D3DCompile`: bits, their value, the option. (Microsoft's documentation of `D3DCOMPILE`.)
const FXC_OPTIONS: [(u32, u32, &str); 12] = [
    (0x2, 0x2, "/Vd"),
    (0x4, 0x4, "/Od"),
    (0x20, 0x20, "/Gpp"),
    (0x200, 0x200, "/Gfa"),
    (0x400, 0x400, "/Gfp"),
    (0x2000, 0x2000, "/Gis"),
    (0xc000, 0x4000, "/O0"),
    (0xc000, 0x8000, "/O3"),
    (0xc000, 0xc000, "/O2"),
    (0x8_0000, 0x8_0000, "/res_may_alias"),
    (0x10_0000, 0x10_0000, "/enable_unbounded_descriptor_tables"),
    (0x20_0000, 0x20_0000, "/all_resources_bound"),
];

/// Options of DXC by bit of the flags of a module.
const DXC_OPTIONS: [(u32, &str); 3] = [(0, "-Od"), (8, "-all-resources-bound"), (23, "-enable-16bit-types")];

/// The bit that says that resources do not alias, and the shader model from which on it is written.
const DOES_NOT_ALIAS: u32 = 33;
const ALIAS_MODEL: u32 = 7;

impl Target {
    /// Reads the target of a container, or of a program of shader models 1 to 3; `None` if the container has no
    /// program, or only one with debug information.
    ///
    /// # Errors
    /// If it can't be read.
    pub fn of(data: &[u8]) -> Result<Option<Self>> {
        if !data.starts_with(b"DXBC") {
            return of_direct3d9(data).map(Some);
        }
        let container = Container::parse(data)?;
        match container.find(b"DXIL") {
            Some(part) => of_dxil(part.data).map(Some),
            None => of_tokens(&container),
        }
    }

    /// Returns the options of DXC that the flags of a module stand for.
    #[must_use]
    pub fn dxc_options(&self) -> Vec<&'static str> {
        let set = |bit: u32| self.flags >> bit & 1 != 0;
        let mut options: Vec<_> =
            DXC_OPTIONS.into_iter().filter(|&(bit, _)| set(bit)).map(|(_, option)| option).collect();
        let minor = self.profile.rsplit('_').next().and_then(|minor| minor.parse().ok()).unwrap_or(0);
        if self.has_views && minor >= ALIAS_MODEL && !set(DOES_NOT_ALIAS) {
            options.push("-res-may-alias");
        }
        options
    }

    /// Returns the flags of `D3DCompile` that change the program.
    #[must_use]
    pub fn fxc_flags(&self) -> u32 {
        (self.flags as u32) & FXC_FLAGS
    }

    /// Returns the options of FXC that these flags stand for.
    #[must_use]
    pub fn fxc_options(&self) -> Vec<&'static str> {
        let flags = self.fxc_flags();
        let set = FXC_OPTIONS.into_iter().filter(|(mask, value, _)| flags & mask == *value);
        set.map(|(_, _, option)| option).collect()
    }

    /// Returns whether the program was compiled without optimization. All levels of optimization look the same in DXIL.
    #[must_use]
    pub fn is_unoptimized(&self) -> bool {
        self.flags & if self.encoding == Encoding::Dxil { 1 } else { 4 } != 0
    }
}

fn of_dxil(part: Reader<'_>) -> Result<Target> {
    let (header, bitcode) = bitcode(part)?;
    let module = Module::parse(bitcode.data(), 0)?;
    let read = DxilModule::read(&module, 0);
    let profile = match &read.model {
        Some(model) => model.to_string(),
        None => ProgramVersion(header.version).to_string(),
    };
    Ok(Target {
        encoding: Encoding::Dxil,
        profile,
        creator: read.compiler.to_string(),
        flags: read.flags(),
        has_views: read.resources_of(ResourceClass::UAV).next().is_some(),
    })
}

fn of_tokens(container: &Container<'_>) -> Result<Option<Target>> {
    let Some(part) = token_part(container) else { return Ok(None) };
    let tokens = unshade_dxbc::decode(part.data, &mut Diagnostics::default())?;
    let version = ProgramVersion(tokens.version.0);
    let level = container.find(b"Aon9").map(|part| level9_suffix(part.data)).transpose()?;
    let (creator, flags) = definitions(container)?
        .map_or_else(Default::default, |rdef| (rdef.creator.to_string(), u64::from(rdef.header.flags.0)));
    let profile = format!("{version}{}", level.unwrap_or_default());
    Ok(Some(Target { encoding: Encoding::Dxbc, profile, creator, flags, has_views: false }))
}

/// Returns what a profile says of the Direct3D 9 program beside that of model 4.
fn level9_suffix(part: Reader<'_>) -> Result<&'static str> {
    let version = Version(Level9::read(part)?.version);
    Ok(if version.minor() == 0 { "_level_9_1" } else { "_level_9_3" })
}

/// Returns the part with the token program.
pub(crate) fn token_part<'a>(container: &Container<'a>) -> Option<Part<'a>> {
    [b"SHEX", b"SHDR"].into_iter().find_map(|name| container.find(name))
}

/// Returns RDEF.
pub(super) fn definitions(container: &Container<'_>) -> Result<Option<Box<ResourceDefinitions>>> {
    let Some(part) = container.find(b"RDEF") else { return Ok(None) };
    Ok(match PartData::read(part.name, part.data)? {
        PartData::Resources(definitions) => Some(definitions),
        _ => None,
    })
}

fn of_direct3d9(data: &[u8]) -> Result<Target> {
    let program = Program::parse(data)?;
    let table = ConstantTable::of(&program).transpose()?;
    let (creator, flags, target) = table.map_or_else(Default::default, |table| {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&table.creator), u64::from(table.flags), text(&table.target))
    });
    let version = program.version;
    let stage = if version.is_pixel() { "ps" } else { "vs" };
    let profile = match target.is_empty() {
        true => format!("{stage}_{}_{}", version.major(), version.minor()),
        false => target,
    };
    Ok(Target { encoding: Encoding::Direct3d9, profile, creator, flags, has_views: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(encoding: Encoding, profile: &str, flags: u64) -> Target {
        Target { encoding, profile: profile.into(), creator: String::new(), flags, has_views: true }
    }

    #[test]
    fn options_are_those_of_the_program() {
        let native = target(Encoding::Dxil, "cs_6_7", 1 << 23);
        assert_eq!(native.dxc_options(), ["-enable-16bit-types", "-res-may-alias"]);
        let unoptimized = target(Encoding::Dxil, "cs_6_0", 1);
        assert_eq!((unoptimized.dxc_options(), unoptimized.is_unoptimized()), (vec!["-Od"], true));
        let tokens = target(Encoding::Dxbc, "cs_5_1", 0x10_4509);
        assert_eq!(tokens.fxc_flags(), 0x10_4400);
        assert_eq!(tokens.fxc_options(), ["/Gfp", "/O0", "/enable_unbounded_descriptor_tables"]);
        assert_eq!(target(Encoding::Dxbc, "ps_5_0", 4).fxc_options(), ["/Od"]);
    }

    #[test]
    fn damaged_programs_are_errors() {
        for data in [&b""[..], b"DXBC", b"DXBCshort", &[0xff; 64]] {
            assert!(Target::of(data).is_err(), "{data:?}");
        }
    }
}
