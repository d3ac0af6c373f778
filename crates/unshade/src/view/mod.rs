//! Describes files as plain data. The terminal prints it and `--json` serializes it, so both show the same.
//!
//! [`SCHEMA`] is the version of the JSON schema, which `docs/json.md` describes. Offsets and sizes are exact numbers of
//! bytes. Names that are not UTF-8 or contain unprintable characters are escaped.

mod control_flow;
mod dxcontainer;
mod dxil;
mod finding;
mod function;
mod library;
pub mod nvidia;
pub mod sass;
mod sass_flow;
mod statistics;
mod symbols;
mod token_program;

pub use control_flow::{BlockView, ControlFlowView, EdgeView, LeaveView, LoopView};
pub use dxcontainer::{ContainerView, ExportView, NodeView, PartView, ResourceView, SignatureView};
pub use finding::FindingView;
pub use function::{
    ArgumentView, ConstantView, FunctionHeading, FunctionRow, FunctionView, MemberView, MetadataView,
    ReflectionView, StructureView, VertexAttributeView,
};
pub(crate) use function::{declare_structures, signature};
pub use library::{HashesView, LibraryView, LinkView, SourcesView, TypeCount, VersionCount};
pub use statistics::{CallCount, MemoryCount, NameCount, StatisticsView, Tally};
pub use symbols::{ModuleSymbolsView, SymbolFilter, SymbolView, distinct_modules};
pub use token_program::{ConstantRow, Direct3d9View, TokenStatisticsView};

/// Version of the JSON schema. It increases when a field is removed or changes its meaning, not when one is added.
pub const SCHEMA: u32 = 1;

/// Returns whether a count is left out of JSON.
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Escapes text from a file where necessary.
fn shown(text: &[u8]) -> String {
    unshade_core::Escaped(text).to_cow().into_owned()
}

/// Formats bytes as hex digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Formats a UUID in its usual form.
pub fn uuid(bytes: &[u8; 16]) -> String {
    let digits = hex(bytes).to_ascii_uppercase();
    [0..8, 8..12, 12..16, 16..20, 20..32].map(|range| &digits[range]).join("-")
}
