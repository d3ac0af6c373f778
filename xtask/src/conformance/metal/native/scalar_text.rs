//! Modules of functions of numbers, as text of LLVM 14: every operation on every type.
//!
//! A module has one operation. Each of its functions does it on one type, and a kernel calls them all: with operands that are
//! made of the words of a buffer, and a buffer for the results of each.
//!
//! | of four operands | one is |
//! |---|---|
//! | 1 | special: zeros, ones, infinities, NaNs, the least and the greatest numbers |
//! | 1 | a small number; a float is a multiple of 1/16 |
//! | 2 | the bits of the buffer |

use std::collections::BTreeSet;
use std::fmt::Write as _;

/// A module of an operation.
pub(super) struct Operation {
    pub(super) name: String,
    pub(super) text: String,
    /// The number of its functions.
    pub(super) functions: usize,
    /// Whether there is only one right result.
    pub(super) is_exact: bool,
}

/// A type: as text, its scalar, its lanes, as AIR's names have it, and the name of results in metadata.
#[derive(Clone, Copy, PartialEq)]
struct Type {
    text: &'static str,
    scalar: &'static str,
    lanes: usize,
    suffix: &'static str,
    metal: &'static str,
}

const fn ty(
    text: &'static str,
    scalar: &'static str,
    lanes: usize,
    suffix: &'static str,
    metal: &'static str,
) -> Type {
    Type { text, scalar, lanes, suffix, metal }
}

const FLOATS: [Type; 7] = [
    ty("float", "float", 1, "f32", "float"),
    ty("half", "half", 1, "f16", "half"),
    ty("bfloat", "bfloat", 1, "bf16", "bfloat"),
    ty("<2 x float>", "float", 2, "v2f32", "float2"),
    ty("<4 x float>", "float", 4, "v4f32", "float4"),
    ty("<4 x half>", "half", 4, "v4f16", "half4"),
    ty("<2 x bfloat>", "bfloat", 2, "v2bf16", "bfloat2"),
];

const INTEGERS: [Type; 8] = [
    ty("i8", "i8", 1, "i8", "uchar"),
    ty("i16", "i16", 1, "i16", "ushort"),
    ty("i32", "i32", 1, "i32", "uint"),
    ty("i64", "i64", 1, "i64", "ulong"),
    ty("<2 x i32>", "i32", 2, "v2i32", "uint2"),
    ty("<4 x i16>", "i16", 4, "v4i16", "ushort4"),
    ty("<4 x i8>", "i8", 4, "v4i8", "uchar4"),
    ty("<2 x i64>", "i64", 2, "v2i64", "ulong2"),
];

/// Bits of special numbers, by the scalar.
const SPECIALS: [(&str, u32, [u64; 8]); 7] = [
    ("float", 32, [0, 1 << 31, 0x3f80_0000, 0xbf80_0000, 0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 1]),
    ("half", 16, [0, 1 << 15, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00, 0x7bff]),
    ("bfloat", 16, [0, 1 << 15, 0x3f80, 0xbf80, 0x7f80, 0xff80, 0x7fc0, 0x7f7f]),
    ("i8", 8, [0, 1, 0x7f, 0x80, 0xff, 0x81, 2, 0xfe]),
    ("i16", 16, [0, 1, 0x7fff, 0x8000, 0xffff, 0x8001, 2, 0xfffe]),
    ("i32", 32, [0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 0x8000_0001, 2, 0xffff_fffe]),
    ("i64", 64, [0, 1, i64::MAX as u64, 1 << 63, u64::MAX, (1 << 63) + 1, 2, u64::MAX - 1]),
];

/// Operators on floats and on integers: their text before the type.
const FLOAT_OPERATORS: [&str; 5] = ["fadd", "fsub", "fmul", "fdiv", "frem"];
const INTEGER_OPERATORS: [&str; 6] = ["add", "sub", "mul", "and", "or", "xor"];
const SHIFTS: [&str; 3] = ["shl", "lshr", "ashr"];
const DIVISIONS: [&str; 4] = ["udiv", "urem", "sdiv", "srem"];
const FLOAT_TESTS: [&str; 14] =
    ["oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno"];
const INTEGER_TESTS: [&str; 10] = ["eq", "ne", "ugt", "uge", "ult", "ule", "sgt", "sge", "slt", "sle"];

