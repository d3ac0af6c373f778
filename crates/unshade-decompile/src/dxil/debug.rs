//! Names of the source code, from the debug information of DXC (`-Zi`).
//!
//! Calls of `llvm.dbg.value` say that a variable has a value from there on, those of `llvm.dbg.declare` where it lies in memory.
//! DXC takes vectors and structures apart, so most values are pieces: the expression of the call has the offset and size in bits,
//! and the type of the variable says which component or member that is:
//!
//! | piece of | becomes |
//! |---|---|
//! | `float3 color` | component 0, 1 or 2 of `color` |
//! | `Material m`, in its member `float3 albedo` | a component of `m_albedo` |
//! | an array or a matrix | `name` |
//!
//! Knowledge: LLVM 3.7's `DebugInfoMetadata.h`, and what DXC 1.6 to 1.10 write. Names never change the code: what a variable of
//! the text is called is decided when it is printed.

use super::function::{Lifted, Lifter};
use crate::ir::shader::interface::LocalName;
use crate::ir::{Label, Op, ShaderOp, VariableId};
use unshade_llvm::body::{FunctionBody, Location};
use unshade_llvm::debug_info::NodeKind;
use unshade_llvm::instruction::Instruction;
use unshade_llvm::metadata::{Metadata, MetadataTable, Node};
use unshade_llvm::value::{Operand, OperandKind, ValueKind};
use unshade_llvm::{MetadataId, Module, ValueId as LlvmValue};

/// The nesting depth up to which types are followed.
const DEPTH: usize = 16;

/// The depth of inlined calls up to which they are counted.
const CALLS: u32 = 32;

/// The operation of an expression that selects a piece, in LLVM 3.7 and from LLVM 4 on.
const PIECES: [u64; 2] = [0x9d, 0x1000];

/// What DXC puts before the name of a global variable that it made local.
const GLOBAL: &str = "global.";

/// Returns the names of the source files.
pub(super) fn source_files(module: &Module<'_>) -> Vec<String> {
    let mut names = Vec::new();
    for (_, metadata) in module.metadata.iter() {
        let Metadata::Node(node) = metadata else { continue };
        if node.kind != NodeKind::File {
            continue;
        }
        let name = reference(&module.metadata, node, 0).and_then(|id| module.metadata_string(id));
        let name = name.map(|name| String::from_utf8_lossy(name).into_owned());
        names.extend(name.filter(|name| !name.is_empty() && !names.contains(name)));
    }
    names
}

/// Bits of a variable.
#[derive(Clone, Copy)]
struct Piece {
    offset: u64,
    size: u64,
}

impl Lifter<'_, '_, '_, '_> {
    /// Records what a call of a debug intrinsic says.
    pub(super) fn debug_call(&mut self, name: &[u8], instruction: &Instruction, arguments: &[Operand]) {
        let is_declare = name == b"llvm.dbg.declare";
        if !self.shared.has_names || !is_declare && name != b"llvm.dbg.value" {
            return;
        }
        let metadata: Vec<MetadataId> = arguments
            .iter()
            .filter_map(|argument| match argument.kind() {
                OperandKind::Metadata(id) => Some(id),
                _ => None,
            })
            .collect();
        let &[value, variable, expression] = metadata.as_slice() else { return };
        let debug = Debug { module: self.shared.module, body: self.body };
        let Some(value) = debug.value(value) else { return };
        let Some((name, lane)) = debug.variable(variable, expression) else { return };
        let location = (instruction.location as usize).checked_sub(1);
        let location = location.and_then(|at| self.body.locations.get(at));
        let depth = location.map_or(0, |location| debug.depth(location));
        self.name_value(value, LocalName { name, depth }, lane, is_declare);
    }

    fn name_value(&mut self, value: LlvmValue, name: LocalName, lane: Option<u8>, is_declare: bool) {
        if let Some(ValueKind::Argument(number)) =
            self.shared.module.value(Some(self.body), value).map(|value| value.kind)
        {
            if name.depth == 0 {
                self.parameter_names.entry(number).or_insert(name.name);
            }
            return;
        }
        let Some(&Lifted::Value(value)) = self.values.get(&value) else { return };
        if is_declare {
            self.name_memory(value, name.name);
            return;
        }
        let next = self.names.len() as u32;
        let variable = *self.name_numbers.entry(name.clone()).or_insert(next);
        if variable == next {
            self.names.push(name);
        }
        self.function.labels.push(Label { variable, lane, value });
    }

    /// Names the variable that a place is.
    fn name_memory(&mut self, place: crate::ir::ValueId, name: String) {
        if self.function.op(place) != Op::Shader(ShaderOp::Variable) {
            return;
        }
        let number = self.function.number(self.function.input(place, 0));
        let Some(id) = number.and_then(|number| u32::try_from(number).ok()).map(VariableId::new) else {
            return;
        };
        if let Some(variable) = self.shared.program.variables.get_mut(id)
            && variable.name.is_empty()
        {
            variable.name = name;
        }
    }
}

