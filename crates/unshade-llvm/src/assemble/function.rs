//! Parses functions: their heads, blocks, and the names of values and blocks.
//!
//! Parameters, results and blocks share their names and numbers. A value or block may be used before it is defined; it
//! exists from its first use on. Blocks are numbered by first mention while a body is parsed, and by their order when
//! it ends.

use super::attributes::{Place, WrittenList};
use super::error::Parsed;
use super::labels::FunctionLabels;
use super::lexer::Token;
use super::metadata::DebugLocation;
use super::names::{NameTable, NumberTable};
use super::parser::{Parser, shown};
use super::symbols::{SymbolName, shown_symbol};
use super::uses::Use;
use crate::attributes::index;
use crate::body::FunctionBody;
use crate::global::{Function, Linkage};
use crate::ids::{BlockId, Slice, TypeId, ValueId, narrow};
use crate::types::Type;
use crate::value::{Operand, OperandKind, Value, ValueKind};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// The id of the first value of every function.
pub(super) const VALUE_BASE: u32 = 1 << 28;
/// The id of the first metadata entry of every function.
pub(super) const METADATA_BASE: u32 = 1 << 27;

/// A name or number of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Local {
    Value(ValueId),
    /// A block, by first mention.
    Block(u32),
}

/// The function whose body is parsed.
pub(super) struct FunctionState {
    pub(super) body: FunctionBody,
    names: NameTable<Local>,
    numbers: NumberTable<Local>,
    next_number: u32,
    /// For each block by first mention: its position once it is defined, and where it was first mentioned.
    blocks: Vec<(Option<u32>, usize)>,
    /// Values that are used but not defined yet.
    undefined: BTreeMap<ValueId, (usize, Vec<Use>)>,
    /// The first instruction of the current block.
    block_start: u32,
    /// When each instruction was created.
    times: Vec<u32>,
    /// Where each instruction is written.
    positions: Vec<usize>,
    /// The function type of the callee that is parsed, for inline assembly.
    pub(super) called_type: TypeId,
    /// The `!dbg` attachments.
    pub(super) debug_locations: Vec<DebugLocation>,
    /// Where the indices of each use-list order are.
    pub(super) use_list_positions: Vec<usize>,
    /// When each use-list order was given.
    pub(super) use_list_times: Vec<u32>,
}

/// The head of a function.
struct Head {
    function: Function,
    parameter_names: Vec<Option<Vec<u8>>>,
    /// Numbers that are written for unnamed parameters.
    parameter_numbers: Vec<Option<u32>>,
}

