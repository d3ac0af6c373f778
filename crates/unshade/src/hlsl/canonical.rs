//! The functions of a DXIL module in a form in which two modules can be compared: without names, debug information and
//! metadata, and without the order of what has no order.
//!
//! - Values, blocks and globals are numbered as they appear.
//! - Types are spelled out; only those of DXIL itself have names.
//! - Operands of commutative operations are sorted, and so are handles and inputs, which DXC places at the start of the
//!   function in the order of their declaration.
//! - Long texts are cut off, with the hash of the rest: types and constants of a hostile module would grow without a limit.
//! - Flags of floating-point operations stay: an operation without `fast` is precise.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::rc::Rc;

use super::bounded::Bounded;
use unshade_core::Result;
use unshade_llvm::body::FunctionBody;
use unshade_llvm::constants::{Constant, Constants};
use unshade_llvm::instruction::{Instruction, Opcode};
use unshade_llvm::operation::{Operation, pairs};
use unshade_llvm::print::{dxil_operation, plain_constant};
use unshade_llvm::types::Type;
use unshade_llvm::value::{Operand, OperandKind, ValueKind};
use unshade_llvm::{BlockId, Module, TypeId, ValueId};

/// A function.
pub(super) struct Function {
    /// Its name without the types of its parameters.
    pub(super) name: String,
    /// The instructions, and the initial values of the globals that they use.
    pub(super) lines: Vec<Rc<str>>,
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
    /// The texts of types, by the depth that is left.
    types: RefCell<HashMap<(TypeId, usize), Rc<str>>>,
}

/// The globals in the order of their first use, and the texts of constants, which have numbers of globals in them.
#[derive(Default)]
struct Globals {
    order: Vec<u32>,
    numbers: HashMap<u32, usize>,
    constants: HashMap<(ValueId, usize), Rc<str>>,
}

impl Globals {
    fn number(&mut self, global: u32) -> usize {
        *self.numbers.entry(global).or_insert_with(|| {
            self.order.push(global);
            self.order.len() - 1
        })
    }
}

