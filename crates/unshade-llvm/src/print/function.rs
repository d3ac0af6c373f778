//! Prints functions: headers, local value numbers, and basic blocks.

use super::instruction::RebuiltCall;
use super::symbols::{CachedText, push_plain_constant};
use super::text::{columns, prefixed_range, push_name, push_number, push_prefixed_numbers};
use super::{Bodies, Dialect, Entity, Printer, debug_scopes, intrinsics, read_body};
use crate::attributes::index;
use crate::body::FunctionBody;
use crate::global::Function;
use crate::ids::{BlockId, MetadataId, Slice, TypeId, ValueId, narrow};
use crate::instruction::{Instruction, Opcode};
use crate::metadata::Metadata;
use crate::module::Module;
use crate::types::Type;
use crate::value::{OperandKind, ValueKind};
use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;
use unshade_core::token::Token;
use unshade_core::{TokenKind, TokenSink};

/// The column of the comment with a block's predecessors.
const COMMENT_COLUMN: usize = 50;
const SPACES: &str = "                                                  ";

/// The texts of the values and blocks of one function.
#[derive(Default)]
pub(super) struct Locals {
    /// `%0` to `%999`, then the texts of others.
    pool: String,
    /// The function whose values these are.
    pub(super) function: u32,
    base: u32,
    values: Vec<CachedText>,
    unnumbered: Vec<CachedText>,
    /// The texts of blocks as operands, with `%`.
    blocks: Vec<CachedText>,
    /// Whether each block has a name; the others have a number.
    named: Vec<bool>,
}

impl Locals {
    /// Returns the text of a value of the function.
    #[inline(always)]
    pub(super) fn get(&self, id: ValueId) -> Option<(CachedText, &str)> {
        let cached = match self.values.get(id.0.wrapping_sub(self.base) as usize) {
            Some(cached) => *cached,
            None => *self.unnumbered.get(id.0.checked_sub(FunctionBody::UNNUMBERED)? as usize)?,
        };
        Some((cached, cached.of(&self.pool)))
    }

    pub(super) fn block(&self, id: BlockId) -> &str {
        self.blocks.get(id.index()).map_or("<badref>", |cached| cached.of(&self.pool))
    }

    fn clear(&mut self) {
        if self.pool.is_empty() {
            push_prefixed_numbers(&mut self.pool, '%');
        }
        self.pool.truncate(prefixed_range(1_000).start as usize);
        self.values.clear();
        self.unnumbered.clear();
        self.blocks.clear();
        self.named.clear();
    }

    /// Numbers parameters, blocks and results in the order of the text, and formats all of them.
    pub(super) fn fill(&mut self, module: &Module<'_>, body: &FunctionBody, old: bool) {
        self.clear();
        self.function = body.function;
        self.base = body.value_base;
        let mut next = 0u64;
        let none = CachedText::NONE;
        self.values.resize(body.values.len(), none);
        self.unnumbered.resize(body.unnumbered.len(), none);
        for (at, value) in body.values.iter().enumerate() {
            match value.kind {
                ValueKind::Argument(_) => {
                    self.set_value(body, ValueId(self.base + narrow(at as u64)), value.ty, &mut next);
                }
                ValueKind::Constant(constant) => {
                    let start = self.pool.len();
                    let constant = body.constants.get(constant);
                    push_plain_constant(&mut self.pool, &module.types, value, constant, old);
                    let cached = CachedText::since(&self.pool, start, TokenKind::Number, value.ty);
                    if let Some(slot) = self.values.get_mut(at) {
                        *slot = cached;
                    }
                }
                _ => {}
            }
        }
        for (at, &block) in (0u32..).zip(&body.blocks) {
            self.add_block(body, BlockId(at), &mut next);
            for instruction in block.of(&body.instructions) {
                if instruction.result.is_some() {
                    self.set_value(body, instruction.result, instruction.ty, &mut next);
                }
            }
        }
    }

    fn set_value(&mut self, body: &FunctionBody, id: ValueId, ty: TypeId, next: &mut u64) {
        let cached = self.text(body.value_name(id), TokenKind::Register, ty, next);
        let slot = match self.values.get_mut(id.0.wrapping_sub(self.base) as usize) {
            Some(slot) => Some(slot),
            None => self.unnumbered.get_mut(id.0.wrapping_sub(FunctionBody::UNNUMBERED) as usize),
        };
        if let Some(slot) = slot {
            *slot = cached;
        }
    }