impl Parser<'_> {
    /// Parses `declare …`.
    pub(super) fn declare_function(&mut self) -> Parsed<()> {
        self.expect_word("declare")?;
        let mut attachments = Vec::new();
        while matches!(self.token, Token::Metadata(_)) {
            attachments.push(self.attachment()?);
        }
        let mut head = self.function_head(true)?;
        attachments.append(&mut head.function.symbol.attachments);
        head.function.symbol.attachments = attachments;
        self.module.functions.push(head.function);
        Ok(())
    }

    /// Parses `define …` with its body.
    pub(super) fn define_function(&mut self) -> Parsed<()> {
        self.expect_word("define")?;
        let head = self.function_head(false)?;
        let index = narrow(self.module.functions.len() as u64);
        let ty = head.function.symbol.ty;
        let value = head.function.symbol.value;
        self.module.functions.push(head.function);
        let mut body = FunctionBody::default();
        body.clear(index, VALUE_BASE, METADATA_BASE);
        self.function = Some(FunctionState {
            body,
            names: NameTable::default(),
            numbers: NumberTable::default(),
            next_number: 0,
            blocks: Vec::new(),
            undefined: BTreeMap::new(),
            block_start: 0,
            times: Vec::new(),
            positions: Vec::new(),
            called_type: TypeId::NONE,
            debug_locations: Vec::new(),
            use_list_positions: Vec::new(),
            use_list_times: Vec::new(),
        });
        self.parameters(ty, &head.parameter_names, &head.parameter_numbers)?;
        self.make_block_addresses(value);
        self.body()?;
        self.finish_body(value)
    }

    /// Parses the head of a function and defines its symbol.
    fn function_head(&mut self, declaration: bool) -> Parsed<Head> {
        let placeholder = SymbolName::Name(Vec::new());
        let (mut symbol, _) = self.linkage(&placeholder)?;
        let calling_convention = self.calling_convention()?;
        let mut list = WrittenList::default();
        if let Some(set) = self.value_attributes(Place::Result)? {
            list.sets.push((index::RESULT, set));
        }
        let result = self.result_type_of_function()?;
        let at = self.at;
        let name = match self.token {
            Token::Global(_) | Token::GlobalNumber(_) => self.symbol_name()?,
            _ => return self.fault("expected the name of a function"),
        };
        if let SymbolName::Name(name) = &name {
            symbol.name.clone_from(name);
        }
        let (mut types, mut names, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
        let mut variadic = false;
        self.expect(b'(')?;
        self.list(b')', |parser| {
            if variadic {
                return parser.fault("'...' is the last parameter");
            }
            if parser.token == Token::Dots {
                parser.advance();
                variadic = true;
                return Ok(());
            }
            types.push(parser.ty()?);
            if let Some(set) = parser.value_attributes(Place::Parameter)? {
                list.sets.push((index::parameter(types.len() - 1), set));
            }
            let (mut name, mut number) = (None, None);
            match parser.token {
                Token::Local(text) => name = Some(text.bytes().into_owned()),
                Token::LocalNumber(found) => number = Some(found),
                _ => {}
            }
            let at = parser.at;
            if name.is_some() || number.is_some() {
                parser.advance();
            }
            if let Some(number) = number {
                let next =
                    narrow(names.iter().filter(|name: &&Option<Vec<u8>>| name.is_none()).count() as u64);
                parser.check_number("argument", '%', number, next, at)?;
            }
            names.push(name);
            numbers.push(number);
            Ok(())
        })?;
        symbol.ty = self.module.types.intern_function(result, &types, variadic);
        self.unnamed_address(&mut symbol);
        symbol.address_space = self.program_address_space()?;
        self.function_attributes(&mut list)?;
        let attributes = self.written_list(&list);
        let mut function = Function { calling_convention, declaration, attributes, ..Function::new(symbol) };
        self.function_properties(&mut function)?;
        let pointer = self.pointer_to(function.symbol.ty, function.symbol.address_space);
        let index = narrow(self.module.functions.len() as u64);
        if declaration && matches!(function.symbol.linkage, Linkage::Private | Linkage::Internal) {
            return self
                .fault_at(at, alloc::format!("declaration of '{}' can't be local", shown_symbol(&name)));
        }
        let value = self.define_symbol(&name, at, pointer, ValueKind::Function(index))?;
        function.symbol.value = value;
        let data = [function.personality, function.prefix, function.prologue];
        if data.iter().any(Option::is_some) {
            self.set_symbol_operands(value, &data);
        }
        if !declaration {
            while matches!(self.token, Token::Metadata(_)) {
                let attachment = self.attachment()?;
                function.symbol.attachments.push(attachment);
            }
        }
        Ok(Head { function, parameter_names: names, parameter_numbers: numbers })
    }

    /// Parses the address space of a function, that of programs if none is written.
    pub(super) fn program_address_space(&mut self) -> Parsed<u32> {
        match self.is_word("addrspace") {
            true => self.address_space(),
            false => Ok(self.module.data_layout.program_address_space()),
        }
    }

    /// Parses the result type of a function, which ends before the function's name.
    fn result_type_of_function(&mut self) -> Parsed<TypeId> {
        let at = self.at;
        let ty = self.any_type()?;
        if matches!(self.module.types.get(ty), Type::Function { .. } | Type::Label) {
            return self.fault_at(at, "invalid result type of a function");
        }
        Ok(ty)
    }

    /// Parses a calling convention, 0 if there is none.
    pub(super) fn calling_convention(&mut self) -> Parsed<u32> {
        let Token::Word(word) = self.token else { return Ok(0) };
        if word == b"ccc" {
            self.advance();
            return Ok(0);
        }
        if word == b"cc" {
            self.advance();
            return self.u32();
        }
        if let Some(number) = self.keywords.conventions.get(word) {
            self.advance();
            return Ok(number);
        }
        let number =
            word.strip_prefix(b"cc").filter(|digits| !digits.is_empty()).and_then(super::lexer::parse_u64);
        if let Some(number) = number.filter(|&number| number < 1 << 10) {
            self.advance();
            return Ok(narrow(number));
        }
        Ok(0)
    }

    /// Parses `section "…"`, `comdat`, `align`, `gc`, `prefix` and so on.
    fn function_properties(&mut self, function: &mut Function) -> Parsed<()> {
        loop {
            if self.is_word("comdat") {
                self.comdat_of(&mut function.symbol)?;
                continue;
            }
            let words = ["section", "partition", "align", "gc", "prefix", "prologue", "personality"];
            match self.eat_one_of(&words) {
                Some(0) => function.symbol.section = self.string()?,
                Some(1) => function.symbol.partition = self.string()?,
                Some(2) => function.symbol.alignment = self.alignment()?,
                Some(3) => function.collector = self.string()?,
                Some(4) => function.prefix = Some(self.typed_constant()?),
                Some(5) => function.prologue = Some(self.typed_constant()?),
                Some(_) => function.personality = Some(self.typed_constant()?),
                None => return Ok(()),
            }
        }
    }

    /// Returns the state of the function that is parsed.
    pub(super) fn state(&mut self) -> Parsed<&mut FunctionState> {
        let at = self.at;
        match &mut self.function {
            Some(function) => Ok(function),
            None => Err(super::error::Fault::new(at, "not in a function".into())),
        }
    }

    /// Defines the parameters of a function.
    fn parameters(&mut self, ty: TypeId, names: &[Option<Vec<u8>>], numbers: &[Option<u32>]) -> Parsed<()> {
        let Type::Function { parameters, .. } = self.module.types.get(ty) else { return Ok(()) };
        let types = self.module.types.elements(parameters).to_vec();
        for (at, ty) in types.into_iter().enumerate() {
            let name = names.get(at).and_then(Option::as_deref);
            let number = numbers.get(at).copied().flatten();
            let function = self.state()?;
            let id = function.add(ValueKind::Argument(narrow(at as u64)), ty);
            self.name_parameter(name, number, id)?;
        }
        Ok(())
    }

    /// Gives a parameter its name, or the next number if it has none.
    fn name_parameter(&mut self, name: Option<&[u8]>, number: Option<u32>, id: ValueId) -> Parsed<()> {
        let at = self.at;
        if let Some(name) = name
            && self.state()?.names.get(name).is_some()
        {
            return self.fault_at(at, alloc::format!("redefinition of '%{}'", shown(name)));
        }
        self.name_local(name, number, Local::Value(id))
    }

    /// Gives a value or block its name, which nothing else has, or the next number if it has none.
    fn name_local(&mut self, name: Option<&[u8]>, number: Option<u32>, local: Local) -> Parsed<()> {
        let at = self.at;
        let function = self.state()?;
        match name {
            Some(name) => {
                function.names.insert(name, local);
                function.set_name(local, name);
            }
            None => {
                let number = number.unwrap_or(function.next_number);
                self.take_number(what(local), number, at)?;
                self.state()?.numbers.insert(number, local);
            }
        }
        Ok(())
    }

    /// Parses the blocks of a body.
    fn body(&mut self) -> Parsed<()> {
        self.expect(b'{')?;
        if self.is(b'}') {
            return self.fault("a body has at least one block");
        }
        while !self.is(b'}') && !self.is_word("uselistorder") {
            self.block()?;
        }
        while self.is_word("uselistorder") {
            self.use_list_order()?;
        }
        self.expect(b'}')
    }

    fn block(&mut self) -> Parsed<()> {
        let at = self.at;
        let (mut name, mut number) = (None, None);
        if let Token::Label(label) = self.token {
            let bytes = label.bytes();
            let quoted = self.is_quoted_label();
            match super::lexer::parse_u64(&bytes).filter(|_| !quoted && !bytes.is_empty()) {
                Some(found) => number = Some(narrow(found)),
                None => name = Some(bytes.into_owned()),
            }
            self.advance();
        }
        self.define_block(name.as_deref(), number, at)?;
        loop {
            if self.instruction()? {
                return Ok(());
            }
        }
    }

    /// Defines the next block.
    fn define_block(&mut self, name: Option<&[u8]>, number: Option<u32>, at: usize) -> Parsed<()> {
        let function = self.state()?;
        let known = match name {
            Some(name) => function.names.get(name),
            None => function.numbers.get(number.unwrap_or(function.next_number)),
        };
        let position = narrow(function.body.blocks.len() as u64);
        let number = number.or((name.is_none()).then_some(function.next_number));
        match known {
            Some(Local::Block(block)) => {
                let Some((defined @ None, _)) = function.blocks.get_mut(block as usize) else {
                    return self.fault_at(at, "block is defined twice");
                };
                *defined = Some(position);
                if let Some(number) = number.filter(|_| name.is_none()) {
                    self.take_number("label", number, at)?;
                }
            }
            Some(Local::Value(_)) => return self.fault_at(at, "the name of a value is defined as a block"),
            None => {
                let block = narrow(function.blocks.len() as u64);
                function.blocks.push((Some(position), at));
                self.name_local(name, number, Local::Block(block))?;
            }
        }
        let function = self.state()?;
        function.body.block_names.push(Slice::default());
        if let Some(name) = name {
            let slice = Slice::extend(&mut function.body.name_bytes, name.iter().copied());
            function.body.block_names.splice(position as usize.., [slice]).for_each(drop);
        }
        Ok(())
    }

    /// Ends the current block after its terminator.
    pub(super) fn end_block(&mut self) -> Parsed<()> {
        let function = self.state()?;
        let end = narrow(function.body.instructions.len() as u64);
        let start = core::mem::replace(&mut function.block_start, end);
        function.body.blocks.push(Slice { start, count: end.saturating_sub(start) });
        Ok(())
    }

    /// Parses a value of the function that is used as type `ty`.
    pub(super) fn local_value(&mut self, ty: TypeId) -> Parsed<ValueId> {
        let (token, at) = (self.token, self.at);
        if self.function.is_none() {
            return self.fault("a value of a function can't be used here");
        }
        self.advance();
        let function = self.state()?;
        let known = function.known(token);
        match known {
            Some(Local::Value(id)) => {
                let found = self.type_of(id);
                if found != ty {
                    let (found, ty) = (self.shown_type(found), self.shown_type(ty));
                    return self
                        .fault_at(at, alloc::format!("value is of type '{found}' but used as '{ty}'"));
                }
                Ok(id)
            }
            Some(Local::Block(_)) => self.fault_at(at, "a block is used as a value"),
            None => {
                if matches!(self.module.types.get(ty), Type::Void | Type::Label | Type::Function { .. }) {
                    return self.fault_at(at, "value of an invalid type");
                }
                let function = self.state()?;
                let id = function.add(ValueKind::Unresolved, ty);
                function.undefined.insert(id, (at, Vec::new()));
                function.remember(token, Local::Value(id));
                Ok(id)
            }
        }
    }

    /// Parses `label %name`.
    pub(super) fn label_operand(&mut self) -> Parsed<Operand> {
        self.expect_word("label")?;
        self.label()
    }

    /// Parses the name of a block.
    pub(super) fn label(&mut self) -> Parsed<Operand> {
        let (token, at) = (self.token, self.at);
        if !matches!(token, Token::Local(_) | Token::LocalNumber(_)) {
            return self.fault("expected the name of a block");
        }
        self.advance();
        let function = self.state()?;
        match function.known(token) {
            Some(Local::Block(block)) => Ok(Operand::block(BlockId(block))),
            Some(Local::Value(_)) => self.fault_at(at, "a value is used as a block"),
            None => {
                let block = narrow(function.blocks.len() as u64);
                function.blocks.push((None, at));
                function.remember(token, Local::Block(block));
                Ok(Operand::block(BlockId(block)))
            }
        }
    }

    /// Appends an operand of the instruction that is parsed.
    pub(super) fn push_operand(&mut self, operand: Operand) -> Parsed<()> {
        let body = narrow(self.bodies.len() as u64);
        let function = self.state()?;
        let slot = narrow(function.body.operands.len() as u64);
        function.body.operands.push(operand);
        let OperandKind::Value(id) = operand.kind() else { return Ok(()) };
        let by = Use::Operand { body, operand: slot };
        if id.0 >= VALUE_BASE {
            let is_undefined =
                function.body.value(id).is_some_and(|value| value.kind == ValueKind::Unresolved);
            if is_undefined && let Some((_, uses)) = function.undefined.get_mut(&id) {
                uses.push(by);
            }
        } else {
            self.note_use(id, by);
        }
        Ok(())
    }

    /// Defines the result of the instruction that was parsed last.
    pub(super) fn define_result(&mut self, written: Token<'_>, at: usize) -> Parsed<()> {
        let function = self.state()?;
        let index = narrow(function.body.instructions.len() as u64 - 1);
        let Some(&instruction) = function.body.instructions.last() else { return Ok(()) };
        if matches!(self.module.types.get(instruction.ty), Type::Void) {
            return match written {
                Token::End => Ok(()),
                _ => self.fault_at(at, "an instruction without a result can't have a name"),
            };
        }
        let function = self.state()?;
        let token = match written {
            Token::End => Token::LocalNumber(function.next_number),
            written => written,
        };
        let id = match function.known(token) {
            Some(Local::Value(id)) if function.undefined.contains_key(&id) => {
                self.define_used(id, token, index, at)?;
                id
            }
            Some(_) => return self.fault_at(at, "name is defined twice"),
            None => {
                let id = function.add(ValueKind::Instruction(index), instruction.ty);
                match token {
                    Token::Local(name) => self.name_local(Some(&name.bytes()), None, Local::Value(id))?,
                    Token::LocalNumber(number) => self.name_local(None, Some(number), Local::Value(id))?,
                    _ => {}
                }
                id
            }
        };
        if let Some(last) = self.state()?.body.instructions.last_mut() {
            last.result = id;
        }
        Ok(())
    }

    /// Defines a value that was used before as the result of an instruction.
    fn define_used(&mut self, id: ValueId, token: Token<'_>, index: u32, at: usize) -> Parsed<()> {
        let function = self.state()?;
        let ty = function.body.instructions.get(index as usize).map_or(TypeId::NONE, |of| of.ty);
        let used_as = function.body.value(id).map_or(TypeId::NONE, |value| value.ty);
        let (used_at, uses) = function.undefined.remove(&id).unwrap_or_default();
        if let Some(value) = function.body.value_mut(id) {
            value.kind = ValueKind::Instruction(index);
        }
        match token {
            Token::LocalNumber(number) => self.take_number("instruction", number, at)?,
            Token::Local(name) => function.set_name(Local::Value(id), &name.bytes()),
            _ => {}
        }
        if used_as != ty {
            let (used_as, ty) = (self.shown_type(used_as), self.shown_type(ty));
            let message = alloc::format!("value is used as '{used_as}' but its type is '{ty}'");
            return self.fault_at(used_at, message);
        }
        self.uses.define(&uses);
        Ok(())
    }

    /// Takes a number for what has no name: the next one, or a later one from LLVM 19 on.
    fn take_number(&mut self, what: &str, number: u32, at: usize) -> Parsed<()> {
        let next = self.state()?.next_number;
        self.check_number(what, '%', number, next, at)?;
        self.state()?.next_number = number.saturating_add(1);
        Ok(())
    }

    /// Notes that an instruction was created, and where it is written.
    pub(super) fn note_instruction(&mut self, at: usize) -> Parsed<()> {
        let now = self.uses.tick();
        let function = self.state()?;
        function.times.push(now);
        function.positions.push(at);
        Ok(())
    }

    /// Checks that everything is defined, brings blocks into order, and keeps the body.
    fn finish_body(&mut self, symbol: ValueId) -> Parsed<()> {
        let Some(mut function) = self.function.take() else { return Ok(()) };
        if let Some((position, _)) = function.undefined.values().min_by_key(|(position, _)| *position) {
            return self.fault_at(*position, "use of an undefined value");
        }
        if let Some(&(_, position)) = function.blocks.iter().find(|(defined, _)| defined.is_none()) {
            return self.fault_at(position, "use of an undefined block");
        }
        let mut order = Vec::with_capacity(function.blocks.len());
        order.extend(function.blocks.iter().map(|(defined, _)| defined.unwrap_or(0)));
        for operand in &mut function.body.operands {
            if let OperandKind::Block(id) = operand.kind() {
                *operand = Operand::block(BlockId(order.get(id.index()).copied().unwrap_or(id.0)));
            }
        }
        for list in function.body.use_lists.iter_mut().filter(|list| list.block) {
            list.id = order.get(list.id as usize).copied().unwrap_or(list.id);
        }
        self.check_use_lists(&function)?;
        function.body.value_names.resize(function.body.values.len(), Slice::default());
        self.keep_labels(symbol, FunctionLabels { names: function.names, numbers: function.numbers, order });
        self.metadata.locations.push(core::mem::take(&mut function.debug_locations));
        self.uses.order.instructions.push(core::mem::take(&mut function.times));
        self.uses.order.body_lists.push(core::mem::take(&mut function.use_list_times));
        self.positions.instructions.push(core::mem::take(&mut function.positions));
        self.bodies.push(function.body);
        Ok(())
    }
}

