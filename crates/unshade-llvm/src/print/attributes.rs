//! Formats attributes, and numbers the attribute groups of functions and calls.
//!
//! Groups are numbered on first use: global variables and functions first, calls as their functions are printed.
//! Equal texts share a group, because LLVM unifies equal sets.

use super::text::{push_escaped, push_number};
use super::{Entity, Printer};
use crate::attribute_names::{AttributeOrder, name, rank};
use crate::attributes::{Attribute, Attributes, index, kind};
use crate::ids::{AttributeSetId, TypeId, narrow};
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use unshade_core::token::{Link, Token};
use unshade_core::{TokenKind, TokenSink};

/// The texts of attribute sets, formatted on first use.
pub(super) struct AttributeTexts {
    /// The text of each set on a parameter or result.
    parameters: Vec<Option<String>>,
    /// The group of each set, once known; an empty set has none.
    groups_of_sets: Vec<Option<Option<u32>>>,
    groups: Vec<AttributeGroup>,
}

/// An attribute group.
struct AttributeGroup {
    text: String,
    /// The attributes other than strings, for the comment above functions.
    comment: String,
}

impl AttributeTexts {
    pub(super) fn new(sets: usize) -> Self {
        Self { parameters: vec![None; sets], groups_of_sets: vec![None; sets], groups: Vec::new() }
    }

    /// Returns the number of the group with a text, if there is one.
    fn known(&self, text: &str) -> Option<u32> {
        let at = self.groups.iter().position(|group| group.text == text)?;
        u32::try_from(at).ok()
    }

    /// Adds a group and returns its number; an empty set has none.
    fn add(&mut self, text: String, comment: String) -> Option<u32> {
        if text.is_empty() {
            return None;
        }
        let number = u32::try_from(self.groups.len()).ok()?;
        self.groups.push(AttributeGroup { text, comment });
        Some(number)
    }
}

/// What the text of most sets fits in.
const USUAL_TEXT: usize = 128;

/// Kinds whose integer is written as `=n` in a group.
const NUMBERED_IN_GROUPS: [u32; 4] = [kind::ALIGN, kind::STACK_ALIGNMENT, 41, 42];
const ALLOC_SIZE: u32 = 51;
const VSCALE_RANGE: u32 = 74;
const UW_TABLE: u32 = 33;
const ALLOC_KIND: u32 = 82;
const MEMORY: u32 = 86;
const NO_FP_CLASS: u32 = 87;
const INITIALIZES: u32 = 94;
const NO_CAPTURE: u32 = 11;
const CAPTURES: u32 = 102;

/// Attributes that are only valid on pointers: `align`, `byval`, `nest`, `noalias`, `nocapture`, `readnone`,
/// `readonly`, `sret`, `inalloca`, `nonnull`, `dereferenceable`, `dereferenceable_or_null`, `swifterror`,
/// `preallocated`, `byref`, `elementtype`, `captures` and `dead_on_return`.
const POINTERS_ONLY: [u32; 18] = [1, 3, 8, 9, 11, 20, 21, 29, 38, 39, 41, 42, 47, 65, 69, 77, 102, 103];

/// The keywords of `allockind`, by bit.
pub(crate) const ALLOC_KINDS: [&str; 6] = ["alloc", "realloc", "free", "uninitialized", "zeroed", "aligned"];
/// The keywords of `memory`, by the value of a two-bit field.
pub(crate) const MEMORY_ACCESSES: [&str; 4] = ["none", "read", "write", "readwrite"];
/// The position of the version in the value of `memory`.
const VERSION_SHIFT: u32 = 56;
/// The locations of `memory`, by number. Location 3 is other memory.
const LOCATIONS: [(u32, &str); 5] = [
    (0, "argmem: "),
    (1, "inaccessiblemem: "),
    (2, "errnomem: "),
    (4, "target_mem0: "),
    (5, "target_mem1: "),
];
/// Classes of floating-point numbers, widest first.
pub(crate) const FP_CLASSES: [(u64, &str); 16] = [
    (0x3FF, "all"),
    (0x003, "nan"),
    (0x001, "snan"),
    (0x002, "qnan"),
    (0x204, "inf"),
    (0x004, "ninf"),
    (0x200, "pinf"),
    (0x060, "zero"),
    (0x020, "nzero"),
    (0x040, "pzero"),
    (0x090, "sub"),
    (0x010, "nsub"),
    (0x080, "psub"),
    (0x108, "norm"),
    (0x008, "nnorm"),
    (0x100, "pnorm"),
];

