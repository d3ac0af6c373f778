//! Definitions of `air.*` functions for the host, as text of LLVM 14.
//!
//! Most are written in LLVM's own operations, so that they share nothing with the header that the source is compiled with;
//! vectors are done component by component. Functions of floats are the C library's. What takes more threads than one, or
//! more than a few instructions, calls `tests/metal/runtime/air.cpp` with pointers to its operands, which needs no
//! agreement about how vectors and halves are passed.

use std::fmt::Write as _;

use super::llvm_text::Function;

/// Functions of floats, and what computes them: functions of the C library, or of `air.cpp`.
const FLOATS: [(&str, &str); 55] = [
    ("acos", "acosf"),
    ("acosh", "acoshf"),
    ("asin", "asinf"),
    ("asinh", "asinhf"),
    ("atan", "atanf"),
    ("atan2", "atan2f"),
    ("atanh", "atanhf"),
    ("ceil", "ceilf"),
    ("clamp", "host_air_clamp"),
    ("copysign", "copysignf"),
    ("cos", "cosf"),
    ("cosh", "coshf"),
    ("cospi", "host_air_cospi"),
    ("exp", "expf"),
    ("exp10", "host_air_exp10"),
    ("exp2", "exp2f"),
    ("expm1", "expm1f"),
    ("fabs", "fabsf"),
    ("fdim", "fdimf"),
    ("floor", "floorf"),
    ("fma", "fmaf"),
    ("fmax", "fmaxf"),
    ("fmax3", "host_air_fmax3"),
    ("fmedian3", "host_air_fmedian3"),
    ("fmin", "fminf"),
    ("fmin3", "host_air_fmin3"),
    ("fmod", "fmodf"),
    ("fract", "host_air_fract"),
    ("log", "logf"),
    ("log10", "log10f"),
    ("log1p", "log1pf"),
    ("log2", "log2f"),
    ("pow", "powf"),
    ("powr", "powf"),
    ("rint", "rintf"),
    ("round", "roundf"),
    ("rsqrt", "host_air_rsqrt"),
    ("saturate", "host_air_saturate"),
    ("sign", "host_air_sign"),
    ("sin", "sinf"),
    ("sinh", "sinhf"),
    ("sinpi", "host_air_sinpi"),
    ("sqrt", "sqrtf"),
    ("tan", "tanf"),
    ("tanh", "tanhf"),
    ("tanpi", "host_air_tanpi"),
    ("trunc", "truncf"),
    ("divide", "host_air_divide"),
    ("recip", "host_air_rcp"),
    ("mix", "host_air_mix"),
    ("max", "fmaxf"),
    ("min", "fminf"),
    ("abs", "fabsf"),
    ("fmaximum", "fmaxf"),
    ("fminimum", "fminf"),
];

/// Functions of integers, and the intrinsic of LLVM: of signed and of unsigned ones, and its last operand.
const INTEGERS: [(&str, &str, &str, &str); 7] = [
    ("min", "smin", "umin", ""),
    ("max", "smax", "umax", ""),
    ("abs", "abs", "", "i1 false"),
    ("popcount", "ctpop", "ctpop", ""),
    ("reverse_bits", "bitreverse", "bitreverse", ""),
    ("clz", "ctlz", "ctlz", "i1 false"),
    ("ctz", "cttz", "cttz", "i1 false"),
];

/// Functions of simdgroups and quadgroups with one operand of each type, and those with a lane, a mask or a distance.
const REDUCTIONS: [&str; 7] = ["sum", "product", "min", "max", "and", "or", "xor"];
const SCANS: [&str; 4] =
    ["prefix_inclusive_sum", "prefix_exclusive_sum", "prefix_inclusive_product", "prefix_exclusive_product"];
const SHUFFLES: [&str; 8] = [
    "broadcast",
    "shuffle",
    "shuffle_xor",
    "shuffle_up",
    "shuffle_down",
    "shuffle_rotate_up",
    "shuffle_rotate_down",
    "broadcast_first",
];

