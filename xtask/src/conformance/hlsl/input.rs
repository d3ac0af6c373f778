//! The compiled shaders to decompile: each distinct one among the files of the corpus and of given folders.
//!
//! What it was compiled with is read from the program itself:
//!
//! | program | compiler | options |
//! |---|---|---|
//! | DXIL | `llvm.ident` | the flags of the module |
//! | token program | FXC | the flags in RDEF |
//! | Direct3D 9 | FXC | the flags in its constant table |

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use unshade::core::{Diagnostics, Reader};
use unshade::dxbc::d3d9;
use unshade::dxcontainer::part::PartData;
use unshade::dxcontainer::rdef::ResourceDefinitions;
use unshade::dxcontainer::{Container, dxil, program};
use unshade::llvm::Module;

use crate::sh;

/// The encoding of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Encoding {
    Dxil,
    Dxbc,
    /// Shader models 1 to 3, without a container.
    Direct3d9,
}

/// A compiled shader.
pub(super) struct Shader {
    /// The set of files that it belongs to.
    pub(super) set: String,
    /// Its name in the set.
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) data: Vec<u8>,
    pub(super) encoding: Encoding,
    /// The target profile, such as `ps_5_0`.
    pub(super) profile: String,
    /// What names the compiler; empty if nothing does.
    pub(super) creator: String,
    /// The flags of the DXIL module, or those of D3DCompile.
    pub(super) flags: u64,
    /// Whether the DXIL module has views of unordered access: only then its flags say whether resources may alias.
    pub(super) has_views: bool,
}

/// The shaders, and how many files are something else.
#[derive(Default)]
pub(super) struct Inputs {
    pub(super) shaders: Vec<Shader>,
    /// Containers without a program, such as root signatures and effects.
    pub(super) without_program: usize,
    /// Containers whose program is damaged.
    pub(super) damaged: Vec<String>,
    /// Files that repeat another one.
    pub(super) repeated: usize,
    seen: HashSet<String>,
}

/// Collects the shaders of the corpus and of more folders.
pub(super) fn collect(folders: &[PathBuf]) -> Result<Inputs> {
    let mut inputs = Inputs::default();
    match sh::env_path("UNSHADE_CORPUS") {
        Some(corpus) => {
            inputs.add("dev", &corpus.join("hlsl/dev"))?;
            for part in ["carved", "dxilconv", "gen", "hlsl"] {
                inputs.add(&format!("dx/{part}"), &corpus.join("dx").join(part))?;
            }
        }
        None => println!("skipped: UNSHADE_CORPUS is not set"),
    }
    for folder in folders {
        let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned();
        inputs.add(&name, folder)?;
    }
    Ok(inputs)
}

impl Inputs {
    fn add(&mut self, set: &str, folder: &Path) -> Result<()> {
        let mut files = Vec::new();
        sh::files_below(folder, &mut files)?;
        files.sort();
        for path in files {
            let data = std::fs::read(&path).with_context(|| path.display().to_string())?;
            let is_container = data.starts_with(b"DXBC");
            let is_program = path.extension().is_some_and(|extension| extension == "d3d9");
            if !is_container && !is_program {
                continue;
            }
            if !self.seen.insert(sh::sha256_hex(&data)) {
                self.repeated += 1;
                continue;
            }
            let name = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
            let target = if is_container { of_container(&data) } else { of_direct3d9(&data).map(Some) };
            match target {
                Ok(Some(Target { encoding, profile, creator, flags, has_views })) => {
                    self.shaders.push(Shader {
                        set: set.into(),
                        name,
                        path,
                        data,
                        encoding,
                        profile,
                        creator,
                        flags,
                        has_views,
                    });
                }
                Ok(None) => self.without_program += 1,
                Err(error) => self.damaged.push(format!("{set}/{name}: {error:#}")),
            }
        }
        Ok(())
    }
}

/// What a shader was compiled for, by which compiler.
struct Target {
    encoding: Encoding,
    profile: String,
    creator: String,
    flags: u64,
    has_views: bool,
}

/// Reads the target of a container; `None` if it has no program.
fn of_container(data: &[u8]) -> Result<Option<Target>> {
    let container = Container::parse(data)?;
    if let Some(part) = container.find(b"DXIL") {
        let (header, bitcode) = program::bitcode(part.data)?;
        let module = Module::parse(bitcode.data(), 0)?;
        let read = dxil::DxilModule::read(&module, 0);
        let profile = match &read.model {
            Some(model) => model.to_string(),
            None => program::ProgramVersion(header.version).to_string(),
        };
        let creator = read.compiler.to_string();
        let has_views = read.resources_of(dxil::ResourceClass::UAV).next().is_some();
        let flags = read.flags();
        return Ok(Some(Target { encoding: Encoding::Dxil, profile, creator, flags, has_views }));
    }
    let Some(part) = container.find(b"SHEX").or_else(|| container.find(b"SHDR")) else { return Ok(None) };
    let tokens = unshade::dxbc::decode(part.data, &mut Diagnostics::default())?;
    let version = program::ProgramVersion(tokens.version.0);
    let level = container.find(b"Aon9").map(|part| level9_suffix(part.data)).transpose()?.unwrap_or_default();
    let definitions = definitions(&container)?;
    let (creator, flags) = definitions
        .map_or_else(Default::default, |rdef| (rdef.creator.to_string(), u64::from(rdef.header.flags.0)));
    Ok(Some(Target {
        encoding: Encoding::Dxbc,
        profile: format!("{version}{level}"),
        creator,
        flags,
        has_views: false,
    }))
}

/// Returns what a profile says of the Direct3D 9 program beside that of model 4.
fn level9_suffix(part: Reader<'_>) -> Result<&'static str> {
    let version = d3d9::Version(d3d9::Level9::read(part)?.version);
    Ok(if version.minor() == 0 { "_level_9_1" } else { "_level_9_3" })
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
    let program = d3d9::Program::parse(data)?;
    let table = d3d9::constants::ConstantTable::of(&program).transpose()?;
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
