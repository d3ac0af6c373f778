//! Reading of modules.
//!
//! Lines are parsed in order, into blocks whose values refer to others by number; then the function is built. Nothing is
//! checked beyond the form: [`verify`](crate::verify) knows what a sound function is.

use super::cursor::{Cursor, Place, TextError};
use crate::hash::FastMap;
use crate::ty::Type;
use crate::{
    BlockId, Boundary, Callee, CalleeId, End, Function, Image, ImageAccess, ImageId, ImageShape,
    InitialPointer, Intrinsic, Lanes, Member, MemoryObject, MetalOp, Module, NO_ADDRESS, NoteId, OPERATORS,
    ObjectSpace, Op, Parameter, ShaderOp, SourceVariable, Space, Special, Structure, SymbolId, ValueId,
    VariablePlace,
};
use std::borrow::Cow;

type Result<T> = std::result::Result<T, TextError>;

/// The widest value, in bits.
const MAX_WIDTH: u64 = 128;

/// Parses the text of a module.
///
/// # Errors
///
/// If it has another form than [`Module`] prints.
///
/// ```
/// let text = "kernel \"f\" shared 0 local 0\nb0 @0x0:\n    v0:32 = add 1:32, 2:32\n    store.shared 0:32, v0\n    return\n";
/// let module = unshade_ir::text::parse(text)?;
/// assert_eq!(module.to_string(), text);
/// # Ok::<(), unshade_ir::text::TextError>(())
/// ```
pub fn parse(text: &str) -> Result<Module<'static>> {
    let mut parser = Parser::default();
    let mut has_head = false;
    for (index, line) in text.lines().enumerate() {
        let mut cursor = Cursor::new(line, index + 1);
        if cursor.is_at_end() {
            continue;
        }
        if has_head {
            parser.line(&mut cursor)?;
        } else {
            parser.head(&mut cursor)?;
            has_head = true;
        }
        cursor.end()?;
    }
    if !has_head {
        return Err(Place::START.error("expected `kernel` or `function`"));
    }
    parser.build()
}

/// An input of a value.
enum Input {
    None,
    Constant(u64, u8),
    Value(u32, Place),
}

/// A line of a block.
struct Line {
    /// Its number, where it has a result.
    name: Option<(u32, Place)>,
    width: u8,
    op: Op,
    inputs: Vec<Input>,
    address: u32,
    is_volatile: bool,
    is_precise: bool,
    lanes: u16,
}

/// A reference to a block.
type Target = (u32, Place);

/// The end of a block.
enum Ending {
    Open,
    Return,
    Goto(Target),
    Branch(Input, Target, Target),
    Switch(Input, Vec<(u64, Target)>, Option<Target>),
}

struct Body {
    name: Target,
    address: u32,
    predecessors: Vec<Target>,
    lines: Vec<Line>,
    end: Option<Ending>,
}

#[derive(Default)]
struct Parser {
    module: Module<'static>,
    objects: Vec<MemoryObject<'static>>,
    bodies: Vec<Body>,
    /// The values of variables: the number of the variable, and the value.
    named: Vec<(u32, Input)>,
    /// The values that were used as signed integers.
    signed: Vec<Input>,
}

impl Parser {
    /// Parses `kernel "name" shared 0 local 0`, perhaps with `threads 256` and `flushes`.
    fn head(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        self.module.is_kernel = match cursor.word() {
            "kernel" => true,
            "function" => false,
            _ => return Err(cursor.error("expected `kernel` or `function`")),
        };
        self.module.name = cursor.quoted()?;
        cursor.keyword("shared")?;
        self.module.shared_size = cursor.number()?;
        cursor.keyword("local")?;
        self.module.local_size = cursor.small()?;
        self.module.max_threads = if cursor.take_word("threads") { Some(cursor.small()?) } else { None };
        self.module.flushes = cursor.take_word("flushes");
        Ok(())
    }

