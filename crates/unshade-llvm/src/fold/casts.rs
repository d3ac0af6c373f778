//! Folds casts.

use super::floats::Format;
use super::integers::Integer;
use super::{Folder, Parts};
use crate::ids::{TypeId, ValueId};
use crate::instruction::Opcode;
use crate::types::Type;
use crate::write::Version;

/// The width of pointers between two casts, of which nothing is known.
const POINTER_WIDTH: u32 = 64;

/// How a cast of a cast is one cast.
pub(super) enum Pair {
    Never,
    First,
    Second,
    /// The first, if a number of bits is only looked at as an integer.
    FirstIfInteger,
    /// The first, if its result is only looked at as the same type.
    FirstIfSameType,
    /// The second, if its operand was an integer.
    SecondIfInteger,
    /// The second, if its operand was a floating-point number.
    SecondIfFloat,
    /// An extension that is cut again.
    Resized,
    /// A pointer that was an integer in between.
    PointerAgain,
    /// An integer that was a pointer in between.
    IntegerAgain,
    /// Casts between address spaces.
    Spaces,
    Always(Opcode),
}

/// Returns how a cast of a cast is one cast.
pub(super) fn pair(first: Opcode, second: Opcode) -> Pair {
    use Opcode::*;
    match (first, second) {
        (Trunc | PtrToInt, Trunc) | (ZExt, ZExt) | (SExt, SExt) => Pair::First,
        (ZExt, UiToFp | IntToPtr) | (SExt, SiToFp) | (FpExt, FpToUi | FpToSi | FpExt) => Pair::Second,
        (ZExt, SExt) => Pair::Always(ZExt),
        (ZExt, SiToFp) => Pair::Always(UiToFp),
        (ZExt | SExt, Trunc) | (FpExt, FpTrunc) => Pair::Resized,
        (Trunc | ZExt | SExt | FpToUi | FpToSi | PtrToInt, BitCast) => Pair::FirstIfInteger,
        (UiToFp | SiToFp | FpTrunc | FpExt, BitCast) => Pair::FirstIfSameType,
        (PtrToInt, IntToPtr) => Pair::PointerAgain,
        (IntToPtr, PtrToInt) => Pair::IntegerAgain,
        (IntToPtr | AddrSpaceCast | BitCast, BitCast) => Pair::First,
        (BitCast, Trunc | ZExt | SExt | UiToFp | SiToFp | IntToPtr) => Pair::SecondIfInteger,
        (BitCast, FpToUi | FpToSi | FpTrunc | FpExt) => Pair::SecondIfFloat,
        (BitCast, PtrToInt) => Pair::Second,
        (BitCast, AddrSpaceCast) => Pair::Always(AddrSpaceCast),
        (AddrSpaceCast, AddrSpaceCast) => Pair::Spaces,
        _ => Pair::Never,
    }
}

impl Folder<'_, '_> {
    /// Returns a cast of a constant, folded.
    pub(super) fn cast(&mut self, opcode: Opcode, of: ValueId, ty: TypeId) -> ValueId {
        if opcode == Opcode::BitCast && self.type_of(of) == ty {
            return of;
        }
        let of = if opcode == Opcode::AddrSpaceCast { self.with_pointee_of(of, ty) } else { of };
        match self.attempt(|folder| folder.fold_cast(opcode, of, ty)) {
            Some(folded) => folded,
            None => self.plain(opcode, ty, 0, &[of]),
        }
    }

    /// Returns a typed pointer with the pointee of another type: a cast between address spaces changes only those.
    fn with_pointee_of(&mut self, of: ValueId, ty: TypeId) -> ValueId {
        let from = self.type_of(of);
        let types = &mut self.module.types;
        let (scalar, to) = (types.scalar(from), types.scalar(ty));
        let (Type::Pointer { pointee: had, address_space }, Type::Pointer { pointee, .. }) =
            (types.get(scalar), types.get(to))
        else {
            return of;
        };
        if had == pointee {
            return of;
        }
        let pointer = types.intern(Type::Pointer { pointee, address_space });
        let middle = match types.get(from) {
            Type::Vector { count, scalable, .. } => {
                types.intern(Type::Vector { count, element: pointer, scalable })
            }
            _ => pointer,
        };
        self.cast(Opcode::BitCast, of, middle)
    }

    /// Returns a cast to an element; of those that LLVM 19 no longer has, only if it folds.
    fn cast_lane(&mut self, opcode: Opcode, of: ValueId, ty: TypeId) -> Option<ValueId> {
        use Opcode::*;
        let is_kept = matches!(opcode, Trunc | PtrToInt | IntToPtr | BitCast | AddrSpaceCast);
        if self.version == Version::Llvm14 || is_kept {
            return Some(self.cast(opcode, of, ty));
        }
        self.attempt(|folder| folder.fold_cast(opcode, of, ty))
    }