/// Functions of floats: name, number of operands, and whether they are exact.
const FLOAT_FUNCTIONS: [(&str, usize, bool); 49] = [
    ("ceil", 1, true),
    ("floor", 1, true),
    ("rint", 1, true),
    ("round", 1, true),
    ("trunc", 1, true),
    ("fabs", 1, true),
    ("fract", 1, true),
    ("saturate", 1, true),
    ("sign", 1, true),
    ("sqrt", 1, true),
    ("rsqrt", 1, true),
    ("fast_sqrt", 1, true),
    ("fmin", 2, true),
    ("fmax", 2, true),
    ("fmod", 2, true),
    ("copysign", 2, true),
    ("fdim", 2, true),
    ("nextafter", 2, true),
    ("fma", 3, true),
    ("fmin3", 3, true),
    ("fmax3", 3, true),
    ("fmedian3", 3, true),
    ("clamp", 3, true),
    ("fast_clamp", 3, true),
    ("acos", 1, false),
    ("acosh", 1, false),
    ("asin", 1, false),
    ("asinh", 1, false),
    ("atan", 1, false),
    ("atanh", 1, false),
    ("atan2", 2, false),
    ("cos", 1, false),
    ("cosh", 1, false),
    ("cospi", 1, false),
    ("exp", 1, false),
    ("exp10", 1, false),
    ("exp2", 1, false),
    ("fast_exp", 1, false),
    ("log", 1, false),
    ("log10", 1, false),
    ("log2", 1, false),
    ("pow", 2, false),
    ("powr", 2, false),
    ("sin", 1, false),
    ("sinh", 1, false),
    ("sinpi", 1, false),
    ("tan", 1, false),
    ("tanh", 1, false),
    ("tanpi", 1, false),
];

/// Functions of integers: the name of AIR without types, or of LLVM, the number of operands, and what follows them.
const INTEGER_FUNCTIONS: [(&str, usize, &str); 21] = [
    ("air.min.s", 2, ""),
    ("air.min.u", 2, ""),
    ("air.max.s", 2, ""),
    ("air.max.u", 2, ""),
    ("air.clamp.s", 3, ""),
    ("air.clamp.u", 3, ""),
    ("air.abs.s", 1, ""),
    ("air.mul_hi.s", 2, ""),
    ("air.mul_hi.u", 2, ""),
    ("air.popcount", 1, ""),
    ("air.reverse_bits", 1, ""),
    ("air.clz", 1, "i1 false"),
    ("air.ctz", 1, "i1 false"),
    ("llvm.fshl", 3, ""),
    ("llvm.fshr", 3, ""),
    ("llvm.sadd.sat", 2, ""),
    ("llvm.uadd.sat", 2, ""),
    ("llvm.ssub.sat", 2, ""),
    ("llvm.usub.sat", 2, ""),
    ("llvm.umin", 2, ""),
    ("llvm.smax", 2, ""),
];

/// A function: the types of its operands and its result, its body, and what it declares.
struct Function {
    operands: Vec<Type>,
    result: Type,
    body: String,
    declared: String,
}

/// Returns the modules of all operations.
pub(super) fn operations() -> Vec<Operation> {
    let mut all = Vec::new();
    let mut add =
        |name: &str, is_exact: bool, functions: Vec<Function>| all.push(module(name, is_exact, &functions));
    for name in FLOAT_OPERATORS {
        add(name, true, each(&FLOATS, |ty| operator(name, ty)));
    }
    for name in INTEGER_OPERATORS {
        add(name, true, each(&INTEGERS, |ty| operator(name, ty)));
    }
    for name in SHIFTS {
        add(name, true, each(&INTEGERS, |ty| shift(name, ty)));
    }
    for name in DIVISIONS {
        add(name, true, each(&INTEGERS, |ty| division(name, ty)));
    }
    for test in FLOAT_TESTS {
        add(&format!("fcmp {test}"), true, each(&FLOATS, |ty| comparison("fcmp", test, ty)));
    }
    for test in INTEGER_TESTS {
        add(&format!("icmp {test}"), true, each(&INTEGERS, |ty| comparison("icmp", test, ty)));
    }
    add("fneg", true, each(&FLOATS, |ty| simple(&[ty], ty, &format!("fneg {} %a0", ty.text))));
    add("select", true, each(&INTEGERS, selection));
    for (name, count, is_exact) in FLOAT_FUNCTIONS {
        add(name, is_exact, each(&FLOATS, |ty| called(&format!("air.{name}"), ty, count, "")));
    }
    add("fmuladd", true, each(&FLOATS, |ty| called("llvm.fmuladd", ty, 3, "")));
    for (name, count, last) in INTEGER_FUNCTIONS {
        add(name, true, each(&INTEGERS, |ty| called(name, ty, count, last)));
    }
    for name in ["trunc", "zext", "sext"] {
        add(name, true, casts(name, &INTEGERS, &INTEGERS));
    }
    add("fptosi", true, casts("fptosi", &FLOATS, &INTEGERS));
    add("fptoui", true, casts("fptoui", &FLOATS, &INTEGERS));
    add("sitofp", true, casts("sitofp", &INTEGERS, &FLOATS));
    add("uitofp", true, casts("uitofp", &INTEGERS, &FLOATS));
    add("fpext", true, casts("fpext", &FLOATS, &FLOATS));
    add("fptrunc", true, casts("fptrunc", &FLOATS, &FLOATS));
    add("bitcast", true, bitcasts());
    add("air.convert from floats", true, conversions(&FLOATS, &INTEGERS));
    add("air.convert to floats", true, conversions(&INTEGERS, &FLOATS));
    add("lanes", true, each(&INTEGERS, lanes));
    all.into_iter().filter(|operation| operation.functions > 0).collect()
}

