//! The type table (`TYPE_BLOCK_ID_NEW`).
//!
//! Types are numbered in the order of their records; a record may refer to later types. `STRUCT_NAME` gives the
//! name of the next identified struct. The result types of some instructions, such as comparisons, follow from
//! their operands; the table adds those that a file need not list.
//!
//! Knowledge: `TypeCodes` of LLVM's `LLVMBitCodes.h`, versions 3.7, 14 and 19.

use crate::bitstream::{Cursor, Entry, Record, text};
use crate::hash::{Hash, HashIndex};
use crate::ids::{Slice, TypeId, narrow};
use alloc::vec::Vec;
use unshade_core::{Diagnostics, Error, ErrorKind, Result};

/// A type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// `void`
    Void,
    /// `half`
    Half,
    /// `bfloat`
    BFloat,
    /// `float`
    Float,
    /// `double`
    Double,
    /// `x86_fp80`
    X86Fp80,
    /// `fp128`
    Fp128,
    /// `ppc_fp128`
    PpcFp128,
    /// `label`
    Label,
    /// `metadata`
    Metadata,
    /// `x86_mmx`
    X86Mmx,
    /// `x86_amx`
    X86Amx,
    /// `token`
    Token,
    /// An integer of this width in bits.
    Integer(u32),
    /// A typed pointer.
    Pointer {
        /// The pointee type.
        pointee: TypeId,
        /// The address space.
        address_space: u32,
    },
    /// `ptr`
    OpaquePointer {
        /// The address space.
        address_space: u32,
    },
    /// A function.
    Function {
        /// The type of the result.
        result: TypeId,
        /// Its parameters, in [`TypeTable::elements`].
        parameters: Slice,
        /// Whether it takes further arguments.
        variadic: bool,
    },
    /// A struct, literal or identified.
    Struct(StructType),
    /// An array.
    Array {
        /// The number of elements.
        count: u64,
        /// The type of the elements.
        element: TypeId,
    },
    /// A vector.
    Vector {
        /// The number of elements; for a scalable vector, the minimum number.
        count: u32,
        /// The type of the elements.
        element: TypeId,
        /// Whether the number of elements is a multiple of `count` that depends on the machine.
        scalable: bool,
    },
    /// `target("name", types, numbers)`
    Target {
        /// The name, for [`TypeTable::name`].
        name: u32,
        /// Type parameters.
        types: Slice,
        /// Integer parameters, in [`TypeTable::numbers`].
        numbers: Slice,
    },
    /// A record that could not be read.
    Unknown,
}

impl Type {
    /// Returns the number of bits of a floating-point number.
    pub fn float_bits(self) -> Option<u32> {
        match self {
            Type::Half | Type::BFloat => Some(16),
            Type::Float => Some(32),
            Type::Double => Some(64),
            Type::X86Fp80 => Some(80),
            Type::Fp128 | Type::PpcFp128 => Some(128),
            _ => None,
        }
    }

    /// Returns the number of bits of an integer, a floating-point number, or a register that is a type.
    pub fn number_bits(self) -> Option<u32> {
        match self {
            Type::Integer(width) => Some(width),
            Type::X86Mmx => Some(64),
            Type::X86Amx => Some(8192),
            other => other.float_bits(),
        }
    }
}

/// A struct type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StructType {
    /// The types of its fields, in [`TypeTable::elements`].
    pub fields: Slice,
    /// Whether the fields have no padding.
    pub packed: bool,
    /// Whether it is a literal struct, equal to every literal struct with the same fields.
    pub literal: bool,
    /// Whether it is opaque: its fields are unknown.
    pub opaque: bool,
    /// The name, for [`TypeTable::name`]; none for literal and unnamed structs.
    pub name: Option<u32>,
}

/// All types of a module.
#[derive(Clone, Debug, Default)]
pub struct TypeTable {
    types: Vec<Type>,
    elements: Vec<TypeId>,
    numbers: Vec<u32>,
    names: Vec<Vec<u8>>,
    index: HashIndex,
    /// The number of types that the file lists.
    listed: usize,
}

