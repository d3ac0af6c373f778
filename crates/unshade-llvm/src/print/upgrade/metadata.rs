//! Upgrades module flags and metadata attached to instructions.
//!
//! | since | change |
//! |---|---|
//! | 3.3 | TBAA tags are access paths: `!{!type, !type, i64 0}` |
//! | 3.5 | loop hints are `llvm.loop.vectorize.*` instead of `llvm.vectorizer.*` |
//! | 3.6 | local values can't be attached |
//! | 5 | linker options are named metadata instead of a flag |
//! | 8 | the marker of the Objective-C runtime is a flag |
//! | 11 | branch weights whose number is not that of the successors are dropped |
//!
//! Knowledge: the output of `llvm-dis` 14 and 19 for old files; the Language Reference on module flags.

use super::objc::MARKER;
use crate::body::FunctionBody;
use crate::constants::Constant;
use crate::debug_info::NodeKind;
use crate::ids::{MetadataId, Slice, narrow};
use crate::instruction::{Instruction, Opcode};
use crate::metadata::{Metadata, NamedMetadata, Node};
use crate::module::Module;
use crate::print::Dialect;
use crate::types::Type;
use crate::value::{Operand, OperandKind};
use alloc::vec;
use alloc::vec::Vec;

const FLAGS: &[u8] = b"llvm.module.flags";
const LINKER_FLAG: &[u8] = b"Linker Options";
const LINKER_OPTIONS: &[u8] = b"llvm.linker.options";
const IMAGE_SECTION: &[u8] = b"Objective-C Image Info Section";
const COLLECTION: &[u8] = b"Objective-C Garbage Collection";
const IMAGE_VERSION: &[u8] = b"Objective-C Image Info Version";
const CLASS_PROPERTIES: &[u8] = b"Objective-C Class Properties";
const OLD_HINT: &[u8] = b"llvm.vectorizer.";

/// The behaviour of module flags when modules are linked.
mod behaviour {
    pub(super) const ERROR: u64 = 1;
    pub(super) const OVERRIDE: u64 = 4;
    pub(super) const MAX: u64 = 7;
    pub(super) const MIN: u64 = 8;
}

/// A module flag: the node, its name, and the reference to its value.
struct Flag {
    id: MetadataId,
    name: Vec<u8>,
    value: u64,
}

/// Returns the node of each flag, its name, and the reference to its value.
fn entries<'m>(module: &'m Module<'_>) -> impl Iterator<Item = (MetadataId, &'m [u8], u64)> {
    module.named(FLAGS).iter().filter_map(|&id| {
        let &[_, name, value] = module.metadata.references(module.node(id)?) else { return None };
        Some((id, module.metadata_string(MetadataId(narrow(name.checked_sub(1)?)))?, value))
    })
}

fn flags(module: &Module<'_>) -> Vec<Flag> {
    entries(module).map(|(id, name, value)| Flag { id, name: name.to_vec(), value }).collect()
}

/// Returns whether a module has flags that may need an upgrade, which few have.
fn has_upgradable_flags(module: &Module<'_>) -> bool {
    let names = [IMAGE_SECTION, COLLECTION, IMAGE_VERSION, LINKER_FLAG];
    entries(module).any(|(_, name, _)| names.contains(&name))
}

fn find<'f>(flags: &'f [Flag], name: &[u8]) -> Option<&'f Flag> {
    flags.iter().find(|flag| flag.name == name)
}

fn text_of(module: &Module<'_>, reference: u64) -> Option<Vec<u8>> {
    module.metadata_string(MetadataId(narrow(reference.checked_sub(1)?))).map(<[u8]>::to_vec)
}

/// Returns the Objective-C section, if its name contains spaces.
fn spaced_section(module: &Module<'_>, flags: &[Flag]) -> Option<(MetadataId, Vec<u8>)> {
    let flag = find(flags, IMAGE_SECTION)?;
    let section = text_of(module, flag.value).filter(|section| section.contains(&b' '))?;
    Some((flag.id, section))
}

/// Returns the value of the garbage collection flag, if it is not an `i8`.
fn wide_collection(module: &Module<'_>, flags: &[Flag]) -> Option<(MetadataId, u64)> {
    let flag = find(flags, COLLECTION)?;
    match module.metadata.get(MetadataId(narrow(flag.value.checked_sub(1)?)))? {
        Metadata::Value { value, .. } => {
            let ty = module.value(None, value)?.ty;
            let number = module.integer(None, value)?;
            (module.types.get(ty) != Type::Integer(8)).then_some((flag.id, number))
        }
        _ => None,
    }
}

