//! Printing of modules.

use super::layout::{HIDDEN, Layout};
use crate::{
    BlockId, Callee, End, Function, Image, Member, Module, NO_ADDRESS, OPERATORS, ObjectSpace, Op, Parameter,
    Space, ValueId,
};
use std::fmt::{Display, Formatter, Result, Write};

impl Display for Module<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let kind = if self.is_kernel { "kernel" } else { "function" };
        write!(f, "{kind} {} shared {} local {}", Quoted(&self.name), self.shared_size, self.local_size)?;
        self.max_threads.map_or(Ok(()), |threads| write!(f, " threads {threads}"))?;
        writeln!(f, "{}", if self.flushes { " flushes" } else { "" })?;
        for (id, structure) in self.structures.entries() {
            write!(f, "structure t{} {} size {}", id.number(), Quoted(&structure.name), structure.size)?;
            f.write_str(if structure.is_builtin { " builtin (" } else { " (" })?;
            list(f, &structure.members, |f, member| member.fmt(f))?;
            writeln!(f, ")")?;
        }
        self.result.map_or(Ok(()), |ty| writeln!(f, "result {ty}"))?;
        for parameter in &self.parameters {
            writeln!(f, "parameter {parameter}")?;
        }
        for object in self.objects.iter() {
            write!(f, "object {} {}", Quoted(&object.name), object.space)?;
            write!(f, " offset {} size {}", object.offset, object.size)?;
            if !object.bytes.is_empty() {
                f.write_str(" bytes ")?;
                digits(f, &object.bytes)?;
            }
            if !object.pointers.is_empty() {
                f.write_str(" pointers [")?;
                list(f, &object.pointers, |f, pointer| {
                    write!(f, "{} {} {}", pointer.offset, Quoted(&pointer.symbol), pointer.addend)
                })?;
                f.write_char(']')?;
            }
            writeln!(f)?;
        }
        for (bank, bytes) in &self.constants {
            write!(f, "constants {bank} ")?;
            digits(f, bytes)?;
            writeln!(f)?;
        }
        for callee in &self.pointed {
            writeln!(f, "pointed {callee}")?;
        }
        for (number, variable) in self.variables.iter().enumerate() {
            write!(f, "variable x{number} {}", Quoted(&variable.name))?;
            variable.ty.map_or(Ok(()), |ty| write!(f, " {ty}"))?;
            variable.counts.iter().try_for_each(|count| write!(f, "[{count}]"))?;
            if let Some(place) = variable.place {
                write!(f, " in {} offset {} size {}", place.space, place.offset, place.size)?;
            }
            writeln!(f, "{}", if variable.is_symbol { " symbol" } else { "" })?;
        }
        self.function.fmt(f)
    }
}

impl Display for Function {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        for (id, symbol) in self.symbols.entries() {
            writeln!(f, "symbol s{} {}", id.number(), Quoted(symbol))?;
        }
        for (id, note) in self.notes.entries() {
            writeln!(f, "note n{} {}", id.number(), Quoted(note))?;
        }
        for (id, image) in self.images.entries() {
            writeln!(f, "image i{} {image}", id.number())?;
        }
        for (id, callee) in self.callees.entries() {
            writeln!(f, "callee c{} {callee}", id.number())?;
        }
        let layout = Layout::new(self);
        for (block, values) in &layout.blocks {
            block_head(f, self, &layout, *block)?;
            for &id in values {
                f.write_str("    ")?;
                value(f, self, &layout, id)?;
                writeln!(f)?;
            }
            f.write_str("    ")?;
            end(f, self, &layout, *block)?;
        }
        for (variable, value) in &self.named {
            write!(f, "named x{variable} ")?;
            input(f, self, &layout, *value)?;
            writeln!(f)?;
        }
        let has_number = |id: &ValueId| layout.value_number[*id] != HIDDEN;
        for id in self.signed.iter().map(|id| self.resolve(*id)).filter(has_number) {
            f.write_str("signed ")?;
            input(f, self, &layout, id)?;
            writeln!(f)?;
        }
        Ok(())
    }
}