    fn add_block(&mut self, body: &FunctionBody, id: BlockId, next: &mut u64) {
        let name = body.block_name(id);
        self.named.push(!name.is_empty());
        let text = self.text(name, TokenKind::Label, TypeId::NONE, next);
        self.blocks.push(text);
    }

    /// Returns the text of a value or block, which has the next number if it has no name.
    #[inline]
    fn text(&mut self, name: &[u8], kind: TokenKind, ty: TypeId, next: &mut u64) -> CachedText {
        if name.is_empty() && *next < 1_000 {
            let Range { start, end } = prefixed_range(*next as u32);
            *next += 1;
            return CachedText { start, end, kind, ty };
        }
        let start = self.pool.len();
        self.pool.push('%');
        if name.is_empty() {
            push_number(&mut self.pool, *next);
            *next += 1;
        } else {
            push_name(&mut self.pool, name);
        }
        CachedText::since(&self.pool, start, kind, ty)
    }
}

/// Returns the text of a block as an operand in another function.
pub(super) fn label_of(module: &Module<'_>, body: &FunctionBody, block: BlockId) -> String {
    let mut locals = Locals::default();
    locals.fill(module, body, false);
    String::from(locals.block(block))
}

/// The names of calling conventions.
#[rustfmt::skip]
pub(crate) const CONVENTIONS: &[(u32, &str)] = &[
    (8, "fastcc"), (9, "coldcc"), (10, "ghccc"), (11, "cc11"), (12, "webkit_jscc"), (13, "anyregcc"),
    (14, "preserve_mostcc"), (15, "preserve_allcc"), (16, "swiftcc"), (17, "cxx_fast_tlscc"), (18, "tailcc"),
    (19, "cfguard_checkcc"), (20, "swifttailcc"), (64, "x86_stdcallcc"),
    (65, "x86_fastcallcc"), (66, "arm_apcscc"), (67, "arm_aapcscc"), (68, "arm_aapcs_vfpcc"), (69, "msp430_intrcc"),
    (70, "x86_thiscallcc"), (71, "ptx_kernel"), (72, "ptx_device"), (75, "spir_func"), (76, "spir_kernel"),
    (77, "intel_ocl_bicc"), (78, "x86_64_sysvcc"), (79, "win64cc"), (80, "x86_vectorcallcc"), (81, "hhvmcc"),
    (82, "hhvm_ccc"), (83, "x86_intrcc"), (84, "avr_intrcc "), (85, "avr_signalcc "), (87, "amdgpu_vs"),
    (88, "amdgpu_gs"), (89, "amdgpu_ps"), (90, "amdgpu_cs"), (91, "amdgpu_kernel"), (92, "x86_regcallcc"),
    (93, "amdgpu_hs"), (95, "amdgpu_ls"), (96, "amdgpu_es"), (97, "aarch64_vector_pcs"),
    (98, "aarch64_sve_vector_pcs"), (100, "amdgpu_gfx"),
];

/// Calling conventions that LLVM 19 added.
#[rustfmt::skip]
pub(crate) const LATER_CONVENTIONS: &[(u32, &str)] = &[
    (21, "preserve_nonecc"), (102, "aarch64_sme_preservemost_from_x0"), (103, "aarch64_sme_preservemost_from_x2"),
    (104, "amdgpu_cs_chain"), (105, "amdgpu_cs_chain_preserve"), (106, "m68k_rtdcc"), (107, "graalcc"),
    (110, "riscv_vector_cc"), (111, "aarch64_sme_preservemost_from_x1"),
];
/// Calling conventions that LLVM 20 to 22 added.
#[rustfmt::skip]
const NEWEST_CONVENTIONS: &[(u32, &str)] = &[
    (112, "riscv_vls_cc(32)"), (113, "riscv_vls_cc(64)"), (114, "riscv_vls_cc(128)"), (115, "riscv_vls_cc(256)"),
    (116, "riscv_vls_cc(512)"), (117, "riscv_vls_cc(1024)"), (118, "riscv_vls_cc(2048)"), (119, "riscv_vls_cc(4096)"),
    (120, "riscv_vls_cc(8192)"), (121, "riscv_vls_cc(16384)"), (122, "riscv_vls_cc(32768)"),
    (123, "riscv_vls_cc(65536)"), (124, "amdgpu_gfx_whole_wave"), (125, "cheriot_compartmentcallcc"),
    (126, "cheriot_compartmentcalleecc"), (127, "cheriot_librarycallcc"),
];
/// The calling convention that LLVM 19 removed: WebKit's.
const REMOVED_CONVENTION: u32 = 12;

