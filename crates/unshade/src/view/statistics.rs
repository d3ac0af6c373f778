//! What functions are made of, counted and named: of one function, or of all functions of a library.

use crate::demangle;
use crate::sass_code::{Code, FunctionCode};
use serde::Serialize;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use unshade_core::{Diagnostics, Escaped};
use unshade_llvm::print::{Dialect, TypeNames, dxil_operation};
use unshade_llvm::statistics::{AccessCount, Statistics};
use unshade_llvm::uses::Callee;
use unshade_llvm::{FunctionBody, Module};
use unshade_sass::listing::Word;

/// Counts by name, of any number of modules.
///
/// ```
/// use unshade::llvm::print::Dialect;
/// use unshade::view::Tally;
/// # let bytes = include_bytes!("../../../../tests/fixtures/air/kernel.bc");
/// let module = unshade::llvm::Module::parse(bytes, 0)?;
/// let mut diagnostics = unshade::core::Diagnostics::new();
///
/// let mut total = Tally::default();
/// total.merge(&Tally::of_module(&module, Dialect::Llvm14, &mut diagnostics));
/// let view = total.view();
/// println!("{} instructions, most often {}", view.instructions, view.opcodes[0].name);
/// # Ok::<(), unshade::core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Tally {
    functions: u64,
    blocks: u64,
    instructions: u64,
    loops: u64,
    loop_depth: u32,
    stack_bytes: u64,
    opcodes: BTreeMap<&'static str, u64>,
    memory: BTreeMap<MemoryKey, AccessCount>,
    calls: BTreeMap<CallName, u64>,
    types: BTreeMap<String, u64>,
}

/// The kind of access, the number of the address space and its name.
type MemoryKey = (&'static str, u32, Option<&'static str>);

/// What is called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CallName {
    Function { name: Vec<u8>, operation: Option<Cow<'static, str>> },
    Assembly,
    Indirect,
}

fn add<K: Ord>(counts: &mut BTreeMap<K, u64>, key: K, count: u64) {
    let sum = counts.entry(key).or_default();
    *sum = sum.saturating_add(count);
}

fn add_access(memory: &mut BTreeMap<MemoryKey, AccessCount>, key: MemoryKey, count: AccessCount) {
    let sum = memory.entry(key).or_default();
    sum.count = sum.count.saturating_add(count.count);
    sum.bytes = sum.bytes.saturating_add(count.bytes);
}

impl Tally {
    /// Counts all functions that a module defines, with types as a dialect writes them; bodies that can't be read are
    /// told.
    pub fn of_module(module: &Module<'_>, dialect: Dialect, diagnostics: &mut Diagnostics) -> Self {
        let mut statistics = Statistics::new(module);
        for (index, function) in module.functions.iter().enumerate() {
            if !function.declaration
                && let Some(body) = diagnostics.take("llvm-function", module.body(index))
            {
                statistics.add(module, &body);
                diagnostics.append(body.diagnostics);
            }
        }
        Self::new(module, &statistics, &TypeNames::new(module, dialect))
    }

    /// Counts one function of a module, given the names of its types.
    pub fn of_body(module: &Module<'_>, names: &TypeNames, body: &FunctionBody) -> Self {
        let mut statistics = Statistics::new(module);
        statistics.add(module, body);
        Self::new(module, &statistics, names)
    }

    /// Counts a function of a cubin: instructions by mnemonic, blocks and loops.
    pub fn of_machine_code(code: &Code<'_>, function: &FunctionCode<'_>) -> Self {
        let flow = code.control_flow(function);
        let mut tally = Self {
            functions: 1,
            blocks: flow.blocks().len() as u64,
            loops: flow.loops().all().len() as u64,
            loop_depth: flow.loops().all().iter().map(|one| one.depth).max().unwrap_or(0),
            ..Self::default()
        };
        for (_, word) in function.words().words() {
            if let Word::Instruction(instruction) = word {
                tally.instructions += 1;
                add(&mut tally.opcodes, instruction.operation().name, 1);
            }
        }
        tally
    }

