//! Structures of arguments, as Metal declares them.
//!
//! A reflection has the name, the type, the offset and the size of each member, not its alignment. [`Layouts::print`] writes
//! declarations that a compiler lays out the same way: it adds padding where members are further apart than their types
//! require, and packs structures whose members are closer. Types that are not known by their name, such as enumerations,
//! become numbers of their size, with their name in a comment.
//!
//! | type | size | alignment |
//! |---|---|---|
//! | `T2`, `T4` | of their components | the size |
//! | `T3` | of four components | the size |
//! | `packed_TN` | of N components | of a component |
//! | `TCxR` | of C vectors `TR` | of a vector |
//! | handles and pointers of argument buffers | 8 | 8 |
//!
//! Knowledge: the Metal Shading Language Specification, sections 2.1 to 2.4; `air.struct_type_info` of real modules.

use super::argument::Argument;
use super::schema::{AddressSpace, NodeType};
use super::signature::{FunctionReflection, MAX_LIST, StructField};
use super::{NodeId, Reflection};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Escaped, Result, TokenKind, TokenSink};

/// The deepest nesting of structures: a hostile one may contain itself.
const MAX_DEPTH: u32 = 32;

/// The scalar types, with their sizes.
const SCALARS: [(&str, u32); 28] = [
    ("bool", 1),
    ("char", 1),
    ("uchar", 1),
    ("int8_t", 1),
    ("uint8_t", 1),
    ("short", 2),
    ("ushort", 2),
    ("int16_t", 2),
    ("uint16_t", 2),
    ("half", 2),
    ("bfloat", 2),
    ("int", 4),
    ("uint", 4),
    ("int32_t", 4),
    ("uint32_t", 4),
    ("float", 4),
    ("atomic_int", 4),
    ("atomic_uint", 4),
    ("atomic_float", 4),
    ("atomic_bool", 1),
    ("long", 8),
    ("ulong", 8),
    ("int64_t", 8),
    ("uint64_t", 8),
    ("size_t", 8),
    ("ptrdiff_t", 8),
    ("double", 8),
    ("atomic_ulong", 8),
];

/// What the names of handles begin with.
const HANDLES: [&str; 9] = [
    "texture",
    "depth",
    "sampler",
    "visible_function_table",
    "intersection_function_table",
    "instance_acceleration_structure",
    "primitive_acceleration_structure",
    "command_buffer",
    "render_pipeline_state",
];

/// The structures of a function's arguments, those inside of others first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layouts {
    /// The structures.
    pub all: Vec<Layout>,
}

/// A structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The name, which no other structure of the function has. It is an identifier.
    pub name: String,
    /// The name in the source, escaped.
    pub source_name: String,
    /// The size in bytes, if something that has it states it.
    pub size: Option<u32>,
    /// The alignment in bytes, if an argument states it.
    pub alignment: Option<u32>,
    /// The members, in order.
    pub members: Vec<Member>,
}

/// A member of a structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The name, an identifier.
    pub name: String,
    /// The type in the source, escaped.
    pub type_name: String,
    /// The declared type: that of the source, a structure, or a number.
    pub declared: String,
    /// The offset in bytes.
    pub offset: u32,
    /// The size in bytes; of an array, that of an element.
    pub size: u32,
    /// The number of array elements; 0 if it is no array.
    pub array_entries: u32,
    /// The index of the structure in [`Layouts::all`], if it is one.
    pub structure: Option<usize>,
    /// The attribute, such as `id(0)`; empty if there is none.
    pub attribute: String,
    alignment: u32,
}

