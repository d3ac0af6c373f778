//! The symbols of a module, as linkers see them and `llvm-nm` lists them.
//!
//! | letter | symbol |
//! |---|---|
//! | `T`, `t` | defined code |
//! | `D`, `d` | a defined variable |
//! | `S`, `s` | a defined constant, on Apple's systems |
//! | `C` | a common variable |
//! | `W` | a weak definition |
//! | `w` | a weak reference |
//! | `U` | an undefined symbol |
//!
//! Capital letters are for symbols that other modules see. Symbols that assembly defines are not known here.
//!
//! Knowledge: `ModuleSymbolTable.cpp` and `llvm-nm.cpp` of LLVM 14 and 19.

use crate::global::{Linkage, Symbol};
use crate::module::Module;
use crate::write::Version;
use crate::write::mangle::Mangler;
use crate::write::string_map::{StringMap, hash_of};
use crate::write::symbols::{Object, base_object};
use crate::write::triple::Triple;
use alloc::vec::Vec;

/// The storage class of symbols of a DLL.
const DLL_IMPORT: u8 = 1;

/// What a symbol is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    /// A function.
    Function,
    /// A variable that is not constant.
    Variable,
    /// A constant variable.
    Constant,
    /// Another name.
    Alias,
    /// A function that is chosen when the program is loaded.
    IndirectFunction,
}

impl SymbolKind {
    /// Returns its name: `function`, `ifunc`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Variable => "variable",
            Self::Constant => "constant",
            Self::Alias => "alias",
            Self::IndirectFunction => "ifunc",
        }
    }
}

/// A symbol of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModuleSymbol<'m> {
    /// The global that it is.
    pub symbol: &'m Symbol,
    /// What it is.
    pub kind: SymbolKind,
    /// The name in an object file, as the data layout asks for.
    pub name: Vec<u8>,
    /// Whether the module defines it.
    pub defined: bool,
    /// The letter of `llvm-nm`.
    pub letter: char,
    /// Whether `llvm-nm` only lists it with `--debug-syms`: it is private, or LLVM's own such as `llvm.used`.
    pub special: bool,
}

impl ModuleSymbol<'_> {
    /// Returns whether other modules see it.
    pub fn is_external(&self) -> bool {
        !self.symbol.linkage.is_local()
    }

    /// Returns its visibility: `default`, `hidden`, `protected`; `local` for a symbol that no other module sees.
    pub fn visibility(&self) -> &'static str {
        match (self.is_external(), self.symbol.visibility) {
            (false, _) => "local",
            (true, 1) => "hidden",
            (true, 2) => "protected",
            (true, _) => "default",
        }
    }
}

/// Returns the symbols of a module: functions, variables, aliases, ifuncs.
///
/// ```
/// use unshade_llvm::{Module, symbols};
///
/// # let bytes = include_bytes!("../tests/fixtures/air_like.bc");
/// let module = Module::parse(bytes, 0)?;
/// let defined = symbols::of_module(&module).into_iter().find(|symbol| symbol.letter == 'T');
/// assert_eq!(defined.map(|symbol| symbol.kind.name()), Some("function"));
/// # Ok::<(), unshade_core::Error>(())
/// ```
pub fn of_module<'m>(module: &'m Module<'_>) -> Vec<ModuleSymbol<'m>> {
    let version = Version::Llvm19;
    let mut mangler = Mangler::new(module, version);
    let is_darwin = Triple::parse(&module.triple, version).is_darwin;
    let aliases = |indirect| module.aliases.iter().filter(move |alias| alias.indirect == indirect);
    let functions = module.functions.iter().map(Object::Function);
    let variables = module.globals.iter().map(Object::Variable);
    let aliases = aliases(false).chain(aliases(true)).map(Object::Alias);
    let describe = |object: Object<'m>| {
        let base = base_object(module, object);
        let function = match base {
            Some(Object::Function(function)) => Some(function),
            _ => None,
        };
        let is_imported = object.symbol().dll_storage == DLL_IMPORT;
        let mut name = if is_imported { b"__imp_".to_vec() } else { Vec::new() };
        name.append(&mut mangler.name(object.symbol(), function));
        ModuleSymbol {
            symbol: object.symbol(),
            kind: kind(object),
            name,
            defined: object.is_defined(),
            letter: letter(object, base, is_darwin),
            special: object.is_special(),
        }
    };
    functions.chain(variables).chain(aliases).map(describe).collect()
}