fn each(types: &[Type], of: impl Fn(Type) -> Option<Function>) -> Vec<Function> {
    types.iter().filter_map(|ty| of(*ty)).collect()
}

/// Returns a function of one instruction.
fn simple(operands: &[Type], result: Type, instruction: &str) -> Option<Function> {
    let body = format!("  %r = {instruction}\n");
    Some(Function { operands: operands.to_vec(), result, body, declared: String::new() })
}

fn operator(name: &str, ty: Type) -> Option<Function> {
    simple(&[ty, ty], ty, &format!("{name} {} %a0, %a1", ty.text))
}

/// Returns a constant of a type.
fn splat(ty: Type, number: &str) -> String {
    if ty.lanes == 1 {
        return number.to_owned();
    }
    format!("<{}>", vec![format!("{} {number}", ty.scalar); ty.lanes].join(", "))
}

fn bits(ty: Type) -> u32 {
    SPECIALS.iter().find(|row| row.0 == ty.scalar).map_or(32, |row| row.1)
}

/// A shift by less than the width.
fn shift(name: &str, ty: Type) -> Option<Function> {
    let text = ty.text;
    let mask = splat(ty, &(bits(ty) - 1).to_string());
    let body = format!("  %count = and {text} %a1, {mask}\n  %r = {name} {text} %a0, %count\n");
    Some(Function { operands: vec![ty, ty], result: ty, body, declared: String::new() })
}

/// A division that has a result: the divisor is odd, and not -1.
fn division(name: &str, ty: Type) -> Option<Function> {
    let text = ty.text;
    let (one, minus, three) = (splat(ty, "1"), splat(ty, "-1"), splat(ty, "3"));
    let truth = if ty.lanes == 1 { "i1".to_owned() } else { format!("<{} x i1>", ty.lanes) };
    let body = format!(
        "  %odd = or {text} %a1, {one}\n  %is = icmp eq {text} %odd, {minus}\n  \
         %by = select {truth} %is, {text} {three}, {text} %odd\n  %r = {name} {text} %a0, %by\n"
    );
    Some(Function { operands: vec![ty, ty], result: ty, body, declared: String::new() })
}

/// Returns the integers with as many lanes and 8 bits.
fn bytes(ty: Type) -> Option<Type> {
    INTEGERS.iter().copied().find(|found| found.scalar == "i8" && found.lanes == ty.lanes)
}

fn truths(ty: Type) -> String {
    if ty.lanes == 1 { "i1".to_owned() } else { format!("<{} x i1>", ty.lanes) }
}

fn comparison(name: &str, test: &str, ty: Type) -> Option<Function> {
    let result = bytes(ty)?;
    let body = format!(
        "  %t = {name} {test} {} %a0, %a1\n  %r = zext {} %t to {}\n",
        ty.text,
        truths(ty),
        result.text
    );
    Some(Function { operands: vec![ty, ty], result, body, declared: String::new() })
}

fn selection(ty: Type) -> Option<Function> {
    let text = ty.text;
    let body =
        format!("  %t = icmp ult {text} %a0, %a1\n  %r = select {} %t, {text} %a2, {text} %a0\n", truths(ty));
    Some(Function { operands: vec![ty; 3], result: ty, body, declared: String::new() })
}

