//! What pointers point to, as declared, and whether it may be written.
//!
//! A pointer has the type of the module, whose integers have no signs. Parameters, variables and members have declared types;
//! pointers that are computed from them point to parts of these.

use crate::ir::metal::interface::{MetalFunction, MetalProgram};
use crate::ir::metal::types::{TypeTable, ValueType};
use crate::ir::{Function, Op, ShaderOp, TypeId, ValueId, ValueMap};

/// The most rounds in which phis take the types of their inputs.
const MAX_ROUNDS: usize = 4;

/// What the pointers of a function point to.
pub(super) struct Places<'p> {
    pub(super) function: &'p Function,
    pub(super) info: &'p MetalFunction,
    pub(super) types: &'p TypeTable,
    /// The type that each pointer points to; none for other values.
    pub(super) pointee: ValueMap<TypeId>,
    /// Whether it must not be written through a pointer.
    pub(super) is_const: ValueMap<bool>,
}

impl<'p> Places<'p> {
    /// Finds them. `read_only` says which parameters nothing is written through.
    pub(super) fn new(
        program: &'p MetalProgram,
        info: &'p MetalFunction,
        function: &'p Function,
        read_only: &[bool],
    ) -> Self {
        let count = function.values.len();
        let mut places = Self {
            function,
            info,
            types: &program.types,
            pointee: ValueMap::filled(TypeId::NONE, count),
            is_const: ValueMap::filled(false, count),
        };
        for round in 0..MAX_ROUNDS {
            let mut changed = false;
            for id in function.values.keys() {
                if function.is_replaced(id) || program.types.pointee(function.values[id].ty).is_none() {
                    continue;
                }
                let found = places.find(program, id, round + 1 == MAX_ROUNDS);
                changed |= found != places.pointee[id];
                places.pointee[id] = found;
                let is_const = places.find_const(id, read_only);
                changed |= is_const != places.is_const[id];
                places.is_const[id] |= is_const;
            }
            if !changed && round > 0 {
                break;
            }
        }
        for id in function.values.keys() {
            if places.pointee[id] == TypeId::NONE
                && let Some((_, pointee)) = program.types.pointee(function.values[id].ty)
            {
                places.pointee[id] = pointee;
            }
        }
        places
    }

    fn find(&self, program: &MetalProgram, id: ValueId, is_last: bool) -> TypeId {
        let function = self.function;
        let own = program.types.pointee(function.values[id].ty).map_or(TypeId::NONE, |found| found.1);
        let base = function.input(id, 0);
        let of_base = || if base == ValueId::NONE { TypeId::NONE } else { self.pointee[base] };
        match function.op(id) {
            Op::Offset(_) => of_base(),
            Op::Element(_) => match program.types.get(of_base()) {
                ValueType::Array(element, _) | ValueType::Vector(element, _) => element,
                _ => own,
            },
            Op::Member(number, _) => {
                let field = program
                    .types
                    .structure(of_base())
                    .and_then(|found| found.fields.get(usize::from(number)));
                field.map_or(own, |field| field.ty)
            }
            Op::Symbol(symbol) => {
                let name = &function.symbols[symbol];
                let number =
                    name.get(1..).and_then(|number| number.parse::<usize>().ok()).unwrap_or(usize::MAX);
                match name.as_bytes().first() {
                    Some(b'g') => program.globals.get(number).map_or(own, |global| global.ty),
                    _ => self.info.locals.get(number).map_or(own, |local| local.ty),
                }
            }
            Op::Shader(ShaderOp::Argument) => {
                let number = function.number(base).and_then(|number| usize::try_from(number).ok());
                let parameter = number.and_then(|number| self.info.parameters.get(number));
                parameter
                    .and_then(|parameter| program.types.pointee(parameter.ty))
                    .map_or(own, |found| found.1)
            }
            Op::Phi | Op::Select | Op::Copy => {
                let inputs = function.inputs(id).iter().filter(|input| **input != ValueId::NONE);
                let mut known = inputs.map(|input| self.pointee[function.resolve(*input)]);
                known.find(|ty| *ty != TypeId::NONE).unwrap_or(if is_last { own } else { TypeId::NONE })
            }
            _ => own,
        }
    }

    fn find_const(&self, id: ValueId, read_only: &[bool]) -> bool {
        let function = self.function;
        match function.op(id) {
            Op::Shader(ShaderOp::Argument) => {
                let number =
                    function.number(function.input(id, 0)).and_then(|number| usize::try_from(number).ok());
                number.is_some_and(|number| read_only.get(number) == Some(&true))
            }
            Op::Offset(_) | Op::Element(_) | Op::Member(..) | Op::Reinterpret => {
                self.is_const.get(function.input(id, 0)) == Some(&true)
            }
            Op::Phi | Op::Select | Op::Copy => {
                let mut inputs = function.inputs(id).iter().filter(|input| **input != ValueId::NONE);
                inputs.any(|input| self.is_const[function.resolve(*input)])
            }
            _ => false,
        }
    }
}

/// Returns which parameters nothing is written through. `callees` returns that of a function that is called.
pub(super) fn read_only(
    info: &MetalFunction,
    types: &TypeTable,
    callees: &dyn Fn(&str) -> Vec<bool>,
) -> Vec<bool> {
    let function = &info.function;
    let is_pointer = |id: ValueId| types.pointee(function.values[id].ty).is_some();
    // The parameters that a pointer may be computed from, as bits; pointers to many parameters are written to.
    let mut sources: ValueMap<u64> = ValueMap::filled(0, function.values.len());
    for _ in 0..MAX_ROUNDS {
        for id in function.values.keys() {
            if function.is_replaced(id) || !is_pointer(id) {
                continue;
            }
            let of = |index: usize| {
                let input = function.input(id, index);
                if input == ValueId::NONE { 0 } else { sources[input] }
            };
            sources[id] |= match function.op(id) {
                Op::Shader(ShaderOp::Argument) => function
                    .number(function.input(id, 0))
                    .filter(|number| *number < 64)
                    .map_or(0, |number| 1 << number),
                Op::Offset(_) | Op::Element(_) | Op::Member(..) | Op::Reinterpret => of(0),
                Op::Phi | Op::Select | Op::Copy => {
                    (0..function.inputs(id).len()).fold(0, |all, index| all | of(index))
                }
                _ => 0,
            };
        }
    }
    let mut written = 0_u64;
    for (id, value) in function.values.entries() {
        if function.is_replaced(id) {
            continue;
        }
        let of = |index: usize| {
            let input = function.input(id, index);
            if input == ValueId::NONE { 0 } else { sources[input] }
        };
        let count = function.inputs(id).len();
        written |= match value.op {
            Op::Store(_) => of(0) | of(1),
            Op::Invoke(callee) => {
                let known = callees(&function.callees[callee].name);
                (0..count)
                    .filter(|index| known.get(*index) != Some(&true))
                    .fold(0, |all, index| all | of(index))
            }
            Op::Metal(op) if op.row().stem == "copy_memory" => of(0),
            Op::Metal(op) if op.row().stem == "simdgroup_matrix_8x8_load" => 0,
            Op::Metal(_) | Op::Return | Op::Aggregate | Op::WithMember(_) | Op::Unlifted(_) => {
                (0..count).fold(0, |all, index| all | of(index))
            }
            Op::Reinterpret if !is_pointer(id) => of(0),
            _ => 0,
        };
    }
    (0..info.parameters.len())
        .map(|index| {
            let is_entry = info.kind.is_some();
            let is_free = index < 64 && written & 1 << index == 0;
            if is_entry { info.parameters[index].is_read_only && is_free } else { is_free }
        })
        .collect()
}
