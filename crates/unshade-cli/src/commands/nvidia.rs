//! Prints NVIDIA programs: descriptions, lists and details of fat binaries, cubins, PTX and kernels.

use super::{ProgramJson, findings};
use crate::output::Stdout;
use crate::paint::{self, bad, bytes, counted, faint, grouped, name, offset};
use anyhow::Result;
use rayon::prelude::*;
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::io::Write;
use unshade::carve::Find;
use unshade::core::Diagnostics;
use unshade::demangle;
use unshade::program::Program;
use unshade::select::Selection;
use unshade::view::FindingView;
use unshade::view::nvidia::{KernelRow, KernelView, NvidiaView, UnitView, kernel_rows, kernels};

/// The rows or facts of a program's functions: the entry of `programs` in `list` and `show`.
#[derive(Serialize)]
pub(super) struct KernelsJson<K: Serialize> {
    #[serde(flatten)]
    head: ProgramJson,
    kernels: Vec<K>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<FindingView>,
}

/// Returns the view of a program in an NVIDIA format.
pub(super) fn view(program: &Program<'_>, diagnostics: &mut Diagnostics) -> Option<NvidiaView> {
    NvidiaView::new(program, diagnostics)
}

/// Returns whether a selection can include functions of this kind.
fn is_wanted_kind(selection: &Selection, kind: &str) -> bool {
    selection.types.is_empty() || selection.types.iter().any(|wanted| wanted.to_string() == kind)
}

/// Returns the selected rows, with demangled names if requested. The program is in an NVIDIA format.
pub(super) fn rows(find: &Find<'_>, selection: &Selection, demangled: bool) -> KernelsJson<KernelRow> {
    let mut diagnostics = Diagnostics::new();
    let mut rows = Vec::new();
    if let Some(program) = diagnostics.take("program", Program::open(find)) {
        let wanted = |index: u32, name: &[u8]| selection.matches_name(index, name);
        kernel_rows(&program, false, &mut diagnostics, &wanted, &mut |row| {
            if is_wanted_kind(selection, &row.kind) {
                rows.push(row);
            }
        });
    }
    if demangled {
        demangle_all(&mut rows);
    }
    KernelsJson { head: ProgramJson::new(find), kernels: rows, findings: findings(&diagnostics) }
}

/// Demangles the names of rows, each name once: a fat binary has the same functions for several chips.
fn demangle_all(rows: &mut [KernelRow]) {
    let distinct: HashSet<&str> = rows.iter().map(KernelRow::own_name).collect();
    let names: Vec<&str> = distinct.into_iter().collect();
    let demangled = names.par_iter().map(|name| ((*name).to_owned(), demangle(name.as_bytes())));
    let demangled: HashMap<String, Option<String>> = demangled.collect();
    for row in rows {
        row.demangled = demangled.get(row.own_name()).cloned().flatten();
    }
}

/// Returns all facts of the selected functions. The program is in an NVIDIA format.
pub(super) fn facts(find: &Find<'_>, selection: &Selection) -> KernelsJson<KernelView> {
    let mut diagnostics = Diagnostics::new();
    let mut views = Vec::new();
    if let Some(program) = diagnostics.take("program", Program::open(find)) {
        let wanted = |index: u32, name: &[u8]| selection.matches_name(index, name);
        kernels(&program, &mut diagnostics, &wanted, &mut |view| {
            if is_wanted_kind(selection, &view.row.kind) {
                views.push(view);
            }
        });
    }
    KernelsJson { head: ProgramJson::new(find), kernels: views, findings: findings(&diagnostics) }
}

impl<K: Serialize> KernelsJson<K> {
    /// The number of functions.
    pub(super) fn count(&self) -> u64 {
        self.kernels.len() as u64
    }

    pub(super) fn head(&self) -> &ProgramJson {
        &self.head
    }

    fn print_findings(&self) {
        for finding in &self.findings {
            anstream::eprintln!("{}: {}: {}", self.head.path, finding.severity, finding.message);
        }
    }
}