/// Returns a function that calls another one.
fn called(name: &str, ty: Type, count: usize, last: &str) -> Option<Function> {
    let full = format!("{name}.{}", ty.suffix);
    let list = (0..count).map(|index| format!("{} %a{index}", ty.text));
    let list = list.chain((!last.is_empty()).then(|| last.to_owned())).collect::<Vec<_>>().join(", ");
    let types = vec![ty.text.to_owned(); count].into_iter();
    let types = types.chain((!last.is_empty()).then(|| "i1".to_owned())).collect::<Vec<_>>().join(", ");
    Some(Function {
        operands: vec![ty; count],
        result: ty,
        body: format!("  %r = call {} @{full}({list})\n", ty.text),
        declared: format!("declare {} @{full}({types})", ty.text),
    })
}

/// Returns the casts between types with as many lanes that LLVM has.
fn casts(name: &str, from: &[Type], to: &[Type]) -> Vec<Function> {
    let mut all = Vec::new();
    for (one, other) in from.iter().flat_map(|one| to.iter().map(move |other| (*one, *other))) {
        let fits = match name {
            "trunc" | "fptrunc" => bits(one) > bits(other),
            "zext" | "sext" | "fpext" => bits(one) < bits(other),
            _ => true,
        };
        if one.lanes == other.lanes && fits {
            all.extend(simple(&[one], other, &format!("{name} {} %a0 to {}", one.text, other.text)));
        }
    }
    all
}

fn bitcasts() -> Vec<Function> {
    let all: Vec<Type> = FLOATS.iter().chain(&INTEGERS).copied().collect();
    let mut found = Vec::new();
    for (one, other) in all.iter().flat_map(|one| all.iter().map(move |other| (*one, *other))) {
        if one != other && bits(one) as usize * one.lanes == bits(other) as usize * other.lanes {
            found.extend(simple(&[one], other, &format!("bitcast {} %a0 to {}", one.text, other.text)));
        }
    }
    found
}

/// Returns calls of AIR's conversions, of signed and unsigned integers.
fn conversions(from: &[Type], to: &[Type]) -> Vec<Function> {
    let class =
        |ty: Type, sign: &str| if ty.scalar.starts_with('i') { sign.to_owned() } else { "f".to_owned() };
    let mut all = Vec::new();
    for sign in ["s", "u"] {
        for (one, other) in from.iter().flat_map(|one| to.iter().map(move |other| (*one, *other))) {
            if one.lanes != other.lanes {
                continue;
            }
            let (to_class, from_class) = (class(other, sign), class(one, sign));
            let full = format!("air.convert.{to_class}.{}.{from_class}.{}", other.suffix, one.suffix);
            let mut function =
                simple(&[one], other, &format!("call {} @{full}({} %a0)", other.text, one.text));
            if let Some(function) = &mut function {
                function.declared = format!("declare {} @{full}({})", other.text, one.text);
            }
            all.extend(function);
        }
    }
    all
}

/// A vector that is taken apart and put together in another order.
fn lanes(ty: Type) -> Option<Function> {
    if ty.lanes == 1 {
        return None;
    }
    let (text, scalar, last) = (ty.text, ty.scalar, ty.lanes - 1);
    let order: Vec<String> = (0..ty.lanes).map(|lane| format!("i32 {}", 2 * lane)).collect();
    let body = format!(
        "  %first = extractelement {text} %a0, i32 0\n  %at = extractelement {text} %a1, i32 {last}\n  \
         %index = and {scalar} %at, {last}\n  %one = insertelement {text} %a0, {scalar} %at, {scalar} %index\n  \
         %two = insertelement {text} %one, {scalar} %first, i32 {last}\n  \
         %r = shufflevector {text} %two, {text} %a1, <{} x i32> <{}>\n",
        ty.lanes,
        order.join(", ")
    );
    Some(Function { operands: vec![ty, ty], result: ty, body, declared: String::new() })
}

