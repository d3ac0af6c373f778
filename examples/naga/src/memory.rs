//! Variables and buffers: what pointers point to, and access chains, which are resolved as they are built.

use crate::error::{Error, Result, unsupported};
use crate::lower::Lower;
use crate::target::{AtomicPlace, Offset, Target};
use crate::types::{KINDS, Kind, Shape};
use naga::{GlobalVariable, Handle, Scalar, ScalarKind};
use std::rc::Rc;
use unshade_llvm::ValueId;
use unshade_llvm::build::{GlobalOptions, IntPredicate};
use unshade_llvm::global::Linkage;

/// The address space of the memory of a workgroup, in AIR and DXIL.
const WORKGROUP_SPACE: u32 = 3;
/// The most scalars that are zeroed one by one; a loop zeroes more.
const MAX_STORES: u32 = 8;

/// The memory of a variable of a thread or workgroup.
#[derive(Debug)]
pub struct Storage {
    /// For each scalar its kind, and the number of scalars of this kind before it.
    scalars: Vec<(Kind, u32)>,
    memory: Memory,
}

/// How a variable is held.
#[derive(Debug)]
enum Memory {
    /// Each scalar alone, as no index is dynamic.
    Split(Vec<ValueId>),
    /// An array for each kind: a pointer to it, and its length.
    Arrays([Option<(ValueId, u32)>; KINDS]),
}

/// What an access chain starts at.
#[derive(Clone, Debug)]
pub enum Root {
    /// A variable of a thread or workgroup.
    Memory(Rc<Storage>),
    /// A buffer.
    Buffer(Handle<GlobalVariable>),
}

/// What a pointer points to.
#[derive(Clone, Debug)]
pub struct Place {
    /// What the access chain starts at.
    pub root: Root,
    /// The type of the value.
    pub shape: Shape,
    /// The number of scalars before it, where dynamic indices are 0.
    scalars: u32,
    /// Dynamic indices, `i32`, and the type that each counts.
    terms: Vec<(ValueId, Shape)>,
    /// The same in bytes.
    pub offset: Offset,
}

impl Place {
    /// Returns the place of a whole variable.
    pub fn new(root: Root, shape: Shape) -> Self {
        Self { root, shape, scalars: 0, terms: Vec::new(), offset: Offset::default() }
    }
}

impl<'m, T: Target<'m>> Lower<'m, '_, T> {
    /// Adds a variable of the thread.
    pub fn variable(&mut self, shape: Shape, is_split: bool, name: &str) -> Result<Rc<Storage>> {
        let scalars = self.storage_scalars(shape)?;
        let memory = if is_split || scalars.len() == 1 {
            let mut pointers = Vec::with_capacity(scalars.len());
            for &(kind, _) in &scalars {
                let pointer = self.in_entry(|b, _| {
                    let ty = kind.llvm(b)?;
                    Ok(b.alloca(ty)?)
                })?;
                self.b.set_name(pointer, name)?;
                pointers.push(pointer);
            }
            Memory::Split(pointers)
        } else {
            let mut arrays = [None; KINDS];
            for (kind, count) in kind_lengths(&scalars) {
                let pointer = self.in_entry(|b, _| {
                    let element = kind.llvm(b)?;
                    let ty = b.array(u64::from(count), element)?;
                    Ok(b.alloca(ty)?)
                })?;
                self.b.set_name(pointer, name)?;
                arrays[kind as usize] = Some((pointer, count));
            }
            Memory::Arrays(arrays)
        };
        Ok(Rc::new(Storage { scalars, memory }))
    }

