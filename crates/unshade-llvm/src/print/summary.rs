//! Prints summaries: the lines that start with `^`.
//!
//! Modules are numbered first, then symbols by GUID, then compatible vtables and type ids. LLVM 14 keeps
//! compatible vtables in the same map as symbols, so one with the name of a symbol replaces the symbol's number.
//!
//! Knowledge: the output of `llvm-dis` 14 and 19.

use super::text::{push_escaped, push_number, push_signed};
use super::{Dialect, PrintOptions, Printer};
use crate::md5;
use crate::summary::words::*;
use crate::summary::{
    Allocation, CallResolution, CallSite, Edge, FunctionSummary, ParameterAccess, Reference, Summary,
    SummarySymbol, SymbolKind, SymbolSummary, TypeSummary,
};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use unshade_core::{TokenKind, TokenSink};

/// The path of the module that regular LTO makes of all modules without a summary.
const REGULAR: &[u8] = b"[Regular LTO]";

/// The numbers after `^`.
#[derive(Default)]
struct SummaryNumbers {
    modules: BTreeMap<u64, u64>,
    symbols: BTreeMap<u64, u64>,
    tables: Vec<u64>,
    types: Vec<u64>,
    next: u64,
}

impl SummaryNumbers {
    fn take(&mut self) -> u64 {
        let number = self.next;
        self.next += 1;
        number
    }

    fn new(summary: &Summary, modules: &[(u64, &[u8])], dialect: Dialect) -> Self {
        let mut numbers = Self::default();
        for (module, _) in modules {
            let number = numbers.take();
            numbers.modules.insert(*module, number);
        }
        for &symbol in summary.symbols.keys() {
            let number = numbers.take();
            numbers.symbols.insert(symbol, number);
        }
        for name in summary.tables.keys() {
            let number = numbers.take();
            numbers.tables.push(number);
            if dialect == Dialect::Llvm14 {
                numbers.symbols.insert(md5::low64(name), number);
            }
        }
        for _ in &summary.types {
            let number = numbers.take();
            numbers.types.push(number);
        }
        numbers
    }
}

/// A line being formatted.
struct LineWriter<'s> {
    text: String,
    numbers: &'s SummaryNumbers,
    summary: &'s Summary,
    newest: bool,
}

impl<'m, S: TokenSink> Printer<'m, '_, '_, S> {
    /// Writes the summary of the module, if it has one.
    pub(super) fn summary(&mut self, options: &PrintOptions<'_>) {
        let newest = self.rules.dialect.is_opaque();
        let separator = if newest { b';' } else { b':' };
        let Some((summary, findings)) = self.module.summary(separator) else { return };
        self.findings.append(findings);
        let own = options.module_id.unwrap_or_default().as_bytes();
        let path = |path: &'_ Option<Vec<u8>>| path.clone().unwrap_or_else(|| own.to_vec());
        let paths: Vec<(u64, Vec<u8>)> =
            summary.modules.iter().map(|(id, module)| (*id, path(&module.path))).collect();
        let mut modules: Vec<(u64, &[u8])> = paths.iter().map(|(id, path)| (*id, path.as_slice())).collect();
        if newest {
            modules.sort_by(|one, two| one.1.cmp(two.1));
        }
        let numbers = SummaryNumbers::new(&summary, &modules, self.rules.dialect);
        self.punctuation("\n");
        let line = |write: &dyn Fn(&mut LineWriter<'_>)| {
            let mut line = LineWriter { text: String::new(), numbers: &numbers, summary: &summary, newest };
            write(&mut line);
            line.text
        };
        for (id, path) in &modules {
            let text = line(&|line| line.module(*id, path));
            self.summary_line(numbers.modules.get(id).copied().unwrap_or(0), &text);
        }
        for (number, symbol) in &summary.symbols {
            let text = line(&|line| line.symbol(*number, symbol));
            self.summary_line(numbers.symbols.get(number).copied().unwrap_or(0), &text);
        }
        for ((number, name, ty), slot) in summary.types.iter().zip(&numbers.types) {
            let text = line(&|line| line.type_id(*number, name, ty));
            self.summary_line(*slot, &text);
        }
        for ((name, tables), slot) in summary.tables.iter().zip(&numbers.tables) {
            let text = line(&|line| line.tables(name, tables));
            self.summary_line(*slot, &text);
        }
        let mut last = numbers.next;
        let flags = summary.flags & if newest { KNOWN_FLAGS_19 } else { KNOWN_FLAGS_14 };
        for (name, number) in [("flags: ", flags), ("blockcount: ", summary.block_count)] {
            if number != 0 || name == "blockcount: " {
                let text = line(&|line| line.named(name, number));
                self.summary_line(last, &text);
                last += 1;
            }
        }
    }

