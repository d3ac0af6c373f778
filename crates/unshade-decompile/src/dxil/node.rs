//! Nodes of work graphs: their attributes, and the handles of inputs, outputs and records.
//!
//! A record's type is that of the pointer which `GetNodeRecordPtr` returns. Where nothing reads or writes a record, only
//! its size, its alignment and its dispatch grid are known; a structure of words with these stands for it.
//!
//! Flags of an input or output: 1 input, 2 output, 4 may be written, 8 without contents, 16 array, 0x60 who shares a
//! record (1 thread, 2 group, 3 dispatch), 0x100 counts the groups that finished, 0x200 coherent.
//!
//! Source: DXC's `DxilConstants.h`.

use super::function::{HANDLE, Lifter};
use super::types::scalar_of;
use crate::ir::shader::ShaderOp;
use crate::ir::shader::data_type::{
    DataType, Packing, Scalar, ScalarKind, StructField, StructType, StructTypes,
};
use crate::ir::shader::node::{Node, NodePort, RecordScope};
use crate::ir::{Op, ValueId};
use unshade_dxcontainer::dxil::ComponentType;
use unshade_dxcontainer::dxil::entry;
use unshade_dxcontainer::dxil::node_io::NodeIo;
use unshade_llvm::ValueId as LlvmValue;
use unshade_llvm::instruction::Instruction;

/// The semantic of the member of a record that says how many groups are launched.
const DISPATCH_GRID: &str = "SV_DispatchGrid";

/// The flag of inputs that count the groups which finished with a record.
const TRACKS_SHARING: u32 = 0x100;

/// Translates the attributes of a node; records have no types yet.
pub(super) fn node(found: &entry::Node) -> Node {
    let id = |id: &Option<(unshade_dxcontainer::bytes::Text, u32)>| {
        id.as_ref().map(|(name, index)| (String::from_utf8_lossy(&name.0).into_owned(), *index))
    };
    Node {
        launch: match found.launch_type {
            Some(entry::LaunchType::COALESCING) => "coalescing",
            Some(entry::LaunchType::THREAD) => "thread",
            _ => "broadcasting",
        },
        is_program_entry: found.is_program_entry,
        id: id(&found.id),
        shares_input_of: id(&found.share_input_of),
        root_arguments_index: found.root_arguments_index.filter(|index| *index != u32::MAX),
        dispatch_grid: found.dispatch_grid,
        max_dispatch_grid: found.max_dispatch_grid,
        max_recursion: found.max_recursion,
        inputs: found.inputs.iter().map(port).collect(),
        outputs: found.outputs.iter().map(port).collect(),
    }
}

fn port(io: &NodeIo) -> NodePort {
    let flag = |bit: u32| io.flags & bit != 0;
    NodePort {
        scope: match io.flags >> 5 & 3 {
            1 => RecordScope::Thread,
            2 => RecordScope::Group,
            3 => RecordScope::Dispatch,
            _ => RecordScope::Node,
        },
        is_output: io.is_output(),
        is_written: flag(4),
        is_empty: flag(8),
        is_array: flag(16),
        is_coherent: flag(0x200),
        tracks_sharing: flag(TRACKS_SHARING),
        target: io
            .is_output()
            .then(|| (String::from_utf8_lossy(&io.output_id.0.0).into_owned(), io.output_id.1)),
        max_records: io.max_records,
        shares_maximum_with: io.max_records_shared_with,
        array_size: io.array_size,
        allows_sparse: io.allow_sparse,
        record: None,
    }
}

