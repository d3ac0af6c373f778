//! The fuzz targets: one function per file in `fuzz/fuzz_targets`. Each accepts any bytes and must return.

mod llvm;
mod metal;

pub use llvm::llvm_text;
pub use metal::metal_source;

use crate::dxcontainers;
use crate::encoder::Encoder;
use crate::exercise;
use crate::nvidia;
use std::ops::ControlFlow;
use unshade::carve::{self, Limits, Selector};
use unshade_core::{Error, ErrorKind};
use unshade_dxcontainer::bytes::Bytes;
use unshade_dxcontainer::file::OwnedPart;
use unshade_dxcontainer::{DxFile, PartData, document};
use unshade_metallib::reflection::tables::OwnedTable;
use unshade_metallib::{Library, LibraryFile};

/// Calls the whole API on a library, and checks that the outline names every byte.
pub fn metallib(data: &[u8]) {
    if let Some(seen) = exercise::metallib(data) {
        assert!(seen.outline_faults.is_empty(), "{:#?}", seen.outline_faults);
    }
}

/// Parses and writes a library: the result must be identical, even if correct hashes are recomputed.
pub fn metallib_write(data: &[u8]) {
    let Ok(mut file) = LibraryFile::parse(data) else { return };
    assert!(file.write().expect("a parsed library can be written").to_vec() == data, "writing changes it");
    let hashes: Vec<_> = file.functions.iter_mut().map(|function| function.hash.take()).collect();
    let rewritten = file.write().expect("hashes can be computed").to_vec();
    let computed = LibraryFile::parse(&rewritten).expect("a written library can be parsed");
    let right = computed.functions.iter().map(|function| function.hash).eq(hashes);
    assert_eq!(rewritten == data, right, "only hashes may differ");
    if let Ok(mut file) = LibraryFile::parse(data)
        && let Ok(companion) = file.companion()
    {
        file.strip(unshade_metallib::edit::Strip::Sources);
        file.join(companion).expect("the companion of a library is its own");
        assert!(file.sources() == LibraryFile::parse(data).expect("as before").sources());
    }
}

/// Modules to link: those of a library, or bitcode. A library that results must be readable, and its modules linked again, like
/// it, must be the same library.
pub fn link(data: &[u8]) {
    use unshade::link::{LinkInput, LinkOptions, link};
    let modules: Vec<Vec<u8>> = match LibraryFile::parse(data) {
        Ok(file) => file.modules.into_iter().map(|module| module.bytes.into_owned()).collect(),
        Err(_) => vec![data.to_vec()],
    };
    let inputs = |modules: &[Vec<u8>]| -> Vec<LinkInput<'static>> {
        let named = modules.iter().enumerate();
        named
            .map(|(at, bytes)| LinkInput {
                name: at.to_string(),
                bytes: bytes.clone().into(),
                is_member: false,
            })
            .collect()
    };
    for dynamic in [false, true] {
        let options = LinkOptions { dynamic, ..LinkOptions::default() };
        let Ok(linked) = link(&inputs(&modules), &options) else { continue };
        // Fields of a damaged module may be too long for their tags.
        let Ok(written) = linked.file.write() else { continue };
        let written = written.to_vec();
        let file = LibraryFile::parse(&written).expect("a linked library can be parsed");
        let modules: Vec<Vec<u8>> = file.modules.iter().map(|module| module.bytes.to_vec()).collect();
        let options = LinkOptions { dynamic, like: Some(file), ..LinkOptions::default() };
        if let Ok(again) = link(&inputs(&modules), &options) {
            assert!(again.file.write().is_ok(), "the same library can be written");
        }
    }
}

/// YAML of a library: whatever can be written must survive a round trip.
pub fn metallib_yaml(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut load = |_: &str| Err(Error::without_offset(ErrorKind::Unsupported, "no files"));
    if let Ok(built) = unshade::build::metallib(text, &mut load) {
        metallib_write(&built.write().expect("a built library can be written").to_vec());
    }
    let Ok(file) = unshade_metallib::document::from_yaml(text) else { return };
    let Ok(written) = file.write().map(|written| written.to_vec()) else { return };
    metallib_write(&written);
    // What no real file has, such as two sections with the same code, may be writable but not parseable.
    let Ok(read) = LibraryFile::parse(&written) else { return };
    let again = unshade_metallib::document::to_yaml(&read).expect("a parsed library has a document");
    let back = unshade_metallib::document::from_yaml(&again).expect("our own document can be parsed");
    assert!(back.write().expect("and written").to_vec() == written, "the round trip changes it:\n{again}");
}

/// A universal file and its slices.
pub fn universal(data: &[u8]) {
    if let Some(seen) = exercise::universal(data) {
        assert!(seen.outline_faults.is_empty(), "{:#?}", seen.outline_faults);
    }
    if let Ok(file) = unshade_metallib::universal_file::UniversalFile::parse(data) {
        assert!(file.write().is_ok_and(|written| written == data), "written as it was read");
    }
}

/// A reflection: the bytes are the content of an `RBUF`.
pub fn reflection(data: &[u8]) {
    if let Some(faults) = exercise::reflection_payload(data, 0x40) {
        assert!(faults.is_empty(), "{faults:#?}");
    }
    let zeros = data.iter().take_while(|byte| **byte == 0).count();
    let Ok(tables) = OwnedTable::read(&data[zeros..]) else { return };
    let written = tables.write().expect("parsed tables can be written");
    // Bytes that another writer left between its tables raise the limit on sharing, so the rewritten buffer may be too
    // small.
    if let Ok(again) = OwnedTable::read(&written) {
        assert!(again == tables && again.write().expect("and again") == written, "the round trip changes it");
    }
}