/// Returns the module of an operation.
fn module(name: &str, is_exact: bool, functions: &[Function]) -> Operation {
    let mut text = String::from(
        "target datalayout = \"e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-n8:16:32\"\n\
         target triple = \"air64-apple-macosx14.0.0\"\n",
    );
    let mut declared = BTreeSet::new();
    for (number, function) in functions.iter().enumerate() {
        let list = function.operands.iter().enumerate().map(|(index, ty)| format!("{} %a{index}", ty.text));
        let (list, result) = (list.collect::<Vec<_>>().join(", "), function.result.text);
        let _ = write!(
            text,
            "define internal {result} @f{number}({list}) noinline {{\n{}  ret {result} %r\n}}\n",
            function.body
        );
        declared.extend(function.declared.lines().map(str::to_owned));
    }
    let mut types: Vec<Type> = Vec::new();
    for ty in functions.iter().flat_map(|function| &function.operands) {
        if !types.contains(ty) {
            types.push(*ty);
        }
    }
    for ty in &types {
        write_operand(&mut text, *ty);
    }
    for declaration in &declared {
        let _ = writeln!(text, "{declaration}");
    }
    write_kernel(&mut text, functions, &types);
    Operation { name: name.to_owned(), text, functions: functions.len(), is_exact }
}

/// Writes the function that makes an operand of words from a place on.
fn write_operand(text: &mut String, ty: Type) {
    let (bits, lanes, suffix) = (bits(ty), ty.lanes, ty.suffix);
    let specials = SPECIALS.iter().find(|row| row.0 == ty.scalar).map_or([0; 8], |row| row.2);
    let is_float = !ty.scalar.starts_with('i');
    let whole = if lanes == 1 { format!("i{bits}") } else { format!("<{lanes} x i{bits}>") };
    let table: Vec<String> =
        specials.iter().map(|number| format!("i{bits} {}", number.cast_signed())).collect();
    let _ = write!(
        text,
        "@specials_{suffix} = internal addrspace(2) constant [8 x i{bits}] [{}]\n\
         define internal {} @operand_{suffix}(i32 addrspace(1)* %words, i64 %at) {{\n  \
         %place = getelementptr i32, i32 addrspace(1)* %words, i64 %at\n  \
         %word = load i32, i32 addrspace(1)* %place\n  \
         %bytes = bitcast i32 addrspace(1)* %place to {whole} addrspace(1)*\n  \
         %raw = load {whole}, {whole} addrspace(1)* %bytes, align 1\n  \
         %up = lshr i32 %word, 2\n  %slot = and i32 %up, 7\n  \
         %entry = getelementptr [8 x i{bits}], [8 x i{bits}] addrspace(2)* @specials_{suffix}, i64 0, i32 %slot\n  \
         %one = load i{bits}, i{bits} addrspace(2)* %entry\n",
        table.join(", "),
        ty.text
    );
    let mut special = "%one".to_owned();
    if lanes > 1 {
        let _ = writeln!(
            text,
            "  %first = insertelement {whole} undef, i{bits} %one, i32 0\n  \
             %all = shufflevector {whole} %first, {whole} undef, <{lanes} x i32> zeroinitializer"
        );
        special = "%all".to_owned();
    }
    let small = small(text, ty, &whole, bits, is_float);
    let _ = write!(
        text,
        "  %kind = and i32 %word, 3\n  %is_special = icmp eq i32 %kind, 0\n  %is_small = icmp eq i32 %kind, 1\n  \
         %chosen = select i1 %is_small, {whole} {small}, {whole} %raw\n  \
         %result = select i1 %is_special, {whole} {special}, {whole} %chosen\n"
    );
    if is_float {
        let _ = write!(text, "  %float = bitcast {whole} %result to {0}\n  ret {0} %float\n}}\n", ty.text);
    } else {
        let _ = write!(text, "  ret {whole} %result\n}}\n");
    }
}

/// Writes what makes a small number of the bits, and returns its name.
fn small(text: &mut String, ty: Type, whole: &str, bits: u32, is_float: bool) -> &'static str {
    let constant = |number: &str| match ty.lanes {
        1 => number.to_owned(),
        lanes => format!("<{}>", vec![format!("i{bits} {number}"); lanes].join(", ")),
    };
    if !is_float {
        let _ = writeln!(text, "  %small = and {whole} %raw, {}", constant("15"));
        return "%small";
    }
    let sixteenth = match ty.scalar {
        "half" => "0xH2C00",
        "bfloat" => "0xR3D80",
        _ => "6.250000e-02",
    };
    let up = constant(&(bits - 8).to_string());
    let _ = write!(
        text,
        "  %high = shl {whole} %raw, {up}\n  %number = ashr {whole} %high, {up}\n  \
         %wide = sitofp {whole} %number to {0}\n  %scaled = fmul {0} %wide, {1}\n  \
         %small = bitcast {0} %scaled to {whole}\n",
        ty.text,
        splat(ty, sixteenth)
    );
    "%small"
}

