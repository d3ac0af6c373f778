//! The functions of a DXIL module in a form in which two modules can be compared: without names, debug information and
//! metadata, and without the order of what has no order.
//!
//! - Values, blocks and globals are numbered as they appear.
//! - Types are spelled out; only those of DXIL itself have names.
//! - Operands of commutative operations are sorted, and so are handles and inputs, which DXC places at the start of the
//!   function in the order of their declaration.
//! - Flags of floating-point operations stay: an operation without `fast` is precise.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use anyhow::Result;
use unshade::llvm::body::FunctionBody;
use unshade::llvm::constants::{Constant, Constants};
use unshade::llvm::instruction::{Instruction, Opcode};
use unshade::llvm::operation::{Operation, pairs};
use unshade::llvm::print::{dxil_operation, plain_constant};
use unshade::llvm::types::Type;
use unshade::llvm::value::{Operand, OperandKind, ValueKind};
use unshade::llvm::{BlockId, Module, TypeId, ValueId};

/// A function.
pub(super) struct Function {
    /// Its name without the types of its parameters.
    pub(super) name: String,
    /// The instructions, and the initial values of the globals that they use.
    pub(super) lines: Vec<String>,
    /// The operations, in the order of the module.
    pub(super) operations: Vec<String>,
}

/// Operations that have no order among themselves if their operands are constants: inputs, thread IDs, handles.
const UNORDERED: [u64; 15] = [4, 57, 91, 93, 94, 95, 96, 100, 107, 108, 138, 160, 216, 217, 218];

/// Operations whose first two operands may be exchanged: minima and maxima, multiplications with an addition.
const COMMUTATIVE: [u64; 10] = [35, 36, 37, 38, 39, 40, 46, 47, 48, 49];

/// The depth to which types and constants are spelled out.
const DEPTH: usize = 12;

/// Returns the functions of a module that have a body, sorted by name.
pub(super) fn functions(module: &Module<'_>) -> Result<Vec<Function>> {
    let mut functions = Vec::new();
    for (index, function) in module.functions_with_bodies() {
        let body = module.body(index)?;
        let name = plain_name(&String::from_utf8_lossy(&function.symbol.name));
        let writer = Writer::new(module, &body);
        let operations = writer.operations();
        functions.push(Function { name, lines: writer.lines(), operations });
    }
    functions.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(functions)
}

/// Returns the name in a mangled name: `main` of `?main@@YAXXZ`.
pub(super) fn plain_name(symbol: &str) -> String {
    match symbol.trim_start_matches('\u{1}').strip_prefix('?') {
        Some(mangled) => mangled.split("@@").next().unwrap_or(mangled).to_owned(),
        None => symbol.to_owned(),
    }
}

struct Writer<'b> {
    module: &'b Module<'b>,
    body: &'b FunctionBody,
    /// The instructions, with the block that each starts.
    order: Vec<(Option<usize>, &'b Instruction)>,
    /// Numbers of results.
    numbers: HashMap<ValueId, usize>,
}

/// The globals in the order of their first use.
#[derive(Default)]
struct Globals(Vec<u32>);

impl Globals {
    fn number(&mut self, global: u32) -> usize {
        let known = self.0.iter().position(|&known| known == global);
        known.unwrap_or_else(|| {
            self.0.push(global);
            self.0.len() - 1
        })
    }
}

