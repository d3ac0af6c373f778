//! Memory instructions: variables, loads, stores, atomic operations, fences and `getelementptr`.
//!
//! Knowledge: the Language Reference on memory and atomic orderings; what LLVM 14 and 19 refuse.

use super::body::BodyCheck;
use super::context::Context;
use crate::body::FunctionBody;
use crate::ids::{TypeId, ValueId};
use crate::instruction::{Instruction, Opcode};
use crate::types::Type;

const RULE: &str = "ir-memory";
const ATOMIC: &str = "ir-atomic";

/// Orderings by number.
mod ordering {
    pub(super) const NONE: u32 = 0;
    pub(super) const UNORDERED: u32 = 1;
    pub(super) const ACQUIRE: u32 = 3;
    pub(super) const RELEASE: u32 = 4;
    pub(super) const ACQUIRE_RELEASE: u32 = 5;
}

/// The largest exponent of an alignment that LLVM 15 and later represent; earlier ones have 2^29.
const MAX_ALIGNMENT: u32 = 32;

/// The number of the synchronisation scope of the whole system.
const SYSTEM: u32 = 1;

/// The types that an operation of `atomicrmw` takes.
#[derive(Clone, Copy)]
enum Operands {
    Exchange,
    Integer,
    Float,
}

/// The types by operation, numbered as in [`crate::instruction::ATOMIC_OPERATIONS`] and as LLVM 20 to 22 continue it.
const ATOMIC_OPERANDS: [Operands; 21] = {
    use Operands::{Exchange, Float, Integer};
    [
        Exchange, Integer, Integer, Integer, Integer, Integer, Integer, Integer, Integer, Integer, Integer, Float, Float,
        Float, Float, Integer, Integer, Integer, Integer, Float, Float,
    ]
};

impl BodyCheck<'_, '_, '_> {
    pub(super) fn memory_instruction(&mut self, of: &Instruction) {
        match of.opcode {
            Opcode::Alloca => self.alloca(of),
            Opcode::Load => self.load(of),
            Opcode::Store => self.store(of),
            Opcode::Fence => {
                let order = of.memory().ordering();
                self.require(order >= ordering::ACQUIRE, ATOMIC, "a fence acquires or releases");
            }
            Opcode::CmpXchg => self.exchange(of),
            Opcode::AtomicRmw => self.atomic_operation(of),
            Opcode::GetElementPtr => self.element_pointer(of),
            _ => {}
        }
    }

    fn alloca(&mut self, of: &Instruction) {
        let context = self.context;
        let ty = TypeId(of.detail);
        let sized = context.types.is_sized(ty);
        self.require(sized, RULE, "a variable has a type without a size");
        let count = self.type_at(of, 0);
        self.require(context.is_integer(count), RULE, "the number of elements of a variable is an integer");
        if context.generation <= 14 && context.types.typed_pointers {
            let space = context.table().address_space(of.ty);
            let expected = context.module.data_layout.alloca_address_space();
            self.require(space == Some(expected), RULE, "a variable is in another address space than the stack");
        }
        if of.flags & 2 != 0 {
            self.require(context.is_pointer(ty), RULE, "a swifterror variable holds a pointer");
            let one = self.value_at(of, 0).and_then(|id| context.integer(Some(self.body), id)) == Some(1);
            self.require(one, RULE, "a swifterror variable is no array");
        }
        self.alignment(of);
    }

    fn alignment(&mut self, of: &Instruction) {
        let fits = of.memory().alignment().is_none_or(|exponent| exponent <= MAX_ALIGNMENT);
        self.require(fits, RULE, "the alignment is larger than 4 GiB");
    }

    /// Checks a pointer operand, and in modules with typed pointers that it points to values of a type.
    fn pointer(&mut self, pointer: TypeId, value: TypeId) {
        let context = self.context;
        if self.require(context.is_pointer(pointer), RULE, "the address is a pointer")
            && let Some(pointee) = context.table().pointee(pointer)
        {
            self.require(context.same(pointee, value), RULE, "the pointer points to values of another type");
        }
    }

    fn load(&mut self, of: &Instruction) {
        let pointer = self.type_at(of, 0);
        self.pointer(pointer, of.ty);
        self.access(of, of.ty, &[ordering::RELEASE, ordering::ACQUIRE_RELEASE], "a load does not release");
    }

    fn store(&mut self, of: &Instruction) {
        let (value, pointer) = (self.type_at(of, 0), self.type_at(of, 1));
        self.pointer(pointer, value);
        self.access(of, value, &[ordering::ACQUIRE, ordering::ACQUIRE_RELEASE], "a store does not acquire");
    }

    /// Checks what loads and stores have in common.
    fn access(&mut self, of: &Instruction, ty: TypeId, forbidden: &[u32], message: &'static str) {
        let context = self.context;
        let sized = context.types.is_sized(ty) && context.is_first_class(ty);
        self.require(sized, RULE, "values without a size are not in memory");
        if context.types.has_target(ty) && matches!(context.get(ty), Type::Target { .. }) {
            return;
        }
        self.alignment(of);
        let order = of.memory().ordering();
        if order == ordering::NONE {
            self.require(of.detail == SYSTEM, ATOMIC, "an access that is not atomic has no synchronisation scope");
            return;
        }
        self.require(!forbidden.contains(&order), ATOMIC, message);
        let takes = matches!(
            context.get(ty),
            Type::Integer(_) | Type::Pointer { .. } | Type::OpaquePointer { .. } | Type::Unknown
        ) || (!context.is_vector(ty) && context.table().is_float(ty));
        if self.require(takes, ATOMIC, "an atomic access is of an integer, a pointer or a floating-point number") {
            self.atomic_size(ty);
        }
    }

    fn atomic_size(&mut self, ty: TypeId) {
        let context = self.context;
        let bits = match context.table().address_space(ty) {
            Some(space) => context.module.data_layout.pointer_bits(space),
            None => context.bits(ty),
        };
        let fits = bits == 0 || (bits >= 8 && bits.is_power_of_two());
        self.require(fits, ATOMIC, "the size of an atomic access is a power of two of bytes");
    }

    fn exchange(&mut self, of: &Instruction) {
        let context = self.context;
        let (pointer, expected, new) = (self.type_at(of, 0), self.type_at(of, 1), self.type_at(of, 2));
        self.pointer(pointer, expected);
        self.require(context.same(expected, new), RULE, "the expected and the new value have the same type");
        let is_exchangeable = context.is_integer(expected) || context.is_pointer(expected);
        if self.require(is_exchangeable, ATOMIC, "cmpxchg takes integers and pointers") {
            self.atomic_size(expected);
        }
        let (success, failure) = (of.memory().ordering(), of.memory().failure());
        self.require(success > ordering::UNORDERED, ATOMIC, "cmpxchg is at least monotonic");
        let fails = failure > ordering::UNORDERED
            && failure != ordering::RELEASE
            && failure != ordering::ACQUIRE_RELEASE;
        self.require(fails, ATOMIC, "a failed cmpxchg is at least monotonic and does not release");
    }

    fn atomic_operation(&mut self, of: &Instruction) {
        let context = self.context;
        let (pointer, value) = (self.type_at(of, 0), self.type_at(of, 1));
        self.pointer(pointer, value);
        let order = of.memory().ordering();
        self.require(order > ordering::UNORDERED, ATOMIC, "atomicrmw is at least monotonic");
        let operation = usize::from(of.flags >> 8);
        let scalar = !context.is_vector(value);
        let takes = match ATOMIC_OPERANDS.get(operation) {
            Some(Operands::Exchange) => {
                context.is_integer(value)
                    || (scalar && context.table().is_float(value))
                    || (context.is_pointer(value) && context.generation >= 15)
            }
            Some(Operands::Integer) => context.is_integer(value),
            // Vectors of floating-point numbers are allowed from LLVM 19 on.
            Some(Operands::Float) => context.is_float_or_vector(value) && (scalar || context.generation >= 19),
            None => false,
        };
        if self.require(takes, ATOMIC, "atomicrmw does not exist for this operation and type") {
            self.atomic_size(value);
        }
    }

    fn element_pointer(&mut self, of: &Instruction) {
        let operands: alloc::vec::Vec<ValueId> =
            self.body.operands_of(of).iter().filter_map(|operand| operand.as_value()).collect();
        let fault = self.context.element_pointer_fault(Some(self.body), TypeId(of.detail), &operands, of.ty);
        if let Some(fault) = fault {
            self.require(false, RULE, fault);
        }
    }
}

