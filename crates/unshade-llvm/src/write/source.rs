//! What is written: a module and its bodies, with one sequence of keys for all their values and one for all their
//! metadata.
//!
//! Ids of values and metadata are only unique within a module and one body. A *key* is unique within the module and
//! all bodies: the module's own come first, then those of each body in turn. The keys say nothing about the numbers
//! in the file that is written.

use crate::body::FunctionBody;
use crate::constants::{Constant, Constants};
use crate::ids::{MetadataId, TypeId, ValueId, narrow};
use crate::instruction::Opcode;
use crate::metadata::{Metadata, MetadataTable};
use crate::module::Module;
use crate::types::{Type, TypeTable};
use crate::value::{Value, ValueKind};
use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Result};

/// What an id belongs to: a body by its index in the input, or the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Scope(u32);

impl Scope {
    /// The module.
    pub(super) const MODULE: Self = Self(u32::MAX);

    /// A body, by its index in the input.
    pub(super) fn body(index: usize) -> Self {
        Self(narrow(index as u64))
    }

    /// Returns the index of the body in the input; none for the module.
    pub(super) fn index(self) -> Option<usize> {
        (self != Self::MODULE).then_some(self.0 as usize)
    }
}

/// A value or metadata by its key, with what it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) scope: Scope,
    pub(super) key: u32,
}

impl Key {
    /// Returns the key as an index.
    pub(super) fn index(self) -> usize {
        self.key as usize
    }
}

/// The module and its bodies.
pub(super) struct Source<'i, 'a> {
    pub(super) module: &'i Module<'a>,
    pub(super) bodies: &'i [FunctionBody],
    pub(super) types: Cow<'i, TypeTable>,
    /// The key of the first value of each body, and of the value after the last.
    value_starts: Vec<u32>,
    /// The key of the first metadata of each body, and of the one after the last.
    metadata_starts: Vec<u32>,
    /// The body of each function.
    of_functions: Vec<Option<Scope>>,
    /// The type of the null pointer that LLVM gives to functions in place of missing data.
    placeholder: TypeId,
    placeholder_key: u32,
}

/// The operands of a constant.
pub(super) enum ConstantOperands<'s> {
    Many(&'s [ValueId]),
    One(ValueId),
}

impl ConstantOperands<'_> {
    pub(super) fn as_slice(&self) -> &[ValueId] {
        match self {
            Self::Many(values) => values,
            Self::One(value) => core::slice::from_ref(value),
        }
    }
}

impl<'i, 'a> Source<'i, 'a> {
    pub(super) fn new(module: &'i Module<'a>, bodies: &'i [FunctionBody]) -> Result<Self> {
        let (mut value_starts, mut metadata_starts) = (Vec::new(), Vec::new());
        let mut values = module.values.len();
        let mut metadata = module.metadata.len() + module.metadata.unnumbered_len();
        for body in bodies {
            value_starts.push(narrow(values as u64));
            metadata_starts.push(narrow(metadata as u64));
            values += body.values.len() + body.unnumbered.len();
            metadata += body.metadata.len() + body.metadata.unnumbered_len();
        }
        value_starts.push(narrow(values as u64));
        metadata_starts.push(narrow(metadata as u64));
        if values.max(metadata) >= u32::MAX as usize / 2 {
            return Err(Error::without_offset(ErrorKind::Limit, "module has too many values to be written"));
        }
        let mut of_functions = alloc::vec![None; module.functions.len()];
        for (index, body) in bodies.iter().enumerate() {
            match (of_functions.get_mut(body.function as usize), module.functions.get(body.function as usize))
            {
                (Some(slot @ None), Some(function)) if !function.declaration => {
                    *slot = Some(Scope::body(index));
                }
                _ => {
                    return Err(Error::without_offset(
                        ErrorKind::BadValue,
                        "body of a function that has none",
                    ));
                }
            }
        }
        let types = Cow::Borrowed(&module.types);
        Ok(Self {
            module,
            bodies,
            types,
            value_starts,
            metadata_starts,
            of_functions,
            placeholder: TypeId::NONE,
            placeholder_key: 0,
        })
    }

