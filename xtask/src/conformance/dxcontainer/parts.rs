//! `cargo xtask conformance dxil-parts`: derives the parts of every real DXIL container from the module in it, and
//! compares them with the container's own, byte for byte.
//!
//! What does not follow from the program (VERS, STAT, ILDB, ILDN, PRIV, root signature, subobjects) is taken from the
//! container: DXC removes root signatures and subobjects from the module. A hash that includes the source is left out.
//! The flags of the module are compared with those computed from its bodies, and so are the counters in STAT. The causes of differences are the fields
//! that differ, with the number of containers.
//!
//! Folders of containers from DXC's own test shaders are given with `--packages`.

use std::path::PathBuf;

use super::tally::Counts;
use anyhow::Result;
use unshade::core::ErrorKind;
use unshade::dxcontainer::container::Part;
use unshade::dxcontainer::dxil::assemble::{Assembler, Options, assemble};
use unshade::dxcontainer::file::OwnedPart;
use unshade::dxcontainer::simple_parts::ShaderHash;
use unshade::dxcontainer::{Container, PartData, program};
use unshade::llvm::Module;
use unshade::llvm::metadata::Metadata;

/// Parts that are given instead of derived.
const GIVEN: [&[u8; 4]; 6] = [b"VERS", b"STAT", b"ILDB", b"ILDN", b"PRIV", b"RTS0"];

/// Checks the files.
pub(super) fn check(files: &[(String, PathBuf)]) -> Result<()> {
    let counts = Counts::of_files(files, Counts::derive_parts);
    counts.tally.print();
    println!("{} containers without a DXIL part", counts.without_program);
    counts.finish("built")
}

