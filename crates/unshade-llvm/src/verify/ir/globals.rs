//! Global variables and aliases: initial values, linkage, comdats, and the variables that LLVM itself reads.
//!
//! Knowledge: the Language Reference on module structure; what LLVM 14 and 19 refuse.

use super::context::Context;
use super::findings::{Findings, Place};
use crate::constants::Constant;
use crate::global::{Alias, GlobalVariable, Linkage, Symbol};
use crate::ids::{TypeId, ValueId};
use crate::rules;
use crate::types::Type;
use crate::value::ValueKind;
use alloc::vec;
use alloc::vec::Vec;

const RULE: &str = "ir-global";
const ALIAS: &str = "ir-alias";
const COMDAT: &str = "ir-comdat";

/// Maximum number of values that the target of an alias is made of, so that many aliases of one large expression
/// take linear time.
const MAX_TARGETS: usize = 256;

/// DLL storage by number.
mod storage {
    pub(super) const IMPORT: u8 = 1;
    pub(super) const EXPORT: u8 = 2;
}

impl Context<'_, '_> {
    /// Checks all global variables, aliases and comdats.
    pub(super) fn check_globals(&self, findings: &mut Findings) {
        for (index, global) in self.module.globals.iter().enumerate() {
            findings.enter(Place::Global(index));
            self.symbol(&global.symbol, global.initializer.is_none(), true, findings);
            self.global(global, findings);
        }
        let leads_in_circle = self.circular_aliases();
        for (index, alias) in self.module.aliases.iter().enumerate() {
            findings.enter(Place::Alias(index));
            self.alias(alias, findings);
            let circular = leads_in_circle.get(index) == Some(&true);
            findings.require(!circular, ALIAS, "an alias leads to itself");
        }
        self.used_by_constants(findings);
    }

    /// Checks what all symbols have in common.
    pub(super) fn symbol(&self, symbol: &Symbol, is_declaration: bool, is_variable: bool, findings: &mut Findings) {
        let linkage = symbol.linkage;
        let declares = matches!(linkage, Linkage::External | Linkage::ExternalWeak);
        findings.require(!is_declaration || declares, RULE, "a declaration is external or extern_weak");
        if linkage == Linkage::Appending {
            let is_array = is_variable && matches!(self.get(symbol.ty), Type::Array { .. } | Type::Unknown);
            findings.require(is_array, RULE, "appending linkage is for arrays");
        }
        if is_declaration || linkage == Linkage::AvailableExternally {
            findings.require(symbol.comdat.is_none() || symbol.implicit_comdat, COMDAT, "a declaration is in a comdat");
        }
        match symbol.dll_storage {
            storage::IMPORT => {
                findings.require(symbol.visibility == 0, RULE, "an imported symbol has default visibility");
                findings.require(!symbol.dso_local, RULE, "an imported symbol is dso_local");
                let is_import = (is_declaration && declares) || linkage == Linkage::AvailableExternally;
                findings.require(is_import, RULE, "an imported symbol is defined here");
            }
            storage::EXPORT => {
                let visible = symbol.visibility != 1 || self.generation < 15;
                findings.require(visible, RULE, "an exported symbol is hidden");
            }
            _ => {}
        }
        if linkage.is_local() {
            findings.require(symbol.visibility == 0, RULE, "a local symbol has default visibility");
        }
    }

    fn global(&self, global: &GlobalVariable, findings: &mut Findings) {
        let symbol = &global.symbol;
        let is_value = self.is_first_class(symbol.ty)
            && !matches!(self.get(symbol.ty), Type::Label | Type::Metadata | Type::Token | Type::X86Amx);
        findings.require(is_value, RULE, "a variable has a type that no memory has");
        let scalable = self.types.is_scalable(symbol.ty);
        findings.require(!scalable, RULE, "a variable contains scalable vectors");
        let fits = rules::can_be_global(self.table(), symbol.ty);
        findings.require(fits, RULE, "a variable has a type of a target that variables can't have");
        if let Some(initializer) = global.initializer {
            let ty = self.type_of(None, initializer);
            findings.require(self.same(ty, symbol.ty), RULE, "the initial value has another type than the variable");
            if symbol.linkage == Linkage::Common {
                self.common(global, initializer, findings);
            }
            if let Some(function) = self.function_behind(None, initializer) {
                let taken = self.is_intrinsic(function);
                findings.require(!taken, "ir-intrinsic", "the address of an intrinsic is taken");
            }
        }
        match symbol.name.as_slice() {
            b"llvm.global_ctors" | b"llvm.global_dtors" => self.constructors(global, findings),
            b"llvm.used" | b"llvm.compiler.used" => self.used(global, findings),
            _ => {}
        }
    }