/// The metadata of a function.
struct Debug<'m, 'a, 'b> {
    module: &'m Module<'a>,
    body: &'b FunctionBody,
}

impl<'d> Debug<'d, '_, 'd> {
    fn value(&self, id: MetadataId) -> Option<LlvmValue> {
        match self.module.metadata(Some(self.body), id)?.0 {
            Metadata::Value { value, .. } => Some(value),
            _ => None,
        }
    }

    fn node(&self, id: MetadataId, kind: NodeKind) -> Option<(Node, &MetadataTable)> {
        match self.module.metadata(Some(self.body), id)? {
            (Metadata::Node(node), table) if node.kind == kind => Some((node, table)),
            _ => None,
        }
    }

    fn text(&self, id: MetadataId) -> Option<String> {
        match self.module.metadata(Some(self.body), id)? {
            (Metadata::String(text), table) => Some(String::from_utf8_lossy(table.string(text)).into_owned()),
            _ => None,
        }
    }

    /// Returns the name of a variable, or of the member that a piece is, and the component.
    fn variable(&self, id: MetadataId, expression: MetadataId) -> Option<(String, Option<u8>)> {
        let (node, table) = self.node(id, NodeKind::LocalVariable)?;
        let mut name = self.text(reference(table, node, 1)?)?;
        if let Some(plain) = name.strip_prefix(GLOBAL) {
            name = plain.to_owned();
        }
        if name.is_empty() {
            return None;
        }
        let lane = match self.piece(expression) {
            Some(piece) => self.member(reference(table, node, 3)?, piece, &mut name),
            None => None,
        };
        Some((name, lane))
    }

    /// Returns the piece that an expression selects.
    fn piece(&self, id: MetadataId) -> Option<Piece> {
        let (node, table) = self.node(id, NodeKind::Expression)?;
        match table.numbers(node) {
            // The first number is the version of the record.
            [_, .., operation, offset, size] if PIECES.contains(operation) => {
                Some(Piece { offset: *offset, size: *size })
            }
            _ => None,
        }
    }

    /// Appends the members to a name that a piece is in. Returns the component, if it is one of a vector.
    fn member(&self, ty: MetadataId, mut piece: Piece, name: &mut String) -> Option<u8> {
        let mut ty = ty;
        for _ in 0..DEPTH {
            if let Some((node, table)) = self.node(ty, NodeKind::DerivedType) {
                ty = reference(table, node, 3)?;
                continue;
            }
            let (node, table) = self.node(ty, NodeKind::CompositeType)?;
            let type_name = self.text(reference(table, node, 2)?)?;
            if type_name.starts_with("vector<") {
                return u8::try_from(piece.offset.checked_div(piece.size)?).ok();
            }
            if type_name.contains('<') {
                return None;
            }
            let elements = self.node(reference(table, node, 4)?, NodeKind::Tuple)?;
            let (member, start, inner) = self.member_at(elements, piece.offset)?;
            name.push('_');
            name.push_str(&member);
            piece.offset -= start;
            ty = inner;
        }
        None
    }

    /// Returns the member of a structure at an offset: its name, offset and type.
    fn member_at(
        &self,
        (elements, table): (Node, &MetadataTable),
        offset: u64,
    ) -> Option<(String, u64, MetadataId)> {
        let members = (0..table.references(elements).len()).filter_map(|at| reference(table, elements, at));
        members
            .filter_map(|member| {
                let (node, table) = self.node(member, NodeKind::DerivedType)?;
                let &[_, _, size, _, start, ..] = table.numbers(node) else { return None };
                let is_inside = start <= offset && offset - start < size;
                let (name, ty) = (reference(table, node, 2)?, reference(table, node, 3)?);
                if is_inside { Some((self.text(name)?, start, ty)) } else { None }
            })
            .next()
    }

    /// Returns how many inlined calls a location is in.
    fn depth(&self, location: &Location) -> u32 {
        let mut depth = 0;
        let mut at = Some(location.inlined_at).filter(|id| *id != MetadataId::NONE);
        while let Some(id) = at.filter(|_| depth < CALLS) {
            depth += 1;
            at = self.node(id, NodeKind::Location).and_then(|(node, table)| reference(table, node, 1));
        }
        depth
    }
}

/// Returns a reference of a node by its index.
fn reference(table: &MetadataTable, node: Node, at: usize) -> Option<MetadataId> {
    let number = table.references(node).get(at)?.checked_sub(1)?;
    u32::try_from(number).ok().map(MetadataId)
}

