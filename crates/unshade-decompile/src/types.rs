//! Type inference: from operators, and for values that are only moved, from their sources and destinations.
//!
//! Values that a phi or select merges form a class with one type. Each use votes. Pointers are found through the
//! addresses of memory accesses, and their element types through what is loaded and stored there.

pub(crate) mod constants;

use crate::address::Address;
use crate::ir::hash::FastMap;
use crate::ir::id_lists::entry;
pub use crate::ir::ty::{NumberKind, Type};
use crate::ir::{
    Callee, Function, IdVec, Image, Op, Operand, Sign, Space, StructureId, SymbolId, ValueId, ValueMap,
};
use crate::objects::{Objects, Slot, space_of};
use constants::{Evidence, evidence};

/// Votes for the type of a class.
#[derive(Clone, Copy, Debug, Default)]
struct Votes {
    float: u32,
    integer: u32,
    signed: u32,
    unsigned: u32,
    pointer: bool,
}

impl Votes {
    /// Adds a vote for an integer, and for its sign if known.
    fn integer(&mut self, sign: Sign) {
        self.integer += 1;
        match sign {
            Sign::Signed => self.signed += 1,
            Sign::Unsigned => self.unsigned += 1,
            Sign::Any => {}
        }
    }

    fn is_signed(self) -> bool {
        self.signed > 0 && self.signed >= self.unsigned
    }
}

/// The accesses through a pointer, by width and kind, with their votes.
type Accesses = Vec<((u8, NumberKind), u32)>;

/// The types of the values of a function.
#[derive(Debug, Default)]
pub struct Types {
    /// The type of each value.
    pub of: ValueMap<Type>,
    class: ValueMap<ValueId>,
    votes: ValueMap<Votes>,
    /// By the representative of a class.
    accesses: ValueMap<Accesses>,
    /// The elements of pointers that the source code gives, by the representative of a class.
    given: Vec<(ValueId, (u8, NumberKind))>,
    /// The structures that the source code gives, by the representative of a class.
    given_structures: FastMap<ValueId, StructureId>,
    /// The accesses of each memory without pointers, and of its slots.
    spaces: FastMap<(Space, Option<Slot>), Accesses>,
}

/// The known type of a parameter.
#[derive(Clone, Debug)]
pub struct ParameterType {
    /// Its offset in the parameter area.
    pub offset: u32,
    /// Its type.
    pub ty: Type,
}

/// What is known of types before they are inferred.
#[derive(Clone, Debug, Default)]
pub struct Hints {
    /// The types of parameters.
    pub parameters: Vec<ParameterType>,
    /// Types that the source code gives to values.
    pub values: Vec<(ValueId, Type)>,
}

/// Records the values that operations use as signed integers, and the parts of such sums and products. Passes replace
/// some of these operations by unsigned ones where a value can't be negative: a sign extension of a thread's index
/// becomes a zero extension.
pub fn record_signed(function: &mut Function) {
    let used = function.used();
    let mut signs = IdVec::filled((false, false), function.values.len());
    for id in function.values.keys().filter(|id| used[*id] && !function.is_replaced(*id)) {
        for index in 0..function.inputs(id).len() {
            let input = function.input(id, index);
            match function.op(id).input_sign(index) {
                _ if input == ValueId::NONE => {}
                Some(Sign::Signed) => signs[input].0 = true,
                Some(Sign::Unsigned) => signs[input].1 = true,
                _ => {}
            }
        }
    }
    for id in signs.keys().rev().filter(|id| is_sum(function, *id)) {
        if signs[id] == (true, false) {
            for part in parts(function, id) {
                signs[part].0 |= !signs[part].1;
            }
        }
    }
    function.signed = signs.keys().filter(|id| signs[*id].0).collect();
}

/// Returns whether a value is a 32-bit sum or product, which in C is signed if its parts are.
fn is_sum(function: &Function, id: ValueId) -> bool {
    function.width(id) == 32 && matches!(function.op(id), Op::Add | Op::Sub | Op::Mul | Op::Neg | Op::Shl)
}

/// Returns the parts of a sum or product that are not constant.
fn parts(function: &Function, id: ValueId) -> impl Iterator<Item = ValueId> {
    // The second input of a shift is a count.
    let count = if function.op(id) == Op::Shl { 1 } else { function.inputs(id).len() };
    let parts = (0..count).map(move |index| function.input(id, index));
    parts.filter(|part| *part != ValueId::NONE && is_joined(function, *part))
}