impl Layouts {
    /// Returns the structures of a function's arguments.
    ///
    /// # Errors
    /// If a structure is malformed, they nest too deeply, or there are more than [`MAX_LIST`] members.
    pub fn of(reflection: &Reflection<'_>, function: &FunctionReflection<'_>) -> Result<Self> {
        let mut collector = Collector {
            reflection,
            layouts: Self::default(),
            known: BTreeMap::new(),
            names: BTreeSet::new(),
            members: 0,
        };
        for argument in &function.arguments {
            let Some(id) = argument.struct_type else { continue };
            let name = argument.type_name.unwrap_or_default();
            let index = collector.structure(id, name, argument.type_size, MAX_DEPTH)?;
            if let Some(layout) = collector.layouts.all.get_mut(index) {
                layout.alignment = layout.alignment.or(argument.type_align);
            }
        }
        Ok(collector.layouts)
    }

    /// Prints the declarations, with offsets and sizes in comments.
    pub fn print(&self, sink: &mut (impl TokenSink + ?Sized)) {
        for layout in &self.all {
            layout.print(sink);
        }
    }
}

struct Collector<'r, 'a> {
    reflection: &'r Reflection<'a>,
    layouts: Layouts,
    /// Structures by their node and their size.
    known: BTreeMap<(NodeId, Option<u32>), usize>,
    names: BTreeSet<String>,
    members: usize,
}

impl Collector<'_, '_> {
    fn structure(&mut self, id: NodeId, source_name: &[u8], size: Option<u32>, depth: u32) -> Result<usize> {
        if let Some(&index) = self.known.get(&(id, size)) {
            return Ok(index);
        }
        if depth == 0 {
            return Err(Error::without_offset(ErrorKind::Limit, "structures of arguments nest too deeply"));
        }
        let mut members = Vec::new();
        for field in self.reflection.struct_fields(id)? {
            self.members = self.members.saturating_add(1);
            if self.members > MAX_LIST {
                return Err(Error::without_offset(
                    ErrorKind::Limit,
                    "structures of arguments have too many members",
                ));
            }
            members.push(self.member(&field?, members.len(), depth)?);
        }
        let name = self.unique(&identifier(source_name, "unnamed"));
        let source_name = Escaped(source_name).to_string();
        let index = self.layouts.all.len();
        self.layouts.all.push(Layout { name, source_name, size, alignment: None, members });
        self.known.insert((id, size), index);
        Ok(index)
    }

    fn member(&mut self, field: &StructField<'_>, index: usize, depth: u32) -> Result<Member> {
        let type_name = field.type_name.unwrap_or_default();
        let mut member = Member {
            name: identifier(field.name.unwrap_or_default(), &format!("member{index}")),
            type_name: Escaped(type_name).to_string(),
            declared: String::new(),
            offset: field.offset,
            size: field.size,
            array_entries: field.array_entries,
            structure: None,
            attribute: attribute(field),
            alignment: 1,
        };
        if let Some(id) = field.struct_type {
            let index = self.structure(id, type_name, Some(field.size), depth.saturating_sub(1))?;
            let layout = self.layouts.all.get(index);
            member.declared = layout.map_or_else(String::new, |layout| layout.name.clone());
            member.alignment = layout.map_or(1, Layout::natural_alignment);
            member.structure = Some(index);
            return Ok(member);
        }
        let indirect = field.indirect_argument.map(|id| self.reflection.argument(id)).transpose()?;
        (member.declared, member.alignment) = declared(&member, indirect.as_ref());
        Ok(member)
    }

    /// Returns a name that no structure has yet.
    fn unique(&mut self, name: &str) -> String {
        let numbered = (2..).map(|number| format!("{name}_{number}"));
        let mut candidates = core::iter::once(name.to_string()).chain(numbered);
        let free = candidates.find(|name| !self.names.contains(name)).unwrap_or_default();
        self.names.insert(free.clone());
        free
    }
}

/// Returns the attribute of a member, without its brackets.
fn attribute(field: &StructField<'_>) -> String {
    let numbered = [
        ("id", field.indirect_index),
        ("raster_order_group", field.raster_order_group),
        ("color", field.render_target_index),
    ];
    let present = numbered.iter().filter_map(|(name, number)| Some(format!("{name}({})", (*number)?)));
    present.collect::<Vec<_>>().join(", ")
}