impl<'b> Writer<'b> {
    fn new(module: &'b Module<'b>, body: &'b FunctionBody) -> Self {
        let mut writer = Self { module, body, order: Vec::new(), numbers: HashMap::new() };
        let mut unordered: BTreeMap<String, Vec<&Instruction>> = BTreeMap::new();
        let mut keys = HashMap::new();
        let mut ordered = Vec::new();
        for (number, block) in body.blocks.iter().enumerate() {
            let mut label = Some(number);
            for instruction in block.of(&body.instructions) {
                if writer.is_debug(instruction) {
                    continue;
                }
                match writer.key(instruction, &keys) {
                    Some(key) => {
                        keys.insert(instruction.result, key.clone());
                        unordered.entry(key).or_default().push(instruction);
                    }
                    None => ordered.push((label.take(), instruction)),
                }
            }
        }
        let first = unordered.into_values().flatten().map(|instruction| (None, instruction));
        writer.order = first.chain(ordered).collect();
        let results = writer.order.iter().map(|(_, instruction)| instruction.result);
        writer.numbers = results.filter(|&id| id != ValueId::NONE).zip(0..).collect();
        writer
    }

    fn is_debug(&self, instruction: &Instruction) -> bool {
        self.callee(instruction).is_some_and(|name| name.starts_with("llvm.dbg."))
    }

    /// Returns the name of the function that an instruction calls.
    fn callee(&self, instruction: &Instruction) -> Option<String> {
        let Some(Operation::Call { callee, .. }) = Operation::of(self.body, instruction) else { return None };
        match self.module.value(None, callee)?.kind {
            ValueKind::Function(index) => {
                let name = &self.module.functions.get(index as usize)?.symbol.name;
                Some(String::from_utf8_lossy(name).into_owned())
            }
            _ => None,
        }
    }

    /// Returns the code of the DXIL operation that an instruction calls, and its operands.
    fn dxil(&self, instruction: &Instruction) -> Option<(u64, &'b [Operand])> {
        if !self.callee(instruction)?.starts_with("dx.op.") {
            return None;
        }
        let Some(Operation::Call { arguments, .. }) = Operation::of(self.body, instruction) else {
            return None;
        };
        let (code, operands) = arguments.split_first()?;
        Some((self.module.integer(Some(self.body), code.as_value()?)?, operands))
    }

    /// Returns what an operation without an order is sorted by.
    fn key(&self, instruction: &Instruction, keys: &HashMap<ValueId, String>) -> Option<String> {
        let mut key = match Operation::of(self.body, instruction)? {
            // A resource variable of a library.
            Operation::Load { pointer, .. } => {
                let ValueKind::Global(index) = self.module.value(None, pointer)?.kind else { return None };
                self.module.types.named_struct(instruction.ty)?;
                let name = &self.module.globals.get(index as usize)?.symbol.name;
                return Some(format!("load {}", plain_name(&String::from_utf8_lossy(name))));
            }
            _ => {
                let (code, _) = self.dxil(instruction)?;
                UNORDERED.contains(&code).then(|| format!("{code:03}"))?
            }
        };
        let (_, operands) = self.dxil(instruction)?;
        for operand in operands {
            let id = operand.as_value()?;
            match keys.get(&id) {
                Some(known) => write!(key, " ({known})").ok()?,
                None => {
                    self.module.constant(Some(self.body), id)?;
                    write!(key, " {}", self.constant(id, &mut Globals::default(), DEPTH)).ok()?;
                }
            }
        }
        Some(key)
    }

    /// Returns the name of each operation.
    fn operations(&self) -> Vec<String> {
        let instructions = self.body.blocks.iter().flat_map(|block| block.of(&self.body.instructions));
        instructions
            .filter(|instruction| !self.is_debug(instruction))
            .map(|one| self.operation(one))
            .collect()
    }

    fn operation(&self, instruction: &Instruction) -> String {
        if let Some((code, _)) = self.dxil(instruction) {
            let named = u32::try_from(code).ok().and_then(dxil_operation);
            return named.map_or_else(|| format!("op{code}"), |(name, _)| name.to_owned());
        }
        match Operation::of(self.body, instruction) {
            Some(Operation::Compare { predicate, .. }) => {
                format!("{} {predicate}", instruction.opcode.mnemonic())
            }
            _ => instruction.opcode.mnemonic().to_owned(),
        }
    }

