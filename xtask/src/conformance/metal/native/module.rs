//! Modules of AIR as text that runs on the host, and what a kernel's arguments are.
//!
//! | what | becomes |
//! |---|---|
//! | target triple, data layout | those of the host, by leaving them out |
//! | `air.*` | definitions ([`intrinsics`]) |
//! | `undef` where edges merge | zero, as variables of the source are without a value |
//! | `MTL_FC_INIT_n` | a number that follows from n, as in the header |
//! | `fast` on operations | nothing: the host computes what is written |
//! | the kernel | is called by `host_entry`, which takes its arguments from slots |
//!
//! The metadata says what the arguments are. The grammar of its nodes is in `crates/unshade-air/src/reflection`.

use std::fmt::Write as _;

use super::intrinsics;
use super::llvm_text::{Function, Metadata, Operand, function};

/// What an argument of a kernel is.
#[derive(Debug, PartialEq)]
pub(super) enum Slot {
    Buffer {
        location: u64,
        stride: u64,
        is_parameter: bool,
        fields: Vec<Field>,
    },
    /// Memory of the threadgroup, with its location.
    Threadgroup(u64),
    Position(String),
    /// Something that can't be made up, by its keyword.
    Other(String),
}

/// Numbers of one type in an element of a buffer.
#[derive(Debug, PartialEq)]
pub(super) struct Field {
    pub(super) ty: &'static str,
    pub(super) offset: u64,
    pub(super) count: u64,
}

/// A kernel.
pub(super) struct Kernel {
    /// The text of its module for the host.
    pub(super) text: String,
    pub(super) slots: Vec<Slot>,
    /// The most threads of a threadgroup.
    pub(super) max_threads: Option<u32>,
}

/// Why a module does not run on the host.
#[derive(Debug, PartialEq)]
pub(super) enum Refusal {
    NoKernel,
    /// Functions that the runtime does not have.
    Unknown(Vec<String>),
    Argument(String),
}

/// The types of Metal by name, and those of the runtime with their bytes.
const TYPES: [(&str, &str, u64); 32] = [
    ("float", "f32", 4),
    ("half", "f16", 2),
    ("bfloat", "bf16", 2),
    ("bfloat16_t", "bf16", 2),
    ("bool", "i1", 1),
    ("char", "s8", 1),
    ("int8_t", "s8", 1),
    ("uchar", "u8", 1),
    ("uint8_t", "u8", 1),
    ("short", "s16", 2),
    ("int16_t", "s16", 2),
    ("ushort", "u16", 2),
    ("uint16_t", "u16", 2),
    ("int", "s32", 4),
    ("int32_t", "s32", 4),
    ("uint", "u32", 4),
    ("uint32_t", "u32", 4),
    ("long", "s64", 8),
    ("int64_t", "s64", 8),
    ("ulong", "u64", 8),
    ("uint64_t", "u64", 8),
    ("size_t", "u64", 8),
    // Types of LLVM, where the metadata names a type of the source.
    ("i1", "i1", 1),
    ("i8", "s8", 1),
    ("i16", "s16", 2),
    ("i32", "s32", 4),
    ("i64", "s64", 8),
    ("atomic_int", "s32", 4),
    ("atomic_uint", "u32", 4),
    ("atomic_float", "f32", 4),
    ("_atomic<int>", "s32", 4),
    ("_atomic<uint>", "u32", 4),
];

/// The most fields that are made up of an element.
const MAX_FIELDS: usize = 256;

/// Prepares the module of a kernel for the host.
pub(super) fn prepare(text: &str, name: &str) -> Result<Kernel, Refusal> {
    let metadata = Metadata::read(text);
    let entry = entry(&metadata, name).ok_or(Refusal::NoKernel)?;
    let defined = text.lines().filter(|line| line.starts_with("define "));
    let kernel =
        defined.filter_map(function).find(|function| function.name == name).ok_or(Refusal::NoKernel)?;
    let slots = slots(&metadata, entry, &kernel)?;
    let mut host = host_text(text)?;
    write_entry(&mut host, &kernel);
    Ok(Kernel { text: host, slots, max_threads: max_threads(&metadata, entry) })
}

