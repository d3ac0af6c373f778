//! The comments that DXC's disassembler writes after instructions.
//!
//! They are `; line:3 col:343` for instructions with a location, `; var:"name" !DIExpression() func:"main"` for
//! calls to `llvm.dbg` intrinsics, and for calls of DXIL operations the name and parameters of the operation,
//! followed by the resource properties for `AnnotateHandle`.

use super::Printer;
use super::fragments::dxil_operation;
use super::text::{push_escaped, push_number};
use crate::body::FunctionBody;
use crate::constants::Constant;
use crate::debug_info::NodeKind;
use crate::ids::{MetadataId, ValueId, narrow};
use crate::instruction::{Instruction, Opcode};
use crate::metadata::{Metadata, MetadataTable, Node};
use crate::module::Module;
use crate::value::{Operand, OperandKind};
use alloc::string::String;
use unshade_core::{TokenKind, TokenSink};

const ANNOTATE_HANDLE: u32 = 216;
/// Maximum number of scopes between a variable and its function.
const MAX_SCOPES: usize = 256;

/// Resource kinds, by number.
const RESOURCE_KINDS: [&str; 19] = [
    "",
    "Texture1D",
    "Texture2D",
    "Texture2DMS",
    "Texture3D",
    "TextureCube",
    "Texture1DArray",
    "Texture2DArray",
    "Texture2DMSArray",
    "TextureCubeArray",
    "TypedBuffer",
    "ByteAddressBuffer",
    "StructuredBuffer",
    "CBuffer",
    "Sampler",
    "TBuffer",
    "RTAccelerationStructure",
    "FeedbackTexture2D",
    "FeedbackTexture2DArray",
];
mod kind {
    pub(super) const RAW_BUFFER: u32 = 11;
    pub(super) const STRUCTURED_BUFFER: u32 = 12;
    pub(super) const CBUFFER: u32 = 13;
    pub(super) const SAMPLER: u32 = 14;
    pub(super) const TBUFFER: u32 = 15;
    pub(super) const ACCELERATION_STRUCTURE: u32 = 16;
}
/// Component types, by number.
const COMPONENTS: [&str; 17] = [
    "<invalid CompType>",
    "I1",
    "I16",
    "U16",
    "I32",
    "U32",
    "I64",
    "U64",
    "F16",
    "F32",
    "F64",
    "SNormF16",
    "UNormF16",
    "SNormF32",
    "UNormF32",
    "SNormF64",
    "UNormF64",
];

impl<'m, S: TokenSink> Printer<'m, '_, '_, S> {
    /// Writes the comment after an instruction.
    pub(super) fn dxil_comment(&mut self, body: &FunctionBody, instruction: &Instruction) {
        let called = match instruction.opcode {
            Opcode::Call => self.called_function(body, instruction),
            _ => None,
        };
        let name = called.and_then(|at| self.module.functions.get(at)).map_or(&b""[..], |f| &f.symbol.name);
        if name.starts_with(b"llvm.dbg.") {
            self.variable_comment(body, instruction);
            return;
        }
        let location = instruction.location.checked_sub(1).and_then(|at| body.locations.get(at as usize));
        if let Some(location) = location.filter(|location| location.line != 0) {
            self.built(TokenKind::Comment, |text| {
                text.push_str(" ; line:");
                push_number(text, u64::from(location.line));
                text.push_str(" col:");
                push_number(text, u64::from(location.column));
            });
        }
        if name.starts_with(b"dx.op.") {
            self.operation_comment(body, body.operands_of(instruction));
        }
    }

    fn operation_comment(&mut self, body: &FunctionBody, operands: &[Operand]) {
        let Some(number) = operands.get(1).and_then(|operand| operand.as_value()) else { return };
        let Some(number) = self.module.integer(Some(body), number) else { return };
        let number = (number & 0xFFFF_FFFF) as u32;
        let Some((name, parameters)) = dxil_operation(number) else {
            return self.built(TokenKind::Comment, |text| {
                text.push_str("  ; invalid DXIL opcode #");
                push_number(text, u64::from(number));
            });
        };
        self.out(TokenKind::Comment, "  ; ");
        self.out(TokenKind::Comment, name);
        self.out(TokenKind::Comment, parameters);
        if number == ANNOTATE_HANDLE {
            let properties = operands.get(3).and_then(|operand| operand.as_value());
            if let Some(words) = properties.and_then(|id| self.resource_words(body, id)) {
                self.built(TokenKind::Comment, |text| push_resource(text, words));
            }
        }
    }

    /// Returns the two words of a constant with resource properties.
    fn resource_words(&self, body: &FunctionBody, id: ValueId) -> Option<[u32; 2]> {
        let (constant, constants) = self.module.constant(Some(body), id)?;
        match constant {
            Constant::Null => Some([0, 0]),
            Constant::Aggregate(values) => {
                let &[first, second] = constants.values(values) else { return None };
                let word = |id| self.module.integer(Some(body), id).map(|word| (word & 0xFFFF_FFFF) as u32);
                Some([word(first)?, word(second)?])
            }
            _ => None,
        }
    }