/// Sets the types of records: those that the code uses, by whether it is an output and its number; others are made.
pub(super) fn set_records(
    node: &mut Node,
    found: &entry::Node,
    used: &[(bool, u32, DataType)],
    structs: &mut StructTypes,
) {
    for (is_output, ports, all) in
        [(false, &mut node.inputs, &found.inputs), (true, &mut node.outputs, &found.outputs)]
    {
        for (index, (port, io)) in (0..).zip(ports.iter_mut().zip(all)) {
            if port.is_empty {
                continue;
            }
            let known = used.iter().find(|row| row.0 == is_output && row.1 == index).map(|row| row.2.clone());
            let record = known.unwrap_or_else(|| DataType::Struct(words(io, structs)));
            if let Some(grid) = io.dispatch_grid {
                mark_grid(&record, grid, structs);
            }
            port.record = Some(record);
        }
    }
}

/// Returns the type of a dispatch grid.
fn grid_type(grid: [u32; 3]) -> DataType {
    let scalar = Scalar { kind: ScalarKind::Unsigned, ..scalar_of(ComponentType(grid[1]), false) };
    DataType::vector(scalar, grid[2].clamp(1, 3) as u16)
}

/// Gives the member of a record that is the dispatch grid its semantic.
fn mark_grid(record: &DataType, grid: [u32; 3], structs: &mut StructTypes) {
    let mut offset = grid[0];
    let mut ty = record.clone();
    for _ in 0..16 {
        let DataType::Struct(id) = ty else { return };
        let Some(structure) = structs.get(id) else { return };
        let Some(index) = structure.field_at(offset) else { return };
        let field = &mut structs[id].fields[index];
        offset -= field.offset;
        if !matches!(field.ty, DataType::Struct(_)) {
            if offset == 0 {
                field.semantic = Some(DISPATCH_GRID.into());
                unsigned(&mut field.ty);
            }
            return;
        }
        ty = field.ty.clone();
    }
}

fn unsigned(ty: &mut DataType) {
    match ty {
        DataType::Scalar(scalar) | DataType::Vector(scalar, _) => scalar.kind = ScalarKind::Unsigned,
        DataType::Array(element, _) => unsigned(element),
        _ => {}
    }
}

/// Returns a structure of words with the size, the alignment and the dispatch grid of a record.
fn words(io: &NodeIo, structs: &mut StructTypes) -> crate::ir::StructId {
    let mut fields = Vec::new();
    let size = io.record_size;
    match io.dispatch_grid {
        Some(grid) if grid[0] <= size => {
            let ty = grid_type(grid);
            let end = grid[0].saturating_add(Packing::Structured.size(&ty, structs));
            fill(&mut fields, 0, grid[0], io.alignment);
            fields.push(StructField {
                name: "grid".into(),
                offset: grid[0],
                ty,
                semantic: None,
                access: None,
            });
            fill(&mut fields, end, size, io.alignment);
        }
        _ => fill(&mut fields, 0, size, io.alignment),
    }
    // The groups of one record are counted, those of another may not be: these are different structures.
    let name = if io.flags & TRACKS_SHARING != 0 { "SharedRecord" } else { "Record" };
    let structure = StructType { name: name.into(), fields, size };
    let is_same = |known: &StructType| {
        known.size == size
            && known
                .fields
                .iter()
                .map(|field| (&field.name, field.offset, field.ty.counts()))
                .eq(structure.fields.iter().map(|field| (&field.name, field.offset, field.ty.counts())))
    };
    let known =
        structs.entries().find(|(_, known)| known.name == structure.name && is_same(known)).map(|(id, _)| id);
    known.unwrap_or_else(|| structs.push(structure))
}

/// Adds arrays of words from one offset to another.
fn fill(fields: &mut Vec<StructField>, mut from: u32, to: u32, alignment: u32) {
    let widths: &[u8] = match alignment {
        8 => &[64, 32, 16],
        2 => &[16],
        _ => &[32, 16],
    };
    for &bits in widths {
        let bytes = u32::from(bits) / 8;
        let count = to.saturating_sub(from) / bytes;
        if count == 0 || !from.is_multiple_of(bytes) {
            continue;
        }
        let word = DataType::Scalar(Scalar::new(ScalarKind::Unsigned, bits));
        let ty = if count == 1 { word } else { DataType::Array(Box::new(word), count) };
        fields.push(StructField { name: format!("m{from}"), offset: from, ty, semantic: None, access: None });
        from += count * bytes;
    }
}