impl KernelsJson<KernelRow> {
    /// Prints rows in columns. The name comes last, and is cut only on a terminal.
    pub(super) fn print(&self, mangled: bool, stdout: &mut Stdout) -> Result<()> {
        self.print_findings();
        let index_width = self.kernels.last().map_or(1, |row| row.index.to_string().len());
        let target_width = self.kernels.iter().map(|row| row.target.len()).max().unwrap_or(0).max(4);
        let fixed = index_width + target_width + 75;
        let room = paint::terminal_width().map_or(usize::MAX, |width| width.saturating_sub(fixed).max(24));
        let heading = format!(
            "{:>index_width$}  {:<target_width$}  {:<6}  {:>4}  {:>6}  {:>7}  {:>8}  {:>6}  {:>8}  {:>10}  name",
            "#", "chip", "kind", "regs", "stack", "shared", "constant", "params", "code", "offset"
        );
        writeln!(stdout, "{}", faint(heading))?;
        let number = |number: Option<u64>| number.map_or_else(|| "–".to_owned(), grouped);
        for row in &self.kernels {
            let constants = row.constants.iter().map(|(_, size)| size).sum();
            let constants = if row.constants.is_empty() { "–".into() } else { grouped(constants) };
            let shown = if mangled { &row.name } else { row.readable_name() };
            writeln!(
                stdout,
                "{:>index_width$}  {:<target_width$}  {:<6}  {:>4}  {:>6}  {:>7}  {constants:>8}  {:>6}  {:>8}  {:>10}  {}",
                row.index,
                row.target,
                row.kind,
                number(row.registers.map(u64::from)),
                number(row.stack.map(u64::from)),
                number(row.shared),
                number(row.parameter_count.map(u64::from)),
                if row.size == 0 { "–".into() } else { bytes(row.size) },
                offset(row.offset.map_or_else(|| "packed".into(), |offset| format!("{offset:#x}"))),
                paint::cut(shown, room),
            )?;
        }
        Ok(())
    }
}

impl KernelsJson<KernelView> {
    /// Prints one card per function.
    pub(super) fn print(&self, shown_before: u64, stdout: &mut Stdout) -> Result<()> {
        self.print_findings();
        for (index, view) in self.kernels.iter().enumerate() {
            if shown_before > 0 || index > 0 {
                writeln!(stdout)?;
            }
            print_card(&self.head, view, stdout)?;
        }
        Ok(())
    }
}

