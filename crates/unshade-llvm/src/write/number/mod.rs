//! The numbers that a writer gives to types, values, attributes and metadata.
//!
//! All are numbered in the order in which a walk through the module meets them: first the symbols, then the constants
//! that they refer to, named metadata, attached metadata, and what instructions refer to. The constants of a
//! function are numbered when it is written, and their numbers forgotten after it.
//!
//! Knowledge: the orders of LLVM's `ValueEnumerator.cpp` (14 and 19).

mod attributes;
mod metadata;
mod types;
mod values;

use super::fixed_names::Names;
use super::source::{Key, Scope, Source};
use super::{Version, WriteInput, WriteOptions};
use crate::attributes::Attribute;
use crate::global::Symbol;
use crate::ids::{AttributeListId, MetadataId, TypeId, ValueId};
use crate::module::Module;
use crate::types::Type;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use attributes::AttributeNumbers;
use metadata::{MODULE, MetadataNumbers};
use types::TypeNumbers;
use unshade_core::{Error, ErrorKind, Result};

/// A value that has a number.
#[derive(Clone, Copy)]
struct Numbered {
    key: Key,
    ty: TypeId,
    /// How often it is used.
    uses: u32,
}

/// The number of a constant while its operands are being numbered.
const STARTED: u32 = u32::MAX;

/// All numbers.
pub(super) struct Numbering<'i, 'a> {
    pub(super) source: Source<'i, 'a>,
    types: TypeNumbers,
    values: Vec<Numbered>,
    /// The number plus one of each value, by key.
    value_ids: Vec<u32>,
    /// The number of values of the module.
    module_values: usize,
    /// The number of symbols.
    symbols: usize,
    pub(super) attributes: AttributeNumbers,
    /// The comdats that are used: names and how to choose.
    pub(super) comdats: Vec<(&'i [u8], u64)>,
    /// The numbers of comdats, from 1 on.
    pub(super) comdat_numbers: BTreeMap<&'i [u8], u64>,
    pub(super) metadata: MetadataNumbers,
    pub(super) kinds: Names,
    /// Whether the constants of each type are brought together, those that are used often first.
    sorts: bool,
    version: Version,
    /// The constants whose types have been numbered, by key.
    typed: Vec<bool>,
    /// The metadata that wraps values, by the key of the value, if debug records refer to values.
    wrappers: BTreeMap<u32, Key>,
}

impl<'i, 'a> Numbering<'i, 'a> {
    pub(super) fn new(input: &WriteInput<'i, 'a>, options: &WriteOptions<'_>) -> Result<Self> {
        let source = Source::new(input.module, input.bodies)?;
        let kinds = Names::kinds(options.version, input.module)?;
        let mut numbering = Self {
            types: TypeNumbers::new(&source.types),
            values: Vec::with_capacity(source.value_count()),
            value_ids: alloc::vec![0; source.value_count()],
            typed: alloc::vec![false; source.value_count()],
            module_values: 0,
            symbols: 0,
            attributes: AttributeNumbers::new(options.version == Version::Dxc),
            comdats: Vec::new(),
            comdat_numbers: BTreeMap::new(),
            metadata: MetadataNumbers::new(source.metadata_count()),
            kinds,
            sorts: !options.use_list_orders,
            version: options.version,
            wrappers: BTreeMap::new(),
            source,
        };
        if input.bodies.iter().any(|body| !body.debug_records.is_empty()) {
            numbering.wrappers = numbering.source.wrappers()?;
        }
        numbering.add_symbols()?;
        numbering.add_initializers()?;
        numbering.add_module_metadata()?;
        numbering.sort_constants(numbering.symbols)?;
        numbering.organize_metadata()?;
        numbering.module_values = numbering.values.len();
        Ok(numbering)
    }

    /// Returns the types in the order of their numbers.
    pub(super) fn type_list(&self) -> &[TypeId] {
        &self.types.list
    }

    /// Returns the number of a type.
    #[inline]
    pub(super) fn ty(&self, ty: TypeId) -> Result<u64> {
        self.types.get(ty)
    }

