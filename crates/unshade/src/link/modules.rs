//! The modules of the library: those that are taken as they are, and those that are made of what is reached.

use super::inputs::{Input, Inputs};
use super::tables::{DynamicTables, TABLES};
use super::{LinkOptions, tables};
use crate::air;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use unshade_core::{Error, ErrorKind, Escaped, Result};
use unshade_llvm::body::FunctionBody;
use unshade_llvm::link::{AddedContent, AddedVariable, LinkInput, LinkRules, Linker, Reach, Root};
use unshade_llvm::symbols::table_order;
use unshade_llvm::write::WriteOptions;
use unshade_llvm::{Module, link};
use unshade_metallib::file::OwnedFunction;
use unshade_metallib::module::{BITCODE_MAGIC, wrap};

/// Named metadata that Apple's linker leaves out of the modules of executables.
const OF_FILES: [&[u8]; 2] = [b"air.source_file_name", b"llvm_utils.workingdir"];
/// Named metadata that says how a module was compiled, of which only that of the entry point's module counts.
const ONCE: [&[u8]; 3] = [b"air.version", b"air.language_version", b"air.compile_options"];

/// A module of the library and its functions.
#[derive(Debug)]
pub(super) struct BuiltModule {
    pub(super) bytes: Vec<u8>,
    pub(super) functions: Vec<OwnedFunction<'static>>,
    /// What it takes from dynamic libraries.
    pub(super) tables: DynamicTables,
    /// The input that it comes from, or its first.
    pub(super) input: usize,
}

/// The modules of the library.
#[derive(Debug, Default)]
pub(super) struct Built {
    pub(super) modules: Vec<BuiltModule>,
    /// The number of modules that were taken as they are.
    pub(super) unchanged: usize,
    pub(super) notes: Vec<String>,
}

type Faults = Vec<Error>;

/// The names that several inputs define, and the indexes of these inputs. Each name is one fault, however many entry points
/// reach it.
type Duplicates = BTreeMap<Vec<u8>, BTreeSet<usize>>;

pub(super) fn build(inputs: &Inputs<'_>, options: &LinkOptions<'_>) -> std::result::Result<Built, Faults> {
    let set = Set::new(inputs, options)?;
    if options.dynamic { set.dynamic() } else { set.executable() }
}

/// The inputs that have to be read as a whole.
struct Set<'s, 'i> {
    inputs: &'s Inputs<'i>,
    options: &'s LinkOptions<'s>,
    /// The index of each whole input among all inputs.
    whole: Vec<usize>,
    modules: Vec<Module<'s>>,
    bodies: Vec<Vec<FunctionBody>>,
}

impl<'s, 'i> Set<'s, 'i> {
    fn new(inputs: &'s Inputs<'i>, options: &'s LinkOptions<'s>) -> std::result::Result<Self, Faults> {
        let mut set = Self { inputs, options, whole: Vec::new(), modules: Vec::new(), bodies: Vec::new() };
        let mut faults = Vec::new();
        for index in set.wanted() {
            match set.read(index) {
                Ok((module, bodies)) => {
                    set.whole.push(index);
                    set.modules.push(module);
                    set.bodies.push(bodies);
                }
                Err(error) => faults.push(error.within(set.name(index))),
            }
        }
        if faults.is_empty() { Ok(set) } else { Err(faults) }
    }

    fn read(&self, index: usize) -> Result<(Module<'s>, Vec<FunctionBody>)> {
        let Some(input) = self.inputs.all.get(index) else {
            return Err(Error::without_offset(ErrorKind::BadValue, "no such input"));
        };
        let module = Module::parse(&input.input.bytes, 0)?;
        let bodies = module.bodies()?;
        Ok((module, bodies))
    }

    fn name(&self, index: usize) -> String {
        self.inputs.all.get(index).map(|input| input.input.name.clone()).unwrap_or_default()
    }

    /// Returns whether a module is what a linker made of one entry point: it needs nothing, names all dynamic libraries, and
    /// has the name of the entry point or nothing else. Modules of AIR 1.8 and before have no name.
    fn is_linked(&self, input: &Input<'_>) -> bool {
        let [entry] = &input.entries[..] else { return false };
        let is_named = input.source_filename.is_empty() || *entry.name == *input.source_filename;
        let mut libraries = self.options.libraries.iter().map(|library| &library.install_name);
        input.is_closed()
            && (is_named || input.definitions == 1)
            && libraries.all(|name| input.tables.libraries.contains(name))
    }