/// Returns the node of a kernel.
fn entry<'m>(metadata: &'m Metadata, name: &str) -> Option<&'m [Operand]> {
    let nodes = metadata.list("air.kernel").iter().map(|&node| metadata.node(node));
    nodes.into_iter().find(|node| matches!(node.first(), Some(Operand::Function(found)) if found == name))
}

fn max_threads(metadata: &Metadata, entry: &[Operand]) -> Option<u32> {
    let nodes = entry.iter().skip(3).filter_map(|operand| match operand {
        Operand::Node(node) => Some(metadata.node(*node)),
        _ => None,
    });
    nodes.into_iter().find_map(|node| match node {
        [Operand::Text(name), Operand::Number(number)] if name == "air.max_work_group_size" => {
            u32::try_from(*number).ok()
        }
        _ => None,
    })
}

/// Returns what the arguments are, in their order.
fn slots(metadata: &Metadata, entry: &[Operand], kernel: &Function) -> Result<Vec<Slot>, Refusal> {
    let Some(Operand::Node(list)) = entry.get(2) else { return Err(Refusal::NoKernel) };
    let mut slots: Vec<Slot> =
        kernel.parameters.iter().map(|_| Slot::Other("without metadata".into())).collect();
    for operand in metadata.node(*list) {
        let Operand::Node(node) = operand else { continue };
        let node = metadata.node(*node);
        let Some(Operand::Number(index)) = node.first() else { continue };
        let Ok(index) = usize::try_from(*index) else { continue };
        if let (Some(slot), Some(ty)) = (slots.get_mut(index), kernel.parameters.get(index)) {
            *slot = one_slot(metadata, node, ty);
        }
    }
    match slots.iter().find_map(|slot| if let Slot::Other(what) = slot { Some(what.clone()) } else { None }) {
        Some(what) => Err(Refusal::Argument(what)),
        None => Ok(slots),
    }
}

/// Returns the operand after a key.
fn after<'n>(node: &'n [Operand], key: &str) -> Option<&'n Operand> {
    let at = node.iter().position(|operand| matches!(operand, Operand::Text(text) if text == key))?;
    node.get(at + 1)
}

fn number_after(node: &[Operand], key: &str) -> Option<u64> {
    match after(node, key)? {
        Operand::Number(number) => u64::try_from(*number).ok(),
        _ => None,
    }
}

fn one_slot(metadata: &Metadata, node: &[Operand], ty: &str) -> Slot {
    let kinds = node.iter().filter_map(|operand| match operand {
        Operand::Text(text) => text.strip_prefix("air."),
        _ => None,
    });
    // Function constants that an argument depends on come first.
    let Some(kind) = kinds.into_iter().find(|kind| *kind != "function_constant") else {
        return Slot::Other("without a kind".into());
    };
    match kind {
        "buffer" if ty.contains("addrspace(3)") => {
            Slot::Threadgroup(number_after(node, "air.location_index").unwrap_or(0))
        }
        "buffer" | "indirect_buffer" => buffer(metadata, node, ty),
        _ if ty.ends_with('*') => Slot::Other(kind.to_owned()),
        _ => Slot::Position(kind.to_owned()),
    }
}

fn buffer(metadata: &Metadata, node: &[Operand], ty: &str) -> Slot {
    let is_parameter = ty.contains("addrspace(2)");
    let mut fields = Vec::new();
    let mut stride =
        number_after(node, "air.arg_type_size").or(number_after(node, "air.buffer_size")).unwrap_or(0);
    if let Some(Operand::Node(members)) = after(node, "air.struct_type_info") {
        add_members(metadata, metadata.node(*members), 0, &mut fields);
    } else {
        let named = match after(node, "air.arg_type_name") {
            Some(Operand::Text(name)) => type_of(name),
            _ => None,
        };
        // A structure that the metadata has no members of, and a pointer without a type, are bytes.
        let pointee = ty.split(" addrspace").next().unwrap_or(ty);
        let (ty, count, bytes) = named.or_else(|| type_of(pointee)).unwrap_or(("u8", stride.max(1), 1));
        fields.push(Field { ty, offset: 0, count });
        stride = stride.max(bytes * count);
    }
    let location = number_after(node, "air.location_index").unwrap_or(0);
    Slot::Buffer { location, stride: stride.max(1), is_parameter, fields }
}