    /// Returns the number of a value.
    #[inline]
    pub(super) fn value_of_key(&self, key: Key) -> Result<u32> {
        match self.value_ids.get(key.index()) {
            Some(&id) if id != 0 && id != STARTED => Ok(id - 1),
            _ => Err(Error::without_offset(ErrorKind::BadValue, "a value is used where it is not defined")),
        }
    }

    /// Returns the number of a value.
    #[inline]
    pub(super) fn value(&self, scope: Scope, id: ValueId) -> Result<u32> {
        self.value_of_key(self.source.value_key(scope, id)?)
    }

    /// Returns the constants of the module.
    pub(super) fn module_constants(&self) -> core::ops::Range<usize> {
        self.symbols..self.module_values
    }

    /// Returns the key and the type of a value with this number.
    pub(super) fn numbered(&self, number: usize) -> Option<(Key, TypeId)> {
        self.values.get(number).map(|value| (value.key, value.ty))
    }

    fn add_type(&mut self, ty: TypeId) -> Result<()> {
        self.types.add(&self.source.types, ty)
    }

    /// Numbers the symbols: variables, functions, aliases, ifuncs.
    fn add_symbols(&mut self) -> Result<()> {
        let module = self.source.module;
        for global in &module.globals {
            self.add_object(&global.symbol)?;
        }
        for function in &module.functions {
            self.add_object(&function.symbol)?;
            self.add_attributes(function.attributes)?;
        }
        for indirect in [false, true] {
            for alias in module.aliases.iter().filter(|alias| alias.indirect == indirect) {
                self.add_symbol(&alias.symbol)?;
            }
        }
        self.symbols = self.values.len();
        Ok(())
    }

    /// Numbers a symbol that may be in a comdat.
    fn add_object(&mut self, symbol: &'i Symbol) -> Result<()> {
        if let Some((name, selection)) = comdat(self.source.module, symbol)?
            && !self.comdat_numbers.contains_key(name)
        {
            self.comdats.push((name, selection));
            self.comdat_numbers.insert(name, self.comdats.len() as u64);
        }
        self.add_symbol(symbol)
    }

    fn add_symbol(&mut self, symbol: &Symbol) -> Result<()> {
        self.add_value(self.source.value_key(Scope::MODULE, symbol.value)?)?;
        self.add_type(symbol.ty)
    }

    /// Numbers the constants that symbols refer to.
    fn add_initializers(&mut self) -> Result<()> {
        let module = self.source.module;
        for global in &module.globals {
            if let Some(value) = global.initializer {
                self.add_module_value(value)?;
            }
            if let Some(set) = global.attributes {
                let (types, source) = (&mut self.types, &self.source);
                self.attributes
                    .add_set(&module.attributes, set, |attribute| add_attribute(types, source, attribute))?;
            }
        }
        for indirect in [false, true] {
            for alias in module.aliases.iter().filter(|alias| alias.indirect == indirect) {
                self.add_module_value(alias.target)?;
            }
        }
        if self.version == Version::Dxc {
            self.add_function_data()?;
        }
        for (at, function) in module.functions.iter().enumerate() {
            if self.version == Version::Dxc {
                break;
            }
            let body = self.source.body_of(at);
            let personality = function.personality.or_else(|| self.source.body(body?)?.personality);
            let data = [personality, function.prefix, function.prologue];
            if data.iter().all(Option::is_none) {
                continue;
            }
            for value in data {
                match value {
                    Some(value) => self.add_module_value(value)?,
                    None => self.add_placeholder()?,
                }
            }
        }
        let metadata = self.source.intern(Type::Metadata);
        self.add_type(metadata)
    }

    /// Numbers the data of functions as LLVM 3.7 does: kind by kind.
    fn add_function_data(&mut self) -> Result<()> {
        let functions = &self.source.module.functions;
        let prefixes = functions.iter().filter_map(|function| function.prefix);
        let prologues = functions.iter().filter_map(|function| function.prologue);
        let personalities = functions.iter().filter_map(|function| function.personality);
        for value in prefixes.chain(prologues).chain(personalities) {
            self.add_module_value(value)?;
        }
        Ok(())
    }

