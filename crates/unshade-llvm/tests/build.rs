//! Modules made by calls: what is written reads back as it was built, LLVM's own tools accept it where they are
//! installed, and mistakes are errors where they are made.

#[path = "build/tools.rs"]
mod tools;

use tools::{accepted, printed};
use unshade_llvm::ValueId;
use unshade_llvm::build::{
    Access, AtomicOperation, Attr, AttributePlace, CallOptions, FastMath, FloatPredicate, FunctionBuilder,
    GlobalOptions, IntPredicate, ModuleBuilder, NO_SIGNED_WRAP, NO_UNSIGNED_WRAP, Ordering, Version,
};
use unshade_llvm::debug_info::NodeKind;
use unshade_llvm::global::Linkage;
use unshade_llvm::instruction::Opcode;
use unshade_llvm::value::Operand;

type Checked = Result<(), Box<dyn std::error::Error>>;

const VERSIONS: [Version; 2] = [Version::Llvm14, Version::Llvm19];

/// Creates a module with a function `@f` of no parameters, whose body is built by `build` up to the terminator.
fn with_body(
    version: Version,
    build: impl FnOnce(&mut FunctionBuilder<'_>) -> unshade_core::Result<()>,
) -> unshade_core::Result<ModuleBuilder> {
    let mut module = ModuleBuilder::new(version);
    let void = module.void();
    let ty = module.function_type(void, &[])?;
    let function = module.add_function("f", ty)?;
    let mut body = module.body(function)?;
    let entry = body.block("entry");
    body.select_block(entry)?;
    build(&mut body)?;
    body.ret_void()?;
    body.finish()?;
    Ok(module)
}

#[test]
fn every_instruction() -> Checked {
    for version in VERSIONS {
        let module = with_body(version, |body| {
            let (int, long, float, double) =
                (body.integer(32)?, body.integer(64)?, body.float(), body.double());
            let (byte, bit) = (body.integer(8)?, body.integer(1)?);
            let pair = body.struct_type(&[int, float])?;
            let vector = body.vector(4, float)?;
            let slot = body.alloca(int)?;
            let x = body.load(int, slot)?;
            let number = body.const_int(int, -5)?;
            for opcode in Opcode::ALL.iter().filter(|opcode| opcode.is_binary()) {
                if !opcode.is_float_operation() {
                    body.binary(*opcode, x, number)?;
                }
            }
            body.binary_with_flags(Opcode::Add, x, x, NO_SIGNED_WRAP | NO_UNSIGNED_WRAP)?;
            body.binary_with_flags(Opcode::LShr, x, x, 1)?;
            let y = body.sitofp(x, float)?;
            body.set_fast_math(FastMath::FAST);
            let sum = body.fadd(y, y)?;
            let product = body.fmul(sum, y)?;
            body.set_fast_math(FastMath::NO_NANS | FastMath::CONTRACT);
            let negative = body.fneg(product)?;
            let less = body.fcmp(FloatPredicate::Olt, negative, y)?;
            body.select(less, y, negative)?;
            body.set_fast_math(FastMath::NONE);
            let wide = body.fpext(y, double)?;
            body.fptrunc(wide, float)?;
            let unsigned = body.fptoui(y, int)?;
            body.fptosi(y, int)?;
            body.uitofp(unsigned, float)?;
            let zext = body.zext(x, long)?;
            body.sext(x, long)?;
            body.trunc(zext, byte)?;
            body.bitcast(y, int)?;
            let bytes = body.pointer(byte, 0)?;
            let cast = body.inttoptr(zext, bytes)?;
            body.ptrtoint(cast, long)?;
            let elsewhere = body.pointer(byte, 1)?;
            body.addrspacecast(cast, elsewhere)?;
            body.freeze(x)?;
            body.icmp(IntPredicate::Ugt, x, number)?;
            let lane = body.const_int(int, 2)?;
            let zeros = body.const_null(vector)?;
            let inserted = body.insert_element(zeros, y, lane)?;
            body.extract_element(inserted, lane)?;
            let swapped = body.shuffle_vector(inserted, zeros, &[Some(3), Some(7), None])?;
            let truths = body.fcmp(FloatPredicate::Uno, swapped, swapped)?;
            body.select(truths, swapped, swapped)?;
            let undefined = body.const_undef(pair)?;
            let changed = body.insert_value(undefined, y, &[1])?;
            body.extract_value(changed, &[0])?;
            let pairs = body.alloca(pair)?;
            let field = body.field_ptr(pair, pairs, 1)?;
            body.store(y, field)?;
            let volatile = Access { volatile: true, alignment: Some(16), ..Access::default() };
            body.store_with(y, field, &volatile)?;
            let atomic = Access { ordering: Ordering::Acquire, scope: Some("agent"), ..Access::default() };
            body.load_with(int, slot, &atomic)?;
            let atomic = Access { ordering: Ordering::SequentiallyConsistent, ..Access::default() };
            body.atomic_rmw(AtomicOperation::UMax, slot, x, &atomic)?;
            body.atomic_rmw(AtomicOperation::FAdd, field, y, &atomic)?;
            let exchanged = body.compare_exchange(slot, x, number, &atomic, Ordering::Monotonic, true)?;
            let exchanged = body.extract_value(exchanged, &[1])?;
            body.fence(Ordering::AcquireRelease, None)?;
            let other = body.integer(16)?;
            body.va_arg(cast, other)?;
            let (then, other) = (body.block("then"), body.block("else"));
            body.cond_br(exchanged, then, other)?;
            body.select_block(then)?;
            let case = body.const_int(int, 7)?;
            let (a, b) = (body.block("case"), body.block("case"));
            body.switch(x, a, &[(number, b), (case, b)])?;
            body.select_block(a)?;
            body.br(b)?;
            body.select_block(b)?;
            let phi = body.phi(bit)?;
            body.set_name(phi, "chosen")?;
            let truth = body.const_bool(true);
            body.add_incoming(phi, exchanged, then)?;
            body.add_incoming(phi, exchanged, then)?;
            body.add_incoming(phi, truth, a)?;
            body.unreachable()?;
            body.select_block(other)
        })?;
        let bitcode = module.finish()?.write()?;
        let text = printed(&bitcode)?;
        assert!(text.contains("%chosen = phi i1 ["), "{text}");
        assert!(text.contains("fmul fast float"), "{text}");
        assert!(text.contains("cmpxchg weak"), "{text}");
        accepted(version, &bitcode, &text)?;
    }
    Ok(())
}

#[test]
fn symbols_attributes_and_metadata() -> Checked {
    for version in VERSIONS {
        let mut module = ModuleBuilder::new(version);
        module.set_data_layout("e-p:64:64:64-i64:64:64-v96:128:128-n8:16:32")?;
        module.set_triple("air64-apple-macosx14.0.0");
        module.set_source_filename("built.metal");
        let (int, float) = (module.integer(32)?, module.float());
        let array = module.array(2, float)?;
        let node = module.named_struct("node");
        let next = module.pointer(node, 0)?;
        module.define_struct(node, &[int, next], false)?;
        let elements = [module.const_float(float, 0.1)?, module.const_float(float, 1.0)?];
        let initializer = module.const_aggregate(array, &elements)?;
        let options = GlobalOptions {
            constant: true,
            address_space: 2,
            linkage: Linkage::Internal,
            initializer: Some(initializer),
            ..GlobalOptions::default()
        };
        let table = module.add_global("table", array, &options)?;
        module.set_alignment(table, 4)?;
        module.set_unnamed_address(table, false)?;
        module.set_section(table, "tables")?;
        let list = module.add_global("list", node, &GlobalOptions::default())?;
        let values = [module.const_int(int, 3)?, list];
        let first = module.const_aggregate(node, &values)?;
        module.set_initializer(list, first)?;
        module.add_alias("also", node, list)?;
        let text = module.const_text(b"hello\0");
        let text_type = module.type_of(text)?;
        module.add_global(
            "text",
            text_type,
            &GlobalOptions { initializer: Some(text), ..GlobalOptions::default() },
        )?;
        let wide = module.integer(128)?;
        let number = module.const_int(wide, -(1i128 << 100))?;
        let options = GlobalOptions { initializer: Some(number), ..GlobalOptions::default() };
        module.add_global("wide", wide, &options)?;

        let pointer = module.pointer(float, 1)?;
        let ty = module.function_type(float, &[pointer, int])?;
        let declared = module.add_function("helper", ty)?;
        let attributes = module.attributes(&[
            (AttributePlace::Function, &[Attr::Flag("nounwind"), Attr::Text("frame-pointer", "all")]),
            (AttributePlace::Parameter(0), &[Attr::Number("dereferenceable", 16), Attr::Flag("noundef")]),
        ])?;
        module.set_attributes(declared, attributes)?;
        let f = module.add_function("f", ty)?;
        module.set_attributes(f, attributes)?;
        module.set_linkage(f, Linkage::WeakOdr)?;

        let file = debug_file(&mut module)?;
        let types = module.debug_node(NodeKind::SubroutineType, false, &[None], &[0, 0])?;
        let _ = (file, types);

        let mut body = module.body(f)?;
        let entry = body.block("");
        body.select_block(entry)?;
        let (p, n) = (body.parameter(0)?, body.parameter(1)?);
        body.set_name(p, "data")?;
        let element = body.element_ptr(float, p, &[n])?;
        let value = body.load(float, element)?;
        let range = [body.metadata_i32(0), body.metadata_i32(5)];
        let range = body.metadata_tuple(&range)?;
        let options = CallOptions { attributes, tail: true, ..CallOptions::default() };
        let arguments = [Operand::value(p), Operand::value(n)];
        let result = body.call_with(ty, declared, &arguments, &options)?;
        let plain = body.call(declared, &[p, n])?;
        let sum = body.fadd(result, plain)?;
        let sum = body.fadd(sum, value)?;
        if version == Version::Llvm14 {
            let (void, metadata) = (body.void(), body.metadata_type());
            let ty = body.function_type(void, &[metadata])?;
            let marker = body.function("llvm.marker", ty)?;
            let local = body.local_metadata(sum)?;
            body.call_with(ty, marker, &[local], &CallOptions::default())?;
        }
        let slot = body.alloca(int)?;
        body.load(int, slot)?;
        body.attach_to_last("range", range)?;
        body.attach_to_last("my.kind", range)?;
        body.ret(sum)?;
        body.finish()?;

        let self_node = module.distinct_metadata_tuple(&[None, None])?;
        module.set_metadata_element(self_node, 0, Some(self_node))?;
        let strings = [module.metadata_string("a"), module.metadata_string("b"), module.metadata_value(f)?];
        let tuple = module.metadata_tuple(&strings)?;
        assert_eq!(module.metadata_tuple(&strings)?, tuple);
        module.add_named_metadata("air.kernel", &[tuple])?;
        module.add_named_metadata("air.kernel", &[self_node])?;
        module.add_module_flag(7, "frame-pointer", 2)?;
        module.attach(f, "my.kind", tuple)?;

        let bitcode = module.finish()?.write()?;
        let text = printed(&bitcode)?;
        for part in [
            "@wide = global i128 -1267650600228229401496703205376",
            "@text = global [6 x i8] c\"hello\\00\"",
            "@table = internal unnamed_addr addrspace(2) constant [2 x float] [float 0x3FB99999A0000000, float 1.",
            "!air.kernel = !{!0, !1}",
            "tail call float @helper(",
            "define weak_odr float @f(",
            "distinct !{!1, null}",
        ] {
            assert!(text.contains(part), "{part} is not in:\n{text}");
        }
        accepted(version, &bitcode, &text)?;
    }
    Ok(())
}

fn debug_file(module: &mut ModuleBuilder) -> unshade_core::Result<unshade_llvm::MetadataId> {
    let (name, directory) = (module.metadata_string("a.metal"), module.metadata_string("/tmp"));
    module.debug_node(NodeKind::File, false, &[Some(name), Some(directory), None, None], &[0])
}

#[test]
fn exceptions() -> Checked {
    for version in VERSIONS {
        let mut module = ModuleBuilder::new(version);
        let (int, void) = (module.integer(32)?, module.void());
        let byte = module.integer(8)?;
        let bytes = module.pointer(byte, 0)?;
        let variadic = module.variadic_function_type(int, &[])?;
        let personality = module.add_function("__gxx_personality_v0", variadic)?;
        let ty = module.function_type(int, &[])?;
        let thrower = module.add_function("may_throw", ty)?;
        let ty_f = module.function_type(void, &[])?;
        let f = module.add_function("f", ty_f)?;
        let cast = match version {
            Version::Llvm14 => module.const_cast(Opcode::BitCast, personality, bytes)?,
            _ => personality,
        };
        module.set_personality(f, cast)?;
        let mut body = module.body(f)?;
        let (entry, normal, pad) = (body.block("entry"), body.block("normal"), body.block("pad"));
        body.select_block(entry)?;
        let result = body.invoke(ty, thrower, &[], normal, pad, &CallOptions::default())?;
        body.select_block(normal)?;
        let slot = body.alloca(int)?;
        body.store(result, slot)?;
        body.ret_void()?;
        body.select_block(pad)?;
        let caught = body.struct_type(&[bytes, int])?;
        let null = body.const_null(bytes)?;
        let value = body.landing_pad(caught, true, &[(null, false)])?;
        body.resume(value)?;
        body.finish()?;
        let bitcode = module.finish()?.write()?;
        let text = printed(&bitcode)?;
        accepted(version, &bitcode, &text)?;
    }
    Ok(())
}

/// Returns the message of a call that must fail.
fn message<T: std::fmt::Debug>(result: unshade_core::Result<T>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn mistakes_are_errors_where_they_are_made() -> Checked {
    let mut module = ModuleBuilder::new(Version::Llvm14);
    let (int, float) = (module.integer(32)?, module.float());
    assert!(message(module.const_int(int, 1i64 << 32)).contains("does not fit into i32"));
    assert!(message(module.const_int(float, 1)).contains("found 'float'"));
    let void = module.void();
    assert!(message(module.array(2, void)).contains("without a size"));
    assert!(
        message(module.attributes(&[(AttributePlace::Result, &[Attr::Flag("nounwind")])])).contains("result")
    );
    let cyclic = module.named_struct("cyclic");
    assert!(message(module.define_struct(cyclic, &[cyclic], false)).contains("contain itself"));
    let ty = module.function_type(int, &[int, float])?;
    let f = module.add_function("f", ty)?;
    let g = module.add_function("g", ty)?;
    assert!(message(module.add_function("f", ty)).contains("already"));
    let mut body = module.body(f)?;
    assert!(message(body.body(g)).contains("another body"));
    let entry = body.block("entry");
    let (x, y) = (body.parameter(0)?, body.parameter(1)?);
    assert!(message(body.add(x, x)).contains("no block is selected"));
    body.select_block(entry)?;
    assert_eq!(
        message(body.add(x, y)),
        "function @f: add: operands don't fit the operation: found 'i32', 'float'"
    );
    assert!(message(body.load(int, x)).contains("no pointer"));
    assert!(message(body.call(f, &[x])).contains("number of arguments"));
    assert!(message(body.call(f, &[y, x])).contains("argument has another type"));
    assert!(message(body.ret_void()).contains("returns another type"));
    assert!(message(body.cond_br(x, entry, entry)).contains("no i1"));
    let slot = body.alloca(int)?;
    assert!(message(body.store(y, slot)).contains("no pointer to the type"));
    assert!(message(body.element_ptr(float, slot, &[x])).contains("don't fit the source type"));
    assert!(message(body.bitcast(slot, int)).contains("not valid"));
    assert!(message(body.add(ValueId::NONE, x)).contains("not of this function"));
    body.ret(x)?;
    assert!(message(body.add(x, x)).contains("terminator already"));
    body.finish()?;
    let mut body = module.body(g)?;
    let entry = body.block("entry");
    body.select_block(entry)?;
    let own = body.parameter(0)?;
    assert!(message(body.add(own, x)).contains("not of this function"));
    drop(body);
    assert!(message(module.finish()).contains("not finished"));
    Ok(())
}

#[test]
fn mistakes_of_control_flow_are_errors_at_the_end() {
    let finish = |build: fn(&mut FunctionBuilder<'_>) -> unshade_core::Result<()>| {
        message(with_body(Version::Llvm14, build).map(drop))
    };
    let text = finish(|body| {
        let other = body.block("other");
        body.br(other)?;
        let end = body.block("end");
        body.select_block(end)
    });
    assert!(text.contains("block %other is used but has no instructions"), "{text}");
    let text = finish(|body| {
        let (open, end) = (body.block("open"), body.block("end"));
        body.br(open)?;
        body.select_block(open)?;
        body.select_block(end)
    });
    assert!(text.contains("block %open has no terminator"), "{text}");
    let text = finish(|body| {
        let entry = body.current_block().unwrap_or(unshade_llvm::BlockId::NONE);
        body.br(entry)?;
        let end = body.block("end");
        body.select_block(end)
    });
    assert!(text.contains("goes to the entry"), "{text}");
    let text = finish(|body| {
        let int = body.integer(32)?;
        let end = body.block("end");
        body.br(end)?;
        body.select_block(end)?;
        body.phi(int).map(drop)
    });
    assert!(text.contains("not those of the predecessors"), "{text}");
    let text = finish(|body| {
        let int = body.integer(32)?;
        let truth = body.const_bool(true);
        let (then, end) = (body.block("then"), body.block("end"));
        body.cond_br(truth, then, end)?;
        body.select_block(then)?;
        let slot = body.alloca(int)?;
        let value = body.load(int, slot)?;
        body.set_name(value, "value")?;
        body.br(end)?;
        body.select_block(end)?;
        body.add(value, value).map(drop)
    });
    assert!(text.contains("%value does not dominate this use"), "{text}");
}

/// Blocks are written in the order in which they are selected, whatever the order of creation.
#[test]
fn blocks_are_in_the_order_of_selection() -> Checked {
    let module = with_body(Version::Llvm14, |body| {
        let (last, middle) = (body.block("last"), body.block("middle"));
        body.br(middle)?;
        body.select_block(middle)?;
        body.br(last)?;
        body.select_block(last)
    })?;
    let text = printed(&module.finish()?.write()?)?;
    let positions = ["entry:", "middle:", "last:"].map(|label| text.find(label));
    assert!(positions.is_sorted() && positions[0].is_some(), "{text}");
    Ok(())
}
