//! The state of a module that is built, its properties, and its end.

use super::refused;
use crate::body::FunctionBody;
use crate::data_layout::DataLayout;
use crate::ids::{AttributeListId, AttributeSetId, MetadataId, TypeId, ValueId};
use crate::module::Module;
use crate::rules::{self, ConstantIndex};
use crate::value::ValueKind;
use crate::write::fixed_names;
use crate::write::{self, Version, WriteInput, WriteOptions};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use unshade_core::Result;

/// The number of the first value of the first function.
const VALUE_BASE: u32 = 1 << 28;
/// The number of the first value after those of all functions.
const VALUE_END: u32 = FunctionBody::UNNUMBERED;
/// The number of the first metadata entry of the first function.
const METADATA_BASE: u32 = 1 << 27;
/// The number of the first metadata entry after those of all functions.
const METADATA_END: u32 = 1 << 28;

/// Makes a module; the [module documentation](super) has an example.
#[derive(Clone, Debug)]
pub struct ModuleBuilder {
    pub(super) module: Module<'static>,
    pub(super) version: Version,
    bodies: Vec<FunctionBody>,
    pub(super) constants: ConstantIndex,
    pub(super) symbols: BTreeMap<Vec<u8>, ValueId>,
    pub(super) structs: BTreeMap<Vec<u8>, TypeId>,
    pub(super) attribute_lists: BTreeMap<Vec<(u32, AttributeSetId)>, AttributeListId>,
    pub(super) strings: BTreeMap<Vec<u8>, MetadataId>,
    pub(super) tuples: BTreeMap<Vec<u64>, MetadataId>,
    pub(super) metadata_values: BTreeMap<ValueId, MetadataId>,
    pub(super) kinds: BTreeMap<Vec<u8>, u32>,
    /// Functions whose body was started.
    pub(super) started: BTreeSet<u32>,
    /// Whether a body is being built.
    pub(super) is_open: bool,
    next_value: u32,
    next_metadata: u32,
}

impl ModuleBuilder {
    /// Creates a module without content, for a version of LLVM.
    pub fn new(version: Version) -> Self {
        let mut module = Module::default();
        module.version = 2;
        let mut kinds = BTreeMap::new();
        for (kind, name) in (0u32..).zip(fixed_names::kinds(version)) {
            module.metadata_kinds.push((kind, name.as_bytes().into()));
            kinds.insert(name.as_bytes().to_vec(), kind);
        }
        module.bundle_tags = fixed_names::tags(version).iter().map(|tag| tag.as_bytes().into()).collect();
        module.sync_scopes = fixed_names::SCOPES.iter().map(|name| name.as_bytes().to_vec()).collect();
        Self {
            module,
            version,
            bodies: Vec::new(),
            constants: ConstantIndex::default(),
            symbols: BTreeMap::new(),
            structs: BTreeMap::new(),
            attribute_lists: BTreeMap::new(),
            strings: BTreeMap::new(),
            tuples: BTreeMap::new(),
            metadata_values: BTreeMap::new(),
            kinds,
            started: BTreeSet::new(),
            is_open: false,
            next_value: VALUE_BASE,
            next_metadata: METADATA_BASE,
        }
    }

