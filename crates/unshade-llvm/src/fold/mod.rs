//! Folds constant expressions as LLVM 14 and 19 do when they are made.
//!
//! LLVM has no way to make a constant expression that it can evaluate: `add (i32 1, i32 2)` in a text, in a file or in
//! the code of a compiler is `3` from the start. So assembler and printer ask a [`Folder`] for every expression.
//!
//! | file | folds |
//! |---|---|
//! | `casts` | casts, casts of casts, the bytes of an integer that a `trunc` keeps |
//! | `binary` | arithmetic and logic |
//! | `compare` | comparisons, of numbers and of addresses |
//! | `vectors` | `select`, `extractelement`, `insertelement`, `shufflevector`, `fneg` |
//! | `aggregates` | `extractvalue`, `insertvalue` |
//! | `pointers` | `getelementptr` |
//! | `integers`, `floats` | nothing: the numbers that the others compute with |
//! | `check` | nothing: it finds out whether anything may fold |
//! | `refold`, `everywhere` | the constants of a module that was read or made before |
//!
//! Constants are in their [canonical form](crate::rules::Canonical), each once, so that equal ones have the same id.
//! The work for one expression is bounded: what would take more stays an expression.
//!
//! Knowledge: what `llvm-as` and `llvm-dis` 14 and 19 make of expressions; LLVM's language reference for `undef` and
//! `poison`; IEEE 754.

mod aggregates;
mod binary;
mod casts;
mod check;
mod compare;
mod everywhere;
mod floats;
mod integers;
mod pointers;
mod refold;
mod vectors;

use crate::constants::{Constant, NewConstant, NewExpression};
use crate::global::{GlobalVariable, Linkage, Symbol};
use crate::ids::{TypeId, ValueId, narrow};
use crate::instruction::Opcode;
use crate::module::Module;
use crate::rules::{Canonical, ConstantIndex, extend_sign, wide_integer};
use crate::types::Type;
use crate::value::ValueKind;
use crate::write::Version;
use alloc::vec::Vec;
use floats::Format;
use integers::Integer;

pub(crate) use check::any_folds;
pub(crate) use everywhere::{fold_body, fold_module};
pub(crate) use refold::Refold;

/// The deepest nesting of folds within folds.
const MAX_DEPTH: u32 = 96;
/// The most folds, and vector elements, for one expression.
const MAX_STEPS: u32 = 1 << 16;
/// The widest integer that is folded.
const MAX_WIDTH: u32 = 1 << 14;
/// How many elements of vectors may be made for all expressions: a base, and a number for each byte or element that
/// there is.
const BASE_BUDGET: u64 = 1 << 22;
const BUDGET_PER_ELEMENT: u64 = 16;

/// Returns how many elements of vectors may be made, of so many bytes of text or elements of constants.
pub(crate) fn budget(size: u64) -> u64 {
    BASE_BUDGET.saturating_add(size.saturating_mul(BUDGET_PER_ELEMENT))
}

/// Makes constants of a module, folded.
pub(crate) struct Folder<'f, 'a> {
    module: &'f mut Module<'a>,
    index: &'f mut ConstantIndex,
    version: Version,
    /// The constants that were added, by their index among the module's, in order.
    pub(crate) added: Vec<u32>,
    /// Whether something depended on a symbol that is not defined yet.
    pub(crate) depends_on_undefined: bool,
    /// How many elements of vectors may still be made.
    budget: &'f mut u64,
    /// Whether a vector was not made because it has too many elements, so that nothing is folded.
    is_too_large: bool,
    depth: u32,
    steps: u32,
}

/// A constant expression, apart from the module.
#[derive(Clone)]
struct Parts {
    opcode: Opcode,
    flags: u32,
    ty: TypeId,
    in_range: u32,
    bounds: Vec<u64>,
    operands: Vec<ValueId>,
}

impl Parts {
    /// Returns an operand.
    fn operand(&self, at: usize) -> ValueId {
        self.operands.get(at).copied().unwrap_or(ValueId::NONE)
    }
}