/// A type without its number of components.
#[derive(Clone, Copy, PartialEq)]
struct Scalar<'t> {
    name: &'t str,
    count: Option<usize>,
}

fn scalar(ty: &str) -> Option<Scalar<'_>> {
    let (count, name) = match ty.strip_prefix('<').and_then(|inner| inner.strip_suffix('>')) {
        Some(inner) => {
            let (count, name) = inner.split_once(" x ")?;
            (Some(count.parse().ok()?), name)
        }
        None => (None, ty),
    };
    let names = ["i1", "i8", "i16", "i32", "i64", "half", "bfloat", "float"];
    names.contains(&name).then_some(Scalar { name, count })
}

/// The parts of a name such as `air.simd_sum.u.v2i32`.
struct Name<'n> {
    stem: &'n str,
    /// Whether integers have a sign.
    is_signed: bool,
}

fn parts(name: &str) -> Option<Name<'_>> {
    let rest = name.strip_prefix("air.")?;
    let (stem, suffix) = rest.split_once('.').unwrap_or((rest, ""));
    let stem = stem.strip_prefix("fast_").unwrap_or(stem);
    Some(Name { stem, is_signed: suffix.starts_with("s.") })
}

/// Writes the body of a function, one line at a time.
struct Body {
    text: String,
    next: usize,
    /// Functions that the body calls, as they are declared.
    declared: Vec<String>,
}

impl Body {
    fn new() -> Self {
        Self { text: String::new(), next: 0, declared: Vec::new() }
    }

    /// Writes an instruction with a result, and returns its name.
    fn value(&mut self, instruction: &str) -> String {
        self.next += 1;
        let name = format!("%t{}", self.next);
        let _ = writeln!(self.text, "  {name} = {instruction}");
        name
    }

    fn line(&mut self, instruction: &str) {
        let _ = writeln!(self.text, "  {instruction}");
    }

    fn declare(&mut self, declaration: String) {
        if !self.declared.contains(&declaration) {
            self.declared.push(declaration);
        }
    }

    /// Returns a component of an operand.
    fn component(&mut self, ty: &str, operand: &str, index: usize) -> String {
        match scalar(ty).and_then(|ty| ty.count) {
            Some(_) => self.value(&format!("extractelement {ty} {operand}, i32 {index}")),
            None => operand.to_owned(),
        }
    }

    /// Does something to each component of a result, and returns the result.
    fn each(&mut self, ty: &str, mut of: impl FnMut(&mut Self, usize) -> Option<String>) -> Option<String> {
        let Some(count) = scalar(ty)?.count else { return of(self, 0) };
        let mut whole = "undef".to_owned();
        for index in 0..count {
            let one = of(self, index)?;
            let name = scalar(ty)?.name;
            whole = self.value(&format!("insertelement {ty} {whole}, {name} {one}, i32 {index}"));
        }
        Some(whole)
    }

    /// Puts a value into memory, and returns a pointer to its bytes.
    fn spill(&mut self, ty: &str, value: Option<&str>) -> String {
        let slot = self.value(&format!("alloca {ty}, align 128"));
        if let Some(value) = value {
            self.line(&format!("store {ty} {value}, {ty}* {slot}, align 128"));
        }
        self.value(&format!("bitcast {ty}* {slot} to i8*"))
    }

    fn reload(&mut self, ty: &str, bytes: &str) -> String {
        let typed = self.value(&format!("bitcast i8* {bytes} to {ty}*"));
        self.value(&format!("load {ty}, {ty}* {typed}, align 128"))
    }

    /// Calls a function of `air.cpp`, which gets pointers to its result and operands.
    fn call(&mut self, name: &str, result: &str, operands: &[(&str, &str)]) -> String {
        let to = self.spill(result, None);
        let mut list = format!("i8* {to}");
        for (ty, value) in operands {
            let from = self.spill(ty, Some(value));
            let _ = write!(list, ", i8* {from}");
        }
        let types = vec!["i8*"; operands.len() + 1].join(", ");
        self.declare(format!("declare void @{name}({types})"));
        self.line(&format!("call void @{name}({list})"));
        self.reload(result, &to)
    }

