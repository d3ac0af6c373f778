//! Describes NVIDIA programs: fat binaries and their entries, cubins, PTX, kernels.

use super::{FindingView, shown};
use crate::demangle_symbol;
use crate::nv_units::{Nvidia, Unit, each_unit, map_units};
use crate::program::Runner;
use crate::sass_listing::instruction_set;
use serde::Serialize;
use std::borrow::Cow;
use unshade_core::{Diagnostics, Severity};
use unshade_nv::compression::Compression;
use unshade_nv::fatbin::{Entry, Flags};
use unshade_nv::function::{Function, FunctionKind};
use unshade_nv::info::records;
use unshade_nv::line_table::{LineRow, LineTable, SourceFile};
use unshade_nv::{Cubin, Ptx};
use unshade_sass::listing;

/// A fat binary, a cubin or PTX.
#[derive(Clone, Debug, Default, Serialize)]
pub struct NvidiaView {
    /// Entries of a fat binary; a cubin or PTX file is one unit.
    pub units: Vec<UnitView>,
}

/// A cubin or PTX.
#[derive(Clone, Debug, Default, Serialize)]
pub struct UnitView {
    /// `cubin` or `PTX`.
    pub kind: String,
    /// Target: `sm_90a`, `compute_90a`.
    pub target: String,
    /// Its entry in a fat binary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<EntryView>,
    /// Properties of a cubin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cubin: Option<CubinView>,
    /// Properties of PTX.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ptx: Option<PtxView>,
}

/// An entry of a fat binary.
#[derive(Clone, Debug, Default, Serialize)]
pub struct EntryView {
    /// Index, from 0.
    pub index: u32,
    /// Name that was passed to the compiler.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Options of ptxas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<String>,
    /// Names and values of compatibility records.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub compatibility: Vec<(String, String)>,
    /// Names of the flags that are set.
    pub flags: Vec<String>,
    /// All flags as a number.
    pub raw_flags: u64,
    /// `none`, `LZ4` or `Zstandard`.
    pub compression: String,
    /// Version of the entry.
    pub version: String,
    /// Offset of the entry in the file.
    pub offset: u64,
    /// Offset of the payload in the file.
    pub payload_offset: u64,
    /// Size of the payload in the file, with padding.
    pub payload_size: u64,
    /// Uncompressed size.
    pub size: u64,
}

/// Properties of a cubin.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CubinView {
    /// Chip of the PTX that it was compiled from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub virtual_target: Option<String>,
    /// Version of the toolkit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toolkit: Option<String>,
    /// Tool, version and options, if the cubin has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolView>,
    /// 7 or 8.
    pub abi: u8,
    /// `relocatable` or `executable`.
    pub file_type: String,
    /// `e_flags`.
    pub flags: u32,
    /// 64 or 32.
    pub address_bits: u32,
    /// Number of kernels.
    pub kernels: u64,
    /// Number of device functions, including those inside others.
    pub device_functions: u64,
    /// Total size of code in bytes.
    pub code_size: u64,
    /// Total size of variables in bytes.
    pub global_memory: u64,
    /// Bank and size of the constants shared by all functions.
    pub constants: Vec<(u8, u64)>,
    /// Number of sections.
    pub sections: u32,
    /// Number of symbols.
    pub symbols: u32,
    /// Number of rows of the line table.
    pub line_rows: u64,
}

/// The tool that produced a cubin.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ToolView {
    /// `ptxas`.
    pub name: String,
    /// Its version string.
    pub version: String,
    /// Its options.
    pub arguments: String,
}

/// Properties of PTX.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PtxView {
    /// Version of the language.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// `64` or `32`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address_size: Option<String>,
    /// Number of kernels.
    pub kernels: u64,
    /// Size of the text in bytes.
    pub size: u64,
}