    /// Returns the module as it is so far.
    pub fn module(&self) -> &Module<'static> {
        &self.module
    }

    /// Returns the version of LLVM that the module is for.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Returns the type of a value of the module: for a variable or function, that of a pointer to it.
    ///
    /// # Errors
    /// If there is no such value.
    pub fn type_of(&self, value: ValueId) -> Result<TypeId> {
        match self.module.values.get(value.index()) {
            Some(value) => Ok(value.ty),
            None => refused("a value that does not exist in the module is used"),
        }
    }

    /// Returns a type as LLVM prints it.
    pub fn type_text(&self, ty: TypeId) -> String {
        crate::print::type_text(&self.module.types, ty)
    }

    /// Sets the target triple.
    pub fn set_triple(&mut self, triple: &str) {
        self.module.triple = triple.as_bytes().to_vec();
    }

    /// Sets the data layout. Sizes and alignments follow from it, so it comes before functions.
    ///
    /// # Errors
    /// If the layout is not valid, or instructions were built by another one.
    pub fn set_data_layout(&mut self, layout: &str) -> Result<()> {
        if !self.started.is_empty() {
            return refused("the data layout is set after bodies of functions");
        }
        if let Err(message) = rules::check_data_layout(layout.as_bytes(), self.version) {
            return refused(message);
        }
        self.module.data_layout = DataLayout::parse(layout.as_bytes());
        self.module.data_layout_text = layout.as_bytes().to_vec();
        Ok(())
    }

    /// Sets the name of the source file.
    pub fn set_source_filename(&mut self, name: &str) {
        self.module.source_filename = Some(name.as_bytes().to_vec());
    }

    /// Appends lines of assembly that belong to no function.
    pub fn add_assembly(&mut self, lines: &str) {
        self.module.assembly.extend_from_slice(lines.as_bytes());
        if !lines.is_empty() && !lines.ends_with('\n') {
            self.module.assembly.push(b'\n');
        }
    }

    /// Returns the numbers of the first value and metadata entry of the next body.
    pub(super) fn bases(&self) -> (u32, u32) {
        (self.next_value, self.next_metadata)
    }

    /// Adds a complete body. Bodies have numbers of their own, so that a value of one is no value of another.
    pub(super) fn add_body(&mut self, body: FunctionBody) -> Result<()> {
        let count = |len: usize| u32::try_from(len).unwrap_or(u32::MAX);
        let next = self.next_value.saturating_add(count(body.values.len()));
        let next_metadata = self.next_metadata.saturating_add(count(body.metadata.len()));
        if next > VALUE_END || next_metadata > METADATA_END {
            return refused("module has too many values");
        }
        let Some(function) = self.module.functions.get_mut(body.function as usize) else {
            return refused("body of a function that does not exist");
        };
        function.declaration = false;
        self.is_open = false;
        (self.next_value, self.next_metadata) = (next, next_metadata);
        self.bodies.push(body);
        Ok(())
    }

    /// Ends the module.
    ///
    /// # Errors
    /// If a body was started but not finished, or a symbol that nothing outside of the module can define has no
    /// definition.
    pub fn finish(mut self) -> Result<BuiltModule> {
        for (at, function) in self.module.functions.iter().enumerate() {
            let name = super::symbols::shown(&function.symbol.name);
            let is_started = u32::try_from(at).is_ok_and(|at| self.started.contains(&at));
            if function.declaration && is_started {
                return refused(alloc::format!("body of @{name} was started but not finished"));
            }
            if function.declaration && function.symbol.linkage.is_local() {
                return refused(alloc::format!("function @{name} is local but has no body"));
            }
        }
        for global in self.module.globals.iter().filter(|global| global.initializer.is_none()) {
            if !super::symbols::may_be_declared(global.symbol.linkage) {
                let name = super::symbols::shown(&global.symbol.name);
                return refused(alloc::format!("variable @{name} needs an initial value"));
            }
        }
        self.bodies.sort_by_key(|body| body.function);
        Ok(BuiltModule { module: self.module, bodies: self.bodies, version: self.version })
    }

    /// Returns the constant that a value is.
    pub(super) fn is_constant(&self, value: ValueId) -> bool {
        let kind = self.module.values.get(value.index()).map(|value| value.kind);
        matches!(
            kind,
            Some(
                ValueKind::Constant(_) | ValueKind::Global(_) | ValueKind::Function(_) | ValueKind::Alias(_)
            )
        )
    }
}

/// A module that is complete.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BuiltModule {
    /// Everything but the bodies of functions.
    pub module: Module<'static>,
    /// The bodies of the functions that are defined, in their order.
    pub bodies: Vec<FunctionBody>,
    version: Version,
}

impl BuiltModule {
    /// Creates a module of its parts.
    pub(crate) fn new(module: Module<'static>, bodies: Vec<FunctionBody>, version: Version) -> Self {
        Self { module, bodies, version }
    }

    /// Returns the module as a bitcode file, as the compilers of its version of LLVM write it.
    ///
    /// # Errors
    /// As [`write::module`].
    pub fn write(&self) -> Result<Vec<u8>> {
        self.write_with(&WriteOptions { use_list_orders: false, ..WriteOptions::default() })
    }

    /// Returns the module as a bitcode file; the version of the options is ignored.
    ///
    /// # Errors
    /// As [`write::module`].
    pub fn write_with(&self, options: &WriteOptions<'_>) -> Result<Vec<u8>> {
        let options = WriteOptions { version: self.version, ..options.clone() };
        write::module(&WriteInput::new(&self.module, &self.bodies), &options)
    }
}