    /// Makes a float of a half or bfloat.
    fn widen(&mut self, ty: &str, value: &str) -> String {
        match ty {
            "float" => value.to_owned(),
            _ => self.value(&format!("fpext {ty} {value} to float")),
        }
    }

    fn narrow(&mut self, ty: &str, value: &str) -> String {
        match ty {
            "float" => value.to_owned(),
            _ => self.value(&format!("fptrunc float {value} to {ty}")),
        }
    }
}

/// A definition, and what it declares.
pub(super) struct Definition {
    pub(super) text: String,
    pub(super) declared: Vec<String>,
}

/// Returns the definition of a function, or `None` if it is unknown.
pub(super) fn define(function: &Function) -> Option<Definition> {
    let mut body = Body::new();
    let result = result_of(&mut body, function)?;
    let types = function.parameters.iter().enumerate().map(|(index, ty)| format!("{ty} %a{index}"));
    let list = types.collect::<Vec<_>>().join(", ");
    let end = if function.result == "void" {
        "ret void".to_owned()
    } else {
        format!("ret {} {result}", function.result)
    };
    let (name, ty) = (&function.name, &function.result);
    // Inlined, so that they cost the optimizer and the reader no more than what they stand for.
    let text = format!("define internal {ty} @{name}({list}) alwaysinline {{\n{}  {end}\n}}\n", body.text);
    Some(Definition { text, declared: body.declared })
}

/// Writes the body, and returns its result.
fn result_of(body: &mut Body, function: &Function) -> Option<String> {
    let name = parts(&function.name)?;
    let types = &function.parameters;
    match name.stem {
        "convert" => return conversion(body, function),
        "atomic" => return atomic(body, function),
        "wg" => return barrier(body, 1),
        "simdgroup" => return barrier(body, 4),
        "dot" => return dot(body, types),
        "any" | "all" => return truths(body, name.stem, types),
        "sincos" => return sincos(body, function),
        "mul_hi" => return mul_hi(body, function, name.is_signed),
        "clamp" if function.result.contains('i') => return clamp(body, function, name.is_signed),
        "is_uniform" | "is_function_constant_defined" => return Some("true".into()),
        "normalize_function_constant_predicate" => return predicate(body, types),
        "get_simdgroup_size" | "get_threads_per_simdgroup" => return Some("32".into()),
        "get_thread_index_in_simdgroup" => return lane(body, &function.result),
        "pack" | "unpack" => {
            let called = function.name.replace('.', "_");
            let operand = types.first()?;
            return Some(body.call(&format!("host_{called}"), &function.result, &[(operand, "%a0")]));
        }
        "ldexp" => return ldexp(body, function),
        "nextafter" => return nextafter(body, function),
        _ => {}
    }
    if name.stem.starts_with("simdgroup_matrix") {
        return matrix(body, function);
    }
    if let Some(kind) = name.stem.strip_prefix("simd_").map(|kind| ("simd", kind)) {
        return together(body, function, kind, name.is_signed);
    }
    if let Some(kind) = name.stem.strip_prefix("quad_").map(|kind| ("quad", kind)) {
        return together(body, function, kind, name.is_signed);
    }
    if scalar(&function.result)?.name.starts_with('i') {
        return integers(body, function, &name);
    }
    let (_, called) = FLOATS.iter().find(|(stem, _)| *stem == name.stem)?;
    floats(body, function, called)
}