impl Display for Parameter {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{} size {}", self.offset, self.size)?;
        self.ty.map_or(Ok(()), |ty| write!(f, " {ty}"))?;
        self.name.as_ref().map_or(Ok(()), |name| write!(f, " {}", Quoted(name)))
    }
}

impl Display for Member {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{} {} {}", self.offset, Quoted(&self.name), self.ty)?;
        self.counts.iter().try_for_each(|count| write!(f, "[{count}]"))
    }
}

impl Display for Callee {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{} words {} ", Quoted(&self.name), self.words)?;
        self.result.map_or(Ok(()), |ty| write!(f, "{ty} "))?;
        f.write_char('(')?;
        list(f, &self.parameters, |f, parameter| parameter.fmt(f))?;
        f.write_char(')')
    }
}

impl Display for Image {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{} {}", self.access, self.shape)?;
        self.reference.map_or(Ok(()), |symbol| write!(f, " s{}", symbol.number()))?;
        write!(f, " {}x{}", self.words, self.bits)?;
        f.write_str(if self.is_signed { " signed " } else { " " })?;
        self.boundary.fmt(f)
    }
}

impl Display for Space {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Generic => f.write_str("generic"),
            Self::Shared => f.write_str("shared"),
            Self::Local => f.write_str("local"),
            Self::Constant(bank) => write!(f, "constant.{bank}"),
        }
    }
}

impl Display for ObjectSpace {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Constant(bank) => write!(f, "constant.{bank}"),
            Self::Global => f.write_str("global"),
            Self::Shared => f.write_str("shared"),
            Self::Texture => f.write_str("texture"),
            Self::Surface => f.write_str("surface"),
        }
    }
}

fn digits(f: &mut Formatter<'_>, bytes: &[u8]) -> Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

/// Text in quotation marks.
struct Quoted<'a>(&'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                ' '..='~' => f.write_char(c)?,
                c => write!(f, "\\u{{{:x}}}", u32::from(c))?,
            }
        }
        f.write_char('"')
    }
}

/// Returns the line of a value and the number of its block, as they are in the text of the function.
pub fn describe(function: &Function, id: ValueId) -> String {
    let layout = Layout::new(function);
    let mut text = String::new();
    let block = function.values.get(id).map_or(BlockId::NONE, |value| value.block);
    let number = layout.block_number.get(block).copied().unwrap_or(HIDDEN);
    let _ = Numbered('b', number).write(&mut text);
    text.push_str(": ");
    match function.values.contains_key(id) {
        true => drop(value(&mut text, function, &layout, id)),
        false => text.push_str("none"),
    }
    text
}

/// A number after a letter.
struct Numbered(char, u32);

impl Numbered {
    fn write(&self, f: &mut impl Write) -> Result {
        if self.1 == HIDDEN { f.write_str("none") } else { write!(f, "{}{}", self.0, self.1) }
    }
}

/// Writes items with commas between them.
fn list<W: Write, T>(
    f: &mut W,
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut W, T) -> Result,
) -> Result {
    for (index, item) in items.into_iter().enumerate() {
        f.write_str(if index == 0 { "" } else { ", " })?;
        write(f, item)?;
    }
    Ok(())
}

fn block_name(f: &mut impl Write, layout: &Layout, block: BlockId) -> Result {
    Numbered('b', layout.block_number.get(block).copied().unwrap_or(HIDDEN)).write(f)
}

/// Writes an input: a constant, or the number of a value.
fn input(f: &mut impl Write, function: &Function, layout: &Layout, id: ValueId) -> Result {
    if !function.values.contains_key(id) {
        return f.write_str("none");
    }
    let id = function.resolve(id);
    match function.op(id) {
        Op::Constant(number) if number < 0x100 => write!(f, "{number}:{}", function.width(id)),
        Op::Constant(number) => write!(f, "{number:#x}:{}", function.width(id)),
        _ => Numbered('v', layout.value_number[id]).write(f),
    }
}