/// What a symbol is.
enum SymbolKind<'m> {
    Variable(&'m GlobalVariable),
    Function(&'m Symbol),
    Alias,
    IndirectFunction(&'m Symbol),
    /// A name that is used but not defined yet.
    Undefined,
}

impl SymbolKind<'_> {
    fn symbol(&self) -> Option<&Symbol> {
        match self {
            Self::Variable(variable) => Some(&variable.symbol),
            Self::Function(symbol) | Self::IndirectFunction(symbol) => Some(symbol),
            Self::Alias | Self::Undefined => None,
        }
    }
}

impl<'f, 'a> Folder<'f, 'a> {
    /// Creates a folder for constants of a module.
    pub(crate) fn new(
        module: &'f mut Module<'a>,
        index: &'f mut ConstantIndex,
        version: Version,
        budget: &'f mut u64,
    ) -> Self {
        Self {
            module,
            index,
            version,
            added: Vec::new(),
            depends_on_undefined: false,
            budget,
            is_too_large: false,
            depth: 0,
            steps: 0,
        }
    }

    /// Returns an expression of type `ty`, folded. Its operands fit it.
    pub(crate) fn expression(&mut self, ty: TypeId, new: &NewExpression<'_>) -> ValueId {
        (self.steps, self.is_too_large) = (0, false);
        let operand = |at: usize| new.operands.get(at).copied().unwrap_or(ValueId::NONE);
        let (first, second, third) = (operand(0), operand(1), operand(2));
        let is_too_wide = |folder: &Self, ty: TypeId| folder.width(ty) > MAX_WIDTH;
        // What LLVM 3.7 evaluates, it had evaluated before it printed.
        if self.version == Version::Dxc {
            return self.make(ty, new);
        }
        if is_too_wide(self, ty) || new.operands.iter().any(|&one| is_too_wide(self, self.type_of(one))) {
            return self.make(ty, new);
        }
        match new.opcode {
            Opcode::GetElementPtr => {
                let parts = Parts {
                    opcode: new.opcode,
                    flags: new.flags,
                    ty: new.ty,
                    in_range: new.in_range,
                    bounds: new.bounds.to_vec(),
                    operands: new.operands.to_vec(),
                };
                self.element_pointer(&parts).unwrap_or_else(|| self.make(ty, new))
            }
            opcode if opcode.is_cast() => self.cast(opcode, first, ty),
            opcode if opcode.is_binary() => self.binary(opcode, first, second, new.flags),
            Opcode::ICmp | Opcode::FCmp => self.compare(new.flags, first, second),
            Opcode::Select => self.select(first, second, third),
            Opcode::ExtractElement => self.extract_element(first, second),
            Opcode::InsertElement => self.insert_element(first, second, third),
            Opcode::ShuffleVector => self.shuffle(first, second, third, ty),
            Opcode::FNeg => self.negate(first),
            _ => self.make(ty, new),
        }
    }

    /// Tries a fold, unless that is too much work.
    fn attempt(&mut self, fold: impl FnOnce(&mut Self) -> Option<ValueId>) -> Option<ValueId> {
        if self.depth >= MAX_DEPTH || self.steps >= MAX_STEPS {
            return None;
        }
        self.steps += 1;
        self.depth += 1;
        let folded = fold(self);
        self.depth -= 1;
        folded.filter(|_| !self.is_too_large)
    }

    /// Returns whether a vector of so many elements may be made.
    fn may_make(&mut self, count: u32) -> bool {
        let left = self.budget.checked_sub(u64::from(count)).filter(|_| count <= MAX_STEPS);
        self.is_too_large |= left.is_none();
        *self.budget = left.unwrap_or(*self.budget);
        left.is_some()
    }

    /// Returns a constant with this content.
    fn constant(&mut self, ty: TypeId, new: &NewConstant<'_>) -> ValueId {
        let (id, added) = self.index.intern(self.module, ty, new);
        self.added.extend(added);
        id
    }

    /// Returns an expression that is not folded.
    fn make(&mut self, ty: TypeId, new: &NewExpression<'_>) -> ValueId {
        self.constant(ty, &NewConstant::Expression(*new))
    }

    /// Returns an expression of operands alone that is not folded.
    fn plain(&mut self, opcode: Opcode, ty: TypeId, flags: u32, operands: &[ValueId]) -> ValueId {
        let new = NewExpression { opcode, flags, ty: TypeId::NONE, in_range: 0, bounds: &[], operands };
        self.make(ty, &new)
    }

    fn null(&mut self, ty: TypeId) -> ValueId {
        self.constant(ty, &NewConstant::Null)
    }

    fn undef(&mut self, ty: TypeId) -> ValueId {
        self.constant(ty, &NewConstant::Undef)
    }

    fn poison(&mut self, ty: TypeId) -> ValueId {
        self.constant(ty, &NewConstant::Poison)
    }

    /// Returns an integer constant; of a vector type, a vector of it.
    fn integer(&mut self, ty: TypeId, value: &Integer) -> ValueId {
        if value.is_zero() {
            return self.null(ty);
        }
        let scalar = self.module.types.scalar(ty);
        let id = match value.words.as_slice() {
            &[word] => {
                let mut words = [word];
                extend_sign(&mut words, value.width);
                self.constant(scalar, &NewConstant::Integer(words.first().copied().unwrap_or(0)))
            }
            words => {
                let words = wide_integer(words, value.width);
                self.constant(scalar, &NewConstant::WideInteger(&words))
            }
        };
        if scalar == ty { id } else { self.splat(ty, id) }
    }

    /// Returns a small integer constant; of a vector type, a vector of it.
    fn number(&mut self, ty: TypeId, number: u64) -> ValueId {
        let width = self.width(ty);
        self.integer(ty, &Integer::new(number, width))
    }

    /// Returns an `i32`.
    fn lane(&mut self, number: u32) -> ValueId {
        let ty = self.module.types.intern(Type::Integer(32));
        self.number(ty, u64::from(number))
    }

    /// Returns the constant whose bits are all set.
    fn all_ones(&mut self, ty: TypeId) -> ValueId {
        let width = self.width(ty);
        self.integer(ty, &Integer::ones(width))
    }

    /// Returns a truth value of this type, or a vector of it.
    fn truth(&mut self, ty: TypeId, value: bool) -> ValueId {
        self.number(ty, u64::from(value))
    }

    /// Returns a floating-point constant with these bits, least significant word first; of a vector type, a vector.
    fn float(&mut self, ty: TypeId, bits: u128) -> ValueId {
        let scalar = self.module.types.scalar(ty);
        let (low, high) = (bits as u64, (bits >> 64) as u64);
        let id = match self.module.types.get(scalar) {
            _ if bits == 0 => self.null(scalar),
            Type::X86Fp80 => {
                self.constant(scalar, &NewConstant::WideFloat(&[high << 48 | low >> 16, low & 0xFFFF]))
            }
            Type::Fp128 | Type::PpcFp128 => self.constant(scalar, &NewConstant::WideFloat(&[low, high])),
            _ => self.constant(scalar, &NewConstant::Float(low)),
        };
        if scalar == ty { id } else { self.splat(ty, id) }
    }

    /// Returns a vector of equal elements; if that has too many, anything of its type.
    fn splat(&mut self, ty: TypeId, element: ValueId) -> ValueId {
        match self.module.types.get(ty) {
            Type::Vector { count, scalable: false, .. }
                if !self.is_null(element) && !self.may_make(count) =>
            {
                self.undef(ty)
            }
            _ => self.splat_of_any_size(ty, element),
        }
    }

    /// Returns a vector of equal elements.
    pub(crate) fn splat_of_any_size(&mut self, ty: TypeId, element: ValueId) -> ValueId {
        let Type::Vector { count, scalable, .. } = self.module.types.get(ty) else { return element };
        if self.is_null(element) {
            return self.null(ty);
        }
        if !scalable {
            let elements = alloc::vec![element; count as usize];
            return self.vector(ty, &elements);
        }
        if self.is_undef(element) {
            return if self.version == Version::Llvm19 && self.is_poison(element) {
                self.poison(ty)
            } else {
                self.undef(ty)
            };
        }
        let width = if self.version == Version::Llvm14 { 32 } else { 64 };
        let index = self.module.types.intern(Type::Integer(width));
        let zero = self.null(index);
        let poison = self.poison(ty);
        let inserted = self.insert_element(poison, element, zero);
        let word = self.module.types.intern(Type::Integer(32));
        let mask = self.module.types.intern(Type::Vector { count, element: word, scalable: true });
        let mask = self.null(mask);
        self.shuffle(inserted, poison, mask, ty)
    }

    /// Returns an aggregate or vector of elements.
    fn vector(&mut self, ty: TypeId, elements: &[ValueId]) -> ValueId {
        let form = Canonical::of(self.module, self.version, ty, elements);
        self.constant(ty, &form.content(elements))
    }

    fn type_of(&self, id: ValueId) -> TypeId {
        self.module.value(None, id).map_or(TypeId::NONE, |value| value.ty)
    }

    fn form(&self, id: ValueId) -> Option<Constant> {
        self.module.constant(None, id).map(|(constant, _)| constant)
    }

    fn is_null(&self, id: ValueId) -> bool {
        self.form(id) == Some(Constant::Null)
    }

    /// Returns whether a constant is `undef` or `poison`.
    fn is_undef(&self, id: ValueId) -> bool {
        matches!(self.form(id), Some(Constant::Undef | Constant::Poison))
    }

    fn is_poison(&self, id: ValueId) -> bool {
        self.form(id) == Some(Constant::Poison)
    }

    fn is_vector(&self, ty: TypeId) -> bool {
        matches!(self.module.types.get(ty), Type::Vector { .. })
    }

    fn is_scalable(&self, ty: TypeId) -> bool {
        matches!(self.module.types.get(ty), Type::Vector { scalable: true, .. })
    }

    /// Returns the number of elements of a vector that is not scalable.
    fn lanes(&self, ty: TypeId) -> Option<u32> {
        match self.module.types.get(ty) {
            Type::Vector { count, scalable: false, .. } => Some(count),
            _ => None,
        }
    }

    /// Returns the width of an integer, or of the elements of a vector of them; 0 for other types.
    fn width(&self, ty: TypeId) -> u32 {
        match self.module.types.get(self.module.types.scalar(ty)) {
            Type::Integer(width) => width,
            _ => 0,
        }
    }

    /// Returns the integer that a constant is.
    fn integer_of(&self, id: ValueId) -> Option<Integer> {
        let value = self.module.value(None, id)?;
        let Type::Integer(width) = self.module.types.get(value.ty) else { return None };
        let (constant, constants) = self.module.constant(None, id)?;
        match constant {
            Constant::Null => Some(Integer::new(0, width)),
            Constant::Integer(word) => Some(Integer::new(word, width)),
            Constant::WideInteger(words) => Some(Integer::from_words(constants.words(words), width)),
            _ => None,
        }
    }

    fn is_integer(&self, id: ValueId) -> bool {
        let is_number =
            matches!(self.form(id), Some(Constant::Null | Constant::Integer(_) | Constant::WideInteger(_)));
        is_number && matches!(self.module.types.get(self.type_of(id)), Type::Integer(_))
    }

    /// Returns the bits of the floating-point number that a constant is, and its format.
    fn float_of(&self, id: ValueId) -> Option<(Format, u128)> {
        let ty = self.module.types.get(self.type_of(id));
        let (constant, constants) = self.module.constant(None, id)?;
        let bits = match constant {
            Constant::Null => 0,
            Constant::Float(bits) => u128::from(bits),
            Constant::WideFloat(words) => {
                let &[first, second] = constants.words(words) else { return None };
                match ty {
                    Type::X86Fp80 => u128::from(first) << 16 | u128::from(second & 0xFFFF),
                    _ => u128::from(second) << 64 | u128::from(first),
                }
            }
            _ => return None,
        };
        Some((Format::of(ty)?, bits))
    }

    fn is_float(&self, id: ValueId) -> bool {
        self.module.types.get(self.type_of(id)).float_bits().is_some()
            && matches!(self.form(id), Some(Constant::Null | Constant::Float(_) | Constant::WideFloat(_)))
    }

    /// Returns the expression that a constant is.
    fn parts(&self, id: ValueId) -> Option<Parts> {
        let (Constant::Expression(index), constants) = self.module.constant(None, id)? else { return None };
        let expression = constants.expression(index)?;
        Some(Parts {
            opcode: expression.opcode,
            flags: expression.flags,
            ty: expression.ty,
            in_range: expression.in_range,
            bounds: constants.words(expression.bounds).to_vec(),
            operands: constants.values(expression.operands).to_vec(),
        })
    }

    fn is_expression(&self, id: ValueId) -> bool {
        matches!(self.form(id), Some(Constant::Expression(_)))
    }

    /// Returns what symbol a value is.
    fn symbol(&self, id: ValueId) -> Option<SymbolKind<'_>> {
        let value = self.module.value(None, id)?;
        Some(match value.kind {
            ValueKind::Global(at) => match self.module.globals.get(at as usize) {
                Some(variable) => SymbolKind::Variable(variable),
                None => SymbolKind::Undefined,
            },
            ValueKind::Function(at) => match self.module.functions.get(at as usize) {
                Some(function) => SymbolKind::Function(&function.symbol),
                None => SymbolKind::Undefined,
            },
            ValueKind::Alias(at) => match self.module.aliases.get(at as usize) {
                Some(alias) if alias.indirect => SymbolKind::IndirectFunction(&alias.symbol),
                Some(_) => SymbolKind::Alias,
                None => SymbolKind::Undefined,
            },
            ValueKind::Unresolved => SymbolKind::Undefined,
            _ => return None,
        })
    }

    fn is_symbol(&self, id: ValueId) -> bool {
        self.symbol(id).is_some()
    }

    /// Notes whether a symbol that something depends on is not defined yet.
    fn depend_on(&mut self, id: ValueId) {
        self.depends_on_undefined |= matches!(self.symbol(id), Some(SymbolKind::Undefined));
    }

    /// Returns the element that a vector consists of.
    fn splatted(&mut self, id: ValueId) -> Option<ValueId> {
        let element = self.module.types.child(self.type_of(id), 0)?;
        let (constant, constants) = self.module.constant(None, id)?;
        match constant {
            Constant::Null => Some(self.null(element)),
            Constant::Data(words) => {
                let (&first, rest) = constants.words(words).split_first()?;
                if rest.iter().any(|&word| word != first) {
                    return None;
                }
                self.element(id, 0)
            }
            Constant::Aggregate(values) => {
                let (&first, rest) = constants.values(values).split_first()?;
                rest.iter().all(|&value| value == first).then_some(first)
            }
            Constant::Expression(_) => self.splatted_expression(id),
            _ => None,
        }
    }

    /// Returns the element of a vector that is the shuffle of an insertion, as [`Folder::splat`] makes it.
    fn splatted_expression(&self, id: ValueId) -> Option<ValueId> {
        let shuffle = self.parts(id).filter(|parts| parts.opcode == Opcode::ShuffleVector)?;
        let insert = self.parts(shuffle.operand(0)).filter(|parts| parts.opcode == Opcode::InsertElement)?;
        let is_splat = self.is_undef(shuffle.operand(1))
            && self.is_null(shuffle.operand(2))
            && self.is_undef(insert.operand(0))
            && self.is_null(insert.operand(2));
        is_splat.then(|| insert.operand(1))
    }

    /// Returns whether all bits of a constant are set.
    fn is_all_ones(&mut self, id: ValueId) -> bool {
        if let Some(integer) = self.integer_of(id) {
            return integer.is_ones();
        }
        if let Some((format, bits)) = self.float_of(id) {
            return bits == format.mask();
        }
        self.is_vector(self.type_of(id))
            && self.splatted(id).is_some_and(|element| element != id && self.is_all_ones(element))
    }

    /// Returns an element of an aggregate or vector.
    pub(crate) fn element(&mut self, aggregate: ValueId, at: u32) -> Option<ValueId> {
        let whole = self.type_of(aggregate);
        let ty = self.module.types.child(whole, u64::from(at))?;
        let count = match self.module.types.get(whole) {
            Type::Array { count, .. } => count,
            Type::Vector { count, .. } => u64::from(count),
            _ => u64::MAX,
        };
        if u64::from(at) >= count {
            return None;
        }
        let is_scalable = self.is_scalable(whole);
        let (constant, constants) = self.module.constant(None, aggregate)?;
        let number = match constant {
            Constant::Aggregate(values) => return constants.values(values).get(at as usize).copied(),
            Constant::Null => return Some(self.null(ty)),
            _ if is_scalable => return None,
            Constant::Undef => return Some(self.undef(ty)),
            Constant::Poison => return Some(self.poison(ty)),
            Constant::Data(words) => *constants.words(words).get(at as usize)?,
            Constant::Text(bytes) => u64::from(*constants.bytes(bytes).get(at as usize)?),
            _ => return None,
        };
        Some(match self.module.types.get(ty) {
            Type::Integer(_) => self.number(ty, number),
            _ => self.float(ty, u128::from(number)),
        })
    }

    /// Returns an element of a vector as an expression, folded where it can be.
    fn lane_of(&mut self, vector: ValueId, at: u32) -> ValueId {
        self.steps += 1;
        match self.element(vector, at) {
            Some(element) => element,
            None => {
                let index = self.lane(at);
                self.extract_element(vector, index)
            }
        }
    }

    /// Makes a vector of `count` elements; none if an element can't be made.
    fn by_lanes(
        &mut self,
        ty: TypeId,
        count: u32,
        mut element: impl FnMut(&mut Self, u32) -> Option<ValueId>,
    ) -> Option<ValueId> {
        if !self.may_make(count) {
            return None;
        }
        let elements: Vec<ValueId> = (0..count).map(|at| element(self, at)).collect::<Option<_>>()?;
        Some(self.vector(ty, &elements))
    }
}

/// Returns whether a symbol with this linkage may be replaced by another one when the program is linked.
fn is_interposable(linkage: Linkage) -> bool {
    matches!(linkage, Linkage::WeakAny | Linkage::LinkOnceAny | Linkage::ExternalWeak | Linkage::Common)
}

/// Returns the index of an `inrange` mark, of which zero means none.
fn mark_of(index: usize) -> u32 {
    narrow(index as u64)
}