/// A function of floats, for each component.
fn floats(body: &mut Body, function: &Function, called: &str) -> Option<String> {
    let ty = scalar(&function.result)?.name;
    let list = vec!["float"; function.parameters.len()].join(", ");
    body.declare(format!("declare float @{called}({list})"));
    body.each(&function.result, |body, index| {
        let mut operands = Vec::new();
        for (number, operand) in function.parameters.iter().enumerate() {
            let one = body.component(operand, &format!("%a{number}"), index);
            operands.push(format!("float {}", body.widen(ty, &one)));
        }
        let wide = body.value(&format!("call float @{called}({})", operands.join(", ")));
        Some(body.narrow(ty, &wide))
    })
}

fn integers(body: &mut Body, function: &Function, name: &Name<'_>) -> Option<String> {
    let (_, signed, unsigned, last) = INTEGERS.iter().find(|(stem, ..)| *stem == name.stem)?;
    let ty = scalar(&function.result)?.name;
    let called = if name.is_signed { signed } else { unsigned };
    if called.is_empty() {
        return Some("%a0".into());
    }
    // What says whether zero is undefined is no operand here.
    let values = function.parameters.iter().filter(|operand| *operand == &function.result).count();
    let mut types = vec![ty; values];
    types.extend((!last.is_empty()).then_some("i1"));
    body.declare(format!("declare {ty} @llvm.{called}.{ty}({})", types.join(", ")));
    body.each(&function.result, |body, index| {
        let mut operands = Vec::new();
        for number in 0..values {
            let one = body.component(&function.result, &format!("%a{number}"), index);
            operands.push(format!("{ty} {one}"));
        }
        operands.extend((!last.is_empty()).then(|| (*last).to_owned()));
        Some(body.value(&format!("call {ty} @llvm.{called}.{ty}({})", operands.join(", "))))
    })
}

fn clamp(body: &mut Body, function: &Function, is_signed: bool) -> Option<String> {
    let ty = scalar(&function.result)?.name;
    let [max, min] = if is_signed { ["smax", "smin"] } else { ["umax", "umin"] };
    for called in [max, min] {
        body.declare(format!("declare {ty} @llvm.{called}.{ty}({ty}, {ty})"));
    }
    body.each(&function.result, |body, index| {
        let [x, low, high] =
            [0, 1, 2].map(|n| body.component(&function.parameters[n], &format!("%a{n}"), index));
        let above = body.value(&format!("call {ty} @llvm.{max}.{ty}({ty} {x}, {ty} {low})"));
        Some(body.value(&format!("call {ty} @llvm.{min}.{ty}({ty} {above}, {ty} {high})")))
    })
}

fn ldexp(body: &mut Body, function: &Function) -> Option<String> {
    let ty = scalar(&function.result)?.name;
    body.declare("declare float @ldexpf(float, i32)".into());
    body.each(&function.result, |body, index| {
        let x = body.component(&function.parameters[0], "%a0", index);
        let power = body.component(&function.parameters[1], "%a1", index);
        let wide = body.widen(ty, &x);
        let scaled = body.value(&format!("call float @ldexpf(float {wide}, i32 {power})"));
        Some(body.narrow(ty, &scaled))
    })
}

/// The next number of the type itself.
fn nextafter(body: &mut Body, function: &Function) -> Option<String> {
    let ty = scalar(&function.result)?.name;
    let called = format!("host_air_nextafter_{}", type_name(ty, false)?);
    body.each(&function.result, |body, index| {
        let [x, y] = [0, 1].map(|n| body.component(&function.result, &format!("%a{n}"), index));
        Some(body.call(&called, ty, &[(ty, &x), (ty, &y)]))
    })
}