    fn local_node<'t>(
        &self,
        body: &'t FunctionBody,
        operand: Operand,
    ) -> Option<(MetadataId, Node, &'t MetadataTable)>
    where
        'm: 't,
    {
        let OperandKind::Metadata(id) = operand.kind() else { return None };
        let module: &'t Module<'_> = self.module;
        match module.metadata(Some(body), id)? {
            (Metadata::Node(node), table) => Some((id, node, table)),
            _ => None,
        }
    }

    fn variable_comment(&mut self, body: &FunctionBody, instruction: &Instruction) {
        let operands = body.operands_of(instruction).iter();
        let mut nodes = operands.filter_map(|&operand| self.local_node(body, operand));
        let variable = nodes.clone().find(|(_, node, _)| node.kind == NodeKind::LocalVariable);
        let expression = nodes.find(|(_, node, _)| node.kind == NodeKind::Expression);
        let (Some((_, variable, table)), Some((_, expression, expressions))) = (variable, expression) else {
            return;
        };
        let name = self.string_at(body, variable, table, 1);
        self.built(TokenKind::Comment, |text| {
            text.push_str(" ; var:\"");
            push_escaped(text, name);
            text.push_str("\" ");
        });
        self.expression_body(expressions.numbers(expression));
        if let Some(function) = self.function_of_scope(body, variable, table) {
            self.built(TokenKind::Comment, |text| {
                text.push_str(" func:\"");
                push_escaped(text, function);
                text.push('"');
            });
        }
    }

    fn string_at<'t>(&self, body: &'t FunctionBody, node: Node, table: &MetadataTable, at: usize) -> &'t [u8]
    where
        'm: 't,
    {
        let module: &'t Module<'_> = self.module;
        let id = table.references(node).get(at).and_then(|reference| reference.checked_sub(1));
        let entry = id.and_then(|id| module.metadata(Some(body), MetadataId(narrow(id))));
        match entry {
            Some((Metadata::String(string), table)) => table.string(string),
            _ => &[],
        }
    }

    /// Returns the name of the function that contains a variable's scope.
    fn function_of_scope<'t>(
        &self,
        body: &'t FunctionBody,
        variable: Node,
        table: &'t MetadataTable,
    ) -> Option<&'t [u8]>
    where
        'm: 't,
    {
        let module: &'t Module<'_> = self.module;
        let (mut node, mut table) = (variable, table);
        for _ in 0..MAX_SCOPES {
            // The scope of a variable is its first reference, that of a block its second.
            let at = usize::from(node.kind != NodeKind::LocalVariable);
            let id = table.references(node).get(at)?.checked_sub(1)?;
            let (Metadata::Node(scope), scopes) = module.metadata(Some(body), MetadataId(narrow(id)))? else {
                return None;
            };
            (node, table) = (scope, scopes);
            match node.kind {
                NodeKind::Subprogram => return Some(self.string_at(body, node, table, 2)),
                NodeKind::LexicalBlock | NodeKind::LexicalBlockFile => {}
                _ => return None,
            }
        }
        None
    }
}

/// Appends the resource properties of `AnnotateHandle`. First word: byte 0 kind, byte 1 alignment and flags, byte
/// 2 a flag. Second word: component type and count, stride, or kind of sampler feedback.
fn push_resource(text: &mut String, [first, second]: [u32; 2]) {
    text.push_str("  resource: ");
    let bit = |at: u32| first >> at & 1 != 0;
    let resource = first & 0xFF;
    let name = RESOURCE_KINDS.get(resource as usize).copied().unwrap_or("");
    let (uav, counter) = (bit(12), bit(15));
    match resource {
        kind::CBUFFER => return text.push_str("CBuffer"),
        kind::TBUFFER if !uav => return text.push_str("TBuffer"),
        kind::SAMPLER => {
            return text.push_str(if counter { "SamplerComparisonState" } else { "SamplerState" });
        }
        kind::ACCELERATION_STRUCTURE => return text.push_str(name),
        17 | 18 => {
            text.push_str(name);
            text.push_str(match second {
                0 => "<MinMip>",
                1 => "<MipRegionUsed>",
                _ => "<<invalid sampler feedback type>>",
            });
            return;
        }
        1..=kind::STRUCTURED_BUFFER => {}
        _ => return text.push_str("<invalid resource properties>"),
    }
    if uav {
        if bit(14) {
            text.push_str("globallycoherent ");
        }
        if bit(16) {
            text.push_str("reordercoherent ");
        }
        text.push_str(if bit(13) { "ROV" } else { "RW" });
    }
    text.push_str(name);
    match resource {
        kind::RAW_BUFFER => {}
        kind::STRUCTURED_BUFFER => {
            text.push_str("<stride=");
            push_number(text, u64::from(second));
            text.push_str(if uav && counter { ", counter>" } else { ">" });
        }
        _ => {
            text.push('<');
            let count = second >> 8 & 0xFF;
            if count > 1 {
                push_number(text, u64::from(count));
                text.push('x');
            }
            text.push_str(COMPONENTS.get((second & 0xFF) as usize).copied().unwrap_or("<invalid CompType>"));
            text.push('>');
        }
    }
}
