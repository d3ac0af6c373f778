//! Modules made by calls that bytes select: most calls are wrong, and none may panic; what finishes is valid.

use unshade::llvm::build::{
    Access, AtomicOperation, Attr, AttributePlace, BuiltModule, CallOptions, FastMath, FloatPredicate,
    FunctionBuilder, GlobalOptions, IntPredicate, ModuleBuilder, Ordering, Version,
};
use unshade::llvm::instruction::Opcode;
use unshade::llvm::value::Operand;
use unshade::llvm::{BlockId, MetadataId, TypeId, ValueId};
use unshade_core::Result;

const INT_PREDICATES: [IntPredicate; 3] = [IntPredicate::Eq, IntPredicate::Slt, IntPredicate::Uge];
const FLOAT_PREDICATES: [FloatPredicate; 3] =
    [FloatPredicate::Oeq, FloatPredicate::Uno, FloatPredicate::True];
const ORDERINGS: [Ordering; 7] = [
    Ordering::NotAtomic,
    Ordering::Unordered,
    Ordering::Monotonic,
    Ordering::Acquire,
    Ordering::Release,
    Ordering::AcquireRelease,
    Ordering::SequentiallyConsistent,
];
const ATOMICS: [AtomicOperation; 4] =
    [AtomicOperation::Exchange, AtomicOperation::UMin, AtomicOperation::FAdd, AtomicOperation::FMax];
const ATTRIBUTES: [Attr<'_>; 6] = [
    Attr::Flag("nounwind"),
    Attr::Flag("noundef"),
    Attr::Number("align", 8),
    Attr::Number("align", 3),
    Attr::Text("a", "b"),
    Attr::Flag("memory"),
];

/// Bytes that select what is called, and what was made so far.
struct Calls<'d> {
    data: &'d [u8],
    types: Vec<TypeId>,
    values: Vec<ValueId>,
    functions: Vec<ValueId>,
    blocks: Vec<BlockId>,
    phis: Vec<(ValueId, BlockId)>,
    edges: Vec<(BlockId, BlockId)>,
    nodes: Vec<MetadataId>,
}

impl Calls<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.data.split_first() else { return 0 };
        self.data = rest;
        first
    }

    fn pick<T: Copy>(list: &[T], byte: u8, none: T) -> T {
        // Some ids are of nothing.
        if byte == 255 || list.is_empty() { none } else { list[usize::from(byte) % list.len()] }
    }

    fn ty(&mut self) -> TypeId {
        let byte = self.byte();
        Self::pick(&self.types, byte, TypeId(u32::from(byte) << 20))
    }

    fn value(&mut self) -> ValueId {
        let byte = self.byte();
        Self::pick(&self.values, byte, ValueId(u32::from(byte) << 21))
    }

    /// One of the latest values, which more often have the types that fit.
    fn recent(&mut self) -> ValueId {
        let byte = self.byte();
        let start = self.values.len().saturating_sub(10);
        Self::pick(&self.values[start..], byte, ValueId::NONE)
    }

    fn block(&mut self) -> BlockId {
        let byte = self.byte();
        Self::pick(&self.blocks, byte, BlockId(u32::from(byte) << 8))
    }

    fn node(&mut self) -> MetadataId {
        let byte = self.byte();
        Self::pick(&self.nodes, byte, MetadataId(u32::from(byte) << 19))
    }

    fn access(&mut self) -> Access<'static> {
        let (ordering, form) = (self.byte(), self.byte());
        Access {
            alignment: (form & 3 == 1).then(|| u64::from(form) >> 2),
            volatile: form & 4 != 0,
            ordering: Self::pick(&ORDERINGS, ordering, Ordering::NotAtomic),
            scope: (form & 8 != 0).then_some("scope"),
        }
    }
}

/// Builds a module of calls that bytes select. Returns it if it could be finished.
pub fn build(data: &[u8]) -> Option<BuiltModule> {
    let mut calls = Calls {
        data,
        types: Vec::new(),
        values: Vec::new(),
        functions: Vec::new(),
        blocks: Vec::new(),
        phis: Vec::new(),
        edges: Vec::new(),
        nodes: Vec::new(),
    };
    let version = if calls.byte() & 1 == 0 { Version::Llvm14 } else { Version::Llvm19 };
    let mut module = ModuleBuilder::new(version);
    let int = module.integer(32).ok()?;
    calls.types = vec![int, module.float(), module.void(), module.integer(1).ok()?, module.integer(64).ok()?];
    start(&mut module, &mut calls).ok()?;
    for _ in 0..calls.byte() % 32 {
        // A call that is refused changes nothing.
        let _ = module_call(&mut module, &mut calls);
    }
    let functions = calls.functions.clone();
    for function in functions {
        if !calls.byte().is_multiple_of(4) {
            body(&mut module, &mut calls, function)?;
        }
    }
    let _ = module_call(&mut module, &mut calls);
    module.finish().ok()
}