/// A conversion: `air.convert.TO.TYPE.FROM.TYPE`.
fn conversion(body: &mut Body, function: &Function) -> Option<String> {
    let words: Vec<&str> = function.name.split('.').collect();
    let [_, _, to_class, _, from_class, _] = words.as_slice() else { return None };
    let from_type = function.parameters.first()?;
    let (to, from) = (scalar(&function.result)?.name, scalar(from_type)?.name);
    body.each(&function.result, |body, index| {
        let value = body.component(from_type, "%a0", index);
        Some(match (*from_class, *to_class) {
            _ if from == to => value,
            ("f", "f") => {
                let wide = body.widen(from, &value);
                body.narrow(to, &wide)
            }
            ("f", _) if to == "i1" => body.value(&format!("fcmp une {from} {value}, 0.0")),
            ("f", class) => {
                let wide = body.widen(from, &value);
                let operation = if class == "s" { "fptosi" } else { "fptoui" };
                body.value(&format!("{operation} float {wide} to {to}"))
            }
            (class, "f") => {
                let operation = if class == "s" { "sitofp" } else { "uitofp" };
                // Through a float, as in the header.
                let through = if to == "bfloat" { "float" } else { to };
                let value = body.value(&format!("{operation} {from} {value} to {through}"));
                if to == "bfloat" { body.narrow(to, &value) } else { value }
            }
            (_, _) if to == "i1" => body.value(&format!("icmp ne {from} {value}, 0")),
            (class, _) => {
                let bits = |ty: &str| ty[1..].parse::<u32>().ok();
                let operation = match bits(from)? > bits(to)? {
                    true => "trunc",
                    false if class == "s" => "sext",
                    false => "zext",
                };
                body.value(&format!("{operation} {from} {value} to {to}"))
            }
        })
    })
}

fn barrier(body: &mut Body, scope: u32) -> Option<String> {
    body.declare("declare void @host_barrier(i32)".into());
    body.line(&format!("call void @host_barrier(i32 {scope})"));
    Some(String::new())
}

/// A product of vectors, from the first component on.
fn dot(body: &mut Body, types: &[String]) -> Option<String> {
    let ty = types.first()?;
    let Scalar { name, count } = scalar(ty)?;
    let mut sum: Option<String> = None;
    for index in 0..count? {
        let (x, y) = (body.component(ty, "%a0", index), body.component(ty, "%a1", index));
        let product = body.value(&format!("fmul {name} {x}, {y}"));
        sum = Some(match sum {
            Some(sum) => body.value(&format!("fadd {name} {sum}, {product}")),
            None => product,
        });
    }
    sum
}

fn truths(body: &mut Body, stem: &str, types: &[String]) -> Option<String> {
    let ty = types.first()?;
    let count = scalar(ty)?.count?;
    let operation = if stem == "any" { "or" } else { "and" };
    let mut result = body.component(ty, "%a0", 0);
    for index in 1..count {
        let one = body.component(ty, "%a0", index);
        result = body.value(&format!("{operation} i1 {result}, {one}"));
    }
    Some(result)
}

fn sincos(body: &mut Body, function: &Function) -> Option<String> {
    let pointer = function.parameters.get(1)?;
    let sine =
        floats(body, &Function { parameters: vec![function.result.clone()], ..copy(function) }, "sinf")?;
    let cosine =
        floats(body, &Function { parameters: vec![function.result.clone()], ..copy(function) }, "cosf")?;
    body.line(&format!("store {} {cosine}, {pointer} %a1", function.result));
    Some(sine)
}

fn copy(function: &Function) -> Function {
    Function { name: function.name.clone(), result: function.result.clone(), parameters: Vec::new() }
}

fn mul_hi(body: &mut Body, function: &Function, is_signed: bool) -> Option<String> {
    let ty = scalar(&function.result)?.name;
    let bits: u32 = ty.strip_prefix('i')?.parse().ok()?;
    let wide = format!("i{}", bits * 2);
    let extend = if is_signed { "sext" } else { "zext" };
    body.each(&function.result, |body, index| {
        let [x, y] = [0, 1].map(|n| {
            let one = body.component(&function.result, &format!("%a{n}"), index);
            body.value(&format!("{extend} {ty} {one} to {wide}"))
        });
        let product = body.value(&format!("mul {wide} {x}, {y}"));
        let high = body.value(&format!("lshr {wide} {product}, {bits}"));
        Some(body.value(&format!("trunc {wide} {high} to {ty}")))
    })
}