    fn lines(&self) -> Vec<String> {
        let mut globals = Globals::default();
        let mut lines = Vec::new();
        for (block, instruction) in &self.order {
            lines.extend(block.map(|number| format!("b{number}:")));
            lines.push(self.line(instruction, &mut globals));
        }
        let mut at = 0;
        while let Some(&global) = globals.0.get(at) {
            lines.push(self.global(global, at, &mut globals));
            at += 1;
        }
        lines
    }

    /// Returns a global variable: its address space, type and initial value.
    fn global(&self, index: u32, number: usize, globals: &mut Globals) -> String {
        let Some(global) = self.module.globals.get(index as usize) else { return String::new() };
        let ty = self.ty(global.symbol.ty, DEPTH);
        let initial = global.initializer.map(|id| self.constant(id, globals, DEPTH)).unwrap_or_default();
        format!("@{number} = addrspace({}) {ty} {initial}", global.symbol.address_space)
    }

    fn line(&self, instruction: &Instruction, globals: &mut Globals) -> String {
        let mut line = match self.numbers.get(&instruction.result) {
            Some(number) => format!("%{number} = "),
            None => String::new(),
        };
        let mnemonic = instruction.opcode.mnemonic();
        let _ = write!(line, "{mnemonic} {:x} {}", instruction.flags, self.ty(instruction.ty, DEPTH));
        let operands = match Operation::of(self.body, instruction) {
            Some(Operation::Phi(list)) => self.incoming(list, globals),
            Some(Operation::Compare { predicate, .. }) => {
                let _ = write!(line, " {predicate}");
                self.operands(instruction, globals)
            }
            Some(Operation::Aggregate { indices, .. }) => {
                let _ = write!(line, " {indices:?}");
                self.operands(instruction, globals)
            }
            Some(Operation::Alloca { ty, memory, .. }) => {
                let _ = write!(line, " {} {:?}", self.ty(ty, DEPTH), memory.alignment());
                self.operands(instruction, globals)
            }
            Some(Operation::Load { memory, .. } | Operation::Store { memory, .. }) => {
                let _ = write!(line, " {:?}", memory.alignment());
                self.operands(instruction, globals)
            }
            _ => self.operands(instruction, globals),
        };
        let _ = write!(line, " {}", operands.join(", "));
        line
    }

    /// Returns the operands of a phi, sorted by block.
    fn incoming(&self, list: &[Operand], globals: &mut Globals) -> Vec<String> {
        let mut incoming: Vec<(BlockId, ValueId)> =
            pairs(list).map(|(value, block)| (block, value)).collect();
        incoming.sort_by_key(|(block, _)| block.index());
        let text = |(block, value): (BlockId, ValueId)| {
            format!("[{}, b{}]", self.value(value, globals), block.index())
        };
        incoming.into_iter().map(text).collect()
    }

    fn operands(&self, instruction: &Instruction, globals: &mut Globals) -> Vec<String> {
        let operands = self.body.operands_of(instruction);
        let mut texts: Vec<String> = operands
            .iter()
            .map(|operand| match operand.kind() {
                OperandKind::Value(id) => self.value(id, globals),
                OperandKind::Block(block) => format!("b{}", block.index()),
                OperandKind::Metadata(_) => "metadata".into(),
            })
            .collect();
        // The callee and the code come first.
        let commutative = match self.dxil(instruction) {
            Some((code, _)) => COMMUTATIVE.contains(&code).then_some(2..4),
            None => is_commutative(self.body, instruction).then_some(0..2),
        };
        if let Some(exchanged) = commutative.and_then(|range| texts.get_mut(range)) {
            exchanged.sort();
        }
        texts
    }

    fn value(&self, id: ValueId, globals: &mut Globals) -> String {
        match self.numbers.get(&id) {
            Some(number) => format!("%{number}"),
            None => self.constant(id, globals, DEPTH),
        }
    }