    fn summary_line(&mut self, number: u64, text: &str) {
        self.built(TokenKind::Attribute, |line| {
            line.push('^');
            push_number(line, number);
        });
        self.punctuation(" = ");
        self.out(TokenKind::Text, text);
        self.punctuation("\n");
    }
}

impl LineWriter<'_> {
    fn put(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn named(&mut self, name: &str, number: u64) {
        self.put(name);
        push_number(&mut self.text, number);
    }

    fn word(&mut self, words: &[&'static str], number: u64) {
        let word = usize::try_from(number).ok().and_then(|number| words.get(number));
        self.put(word.copied().unwrap_or("<unknown>"));
    }

    /// Appends a name as LLVM does, without escapes; but with them where the text would not be readable.
    fn unescaped(&mut self, name: &[u8]) {
        let text = core::str::from_utf8(name).ok();
        match text.filter(|text| !text.trim_start_matches('\u{1}').contains(char::is_control)) {
            Some(text) => {
                self.text.push('"');
                self.text.push_str(text);
                self.text.push('"');
            }
            None => self.quoted(name),
        }
    }

    fn quoted(&mut self, bytes: &[u8]) {
        self.text.push('"');
        push_escaped(&mut self.text, bytes);
        self.text.push('"');
    }

    /// Appends items in parentheses, separated by commas.
    fn list<T>(
        &mut self,
        label: &str,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T),
    ) {
        self.put(label);
        self.text.push('(');
        for (at, item) in items.into_iter().enumerate() {
            if at > 0 {
                self.put(", ");
            }
            write(self, item);
        }
        self.text.push(')');
    }

    fn reference(&mut self, symbol: u64) {
        self.text.push('^');
        push_number(
            &mut self.text,
            self.numbers.symbols.get(&symbol).copied().unwrap_or(u64::from(u32::MAX)),
        );
    }

    fn module(&mut self, id: u64, path: &[u8]) {
        self.put("module: (path: ");
        self.quoted(if path.is_empty() { REGULAR } else { path });
        let hash = self.summary.modules.get(&id).map_or([0; 5], |module| module.hash);
        self.list(", hash: ", hash, |line, word| push_number(&mut line.text, u64::from(word)));
        self.put(")");
    }

    fn symbol(&mut self, number: u64, symbol: &SummarySymbol) {
        if symbol.name.is_empty() {
            self.named("gv: (guid: ", number);
        } else {
            self.put("gv: (name: ");
            self.unescaped(&symbol.name);
        }
        if !symbol.summaries.is_empty() {
            self.list(", summaries: ", &symbol.summaries, Self::of_symbol);
        }
        self.put(")");
        if !symbol.name.is_empty() {
            self.named(" ; guid = ", number);
        }
    }

    fn of_symbol(&mut self, summary: &SymbolSummary) {
        self.put(match summary.kind {
            SymbolKind::Function(_) => "function: (module: ^",
            SymbolKind::Variable { .. } => "variable: (module: ^",
            SymbolKind::Alias(_) => "alias: (module: ^",
        });
        push_number(&mut self.text, self.numbers.modules.get(&summary.module).copied().unwrap_or(0));
        let flags = summary.flags;
        self.put(", flags: (linkage: ");
        self.word(&LINKAGES, flags & 15);
        self.put(", visibility: ");
        self.word(&VISIBILITIES, flags >> 8 & 3);
        for (name, bit) in SYMBOL_FLAGS.into_iter().zip(4..) {
            self.put(", ");
            self.put(name);
            self.named(": ", flags >> bit & 1);
        }
        if self.newest {
            self.put(if flags >> 10 & 1 != 0 {
                ", importType: declaration"
            } else {
                ", importType: definition"
            });
        }
        self.put(")");
        match &summary.kind {
            SymbolKind::Function(function) => self.function(function),
            SymbolKind::Variable { flags, virtual_functions } => self.variable(*flags, virtual_functions),
            SymbolKind::Alias(target) => {
                self.put(", aliasee: ");
                match target {
                    Some(target) => self.reference(*target),
                    None => self.put("null"),
                }
            }
        }
        if !summary.references.is_empty() {
            self.list(", refs: ", &summary.references, |line, reference: &Reference| {
                line.put(
                    ["", "readonly ", "writeonly "].get(usize::from(reference.access)).copied().unwrap_or(""),
                );
                line.reference(reference.symbol);
            });
        }
        self.put(")");
    }

    fn variable(&mut self, flags: u64, virtual_functions: &[(u64, u64)]) {
        self.named(", varFlags: (readonly: ", flags & 1);
        self.named(", writeonly: ", flags >> 1 & 1);
        self.named(", constant: ", flags >> 2 & 1);
        if virtual_functions.is_empty() {
            return self.put(")");
        }
        self.named(", vcall_visibility: ", flags >> 3 & 3);
        self.put(")");
        self.list(", vTableFuncs: ", virtual_functions, |line, &(function, offset)| {
            line.put("(virtFunc: ");
            line.reference(function);
            line.named(", offset: ", offset);
            line.put(")");
        });
    }

    fn function(&mut self, function: &FunctionSummary) {
        self.named(", insts: ", function.instructions);
        if function.flags & 0x3FF != 0 {
            self.list(", funcFlags: ", FUNCTION_FLAGS.iter().enumerate(), |line, (bit, name)| {
                line.put(name);
                line.named(": ", function.flags >> bit & 1);
            });
        }
        if !function.calls.is_empty() {
            self.list(", calls: ", &function.calls, Self::call);
        }
        self.type_uses(function);
        if self.newest {
            if !function.allocations.is_empty() {
                self.list(", allocs: ", &function.allocations, Self::allocation);
            }
            if !function.call_sites.is_empty() {
                self.list(", callsites: ", &function.call_sites, Self::call_site);
            }
        }
        if !function.parameters.is_empty() {
            self.list(", params: ", &function.parameters, Self::parameter);
        }
    }

    fn call(&mut self, call: &Edge) {
        self.put("(callee: ");
        self.reference(call.callee);
        if call.hotness != 0 {
            self.put(", hotness: ");
            self.word(&HOTNESS, u64::from(call.hotness));
        } else if call.frequency != 0 {
            self.named(", relbf: ", call.frequency);
        }
        if call.tail && self.newest {
            self.put(", tail: 1");
        }
        self.put(")");
    }

    fn type_uses(&mut self, function: &FunctionSummary) {
        let start = self.text.len();
        let mut first = true;
        let mut separate = |line: &mut Self| {
            line.put(if first { ", typeIdInfo: (" } else { ", " });
            first = false;
        };
        if !function.type_tests.is_empty() {
            separate(self);
            self.list("typeTests: ", self.tests(&function.type_tests), |line, (slot, number)| match slot {
                Some(slot) => line.named("^", slot),
                None => push_number(&mut line.text, number),
            });
        }
        for (label, calls) in
            ["typeTestAssumeVCalls: ", "typeCheckedLoadVCalls: "].iter().zip(&function.virtual_calls)
        {
            if !calls.is_empty() {
                separate(self);
                self.list(label, calls, |line, &call| line.virtual_function(call));
            }
        }
        for (label, calls) in ["typeTestAssumeConstVCalls: ", "typeCheckedLoadConstVCalls: "]
            .iter()
            .zip(&function.constant_calls)
        {
            if !calls.is_empty() {
                separate(self);
                self.list(label, calls, |line, call| {
                    line.put("(");
                    line.virtual_function(call.function);
                    if !call.arguments.is_empty() {
                        line.put(", ");
                        line.arguments(&call.arguments);
                    }
                    line.put(")");
                });
            }
        }
        if self.text.len() > start {
            self.put(")");
        }
    }

    /// Returns the numbers after `^` of the type ids with a GUID.
    fn slots_of_type(&self, number: u64) -> Vec<u64> {
        let start = self.summary.types.partition_point(|(other, ..)| *other < number);
        let types = self.summary.types.iter().zip(&self.numbers.types).skip(start);
        types.take_while(|((other, ..), _)| *other == number).map(|(_, slot)| *slot).collect()
    }

    fn tests(&self, numbers: &[u64]) -> Vec<(Option<u64>, u64)> {
        let mut tests = Vec::new();
        for &number in numbers {
            let slots = self.slots_of_type(number);
            if slots.is_empty() {
                tests.push((None, number));
            }
            tests.extend(slots.into_iter().map(|slot| (Some(slot), number)));
        }
        tests
    }

    fn virtual_function(&mut self, (number, offset): (u64, u64)) {
        let slots = self.slots_of_type(number);
        if slots.is_empty() {
            self.named("vFuncId: (guid: ", number);
            self.named(", offset: ", offset);
            return self.put(")");
        }
        for (at, slot) in slots.into_iter().enumerate() {
            self.named(if at > 0 { ", vFuncId: (^" } else { "vFuncId: (^" }, slot);
            self.named(", offset: ", offset);
            self.put(")");
        }
    }

    fn arguments(&mut self, arguments: &[u64]) {
        self.list("args: ", arguments, |line, &argument| push_number(&mut line.text, argument));
    }

    fn numbers(&mut self, label: &str, numbers: &[u64]) {
        self.list(label, numbers, |line, &number| push_number(&mut line.text, number));
    }

    fn allocation(&mut self, allocation: &Allocation) {
        self.list("(versions: ", &allocation.versions, |line, &kind| line.word(&ALLOCATIONS, kind));
        self.list(", memProf: ", &allocation.contexts, |line, (kind, stack)| {
            line.put("(type: ");
            line.word(&ALLOCATIONS, *kind);
            line.numbers(", stackIds: ", stack);
            line.put(")");
        });
        self.put(")");
    }

    fn call_site(&mut self, site: &CallSite) {
        self.put("(callee: ");
        match site.callee {
            Some(callee) => self.reference(callee),
            None => self.put("null"),
        }
        self.numbers(", clones: ", &site.clones);
        self.numbers(", stackIds: ", &site.stack);
        self.put(")");
    }

    fn offsets(&mut self, (low, high): (i64, i64)) {
        self.put(", offset: [");
        push_signed(&mut self.text, low);
        self.put(", ");
        push_signed(&mut self.text, high.wrapping_sub(1));
        self.put("]");
    }

    fn parameter(&mut self, access: &ParameterAccess) {
        self.named("(param: ", access.parameter);
        self.offsets(access.offsets);
        if !access.calls.is_empty() {
            self.list(", calls: ", &access.calls, |line, &(callee, parameter, offsets)| {
                line.put("(callee: ");
                line.reference(callee);
                line.named(", param: ", parameter);
                line.offsets(offsets);
                line.put(")");
            });
        }
        self.put(")");
    }

    fn type_id(&mut self, number: u64, name: &[u8], ty: &TypeSummary) {
        self.put("typeid: (name: ");
        self.unescaped(name);
        self.put(", summary: (typeTestRes: (kind: ");
        self.word(&TESTS, ty.kind);
        for (at, (&number, name)) in ty.numbers.iter().zip(TEST_NUMBERS).enumerate() {
            // LLVM stores the mask in one byte.
            let number = if name == "bitMask" { number & 0xFF } else { number };
            if at == 0 || number != 0 {
                self.put(", ");
                self.put(name);
                self.named(": ", number);
            }
        }
        self.put(")");
        if !ty.calls.is_empty() {
            self.list(", wpdResolutions: ", &ty.calls, |line, (offset, call)| line.resolution(*offset, call));
        }
        self.named(")) ; guid = ", number);
    }

    fn resolution(&mut self, offset: u64, call: &CallResolution) {
        const SINGLE: u64 = 1;
        self.named("(offset: ", offset);
        self.put(", wpdRes: (kind: ");
        self.word(&CALLS, call.kind);
        if call.kind == SINGLE {
            self.put(", singleImplName: ");
            self.unescaped(&call.name);
        }
        if !call.by_arguments.is_empty() {
            self.list(", resByArg: ", &call.by_arguments, |line, (arguments, &[kind, info, byte, bit])| {
                line.arguments(arguments);
                line.put(", byArg: (kind: ");
                line.word(&CALLS_BY_ARGUMENTS, kind);
                if matches!(kind, 1 | 2) {
                    line.named(", info: ", info);
                }
                if byte != 0 || bit != 0 {
                    line.named(", byte: ", byte);
                    line.named(", bit: ", bit);
                }
                line.put(")");
            });
        }
        self.put("))");
    }

    fn tables(&mut self, name: &[u8], tables: &[(u64, u64)]) {
        self.put("typeidCompatibleVTable: (name: ");
        self.unescaped(name);
        self.list(", summary: ", tables, |line, &(offset, table)| {
            line.named("(offset: ", offset);
            line.put(", ");
            line.reference(table);
            line.put(")");
        });
        self.named(") ; guid = ", md5::low64(name));
    }
}
