//! `cargo xtask conformance dxil-text`: prints the program of every real DXIL container in DXC's dialect, assembles the
//! text, and compares what comes of it with the container.
//!
//! | compared | with |
//! |---|---|
//! | `… written` | the bitcode of a part, written again from the module that was read |
//! | `… assembled` | whether the text of a part is taken |
//! | `… text` | the text of the bitcode that was assembled |
//! | `… bitcode` | that bitcode; what the text does not tell is a cause |
//! | `part …` | parts that are derived from the assembled program |
//! | `renewed …` | parts after the program was replaced with the assembled one |
//!
//! Folders of containers from DXC's own test shaders are given with `--packages`.

use std::borrow::Cow;
use std::path::PathBuf;

use super::parts::given;
use super::tally::Counts;
use anyhow::{Context, Result};
use unshade::core::ErrorKind;
use unshade::dxcontainer::dxil::assemble::{Options, assemble, replace};
use unshade::dxcontainer::{Container, DxFile, program};
use unshade::llvm::assemble::{self as assembly, AssembleOptions, Version};
use unshade::llvm::print::{self, Dialect, PrintOptions};
use unshade::llvm::write::{self, WriteInput, WriteOptions};
use unshade::llvm::{FunctionBody, Module};

/// The parts that hold programs.
const PROGRAMS: [&[u8; 4]; 3] = [b"DXIL", b"ILDB", b"STAT"];

/// Parts that are given instead of derived.
const GIVEN: [&[u8; 4]; 4] = [b"VERS", b"PRIV", b"RTS0", b"ILDN"];

/// The lowest fast-math flag, which stands for all, and all of them.
const FAST: u16 = 1;
const ALL_FAST: u16 = 0b1_1111;

/// Checks the files.
pub(super) fn check(files: &[(String, PathBuf)]) -> Result<()> {
    let counts = Counts::of_files(files, Counts::assemble_text);
    counts.tally.print();
    counts.finish("checked")
}

impl Counts {
    fn assemble_text(&mut self, name: &str, data: &[u8]) -> Result<()> {
        let container = Container::parse(data)?;
        let mut assembled = None;
        for part in PROGRAMS {
            // Direct3D 11's STAT is a table.
            let Some(found) = container.find(part) else { continue };
            let Ok((_, bitcode)) = program::bitcode(found.data) else { continue };
            let of_part = self.program(name, &String::from_utf8_lossy(part), bitcode.data())?;
            if part == b"DXIL" {
                assembled = of_part;
            }
        }
        match assembled {
            Some(bitcode) => self.parts(name, data, &container, &bitcode),
            None => Ok(()),
        }
    }

    /// Compares the text and the bitcode of a part. Returns the bitcode that was assembled.
    fn program(&mut self, name: &str, part: &str, bitcode: &[u8]) -> Result<Option<Vec<u8>>> {
        let module = Module::parse(bitcode, 0)?;
        let bodies = module.bodies()?;
        let written = write::module(&WriteInput::new(&module, &bodies), &options())?;
        self.tally.count(&format!("{part} written"), written == bitcode, name, || "differs".into());
        let text = text_of(&module);
        let parsed = assembly::assemble(text.as_bytes(), &AssembleOptions { version: Version::Dxc });
        let message = || parsed.as_ref().err().map_or_else(String::new, |error| error.message.clone());
        self.tally.count(&format!("{part} assembled"), parsed.is_ok(), name, message);
        let Ok(parsed) = &parsed else { return Ok(None) };
        let assembled = write::module(&parsed.input(), &options()).context("assembled text")?;
        let again = text_of(&Module::parse(&assembled, 0)?);
        let same = uncommented(&text).eq(uncommented(&again));
        self.tally.count(&format!("{part} text"), same, name, || first_difference(&text, &again));
        let cause =
            || not_told(module.clone(), bodies.clone(), &assembled).unwrap_or_else(|| "differs".into());
        self.tally.count(&format!("{part} bitcode"), assembled == bitcode, name, cause);
        Ok(Some(assembled))
    }