impl<'m, S: TokenSink> Printer<'m, '_, '_, S> {
    /// Formats a set: for a group, for the comment above a function (`only_plain`, without strings), or on a
    /// parameter or result of type `of`.
    fn write_set(&self, set: AttributeSetId, in_group: bool, only_plain: bool, of: Option<TypeId>) -> String {
        let mut text = String::with_capacity(USUAL_TEXT);
        let attributes = &self.module.attributes;
        let upgraded =
            if self.rules.upgrades { upgrade(attributes, set) } else { AttributeUpgrade::default() };
        let mut list = attributes.set(set).to_vec();
        if self.rules.upgrades {
            cut_alignments(&mut list);
        }
        let pointee = of.and_then(|ty| self.module.types.pointee(ty));
        if let Some(ty) = of {
            list.retain(|attribute| !self.is_misplaced(attribute, ty));
        }
        let mut pending_frame = upgraded.frame_pointer;
        if self.rules.opaque_pointers && (in_group || only_plain) {
            let memory = memory_effects(&mut list, self.rules.order);
            list.extend(memory);
        }
        if self.rules.order == AttributeOrder::V22 {
            replace_no_capture(&mut list);
        }
        if upgraded.null_pointer {
            list.push(Attribute::Flag(kind::NULL_POINTER_IS_VALID));
        }
        let order = self.rules.order;
        list.sort_by(|one, two| key(attributes, one, order).cmp(&key(attributes, two, order)));
        for attribute in list {
            if let Attribute::Text { name, .. } = attribute {
                if only_plain {
                    break;
                }
                let name = attributes.text(name);
                if upgraded.drops(name) {
                    continue;
                }
                if let Some(frame) = pending_frame.filter(|_| name > b"frame-pointer".as_slice()) {
                    separate(&mut text);
                    push_frame_pointer(&mut text, frame);
                    pending_frame = None;
                }
            }
            separate(&mut text);
            self.write_attribute(&mut text, attribute, in_group, pointee);
        }
        if let Some(frame) = pending_frame.filter(|_| !only_plain) {
            separate(&mut text);
            push_frame_pointer(&mut text, frame);
        }
        text
    }

    fn write_attribute(
        &self,
        text: &mut String,
        attribute: Attribute,
        in_group: bool,
        pointee: Option<TypeId>,
    ) {
        let attributes = &self.module.attributes;
        match attribute {
            Attribute::Flag(kind) => push_kind(text, kind),
            Attribute::Integer(MEMORY, value) => push_memory(text, value, self.rules.order),
            Attribute::Integer(kind, value) => push_integer(text, kind, value, in_group),
            Attribute::Type(kind, ty) => {
                push_kind(text, kind);
                // In old files the type is the pointee of the parameter.
                let ty = ty.or(pointee.filter(|_| self.rules.upgrades));
                if let Some(ty) = ty {
                    text.push('(');
                    text.push_str(self.types.get(ty));
                    text.push(')');
                }
            }
            Attribute::Text { name, value } => {
                text.push('"');
                push_raw(text, attributes.text(name));
                text.push('"');
                if !value.is_empty() {
                    text.push_str("=\"");
                    push_escaped(text, attributes.text(value));
                    text.push('"');
                }
            }
            Attribute::Ranges { kind, width, bounds } => {
                push_kind(text, kind);
                let size = width.div_ceil(64).max(1) as usize;
                push_ranges(text, width, attributes.words(bounds).chunks_exact(size), kind != INITIALIZES);
            }
        }
    }

