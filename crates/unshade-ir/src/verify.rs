//! What a sound function is: checks that hold after every pass.
//!
//! - Every block that can be reached has an end; blocks and their successors agree about edges, each edge once.
//! - A block lists its phis, each with an input per predecessor, and its effects, in order.
//! - Values that the source code names exist.
//! - Inputs exist, and have the widths that the operator wants.
//! - A value is computed before it is used. A value without an effect has no position: it is available where the last of
//!   its inputs is, so the positions of its inputs must be on one path from the entry.

use super::dominators::Graph;
use super::shader::OperandKind;
use super::text::describe;
use super::{
    BlockId, End, Function, IdVec, Intrinsic, OPERATORS, Op, Operand, Space, ValueId, ValueMap, Widths,
};

/// Maximum number of faults that are reported.
const MAX_FAULTS: usize = 16;

/// The width of an address in generic memory.
const ADDRESS: u8 = 64;

/// Checks a function, and describes what is wrong; an empty list if nothing is.
///
/// ```
/// use unshade_ir::{text, verify::verify};
///
/// let module = |line: &str| text::parse(&format!("kernel \"f\" shared 0 local 0\nb0 @0x0:\n    {line}\n    return\n"));
/// assert!(verify(&module("store.shared 0:32, 1:32")?.function).is_empty());
/// let faults = verify(&module("store.shared v0, 1:32\n    v0:32 = load.shared 0:32")?.function);
/// assert_eq!(faults, ["b0: store.shared v0, 1:32: input 0 is used before it is computed"]);
/// # Ok::<(), text::TextError>(())
/// ```
pub fn verify(function: &Function) -> Vec<String> {
    let graph = Graph::new(function);
    let mut verifier = Verifier {
        function,
        graph,
        effect_index: IdVec::filled(0, function.values.len()),
        places: IdVec::filled(Place::Unknown, function.values.len()),
        faults: Vec::new(),
    };
    verifier.edges();
    if verifier.faults.is_empty() {
        verifier.lists();
    }
    if verifier.faults.is_empty() {
        verifier.values();
    }
    verifier.faults.truncate(MAX_FAULTS);
    verifier.faults
}

/// Where a value is available from on: a block, and the number of effects before it.
type Position = (BlockId, u32);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Unknown,
    /// Its inputs are being placed.
    Open,
    At(Position),
}

struct Verifier<'f> {
    function: &'f Function,
    graph: Graph,
    /// The number of effects in the block up to an effect, itself included.
    effect_index: ValueMap<u32>,
    places: ValueMap<Place>,
    faults: Vec<String>,
}