fn lacks_class_properties(flags: &[Flag]) -> bool {
    find(flags, IMAGE_VERSION).is_some() && find(flags, CLASS_PROPERTIES).is_none()
}

fn old_linker_options(module: &Module<'_>, flags: &[Flag]) -> Option<Node> {
    if module.named_metadata.iter().any(|named| named.name == LINKER_OPTIONS) {
        return None;
    }
    module.node(MetadataId(narrow(find(flags, LINKER_FLAG)?.value.checked_sub(1)?)))
}

pub(super) fn is_old(module: &Module<'_>) -> bool {
    if !has_upgradable_flags(module) {
        return false;
    }
    has_old_flags(module) || old_linker_options(module, &flags(module)).is_some()
}

/// Returns whether flags of the module have old values.
pub(super) fn has_old_flags(module: &Module<'_>) -> bool {
    let flags = flags(module);
    lacks_class_properties(&flags)
        || spaced_section(module, &flags).is_some()
        || wide_collection(module, &flags).is_some()
}

pub(super) fn upgrade(module: &mut Module<'_>) {
    let flags = flags(module);
    if let Some(options) = old_linker_options(module, &flags) {
        let references = module.metadata.references(options).iter();
        let nodes = references
            .filter_map(|reference| reference.checked_sub(1))
            .map(|id| MetadataId(narrow(id)))
            .collect();
        module.named_metadata.push(NamedMetadata { name: LINKER_OPTIONS.to_vec(), nodes });
    }
    upgrade_flags(module);
}

/// Upgrades the values of flags.
pub(super) fn upgrade_flags(module: &mut Module<'_>) {
    let flags = flags(module);
    if let Some((id, mut section)) = spaced_section(module, &flags) {
        section.retain(|&c| c != b' ');
        let section = module.metadata.add_string_reference(&section);
        replace_flag(module, id, None, section);
    }
    let collection = wide_collection(module, &flags);
    if let Some((id, number)) = collection {
        let number = byte(module, number & 0xFF);
        let error = word(module, behaviour::ERROR);
        replace_flag(module, id, Some(error), number);
    }
    if lacks_class_properties(&flags) {
        let zero = word(module, 0);
        add_flag(module, behaviour::OVERRIDE, CLASS_PROPERTIES, zero);
    }
    if let Some((_, number)) = collection.filter(|(_, number)| *number > 0xFF) {
        let abi = word(module, number >> 8 & 0xFF);
        add_flag(module, behaviour::ERROR, b"Swift ABI Version", abi);
        let major = byte(module, number >> 24 & 0xFF);
        add_flag(module, behaviour::ERROR, b"Swift Major Version", major);
        let minor = byte(module, number >> 16 & 0xFF);
        add_flag(module, behaviour::ERROR, b"Swift Minor Version", minor);
    }
}

/// Returns the behaviour of a module flag, and its name if that has changed; none if neither has.
pub(in crate::print) fn flag_start(
    name: &[u8],
    behaviour: u64,
    opaque: bool,
) -> Option<(u64, Option<&'static str>)> {
    use behaviour::{ERROR, MAX, MIN};
    match name {
        b"amdgpu_code_object_version" if opaque => Some((behaviour, Some("amdhsa_code_object_version"))),
        b"PIC Level" if opaque && matches!(behaviour, ERROR | MAX) => Some((MIN, None)),
        b"PIC Level" | b"PIE Level" if behaviour == ERROR => Some((MAX, None)),
        b"branch-target-enforcement" if opaque && behaviour == ERROR => Some((MIN, None)),
        name if opaque && behaviour == ERROR && name.starts_with(b"sign-return-address") => Some((MIN, None)),
        _ => None,
    }
}

/// Returns how module flags start now whose behaviour or name has changed: the flag, its behaviour and name.
fn changed_flags(module: &Module<'_>, dialect: Dialect) -> Vec<(Flag, u64, Option<&'static str>)> {
    let changed = |flag: Flag| {
        let first = *module.metadata.references(module.node(flag.id)?).first()?;
        let Metadata::Value { value, .. } = module.metadata.get(MetadataId(narrow(first.checked_sub(1)?)))?
        else {
            return None;
        };
        let (behaviour, name) = flag_start(&flag.name, module.integer(None, value)?, dialect.is_opaque())?;
        Some((flag, behaviour, name))
    };
    flags(module).into_iter().filter_map(changed).collect()
}