/// Bitcode modules: parsed, and printed in every dialect.
pub fn bitcode(data: &[u8]) {
    use unshade_llvm::print::{Dialect, PrintOptions, function, module};
    let Ok(modules) = unshade_llvm::Module::parse_all(data, 0) else { return };
    for (at, parsed) in modules.take(4).flatten().enumerate() {
        for dialect in [Dialect::Llvm14, Dialect::Dxc, Dialect::Llvm19, Dialect::Llvm22] {
            let options = PrintOptions { dialect, module_id: Some("fuzz") };
            module(&parsed, &options, &mut String::new());
            // Prints a function or nothing, depending on the index.
            let _ = function(&parsed, at, &options, &mut String::new());
        }
        analysis(&parsed);
    }
}

/// A bitcode file: an outline that names every bit once, the text of it, a check whose rules are known, and facts.
pub fn bitcode_file(data: &[u8]) {
    use unshade_core::outline::Coverage;
    use unshade_core::{Diagnostics, Reader};
    use unshade_llvm::facts::{ModuleFacts, Wrapper, functions};
    use unshade_llvm::{outline, verify};
    let mut diagnostics = Diagnostics::new();
    let mut coverage = Coverage::starting_at(0x40);
    let contents = outline::bitcode(Reader::at(data, 0x40), &mut coverage, &mut diagnostics);
    assert!(coverage.unknown_bytes() == 0 || !diagnostics.is_empty(), "unknown bytes without a finding");
    assert_eq!(coverage.own_bits(), 0, "bits that no field has");
    let faults = coverage.finish(0x40 + data.len() as u64);
    assert!(faults.is_empty(), "{faults:#?}");
    assert_eq!(contents, outline::contents(Reader::at(data, 0x40)));
    let mut text = String::new();
    let mut analyzer = outline::Analyzer::new(&mut text);
    outline::bitcode(Reader::new(data), &mut analyzer, &mut diagnostics);
    analyzer.finish().expect("a string takes all text");
    for finding in &verify::bitcode(Reader::new(data)) {
        let known = verify::RULES.iter().any(|(rule, _)| *rule == finding.rule);
        assert!(known || finding.rule.starts_with("llvm-"), "no such rule: {}", finding.rule);
        assert!(finding.error.to_string().chars().all(unshade_core::escape::is_plain), "shown raw");
    }
    Wrapper::read(data);
    for module in unshade_llvm::Module::parse_all(data, 0).into_iter().flatten().take(4).flatten() {
        let facts = ModuleFacts::new(&module);
        let list = functions(&module);
        assert_eq!(facts.definitions + facts.declarations, list.len());
        let mut body = unshade_llvm::FunctionBody::default();
        for function in list.iter().filter(|function| function.body.is_some()).take(16) {
            let size = unshade_llvm::facts::body_size(&module, function.index, &mut body);
            assert!(size.is_ok(), "a body that is there can be read");
        }
    }
    bitcode_program(data);
}

/// Describes and load-checks bitcode as a program: entry points of AIR modules are read from their metadata.
fn bitcode_program(data: &[u8]) {
    use unshade::carve::{Limits, format::Format};
    use unshade::program::{self, Form, InOrder};
    let mut limits = Limits::default();
    limits.max_finds = 4;
    carve::carve(data, b"fuzz", &limits, &mut |find| {
        if let (Format::Bitcode, Ok(program)) = (find.format, program::open(&find)) {
            let (selection, mut diagnostics) = (Default::default(), unshade_core::Diagnostics::new());
            let items = program.items(&selection, Form::Json, &InOrder, &mut diagnostics);
            let cards = program.describe(&selection, &mut diagnostics).cards;
            assert_eq!(items.count, cards.len());
            for named in program.load_facts(&InOrder) {
                let target = "macos-14.0".parse().expect("a target");
                unshade::load_check::check(&named.facts, target);
            }
        }
        ControlFlow::Continue(())
    });
}

/// Runs all analyses of a module.
fn analysis(module: &unshade_llvm::Module<'_>) {
    use unshade::view::{ControlFlowView, Tally};
    use unshade_llvm::print::Dialect;
    use unshade_llvm::source_map::SourceMap;
    use unshade_llvm::uses::{CallGraph, Uses};
    let mut diagnostics = unshade_core::Diagnostics::new();
    let counts = Tally::of_module(module, Dialect::Dxc, &mut diagnostics).view();
    assert_eq!(counts.opcodes.iter().map(|one| one.count).sum::<u64>(), counts.instructions);
    let graphs = ControlFlowView::of_module(module, Dialect::Llvm14, |_| true, &mut diagnostics);
    for graph in &graphs {
        assert!(graph.dot().lines().count() > graph.blocks.len());
    }
    let bodies: Vec<_> = (0..module.functions.len()).filter_map(|at| module.body(at).ok()).collect();
    bodies.iter().map(Uses::of_body).for_each(drop);
    Uses::of_module(module);
    CallGraph::new(module, &bodies);
    let mut map = SourceMap::new(module);
    bodies.iter().for_each(|body| map.add(module, body));
}