    fn new(module: &Module<'_>, statistics: &Statistics, names: &TypeNames) -> Self {
        let mut tally = Self {
            functions: statistics.functions,
            blocks: statistics.blocks,
            instructions: statistics.instructions,
            loops: statistics.loops,
            loop_depth: statistics.loop_depth,
            stack_bytes: statistics.stack_bytes,
            opcodes: statistics.opcodes().map(|(opcode, count)| (opcode.mnemonic(), count)).collect(),
            ..Self::default()
        };
        for (&(access, space), &count) in &statistics.memory {
            let key = (access.name(), space, address_space(&module.triple, space));
            add_access(&mut tally.memory, key, count);
        }
        for (&(callee, operation), &count) in &statistics.calls {
            let name = match callee {
                Callee::Function(index) => {
                    let function = module.functions.get(index as usize);
                    let name = function.map_or_else(Vec::new, |function| function.symbol.name.clone());
                    CallName::Function { name, operation: operation.map(operation_name) }
                }
                Callee::Assembly => CallName::Assembly,
                Callee::Indirect => CallName::Indirect,
            };
            add(&mut tally.calls, name, count);
        }
        for (id, count) in statistics.types() {
            add(&mut tally.types, names.get(id).to_owned(), count);
        }
        tally
    }

    /// Adds the counts of others.
    pub fn merge(&mut self, other: &Self) {
        self.functions = self.functions.saturating_add(other.functions);
        self.blocks = self.blocks.saturating_add(other.blocks);
        self.instructions = self.instructions.saturating_add(other.instructions);
        self.loops = self.loops.saturating_add(other.loops);
        self.loop_depth = self.loop_depth.max(other.loop_depth);
        self.stack_bytes = self.stack_bytes.saturating_add(other.stack_bytes);
        other.opcodes.iter().for_each(|(name, count)| add(&mut self.opcodes, *name, *count));
        other.memory.iter().for_each(|(key, count)| add_access(&mut self.memory, *key, *count));
        // Most names are known already, and need no copy.
        for (name, count) in &other.calls {
            match self.calls.get_mut(name) {
                Some(sum) => *sum = sum.saturating_add(*count),
                None => add(&mut self.calls, name.clone(), *count),
            }
        }
        for (name, count) in &other.types {
            match self.types.get_mut(name) {
                Some(sum) => *sum = sum.saturating_add(*count),
                None => add(&mut self.types, name.clone(), *count),
            }
        }
    }

    /// What is shown: the most frequent first, equals by name.
    pub fn view(&self) -> StatisticsView {
        let named = |(name, count): (&str, &u64)| NameCount { name: name.to_owned(), count: *count };
        let mut view = StatisticsView {
            functions: self.functions,
            blocks: self.blocks,
            instructions: self.instructions,
            loops: self.loops,
            loop_depth: self.loop_depth,
            stack_bytes: self.stack_bytes,
            opcodes: self.opcodes.iter().map(|(name, count)| named((name, count))).collect(),
            memory: self.memory.iter().map(|(key, count)| MemoryCount::new(key, *count)).collect(),
            calls: self.calls.iter().map(|(name, count)| CallCount::new(name, *count)).collect(),
            types: self.types.iter().map(|(name, count)| named((name, count))).collect(),
        };
        // Sorting is stable, and the maps are sorted by name.
        view.opcodes.sort_by_key(|one| Reverse(one.count));
        view.memory.sort_by_key(|one| Reverse(one.count));
        view.calls.sort_by_key(|one| Reverse(one.count));
        view.types.sort_by_key(|one| Reverse(one.count));
        view
    }
}

/// What an operation of DXIL is called.
fn operation_name(number: u32) -> Cow<'static, str> {
    match dxil_operation(number) {
        Some((name, _)) => name.into(),
        None => format!("operation {number}").into(),
    }
}

/// What the language of a target calls an address space.
///
/// Knowledge: the arguments of functions in AIR by observation; `DxilConstants.h` of DirectXShaderCompiler.
fn address_space(triple: &[u8], space: u32) -> Option<&'static str> {
    const AIR: [&str; 7] =
        ["thread", "device", "constant", "threadgroup", "threadgroup_imageblock", "ray_data", "object_data"];
    const DXIL: [&str; 7] = [
        "thread",
        "device",
        "constant buffer",
        "groupshared",
        "generic",
        "immediate constant buffer",
        "node record",
    ];
    let names = if triple.starts_with(b"air") {
        AIR
    } else if triple.starts_with(b"dxil") {
        DXIL
    } else {
        return None;
    };
    names.get(space as usize).copied()
}

