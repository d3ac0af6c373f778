//! The form of LLVM 3.7 as DXC writes it, that of the bitcode in DXIL: where it differs from later versions.
//!
//! ```text
//! MODULE
//!   VERSION 1 · BLOCKINFO · attribute groups · attribute lists · types · comdats
//!   triple · data layout · assembly · sections · variables · functions · aliases
//!   constants · metadata · kinds of metadata · names of symbols · functions
//! ```
//!
//! There is no identification, string table or symbol table: names are in `VALUE_SYMTAB` blocks, which DXC sorts by
//! name. Metadata is numbered in post-order, strings among nodes, and all that is not a value of a function belongs to
//! the module. Orders of use lists are only in programs that DXC wrote again after it took the root signature out.
//!
//! Knowledge: DXC's `BitcodeWriter.cpp` and `ValueEnumerator.cpp`, and the bitcode in real containers.

use super::block_info::{NameLayout, name};
use super::source::{Key, Scope};
use super::stream::{Layout, Shape, bits_for, is_char6};
use super::tables::{NameNumbers, linkage};
use super::{WriteInput, Writer, unsupported};
use crate::bitstream::Scalar::{Fixed, Literal, Variable};
use crate::bitstream::Tail;
use crate::blocks;
use crate::body::FunctionBody;
use crate::debug_info::NodeKind;
use crate::global::{Function, GlobalVariable};
use crate::ids::{BlockId, ValueId, narrow};
use crate::instruction::{Instruction, Opcode};
use crate::metadata::{Metadata, code as metadata_code};
use crate::module::code;
use crate::write::metadata::NodeLayouts;
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Result};

/// The bits of calls that may be, and must be, tail calls.
const MUST_TAIL: u8 = 3;

/// A name, whether it is of a block, and the number of what it names.
type NamedNumber<'n> = (&'n [u8], bool, u64);

impl Writer<'_, '_> {
    /// Writes the module.
    pub(super) fn dxc_module(&mut self) -> Result<()> {
        let module = self.numbering.source.module;
        self.stream.enter(blocks::MODULE, 3, 0);
        self.stream.record(code::VERSION, &[1]);
        self.layouts =
            super::Layouts::write(&mut self.stream, self.version, self.numbering.type_list().len())?;
        self.attribute_groups()?;
        self.attribute_lists()?;
        self.type_table()?;
        self.dxc_comdats();
        self.dxc_symbols()?;
        self.module_constants()?;
        self.dxc_metadata()?;
        if !self.numbering.kinds.all.is_empty() {
            self.metadata_kinds(blocks::METADATA)?;
        }
        self.dxc_symbol_names()?;
        self.use_lists(Scope::MODULE, &module.use_lists)?;
        for (at, function) in module.functions.iter().enumerate() {
            if let Some(scope) = self.numbering.source.body_of(at) {
                self.function(scope, function)?;
            }
        }
        self.stream.leave()
    }

    fn dxc_comdats(&mut self) {
        for &(name, selection) in &self.numbering.comdats {
            let mut record = alloc::vec![selection, name.len() as u64];
            record.extend(name.iter().map(|&byte| u64::from(byte)));
            self.stream.record(code::COMDAT, &record);
        }
    }

    fn dxc_symbols(&mut self) -> Result<()> {
        let module = self.numbering.source.module;
        if !module.aliases.is_empty() {
            return Err(unsupported("an alias can't be written in the form of this version"));
        }
        self.module_texts();
        let (sections, collectors) = self.section_names();
        let layout = self.dxc_global_layout(sections.len())?;
        for global in &module.globals {
            self.dxc_global(global, layout.as_ref(), &sections)?;
        }
        for function in &module.functions {
            self.dxc_function_symbol(function, &sections, &collectors)?;
        }
        Ok(())
    }

    /// Defines the abbreviation of simple global variables.
    fn dxc_global_layout(&mut self, sections: usize) -> Result<Option<Layout>> {
        let Some((alignment, last_type)) = self.largest_of_globals()? else { return Ok(None) };
        let width = |count: usize| if count == 1 { Literal(0) } else { Fixed(bits_for(count)) };
        let scalars = [
            Literal(code::GLOBALVAR.into()),
            Fixed(bits_for(last_type.saturating_add(1))),
            Variable(6),
            Variable(6),
            Fixed(5),
            width(alignment.saturating_add(1)),
            width(sections.saturating_add(1)),
        ];
        Ok(Some(self.stream.define(&Shape(&scalars, Tail::None))))
    }