    fn line(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        if !self.bodies.is_empty() {
            return self.body_line(cursor);
        }
        let start = cursor.clone();
        match cursor.word() {
            "parameter" => {
                let parameter = parameter(cursor)?;
                self.module.parameters.push(parameter);
            }
            "object" => {
                let object = object(cursor)?;
                self.objects.push(object);
            }
            "constants" => {
                let bank = cursor.small()?;
                let bytes = cursor.bytes()?;
                self.module.constants.push((bank, Cow::Owned(bytes)));
            }
            "structure" => {
                cursor.entry('t', self.module.structures.len())?;
                let structure = structure(cursor)?;
                self.module.structures.push(structure);
            }
            "result" => self.module.result = Some(ty(cursor)?),
            "pointed" => {
                let callee = callee(cursor)?;
                self.module.pointed.push(callee);
            }
            "variable" => {
                let name = cursor.entry('x', self.module.variables.len())?.quoted()?;
                let variable = variable(cursor, name)?;
                self.module.variables.push(variable);
            }
            "symbol" => {
                let name = cursor.entry('s', self.module.function.symbols.len())?.quoted()?;
                self.module.function.symbols.push(name);
            }
            "note" => {
                let text = cursor.entry('n', self.module.function.notes.len())?.quoted()?;
                self.module.function.notes.push(text);
            }
            "image" => {
                cursor.entry('i', self.module.function.images.len())?;
                let image = image(cursor, self.module.function.symbols.len())?;
                self.module.function.images.push(image);
            }
            "callee" => {
                cursor.entry('c', self.module.function.callees.len())?;
                let callee = callee(cursor)?;
                self.module.function.callees.push(callee);
            }
            _ => {
                *cursor = start;
                return self.body_line(cursor);
            }
        }
        Ok(())
    }

    fn body_line(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        if let Some(name) = cursor.numbered('b') {
            let address = cursor.address()?.unwrap_or(0);
            let mut predecessors = Vec::new();
            if cursor.eat("<-") {
                predecessors = cursor.list(Cursor::block)?;
            }
            cursor.expect(":")?;
            self.bodies.push(Body { name, address, predecessors, lines: Vec::new(), end: None });
            return Ok(());
        }
        if cursor.take_word("named") {
            let variable = cursor.reference('x', self.module.variables.len())?;
            self.named.push((variable, existing(cursor)?));
            return Ok(());
        }
        if cursor.take_word("signed") {
            self.signed.push(existing(cursor)?);
            return Ok(());
        }
        let function = &self.module.function;
        let Some(body) = self.bodies.last_mut() else {
            return Err(cursor.error("expected a declaration or a block"));
        };
        if body.end.is_some() {
            return Err(cursor.error("the block has ended"));
        }
        match ending(cursor)? {
            Some(end) => body.end = Some(end),
            None => body.lines.push(value_line(cursor, function)?),
        }
        Ok(())
    }

    fn build(self) -> Result<Module<'static>> {
        let Self { mut module, objects, bodies, named, signed } = self;
        module.objects = Cow::Owned(objects);
        let function = &mut module.function;
        let mut blocks: FastMap<u32, BlockId> = FastMap::default();
        for body in &bodies {
            if blocks.insert(body.name.0, function.block(body.address)).is_some() {
                return Err(body.name.1.error(format!("there are two blocks b{}", body.name.0)));
            }
        }
        let block_of = |target: &Target| {
            let found = blocks.get(&target.0).copied();
            found.ok_or_else(|| target.1.error(format!("there is no b{}", target.0)))
        };
        let mut values: FastMap<u32, ValueId> = FastMap::default();
        let mut ids = Vec::new();
        for (block, line) in lines(&bodies) {
            let id = function.raw(line.op, line.width, block, line.address, &[]);
            let value = &mut function.values[id];
            (value.is_volatile, value.is_precise) = (line.is_volatile, line.is_precise);
            value.lanes = line.lanes;
            ids.push(id);
            if let Some((name, place)) = line.name
                && values.insert(name, id).is_some()
            {
                return Err(place.error(format!("there are two values v{name}")));
            }
        }
        let resolve = |function: &mut Function, input: &Input| match input {
            Input::None => Ok(ValueId::NONE),
            Input::Constant(number, width) => Ok(function.constant(*number, *width)),
            Input::Value(name, place) => {
                values.get(name).copied().ok_or_else(|| place.error(format!("there is no v{name}")))
            }
        };
        for ((block, line), id) in lines(&bodies).zip(ids) {
            let inputs: Result<Vec<ValueId>> =
                line.inputs.iter().map(|input| resolve(function, input)).collect();
            function.set_inputs(id, &inputs?);
            match line.op {
                Op::Phi => function.blocks[block].phis.push(id),
                op if op.is_effect() => function.blocks[block].effects.push(id),
                _ => {}
            }
        }
        for (index, body) in (0..).zip(&bodies) {
            let block = BlockId::new(index);
            let predecessors: Result<Vec<BlockId>> = body.predecessors.iter().map(block_of).collect();
            function.blocks[block].predecessors = predecessors?;
            let end = match &body.end {
                None | Some(Ending::Open) => End::Open,
                Some(Ending::Return) => End::Return,
                Some(Ending::Goto(to)) => End::Goto(block_of(to)?),
                Some(Ending::Branch(condition, yes, no)) => {
                    let condition = resolve(function, condition)?;
                    End::Branch { condition, yes: block_of(yes)?, no: block_of(no)? }
                }
                Some(Ending::Switch(selector, cases, otherwise)) => {
                    let selector = resolve(function, selector)?;
                    let case = |case: &(u64, Target)| Ok((case.0, block_of(&case.1)?));
                    let cases: Result<Vec<(u64, BlockId)>> = cases.iter().map(case).collect();
                    let otherwise = otherwise.as_ref().map(block_of).transpose()?;
                    End::Switch { selector, cases: cases?, otherwise }
                }
            };
            function.blocks[block].end = end;
        }
        for (variable, value) in &named {
            let value = resolve(function, value)?;
            function.named.push((*variable, value));
        }
        for value in &signed {
            let value = resolve(function, value)?;
            function.signed.push(value);
        }
        Ok(module)
    }
}

