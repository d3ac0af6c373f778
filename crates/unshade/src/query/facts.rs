//! What is known of a program, or of one of its items, for people: facts in groups, and lists.

use super::listing::{lines_of, panes, with_unit};
use super::response::findings;
use super::rows::Row;
use super::session::{Content, Parsed, Session};
use super::*;
use crate::carve::Condition;
use crate::opened::Opened;
use crate::quantity::{bytes, counted, dimensions, grouped};
use crate::view::nvidia::{KernelView, NvidiaView, kernels};
use crate::view::{ConstantView, ContainerView, FunctionView, LibraryView, ResourceView};
use unshade_core::{Diagnostics, Escaped, TokenKind, TokenSink};
use unshade_dxcontainer::Container;
use unshade_llvm as llvm;
use unshade_metallib::reflection::print_signature;

/// The most rows of a list.
const MAX_TABLE: usize = 1_000;

/// The longest text of a fact.
const MAX_VALUE: usize = 16 << 10;

/// Gathers facts.
#[derive(Default)]
struct Facts(Vec<Fact>);

impl Facts {
    fn add(&mut self, label: &str, value: impl Into<String>) {
        let mut value = value.into();
        if value.is_empty() {
            return;
        }
        if value.len() > MAX_VALUE {
            let mut end = MAX_VALUE;
            while !value.is_char_boundary(end) {
                end -= 1;
            }
            value.truncate(end);
            value.push('…');
        }
        self.0.push(Fact { label: label.to_owned(), value, ..Fact::default() });
    }

    fn some(&mut self, label: &str, value: Option<impl Into<String>>) {
        if let Some(value) = value {
            self.add(label, value);
        }
    }

    /// The bytes that the last fact is told by.
    fn at(&mut self, start: u64, size: u64) {
        if let Some(last) = self.0.last_mut() {
            last.range = Some([start, start.saturating_add(size)]);
        }
    }

    fn state(&mut self, state: &'static str) {
        if let Some(last) = self.0.last_mut() {
            last.state = Some(state);
        }
    }

    fn card(self, title: &str) -> Option<Card> {
        (!self.0.is_empty()).then(|| Card { title: title.to_owned(), rows: self.0 })
    }
}