impl Types {
    /// Infers all types.
    pub fn new(function: &Function, used: &ValueMap<bool>, hints: &Hints, objects: &Objects) -> Self {
        let known = &hints.parameters;
        let count = function.values.len();
        let mut types = Self {
            class: function.values.keys().collect(),
            votes: IdVec::filled(Votes::default(), count),
            accesses: IdVec::filled(Accesses::new(), count),
            ..Self::default()
        };
        types.join(function, used);
        types.join_objects(function, used, objects);
        types.vote(function, used);
        types.vote_signed(function, used);
        types.vote_given(function, &hints.values);
        types.spread_signs(function, used);
        types.pointers(function, used);
        types.vote_constants(function, used);
        types.decide(function, used, known);
        for _ in 0..3 {
            types.accesses.iter_mut().for_each(Vec::clear);
            types.spaces.clear();
            types.accessed(function, used, objects);
            types.adopt(function, used, objects, known);
            types.decide(function, used, known);
        }
        types
    }

    /// Returns the representative of a value's class: the values with the same type.
    pub(crate) fn class_of(&self, id: ValueId) -> ValueId {
        let mut root = id;
        while self.class[root] != root {
            root = self.class[root];
        }
        root
    }

    /// Returns the structure that a value points to, according to the source code.
    pub(crate) fn given_structure(&self, id: ValueId) -> Option<StructureId> {
        self.given_structures.get(&self.class_of(id)).copied()
    }

    /// Returns the representative of a class, and shortens the way to it.
    fn find(&mut self, id: ValueId) -> ValueId {
        let root = self.class_of(id);
        let mut at = id;
        while self.class[at] != root {
            at = std::mem::replace(&mut self.class[at], root);
        }
        root
    }

    fn unite(&mut self, a: ValueId, b: ValueId) {
        let (a, b) = (self.find(a), self.find(b));
        if a != b {
            self.class[b] = a;
        }
    }

    fn join(&mut self, function: &Function, used: &ValueMap<bool>) {
        // Reads of the same parameter have the same type.
        let mut parameters: FastMap<(u32, u8), ValueId> = FastMap::default();
        // Reads of the same texture have the same type.
        let mut references: FastMap<SymbolId, ValueId> = FastMap::default();
        // All results of the function have the same type.
        let mut result = ValueId::NONE;
        for id in function.values.keys() {
            if !used[id] || function.is_replaced(id) {
                continue;
            }
            let value = &function.values[id];
            if let Op::Parameter(offset) = value.op {
                let first = *parameters.entry((offset, value.width)).or_insert(id);
                self.unite(first, id);
            }
            if let Op::ImageRead(image) = value.op
                && let Some(reference) = function.images[image].reference
            {
                let first = *references.entry(reference).or_insert(id);
                self.unite(first, id);
            }
            let skip = match value.op {
                Op::Result(_) if matches!(function.op(function.input(id, 0)), Op::Invoke(_)) => continue,
                Op::Phi | Op::Copy | Op::Result(_) => 0,
                Op::Select => 1,
                Op::Return
                    if function.inputs(id).len() == 1 && is_joined(function, function.input(id, 0)) =>
                {
                    let input = function.input(id, 0);
                    if result == ValueId::NONE {
                        result = input;
                    }
                    self.unite(result, input);
                    continue;
                }
                _ => continue,
            };
            for index in skip..function.inputs(id).len() {
                let input = function.input(id, index);
                if input != ValueId::NONE && is_joined(function, input) {
                    self.unite(id, input);
                }
            }
        }
    }

    /// Joins what is stored in and loaded from the same bytes, which are a variable.
    fn join_objects(&mut self, function: &Function, used: &ValueMap<bool>, objects: &Objects) {
        let mut firsts: FastMap<(Slot, u8), ValueId> = FastMap::default();
        for id in function.values.keys().filter(|id| used[*id] && !function.is_replaced(*id)) {
            let value = match function.op(id) {
                Op::Load(_) => id,
                Op::Store(_) => function.input(id, 1),
                _ => continue,
            };
            let address = function.input(id, 0);
            let slot = space_of(function, id, address).and_then(|space| objects.slot(space, address));
            if let Some(slot) = slot.filter(|slot| objects.is_fixed(*slot) && is_joined(function, value)) {
                let first = *firsts.entry((slot, function.width(value))).or_insert(value);
                self.unite(first, value);
            }
        }
    }