    fn fold_cast(&mut self, opcode: Opcode, of: ValueId, ty: TypeId) -> Option<ValueId> {
        if self.is_poison(of) {
            return Some(self.poison(ty));
        }
        if self.is_undef(of) {
            let is_bounded = matches!(opcode, Opcode::ZExt | Opcode::SExt | Opcode::UiToFp | Opcode::SiToFp);
            return Some(if is_bounded { self.null(ty) } else { self.undef(ty) });
        }
        let is_register = matches!(self.module.types.get(ty), Type::X86Mmx | Type::X86Amx);
        if self.is_null(of) && !is_register && opcode != Opcode::AddrSpaceCast {
            return Some(self.null(ty));
        }
        if let Some(parts) = self.parts(of)
            && let Some(folded) = self.fold_cast_of(opcode, of, &parts, ty)
        {
            return folded;
        }
        let from = self.type_of(of);
        let is_listed = matches!(
            self.form(of),
            Some(crate::constants::Constant::Aggregate(_) | crate::constants::Constant::Data(_))
        );
        if let Some(count) = self.lanes(ty).filter(|_| is_listed && self.lanes(from) == self.lanes(ty)) {
            return self.cast_lanes(opcode, of, ty, count);
        }
        match opcode {
            Opcode::BitCast => self.fold_bitcast(of, ty),
            Opcode::Trunc if self.version == Version::Llvm14 && !self.is_integer(of) => {
                let (from, to) = (self.width(from), self.width(ty));
                let fits = !self.is_vector(ty) && from.is_multiple_of(8) && to.is_multiple_of(8);
                if fits { self.bytes_of(of, 0, to / 8) } else { None }
            }
            _ => self.convert(opcode, of, ty),
        }
    }

    /// Folds a cast of an expression. The inner option is the result, if the outer one decides.
    fn fold_cast_of(
        &mut self,
        opcode: Opcode,
        of: ValueId,
        parts: &Parts,
        ty: TypeId,
    ) -> Option<Option<ValueId>> {
        let middle = self.type_of(of);
        if parts.opcode.is_cast() {
            let source = self.type_of(parts.operand(0));
            let joined = self.joined(parts.opcode, opcode, source, middle, ty)?;
            return Some(self.cast_lane(joined, parts.operand(0), ty));
        }
        let is_zero_offset = self.version == Version::Llvm14
            && parts.opcode == Opcode::GetElementPtr
            && opcode != Opcode::AddrSpaceCast
            && parts.in_range == 0
            && !self.is_vector(middle)
            && parts.operands.iter().skip(1).all(|&index| self.is_null(index));
        is_zero_offset.then(|| Some(self.cast_pointer(parts.operand(0), ty)))
    }

    /// Returns a pointer as another pointer or an integer.
    fn cast_pointer(&mut self, pointer: ValueId, ty: TypeId) -> ValueId {
        let spaces =
            (self.module.types.address_space(self.type_of(pointer)), self.module.types.address_space(ty));
        let opcode = match spaces {
            (_, None) => Opcode::PtrToInt,
            (from, to) if from != to => Opcode::AddrSpaceCast,
            _ => Opcode::BitCast,
        };
        self.cast(opcode, pointer, ty)
    }

    /// Returns the one cast that two are.
    fn joined(
        &self,
        first: Opcode,
        second: Opcode,
        source: TypeId,
        middle: TypeId,
        ty: TypeId,
    ) -> Option<Opcode> {
        let types = &self.module.types;
        let changes_lanes =
            |cast, from, to| cast == Opcode::BitCast && self.is_vector(from) != self.is_vector(to);
        let both_bitcasts = first == Opcode::BitCast && second == Opcode::BitCast;
        if (changes_lanes(first, source, middle) || changes_lanes(second, middle, ty)) && !both_bitcasts {
            return None;
        }
        let is_earlier = self.version == Version::Llvm14;
        let is_integer = |ty| matches!(types.get(ty), Type::Integer(_));
        let is_float = |ty: TypeId| types.get(ty).float_bits().is_some();
        let bits = |ty| types.get(types.scalar(ty)).number_bits().unwrap_or(0);
        let same_space = types.address_space(source) == types.address_space(ty);
        let when = |condition: bool, opcode| condition.then_some(opcode);
        match pair(first, second) {
            Pair::Never => None,
            Pair::First => Some(first),
            Pair::Second => Some(second),
            Pair::Always(Opcode::AddrSpaceCast) => {
                let pointee = |ty| types.pointee(types.scalar(ty));
                when(!is_earlier || pointee(source) == pointee(ty), Opcode::AddrSpaceCast)
            }
            Pair::Always(opcode) => Some(opcode),
            Pair::FirstIfInteger => when(!self.is_vector(source) && is_integer(ty), first),
            Pair::FirstIfSameType => when(if is_earlier { is_float(ty) } else { ty == middle }, first),
            Pair::SecondIfInteger => when(is_integer(source), second),
            Pair::SecondIfFloat => when(is_earlier && is_float(source), second),
            Pair::Resized => match bits(source).cmp(&bits(ty)) {
                core::cmp::Ordering::Less => Some(first),
                core::cmp::Ordering::Greater => Some(second),
                core::cmp::Ordering::Equal => when(is_earlier || source == ty, Opcode::BitCast),
            },
            Pair::PointerAgain => when(same_space && bits(middle) == POINTER_WIDTH, Opcode::BitCast),
            Pair::IntegerAgain => {
                when(bits(source) <= POINTER_WIDTH && bits(source) == bits(ty), Opcode::BitCast)
            }
            Pair::Spaces => Some(if same_space { Opcode::BitCast } else { Opcode::AddrSpaceCast }),
        }
    }