    /// Returns the number of keys of values.
    pub(super) fn value_count(&self) -> usize {
        // One more for the placeholder.
        self.value_starts.last().map_or(0, |&end| end as usize + 1)
    }

    /// Returns the number of keys of metadata.
    pub(super) fn metadata_count(&self) -> usize {
        self.metadata_starts.last().map_or(0, |&end| end as usize)
    }

    /// Returns the body of a scope.
    pub(super) fn body(&self, scope: Scope) -> Option<&'i FunctionBody> {
        self.bodies.get(scope.0 as usize)
    }

    /// Returns the body of a function.
    pub(super) fn body_of(&self, function: usize) -> Option<Scope> {
        self.of_functions.get(function).copied().flatten()
    }

    /// Returns the id of a type, which is added if the module does not have it.
    pub(super) fn intern(&mut self, ty: Type) -> TypeId {
        match self.types.find(ty) {
            Some(found) => found,
            None => self.types.to_mut().intern(ty),
        }
    }

    /// Returns the key of a value.
    #[inline]
    pub(super) fn value_key(&self, scope: Scope, id: ValueId) -> Result<Key> {
        if id.index() < self.module.values.len() {
            return Ok(Key { scope: Scope::MODULE, key: id.0 });
        }
        self.local_key(scope, id).ok_or_else(|| {
            Error::without_offset(ErrorKind::OutOfRange, "a value that does not exist is used")
        })
    }

    fn local_key(&self, scope: Scope, id: ValueId) -> Option<Key> {
        let body = self.body(scope)?;
        let start = *self.value_starts.get(scope.0 as usize)?;
        let at = id.0.wrapping_sub(body.value_base);
        if (at as usize) < body.values.len() {
            return Some(Key { scope, key: start + at });
        }
        let at = id.0.checked_sub(FunctionBody::UNNUMBERED)?;
        ((at as usize) < body.unnumbered.len())
            .then(|| Key { scope, key: start + narrow(body.values.len() as u64) + at })
    }

    /// Returns a value.
    #[inline]
    pub(super) fn value(&self, key: Key) -> Result<Value> {
        let found = match self.body(key.scope) {
            None => self.module.values.get(key.index()).copied(),
            Some(body) => {
                let start = self.value_starts.get(key.scope.0 as usize).copied().unwrap_or(0);
                let at = key.key.wrapping_sub(start) as usize;
                body.values.get(at).or_else(|| body.unnumbered.get(at - body.values.len())).copied()
            }
        };
        match found {
            Some(Value { kind: ValueKind::Unresolved, .. }) => {
                Err(Error::without_offset(ErrorKind::BadValue, "a value that nothing defines is used"))
            }
            Some(value) => Ok(value),
            None => Ok(Value { kind: ValueKind::Unresolved, ty: self.placeholder }),
        }
    }

    /// Returns the constant that a value is, with the table that it belongs to.
    #[inline]
    pub(super) fn constant(&self, key: Key, value: Value) -> Option<(Constant, &'i Constants)> {
        match value.kind {
            ValueKind::Constant(index) => {
                let constants = self.body(key.scope).map_or(&self.module.constants, |body| &body.constants);
                Some((constants.get(index), constants))
            }
            // The placeholder.
            ValueKind::Unresolved => Some((Constant::Null, &self.module.constants)),
            _ => None,
        }
    }

    /// Returns the operands of a constant.
    pub(super) fn operands_of(&self, constant: Constant, constants: &'i Constants) -> ConstantOperands<'i> {
        match constant {
            Constant::Aggregate(elements) => ConstantOperands::Many(constants.values(elements)),
            Constant::Expression(expression) => {
                let expression = constants.expression(expression);
                ConstantOperands::Many(
                    expression.map_or(&[], |expression| constants.values(expression.operands)),
                )
            }
            Constant::BlockAddress { function, .. } => ConstantOperands::One(function),
            Constant::DsoLocalEquivalent(symbol) | Constant::NoCfi(symbol) => ConstantOperands::One(symbol),
            _ => ConstantOperands::Many(&[]),
        }
    }

    /// Returns the type of the elements that a constant `getelementptr` goes over.
    pub(super) fn element_type(&self, key: Key, value: Value) -> Option<TypeId> {
        let (Constant::Expression(index), constants) = self.constant(key, value)? else { return None };
        let expression = constants.expression(index)?;
        (expression.opcode == Opcode::GetElementPtr).then_some(expression.ty)
    }

    /// Returns metadata that wraps each value that is wrapped, by the value's key.
    pub(super) fn wrappers(&self) -> Result<BTreeMap<u32, Key>> {
        let mut wrappers = BTreeMap::new();
        let scopes = core::iter::once(Scope::MODULE).chain((0..self.bodies.len()).map(Scope::body));
        for scope in scopes {
            let table = self.body(scope).map_or(&self.module.metadata, |body| &body.metadata);
            for (id, entry) in table.iter() {
                if let Metadata::Value { value, .. } = entry
                    && let Ok(value) = self.value_key(scope, value)
                {
                    let key = self.metadata_key(scope, id)?;
                    wrappers.entry(value.key).or_insert(key);
                }
            }
        }
        Ok(wrappers)
    }

    /// Returns the null pointer that LLVM gives to functions in place of missing data: that of the module if it
    /// has one.
    pub(super) fn placeholder(&mut self, pointer: Type) -> Key {
        let ty = self.intern(pointer);
        if self.placeholder == ty {
            return self.known_placeholder();
        }
        self.placeholder = ty;
        let is_null = |value: &Value| match value.kind {
            ValueKind::Constant(index) => {
                value.ty == ty && self.module.constants.get(index) == Constant::Null
            }
            _ => false,
        };
        let found = self.module.values.iter().position(is_null);
        let key = found.unwrap_or(self.value_count() - 1);
        self.placeholder_key = narrow(key as u64);
        self.known_placeholder()
    }

    /// Returns what [`Source::placeholder`] returned last.
    pub(super) fn known_placeholder(&self) -> Key {
        Key { scope: Scope::MODULE, key: self.placeholder_key }
    }

    /// Returns the keys of the values of the module or of a body.
    pub(super) fn value_keys(&self, scope: Scope) -> impl Iterator<Item = Key> + use<> {
        let range = match self.body(scope) {
            None => 0..narrow(self.module.values.len() as u64),
            Some(_) => {
                let at = |index: u32| self.value_starts.get(index as usize).copied().unwrap_or(0);
                at(scope.0)..at(scope.0 + 1)
            }
        };
        range.map(move |key| Key { scope, key })
    }

    /// Returns the key of metadata.
    pub(super) fn metadata_key(&self, scope: Scope, id: MetadataId) -> Result<Key> {
        let of_table = |table: &MetadataTable| {
            let at = id.0.wrapping_sub(table.base()) as usize;
            if at < table.len() { Some(at) } else { table.unnumbered_index(id).map(|at| table.len() + at) }
        };
        if let Some(at) = of_table(&self.module.metadata) {
            return Ok(Key { scope: Scope::MODULE, key: narrow(at as u64) });
        }
        let local = self.body(scope).and_then(|body| {
            let start = *self.metadata_starts.get(scope.0 as usize)?;
            Some(Key { scope, key: start + narrow(of_table(&body.metadata)? as u64) })
        });
        local.ok_or_else(|| {
            Error::without_offset(ErrorKind::OutOfRange, "metadata that does not exist is used")
        })
    }

    /// Returns metadata, with the table that it belongs to.
    pub(super) fn metadata(&self, key: Key) -> Result<(Metadata, &'i MetadataTable)> {
        let (table, start) = match self.body(key.scope) {
            None => (&self.module.metadata, 0),
            Some(body) => {
                (&body.metadata, self.metadata_starts.get(key.scope.0 as usize).copied().unwrap_or(0))
            }
        };
        match table.by_index(key.key.wrapping_sub(start) as usize) {
            Some(Metadata::Missing) | None => {
                Err(Error::without_offset(ErrorKind::BadValue, "metadata that nothing defines is used"))
            }
            Some(metadata) => Ok((metadata, table)),
        }
    }
}