/// Adds the members of a structure.
fn add_members(metadata: &Metadata, members: &[Operand], base: u64, fields: &mut Vec<Field>) {
    let mut at = 0;
    while let Some(rest) = members.get(at..).filter(|rest| !rest.is_empty()) {
        let nested = match rest {
            [Operand::Text(key), Operand::Node(node), ..] if key == "air.struct_type_info" => Some(*node),
            _ => None,
        };
        let skip = if nested.is_some() { 2 } else { 0 };
        let Some(
            [Operand::Number(offset), Operand::Number(size), Operand::Number(length), Operand::Text(ty), ..],
        ) = rest.get(skip..)
        else {
            at += 1;
            continue;
        };
        let [offset, size, length] =
            [*offset, *size, *length].map(|number| u64::try_from(number).unwrap_or(0));
        let argument = match rest.get(skip + 5..) {
            Some([Operand::Text(key), Operand::Node(node), ..]) if key == "air.indirect_argument" => {
                Some(metadata.node(*node))
            }
            _ => None,
        };
        if argument.is_some_and(|node| node.contains(&Operand::Text("air.buffer".into()))) {
            fields.push(Field { ty: "p64", offset: base + offset, count: length.max(1) });
            at += skip + 5;
            continue;
        }
        for element in 0..length.clamp(1, 64) {
            if fields.len() >= MAX_FIELDS {
                return;
            }
            let place = base + offset + element * size;
            match (nested, type_of(ty)) {
                (Some(node), _) => add_members(metadata, metadata.node(node), place, fields),
                (None, Some((ty, count, _))) => fields.push(Field { ty, offset: place, count }),
                (None, None) => {}
            }
        }
        at += skip + 5;
    }
}

/// Returns the runtime's type of a type of Metal or LLVM, how many there are in it, and the bytes of one.
fn type_of(name: &str) -> Option<(&'static str, u64, u64)> {
    let name = name.trim_start_matches("packed_").trim_start_matches("metal::");
    if let Some((_, ty, bytes)) = TYPES.iter().find(|(found, ..)| *found == name) {
        return Some((ty, 1, *bytes));
    }
    // A vector of three takes the room of four.
    let count = name.chars().last()?.to_digit(10)?;
    let (_, ty, bytes) = TYPES.iter().find(|(found, ..)| *found == &name[..name.len() - 1])?;
    (2..=4).contains(&count).then_some((*ty, u64::from(if count == 3 { 4 } else { count }), *bytes))
}

/// Edits the text, and defines the functions that it only declares.
fn host_text(text: &str) -> Result<String, Refusal> {
    let mut host = String::with_capacity(text.len() * 2);
    let (mut unknown, mut declared) = (Vec::new(), Vec::new());
    for line in text.lines() {
        if line.starts_with("target ") {
            continue;
        }
        if line.starts_with("declare ") && !line.contains(" @llvm.") {
            match function(line).as_ref().map(|function| (intrinsics::define(function), function)) {
                Some((Some(definition), _)) => {
                    host.push_str(&definition.text);
                    declared.extend(definition.declared);
                }
                Some((None, function)) => unknown.push(function.name.clone()),
                None => unknown.push(line.to_owned()),
            }
            continue;
        }
        let line = without_sizes(without_undef(without_fast(line)));
        host.push_str(&function_constant(&line).unwrap_or(line));
        host.push('\n');
    }
    declared.sort();
    declared.dedup();
    for declaration in declared {
        // The module may have it itself.
        let name = function(&declaration).map_or(String::new(), |function| format!(" @{}(", function.name));
        if !text.lines().any(|line| line.starts_with("declare ") && line.contains(&name)) {
            let _ = writeln!(host, "{declaration}");
        }
    }
    if unknown.is_empty() { Ok(host) } else { Err(Refusal::Unknown(unknown)) }
}

/// Removes flags that let LLVM change results.
fn without_fast(line: &str) -> String {
    const FLAGS: [&str; 8] = ["fast", "reassoc", "nnan", "ninf", "nsz", "arcp", "contract", "afn"];
    let Some((head, rest)) = line.split_once(" = ") else { return line.to_owned() };
    if !head.trim_start().starts_with('%') {
        return line.to_owned();
    }
    // Flags are before the first operand.
    let end = rest.find(['%', '@']).unwrap_or(rest.len());
    let (before, operands) = rest.split_at(end);
    let words: Vec<&str> = before.split(' ').filter(|word| !FLAGS.contains(word)).collect();
    format!("{head} = {}{operands}", words.join(" "))
}