    fn cast_lanes(&mut self, opcode: Opcode, of: ValueId, ty: TypeId, count: u32) -> Option<ValueId> {
        let element = self.module.types.scalar(ty);
        if let Some(splat) = self.splatted(of) {
            let cast = self.cast_lane(opcode, splat, element)?;
            return Some(self.splat(ty, cast));
        }
        self.by_lanes(ty, count, |folder, at| {
            let lane = folder.lane_of(of, at);
            folder.cast_lane(opcode, lane, element)
        })
    }

    /// Casts a number.
    fn convert(&mut self, opcode: Opcode, of: ValueId, ty: TypeId) -> Option<ValueId> {
        let to = self.module.types.get(ty);
        match (opcode, to) {
            (Opcode::FpTrunc | Opcode::FpExt, _) => {
                let (from, bits) = self.float_of(of)?;
                let bits = from.converted(bits, Format::of(to)?);
                Some(self.float(ty, bits))
            }
            (Opcode::FpToUi | Opcode::FpToSi, Type::Integer(width)) => {
                let (from, bits) = self.float_of(of)?;
                Some(match from.to_integer(bits, width, opcode == Opcode::FpToSi) {
                    Some(integer) => self.integer(ty, &integer),
                    None => self.poison(ty),
                })
            }
            (Opcode::UiToFp | Opcode::SiToFp, _) => {
                let integer = self.integer_of(of)?;
                let bits = Format::of(to)?.of_integer(&integer, opcode == Opcode::SiToFp);
                Some(self.float(ty, bits))
            }
            (Opcode::Trunc | Opcode::ZExt | Opcode::SExt, Type::Integer(width)) => {
                let integer = self.integer_of(of)?;
                let resized = match opcode {
                    Opcode::SExt => integer.sign_extended(width),
                    _ => integer.resized(width),
                };
                Some(self.integer(ty, &resized))
            }
            _ => None,
        }
    }

    fn fold_bitcast(&mut self, of: ValueId, ty: TypeId) -> Option<ValueId> {
        let from = self.type_of(of);
        let is_number = self.is_integer(of) || self.is_float(of);
        if self.version == Version::Llvm14 {
            if let Some(pointer) = self.first_element_pointer(of, from, ty) {
                return Some(pointer);
            }
            if self.is_vector(ty) && self.is_vector(from) {
                return self.bitcast_lanes(of, from, ty);
            }
        } else if self.is_vector(ty) && self.is_all_ones(of) {
            return Some(self.all_ones_of_any(ty));
        }
        if self.is_vector(ty) {
            if !is_number {
                return None;
            }
            let one = self.module.types.intern(Type::Vector { count: 1, element: from, scalable: false });
            let vector = self.vector(one, &[of]);
            return Some(self.cast(Opcode::BitCast, vector, ty));
        }
        let to = self.module.types.get(ty);
        if let Some(integer) = self.integer_of(of) {
            Format::of(to)?;
            let word = |at: usize| u128::from(integer.words.get(at).copied().unwrap_or(0));
            return Some(self.float(ty, word(1) << 64 | word(0)));
        }
        let (_, bits) = self.float_of(of)?;
        match to {
            Type::Integer(width) => {
                let integer = Integer::from_words(&[bits as u64, (bits >> 64) as u64], width);
                Some(self.integer(ty, &integer))
            }
            _ => None,
        }
    }