    fn dxc_global(
        &mut self,
        global: &GlobalVariable,
        layout: Option<&Layout>,
        sections: &NameNumbers<'_>,
    ) -> Result<()> {
        let symbol = &global.symbol;
        if global.attributes.is_some() || [global.sanitizer, global.code_model] != [0, 0] {
            return Err(unsupported("attributes of a variable can't be written in the form of this version"));
        }
        let mut record = alloc::vec![
            self.numbering.ty(symbol.ty)?,
            u64::from(symbol.address_space) << 2 | 2 | u64::from(global.constant),
            self.optional_value(global.initializer)?,
            linkage(symbol.linkage),
            symbol.alignment.into(),
            sections.get(&symbol.section),
        ];
        let comdat = self.comdat(symbol)?;
        let unnamed = u8::from(symbol.unnamed_address != 0);
        let common = [symbol.visibility, symbol.thread_local, unnamed, symbol.dll_storage];
        if common == [0; 4] && !global.externally_initialized && comdat == 0 {
            self.stream.record_as(layout, code::GLOBALVAR, &record);
            return Ok(());
        }
        record.extend([
            symbol.visibility.into(),
            symbol.thread_local.into(),
            unnamed.into(),
            global.externally_initialized.into(),
            symbol.dll_storage.into(),
            comdat,
        ]);
        self.stream.record(code::GLOBALVAR, &record);
        Ok(())
    }

    fn dxc_function_symbol(
        &mut self,
        function: &Function,
        sections: &NameNumbers<'_>,
        collectors: &NameNumbers<'_>,
    ) -> Result<()> {
        let symbol = &function.symbol;
        self.stream.record(
            code::FUNCTION,
            &[
                self.numbering.ty(symbol.ty)?,
                function.calling_convention.into(),
                function.declaration.into(),
                linkage(symbol.linkage),
                self.numbering.attributes.list(function.attributes),
                symbol.alignment.into(),
                sections.get(&symbol.section),
                symbol.visibility.into(),
                collectors.get(&function.collector),
                u64::from(symbol.unnamed_address != 0),
                self.optional_value(function.prologue)?,
                symbol.dll_storage.into(),
                self.comdat(symbol)?,
                self.optional_value(function.prefix)?,
                self.optional_value(function.personality)?,
            ],
        );
        Ok(())
    }

    /// Writes the metadata of the module. The abbreviations are those that it needs.
    fn dxc_metadata(&mut self) -> Result<()> {
        let module = self.numbering.source.module;
        let list = self.numbering.metadata.of_module().others.to_vec();
        if list.is_empty() && module.named_metadata.is_empty() {
            return Ok(());
        }
        self.stream.enter(blocks::METADATA, 3, 0);
        let (mut has_strings, mut has_locations, mut has_generic) = (false, false, false);
        for &key in &list {
            match self.numbering.source.metadata(key)?.0 {
                Metadata::String(_) => has_strings = true,
                Metadata::Node(node) => {
                    has_locations |= node.kind == NodeKind::Location;
                    has_generic |= node.kind == NodeKind::GenericDebug;
                }
                _ => {}
            }
        }
        let text = |code: u32| [Literal(code.into())];
        let string = has_strings
            .then(|| self.stream.define(&Shape(&text(metadata_code::STRING_OLD), Tail::Array(Fixed(8)))));
        let mut layouts = NodeLayouts {
            location: has_locations.then(|| self.location_layout()),
            generic: has_generic.then(|| self.generic_layout()),
        };
        let name = (!module.named_metadata.is_empty())
            .then(|| self.stream.define(&Shape(&text(metadata_code::NAME), Tail::Array(Fixed(8)))));
        for key in list {
            self.dxc_metadata_entry(key, string.as_ref(), &mut layouts)?;
        }
        self.named_metadata(name.as_ref())?;
        self.stream.leave()
    }

    fn dxc_metadata_entry(
        &mut self,
        key: Key,
        string: Option<&Layout>,
        layouts: &mut NodeLayouts,
    ) -> Result<()> {
        if let (Metadata::String(text), table) = self.numbering.source.metadata(key)? {
            let text: Vec<u64> = table.string(text).iter().map(|&byte| byte.into()).collect();
            self.stream.record_as(string, metadata_code::STRING_OLD, &text);
            return Ok(());
        }
        self.metadata_records(&[key], layouts).map(drop)
    }

