//! Collects findings about IR, and finds out where in the file each is.
//!
//! Checks name the entity at fault: an instruction, a node, a symbol. The offsets come from a [`SourceMap`], which walks
//! over the records a second time; it is made only if there is a finding, so that sound modules don't pay for it. Those of a
//! module that was assembled come from its text.

use crate::assemble::{TextMap, Version};
use crate::body::FunctionBody;
use crate::ids::{BlockId, MetadataId, TypeId, ValueId, narrow};
use crate::module::Module;
use crate::source_map::SourceMap;
use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use unshade_core::{Diagnostics, Error, ErrorKind, Escaped};

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The module as a whole.
    Module,
    /// A type.
    Type(TypeId),
    /// A global variable, by index.
    Global(usize),
    /// A function, by index: its declaration.
    Function(usize),
    /// An alias or ifunc, by index.
    Alias(usize),
    /// A constant: of the module, or of the body being checked.
    Constant(ValueId),
    /// Metadata: of the module, or of the body being checked.
    Metadata(MetadataId),
    /// Named metadata, by index.
    Named(usize),
    /// A block of the body being checked.
    Block(BlockId),
    /// An instruction of the body being checked, by index.
    Instruction(u32),
}

/// A finding whose offset is not known yet.
#[derive(Debug)]
struct Finding {
    place: Place,
    rule: &'static str,
    message: &'static str,
    found: Option<String>,
}

/// The findings about a module or a body, with the place of what is being checked.
#[derive(Debug)]
pub(super) struct Findings {
    place: Place,
    list: Vec<Finding>,
}

/// Where the offsets of findings come from.
pub(super) enum Offsets<'t> {
    /// From the file, whose map is made for the first finding.
    File(Option<SourceMap>),
    /// From the text that the file was assembled from.
    Text(&'t TextMap<'t>),
}

/// Rules whose breach LLVM answers by dropping debug information or an attribute, not by refusing the module.
const WARNINGS: &[&str] = &[DEBUG_INFO, "ir-dropped"];
const DEBUG_INFO: &str = "ir-debug-info";

impl Findings {
    pub(super) fn new() -> Self {
        Self { place: Place::Module, list: Vec::new() }
    }

    /// Sets what is being checked.
    #[inline]
    pub(super) fn enter(&mut self, place: Place) {
        self.place = place;
    }

    /// Adds a finding unless the condition holds, and returns the condition.
    #[inline]
    pub(super) fn require(&mut self, holds: bool, rule: &'static str, message: &'static str) -> bool {
        if !holds {
            self.add(rule, message, None);
        }
        holds
    }

    /// Adds a finding with the value that was found.
    #[cold]
    pub(super) fn add_found(&mut self, rule: &'static str, message: &'static str, found: String) {
        self.add(rule, message, Some(found));
    }

    /// Adds a finding about an entity other than the one being checked.
    #[cold]
    pub(super) fn add_at(&mut self, place: Place, rule: &'static str, message: &'static str) {
        let outer = core::mem::replace(&mut self.place, place);
        self.add(rule, message, None);
        self.place = outer;
    }

    #[cold]
    fn add(&mut self, rule: &'static str, message: &'static str, found: Option<String>) {
        self.list.push(Finding { place: self.place, rule, message, found });
    }

    /// Moves the findings to a list, with their offsets and names.
    pub(super) fn finish(
        &mut self,
        module: &Module<'_>,
        body: Option<&FunctionBody>,
        offsets: &mut Offsets<'_>,
        diagnostics: &mut Diagnostics,
    ) {
        if self.list.is_empty() {
            return;
        }
        let map = match offsets {
            Offsets::File(map) => map.get_or_insert_with(|| SourceMap::new(module)),
            Offsets::Text(map) => return self.finish_text(map, body, diagnostics),
        };
        if let Some(body) = body {
            map.add(module, body);
        }
        for finding in self.list.drain(..) {
            // Beyond the limit findings are only counted.
            let error = if diagnostics.len() < Diagnostics::LIMIT {
                locate(&finding, module, body, map)
            } else {
                Error::without_offset(ErrorKind::BadValue, finding.message)
            };
            if WARNINGS.contains(&finding.rule) {
                diagnostics.warning(finding.rule, error);
            } else {
                diagnostics.error(finding.rule, error);
            }
        }
    }
}