#[cfg(test)]
mod tests {
    use unshade_dxcontainer::dxil::DxilModule;
    use unshade_llvm::Module;
    use unshade_llvm::assemble::{AssembleOptions, Version, assemble};
    use unshade_llvm::write::{self, WriteOptions};

    /// A function with two parameters and a member of a structure, whose vector DXC took apart.
    const TEXT: &str = r#"target triple = "dxil-ms-dx"
define float @f(float %0, float %1) {
  call void @llvm.dbg.value(metadata float %0, i64 0, metadata !10, metadata !20), !dbg !30
  call void @llvm.dbg.value(metadata float %1, i64 0, metadata !11, metadata !20), !dbg !30
  %3 = fadd fast float %0, %1
  call void @llvm.dbg.value(metadata float %3, i64 0, metadata !12, metadata !20), !dbg !31
  call void @llvm.dbg.value(metadata float %3, i64 0, metadata !13, metadata !20), !dbg !30
  %4 = fmul fast float %3, %3
  call void @llvm.dbg.value(metadata float %4, i64 0, metadata !14, metadata !21), !dbg !30
  %5 = fdiv fast float %4, %3
  %6 = fsub fast float %5, %4
  ret float %6
}
declare void @llvm.dbg.value(metadata, i64, metadata, metadata)
!dx.version = !{!40}
!dx.shaderModel = !{!41}
!0 = !DIFile(filename: "f.hlsl", directory: "")
!1 = !DIBasicType(name: "float", size: 32, align: 32, encoding: DW_ATE_float)
!2 = !DICompositeType(tag: DW_TAG_class_type, name: "vector<float, 3>", file: !0, line: 1, size: 96, align: 32)
!3 = !DIDerivedType(tag: DW_TAG_typedef, name: "float3", file: !0, line: 1, baseType: !2)
!4 = !DIDerivedType(tag: DW_TAG_member, name: "rough", file: !0, line: 1, baseType: !1, size: 32, align: 32)
!5 = !DIDerivedType(tag: DW_TAG_member, name: "albedo", file: !0, line: 1, baseType: !3, size: 96, align: 32, offset: 32)
!6 = !{!4, !5}
!7 = !DICompositeType(tag: DW_TAG_structure_type, name: "Material", file: !0, line: 1, size: 128, align: 32, elements: !6)
!8 = distinct !DISubprogram(name: "f", scope: !0, file: !0, line: 1, isLocal: false, isDefinition: true)
!9 = distinct !DISubprogram(name: "g", scope: !0, file: !0, line: 9, isLocal: false, isDefinition: true)
!10 = !DILocalVariable(tag: DW_TAG_arg_variable, name: "texture", arg: 1, scope: !8, file: !0, line: 1, type: !1)
!11 = !DILocalVariable(tag: DW_TAG_arg_variable, name: "second", arg: 2, scope: !8, file: !0, line: 1, type: !1)
!12 = !DILocalVariable(tag: DW_TAG_auto_variable, name: "inlined", scope: !9, file: !0, line: 9, type: !1)
!13 = !DILocalVariable(tag: DW_TAG_auto_variable, name: "global.sum", scope: !8, file: !0, line: 2, type: !1)
!14 = !DILocalVariable(tag: DW_TAG_auto_variable, name: "m", scope: !8, file: !0, line: 3, type: !7)
!20 = !DIExpression()
!21 = !DIExpression(DW_OP_bit_piece, 64, 32)
!30 = !DILocation(line: 2, column: 1, scope: !8)
!31 = !DILocation(line: 9, column: 1, scope: !9, inlinedAt: !30)
!40 = !{i32 1, i32 3}
!41 = !{!"lib", i32 6, i32 3}
"#;

    fn decompiled(has_names: bool) -> String {
        let options = AssembleOptions { version: Version::Dxc };
        let assembled = assemble(TEXT.as_bytes(), &options).expect("sound text");
        let options = WriteOptions { version: Version::Dxc, ..WriteOptions::default() };
        let bitcode = write::module(&assembled.input(), &options).expect("it can be written");
        let module = Module::parse(&bitcode, 0).expect("it can be read");
        let dxil = DxilModule::read(&module, 0);
        crate::hlsl::print(crate::dxil::function::lift_all(&module, &dxil, None, has_names)).text()
    }

    #[test]
    fn variables_have_the_names_of_the_source() {
        assert_eq!(
            decompiled(true),
            "export float f(float texture_2, float second)\n{\n    float sum = texture_2 + second;\n    \
             float m_albedo_y = sum * sum;\n    return m_albedo_y / sum - m_albedo_y;\n}\n"
        );
    }

    #[test]
    fn names_can_be_left_out() {
        let text = decompiled(false);
        assert!(text.contains("float v0 = argument0 + argument1;"), "{text}");
    }
}