    /// Writes the names of variables and functions.
    fn dxc_symbol_names(&mut self) -> Result<()> {
        let module = self.numbering.source.module;
        let globals = module.globals.iter().map(|global| &global.symbol);
        let functions = module.functions.iter().map(|function| &function.symbol);
        let mut names = Vec::new();
        for symbol in globals.chain(functions).filter(|symbol| !symbol.name.is_empty()) {
            let number = self.numbering.value(Scope::MODULE, symbol.value)?;
            names.push((symbol.name.as_slice(), false, number.into()));
        }
        self.dxc_names(names)
    }

    /// Writes the names of the values and blocks of a function.
    pub(super) fn dxc_local_names(&mut self, scope: Scope, body: &FunctionBody) -> Result<()> {
        let mut names: Vec<NamedNumber<'_>> = Vec::new();
        let numbered = (0u32..).zip(&body.values).map(|(at, _)| ValueId(body.value_base.wrapping_add(at)));
        let unnumbered = (FunctionBody::UNNUMBERED..).zip(&body.unnumbered).map(|(at, _)| ValueId(at));
        for id in numbered.chain(unnumbered) {
            let name = body.value_name(id);
            if !name.is_empty() {
                names.push((name, false, self.numbering.value(scope, id)?.into()));
            }
        }
        for at in 0..narrow(body.blocks.len() as u64) {
            let name = body.block_name(BlockId(at));
            if !name.is_empty() {
                names.push((name, true, at.into()));
            }
        }
        self.dxc_names(names)
    }

    /// Writes names in their order, if there are any.
    fn dxc_names(&mut self, mut names: Vec<NamedNumber<'_>>) -> Result<()> {
        if names.is_empty() {
            return Ok(());
        }
        names.sort_unstable();
        if names.windows(2).any(|pair| matches!(pair, [(one, ..), (two, ..)] if one == two)) {
            return Err(Error::without_offset(ErrorKind::BadValue, "two values have the same name"));
        }
        self.stream.enter(blocks::VALUE_SYMTAB, 4, self.layouts.names.len());
        let mut record = Vec::new();
        for (text, is_block, number) in names {
            record.clear();
            record.push(number);
            record.extend(text.iter().map(|&byte| u64::from(byte)));
            let layout = match is_block {
                false if text.iter().all(|&byte| is_char6(byte)) => NameLayout::Char6,
                false if text.is_ascii() => NameLayout::Bits7,
                true if text.iter().all(|&byte| is_char6(byte)) => NameLayout::BlockChar6,
                _ => NameLayout::Bits8,
            };
            let code = if is_block { name::BLOCK } else { name::ENTRY };
            self.stream.record_as(self.layouts.of_name(layout), code, &record);
        }
        self.stream.leave()
    }
}

/// Returns whether orders of use lists are written: those that were read, but none that would follow from a text.
pub(super) fn keeps_use_lists(input: &WriteInput<'_, '_>) -> bool {
    let are_stored =
        !input.module.use_lists.is_empty() || input.bodies.iter().any(|body| !body.use_lists.is_empty());
    are_stored && input.use_order.is_none()
}

/// Reports instructions of versions between 3.7 and 14.
pub(super) fn check_instruction(body: &FunctionBody, instruction: &Instruction) -> Result<()> {
    let has_flags = instruction.flags != 0;
    let is_unknown = match instruction.opcode {
        Opcode::FNeg | Opcode::Freeze | Opcode::CallBr => true,
        Opcode::CatchPad | Opcode::CleanupPad | Opcode::CatchSwitch => true,
        Opcode::CatchRet | Opcode::CleanupRet | Opcode::PtrAuth => true,
        Opcode::Phi | Opcode::Select => has_flags,
        Opcode::Call => {
            let call = body.calls.get(instruction.detail as usize);
            has_flags || call.is_some_and(|call| !call.bundles.is_empty() || call.tail > MUST_TAIL)
        }
        opcode if opcode.is_cast() => has_flags,
        _ => false,
    };
    match is_unknown {
        true => Err(unsupported("an instruction can't be written in the form of this version")),
        false => Ok(()),
    }
}