impl Findings {
    /// Moves the findings that `llvm-as` refuses a text for to a list, with their positions in the text.
    fn finish_text(&mut self, map: &TextMap<'_>, body: Option<&FunctionBody>, diagnostics: &mut Diagnostics) {
        for finding in self.list.drain(..).filter(|finding| is_refused_in_text(finding.rule, map.version())) {
            if diagnostics.len() >= Diagnostics::LIMIT {
                diagnostics.error(finding.rule, Error::without_offset(ErrorKind::BadValue, finding.message));
                continue;
            }
            let function = body.map_or(u32::MAX, |body| body.function);
            let position = match finding.place {
                Place::Module | Place::Type(_) => None,
                Place::Global(index) => map.global(index),
                Place::Function(index) => map.function(index),
                Place::Alias(index) => map.alias(index),
                Place::Constant(id) => map.constant(id),
                Place::Metadata(id) => map.metadata(function, id),
                Place::Named(index) => map.named(index),
                Place::Block(block) => {
                    let block = body.and_then(|body| body.blocks.get(block.index()));
                    block.and_then(|block| map.instruction(function, block.start))
                }
                Place::Instruction(index) => map.instruction(function, index),
            };
            let position = position.or_else(|| map.function(function as usize)).unwrap_or(0);
            let mut error = Error::new(ErrorKind::BadValue, position as u64, finding.message);
            if let Some(found) = finding.found {
                error = error.found(found);
            }
            diagnostics.error(finding.rule, error);
        }
    }
}

/// Returns whether a text that breaks a rule is refused. Apple's and Microsoft's rules are not LLVM's own, and DXC does not
/// check debug information.
fn is_refused_in_text(rule: &str, version: Version) -> bool {
    rule.starts_with("ir-") && (rule != DEBUG_INFO || version != Version::Dxc)
}

/// Turns a finding into an error with an offset and the names of the parts that it is in.
fn locate(finding: &Finding, module: &Module<'_>, body: Option<&FunctionBody>, map: &SourceMap) -> Error {
    let function = body.map_or(u32::MAX, |body| body.function);
    let range = match finding.place {
        Place::Module => 0..0,
        Place::Type(id) => map.ty(id),
        Place::Global(index) => value_of(module.globals.get(index).map(|global| global.symbol.value), map),
        Place::Function(index) => value_of(module.functions.get(index).map(|one| one.symbol.value), map),
        Place::Alias(index) => value_of(module.aliases.get(index).map(|alias| alias.symbol.value), map),
        Place::Constant(id) => map.value(id),
        Place::Metadata(id) => map.metadata(function, id),
        Place::Named(index) => map.named(index),
        Place::Block(block) => {
            let first = body.and_then(|body| body.blocks.get(block.index())).map_or(0, |block| block.start);
            map.instruction(function, first)
        }
        Place::Instruction(index) => map.instruction(function, index),
    };
    let mut error = if range.is_empty() {
        Error::without_offset(ErrorKind::BadValue, finding.message)
    } else {
        Error::new(ErrorKind::BadValue, range.start, finding.message)
    };
    if let Some(found) = &finding.found {
        error = error.found(Cow::Owned(found.clone()));
    }
    if let Some(name) = name_of(finding.place, module, body) {
        error = error.within(name);
    }
    match body {
        Some(body) => error.within(function_name(module, body.function as usize)),
        None => error,
    }
}

fn value_of(id: Option<ValueId>, map: &SourceMap) -> core::ops::Range<u64> {
    id.map_or(0..0, |id| map.value(id))
}

fn function_name(module: &Module<'_>, index: usize) -> String {
    let name = module.functions.get(index).map_or(&[][..], |function| &function.symbol.name);
    format!("function {index} {}", Escaped(name).quoted())
}

/// Returns the name of a place inside of a module or body.
fn name_of(place: Place, module: &Module<'_>, body: Option<&FunctionBody>) -> Option<String> {
    let quoted = |name: &[u8]| Escaped(name).quoted();
    Some(match place {
        Place::Module => return None,
        Place::Type(id) => format!("type {}", id.0),
        Place::Global(index) => format!("global {}", quoted(&module.globals.get(index)?.symbol.name)),
        Place::Function(index) => function_name(module, index),
        Place::Alias(index) => format!("alias {}", quoted(&module.aliases.get(index)?.symbol.name)),
        Place::Constant(id) => format!("constant {}", id.0),
        Place::Metadata(id) => format!("metadata {}", id.0),
        Place::Named(index) => format!("named metadata {}", quoted(&module.named_metadata.get(index)?.name)),
        Place::Block(block) => format!("block {}", block.0),
        Place::Instruction(index) => {
            let body = body?;
            let opcode = body.instructions.get(index as usize)?.opcode;
            let block = body.blocks.partition_point(|block| block.start <= index).checked_sub(1)?;
            let first = body.blocks.get(block)?.start;
            let within = index.saturating_sub(first);
            format!("block {}, instruction {within} ({})", narrow(block as u64), opcode.mnemonic())
        }
    })
}
