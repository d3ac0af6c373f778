//! Counts instructions, blocks, loops, calls and memory accesses of one function, or of all functions of a library.

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

/// Counts by name, over any number of modules.
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

/// Kind of access, number of the address space and its name.
type MemoryKey = (&'static str, u32, Option<&'static str>);

/// The callee.
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
    /// Counts all functions that a module defines, with types as a dialect writes them. Reports bodies that can't be
    /// read.
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

    /// Counts one function of a module. `names` holds the names of the module's types.
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

    /// Adds the counts of another tally.
    pub fn merge(&mut self, other: &Self) {
        self.functions = self.functions.saturating_add(other.functions);
        self.blocks = self.blocks.saturating_add(other.blocks);
        self.instructions = self.instructions.saturating_add(other.instructions);
        self.loops = self.loops.saturating_add(other.loops);
        self.loop_depth = self.loop_depth.max(other.loop_depth);
        self.stack_bytes = self.stack_bytes.saturating_add(other.stack_bytes);
        other.opcodes.iter().for_each(|(name, count)| add(&mut self.opcodes, *name, *count));
        other.memory.iter().for_each(|(key, count)| add_access(&mut self.memory, *key, *count));
        // Most names exist already and need no copy.
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

    /// Returns the counts, most frequent first, ties by name.
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

/// Returns the name of a DXIL operation.
fn operation_name(number: u32) -> Cow<'static, str> {
    match dxil_operation(number) {
        Some((name, _)) => name.into(),
        None => format!("operation {number}").into(),
    }
}

/// Returns the name of an address space in the target's language.
///
/// Source: for AIR, arguments of functions in real modules; for DXIL, `DxilConstants.h` of DirectXShaderCompiler.
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

/// Counts of functions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StatisticsView {
    /// Number of functions with a body.
    pub functions: u64,
    /// Number of basic blocks.
    pub blocks: u64,
    /// Number of instructions.
    pub instructions: u64,
    /// Number of natural loops.
    pub loops: u64,
    /// Maximum nesting depth of loops.
    pub loop_depth: u32,
    /// Total bytes of `alloca` instructions with a known size.
    pub stack_bytes: u64,
    /// Instructions by opcode.
    pub opcodes: Vec<NameCount>,
    /// Memory accesses by kind and address space.
    pub memory: Vec<MemoryCount>,
    /// Calls by callee.
    pub calls: Vec<CallCount>,
    /// Types of values that instructions compute or store.
    pub types: Vec<NameCount>,
}

/// A name and its number of occurrences.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NameCount {
    /// The name.
    pub name: String,
    /// Number of occurrences.
    pub count: u64,
}

/// Memory accesses of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemoryCount {
    /// `load`, `store` or `atomic`.
    pub access: String,
    /// The number of the address space.
    pub address_space: u32,
    /// Name of the address space in the target's language.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Number of instructions.
    pub count: u64,
    /// Total bytes that they load or store.
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

/// Calls of one callee.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallCount {
    /// `function`, `assembly` (inline) or `indirect` (known only at run time).
    pub kind: String,
    /// Name of the function as in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its demangled name, if it is mangled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub demangled: Option<String>,
    /// The DXIL operation, for calls of operations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// Number of occurrences.
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

    /// Returns a readable name: the demangled name, the operation and its family, or the kind of call.
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