/// Returns the lines of all blocks in order.
fn lines(bodies: &[Body]) -> impl Iterator<Item = (BlockId, &Line)> {
    let blocks = (0..).map(BlockId::new).zip(bodies);
    blocks.flat_map(|(block, body)| body.lines.iter().map(move |line| (block, line)))
}

/// Parses a value that must be there.
fn existing(cursor: &mut Cursor<'_>) -> Result<Input> {
    if cursor.is_at("none") {
        return Err(cursor.error("expected a value"));
    }
    input(cursor)
}

/// Parses `0 size 8 f32* "name"`.
fn parameter(cursor: &mut Cursor<'_>) -> Result<Parameter> {
    let offset = cursor.small()?;
    cursor.keyword("size")?;
    let size = cursor.small()?;
    let ty = optional_type(cursor)?;
    let name = if cursor.is_at("\"") { Some(cursor.quoted()?) } else { None };
    Ok(Parameter { offset, size, ty, name })
}

/// Parses `"Body" size 24 (0 "place" f32[3], 16 "next" t0*)`.
fn structure(cursor: &mut Cursor<'_>) -> Result<Structure> {
    let name = cursor.quoted()?;
    cursor.keyword("size")?;
    let size = cursor.small()?;
    let is_builtin = cursor.take_word("builtin");
    let mut members = Vec::new();
    cursor.expect("(")?;
    while !cursor.eat(")") {
        if !members.is_empty() {
            cursor.expect(",")?;
        }
        let offset = cursor.small()?;
        let name = cursor.quoted()?;
        let ty = ty(cursor)?;
        members.push(Member { name, offset, ty, counts: counts(cursor)? });
    }
    Ok(Structure { name, size, is_builtin, members })
}

/// Parses the dimensions of an array.
fn counts(cursor: &mut Cursor<'_>) -> Result<Vec<u32>> {
    let mut counts = Vec::new();
    while cursor.eat("[") {
        counts.push(cursor.small()?);
        cursor.expect("]")?;
    }
    Ok(counts)
}

/// Parses what follows the name of a variable: `f32[4] in local offset 16 size 16 symbol`.
fn variable(cursor: &mut Cursor<'_>, name: String) -> Result<SourceVariable> {
    let is_next = |word: &str| cursor.clone().take_word(word);
    let is_missing = cursor.is_at("[") || is_next("in") || is_next("symbol");
    let ty = if is_missing { None } else { optional_type(cursor)? };
    let counts = counts(cursor)?;
    let mut place = None;
    if cursor.take_word("in") {
        let space = cursor.member("a memory", space)?;
        cursor.keyword("offset")?;
        let offset = cursor.small()?;
        cursor.keyword("size")?;
        place = Some(VariablePlace { space, offset, size: cursor.small()? });
    }
    Ok(SourceVariable { name, ty, counts, place, is_symbol: cursor.take_word("symbol") })
}

/// Parses a type if there is one.
fn optional_type(cursor: &mut Cursor<'_>) -> Result<Option<Type>> {
    let is_missing = cursor.is_at_end() || [",", ")", "\""].iter().any(|next| cursor.is_at(next));
    if is_missing { Ok(None) } else { ty(cursor).map(Some) }
}

fn ty(cursor: &mut Cursor<'_>) -> Result<Type> {
    let start = cursor.clone();
    let mut name = String::from(cursor.word());
    if cursor.eat("*") {
        name.push('*');
    }
    Type::by_name(&name).ok_or_else(|| start.error(format!("unknown type `{name}`")))
}