/// Returns whether flags have a behaviour or name that has changed.
pub(super) fn has_old_behaviour(module: &Module<'_>, dialect: Dialect) -> bool {
    !changed_flags(module, dialect).is_empty()
}

/// Changes the behaviours and names of flags. The printer does so by itself.
pub(super) fn upgrade_behaviours(module: &mut Module<'_>, dialect: Dialect) {
    for (flag, behaviour, name) in changed_flags(module, dialect) {
        let behaviour = word(module, behaviour);
        if let Some(name) = name {
            let name = module.metadata.add_string_reference(name.as_bytes());
            let node = module.metadata.add_tuple(&[behaviour, name, flag.value]);
            set_flag(module, flag.id, MetadataId(narrow(node - 1)));
        } else {
            replace_flag(module, flag.id, Some(behaviour), flag.value);
        }
    }
}

/// Returns the number of a module flag.
pub(super) fn flag_number(module: &Module<'_>, name: &[u8]) -> Option<u64> {
    let value = find(&flags(module), name)?.value;
    match module.metadata.get(MetadataId(narrow(value.checked_sub(1)?)))? {
        Metadata::Value { value, .. } => module.integer(None, value),
        _ => None,
    }
}

/// Sets the number of a module flag that exists; the least one wins when modules are linked.
pub(super) fn set_least_flag(module: &mut Module<'_>, name: &[u8], number: u64) {
    if let Some(id) = find(&flags(module), name).map(|flag| flag.id) {
        let (least, number) = (word(module, behaviour::MIN), word(module, number));
        replace_flag(module, id, Some(least), number);
    }
}

/// Adds an integer constant to the metadata, and returns a reference to it.
pub(super) fn integer(module: &mut Module<'_>, width: u32, number: u64) -> u64 {
    let ty = module.types.intern(Type::Integer(width));
    let value = module.add_constant(Constant::Integer(number), ty);
    module.metadata.add_unnumbered(Metadata::Value { ty, value })
}

fn word(module: &mut Module<'_>, number: u64) -> u64 {
    integer(module, 32, number)
}

fn byte(module: &mut Module<'_>, number: u64) -> u64 {
    integer(module, 8, number)
}

/// Replaces the value, and if given the behaviour, of a flag.
fn replace_flag(module: &mut Module<'_>, id: MetadataId, behaviour: Option<u64>, value: u64) {
    let Some(node) = module.node(id) else { return };
    let &[old, name, _] = module.metadata.references(node) else { return };
    let flag = module.metadata.add_tuple(&[behaviour.unwrap_or(old), name, value]);
    set_flag(module, id, MetadataId(narrow(flag - 1)));
}

/// Puts a flag in the place of another one.
fn set_flag(module: &mut Module<'_>, id: MetadataId, flag: MetadataId) {
    let named = module.named_metadata.iter_mut().filter(|named| named.name == FLAGS);
    for node in named.flat_map(|named| named.nodes.iter_mut()).filter(|node| **node == id) {
        *node = flag;
    }
}

fn add_flag(module: &mut Module<'_>, behaviour: u64, name: &[u8], value: u64) {
    let behaviour = word(module, behaviour);
    let name = module.metadata.add_string_reference(name);
    let node = module.metadata.add_tuple(&[behaviour, name, value]);
    let node = MetadataId(narrow(node - 1));
    match module.named_metadata.iter_mut().find(|named| named.name == FLAGS) {
        Some(flags) => flags.nodes.push(node),
        None => module.named_metadata.push(NamedMetadata { name: FLAGS.to_vec(), nodes: vec![node] }),
    }
}

/// Turns the marker of the Objective-C runtime into a flag; returns whether there was one.
pub(super) fn upgrade_marker(module: &mut Module<'_>) -> bool {
    let Some(&node) = module.named(MARKER).first() else { return false };
    let Some(Some(id)) = module.node_operands(node).next() else { return false };
    let Some(text) = module.metadata_string(id).map(<[u8]>::to_vec) else { return false };
    let mut value = u64::from(id.0) + 1;
    if let [before, after] = text.split(|&c| c == b'#').collect::<Vec<_>>().as_slice() {
        value = module.metadata.add_string_reference(&[before, &b";"[..], after].concat());
    }
    add_flag(module, behaviour::ERROR, MARKER, value);
    module.named_metadata.retain(|named| named.name != MARKER);
    true
}

/// The number of tags that [`AttachmentKinds::any_old`] remembers.
const KNOWN_TAGS: usize = 16;