    /// Returns a value that is not a result.
    fn constant(&self, id: ValueId, globals: &mut Globals, depth: usize) -> String {
        let Some(value) = self.module.value(Some(self.body), id) else { return "missing".into() };
        match value.kind {
            ValueKind::Argument(number) => return format!("%a{number}"),
            ValueKind::Global(index) => return format!("@{}", globals.number(index)),
            ValueKind::Function(index) => return self.function(index),
            _ if depth == 0 => return "…".into(),
            _ => {}
        }
        let ty = self.ty(value.ty, depth);
        let text = match self.module.constant(Some(self.body), id) {
            Some((Constant::Aggregate(slice), constants)) => {
                let elements =
                    constants.values(slice).iter().map(|&one| self.constant(one, globals, depth - 1));
                elements.collect::<Vec<_>>().join(", ")
            }
            Some((Constant::Data(slice), constants)) => format!("{:x?}", constants.words(slice)),
            Some((Constant::Text(slice), constants)) => format!("{:x?}", constants.bytes(slice)),
            Some((Constant::Expression(index), constants)) => {
                self.expression(index, constants, globals, depth - 1)
            }
            _ => plain_constant(self.module, self.body, id).unwrap_or_else(|| "unnamed".into()),
        };
        format!("{ty} {text}")
    }

    fn expression(&self, index: u32, constants: &Constants, globals: &mut Globals, depth: usize) -> String {
        let Some(expression) = constants.expression(index) else { return "missing".into() };
        let operands = constants.values(expression.operands).iter();
        let operands: Vec<_> = operands.map(|&one| self.constant(one, globals, depth)).collect();
        format!("{} {:x} ({})", expression.opcode.mnemonic(), expression.flags, operands.join(", "))
    }

    /// Returns the name of a function: operations on structs have the name of the struct in theirs.
    fn function(&self, index: u32) -> String {
        let Some(function) = self.module.functions.get(index as usize) else { return "missing".into() };
        let name = plain_name(&String::from_utf8_lossy(&function.symbol.name));
        match name.strip_prefix("dx.op.").and_then(|operation| operation.split_once('.')) {
            Some((class, overload))
                if overload.starts_with(['s', 'c', 'd']) && !overload.starts_with("dx.") =>
            {
                format!("@dx.op.{class} of {}", self.ty(function.symbol.ty, DEPTH))
            }
            _ => format!("@{name}"),
        }
    }

    fn ty(&self, id: TypeId, depth: usize) -> String {
        let types = &self.module.types;
        let list = |ids: &[TypeId]| {
            let texts: Vec<_> = ids.iter().map(|&one| self.ty(one, depth.saturating_sub(1))).collect();
            texts.join(", ")
        };
        match types.get(id) {
            Type::Pointer { address_space, .. } if depth == 0 => format!("pointer({address_space})"),
            Type::Pointer { pointee, address_space: 0 } => format!("{}*", self.ty(pointee, depth - 1)),
            Type::Pointer { pointee, address_space } => {
                format!("{} addrspace({address_space})*", self.ty(pointee, depth - 1))
            }
            Type::Array { count, element } => {
                format!("[{count} x {}]", self.ty(element, depth.saturating_sub(1)))
            }
            Type::Vector { count, element, .. } => format!("<{count} x {}>", self.ty(element, 1)),
            Type::Integer(bits) => format!("i{bits}"),
            Type::Function { result, parameters, .. } if depth > 0 => {
                format!("{} ({})", self.ty(result, depth - 1), list(types.elements(parameters)))
            }
            Type::Struct(structure) => {
                let name = structure.name.map(|name| String::from_utf8_lossy(types.name(name)).into_owned());
                match name.filter(|name| name.starts_with("dx.types.")) {
                    Some(name) => format!("%{}", name.split(".struct.").next().unwrap_or_default()),
                    None if depth == 0 => "struct".into(),
                    None => format!("{{ {} }}", list(types.elements(structure.fields))),
                }
            }
            other => format!("{other:?}").to_lowercase(),
        }
    }
}

