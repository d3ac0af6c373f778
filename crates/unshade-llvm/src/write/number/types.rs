//! The numbers of types.
//!
//! A type follows the types it is made of, except that an identified struct does not wait for itself. So a type that
//! refers to a struct around it is numbered before the struct.

use crate::ids::TypeId;
use crate::types::{Type, TypeTable};
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Result};

/// Maximum depth of types, and of visits to their parts, beyond the number of types: hostile types that contain each
/// other can be nested far deeper than there are types.
const MAX_DEPTH: usize = 1 << 20;

/// The number of a type while its parts are being numbered.
const STARTED: u32 = u32::MAX;

/// The numbers of types.
#[derive(Default)]
pub(super) struct TypeNumbers {
    pub(super) list: Vec<TypeId>,
    /// The number plus one of each type.
    ids: Vec<u32>,
    stack: Vec<(TypeId, usize)>,
}

impl TypeNumbers {
    pub(super) fn new(types: &TypeTable) -> Self {
        Self { list: Vec::new(), ids: alloc::vec![0; types.len()], stack: Vec::new() }
    }

    /// Returns the number of a type.
    #[inline]
    pub(super) fn get(&self, ty: TypeId) -> Result<u64> {
        match self.ids.get(ty.index()) {
            Some(&id) if id != 0 => Ok(u64::from(id) - 1),
            _ => Err(Error::without_offset(
                ErrorKind::BadValue,
                "a type that is not in the type table is used",
            )),
        }
    }

    /// Numbers a type, unless it has a number.
    #[inline]
    pub(super) fn add(&mut self, types: &TypeTable, ty: TypeId) -> Result<()> {
        match self.ids.get(ty.index()) {
            Some(0) => self.add_new(types, ty),
            Some(_) => Ok(()),
            None if types.contains(ty) => {
                self.ids.resize(types.len(), 0);
                self.add_new(types, ty)
            }
            None => Err(Error::without_offset(ErrorKind::OutOfRange, "a type that does not exist is used")),
        }
    }

    fn id(&mut self, ty: TypeId) -> Result<&mut u32> {
        let missing = || Error::without_offset(ErrorKind::OutOfRange, "a type that does not exist is used");
        self.ids.get_mut(ty.index()).ok_or_else(missing)
    }

    fn add_new(&mut self, types: &TypeTable, ty: TypeId) -> Result<()> {
        let mut steps = 0usize;
        self.start(types, ty)?;
        while let Some((ty, next)) = self.stack.last_mut() {
            let (ty, at) = (*ty, *next);
            *next += 1;
            steps += 1;
            if self.stack.len() > MAX_DEPTH || steps > MAX_DEPTH * 16 {
                return Err(Error::without_offset(ErrorKind::Limit, "types are nested too deeply"));
            }
            match part(types, ty, at) {
                Some(part) => {
                    if *self.id(part)? == 0 {
                        self.start(types, part)?;
                    }
                }
                None => {
                    self.stack.pop();
                    self.finish(ty)?;
                }
            }
        }
        Ok(())
    }

    fn start(&mut self, types: &TypeTable, ty: TypeId) -> Result<()> {
        match types.get(ty) {
            Type::Struct(structure) if !structure.literal => *self.id(ty)? = STARTED,
            Type::Unknown => {
                return Err(Error::without_offset(
                    ErrorKind::BadValue,
                    "a type that could not be read is used",
                ));
            }
            _ => {}
        }
        self.stack.push((ty, 0));
        Ok(())
    }

    /// Gives a type its number, unless a type that it contains has led back to it.
    fn finish(&mut self, ty: TypeId) -> Result<()> {
        let number = u32::try_from(self.list.len() + 1).unwrap_or(STARTED);
        let id = self.id(ty)?;
        if *id == 0 || *id == STARTED {
            *id = number;
            self.list.push(ty);
        }
        Ok(())
    }
}

/// Returns a type that a type is made of.
fn part(types: &TypeTable, ty: TypeId, at: usize) -> Option<TypeId> {
    let first = |ty: TypeId| (at == 0).then_some(ty);
    match types.get(ty) {
        Type::Pointer { pointee, .. } => first(pointee),
        Type::Array { element, .. } | Type::Vector { element, .. } => first(element),
        Type::Function { result, parameters, .. } => match at.checked_sub(1) {
            None => Some(result),
            Some(at) => types.elements(parameters).get(at).copied(),
        },
        Type::Struct(structure) => types.elements(structure.fields).get(at).copied(),
        Type::Target { types: parameters, .. } => types.elements(parameters).get(at).copied(),
        _ => None,
    }
}