/// The metadata kinds of attachments that may need an upgrade.
pub(super) struct AttachmentKinds {
    alias: Option<u32>,
    weights: Option<u32>,
    hints: Option<u32>,
    /// Whether a string with the origin of the weights may precede them, as from LLVM 19 on.
    has_origins: bool,
}

/// The upgrade that an attachment needs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AttachmentUpgrade {
    /// Its TBAA tag becomes an access path.
    Alias,
    /// Its loop hints are renamed.
    Hints,
    /// It is dropped.
    Dropped,
}

impl AttachmentKinds {
    pub(super) fn new(module: &Module<'_>, dialect: Dialect) -> Self {
        Self {
            alias: module.metadata_kind(b"tbaa"),
            weights: module.metadata_kind(b"prof"),
            hints: module.metadata_kind(b"llvm.loop").filter(|_| module.metadata.old_strings),
            has_origins: dialect.is_opaque(),
        }
    }

    /// Returns those that may need an upgrade in a text, which are TBAA tags only.
    pub(super) fn of_text(module: &Module<'_>) -> Self {
        let all = Self::new(module, Dialect::Llvm14);
        Self { weights: None, hints: None, ..all }
    }

    /// Returns whether any attachment of a body needs an upgrade.
    pub(super) fn is_any_old(&self, module: &Module<'_>, body: &FunctionBody) -> bool {
        let attached = body.attachments.iter().flat_map(|(_, list)| list.of(&body.attached));
        self.alias.is_some()
            && attached.into_iter().any(|&(kind, id)| self.old(module, body, None, kind, id).is_some())
    }

    pub(super) fn any_old(&self, module: &Module<'_>, body: &FunctionBody) -> bool {
        // TBAA tags that needed no upgrade, by their last bits: neighbours share them.
        let mut known = [MetadataId::NONE; KNOWN_TAGS];
        let attached = body.attachments.iter().flat_map(|(at, list)| {
            let instruction = body.instructions.get(*at as usize);
            list.of(&body.attached).iter().map(move |attachment| (instruction, attachment))
        });
        for (instruction, &(kind, id)) in attached {
            let slot = id.index() % KNOWN_TAGS;
            if known.get(slot) == Some(&id) {
                continue;
            }
            if self.old(module, body, instruction, kind, id).is_some() {
                return true;
            }
            if let Some(tag) = known.get_mut(slot).filter(|_| Some(kind) == self.alias) {
                *tag = id;
            }
        }
        body.metadata.iter().any(|(_, entry)| entry.is_empty_tuple())
    }

    fn old(
        &self,
        module: &Module<'_>,
        body: &FunctionBody,
        instruction: Option<&Instruction>,
        kind: u32,
        id: MetadataId,
    ) -> Option<AttachmentUpgrade> {
        let kind = Some(kind);
        let (entry, table) = module.metadata(Some(body), id)?;
        let node = match entry {
            Metadata::Node(node) if node.kind == NodeKind::Tuple => node,
            Metadata::Value { value, .. } => {
                let local = value.0 >= body.value_base && module.value(None, value).is_none();
                return local.then_some(AttachmentUpgrade::Dropped);
            }
            _ => return None,
        };
        let references = table.references(node);
        let entry_of = |reference: u64| {
            let id = MetadataId(narrow(reference.checked_sub(1)?));
            Some(module.metadata(Some(body), id)?.0)
        };
        let first = entry_of(*references.first()?);
        if kind == self.alias {
            let path = matches!(first, Some(Metadata::Node(_))) && references.len() >= 3;
            return (!path).then_some(AttachmentUpgrade::Alias);
        }
        if kind == self.weights {
            let Some(Metadata::String(name)) = first else { return None };
            let second = references.get(1).and_then(|reference| reference.checked_sub(1));
            let second = second.and_then(|id| module.metadata(Some(body), MetadataId(narrow(id))));
            let has_origin = self.has_origins && matches!(second, Some((Metadata::String(_), _)));
            let words = 1 + usize::from(has_origin);
            let wrong = table.string(name) == b"branch_weights"
                && expected_weights(body, instruction?)
                    .is_some_and(|count| count + words != references.len());
            return wrong.then_some(AttachmentUpgrade::Dropped);
        }
        if kind == self.hints {
            let old = |&reference: &u64| old_hint(module, reference).is_some();
            return references.iter().any(old).then_some(AttachmentUpgrade::Hints);
        }
        None
    }
}

/// Returns the number of branch weights that an instruction must have.
fn expected_weights(body: &FunctionBody, instruction: &Instruction) -> Option<usize> {
    let blocks =
        || body.operands_of(instruction).iter().filter(|operand| operand.as_block().is_some()).count();
    match instruction.opcode {
        Opcode::Br | Opcode::Switch | Opcode::IndirectBr => Some(blocks()),
        Opcode::Call => Some(1),
        Opcode::Select => Some(2),
        _ => None,
    }
}