impl Verifier<'_> {
    fn fault(&mut self, what: String) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(what);
        }
    }

    fn value_fault(&mut self, id: ValueId, what: &str) {
        if self.faults.len() < MAX_FAULTS {
            let text = format!("{}: {what}", describe(self.function, id));
            self.faults.push(text);
        }
    }

    /// Checks that ends and predecessors agree.
    fn edges(&mut self) {
        let function = self.function;
        for (id, block) in function.blocks.entries() {
            let name = format!("block {} at {:#x}", id.number(), block.address);
            for to in block.end.successors() {
                let Some(target) = function.blocks.get(to) else {
                    self.fault(format!("{name}: a successor does not exist"));
                    continue;
                };
                let count = target.predecessors.iter().filter(|from| **from == id).count();
                if count != 1 && self.graph.is_reached(id) {
                    self.fault(format!("{name}: block {} lists it {count} times", to.number()));
                }
            }
            for from in &block.predecessors {
                let ends = function.blocks.get(*from).is_some_and(|from| from.end.successors().contains(&id));
                if !ends {
                    self.fault(format!("{name}: predecessor {} does not go there", from.number()));
                }
            }
            if block.end == End::Open && self.graph.is_reached(id) {
                self.fault(format!("{name}: it has no end"));
            }
        }
    }

    /// Checks the lists of phis and effects, and numbers the effects.
    fn lists(&mut self) {
        let function = self.function;
        for block in self.graph.order.clone() {
            let found = &function.blocks[block];
            for &phi in &found.phis {
                if !function.values.contains_key(phi) {
                    self.fault(format!("block {}: a phi does not exist", block.number()));
                } else if function.is_replaced(phi) {
                    continue;
                } else if function.op(phi) != Op::Phi || function.values[phi].block != block {
                    self.value_fault(phi, "is no phi of this block");
                } else if function.inputs(phi).len() != found.predecessors.len() {
                    self.value_fault(phi, "has not one input per predecessor");
                }
            }
            for (index, &effect) in (1..).zip(&found.effects) {
                if !function.values.contains_key(effect) {
                    self.fault(format!("block {}: an effect does not exist", block.number()));
                } else if function.is_replaced(effect) {
                    continue;
                } else if function.values[effect].block != block || self.effect_index[effect] != 0 {
                    self.value_fault(effect, "is listed by another block, or twice");
                } else {
                    self.effect_index[effect] = index;
                }
            }
        }
        let is_missing = |named: &&(u32, ValueId)| !function.values.contains_key(named.1);
        for &(variable, _) in function.named.iter().filter(is_missing) {
            self.fault(format!("the value of variable {variable} does not exist"));
        }
        if function.signed.iter().any(|id| !function.values.contains_key(*id)) {
            self.fault("a signed value does not exist".to_owned());
        }
    }

    /// Checks the values that are used.
    fn values(&mut self) {
        let function = self.function;
        let used = function.used();
        for id in function.values.keys().filter(|id| used[*id] && !function.is_replaced(*id)) {
            if !self.graph.is_reached(function.values[id].block) && has_position(function.op(id)) {
                continue;
            }
            self.widths(id);
            if has_position(function.op(id)) {
                self.uses(id);
            }
        }
        for block in self.graph.order.clone() {
            let Some(input) = function.blocks[block].end.input() else { continue };
            let input = function.resolve(input);
            if !self.is_available(input, (block, u32::MAX)) {
                self.value_fault(input, "decides a branch before it is computed");
            }
            if matches!(function.blocks[block].end, End::Branch { .. }) && function.width(input) != 1 {
                self.value_fault(input, "is no condition");
            }
        }
    }

    /// Checks that the inputs of an effect or phi are available where it is.
    fn uses(&mut self, id: ValueId) {
        let function = self.function;
        let block = function.values[id].block;
        if function.op(id) != Op::Phi && self.effect_index[id] == 0 {
            return self.value_fault(id, "is in no list of effects");
        }
        for index in 0..function.inputs(id).len() {
            let input = function.input(id, index);
            let at = match function.op(id) {
                Op::Phi => (function.blocks[block].predecessors[index], u32::MAX),
                _ => (block, self.effect_index[id] - 1),
            };
            if input != ValueId::NONE && self.graph.is_reached(at.0) && !self.is_available(input, at) {
                self.value_fault(id, &format!("input {index} is used before it is computed"));
            }
        }
    }

    /// Returns whether a value is available at a position.
    fn is_available(&mut self, id: ValueId, at: Position) -> bool {
        self.place(id).is_some_and(|from| self.precedes(from, at))
    }

    fn precedes(&self, from: Position, at: Position) -> bool {
        if from.0 == at.0 { from.1 <= at.1 } else { self.graph.dominates(from.0, at.0) }
    }

    /// Returns where a value is available from on; `None` if nowhere.
    fn place(&mut self, root: ValueId) -> Option<Position> {
        let function = self.function;
        let mut stack = vec![root];
        while let Some(&id) = stack.last() {
            if let Place::At(_) = self.places[id] {
                stack.pop();
                continue;
            }
            if has_position(function.op(id)) {
                let block = function.values[id].block;
                let is_listed = function.op(id) == Op::Phi || self.effect_index[id] != 0;
                if !is_listed || !self.graph.is_reached(block) {
                    return None;
                }
                self.places[id] = Place::At((block, self.effect_index[id]));
                continue;
            }
            let inputs = function.inputs(id).iter().filter(|input| **input != ValueId::NONE);
            let inputs = inputs.map(|input| function.resolve(*input));
            let open: Vec<ValueId> =
                inputs.clone().filter(|input| !matches!(self.places[*input], Place::At(_))).collect();
            if open.is_empty() {
                let mut last = (BlockId::ENTRY, 0);
                for input in inputs {
                    let Place::At(other) = self.places[input] else { continue };
                    if self.precedes(last, other) {
                        last = other;
                    } else if !self.precedes(other, last) {
                        return None;
                    }
                }
                self.places[id] = Place::At(last);
            } else if self.places[id] == Place::Open {
                // It depends on itself.
                return None;
            } else {
                self.places[id] = Place::Open;
                stack.extend(open);
            }
        }
        match self.places[root] {
            Place::At(position) => Some(position),
            _ => None,
        }
    }

    /// Checks the number and the widths of a value's inputs.
    fn widths(&mut self, id: ValueId) {
        let function = self.function;
        let (op, out) = (function.op(id), function.width(id));
        let mut given = Vec::new();
        for index in 0..function.inputs(id).len() {
            match function.input(id, index) {
                ValueId::NONE if op == Op::Phi => given.push(out),
                ValueId::NONE => return self.value_fault(id, &format!("input {index} is missing")),
                input => given.push(function.width(input)),
            }
        }
        let fits = match op {
            Op::Call(call) => fits_call(call, out, &given),
            Op::Load(space) => matches!(given[..], [address] if out > 0 && is_address(space, address)),
            Op::Store(space) => {
                matches!(given[..], [address, bits] if bits > 0 && is_address(space, address))
            }
            Op::Parameter(_) | Op::Special(_) | Op::Symbol(_) | Op::Constant(_) => {
                given.is_empty() && out > 0
            }
            Op::Result(_) => given.len() == 1,
            Op::Shader(shader) => {
                given.len() == shader.input_count() && (shader.result() == OperandKind::None) == (out == 0)
            }
            Op::Lanes(lanes) => {
                let count = u16::try_from(lanes.numbers().len());
                matches!(given[..], [width] if width == out)
                    && count == Ok(function.lanes(id))
                    && lanes
                        .numbers()
                        .iter()
                        .all(|lane| u16::from(*lane) < function.lanes(function.input(id, 0)))
            }
            op => match OPERATORS.iter().find(|row| row.0 == op) {
                Some((_, _, widths)) => fits(*widths, out, &given),
                None => true,
            },
        };
        if !fits {
            self.value_fault(id, "the widths of its inputs do not fit");
        } else if !self.fits_lanes(id) {
            self.value_fault(id, "the lanes of its inputs do not fit");
        }
    }

    /// Checks the lanes of an operator that works lane by lane: a scalar counts for all lanes.
    fn fits_lanes(&self, id: ValueId) -> bool {
        let function = self.function;
        let lanes = function.lanes(id);
        let mut inputs = function
            .inputs(id)
            .iter()
            .filter(|input| **input != ValueId::NONE)
            .map(|input| function.resolve(*input));
        match function.op(id) {
            Op::Vector => {
                inputs.map(|input| u32::from(function.lanes(input))).sum::<u32>() == u32::from(lanes)
            }
            Op::Phi | Op::Copy => inputs.all(|input| function.lanes(input) == lanes),
            op if OPERATORS.iter().any(|row| row.0 == op) => {
                inputs.all(|input| matches!(function.lanes(input), 1) || function.lanes(input) == lanes)
            }
            _ => true,
        }
    }
}