impl<'m, S: TokenSink> Printer<'m, '_, '_, S> {
    /// Writes a calling convention other than C's.
    pub(super) fn convention(&mut self, convention: u32) {
        let later = self.rules.dialect.is_opaque();
        let known = CONVENTIONS.iter().filter(|_| !later || convention != REMOVED_CONVENTION);
        let known = known.chain(LATER_CONVENTIONS.iter().filter(|_| later));
        let newest = self.rules.dialect == Dialect::Llvm22;
        match known
            .chain(NEWEST_CONVENTIONS.iter().filter(|_| newest))
            .find(|(number, _)| *number == convention)
        {
            Some((_, name)) if self.rules.dialect != Dialect::Dxc || *name != "cc11" => self.keyword(name),
            _ => self.built(TokenKind::Keyword, |text| {
                text.push_str("cc");
                push_number(text, u64::from(convention));
            }),
        }
    }

    pub(super) fn function(&mut self, index: usize) {
        let module = self.module;
        let Some(function) = module.functions.get(index) else { return };
        let mut body = core::mem::take(&mut self.body);
        let is_loaded = self.load_body(index, &mut body);
        if is_loaded {
            debug_scopes::check(self.module, &body, &mut self.findings);
            self.slots.keep(&body);
            self.find_structs(index, &body);
            self.function_with(index, function, Some(&body));
        } else if !self.is_outdated {
            self.function_with(index, function, None);
        }
        match &mut self.bodies {
            Bodies::FromFile(_) => self.body = body,
            Bodies::Checked => {
                self.slots.drop_kept(body.function);
                self.body = body;
            }
            // Other functions may refer to its blocks.
            Bodies::Upgraded(bodies) => {
                if let Some(slot) = bodies.get_mut(index).filter(|_| is_loaded) {
                    *slot = Some(body);
                }
            }
        }
    }

    /// Loads the body of a function; returns whether it has one that needs no upgrade.
    fn load_body(&mut self, index: usize, body: &mut FunctionBody) -> bool {
        match &mut self.bodies {
            Bodies::Upgraded(bodies) => {
                let upgraded = bodies.get_mut(index).and_then(Option::take);
                let is_loaded = upgraded.is_some();
                *body = upgraded.unwrap_or_default();
                is_loaded
            }
            Bodies::Checked => read_body(self.module, index, body, &mut self.findings),
            Bodies::FromFile(check) => {
                if !read_body(self.module, index, body, &mut self.findings) {
                    return false;
                }
                check.check_body(body);
                self.is_outdated = check.needs_upgrade();
                !self.is_outdated
            }
        }
    }

    fn function_with(&mut self, index: usize, function: &'m Function, body: Option<&FunctionBody>) {
        let module = self.module;
        let group = self.group_of_function(index);
        self.group_comment(group);
        if self.rules.dialect == Dialect::Llvm22 && intrinsics::Intrinsic::is_unknown(&function.symbol.name) {
            self.out(TokenKind::Comment, "; Unknown intrinsic");
            self.punctuation("\n");
        }
        if let Some(body) = body {
            self.nesting.allow(&body.constants);
            self.number_function(body, function);
            self.locals.fill(module, body, self.rules.label_comments);
        } else {
            self.number_attachments(super::metadata_slots::MODULE, &function.symbol.attachments);
        }
        self.source(|map| map.value(function.symbol.value));
        self.function_head(index, function, body, group);
        if let Some(body) = body {
            self.function_attachments(body, function);
            self.punctuation(" {");
            self.no_source();
            let predecessors = Predecessors::new(body);
            let (mut attachments, mut records) = (0, 0);
            for block in 0..body.blocks.len() {
                self.basic_block(
                    body,
                    BlockId(narrow(block as u64)),
                    &predecessors,
                    &mut attachments,
                    &mut records,
                );
            }
            self.punctuation("}\n");
            self.locals.clear();
        } else {
            self.punctuation("\n");
            self.no_source();
        }
    }

