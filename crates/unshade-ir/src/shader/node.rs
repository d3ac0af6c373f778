//! Nodes of work graphs: what an entry point of such a node declares besides its threads.
//!
//! A node takes the records of one input, and makes records for the nodes that its outputs name. Operations refer to
//! inputs and outputs by their number.

use super::data_type::DataType;

/// Which threads share a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RecordScope {
    /// The node itself: an output that records are allocated from.
    #[default]
    Node,
    /// One thread.
    Thread,
    /// The threads of a group.
    Group,
    /// All groups of a dispatch.
    Dispatch,
}

/// An input or output of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodePort {
    /// The threads that share a record.
    pub scope: RecordScope,
    /// Whether it is an output.
    pub is_output: bool,
    /// Whether an input may be written.
    pub is_written: bool,
    /// Whether its records have no contents.
    pub is_empty: bool,
    /// Whether it is an array of outputs.
    pub is_array: bool,
    /// Whether groups that share the record see each other's writes at once.
    pub is_coherent: bool,
    /// Whether the groups that finished with the record are counted.
    pub tracks_sharing: bool,
    /// The node that an output goes to: its name and index.
    pub target: Option<(String, u32)>,
    /// Maximum number of records; 0 if nothing says.
    pub max_records: u32,
    /// The number of the output that this one shares its maximum with.
    pub shares_maximum_with: Option<u32>,
    /// Number of nodes of an array, all ones for any number; 0 if it is none.
    pub array_size: u32,
    /// Whether nodes of the array may be missing.
    pub allows_sparse: bool,
    /// The type of a record.
    pub record: Option<DataType>,
}

/// The attributes of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// How it is launched: `broadcasting`, `coalescing` or `thread`.
    pub launch: &'static str,
    /// Whether a graph may start with it.
    pub is_program_entry: bool,
    /// Its name and index in a graph.
    pub id: Option<(String, u32)>,
    /// The name and index of the node whose input it shares.
    pub shares_input_of: Option<(String, u32)>,
    /// The index of its local root arguments.
    pub root_arguments_index: Option<u32>,
    /// The number of groups in each direction, if it is constant.
    pub dispatch_grid: Option<[u32; 3]>,
    /// The largest number of groups in each direction, if records say the number.
    pub max_dispatch_grid: Option<[u32; 3]>,
    /// The most levels that it recurs.
    pub max_recursion: Option<u32>,
    /// Its inputs: at most one.
    pub inputs: Vec<NodePort>,
    /// Its outputs.
    pub outputs: Vec<NodePort>,
}
