//! Prints functions as declared in Metal source.

use super::argument::{Argument, Return};
use super::schema::{Access, AddressSpace, Category, NodeType};
use super::signature::{FunctionConstant, FunctionReflection};
use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;
use unshade_core::{Escaped, TokenKind, TokenSink};

/// Maximum width of a padded column, so that a single long type does not push all names off the screen.
const MAX_COLUMN: usize = 40;

/// The comment of an argument or value that depends on a function constant, whose name a reflection does not have.
const CONDITIONAL: &str = "exists if a function constant is set";

/// Prints the declaration of a function as in Metal source, one argument per line: function constants, the structures
/// of its inputs and results, its attributes, then the function itself.
///
/// The reflection has no names for the structures of `[[stage_in]]` and the return type; they are named after the
/// function, with the suffixes `_in` and `_out`. Names from the file are escaped.
pub fn print_signature(function: &FunctionReflection<'_>, sink: &mut (impl TokenSink + ?Sized)) {
    Printer { function, sink }.print();
}

struct Printer<'f, 'a, S: ?Sized> {
    function: &'f FunctionReflection<'a>,
    sink: &'f mut S,
}

/// A member of a structure, or an argument, in columns.
struct Line {
    /// Address space and access, each followed by a space.
    keywords: String,
    type_name: String,
    /// The part of the type after its name: `*`, `&`.
    suffix: String,
    name: String,
    attribute: String,
    comment: String,
}

impl Line {
    fn type_width(&self) -> usize {
        [&self.keywords, &self.type_name, &self.suffix].iter().map(|text| text.chars().count()).sum()
    }
}

impl<S: TokenSink + ?Sized> Printer<'_, '_, S> {
    fn print(&mut self) {
        let function = self.function;
        self.constants();
        let inputs: Vec<_> =
            function.arguments.iter().filter(|argument| self.is_stage_input(argument)).collect();
        for argument in inputs.iter().filter(|argument| !argument.fields.is_empty()) {
            let lines = argument.fields.iter().map(|field| argument_line(function.kind, field)).collect();
            self.structure("_control_point", lines);
        }
        if !inputs.is_empty() {
            let lines = inputs.iter().map(|argument| self.input_line(argument)).collect();
            self.structure("_in", lines);
        }
        if let Some(mesh) = &function.mesh {
            self.structure("_vertex", mesh.vertex.iter().map(return_line).collect());
            if !mesh.primitive.is_empty() {
                self.structure("_primitive", mesh.primitive.iter().map(return_line).collect());
            }
        }
        let return_type = self.return_type();
        self.attributes();
        self.head(&return_type);
        self.arguments(&inputs);
        self.newline();
    }

    /// Prints the function constants in columns.
    fn constants(&mut self) {
        let constants = &self.function.function_constants;
        let width = |of: fn(&FunctionConstant<'_>) -> usize| {
            constants.iter().map(of).filter(|&width| width <= MAX_COLUMN).max().unwrap_or(0)
        };
        let type_width = width(|constant| show(constant.type_name).chars().count());
        let name_width = width(|constant| show(constant.name).chars().count());
        for constant in constants {
            let (type_name, name) = (show(constant.type_name), show(constant.name));
            self.put(TokenKind::Keyword, "constant ");
            self.put(TokenKind::Type, &type_name);
            self.pad(type_width.saturating_sub(type_name.chars().count()).saturating_add(1));
            self.put(TokenKind::Variable, &name);
            self.pad(name_width.saturating_sub(name.chars().count()).saturating_add(1));
            self.put(TokenKind::Attribute, &format!("[[function_constant({})]]", constant.index));
            self.put(TokenKind::Punctuation, ";");
            if !constant.required {
                self.comment("optional");
            }
            self.newline();
        }
    }

    /// Returns whether the argument is a member of a `[[stage_in]]` structure in the source. The position of a fragment
    /// function counts as a member if there are other members, because it may also be a separate argument.
    fn is_stage_input(&self, argument: &Argument<'_>) -> bool {
        match argument.kind {
            NodeType::POSITION_ARG => self
                .function
                .arguments
                .iter()
                .any(|other| other.kind.category() == Some(Category::StageInput)),
            kind => kind.category() == Some(Category::StageInput),
        }
    }

    /// Returns the line for a member of the `[[stage_in]]` structure.
    fn input_line(&self, argument: &Argument<'_>) -> Line {
        let mut line = argument_line(self.function.kind, argument);
        if argument.kind == NodeType::CONTROL_POINT_INPUT_ARG {
            line.type_name = format!("patch_control_point<{}>", self.structure_name("_control_point"));
            line.name = String::from("control_points");
        }
        line
    }