/// Adds what every module has, so that many calls have operands of one type.
fn start(module: &mut ModuleBuilder, calls: &mut Calls<'_>) -> Result<()> {
    let (int, float, void) = (calls.types[0], calls.types[1], calls.types[2]);
    let (pointer, vector, pair) =
        (module.pointer(int, 0)?, module.vector(4, float)?, module.struct_type(&[int, float])?);
    calls.types.extend([pointer, vector, pair]);
    for (name, result, parameters) in
        [("first", int, [int, float, pointer]), ("second", void, [vector, pair, int])]
    {
        let ty = module.function_type(result, &parameters)?;
        calls.functions.push(module.add_function(name, ty)?);
    }
    calls.values.extend_from_slice(&calls.functions);
    for number in [0, 1, -7] {
        calls.values.push(module.const_int(int, number)?);
        calls.values.push(module.const_float(float, f64::from(number))?);
    }
    Ok(())
}

/// Makes one call of the builder of modules.
fn module_call(module: &mut ModuleBuilder, calls: &mut Calls<'_>) -> Result<()> {
    match calls.byte() % 24 {
        0 => {
            let bits = u32::from(calls.byte());
            calls.types.push(module.integer(bits)?);
        }
        1 => {
            let (count, element) = (u32::from(calls.byte() % 6), calls.ty());
            calls.types.push(module.vector(count, element)?);
        }
        2 => {
            let (count, element) = (u64::from(calls.byte() % 4), calls.ty());
            calls.types.push(module.array(count, element)?);
        }
        3 => {
            let fields = [calls.ty(), calls.ty()];
            calls.types.push(module.struct_type(&fields)?);
        }
        4 => {
            let fields = [calls.ty()];
            calls.types.push(module.packed_struct(&fields)?);
        }
        5 => {
            let name = ["a", "b", ""][usize::from(calls.byte() % 3)];
            calls.types.push(module.named_struct(name));
        }
        6 => {
            let (ty, fields) = (calls.ty(), [calls.ty(), calls.ty()]);
            module.define_struct(ty, &fields, false)?;
        }
        7 | 8 => {
            let (pointee, space) = (calls.ty(), u32::from(calls.byte() % 4));
            calls.types.push(module.pointer(pointee, space)?);
        }
        9 | 10 => {
            let (result, parameters) = (calls.ty(), [calls.ty(), calls.ty()]);
            let count = usize::from(calls.byte() % 3);
            let ty = module.function_type(result, &parameters[..count])?;
            let name = ["f", "g", "h", ""][usize::from(calls.byte() % 4)];
            let function = module.add_function(name, ty)?;
            calls.functions.push(function);
            calls.values.push(function);
        }
        11 => {
            let (ty, number) = (calls.ty(), i64::from(calls.byte()) - 128);
            calls.values.push(module.const_int(ty, number)?);
        }
        12 => {
            let (ty, number) = (calls.ty(), f64::from(calls.byte()) / 7.0);
            calls.values.push(module.const_float(ty, number)?);
        }
        13 => {
            let ty = calls.ty();
            let value = match calls.byte() % 3 {
                0 => module.const_null(ty),
                1 => module.const_undef(ty),
                _ => module.const_poison(ty),
            };
            calls.values.push(value?);
        }
        14 => {
            let (ty, elements) = (calls.ty(), [calls.recent(), calls.recent()]);
            calls.values.push(module.const_aggregate(ty, &elements)?);
        }
        15 => {
            let (count, element) = (u32::from(calls.byte()), calls.recent());
            calls.values.push(module.const_splat(count, element)?);
        }
        16 => {
            let bytes = [calls.byte(), calls.byte()];
            calls.values.push(module.const_text(&bytes));
        }
        17 => {
            let (ty, initializer) = (calls.ty(), calls.recent());
            let initializer = (calls.byte() & 1 == 0).then_some(initializer);
            let address_space = u32::from(calls.byte() % 4);
            let options = GlobalOptions { initializer, address_space, ..GlobalOptions::default() };
            calls.values.push(module.add_global("", ty, &options)?);
        }
        18 => {
            let opcode = Opcode::ALL[usize::from(calls.byte()) % Opcode::ALL.len()];
            let (value, ty) = (calls.recent(), calls.ty());
            calls.values.push(module.const_cast(opcode, value, ty)?);
        }
        19 => {
            let (source, pointer, index) = (calls.ty(), calls.value(), calls.value());
            calls.values.push(module.const_element_ptr(source, pointer, &[index])?);
        }
        20 => {
            let list = [Attr::Flag("nounwind"), ATTRIBUTES[usize::from(calls.byte() % 6)]];
            let place = [
                AttributePlace::Function,
                AttributePlace::Result,
                AttributePlace::Parameter(u32::from(calls.byte() % 3)),
            ];
            let place = place[usize::from(calls.byte() % 3)];
            let attributes = module.attributes(&[(place, &list[usize::from(calls.byte() % 2)..])])?;
            module.set_attributes(calls.value(), attributes)?;
        }
        21 => {
            let (value, node) = (calls.value(), calls.node());
            let value = module.metadata_value(value)?;
            calls.nodes.push(value);
            calls.nodes.push(module.metadata_tuple(&[value, node])?);
        }
        22 => {
            let node = module.distinct_metadata_tuple(&[None])?;
            let to = calls.node();
            module.set_metadata_element(node, usize::from(calls.byte() % 2), Some(to))?;
            calls.nodes.push(node);
        }
        _ => {
            let node = calls.node();
            module.add_named_metadata("list", &[node])?;
            module.attach(calls.value(), "kind", node)?;
        }
    }
    Ok(())
}