/// Returns the type that a member is declared with, and its alignment.
fn declared(member: &Member, argument: Option<&Argument<'_>>) -> (String, u32) {
    if member.size == HANDLE_SIZE {
        if let Some(argument) = argument.filter(|argument| argument.kind == NodeType::BUFFER_ARG) {
            let space = argument.address_space.unwrap_or(AddressSpace::DEVICE);
            let name = identifier(argument.type_name.unwrap_or_default(), "void");
            let name = if layout_of(&name).is_some() { name } else { String::from("void") };
            return (format!("{space} {name}*"), HANDLE_SIZE);
        }
        let is_handle = HANDLES.iter().any(|handle| member.type_name.starts_with(handle));
        if is_handle
            && member.type_name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_<>, ".contains(&byte))
        {
            return (qualified(&member.type_name), HANDLE_SIZE);
        }
    }
    match layout_of(&member.type_name) {
        Some((size, alignment)) if size == member.size => (member.type_name.clone(), alignment),
        _ => number(member.size),
    }
}

/// The size of handles and pointers in an argument buffer.
const HANDLE_SIZE: u32 = 8;

/// Returns a type of a texture as source has it: `access::sample` in place of `sample`.
fn qualified(name: &str) -> String {
    let Some((head, access)) = name.rsplit_once(", ") else { return name.to_string() };
    match ["sample>", "read>", "write>", "read_write>"].contains(&access) {
        true => format!("{head}, access::{access}"),
        false => name.to_string(),
    }
}

/// Returns a number of a size, or an array of bytes, and its alignment.
fn number(size: u32) -> (String, u32) {
    match size {
        1 => (String::from("uchar"), 1),
        2 => (String::from("ushort"), 2),
        4 => (String::from("uint"), 4),
        8 => (String::from("ulong"), 8),
        _ => (String::new(), 1),
    }
}

/// Returns the size and the alignment of a type that the language has.
fn layout_of(name: &str) -> Option<(u32, u32)> {
    let scalar = |name: &str| SCALARS.iter().find(|(known, _)| *known == name).map(|(_, size)| *size);
    if let Some(size) = scalar(name) {
        return Some((size, size));
    }
    let (name, is_packed) = match name.strip_prefix("packed_") {
        Some(rest) => (rest, true),
        None => (name, false),
    };
    let vector = |name: &str| {
        let (element, count) = name.split_at_checked(name.len().checked_sub(1)?)?;
        let (element, count) =
            (scalar(element)?, count.parse::<u32>().ok().filter(|count| (2..=4).contains(count))?);
        Some(match is_packed {
            true => (element.saturating_mul(count), element),
            false => (
                element.saturating_mul(count.next_power_of_two()),
                element.saturating_mul(count.next_power_of_two()),
            ),
        })
    };
    if let Some(found) = vector(name) {
        return Some(found);
    }
    // A matrix: `float4x3` has four columns of `float3`.
    let (head, rows) = name.rsplit_once('x')?;
    let (element, columns) = head.split_at_checked(head.len().checked_sub(1)?)?;
    let columns = columns.parse::<u32>().ok().filter(|columns| (2..=4).contains(columns))?;
    let (size, alignment) = vector(&format!("{element}{rows}"))?;
    Some((size.saturating_mul(columns), alignment))
}

/// Returns a name as an identifier: other characters become underscores.
fn identifier(name: &[u8], default: &str) -> String {
    let text = String::from_utf8_lossy(name);
    let mut out: String =
        text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    if out.is_empty() {
        out.push_str(default);
    }
    if out.starts_with(|c: char| c.is_ascii_digit()) {
        out.insert(0, '_');
    }
    out
}

/// A line of a declaration: a member, or padding.
struct Line {
    declaration: String,
    attribute: String,
    comment: String,
}

impl Layout {
    /// Returns the alignment that its members require.
    fn natural_alignment(&self) -> u32 {
        match self.is_packed() {
            true => 1,
            false => self.members.iter().map(|member| member.alignment).max().unwrap_or(1),
        }
    }