    /// Returns a name for a structure that is unnamed in the file.
    fn structure_name(&self, suffix: &str) -> String {
        let name = show(self.function.name);
        let mut out: String =
            name.chars().map(|c| if c.is_alphanumeric() || c == '_' { c } else { '_' }).collect();
        out.push_str(suffix);
        out
    }

    fn structure(&mut self, suffix: &str, lines: Vec<Line>) {
        self.put(TokenKind::Keyword, "struct ");
        let name = self.structure_name(suffix);
        self.put(TokenKind::Type, &name);
        self.put(TokenKind::Space, " ");
        self.put(TokenKind::Punctuation, "{");
        self.lines(&lines, ";", ";");
        self.newline();
        self.put(TokenKind::Punctuation, "};");
        self.newline();
    }

    /// Returns the return type. Prints it first if it is a structure.
    fn return_type(&mut self) -> String {
        let function = self.function;
        let default = match function.kind {
            NodeType::VERTEX_FUNCTION => "position",
            NodeType::FRAGMENT_FUNCTION => "color(0)",
            NodeType::INTERSECTION_FUNCTION => "accept_intersection",
            _ => "",
        };
        match function.returns.as_slice() {
            [] => String::from("void"),
            // A single default value needs neither a structure nor an attribute.
            [only] if only.attribute() == default && only.array_size.is_none() => type_of(only.type_name),
            all => {
                self.structure("_out", all.iter().map(return_line).collect());
                self.structure_name("_out")
            }
        }
    }

    /// Prints the attributes before the function.
    fn attributes(&mut self) {
        let function = self.function;
        if let Some(count) = function.max_total_threads {
            self.attribute_line(&format!("max_total_threads_per_threadgroup({count})"));
        }
        if let Some([x, y, z]) = function.required_threads {
            self.attribute_line(&format!("required_threads_per_threadgroup({x}, {y}, {z})"));
        }
        if let Some(count) = function.max_mesh_threadgroups {
            self.attribute_line(&format!("max_total_threadgroups_per_mesh_grid({count})"));
        }
        if let Some(patch) = function.patch {
            let points = patch.control_points.map_or(String::new(), |points| format!(", {points}"));
            self.attribute_line(&format!("patch({}{points})", patch.kind));
        }
        if function.early_fragment_tests {
            self.attribute_line("early_fragment_tests");
        }
        if let Some(annotation) = function.annotation {
            self.attribute_line(&format!("user_annotation({})", Escaped(annotation).quoted()));
        }
        if let Some([x, y, z]) = function.threads_hint {
            self.put(TokenKind::Comment, &format!("// threadgroup size hint: {x} x {y} x {z}"));
            self.newline();
        }
        if let Some(hint) = function.vector_type_hint {
            self.put(TokenKind::Comment, &format!("// vector type hint: {}", Escaped(hint)));
            self.newline();
        }
    }

    fn attribute_line(&mut self, attribute: &str) {
        self.put(TokenKind::Attribute, &format!("[[{attribute}]]"));
        self.newline();
    }

    /// Prints the function up to the opening parenthesis.
    fn head(&mut self, return_type: &str) {
        let function = self.function;
        match function.kind {
            NodeType::KERNEL_FUNCTION | NodeType::VERTEX_FUNCTION | NodeType::FRAGMENT_FUNCTION => {
                let keyword = function.kind.schema().map_or("", |schema| schema.spelling);
                self.put(TokenKind::Keyword, keyword);
            }
            NodeType::CI_FUNCTION => self.put(TokenKind::Keyword, "extern \"C\""),
            NodeType::VISIBLE_FUNCTION => {
                let stitchable = function.stitching.is_some();
                self.put(TokenKind::Attribute, if stitchable { "[[stitchable]]" } else { "[[visible]]" });
            }
            NodeType::INTERSECTION_FUNCTION => {
                let mut attribute = String::from("[[intersection(");
                if let Some(traits) = &function.intersection {
                    let _ = write!(attribute, "{}", traits.primitive);
                    for tag in &traits.tags {
                        let _ = write!(attribute, ", {tag}");
                    }
                    if traits.max_levels != 0 {
                        let _ = write!(attribute, ", max_levels<{}>", traits.max_levels);
                    }
                }
                attribute.push_str(")]]");
                self.put(TokenKind::Attribute, &attribute);
            }
            kind => match kind.schema() {
                Some(schema) => self.put(TokenKind::Attribute, &format!("[[{}]]", schema.spelling)),
                None => self.put(TokenKind::Comment, &format!("/* function of type {kind} */")),
            },
        }
        self.put(TokenKind::Space, " ");
        let return_type = match &function.stitching {
            Some(stitching) => &stitching.return_type,
            None => return_type,
        };
        if function.kind != NodeType::VISIBLE_FUNCTION || function.stitching.is_some() {
            self.put(TokenKind::Type, return_type);
            self.put(TokenKind::Space, " ");
        }
        self.put(TokenKind::Function, &show(function.name));
        self.put(TokenKind::Punctuation, "(");
    }