/// A row of a kernel list.
#[derive(Clone, Debug, Default, Serialize)]
pub struct KernelRow {
    /// Index in the program, from 0; `#index` selects it.
    pub index: u32,
    /// Index of its entry in the fat binary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<u32>,
    /// Target chip.
    pub target: String,
    /// `kernel`, `device`, `inner`, or `PTX` for an entry that was not unpacked.
    pub kind: Cow<'static, str>,
    /// Its name as in the file.
    pub name: String,
    /// Its demangled name, if it is mangled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub demangled: Option<String>,
    /// Registers per thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registers: Option<u32>,
    /// Bytes of stack per thread, including called functions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack: Option<u32>,
    /// Bytes of shared memory per block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<u64>,
    /// Bytes of local memory per thread, without the stack.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local: Option<u64>,
    /// Barriers per block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub barriers: Option<u32>,
    /// Constant banks and their sizes in bytes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub constants: Vec<(u8, u64)>,
    /// Number of parameters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameter_count: Option<u32>,
    /// Size of the code in bytes; for PTX, of the text.
    pub size: u64,
    /// Number of instructions, padding included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<u64>,
    /// Offset of the code in the file, if it is not compressed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
}

impl KernelRow {
    /// Demangles the name; for `$kernel$function`, the function if it is mangled, otherwise the kernel in it. This takes
    /// longer than the rest of a row, so for many rows callers use several threads or skip it.
    pub fn demangle(&mut self) {
        self.demangled = demangle_symbol(self.own_name().as_bytes());
    }

    /// Returns the part of the name that is demangled.
    pub fn own_name(&self) -> &str {
        let own = self.name.strip_prefix('$').filter(|_| self.kind == FunctionKind::Inner.name());
        let own = own.and_then(|rest| Some(rest.split_once('$')?.1));
        own.filter(|own| own.starts_with("_Z")).unwrap_or(&self.name)
    }

    /// Returns the demangled name, or the name itself if it is not mangled.
    pub fn readable_name(&self) -> &str {
        self.demangled.as_deref().unwrap_or(&self.name)
    }
}

/// All details of a function.
#[derive(Clone, Debug, Default, Serialize)]
pub struct KernelView {
    /// Its row in a kernel list.
    #[serde(flatten)]
    pub row: KernelRow,
    /// Index in the cubin, from 0.
    pub place: u32,
    /// Offset of its code in the cubin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code_offset: Option<u64>,
    /// Its parameters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<ParameterView>,
    /// `.maxntid`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required_threads: Option<[u32; 3]>,
    /// Blocks per cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<[u32; 3]>,
    /// Maximum number of registers that the compiler was allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_registers: Option<u16>,
    /// Bytes of the function's own stack frame per thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame_size: Option<u32>,
    /// Maximum stack per thread in bytes, including called functions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_stack: Option<u32>,
    /// Bytes of the call and convergence stack.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_stack: Option<u32>,
    /// Textures, surfaces and samplers: kind and name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bound: Vec<(String, String)>,
    /// Sections that belong to it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sections: Vec<SectionView>,
    /// Labels in its code, without its own name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<LabelView>,
    /// Attributes: name and value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attributes: Vec<(String, String)>,
    /// Relocations: offset, type and symbol.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub relocations: Vec<RelocationView>,
    /// First line of its source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Number of its rows in the line table.
    pub line_rows: u64,
    /// Directives of PTX.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub directives: Vec<String>,
    /// Faults found while reading it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<FindingView>,
}

/// A parameter.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ParameterView {
    /// Index, from 0.
    pub ordinal: u32,
    /// Name, if PTX gives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Type, if PTX gives it.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_name: Option<String>,
    /// Its offset among the parameters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u32>,
    /// Its offset in constant bank 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constant_offset: Option<u32>,
    /// Its size in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

/// A section.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SectionView {
    /// Its index.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Offset in the cubin.
    pub offset: u64,
    /// Its size.
    pub size: u64,
}

/// A label in code.
#[derive(Clone, Debug, Default, Serialize)]
pub struct LabelView {
    /// Offset in the code section.
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
    /// The name.
    pub name: String,
}

/// A relocation.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RelocationView {
    /// Index of the section that it applies to.
    pub section: u32,
    /// Offset in that section.
    pub offset: u64,
    /// Relocation type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The symbol.
    pub symbol: String,
    /// Addend.
    pub addend: i64,
}

/// Maximum number of items in a list.
const MAX_LIST: usize = 10_000;

/// Formats a version that is stored times ten.
fn version(number: u32) -> String {
    format!("{}.{}", number / 10, number % 10)
}

impl NvidiaView {
    /// Describes an NVIDIA program. Entries are unpacked on the threads of `runner`.
    pub fn new(program: &Nvidia<'_>, runner: &dyn Runner, diagnostics: &mut Diagnostics) -> Self {
        let mut view = Self::default();
        map_units(program, true, runner, diagnostics, &UnitView::new, &mut |unit| view.units.push(unit));
        view
    }
}