    fn votes_of(&mut self, id: ValueId) -> &mut Votes {
        let root = self.find(id);
        &mut self.votes[root]
    }

    fn vote(&mut self, function: &Function, used: &ValueMap<bool>) {
        for id in function.values.keys() {
            if !used[id] || function.is_replaced(id) {
                continue;
            }
            let op = function.op(id);
            if let Op::ImageRead(image) | Op::ImageWrite(image) = op {
                self.image_votes(function, id, &function.images[image]);
                continue;
            }
            if let Op::Invoke(callee) = op {
                self.call_votes(function, id, &function.callees[callee]);
                continue;
            }
            if op.gives_float() {
                self.votes_of(id).float += 1;
            } else if matches!(op, Op::Call(call) if call.result() == Operand::Pointer) {
                self.votes_of(id).pointer = true;
            } else if op.is_integer() {
                self.votes_of(id).integer(op.result_sign());
            }
            for index in 0..function.inputs(id).len() {
                let input = function.input(id, index);
                if input == ValueId::NONE {
                    continue;
                }
                if op.takes_float(index) {
                    self.votes_of(input).float += 1;
                } else if let Some(sign) = op.input_sign(index) {
                    self.votes_of(input).integer(sign);
                }
            }
        }
    }

    /// Adds the votes of operations that were signed before passes changed them.
    fn vote_signed(&mut self, function: &Function, used: &ValueMap<bool>) {
        for id in function.signed.iter().map(|id| function.resolve(*id)) {
            if used[id] && matches!(function.width(id), 8..=64) {
                self.votes_of(id).signed += 1;
            }
        }
    }

    /// Gives classes without a sign that of the sums and products that they are part of, or are made of: in C, a sum of
    /// signed numbers is signed.
    fn spread_signs(&mut self, function: &Function, used: &ValueMap<bool>) {
        let is_part = |id: &ValueId| used[*id] && !function.is_replaced(*id) && is_sum(function, *id);
        for id in function.values.keys().rev().filter(is_part) {
            if self.votes_of(id).is_signed() {
                for part in parts(function, id) {
                    let votes = self.votes_of(part);
                    votes.signed += u32::from(votes.signed + votes.unsigned == 0);
                }
            }
        }
        for id in function.values.keys().filter(is_part) {
            let votes = *self.votes_of(id);
            if votes.signed + votes.unsigned == 0
                && parts(function, id).next().is_some()
                && parts(function, id).all(|part| self.votes_of(part).is_signed())
            {
                self.votes_of(id).signed += 1;
            }
        }
    }

    /// Adds the votes of types that the source code gives, which outweigh all others.
    fn vote_given(&mut self, function: &Function, given: &[(ValueId, Type)]) {
        const WEIGHT: u32 = 1 << 20;
        for &(id, ty) in given {
            let width = function.width(id);
            match ty {
                Type::Float(bits) if bits == width => self.votes_of(id).float += WEIGHT,
                Type::Pointer(bits, kind) if width == 64 => {
                    self.votes_of(id).pointer = true;
                    let root = self.find(id);
                    self.given.push((root, (bits, kind)));
                }
                Type::StructurePointer(structure) if width == 64 => {
                    self.votes_of(id).pointer = true;
                    let root = self.find(id);
                    self.given_structures.insert(root, structure);
                }
                Type::Integer(bits, is_signed) if bits <= width => {
                    let votes = self.votes_of(id);
                    votes.integer += WEIGHT;
                    *(if is_signed { &mut votes.signed } else { &mut votes.unsigned }) += WEIGHT;
                }
                _ => {}
            }
        }
    }

    /// Makes floats of classes without votes that constants are merged in, if those look like floats.
    fn vote_constants(&mut self, function: &Function, used: &ValueMap<bool>) {
        let mut found: FastMap<ValueId, Evidence> = FastMap::default();
        for id in function.values.keys().filter(|id| used[*id] && !function.is_replaced(*id)) {
            let first = match function.op(id) {
                Op::Phi | Op::Copy => 0,
                Op::Select => 1,
                _ => continue,
            };
            let inputs = (first..function.inputs(id).len()).map(|index| function.input(id, index));
            for input in inputs.filter(|input| *input != ValueId::NONE) {
                let all = found.entry(self.find(id)).or_insert(Evidence::None);
                *all = all.and(evidence(function, input));
            }
        }
        for (root, _) in found.into_iter().filter(|(_, all)| *all == Evidence::Float) {
            let votes = &mut self.votes[root];
            let is_known = votes.pointer || votes.float + votes.integer + votes.signed + votes.unsigned > 0;
            votes.float += u32::from(!is_known);
        }
    }