    fn common(&self, global: &GlobalVariable, initializer: ValueId, findings: &mut Findings) {
        findings.require(self.is_zero(initializer), RULE, "a common variable has an initial value other than zero");
        findings.require(!global.constant, RULE, "a common variable is constant");
        let comdat = global.symbol.comdat.is_some() && !global.symbol.implicit_comdat;
        findings.require(!comdat, COMDAT, "a common variable is in a comdat");
    }

    fn is_zero(&self, id: ValueId) -> bool {
        match self.constant(None, id) {
            Some((Constant::Null | Constant::Integer(0) | Constant::Float(0), _)) => true,
            Some((Constant::Data(words), constants)) => constants.words(words).iter().all(|&word| word == 0),
            Some((Constant::Text(bytes), constants)) => constants.bytes(bytes).iter().all(|&byte| byte == 0),
            _ => false,
        }
    }

    /// Returns the elements of an array, none for `zeroinitializer`.
    fn elements(&self, id: ValueId) -> Option<&[ValueId]> {
        match self.constant(None, id)? {
            (Constant::Null, _) => Some(&[]),
            (Constant::Aggregate(values), constants) => Some(constants.values(values)),
            _ => None,
        }
    }

    fn appends(&self, global: &GlobalVariable, findings: &mut Findings) {
        let appends = global.initializer.is_none() || global.symbol.linkage == Linkage::Appending;
        findings.require(appends, RULE, "a variable that LLVM reads has another linkage than appending");
    }

    /// Checks a list of constructors: priority, function, and from LLVM 3.5 on what they belong to.
    fn constructors(&self, global: &GlobalVariable, findings: &mut Findings) {
        self.appends(global, findings);
        let Type::Array { element, .. } = self.get(global.symbol.ty) else { return };
        let fits = match self.get(element) {
            Type::Struct(structure) => match *self.table().elements(structure.fields) {
                // What is read without the third field gets it.
                [priority, function] => {
                    !self.is_text && self.is_integer_of(priority, 32) && self.is_constructor(function)
                }
                [priority, function, of] => {
                    self.is_integer_of(priority, 32) && self.is_constructor(function) && self.is_byte_pointer(of)
                }
                _ => false,
            },
            Type::Unknown => true,
            _ => false,
        };
        findings.require(fits, RULE, "a list of constructors has another type");
    }

    fn is_byte_pointer(&self, ty: TypeId) -> bool {
        self.is_pointer(ty) && self.table().pointee(ty).is_none_or(|pointee| self.is_integer_of(pointee, 8))
    }

    fn is_constructor(&self, ty: TypeId) -> bool {
        let expected = match self.table().pointee(ty).map(|pointee| self.get(pointee)) {
            Some(Type::Function { result, parameters, variadic }) => {
                matches!(self.get(result), Type::Void) && parameters.is_empty() && !variadic
            }
            Some(_) => false,
            None => true,
        };
        let space = self.table().address_space(ty).unwrap_or(u32::MAX);
        self.is_pointer(ty) && expected && space == self.module.data_layout.program_address_space()
    }

    fn used(&self, global: &GlobalVariable, findings: &mut Findings) {
        self.appends(global, findings);
        let Type::Array { element, .. } = self.get(global.symbol.ty) else { return };
        findings.require(self.is_pointer(element), RULE, "a list of used symbols is of pointers");
        let Some(initializer) = global.initializer else { return };
        let elements = self.elements(initializer);
        let is_list = elements.is_some_and(|elements| !elements.is_empty());
        findings.require(is_list, RULE, "a list of used symbols has no symbols");
        for &member in elements.unwrap_or_default() {
            let named = match self.value(None, self.stripped(None, member)).map(|value| value.kind) {
                Some(ValueKind::Global(index)) => {
                    self.module.globals.get(index as usize).is_some_and(|global| !global.symbol.name.is_empty())
                }
                Some(ValueKind::Function(index)) => {
                    self.module.functions.get(index as usize).is_some_and(|one| !one.symbol.name.is_empty())
                }
                Some(ValueKind::Alias(index)) => {
                    self.module.aliases.get(index as usize).is_some_and(|alias| !alias.symbol.name.is_empty())
                }
                _ => false,
            };
            findings.require(named, RULE, "a list of used symbols has something that is no named symbol");
        }
    }

