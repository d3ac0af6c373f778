//! Surveys many files: which values each field has, how often, and which fields depend on each other.
//!
//! A survey helps to explore formats: make files with different options and see which field follows the option, or
//! survey all available files and see which rule about a field has no exception. It reads outlines, so it works for
//! every format that can be dumped and needs no knowledge of any.
//!
//! | module | contents |
//! |---|---|
//! | `collect` | counts fields, values and records |
//! | `field_values` | the values of one field |
//! | `dependencies` | finds dependencies between fields |
//! | `bitcode` | outlines blocks and records of LLVM bitcode |
//! | `machine_code` | outlines instructions of NVIDIA machine code |
//! | `token_code` | outlines instructions of Direct3D token programs |
//!
//! Memory is bounded: fields, values and combinations beyond a limit are counted, not kept.
//!
//! ```
//! use unshade::metallib::{Library, outline};
//! use unshade::survey::{Survey, Show};
//!
//! let mut survey = Survey::default();
//! for bytes in [
//!     &include_bytes!("../../../../tests/fixtures/metallib/linker_1_2_7.metallib")[..],
//!     &include_bytes!("../../../../tests/fixtures/metallib/linker_1_2_9.metallib")[..],
//! ] {
//!     let library = Library::parse(bytes)?;
//!     survey.program("Metal library", bytes.len() as u64, |sink| outline::library(&library, sink));
//! }
//! let report = survey.report(Show::All);
//! let patch = report.fields.iter().find(|field| field.path.ends_with("header/container version, patch")).unwrap();
//! assert_eq!(patch.values.len(), 2);
//! # Ok::<(), unshade::core::Error>(())
//! ```

mod bitcode;
mod collect;
mod dependencies;
mod field_values;
mod machine_code;
#[cfg(test)]
mod tests;
mod token_code;

pub use collect::{MAX_FIELDS, MAX_SIGNATURES, Survey};
pub use dependencies::{Case, Dependency, RecordReport};
pub use field_values::MAX_VALUES;

use crate::disassembly::{TokenSource, token_programs};
use crate::sass_code::{Code, FunctionCode};
use crate::view::SCHEMA;
use serde::Serialize;
use unshade_air::reflection::Source;
use unshade_core::outline::UNKNOWN;
use unshade_core::{Diagnostics, Field};
use unshade_metallib::{Function, Library};
use unshade_nv::Cubin;
use unshade_sass::isa;

/// Which fields a report shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// Everything.
    All,
    /// Fields with an unknown meaning, and dependencies that involve them.
    Unknown,
}

/// The results of a survey.
#[derive(Clone, Debug, Serialize)]
pub struct SurveyReport {
    /// Version of the JSON schema.
    pub schema: u32,
    /// Number of files.
    pub files: u64,
    /// Number of programs in the files.
    pub programs: u64,
    /// Total bytes of the programs.
    pub bytes: u64,
    /// Bytes in fields named `unknown`.
    pub unknown_bytes: u64,
    /// Bytes that no field covers.
    pub uncovered_bytes: u64,
    /// Every field, each followed by its children.
    pub fields: Vec<FieldReport>,
    /// Dependencies between the fields of each kind of record.
    pub records: Vec<RecordReport>,
    /// Number of records beyond the limit, which are missing from `records`.
    #[serde(skip_serializing_if = "is_zero")]
    pub dropped_records: u64,
    /// Number of fields beyond the limit, which are missing from `fields`.
    #[serde(skip_serializing_if = "is_zero")]
    pub dropped_fields: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A field.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FieldReport {
    /// Names from the outermost field to its own, without element numbers.
    pub path: String,
    /// Nesting depth.
    pub depth: usize,
    /// Number of occurrences.
    pub count: u64,
    /// Number of programs that contain it.
    pub programs: u64,
    /// Total bytes.
    pub bytes: u64,
    /// Bytes that none of its children covers.
    #[serde(skip_serializing_if = "is_zero")]
    pub uncovered_bytes: u64,
    /// Whether its meaning or that of some values is unknown.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unknown: bool,
    /// Whether it only holds the offset or size of other data.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub layout: bool,
    /// Minimum and maximum, for numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<(u64, u64)>,
    /// The values, the most frequent first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<ValueReport>,
    /// Number of occurrences of values beyond the limit.
    #[serde(skip_serializing_if = "is_zero")]
    pub other_values: u64,
}

/// A value of a field.
#[derive(Clone, Debug, Serialize)]
pub struct ValueReport {
    /// The value and its meaning.
    pub value: String,
    /// Number of occurrences.
    pub count: u64,
    /// Whether its meaning is unknown.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unknown: bool,
}

/// Format name for modules.
const BITCODE: &str = "LLVM bitcode";

/// Format name for the reflections that metadata makes.
const METADATA: &str = "AIR metadata";

/// Prefix of the format name for instructions of cubins.
const MACHINE_CODE: &str = "machine code";

/// Prefix of the format name for instructions of token programs.
const TOKEN_PROGRAM: &str = "token program";

/// Returns whether a meaning says that the value is unknown, in any wording that the formats use.
fn says_unknown(meaning: &str) -> bool {
    meaning.contains("(unknown)")
        || meaning.contains("nobody has described")
        || meaning.contains("not described")
        || meaning.contains("undocumented")
}

impl Survey {
    /// Counts the blocks and records of a module of LLVM bitcode.
    ///
    /// # Errors
    /// If the stream is damaged. Everything before the fault has been counted.
    pub fn bitcode(&mut self, bytes: &[u8], base: u64) -> unshade_core::Result<()> {
        let mut result = Ok(());
        self.program(BITCODE, bytes.len() as u64, |sink| result = bitcode::outline(bytes, base, sink));
        result
    }