    /// Adds the votes of a texture or surface access: coordinates have the types of the CUDA function, and filtered
    /// reads are floating point.
    fn image_votes(&mut self, function: &Function, id: ValueId, image: &Image) {
        if image.is_filtered() {
            self.votes_of(id).float += 1;
        }
        for index in 0..function.inputs(id).len() {
            let input = function.input(id, index);
            match image.input(index) {
                _ if input == ValueId::NONE => {}
                Some(operand) if operand.is_float() => self.votes_of(input).float += 1,
                Some(operand) if operand.is_signed() => self.votes_of(input).integer(Sign::Signed),
                Some(_) => self.votes_of(input).integer(Sign::Any),
                None => {}
            }
        }
    }

    /// Adds the votes of a call of a device function: those of the types that are known.
    fn call_votes(&mut self, function: &Function, id: ValueId, callee: &Callee) {
        let mut vote = |id: ValueId, ty: Type| match ty {
            Type::Float(_) => self.votes_of(id).float += 1,
            ty if ty.is_pointer() => self.votes_of(id).pointer = true,
            Type::Integer(_, true) => self.votes_of(id).integer(Sign::Signed),
            _ => {}
        };
        vote(id, callee.result_type());
        // The first input of a call through a pointer is the pointer.
        let first = usize::from(callee.is_pointer());
        for (index, parameter) in callee.parameters.iter().enumerate() {
            let input = function.input(id, index + first);
            if input != ValueId::NONE {
                vote(input, parameter.ty.unwrap_or(Type::Void));
            }
        }
    }

    /// Marks the bases of addresses as pointers.
    fn pointers(&mut self, function: &Function, used: &ValueMap<bool>) {
        for id in function.values.keys() {
            if !used[id] || function.is_replaced(id) {
                continue;
            }
            if let Some(address) = address_of(function, id) {
                self.mark(function, address);
            }
        }
        // Pointers that are derived from a pointer, and those it is derived from, are pointers too.
        for id in function.values.keys() {
            if used[id] && function.width(id) == 64 && function.op(id) == Op::Add && !function.is_replaced(id)
            {
                let root = self.find(id);
                if self.votes[root].pointer {
                    self.mark(function, id);
                }
            }
        }
    }

    fn mark(&mut self, function: &Function, address: ValueId) {
        let mut list = vec![address];
        let mut steps = 0;
        while let Some(id) = list.pop() {
            steps += 1;
            if function.width(id) != 64 || steps > 64 {
                continue;
            }
            let is_new = !self.votes_of(id).pointer;
            if let Some(base) = Address::new(function, id).base {
                let votes = self.votes_of(base);
                let is_new_base = !votes.pointer;
                votes.pointer = true;
                if is_new_base {
                    match function.op(base) {
                        Op::Phi | Op::Copy => {
                            list.extend((0..function.inputs(base).len()).map(|i| function.input(base, i)));
                        }
                        Op::Select => list.extend([function.input(base, 1), function.input(base, 2)]),
                        _ => {}
                    }
                }
            }
            if is_new && !matches!(function.op(id), Op::Constant(_)) {
                self.votes_of(id).pointer = true;
            }
        }
    }