/// Builds the body of a function. Returns nothing if it could not be finished, which the module then can't be either.
fn body(module: &mut ModuleBuilder, calls: &mut Calls<'_>, function: ValueId) -> Option<()> {
    let mut body = module.body(function).ok()?;
    let outer = calls.values.len();
    calls.values.extend((0..4).map_while(|at| body.parameter(at).ok()));
    (calls.phis, calls.edges) = (Vec::new(), Vec::new());
    calls.blocks = (0..4).map(|_| body.block("")).collect();
    let first = calls.blocks[0];
    body.select_block(first).ok()?;
    let limit = 32 + u32::from(calls.byte());
    for _ in 0..limit {
        if calls.data.is_empty() {
            break;
        }
        let _ = instruction(&mut body, calls);
        if body.is_terminated() {
            let next = calls.block();
            let _ = body.select_block(next);
        }
    }
    end(&mut body, calls);
    calls.values.truncate(outer);
    body.finish().ok()
}

/// Completes blocks and phis, so that many bodies can be finished.
fn end(body: &mut FunctionBuilder<'_>, calls: &Calls<'_>) {
    for &block in &calls.blocks {
        let is_used = calls.edges.iter().any(|&(_, to)| to == block) || block == calls.blocks[0];
        if is_used && body.select_block(block).is_ok() && !body.is_terminated() {
            let _ = body.ret_void();
            if !body.is_terminated() {
                let _ = body.unreachable();
            }
        }
    }
    for &(phi, block) in &calls.phis {
        let Ok(ty) = body.type_of(phi) else { continue };
        let Ok(undefined) = body.const_undef(ty) else { continue };
        for &(from, to) in &calls.edges {
            if to == block {
                let _ = body.add_incoming(phi, undefined, from);
            }
        }
    }
}