    fn owner(body: Option<&FunctionBody>) -> u32 {
        body.map_or(super::metadata_slots::MODULE, |body| body.function)
    }

    /// Assigns slots to the metadata that a function uses, and numbers to the attribute groups of its calls.
    fn number_function(&mut self, body: &FunctionBody, function: &'m Function) {
        let owner = body.function;
        let all = Self::all_attachments(body, function);
        self.number_attachments(owner, &all);
        let mut attachments = body.attachments.iter().peekable();
        let mut records = body.debug_records.iter().peekable();
        for (at, instruction) in (0u32..).zip(&body.instructions) {
            while let Some(record) = records.next_if(|record| record.before <= at) {
                self.number_record(body, record);
            }
            if matches!(instruction.opcode, Opcode::Call | Opcode::Invoke | Opcode::CallBr) {
                if instruction.opcode == Opcode::Call {
                    self.number_arguments(body, instruction.operands);
                }
                self.number_call(body, instruction);
            }
            if let Some(location) = instruction.location.checked_sub(1)
                && let Some(location) = body.locations.get(location as usize)
            {
                self.slots.add_location(owner, location);
            }
            while let Some((_, list)) = attachments.next_if(|(of, _)| *of <= at) {
                self.number_attachments(owner, list.of(&body.attached));
            }
        }
    }

    /// Numbers the attribute group of a call.
    fn number_call(&mut self, body: &FunctionBody, instruction: &Instruction) {
        if self.rebuilt_call(body, instruction).is_some() || self.record_of(body, instruction).is_some() {
            return;
        }
        if let Some(call) = body.calls.get(instruction.detail as usize)
            && let Some(set) = self.module.attributes.of(call.attributes, index::FUNCTION)
        {
            self.group_of_set(set);
        }
    }

    /// Assigns slots to nodes passed to intrinsics; LLVM does not expect nodes as arguments of other functions.
    fn number_arguments(&mut self, body: &FunctionBody, operands: Slice) {
        let operands = operands.of(&body.operands);
        let Some((callee, arguments)) = operands.split_first() else { return };
        let is_metadata =
            |operand: &crate::value::Operand| matches!(operand.kind(), OperandKind::Metadata(_));
        if !arguments.iter().any(is_metadata) {
            return;
        }
        let callee = callee.as_value().and_then(|id| self.module.value(Some(body), id));
        let Some(ValueKind::Function(function)) = callee.map(|value| value.kind) else { return };
        let name =
            self.module.functions.get(function as usize).map(|function| function.symbol.name.as_slice());
        if !name.is_some_and(|name| name.starts_with(b"llvm.")) {
            return;
        }
        for argument in arguments {
            if let OperandKind::Metadata(id) = argument.kind()
                && let Some((Metadata::Node(_), _)) = self.module.metadata(Some(body), id)
            {
                self.slots.add(body.function, id);
            }
        }
    }

    fn all_attachments<'l>(body: &'l FunctionBody, function: &'l Function) -> Cow<'l, [(u32, MetadataId)]> {
        let mut all = Cow::Borrowed(function.symbol.attachments.as_slice());
        match all.is_empty() {
            true => all = Cow::Borrowed(&body.function_attachments),
            false => all.to_mut().extend_from_slice(&body.function_attachments),
        }
        all
    }

    fn function_attachments(&mut self, body: &FunctionBody, function: &'m Function) {
        let all = Self::all_attachments(body, function);
        self.attachments(body.function, &all, " ");
    }