    /// Prints everything after the opening parenthesis.
    fn arguments(&mut self, inputs: &[&Argument<'_>]) {
        let function = self.function;
        if function.kind == NodeType::VISIBLE_FUNCTION && function.stitching.is_none() {
            self.put(TokenKind::Comment, "/* types are not recorded */");
        }
        let mut lines = Vec::new();
        for argument in &function.arguments {
            if !self.is_stage_input(argument) {
                lines.push(argument_line(function.kind, argument));
            } else if inputs.first().is_some_and(|first| core::ptr::eq(*first, argument)) {
                lines.push(Line {
                    keywords: String::new(),
                    type_name: self.structure_name("_in"),
                    suffix: String::new(),
                    name: String::from("in"),
                    attribute: String::from("stage_in"),
                    comment: String::new(),
                });
            }
        }
        for argument in function.stitching.iter().flat_map(|stitching| &stitching.arguments) {
            lines.push(Line {
                keywords: String::new(),
                type_name: argument.type_name.clone(),
                suffix: String::new(),
                name: argument.name.map_or(String::new(), |name| show(name).into_owned()),
                attribute: String::new(),
                comment: String::new(),
            });
        }
        self.lines(&lines, ",", ")");
        if lines.is_empty() {
            self.put(TokenKind::Punctuation, ")");
        }
    }

    /// Prints lines in columns, with `separator` after all but the last and `end` after the last.
    fn lines(&mut self, lines: &[Line], separator: &str, end: &str) {
        let width = |of: fn(&Line) -> usize| {
            lines.iter().map(of).filter(|&width| width <= MAX_COLUMN).max().unwrap_or(0)
        };
        let type_width = width(Line::type_width);
        let name_width = width(|line| line.name.chars().count());
        let attribute_width = width(|line| line.attribute.chars().count());
        for (index, line) in lines.iter().enumerate() {
            let last = index.saturating_add(1) == lines.len();
            let separator = if last { end } else { separator };
            self.newline();
            self.put(TokenKind::Space, "    ");
            if !line.keywords.is_empty() {
                self.put(TokenKind::Keyword, &line.keywords);
            }
            self.put(TokenKind::Type, &line.type_name);
            if !line.suffix.is_empty() {
                self.put(TokenKind::Punctuation, &line.suffix);
            }
            // Pad up to the next column only if something follows.
            let mut pad = type_width.saturating_sub(line.type_width());
            if !line.name.is_empty() {
                self.pad(pad.saturating_add(1));
                self.put(TokenKind::Variable, &line.name);
                pad = 0;
            } else if name_width > 0 {
                pad = pad.saturating_add(1);
            }
            pad = pad.saturating_add(name_width.saturating_sub(line.name.chars().count()));
            if !line.attribute.is_empty() {
                self.pad(pad.saturating_add(1));
                self.put(TokenKind::Attribute, &format!("[[{}]]", line.attribute));
                pad = 0;
            } else if attribute_width > 0 {
                pad = pad.saturating_add(5);
            }
            pad = pad.saturating_add(attribute_width.saturating_sub(line.attribute.chars().count()));
            self.put(TokenKind::Punctuation, separator);
            if !line.comment.is_empty() {
                self.pad(pad);
                self.comment(&line.comment);
            }
        }
    }

    fn comment(&mut self, comment: &str) {
        self.put(TokenKind::Space, " ");
        self.put(TokenKind::Comment, &format!("// {comment}"));
    }

    fn pad(&mut self, count: usize) {
        if count > 0 {
            self.put(TokenKind::Space, &" ".repeat(count));
        }
    }

    fn newline(&mut self) {
        self.put(TokenKind::Space, "\n");
    }

    fn put(&mut self, kind: TokenKind, text: &str) {
        self.sink.put(kind, text);
    }
}

/// Escapes a name from the file.
fn show(name: &[u8]) -> Cow<'_, str> {
    Escaped(name).to_cow()
}