impl Lifter<'_, '_, '_, '_> {
    /// Lifts an operation that makes, indexes or annotates a handle of a node or record.
    pub(super) fn node_handle(
        &mut self,
        code: u32,
        operands: &[LlvmValue],
        instruction: &Instruction,
    ) -> Option<ValueId> {
        let first = self.value(*operands.first()?);
        Some(match code {
            247 => {
                let none = self.undefined(32, 1);
                self.shader(ShaderOp::NodeOutput, HANDLE, 1, &[first, none])
            }
            248 => {
                let index = self.value(*operands.get(1)?);
                if self.function.op(first) != Op::Shader(ShaderOp::NodeOutput) {
                    return Some(self.unlifted("an index of an unknown output", HANDLE));
                }
                let number = self.function.input(first, 0);
                self.shader(ShaderOp::NodeOutput, HANDLE, 1, &[number, index])
            }
            250 => self.shader(ShaderOp::NodeInput, HANDLE, 1, &[first]),
            239 => {
                let index = self.value(*operands.get(1)?);
                self.use_record(first, instruction);
                self.shader(ShaderOp::Record, HANDLE, 1, &[first, index])
            }
            // An annotation repeats what the metadata says.
            _ => first,
        })
    }

    /// Notes the type of the records that a pointer refers to.
    fn use_record(&mut self, records: ValueId, instruction: &Instruction) {
        let Some(pointee) = self.shared.module.types.pointee(instruction.ty) else { return };
        let source = match self.function.op(records) {
            Op::Shader(ShaderOp::AllocateRecords) => self.function.input(records, 0),
            _ => records,
        };
        let is_output = match self.function.op(source) {
            Op::Shader(ShaderOp::NodeOutput) => true,
            Op::Shader(ShaderOp::NodeInput) => false,
            _ => return,
        };
        let number = self
            .function
            .number(self.function.input(source, 0))
            .and_then(|number| u32::try_from(number).ok());
        let Some(number) = number else { return };
        if self.records.iter().any(|row| (row.0, row.1) == (is_output, number)) {
            return;
        }
        let shared = &mut *self.shared;
        let ty = shared.types.data_type(pointee, None, Packing::Structured, &mut shared.program.structs);
        self.records.push((is_output, number, ty));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_that_nothing_reads_have_their_size_and_grid() {
        let io =
            NodeIo { record_size: 24, alignment: 8, dispatch_grid: Some([8, 5, 3]), ..NodeIo::default() };
        let mut structs = StructTypes::new();
        let id = words(&io, &mut structs);
        let fields = &structs[id].fields;
        assert_eq!(fields.iter().map(|field| field.offset).collect::<Vec<_>>(), [0, 8, 20]);
        assert_eq!(fields[0].ty, DataType::Scalar(Scalar::new(ScalarKind::Unsigned, 64)));
        assert_eq!(fields[1].ty, DataType::Vector(Scalar::UINT, 3));
        mark_grid(&DataType::Struct(id), [8, 5, 3], &mut structs);
        assert_eq!(structs[id].fields[1].semantic.as_deref(), Some("SV_DispatchGrid"));
        // The same record has the same type.
        assert_eq!(words(&io, &mut structs), id);
    }

    #[test]
    fn flags_say_what_an_input_is() {
        let shared = port(&NodeIo { flags: 0x361 | 4, ..NodeIo::default() });
        assert_eq!(shared.scope, RecordScope::Dispatch);
        assert!(shared.is_written && shared.tracks_sharing && shared.is_coherent && !shared.is_output);
        let array = port(&NodeIo { flags: 0x1a, ..NodeIo::default() });
        assert!(array.is_output && array.is_empty && array.is_array);
    }
}