fn predicate(body: &mut Body, types: &[String]) -> Option<String> {
    let ty = types.first()?;
    let truth = body.value(&format!("icmp ne {ty} %a0, 0"));
    Some(body.value(&format!("zext i1 {truth} to {ty}")))
}

fn lane(body: &mut Body, ty: &str) -> Option<String> {
    body.declare("declare i32 @host_lane()".into());
    let lane = body.value("call i32 @host_lane()");
    Some(match ty {
        "i32" => lane,
        _ => body.value(&format!("trunc i32 {lane} to {ty}")),
    })
}

/// The name of a type in functions of `air.cpp`.
fn type_name(ty: &str, is_signed: bool) -> Option<String> {
    Some(match ty {
        "float" => "f32".into(),
        "half" => "f16".into(),
        "bfloat" => "bf16".into(),
        _ => format!("{}{}", if is_signed { 's' } else { 'u' }, ty.strip_prefix('i')?),
    })
}

/// Functions of several threads.
fn together(
    body: &mut Body,
    function: &Function,
    (group, kind): (&str, &str),
    is_signed: bool,
) -> Option<String> {
    let types = &function.parameters;
    let called = format!("host_air_{group}_{kind}");
    match kind {
        "ballot" | "vote_all" | "vote_any" | "all" | "any" | "active_threads_mask" | "is_first" => {
            let operand = match types.first() {
                Some(ty) if ty == "i1" => body.value("zext i1 %a0 to i64"),
                Some(_) => "%a0".to_owned(),
                None => "0".to_owned(),
            };
            let votes = body.call(&called, "i64", &[("i64", &operand)]);
            return Some(match function.result.as_str() {
                "i64" => votes,
                ty => body.value(&format!("trunc i64 {votes} to {ty}")),
            });
        }
        _ => {}
    }
    let is_shift = kind.starts_with("shuffle_and_fill");
    let is_shuffle = SHUFFLES.contains(&kind);
    if !(REDUCTIONS.contains(&kind) || SCANS.contains(&kind) || is_shuffle || is_shift) {
        return None;
    }
    let ty = scalar(&function.result)?.name;
    let called = format!("{called}_{}", type_name(ty, is_signed)?);
    // The operands after the values: lanes, masks and distances.
    let values = if is_shift { 2 } else { 1 };
    let mut numbers = Vec::new();
    for (index, ty) in types.iter().enumerate().skip(values) {
        let number = format!("%a{index}");
        numbers.push(match ty.as_str() {
            "i16" => number,
            _ => body.value(&format!("trunc {ty} {number} to i16")),
        });
    }
    body.each(&function.result, |body, index| {
        let mut owned = Vec::new();
        for number in 0..values {
            owned.push(body.component(&function.result, &format!("%a{number}"), index));
        }
        let mut operands: Vec<(&str, &str)> = owned.iter().map(|value| (ty, value.as_str())).collect();
        operands.extend(numbers.iter().map(|value| ("i16", value.as_str())));
        Some(body.call(&called, ty, &operands))
    })
}