    /// Records the accesses through each pointer.
    fn accessed(&mut self, function: &Function, used: &ValueMap<bool>, objects: &Objects) {
        for (root, element) in std::mem::take(&mut self.given) {
            *entry(&mut self.accesses[root], element) = 1 << 31;
            self.given.push((root, element));
        }
        for id in function.values.keys() {
            if !used[id] || function.is_replaced(id) {
                continue;
            }
            if let Op::Invoke(callee) = function.op(id) {
                self.passed(function, id, &function.callees[callee]);
                continue;
            }
            let Some(address) = address_of(function, id) else { continue };
            let (space, mut ty) = match function.op(id) {
                Op::Load(space) => (space, self.of[id]),
                Op::Store(space) => (space, self.of[function.input(id, 1)]),
                Op::Call(call) => {
                    let ty = Type::of_operand(call.input(1));
                    (Space::Generic, if ty == Type::Void { Type::Integer(32, false) } else { ty })
                }
                _ => continue,
            };
            let width = match function.op(id) {
                Op::Load(_) => function.width(id),
                Op::Store(_) => function.width(function.input(id, 1)),
                _ => ty.bits(),
            };
            if ty.is_pointer() || matches!(ty, Type::Bool | Type::Void) {
                ty = Type::Integer(width, false);
            }
            // The sign of a narrow load follows from how it is widened; that is part of the votes.
            let kind = match ty {
                Type::Float(_) => NumberKind::Float,
                Type::Integer(_, true) => NumberKind::Signed,
                _ => NumberKind::Unsigned,
            };
            let (kind, weight) = match function.op(id) {
                // More than that of a value that is only moved.
                Op::Store(_) if evidence(function, function.input(id, 1)) == Evidence::Float => {
                    (NumberKind::Float, 32)
                }
                Op::Store(_) if matches!(function.op(function.input(id, 1)), Op::Constant(_)) => (kind, 1),
                _ => {
                    let value = if let Op::Store(_) = function.op(id) { function.input(id, 1) } else { id };
                    let votes = *self.votes_of(value);
                    let is_moved = votes.float + votes.integer == 0 && !function.op(value).gives_float();
                    (kind, if is_moved { 16 } else { 1 << 12 })
                }
            };
            let accesses = if space == Space::Generic || function.width(address) == 64 {
                let Some(base) = Address::new(function, address).base else { continue };
                let root = self.find(base);
                &mut self.accesses[root]
            } else {
                let space = space_of(function, id, address).unwrap_or(space);
                if let Some(slot) = objects.slot(space, address) {
                    let accesses = self.spaces.entry((space, Some(slot))).or_default();
                    let count = entry(accesses, (width, kind));
                    *count = u32::saturating_add(*count, weight);
                }
                self.spaces.entry((space, None)).or_default()
            };
            let count = entry(accesses, (width, kind));
            *count = u32::saturating_add(*count, weight);
        }
    }

    /// Records what device functions access through the pointers that are passed to them.
    fn passed(&mut self, function: &Function, call: ValueId, callee: &Callee) {
        let first = usize::from(callee.is_pointer());
        for (index, parameter) in callee.parameters.iter().enumerate() {
            let input = function.input(call, index + first);
            let Some(Type::Pointer(bits, kind)) = parameter.ty else { continue };
            // Bytes are what a pointer without accesses points to.
            if input == ValueId::NONE || (bits, kind) == (8, NumberKind::Unsigned) {
                continue;
            }
            let root = self.find(input);
            let count = entry(&mut self.accesses[root], (bits, kind));
            *count = count.saturating_add(16);
        }
    }

    /// Gives values that are only moved the type of the memory they are moved from or to.
    fn adopt(
        &mut self,
        function: &Function,
        used: &ValueMap<bool>,
        objects: &Objects,
        known: &[ParameterType],
    ) {
        for id in function.values.keys() {
            if !used[id] || function.is_replaced(id) {
                continue;
            }
            let (space, value) = match function.op(id) {
                Op::Load(space) => (space, id),
                Op::Store(space) => (space, function.input(id, 1)),
                _ => continue,
            };
            if matches!(function.op(value), Op::Constant(_) | Op::Undefined) {
                continue;
            }
            let votes = *self.votes_of(value);
            let has_sign = votes.signed + votes.unsigned > 0 || function.op(value).is_integer();
            if votes.float > 0 || votes.pointer || votes.integer > 0 && has_sign {
                continue;
            }
            let found = if space == Space::Generic || function.width(function.input(id, 0)) == 64 {
                let base = Address::new(function, function.input(id, 0)).base;
                base.and_then(|base| {
                    let root = self.find(base);
                    known_pointee(function, base, known).or(most_usual(&self.accesses[root]))
                })
            } else {
                let address = function.input(id, 0);
                let space = space_of(function, id, address).unwrap_or(space);
                let slot = objects.slot(space, address);
                self.spaces.get(&(space, slot)).and_then(most_usual)
            };
            match found {
                Some((bits, NumberKind::Float)) if bits == function.width(value) && votes.integer == 0 => {
                    self.votes_of(value).float += 1;
                }
                Some((bits, NumberKind::Signed)) if bits == function.width(value) => {
                    let votes = self.votes_of(value);
                    votes.integer += 1;
                    votes.signed += 1;
                }
                _ => {}
            }
        }
    }

