//! What single intrinsics need beyond their signatures: constants in range, sizes that fit, arguments of a certain kind.
//!
//! [`RULES`] names the check of each intrinsic. An intrinsic whose name begins with that of a row has the row's check.
//!
//! Knowledge: the Language Reference on each intrinsic; what LLVM 14 and 19 refuse.

use super::attribute_kinds::kind;
use super::body::BodyCheck;
use super::calls::CallParts;
use super::context::has;
use super::intrinsics::RULE;
use crate::attributes::index;
use crate::constants::Constant;
use crate::ids::{TypeId, ValueId};
use crate::instruction::{Instruction, Opcode};
use crate::metadata::Metadata;
use crate::types::Type;
use crate::value::{OperandKind, ValueKind};

type Check = for<'b, 'c, 'm, 'a> fn(&'b mut BodyCheck<'c, 'm, 'a>, &Instruction, &CallParts<'c>);

/// A check, and the beginning of the names of the intrinsics that it is for.
struct Rule {
    prefix: &'static str,
    check: Check,
}

const fn rule(prefix: &'static str, check: Check) -> Rule {
    Rule { prefix, check }
}

const RULES: &[Rule] = &[
    rule("aarch64.ldaxr.", |check, _, parts| check.exclusive(parts, 0)),
    rule("aarch64.ldxr.", |check, _, parts| check.exclusive(parts, 0)),
    rule("aarch64.stlxr.", |check, _, parts| check.exclusive(parts, 1)),
    rule("aarch64.stxr.", |check, _, parts| check.exclusive(parts, 1)),
    rule("arm.ldaex.", |check, _, parts| check.exclusive(parts, 0)),
    rule("arm.ldrex.", |check, _, parts| check.exclusive(parts, 0)),
    rule("arm.stlex.", |check, _, parts| check.exclusive(parts, 1)),
    rule("arm.strex.", |check, _, parts| check.exclusive(parts, 1)),
    rule("bswap", |check, of, _| {
        let even = check.context.scalar_bits(of.ty).is_multiple_of(16);
        check.require(even, RULE, "bswap swaps an even number of bytes");
    }),
    rule("call.preallocated.arg", |check, of, parts| check.preallocated_argument(of, parts)),
    rule("call.preallocated.setup", |check, of, parts| check.preallocated_setup(of, parts)),
    rule("call.preallocated.teardown", |check, _, parts| {
        let of_setup = check.is_call_of(parts.arguments.first(), "call.preallocated.setup");
        check.require(of_setup, RULE, "the token is none of llvm.call.preallocated.setup");
    }),
    rule("eh.exceptioncode", |check, of, parts| check.exception_of_catch(of, parts)),
    rule("eh.exceptionpointer", |check, of, parts| check.exception_of_catch(of, parts)),
    rule("experimental.constrained.", |check, of, parts| check.constrained(of, parts)),
    rule("experimental.deoptimize", |check, of, parts| check.deoptimize(of, parts)),
    rule("experimental.gc.relocate", |check, of, parts| check.relocate(of, parts)),
    rule("experimental.gc.result", |check, of, parts| check.statepoint_result(of, parts)),
    rule("experimental.gc.statepoint", |check, of, parts| check.statepoint(of, parts)),
    rule("experimental.get.vector.length", |check, _, parts| {
        let positive = check.number(parts, 1).is_none_or(|factor| (1..1 << 31).contains(&factor));
        check.require(positive, RULE, "the vectorisation factor is not positive");
    }),
    rule("experimental.noalias.scope.decl", |check, _, parts| {
        let one = check.tuple_length(parts, 0) == Some(1);
        check.require(one, RULE, "the list of scopes has not one scope");
    }),
    rule("experimental.stepvector", |check, of, parts| check.step_vector(of, parts)),
    rule("stepvector", |check, of, parts| check.step_vector(of, parts)),
    rule("fptrunc.round", |check, _, parts| {
        let rounds = check.text(parts, 1).is_some_and(|text| text != b"round.dynamic" && ROUNDING.contains(&text));
        check.require(rounds, RULE, "a rounding mode that is not supported");
    }),
    rule("gcread", |check, of, parts| check.collected(of, parts)),
    rule("gcroot", |check, of, parts| check.root(of, parts)),
    rule("gcwrite", |check, of, parts| check.collected(of, parts)),
    rule("get.active.lane.mask", |check, of, _| {
        let bits = matches!(check.context.scalar(of.ty), Type::Integer(1));
        check.require(bits, RULE, "a lane mask is of i1");
    }),
    rule("invariant.start", |check, _, parts| {
        let size = check.signed(parts, 0).is_none_or(|size| size >= -1);
        check.require(size, RULE, "the size is negative");
    }),
    rule("is.fpclass", |check, _, parts| check.class_mask(parts, 1)),
    rule("vp.is.fpclass", |check, _, parts| check.class_mask(parts, 1)),
    rule("init.trampoline", |check, _, parts| {
        let function = parts.arguments.get(1).and_then(|argument| argument.as_value());
        let is_function = function.is_some_and(|id| check.context.function_behind(Some(check.body), id).is_some());
        check.require(is_function, RULE, "the second argument is no function");
    }),
    rule("llrint", |check, of, parts| check.same_lanes(of, parts)),
    rule("llround", |check, of, parts| check.same_lanes(of, parts)),
    rule("lrint", |check, of, parts| check.same_lanes(of, parts)),
    rule("lround", |check, of, parts| check.same_lanes(of, parts)),
    rule("localescape", |check, of, parts| check.escape(of, parts)),
    rule("localrecover", |check, of, parts| check.recover(of, parts)),
    rule("masked.gather", |check, _, parts| check.power_of_two(parts, 1, "the alignment is not a power of two or zero")),
    rule("masked.load", |check, of, parts| check.masked_load(of, parts)),
    rule("masked.scatter", |check, _, parts| check.power_of_two(parts, 2, "the alignment is not a power of two or zero")),
    rule("masked.store", |check, of, parts| check.masked_store(of, parts)),
    rule("matrix.", |check, of, parts| check.matrix(of, parts)),
    rule("memcpy", |check, of, parts| check.copy(of, parts)),
    rule("memmove", |check, of, parts| check.copy(of, parts)),
    rule("memset", |check, of, parts| check.copy(of, parts)),
    rule("preserve.array.access.index", |check, _, parts| check.element_type(parts, 0)),
    rule("preserve.struct.access.index", |check, _, parts| check.element_type(parts, 0)),
    rule("nvvm.setmaxnreg.", |check, _, parts| {
        let fits = check.number(parts, 0).is_none_or(|count| (24..=256).contains(&count) && count.is_multiple_of(8));
        check.require(fits, RULE, "the number of registers is no multiple of 8 from 24 to 256");
    }),
    rule("prefetch", |check, _, parts| {
        let fits = check.number(parts, 1).is_none_or(|write| write < 2) && check.number(parts, 2).is_none_or(|near| near < 4);
        check.require(fits, RULE, "a prefetch of an unknown kind");
    }),
    rule("ptrmask", |check, of, parts| check.pointer_mask(of, parts)),
    rule("scmp", |check, of, parts| check.same_lanes(of, parts)),
    rule("ucmp", |check, of, parts| check.same_lanes(of, parts)),
    rule("smul.fix", |check, of, parts| check.fixed_point(of, parts)),
    rule("umul.fix", |check, of, parts| check.fixed_point(of, parts)),
    rule("sdiv.fix", |check, of, parts| check.fixed_point(of, parts)),
    rule("udiv.fix", |check, of, parts| check.fixed_point(of, parts)),
    rule("stackprotector", |check, _, parts| {
        let variable = parts.arguments.get(1).and_then(|argument| argument.as_value());
        let stripped = variable.map(|id| check.context.stripped(Some(check.body), id));
        let is_variable = stripped.and_then(|id| check.definition(id)).is_some_and(|(_, of)| of.opcode == Opcode::Alloca);
        check.require(is_variable, RULE, "the second argument is no variable");
    }),
    rule("threadlocal.address", |check, of, parts| check.thread_local(of, parts)),
    rule("va_start", |check, _, _| {
        let function = check.context.module.functions.get(check.body.function as usize);
        let ty = function.map_or(TypeId::NONE, |function| function.symbol.ty);
        let variadic = matches!(check.context.get(ty), Type::Function { variadic: true, .. });
        check.require(variadic, RULE, "va_start in a function without variadic arguments");
    }),
    rule("vector.extract", |check, of, parts| check.subvector(of, parts)),
    rule("experimental.vector.extract", |check, of, parts| check.subvector(of, parts)),
    rule("vector.insert", |check, of, parts| check.subvector(of, parts)),
    rule("experimental.vector.insert", |check, of, parts| check.subvector(of, parts)),
    rule("vector.splice", |check, of, parts| check.splice(of, parts)),
    rule("experimental.vector.splice", |check, of, parts| check.splice(of, parts)),
    rule("vector.reduce.", |check, of, parts| check.reduction(of, parts)),
    rule("vp.", |check, of, parts| check.predicated(of, parts)),
];

/// Rounding modes and exception behaviours of constrained floating-point operations.
const ROUNDING: [&[u8]; 6] = [
    b"round.dynamic",
    b"round.tonearest",
    b"round.tonearestaway",
    b"round.downward",
    b"round.upward",
    b"round.towardzero",
];
const EXCEPTIONS: [&[u8]; 3] = [b"fpexcept.ignore", b"fpexcept.maytrap", b"fpexcept.strict"];
const PREDICATES: [&[u8]; 14] = [
    b"oeq", b"ogt", b"oge", b"olt", b"ole", b"one", b"ord", b"ueq", b"ugt", b"uge", b"ult", b"ule", b"une", b"uno",
];

impl<'c> BodyCheck<'c, '_, '_> {
    /// Checks a call of a known intrinsic.
    pub(super) fn known_intrinsic(&mut self, name: &str, of: &Instruction, parts: &CallParts<'c>) {
        if let Some(rule) = RULES.iter().find(|rule| name.starts_with(rule.prefix)) {
            (rule.check)(self, of, parts);
        }
    }

    pub(super) fn argument(&self, parts: &CallParts<'_>, at: usize) -> Option<ValueId> {
        parts.arguments.get(at)?.as_value()
    }

    fn argument_type(&self, parts: &CallParts<'_>, at: usize) -> TypeId {
        self.argument(parts, at).map_or(TypeId::NONE, |id| self.type_of(id))
    }

    /// Returns an argument that is a constant integer.
    pub(super) fn number(&self, parts: &CallParts<'_>, at: usize) -> Option<u64> {
        let id = self.argument(parts, at)?;
        let value = self.context.integer(Some(self.body), id)?;
        let bits = self.context.scalar_bits(self.type_of(id));
        // Constants are stored sign-extended.
        Some(if bits < 64 { value & (1u64 << bits).wrapping_sub(1) } else { value })
    }

    fn signed(&self, parts: &CallParts<'_>, at: usize) -> Option<i64> {
        let value = self.context.integer(Some(self.body), self.argument(parts, at)?)?;
        Some(value.cast_signed())
    }

    fn power_of_two(&mut self, parts: &CallParts<'_>, at: usize, message: &'static str) {
        let is_power = self.number(parts, at).is_none_or(|value| value == 0 || value.is_power_of_two());
        self.require(is_power, RULE, message);
    }

    fn element_type(&mut self, parts: &CallParts<'_>, at: usize) {
        let typed = self.context.table().pointee(self.argument_type(parts, at)).is_some() && !self.context.is_text;
        let has_type = self.context.parameter_has(parts.call.attributes, at, kind::ELEMENT_TYPE);
        self.require(typed || has_type, RULE, "an intrinsic needs elementtype on a pointer");
    }

    /// Checks an exclusive access, which needs the type of its element since pointers do not have it.
    fn exclusive(&mut self, parts: &CallParts<'_>, at: usize) {
        if self.context.table().pointee(self.argument_type(parts, at)).is_none() {
            self.element_type(parts, at);
        }
    }

    /// Returns a metadata argument.
    fn metadata(&self, parts: &CallParts<'_>, at: usize) -> Option<Metadata> {
        match parts.arguments.get(at)?.kind() {
            OperandKind::Metadata(id) => Some(self.context.module.metadata(Some(self.body), id)?.0),
            _ => None,
        }
    }

    fn text(&self, parts: &CallParts<'_>, at: usize) -> Option<&'c [u8]> {
        let OperandKind::Metadata(id) = parts.arguments.get(at)?.kind() else { return None };
        match self.context.module.metadata(Some(self.body), id)? {
            (Metadata::String(text), table) => Some(table.string(text)),
            _ => None,
        }
    }

    /// Returns the number of operands of a tuple that is an argument.
    fn tuple_length(&self, parts: &CallParts<'_>, at: usize) -> Option<u32> {
        match self.metadata(parts, at)? {
            Metadata::Node(node) => Some(node.references),
            _ => None,
        }
    }

    fn constrained(&mut self, _: &Instruction, parts: &CallParts<'_>) {
        let name = self.intrinsic_name(parts).unwrap_or_default();
        let count = parts.arguments.len();
        let Some(last) = count.checked_sub(1) else { return };
        let handles = self.text(parts, last).is_some_and(|text| EXCEPTIONS.contains(&text));
        self.require(handles, RULE, "an unknown behaviour on floating-point exceptions");
        let Some(before) = last.checked_sub(1) else { return };
        if name.contains("fcmp") {
            let known = self.text(parts, before).is_some_and(|text| PREDICATES.contains(&text));
            self.require(known, RULE, "an unknown predicate");
        } else if matches!(self.metadata(parts, before), Some(Metadata::String(_))) || self.takes_metadata(parts, before) {
            let rounds = self.text(parts, before).is_some_and(|text| ROUNDING.contains(&text));
            self.require(rounds, RULE, "an unknown rounding mode");
        }
    }

    fn takes_metadata(&self, parts: &CallParts<'_>, at: usize) -> bool {
        matches!(parts.arguments.get(at).map(|argument| argument.kind()), Some(OperandKind::Metadata(_)))
    }

    fn class_mask(&mut self, parts: &CallParts<'_>, at: usize) {
        let fits = self.number(parts, at).is_none_or(|mask| mask < 1 << 10);
        self.require(fits, RULE, "a class of floating-point numbers that does not exist");
    }

    fn copy(&mut self, _: &Instruction, parts: &CallParts<'_>) {
        let name = self.intrinsic_name(parts).unwrap_or_default();
        // Destination and source; memset has no source.
        let pointers = if name.starts_with("memset") { 1 } else { 2 };
        let atomic = name.contains("element.unordered.atomic");
        let element = if atomic { self.number(parts, 3) } else { None };
        if let Some(size) = element {
            self.require(size.is_power_of_two(), RULE, "the size of the elements is not a power of two");
            let whole = self.number(parts, 2).is_none_or(|length| size == 0 || length.checked_rem(size) == Some(0));
            self.require(whole, RULE, "the length is no multiple of the size of the elements");
        }
        for at in 0..pointers {
            let set = self.context.attributes(parts.call.attributes, index::parameter(at));
            let aligned = set.iter().find_map(|attribute| match *attribute {
                crate::attributes::Attribute::Integer(kind::ALIGN, value) => Some(value),
                _ => None,
            });
            let fits = match element {
                Some(size) => aligned.is_some_and(|aligned| aligned.is_power_of_two() && aligned >= size),
                None => aligned.is_none_or(|aligned| aligned == 0 || aligned.is_power_of_two()),
            };
            self.require(fits, RULE, "the alignment of an argument is wrong");
        }
    }

    fn masked_load(&mut self, of: &Instruction, parts: &CallParts<'_>) {
        if parts.arguments.len() == 4 {
            let is_power = self.number(parts, 1).is_none_or(|value| value.is_power_of_two());
            self.require(is_power, RULE, "the alignment is not a power of two");
        }
        let pointee = self.context.table().pointee(self.argument_type(parts, 0));
        let same = pointee.is_none_or(|pointee| self.context.same(pointee, of.ty));
        self.require(same, RULE, "the pointer points to values of another type");
        self.mask_lanes(parts, parts.arguments.len().saturating_sub(2), of.ty);
    }

    fn masked_store(&mut self, _: &Instruction, parts: &CallParts<'_>) {
        let ty = self.argument_type(parts, 0);
        if parts.arguments.len() == 4 {
            let is_power = self.number(parts, 2).is_none_or(|value| value.is_power_of_two());
            self.require(is_power, RULE, "the alignment is not a power of two");
        }
        let pointee = self.context.table().pointee(self.argument_type(parts, 1));
        let same = pointee.is_none_or(|pointee| self.context.same(pointee, ty));
        self.require(same, RULE, "the pointer points to values of another type");
        self.mask_lanes(parts, parts.arguments.len().saturating_sub(1), ty);
    }

    fn mask_lanes(&mut self, parts: &CallParts<'_>, at: usize, ty: TypeId) {
        let same = self.context.lanes(self.argument_type(parts, at)) == self.context.lanes(ty);
        self.require(same, RULE, "the mask has another number of elements than the vector");
    }

    fn same_lanes(&mut self, of: &Instruction, parts: &CallParts<'_>) {
        let ty = self.argument_type(parts, 0);
        let same = self.context.lanes(ty) == self.context.lanes(of.ty);
        self.require(same, RULE, "the result has another number of elements than the argument");
        let compares = self.intrinsic_name(parts).is_some_and(|name| name.ends_with("cmp"));
        if compares {
            self.require(self.context.scalar_bits(of.ty) >= 2, RULE, "the result has less than two bits");
        }
    }

    fn fixed_point(&mut self, of: &Instruction, parts: &CallParts<'_>) {
        let name = self.intrinsic_name(parts).unwrap_or_default();
        let bits = self.context.scalar_bits(of.ty);
        let most = if name.starts_with('s') { bits.saturating_sub(1) } else { bits };
        let fits = self.number(parts, 2).is_none_or(|scale| scale <= most && (scale < bits || !name.starts_with('s')));
        self.require(fits, RULE, "the scale is larger than the number of bits");
    }

    fn step_vector(&mut self, of: &Instruction, _: &CallParts<'_>) {
        let fits = self.context.is_vector(of.ty)
            && matches!(self.context.scalar(of.ty), Type::Integer(8..));
        self.require(fits, RULE, "a step vector is of integers of at least eight bits");
    }

    fn subvector(&mut self, of: &Instruction, parts: &CallParts<'_>) {
        let inserts = parts.arguments.len() == 3;
        let (whole, part, at) = if inserts {
            (of.ty, self.argument_type(parts, 1), 2)
        } else {
            (self.argument_type(parts, 0), of.ty, 1)
        };
        let context = self.context;
        let same = context.same(context.table().scalar(whole), context.table().scalar(part));
        self.require(same, RULE, "the vector has other elements than the part");
        let (Some((count, scalable)), Some((wanted, part_scalable))) = (context.lanes(whole), context.lanes(part)) else {
            return;
        };
        let start = self.number(parts, at).unwrap_or(0);
        let aligned = wanted != 0 && start.checked_rem(u64::from(wanted)) == Some(0);
        self.require(aligned, RULE, "the position is no multiple of the length of the part");
        if scalable == part_scalable {
            let fits = start.saturating_add(u64::from(wanted)) <= u64::from(count);
            self.require(fits, RULE, "the part is outside of the vector");
        }
        self.require(scalable || !part_scalable, RULE, "a scalable part of a vector of fixed length");
    }

    fn splice(&mut self, of: &Instruction, parts: &CallParts<'_>) {
        let count = self.context.lanes(of.ty).map_or(0, |(count, _)| i64::from(count));
        let fits = self.signed(parts, 2).is_none_or(|at| at >= count.wrapping_neg() && at < count);
        self.require(fits, RULE, "the index of a splice is outside of the vector");
    }

    fn reduction(&mut self, of: &Instruction, parts: &CallParts<'_>) {
        let name = self.intrinsic_name(parts).unwrap_or_default();
        let float = name.strip_prefix("vector.reduce.").is_some_and(|name| name.starts_with('f'));
        let context = self.context;
        let fits = if float { context.table().is_float(of.ty) } else { context.is_integer(of.ty) };
        self.require(fits, RULE, "a reduction of another type of elements");
    }

    fn pointer_mask(&mut self, of: &Instruction, parts: &CallParts<'_>) {
        let context = self.context;
        let mask = self.argument_type(parts, 1);
        self.require(context.is_pointer_or_vector(of.ty), RULE, "the first argument is no pointer");
        let same = context.lanes(of.ty) == context.lanes(mask);
        self.require(same, RULE, "the mask has another number of elements than the pointers");
    }

    /// Checks a vector-predicated cast or comparison.
    fn predicated(&mut self, of: &Instruction, parts: &CallParts<'_>) {
        use super::operations::Operation;
        let name = self.intrinsic_name(parts).and_then(|name| name.strip_prefix("vp.")).unwrap_or_default();
        let opcode = Opcode::ALL.iter().find(|opcode| opcode.is_cast() && opcode.mnemonic() == name);
        if let Some(&opcode) = opcode {
            let operand = self.argument(parts, 0).unwrap_or(ValueId::NONE);
            let operands = [operand];
            let operation = Operation { opcode, result: of.ty, operands: &operands, predicate: 0 };
            if let Some(fault) = self.context.operation_fault(Some(self.body), &operation) {
                self.require(false, RULE, fault);
            }
        }
        if matches!(name, "fcmp" | "icmp") {
            let known = self.text(parts, 2).is_some_and(|text| {
                let text = core::str::from_utf8(text).unwrap_or_default();
                let numbers = if name == "fcmp" { 0..16 } else { 32..42 };
                numbers.into_iter().any(|number| crate::instruction::predicate(number) == Some(text))
            });
            self.require(known, RULE, "an unknown predicate");
        }
    }

    fn matrix(&mut self, of: &Instruction, parts: &CallParts<'_>) {
        let name = self.intrinsic_name(parts).unwrap_or_default();
        let number = |at| self.number(parts, at).unwrap_or(0);
        let ty = |at| self.argument_type(parts, at);
        // The matrices that an intrinsic takes and makes: type, rows, columns.
        let matrices: &[(TypeId, u64, u64)] = match name {
            "matrix.multiply" => {
                let (rows, inner, columns) = (number(2), number(3), number(4));
                &[(ty(0), rows, inner), (ty(1), inner, columns), (of.ty, rows, columns)]
            }
            "matrix.transpose" => &[(of.ty, number(1), number(2)), (ty(0), number(1), number(2))],
            "matrix.column.major.load" => &[(of.ty, number(3), number(4))],
            "matrix.column.major.store" => &[(ty(0), number(4), number(5))],
            _ => return,
        };
        let lanes = |ty| self.context.lanes(ty).map_or(0, |(count, _)| u64::from(count));
        let fits = matrices.iter().all(|&(ty, rows, columns)| lanes(ty) == rows.saturating_mul(columns));
        let scalar = |ty| self.context.table().scalar(ty);
        let same = matrices.iter().all(|&(ty, ..)| self.context.same(scalar(ty), scalar(matrices.first().map_or(ty, |one| one.0))));
        let is_number = matrices.iter().all(|&(ty, ..)| self.context.scalar_bits(ty) > 0);
        let (rows, stride) = match name {
            "matrix.column.major.load" => (number(3), self.number(parts, 1)),
            "matrix.column.major.store" => (number(4), self.number(parts, 2)),
            _ => (0, None),
        };
        self.require(fits, RULE, "a vector does not have the elements of its matrix");
        self.require(same && is_number, RULE, "matrices have different or no numbers as elements");
        self.require(stride.is_none_or(|stride| stride >= rows), RULE, "the stride is less than the number of rows");
    }

    fn collected(&mut self, _: &Instruction, parts: &CallParts<'_>) {
        self.has_collector();
        let slot = if parts.arguments.len() == 3 { 2 } else { 1 };
        let pointee = self.context.table().pointee(self.argument_type(parts, slot));
        let points = pointee.is_none_or(|pointee| self.context.is_pointer(pointee));
        self.require(points, RULE, "the slot is no pointer to a pointer");
    }

    fn has_collector(&mut self) {
        let function = self.context.module.functions.get(self.body.function as usize);
        let has = function.is_some_and(|function| !function.collector.is_empty());
        self.require(has, RULE, "a function without a garbage collector");
    }

    fn root(&mut self, _: &Instruction, parts: &CallParts<'_>) {
        self.has_collector();
        let stripped = self.argument(parts, 0).map(|id| self.stripped_local(id));
        let variable = stripped.and_then(|id| self.definition(id)).filter(|(_, of)| of.opcode == Opcode::Alloca);
        let Some((_, variable)) = variable else {
            self.require(false, RULE, "the root is no variable");
            return;
        };
        let holds_pointer = self.context.is_pointer(TypeId(variable.detail));
        let is_null = self.argument(parts, 1).is_some_and(|id| {
            matches!(self.context.constant(Some(self.body), self.context.stripped(Some(self.body), id)), Some((Constant::Null, _)))
        });
        self.require(holds_pointer || !is_null, RULE, "a root that is no pointer has no metadata");
        let is_constant = self.argument(parts, 1).is_some_and(|id| self.context.is_constant(Some(self.body), id));
        self.require(is_constant, RULE, "the metadata of a root is no constant");
    }

    /// Follows casts of pointers, of instructions and constants.
    pub(super) fn stripped_local(&self, mut id: ValueId) -> ValueId {
        for _ in 0..64 {
            id = self.context.stripped(Some(self.body), id);
            match self.definition(id) {
                Some((_, of)) if matches!(of.opcode, Opcode::BitCast | Opcode::AddrSpaceCast | Opcode::GetElementPtr) => {
                    match self.value_at(of, 0) {
                        Some(operand) => id = operand,
                        None => break,
                    }
                }
                _ => break,
            }
        }
        id
    }

    fn escape(&mut self, _: &Instruction, parts: &CallParts<'_>) {
        self.require(self.block.0 == 0, RULE, "localescape is in the entry block");
        for at in 0..parts.arguments.len() {
            let Some(id) = self.argument(parts, at).map(|id| self.stripped_local(id)) else { continue };
            let is_null = matches!(self.context.constant(Some(self.body), id), Some((Constant::Null, _)));
            let variable = self.definition(id).filter(|(_, of)| of.opcode == Opcode::Alloca);
            let fixed = variable.and_then(|(_, of)| self.value_at(of, 0)).is_some_and(|count| {
                self.context.is_constant(Some(self.body), count)
            });
            self.require(is_null || fixed, RULE, "localescape takes variables of constant size");
        }
    }

    fn recover(&mut self, _: &Instruction, parts: &CallParts<'_>) {
        let stripped = self.argument(parts, 0).map(|id| self.stripped_local(id));
        let function = stripped.and_then(|id| self.context.function_behind(Some(self.body), id));
        let defined = function.and_then(|function| self.context.module.functions.get(function));
        let is_here = defined.is_some_and(|function| !function.declaration);
        self.require(is_here, RULE, "localrecover takes a function that the module defines");
    }

    fn thread_local(&mut self, _: &Instruction, parts: &CallParts<'_>) {
        let symbol = self.argument(parts, 0).and_then(|id| match self.context.value(None, id)?.kind {
            ValueKind::Global(index) => self.context.module.globals.get(index as usize).map(|one| &one.symbol),
            ValueKind::Alias(index) => self.context.module.aliases.get(index as usize).map(|one| &one.symbol),
            _ => None,
        });
        let is_local = symbol.is_some_and(|symbol| symbol.thread_local != 0);
        self.require(is_local, RULE, "the argument is no thread-local variable");
    }

    fn exception_of_catch(&mut self, _: &Instruction, parts: &CallParts<'_>) {
        let pad = self.argument(parts, 0).and_then(|id| self.definition(id));
        let is_catch = pad.is_some_and(|(_, of)| of.opcode == Opcode::CatchPad);
        self.require(is_catch, RULE, "the argument is no catchpad");
    }

    fn deoptimize(&mut self, of: &Instruction, parts: &CallParts<'_>) {
        let function = self.context.module.functions.get(self.body.function as usize);
        let result = function.map(|function| self.context.get(function.symbol.ty));
        if let Some(Type::Function { result, .. }) = result {
            self.require(self.context.same(result, of.ty), RULE, "deoptimize returns another type than its function");
        }
        let end = self.body.instructions.get(self.index.saturating_add(1) as usize);
        let returns = end.is_some_and(|end| {
            end.opcode == Opcode::Ret && self.value_at(end, 0).is_none_or(|value| value == of.result)
        });
        self.require(returns, RULE, "deoptimize is not followed by a return of its result");
        let has_state = self.has_bundle(parts.call, b"deopt");
        self.require(has_state, RULE, "deoptimize has no bundle with the state");
    }

    fn preallocated_setup(&mut self, _: &Instruction, parts: &CallParts<'_>) {
        let count = self.number(parts, 0);
        self.require(count.is_some(), RULE, "the number of preallocated arguments is no constant");
    }

    fn preallocated_argument(&mut self, _: &Instruction, parts: &CallParts<'_>) {
        let of_setup = self.is_call_of(parts.arguments.first(), "call.preallocated.setup");
        self.require(of_setup, RULE, "the token is none of llvm.call.preallocated.setup");
        let set = self.context.attributes(parts.call.attributes, index::FUNCTION);
        self.require(has(set, kind::PREALLOCATED), RULE, "llvm.call.preallocated.arg has no preallocated type");
        if !of_setup {
            return;
        }
        let setup = self.argument(parts, 0).and_then(|id| self.definition(id)).map(|(_, of)| *of);
        let count = setup.and_then(|of| self.call_parts(&of)).and_then(|parts| self.number(&parts, 0));
        let at = self.number(parts, 1);
        let fits = at.is_some_and(|at| count.is_none_or(|count| at < count));
        self.require(fits, RULE, "the index of a preallocated argument is out of range");
    }
}