    /// Counts the fields of the reflections that the metadata of a library's modules makes, for functions of which the library
    /// has none. They are those of a reflection in the library, but have no bytes in the file.
    pub fn metadata(&mut self, library: &Library<'_>) {
        let without = |function: &Function<'_>| matches!(library.reflection(function), Ok(None));
        let mut functions = library.functions().map_while(Result::ok).filter(without).peekable();
        if functions.peek().is_none() {
            return;
        }
        self.program(METADATA, 0, |sink| {
            for (index, function) in functions.enumerate() {
                // `verify` reports what can't be read.
                let Ok(Some(source)) = Source::of(library, &function) else { continue };
                let Ok(reflection) = source.reflection() else { continue };
                sink.open(Field::group(format!("function {index}"), 0..0));
                reflection.outline(sink, &mut Diagnostics::new());
                sink.close();
            }
        });
    }

    /// Counts the instructions of a cubin, if their encoding is known.
    pub fn machine_code(&mut self, cubin: &Cubin<'_>) {
        let Some(isa) = isa::by_architecture(cubin.arch()) else { return };
        let code = Code::new(cubin, isa);
        let format = format!("{MACHINE_CODE} of {}", code.isa().name);
        let functions = code.functions(&|_| true, &mut Diagnostics::new());
        let size = functions.iter().map(FunctionCode::size).sum();
        self.program(&format, size, |sink| machine_code::outline(&functions, sink));
    }

    /// Counts the instructions of the token programs of a file or container.
    pub fn token_programs(&mut self, source: &TokenSource<'_>) {
        // `dis` reports what can't be read.
        for (_, program) in token_programs("", source, &mut Diagnostics::new()).unwrap_or_default() {
            let format = format!("{TOKEN_PROGRAM} {}", program.profile());
            self.program(&format, 0, |sink| token_code::outline(&program, sink));
        }
    }

    /// Returns the results.
    pub fn report(&self, show: Show) -> SurveyReport {
        let mut fields = Vec::new();
        let mut order = Vec::new();
        self.in_order(&mut order);
        for &(field, depth) in &order {
            let report = self.field(field, depth);
            if show == Show::All || report.unknown || report.uncovered_bytes > 0 {
                fields.push(report);
            }
        }
        let is_unknown = |field: u32| self.is_unknown(field);
        let records = match show {
            Show::All => dependencies::records(self, None),
            Show::Unknown => dependencies::records(self, Some(&is_unknown)),
        };
        let unknown = self.entries.iter().filter(|entry| entry.name == UNKNOWN);
        SurveyReport {
            schema: SCHEMA,
            files: self.files,
            programs: self.programs,
            bytes: self.bytes,
            unknown_bytes: unknown.map(|entry| entry.bytes).sum(),
            uncovered_bytes: order.iter().map(|&(field, _)| self.uncovered(field)).sum(),
            fields,
            records,
            dropped_records: self.dropped,
            dropped_fields: self.dropped_fields,
        }
    }

    /// Lists all fields with their depth, each followed by its children, in the order of first occurrence.
    fn in_order(&self, order: &mut Vec<(u32, usize)>) {
        let mut roots = Vec::new();
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); self.entries.len()];
        for (at, entry) in (0u32..).zip(&self.entries) {
            match entry.parent.and_then(|parent| children.get_mut(parent as usize)) {
                Some(list) => list.push(at),
                None => roots.push(at),
            }
        }
        let mut open: Vec<(u32, usize)> = roots.into_iter().rev().map(|root| (root, 0)).collect();
        while let Some((field, depth)) = open.pop() {
            order.push((field, depth));
            let inside = children.get(field as usize).map_or(&[][..], Vec::as_slice);
            open.extend(inside.iter().rev().map(|&child| (child, depth + 1)));
        }
    }

    fn is_unknown(&self, field: u32) -> bool {
        let Some(entry) = self.entries.get(field as usize) else { return false };
        let is_named_so = entry.name == UNKNOWN
            || entry.name.strip_prefix(UNKNOWN).is_some_and(|rest| rest.starts_with(' '))
            || says_unknown(&entry.name);
        is_named_so || entry.values.by_count().iter().any(|known| says_unknown(&known.meaning))
    }

    /// Returns the bytes of a field that no child covers. 0 for metadata, which has no bytes of its own, and for bitcode and machine
    /// code, whose ranges are not exact.
    fn uncovered(&self, field: u32) -> u64 {
        let Some(entry) = self.entries.get(field as usize) else { return 0 };
        let mut root = entry;
        while let Some(parent) = root.parent.and_then(|parent| self.entries.get(parent as usize)) {
            root = parent;
        }
        if [BITCODE, METADATA].contains(&root.name.as_str()) || root.name.starts_with(MACHINE_CODE) {
            0
        } else {
            entry.uncovered
        }
    }

    fn field(&self, field: u32, depth: usize) -> FieldReport {
        let Some(entry) = self.entries.get(field as usize) else { return FieldReport::default() };
        let values = entry.values.by_count().into_iter().map(|known| ValueReport {
            value: known.shown(),
            count: known.count,
            unknown: says_unknown(&known.meaning),
        });
        FieldReport {
            path: self.path(field),
            depth,
            count: entry.count,
            programs: entry.programs,
            bytes: entry.bytes,
            uncovered_bytes: self.uncovered(field),
            unknown: self.is_unknown(field),
            layout: entry.is_layout,
            range: entry.values.range,
            values: values.filter(|value| !value.value.is_empty()).collect(),
            other_values: entry.values.others,
        }
    }
}