fn table<T>(
    title: &str,
    columns: &[&'static str],
    items: &[T],
    row: impl Fn(&T) -> Vec<String>,
) -> Option<Table> {
    let rows = items.iter().take(MAX_TABLE).map(|item| TableRow { cells: row(item), range: None }).collect();
    (!items.is_empty()).then(|| Table {
        title: title.to_owned(),
        columns: columns.to_vec(),
        rows,
        more: items.len().saturating_sub(MAX_TABLE) as u64,
    })
}

/// What people look for first in a program.
pub(super) fn of_program(parsed: &Parsed<'_>) -> Vec<Fact> {
    let mut facts = Facts::default();
    match parsed.condition {
        Condition::Whole => {}
        Condition::Truncated { stated } => {
            facts.add("size", format!("{} of {}", bytes(parsed.data.len() as u64), bytes(stated)));
            facts.state("bad");
        }
        Condition::Damaged => {
            facts.add("condition", "begins like a program, but what follows can't be one");
            facts.state("bad");
        }
    }
    match &parsed.content {
        Content::Bitcode(data) => modules(data, parsed.base, &mut facts),
        Content::Program(program @ (Opened::Library(_) | Opened::Universal(_))) => {
            libraries(program, &mut facts);
        }
        Content::Program(Opened::DxContainer(container)) => {
            container_facts(&ContainerView::new(container), &mut facts);
        }
        Content::Program(program) => nvidia(program, &mut facts),
    }
    facts.0
}

fn libraries(program: &Opened<'_>, facts: &mut Facts) {
    for named in program.libraries(&mut Diagnostics::new()) {
        let functions: Vec<_> = named.library.functions().map_while(Result::ok).collect();
        let view = LibraryView::new(&named.library, &functions);
        facts.add("slice", named.slice);
        let stub = if view.stub { ", stub" } else { "" };
        facts.add("library", format!("{}{stub}, version {}", view.library_type, view.container_version));
        let architecture =
            view.architecture.map(|architecture| format!(" ({architecture})")).unwrap_or_default();
        facts.add("target", format!("{}{architecture}", view.target));
        facts.some("writer", view.writer);
        let types: Vec<String> =
            view.function_types.iter().map(|row| format!("{} {}", grouped(row.count), row.kind)).collect();
        facts.add("functions", if types.is_empty() { "none".to_owned() } else { types.join(" · ") });
        let versions: Vec<String> = view
            .versions
            .iter()
            .take(8)
            .map(|row| format!("Metal {}, AIR {} ({})", row.metal, row.air, grouped(row.count)))
            .collect();
        facts.add("language", versions.join(" · "));
        facts.add("modules", bytes(view.module_bytes));
        if let Some(sources) = &view.sources {
            let archives = counted(sources.archives.len() as u64, "archive");
            facts.add("sources", format!("{archives}, {} packed", bytes(sources.packed_size)));
            facts.add("link command", sources.link_command.as_str());
            facts.some("working directory", sources.working_directory.clone());
        }
        facts.some("install name", view.link.install_name);
        for library in view.link.linked_libraries.iter().take(20) {
            facts.add("linked", library.as_str());
        }
        let count = |list: &[String], noun| (!list.is_empty()).then(|| counted(list.len() as u64, noun));
        facts.some("imports", count(&view.link.imported_symbols, "symbol"));
        facts.some("exports", count(&view.link.exported_variables, "variable"));
        facts.some("uuid", view.uuid);
        if view.stated_size != view.size {
            facts.add(
                "size",
                format!("the header says {}, there are {}", bytes(view.stated_size), bytes(view.size)),
            );
            facts.state("bad");
        }
    }
}

fn container_facts(view: &ContainerView, facts: &mut Facts) {
    facts.some("profile", view.profile.as_deref());
    facts.some("code", view.code.as_deref());
    facts.some("entry", view.entry.as_deref());
    facts.some("threads", view.threads.map(dimensions));
    facts.some("wave", view.wave_lanes.map(|[least, most]| format!("{least} to {most} lanes")));
    facts.some("compiler", view.compiler.as_deref());
    facts.some("validator", view.validator.as_deref());
    facts.add("features", view.features.join(" · "));
    facts.add("flags", view.flags.join(" · "));
    facts.add("digest", format!("{}, {}", view.digest, view.digest_is));
    match view.digest_is.as_str() {
        "right" => facts.state("good"),
        "wrong" => facts.state("bad"),
        _ => {}
    }
    for (label, value) in &view.stage {
        facts.add(
            label,
            unshade_dxcontainer::psv0::stage_word(label, *value).unwrap_or_else(|| value.to_string()),
        );
    }
    facts.some("debug", view.debug_name.as_deref());
    facts.add("arguments", view.arguments.join(" "));
    facts.some("root signature", view.root_signature_version.as_deref());
}

fn nvidia(program: &Opened<'_>, facts: &mut Facts) {
    let Some(program) = program.nvidia() else { return };
    let view = NvidiaView::new(&program, &mut Diagnostics::new());
    let mut targets: Vec<&str> = view.units.iter().map(|unit| unit.target.as_str()).collect();
    targets.dedup();
    facts.add("chips", targets.join(" · "));
    let cubins = || view.units.iter().filter_map(|unit| unit.cubin.as_ref());
    let entries = view.units.iter().filter(|unit| unit.entry.is_some()).count();
    if entries > 0 {
        let packed = view.units.iter().filter_map(|unit| unit.entry.as_ref());
        let packed = packed.filter(|entry| entry.compression != "none").count();
        facts.add("entries", format!("{}, {} packed", grouped(entries as u64), grouped(packed as u64)));
    }
    let sum =
        |count: fn(&crate::view::nvidia::CubinView) -> u64| cubins().map(count).fold(0, u64::saturating_add);
    if cubins().next().is_some() {
        facts.add("kernels", grouped(sum(|cubin| cubin.kernels)));
        facts.add("device functions", grouped(sum(|cubin| cubin.device_functions)));
        facts.add("code", bytes(sum(|cubin| cubin.code_size)));
    }
    if let ([unit], 0) = (view.units.as_slice(), entries) {
        if let Some(cubin) = &unit.cubin {
            facts.some("virtual target", cubin.virtual_target.as_deref());
            facts.add("file type", format!("{}, ABI {}", cubin.file_type, cubin.abi));
            facts.add("addresses", format!("{} bits", cubin.address_bits));
            facts.add("global memory", bytes(cubin.global_memory));
            for (bank, size) in &cubin.constants {
                facts.add("constants", format!("bank {bank}, {}", bytes(*size)));
            }
            facts.add("line table", counted(cubin.line_rows, "row"));
        }
        if let Some(ptx) = &unit.ptx {
            facts.some("version", ptx.version.as_deref());
            facts.some("addresses", ptx.address_size.as_ref().map(|size| format!("{size} bits")));
            facts.add("kernels", grouped(ptx.kernels));
        }
    }
    let mut toolkits: Vec<&str> = cubins().filter_map(|cubin| cubin.toolkit.as_deref()).collect();
    toolkits.dedup();
    facts.add("toolkit", toolkits.join(" · "));
    if let Some(tool) = cubins().find_map(|cubin| cubin.tool.as_ref()) {
        facts.add("tool", format!("{} {}", tool.name, tool.arguments));
    }
}

fn modules(data: &[u8], base: u64, facts: &mut Facts) {
    let modules = llvm::Module::parse_all(data, base).into_iter().flatten();
    for module in modules.map_while(Result::ok).take(16) {
        let text = |text: &[u8]| Escaped(text).to_string();
        facts.add("producer", text(&module.producer));
        facts.add("target", text(&module.triple));
        facts.add("source", module.source_filename.as_deref().map(text).unwrap_or_default());
        let bodies = module.functions.iter().filter(|function| !function.declaration).count();
        facts.add("functions", format!("{} with a body", grouped(bodies as u64)));
    }
}

impl Session {
    pub(super) fn facts(&mut self, place: &Place) -> Answer<FactsAnswer> {
        let Some(item) = place.item else { return self.facts_of_program(place.program) };
        self.ensure_item(place.program, item)?;
        let table = self.table(place.program)?;
        let row = table.row(item)?;
        let parsed = self.parsed(place.program)?;
        let mut answer = FactsAnswer {
            title: row.name.clone(),
            subtitle: row.kind.clone(),
            panes: panes(&parsed, Some(row)),
            extracts: extract::of_item(&parsed, row),
            range: row.range,
            ..FactsAnswer::default()
        };
        match &parsed.content {
            Content::Bitcode(_) => answer.cards.extend({
                let mut facts = Facts::default();
                modules(parsed.data, parsed.base, &mut facts);
                facts.card("module")
            }),
            Content::Program(Opened::Library(_) | Opened::Universal(_)) => {
                function(&parsed, row, &mut answer)?;
            }
            Content::Program(Opened::DxContainer(container)) => part(container, row, &mut answer),
            Content::Program(_) => kernel(&parsed, row, &mut answer)?,
        }
        Ok(answer)
    }

    fn facts_of_program(&mut self, program: u32) -> Answer<FactsAnswer> {
        let table = self.table(program)?;
        let parsed = self.parsed(program)?;
        let mut answer = FactsAnswer {
            title: parsed.short_name().to_owned(),
            subtitle: format!(
                "{}, {}, {}",
                parsed.format_name(),
                counted(table.rows.len() as u64, table.item_name),
                bytes(parsed.data.len() as u64)
            ),
            panes: panes(&parsed, None),
            extracts: extract::of_program(&parsed),
            range: Some(parsed.space()),
            ..FactsAnswer::default()
        };
        answer.cards.extend(Facts(of_program(&parsed)).card("program"));
        match &parsed.content {
            Content::Program(Opened::DxContainer(container)) => {
                container_tables(&ContainerView::new(container), &mut answer);
            }
            Content::Program(program @ Opened::Fatbin(_)) => {
                let mut diagnostics = Diagnostics::new();
                let view = program.nvidia().map(|program| NvidiaView::new(&program, &mut diagnostics));
                answer.findings = findings(&diagnostics);
                let units = view.map(|view| view.units).unwrap_or_default();
                answer.tables.extend(table_of_entries(&units));
            }
            _ => {}
        }
        Ok(answer)
    }
}

fn table_of_entries(units: &[crate::view::nvidia::UnitView]) -> Option<Table> {
    let mut list = table(
        "entries",
        &["entry", "kind", "chip", "compression", "bytes", "name", "flags"],
        units,
        |unit| {
            let entry = unit.entry.as_ref();
            vec![
                entry.map(|entry| entry.index.to_string()).unwrap_or_default(),
                unit.kind.clone(),
                unit.target.clone(),
                entry.map(|entry| entry.compression.clone()).unwrap_or_default(),
                entry.map(|entry| grouped(entry.size)).unwrap_or_default(),
                entry.and_then(|entry| entry.name.clone()).unwrap_or_default(),
                entry.map(|entry| entry.flags.join(" ")).unwrap_or_default(),
            ]
        },
    )?;
    for (row, unit) in list.rows.iter_mut().zip(units) {
        row.range = unit
            .entry
            .as_ref()
            .map(|entry| [entry.payload_offset, entry.payload_offset.saturating_add(entry.payload_size)]);
    }
    Some(list)
}

/// A function of a Metal library.
fn function(parsed: &Parsed<'_>, row: &Row, answer: &mut FactsAnswer) -> Answer<()> {
    parsed.with_function(row, |library, function| {
        let view = FunctionView::new(library, function);
        let reflection = library.reflection(function).ok().flatten();
        let described = reflection
            .as_ref()
            .and_then(|reflection| reflection.function(function.name.unwrap_or_default()).ok().flatten());
        answer.declaration = lines_of(|tape| match &described {
            Some(described) => print_signature(described, tape),
            None => {
                tape.put(TokenKind::Keyword, view.row.kind.as_deref().unwrap_or("function"));
                tape.put(TokenKind::Space, " ");
                tape.put(TokenKind::Function, view.row.readable_name());
            }
        });
        let mut facts = Facts::default();
        facts.add("index", format!("#{}", view.row.index));
        facts.some("mangled", view.row.demangled.as_ref().map(|_| view.row.name.as_str()));
        if let (Some(metal), Some(air)) = (&view.row.metal, &view.row.air) {
            facts.add("language", format!("Metal {metal}, AIR {air}"));
        }
        if let (Some(at), Some(size)) = (view.row.offset, view.row.size) {
            facts.add("module", format!("{} at {at:#x}", bytes(size)));
            facts.at(at, size);
            facts.some("bitcode", view.bitcode_size.map(bytes));
        }
        if let Some(hash) = &view.hash {
            facts.add("SHA-256", hash.as_str());
            match view.hash_matches {
                Some(true) => {
                    facts.add("hash", "matches the module");
                    facts.state("good");
                }
                Some(false) => {
                    facts.add("hash", "does not match the module");
                    facts.state("bad");
                }
                None => {}
            }
        }
        facts.some("patches", view.tessellation.as_deref());
        facts.some("layer index", view.layer_type.as_deref());
        if let (Some(line), Some(path)) = (view.metadata.line, &view.metadata.source_path) {
            facts.add("source", format!("{path}:{line}"));
        }
        for dependency in view.metadata.dependencies.iter().take(100) {
            facts.add("linked from", dependency.as_str());
        }
        facts.some("archive", view.source_archive.as_deref());
        facts.add("tags", format!("{:#x}..{:#x}", view.group.0, view.group.1));
        facts.at(view.group.0, view.group.1.saturating_sub(view.group.0));
        answer.cards.extend(facts.card("function"));

        let mut facts = Facts::default();
        if let Some(reflection) = &view.reflection {
            facts.some("required threads", reflection.required_threads.map(dimensions));
            facts
                .some("threads at most", reflection.max_total_threads.map(|threads| grouped(threads.into())));
            facts.add("static threadgroup memory", bytes(reflection.static_threadgroup_memory));
            facts.some("version", reflection.version.as_deref());
        }
        answer.cards.extend(facts.card("reflection"));

        if let Some(reflection) = &view.reflection {
            let arguments =
                ["name", "kind", "type", "attribute", "index", "access", "space", "element", "used"];
            let columns = |one: &crate::view::ArgumentView| {
                let text = |text: &Option<String>| text.clone().unwrap_or_default();
                vec![
                    text(&one.name),
                    one.kind.clone(),
                    text(&one.type_name),
                    one.attribute.clone(),
                    one.index.map(|index| index.to_string()).unwrap_or_default(),
                    text(&one.access),
                    text(&one.address_space),
                    one.element_size.map(|size| size.to_string()).unwrap_or_default(),
                    if one.unused { "no" } else { "yes" }.to_owned(),
                ]
            };
            answer.tables.extend(table("arguments", &arguments, &reflection.arguments, columns));
            answer.tables.extend(table("returns", &arguments, &reflection.returns, columns));
        }
        let attributes = &view.metadata.vertex_attributes;
        answer.tables.extend(table(
            "vertex attributes",
            &["name", "index", "type", "usage", "used"],
            attributes,
            |one| {
                vec![
                    one.name.clone(),
                    one.index.to_string(),
                    one.data_type.clone().unwrap_or_default(),
                    one.usage.clone(),
                    if one.active { "yes" } else { "no" }.to_owned(),
                ]
            },
        ));
        let constants = |one: &ConstantView| {
            let used = if one.active { "yes" } else { "no" };
            vec![one.name.clone(), one.index.to_string(), one.data_type.clone(), used.to_owned()]
        };
        let columns = ["name", "index", "type", "used"];
        let in_metadata = &view.metadata.function_constants;
        answer.tables.extend(table("function constants", &columns, in_metadata, constants));
        if let Some(reflection) = view.reflection.as_ref().filter(|_| in_metadata.is_empty()) {
            answer.tables.extend(table(
                "function constants",
                &columns,
                &reflection.function_constants,
                constants,
            ));
        }
        answer.tables.extend(table("other tags", &["tag", "bytes"], &view.metadata.raw, |(code, bytes)| {
            vec![code.clone(), bytes.chars().take(1_024).collect()]
        }));
        answer.findings = view.findings;
        Ok(())
    })
}

/// A part of a container.
fn part(container: &Container<'_>, row: &Row, answer: &mut FactsAnswer) {
    let Some(part) = container.found_parts().nth(row.index as usize) else { return };
    let mut facts = Facts::default();
    facts.add("part", format!("{} #{}", part.name, part.index));
    facts.add("what", unshade_dxcontainer::part::describe(part.name).unwrap_or("unknown"));
    let (start, size) = (part.data.base(), part.data.data().len() as u64);
    facts.add("content", format!("{} at {start:#x}", bytes(size)));
    facts.at(start, size);
    answer.cards.extend(facts.card("part"));
    let view = ContainerView::new(container);
    let name = part.name.to_string();
    let mut all = FactsAnswer::default();
    container_tables(&view, &mut all);
    let wanted = match &part.name.0 {
        b"PSV0" | b"RDEF" => "resources",
        b"RDAT" => "functions",
        b"RTS0" => "root signature",
        _ => name.as_str(),
    };
    answer.tables.extend(all.tables.into_iter().filter(|table| table.title == wanted));
}

fn container_tables(view: &ContainerView, answer: &mut FactsAnswer) {
    let functions = ["kind", "name", "threads", "payload", "attributes", "node"];
    answer.tables.extend(table("functions", &functions, &view.functions, |one| {
        let size = |size: Option<u32>| size.map(|size| size.to_string()).unwrap_or_default();
        vec![
            one.kind.clone(),
            one.name.clone(),
            one.threads.map(dimensions).unwrap_or_default(),
            size(one.payload_size),
            size(one.attribute_size),
            one.node.as_ref().and_then(|node| node.id.clone()).unwrap_or_default(),
        ]
    }));
    let resources = ["registers", "space", "kind", "shape", "element", "name", "notes"];
    answer.tables.extend(table("resources", &resources, &view.resources, |one: &ResourceView| {
        vec![
            one.registers.clone(),
            one.space.to_string(),
            one.kind.clone(),
            one.shape.clone(),
            one.element.clone().or(one.bytes.map(|size| bytes(size.into()))).unwrap_or_default(),
            one.name.clone(),
            one.notes.join(", "),
        ]
    }));
    let mut parts: Vec<&str> = view.signatures.iter().map(|element| element.part.as_str()).collect();
    parts.dedup();
    let columns = ["name", "type", "register", "mask", "system value", "interpolation", "stream"];
    for part in parts {
        let elements: Vec<_> = view.signatures.iter().filter(|element| element.part == part).collect();
        answer.tables.extend(table(part, &columns, &elements, |one| {
            vec![
                one.name.clone(),
                one.component_type.clone(),
                one.register.map(|register| register.to_string()).unwrap_or_default(),
                one.mask.clone(),
                one.system_value.clone(),
                one.interpolation.clone(),
                if one.stream == 0 { String::new() } else { one.stream.to_string() },
            ]
        }));
    }
    answer.tables.extend(table("root signature", &["clause"], &view.root_signature, |one| vec![one.clone()]));
}

/// A kernel or device function of NVIDIA's.
fn kernel(parsed: &Parsed<'_>, row: &Row, answer: &mut FactsAnswer) -> Answer<()> {
    with_unit(parsed, row, |unit, is_unpacked| {
        let mut found: Option<KernelView> = None;
        let mut diagnostics = Diagnostics::new();
        if let Some(unit) = unit.nvidia() {
            kernels(&unit, &mut diagnostics, &|index, _| index == row.index, &mut |view| {
                found.get_or_insert(view);
            });
        }
        answer.findings = findings(&diagnostics);
        // PTX in a fat binary is one item, which has no function of its own.
        let Some(view) = found.filter(|_| row.kind != "PTX") else { return Ok(()) };
        kernel_cards(&view, is_unpacked, answer);
        Ok(())
    })
}

fn kernel_cards(view: &KernelView, is_unpacked: bool, answer: &mut FactsAnswer) {
    let row = &view.row;
    answer.declaration = lines_of(|tape| {
        tape.put(TokenKind::Keyword, if row.kind == "kernel" { "__global__" } else { "__device__" });
        tape.put(TokenKind::Space, " ");
        tape.put(TokenKind::Function, row.readable_name());
    });
    let mut facts = Facts::default();
    facts.add("chip", row.target.as_str());
    facts.some("mangled", row.demangled.as_ref().map(|_| row.name.as_str()));
    facts.some("registers", row.registers.map(|number| number.to_string()));
    facts.some("registers at most", view.max_registers.map(|number| number.to_string()));
    facts.some("stack", row.stack.map(|size| bytes(size.into())));
    facts.some("stack of its own", view.frame_size.map(|size| bytes(size.into())));
    facts.some("call stack", view.call_stack.map(|size| bytes(size.into())));
    facts.some("shared memory", row.shared.map(bytes));
    facts.some("local memory", row.local.map(bytes));
    facts.some("barriers", row.barriers.map(|number| number.to_string()));
    for (bank, size) in &row.constants {
        facts.add("constants", format!("bank {bank}, {}", bytes(*size)));
    }
    facts.some("threads required", view.required_threads.map(dimensions));
    facts.some("threads at most", view.max_threads.map(dimensions));
    facts.some("cluster", view.cluster.map(dimensions));
    for directive in view.directives.iter().take(100) {
        facts.add("directive", directive.as_str());
    }
    if let Some(place) = view.code_offset {
        let of = if is_unpacked { " of the unpacked cubin" } else { "" };
        facts.add("code", format!("{} at {:#x}{of}", bytes(row.size), row.offset.unwrap_or(place)));
        if let Some(offset) = row.offset.filter(|_| !is_unpacked) {
            facts.at(offset, row.size);
        }
    }
    facts.some("source", view.source.as_deref());
    answer.cards.extend(facts.card(&row.kind));
    answer.tables.extend(table(
        "parameters",
        &["place", "name", "type", "offset", "bank 0", "bytes"],
        &view.parameters,
        |one| {
            let hex = |number: Option<u32>| number.map(|number| format!("{number:#x}")).unwrap_or_default();
            vec![
                one.ordinal.to_string(),
                one.name.clone().unwrap_or_default(),
                one.type_name.clone().unwrap_or_default(),
                hex(one.offset),
                hex(one.constant_offset),
                one.size.map(|size| size.to_string()).unwrap_or_default(),
            ]
        },
    ));
    answer.tables.extend(table("bound", &["kind", "name"], &view.bound, |(kind, name)| {
        vec![kind.clone(), name.clone()]
    }));
    answer.tables.extend(table("labels", &["offset", "bytes", "name"], &view.labels, |one| {
        vec![format!("{:#x}", one.offset), one.size.to_string(), one.name.clone()]
    }));
    answer.tables.extend(table(
        "sections",
        &["index", "name", "type", "offset", "bytes"],
        &view.sections,
        |one| {
            let offset = format!("{:#x}", one.offset);
            vec![one.index.to_string(), one.name.clone(), one.kind.clone(), offset, one.size.to_string()]
        },
    ));
    answer.tables.extend(table(
        "relocations",
        &["section", "offset", "type", "symbol", "addend"],
        &view.relocations,
        |one| {
            let offset = format!("{:#x}", one.offset);
            vec![
                one.section.to_string(),
                offset,
                one.kind.clone(),
                one.symbol.clone(),
                one.addend.to_string(),
            ]
        },
    ));
    answer.tables.extend(table("attributes", &["attribute", "value"], &view.attributes, |(name, value)| {
        vec![name.clone(), value.chars().take(1_024).collect()]
    }));
    answer.findings.extend(view.findings.iter().cloned());
}