    /// Returns the inputs that can't be taken as they are, and those that define what they need.
    fn wanted(&self) -> BTreeSet<usize> {
        let all = &self.inputs.all;
        let is_start = |input: &Input<'_>| match self.options.dynamic {
            true => !input.input.is_member,
            false => !input.entries.is_empty() && !self.is_linked(input),
        };
        let start = all.iter().enumerate().filter(|(_, input)| is_start(input)).map(|(index, _)| index);
        let mut pending: Vec<usize> = start.collect();
        // Constructors of all modules are kept.
        if !pending.is_empty() {
            let others = all.iter().enumerate().filter(|(_, input)| {
                input.has_constructors && !input.input.is_member && !self.is_linked(input)
            });
            pending.extend(others.map(|(index, _)| index));
        }
        let mut wanted = BTreeSet::new();
        while let Some(index) = pending.pop() {
            if wanted.insert(index) {
                let needed = all.get(index).map_or(&[][..], |input| &input.needed);
                let definers = needed.iter().filter_map(|name| self.inputs.definers.get(name));
                pending.extend(definers.flatten());
            }
        }
        wanted
    }

    fn linker(&self) -> Linker<'_, 's> {
        let inputs = self.modules.iter().zip(&self.bodies);
        Linker::new(inputs.map(|(module, bodies)| LinkInput { module, bodies }).collect())
    }

    fn executable(&self) -> std::result::Result<Built, Faults> {
        let linker = self.linker();
        let (mut built, mut faults) = (Built::default(), Vec::new());
        let mut duplicates = self.duplicate_entries();
        for (index, input) in self.inputs.all.iter().enumerate() {
            if let Some(at) = self.whole.iter().position(|&whole| whole == index) {
                for entry in &input.entries {
                    self.entry_point(&linker, at, entry, &mut built, &mut duplicates, &mut faults);
                }
            } else if !input.entries.is_empty() {
                built.take(index, input, input.entries.clone());
            }
        }
        faults.extend(self.duplicate_faults(&duplicates));
        if built.modules.is_empty() && faults.is_empty() && !self.inputs.all.is_empty() {
            faults.push(
                Error::without_offset(ErrorKind::BadValue, "no input has an entry point")
                    .hint("functions that other libraries call are for a dynamic library: --dynamic"),
            );
        }
        if faults.is_empty() { Ok(built) } else { Err(faults) }
    }

    /// Returns the names of entry points that several inputs have.
    fn duplicate_entries(&self) -> Duplicates {
        let mut definers = Duplicates::new();
        for (index, input) in self.inputs.all.iter().enumerate() {
            for entry in &input.entries {
                definers.entry(entry.name.to_vec()).or_default().insert(index);
            }
        }
        definers.retain(|_, inputs| inputs.len() > 1);
        definers
    }

    /// Returns a fault for each name that several inputs define.
    fn duplicate_faults(&self, duplicates: &Duplicates) -> Faults {
        let fault = |(name, inputs): (&Vec<u8>, &BTreeSet<usize>)| {
            let count = if inputs.len() == 2 { "two".to_owned() } else { inputs.len().to_string() };
            let message = format!("{count} definitions of {}", quoted(name));
            let modules: Vec<String> = inputs.iter().map(|&index| self.name(index)).collect();
            Error::without_offset(ErrorKind::BadValue, message).found(modules.join(" and "))
        };
        duplicates.iter().map(fault).collect()
    }

    /// Makes the module of an entry point.
    fn entry_point(
        &self,
        linker: &Linker<'_, '_>,
        at: usize,
        entry: &OwnedFunction<'static>,
        built: &mut Built,
        duplicates: &mut Duplicates,
        faults: &mut Faults,
    ) {
        let Some((&index, input)) =
            self.whole.get(at).and_then(|index| Some((index, self.inputs.all.get(*index)?)))
        else {
            return;
        };
        let module = self.modules.get(at);
        let mut kept = module.map(tables::kept).unwrap_or_default();
        kept.extend(module.map(|module| tables::of_metadata(module, &entry.name)).unwrap_or_default());
        let kept = kept.iter().map(|name| Root { input: at, name });
        let roots: Vec<Root<'_>> = [Root { input: at, name: &entry.name }].into_iter().chain(kept).collect();
        let reach = linker.reach(&roots);
        self.add_duplicates(linker, &reach, duplicates);
        let tables = match self.check(&reach, input) {
            Ok(tables) => tables,
            Err(found) => return faults.extend(found),
        };
        // Which definition counts is open, so there is nothing to build.
        if !duplicates.is_empty() {
            return;
        }
        let is_alone = input.entries.len() == 1 && reach.inputs().len() == 1;
        if is_alone && reach.has_all_of(linker, at, &TABLES) && tables == input.tables {
            return built.take(index, input, vec![entry.clone()]);
        }
        let exported = [entry.name.as_ref()];
        let rules = LinkRules {
            first: Some(at),
            source_filename: Some(&entry.name),
            exported: Some(&exported),
            left_out_metadata: &OF_FILES,
            ..LinkRules::default()
        };
        let result = self.module(linker, &reach, &rules, &tables).and_then(|bytes| {
            let functions = air::entry_points(&Module::parse(&bytes, 0)?)?;
            Ok(BuiltModule { bytes, functions, tables, input: index })
        });
        match result {
            Ok(module) => built.modules.push(module),
            Err(error) => faults.push(error.within(format!("entry point {}", quoted(&entry.name)))),
        }
    }

    fn dynamic(&self) -> std::result::Result<Built, Faults> {
        let linker = self.linker();
        let mut built = Built::default();
        if self.inputs.all.is_empty() {
            return Ok(built);
        }
        let (mut roots, mut kept) = (Vec::new(), Vec::new());
        for (at, module) in self.modules.iter().enumerate() {
            let index = self.whole.get(at).copied().unwrap_or_default();
            if self.inputs.all.get(index).is_some_and(|input| input.input.is_member) {
                continue;
            }
            let functions = module.functions.iter().filter(|function| !function.declaration);
            let globals = module.globals.iter().filter(|global| global.initializer.is_some());
            let symbols = functions.map(|one| &one.symbol).chain(globals.map(|one| &one.symbol));
            let is_root = |symbol: &&unshade_llvm::global::Symbol| {
                !symbol.linkage.is_local()
                    && symbol.visibility != HIDDEN
                    && !symbol.name.starts_with(b"llvm.")
            };
            roots.extend(symbols.filter(is_root).map(|symbol| Root { input: at, name: &symbol.name }));
            kept.extend(tables::kept(module).into_iter().map(|name| (at, name)));
        }
        let exported: Vec<&[u8]> = roots.iter().map(|root| root.name).collect();
        roots.extend(kept.iter().map(|(input, name)| Root { input: *input, name }));
        let is_given =
            |index: &usize| self.inputs.all.get(*index).is_some_and(|input| !input.input.is_member);
        let Some(at) = self.whole.iter().position(is_given) else {
            let message = "no input but members of archives, of which a dynamic library has what others need";
            return Err(vec![Error::without_offset(ErrorKind::BadValue, message)]);
        };
        let first = self.whole.get(at).copied().unwrap_or_default();
        let Some(input) = self.inputs.all.get(first) else { return Ok(built) };
        let reach = linker.reach(&roots);
        let mut duplicates = Duplicates::new();
        self.add_duplicates(&linker, &reach, &mut duplicates);
        let duplicates = self.duplicate_faults(&duplicates);
        let tables = match self.check(&reach, input) {
            Ok(tables) if duplicates.is_empty() => tables,
            checked => return Err([checked.err().unwrap_or_default(), duplicates].concat()),
        };
        let is_named = match &self.options.install_name {
            Some(name) => *name == input.source_filename,
            None => true,
        };
        let is_whole = self.whole.len() == 1 && is_named && tables == input.tables;
        if is_whole && reach.has_all_of(&linker, at, &TABLES) {
            let functions = self.modules.get(at).map(exported_functions).unwrap_or_default();
            built.take(first, input, functions);
            return Ok(built);
        }
        let name = self.options.install_name.as_deref();
        let rules = LinkRules {
            first: Some(at),
            source_filename: name,
            exported: Some(&exported),
            ..LinkRules::default()
        };
        let bytes = self.module(&linker, &reach, &rules, &tables).map_err(|error| vec![error])?;
        let functions = Module::parse(&bytes, 0).map(|module| exported_functions(&module));
        let functions = functions.map_err(|error| vec![error])?;
        built.modules.push(BuiltModule { bytes, functions, tables, input: first });
        Ok(built)
    }

    /// Adds the names that are reached and that several inputs define.
    fn add_duplicates(&self, linker: &Linker<'_, '_>, reach: &Reach, duplicates: &mut Duplicates) {
        for conflict in linker.conflicts().iter().filter(|conflict| reach.has(linker, &conflict.name)) {
            let inputs = conflict.inputs.iter().filter_map(|&at| self.whole.get(at));
            duplicates.entry(conflict.name.clone()).or_default().extend(inputs);
        }
    }

    /// Returns what is taken from dynamic libraries, or all that is missing.
    fn check(&self, reach: &Reach, input: &Input<'_>) -> std::result::Result<DynamicTables, Faults> {
        let given = &self.options.libraries;
        let mut tables = DynamicTables::default();
        tables.libraries.extend(given.iter().map(|library| library.install_name.clone()));
        let whole = reach.inputs().into_iter().filter_map(|at| self.inputs.all.get(*self.whole.get(at)?));
        let linked: Vec<&Input<'_>> = whole.collect();
        for library in linked.iter().flat_map(|input| &input.tables.libraries) {
            if !tables.libraries.contains(library) {
                tables.libraries.push(library.clone());
            }
        }
        let is_provided = |name: &Vec<u8>| {
            given.iter().any(|library| library.exports.contains(name))
                || linked.iter().any(|input| input.tables.imports.contains(name))
        };
        let mut faults = Vec::new();
        let mut imports = Vec::new();
        for missing in reach.missing().iter().filter(|missing| !tables::is_of_runtime(&missing.name)) {
            if is_provided(&missing.name) {
                imports.push(missing.name.clone());
                continue;
            }
            let user = self.whole.get(missing.user.0).map(|&index| self.name(index)).unwrap_or_default();
            faults.push(
                Error::without_offset(
                    ErrorKind::BadValue,
                    format!("undefined symbol {}", quoted(&missing.name)),
                )
                .found(format!("{} of {user} needs it", quoted(&missing.user.1))),
            );
        }
        let names: Vec<&[u8]> = imports.iter().map(Vec::as_slice).collect();
        tables.imports = table_order(&names).into_iter().filter_map(|at| imports.get(at).cloned()).collect();
        // A module keeps its own order.
        let mut own = input.tables.imports.clone();
        let mut sorted = tables.imports.clone();
        own.sort_unstable();
        sorted.sort_unstable();
        if own == sorted {
            tables.imports.clone_from(&input.tables.imports);
        }
        if faults.is_empty() { Ok(tables) } else { Err(faults) }
    }

    /// Makes a module of what is reached, with the tables of dynamic libraries.
    fn module(
        &self,
        linker: &Linker<'_, '_>,
        reach: &Reach,
        rules: &LinkRules<'_>,
        tables: &DynamicTables,
    ) -> Result<Vec<u8>> {
        let (pairs, strings) = tables::contents(tables);
        let imports: Vec<&[u8]> = tables.imports.iter().map(Vec::as_slice).collect();
        let added = [
            AddedVariable { name: "air.dyld_lib_table", content: AddedContent::Pairs(&pairs) },
            AddedVariable { name: "air.dyld_str_table", content: AddedContent::Bytes(&strings) },
            AddedVariable { name: "air.dyld_flat_table", content: AddedContent::Addresses(&imports) },
        ];
        // Without imports there is no table of them, but the libraries are named.
        let has_tables = !tables.libraries.is_empty();
        let rules = LinkRules {
            left_out: &TABLES,
            of_first_input: &ONCE,
            added: if has_tables { &added } else { &[] },
            ..*rules
        };
        let linked: link::Linked = linker.link(reach, &rules)?;
        let options = WriteOptions { producer: Some(""), use_list_orders: false, ..WriteOptions::default() };
        let bytes = linked.write_with(&options)?;
        if bytes.starts_with(&BITCODE_MAGIC) { wrap(&bytes) } else { Ok(bytes) }
    }
}

