//! Variables, functions and aliases of a module that is built, and their properties.

use super::{ModuleBuilder, refused};
use crate::global::{Alias, Comdat, Function, GlobalVariable, Linkage, Symbol};
use crate::ids::{AttributeListId, MetadataId, TypeId, ValueId, narrow};
use crate::types::Type;
use crate::value::{Value, ValueKind};
use alloc::string::String;
use unshade_core::Result;

/// What a variable is besides its name and type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GlobalOptions {
    /// Whether nothing ever changes it.
    pub constant: bool,
    /// The address space.
    pub address_space: u32,
    /// The linkage.
    pub linkage: Linkage,
    /// The initial value; a variable without one is defined elsewhere.
    pub initializer: Option<ValueId>,
    /// Whether it may be initialised outside of the module.
    pub externally_initialized: bool,
}

impl Default for GlobalOptions {
    fn default() -> Self {
        Self {
            constant: false,
            address_space: 0,
            linkage: Linkage::External,
            initializer: None,
            externally_initialized: false,
        }
    }
}

/// Returns whether a symbol of this linkage may be defined elsewhere.
pub(super) fn may_be_declared(linkage: Linkage) -> bool {
    matches!(linkage, Linkage::External | Linkage::ExternalWeak)
}

/// Returns a name for a message.
pub(super) fn shown(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

impl ModuleBuilder {
    /// Adds a function, which is a declaration until its [body](ModuleBuilder::body) is built. Returns its value: a
    /// pointer to it.
    ///
    /// # Errors
    /// If the type is no function type, or the name is taken.
    pub fn add_function(&mut self, name: &str, ty: TypeId) -> Result<ValueId> {
        if !self.module.types.is_function(ty) {
            return refused("a function of a type that is none").map_err(|e| self.with_type(e, ty));
        }
        let address_space = self.module.data_layout.program_address_space();
        let index = narrow(self.module.functions.len() as u64);
        let mut symbol = self.symbol(name, ty, address_space, ValueKind::Function(index))?;
        symbol.linkage = Linkage::External;
        let value = symbol.value;
        self.module.functions.push(Function::new(symbol));
        Ok(value)
    }

    /// Returns the function of this name and type, which is added if the module has none of this name.
    ///
    /// # Errors
    /// If the name is that of another symbol, or the type is no function type.
    pub fn function(&mut self, name: &str, ty: TypeId) -> Result<ValueId> {
        let Some(known) = self.find_symbol(name) else { return self.add_function(name, ty) };
        match self.function_of(known) {
            Ok(function) if function.symbol.ty == ty => Ok(known),
            _ => refused(alloc::format!("@{name} is another symbol")).map_err(|e| self.with_type(e, ty)),
        }
    }

    /// Adds a variable, and returns its value: a pointer to it.
    ///
    /// # Errors
    /// If the type has no size, the name is taken, or the initial value is no constant of the type.
    pub fn add_global(&mut self, name: &str, ty: TypeId, options: &GlobalOptions) -> Result<ValueId> {
        if !self.is_sized(ty) {
            return refused("a variable of a type without a size").map_err(|e| self.with_type(e, ty));
        }
        if let Some(initializer) = options.initializer {
            self.check_initializer(ty, initializer)?;
        }
        let index = narrow(self.module.globals.len() as u64);
        let mut symbol = self.symbol(name, ty, options.address_space, ValueKind::Global(index))?;
        set_linkage(&mut symbol, options.linkage);
        let value = symbol.value;
        self.module.globals.push(GlobalVariable {
            symbol,
            constant: options.constant,
            externally_initialized: options.externally_initialized,
            initializer: options.initializer,
            attributes: None,
            sanitizer: 0,
            code_model: 0,
        });
        Ok(value)
    }

    /// Sets the initial value of a variable, which may refer to the variable itself.
    ///
    /// # Errors
    /// If this is no variable, or the value is no constant of its type.
    pub fn set_initializer(&mut self, global: ValueId, initializer: ValueId) -> Result<()> {
        let Some(ValueKind::Global(index)) = self.kind_of(global) else {
            return refused("only a variable has an initial value");
        };
        let ty = self.module.globals.get(index as usize).map_or(TypeId::NONE, |global| global.symbol.ty);
        self.check_initializer(ty, initializer)?;
        if let Some(global) = self.module.globals.get_mut(index as usize) {
            global.initializer = Some(initializer);
        }
        Ok(())
    }

    fn check_initializer(&self, ty: TypeId, initializer: ValueId) -> Result<()> {
        let found = self.type_of(initializer)?;
        if found != ty || !self.is_constant(initializer) {
            return refused("the initial value has another type than the variable")
                .map_err(|e| self.with_type(e, found));
        }
        Ok(())
    }

    /// Adds another name of a symbol or of a part of it, and returns its value.
    ///
    /// # Errors
    /// If the target is no constant pointer, or the name is taken.
    pub fn add_alias(&mut self, name: &str, ty: TypeId, target: ValueId) -> Result<ValueId> {
        let found = self.type_of(target)?;
        let space = self.module.types.address_space(found);
        let fits =
            self.module.types.is_pointer(found) && self.module.types.pointee(found).is_none_or(|of| of == ty);
        let Some(space) = space.filter(|_| fits && self.is_constant(target)) else {
            return refused("an alias of another type").map_err(|e| self.with_type(e, found));
        };
        let index = narrow(self.module.aliases.len() as u64);
        let symbol = self.symbol(name, ty, space, ValueKind::Alias(index))?;
        let value = symbol.value;
        self.module.aliases.push(Alias { symbol, indirect: false, target });
        Ok(value)
    }

    /// Returns the symbol of this name.
    pub fn find_symbol(&self, name: &str) -> Option<ValueId> {
        self.symbols.get(name.as_bytes()).copied()
    }

    /// Adds the value of a symbol and its name; an empty one is none.
    fn symbol(&mut self, name: &str, ty: TypeId, address_space: u32, kind: ValueKind) -> Result<Symbol> {
        if !name.is_empty() && self.symbols.contains_key(name.as_bytes()) {
            return refused(alloc::format!("the module has a symbol @{name} already"));
        }
        if name.as_bytes().contains(&0) {
            return refused("a name has no zero byte");
        }
        let pointer = self.pointer(ty, address_space)?;
        let value = ValueId(narrow(self.module.values.len() as u64));
        self.module.values.push(Value { kind, ty: pointer });
        if !name.is_empty() {
            self.symbols.insert(name.as_bytes().to_vec(), value);
        }
        Ok(Symbol::new(name.as_bytes().to_vec(), ty, address_space, value))
    }

    fn kind_of(&self, value: ValueId) -> Option<ValueKind> {
        self.module.values.get(value.index()).map(|value| value.kind)
    }

    /// Returns the index of a function.
    pub(super) fn function_index(&self, value: ValueId) -> Result<u32> {
        match self.kind_of(value) {
            Some(ValueKind::Function(index)) => Ok(index),
            _ => refused("a value that is no function is used as one"),
        }
    }

    /// Returns a function.
    ///
    /// # Errors
    /// If the value is no function.
    pub fn function_of(&self, value: ValueId) -> Result<&Function> {
        let index = self.function_index(value)?;
        self.module
            .functions
            .get(index as usize)
            .map_or_else(|| refused("a function that does not exist"), Ok)
    }

    fn function_mut(&mut self, value: ValueId) -> Result<&mut Function> {
        let index = self.function_index(value)?;
        let found = self.module.functions.get_mut(index as usize);
        found.map_or_else(|| refused("a function that does not exist"), Ok)
    }

    fn symbol_mut(&mut self, value: ValueId) -> Result<&mut Symbol> {
        let module = &mut self.module;
        let symbol = match module.values.get(value.index()).map(|value| value.kind) {
            Some(ValueKind::Global(at)) => {
                module.globals.get_mut(at as usize).map(|global| &mut global.symbol)
            }
            Some(ValueKind::Function(at)) => {
                module.functions.get_mut(at as usize).map(|function| &mut function.symbol)
            }
            Some(ValueKind::Alias(at)) => module.aliases.get_mut(at as usize).map(|alias| &mut alias.symbol),
            _ => None,
        };
        symbol.map_or_else(|| refused("a value that is no symbol is used as one"), Ok)
    }

    /// Sets the linkage of a symbol.
    ///
    /// # Errors
    /// If the value is no symbol.
    pub fn set_linkage(&mut self, symbol: ValueId, linkage: Linkage) -> Result<()> {
        set_linkage(self.symbol_mut(symbol)?, linkage);
        Ok(())
    }

    /// Sets the section of a symbol.
    ///
    /// # Errors
    /// If the value is no symbol.
    pub fn set_section(&mut self, symbol: ValueId, section: &str) -> Result<()> {
        self.symbol_mut(symbol)?.section = section.as_bytes().to_vec();
        Ok(())
    }

    /// Sets the alignment of a variable or function in bytes.
    ///
    /// # Errors
    /// If the value is no symbol, or the alignment is not a power of two of at most 4 GiB.
    pub fn set_alignment(&mut self, symbol: ValueId, bytes: u64) -> Result<()> {
        let alignment = super::memory::alignment(bytes)?;
        self.symbol_mut(symbol)?.alignment = alignment;
        Ok(())
    }

    /// Says that the address of a symbol is not compared: at all, or only in this module.
    ///
    /// # Errors
    /// If the value is no symbol.
    pub fn set_unnamed_address(&mut self, symbol: ValueId, in_this_module: bool) -> Result<()> {
        self.symbol_mut(symbol)?.unnamed_address = if in_this_module { 2 } else { 1 };
        Ok(())
    }

    /// Sets the visibility of a symbol: 0 default, 1 hidden, 2 protected.
    ///
    /// # Errors
    /// If the value is no symbol or local, or there is no such visibility.
    pub fn set_visibility(&mut self, symbol: ValueId, visibility: u8) -> Result<()> {
        let symbol = self.symbol_mut(symbol)?;
        if visibility > 2 || (symbol.linkage.is_local() && visibility != 0) {
            return refused("a local symbol has default visibility");
        }
        symbol.visibility = visibility;
        symbol.dso_local |= visibility != 0 && symbol.linkage != Linkage::ExternalWeak;
        Ok(())
    }

    /// Says whether a symbol is known to be defined in the same linkage unit; a local one always is.
    ///
    /// # Errors
    /// If the value is no symbol.
    pub fn set_dso_local(&mut self, symbol: ValueId, dso_local: bool) -> Result<()> {
        let symbol = self.symbol_mut(symbol)?;
        symbol.dso_local = dso_local || symbol.linkage.is_local();
        Ok(())
    }

    /// Puts a symbol into a comdat, of which a linker keeps any one.
    ///
    /// # Errors
    /// If the value is no variable or function.
    pub fn set_comdat(&mut self, symbol: ValueId, name: &str) -> Result<()> {
        let known = self.module.comdats.iter().position(|comdat| comdat.name == name.as_bytes());
        let index = known.unwrap_or(self.module.comdats.len());
        self.symbol_mut(symbol)?.comdat = Some(narrow(index as u64));
        if known.is_none() {
            self.module.comdats.push(Comdat { name: name.as_bytes().to_vec(), selection: 1 });
        }
        Ok(())
    }

    /// Attaches metadata to a symbol.
    ///
    /// # Errors
    /// If the value is no symbol, or there is no such metadata.
    pub fn attach(&mut self, symbol: ValueId, kind: &str, node: MetadataId) -> Result<()> {
        self.check_node(node)?;
        let kind = self.metadata_kind(kind);
        self.symbol_mut(symbol)?.attachments.push((kind, node));
        Ok(())
    }

    /// Sets the attributes of a function, its result and its parameters.
    ///
    /// # Errors
    /// If the value is no function, or the attributes are for more parameters than it has.
    pub fn set_attributes(&mut self, function: ValueId, attributes: AttributeListId) -> Result<()> {
        let ty = self.function_of(function)?.symbol.ty;
        if let Type::Function { result, parameters, .. } = self.module.types.get(ty) {
            self.check_attributes(attributes, result, self.module.types.elements(parameters), false)?;
        }
        self.function_mut(function)?.attributes = attributes;
        Ok(())
    }

    /// Sets the calling convention of a function by its number in LLVM.
    ///
    /// # Errors
    /// If the value is no function, or there is no such convention.
    pub fn set_calling_convention(&mut self, function: ValueId, convention: u32) -> Result<()> {
        if convention >= 1 << 10 {
            return refused("a calling convention is a number below 1024");
        }
        self.function_mut(function)?.calling_convention = convention;
        Ok(())
    }

    /// Sets the personality of a function, which decides how it handles exceptions.
    ///
    /// # Errors
    /// If the value is no function, or the personality is no constant pointer.
    pub fn set_personality(&mut self, function: ValueId, personality: ValueId) -> Result<()> {
        let ty = self.type_of(personality)?;
        if !self.module.types.is_pointer(ty) || !self.is_constant(personality) {
            return refused("a personality is a constant pointer").map_err(|e| self.with_type(e, ty));
        }
        self.function_mut(function)?.personality = Some(personality);
        Ok(())
    }
}

fn set_linkage(symbol: &mut Symbol, linkage: Linkage) {
    symbol.linkage = linkage;
    symbol.dso_local |= linkage.is_local();
    if linkage.is_local() {
        symbol.visibility = 0;
    }
}