/// Makes one call of the builder of functions.
fn instruction(body: &mut FunctionBuilder<'_>, calls: &mut Calls<'_>) -> Result<()> {
    let (select, first, second) = (calls.byte() % 32, calls.recent(), calls.recent());
    let made = match select {
        0..=3 => {
            let first_binary = usize::from(calls.byte()) % 20 + Opcode::FNeg as usize;
            let opcode = Opcode::ALL[first_binary];
            body.binary_with_flags(
                opcode,
                first,
                second,
                u16::from(calls.byte() & 3) * u16::from(calls.byte() & 1),
            )?
        }
        4 | 5 => {
            let opcode = Opcode::ALL[usize::from(calls.byte()) % 14 + Opcode::AtomicRmw as usize];
            let ty = calls.ty();
            body.cast(opcode, first, ty)?
        }
        6 => body.icmp(INT_PREDICATES[usize::from(calls.byte() % 3)], first, second)?,
        7 => body.fcmp(FLOAT_PREDICATES[usize::from(calls.byte() % 3)], first, second)?,
        8 => body.select(calls.value(), first, second)?,
        9 => {
            let ty = calls.ty();
            let phi = body.phi(ty)?;
            if let Some(block) = body.current_block() {
                calls.phis.push((phi, block));
            }
            phi
        }
        10 => {
            let ty = calls.ty();
            body.alloca(ty)?
        }
        11 | 12 => {
            let (ty, access) = (calls.ty(), calls.access());
            body.load_with(ty, first, &access)?
        }
        13 | 14 => {
            let access = calls.access();
            return body.store_with(first, second, &access);
        }
        15 => {
            let (ty, index) = (calls.ty(), calls.value());
            body.element_ptr(ty, first, &[second, index])?
        }
        16 => {
            let ty = calls.ty();
            body.field_ptr(ty, first, u32::from(calls.byte() % 3))?
        }
        17 => body.extract_element(first, second)?,
        18 => body.insert_element(first, second, calls.value())?,
        19 => body.shuffle_vector(first, second, &[Some(u32::from(calls.byte() % 8)), None])?,
        20 => body.extract_value(first, &[u32::from(calls.byte() % 3)])?,
        21 => body.insert_value(first, second, &[u32::from(calls.byte() % 3)])?,
        22 => {
            let access = calls.access();
            body.atomic_rmw(ATOMICS[usize::from(calls.byte() % 4)], first, second, &access)?
        }
        23 => {
            let (new, access) = (calls.value(), calls.access());
            body.compare_exchange(first, second, new, &access, Ordering::Monotonic, true)?
        }
        24 => body.call(calls.value(), &[first, second, calls.value()][usize::from(calls.byte() % 4)..])?,
        25 => {
            let (ty, callee) = (calls.ty(), calls.value());
            body.call_with(ty, callee, &[Operand::value(first)], &CallOptions::default())?
        }
        26 => {
            let from = body.current_block();
            let (then, otherwise) = (calls.block(), calls.block());
            body.cond_br(calls.value(), then, otherwise)?;
            calls.edges.extend(from.into_iter().flat_map(|from| [(from, then), (from, otherwise)]));
            return Ok(());
        }
        27 => {
            let (from, to) = (body.current_block(), calls.block());
            body.br(to)?;
            calls.edges.extend(from.map(|from| (from, to)));
            return Ok(());
        }
        28 => {
            let (from, default, to) = (body.current_block(), calls.block(), calls.block());
            body.switch(first, default, &[(calls.value(), to)])?;
            calls.edges.extend(from.into_iter().flat_map(|from| [(from, default), (from, to)]));
            return Ok(());
        }
        29 => {
            let block = calls.block();
            return body.select_block(block);
        }
        30 => return body.ret(first),
        _ => {
            body.set_fast_math(if calls.byte() & 1 == 0 { FastMath::FAST } else { FastMath::NONE });
            let node = calls.node();
            body.attach_to_last("kind", node)?;
            body.set_name(first, "x")?;
            body.fneg(second)?
        }
    };
    if made != ValueId::NONE {
        calls.values.push(made);
    }
    Ok(())
}

/// Builds a module of calls that bytes select, and checks what is written of it: it reads back without findings, is
/// sound, and all of it can be printed. Returns its bitcode.
///
/// # Panics
/// If it is not so.
pub fn exercise(data: &[u8]) -> Option<Vec<u8>> {
    use unshade::llvm::{Module, print, verify};
    let built = build(data)?;
    let bitcode = built.write().expect("a module that is finished can be written");
    let module = Module::parse(&bitcode, 0).expect("it can be read");
    assert!(module.diagnostics.is_empty(), "{:?}", module.diagnostics);
    let bodies = module.bodies().expect("its bodies can be read");
    assert_eq!(bodies.len(), built.bodies.len());
    for (read, made) in bodies.iter().zip(&built.bodies) {
        assert!(read.diagnostics.is_empty(), "{:?}", read.diagnostics);
        assert_eq!(read.instructions.len(), made.instructions.len());
    }
    let findings = verify::bitcode(unshade_core::Reader::new(&bitcode));
    assert!(findings.is_empty(), "{findings:?}");
    let dialect = match data.first().is_none_or(|first| first & 1 == 0) {
        true => print::Dialect::Llvm14,
        false => print::Dialect::Llvm19,
    };
    let options = print::PrintOptions { dialect, ..print::PrintOptions::default() };
    let findings = print::module(&module, &options, &mut String::new());
    assert!(findings.is_empty(), "{findings:?}");
    Some(bitcode)
}