fn print_card(head: &ProgramJson, view: &KernelView, stdout: &mut Stdout) -> Result<()> {
    let row = &view.row;
    let parameters = if row.readable_name().ends_with(')') { "" } else { "(…)" };
    let word = if row.kind == "kernel" { "__global__" } else { "__device__" };
    writeln!(stdout, "{word} {}{parameters}", name(row.readable_name()))?;
    let entry = row.entry.map_or_else(String::new, |entry| format!(", entry {entry}"));
    let mut fact = |label: &str, text: String| writeln!(stdout, "  {} {text}", faint(format!("{label:<11}")));
    fact("index", format!("#{}", row.index))?;
    fact("of", format!("{}, {}{entry}", head.path, row.target))?;
    if row.demangled.is_some() {
        fact("mangled", row.name.clone())?;
    }
    let unit = |number: u64, unit: &str| format!("{} {unit}", grouped(number));
    if let Some(registers) = row.registers {
        let most = view.max_registers.filter(|most| *most != 255).map(|most| format!(", at most {most}"));
        fact("registers", format!("{registers}{}", most.unwrap_or_default()))?;
    }
    if let Some(stack) = row.stack {
        let own = view.frame_size.filter(|own| *own != stack).map(|own| format!(", {own} of its own"));
        let most = view.max_stack.filter(|most| *most > stack).map(|most| format!(", at most {most}"));
        let text = unit(stack.into(), "bytes");
        fact("stack", format!("{text}{}{}", own.unwrap_or_default(), most.unwrap_or_default()))?;
    }
    if let Some(calls) = view.call_stack {
        fact("call stack", unit(calls.into(), "bytes"))?;
    }
    if let Some(shared) = row.shared {
        fact("shared", unit(shared, "bytes"))?;
    }
    if let Some(local) = row.local.filter(|local| *local > 0) {
        fact("local", unit(local, "bytes"))?;
    }
    if let Some(barriers) = row.barriers {
        fact("barriers", barriers.to_string())?;
    }
    for (bank, size) in &row.constants {
        fact("constant", format!("bank {bank}, {}", unit(*size, "bytes")))?;
    }
    let block = |[x, y, z]: [u32; 3]| format!("{x} × {y} × {z}");
    if let Some(threads) = view.required_threads {
        fact("threads", format!("{} required", block(threads)))?;
    }
    if let Some(threads) = view.max_threads {
        fact("threads", format!("at most {}", block(threads)))?;
    }
    if let Some(cluster) = view.cluster {
        fact("cluster", block(cluster))?;
    }
    for directive in &view.directives {
        fact("directive", directive.clone())?;
    }
    for parameter in &view.parameters {
        let mut text = format!("{}", parameter.ordinal);
        if let (Some(kind), Some(called)) = (&parameter.type_name, &parameter.name) {
            text.push_str(&format!("  {kind} {called}"));
        }
        if let Some(size) = parameter.size {
            text.push_str(&format!("  {size} bytes"));
        }
        if let Some(place) = parameter.constant_offset {
            text.push_str(&format!(" at c[0x0][{place:#x}]"));
        }
        fact("parameter", text)?;
    }
    for (kind, bound) in &view.bound {
        fact("bound", format!("{kind} {bound}"))?;
    }
    if let Some(code) = view.code_offset {
        let place = row.offset.map_or_else(
            || format!("{} in the unpacked cubin", offset(format!("{code:#x}"))),
            |place| offset(format!("{place:#x}")).to_string(),
        );
        fact("code", format!("{} at {place}", unit(row.size, "bytes")))?;
    }
    if let Some(source) = &view.source {
        fact("source", format!("{source}, {} in the line table", counted(view.line_rows, "row")))?;
    }
    for label in &view.labels {
        fact("label", format!("{:#06x}  {:>6}  {}", label.offset, label.size, label.name))?;
    }
    for section in &view.sections {
        let place = format!("{:#x}", section.offset);
        fact("section", format!("{:>3}  {place:>8}  {:>6}  {}", section.index, section.size, section.name))?;
    }
    for relocation in &view.relocations {
        let addend =
            if relocation.addend == 0 { String::new() } else { format!(" + {:#x}", relocation.addend) };
        fact(
            "relocation",
            format!(
                "section {} at {:#x}  {} {}{addend}",
                relocation.section, relocation.offset, relocation.kind, relocation.symbol
            ),
        )?;
    }
    for (attribute, value) in &view.attributes {
        fact("attribute", format!("{attribute} {value}").trim_end().to_owned())?;
    }
    for finding in &view.findings {
        fact(&finding.severity, bad(&finding.message).to_string())?;
    }
    Ok(())
}

/// Returns a short description of units of the same kind: `3 cubins, sm_30 · sm_35 · sm_52`.
fn units(view: &NvidiaView, kind: &str, noun: &str) -> Option<String> {
    let targets: Vec<&str> =
        view.units.iter().filter(|unit| unit.kind == kind).map(|unit| unit.target.as_str()).collect();
    let count = targets.len() as u64;
    let mut unique = targets;
    unique.dedup();
    (count > 0).then(|| format!("{}, {}", counted(count, noun), unique.join(" · ")))
}