/// The visibility of symbols that other libraries do not see.
const HIDDEN: u8 = 1;

/// Returns the functions that a dynamic library exports, in the order of its list.
fn exported_functions(module: &Module<'_>) -> Vec<OwnedFunction<'static>> {
    let is_hidden = |name: &[u8]| {
        let function = module.functions.iter().find(|function| function.symbol.name == name);
        function.is_some_and(|function| function.symbol.visibility == HIDDEN)
    };
    let listed = air::entry_points(module).unwrap_or_default();
    let mut functions = air::visible_functions(module);
    functions.retain(|function| !is_hidden(&function.name));
    for function in &mut functions {
        if let Some(listed) = listed.iter().find(|listed| listed.name == function.name) {
            function.clone_from(listed);
        }
    }
    let names: Vec<&[u8]> = functions.iter().map(|function| function.name.as_ref()).collect();
    table_order(&names).into_iter().filter_map(|at| functions.get(at).cloned()).collect()
}

impl Built {
    /// Takes a module as it is.
    fn take(&mut self, index: usize, input: &Input<'_>, functions: Vec<OwnedFunction<'static>>) {
        self.unchanged += 1;
        let bytes: Cow<'_, [u8]> = Cow::Borrowed(&input.input.bytes);
        self.modules.push(BuiltModule {
            bytes: bytes.into_owned(),
            functions,
            tables: input.tables.clone(),
            input: index,
        });
    }
}

fn quoted(name: &[u8]) -> String {
    match crate::demangle(name) {
        Some(demangled) => Escaped(demangled.as_bytes()).quoted(),
        None => Escaped(name).quoted(),
    }
}