    /// Returns whether an attribute for pointers is on a type that is not a pointer. LLVM drops those since
    /// version 12, except `align` on vectors of pointers.
    fn is_misplaced(&self, attribute: &Attribute, ty: TypeId) -> bool {
        let types = &self.module.types;
        self.rules.upgrades
            && !types.is_pointer(ty)
            && attribute.kind().is_some_and(|kind| POINTERS_ONLY.contains(&kind))
            && !(attribute.kind() == Some(kind::ALIGN) && types.address_space(ty).is_some())
    }

    /// Writes the attributes of a parameter or result between two texts; nothing if there are none.
    pub(super) fn parameter_attributes(
        &mut self,
        set: AttributeSetId,
        ty: TypeId,
        before: &str,
        after: &str,
    ) {
        let untyped = |attribute: &Attribute| matches!(attribute, Attribute::Type(_, None));
        let misplaced = |attribute: &Attribute| self.is_misplaced(attribute, ty);
        if self.module.attributes.set(set).iter().any(|attribute| untyped(attribute) || misplaced(attribute))
        {
            let text = self.write_set(set, false, false, Some(ty));
            if !text.is_empty() {
                self.punctuation(before);
                self.out(TokenKind::Attribute, &text);
                self.punctuation(after);
            }
            return;
        }
        let is_cached = self.attributes.parameters.get(set.index()).is_some_and(Option::is_some);
        if !is_cached {
            let text = self.write_set(set, false, false, None);
            if let Some(slot) = self.attributes.parameters.get_mut(set.index()) {
                *slot = Some(text);
            }
        }
        if let Some(Some(text)) = self.attributes.parameters.get(set.index())
            && !text.is_empty()
        {
            self.sink.put(TokenKind::Punctuation, before);
            self.sink.put(TokenKind::Attribute, text);
            self.sink.put(TokenKind::Punctuation, after);
        }
    }

    /// Returns the group of a set, which is numbered on first use.
    pub(super) fn group_of_set(&mut self, set: AttributeSetId) -> Option<u32> {
        if let Some(Some(group)) = self.attributes.groups_of_sets.get(set.index()) {
            return *group;
        }
        let text = self.write_set(set, true, false, None);
        let group = self.attributes.known(&text).or_else(|| {
            let comment = self.write_set(set, false, true, None);
            self.attributes.add(text, comment)
        });
        if let Some(slot) = self.attributes.groups_of_sets.get_mut(set.index()) {
            *slot = Some(group);
        }
        group
    }

    /// Returns the group of a function.
    pub(super) fn group_of_function(&mut self, function: usize) -> Option<u32> {
        if let Some(intrinsic) = self.symbols.intrinsic(function) {
            let text = intrinsic.function();
            let known = self.attributes.known(text);
            return known.or_else(|| self.attributes.add(String::from(text), String::from(text)));
        }
        let list = self.module.functions.get(function)?.attributes;
        let set = self.module.attributes.of(list, index::FUNCTION)?;
        self.group_of_set(set)
    }

    /// Writes ` #0`.
    pub(super) fn group_reference(&mut self, group: Option<u32>) {
        if let Some(group) = group {
            self.group_token(group, Entity::Attributes(group).reference());
        }
    }

    fn group_token(&mut self, group: u32, link: Option<Link>) {
        self.punctuation(" ");
        self.scratch.clear();
        self.scratch.push('#');
        push_number(&mut self.scratch, u64::from(group));
        self.sink.token(Token { kind: TokenKind::Attribute, text: &self.scratch, link });
    }