/// Makes values that are undefined where edges merge zero.
fn without_undef(line: String) -> String {
    if line.contains(" = phi ") { line.replace("[ undef, ", "[ zeroinitializer, ") } else { line }
}

/// Removes the sizes of what pointers point to, for which LLVM would load before a test: made-up buffers may be smaller.
fn without_sizes(line: String) -> String {
    const SIZE: &str = " dereferenceable(";
    let mut rest = line.as_str();
    let mut kept = String::new();
    while let Some((before, after)) = rest.split_once(SIZE) {
        kept.push_str(before);
        rest = after.split_once(')').map_or("", |found| found.1);
    }
    kept + rest
}

/// Gives a function constant the value that the header gives it.
fn function_constant(line: &str) -> Option<String> {
    let (_, index) = line.split_once(".MTL_FC_INIT_")?;
    if !line.starts_with('@') {
        return None;
    }
    let index: u32 = index.split('_').next()?.parse().ok()?;
    let (before, rest) = line.split_once(" undef")?;
    let ty = before.rsplit(' ').next()?;
    let is_bool = line.contains(&format!("_{index}_b "));
    let value = match ty {
        "i8" if is_bool => ((index + 1) % 2).to_string(),
        "float" | "half" | "bfloat" => "0.5".to_owned(),
        ty if ty.starts_with('i') => (8_u32 >> (index % 3)).to_string(),
        _ => return None,
    };
    Some(format!("{} {value}{rest}", before.replace(" externally_initialized", "")))
}

/// Writes the function that calls the kernel with what is in slots.
fn write_entry(host: &mut String, kernel: &Function) {
    let mut body = String::new();
    let mut list = Vec::new();
    for (index, ty) in kernel.parameters.iter().enumerate() {
        let _ = writeln!(body, "  %p{index} = getelementptr i8*, i8** %slots, i64 {index}");
        let _ = writeln!(body, "  %s{index} = load i8*, i8** %p{index}");
        if ty.ends_with('*') {
            pointer(&mut body, index, ty);
        } else {
            position(&mut body, index, ty);
        }
        list.push(format!("{ty} %v{index}"));
    }
    let name = if kernel.name.chars().all(|c| c.is_alphanumeric() || "._$-".contains(c)) {
        kernel.name.clone()
    } else {
        format!("\"{}\"", kernel.name)
    };
    let result = &kernel.result;
    let call = if result == "void" { String::new() } else { "%unused = ".to_owned() };
    let _ = write!(
        host,
        "define void @host_entry(i8** %slots) {{\n{body}  {call}call {result} @{name}({})\n  ret void\n}}\n",
        list.join(", ")
    );
}

fn pointer(body: &mut String, index: usize, ty: &str) {
    match ty.find(" addrspace(") {
        Some(at) => {
            let plain = format!("{}*", &ty[..at]);
            let _ = writeln!(body, "  %c{index} = bitcast i8* %s{index} to {plain}");
            let _ = writeln!(body, "  %v{index} = addrspacecast {plain} %c{index} to {ty}");
        }
        None => {
            let _ = writeln!(body, "  %v{index} = bitcast i8* %s{index} to {ty}");
        }
    }
}