    /// Numbers the null pointer that LLVM keeps for data that a function lacks when it has other data.
    fn add_placeholder(&mut self) -> Result<()> {
        let pointer = match self.version {
            Version::Llvm14 | Version::Dxc => {
                let pointee = self.source.intern(Type::Integer(1));
                Type::Pointer { pointee, address_space: 0 }
            }
            Version::Llvm19 => Type::OpaquePointer { address_space: 0 },
        };
        let key = self.source.placeholder(pointer);
        self.add_value(key)
    }

    fn add_module_value(&mut self, id: ValueId) -> Result<()> {
        self.add_value(self.source.value_key(Scope::MODULE, id)?)
    }

    /// Numbers named metadata and what is attached to global variables.
    fn add_module_metadata(&mut self) -> Result<()> {
        let module = self.source.module;
        for &node in module.named_metadata.iter().flat_map(|named| &named.nodes) {
            self.add_metadata(MODULE, Scope::MODULE, node)?;
        }
        for global in &module.globals {
            self.add_attached(MODULE, Scope::MODULE, &global.symbol.attachments)?;
        }
        for (at, function) in module.functions.iter().enumerate() {
            if let Type::Function { parameters, .. } = self.source.types.get(function.symbol.ty) {
                for index in 0..parameters.len() {
                    let parameter = self.source.types.elements(parameters).get(index).copied();
                    parameter.map_or(Ok(()), |ty| self.add_type(ty))?;
                }
            }
            match self.source.body_of(at) {
                Some(scope) => self.add_body(scope, function)?,
                None if function.declaration => {
                    self.add_attached(MODULE, Scope::MODULE, &function.symbol.attachments)?;
                }
                None => {
                    return Err(Error::without_offset(ErrorKind::BadValue, "a defined function has no body"));
                }
            }
        }
        Ok(())
    }

    /// Numbers attached metadata, in the order of its kinds.
    fn add_attached(&mut self, owner: u32, scope: Scope, attachments: &[(u32, MetadataId)]) -> Result<()> {
        for (_, id) in self.kinds.sorted(attachments)? {
            self.add_metadata(owner, scope, id)?;
        }
        Ok(())
    }

    fn add_attributes(&mut self, list: AttributeListId) -> Result<()> {
        let (types, source) = (&mut self.types, &self.source);
        let attributes = &source.module.attributes;
        if list.is_some() && list.index() >= attributes.list_count() {
            return Err(Error::without_offset(
                ErrorKind::OutOfRange,
                "a list of attributes that does not exist is used",
            ));
        }
        self.attributes.add(attributes, list, |attribute| add_attribute(types, source, attribute))
    }
}

/// Numbers the type that an attribute has.
fn add_attribute(types: &mut TypeNumbers, source: &Source<'_, '_>, attribute: &Attribute) -> Result<()> {
    match *attribute {
        Attribute::Type(_, Some(ty)) => types.add(&source.types, ty),
        _ => Ok(()),
    }
}

/// Returns the name of the comdat of a symbol, and how to choose among several of that name.
pub(super) fn comdat<'m>(module: &'m Module<'_>, symbol: &'m Symbol) -> Result<Option<(&'m [u8], u64)>> {
    /// `any`
    const ANY: u64 = 1;
    if symbol.implicit_comdat {
        // Mach-O has no comdats.
        let is_apple = module.triple.windows(7).any(|part| part == b"-apple-" || part == b"-darwin");
        return Ok((!is_apple).then_some((&symbol.name, ANY)));
    }
    let Some(index) = symbol.comdat else { return Ok(None) };
    match module.comdats.get(index as usize) {
        Some(comdat) => Ok(Some((&comdat.name, comdat.selection))),
        None => {
            Err(Error::without_offset(ErrorKind::OutOfRange, "symbol refers to a comdat that does not exist"))
        }
    }
}