/// Any file: asks every query, of the whole file and of byte ranges. The answers must agree and be limited in size.
pub fn query(data: &[u8]) {
    use unshade::query::{MAX_RESPONSE, Session, Source, Workspace};
    let (file, size) = (data.to_vec(), data.len() as u64);
    let read = move |offset: u64, into: &mut [u8]| {
        let at = usize::try_from(offset).unwrap_or(usize::MAX);
        into.copy_from_slice(&file[at..at + into.len()]);
        Ok(())
    };
    let mut whole = Workspace::default();
    whole.open_bytes("fuzz", data.to_vec());
    let mut ranged = Workspace::default();
    ranged.open(Session::new("fuzz", Source::ranged(size, Box::new(read)).expect("a small file")));
    let mut ask = |request: String, is_compared: bool| {
        let answer = whole.handle_json(&request);
        assert!(answer.len() <= MAX_RESPONSE && answer.starts_with("{\"schema\":1"), "{request}");
        if is_compared {
            assert_eq!(ranged.handle_json(&request), answer, "with byte ranges: {request}");
        }
        answer
    };
    let overview = ask(r#"{"query":"overview"}"#.to_owned(), true);
    let programs = overview.matches("\"program\":").count().min(2);
    let middle = data.len() / 2;
    for program in 0..programs {
        let at = format!("\"program\":{program}");
        for (question, rest) in [
            ("rows", String::from(",\"count\":20")),
            ("facts", String::new()),
            ("verify", String::new()),
            ("hex", format!(",\"from\":{middle},\"count\":64")),
            ("outline", String::from(",\"node\":[1],\"count\":20")),
            ("outline", format!(",\"at\":{middle}")),
            ("item_at", format!(",\"offset\":{middle}")),
            ("graph", String::new()),
            ("extract", String::from(",\"what\":\"zip\"")),
            ("extract", String::from(",\"what\":\"yaml\"")),
        ] {
            ask(format!("{{\"query\":\"{question}\",{at}{rest}}}"), true);
        }
        for item in 0..3 {
            for (question, rest) in [
                ("facts", String::new()),
                ("graph", String::new()),
                ("bits", format!(",\"offset\":{middle}")),
                ("extract", String::from(",\"what\":\"module\"")),
                ("line_at", format!(",\"offset\":{middle}")),
                ("links", String::from(",\"link\":0")),
            ] {
                ask(format!("{{\"query\":\"{question}\",{at},\"item\":{item}{rest}}}"), true);
            }
            for pane in ["assembly", "raw", "tags", "ptx", "c"] {
                ask(
                    format!(
                        "{{\"query\":\"listing\",{at},\"item\":{item},\"pane\":\"{pane}\",\"count\":50}}"
                    ),
                    true,
                );
            }
            let place = format!("{{{at},\"item\":{item}}}");
            ask(format!("{{\"query\":\"compare\",\"left\":{place},\"right\":{{{at},\"item\":0}}}}"), true);
        }
    }
    for (scope, text) in [("names", "a"), ("listings", "ret"), ("sources", "a"), ("bytes", "00 ?? 01")] {
        // The progress of one step depends on time.
        ask(
            format!("{{\"query\":\"search\",\"scope\":\"{scope}\",\"text\":\"{text}\",\"budget_ms\":5}}"),
            false,
        );
    }
}

/// A section of embedded sources. The first byte selects whether it has a working directory.
pub fn sources(data: &[u8]) {
    let Some((kind, section)) = data.split_first() else { return };
    let code = if kind & 1 == 0 { b"HSRC" } else { b"HSRD" };
    let file = with_section(code, section);
    metallib(&file);
    let library = Library::parse(&file).expect("the header is valid");
    if let Ok(Some(sources)) = library.sources() {
        for archive in sources.archives().flatten() {
            assert!(sources.archive_at(archive.code_offset - sources.offset()).is_ok());
        }
    }
}

/// Builds an empty library with one section in its header extension.
fn with_section(code: &[u8; 4], section: &[u8]) -> Vec<u8> {
    let mut out = Encoder::default();
    let extension_end = 88 + 4 + 22 + 4;
    out.raw(b"MTLB\x01\x80\x02\x00\x07\x00\x00\x81\x0e\x00\x00\x00");
    out.u64(extension_end + section.len() as u64);
    for offset in [88, extension_end, extension_end, extension_end] {
        out.u64(offset);
        out.u64(0);
    }
    out.u32(0);
    out.raw(code);
    out.u16(16);
    out.u64(extension_end);
    out.u64(section.len() as u64);
    out.raw(b"ENDT");
    out.raw(section);
    out.finish().0
}

/// A Zstandard frame: decompressing it as a whole and in steps gives the same, within the memory that each may take.
pub fn zstd(data: &[u8]) {
    use unshade_zstd::{Decoder, Error, decode};
    const MOST: usize = 1 << 20;
    let (mut decoder, mut output, mut consumed) = (Decoder::new(), Vec::new(), 0);
    let stepped = loop {
        output.reserve_exact(Decoder::ROOM);
        let capacity = output.capacity();
        let step = decoder.step(&data[consumed..], &mut output);
        assert_eq!(output.capacity(), capacity, "a step allocates memory for its output");
        match step {
            _ if output.len() > MOST => break Err(Error::Size),
            Ok(step) => consumed += step.consumed,
            Err(error) => break Err(error),
        }
        if step.is_ok_and(|step| step.is_finished) {
            break Ok(output);
        }
    };
    match (decode(data, MOST), stepped) {
        (Ok(whole), Ok(stepped)) => assert!(whole == stepped, "steps decompress something else"),
        (Err(_), Err(_)) => {}
        (whole, stepped) => panic!("{:?} as a whole, {:?} in steps", whole.err(), stepped.err()),
    }
}

/// Any file: carves the programs in it, within limits that keep the run short.
pub fn carve(data: &[u8]) {
    let mut limits = Limits::default();
    limits.max_member_size = 1 << 20;
    limits.max_total_size = 4 << 20;
    limits.max_held_size = 2 << 20;
    limits.max_members = 1_000;
    limits.max_finds = 1_000;
    let mut finds = 0;
    carve::carve(data, b"fuzzed", &limits, &mut |find| {
        finds += 1;
        let text = find.path.selector();
        let selector = Selector::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert!(selector.selects(&find.path), "{text} does not select its own program");
        if let Some(offset) = find.file_offset {
            let start = offset as usize;
            assert_eq!(
                data.get(start..start + find.data.len()),
                Some(find.data),
                "{text} is not at {offset:#x}"
            );
        }
        ControlFlow::Continue(())
    });
    assert!(finds <= limits.max_finds);
}

/// A DXContainer: parsed, checked, outlined, written and signed.
pub fn dxcontainer(data: &[u8]) {
    let faults = dxcontainers::exercise(data, data.len().is_multiple_of(16));
    assert!(faults.is_empty(), "{faults:#?}");
}

/// Any program: compared with a valid program of its format and with itself, load-checked, and surveyed.
pub fn compare(data: &[u8]) {
    use unshade::diff::{self, ContainerDiff, LibraryDiff};
    use unshade::load_check::{LibraryFacts, check, made_for, minimum};
    use unshade::survey::{Show, Survey};
    use unshade_llvm::print::Dialect;
    let mut survey = Survey::default();
    if let Ok(library) = Library::parse(data) {
        let facts = LibraryFacts::read(&library);
        for target in
            ["macos-14.0", "ios-simulator-9.0", "visionos-27.1"].map(|text| text.parse().expect("a target"))
        {
            let loads = !check(&facts, target).outcome.is_failure();
            // If a rule is violated on every version, there is no minimum.
            assert!(!loads || minimum(&facts, target.platform).is_some() || made_for(&facts).is_none());
        }
        let sound = Library::parse(LIBRARY).expect("a valid fixture");
        for (before, after) in [(&library, &sound), (&sound, &library), (&library, &library)] {
            let diff = LibraryDiff::new(before.clone(), after.clone());
            assert!(!diff.identical || diff.is_empty(), "{diff:?}");
            for pair in diff.changed.iter().chain(&diff.renamed) {
                diff.change(pair, 1);
            }
        }
        survey
            .program("library", data.len() as u64, |sink| unshade_metallib::outline::library(&library, sink));
    }
    if let Ok(container) = unshade_dxcontainer::Container::parse(data) {
        let sound = unshade_dxcontainer::Container::parse(CONTAINER).expect("a valid fixture");
        for (before, after) in [(&container, &sound), (&sound, &container), (&container, &container)] {
            let diff = ContainerDiff::new(before, after, 1);
            assert!(!diff.identical || diff.parts.is_empty(), "{diff:?}");
        }
        survey.program("container", data.len() as u64, |sink| {
            unshade_dxcontainer::outline::container(&container, sink);
        });
    }
    if diff::bitcode(data, data, Dialect::Llvm14, 1).is_ok_and(|diff| !diff.is_empty()) {
        panic!("a module differs from itself");
    }
    let _ = diff::bitcode(data, MODULE, Dialect::Llvm19, 1);
    let _ = survey.bitcode(data, 0);
    survey.report(Show::All);
}

/// The valid files for [`compare`].
const LIBRARY: &[u8] = include_bytes!("../fixtures/metallib/linker_1_2_7.metallib");
const CONTAINER: &[u8] = include_bytes!("../fixtures/dxcontainer/compute.dxbc");
const MODULE: &[u8] = include_bytes!("../fixtures/air/kernel.bc");

/// A DXContainer with a module: checked against the module, viewed, and its DXC tables printed.
pub fn dxil(data: &[u8]) {
    dxcontainers::exercise_program(data);
}

/// Wraps bytes in a container with a single part.
fn dx_part(name: [u8; 4], data: &[u8]) {
    let mut file = DxFile::default();
    file.parts.push(OwnedPart::new(name, PartData::Raw(Bytes(data.to_vec()))));
    let file = file.write().expect("bytes can always be written");
    let faults = dxcontainers::exercise(&file, data.len().is_multiple_of(16));
    assert!(faults.is_empty(), "{faults:#?}");
}

/// The content of a PSV0 part.
pub fn psv0(data: &[u8]) {
    dx_part(*b"PSV0", data);
}

/// The content of an RDAT part.
pub fn rdat(data: &[u8]) {
    dx_part(*b"RDAT", data);
}

/// The content of an RTS0 part.
pub fn root_signature(data: &[u8]) {
    dx_part(*b"RTS0", data);
}

/// The content of an RDEF part.
pub fn rdef(data: &[u8]) {
    dx_part(*b"RDEF", data);
}

/// The content of an SPDB or SDBG part: the parsed data is limited in size, and so is the listing of a program with it.
pub fn dx_debug(data: &[u8]) {
    use unshade::disassembly::{TokenSource, token_program};
    use unshade::dxcontainer::Container;
    use unshade::dxcontainer::debug::DebugInfo;
    use unshade_core::Reader;
    const PROGRAM: &[u8] = include_bytes!("../fixtures/dxcontainer/fxc_hs_5_0.dxbc");
    let read = [DebugInfo::read_spdb(Reader::new(data)), DebugInfo::read_sdbg(Reader::new(data))];
    for (name, info) in [*b"SPDB", *b"SDBG"].into_iter().zip(read) {
        let Ok(info) = info else { continue };
        let texts = info.files.iter().flat_map(|file| file.text.as_deref());
        let names = info.files.iter().map(|file| file.name.as_slice());
        assert!(names.chain(texts).map(<[u8]>::len).sum::<usize>() <= 4 * data.len(), "unlimited copies");
        let scopes = &info.scopes;
        assert!(scopes.iter().all(|ranges| ranges.windows(2).all(|pair| pair[0].end < pair[1].start)));
        assert!(info.locations.iter().all(|place| place.scope.is_none_or(|scope| scope < scopes.len())));
        let mut file = DxFile::parse(PROGRAM).expect("a fixture");
        file.parts.push(OwnedPart::new(name, PartData::Raw(Bytes(data.to_vec()))));
        let file = file.write().expect("bytes can always be written");
        let container = Container::parse(&file).expect("a written container can be parsed");
        let source = TokenSource::Container(container);
        for raw in [false, true] {
            let mut text = String::new();
            let listed =
                token_program("fuzz", &source, raw, &mut text, &mut unshade_core::Diagnostics::new());
            assert!(listed.is_ok() && text.len() < 128 * file.len(), "{} bytes: {listed:?}", text.len());
        }
    }
}

/// A token program: must survive round trips through tokens and text.
pub fn dxbc_tokens(data: &[u8]) {
    use unshade::dxbc::decode::Instructions;
    use unshade::dxbc::print::{Dialect, Options, print, print_fxc};
    let mut diagnostics = unshade_core::Diagnostics::new();
    let Ok(program) = unshade::dxbc::decode(unshade_core::Reader::new(data), &mut diagnostics) else {
        return;
    };
    assert!(program.write().expect("a decoded program can be written") == data, "writing changes tokens");
    let mut text = String::new();
    print(&program, Options { dialect: Dialect::Fxc, ..Options::default() }, &mut text);
    let mut streamed = String::new();
    let instructions = Instructions::read(unshade_core::Reader::new(data), &mut diagnostics);
    print_fxc(instructions.expect("decoded above"), None, 0, &mut streamed);
    assert_eq!(streamed, text, "printing from the tokens");
    unshade::dxbc::control_flow::ControlFlow::of(&program);
    unshade::dxbc::statistics::Statistics::of(&program);
    text.clear();
    print(&program, Options::default(), &mut text);
    let again = unshade::dxbc::assemble(&text).and_then(|program| program.write());
    assert!(again.expect("printed text can be assembled") == data, "assembling changes tokens");
}

/// Text of a token program: if it can be assembled, the result must be a valid program.
pub fn dxbc_text(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(bytes) = unshade::dxbc::assemble(text).and_then(|program| program.write()) {
        dxbc_tokens(&bytes);
    }
}

/// A program of Shader Model 1 to 3, or an Aon9 part: must survive round trips through tokens and text.
pub fn d3d9_tokens(data: &[u8]) {
    use unshade::dxbc::d3d9::{self, Level9, print};
    use unshade_core::Reader;
    let mut diagnostics = unshade_core::Diagnostics::new();
    if let Ok(part) = Level9::read(Reader::new(data))
        && let Ok(program) = part.program(Reader::new(data), &mut diagnostics)
        && let Ok(written) = part.with_program(data, &program)
    {
        assert!(written.get(4..) == data.get(4..), "writing changes the part");
    }
    let (embedded, _) = d3d9::measure_embedded(data);
    assert!(embedded.is_none_or(|size| d3d9::measure(data) == Some(size)), "size differs when embedded");
    let Ok(program) = d3d9::decode(Reader::new(data), &mut diagnostics) else { return };
    assert!(program.write().expect("a decoded program can be written") == data, "writing changes tokens");
    let mut text = String::new();
    d3d9::listing::print_fxc(&program, 0, &mut text, &mut diagnostics);
    unshade::dxbc::control_flow::ControlFlow::of_d3d9(&program);
    text.clear();
    print::print(&program, print::Options::default(), &mut text);
    let again = d3d9::assemble(&text).and_then(|program| program.write());
    assert!(again.expect("printed text can be assembled") == data, "assembling changes tokens");
}

/// Text of a program of Shader Model 1 to 3: if it can be assembled, the result must be a valid program.
pub fn d3d9_text(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(bytes) = unshade::dxbc::d3d9::assemble(text).and_then(|program| program.write()) {
        d3d9_tokens(&bytes);
    }
}

/// YAML of a container: if it can be parsed and written, the result must be a valid container.
pub fn dx_yaml(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(file) = document::from_yaml(text)
        && let Ok(bytes) = file.write()
    {
        dxcontainer(&bytes);
    }
}

/// A CUDA fat binary.
pub fn fatbin(data: &[u8]) {
    let faults = nvidia::exercise(data);
    assert!(faults.is_empty(), "{faults:#?}");
}

/// A cubin; anything else is treated as PTX.
pub fn cubin(data: &[u8]) {
    let faults = nvidia::exercise(data);
    assert!(faults.is_empty(), "{faults:#?}");
}

/// Strips, renames and patches bitcode. What an edit returns can be read; a second time there is nothing to strip.
fn edit_tree(tree: &unshade::llvm::tree::Tree, data: &[u8]) {
    use unshade::llvm::Module;
    use unshade::llvm::tree::{Patch, PatchedOperand, Tree};
    let reads = |tree: &Tree| {
        let Ok(written) = tree.write() else { return };
        let again = Tree::read(&written, 0).expect("an edited tree can be read");
        assert!(again.write().expect("it can be written") == written, "writing changes it");
    };
    let mut stripped = tree.clone();
    if let Ok(counts) = stripped.strip_debug_info() {
        assert!(!counts.is_empty() || stripped == *tree, "nothing is stripped, but the tree is another");
        reads(&stripped);
        if let Ok(again) = stripped.strip_debug_info() {
            assert!(again.is_empty(), "{again:?} is left");
        }
    }
    let modules = Module::parse_all(data, 0).into_iter().flatten().flatten();
    let names: std::collections::BTreeSet<Vec<u8>> =
        modules.flat_map(|module| module.functions.into_iter().map(|one| one.symbol.name)).collect();
    let new: Vec<Vec<u8>> = names.iter().map(|name| [b"new", name.as_slice()].concat()).collect();
    let pairs: Vec<(&[u8], &[u8])> =
        names.iter().zip(&new).map(|(old, new)| (&old[..], &new[..])).take(64).collect();
    let mut renamed = tree.clone();
    if renamed.rename_symbols(&pairs).is_ok() {
        reads(&renamed);
    }
    for (number, byte) in data.iter().enumerate().step_by(data.len() / 16 + 1) {
        let operand =
            if byte % 8 == 7 { PatchedOperand::Code } else { PatchedOperand::Operand(usize::from(byte % 4)) };
        let value = u64::from(*byte) << (number % 57);
        let mut patched = tree.clone();
        let patch = Patch { offset: number as u64, number: (byte % 3 == 0).then_some(0), operand, value };
        if patched.patch(&[patch], 0).is_ok() {
            reads(&patched);
        }
    }
}

/// Bitcode as a tree: what can be read is written as it was, and what an edit or a change makes of it can be read.
pub fn bitcode_tree(data: &[u8]) {
    use unshade::llvm::tree::{Block, Tree, UNABBREVIATED};
    let Ok(mut tree) = Tree::read(data, 0) else { return };
    assert!(tree.write().expect("a tree that was read can be written") == data, "writing changes it");
    edit_tree(&tree, data);
    fn change(block: &mut Block) {
        let records: Vec<(usize, u32, Vec<u64>)> = block
            .records()
            .take(8)
            .map(|(index, record)| (index, record.code, record.operands.to_vec()))
            .collect();
        for (index, code, operands) in records {
            assert!(block.replace(index, code, &operands.iter().map(|one| one ^ 1).collect::<Vec<_>>()));
        }
        block.insert(0, UNABBREVIATED, 77, &[1, u64::MAX]);
        block.blocks_mut().for_each(change);
    }
    tree.blocks_mut().for_each(change);
    // What BLOCKINFO says may have changed, so that abbreviations are missing.
    if let Ok(changed) = tree.write() {
        let again = Tree::read(&changed, 0).expect("a changed tree can be read");
        assert!(again.write().expect("it can be written") == changed, "writing changes it");
    }
}

/// Bitcode that is read and written: what can be written is read as it was.
pub fn bitcode_write(data: &[u8]) {
    use unshade::llvm::Module;
    use unshade::llvm::print::{self, Dialect, PrintOptions};
    use unshade::llvm::types::Type;
    use unshade::llvm::write::{self, Version, WriteInput, WriteOptions};
    let Ok(module) = Module::parse(data, 0) else { return };
    let Ok(bodies) = module.bodies() else { return };
    let is_opaque = module.types.find(Type::OpaquePointer { address_space: 0 }).is_some();
    let version = if is_opaque { Version::Llvm19 } else { Version::Llvm14 };
    let options = WriteOptions { version, ..WriteOptions::default() };
    let Ok(written) = write::module(&WriteInput::new(&module, &bodies), &options) else { return };
    let dialect = if is_opaque { Dialect::Llvm19 } else { Dialect::Llvm14 };
    let text = |module: &Module<'_>| {
        let mut text = String::new();
        let findings = print::module(module, &PrintOptions { dialect, module_id: Some("x") }, &mut text);
        (module.diagnostics.is_empty() && findings.is_empty()).then_some(text)
    };
    let Some(before) = text(&module) else { return };
    // LLVM does not write a summary that has neither symbols nor flags.
    let before = match before.rsplit_once("\n^0 = blockcount: ") {
        Some((rest, count)) if count.trim_end().bytes().all(|byte| byte.is_ascii_digit()) => rest,
        _ => &before,
    };
    let again = Module::parse(&written, 0).expect("a written module can be read");
    let after = text(&again).expect("a written module has no findings");
    assert!(before == after, "writing changes the text");
}

