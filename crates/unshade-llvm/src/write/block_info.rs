//! The abbreviations that all blocks of a kind share, and `BLOCKINFO`, which defines them.

use super::Version;
use super::stream::{Layout, Shape, Stream, bits_for};
use crate::bitstream::Scalar::{Char6, Fixed, Literal, Variable};
use crate::bitstream::Tail;
use crate::blocks;
use crate::body_reader::code as function;
use crate::constants::code as constant;
use alloc::vec::Vec;
use unshade_core::Result;

/// The codes of symbol table entries.
pub(super) mod name {
    pub(in crate::write) const ENTRY: u32 = 1;
    pub(in crate::write) const BLOCK: u32 = 2;
    pub(in crate::write) const FUNCTION: u32 = 3;
}

/// The abbreviations of the blocks of a kind.
#[derive(Default)]
pub(super) struct Layouts {
    pub(super) names: Vec<Layout>,
    pub(super) constants: Vec<Layout>,
    pub(super) function: Vec<Layout>,
    /// What the layouts of instructions are for.
    of_instructions: Vec<InstructionLayout>,
}

/// An abbreviation for names, by its position.
#[derive(Clone, Copy)]
pub(super) enum NameLayout {
    Bits8,
    Bits7,
    Char6,
    BlockChar6,
}

/// An abbreviation for constants, by its position.
#[derive(Clone, Copy)]
pub(super) enum ConstantLayout {
    SetType,
    Integer,
    Cast,
}

/// An abbreviation for instructions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum InstructionLayout {
    Load,
    Unary,
    UnaryFlags,
    Binary,
    BinaryFlags,
    Cast,
    CastFlags,
    ReturnVoid,
    Return,
    Unreachable,
    ElementPointer,
    DebugValue,
}

impl Layouts {
    /// Writes `BLOCKINFO`.
    pub(super) fn write(stream: &mut Stream, version: Version, types: usize) -> Result<Self> {
        let ty = Fixed(bits_for(types + 1));
        let names = [
            Shape(&[Fixed(3), Variable(8)], Tail::Array(Fixed(8))),
            Shape(&[Literal(name::ENTRY as u64), Variable(8)], Tail::Array(Fixed(7))),
            Shape(&[Literal(name::ENTRY as u64), Variable(8)], Tail::Array(Char6)),
            Shape(&[Literal(name::BLOCK as u64), Variable(8)], Tail::Array(Char6)),
        ];
        let constants = [
            Shape(&[Literal(constant::SETTYPE.into()), ty], Tail::None),
            Shape(&[Literal(constant::INTEGER.into()), Variable(8)], Tail::None),
            Shape(&[Literal(constant::CE_CAST.into()), Fixed(4), ty, Variable(8)], Tail::None),
            Shape(&[Literal(constant::NULL.into())], Tail::None),
        ];
        let code = |code: u32| Literal(code.into());
        let is_old = version == Version::Dxc;
        let (value, operation, flags) = (Variable(6), Fixed(4), Fixed(if is_old { 7 } else { 8 }));
        let load = [code(function::LOAD), value, ty, Variable(4), Fixed(1)];
        let unary = [code(function::UNOP), value, operation, flags];
        let binary = [code(function::BINOP), value, value, operation, flags];
        let cast = [code(function::CAST), value, ty, operation, flags];
        let result = [code(function::RET), value];
        let unreachable = [code(function::UNREACHABLE)];
        let of_element_pointer = if version.has_typed_pointers() { Fixed(1) } else { Fixed(3) };
        let element_pointer = [code(function::GEP), of_element_pointer, ty];
        let debug_value =
            [code(function::DEBUG_RECORD_VALUE_SIMPLE), Variable(7), Variable(7), Variable(7), value];
        let (all, array) = (Tail::None, Tail::Array(value));
        let is_newest = version == Version::Llvm19;
        let instructions = [
            (true, InstructionLayout::Load, Shape(&load, all)),
            (!is_old, InstructionLayout::Unary, Shape(&unary[..3], all)),
            (!is_old, InstructionLayout::UnaryFlags, Shape(&unary, all)),
            (true, InstructionLayout::Binary, Shape(&binary[..4], all)),
            (true, InstructionLayout::BinaryFlags, Shape(&binary, all)),
            (true, InstructionLayout::Cast, Shape(&cast[..4], all)),
            (is_newest, InstructionLayout::CastFlags, Shape(&cast, all)),
            (true, InstructionLayout::ReturnVoid, Shape(&result[..1], all)),
            (true, InstructionLayout::Return, Shape(&result, all)),
            (true, InstructionLayout::Unreachable, Shape(&unreachable, all)),
            (true, InstructionLayout::ElementPointer, Shape(&element_pointer, array)),
            (is_newest, InstructionLayout::DebugValue, Shape(&debug_value, all)),
        ];
        let known = instructions.into_iter().filter(|(is_known, ..)| *is_known);
        let (of_instructions, instructions): (Vec<_>, Vec<_>) =
            known.map(|(_, of, shape)| (of, shape)).unzip();
        stream.enter(blocks::BLOCKINFO, 2, 0);
        let layouts = Self {
            names: stream.define_for(blocks::VALUE_SYMTAB, &names),
            constants: stream.define_for(blocks::CONSTANTS, &constants),
            function: stream.define_for(blocks::FUNCTION, &instructions),
            of_instructions,
        };
        stream.leave()?;
        Ok(layouts)
    }

    pub(super) fn of_name(&self, layout: NameLayout) -> Option<&Layout> {
        self.names.get(layout as usize)
    }

    pub(super) fn of_constant(&self, layout: ConstantLayout) -> Option<&Layout> {
        self.constants.get(layout as usize)
    }

    pub(super) fn of_instruction(&self, layout: InstructionLayout) -> Option<&Layout> {
        let at = self.of_instructions.iter().position(|&of| of == layout)?;
        self.function.get(at)
    }
}