/// What functions are made of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StatisticsView {
    /// How many functions have a body.
    pub functions: u64,
    /// How many basic blocks they have.
    pub blocks: u64,
    /// How many instructions.
    pub instructions: u64,
    /// How many natural loops.
    pub loops: u64,
    /// How many loops nest at most.
    pub loop_depth: u32,
    /// How many bytes `alloca` instructions of a known size take.
    pub stack_bytes: u64,
    /// Instructions by opcode.
    pub opcodes: Vec<NameCount>,
    /// Accesses to memory by kind and address space.
    pub memory: Vec<MemoryCount>,
    /// Calls by what is called.
    pub calls: Vec<CallCount>,
    /// Types of what instructions compute or store.
    pub types: Vec<NameCount>,
}

/// How often something of a name occurs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NameCount {
    /// The name.
    pub name: String,
    /// How often.
    pub count: u64,
}

/// How often memory is used in one way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemoryCount {
    /// `load`, `store` or `atomic`.
    pub access: String,
    /// The number of the address space.
    pub address_space: u32,
    /// What the target calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How many instructions.
    pub count: u64,
    /// The sum of the sizes of what they load or store.
    pub bytes: u64,
}

impl MemoryCount {
    fn new(&(access, address_space, name): &MemoryKey, count: AccessCount) -> Self {
        Self {
            access: access.to_owned(),
            address_space,
            name: name.map(str::to_owned),
            count: count.count,
            bytes: count.bytes,
        }
    }
}

/// How often something is called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallCount {
    /// `function`, `assembly` (inline) or `indirect` (known when the program runs).
    pub kind: String,
    /// The function's name as it stands in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its demangled name, if it is mangled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub demangled: Option<String>,
    /// The operation of DXIL that the call asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// How often.
    pub count: u64,
}

impl CallCount {
    fn new(name: &CallName, count: u64) -> Self {
        let call =
            |kind: &str| Self { kind: kind.to_owned(), name: None, demangled: None, operation: None, count };
        match name {
            CallName::Function { name, operation } => Self {
                name: Some(Escaped(name).to_cow().into_owned()),
                demangled: demangle(name),
                operation: operation.as_deref().map(str::to_owned),
                ..call("function")
            },
            CallName::Assembly => call("assembly"),
            CallName::Indirect => call("indirect"),
        }
    }

    /// What people read: the demangled name, the operation and its family, or what kind of call it is.
    pub fn readable(&self) -> String {
        let name = self.demangled.as_ref().or(self.name.as_ref());
        match (name, &self.operation) {
            (Some(name), Some(operation)) => format!("{operation}   {name}"),
            (Some(name), None) if name.is_empty() => "(a function without a name)".to_owned(),
            (Some(name), None) => name.clone(),
            (None, _) => format!("({})", self.kind),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_address_spaces() {
        assert_eq!(address_space(b"air64-apple-macosx14.0.0", 3), Some("threadgroup"));
        assert_eq!(address_space(b"dxil-ms-dx", 3), Some("groupshared"));
        assert_eq!(address_space(b"dxil-ms-dx", 7), None);
        assert_eq!(address_space(b"x86_64-pc-linux-gnu", 0), None);
    }

    #[test]
    fn the_most_frequent_comes_first() {
        let bytes = include_bytes!("../../../../tests/fixtures/air/kernel.bc");
        let module = Module::parse(bytes, 0).unwrap();
        let mut diagnostics = Diagnostics::new();
        let one = Tally::of_module(&module, Dialect::Llvm14, &mut diagnostics);
        assert!(diagnostics.is_empty());
        let mut two = one.clone();
        two.merge(&one);
        let (one, two) = (one.view(), two.view());
        assert_eq!(one.functions, 1);
        assert_eq!((two.functions, two.instructions), (2, one.instructions * 2));
        assert!(one.opcodes.is_sorted_by_key(|one| Reverse(one.count)));
        assert_eq!(one.opcodes.iter().map(|one| one.count).sum::<u64>(), one.instructions);
        assert_eq!(one.memory[0].name.as_deref(), Some("device"));
    }
}