    /// Writes the comment above a function.
    pub(super) fn group_comment(&mut self, group: Option<u32>) {
        let comment = group.and_then(|group| self.attributes.groups.get(group as usize));
        if let Some(comment) = comment.map(|group| &group.comment).filter(|comment| !comment.is_empty()) {
            self.sink.put(TokenKind::Comment, "; Function Attrs: ");
            self.sink.put(TokenKind::Comment, comment);
            self.sink.put(TokenKind::Punctuation, "\n");
        }
    }

    /// Writes the definitions of all groups.
    pub(super) fn attribute_groups(&mut self) {
        if self.attributes.groups.is_empty() {
            return;
        }
        self.punctuation("\n");
        let groups = core::mem::take(&mut self.attributes.groups);
        for (at, group) in groups.iter().enumerate() {
            self.keyword("attributes");
            let at = narrow(at as u64);
            self.group_token(at, Entity::Attributes(at).definition());
            self.punctuation(" = { ");
            self.out(TokenKind::Attribute, &group.text);
            self.punctuation(" }\n");
        }
        self.attributes.groups = groups;
    }
}

/// Cuts alignments to 32 bits, as LLVM's reader does. So one of 4 GiB, which LLVM allows and writes, disappears.
fn cut_alignments(list: &mut Vec<Attribute>) {
    list.retain_mut(|attribute| match attribute {
        Attribute::Integer(kind::ALIGN | kind::STACK_ALIGNMENT, bytes) => {
            *bytes &= u64::from(u32::MAX);
            *bytes != 0
        }
        _ => true,
    });
}

/// The changes that upgrade a set of attributes.
#[derive(Default)]
struct AttributeUpgrade {
    frame_pointer: Option<&'static str>,
    null_pointer: bool,
    drops_null_pointer: bool,
}

impl AttributeUpgrade {
    fn drops(&self, name: &[u8]) -> bool {
        let frame = matches!(name, b"no-frame-pointer-elim" | b"no-frame-pointer-elim-non-leaf");
        frame
            || (self.drops_null_pointer && name == b"null-pointer-is-valid")
            || (self.frame_pointer.is_some() && name == b"frame-pointer")
    }
}

fn upgrade(attributes: &Attributes, set: AttributeSetId) -> AttributeUpgrade {
    let mut upgrade = AttributeUpgrade::default();
    for attribute in attributes.set(set) {
        let Attribute::Text { name, value } = *attribute else { continue };
        let yes = attributes.text(value) == b"true";
        match attributes.text(name) {
            b"no-frame-pointer-elim" => upgrade.frame_pointer = Some(if yes { "all" } else { "none" }),
            b"no-frame-pointer-elim-non-leaf" if upgrade.frame_pointer != Some("all") => {
                upgrade.frame_pointer = Some("non-leaf");
            }
            b"null-pointer-is-valid" => {
                upgrade.null_pointer = yes;
                upgrade.drops_null_pointer = true;
            }
            _ => {}
        }
    }
    // The two attributes may be in any order; `no-frame-pointer-elim` takes precedence if it is true.
    let all = attributes.set(set).iter().any(|attribute| match *attribute {
        Attribute::Text { name, value } => {
            attributes.text(name) == b"no-frame-pointer-elim" && attributes.text(value) == b"true"
        }
        _ => false,
    });
    if all {
        upgrade.frame_pointer = Some("all");
    }
    upgrade
}

/// Returns the sort key of an attribute: kinds by rank, then strings by name.
fn key<'t>(attributes: &'t Attributes, attribute: &Attribute, order: AttributeOrder) -> (bool, u8, &'t [u8]) {
    match *attribute {
        Attribute::Text { name, .. } => (true, 0, attributes.text(name)),
        _ => (false, attribute.kind().map_or(u8::MAX, |kind| rank(kind, order)), &[]),
    }
}

fn separate(text: &mut String) {
    if !text.is_empty() {
        text.push(' ');
    }
}