impl Context<'_, '_> {
    /// Returns what is wrong with a `getelementptr` of values of type `source`; `None` if nothing is.
    pub(super) fn element_pointer_fault(
        &self,
        body: Option<&FunctionBody>,
        source: TypeId,
        operands: &[ValueId],
        result: TypeId,
    ) -> Option<&'static str> {
        let (&base, indices) = operands.split_first()?;
        let base = self.type_of(body, base);
        if !self.is_pointer_or_vector(base) {
            return Some("getelementptr takes a pointer");
        }
        if !self.types.is_sized(source) {
            return Some("getelementptr of a type without a size");
        }
        if let Some(pointee) = self.table().pointee(self.table().scalar(base))
            && !self.same(pointee, source)
        {
            return Some("the pointer points to values of another type");
        }
        if matches!(self.get(source), Type::Struct(_)) && self.types.is_scalable(source) && self.generation >= 18 {
            return Some("getelementptr does not enter a struct of scalable vectors");
        }
        let mut element = source;
        let mut lanes = self.lanes(base);
        for (at, &index) in indices.iter().enumerate() {
            let index_type = self.type_of(body, index);
            if !self.is_integer_or_vector(index_type) {
                return Some("the indices of getelementptr are integers");
            }
            if let Some(own) = self.lanes(index_type) {
                if lanes.is_some_and(|lanes| lanes != own) {
                    return Some("the vectors of getelementptr have the same number of elements");
                }
                lanes = Some(own);
            }
            if at > 0 {
                element = match self.get(element) {
                    Type::Struct(_) => {
                        let field = self.module.integer(body, index).filter(|_| self.is_constant(body, index));
                        match field.and_then(|field| self.table().child(element, field)) {
                            Some(field) => field,
                            None => return Some("getelementptr enters a field that does not exist"),
                        }
                    }
                    Type::Array { element, .. } | Type::Vector { element, .. } => element,
                    Type::Unknown => return None,
                    _ => return Some("getelementptr enters a type without elements"),
                };
            }
        }
        if !self.is_pointer_or_vector(result) || self.lanes(result) != lanes {
            return Some("the result of getelementptr has the wrong type");
        }
        let scalar = self.table().scalar(result);
        let wrong = self.table().pointee(scalar).is_some_and(|pointee| !self.same(pointee, element))
            || self.table().address_space(result) != self.table().address_space(base);
        (wrong && !self.is_unknown(result)).then_some("the result of getelementptr has the wrong type")
    }
}
