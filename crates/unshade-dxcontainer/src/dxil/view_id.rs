//! Reads which output scalars depend on which input scalars and on the view ID: `dx.viewIdState`.
//!
//! The state is an array of words: number of input scalars; then for each stream (4 in a geometry shader, else 1) the
//! number of output scalars, the set of outputs that depend on the view ID (if the program uses it), and for each input
//! the set of outputs that depend on it. Hull, domain and mesh shaders add the number of scalars of patch constants or
//! primitives and the same sets for them (domain: for each patch constant a set of outputs). A set is a bit mask of
//! outputs, padded to whole words.
//!
//! Source: DXC's `ComputeViewIdState.cpp`.

use super::Faults;
use super::nodes::Nodes;
use crate::program::ShaderKind;
use alloc::vec;
use alloc::vec::Vec;
use unshade_llvm::constants::Constant;

/// Maximum number of scalars of a signature: 32 registers of 4.
const MAX_SCALARS: u32 = 128;

/// Number of streams of a geometry shader.
const STREAMS: usize = 4;

/// Dependencies between the scalars of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ViewIdState {
    /// Number of input scalars.
    pub inputs: u32,
    /// Outputs by stream: four in a geometry shader, else one.
    pub streams: Vec<Outputs>,
    /// Patch constants of a hull shader, or primitive outputs of a mesh shader.
    pub patch: Option<Outputs>,
    /// Number of patch constant scalars that a domain shader reads.
    pub patch_inputs: Option<u32>,
    /// Outputs of a domain shader, with the patch constants that they depend on.
    pub patch_dependencies: Vec<Dependency>,
}

/// Output scalars.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outputs {
    /// Number of scalars.
    pub count: u32,
    /// Those that depend on the view ID.
    pub by_view_id: Vec<u32>,
    /// Those that depend on inputs.
    pub by_inputs: Vec<Dependency>,
}

/// An output, and the inputs that it depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dependency {
    /// The output.
    pub output: u32,
    /// The inputs, ascending.
    pub inputs: Vec<u32>,
}

/// Reads the state, if the module has one.
pub(super) fn read(
    nodes: &Nodes<'_, '_>,
    kind: Option<ShaderKind>,
    uses_view_id: bool,
    faults: &mut Faults,
) -> Option<ViewIdState> {
    nodes.module().named(b"dx.viewIdState").first()?;
    let state = words(nodes).and_then(|words| {
        let mut words = Words { words: words.as_slice() };
        words.state(kind, uses_view_id)
    });
    faults.take(state, || "state of the view ID".into())
}

/// Returns the words that the state is stored as.
pub(super) fn words(nodes: &Nodes<'_, '_>) -> Option<Vec<u32>> {
    let &node = nodes.module().named(b"dx.viewIdState").first()?;
    let (ty, value) = nodes.value(*nodes.operands(node)?.first()?)?;
    let (constant, constants) = nodes.module().constant(None, value)?;
    match constant {
        Constant::Data(words) => {
            Some(constants.words(words).iter().map(|word| (word & 0xFFFF_FFFF) as u32).collect())
        }
        // The length of an array of zeros comes from its type and is not trusted; no state needs more than this.
        Constant::Null => match nodes.module().types.get(ty) {
            unshade_llvm::types::Type::Array { count, .. } => {
                Some(vec![0; usize::try_from(count).ok()?.min(MAX_SCALARS as usize)])
            }
            _ => None,
        },
        _ => None,
    }
}

/// The words that have not been read yet.
struct Words<'w> {
    words: &'w [u32],
}

impl Words<'_> {
    fn state(&mut self, kind: Option<ShaderKind>, uses_view_id: bool) -> Option<ViewIdState> {
        let inputs = self.count()?;
        let streams = if kind == Some(ShaderKind::GEOMETRY) { STREAMS } else { 1 };
        let mut state = ViewIdState { inputs, ..ViewIdState::default() };
        for _ in 0..streams {
            state.streams.push(self.outputs(inputs, uses_view_id)?);
        }
        match kind {
            Some(ShaderKind::HULL | ShaderKind::MESH) => {
                state.patch = Some(self.outputs(inputs, uses_view_id)?);
            }
            Some(ShaderKind::DOMAIN) => {
                let patch_inputs = self.count()?;
                let outputs = state.streams.first()?.count;
                state.patch_inputs = Some(patch_inputs);
                state.patch_dependencies = self.table(patch_inputs, outputs)?;
            }
            _ => {}
        }
        Some(state)
    }

    fn word(&mut self) -> Option<u32> {
        let (&word, rest) = self.words.split_first()?;
        self.words = rest;
        Some(word)
    }

    fn count(&mut self) -> Option<u32> {
        self.word().filter(|count| *count <= MAX_SCALARS)
    }

    fn outputs(&mut self, inputs: u32, uses_view_id: bool) -> Option<Outputs> {
        let count = self.count()?;
        let by_view_id = if uses_view_id { self.set(count)? } else { Vec::new() };
        Some(Outputs { count, by_view_id, by_inputs: self.table(inputs, count)? })
    }

    /// Reads a set over `count` outputs and returns its members.
    fn set(&mut self, count: u32) -> Option<Vec<u32>> {
        let mut members = Vec::new();
        for start in (0..count).step_by(32) {
            let word = self.word()?;
            let bits = (0..32u32).filter(|bit| word >> bit & 1 != 0).map(|bit| start.saturating_add(bit));
            members.extend(bits.filter(|member| *member < count));
        }
        Some(members)
    }

    /// Reads a set of outputs per input, and returns the inputs per output.
    fn table(&mut self, inputs: u32, outputs: u32) -> Option<Vec<Dependency>> {
        let mut dependencies: Vec<Dependency> =
            (0..outputs).map(|output| Dependency { output, inputs: Vec::new() }).collect();
        for input in 0..inputs {
            for output in self.set(outputs)? {
                dependencies.get_mut(output as usize)?.inputs.push(input);
            }
        }
        dependencies.retain(|dependency| !dependency.inputs.is_empty());
        Some(dependencies)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hull_shader() {
        // 2 inputs; 3 outputs, view ID for output 2, input 0 for 0 and 1; 1 patch constant by input 1.
        let all = [2, 3, 0b100, 0b011, 0, 1, 0, 0, 1];
        let state = Words { words: &all }.state(Some(ShaderKind::HULL), true).unwrap();
        assert_eq!(state.streams[0].by_view_id, [2]);
        assert_eq!(state.streams[0].by_inputs.len(), 2);
        let patch = state.patch.unwrap();
        assert_eq!(patch.by_inputs, [Dependency { output: 0, inputs: vec![1] }]);
        for end in 0..all.len() {
            assert_eq!(Words { words: &all[..end] }.state(Some(ShaderKind::HULL), true), None);
        }
    }

    #[test]
    fn counts_without_end() {
        assert_eq!(Words { words: &[u32::MAX, 0] }.state(None, false), None);
    }
}