/// Parses `"name" constant.3 offset 16 size 8 bytes 0100ff pointers [8 "other" 4]`.
fn object(cursor: &mut Cursor<'_>) -> Result<MemoryObject<'static>> {
    let name = cursor.quoted()?;
    let start = cursor.clone();
    let space = match cursor.word() {
        "global" => ObjectSpace::Global,
        "shared" => ObjectSpace::Shared,
        "texture" => ObjectSpace::Texture,
        "surface" => ObjectSpace::Surface,
        word => ObjectSpace::Constant(bank(word).ok_or_else(|| start.error("expected a memory"))?),
    };
    cursor.keyword("offset")?;
    let offset = cursor.number()?;
    cursor.keyword("size")?;
    let size = cursor.number()?;
    let bytes = if cursor.take_word("bytes") { cursor.bytes()? } else { Vec::new() };
    let mut pointers = Vec::new();
    if cursor.take_word("pointers") {
        cursor.expect("[")?;
        pointers = cursor.list(|cursor| {
            let (offset, symbol) = (cursor.number()?, cursor.quoted()?);
            Ok(InitialPointer { offset, symbol, addend: cursor.signed()? })
        })?;
        cursor.expect("]")?;
    }
    Ok(MemoryObject { name: name.into(), space, offset, size, bytes: bytes.into(), pointers })
}

/// Parses `constant.3`.
fn bank(word: &str) -> Option<u8> {
    word.strip_prefix("constant.")?.parse().ok()
}

/// Parses `"name" words 1 f32 (0 size 4 i32, 4 size 8)`; the type of the result may be missing.
fn callee(cursor: &mut Cursor<'_>) -> Result<Callee> {
    let name = cursor.quoted()?;
    cursor.keyword("words")?;
    let words = cursor.small()?;
    let result = if cursor.is_at("(") { None } else { Some(ty(cursor)?) };
    cursor.expect("(")?;
    let parameters = if cursor.is_at(")") { Vec::new() } else { cursor.list(parameter)? };
    cursor.expect(")")?;
    Ok(Callee { name, parameters, words, result })
}

/// Parses `sample 2d s0 4x32 signed trap`; the reference and `signed` may be missing.
fn image(cursor: &mut Cursor<'_>, symbols: usize) -> Result<Image> {
    let access = cursor.member("an access", ImageAccess::by_name)?;
    let shape = cursor.member("a shape", ImageShape::by_name)?;
    let reference = match cursor.is_at("s") {
        true => Some(SymbolId::new(cursor.reference('s', symbols)?)),
        false => None,
    };
    let size = |word: &str| {
        let (words, bits) = word.split_once('x')?;
        Some((words.parse::<u8>().ok()?, bits.parse::<u8>().ok()?))
    };
    let (words, bits) = cursor.member("words and bits", size)?;
    let is_signed = cursor.take_word("signed");
    let boundary = cursor.member("a boundary", Boundary::by_name)?;
    Ok(Image { access, shape, reference, words, bits, is_signed, boundary })
}

/// Parses the end of a block; `None` if the line is a value.
fn ending(cursor: &mut Cursor<'_>) -> Result<Option<Ending>> {
    let start = cursor.clone();
    Ok(Some(match cursor.word() {
        "open" => Ending::Open,
        "return" => Ending::Return,
        "goto" => Ending::Goto(cursor.block()?),
        "branch" => {
            let condition = input(cursor)?;
            cursor.expect(",")?;
            let yes = cursor.block()?;
            cursor.expect(",")?;
            Ending::Branch(condition, yes, cursor.block()?)
        }
        "switch" => {
            let selector = input(cursor)?;
            cursor.expect("[")?;
            let case = |cursor: &mut Cursor<'_>| {
                let number = cursor.number()?;
                cursor.expect(":")?;
                Ok((number, cursor.block()?))
            };
            let cases = if cursor.is_at("]") { Vec::new() } else { cursor.list(case)? };
            cursor.expect("]")?;
            let otherwise = if cursor.is_at_end() { None } else { Some(cursor.block()?) };
            Ending::Switch(selector, cases, otherwise)
        }
        _ => {
            *cursor = start;
            return Ok(None);
        }
    }))
}