    /// Reports uses of the variables that only LLVM reads.
    fn used_by_constants(&self, findings: &mut Findings) {
        const READ: [&[u8]; 4] = [b"llvm.global_ctors", b"llvm.global_dtors", b"llvm.used", b"llvm.compiler.used"];
        if self.generation < 16 {
            return;
        }
        let is_special = |id: ValueId| match self.value(None, id).map(|value| value.kind) {
            Some(ValueKind::Global(index)) => {
                self.module.globals.get(index as usize).is_some_and(|one| READ.contains(&one.symbol.name.as_slice()))
            }
            _ => false,
        };
        if !self.module.globals.iter().any(|global| READ.contains(&global.symbol.name.as_slice())) {
            return;
        }
        for (index, global) in self.module.globals.iter().enumerate() {
            findings.enter(Place::Global(index));
            let uses = global.initializer.is_some_and(is_special);
            findings.require(!uses, RULE, "a variable that only LLVM reads is used");
        }
        for (id, value) in (0u32..).zip(&self.module.values) {
            let ValueKind::Constant(index) = value.kind else { continue };
            let constants = &self.module.constants;
            let used = match constants.get(index) {
                Constant::Aggregate(values) => constants.values(values),
                Constant::Expression(index) => match constants.expression(index) {
                    Some(expression) => constants.values(expression.operands),
                    None => continue,
                },
                _ => continue,
            };
            findings.enter(Place::Constant(ValueId(id)));
            let uses = used.iter().any(|&id| is_special(id));
            findings.require(!uses, RULE, "a variable that only LLVM reads is used");
        }
    }

    fn alias(&self, alias: &Alias, findings: &mut Findings) {
        let symbol = &alias.symbol;
        let fits = !matches!(symbol.linkage, Linkage::Appending | Linkage::Common | Linkage::ExternalWeak)
            && (symbol.linkage != Linkage::AvailableExternally || self.generation >= 19);
        findings.require(fits, ALIAS, "an alias has a linkage that aliases don't have");
        let target = self.type_of(None, alias.target);
        findings.require(self.is_pointer(target), ALIAS, "an alias leads to something that is no pointer");
        if let Some(pointee) = self.table().pointee(target).filter(|_| !alias.indirect) {
            let same = self.same(pointee, symbol.ty)
                && self.table().address_space(target) == Some(symbol.address_space);
            findings.require(same, ALIAS, "an alias has another type than what it leads to");
        }
        let behind = self.stripped_alias(alias.target);
        let Some(value) = self.value(None, behind) else { return };
        if alias.indirect {
            self.resolver(alias, value.kind, findings);
            return;
        }
        let is_symbol_or_expression = match value.kind {
            ValueKind::Constant(index) => matches!(self.module.constants.get(index), Constant::Expression(_)),
            ValueKind::Unresolved => false,
            _ => true,
        };
        findings.require(is_symbol_or_expression, ALIAS, "an alias leads to something that is no symbol");
        for reached in self.symbols_of(alias.target) {
            self.alias_target(symbol, reached, findings);
        }
    }

    /// Follows an ifunc's target through aliases and casts.
    fn stripped_alias(&self, mut id: ValueId) -> ValueId {
        for _ in 0..64 {
            id = self.stripped(None, id);
            match self.value(None, id).map(|value| value.kind) {
                Some(ValueKind::Alias(index)) => match self.module.aliases.get(index as usize) {
                    Some(alias) if !alias.indirect => id = alias.target,
                    _ => break,
                },
                _ => break,
            }
        }
        id
    }

    fn resolver(&self, alias: &Alias, kind: ValueKind, findings: &mut Findings) {
        let ValueKind::Function(index) = kind else {
            findings.require(false, ALIAS, "the resolver of an ifunc is no function");
            return;
        };
        let Some(function) = self.module.functions.get(index as usize) else { return };
        let declares = function.declaration || function.symbol.linkage == Linkage::AvailableExternally;
        findings.require(!declares, ALIAS, "the resolver of an ifunc is not defined");
        let Type::Function { result, .. } = self.get(function.symbol.ty) else { return };
        findings.require(self.is_pointer(result), ALIAS, "the resolver of an ifunc returns no pointer");
        if let Some(pointee) = self.table().pointee(result) {
            // A resolver that is cast may return another type.
            let cast = self.stripped_alias(alias.target) != alias.target;
            let same = cast || self.generation < 14 || self.same(pointee, alias.symbol.ty);
            findings.require(same, ALIAS, "the resolver of an ifunc returns another type");
        }
    }