/// Returns the order in which LLVM's table of strings lists names that are added one after the other, as indices. Linkers
/// that keep symbols in such a table write them in this order.
///
/// ```
/// use unshade_llvm::symbols::table_order;
///
/// assert_eq!(table_order(&[b"b", b"a"]), [1, 0]);
/// ```
pub fn table_order(names: &[&[u8]]) -> Vec<usize> {
    let mut table = StringMap::new();
    let hash = hash_of(Version::Llvm14);
    for (at, name) in names.iter().enumerate() {
        table.add(hash(name), at);
    }
    table.listed().collect()
}

fn kind(object: Object<'_>) -> SymbolKind {
    match object {
        Object::Function(_) => SymbolKind::Function,
        Object::Variable(variable) if variable.constant => SymbolKind::Constant,
        Object::Variable(_) => SymbolKind::Variable,
        Object::Alias(alias) if alias.indirect => SymbolKind::IndirectFunction,
        Object::Alias(_) => SymbolKind::Alias,
    }
}

fn letter(object: Object<'_>, base: Option<Object<'_>>, is_darwin: bool) -> char {
    let linkage = object.symbol().linkage;
    if object.is_weak() {
        return if object.is_defined() { 'W' } else { 'w' };
    }
    if !object.is_defined() {
        return 'U';
    }
    if linkage == Linkage::Common {
        return 'C';
    }
    let letter = match object {
        _ if base.is_some_and(Object::is_code) => 't',
        Object::Variable(variable) if variable.constant && is_darwin => 's',
        _ => 'd',
    };
    if linkage.is_local() { letter } else { letter.to_ascii_uppercase() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assemble;
    use alloc::string::String;

    fn listed(text: &str) -> Vec<(char, String, &'static str, bool)> {
        let options = assemble::AssembleOptions::default();
        let file = assemble::bitcode(text.as_bytes(), b"test.ll", &options).expect("it is valid").bytes;
        let module = Module::parse(&file, 0).expect("it is read");
        let row = |one: ModuleSymbol<'_>| {
            (one.letter, String::from_utf8_lossy(&one.name).into_owned(), one.visibility(), one.special)
        };
        of_module(&module).into_iter().map(row).collect()
    }

    #[test]
    fn letters_are_those_of_llvm_nm() {
        let text = r#"
target datalayout = "m:o"
target triple = "arm64-apple-macosx13.0.0"
@table = hidden constant i32 1
@counter = internal global i32 0
@shared = common global i32 0
@elsewhere = external global i32
@maybe = extern_weak global i32
@"\01plain" = global i32 2
@llvm.used = appending global [1 x i8*] [i8* bitcast (i32* @counter to i8*)], section "llvm.metadata"
@other = alias i32, i32* @table
@code = alias void (), void ()* @exported
define void @exported() { ret void }
define internal void @own() { ret void }
define linkonce_odr void @weak() { ret void }
declare void @missing()
"#;
        let found = listed(text);
        let found: Vec<_> = found.iter().map(|(a, b, c, d)| (*a, b.as_str(), *c, *d)).collect();
        assert_eq!(
            found,
            [
                ('T', "_exported", "default", false),
                ('t', "_own", "local", false),
                ('W', "_weak", "default", false),
                ('U', "_missing", "default", false),
                ('S', "_table", "hidden", false),
                ('d', "_counter", "local", false),
                ('C', "_shared", "default", false),
                ('U', "_elsewhere", "default", false),
                ('w', "_maybe", "default", false),
                ('D', "plain", "default", false),
                ('D', "_llvm.used", "default", true),
                ('D', "_other", "default", false),
                ('T', "_code", "default", false),
            ]
        );
    }
}