/// Returns a short description of a program.
pub(super) fn summary(view: &NvidiaView) -> String {
    let kernels: u64 =
        view.units.iter().filter_map(|unit| unit.cubin.as_ref()).map(|cubin| cubin.kernels).sum();
    if let [unit] = view.units.as_slice()
        && unit.entry.is_none()
    {
        let kernels = unit.ptx.as_ref().map_or(kernels, |ptx| ptx.kernels);
        return format!("{}, {}", unit.target, counted(kernels, "kernel"));
    }
    let parts =
        [units(view, "cubin", "cubin"), units(view, "PTX", "PTX text"), Some(counted(kernels, "kernel"))];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Returns a program's target and number of functions.
pub(super) fn target(view: &NvidiaView) -> (Option<String>, u64) {
    let mut targets: Vec<&str> = view.units.iter().map(|unit| unit.target.as_str()).collect();
    targets.dedup();
    let count = |unit: &UnitView| {
        let of_cubin = unit.cubin.as_ref().map_or(0, |cubin| cubin.kernels);
        of_cubin + unit.ptx.as_ref().filter(|_| unit.entry.is_none()).map_or(0, |ptx| ptx.kernels)
    };
    ((!targets.is_empty()).then(|| targets.join(" ")), view.units.iter().map(count).sum())
}

/// Returns the facts for the top of a report.
pub(super) fn print_facts(view: &NvidiaView, stdout: &mut Stdout) -> Result<()> {
    let mut fact = |label: &str, text: &str| writeln!(stdout, "  {} {text}", faint(format!("{label:<11}")));
    let cubins = || view.units.iter().filter_map(|unit| unit.cubin.as_ref());
    if let [unit] = view.units.as_slice()
        && unit.entry.is_none()
    {
        if let Some(cubin) = &unit.cubin {
            let functions = [(cubin.kernels, "kernel"), (cubin.device_functions, "device function")];
            let functions = functions.iter().filter(|(count, _)| *count > 0);
            fact("functions", &functions.map(|(n, noun)| counted(*n, noun)).collect::<Vec<_>>().join(" · "))?;
            fact(
                "code",
                &format!("{} bytes, {}-bit addresses", grouped(cubin.code_size), cubin.address_bits),
            )?;
            let banks =
                cubin.constants.iter().map(|(bank, size)| format!("bank {bank}: {} bytes", grouped(*size)));
            let globals =
                (cubin.global_memory > 0).then(|| format!("global: {} bytes", grouped(cubin.global_memory)));
            let memory: Vec<String> = globals.into_iter().chain(banks).collect();
            if !memory.is_empty() {
                fact("memory", &memory.join(" · "))?;
            }
            if cubin.line_rows > 0 {
                fact("lines", &format!("{} in the line table", counted(cubin.line_rows, "row")))?;
            }
        }
        if let Some(ptx) = &unit.ptx {
            fact("version", ptx.version.as_deref().unwrap_or("not told"))?;
        }
    } else {
        for (label, kind, noun) in [("cubins", "cubin", "cubin"), ("PTX", "PTX", "text")] {
            if let Some(text) = units(view, kind, noun) {
                fact(label, &text)?;
            }
        }
        let kernels = cubins().map(|cubin| cubin.kernels).max().unwrap_or(0);
        fact("functions", &format!("{} at most for one chip", counted(kernels, "kernel")))?;
        let packed =
            view.units.iter().filter_map(|unit| unit.entry.as_ref()).filter(|e| e.compression != "none");
        let mut kinds: Vec<&str> = packed.clone().map(|entry| entry.compression.as_str()).collect();
        kinds.dedup();
        if !kinds.is_empty() {
            let total = view.units.len() as u64;
            fact(
                "packed",
                &format!(
                    "{} of {}, {}",
                    packed.count(),
                    if total == 1 { "1 entry".into() } else { format!("{} entries", grouped(total)) },
                    kinds.join(" · ")
                ),
            )?;
        }
    }
    let mut toolkits: Vec<&str> = cubins().filter_map(|cubin| cubin.toolkit.as_deref()).collect();
    toolkits.dedup();
    if !toolkits.is_empty() {
        fact("toolkit", &toolkits.join(" · "))?;
    }
    if let Some(tool) = cubins().find_map(|cubin| cubin.tool.as_ref()) {
        fact("tool", &format!("{} {}", tool.name, tool.arguments))?;
    }
    Ok(())
}