    /// Returns the symbols that a constant refers to, each once. The walk visits each value once.
    fn symbols_of(&self, target: ValueId) -> Vec<ValueKind> {
        let mut symbols = Vec::new();
        let mut seen = alloc::collections::BTreeSet::new();
        let mut stack = vec![target];
        while let Some(id) = stack.pop() {
            if seen.len() >= MAX_TARGETS {
                break;
            }
            if !seen.insert(id) {
                continue;
            }
            match self.value(None, id).map(|value| value.kind) {
                Some(ValueKind::Constant(index)) => {
                    if let Constant::Expression(index) = self.module.constants.get(index)
                        && let Some(expression) = self.module.constants.expression(index)
                    {
                        stack.extend_from_slice(self.module.constants.values(expression.operands));
                    }
                }
                Some(kind) => symbols.push(kind),
                None => {}
            }
        }
        symbols
    }

    fn alias_target(&self, from: &Symbol, kind: ValueKind, findings: &mut Findings) {
        let (symbol, declares) = match kind {
            ValueKind::Global(index) => match self.module.globals.get(index as usize) {
                Some(global) => (&global.symbol, global.initializer.is_none()),
                None => return,
            },
            ValueKind::Function(index) => match self.module.functions.get(index as usize) {
                Some(function) => (&function.symbol, function.declaration),
                None => return,
            },
            ValueKind::Alias(index) => match self.module.aliases.get(index as usize) {
                Some(alias) => {
                    let replaced = !alias.indirect && is_interposable(alias.symbol.linkage);
                    findings.require(!replaced, ALIAS, "an alias leads to an alias that can be replaced");
                    (&alias.symbol, false)
                }
                None => return,
            },
            _ => return,
        };
        if from.linkage == Linkage::AvailableExternally {
            let same = symbol.linkage == Linkage::AvailableExternally;
            findings.require(same, ALIAS, "an available_externally alias leads to another linkage");
        } else {
            let defined = !declares && symbol.linkage != Linkage::AvailableExternally;
            findings.require(defined, ALIAS, "an alias leads to a declaration");
        }
    }

    /// Returns which aliases lead to themselves: those left after removing, again and again, aliases that nobody needs.
    fn circular_aliases(&self) -> Vec<bool> {
        let count = self.module.aliases.len();
        let targets: Vec<Vec<u32>> = self
            .module
            .aliases
            .iter()
            .map(|alias| {
                let symbols = if count == 0 { Vec::new() } else { self.symbols_of(alias.target) };
                let numbers = symbols.into_iter().filter_map(|kind| match kind {
                    ValueKind::Alias(index) => Some(index),
                    _ => None,
                });
                numbers.collect()
            })
            .collect();
        let mut needs = vec![0usize; count];
        let mut needed_by: Vec<Vec<u32>> = vec![Vec::new(); count];
        for (at, list) in (0u32..).zip(&targets) {
            for &target in list {
                if let (Some(need), Some(by)) = (needs.get_mut(at as usize), needed_by.get_mut(target as usize)) {
                    *need = need.saturating_add(1);
                    by.push(at);
                }
            }
        }
        let mut free: Vec<usize> = (0..count).filter(|&at| needs.get(at) == Some(&0)).collect();
        while let Some(at) = free.pop() {
            for by in needed_by.get_mut(at).map(core::mem::take).unwrap_or_default() {
                if let Some(need) = needs.get_mut(by as usize) {
                    *need = need.saturating_sub(1);
                    if *need == 0 {
                        free.push(by as usize);
                    }
                }
            }
        }
        needs.into_iter().map(|need| need > 0).collect()
    }
}

/// Returns whether a linker may replace a definition of this linkage by another one.
pub(super) fn is_interposable(linkage: Linkage) -> bool {
    matches!(linkage, Linkage::WeakAny | Linkage::LinkOnceAny | Linkage::Common | Linkage::ExternalWeak)
}