/// Escapes a type's name from the file; `void` if there is none.
fn type_of(name: Option<&[u8]>) -> String {
    name.map_or(Cow::Borrowed("void"), show).into_owned()
}

fn argument_line(function: NodeType, argument: &Argument<'_>) -> Line {
    let mut line = Line {
        keywords: String::new(),
        type_name: type_of(argument.type_name),
        suffix: String::new(),
        name: argument.name.map_or(String::new(), |name| show(name).into_owned()),
        attribute: argument.attribute(),
        comment: String::new(),
    };
    let mut comments: Vec<Cow<'_, str>> = Vec::new();
    if argument.kind.schema().is_none() {
        line.type_name = format!("/* argument of type {} */", argument.kind);
    }
    if argument.is_buffer() {
        buffer(argument, &mut line, &mut comments);
    } else if argument.kind == NodeType::PAYLOAD_ARG {
        // The payload from an object function to its mesh functions, or of a ray for intersection functions.
        let meshes = matches!(function, NodeType::MESH_FUNCTION | NodeType::OBJECT_FUNCTION);
        let space = if meshes { AddressSpace::OBJECT_DATA } else { AddressSpace::RAY_DATA };
        let _ = write!(line.keywords, "{space} ");
        line.suffix = String::from("&");
    } else if argument.index_count.is_some_and(|count| count > 1) {
        comments.push(Cow::Owned(format!("{} indices", argument.index_count.unwrap_or_default())));
    }
    if argument.function_constant && argument.predicate.is_none() {
        comments.push(Cow::Borrowed(CONDITIONAL));
    }
    if argument.unused {
        comments.push(Cow::Borrowed("unused"));
    }
    line.comment = comments.join(", ");
    line
}

/// Adds address space, access and indirection of a buffer.
fn buffer(argument: &Argument<'_>, line: &mut Line, comments: &mut Vec<Cow<'_, str>>) {
    let space = argument.address_space.unwrap_or(AddressSpace::DEVICE);
    let _ = write!(line.keywords, "{space} ");
    let constant = space == AddressSpace::CONSTANT;
    // Constant memory is read-only; `const` would be redundant.
    if argument.access == Some(Access::READ) && !constant {
        line.keywords.push_str("const ");
    }
    match argument.access {
        Some(Access::READ) if constant => {}
        Some(Access::READ_WRITE) => comments.push(Cow::Borrowed("read and write")),
        Some(Access::INVALID) | None => {}
        Some(access) => comments.push(Cow::Owned(access.to_string())),
    }
    let element = argument.type_size.unwrap_or(0);
    match argument.buffer_size {
        // A reference has a size, a pointer does not.
        None => {
            line.suffix = String::from("*");
            if element != 0 {
                comments.push(Cow::Owned(format!("{element}-byte elements")));
            }
        }
        Some(size) => {
            let count = size.checked_div(element).unwrap_or(1);
            if count > 1 {
                line.name = format!("(&{})[{count}]", line.name);
            } else {
                line.suffix = String::from("&");
            }
            if argument.struct_type.is_some() {
                comments.push(Cow::Owned(format!("{size} bytes")));
            }
        }
    }
    if argument.kind == NodeType::INDIRECT_BUFFER_ARG {
        comments.push(Cow::Borrowed("argument buffer"));
    }
    if let Some(count) = argument.index_count.filter(|&count| count > 1) {
        comments.push(Cow::Owned(format!("{count} indices")));
    }
}

fn return_line(value: &Return<'_>) -> Line {
    let mut comments = Vec::new();
    if let Some(rounding) = value.rounding.filter(|rounding| rounding.0 != 0) {
        comments.push(format!("rounded {rounding}"));
    }
    if value.function_constant && value.predicate.is_none() {
        comments.push(String::from(CONDITIONAL));
    }
    let mut name = value.name.map_or(String::new(), |name| show(name).into_owned());
    if let Some(size) = value.array_size {
        let _ = write!(name, "[{size}]");
    }
    let type_name = match value.kind.schema() {
        Some(_) => type_of(value.type_name),
        None => format!("/* result of type {} */", value.kind),
    };
    Line {
        keywords: String::new(),
        type_name,
        suffix: String::new(),
        name,
        attribute: value.attribute(),
        comment: comments.join(", "),
    }
}