    /// Adds a variable of the workgroup.
    pub fn workgroup_variable(&mut self, shape: Shape, name: &str) -> Result<Rc<Storage>> {
        let scalars = self.storage_scalars(shape)?;
        let mut arrays = [None; KINDS];
        let lengths = kind_lengths(&scalars);
        for &(kind, count) in &lengths {
            let suffix =
                if lengths.len() > 1 { format!("{name}_{kind:?}").to_lowercase() } else { name.to_string() };
            let name = self.target.workgroup_name(&suffix);
            let element = kind.llvm(&mut self.b)?;
            let ty = self.b.array(u64::from(count), element)?;
            let options = GlobalOptions {
                address_space: WORKGROUP_SPACE,
                linkage: Linkage::Internal,
                initializer: Some(self.b.const_undef(ty)?),
                ..GlobalOptions::default()
            };
            let pointer = self.b.add_global(&name, ty, &options)?;
            self.b.set_alignment(pointer, if kind == Kind::Long { 8 } else { 4 })?;
            arrays[kind as usize] = Some((pointer, count));
        }
        Ok(Rc::new(Storage { scalars, memory: Memory::Arrays(arrays) }))
    }

    fn storage_scalars(&self, shape: Shape) -> Result<Vec<(Kind, u32)>> {
        let mut counts = [0; KINDS];
        let mut list = Vec::new();
        for scalar in self.types.all_scalars(shape)? {
            let kind = Kind::of(scalar)?;
            list.push((kind, counts[kind as usize]));
            counts[kind as usize] += 1;
        }
        Ok(list)
    }