impl Counts {
    fn derive_parts(&mut self, name: &str, data: &[u8]) -> Result<()> {
        let container = Container::parse(data)?;
        let Some(program) = container.find(b"DXIL") else {
            self.without_program += 1;
            return Ok(());
        };
        let (_, bitcode) = program::bitcode(program.data)?;
        let built = match assemble(bitcode.data(), &given(&container)) {
            Ok(file) => file.write()?,
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                self.count("refused", true, name, String::new);
                println!("refused: {name}: {error}");
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let built = Container::parse(&built)?;
        self.flags(name, bitcode.data())?;
        self.counters(name, &container, bitcode.data())?;
        let hashes_source = hash_includes_source(&container);
        for part in container.found_parts().filter(|part| !GIVEN.contains(&&part.name.0)) {
            if part.name.0 == *b"HASH" && hashes_source {
                continue;
            }
            let derived = built.find(&part.name.0);
            let same = derived.as_ref().is_some_and(|derived| derived.data.data() == part.data.data());
            self.count(&part.name.to_string(), same, name, || cause(&part, derived.as_ref()));
        }
        for part in built.found_parts().filter(|part| container.find(&part.name.0).is_none()) {
            self.count(&part.name.to_string(), false, name, || "the container has no such part".into());
        }
        let same = built.file().data()[20..] == data[20..];
        if !hashes_source {
            self.count("whole container", same, name, || order(&container, &built));
        }
        Ok(())
    }

    /// Compares the flags of the module with those computed from its bodies.
    fn flags(&mut self, name: &str, bitcode: &[u8]) -> Result<()> {
        let module = Module::parse(bitcode, 0)?;
        let assembler = Assembler::new(&module)?;
        let (expected, found) = (assembler.dxil().flags(), assembler.computed_flags()?);
        let bits = |flags: u64| (0..64).filter(move |bit| flags >> bit & 1 == 1).collect::<Vec<u32>>();
        let cause =
            || format!("bits {:?} missing, {:?} too many", bits(expected & !found), bits(found & !expected));
        self.count("module flags", expected == found, name, cause);
        Ok(())
    }

    /// Compares the counters in STAT with those of the program.
    fn counters(&mut self, name: &str, container: &Container<'_>, bitcode: &[u8]) -> Result<()> {
        let Some(Ok((_, stat))) = container.find(b"STAT").map(|part| program::bitcode(part.data)) else {
            return Ok(());
        };
        let stat = Module::parse(stat.data(), stat.base())?;
        let Some(&node) = stat.named(b"dx.counters").first() else { return Ok(()) };
        let operands: Vec<_> = stat.node_operands(node).flatten().collect();
        let text = |id| stat.metadata_string(id).map(|text| String::from_utf8_lossy(text).into_owned());
        let number = |id| match stat.metadata(None, id)?.0 {
            Metadata::Value { value, .. } => stat.integer(None, value),
            _ => None,
        };
        let expected: Vec<(String, u64)> =
            operands.chunks_exact(2).filter_map(|pair| Some((text(pair[0])?, number(pair[1])?))).collect();
        let module = Module::parse(bitcode, 0)?;
        let found = Assembler::new(&module)?.counters()?;
        let found: Vec<(String, u64)> =
            found.into_iter().map(|(name, count)| (name.into(), count.into())).collect();
        let cause = || {
            let differ = expected.iter().filter(|row| !found.contains(row));
            let differ: Vec<&str> = differ.map(|(name, _)| name.as_str()).collect();
            format!("counters {}", differ.join(" "))
        };
        self.count("STAT counters", expected == found, name, cause);
        Ok(())
    }

    fn count(&mut self, part: &str, same: bool, name: &str, cause: impl FnOnce() -> String) {
        self.tally.count(part, same, name, cause);
    }
}

/// Returns what does not follow from the program.
pub(super) fn given(container: &Container<'_>) -> Options {
    let mut options = Options::default();
    for part in container.found_parts() {
        match &part.name.0 {
            b"RDAT" => {
                if let Ok(PartData::Rdat(rdat)) = PartData::read(part.name, part.data) {
                    options.subobjects = Some(rdat);
                }
            }
            b"RTS0" => options.root_signature = Some(part.data.data().to_vec()),
            name if GIVEN.contains(&name) => {
                options.parts.push(OwnedPart::from_bytes(*name, part.data.data()));
            }
            _ => {}
        }
    }
    options
}

fn hash_includes_source(container: &Container<'_>) -> bool {
    let part = container.find(b"HASH");
    let data = part.and_then(|part| PartData::read(part.name, part.data).ok());
    matches!(data, Some(PartData::Hash(hash)) if hash.flags & ShaderHash::INCLUDES_SOURCE != 0)
}

/// Returns the first field that differs, without its values.
fn cause(part: &Part<'_>, derived: Option<&Part<'_>>) -> String {
    let Some(derived) = derived else { return "not derived".into() };
    let text = |part: &Part<'_>| match PartData::read(part.name, part.data) {
        Ok(data) => format!("{data:#?}"),
        Err(error) => error.to_string(),
    };
    let (expected, found) = (text(part), text(derived));
    let field = |line: &str| line.split([':', '(']).next().unwrap_or_default().trim().to_owned();
    let mut last_name = String::new();
    for (expected, found) in expected.lines().zip(found.lines()) {
        if expected != found {
            return format!(
                "{last_name} {}: {} instead of {}",
                field(expected),
                found.trim(),
                expected.trim()
            );
        }
        let name = field(expected);
        if name.chars().any(|c| c.is_ascii_lowercase()) {
            last_name = name;
        }
    }
    "another number of lines".into()
}

/// Returns the names of both, or what else differs.
fn order(container: &Container<'_>, built: &Container<'_>) -> String {
    let names = |container: &Container<'_>| -> Vec<String> {
        container.found_parts().map(|part| part.name.to_string()).collect()
    };
    let (expected, found) = (names(container), names(built));
    match expected == found {
        true => "a part differs".into(),
        false => format!("parts {} instead of {}", found.join(" "), expected.join(" ")),
    }
}