/// The name of a fuzz target, and its function.
pub type Target = (&'static str, fn(&[u8]));

/// Instruction words of both decompilable instruction sets as a kernel: the result is C or an error.
pub fn decompile(data: &[u8]) {
    use unshade::decompiler::{Options, Source, decompile, sass};
    for isa in unshade::sass::isa::all() {
        let code = sass::Code {
            isa,
            bytes: data,
            base: 0,
            entry: 0,
            local_size: 256,
            constants: vec![(2, data)],
            functions: Vec::new(),
            variables: &[],
            relocations: Vec::new(),
            locals: Vec::new(),
        };
        let source = Source {
            name: String::from("fuzz"),
            is_kernel: true,
            parameters: Vec::new(),
            method: Vec::new(),
            code,
            shared_size: 0,
            max_threads: None,
            structures: Vec::new(),
            is_pointed: false,
        };
        let options = Options { budget: 4_000, ..Options::default() };
        if let Ok(decompiled) = decompile(&source, &options) {
            assert!(!decompiled.lines.is_empty(), "a function has at least its signature");
        }
    }
}

/// A header for `--types`: a kernel is decompiled with the types that it declares, however wrong they are.
pub fn types_header(data: &[u8]) {
    use unshade::core::{Diagnostics, Reader};
    use unshade::decompile::{Header, cubin_with};
    use unshade::decompiler::Options;
    use unshade::nv::Cubin;
    const STRUCTURES: &[u8] = include_bytes!("../fixtures/nvidia/decompile/structures.cubin");
    let header = Header::parse(&String::from_utf8_lossy(data));
    let cubin = Cubin::read(Reader::new(STRUCTURES)).expect("a sound fixture");
    let mut count = 0;
    let mut take = |function: unshade::decompile::FunctionC| {
        let text = function.result.expect("a function that can be decompiled").text();
        assert!(!text.is_empty(), "a function has at least its signature");
        count += 1;
    };
    let (options, mut diagnostics) = (Options::default(), Diagnostics::new());
    let header = Some(&header);
    cubin_with(&cubin, &|_| true, &options, header, &mut diagnostics, None, &mut take);
    assert_eq!(count, 4, "all functions are decompiled");
}

/// The text of a function's values and blocks: if it is sound, it is decompiled, with the idioms of NVIDIA's compilers.
pub fn ir_text(data: &[u8]) {
    use unshade::decompiler::ir::{text, verify};
    use unshade::decompiler::{Options, decompile_module, nvidia};
    let Ok(module) = std::str::from_utf8(data).map_err(drop).and_then(|text| text::parse(text).map_err(drop))
    else {
        return;
    };
    if verify::verify(&module.function).is_empty() {
        let found = decompile_module(module, &Options::default(), &mut nvidia::cache(), &mut |_, _| {});
        assert!(!found.lines.is_empty(), "a function has at least its signature");
    }
}

/// Returns the instruction set of the chip that the first byte names, and the other bytes. Other values select a chip, too:
/// one of those in the variable `UNSHADE_FUZZ_CHIPS`, or of all.
fn selected_isa(data: &[u8]) -> Option<(&'static unshade::sass::table::Isa, &[u8])> {
    use unshade::sass::isa;
    static CHIPS: std::sync::LazyLock<Vec<u32>> = std::sync::LazyLock::new(|| {
        let asked = std::env::var("UNSHADE_FUZZ_CHIPS").unwrap_or_default();
        let asked: Vec<u32> = asked.split(',').filter_map(|chip| chip.parse().ok()).collect();
        if asked.is_empty() { isa::architectures().collect() } else { asked }
    });
    let (chip, bytes) = data.split_first()?;
    let named = CHIPS.iter().find(|one| **one == u32::from(*chip));
    let chip = named.or_else(|| CHIPS.get(usize::from(*chip) % CHIPS.len()))?;
    Some((isa::by_architecture(*chip)?, bytes))
}

/// Words of an instruction set, after a byte that selects it: decoded instructions must be encodable from their fields, and
/// their text must assemble to an instruction with the same text. Also lists them as a function.
pub fn sass(data: &[u8]) {
    use unshade::sass::instruction::encode;
    use unshade::sass::listing::{Context, Function, Word};
    use unshade::sass::liveness::Liveness;
    use unshade::sass::{Instruction, assemble};
    let Some((isa, bytes)) = selected_isa(data) else { return };
    for (index, word) in bytes.chunks_exact(isa.word_bytes).enumerate().take(64) {
        let word = isa.word(word).expect("enough bytes");
        let address = (isa.word_bytes * index) as u64;
        let Some(instruction) = Instruction::decode(isa, word) else { continue };
        assert_eq!(encode(isa, instruction.encoding, &instruction.values()), word);
        let text = instruction.text(address);
        let made = assemble::instruction(isa, &text, address, word)
            .unwrap_or_else(|error| panic!("{} {word:#x} {text}: {error}", isa.name));
        let again = Instruction::decode(isa, made).expect("an assembled word decodes");
        assert_eq!(again.text(address), text, "{} {word:#x} {made:#x}", isa.name);
    }
    let function = Function { name: "fuzz", isa, bytes, address: 0, file_offset: 0 };
    let (mut raw, mut read) = (String::new(), String::new());
    function.raw(0, &mut raw);
    function.annotated(&Context { control: true, ..Context::default() }, &mut read);
    // Each line shows 64 bits.
    assert_eq!(raw.lines().count(), bytes.len() / isa.word_bytes * (isa.word_bytes / 8));
    // Blocks cover all words once, edges connect blocks, and there is liveness for every instruction.
    let flow = unshade::sass::control_flow::ControlFlow::new(&function, &[]);
    let blocks = flow.blocks();
    assert!(blocks.windows(2).all(|pair| pair[0].addresses.end == pair[1].addresses.start));
    assert!(flow.edges().iter().all(|edge| edge.from.max(edge.to) < blocks.len() as u32));
    let count = function.words().filter(|(_, word)| matches!(word, Word::Instruction(_))).count();
    let functions = [(function, flow)];
    assert_eq!(Liveness::new(&functions).rows(0).len(), count);
    // A listing assembles to its original words.
    let words = assemble::listing(isa, &raw).expect("our own listing");
    assert!(
        words
            .iter()
            .map(|word| Some(word.word))
            .eq(bytes.chunks_exact(isa.word_bytes).map(|word| isa.word(word)))
    );
}

/// Text as a listing of an instruction set, after a byte that selects it.
pub fn sass_text(data: &[u8]) {
    use unshade::sass::{Instruction, assemble};
    let Some((isa, text)) = selected_isa(data) else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    match assemble::listing(isa, text) {
        Ok(words) => {
            for word in words.iter().take(64) {
                let _ = Instruction::decode(isa, word.word).map(|instruction| instruction.text(word.address));
            }
        }
        Err(errors) => assert!(errors.iter().all(|error| error.line > 0 && error.column > 0)),
    }
}

/// Cubins and machine code in the emulator, with limits: it must terminate.
pub fn emulate(data: &[u8]) {
    emulated(data);
    let Some((choice, words)) = data.split_first() else { return };
    // One of our kernels with its words replaced, for one of two chips.
    let mut cubin = include_bytes!("../fixtures/nvidia/kernels/sm_35/more_doubles.cubin").to_vec();
    let file = unshade_nv::Cubin::read(unshade_core::Reader::new(&cubin)).expect("a fixture");
    let section = file.code_sections().next().expect("code");
    let place = usize::try_from(section.offset).expect("a small file");
    let room = usize::try_from(section.size).expect("a small file");
    for (byte, word) in cubin.iter_mut().skip(place).take(room).zip(words) {
        *byte = *word;
    }
    // The chip is in the lowest byte of `e_flags`.
    if choice & 1 == 0
        && let Some(chip) = cubin.get_mut(0x30)
    {
        *chip = 30;
    }
    emulated(&cubin);
}

/// Runs the first kernels of a cubin, with small buffers for their pointers.
fn emulated(cubin: &[u8]) {
    use unshade_emulate::sanitize::Options;
    use unshade_emulate::{Argument, Device, Grid, Limits, Module};
    let mut device = Device::new();
    device.limit_memory(4 << 20);
    let Ok(module) = Module::load(&mut device, cubin) else { return };
    let limits = Limits { steps: 2_000, local: 512, stack: 64, ..Limits::default() };
    for kernel in module.kernels().iter().take(2) {
        let mut arguments = Vec::new();
        for (_, parameter) in &kernel.parameters {
            let pointer = device.allocate(256, "buffer").map_or(0, |pointer| pointer.0);
            let mut bytes = pointer.to_le_bytes().to_vec();
            bytes.resize(usize::from(parameter.size), 0);
            arguments.push(Argument(bytes));
        }
        let mut seen = 0;
        let mut trace = |step: &unshade_emulate::Step<'_>| {
            seen += 1;
            if seen < 8 {
                assert!(step.active != 0);
                step.instruction.text(step.address);
            }
        };
        match module.launch(&mut device, &kernel.name, Grid::new(2, 40), &arguments, limits, Some(&mut trace))
        {
            Ok(summary) => assert_eq!(summary.blocks, 2),
            Err(fault) => assert!(!fault.to_string().is_empty()),
        }
        let (grid, options) = (Grid::new(2, 40), Options { limit: 5, ..Options::default() });
        match module.sanitize(&mut device, &kernel.name, grid, &arguments, limits, &options) {
            Ok(report) => assert!(report.findings.len() <= 6),
            Err(fault) => assert!(!fault.to_string().is_empty()),
        }
    }
}