impl UnitView {
    fn new(entry: Option<&Entry<'_>>, unit: &Unit<'_>) -> Self {
        let (kind, target) = names_of(entry, unit);
        Self {
            kind,
            target,
            entry: entry.map(EntryView::new),
            cubin: match unit {
                Unit::Cubin(cubin) => Some(CubinView::new(cubin)),
                _ => None,
            },
            ptx: match unit {
                Unit::Ptx(ptx) => Some(PtxView::new(ptx)),
                _ => None,
            },
        }
    }
}

/// Returns the kind of a unit and its target.
fn names_of(entry: Option<&Entry<'_>>, unit: &Unit<'_>) -> (String, String) {
    if let Some(entry) = entry {
        return (entry.kind.to_string(), entry.target());
    }
    match unit {
        Unit::Cubin(cubin) => ("cubin".into(), cubin.target()),
        Unit::Ptx(ptx) => {
            let target = shown(ptx.target().unwrap_or_default());
            ("PTX".into(), target.replace("sm_", "compute_"))
        }
        Unit::Unread => ("unread".into(), String::new()),
    }
}

impl EntryView {
    fn new(entry: &Entry<'_>) -> Self {
        let options = entry.options().ok().flatten();
        let has_records = entry.flags.has(Flags::COMPATIBILITY);
        let compatibility = options.filter(|_| has_records).map(records).into_iter().flatten();
        let is_packed = entry.compression() != Compression::None;
        Self {
            index: entry.index,
            name: entry.name().map(shown),
            options: options.filter(|_| !has_records).map(|text| shown(text.data())),
            compatibility: compatibility
                .map_while(Result::ok)
                .take(MAX_LIST)
                .map(|record| (record.compatibility().to_string(), record.value_text()))
                .collect(),
            flags: entry.flags.names().map(String::from).collect(),
            raw_flags: entry.flags.0,
            compression: entry.compression().to_string(),
            version: format!("{}.{}", entry.major, entry.minor),
            offset: entry.offset(),
            payload_offset: entry.payload.base(),
            payload_size: entry.padded_size,
            size: if is_packed { entry.unpacked_size } else { entry.padded_size },
        }
    }
}

impl CubinView {
    fn new(cubin: &Cubin<'_>) -> Self {
        let header = cubin.elf().header();
        let (mut kernels, mut device_functions) = (0, 0);
        for function in cubin.functions() {
            match function.kind {
                FunctionKind::Kernel => kernels += 1,
                _ => device_functions += 1,
            }
        }
        Self {
            virtual_target: cubin.virtual_arch().map(|arch| format!("compute_{arch}")),
            toolkit: cubin.toolkit().map(version),
            tool: cubin.tool_info().map(|tool| ToolView {
                name: shown(tool.name),
                version: shown(tool.version),
                arguments: shown(tool.arguments.trim_ascii()),
            }),
            abi: header.abi_version,
            file_type: header.file_type.to_string(),
            flags: header.flags,
            address_bits: if cubin.has_64_bit_addresses() { 64 } else { 32 },
            kernels,
            device_functions,
            code_size: cubin.code_sections().fold(0, |sum, section| section.size.saturating_add(sum)),
            global_memory: cubin.global_memory(),
            constants: cubin.common_constants().collect(),
            sections: cubin.elf().section_count(),
            symbols: cubin.elf().symbols().map_or(0, |symbols| symbols.count()),
            line_rows: LineTable::of(cubin).ok().flatten().map_or(0, |table| table.rows.len() as u64),
        }
    }
}

impl PtxView {
    fn new(ptx: &Ptx<'_>) -> Self {
        Self {
            version: ptx.version().map(shown),
            address_size: ptx.address_size().map(shown),
            kernels: ptx.functions().filter(|function| function.is_kernel).count() as u64,
            size: ptx.text().len() as u64,
        }
    }
}

/// Selects functions by index and mangled name; none selects all.
pub type Wanted<'w> = Option<&'w dyn Fn(u32, &[u8]) -> bool>;