pub(crate) mod code {
    pub(crate) const NUMENTRY: u32 = 1;
    pub(crate) const OPAQUE: u32 = 6;
    pub(crate) const INTEGER: u32 = 7;
    pub(crate) const POINTER: u32 = 8;
    pub(crate) const FUNCTION_OLD: u32 = 9;
    pub(crate) const ARRAY: u32 = 11;
    pub(crate) const VECTOR: u32 = 12;
    pub(crate) const STRUCT_ANON: u32 = 18;
    pub(crate) const STRUCT_NAME: u32 = 19;
    pub(crate) const STRUCT_NAMED: u32 = 20;
    pub(crate) const FUNCTION: u32 = 21;
    pub(crate) const OPAQUE_POINTER: u32 = 25;
    pub(crate) const TARGET_TYPE: u32 = 26;
}

/// Returns whether a record of this code defines the next type.
pub(crate) fn is_entry(code: u32) -> bool {
    !matches!(code, code::NUMENTRY | code::STRUCT_NAME)
}

/// Types without parameters, by the code of their record.
const SIMPLE: &[(u32, Type)] = &[
    (2, Type::Void),
    (3, Type::Float),
    (4, Type::Double),
    (5, Type::Label),
    (10, Type::Half),
    (13, Type::X86Fp80),
    (14, Type::Fp128),
    (15, Type::PpcFp128),
    (16, Type::Metadata),
    (17, Type::X86Mmx),
    (22, Type::Token),
    (23, Type::BFloat),
    (24, Type::X86Amx),
];

impl Type {
    /// Returns the code of the record of a type without parameters.
    pub(crate) fn simple_code(self) -> Option<u32> {
        SIMPLE.iter().find(|(_, simple)| *simple == self).map(|(code, _)| *code)
    }
}

impl TypeTable {
    /// Returns a type; [`Type::Unknown`] for ids outside of the table.
    #[inline]
    pub fn get(&self, id: TypeId) -> Type {
        self.types.get(id.index()).copied().unwrap_or(Type::Unknown)
    }

    /// Returns whether an id is in the table.
    pub fn contains(&self, id: TypeId) -> bool {
        id.index() < self.types.len()
    }

    /// Returns the number of types.
    pub fn len(&self) -> usize {
        self.types.len()
    }

    /// Returns the number of types that the file lists; the others follow from them.
    pub(crate) fn listed(&self) -> usize {
        self.listed
    }