    /// Stores zero to all of a variable.
    pub fn zero(&mut self, storage: &Storage) -> Result<()> {
        match &storage.memory {
            Memory::Split(pointers) => {
                for (&pointer, &(kind, _)) in pointers.iter().zip(&storage.scalars) {
                    let ty = kind.llvm(&mut self.b)?;
                    let zero = self.b.const_null(ty)?;
                    self.b.store(zero, pointer)?;
                }
            }
            Memory::Arrays(arrays) => {
                for kind in Kind::ALL {
                    if let Some((pointer, count)) = arrays[kind as usize] {
                        self.zero_array(kind, pointer, count)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn zero_array(&mut self, kind: Kind, pointer: ValueId, count: u32) -> Result<()> {
        let ty = kind.llvm(&mut self.b)?;
        let zero = self.b.const_null(ty)?;
        if count <= MAX_STORES {
            for index in 0..count {
                let index = self.word(index)?;
                let element = self.element(kind, pointer, count, index)?;
                self.b.store(zero, element)?;
            }
            return Ok(());
        }
        let int = self.b.integer(32)?;
        let (before, head, after) = (self.current_block()?, self.b.block("zero"), self.b.block("zeroed"));
        self.b.br(head)?;
        self.b.select_block(head)?;
        let index = self.b.phi(int)?;
        let element = self.element(kind, pointer, count, index)?;
        self.b.store(zero, element)?;
        let (one, end, first) = (self.word(1)?, self.word(count)?, self.word(0)?);
        let next = self.b.add(index, one)?;
        let more = self.b.icmp(IntPredicate::Ult, next, end)?;
        self.b.cond_br(more, head, after)?;
        self.b.add_incoming(index, first, before)?;
        self.b.add_incoming(index, next, head)?;
        self.b.select_block(after)?;
        Ok(())
    }

    fn element(&mut self, kind: Kind, pointer: ValueId, count: u32, index: ValueId) -> Result<ValueId> {
        let element = kind.llvm(&mut self.b)?;
        let ty = self.b.array(u64::from(count), element)?;
        let zero = self.word(0)?;
        Ok(self.b.element_ptr(ty, pointer, &[zero, index])?)
    }

    /// Returns the place of an element with a constant index.
    pub fn place_at(&mut self, place: &Place, index: u32) -> Result<Place> {
        let part = self.types.part(place.shape, index)?;
        let mut place = place.clone();
        place.shape = part.shape;
        place.scalars = place.scalars.saturating_add(part.scalars);
        let bytes = place.offset.bytes.checked_add(part.bytes);
        place.offset.bytes = bytes.ok_or_else(|| Error::new("an index beyond 4 GiB"))?;
        Ok(place)
    }

    /// Returns the place of an element with a dynamic index.
    pub fn place_of(&mut self, place: &Place, index: ValueId) -> Result<Place> {
        let part = self.types.part(place.shape, 0)?;
        let stride = match place.shape {
            Shape::Array(_, _, stride) => stride,
            Shape::Matrix(scalar, _, rows) => crate::types::column_stride(scalar, rows),
            Shape::Vector(scalar, _) => u32::from(scalar.width),
            _ => return unsupported("a dynamic index into a struct"),
        };
        let mut place = place.clone();
        place.shape = part.shape;
        place.terms.push((index, part.shape));
        place.offset.terms.push((index, stride));
        Ok(place)
    }

    /// Returns the pointer to a scalar of a variable. `dynamic` caches the dynamic part of the index of each kind.
    fn pointer(
        &mut self,
        storage: &Storage,
        place: &Place,
        scalar: u32,
        dynamic: &mut [Option<Option<ValueId>>; KINDS],
    ) -> Result<(Kind, ValueId)> {
        let missing = || Error::new("an index beyond a variable");
        let at = place.scalars.saturating_add(scalar) as usize;
        let &(kind, rank) = storage.scalars.get(at).ok_or_else(missing)?;
        let arrays = match &storage.memory {
            Memory::Split(pointers) => {
                return match place.terms.is_empty() {
                    true => Ok((kind, *pointers.get(at).ok_or_else(missing)?)),
                    // A variable of one scalar has nothing that an index could select.
                    false if pointers.len() == 1 => Ok((kind, pointers[0])),
                    false => Err(Error::new("a dynamic index into a variable that was split")),
                };
            }
            Memory::Arrays(arrays) => arrays,
        };
        let (base, count) = arrays[kind as usize].ok_or_else(missing)?;
        let sum = match dynamic[kind as usize] {
            Some(known) => known,
            None => {
                let mut sum = None;
                for &(index, shape) in &place.terms {
                    let scale = self.types.kind_counts(shape)?[kind as usize];
                    let term = self.times(index, scale)?;
                    sum = Some(match sum {
                        None => term,
                        Some(sum) => self.b.add(sum, term)?,
                    });
                }
                dynamic[kind as usize] = Some(sum);
                sum
            }
        };
        let rank_value = self.word(rank)?;
        let index = match (sum, rank) {
            (None, _) => rank_value,
            (Some(sum), 0) => sum,
            (Some(sum), _) => self.b.add(sum, rank_value)?,
        };
        Ok((kind, self.element(kind, base, count, index)?))
    }

    /// Multiplies an index by a constant.
    pub fn times(&mut self, index: ValueId, by: u32) -> Result<ValueId> {
        match by {
            1 => Ok(index),
            by => {
                let by = self.word(by)?;
                Ok(self.b.mul(index, by)?)
            }
        }
    }

    /// Loads a value.
    pub fn load(&mut self, place: &Place) -> Result<Vec<ValueId>> {
        if let Shape::Atomic(scalar) = place.shape {
            let atomic = self.atomic_place(place)?;
            return Ok(vec![self.target.atomic_load(&mut self.b, &atomic, scalar)?]);
        }
        match place.root.clone() {
            Root::Buffer(buffer) => {
                let mut values = Vec::new();
                self.load_buffer(buffer, place, &mut values)?;
                Ok(values)
            }
            Root::Memory(storage) => {
                let mut dynamic = [None; KINDS];
                let mut values = Vec::new();
                for (at, scalar) in (0..).zip(self.types.scalars(place.shape)?) {
                    let (kind, pointer) = self.pointer(&storage, place, at, &mut dynamic)?;
                    let ty = kind.llvm(&mut self.b)?;
                    let value = self.b.load(ty, pointer)?;
                    values.push(self.as_value(value, scalar)?);
                }
                Ok(values)
            }
        }
    }

    fn load_buffer(
        &mut self,
        buffer: Handle<GlobalVariable>,
        place: &Place,
        values: &mut Vec<ValueId>,
    ) -> Result<()> {
        let at = &place.offset;
        match place.shape {
            Shape::Scalar(scalar) => values.extend(self.target.load(&mut self.b, buffer, at, scalar, 1)?),
            Shape::Atomic(scalar) => {
                let atomic = self.atomic_place(place)?;
                values.push(self.target.atomic_load(&mut self.b, &atomic, scalar)?);
            }
            Shape::Vector(scalar, count) => {
                values.extend(self.target.load(&mut self.b, buffer, at, scalar, count)?);
            }
            shape => {
                self.types.scalars(shape)?;
                for index in 0..self.types.parts(shape)? {
                    let part = self.place_at(place, index)?;
                    self.load_buffer(buffer, &part, values)?;
                }
            }
        }
        Ok(())
    }

    /// Stores a value.
    pub fn store(&mut self, place: &Place, values: &[ValueId]) -> Result<()> {
        if let (Shape::Atomic(scalar), &[value]) = (place.shape, values) {
            let atomic = self.atomic_place(place)?;
            return self.target.atomic_store(&mut self.b, &atomic, scalar, value);
        }
        match place.root.clone() {
            Root::Buffer(buffer) => self.store_buffer(buffer, place, values),
            Root::Memory(storage) => {
                let mut dynamic = [None; KINDS];
                for (at, &value) in (0..).zip(values) {
                    let (kind, pointer) = self.pointer(&storage, place, at, &mut dynamic)?;
                    let value = self.as_memory(value, kind)?;
                    self.b.store(value, pointer)?;
                }
                Ok(())
            }
        }
    }

    fn store_buffer(
        &mut self,
        buffer: Handle<GlobalVariable>,
        place: &Place,
        values: &[ValueId],
    ) -> Result<()> {
        match place.shape {
            Shape::Scalar(scalar) | Shape::Vector(scalar, _) => {
                self.target.store(&mut self.b, buffer, &place.offset, scalar, values)
            }
            shape => {
                let mut rest = values;
                for index in 0..self.types.parts(shape)? {
                    let part = self.place_at(place, index)?;
                    let count = self.types.count(part.shape)? as usize;
                    let Some((first, others)) = rest.split_at_checked(count) else {
                        return Err(Error::new("a value of too few numbers"));
                    };
                    self.store_buffer(buffer, &part, first)?;
                    rest = others;
                }
                Ok(())
            }
        }
    }

    /// Returns where an atomic is.
    ///
    /// # Errors
    /// If it is not of 32 bits.
    pub fn atomic_place(&mut self, place: &Place) -> Result<AtomicPlace> {
        match place.shape {
            Shape::Atomic(Scalar { kind: ScalarKind::Sint | ScalarKind::Uint, width: 4 }) => {}
            Shape::Atomic(scalar) => {
                return unsupported(format!("atomic {}", crate::types::scalar_name(scalar)));
            }
            _ => return Err(Error::new("an atomic that is none")),
        }
        match place.root.clone() {
            Root::Buffer(buffer) => Ok(AtomicPlace::Buffer(buffer, place.offset.clone())),
            Root::Memory(storage) => {
                let (_, pointer) = self.pointer(&storage, place, 0, &mut [None; KINDS])?;
                Ok(AtomicPlace::Workgroup(pointer))
            }
        }
    }

    /// Turns what is in memory into a value: truth values are words there.
    fn as_value(&mut self, value: ValueId, scalar: Scalar) -> Result<ValueId> {
        if scalar.kind != ScalarKind::Bool {
            return Ok(value);
        }
        let zero = self.word(0)?;
        Ok(self.b.icmp(IntPredicate::Ne, value, zero)?)
    }

    fn as_memory(&mut self, value: ValueId, kind: Kind) -> Result<ValueId> {
        let (bit, ty) = (self.b.integer(1)?, kind.llvm(&mut self.b)?);
        match self.b.type_of(value)? == bit {
            true => Ok(self.b.zext(value, ty)?),
            false => Ok(value),
        }
    }
}

/// Returns the number of scalars of each kind that there is.
fn kind_lengths(scalars: &[(Kind, u32)]) -> Vec<(Kind, u32)> {
    let mut lengths: Vec<(Kind, u32)> = Vec::new();
    for kind in Kind::ALL {
        if let Some(&(_, last)) = scalars.iter().rev().find(|scalar| scalar.0 == kind) {
            lengths.push((kind, last + 1));
        }
    }
    lengths
}