impl<'b> Writer<'b> {
    fn new(module: &'b Module<'b>, body: &'b FunctionBody) -> Self {
        let mut writer =
            Self { module, body, order: Vec::new(), numbers: HashMap::new(), types: RefCell::default() };
        let mut unordered: BTreeMap<Rc<str>, Vec<&Instruction>> = BTreeMap::new();
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
    fn key(&self, instruction: &Instruction, keys: &HashMap<ValueId, Rc<str>>) -> Option<Rc<str>> {
        let mut key = Bounded::default();
        match Operation::of(self.body, instruction)? {
            // A resource variable of a library.
            Operation::Load { pointer, .. } => {
                let ValueKind::Global(index) = self.module.value(None, pointer)?.kind else { return None };
                self.module.types.named_struct(instruction.ty)?;
                let name = &self.module.globals.get(index as usize)?.symbol.name;
                key.put("load ");
                key.put(&plain_name(&String::from_utf8_lossy(name)));
                return Some(key.finish());
            }
            _ => {
                let (code, _) = self.dxil(instruction)?;
                UNORDERED.contains(&code).then(|| write!(key, "{code:03}"))?.ok()?;
            }
        }
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
        Some(key.finish())
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

    fn lines(&self) -> Vec<Rc<str>> {
        let mut globals = Globals::default();
        let mut lines = Vec::new();
        for (block, instruction) in &self.order {
            lines.extend(block.map(|number| Rc::from(format!("b{number}:"))));
            lines.push(self.line(instruction, &mut globals));
        }
        let mut at = 0;
        while let Some(&global) = globals.order.get(at) {
            lines.push(self.global(global, at, &mut globals));
            at += 1;
        }
        lines
    }

    /// Returns a global variable: its address space, type and initial value.
    fn global(&self, index: u32, number: usize, globals: &mut Globals) -> Rc<str> {
        let mut line = Bounded::default();
        let Some(global) = self.module.globals.get(index as usize) else { return line.finish() };
        let ty = self.ty(global.symbol.ty, DEPTH);
        let _ = write!(line, "@{number} = addrspace({}) {ty} ", global.symbol.address_space);
        if let Some(id) = global.initializer {
            line.put(&self.constant(id, globals, DEPTH));
        }
        line.finish()
    }

    fn line(&self, instruction: &Instruction, globals: &mut Globals) -> Rc<str> {
        let mut line = Bounded::default();
        if let Some(number) = self.numbers.get(&instruction.result) {
            let _ = write!(line, "%{number} = ");
        }
        let mnemonic = instruction.opcode.mnemonic();
        let _ = write!(line, "{mnemonic} {:x} {}", instruction.flags, self.ty(instruction.ty, DEPTH));
        let operation = Operation::of(self.body, instruction);
        let _ = match operation {
            Some(Operation::Compare { predicate, .. }) => write!(line, " {predicate}"),
            Some(Operation::Aggregate { indices, .. }) => write!(line, " {indices:?}"),
            Some(Operation::Alloca { ty, memory, .. }) => {
                write!(line, " {} {:?}", self.ty(ty, DEPTH), memory.alignment())
            }
            Some(Operation::Load { memory, .. } | Operation::Store { memory, .. }) => {
                write!(line, " {:?}", memory.alignment())
            }
            _ => Ok(()),
        };
        line.put(" ");
        match operation {
            Some(Operation::Phi(list)) => line.list(self.incoming(list, globals)),
            _ => line.list(self.operands(instruction, globals)),
        }
        line.finish()
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

    fn operands(&self, instruction: &Instruction, globals: &mut Globals) -> Vec<Rc<str>> {
        let operands = self.body.operands_of(instruction);
        let mut texts: Vec<Rc<str>> = operands
            .iter()
            .map(|operand| match operand.kind() {
                OperandKind::Value(id) => self.value(id, globals),
                OperandKind::Block(block) => format!("b{}", block.index()).into(),
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

    fn value(&self, id: ValueId, globals: &mut Globals) -> Rc<str> {
        match self.numbers.get(&id) {
            Some(number) => format!("%{number}").into(),
            None => self.constant(id, globals, DEPTH),
        }
    }

    /// Returns a value that is not a result.
    fn constant(&self, id: ValueId, globals: &mut Globals, depth: usize) -> Rc<str> {
        if let Some(known) = globals.constants.get(&(id, depth)) {
            return known.clone();
        }
        let text = self.constant_text(id, globals, depth);
        globals.constants.insert((id, depth), text.clone());
        text
    }

    fn constant_text(&self, id: ValueId, globals: &mut Globals, depth: usize) -> Rc<str> {
        let Some(value) = self.module.value(Some(self.body), id) else { return "missing".into() };
        match value.kind {
            ValueKind::Argument(number) => return format!("%a{number}").into(),
            ValueKind::Global(index) => return format!("@{}", globals.number(index)).into(),
            ValueKind::Function(index) => return self.function(index),
            _ => {}
        }
        let Some(inner) = depth.checked_sub(1) else { return "…".into() };
        let mut text = Bounded::default();
        text.put(&self.ty(value.ty, depth));
        text.put(" ");
        match self.module.constant(Some(self.body), id) {
            Some((Constant::Aggregate(slice), constants)) => {
                text.list(constants.values(slice).iter().map(|&one| self.constant(one, globals, inner)));
            }
            Some((Constant::Data(slice), constants)) => {
                let _ = write!(text, "{:x?}", constants.words(slice));
            }
            Some((Constant::Text(slice), constants)) => {
                let _ = write!(text, "{:x?}", constants.bytes(slice));
            }
            Some((Constant::Expression(index), constants)) => {
                self.expression(index, constants, globals, inner, &mut text);
            }
            _ => text.put(plain_constant(self.module, self.body, id).as_deref().unwrap_or("unnamed")),
        }
        text.finish()
    }

    fn expression(
        &self,
        index: u32,
        constants: &Constants,
        globals: &mut Globals,
        depth: usize,
        text: &mut Bounded,
    ) {
        let Some(expression) = constants.expression(index) else { return text.put("missing") };
        let _ = write!(text, "{} {:x} (", expression.opcode.mnemonic(), expression.flags);
        let operands = constants.values(expression.operands).iter();
        text.list(operands.map(|&one| self.constant(one, globals, depth)));
        text.put(")");
    }

    /// Returns the name of a function: operations on structs have the name of the struct in theirs.
    fn function(&self, index: u32) -> Rc<str> {
        let Some(function) = self.module.functions.get(index as usize) else { return "missing".into() };
        let name = plain_name(&String::from_utf8_lossy(&function.symbol.name));
        match name.strip_prefix("dx.op.").and_then(|operation| operation.split_once('.')) {
            Some((class, overload))
                if overload.starts_with(['s', 'c', 'd']) && !overload.starts_with("dx.") =>
            {
                format!("@dx.op.{class} of {}", self.ty(function.symbol.ty, DEPTH)).into()
            }
            _ => format!("@{name}").into(),
        }
    }

    fn ty(&self, id: TypeId, depth: usize) -> Rc<str> {
        if let Some(known) = self.types.borrow().get(&(id, depth)) {
            return known.clone();
        }
        let text = self.type_text(id, depth);
        self.types.borrow_mut().insert((id, depth), text.clone());
        text
    }

    fn type_text(&self, id: TypeId, depth: usize) -> Rc<str> {
        let types = &self.module.types;
        let mut text = Bounded::default();
        let inner = depth.saturating_sub(1);
        let list =
            |text: &mut Bounded, ids| text.list(types.elements(ids).iter().map(|&one| self.ty(one, inner)));
        let _ = match types.get(id) {
            Type::Pointer { address_space, .. } if depth == 0 => write!(text, "pointer({address_space})"),
            Type::Array { count, .. } if depth == 0 => write!(text, "[{count} x …]"),
            Type::Vector { count, .. } if depth == 0 => write!(text, "<{count} x …>"),
            Type::Pointer { pointee, address_space: 0 } => write!(text, "{}*", self.ty(pointee, inner)),
            Type::Pointer { pointee, address_space } => {
                write!(text, "{} addrspace({address_space})*", self.ty(pointee, inner))
            }
            Type::Array { count, element } => write!(text, "[{count} x {}]", self.ty(element, inner)),
            Type::Vector { count, element, .. } => write!(text, "<{count} x {}>", self.ty(element, inner)),
            Type::Integer(bits) => write!(text, "i{bits}"),
            Type::Function { result, parameters, .. } if depth > 0 => {
                text.put(&self.ty(result, inner));
                text.put(" (");
                list(&mut text, parameters);
                write!(text, ")")
            }
            Type::Struct(structure) => {
                let name = structure.name.map(|name| String::from_utf8_lossy(types.name(name)).into_owned());
                match name.filter(|name| name.starts_with("dx.types.")) {
                    Some(name) => write!(text, "%{}", name.split(".struct.").next().unwrap_or_default()),
                    None if depth == 0 => write!(text, "struct"),
                    None => {
                        text.put("{ ");
                        list(&mut text, structure.fields);
                        write!(text, " }}")
                    }
                }
            }
            other => write!(text, "{}", format!("{other:?}").to_lowercase()),
        };
        text.finish()
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
    use unshade_llvm::assemble::{AssembleOptions, Version, assemble};
    use unshade_llvm::write::{self, WriteOptions};

    /// Returns the lines of a module with an input handle, two additions and a constant table.
    fn lines(body: &str) -> Vec<Rc<str>> {
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

    /// A type that has 16 of a type, which has 16 of a type, and so on.
    #[test]
    fn types_that_repeat_themselves_stay_short() {
        let mut text = String::from("%T0 = type { i32, float }\n");
        for number in 1..12 {
            let inner = vec![format!("%T{}", number - 1); 16].join(", ");
            text += &format!("%T{number} = type {{ {inner} }}\n");
        }
        let body = |text: &str| {
            format!(
                "{text}\n@g = internal global %T11 zeroinitializer\ndefine %T11* @main() {{\n  ret %T11* @g\n}}"
            )
        };
        let found = lines(&body(&text));
        assert!(found.iter().all(|line| line.len() < 2_000), "{found:?}");
        assert_ne!(lines(&body(&text.replace("float", "double"))), found);
    }

    #[test]
    fn mangled_names_are_shortened() {
        assert_eq!(plain_name("\u{1}?hit@@YAXUPayload@@@Z"), "hit");
        assert_eq!(plain_name("main"), "main");
    }
}