fn push_frame_pointer(text: &mut String, value: &str) {
    text.push_str("\"frame-pointer\"=\"");
    text.push_str(value);
    text.push('"');
}

fn push_kind(text: &mut String, kind: u32) {
    match name(kind) {
        Some(name) => text.push_str(name),
        None => {
            text.push_str("<unknown attribute ");
            push_number(text, u64::from(kind));
            text.push('>');
        }
    }
}

/// Appends the name of a string attribute. LLVM does not escape it; here special characters are escaped.
fn push_raw(text: &mut String, bytes: &[u8]) {
    push_escaped(text, bytes);
}

fn push_integer(text: &mut String, kind: u32, value: u64, in_group: bool) {
    match kind {
        UW_TABLE => {
            push_kind(text, kind);
            if value == 1 {
                text.push_str("(sync)");
            }
        }
        CAPTURES => push_captures(text, value),
        ALLOC_KIND => {
            text.push_str("allockind(\"");
            push_words(
                text,
                ALLOC_KINDS.iter().enumerate().filter(|(bit, _)| value >> bit & 1 != 0).map(|(_, w)| *w),
                ",",
            );
            text.push_str("\")");
        }
        NO_FP_CLASS => {
            text.push_str("nofpclass(");
            push_words(text, fp_classes(value), " ");
            text.push(')');
        }
        ALLOC_SIZE => {
            let (size, count) = (value >> 32, value & 0xFFFF_FFFF);
            text.push_str("allocsize(");
            push_number(text, size);
            if count != 0xFFFF_FFFF {
                text.push(',');
                push_number(text, count);
            }
            text.push(')');
        }
        VSCALE_RANGE => {
            text.push_str("vscale_range(");
            push_number(text, value >> 32);
            text.push(',');
            push_number(text, value & 0xFFFF_FFFF);
            text.push(')');
        }
        _ => {
            push_kind(text, kind);
            let (open, close) = match (in_group && NUMBERED_IN_GROUPS.contains(&kind), kind) {
                (true, _) => ("=", ""),
                (false, kind::ALIGN) => (" ", ""),
                _ => ("(", ")"),
            };
            text.push_str(open);
            push_number(text, value);
            text.push_str(close);
        }
    }
}

/// Appends a range `(i32 1, 4)`, or a list of ranges `((0, 4), (8, 12))`.
fn push_ranges<'w>(text: &mut String, width: u32, mut bounds: impl Iterator<Item = &'w [u64]>, single: bool) {
    text.push('(');
    if single {
        text.push('i');
        push_number(text, u64::from(width));
        text.push(' ');
    }
    let mut first = true;
    while let (Some(low), Some(high)) = (bounds.next(), bounds.next()) {
        if !first {
            text.push_str(", ");
        }
        first = false;
        if !single {
            text.push('(');
        }
        push_bound(text, low, width);
        text.push_str(", ");
        push_bound(text, high, width);
        if !single {
            text.push(')');
        }
    }
    text.push(')');
}

fn push_bound(text: &mut String, words: &[u64], width: u32) {
    match words {
        &[word] => super::text::push_signed(text, word as i64),
        words => super::text::push_wide(text, words, width, true),
    }
}

fn push_words<'w>(text: &mut String, words: impl Iterator<Item = &'w str>, separator: &str) {
    for (at, word) in words.enumerate() {
        if at > 0 {
            text.push_str(separator);
        }
        text.push_str(word);
    }
}

fn fp_classes(value: u64) -> impl Iterator<Item = &'static str> {
    let mut rest = value & 0x3FF;
    FP_CLASSES.into_iter().filter_map(move |(mask, word)| {
        let whole = rest & mask == mask;
        if whole {
            rest &= !mask;
        }
        whole.then_some(word)
    })
}