/// Parses `v1:32 = add v0, 5:32 @0x18` or `v1:32 x4 = vector v0, v0`.
fn value_line(cursor: &mut Cursor<'_>, function: &Function) -> Result<Line> {
    let (mut width, mut lanes) = (0, 1);
    let name = cursor.numbered('v');
    if name.is_some() {
        cursor.expect(":")?;
        width = self::width(cursor)?;
        if let Some((count, _)) = cursor.numbered('x') {
            lanes = u16::try_from(count).map_err(|_| cursor.error("too many lanes"))?;
        }
        cursor.expect("=")?;
    }
    let is_volatile = cursor.take_word("volatile");
    let is_precise = cursor.take_word("precise");
    let op = operator(cursor, function)?;
    let has_inputs = !cursor.is_at_end() && !cursor.is_at("@");
    let inputs = if has_inputs { cursor.list(input)? } else { Vec::new() };
    let address = cursor.address()?.unwrap_or(NO_ADDRESS);
    Ok(Line { name, width, lanes, op, inputs, address, is_volatile, is_precise })
}

fn width(cursor: &mut Cursor<'_>) -> Result<u8> {
    let start = cursor.clone();
    let found = cursor.number()?;
    let width = u8::try_from(found).ok().filter(|_| (1..=MAX_WIDTH).contains(&found));
    width.ok_or_else(|| start.error(format!("expected a width from 1 to {MAX_WIDTH}")))
}

/// Parses `v3`, `5:32` or `none`.
fn input(cursor: &mut Cursor<'_>) -> Result<Input> {
    if cursor.take_word("none") {
        return Ok(Input::None);
    }
    if let Some((name, place)) = cursor.numbered('v') {
        return Ok(Input::Value(name, place));
    }
    let number = cursor.number()?;
    cursor.expect(":")?;
    Ok(Input::Constant(number, width(cursor)?))
}

/// Returns the memory with a name.
fn space(name: &str) -> Option<Space> {
    match name {
        "generic" => Some(Space::Generic),
        "shared" => Some(Space::Shared),
        "local" => Some(Space::Local),
        name => Some(Space::Constant(bank(name)?)),
    }
}

/// Returns the lanes with numbers such as `0.2.1`.
fn lanes(numbers: &str) -> Option<Lanes> {
    let numbers: Option<Vec<u8>> = numbers.split('.').map(|number| number.parse().ok()).collect();
    Lanes::new(&numbers?)
}

/// Parses an operator with its parts.
fn operator(cursor: &mut Cursor<'_>, function: &Function) -> Result<Op> {
    let start = cursor.clone();
    let word = cursor.word();
    let found = match word {
        "constant" => Some(Op::Constant(cursor.number()?)),
        "parameter" => Some(Op::Parameter(cursor.small()?)),
        "special" => Some(Op::Special(cursor.member("a special value", Special::by_name)?)),
        "call" => Some(Op::Call(cursor.member("an intrinsic", Intrinsic::by_name)?)),
        "shader" => Some(Op::Shader(cursor.member("an operation of a shader", ShaderOp::by_name)?)),
        "metal" => Some(Op::Metal(cursor.member("an operation of Metal", MetalOp::by_name)?)),
        "aggregate" => Some(Op::Aggregate),
        "extract_lane" => Some(Op::ExtractLane),
        "insert_lane" => Some(Op::InsertLane),
        "symbol" => Some(Op::Symbol(SymbolId::new(cursor.reference('s', function.symbols.len())?))),
        "image_read" => Some(Op::ImageRead(ImageId::new(cursor.reference('i', function.images.len())?))),
        "image_write" => Some(Op::ImageWrite(ImageId::new(cursor.reference('i', function.images.len())?))),
        "invoke" => Some(Op::Invoke(CalleeId::new(cursor.reference('c', function.callees.len())?))),
        "unlifted" => Some(Op::Unlifted(NoteId::new(cursor.reference('n', function.notes.len())?))),
        "return_value" => Some(Op::Return),
        _ => match word.split_once('.') {
            Some(("load", name)) => space(name).map(Op::Load),
            Some(("store", name)) => space(name).map(Op::Store),
            Some(("result", number)) => number.parse().ok().map(Op::Result),
            Some(("lanes", numbers)) => lanes(numbers).map(Op::Lanes),
            Some(("offset", size)) => size.parse().ok().map(Op::Offset),
            Some(("element", size)) => size.parse().ok().map(Op::Element),
            Some(("with_member", number)) => number.parse().ok().map(Op::WithMember),
            Some(("member", place)) => place
                .split_once('.')
                .and_then(|(number, offset)| Some(Op::Member(number.parse().ok()?, offset.parse().ok()?))),
            _ => OPERATORS.iter().find(|row| row.1 == word).map(|row| row.0),
        },
    };
    found.ok_or_else(|| start.error(format!("unknown operator `{word}`")))
}
