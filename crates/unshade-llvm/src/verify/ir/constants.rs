//! Constants of a module or body: each fits its type, and expressions follow the rules of instructions.
//!
//! Knowledge: the Language Reference on constants; what LLVM 14 and 19 refuse.

use super::body::BodyCheck;
use super::context::Context;
use super::findings::{Findings, Place};
use super::operations::Operation;
use crate::body::FunctionBody;
use crate::constants::{Constant, Constants, Expression};
use crate::ids::{TypeId, ValueId};
use crate::instruction::Opcode;
use crate::types::Type;
use crate::value::ValueKind;

const RULE: &str = "ir-constant";
const INTRINSIC: &str = "ir-intrinsic";

impl Context<'_, '_> {
    /// Checks the constants of the module.
    pub(super) fn check_constants(&self, findings: &mut Findings) {
        for (id, value) in (0u32..).zip(&self.module.values) {
            if let ValueKind::Constant(index) = value.kind {
                findings.enter(Place::Constant(ValueId(id)));
                self.check_constant(None, self.module.constants.get(index), &self.module.constants, value.ty, findings);
            }
        }
    }

    fn check_constant(
        &self,
        body: Option<&FunctionBody>,
        constant: Constant,
        constants: &Constants,
        ty: TypeId,
        findings: &mut Findings,
    ) {
        let fault = match constant {
            Constant::Integer(_) | Constant::WideInteger(_) => {
                (!self.is_integer(ty)).then_some("an integer has a type that is none")
            }
            Constant::Float(_) | Constant::WideFloat(_) => {
                (!self.table().is_float(ty)).then_some("a floating-point number has a type that is none")
            }
            Constant::Data(words) => self.data_fault(ty, constants.words(words).len()),
            Constant::Text(bytes) => self.data_fault(ty, constants.bytes(bytes).len()),
            Constant::Aggregate(values) => self.aggregate_fault(body, ty, constants.values(values)),
            Constant::Expression(index) => {
                let expression = constants.expression(index);
                expression.and_then(|expression| self.expression_fault(body, expression, constants, ty))
            }
            Constant::BlockAddress { function, block } => self.block_address_fault(function, block.0),
            Constant::Assembly(_) => (!self.is_pointer(ty)).then_some("inline assembly has a type that is no pointer"),
            _ => None,
        };
        if let Some(fault) = fault {
            findings.require(false, RULE, fault);
        }
        self.addresses_of_intrinsics(constant, constants, findings);
    }

    /// Returns what is wrong with elements that are stored as numbers.
    fn data_fault(&self, ty: TypeId, count: usize) -> Option<&'static str> {
        let (expected, element) = match self.get(ty) {
            Type::Array { count, element } => (count, element),
            Type::Vector { count, element, .. } => (u64::from(count), element),
            Type::Unknown => return None,
            _ => return Some("data have a type without elements"),
        };
        let is_number = matches!(self.get(element), Type::Integer(8 | 16 | 32 | 64) | Type::Unknown)
            || matches!(self.get(element), Type::Half | Type::BFloat | Type::Float | Type::Double);
        if !is_number {
            return Some("data are of integers and floating-point numbers");
        }
        (expected != count as u64).then_some("data have another number of elements than their type")
    }

    fn aggregate_fault(&self, body: Option<&FunctionBody>, ty: TypeId, values: &[ValueId]) -> Option<&'static str> {
        let count = match self.get(ty) {
            Type::Struct(structure) => structure.fields.len() as u64,
            Type::Array { count, .. } => count,
            Type::Vector { count, .. } => u64::from(count),
            Type::Unknown => return None,
            _ => return Some("an aggregate has a type without elements"),
        };
        if count != values.len() as u64 {
            return Some("an aggregate has another number of elements than its type");
        }
        let fits = (0u64..).zip(values).all(|(at, &value)| {
            let expected = self.table().child(ty, at).unwrap_or(TypeId::NONE);
            self.same(expected, self.type_of(body, value))
        });
        (!fits).then_some("an element of an aggregate has another type")
    }

    fn expression_fault(
        &self,
        body: Option<&FunctionBody>,
        of: &Expression,
        constants: &Constants,
        ty: TypeId,
    ) -> Option<&'static str> {
        let operands = constants.values(of.operands);
        let missing = operands.iter().any(|&id| {
            matches!(self.value(body, id).map(|value| value.kind), None | Some(ValueKind::Unresolved))
        });
        if missing {
            return Some("an expression uses a value that does not exist");
        }
        let variable = operands.iter().any(|&id| !self.is_constant(body, id));
        if variable {
            return Some("an expression uses a value that is no constant");
        }
        match of.opcode {
            Opcode::GetElementPtr => self.element_pointer_fault(body, of.ty, operands, ty),
            Opcode::PtrAuth => self.signed_pointer_fault(body, operands, ty),
            opcode => {
                self.operation_fault(body, &Operation { opcode, result: ty, operands, predicate: of.flags })
            }
        }
    }

    /// Checks a signed pointer: pointer, key, discriminator, address discriminator.
    fn signed_pointer_fault(&self, body: Option<&FunctionBody>, operands: &[ValueId], ty: TypeId) -> Option<&'static str> {
        // Since LLVM 22 a symbol that says whether to sign may follow.
        let (&[pointer, key, discriminator, address], symbol) = match operands.split_first_chunk() {
            Some(parts) => parts,
            None => return Some("a signed pointer has four operands"),
        };
        if symbol.len() > 1 {
            return Some("a signed pointer has too many operands");
        }
        let of = |id| self.type_of(body, id);
        let holds = self.is_pointer(of(pointer))
            && self.same(of(pointer), ty)
            && self.is_integer_of(of(key), 32)
            && self.is_integer_of(of(discriminator), 64)
            && self.is_pointer(of(address))
            && symbol.iter().all(|&symbol| self.is_pointer(of(symbol)));
        (!holds).then_some("an operand of a signed pointer has another type")
    }

    fn block_address_fault(&self, function: ValueId, block: u32) -> Option<&'static str> {
        match self.value(None, function).map(|value| value.kind) {
            Some(ValueKind::Function(_)) => {
                (block == 0).then_some("the address of an entry block is taken")
            }
            _ => Some("the address of a block of something that is no function"),
        }
    }

    /// Reports an intrinsic in a constant: only calls use intrinsics.
    fn addresses_of_intrinsics(&self, constant: Constant, constants: &Constants, findings: &mut Findings) {
        let used = match constant {
            Constant::Aggregate(values) => constants.values(values),
            Constant::Expression(index) => match constants.expression(index) {
                // LLVM changes the declarations of old intrinsics and casts them.
                Some(expression) if !expression.opcode.is_cast() => constants.values(expression.operands),
                _ => return,
            },
            _ => return,
        };
        let takes = used.iter().any(|&id| match self.value(None, id).map(|value| value.kind) {
            Some(ValueKind::Function(index)) => self.is_intrinsic(index as usize),
            _ => false,
        });
        findings.require(!takes, INTRINSIC, "the address of an intrinsic is taken");
    }
}

impl BodyCheck<'_, '_, '_> {
    /// Checks the constants of the body.
    pub(super) fn local_constants(&mut self) {
        let body = self.body;
        for value in body.values.iter().chain(&body.unnumbered) {
            if let ValueKind::Constant(index) = value.kind {
                self.findings.enter(Place::Module);
                let constant = body.constants.get(index);
                self.context.check_constant(Some(body), constant, &body.constants, value.ty, self.findings);
            }
        }
    }
}