/// Returns a loop hint with an old name, and the name without its prefix.
fn old_hint<'m>(module: &'m Module<'_>, reference: u64) -> Option<(Node, &'m [u8])> {
    let node = module.node(MetadataId(narrow(reference.checked_sub(1)?)))?;
    let &name = module.metadata.references(node).first()?;
    let name = module.metadata_string(MetadataId(narrow(name.checked_sub(1)?)))?;
    (node.kind == NodeKind::Tuple).then_some((node, name.strip_prefix(OLD_HINT)?))
}

/// Upgrades metadata attached to instructions; `offset` is a reference to `i64 0`, added on first use.
pub(super) fn upgrade_attachments(
    module: &mut Module<'_>,
    body: &mut FunctionBody,
    kinds: &AttachmentKinds,
    offset: &mut Option<u64>,
) {
    for at in 0..body.attachments.len() {
        let Some(&(instruction, list)) = body.attachments.get(at) else { continue };
        let attached = list.of(&body.attached).to_vec();
        let instruction = body.instructions.get(instruction as usize);
        let old = |(kind, id): &(u32, MetadataId)| kinds.old(module, body, instruction, *kind, *id);
        let changes: Vec<Option<AttachmentUpgrade>> = attached.iter().map(old).collect();
        if changes.iter().all(Option::is_none) {
            continue;
        }
        let mut kept = Vec::new();
        for (&(kind, id), change) in attached.iter().zip(changes) {
            match change {
                None => kept.push((kind, id)),
                Some(AttachmentUpgrade::Dropped) => {}
                Some(AttachmentUpgrade::Alias) => kept.push((kind, alias_path(module, id, offset))),
                Some(AttachmentUpgrade::Hints) => kept.push((kind, loop_hints(module, id))),
            }
        }
        let kept = Slice::extend(&mut body.attached, kept);
        if let Some(attachment) = body.attachments.get_mut(at) {
            attachment.1 = kept;
        }
    }
    if body.metadata.iter().any(|(_, entry)| entry.is_empty_tuple()) {
        share_empty_tuples(module, body);
    }
}

/// Makes all empty tuples the same one. Function-local tuples, which are no longer valid, have become empty.
fn share_empty_tuples(module: &Module<'_>, body: &mut FunctionBody) {
    let entries = module.metadata.iter().chain(body.metadata.iter());
    let Some((empty, _)) = entries.into_iter().find(|(_, entry)| entry.is_empty_tuple()) else { return };
    for operand in &mut body.operands {
        if let OperandKind::Metadata(id) = operand.kind()
            && body.metadata.get(id).is_some_and(Metadata::is_empty_tuple)
        {
            *operand = Operand::metadata(empty);
        }
    }
}

/// Converts a TBAA tag to an access path whose base and access types are the type itself.
fn alias_path(module: &mut Module<'_>, id: MetadataId, offset: &mut Option<u64>) -> MetadataId {
    let Some(node) = module.node(id) else { return id };
    let references = module.metadata.references(node).to_vec();
    let offset = *offset.get_or_insert_with(|| integer(module, 64, 0));
    let path = match references.as_slice() {
        &[name, parent, constant] => {
            let ty = module.metadata.add_tuple(&[name, parent]);
            module.metadata.add_tuple(&[ty, ty, offset, constant])
        }
        _ => {
            let ty = u64::from(id.0) + 1;
            module.metadata.add_tuple(&[ty, ty, offset])
        }
    };
    MetadataId(narrow(path - 1))
}

fn loop_hints(module: &mut Module<'_>, id: MetadataId) -> MetadataId {
    let Some(node) = module.node(id) else { return id };
    let mut references = module.metadata.references(node).to_vec();
    for reference in &mut references {
        let Some((hint, name)) = old_hint(module, *reference) else { continue };
        let name = match name {
            b"unroll" => b"llvm.loop.interleave.count".to_vec(),
            _ => [&b"llvm.loop.vectorize."[..], name].concat(),
        };
        let mut operands = module.metadata.references(hint).to_vec();
        let name = module.metadata.add_string_reference(&name);
        if let Some(first) = operands.first_mut() {
            *first = name;
        }
        *reference = module.metadata.add_tuple(&operands);
    }
    MetadataId(narrow(module.metadata.add_tuple(&references) - 1))
}