    /// Compares the parts of a container made of the assembled program, and of one whose program was replaced.
    fn parts(&mut self, name: &str, data: &[u8], container: &Container<'_>, bitcode: &[u8]) -> Result<()> {
        let mut given = given(container);
        given.parts.retain(|part| GIVEN.contains(&&part.name.0));
        let built = match assemble(bitcode, &Options { reflection: true, ..given }) {
            Ok(file) => file.write()?,
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                self.tally.count("part: all", false, name, || error.to_string());
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        self.beside("part", name, container, &Container::parse(&built)?);
        let renewed = replace(&DxFile::parse(data)?, bitcode)?.bytes;
        self.beside("renewed", name, container, &Container::parse(&renewed)?);
        Ok(())
    }

    fn beside(&mut self, what: &str, name: &str, theirs: &Container<'_>, ours: &Container<'_>) {
        for part in theirs.found_parts().filter(|part| !GIVEN.contains(&&part.name.0)) {
            let found = ours.find(&part.name.0);
            let same = found.as_ref().is_some_and(|found| found.data.data() == part.data.data());
            let cause = || if found.is_some() { "differs".into() } else { "missing".into() };
            self.tally.count(&format!("{what} {}", part.name), same, name, cause);
        }
    }
}

fn options() -> WriteOptions<'static> {
    WriteOptions { version: Version::Dxc, ..WriteOptions::default() }
}

fn text_of(module: &Module<'_>) -> String {
    let mut text = String::new();
    let options = PrintOptions { dialect: Dialect::Dxc, ..PrintOptions::default() };
    print::module(module, &options, &mut text);
    text
}

/// Returns the lines without the comments that list predecessors: their order is that of use lists.
fn uncommented(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(|line| line.split("; preds = ").next().unwrap_or_default())
}

fn first_difference(expected: &str, found: &str) -> String {
    let mut pairs = uncommented(expected).zip(uncommented(found));
    match pairs.find(|(expected, found)| expected != found) {
        Some((expected, found)) => format!("{found} instead of {expected}"),
        None => "another number of lines".into(),
    }
}

/// Returns what must be taken from a module so that it is written as the bitcode that was assembled from its text; `None`
/// if that does not explain the difference.
fn not_told(mut module: Module<'_>, mut bodies: Vec<FunctionBody>, assembled: &[u8]) -> Option<String> {
    let mut causes = Vec::new();
    if !module.use_lists.is_empty() || bodies.iter().any(|body| !body.use_lists.is_empty()) {
        module.use_lists.clear();
        bodies.iter_mut().for_each(|body| body.use_lists.clear());
        causes.push("orders of use lists");
    }
    let instructions = bodies.iter_mut().flat_map(|body| &mut body.instructions);
    let mut partly_fast = false;
    for instruction in instructions.filter(|instruction| instruction.opcode.is_float_operation()) {
        if instruction.flags & FAST != 0 && instruction.flags != ALL_FAST {
            instruction.flags = ALL_FAST;
            partly_fast = true;
        }
    }
    if partly_fast {
        causes.push("'fast' without all flags");
    }
    let kinds = Module::parse(assembled, 0).ok()?.metadata_kinds;
    if kinds != module.metadata_kinds {
        renumber_kinds(&mut module, &mut bodies, kinds)?;
        causes.push("kinds of metadata");
    }
    let written = write::module(&WriteInput::new(&module, &bodies), &options()).ok()?;
    if causes.is_empty() {
        // Only the order of constants depends on more than content: DXC sorts them unless it keeps orders of use lists.
        causes.push("order of constants");
    }
    (written == assembled).then(|| causes.join(", "))
}

/// Gives a module other numbers of its kinds of metadata.
fn renumber_kinds(
    module: &mut Module<'_>,
    bodies: &mut [FunctionBody],
    kinds: Vec<(u32, Cow<'static, [u8]>)>,
) -> Option<()> {
    let old = std::mem::take(&mut module.metadata_kinds);
    let renumber = |kind: &mut u32| {
        let (_, name) = old.iter().find(|(number, _)| number == kind)?;
        *kind = kinds.iter().find(|(_, other)| other == name)?.0;
        Some(())
    };
    for body in bodies {
        let attached = body.attached.iter_mut().chain(&mut body.function_attachments);
        attached.map(|(kind, _)| kind).try_for_each(renumber)?;
    }
    let attached = module.functions.iter_mut().flat_map(|function| &mut function.symbol.attachments);
    attached.map(|(kind, _)| kind).try_for_each(renumber)?;
    module.metadata_kinds = kinds;
    Some(())
}