    /// Returns the end of the last member.
    fn end(&self) -> u32 {
        self.members.iter().map(Member::end).max().unwrap_or(0)
    }

    /// Returns whether members are closer than their types require, or the size is not a multiple of their alignment.
    fn is_packed(&self) -> bool {
        let alignment = self.members.iter().map(|member| member.alignment).max().unwrap_or(1);
        let is_odd = |number: u32, alignment: u32| number.checked_rem(alignment).unwrap_or(0) != 0;
        self.members.iter().any(|member| is_odd(member.offset, member.alignment))
            || self.size.is_some_and(|size| is_odd(size, alignment))
    }

    /// Returns whether members share bytes, so that no structure of these types has this layout.
    fn overlaps(&self) -> bool {
        let mut end = 0;
        let overlaps = self.members.iter().any(|member| {
            let before = core::mem::replace(&mut end, member.end());
            member.offset < before
        });
        overlaps || self.size.is_some_and(|size| size < self.end())
    }

    /// Prints the declaration.
    fn print(&self, sink: &mut (impl TokenSink + ?Sized)) {
        let lines = self.lines();
        sink.put(TokenKind::Keyword, "struct");
        sink.put(TokenKind::Space, " ");
        if self.is_packed() {
            sink.put(TokenKind::Attribute, "__attribute__((packed))");
            sink.put(TokenKind::Space, " ");
        }
        sink.put(TokenKind::Type, &self.name);
        sink.put(TokenKind::Space, " ");
        sink.put(TokenKind::Punctuation, "{");
        let mut facts = Vec::new();
        if self.name != self.source_name {
            facts.push(self.source_name.clone());
        }
        facts.extend(self.size.map(|size| format!("{size} bytes")));
        facts.extend(self.alignment.map(|alignment| format!("alignment {alignment}")));
        if self.overlaps() {
            facts.push(String::from("members share bytes, which this does not express"));
        }
        comment(sink, 0, &facts.join(", "));
        let width = lines.iter().map(Line::width).filter(|width| *width <= MAX_WIDTH).max().unwrap_or(0);
        for line in &lines {
            sink.put(TokenKind::Space, "    ");
            sink.put(TokenKind::Text, &line.declaration);
            if !line.attribute.is_empty() {
                sink.put(TokenKind::Space, " ");
                sink.put(TokenKind::Attribute, &format!("[[{}]]", line.attribute));
            }
            sink.put(TokenKind::Punctuation, ";");
            comment(sink, width.saturating_sub(line.width()), &line.comment);
        }
        sink.put(TokenKind::Punctuation, "};");
        sink.put(TokenKind::Space, "\n");
    }

    /// Returns the members, with padding between them.
    fn lines(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        let (is_packed, mut end) = (self.is_packed(), 0_u32);
        for member in &self.members {
            let alignment = if is_packed { 1 } else { member.alignment };
            let natural = end.checked_next_multiple_of(alignment.max(1)).unwrap_or(end);
            if member.offset > natural {
                lines.push(padding(end, member.offset.saturating_sub(end)));
            }
            lines.push(member.line());
            end = member.end();
        }
        let alignment = self.natural_alignment().max(1);
        if let Some(size) = self.size
            && end.checked_next_multiple_of(alignment).is_some_and(|natural| size > natural)
        {
            lines.push(padding(end, size.saturating_sub(end)));
        }
        lines
    }
}

/// The widest line whose comment is in the column of the others.
const MAX_WIDTH: usize = 60;

impl Line {
    fn width(&self) -> usize {
        let attribute = self.attribute.chars().count();
        let attribute = if attribute == 0 { 0 } else { attribute.saturating_add(5) };
        self.declaration.chars().count().saturating_add(attribute)
    }
}

/// Prints a comment after padding, and ends the line.
fn comment(sink: &mut (impl TokenSink + ?Sized), padding: usize, text: &str) {
    if !text.is_empty() {
        sink.put(TokenKind::Space, &" ".repeat(padding.saturating_add(2)));
        sink.put(TokenKind::Comment, &format!("// {text}"));
    }
    sink.put(TokenKind::Space, "\n");
}