fn is_commutative(body: &FunctionBody, instruction: &Instruction) -> bool {
    match Operation::of(body, instruction) {
        Some(Operation::Binary { opcode, .. }) => matches!(
            opcode,
            Opcode::Add | Opcode::FAdd | Opcode::Mul | Opcode::FMul | Opcode::And | Opcode::Or | Opcode::Xor
        ),
        Some(Operation::Compare { predicate, .. }) => {
            ["eq", "ne", "oeq", "one", "ueq", "une", "ord", "uno"].contains(&predicate)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unshade::llvm::assemble::{AssembleOptions, Version, assemble};
    use unshade::llvm::write::{self, WriteOptions};

    /// Returns the lines of a module with an input handle, two additions and a constant table.
    fn lines(body: &str) -> Vec<String> {
        let text = format!(
            "target triple = \"dxil-ms-dx\"\n{body}\n\
             declare float @dx.op.loadInput.f32(i32, i32, i32, i8, i32)\n\
             declare void @dx.op.storeOutput.f32(i32, i32, i32, i8, float)\n"
        );
        let assembled =
            assemble(text.as_bytes(), &AssembleOptions { version: Version::Dxc }).expect("sound text");
        let options = WriteOptions { version: Version::Dxc, ..WriteOptions::default() };
        let bitcode = write::module(&assembled.input(), &options).expect("it can be written");
        let module = Module::parse(&bitcode, 0).expect("it can be read");
        functions(&module).expect("it has bodies").remove(0).lines
    }

    const TABLE: &str = "@table = internal constant [2 x float] [float 1.0, float 2.0]";

    fn shader(table: &str, name: &str, x: &str, y: &str, sum: &str) -> String {
        format!(
            "{table}\ndefine void @{name}() {{\n  {x}\n  {y}\n  %p = getelementptr [2 x float], [2 x float]* \
             @table, i32 0, i32 1\n  %t = load float, float* %p, align 4\n  {sum}\n  %r = fsub float %s, %t\n  call void \
             @dx.op.storeOutput.f32(i32 5, i32 0, i32 0, i8 0, float %r)\n  ret void\n}}"
        )
    }

    const X: &str = "%x = call float @dx.op.loadInput.f32(i32 4, i32 0, i32 0, i8 0, i32 undef)";
    const Y: &str = "%y = call float @dx.op.loadInput.f32(i32 4, i32 0, i32 0, i8 1, i32 undef)";

    #[test]
    fn names_and_what_has_no_order_are_left_out() {
        let expected = lines(&shader(TABLE, "main", X, Y, "%s = fadd fast float %x, %y"));
        assert_eq!(lines(&shader(TABLE, "other", Y, X, "%s = fadd fast float %y, %x")), expected);
    }

    #[test]
    fn other_programs_differ() {
        let expected = lines(&shader(TABLE, "main", X, Y, "%s = fadd fast float %x, %y"));
        let table = TABLE.replace("2.0", "3.0");
        let others = [
            shader(TABLE, "main", X, Y, "%s = fadd float %x, %y"),
            shader(TABLE, "main", X, Y, "%s = fsub fast float %x, %y"),
            shader(TABLE, "main", X, &Y.replace("i8 1", "i8 2"), "%s = fadd fast float %x, %y"),
            shader(&table, "main", X, Y, "%s = fadd fast float %x, %y"),
        ];
        for other in others {
            assert_ne!(lines(&other), expected, "{other}");
        }
        let exchanged = lines(&shader(TABLE, "main", X, Y, "%s = fsub fast float %y, %x"));
        assert_ne!(lines(&shader(TABLE, "main", X, Y, "%s = fsub fast float %x, %y")), exchanged);
    }

    #[test]
    fn mangled_names_are_shortened() {
        assert_eq!(plain_name("\u{1}?hit@@YAXUPayload@@@Z"), "hit");
        assert_eq!(plain_name("main"), "main");
    }
}
