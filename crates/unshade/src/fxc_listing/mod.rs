//! Lists containers as FXC's `D3DDisassemble` does: tables in comments, then the program.
//!
//! | module | table |
//! |---|---|
//! | `buffers` | variables of constant buffers and elements of structured buffers |
//! | `bindings` | resource bindings |
//! | `signatures` | inputs, outputs, patch constants, parameters of library functions |
//! | `interfaces` | classes, their instances, interface slots |
//! | `features` | required device features |
//! | `level9` | the program for feature level 9, with the sources of its constants and samplers |
//!
//! Source: FXC's listings of real containers, and of containers made with every value of each field.

mod bindings;
mod buffers;
mod features;
mod interfaces;
mod level9;
mod signatures;

use crate::{dxbc_debug, fx_listing};
use std::borrow::Cow;
use std::fmt::Write;
use unshade_core::{Diagnostics, Error, ErrorKind, Reader, Result, TokenKind, TokenSink};
use unshade_dxbc::decode::Instructions;
use unshade_dxbc::print::Dialect;
use unshade_dxcontainer::container::{Container, Part};
use unshade_dxcontainer::part::{PartData, is_token_program};
use unshade_dxcontainer::stat::Statistics;

/// Parts with token programs, newest first.
const PROGRAMS: [&[u8; 4]; 3] = [b"SHEX", b"SHDR", b"DXBC"];

/// Compiler name that FXC prints if the container has none.
const NO_COMPILER: &str = "Microsoft (R) D3D Shader Disassembler";

/// Initial capacity in bytes, enough for the tables of most programs.
const TABLES: usize = 4 << 10;

/// Returns the part with a container's token program.
pub fn token_program<'a>(container: &Container<'a>) -> Option<Part<'a>> {
    let found = PROGRAMS.iter().filter_map(|name| container.find(name));
    found.into_iter().find(|part| is_token_program(part.name, part.data.data()))
}

/// Returns the parts with programs for feature level 9.
pub fn level9_programs<'a>(container: &Container<'a>) -> Vec<Part<'a>> {
    let is_one = |part: &Part<'_>| level9::PARTS.iter().any(|(name, _)| **name == part.name.0);
    container.found_parts().filter(is_one).collect()
}

/// Lists a container with a token program, a library of these, or an effect, as FXC does. Reports faults in parts, and
/// lists everything that can be read.
///
/// # Errors
/// [`ErrorKind::Unsupported`] if it has no token program.
pub fn print_fxc(
    container: &Container<'_>,
    sink: &mut dyn TokenSink,
    diagnostics: &mut Diagnostics,
) -> Result<()> {
    if let Some(effect) = fx_listing::effect(container) {
        return fx_listing::print_fxc(effect, sink, diagnostics).map_err(|error| error.within("part FX10"));
    }
    if let Some(part) = container.find(b"LIBH") {
        return library(container, &part, sink, diagnostics);
    }
    let Some(part) = token_program(container) else {
        return Err(Error::new(ErrorKind::Unsupported, 0, "the container has no token program"));
    };
    let instructions =
        Instructions::read(part.data, diagnostics).map_err(|error| error.within(part.label()))?;
    let kind = instructions.version().kind();
    let mut text = String::with_capacity(TABLES);
    let parts = Parts::read(container, diagnostics);
    parts.header(&mut text);
    features::write(&mut text, container, parts.features, instructions.opcode_tokens());
    if let Some(resources) = &parts.resources {
        buffers::write(&mut text, resources);
        bindings::write(&mut text, resources);
        text.push_str("//\n");
    }
    signatures::write(&mut text, &parts, kind);
    parts.statistics(&mut text, kind);
    if let Some(part) = container.find(b"IFCE")
        && interfaces::write(&mut text, part.data.data()).is_none()
    {
        let fault = Error::new(ErrorKind::BadValue, part.data.offset(), "the interfaces can't be read");
        diagnostics.error("dxbc-interfaces", fault);
    }
    sink.put(TokenKind::Comment, &text);
    for (name, what) in level9::PARTS {
        for part in container.found_parts().filter(|part| part.name.0 == *name) {
            let written = level9::write(part.data, what, sink, diagnostics);
            if let Err(error) = written {
                diagnostics.error("dxbc-feature-level", error.within(part.label()));
            }
        }
    }
    let program = || instructions.clone().program();
    let notes = dxbc_debug::notes(container, program, Dialect::Fxc, diagnostics);
    unshade_dxbc::print::print_fxc(instructions.clone(), Some(&notes), part.data.offset(), sink);
    let count = parts.counter(0);
    sink.source(part.range().end..part.range().end);
    sink.put(TokenKind::Comment, &format!("// Approximately {count} instruction slots used\n"));
    Ok(())
}