/// Modules made by calls: no call panics, and what finishes is written, read back and sound.
pub fn bitcode_build(data: &[u8]) {
    let _ = crate::built_modules::exercise(data);
}

/// Calls of the builder of DirectX shaders that the bytes select, most of which are refused.
pub fn dxil_build(data: &[u8]) {
    let _ = crate::built_shaders::exercise(data);
}

/// All targets.
pub const ALL: &[Target] = &[
    ("metallib", metallib),
    ("metallib_write", metallib_write),
    ("metallib_yaml", metallib_yaml),
    ("link", link),
    ("universal", universal),
    ("reflection", reflection),
    ("sources", sources),
    ("carve", carve),
    ("zstd", zstd),
    ("bitcode", bitcode),
    ("bitcode_file", bitcode_file),
    ("bitcode_tree", bitcode_tree),
    ("bitcode_build", bitcode_build),
    ("llvm_text", llvm_text),
    ("bitcode_write", bitcode_write),
    ("metal_source", metal_source),
    ("dxcontainer", dxcontainer),
    ("dxil", dxil),
    ("dxil_build", dxil_build),
    ("psv0", psv0),
    ("rdat", rdat),
    ("root_signature", root_signature),
    ("rdef", rdef),
    ("dx_debug", dx_debug),
    ("sass", sass),
    ("sass_text", sass_text),
    ("decompile", decompile),
    ("types_header", types_header),
    ("ir_text", ir_text),
    ("dx_yaml", dx_yaml),
    ("dxbc_tokens", dxbc_tokens),
    ("dxbc_text", dxbc_text),
    ("d3d9_tokens", d3d9_tokens),
    ("d3d9_text", d3d9_text),
    ("compare", compare),
    ("query", query),
    ("fatbin", fatbin),
    ("cubin", cubin),
    ("emulate", emulate),
];