fn padding(offset: u32, size: u32) -> Line {
    Line {
        declaration: format!("uchar padding_{offset}[{size}]"),
        attribute: String::new(),
        comment: format!("offset {offset}, {size} bytes"),
    }
}

impl Member {
    fn end(&self) -> u32 {
        self.offset.saturating_add(self.size.saturating_mul(self.array_entries.max(1)))
    }

    fn line(&self) -> Line {
        let mut comment = format!("offset {}", self.offset);
        let total = self.size.saturating_mul(self.array_entries.max(1));
        comment.push_str(&format!(", {total} bytes"));
        let is_own =
            self.declared == self.type_name || self.structure.is_some() || self.declared.ends_with('*');
        if !is_own && qualified(&self.type_name) != self.declared {
            comment.push_str(&format!(", {}", self.type_name));
        }
        let mut declaration = match self.declared.as_str() {
            "" => format!("uchar {}", self.name),
            declared => format!("{declared} {}", self.name),
        };
        if self.array_entries > 0 {
            declaration.push_str(&format!("[{}]", self.array_entries));
        }
        if self.declared.is_empty() {
            declaration.push_str(&format!("[{}]", self.size));
        }
        Line { declaration, attribute: self.attribute.clone(), comment }
    }
}

#[cfg(test)]
mod tests {
    use super::{Layout, Member, layout_of};
    use alloc::string::{String, ToString};
    use alloc::vec::Vec;

    fn member(name: &str, declared: &str, offset: u32, size: u32, array_entries: u32) -> Member {
        Member {
            name: name.to_string(),
            type_name: declared.to_string(),
            declared: declared.to_string(),
            offset,
            size,
            array_entries,
            structure: None,
            attribute: String::new(),
            alignment: layout_of(declared).map_or(1, |(_, alignment)| alignment),
        }
    }

    fn printed(size: u32, members: Vec<Member>) -> String {
        let layout = Layout {
            name: "S".to_string(),
            source_name: "S".to_string(),
            size: Some(size),
            alignment: None,
            members,
        };
        let mut text = String::new();
        layout.print(&mut text);
        text
    }

    #[test]
    fn types_have_their_sizes() {
        for (name, layout) in [
            ("float", (4, 4)),
            ("float3", (16, 16)),
            ("packed_float3", (12, 4)),
            ("half2", (4, 4)),
            ("float4x3", (64, 16)),
            ("float3x2", (24, 8)),
            ("ulong", (8, 8)),
        ] {
            assert_eq!(layout_of(name), Some(layout), "{name}");
        }
        for name in ["", "float5", "floatx", "Mode", "packed_", "x", "float1x4"] {
            assert_eq!(layout_of(name), None, "{name}");
        }
    }

    #[test]
    fn padding_is_added_where_offsets_need_it() {
        let text = printed(
            48,
            [member("a", "float", 0, 4, 0), member("b", "float3", 16, 16, 0), member("c", "uint", 40, 4, 0)]
                .to_vec(),
        );
        assert_eq!(
            text,
            "struct S {  // 48 bytes
    float a;              // offset 0, 4 bytes
    float3 b;             // offset 16, 16 bytes
    uchar padding_32[8];  // offset 32, 8 bytes
    uint c;               // offset 40, 4 bytes
};
"
        );
    }

    #[test]
    fn members_that_are_too_close_are_packed() {
        let text = printed(8, [member("a", "uchar", 0, 1, 0), member("b", "float", 1, 4, 0)].to_vec());
        assert!(text.starts_with("struct __attribute__((packed)) S {"), "{text}");
        assert!(text.contains("uchar padding_5[3];"), "{text}");
    }

    #[test]
    fn arrays_have_elements() {
        let text = printed(32, [member("a", "float", 0, 4, 8)].to_vec());
        assert!(text.contains("float a[8];  // offset 0, 32 bytes"), "{text}");
    }
}