fn block_head(f: &mut impl Write, function: &Function, layout: &Layout, block: BlockId) -> Result {
    block_name(f, layout, block)?;
    let found = &function.blocks[block];
    write!(f, " @{:#x}", found.address)?;
    if !found.predecessors.is_empty() {
        f.write_str(" <- ")?;
        list(f, &found.predecessors, |f, block| block_name(f, layout, *block))?;
    }
    f.write_str(":\n")
}

/// Writes a value: number, width, operator, inputs and address.
fn value(f: &mut impl Write, function: &Function, layout: &Layout, id: ValueId) -> Result {
    let value = function.values[id];
    let number = layout.value_number[id];
    if value.width != 0 && number != HIDDEN {
        write!(f, "v{number}:{}", value.width)?;
        if value.lanes != 1 {
            write!(f, " x{}", value.lanes)?;
        }
        f.write_str(" = ")?;
    }
    f.write_str(if value.is_volatile { "volatile " } else { "" })?;
    f.write_str(if value.is_precise { "precise " } else { "" })?;
    operator(f, value.op)?;
    let inputs = function.inputs(id);
    f.write_str(if inputs.is_empty() { "" } else { " " })?;
    list(f, inputs, |f, id| input(f, function, layout, *id))?;
    if value.address == NO_ADDRESS { Ok(()) } else { write!(f, " @{:#x}", value.address) }
}

fn operator(f: &mut impl Write, op: Op) -> Result {
    match op {
        Op::Constant(number) => write!(f, "constant {number}"),
        Op::Parameter(offset) => write!(f, "parameter {offset}"),
        Op::Special(special) => write!(f, "special {special}"),
        Op::Symbol(symbol) => write!(f, "symbol s{}", symbol.number()),
        Op::Load(space) => write!(f, "load.{space}"),
        Op::Store(space) => write!(f, "store.{space}"),
        Op::Call(call) => write!(f, "call {call}"),
        Op::Shader(op) => write!(f, "shader {op}"),
        Op::Metal(op) => write!(f, "metal {op}"),
        Op::Offset(size) => write!(f, "offset.{size}"),
        Op::Element(size) => write!(f, "element.{size}"),
        Op::Member(number, offset) => write!(f, "member.{number}.{offset}"),
        Op::WithMember(number) => write!(f, "with_member.{number}"),
        Op::Aggregate => f.write_str("aggregate"),
        Op::ExtractLane => f.write_str("extract_lane"),
        Op::InsertLane => f.write_str("insert_lane"),
        Op::Lanes(lanes) => {
            f.write_str("lanes")?;
            lanes.numbers().iter().try_for_each(|number| write!(f, ".{number}"))
        }
        Op::ImageRead(image) => write!(f, "image_read i{}", image.number()),
        Op::ImageWrite(image) => write!(f, "image_write i{}", image.number()),
        Op::Result(word) => write!(f, "result.{word}"),
        Op::Invoke(callee) => write!(f, "invoke c{}", callee.number()),
        Op::Return => f.write_str("return_value"),
        Op::Unlifted(note) => write!(f, "unlifted n{}", note.number()),
        op => f.write_str(OPERATORS.iter().find(|row| row.0 == op).map_or("", |row| row.1)),
    }
}

fn end(f: &mut impl Write, function: &Function, layout: &Layout, block: BlockId) -> Result {
    match &function.blocks[block].end {
        End::Open => f.write_str("open")?,
        End::Return => f.write_str("return")?,
        End::Goto(to) => {
            f.write_str("goto ")?;
            block_name(f, layout, *to)?;
        }
        End::Branch { condition, yes, no } => {
            f.write_str("branch ")?;
            input(f, function, layout, *condition)?;
            for to in [yes, no] {
                f.write_str(", ")?;
                block_name(f, layout, *to)?;
            }
        }
        End::Switch { selector, cases, otherwise } => {
            f.write_str("switch ")?;
            input(f, function, layout, *selector)?;
            f.write_str(" [")?;
            list(f, cases, |f, (number, to)| {
                write!(f, "{number}: ")?;
                block_name(f, layout, *to)
            })?;
            f.write_str("]")?;
            if let Some(to) = otherwise {
                f.write_str(" ")?;
                block_name(f, layout, *to)?;
            }
        }
    }
    f.write_str("\n")
}