/// Writes the kernel, and the metadata.
fn write_kernel(text: &mut String, functions: &[Function], types: &[Type]) {
    let results = functions.iter().enumerate();
    let list: Vec<String> = results
        .clone()
        .map(|(number, function)| format!("{} addrspace(1)* %o{number}", function.result.text))
        .collect();
    let list = list.join(", ");
    let _ = write!(
        text,
        "define void @k(i32 addrspace(1)* %words, {list}, <3 x i32> %grid, <3 x i32> %sizes) {{\n  \
         %x = extractelement <3 x i32> %grid, i32 0\n  %y = extractelement <3 x i32> %grid, i32 1\n  \
         %z = extractelement <3 x i32> %grid, i32 2\n  %sx = extractelement <3 x i32> %sizes, i32 0\n  \
         %sy = extractelement <3 x i32> %sizes, i32 1\n  %p = mul i32 %z, %sy\n  %q = add i32 %p, %y\n  \
         %s = mul i32 %q, %sx\n  %t = add i32 %s, %x\n  %index = zext i32 %t to i64\n  %start = mul i64 %index, 24\n"
    );
    for (number, ty) in types.iter().enumerate() {
        for operand in 0..3 {
            let _ = write!(
                text,
                "  %n{number}.{operand} = add i64 %start, {}\n  %m{number}.{operand} = and i64 %n{number}.{operand}, 16376\n  \
                 %v{number}.{operand} = call {} @operand_{}(i32 addrspace(1)* %words, i64 %m{number}.{operand})\n",
                operand * 8,
                ty.text,
                ty.suffix
            );
        }
    }
    for (number, function) in results.clone() {
        let operands = function.operands.iter().enumerate().map(|(index, ty)| {
            let of = types.iter().position(|known| known == ty).unwrap_or(0);
            format!("{} %v{of}.{index}", ty.text)
        });
        let (operands, result) = (operands.collect::<Vec<_>>().join(", "), function.result.text);
        let _ = write!(
            text,
            "  %r{number} = call {result} @f{number}({operands})\n  \
             %to{number} = getelementptr {result}, {result} addrspace(1)* %o{number}, i64 %index\n  \
             store {result} %r{number}, {result} addrspace(1)* %to{number}\n"
        );
    }
    text.push_str("  ret void\n}\n");
    let pointers: Vec<String> =
        functions.iter().map(|function| format!("{} addrspace(1)*", function.result.text)).collect();
    let count = functions.len();
    let nodes: Vec<String> = (0..count + 3).map(|number| format!("!{}", number + 10)).collect();
    let _ = write!(
        text,
        "!air.version = !{{!0}}\n!air.language_version = !{{!1}}\n!air.kernel = !{{!2}}\n!0 = !{{i32 2, i32 6, i32 0}}\n\
         !1 = !{{!\"Metal\", i32 3, i32 1, i32 0}}\n!2 = !{{void (i32 addrspace(1)*, {}, <3 x i32>, <3 x i32>)* @k, !3, !4}}\n\
         !3 = !{{}}\n!4 = !{{{}}}\n",
        pointers.join(", "),
        nodes.join(", ")
    );
    let metals =
        std::iter::once(("uint", 4)).chain(functions.iter().map(|function| {
            (function.result.metal, bits(function.result) as usize / 8 * function.result.lanes)
        }));
    for (number, (metal, size)) in metals.enumerate() {
        let _ = writeln!(
            text,
            "!{} = !{{i32 {number}, !\"air.buffer\", !\"air.location_index\", i32 {number}, i32 1, !\"air.read_write\", \
             !\"air.address_space\", i32 1, !\"air.arg_type_size\", i32 {size}, !\"air.arg_type_name\", !\"{metal}\", \
             !\"air.arg_name\", !\"b{number}\"}}",
            number + 10
        );
    }
    for (offset, name) in ["thread_position_in_grid", "threads_per_grid"].into_iter().enumerate() {
        let number = count + 1 + offset;
        let _ = writeln!(
            text,
            "!{} = !{{i32 {number}, !\"air.{name}\", !\"air.arg_type_name\", !\"uint3\", !\"air.arg_name\", !\"p{number}\"}}",
            number + 10
        );
    }
}

#[cfg(test)]
mod tests {
    use super::operations;

    #[test]
    fn there_are_enough_functions() {
        let operations = operations();
        let functions: usize = operations.iter().map(|operation| operation.functions).sum();
        assert!(functions >= 500, "{functions}");
        assert!(operations.iter().any(|operation| operation.text.contains("@air.exp.v4f16")));
    }
}