/// Lists the functions of a library, each of which is a container.
fn library(
    container: &Container<'_>,
    header: &Part<'_>,
    sink: &mut dyn TokenSink,
    diagnostics: &mut Diagnostics,
) -> Result<()> {
    let mut text = String::new();
    if let PartData::LibraryHeader(header) = PartData::read(header.name, header.data)? {
        let count = header.functions.len();
        let _ = write!(text, "//\n// Library:  flags {}, {count} functions:\n", header.header.flags.0);
        for (number, function) in header.functions.iter().enumerate() {
            let _ = writeln!(text, "//   {number}  {}", shown(&function.name.0));
        }
        let _ = write!(text, "//\n// Created by:  {}\n//\n", shown(&header.creator.0));
    }
    sink.put(TokenKind::Comment, &text);
    for part in container.found_parts().filter(|part| part.name.0 == *b"LIBF") {
        let inner = Container::read(Reader::at(part.data.data(), part.data.offset()))?;
        // Only one level: a function of a library can't be a library.
        if inner.find(b"LIBH").is_none() {
            print_fxc(&inner, sink, diagnostics)?;
        }
    }
    Ok(())
}

/// Contents of the parts that the tables are made from.
struct Parts {
    resources: Option<Box<unshade_dxcontainer::rdef::ResourceDefinitions>>,
    features: u64,
    counters: Option<Statistics>,
    input: Option<unshade_dxcontainer::signature::Signature>,
    output: Option<unshade_dxcontainer::signature::Signature>,
    patch: Option<unshade_dxcontainer::signature::Signature>,
    function: Option<unshade_dxcontainer::library::FunctionSignature>,
}

impl Parts {
    fn read(container: &Container<'_>, diagnostics: &mut Diagnostics) -> Self {
        let mut parts = Self {
            resources: None,
            features: 0,
            counters: None,
            input: None,
            output: None,
            patch: None,
            function: None,
        };
        for part in container.found_parts() {
            let wanted = matches!(
                &part.name.0,
                b"RDEF"
                    | b"SFI0"
                    | b"STAT"
                    | b"ISGN"
                    | b"ISG1"
                    | b"OSGN"
                    | b"OSG1"
                    | b"OSG5"
                    | b"PCSG"
                    | b"PSG1"
                    | b"LFS0"
            );
            if !wanted {
                continue;
            }
            let data = PartData::read(part.name, part.data).map_err(|error| error.within(part.label()));
            match (&part.name.0, diagnostics.take("dx-part-form", data)) {
                (_, Some(PartData::Resources(resources))) => parts.resources = Some(resources),
                (_, Some(PartData::Features(features))) => parts.features = features.flags,
                (_, Some(PartData::Statistics(counters))) => parts.counters = Some(counters),
                (_, Some(PartData::FunctionSignature(function))) => parts.function = Some(function),
                (b"ISGN" | b"ISG1", Some(PartData::Signature(signature))) => parts.input = Some(signature),
                (b"PCSG" | b"PSG1", Some(PartData::Signature(signature))) => parts.patch = Some(signature),
                (_, Some(PartData::Signature(signature))) => parts.output = Some(signature),
                _ => {}
            }
        }
        parts
    }

    fn counter(&self, number: usize) -> u32 {
        let counters = self.counters.as_ref();
        counters.and_then(|counters| counters.counters.get(number)).copied().unwrap_or(0)
    }

    fn header(&self, text: &mut String) {
        let creator = self.resources.as_ref().map(|resources| shown(&resources.creator.0));
        let _ = write!(text, "//\n// Generated by {}\n//\n", creator.as_deref().unwrap_or(NO_COMPILER));
    }

    /// Writes properties of sampling and tessellation, from the statistics.
    fn statistics(&self, text: &mut String, kind: u32) {
        const SAMPLE_FREQUENCY: usize = 28;
        const CONTROL_POINTS: usize = 30;
        const OUTPUT_PRIMITIVE: usize = 31;
        const PARTITIONING: usize = 32;
        const DOMAIN: usize = 33;
        if kind == PIXEL && self.counter(SAMPLE_FREQUENCY) != 0 {
            text.push_str("// Pixel Shader runs at sample frequency\n//\n");
        }
        let (points, domain) = (self.counter(CONTROL_POINTS), self.counter(DOMAIN));
        let (primitive, partitioning) = (self.counter(OUTPUT_PRIMITIVE), self.counter(PARTITIONING));
        if points != 0 || domain != 0 {
            let name = named(&["Undefined", "Isoline", "Triangle", "Quadrilateral"], domain);
            text.push_str("// Tessellation Domain   # of control points\n");
            text.push_str("// -------------------- --------------------\n");
            let _ = write!(text, "// {name:20} {points:20}\n//\n");
        }
        if primitive != 0 || partitioning != 0 {
            let primitives =
                ["Undefined", "Point", "Line", "Clockwise Triangles", "Counter-Clockwise Triangles"];
            let partitionings =
                ["Undefined", "Integer", "Integer Power of 2", "Odd Fractional", "Even Fractional"];
            text.push_str("// Tessellation Output Primitive  Partitioning Type \n");
            text.push_str("// ------------------------------ ------------------\n");
            let (primitive, partitioning) =
                (named(&primitives, primitive), named(&partitionings, partitioning));
            let _ = write!(text, "// {primitive:30} {partitioning:18}\n//\n");
        }
    }
}

/// Program types, by number.
const PIXEL: u32 = 0;
const DOMAIN_SHADER: u32 = 4;

fn named<'a>(names: &[&'a str], number: u32) -> &'a str {
    usize::try_from(number).ok().and_then(|number| names.get(number)).copied().unwrap_or("<internal error>")
}

/// Escapes a name from a file.
pub(crate) fn shown(name: &[u8]) -> Cow<'_, str> {
    unshade_core::Escaped(name).to_cow()
}