    fn function_head(
        &mut self,
        index: usize,
        function: &'m Function,
        body: Option<&FunctionBody>,
        group: Option<u32>,
    ) {
        let module = self.module;
        let symbol = &function.symbol;
        if function.declaration {
            self.keyword("declare");
            self.attachments(Self::owner(None), &symbol.attachments, " ");
            self.punctuation(" ");
        } else {
            self.keyword("define ");
        }
        self.linkage(symbol, false);
        if function.calling_convention != 0 {
            self.convention(function.calling_convention);
            self.punctuation(" ");
        }
        let Type::Function { result, parameters, variadic } = module.types.get(symbol.ty) else { return };
        self.result_attributes(index, function, result);
        self.ty(result);
        self.punctuation(" ");
        self.symbol_definition(symbol.value);
        self.punctuation("(");
        let dropped = self.symbols.dropped_parameter(index);
        let mut first = true;
        for (at, &ty) in module.types.elements(parameters).iter().enumerate() {
            if dropped == Some(at) {
                continue;
            }
            if !first {
                self.punctuation(", ");
            }
            first = false;
            self.ty(ty);
            self.declared_parameter(index, function, at, ty);
            if let Some(body) = body {
                let id = ValueId(body.value_base + narrow(at as u64));
                // LLVM 3.7 writes no numbers for unnamed parameters; an empty token is where they are defined.
                if self.rules.dialect != Dialect::Dxc || !body.value_name(id).is_empty() {
                    self.punctuation(" ");
                    self.definition(body, id);
                } else {
                    let link = Entity::Value { function: body.function, id }.definition();
                    self.sink.token(Token { kind: TokenKind::Register, text: "", link });
                }
            }
        }
        if variadic {
            self.punctuation(if parameters.is_empty() { "..." } else { ", ..." });
        }
        self.punctuation(")");
        self.function_tail(function, body, group);
    }

    /// Writes the attributes of a function's result, followed by a space.
    fn result_attributes(&mut self, index: usize, function: &Function, ty: TypeId) {
        if let Some(intrinsic) = self.symbols.intrinsic(index) {
            let text = self.fitting(intrinsic.result(), ty);
            if text.contains('@') {
                let element = String::from(self.types.get(self.module.types.scalar(ty)));
                self.out(TokenKind::Attribute, &text.replace('@', &element));
                self.punctuation(" ");
            } else if !text.is_empty() {
                self.out(TokenKind::Attribute, &text);
                self.punctuation(" ");
            }
        } else if let Some(set) = self.module.attributes.of(function.attributes, index::RESULT) {
            self.parameter_attributes(set, ty, "", " ");
        }
    }

    fn declared_parameter(&mut self, index: usize, function: &Function, at: usize, ty: TypeId) {
        if let Some(intrinsic) = self.symbols.intrinsic(index) {
            let text = self.fitting(intrinsic.parameter(at), ty);
            if !text.is_empty() {
                self.punctuation(" ");
                self.out(TokenKind::Attribute, &text);
            }
        } else if let Some(set) = self.module.attributes.of(function.attributes, index::parameter(at)) {
            self.parameter_attributes(set, ty, " ", "");
        }
    }