/// Returns whether a value has a position of its own.
fn has_position(op: Op) -> bool {
    op.is_effect() || op == Op::Phi
}

fn is_address(space: Space, width: u8) -> bool {
    width == 32 || width == ADDRESS || matches!(space, Space::Constant(_)) && width > 0
}

fn fits_call(call: Intrinsic, out: u8, given: &[u8]) -> bool {
    let fits = |operand: Operand, width: u8| operand.width().is_none_or(|wanted| wanted == width);
    let has_result = out == 0 || fits(call.result(), out);
    let count = call.input_count().is_none_or(|count| count == given.len());
    has_result && count && given.iter().enumerate().all(|(index, width)| fits(call.input(index), *width))
}

/// Returns whether inputs have the widths that an operator wants.
fn fits(widths: Widths, out: u8, given: &[u8]) -> bool {
    match (widths, given) {
        (Widths::Leaf, []) | (Widths::Phi, _) => true,
        (Widths::Unary, [a]) => *a == out,
        (Widths::Convert, [a]) => *a > 0,
        (Widths::Widen, [a]) => *a < out,
        (Widths::Narrow, [a]) => *a > out,
        (Widths::Binary, [a, b]) => *a == out && *b == out,
        (Widths::Shift, [a, b]) => *a == out && *b > 0,
        (Widths::Concat, [a, b]) => u16::from(*a) + u16::from(*b) == u16::from(out),
        (Widths::Test, [_]) => out == 1,
        (Widths::Compare, [a, b]) => a == b && out == 1,
        (Widths::Select, [condition, a, b]) => *condition == 1 && *a == out && *b == out,
        _ => false,
    }
}
