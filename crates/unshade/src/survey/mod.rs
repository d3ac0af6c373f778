//! What many files have in common: for every field the values seen, how often, and what goes together.
//!
//! This is "test-driven guessing" as a tool: make files with different options, survey them, and see which field
//! followed the option; or survey all files at hand to see which rule about a field has no exception. It is driven by
//! the outlines that all formats have, so it knows every format that can be dumped, and nothing of any of them.
//!
//! | module | thing |
//! |---|---|
//! | `collect` | counts what an outline tells |
//! | `values` | the values of a field |
//! | `together` | which values go together |
//! | `bitcode` | blocks and records of LLVM bitcode as an outline |
//! | `machine_code` | instructions of NVIDIA's machine code as an outline |
//! | `token_code` | instructions of Direct3D's token programs as an outline |
//!
//! Memory is bounded: fields, values and combinations past a limit are counted, not kept.
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
mod machine_code;
#[cfg(test)]
mod tests;
mod together;
mod token_code;
mod values;

pub use collect::{MAX_FIELDS, MAX_SIGNATURES, Survey};
pub use together::{Case, Dependency, RecordReport};
pub use values::MAX_VALUES;

use crate::disassembly::{TokenSource, token_programs};
use crate::sass_code::{Code, FunctionCode};
use crate::view::SCHEMA;
use serde::Serialize;
use unshade_core::Diagnostics;
use unshade_core::outline::UNKNOWN;
use unshade_nv::Cubin;
use unshade_sass::isa;

/// What a report is to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// Everything.
    All,
    /// What nobody has named yet, and what goes together with it.
    Unknown,
}

/// What was counted, in words.
#[derive(Clone, Debug, Serialize)]
pub struct SurveyReport {
    /// The version of these shapes.
    pub schema: u32,
    /// How many files were read.
    pub files: u64,
    /// How many programs were in them.
    pub programs: u64,
    /// How many bytes these have.
    pub bytes: u64,
    /// How many of them are in fields named `unknown`.
    pub unknown_bytes: u64,
    /// How many of them no field has.
    pub uncovered_bytes: u64,
    /// Every field, those inside of another one behind it.
    pub fields: Vec<FieldReport>,
    /// What goes together.
    pub records: Vec<RecordReport>,
    /// Records past the limit, which are missing from `records`.
    #[serde(skip_serializing_if = "is_zero")]
    pub dropped_records: u64,
    /// Fields past the limit, which are missing from `fields`.
    #[serde(skip_serializing_if = "is_zero")]
    pub dropped_fields: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A field.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FieldReport {
    /// Its names from the outside in, without the numbers of elements.
    pub path: String,
    /// How deep it is.
    pub depth: usize,
    /// How often it was seen.
    pub count: u64,
    /// In how many programs.
    pub programs: u64,
    /// How many bytes it has in all.
    pub bytes: u64,
    /// How many of its bytes no field inside of it has.
    #[serde(skip_serializing_if = "is_zero")]
    pub uncovered_bytes: u64,
    /// Whether nobody has named it, or some of its values.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unknown: bool,
    /// Whether it only says where other things stand or how long they are.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub layout: bool,
    /// The least and the greatest number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<(u64, u64)>,
    /// The values, the most frequent first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<ValueReport>,
    /// How often it had a value past the limit.
    #[serde(skip_serializing_if = "is_zero")]
    pub other_values: u64,
}

/// A value of a field.
#[derive(Clone, Debug, Serialize)]
pub struct ValueReport {
    /// The value, and what it means.
    pub value: String,
    /// How often it was seen.
    pub count: u64,
    /// Whether nobody has named it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unknown: bool,
}

/// What modules are counted as.
const BITCODE: &str = "LLVM bitcode";

/// What instructions of cubins are counted as.
const MACHINE_CODE: &str = "machine code";

/// What instructions of token programs are counted as.
const TOKEN_PROGRAM: &str = "token program";

/// Whether the words for a value say that nobody knows it. Types and tags without a name are shown so everywhere.
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
    /// What is wrong with the stream; what stands before it was counted.
    pub fn bitcode(&mut self, bytes: &[u8], base: u64) -> unshade_core::Result<()> {
        let mut result = Ok(());
        self.program(BITCODE, bytes.len() as u64, |sink| result = bitcode::outline(bytes, base, sink));
        result
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
        // What can't be read is for `dis` to tell.
        for (_, program) in token_programs("", source, &mut Diagnostics::new()).unwrap_or_default() {
            let format = format!("{TOKEN_PROGRAM} {}", program.profile());
            self.program(&format, 0, |sink| token_code::outline(&program, sink));
        }
    }

    /// Puts what was counted into words.
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
            Show::All => together::records(self, None),
            Show::Unknown => together::records(self, Some(&is_unknown)),
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

    /// All fields, those inside of one behind it, in the order in which they were met.
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

    /// Bytes of a field that no field in it has. In bitcode, whose items are of bits, fields have no bytes.
    fn uncovered(&self, field: u32) -> u64 {
        let Some(entry) = self.entries.get(field as usize) else { return 0 };
        let mut root = entry;
        while let Some(parent) = root.parent.and_then(|parent| self.entries.get(parent as usize)) {
            root = parent;
        }
        if root.name == BITCODE || root.name.starts_with(MACHINE_CODE) { 0 } else { entry.uncovered }
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