    /// Returns the attributes of an intrinsic that fit a type: a declaration may have other types than the intrinsic.
    fn fitting(&self, text: &'static str, ty: TypeId) -> Cow<'static, str> {
        match text.is_empty() || self.module.types.address_space(ty).is_some() {
            true => Cow::Borrowed(text),
            false => intrinsics::without_those_of_pointers(text),
        }
    }

    fn function_tail(&mut self, function: &'m Function, body: Option<&FunctionBody>, group: Option<u32>) {
        let symbol = &function.symbol;
        let unnamed = Self::unnamed_address(symbol);
        if !unnamed.is_empty() {
            self.punctuation(" ");
            self.keyword(unnamed);
        }
        if symbol.address_space != 0 || self.layout.program_address_space() != 0 {
            self.keyword(" addrspace(");
            self.number(u64::from(symbol.address_space));
            self.punctuation(")");
        }
        self.group_reference(group);
        self.section(symbol, " ");
        self.comdat_of(symbol, false);
        if let Some(exponent) = symbol.alignment.checked_sub(1) {
            self.keyword(" align ");
            self.number(1 << (exponent & 63));
        }
        if !function.collector.is_empty() {
            self.keyword(" gc ");
            self.quoted(&function.collector);
        }
        let personality = function.personality.or_else(|| body.and_then(|body| body.personality));
        for (word, data) in
            [(" prefix ", function.prefix), (" prologue ", function.prologue), (" personality ", personality)]
        {
            if let Some(id) = data {
                self.keyword(word);
                self.typed_value(body, id);
            }
        }
    }

    /// Writes a block as an operand, without its type.
    pub(super) fn block(&mut self, id: BlockId) {
        self.block_reference(TokenKind::Label, id);
    }

    fn block_reference(&mut self, kind: TokenKind, id: BlockId) {
        let link = Entity::Block { function: self.locals.function, id }.reference();
        self.sink.token(Token { kind, text: self.locals.block(id), link });
    }

    /// Writes a value where it is defined.
    #[inline]
    pub(super) fn definition(&mut self, body: &FunctionBody, id: ValueId) {
        let link = Entity::Value { function: body.function, id }.definition();
        let text = self.locals.get(id).map_or("<badref>", |(_, text)| text);
        self.sink.token(Token { kind: TokenKind::Register, text, link });
    }

    fn basic_block(
        &mut self,
        body: &FunctionBody,
        id: BlockId,
        predecessors: &Predecessors,
        attachments: &mut usize,
        records: &mut usize,
    ) {
        self.block_head(id, predecessors);
        let Some(&block) = body.blocks.get(id.index()) else { return };
        // The end of a line and the indentation of the next are one token.
        let mut line_is_open = false;
        for (at, instruction) in (block.start..).zip(block.of(&body.instructions)) {
            let record = self.record_of(body, instruction);
            let stored = body.debug_records.get(*records).is_some_and(|record| record.before <= at);
            if line_is_open && (stored || record.is_some()) {
                self.punctuation("\n");
                line_is_open = false;
            }
            if stored {
                self.no_source();
                self.records_before(body, at, records);
            }
            if let Some(start) = record {
                if self.rebuilt_call(body, instruction) == Some(RebuiltCall::Removed) {
                    continue;
                }
                self.source(|map| map.instruction(body.function, at));
                self.call_as_record(body, instruction, start);
                continue;
            }
            if self.rebuilt_call(body, instruction) == Some(RebuiltCall::Removed) {
                continue;
            }
            self.source(|map| map.instruction(body.function, at));
            self.punctuation(if line_is_open { "\n  " } else { "  " });
            line_is_open = true;
            self.instruction(body, instruction);
            if let Some(location) = instruction.location.checked_sub(1) {
                self.location_attachment(body, location);
            }
            self.instruction_attachments(body, at, attachments);
            if instruction.opcode == Opcode::Call {
                self.relocation_comment(body, instruction);
            }
            if self.rules.dialect == Dialect::Dxc {
                self.dxil_comment(body, instruction);
            }
        }
        if line_is_open {
            self.punctuation("\n");
        }
        self.no_source();
    }

    /// Writes the attachments of an instruction, and skips those of earlier instructions, which were not printed.
    #[inline]
    fn instruction_attachments(&mut self, body: &FunctionBody, at: u32, next: &mut usize) {
        while let Some((of, list)) = body.attachments.get(*next) {
            if *of > at {
                break;
            }
            if *of == at {
                self.attachments(body.function, list.of(&body.attached), ", ");
            }
            *next += 1;
        }
    }

    /// Writes the stored records that precede an instruction.
    #[inline]
    fn records_before(&mut self, body: &FunctionBody, at: u32, next: &mut usize) {
        while let Some(record) = body.debug_records.get(*next) {
            if record.before > at {
                break;
            }
            self.stored_record(body, record);
            *next += 1;
        }
    }

    fn location_attachment(&mut self, body: &FunctionBody, location: u32) {
        if let Some(location) = body.locations.get(location as usize) {
            let slot = self.slots.add_location(body.function, location);
            self.out(TokenKind::Attribute, ", !dbg ");
            self.slot_reference(slot);
        }
    }

    fn block_head(&mut self, id: BlockId, predecessors: &Predecessors) {
        let entry = id.0 == 0;
        let named = self.locals.named.get(id.index()).copied().unwrap_or(false);
        let label = self.locals.blocks.get(id.index()).copied().unwrap_or(CachedText::NONE);
        let mut width = 0;
        // LLVM 3.7 writes no label for unnamed blocks without predecessors.
        let labelled = named || !self.rules.label_comments || !predecessors.of(id).is_empty();
        if entry || labelled {
            self.sink.put(TokenKind::Punctuation, "\n");
        }
        let link = Entity::Block { function: self.locals.function, id }.definition();
        if named || (!entry && labelled) {
            let text = label.of(&self.locals.pool).get(1..).unwrap_or("");
            let comment = self.rules.label_comments && !named;
            if comment {
                self.sink.put(TokenKind::Comment, "; <label>:");
            }
            self.sink.token(Token { kind: TokenKind::Label, text, link });
            width = columns(text) + if comment { 10 } else { 1 };
            if !comment {
                self.sink.put(TokenKind::Punctuation, ":");
            }
        } else {
            self.sink.token(Token { kind: TokenKind::Label, text: "", link });
        }
        if entry {
            if named {
                self.sink.put(TokenKind::Punctuation, "\n");
            }
            return;
        }
        // At least one space precedes the comment.
        let padding = COMMENT_COLUMN.saturating_sub(width).max(1);
        self.sink.put(TokenKind::Space, SPACES.get(..padding).unwrap_or(" "));
        let list = predecessors.of(id);
        if list.is_empty() {
            self.out(TokenKind::Comment, "; No predecessors!");
        }
        for (at, &block) in list.iter().enumerate() {
            self.out(TokenKind::Comment, if at > 0 { ", " } else { "; preds = " });
            self.block_reference(TokenKind::Comment, block);
        }
        self.punctuation("\n");
    }
}

/// The predecessors of all blocks, in use-list order: last added first, unless the file stores another order.
struct Predecessors {
    starts: Vec<u32>,
    blocks: Vec<BlockId>,
}

impl Predecessors {
    fn new(body: &FunctionBody) -> Self {
        let count = body.blocks.len();
        let mut starts = alloc::vec![0u32; count + 1];
        Self::for_edges(body, |_, to| {
            if let Some(slot) = starts.get_mut(to.index() + 1) {
                *slot += 1;
            }
        });
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut blocks = alloc::vec![BlockId::NONE; sum as usize];
        // Fill each list from its end, so that the last edge comes first.
        let mut ends: Vec<u32> = starts.iter().skip(1).copied().collect();
        Self::for_edges(body, |from, to| {
            if let Some(end) = ends.get_mut(to.index()) {
                *end -= 1;
                if let Some(slot) = blocks.get_mut(*end as usize) {
                    *slot = from;
                }
            }
        });
        let mut predecessors = Self { starts, blocks };
        for list in body.use_lists.iter().filter(|list| list.block) {
            predecessors.reorder(BlockId(list.id), &list.order);
        }
        predecessors
    }