/// Calls `visit` with a row for each wanted function. Names are not demangled yet. Entries are unpacked on the threads
/// of `runner`. PTX in a fat binary is one row, unless `unpack_ptx` is set.
pub fn kernel_rows(
    program: &Nvidia<'_>,
    unpack_ptx: bool,
    runner: &dyn Runner,
    diagnostics: &mut Diagnostics,
    wanted: Wanted<'_>,
    visit: &mut dyn FnMut(KernelRow),
) {
    let mut visit = |index: u32, row: KernelRow| visit(KernelRow { index, ..row });
    map_kernel_rows(program, unpack_ptx, runner, diagnostics, wanted, &|row| row, &mut visit);
}

/// Calls `make` with rows of functions as [`kernel_rows`] finds them, on the threads of `runner`, and `visit` with the
/// index of each wanted function and what was made of its row, in order. `make` does not know the index.
pub fn map_kernel_rows<T: Send>(
    program: &Nvidia<'_>,
    unpack_ptx: bool,
    runner: &dyn Runner,
    diagnostics: &mut Diagnostics,
    wanted: Wanted<'_>,
    make: &(dyn Fn(KernelRow) -> T + Sync),
    visit: &mut dyn FnMut(u32, T),
) {
    let needs_names = wanted.is_some();
    let make = |entry: Option<&Entry<'_>>, unit: &Unit<'_>| {
        let (mut names, mut rows) = (Vec::new(), Vec::new());
        let target = entry.map(Entry::target).unwrap_or_default();
        each_function(entry, unit, &mut 0, &mut |row_index, one| {
            names.extend(needs_names.then(|| one.name().to_vec()));
            rows.push(make(one.row(row_index, entry, &target)));
        });
        (names, rows)
    };
    let mut index = 0_u32;
    map_units(program, unpack_ptx, runner, diagnostics, &make, &mut |(names, rows)| {
        let mut names = names.iter();
        for row in rows {
            let name = names.next().map_or(&[][..], Vec::as_slice);
            if wanted.is_none_or(|wanted| wanted(index, name)) {
                visit(index, row);
            }
            index = index.saturating_add(1);
        }
    });
}

/// Calls `visit` with the index and mangled name of each function. PTX in a fat binary is one function.
pub fn kernel_names(program: &Nvidia<'_>, visit: &mut dyn FnMut(u32, &[u8])) {
    let mut index = 0_u32;
    each_unit(program, false, &mut Diagnostics::new(), &mut |entry, unit| {
        each_function(entry, unit, &mut index, &mut |index, one| visit(index, one.name()));
    });
}

/// Calls `visit` with all details of each function that `wanted` accepts.
pub fn kernels(
    program: &Nvidia<'_>,
    diagnostics: &mut Diagnostics,
    wanted: &dyn Fn(u32, &[u8]) -> bool,
    visit: &mut dyn FnMut(KernelView),
) {
    let mut index = 0_u32;
    each_unit(program, true, diagnostics, &mut |entry, unit| {
        // Read once per cubin, when the first function is selected.
        let mut lines = None;
        each_function(entry, unit, &mut index, &mut |row_index, one| {
            if wanted(row_index, one.name()) {
                visit(one.view(row_index, entry, &mut lines));
            }
        });
    });
}

/// Returns everything that is known of the function at `place` in a unit; `index` is its index in the program.
pub(crate) fn kernel_at(
    entry: Option<&Entry<'_>>,
    unit: &Unit<'_>,
    place: u32,
    index: u32,
) -> Option<KernelView> {
    let (mut at, mut lines, mut found) = (0, None, None);
    each_function(entry, unit, &mut at, &mut |number, one| {
        if number == place {
            found = Some(one.view(index, entry, &mut lines));
        }
    });
    found
}