/// Atomic operations: threads run one at a time, so that plain ones do.
fn atomic(body: &mut Body, function: &Function) -> Option<String> {
    let words: Vec<&str> = function.name.split('.').skip(2).collect();
    if words.first() == Some(&"fence") {
        return Some(String::new());
    }
    let (operation, ty) = (*words.get(1)?, *words.last()?);
    let is_signed = words.contains(&"s");
    let ty = match ty {
        "f32" => "float",
        "f16" => "half",
        _ => ty,
    };
    let pointer_type = function.parameters.first()?;
    let space = pointer_type.find(" addrspace").map_or("", |at| pointer_type[at..].trim_end_matches('*'));
    let typed = format!("{ty}{space}*");
    let pointer = match *pointer_type == typed {
        true => "%a0".to_owned(),
        false => body.value(&format!("bitcast {pointer_type} %a0 to {typed}")),
    };
    if operation == "store" {
        body.line(&format!("store volatile {ty} %a1, {typed} {pointer}"));
        return Some(String::new());
    }
    let old = body.value(&format!("load volatile {ty}, {typed} {pointer}"));
    let new = match operation {
        "load" => return Some(old),
        "cmpxchg" => return exchange_if_same(body, function, ty, (&typed, &pointer), &old),
        "xchg" => "%a1".to_owned(),
        "add" | "sub" if ty == "float" => body.value(&format!("f{operation} float {old}, %a1")),
        "add" | "sub" | "and" | "or" | "xor" => body.value(&format!("{operation} {ty} {old}, %a1")),
        "min" | "max" if ty == "float" => {
            body.declare(format!("declare float @f{operation}f(float, float)"));
            body.value(&format!("call float @f{operation}f(float {old}, float %a1)"))
        }
        "min" | "max" => {
            let called = format!("llvm.{}{operation}.{ty}", if is_signed { 's' } else { 'u' });
            body.declare(format!("declare {ty} @{called}({ty}, {ty})"));
            body.value(&format!("call {ty} @{called}({ty} {old}, {ty} %a1)"))
        }
        _ => return None,
    };
    body.line(&format!("store volatile {ty} {new}, {typed} {pointer}"));
    Some(old)
}

/// Stores the third operand if the old value is what the second points to, to the bit. The result is the old value, which
/// is also where the second points to.
fn exchange_if_same(
    body: &mut Body,
    function: &Function,
    ty: &str,
    (typed, pointer): (&str, &str),
    old: &str,
) -> Option<String> {
    let expected_type = function.parameters.get(1)?;
    let expected_typed = format!("{ty}*");
    let place = body.value(&format!("bitcast {expected_type} %a1 to {expected_typed}"));
    let expected = body.value(&format!("load {ty}, {expected_typed} {place}"));
    let (mut one, mut other) = (old.to_owned(), expected);
    if ty == "float" {
        one = body.value(&format!("bitcast float {one} to i32"));
        other = body.value(&format!("bitcast float {other} to i32"));
    }
    let bits = if ty == "float" { "i32" } else { ty };
    let same = body.value(&format!("icmp eq {bits} {one}, {other}"));
    let new = body.value(&format!("select i1 {same}, {ty} %a2, {ty} {old}"));
    body.line(&format!("store volatile {ty} {new}, {typed} {pointer}"));
    body.line(&format!("store {ty} {old}, {expected_typed} {place}"));
    (function.result == ty).then(|| old.to_owned())
}

/// Matrices of simdgroups: the first two components are those of the thread.
fn matrix(body: &mut Body, function: &Function) -> Option<String> {
    let operation = function.name.strip_prefix("air.simdgroup_matrix_8x8_")?.split('.').next()?;
    let types = &function.parameters;
    match operation {
        "init_filled" => {
            let one =
                body.value(&format!("insertelement {} undef, {} %a0, i32 0", function.result, types[0]));
            Some(body.value(&format!("insertelement {} {one}, {} %a0, i32 1", function.result, types[0])))
        }
        "init_diag" => {
            let size = bytes_of(&types[0])?;
            let called = format!("host_air_matrix_diagonal_{size}");
            Some(body.call(&called, &function.result, &[(&types[0], "%a0")]))
        }
        "load" if types.len() == 4 => {
            let size = bytes_of(scalar(&function.result)?.name)?;
            let from = generic(body, &types[0], "%a0");
            let transpose = body.value("zext i1 %a3 to i32");
            let operands =
                [("i8*", from.as_str()), ("i64", "%a1"), ("<2 x i64>", "%a2"), ("i32", transpose.as_str())];
            Some(body.call(&format!("host_air_matrix_load_{size}"), &function.result, &operands))
        }
        "store" if types.len() == 5 => {
            let size = bytes_of(scalar(&types[0])?.name)?;
            let to = generic(body, &types[1], "%a1");
            let transpose = body.value("zext i1 %a4 to i32");
            let operands = [
                (types[0].as_str(), "%a0"),
                ("i8*", to.as_str()),
                ("i64", "%a2"),
                ("<2 x i64>", "%a3"),
                ("i32", transpose.as_str()),
            ];
            body.call(&format!("host_air_matrix_store_{size}"), "i8", &operands);
            Some(String::new())
        }
        "multiply_accumulate" => product(body, function),
        _ => None,
    }
}

