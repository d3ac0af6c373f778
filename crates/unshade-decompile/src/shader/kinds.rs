//! Whether each value is a float, an integer or a boolean.
//!
//! Operators say what their results are and what they take. Values that only pass numbers on (phis, selections, lanes,
//! loads without a type) take the kind of what they pass on, or else that of their users. Among integers, signedness
//! spreads over the operators for which it makes no difference.

use crate::ir::shader::data_type::ScalarKind;
use crate::ir::shader::{NumberKind, OperandKind, ShaderOp, Signedness};
use crate::ir::{Function, IdVec, Op, Sign, ValueId, ValueMap};

/// The kind of a value, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any: nothing says.
    Any,
    /// An integer whose signedness is free.
    Integer,
    /// A known kind.
    Known(ScalarKind),
}

/// What users and operators say of a class of values.
#[derive(Clone, Copy, Default)]
struct Votes {
    float: u32,
    integer: u32,
    signed: u32,
    unsigned: u32,
    /// Definitions count more than uses.
    defined: Option<ScalarKind>,
}

/// Finds the kind of each value. `declared` returns what the interface says of a value: of an input, a texel, a member.
pub fn find(function: &Function, declared: &dyn Fn(ValueId) -> Option<ScalarKind>) -> ValueMap<ScalarKind> {
    let mut classes = Classes {
        parent: function.values.keys().collect(),
        votes: IdVec::filled(Votes::default(), function.values.len()),
    };
    let live = || function.values.keys().filter(|id| !function.is_replaced(*id));
    live().for_each(|id| classes.unite(function, id));
    live().for_each(|id| classes.define(function, declared, id));
    live().for_each(|id| classes.unite_parts(function, id));
    live().for_each(|id| classes.unite_integers(function, id));
    live().for_each(|id| classes.vote(function, declared, id));
    function
        .values
        .keys()
        .map(|id| match function.width(id) {
            1 => ScalarKind::Bool,
            _ => {
                let root = classes.find(id);
                classes.votes[root].decide()
            }
        })
        .collect()
}

impl Votes {
    fn decide(&self) -> ScalarKind {
        let integer = if self.unsigned > self.signed { ScalarKind::Unsigned } else { ScalarKind::Signed };
        match self.defined {
            Some(ScalarKind::Float) => ScalarKind::Float,
            Some(kind) if self.signed == 0 && self.unsigned == 0 => kind,
            Some(_) => integer,
            None if self.float > self.integer => ScalarKind::Float,
            None => integer,
        }
    }
}

struct Classes {
    parent: ValueMap<ValueId>,
    votes: ValueMap<Votes>,
}

impl Classes {
    fn find(&mut self, id: ValueId) -> ValueId {
        let mut at = id;
        while self.parent[at] != at {
            self.parent[at] = self.parent[self.parent[at]];
            at = self.parent[at];
        }
        at
    }

    fn join(&mut self, a: ValueId, b: ValueId) {
        let (a, b) = (self.find(a), self.find(b));
        if a != b {
            self.parent[b] = a;
            let defined = self.votes[b].defined;
            self.votes[a].defined = self.votes[a].defined.or(defined);
        }
    }

    /// Returns whether a value is a float by its definition.
    fn is_float(&mut self, id: ValueId) -> bool {
        let root = self.find(id);
        self.votes[root].defined == Some(ScalarKind::Float)
    }

    /// Unites the result of an integer operator with its inputs, as far as these are no floats whose bits it takes: what a
    /// float holds may be flushed to zero.
    fn unite_integers(&mut self, function: &Function, id: ValueId) {
        let count = match function.op(id) {
            Op::Add | Op::Sub | Op::Mul | Op::And | Op::Or | Op::Xor => 2,
            Op::Neg | Op::Not | Op::Shl => 1,
            _ => 0,
        };
        for index in 0..count {
            let input = function.input(id, index);
            let is_same = function.width(input) == function.width(id) && !is_free(function, input);
            if is_same && !self.is_float(id) && !self.is_float(input) {
                self.join(id, input);
            }
        }
    }

    /// Unites a vector with its parts. Among floats, integers stay what they are: their bits are taken where the vector is
    /// put together.
    fn unite_parts(&mut self, function: &Function, id: ValueId) {
        if function.op(id) != Op::Vector {
            return;
        }
        let parts = (0..function.inputs(id).len()).map(|index| function.input(id, index));
        let parts: Vec<ValueId> = parts.filter(|part| !is_free(function, *part)).collect();
        let has_float = self.is_float(id) || parts.iter().any(|part| self.is_float(*part));
        for part in parts {
            let root = self.find(part);
            if !has_float || matches!(self.votes[root].defined, None | Some(ScalarKind::Float)) {
                self.join(id, part);
            }
        }
    }

    /// Unites a value with those that it passes on.
    fn unite(&mut self, function: &Function, id: ValueId) {
        let inputs: Vec<ValueId> =
            (0..function.inputs(id).len()).map(|index| function.input(id, index)).collect();
        let width = function.width(id);
        let mut with = |index: usize| {
            if let Some(&input) = inputs.get(index)
                && input != ValueId::NONE
                && function.width(input) == width
                && !is_free(function, input)
            {
                self.join(id, input);
            }
        };
        match function.op(id) {
            Op::Phi => (0..inputs.len()).for_each(with),
            Op::Copy | Op::Lanes(_) => with(0),
            Op::Select => {
                with(1);
                with(2);
            }
            Op::Shader(op) if op.result() == OperandKind::Any && op.number_kind().is_none() => {
                for index in 0..inputs.len() {
                    if op.input(index) == OperandKind::Any {
                        with(index);
                    }
                }
            }
            _ => {}
        }
    }

