//! Shapes of questions about launches: parameters of a kernel or shader, a launch, its results and its trace.

use super::request::Place;
use super::response::{ByteRange, Table};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Asks what a launch takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Parameters {
    /// Which function, module or shader.
    #[serde(flatten)]
    pub at: Place,
    /// Which kernel of a module; the first one without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Asks for a launch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Run {
    /// Which function or shader.
    #[serde(flatten)]
    pub at: Place,
    /// Which kernel of a module; the first one without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How it is launched.
    pub launch: Launch,
}

/// How a kernel or shader is launched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Launch {
    /// The values of rows of [`ParametersAnswer`], by their names there, as `unshade run` takes them. The file of a value
    /// is the number of an open file: `f32[]=file:2`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, String>,
    /// Number of blocks or groups in x, y and z.
    pub grid: [u32; 3],
    /// Number of threads per block in x, y and z.
    pub block: [u32; 3],
    /// Bytes of shared memory per block, in addition to what the kernel declares.
    pub shared: u32,
    /// Number of vertices, primitives or pixels.
    pub count: u32,
    /// What is not given of a shader is invented from this number.
    pub seed: u64,
    /// Maximum time in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_ms: Option<u32>,
    /// The thread that is recorded; none without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceWindow>,
}

impl Default for Launch {
    fn default() -> Self {
        Self {
            values: BTreeMap::new(),
            grid: [1; 3],
            block: [1; 3],
            shared: 0,
            count: 4,
            seed: 0,
            time_ms: None,
            trace: None,
        }
    }
}

/// Which steps of which thread are recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TraceWindow {
    /// The position of its block in the grid.
    pub block: [u32; 3],
    /// The number of the thread in its block.
    pub thread: u32,
    /// The first step.
    pub from: u64,
    /// The number of steps.
    pub count: u32,
}

/// What a launch takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ParametersAnswer {
    /// The name of the kernel or the profile of the shader.
    pub name: String,
    /// The kernels of a module that has several, of which this is one.
    pub names: Vec<String>,
    /// `cubin`, `metal` or `shader`.
    pub kind: &'static str,
    /// What can be given.
    pub rows: Vec<ParameterRow>,
    /// Whether the number of blocks or groups is chosen.
    pub grid: bool,
    /// Whether the number of threads per block is chosen.
    pub block: bool,
    /// The number of threads per block: what the code says, or a suggestion.
    pub threads: Vec<u32>,
    /// Whether the number of vertices, primitives or pixels is chosen.
    pub count: bool,
    /// The maximum size of a buffer.
    pub most_bytes: u64,
    /// The maximum number of threads of a block.
    pub most_threads: u32,
    /// The maximum number of steps of a trace in one answer.
    pub most_steps: u32,
    /// The maximum time in milliseconds.
    pub most_ms: u32,
}

/// Something that a launch is given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ParameterRow {
    /// Its name in `values` of a launch.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// Its type, as far as it is known.
    pub ty: String,
    /// `argument`, `constant`, `resource` or `input`.
    pub group: &'static str,
    /// `buffer` or `value`, or `text` for numbers separated by commas.
    pub form: &'static str,
    /// A value to start with; empty if it may be left out.
    pub suggestion: String,
    /// Whether it may be left out.
    pub optional: bool,
    /// Why it can't be given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// What a launch did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RunAnswer {
    /// What was run: numbers of blocks and instructions.
    pub summary: String,
    /// Why it ended early.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<RunFault>,
    /// What it printed.
    pub printed: String,
    /// What is left open by the language.
    pub notes: Vec<String>,
    /// Buffers after the launch.
    pub buffers: Vec<RunBuffer>,
    /// What a shader wrote besides.
    pub tables: Vec<Table>,
    /// The recorded thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<RunTrace>,
}

/// Why a launch ended early.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RunFault {
    /// What happened, where.
    pub message: String,
    /// The bytes of the instruction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<ByteRange>,
    /// The position of the block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<Vec<u32>>,
    /// The number of the thread in its block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<u32>,
}

/// A buffer after a launch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RunBuffer {
    /// The name of its row.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// The type of its numbers: `f32`, `u8`.
    pub ty: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its bytes, two digits each, as far as there is room for them.
    pub bytes: String,
}

/// The steps of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RunTrace {
    /// The first step.
    pub from: u64,
    /// The number of steps that the thread executed in all.
    pub total: u64,
    /// The instructions of the steps.
    pub places: Vec<RunPlace>,
    /// The values before the first step.
    pub start: Vec<RunValue>,
    /// The steps.
    pub steps: Vec<RunStep>,
}

/// An instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RunPlace {
    /// Its bytes, if they are in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<ByteRange>,
    /// Its text, if the machine knows it; the listing has it otherwise.
    pub text: String,
}

/// A step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RunStep {
    /// The number of its instruction in `places`.
    pub at: u32,
    /// What it wrote.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub written: Vec<RunValue>,
    /// The memory that it accessed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accesses: Vec<RunAccess>,
}

/// A value of a register or an instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RunValue {
    /// The register; the number of the instruction in `places` after an `@`, for a result that has no name.
    pub name: String,
    /// The numbers.
    pub value: String,
}

/// An access of memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RunAccess {
    /// Whether it writes.
    pub writes: bool,
    /// The memory, or the buffer.
    pub memory: String,
    /// The offset in it.
    pub offset: u64,
    /// The number of bytes.
    pub size: u32,
    /// The offset of the first of `bytes`.
    pub start: u64,
    /// The bytes around, after the step.
    pub bytes: String,
}
