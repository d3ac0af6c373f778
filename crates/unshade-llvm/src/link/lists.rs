//! The variables that list symbols: constructors, what linkers keep, and the tables that a linker adds.

use super::mover::{MAX_DEPTH, Mover};
use super::reach::{CONSTRUCTORS, elements};
use super::{AddedContent, AddedVariable, SymbolId, object_of};
use crate::build::Version;
use crate::constants::{NewConstant, NewExpression};
use crate::global::{GlobalVariable, Linkage, Symbol};
use crate::ids::{TypeId, ValueId, narrow};
use crate::instruction::Opcode;
use crate::module::Module;
use crate::types::Type;
use crate::value::{Value, ValueKind};
use alloc::vec::Vec;
use unshade_core::Result;

/// The name of the variable that lists what linkers keep.
const USED: &[u8] = b"llvm.used";
/// The section of that variable.
const METADATA: &[u8] = b"llvm.metadata";

impl Mover<'_, '_, '_> {
    /// Makes the lists of constructors and of what linkers keep from those of the inputs, without what is not reached.
    pub(super) fn lists_of_symbols(&mut self, inputs: &[usize]) -> Result<()> {
        for name in [CONSTRUCTORS, USED, b"llvm.compiler.used"] {
            let mut rows = if name == USED { self.added_variables() } else { Vec::new() };
            let mut found = None;
            for &input in inputs {
                let module = self.input(input)?.module;
                let list = module.globals.iter().find(|global| global.symbol.name == name);
                let Some((list, initializer)) = list.and_then(|list| Some((list, list.initializer?))) else {
                    continue;
                };
                found.get_or_insert((input, list));
                for row in elements(module, initializer) {
                    if self.is_kept(input, module, row) {
                        rows.push(self.value(input, row)?);
                    }
                }
            }
            match found {
                _ if rows.is_empty() => {}
                Some((input, list)) => self.add_list(input, list, &rows)?,
                None => {
                    let mut list = variable(name, METADATA);
                    list.symbol.linkage = Linkage::Appending;
                    self.add_variable(list, &NewConstant::Aggregate(&rows));
                }
            }
        }
        Ok(())
    }

    /// Returns whether all symbols that an element refers to are linked.
    fn is_kept(&self, input: usize, module: &Module<'_>, row: ValueId) -> bool {
        let (mut pending, mut steps) = (alloc::vec![row], 0u32);
        let mut any = false;
        while let Some(value) = pending.pop() {
            steps = steps.saturating_add(1);
            if steps > MAX_DEPTH {
                return false;
            }
            if object_of(module, value).is_some() {
                any = true;
                if self.symbol(SymbolId { input, value }).is_none() {
                    return false;
                }
                continue;
            }
            if let Some(ValueKind::Constant(index)) = module.values.get(value.index()).map(|one| one.kind) {
                pending.extend_from_slice(module.constants.content(index).operands());
            }
        }
        any
    }

    fn add_list(&mut self, input: usize, list: &GlobalVariable, rows: &[ValueId]) -> Result<()> {
        let element = rows.first().and_then(|row| self.module.values.get(row.index())).map(|row| row.ty);
        let Some(element) = element else { return Ok(()) };
        let ty = self.module.types.intern(Type::Array { count: rows.len() as u64, element });
        let initializer = self.intern(ty, &NewConstant::Aggregate(rows));
        let address_space = list.symbol.address_space;
        let pointer = match self.version {
            Version::Llvm19 => Type::OpaquePointer { address_space },
            _ => Type::Pointer { pointee: ty, address_space },
        };
        let pointer = self.module.types.intern(pointer);
        let value = ValueId(narrow(self.module.values.len() as u64));
        let at = narrow(self.module.globals.len() as u64);
        let symbol = Symbol { ty, value, attachments: Vec::new(), comdat: None, ..list.symbol.clone() };
        let attributes = match list.attributes {
            Some(set) => Some(self.attribute_set(input, set)?),
            None => None,
        };
        self.module.globals.push(GlobalVariable {
            symbol,
            initializer: Some(initializer),
            attributes,
            ..list.clone()
        });
        self.module.values.push(Value { kind: ValueKind::Global(at), ty: pointer });
        Ok(())
    }

    /// Adds the variables that the rules add, and returns their addresses as `llvm.used` lists them.
    fn added_variables(&mut self) -> Vec<ValueId> {
        let word = self.module.types.intern(Type::Integer(32));
        let byte = self.module.types.intern(Type::Integer(8));
        let address = match self.version {
            Version::Llvm19 => Type::OpaquePointer { address_space: 0 },
            _ => Type::Pointer { pointee: byte, address_space: 0 },
        };
        let address = self.module.types.intern(address);
        let mut added = Vec::new();
        for AddedVariable { name, content } in self.rules.added {
            let mut list = variable(name.as_bytes(), name.as_bytes());
            list.symbol.visibility = 1;
            let value = match *content {
                AddedContent::Pairs(pairs) => {
                    let pair = self.module.types.intern_struct(&[word, word], false);
                    let number = |mover: &mut Self, number: u32| match number {
                        0 => mover.intern(word, &NewConstant::Null),
                        number => mover.intern(word, &NewConstant::Integer(u64::from(number))),
                    };
                    let mut rows = Vec::new();
                    for &[first, second] in pairs {
                        let numbers = [number(self, first), number(self, second)];
                        rows.push(match (first, second) {
                            (0, 0) => self.intern(pair, &NewConstant::Null),
                            _ => self.intern(pair, &NewConstant::Aggregate(&numbers)),
                        });
                    }
                    self.add_variable(list, &NewConstant::Aggregate(&rows))
                }
                AddedContent::Bytes(bytes) => {
                    list.symbol.ty =
                        self.module.types.intern(Type::Array { count: bytes.len() as u64, element: byte });
                    self.add_variable(list, &NewConstant::Text(bytes))
                }
                AddedContent::Addresses(names) => {
                    let mut rows = Vec::new();
                    for &name in names {
                        rows.extend(self.named(name).map(|symbol| self.cast(symbol, address)));
                    }
                    self.add_variable(list, &NewConstant::Aggregate(&rows))
                }
            };
            added.extend(value.map(|value| self.cast(value, address)));
        }
        added
    }

    /// Returns the linked symbol of a name.
    fn named(&self, name: &[u8]) -> Option<ValueId> {
        let functions = self.module.functions.iter().map(|function| &function.symbol);
        let globals = self.module.globals.iter().map(|global| &global.symbol);
        functions.chain(globals).find(|symbol| symbol.name == name).map(|symbol| symbol.value)
    }

    /// Returns the address of a symbol as a pointer of another type.
    pub(super) fn cast(&mut self, symbol: ValueId, ty: TypeId) -> ValueId {
        if self.module.values.get(symbol.index()).is_some_and(|value| value.ty == ty) {
            return symbol;
        }
        let operands = [symbol];
        let expression = NewExpression {
            opcode: Opcode::BitCast,
            flags: 0,
            ty: TypeId::NONE,
            in_range: 0,
            bounds: &[],
            operands: &operands,
        };
        self.intern(ty, &NewConstant::Expression(expression))
    }

    /// Adds a variable in address space 0. An aggregate is an array of the type of its first element; without elements
    /// nothing is added.
    fn add_variable(&mut self, mut variable: GlobalVariable, content: &NewConstant<'_>) -> Option<ValueId> {
        if let NewConstant::Aggregate(rows) = content {
            let element = self.module.values.get(rows.first()?.index())?.ty;
            variable.symbol.ty = self.module.types.intern(Type::Array { count: rows.len() as u64, element });
        }
        let ty = variable.symbol.ty;
        variable.initializer = Some(self.intern(ty, content));
        let pointer = match self.version {
            Version::Llvm19 => Type::OpaquePointer { address_space: 0 },
            _ => Type::Pointer { pointee: ty, address_space: 0 },
        };
        let pointer = self.module.types.intern(pointer);
        let value = ValueId(narrow(self.module.values.len() as u64));
        variable.symbol.value = value;
        let at = narrow(self.module.globals.len() as u64);
        self.module.globals.push(variable);
        self.module.values.push(Value { kind: ValueKind::Global(at), ty: pointer });
        Some(value)
    }
}

/// Creates an external variable in a section.
fn variable(name: &[u8], section: &[u8]) -> GlobalVariable {
    let mut symbol = Symbol::new(name.to_vec(), TypeId::NONE, 0, ValueId::NONE);
    symbol.section = section.to_vec();
    GlobalVariable {
        symbol,
        constant: false,
        externally_initialized: false,
        initializer: None,
        attributes: None,
        sanitizer: 0,
        code_model: 0,
    }
}