impl FunctionState {
    /// Adds a value.
    fn add(&mut self, kind: ValueKind, ty: TypeId) -> ValueId {
        let id = ValueId(VALUE_BASE.saturating_add(narrow(self.body.values.len() as u64)));
        self.body.values.push(Value { kind, ty });
        id
    }

    /// Returns whether a value is used but not defined yet.
    pub(super) fn is_undefined(&self, value: ValueId) -> bool {
        self.undefined.contains_key(&value)
    }

    /// Returns what a name or number stands for.
    fn known(&self, token: Token<'_>) -> Option<Local> {
        match token {
            Token::Local(name) => self.names.get(&name.bytes()),
            Token::LocalNumber(number) => self.numbers.get(number),
            _ => None,
        }
    }

    /// Notes what a name stands for that is used before it is defined.
    fn remember(&mut self, token: Token<'_>, local: Local) {
        match token {
            Token::Local(name) => self.names.insert(&name.bytes(), local),
            Token::LocalNumber(number) => {
                self.numbers.insert(number, local);
            }
            _ => {}
        }
    }

    fn set_name(&mut self, local: Local, name: &[u8]) {
        let Local::Value(id) = local else { return };
        let at = id.0.saturating_sub(VALUE_BASE) as usize;
        let slice = Slice::extend(&mut self.body.name_bytes, name.iter().copied());
        if self.body.value_names.len() <= at {
            self.body.value_names.resize(at + 1, Slice::default());
        }
        if let Some(slot) = self.body.value_names.get_mut(at) {
            *slot = slice;
        }
    }
}

/// Returns what a name stands for, for a message.
fn what(local: Local) -> &'static str {
    match local {
        Local::Value(_) => "instruction",
        Local::Block(_) => "label",
    }
}
