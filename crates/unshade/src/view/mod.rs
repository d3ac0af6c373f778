//! What is shown of a file, as plain data: the terminal prints it, `--json` serialises it, so that both say the same.
//!
//! The shapes are versioned by [`SCHEMA`] and told in `docs/json.md`. Offsets and sizes are exact numbers of bytes;
//! names that are no UTF-8, or that hold characters that can't be shown, are escaped.

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
mod token_program;

pub use control_flow::{BlockView, ControlFlowView, EdgeView, LeaveView, LoopView};
pub use dxcontainer::{ContainerView, ExportView, NodeView, PartView, ResourceView, SignatureView};
pub use finding::FindingView;
pub use function::{
    ArgumentView, ConstantView, FunctionRow, FunctionView, MetadataView, ReflectionView, VertexAttributeView,
};
pub use library::{HashesView, LibraryView, LinkView, SourcesView, TypeCount, VersionCount};
pub use statistics::{CallCount, MemoryCount, NameCount, StatisticsView, Tally};
pub use token_program::{ConstantRow, Direct3d9View, TokenStatisticsView};

/// The version of the shapes. It goes up when a field changes its meaning or goes away, not when one is added.
pub const SCHEMA: u32 = 1;

/// Text from a file, escaped where it has to be.
fn shown(text: &[u8]) -> String {
    unshade_core::Escaped(text).to_cow().into_owned()
}

/// Bytes as hex digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A UUID in its usual form.
pub fn uuid(bytes: &[u8; 16]) -> String {
    let digits = hex(bytes).to_uppercase();
    [0..8, 8..12, 12..16, 16..20, 20..32].map(|range| &digits[range]).join("-")
}