/// Appends `memory(…)`. The value has two bits for each location. Bits 56 to 63 are the version of the locations; in
/// version 0 `errno` belongs to other memory.
fn push_memory(text: &mut String, value: u64, order: AttributeOrder) {
    let is_old = value >> VERSION_SHIFT == 0;
    let locations = LOCATIONS.iter().filter(|(at, _)| match order {
        AttributeOrder::V22 => !is_old || *at != 2,
        _ => *at < 2,
    });
    let other_location = if is_old { 2 } else { 3 };
    let access = |at: u32| {
        // Version 0 does not allow what targets have.
        let bits = if is_old && at > 2 { 0 } else { value >> (at * 2) & 3 };
        MEMORY_ACCESSES.get(bits as usize).copied().unwrap_or("")
    };
    let other = access(other_location);
    text.push_str("memory(");
    let mut first = true;
    if other != "none" || locations.clone().all(|&(at, _)| access(at) == "none") {
        text.push_str(other);
        first = false;
    }
    for &(at, location) in locations {
        if access(at) != other {
            if !first {
                text.push_str(", ");
            }
            first = false;
            text.push_str(location);
            text.push_str(access(at));
        }
    }
    text.push(')');
}

/// Appends `captures(…)`. Bits 0 to 3 of the value say what of the pointer the result may hold, bits 4 to 7 what
/// other places may hold: 0 whether the address is null, 1 the address, 2 the provenance for reading, 3 the
/// provenance. The wider of two includes the narrower.
fn push_captures(text: &mut String, value: u64) {
    let components = |bits: u64| {
        let address = ["", "address_is_null", "", "address"].get((bits & 3) as usize).copied().unwrap_or("");
        let provenance = ["", "read_provenance", "", "provenance"].get((bits >> 2 & 3) as usize).copied();
        match (bits & 15, address, provenance.unwrap_or("")) {
            (0, ..) => String::from("none"),
            (_, "", one) | (_, one, "") => String::from(one),
            (_, one, other) => alloc::format!("{one}, {other}"),
        }
    };
    let (result, others) = (value & 15, value >> 4 & 15);
    text.push_str("captures(");
    if others != 0 || others == result {
        text.push_str(&components(others));
    }
    if others != result {
        text.push_str(if others != 0 { ", ret: " } else { "ret: " });
        text.push_str(&components(result));
    }
    text.push(')');
}

/// Replaces `nocapture`, which became `captures(none)` in LLVM 21.
fn replace_no_capture(list: &mut [Attribute]) {
    for attribute in list {
        if *attribute == Attribute::Flag(NO_CAPTURE) {
            *attribute = Attribute::Integer(CAPTURES, 0);
        }
    }
}

/// The attributes that LLVM 16 folded into `memory`, with the accesses that each allows: two bits (read, write)
/// each for argument memory, inaccessible memory and other memory.
const FOLDED: [(u32, u64); 6] =
    [(20, 0b00_0000), (21, 0b01_0101), (52, 0b10_1010), (45, 0b00_0011), (49, 0b00_1100), (50, 0b00_1111)];
const ALL_MEMORY: u64 = 0b11_1111;

/// Removes the folded attributes from a function's set and returns the `memory` attribute that replaces them.
fn memory_effects(list: &mut Vec<Attribute>, order: AttributeOrder) -> Option<Attribute> {
    let mut effects = ALL_MEMORY;
    list.retain(|attribute| {
        let Attribute::Flag(kind) = *attribute else { return true };
        match FOLDED.iter().find(|(folded, _)| *folded == kind) {
            Some((_, allowed)) => {
                effects &= allowed;
                false
            }
            None => true,
        }
    });
    if effects == ALL_MEMORY {
        return None;
    }
    // In version 1, `errno` and what targets have are other memory, too.
    let split = match order {
        AttributeOrder::V22 => {
            let other = effects >> 4;
            effects | other << 6 | other << 8 | other << 10 | 1 << VERSION_SHIFT
        }
        _ => effects,
    };
    Some(Attribute::Integer(MEMORY, split))
}