/// A function of any kind of unit.
enum UnitFunction<'d, 'c> {
    Cubin(&'c Cubin<'d>, Function<'d>),
    Ptx(unshade_nv::ptx::PtxFunction<'d>, Option<String>),
    Unread,
}

/// Numbers functions across units; PTX that was not unpacked counts as one.
fn each_function(
    entry: Option<&Entry<'_>>,
    unit: &Unit<'_>,
    index: &mut u32,
    visit: &mut dyn FnMut(u32, UnitFunction<'_, '_>),
) {
    let mut next = |one: UnitFunction<'_, '_>| {
        visit(*index, one);
        *index = index.saturating_add(1);
    };
    match unit {
        Unit::Cubin(cubin) => {
            cubin.functions().for_each(|function| next(UnitFunction::Cubin(cubin, function)));
        }
        Unit::Ptx(ptx) if entry.is_none() => {
            let target = ptx.target().map(|target| shown(target).replace("sm_", "compute_"));
            ptx.functions().for_each(|function| next(UnitFunction::Ptx(function, target.clone())));
        }
        _ => next(UnitFunction::Unread),
    }
}

impl UnitFunction<'_, '_> {
    fn name(&self) -> &[u8] {
        match self {
            Self::Cubin(_, function) => function.name(),
            Self::Ptx(function, _) => function.name,
            Self::Unread => b"",
        }
    }

    /// Returns its row; `target` is that of the entry.
    fn row(&self, index: u32, entry: Option<&Entry<'_>>, target: &str) -> KernelRow {
        let mut row = KernelRow {
            index,
            entry: entry.map(|entry| entry.index),
            target: target.to_owned(),
            name: shown(self.name()),
            ..KernelRow::default()
        };
        match self {
            Self::Cubin(cubin, function) => row.take_function(cubin, function, entry),
            Self::Ptx(function, target) => {
                row.kind = if function.is_kernel { "kernel" } else { "device" }.into();
                row.target = target.clone().unwrap_or_default();
                row.parameter_count = u32::try_from(function.parameters.len()).ok();
                row.offset = Some(function.offset);
            }
            Self::Unread => {
                let Some(entry) = entry else { return row };
                row.kind = entry.kind.name().map_or_else(|| entry.kind.to_string().into(), Cow::Borrowed);
                row.name = entry.name().map(shown).unwrap_or_default();
                row.size = EntryView::new(entry).size;
                row.offset = Some(entry.payload.base());
            }
        }
        row
    }

    fn view(
        &self,
        index: u32,
        entry: Option<&Entry<'_>>,
        lines: &mut Option<Option<LineRows>>,
    ) -> KernelView {
        let target = entry.map(Entry::target).unwrap_or_default();
        let mut view = KernelView { row: self.row(index, entry, &target), ..KernelView::default() };
        view.row.demangle();
        match self {
            Self::Cubin(cubin, function) => {
                view.take_function(cubin, function);
                let lines = lines.get_or_insert_with(|| LineRows::new(cubin, &mut view.findings));
                view.take_lines(function, lines.as_ref());
            }
            Self::Ptx(function, _) => view.take_ptx(function),
            Self::Unread => {}
        }
        view
    }
}

impl KernelRow {
    fn take_function(&mut self, cubin: &Cubin<'_>, function: &Function<'_>, entry: Option<&Entry<'_>>) {
        let resources = function.resources(cubin);
        self.kind = function.kind.name().into();
        if self.target.is_empty() {
            self.target = cubin.target();
        }
        self.registers = resources.registers;
        self.stack = resources.stack;
        self.barriers = resources.barriers;
        self.constants = resources.constants;
        self.size = function.symbol.size;
        if function.kind != FunctionKind::Inner {
            self.shared = Some(resources.shared);
            self.local = Some(resources.local);
        }
        if function.kind == FunctionKind::Kernel {
            self.parameter_count = Some(resources.parameters);
        }
        let Ok(code) = function.code(cubin) else { return };
        self.instructions = instruction_set(cubin).map(|isa| {
            let (bytes, address) = (code.data(), function.symbol.value);
            listing::Function { name: "", isa, bytes, address, file_offset: code.base() }.instruction_count()
        });
        let is_there = entry.is_none_or(|entry| entry.compression() == Compression::None);
        self.offset = is_there.then(|| code.base());
    }
}

impl KernelView {
    fn take_function(&mut self, cubin: &Cubin<'_>, function: &Function<'_>) {
        let details = function.details(cubin);
        self.place = function.index.saturating_sub(cubin.first_function());
        match function.code(cubin) {
            Ok(code) => self.code_offset = code.base().checked_sub(cubin.file().base()),
            Err(error) => self.findings.push(FindingView::from_error(Severity::Error, "nv-function", &error)),
        }
        if let Some(fault) = &details.fault {
            self.findings.push(FindingView::from_error(Severity::Error, "nv-info", fault));
        }
        let base = details.parameter_base(cubin);
        self.parameters = details
            .parameters
            .iter()
            .map(|parameter| ParameterView {
                ordinal: parameter.ordinal.into(),
                offset: Some(parameter.offset.into()),
                constant_offset: Some(base.saturating_add(parameter.offset.into())),
                size: Some(parameter.size.into()),
                ..ParameterView::default()
            })
            .collect();
        self.max_threads = details.max_threads;
        self.required_threads = details.required_threads;
        self.cluster = details.cluster;
        self.max_registers = details.max_registers;
        self.frame_size = details.frame_size;
        self.max_stack = details.max_stack;
        self.call_stack = details.call_stack;
        self.bound = function
            .bound(cubin)
            .iter()
            .map(|symbol| (symbol.kind.to_string(), shown(symbol.name)))
            .take(MAX_LIST)
            .collect();
        self.sections = function
            .sections(cubin)
            .iter()
            .take(MAX_LIST)
            .map(|section| SectionView {
                index: section.index,
                name: shown(section.name),
                kind: section.kind.to_string(),
                offset: section.offset,
                size: section.size,
            })
            .collect();
        let labels = function.labels(cubin).into_iter().filter(|label| label.name != function.name());
        self.labels = labels
            .take(MAX_LIST)
            .map(|label| LabelView { offset: label.offset, size: label.size, name: shown(label.name) })
            .collect();
        self.attributes = details
            .records
            .iter()
            .take(MAX_LIST)
            .map(|record| (record.attribute.to_string(), record.value_text()))
            .collect();
        let symbols = cubin.elf().symbols();
        self.relocations = function
            .relocations(cubin)
            .take(MAX_LIST)
            .map(|(section, relocation)| RelocationView {
                section,
                offset: relocation.offset,
                kind: relocation.kind.to_string(),
                symbol: symbols
                    .and_then(|symbols| symbols.get(relocation.symbol))
                    .map(|symbol| shown(symbol.name))
                    .unwrap_or_default(),
                addend: relocation.addend,
            })
            .collect();
    }

    fn take_lines(&mut self, function: &Function<'_>, lines: Option<&LineRows>) {
        let Some(lines) = lines else { return };
        let section = u32::from(function.symbol.section);
        let range = function.symbol.value..function.symbol.value.saturating_add(function.symbol.size);
        let is_inside = |row: &&LineRow| row.section == section && range.contains(&row.offset) && !row.is_end;
        self.line_rows = lines.rows.iter().filter(is_inside).count() as u64;
        self.source = lines.rows.iter().find(is_inside).map(|row| lines.source_location(row));
    }

    fn take_ptx(&mut self, function: &unshade_nv::ptx::PtxFunction<'_>) {
        self.parameters = (0..)
            .zip(&function.parameters)
            .map(|(ordinal, parameter)| ParameterView {
                ordinal,
                name: Some(shown(parameter.name)),
                type_name: Some(shown(parameter.type_name)),
                size: parameter.size(),
                ..ParameterView::default()
            })
            .collect();
        let words = |(name, numbers): &(&[u8], Vec<&[u8]>)| {
            let numbers: Vec<String> = numbers.iter().map(|number| shown(number)).collect();
            format!("{} {}", shown(name), numbers.join(", ")).trim_end().to_owned()
        };
        self.directives = function.directives.iter().map(words).collect();
    }
}

/// The rows of a line table and the paths of its files.
struct LineRows {
    files: Vec<String>,
    rows: Vec<LineRow>,
}

impl LineRows {
    fn new(cubin: &Cubin<'_>, findings: &mut Vec<FindingView>) -> Option<Self> {
        let table = match LineTable::of(cubin) {
            Ok(table) => table?,
            Err(error) => {
                findings.push(FindingView::from_error(Severity::Error, "nv-line-table", &error));
                return None;
            }
        };
        let path = |file: &SourceFile<'_>| match file.folder {
            b"" => shown(file.name),
            folder => format!("{}/{}", shown(folder), shown(file.name)),
        };
        Some(Self { files: table.files.iter().map(path).collect(), rows: table.rows })
    }

    /// Returns the file and line of a row.
    fn source_location(&self, row: &LineRow) -> String {
        let file = row.file.and_then(|file| self.files.get(file as usize));
        format!("{}:{}", file.map_or("?", String::as_str), row.line)
    }
}