    /// Returns the constant of a number, or vector of numbers, whose bits are all set.
    fn all_ones_of_any(&mut self, ty: TypeId) -> ValueId {
        match Format::of(self.module.types.get(self.module.types.scalar(ty))) {
            Some(format) => self.float(ty, format.mask()),
            None => self.all_ones(ty),
        }
    }

    /// Returns a cast of a typed pointer to the type of the first element in what it points to.
    fn first_element_pointer(&mut self, of: ValueId, from: TypeId, ty: TypeId) -> Option<ValueId> {
        let types = &self.module.types;
        let (source, wanted) = (types.pointee(from)?, types.pointee(ty)?);
        if types.address_space(from) != types.address_space(ty) || !self.is_sized(source, 0) {
            return None;
        }
        let mut element = source;
        let mut depth = 1;
        while element != wanted {
            element = types.child(element, 0)?;
            depth += 1;
            if depth > super::MAX_DEPTH as usize {
                return None;
            }
        }
        let zero = self.lane(0);
        let mut operands = alloc::vec![of];
        operands.resize(depth + 1, zero);
        Some(self.element_pointer_of(source, &operands, 1, 0))
    }

    /// Casts a vector to another one of the same size.
    fn bitcast_lanes(&mut self, of: ValueId, from: TypeId, ty: TypeId) -> Option<ValueId> {
        if self.is_all_ones(of) {
            return Some(self.all_ones_of_any(ty));
        }
        let count = self.lanes(ty)?;
        if self.lanes(from) != Some(count) {
            return None;
        }
        let element = self.module.types.scalar(ty);
        if let Some(splat) = self.splatted(of) {
            let cast = self.cast(Opcode::BitCast, splat, element);
            return Some(self.splat(ty, cast));
        }
        self.by_lanes(ty, count, |folder, at| {
            let lane = folder.lane_of(of, at);
            Some(folder.cast(Opcode::BitCast, lane, element))
        })
    }

    /// Returns `size` bytes of an integer from byte `start` on, if they are known without a shift.
    fn bytes_of(&mut self, of: ValueId, start: u32, size: u32) -> Option<ValueId> {
        self.attempt(|folder| folder.fold_bytes(of, start, size))
    }

    fn fold_bytes(&mut self, of: ValueId, start: u32, size: u32) -> Option<ValueId> {
        let all = self.width(self.type_of(of)) / 8;
        let ty = self.module.types.intern(Type::Integer(size * 8));
        if let Some(integer) = self.integer_of(of) {
            let integer = integer.shifted_right(start * 8).resized(size * 8);
            return Some(self.integer(ty, &integer));
        }
        let parts = self.parts(of)?;
        let (left, right) = (parts.operand(0), parts.operand(1));
        match parts.opcode {
            Opcode::Or | Opcode::And => {
                let second = self.bytes_of(right, start, size)?;
                let decides = match parts.opcode {
                    Opcode::Or => self.is_integer(second) && self.is_all_ones(second),
                    _ => self.is_null(second),
                };
                if decides {
                    return Some(second);
                }
                let first = self.bytes_of(left, start, size)?;
                Some(self.binary(parts.opcode, first, second, 0))
            }
            Opcode::LShr | Opcode::Shl => {
                let by = self.integer_of(right)?.as_u64().and_then(|by| u32::try_from(by).ok())?;
                if !by.is_multiple_of(8) {
                    return None;
                }
                let by = by / 8;
                let is_right = parts.opcode == Opcode::LShr;
                let (cleared, inside) = match is_right {
                    true => (by >= all - start, by <= all - (start + size)),
                    false => (by >= start + size, by <= start),
                };
                if cleared {
                    return Some(self.null(ty));
                }
                let start = if is_right { start + by } else { start.wrapping_sub(by) };
                if inside { self.bytes_of(left, start, size) } else { None }
            }
            Opcode::ZExt => self.bytes_of_extended(left, start, size, ty),
            _ => None,
        }
    }

    fn bytes_of_extended(&mut self, of: ValueId, start: u32, size: u32, ty: TypeId) -> Option<ValueId> {
        let from = self.type_of(of);
        let bits = self.width(from);
        if start * 8 >= bits {
            return Some(self.null(ty));
        }
        if start == 0 && size * 8 == bits {
            return Some(of);
        }
        if bits.is_multiple_of(8) && (start + size) * 8 <= bits {
            return self.bytes_of(of, start, size);
        }
        if (start + size) * 8 >= bits {
            return None;
        }
        let mut shifted = of;
        if start > 0 {
            let by = self.number(from, u64::from(start) * 8);
            shifted = self.binary(Opcode::LShr, of, by, 0);
        }
        Some(self.cast(Opcode::Trunc, shifted, ty))
    }
}