    fn decide(&mut self, function: &Function, used: &ValueMap<bool>, known: &[ParameterType]) {
        self.of.resize(function.values.len(), Type::Void);
        for id in function.values.keys() {
            if !used[id] || function.is_replaced(id) {
                continue;
            }
            let root = self.find(id);
            let votes = self.votes[root];
            let width = function.width(id);
            let op = function.op(id);
            if let Op::Parameter(offset) = op
                && let Some(found) =
                    known.iter().find(|known| known.offset == offset && known.ty.bits() == width)
            {
                self.of[id] = found.ty;
                continue;
            }
            if let Op::Invoke(callee) = op {
                self.of[id] = function.callees[callee].result_type();
                continue;
            }
            if let Op::ImageRead(image) = op {
                self.of[id] = element(&function.images[image], votes);
                continue;
            }
            self.of[id] = match width {
                0 => Type::Void,
                1 => Type::Bool,
                _ if op.gives_float() => Type::Float(width),
                // A class with uses as a pointer and as a float is a number.
                64 if votes.pointer && votes.float == 0 && !matches!(op, Op::Constant(_)) => {
                    let (bits, kind) = self.pointee(function, id, root, known);
                    Type::Pointer(bits, kind)
                }
                32 | 64 if !op.is_integer() && votes.float > 0 && votes.float >= votes.integer => {
                    Type::Float(width)
                }
                bits => Type::Integer(bits, self.has_sign(function, id, votes)),
            };
        }
    }

    /// Returns whether an integer is signed: by the votes of its class, and without votes by its operator.
    fn has_sign(&self, function: &Function, id: ValueId, votes: Votes) -> bool {
        match function.op(id) {
            Op::Sar | Op::SignExtend | Op::Sdiv | Op::Srem => true,
            Op::Shr | Op::ZeroExtend | Op::High | Op::Concat => false,
            Op::Call(call) => call.result().is_signed(),
            _ => votes.is_signed(),
        }
    }

    fn pointee(
        &mut self,
        function: &Function,
        id: ValueId,
        root: ValueId,
        known: &[ParameterType],
    ) -> (u8, NumberKind) {
        let mut root = root;
        if self.accesses[root].is_empty()
            && let Some(base) = Address::new(function, id).base
        {
            if let Some(known) = known_pointee(function, base, known) {
                return known;
            }
            root = self.find(base);
        }
        most_usual(&self.accesses[root]).unwrap_or((8, NumberKind::Unsigned))
    }

    /// Returns the most common access of memory without pointers.
    pub fn region(&self, space: Space) -> Option<(u8, NumberKind)> {
        self.spaces.get(&(space, None)).and_then(most_usual)
    }
}

/// Returns what a pointer parameter with a known type points to.
fn known_pointee(function: &Function, base: ValueId, known: &[ParameterType]) -> Option<(u8, NumberKind)> {
    let Op::Parameter(offset) = function.op(base) else { return None };
    match known.iter().find(|known| known.offset == offset)?.ty {
        Type::Pointer(bits, kind) => Some((bits, kind)),
        _ => None,
    }
}

/// Returns the result type of a texture or surface read.
fn element(image: &Image, votes: Votes) -> Type {
    if image.bits < 32 {
        return Type::Integer(image.bits, image.is_signed);
    }
    let kind = if votes.float > 0 && votes.float >= votes.integer {
        NumberKind::Float
    } else if votes.is_signed() {
        NumberKind::Signed
    } else {
        NumberKind::Unsigned
    };
    if image.words == 1 { Type::of(32, kind) } else { Type::Vector(image.words, kind) }
}

/// Returns the access with the most votes, and the wider one of equals.
fn most_usual(accesses: &Accesses) -> Option<(u8, NumberKind)> {
    accesses.iter().max_by_key(|entry| (entry.1, entry.0)).map(|entry| entry.0)
}

/// Returns whether a value has the type of what it is merged with: constants take any.
fn is_joined(function: &Function, id: ValueId) -> bool {
    !matches!(function.op(id), Op::Constant(_) | Op::Undefined)
}

/// Returns the address that an operation uses.
pub fn address_of(function: &Function, id: ValueId) -> Option<ValueId> {
    match function.op(id) {
        Op::Load(_) | Op::Store(_) => Some(function.input(id, 0)),
        Op::Call(call) if call.input(0) == Operand::Pointer => Some(function.input(id, 0)),
        _ => None,
    }
}