    fn for_edges(body: &FunctionBody, mut edge: impl FnMut(BlockId, BlockId)) {
        for (at, block) in (0u32..).zip(&body.blocks) {
            let Some(last) = block.of(&body.instructions).last() else { continue };
            if !last.opcode.is_terminator() {
                continue;
            }
            for operand in body.operands_of(last) {
                if let Some(to) = operand.as_block() {
                    edge(BlockId(at), to);
                }
            }
        }
    }

    fn range(&self, id: BlockId) -> Range<usize> {
        let start = self.starts.get(id.index()).copied().unwrap_or(0) as usize;
        let end = self.starts.get(id.index() + 1).copied().unwrap_or(0) as usize;
        start..end
    }

    fn of(&self, id: BlockId) -> &[BlockId] {
        self.blocks.get(self.range(id)).unwrap_or_default()
    }

    /// Applies a stored use-list order: use `n` moves to index `order[n]`.
    fn reorder(&mut self, id: BlockId, order: &[u32]) {
        let range = self.range(id);
        let Some(list) = self.blocks.get_mut(range) else { return };
        // If the block's address is taken, that is a use, too, and the oldest.
        let address = usize::from(order.len() == list.len() + 1);
        if list.len() + address != order.len() {
            return;
        }
        let uses = list.iter().copied().chain([BlockId::NONE]);
        let mut pairs: Vec<(u32, BlockId)> = order.iter().copied().zip(uses).collect();
        pairs.sort_by_key(|(index, _)| *index);
        let blocks = pairs.into_iter().map(|(_, block)| block).filter(|block| block.is_some());
        for (slot, block) in list.iter_mut().zip(blocks) {
            *slot = block;
        }
    }
}