    /// Records what a value says of itself.
    fn define(&mut self, function: &Function, declared: &dyn Fn(ValueId) -> Option<ScalarKind>, id: ValueId) {
        let root = self.find(id);
        if let Some(kind) = declared(id).or_else(|| result(function, id)) {
            let votes = &mut self.votes[root];
            // A float among integers is only reinterpreted.
            votes.defined = Some(match votes.defined {
                Some(ScalarKind::Float) => ScalarKind::Float,
                _ => kind,
            });
        }
    }

    /// Counts what a value says of its inputs.
    fn vote(&mut self, function: &Function, declared: &dyn Fn(ValueId) -> Option<ScalarKind>, id: ValueId) {
        let known = declared(id).or_else(|| result(function, id));
        let stored = match function.op(id) {
            Op::Store(_) => Some(1),
            Op::Return => Some(0),
            _ => None,
        };
        for index in 0..function.inputs(id).len() {
            let input = function.input(id, index);
            if input == ValueId::NONE {
                continue;
            }
            let want = match known {
                Some(kind) if stored == Some(index) => Kind::Known(kind),
                _ => wanted(function, id, index),
            };
            // The class of an operation that takes any number is that of its inputs, also where these have any kind.
            if let Op::Shader(op) = function.op(id)
                && op.result() == OperandKind::Any
                && op.number_kind().is_none()
                && op.input(index) == OperandKind::Any
                && is_free(function, input)
                && let Some(kind) = declared(input)
            {
                let root = self.find(id);
                self.votes[root].defined.get_or_insert(kind);
                continue;
            }
            let root = self.find(input);
            let votes = &mut self.votes[root];
            match want {
                Kind::Known(ScalarKind::Float) => votes.float += 1,
                Kind::Known(ScalarKind::Signed) => {
                    votes.integer += 1;
                    votes.signed += 1;
                }
                Kind::Known(ScalarKind::Unsigned) => {
                    votes.integer += 1;
                    votes.unsigned += 1;
                }
                Kind::Integer => votes.integer += 1,
                _ => {}
            }
        }
    }
}

/// Returns whether a value has any kind at each of its uses.
fn is_free(function: &Function, id: ValueId) -> bool {
    match function.op(id) {
        Op::Constant(_) | Op::Undefined => true,
        Op::Vector => {
            (0..function.inputs(id).len()).all(|index| is_free(function, function.input(id, index)))
        }
        // Lanes of a row of a constant buffer have kinds of their own.
        Op::Lanes(_) => function.op(function.input(id, 0)) == Op::Shader(ShaderOp::LoadConstant),
        Op::Shader(ShaderOp::LoadConstant) => true,
        _ => false,
    }
}

/// Returns the kind of the result that an operator says.
fn result(function: &Function, id: ValueId) -> Option<ScalarKind> {
    let op = function.op(id);
    if function.width(id) == 1 {
        return Some(ScalarKind::Bool);
    }
    match op {
        Op::Shader(shader) => match shader.result() {
            OperandKind::Float => Some(ScalarKind::Float),
            OperandKind::Signed => Some(ScalarKind::Signed),
            OperandKind::Unsigned => Some(ScalarKind::Unsigned),
            OperandKind::Any => said_kind(shader),
            _ => None,
        },
        op if op.gives_float() => Some(ScalarKind::Float),
        Op::Constant(_) | Op::Undefined | Op::Phi | Op::Select | Op::Copy | Op::Lanes(_) | Op::Vector => None,
        Op::Load(_) | Op::Invoke(_) | Op::Result(_) => None,
        op => match op.result_sign() {
            Sign::Signed => Some(ScalarKind::Signed),
            Sign::Unsigned => Some(ScalarKind::Unsigned),
            Sign::Any if op.is_integer() => Some(ScalarKind::Signed),
            Sign::Any => None,
        },
    }
}

/// Returns the kind of numbers that an operation says.
pub fn said_kind(op: ShaderOp) -> Option<ScalarKind> {
    if let Some(kind) = op.number_kind() {
        return Some(match kind {
            NumberKind::Signed => ScalarKind::Signed,
            NumberKind::Unsigned => ScalarKind::Unsigned,
            NumberKind::Float => ScalarKind::Float,
        });
    }
    op.signedness().map(|signedness| match signedness {
        Signedness::Signed => ScalarKind::Signed,
        Signedness::Unsigned => ScalarKind::Unsigned,
    })
}

/// Returns what an operator wants of an input.
pub fn wanted(function: &Function, id: ValueId, index: usize) -> Kind {
    let op = function.op(id);
    let known = |kind| Kind::Known(kind);
    match op {
        Op::Shader(shader) => match shader.input(index) {
            OperandKind::Float => known(ScalarKind::Float),
            OperandKind::Signed => known(ScalarKind::Signed),
            OperandKind::Unsigned => known(ScalarKind::Unsigned),
            OperandKind::Bool => known(ScalarKind::Bool),
            OperandKind::Any => said_kind(shader).map_or(Kind::Any, Kind::Known),
            _ => Kind::Any,
        },
        op if op.takes_float(index) => known(ScalarKind::Float),
        Op::Select if index == 0 => known(ScalarKind::Bool),
        Op::BoolAnd | Op::BoolOr | Op::BoolXor | Op::BoolNot => known(ScalarKind::Bool),
        Op::Phi | Op::Select | Op::Copy | Op::Lanes(_) | Op::Vector | Op::Result(_) => Kind::Any,
        Op::Sar | Op::Shr | Op::Shl if index == 1 => Kind::Integer,
        op => match op.input_sign(index) {
            Some(Sign::Signed) => known(ScalarKind::Signed),
            Some(Sign::Unsigned) => known(ScalarKind::Unsigned),
            Some(Sign::Any) => Kind::Integer,
            None => Kind::Any,
        },
    }
}