/// A position has three words, of which the type takes the first ones.
fn position(body: &mut String, index: usize, ty: &str) {
    let (count, scalar) =
        match ty.strip_prefix('<').and_then(|inner| inner.strip_suffix('>')?.split_once(" x ")) {
            Some((count, scalar)) => (count.parse().unwrap_or(1), scalar),
            None => (1, ty),
        };
    let _ = writeln!(body, "  %w{index} = bitcast i8* %s{index} to i32*");
    let mut whole = "undef".to_owned();
    for part in 0..count {
        let _ = writeln!(body, "  %q{index}.{part} = getelementptr i32, i32* %w{index}, i64 {part}");
        let _ = writeln!(body, "  %l{index}.{part} = load i32, i32* %q{index}.{part}");
        let mut value = format!("%l{index}.{part}");
        if scalar != "i32" {
            let operation = if scalar == "i64" { "zext" } else { "trunc" };
            let _ = writeln!(body, "  %k{index}.{part} = {operation} i32 {value} to {scalar}");
            value = format!("%k{index}.{part}");
        }
        let last = if part + 1 == count { format!("%v{index}") } else { format!("%x{index}.{part}") };
        let _ = match ty == scalar {
            true => writeln!(body, "  {last} = add {scalar} {value}, 0"),
            false => writeln!(body, "  {last} = insertelement {ty} {whole}, {scalar} {value}, i32 {part}"),
        };
        whole = last;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &str = "target triple = \"air64-apple-macosx14.0.0\"\n\
        @_Z1c.MTL_FC_INIT_3_i = internal addrspace(2) externally_initialized constant i32 undef, section \"s\", align 4\n\
        define void @k(float addrspace(1)* noundef %0, i32 addrspace(2)* noundef %1, <3 x i16> noundef %2) {\n\
        \x20 %4 = fadd fast float 1.0, 2.0\n\
        \x20 %6 = phi float [ undef, %a ]\n\
        \x20 %5 = call fast float @air.fast_exp.f32(float %4)\n\
        \x20 ret void\n}\n\
        declare float @air.fast_exp.f32(float) #1\n\
        !air.kernel = !{!1}\n\
        !1 = !{void (float addrspace(1)*, i32 addrspace(2)*, <3 x i16>)* @k, !2, !3, !7}\n\
        !2 = !{}\n\
        !3 = !{!4, !5, !6}\n\
        !4 = !{i32 0, !\"air.buffer\", !\"air.location_index\", i32 3, i32 1, !\"air.arg_type_size\", i32 8, !\"air.arg_type_name\", !\"float2\"}\n\
        !5 = !{i32 1, !\"air.buffer\", !\"air.buffer_size\", i32 8, !\"air.struct_type_info\", !8, !\"air.arg_type_size\", i32 8}\n\
        !6 = !{i32 2, !\"air.thread_position_in_grid\", !\"air.arg_type_name\", !\"ushort3\"}\n\
        !7 = !{!\"air.max_work_group_size\", i32 64}\n\
        !8 = !{i32 0, i32 4, i32 0, !\"int\", !\"n\", i32 4, i32 4, i32 0, !\"float\", !\"k\"}\n";

    #[test]
    fn kernels_have_slots() {
        let kernel = prepare(MODULE, "k").unwrap();
        assert_eq!(kernel.max_threads, Some(64));
        let field = |ty, offset, count| Field { ty, offset, count };
        let expected = [
            Slot::Buffer { location: 3, stride: 8, is_parameter: false, fields: vec![field("f32", 0, 2)] },
            Slot::Buffer {
                location: 0,
                stride: 8,
                is_parameter: true,
                fields: vec![field("s32", 0, 1), field("f32", 4, 1)],
            },
            Slot::Position("thread_position_in_grid".into()),
        ];
        assert_eq!(kernel.slots, expected);
    }

    #[test]
    fn argument_buffers_have_pointers() {
        let text = MODULE
            .replace(
                "!\"air.buffer\", !\"air.buffer_size\"",
                "!\"air.indirect_buffer\", !\"air.buffer_size\"",
            )
            .replace("!\"float\", !\"k\"}", "!\"float\", !\"k\", !\"air.indirect_argument\", !4}");
        let Slot::Buffer { fields, .. } = &prepare(&text, "k").unwrap().slots[1] else { panic!("no buffer") };
        assert_eq!(fields[1], Field { ty: "p64", offset: 4, count: 1 });
    }

    #[test]
    fn text_is_for_the_host() {
        let text = prepare(MODULE, "k").unwrap().text;
        assert!(!text.contains("target triple") && !text.contains(" fast "));
        assert!(text.contains("constant i32 8, section"));
        assert!(text.contains("phi float [ zeroinitializer, %a ]"));
        assert!(text.contains("define internal float @air.fast_exp.f32(float %a0)"));
        assert!(text.contains("call void @k(float addrspace(1)* %v0, i32 addrspace(2)* %v1, <3 x i16> %v2)"));
    }

    #[test]
    fn unknown_functions_are_named() {
        let text = MODULE.replace("air.fast_exp.f32", "air.made_up.f32");
        assert_eq!(prepare(&text, "k").err(), Some(Refusal::Unknown(vec!["air.made_up.f32".into()])));
        assert_eq!(prepare(MODULE, "other").err(), Some(Refusal::NoKernel));
    }
}