    /// Returns whether the table is empty.
    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }

    /// Returns the types in a slice: fields or parameters.
    #[inline]
    pub fn elements(&self, slice: Slice) -> &[TypeId] {
        slice.of(&self.elements)
    }

    /// Returns the numbers in a slice: integer parameters of a target type.
    pub fn numbers(&self, slice: Slice) -> &[u32] {
        slice.of(&self.numbers)
    }

    /// Returns the name of a struct or target type.
    pub fn name(&self, name: u32) -> &[u8] {
        self.names.get(name as usize).map_or(&[], Vec::as_slice)
    }

    /// Returns the names of all structs.
    pub(crate) fn struct_names(&self) -> impl Iterator<Item = &[u8]> {
        self.names.iter().map(Vec::as_slice)
    }

    /// Returns the pointee of a typed pointer.
    pub fn pointee(&self, id: TypeId) -> Option<TypeId> {
        match self.get(id) {
            Type::Pointer { pointee, .. } => Some(pointee),
            _ => None,
        }
    }

    /// Returns the address space of a pointer, or of a vector of pointers.
    pub fn address_space(&self, id: TypeId) -> Option<u32> {
        match self.get(self.scalar(id)) {
            Type::Pointer { address_space, .. } | Type::OpaquePointer { address_space } => Some(address_space),
            _ => None,
        }
    }

    /// Returns the element type of a vector; any other type unchanged.
    #[inline]
    pub fn scalar(&self, id: TypeId) -> TypeId {
        match self.get(id) {
            Type::Vector { element, .. } => element,
            _ => id,
        }
    }

    /// Returns whether a type is a floating-point type, or a vector of one.
    #[inline]
    pub fn is_float(&self, id: TypeId) -> bool {
        self.get(self.scalar(id)).float_bits().is_some()
    }

    /// Returns whether a type is a pointer.
    pub fn is_pointer(&self, id: TypeId) -> bool {
        matches!(self.get(id), Type::Pointer { .. } | Type::OpaquePointer { .. })
    }

    /// Returns whether a type is a pointer without a pointee.
    pub fn is_opaque_pointer(&self, id: TypeId) -> bool {
        matches!(self.get(id), Type::OpaquePointer { .. })
    }

    /// Returns whether a type is a function type.
    pub fn is_function(&self, id: TypeId) -> bool {
        matches!(self.get(id), Type::Function { .. })
    }

    /// Returns the type of a field of a struct, or of the elements of an array or vector.
    pub fn child(&self, id: TypeId, at: u64) -> Option<TypeId> {
        match self.get(id) {
            Type::Struct(structure) => {
                self.elements(structure.fields).get(usize::try_from(at).ok()?).copied()
            }
            Type::Array { element, .. } | Type::Vector { element, .. } => Some(element),
            _ => None,
        }
    }

    /// Returns the identified struct that a type is, or that it points to or has as elements.
    pub fn named_struct(&self, mut id: TypeId) -> Option<TypeId> {
        // Types can contain themselves.
        for _ in 0..64 {
            id = match self.get(id) {
                Type::Struct(structure) => return (!structure.literal).then_some(id),
                Type::Pointer { pointee, .. } => pointee,
                Type::Array { element, .. } | Type::Vector { element, .. } => element,
                _ => return None,
            };
        }
        None
    }

    /// Returns the number of types and of their parts.
    pub(crate) fn entries(&self) -> usize {
        self.types.len().saturating_add(self.elements.len())
    }

    /// Returns the id of a structurally equal type.
    pub fn find(&self, wanted: Type) -> Option<TypeId> {
        let found = self.index.find(Self::hash_of(wanted), |id| self.get(TypeId(id)) == wanted)?;
        Some(TypeId(found))
    }

    /// Returns the id of a literal struct with these fields.
    pub fn find_literal(&self, fields: &[TypeId]) -> Option<TypeId> {
        let found = self.index.find(Self::hash_of_fields(fields), |id| match self.get(TypeId(id)) {
            Type::Struct(structure) => {
                structure.literal && !structure.packed && self.elements(structure.fields) == fields
            }
            _ => false,
        })?;
        Some(TypeId(found))
    }

    fn hash_of_fields(fields: &[TypeId]) -> u64 {
        fields.iter().fold(Hash::new().word(77), |hash, field| hash.word(u64::from(field.0))).0
    }

    /// Returns the hash of a type for [`TypeTable::find`], which only looks up types that are equal if their parts
    /// are.
    fn hash_of(ty: Type) -> u64 {
        let hash = Hash::new();
        match ty {
            Type::Integer(width) => hash.word(1).word(u64::from(width)),
            Type::Pointer { pointee, address_space } => {
                hash.word(2).word(u64::from(pointee.0)).word(u64::from(address_space))
            }
            Type::OpaquePointer { address_space } => hash.word(3).word(u64::from(address_space)),
            Type::Vector { count, element, scalable } => {
                hash.word(4).word(u64::from(count)).word(u64::from(element.0)).word(u64::from(scalable))
            }
            Type::Array { count, element } => hash.word(5).word(count).word(u64::from(element.0)),
            Type::Void => hash.word(6),
            Type::Label => hash.word(7),
            Type::Metadata => hash.word(8),
            Type::Token => hash.word(9),
            Type::Half => hash.word(10),
            Type::Float => hash.word(11),
            Type::Double => hash.word(12),
            _ => hash.word(13),
        }
        .0
    }

    fn hash_of_entry(&self, id: u32) -> u64 {
        match self.get(TypeId(id)) {
            Type::Struct(structure) if structure.literal => {
                Self::hash_of_fields(self.elements(structure.fields))
            }
            Type::Function { result, parameters, .. } => Self::hash_of_signature(result, self.elements(parameters)),
            // Never looked up; but if many had the same hash, inserting them would be slow.
            Type::Struct(_) | Type::Target { .. } | Type::Unknown => Hash::new().word(14).word(u64::from(id)).0,
            ty => Self::hash_of(ty),
        }
    }

    fn hash_of_signature(result: TypeId, parameters: &[TypeId]) -> u64 {
        let hash = Hash::new().word(15).word(u64::from(result.0));
        parameters.iter().fold(hash, |hash, ty| hash.word(u64::from(ty.0))).0
    }

    /// Adds a struct whose fields all have the type of the struct itself, for tests.
    #[cfg(test)]
    pub(crate) fn push_cyclic_struct(&mut self, fields: usize) {
        let own = TypeId(narrow(self.types.len() as u64));
        let fields = Slice::extend(&mut self.elements, core::iter::repeat_n(own, fields));
        self.push(Type::Struct(StructType { fields, packed: false, literal: false, opaque: false, name: None }));
    }

    fn push(&mut self, ty: Type) -> TypeId {
        let id = TypeId(narrow(self.types.len() as u64));
        self.types.push(ty);
        let mut index = core::mem::take(&mut self.index);
        index.insert(self.hash_of_entry(id.0), id.0, |id| self.hash_of_entry(id));
        self.index = index;
        id
    }

    /// Returns the id of a type, which is added if there is no equal one.
    pub(crate) fn intern(&mut self, ty: Type) -> TypeId {
        self.find(ty).unwrap_or_else(|| self.push(ty))
    }

    /// Adds a pointer in address space 0 to what has a pointer in another one. LLVM 14 does not store the address space
    /// of variables: without a data layout they are read back in address space 0, whose pointers may not be in the table.
    pub(crate) fn add_default_pointers(&mut self) {
        for at in 0..self.types.len() {
            if let Some(&Type::Pointer { pointee, address_space: 1.. }) = self.types.get(at) {
                self.intern(Type::Pointer { pointee, address_space: 0 });
            }
        }
    }

    /// Adds a function type and returns its id.
    pub(crate) fn add_function(&mut self, result: TypeId, parameters: &[TypeId], variadic: bool) -> TypeId {
        let parameters = Slice::extend(&mut self.elements, parameters.iter().copied());
        self.push(Type::Function { result, parameters, variadic })
    }

    /// Returns the id of a function type, which is added if there is no equal one.
    pub(crate) fn intern_function(&mut self, result: TypeId, parameters: &[TypeId], variadic: bool) -> TypeId {
        let found = self.index.find(Self::hash_of_signature(result, parameters), |id| match self.get(TypeId(id)) {
            Type::Function { result: other, parameters: slice, variadic: also } => {
                (other, also) == (result, variadic) && self.elements(slice) == parameters
            }
            _ => false,
        });
        found.map_or_else(|| self.add_function(result, parameters, variadic), TypeId)
    }

    /// Returns the id of a literal struct, which is added if there is no equal one.
    pub(crate) fn intern_literal(&mut self, fields: &[TypeId]) -> TypeId {
        self.intern_struct(fields, false)
    }

    /// Returns the id of a literal struct that may be packed, which is added if there is no equal one.
    pub(crate) fn intern_struct(&mut self, fields: &[TypeId], packed: bool) -> TypeId {
        let found = self.index.find(Self::hash_of_fields(fields), |id| match self.get(TypeId(id)) {
            Type::Struct(structure) => {
                structure.literal && structure.packed == packed && self.elements(structure.fields) == fields
            }
            _ => false,
        });
        found.map_or_else(
            || {
                let fields = Slice::extend(&mut self.elements, fields.iter().copied());
                self.push(Type::Struct(StructType { fields, packed, literal: true, opaque: false, name: None }))
            },
            TypeId,
        )
    }

    /// Adds an identified struct whose fields are not known yet, and returns its id.
    pub(crate) fn declare_struct(&mut self, name: Option<&[u8]>) -> TypeId {
        let name = name.filter(|name| !name.is_empty()).map(|name| self.push_name(name.to_vec()));
        let fields = Slice::default();
        self.push(Type::Struct(StructType { fields, packed: false, literal: false, opaque: true, name }))
    }

    /// Sets the fields of an identified struct.
    pub(crate) fn define_struct(&mut self, id: TypeId, fields: &[TypeId], packed: bool) {
        let fields = Slice::extend(&mut self.elements, fields.iter().copied());
        if let Some(Type::Struct(structure)) = self.types.get_mut(id.index()) {
            (structure.fields, structure.packed, structure.opaque) = (fields, packed, false);
        }
    }

    /// Returns the id of a target type, which is added if there is no equal one.
    pub(crate) fn intern_target(&mut self, name: &[u8], types: &[TypeId], numbers: &[u32]) -> TypeId {
        let is_equal = |ty: &Type| match *ty {
            Type::Target { name: other, types: of, numbers: with } => {
                self.name(other) == name && self.elements(of) == types && self.numbers(with) == numbers
            }
            _ => false,
        };
        if let Some(at) = self.types.iter().position(is_equal) {
            return TypeId(narrow(at as u64));
        }
        let name = self.push_name(name.to_vec());
        let types = Slice::extend(&mut self.elements, types.iter().copied());
        let numbers = Slice::extend(&mut self.numbers, numbers.iter().copied());
        self.push(Type::Target { name, types, numbers })
    }

    /// Returns whether a type is `x86_mmx`, which LLVM 20 removed.
    pub(crate) fn has_mmx(&self) -> bool {
        self.types.contains(&Type::X86Mmx)
    }

    /// Replaces `x86_mmx` by a vector of one `i64`, as LLVM does since version 20.
    pub(crate) fn replace_mmx(&mut self) {
        if self.has_mmx() {
            let element = self.intern(Type::Integer(64));
            let vector = Type::Vector { count: 1, element, scalable: false };
            self.types.iter_mut().filter(|ty| **ty == Type::X86Mmx).for_each(|ty| *ty = vector);
        }
    }

    /// Adds the types that instructions may need but a file need not list: `i1`, `i8`, `i32`, `i64`, `void`,
    /// `label`, `metadata`, `token`, vectors of `i1` with the length of each vector type, and the results of
    /// `cmpxchg`.
    fn add_implicit_types(&mut self) {
        self.listed = self.types.len();
        let bit = self.intern(Type::Integer(1));
        for width in [8, 32, 64] {
            self.intern(Type::Integer(width));
        }
        for ty in [Type::Void, Type::Label, Type::Metadata, Type::Token] {
            self.intern(ty);
        }
        for at in 0..self.listed {
            match self.types.get(at) {
                Some(&Type::Vector { count, scalable, .. }) => {
                    self.intern(Type::Vector { count, element: bit, scalable });
                }
                Some(Type::Integer(_)) => {
                    let fields = [TypeId(narrow(at as u64)), bit];
                    self.intern_literal(&fields);
                }
                _ => {}
            }
        }
    }

    /// Reads the block that `cursor` is at.
    ///
    /// # Errors
    /// If the stream is damaged. Records that can't be decoded become [`Type::Unknown`] and are reported in
    /// `findings`.
    pub(crate) fn read(cursor: &mut Cursor<'_>, block: u32, findings: &mut Diagnostics) -> Result<Self> {
        // What a small module takes, so that the tables do not grow step by step.
        let (types, elements, index) = (Vec::with_capacity(64), Vec::with_capacity(128), HashIndex::with_slots(128));
        let mut table = Self { types, elements, index, ..Self::default() };
        let mut name = None;
        let mut record = Record::default();
        cursor.enter_block(block)?;
        loop {
            match cursor.advance_entry()? {
                Entry::EndBlock => break,
                Entry::Block(_) => cursor.skip_block()?,
                Entry::Record(id) => {
                    cursor.read_record(id, &mut record)?;
                    table.read_record(&record, &mut name, findings);
                }
            }
        }
        table.check_references(findings);
        table.add_implicit_types();
        Ok(table)
    }

    fn read_record(&mut self, record: &Record, name: &mut Option<u32>, findings: &mut Diagnostics) {
        match record.code {
            code::STRUCT_NAME => *name = Some(self.add_name(&record.values)),
            code if !is_entry(code) => {}
            _ => {
                let ty = self.decode(record, name);
                let ty = ty.unwrap_or_else(|| {
                    let error = Error::new(ErrorKind::BadValue, record.offset, "type record can't be read")
                        .found(alloc::format!("code {} of {} operands", record.code, record.values.len()));
                    findings.error("llvm-type", error);
                    Type::Unknown
                });
                self.push(ty);
            }
        }
    }

    fn add_name(&mut self, characters: &[u64]) -> u32 {
        self.push_name(text(characters))
    }

    fn push_name(&mut self, name: Vec<u8>) -> u32 {
        let number = narrow(self.names.len() as u64);
        self.names.push(name);
        number
    }

    fn decode(&mut self, record: &Record, name: &mut Option<u32>) -> Option<Type> {
        if let Some((_, simple)) = SIMPLE.iter().find(|(code, _)| *code == record.code) {
            return Some(*simple);
        }
        let values = record.values.as_slice();
        let ty = |at: usize| values.get(at).map(|&id| TypeId(narrow(id)));
        match record.code {
            code::INTEGER => {
                let width = u32::try_from(*values.first()?).ok()?;
                (1..=1 << 23).contains(&width).then_some(Type::Integer(width))
            }
            code::POINTER => {
                let address_space = u32::try_from(values.get(1).copied().unwrap_or(0)).ok()?;
                Some(Type::Pointer { pointee: ty(0)?, address_space })
            }
            code::OPAQUE_POINTER => {
                Some(Type::OpaquePointer { address_space: u32::try_from(*values.first()?).ok()? })
            }
            code::FUNCTION | code::FUNCTION_OLD => {
                // The old form has an unused attribute id before the result.
                let result = if record.code == code::FUNCTION { 1usize } else { 2 };
                let parameters = self.add_elements(values.get(result.wrapping_add(1)..)?);
                Some(Type::Function { result: ty(result)?, parameters, variadic: *values.first()? != 0 })
            }
            code::STRUCT_ANON => {
                let fields = self.add_elements(values.get(1..)?);
                let packed = *values.first()? != 0;
                Some(Type::Struct(StructType { fields, packed, literal: true, opaque: false, name: None }))
            }
            code::STRUCT_NAMED => {
                let fields = self.add_elements(values.get(1..)?);
                let packed = *values.first()? != 0;
                let name = name.take().filter(|&name| !self.name(name).is_empty());
                Some(Type::Struct(StructType { fields, packed, literal: false, opaque: false, name }))
            }
            code::OPAQUE => {
                let name = name.take().filter(|&name| !self.name(name).is_empty());
                let fields = Slice::default();
                Some(Type::Struct(StructType { fields, packed: false, literal: false, opaque: true, name }))
            }
            code::ARRAY => Some(Type::Array { count: *values.first()?, element: ty(1)? }),
            code::VECTOR => {
                let count = u32::try_from(*values.first()?).ok().filter(|&count| count != 0)?;
                let scalable = values.get(2).is_some_and(|&flag| flag != 0);
                Some(Type::Vector { count, element: ty(1)?, scalable })
            }
            code::TARGET_TYPE => {
                let types = usize::try_from(*values.first()?).ok()?;
                let rest = values.get(1..)?;
                let types_slice = self.add_elements(rest.get(..types)?);
                let numbers = rest.get(types..)?.iter().map(|&number| narrow(number));
                let numbers = Slice::extend(&mut self.numbers, numbers);
                Some(Type::Target { name: name.take()?, types: types_slice, numbers })
            }
            _ => None,
        }
    }

    fn add_elements(&mut self, ids: &[u64]) -> Slice {
        Slice::extend(&mut self.elements, ids.iter().map(|&id| TypeId(narrow(id))))
    }

    /// Reports references to types that do not exist; they print as unknown.
    fn check_references(&self, findings: &mut Diagnostics) {
        let missing = |id: TypeId| !self.contains(id);
        let bad = self.elements.iter().any(|&id| missing(id))
            || self.types.iter().any(|ty| match *ty {
                Type::Pointer { pointee, .. } => missing(pointee),
                Type::Function { result, .. } => missing(result),
                Type::Array { element, .. } | Type::Vector { element, .. } => missing(element),
                _ => false,
            });
        if bad {
            let message = "a type refers to a type that does not exist";
            findings.error("llvm-type", Error::without_offset(ErrorKind::OutOfRange, message));
        }
    }
}