/// A product of matrices: components become floats, and the result is rounded once.
fn product(body: &mut Body, function: &Function) -> Option<String> {
    let mut wide = Vec::new();
    for (number, ty) in function.parameters.iter().enumerate() {
        let name = scalar(ty)?.name;
        let mut pair = "undef".to_owned();
        for index in 0..2 {
            let one = body.component(ty, &format!("%a{number}"), index);
            let one = body.widen(name, &one);
            pair = body.value(&format!("insertelement <2 x float> {pair}, float {one}, i32 {index}"));
        }
        wide.push(pair);
    }
    let operands: Vec<(&str, &str)> = wide.iter().map(|pair| ("<2 x float>", pair.as_str())).collect();
    let sums = body.call("host_air_matrix_multiply", "<2 x float>", &operands);
    let name = scalar(&function.result)?.name;
    let mut result = "undef".to_owned();
    for index in 0..2 {
        let one = body.component("<2 x float>", &sums, index);
        let one = body.narrow(name, &one);
        result =
            body.value(&format!("insertelement {} {result}, {name} {one}, i32 {index}", function.result));
    }
    Some(result)
}

/// Returns a pointer of any address space as a plain one to bytes.
fn generic(body: &mut Body, ty: &str, value: &str) -> String {
    match ty.find(" addrspace(") {
        Some(at) => {
            let plain = format!("{}*", &ty[..at]);
            let cast = body.value(&format!("addrspacecast {ty} {value} to {plain}"));
            body.value(&format!("bitcast {plain} {cast} to i8*"))
        }
        None => body.value(&format!("bitcast {ty} {value} to i8*")),
    }
}

fn bytes_of(ty: &str) -> Option<u32> {
    match ty {
        "float" | "i32" => Some(4),
        "half" | "bfloat" | "i16" => Some(2),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::llvm_text::function;
    use super::define;

    fn defined(declaration: &str) -> Option<String> {
        define(&function(declaration).unwrap()).map(|definition| definition.text)
    }

    #[test]
    fn vectors_are_done_by_component() {
        let text = defined("declare <2 x half> @air.exp.v2f16(<2 x half>)").unwrap();
        assert_eq!(text.matches("call float @expf").count(), 2);
        assert_eq!(text.matches("fptrunc float").count(), 2);
    }

    #[test]
    fn signs_choose_the_operation() {
        assert!(defined("declare i8 @air.min.s.i8(i8, i8)").unwrap().contains("@llvm.smin.i8"));
        assert!(defined("declare i8 @air.min.u.i8(i8, i8)").unwrap().contains("@llvm.umin.i8"));
        assert!(defined("declare i64 @air.convert.s.i64.f.bf16(bfloat)").unwrap().contains("fptosi float"));
    }

    #[test]
    fn zeros_are_counted_of_zero_too() {
        let text = defined("declare i32 @air.clz.i32(i32, i1)").unwrap();
        assert!(text.contains("call i32 @llvm.ctlz.i32(i32 %a0, i1 false)"));
    }

    #[test]
    fn atomics_cast_opaque_pointers() {
        let text = "declare i32 @air.atomic.local.add.s.i32({} addrspace(3)*, i32, i32, i32, i1)";
        assert!(defined(text).unwrap().contains("bitcast {} addrspace(3)* %a0 to i32 addrspace(3)*"));
    }

    #[test]
    fn unknown_functions_are_left_out() {
        assert!(defined("declare float @air.made_up.f32(float)").is_none());
        assert!(defined("declare void @air.made_up(i32)").is_none());
    }
}
