//! Parses attributes, and resolves the groups (`#0`) that functions, calls and variables refer to.
//!
//! Groups are defined at the end of a text, so a list of attributes is kept as what is written and is completed at the
//! end. Equal lists are one list.
//!
//! Knowledge: LLVM's language reference, *Parameter Attributes*, *Function Attributes*, *Attribute Groups*.

use super::Version;
use super::error::Parsed;
use super::lexer::Token;
use super::parser::{Parser, shown};
use crate::attribute_places;
use crate::attributes::{Attribute, index, kind};
use crate::ids::{AttributeListId, AttributeSetId, narrow};
use crate::print::{ALLOC_KINDS, FP_CLASSES, MEMORY_ACCESSES};
use crate::rules;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// The attributes of a text.
#[derive(Default)]
pub(super) struct AttributeState {
    groups: BTreeMap<u32, Vec<Attribute>>,
    lists: Vec<WrittenList>,
    numbers: BTreeMap<WrittenList, u32>,
    /// The finished lists by content.
    known: BTreeMap<Vec<(u32, AttributeSetId)>, AttributeListId>,
    /// The lists of variables: index of the variable, and its list.
    pub(super) variables: Vec<(u32, AttributeListId)>,
}

/// A list of attributes as it is written: sets, and the groups that the function refers to.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WrittenList {
    pub(super) sets: Vec<(u32, AttributeSetId)>,
    pub(super) groups: Vec<u32>,
}

impl WrittenList {
    /// Removes all.
    pub(super) fn clear(&mut self) {
        self.sets.clear();
        self.groups.clear();
    }
}

/// Where attributes are written, which decides how some of them look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// On a parameter.
    Parameter,
    /// On a result.
    Result,
    /// After the parameters of a function or the arguments of a call.
    Function,
    /// In an attribute group.
    Group,
}

/// The form of the value of an attribute.
enum Form {
    /// `name`
    Flag,
    /// `name(type)`
    Type,
    /// `name(number)`, or `name=number` in a group.
    Number,
    /// `align number`
    Alignment,
    AllocSize,
    ScalableRange,
    UnwindTable,
    AllocKind,
    Memory,
    FloatClasses,
    Range,
    Initializes,
}

/// The kind of the attribute `range`.
const RANGE: u32 = 92;

/// The forms of attributes other than flags.
const FORMS: &[(u32, Form)] = &[
    (kind::ALIGN, Form::Alignment),
    (kind::BY_VALUE, Form::Type),
    (kind::STACK_ALIGNMENT, Form::Number),
    (kind::STRUCT_RESULT, Form::Type),
    (33, Form::UnwindTable),
    (kind::IN_ALLOCA, Form::Type),
    (41, Form::Number),
    (42, Form::Number),
    (51, Form::AllocSize),
    (65, Form::Type),
    (69, Form::Type),
    (74, Form::ScalableRange),
    (77, Form::Type),
    (82, Form::AllocKind),
    (kind::MEMORY, Form::Memory),
    (87, Form::FloatClasses),
    (RANGE, Form::Range),
    (94, Form::Initializes),
];

/// What functions access, in the words of versions before LLVM 16: bits of [`Parser::memory_effects`].
const EARLIER_EFFECTS: [(&str, u64); 6] = [
    ("readnone", 0),
    ("readonly", 0b01_01_01),
    ("writeonly", 0b10_10_10),
    ("argmemonly", 0b00_00_11),
    ("inaccessiblememonly", 0b00_11_00),
    ("inaccessiblemem_or_argmemonly", 0b00_11_11),
];

/// The value of `memory` that says nothing.
const ANY_EFFECTS: u64 = 0b11_11_11;

/// All classes of floating-point numbers.
const ALL_FLOATS: u64 = (1 << 10) - 1;

/// The value of `uwtable` without a kind of table: asynchronous.
const ASYNCHRONOUS: u64 = 2;

impl Parser<'_> {
    /// Parses `attributes #5 = { … }`.
    pub(super) fn attribute_group(&mut self) -> Parsed<()> {
        self.expect_word("attributes")?;
        let Token::AttributeGroup(number) = self.token else {
            return self.fault("expected an attribute group");
        };
        self.advance();
        self.expect(b'=')?;
        self.expect(b'{')?;
        let attributes = self.attributes(Place::Group)?;
        self.expect(b'}')?;
        self.attributes.groups.entry(number).or_default().extend(attributes);
        Ok(())
    }

    /// Parses attributes, as many as there are.
    pub(super) fn attributes(&mut self, place: Place) -> Parsed<Vec<Attribute>> {
        let mut attributes = Vec::new();
        let is_function = matches!(place, Place::Function | Place::Group) && self.version == Version::Llvm19;
        let mut effects = ANY_EFFECTS;
        loop {
            if is_function && let Some(at) = self.eat_one_of(&EARLIER_EFFECTS.map(|(word, _)| word)) {
                effects &= EARLIER_EFFECTS.get(at).map_or(ANY_EFFECTS, |&(_, bits)| bits);
                continue;
            }
            match self.token {
                Token::Text(_) => attributes.push(self.text_attribute()?),
                Token::Word(b"align") if place == Place::Function => break,
                Token::Word(word) => match self.keywords.attributes.get(word) {
                    Some(kind) => {
                        self.check_place(kind, place)?;
                        attributes.push(self.attribute(kind, place)?);
                    }
                    None => break,
                },
                _ => break,
            }
        }
        if effects != ANY_EFFECTS {
            attributes.push(Attribute::Integer(kind::MEMORY, effects));
        }
        Ok(attributes)
    }

    /// Reports an attribute that does not apply to the place that it is at.
    fn check_place(&self, kind: u32, place: Place) -> Parsed<()> {
        let (bit, name) = match place {
            Place::Function | Place::Group => (attribute_places::FUNCTION, "functions"),
            Place::Parameter => (attribute_places::PARAMETER, "parameters"),
            Place::Result => (attribute_places::RESULT, "return values"),
        };
        // The alignment in a group is that of a function.
        if attribute_places::places(kind) & bit != 0 || (place == Place::Group && kind == kind::ALIGN) {
            return Ok(());
        }
        self.fault(alloc::format!("this attribute does not apply to {name}"))
    }

    /// Parses the attributes of a parameter or result, and returns their set if there are any.
    pub(super) fn value_attributes(&mut self, place: Place) -> Parsed<Option<AttributeSetId>> {
        if !matches!(self.token, Token::Word(_) | Token::Text(_)) {
            return Ok(None);
        }
        let attributes = self.attributes(place)?;
        Ok((!attributes.is_empty()).then(|| self.intern_set(attributes)))
    }

    /// Parses the attributes of a function or call: groups, words and strings.
    pub(super) fn function_attributes(&mut self, list: &mut WrittenList) -> Parsed<()> {
        let mut plain = Vec::new();
        loop {
            if let Token::AttributeGroup(number) = self.token {
                self.advance();
                list.groups.push(number);
                continue;
            }
            let more = self.attributes(Place::Function)?;
            if more.is_empty() {
                break;
            }
            plain.extend(more);
        }
        if !plain.is_empty() {
            let set = self.intern_set(plain);
            list.sets.push((index::FUNCTION, set));
        }
        Ok(())
    }

    /// Parses the attributes of a global variable.
    pub(super) fn variable_attributes(&mut self) -> Parsed<AttributeListId> {
        let mut list = WrittenList::default();
        self.function_attributes(&mut list)?;
        // Without a comma before it this is not the alignment of the variable.
        if self.is_word("align") && list.sets.is_empty() {
            let alignment = self.attribute(kind::ALIGN, Place::Parameter)?;
            let set = self.intern_set(alloc::vec![alignment]);
            list.sets.push((index::FUNCTION, set));
        }
        Ok(self.written_list(&list))
    }

    /// Returns the number of a list as it is written, which is replaced at the end of the text.
    pub(super) fn written_list(&mut self, list: &WrittenList) -> AttributeListId {
        if list.sets.is_empty() && list.groups.is_empty() {
            return AttributeListId::NONE;
        }
        let state = &mut self.attributes;
        if let Some(&number) = state.numbers.get(list) {
            return AttributeListId(number);
        }
        let number = narrow(state.lists.len() as u64);
        state.lists.push(list.clone());
        state.numbers.insert(list.clone(), number);
        AttributeListId(number)
    }

    fn text_attribute(&mut self) -> Parsed<Attribute> {
        let name = self.string()?;
        let value = if self.eat(b'=') { self.string()? } else { Vec::new() };
        Ok(self.module.attributes.text_attribute(&name, &value))
    }

    fn attribute(&mut self, kind: u32, place: Place) -> Parsed<Attribute> {
        let at = self.at;
        self.advance();
        let form = FORMS.iter().find(|(of, _)| *of == kind).map_or(&Form::Flag, |(_, form)| form);
        let value = match form {
            Form::Flag => return Ok(Attribute::Flag(kind)),
            // Before LLVM 9 attributes had no type.
            Form::Type if self.version == Version::Dxc => return Ok(Attribute::Type(kind, None)),
            Form::Type => return self.type_attribute(kind),
            Form::Range | Form::Initializes => return self.range_attribute(kind),
            Form::UnwindTable if self.version.has_typed_pointers() => return Ok(Attribute::Flag(kind)),
            Form::Number if place == Place::Group && self.eat(b'=') => self.u64()?,
            Form::Number => self.u64_in_parentheses()?,
            Form::Alignment => {
                let _ = place == Place::Group && self.eat(b'=');
                1 << (self.alignment()? - 1)
            }
            Form::AllocSize => self.allocation_size()?,
            Form::ScalableRange => self.scalable_range()?,
            Form::UnwindTable => self.unwind_table()?,
            Form::AllocKind => self.allocation_kind()?,
            Form::Memory => self.memory_effects()?,
            Form::FloatClasses => self.float_classes()?,
        };
        if kind == kind::STACK_ALIGNMENT {
            self.alignment_of(value, at)?;
        }
        Ok(Attribute::Integer(kind, value))
    }

    fn type_attribute(&mut self, kind: u32) -> Parsed<Attribute> {
        self.expect(b'(')?;
        let ty = self.ty()?;
        self.expect(b')')?;
        Ok(Attribute::Type(kind, Some(ty)))
    }

    fn allocation_size(&mut self) -> Parsed<u64> {
        self.expect(b'(')?;
        let size = u64::from(self.u32()?);
        let at = self.at;
        let count = if self.eat(b',') { self.u32()? } else { u32::MAX };
        if size == u64::from(count) {
            return self.fault_at(at, "'allocsize' indices can't refer to the same parameter");
        }
        self.expect(b')')?;
        Ok(size << 32 | u64::from(count))
    }

    fn scalable_range(&mut self) -> Parsed<u64> {
        self.expect(b'(')?;
        let least = self.u32()?;
        let most = if self.eat(b',') { self.u32()? } else { least };
        self.expect(b')')?;
        Ok(u64::from(least) << 32 | u64::from(most))
    }

    fn unwind_table(&mut self) -> Parsed<u64> {
        if !self.eat(b'(') {
            return Ok(ASYNCHRONOUS);
        }
        let Some(at) = self.eat_one_of(&["sync", "async"]) else {
            return self.fault("expected sync or async");
        };
        self.expect(b')')?;
        Ok(at as u64 + 1)
    }

    fn allocation_kind(&mut self) -> Parsed<u64> {
        self.expect(b'(')?;
        let at = self.at;
        let text = self.string()?;
        self.expect(b')')?;
        text.split(|&byte| byte == b',').try_fold(0, |kinds, word| {
            match ALLOC_KINDS.iter().position(|known| known.as_bytes() == word) {
                Some(bit) => Ok(kinds | 1 << bit),
                None => self.fault_at(at, alloc::format!("unknown kind of allocation '{}'", shown(word))),
            }
        })
    }

    /// Parses `memory(read, argmem: write)`. Bits: 0 and 1 argument memory, 2 and 3 inaccessible memory, 4 and 5
    /// other memory.
    fn memory_effects(&mut self) -> Parsed<u64> {
        self.expect(b'(')?;
        if self.is(b')') {
            return self.fault("expected a kind of memory or an access: none, read, write or readwrite");
        }
        let (mut effects, mut has_location) = (0, false);
        self.list(b')', |parser| {
            let location = match parser.token {
                Token::Label(name) => match &*name.bytes() {
                    b"argmem" => Some(0),
                    b"inaccessiblemem" => Some(2),
                    _ => return parser.fault("unknown kind of memory"),
                },
                _ => None,
            };
            if location.is_some() {
                parser.advance();
            } else if has_location {
                return parser.fault("default access kind must be specified first");
            }
            has_location |= location.is_some();
            let Some(access) = parser.eat_one_of(&MEMORY_ACCESSES) else {
                return parser.fault("expected none, read, write or readwrite");
            };
            let access = access as u64;
            effects = match location {
                Some(shift) => effects & !(3 << shift) | access << shift,
                None => access | access << 2 | access << 4,
            };
            Ok(())
        })?;
        Ok(effects)
    }

    fn float_classes(&mut self) -> Parsed<u64> {
        self.expect(b'(')?;
        if matches!(self.token, Token::Integer(_)) {
            let at = self.at;
            let mask = self.u64()?;
            if mask == 0 || mask & !ALL_FLOATS != 0 {
                return self.fault_at(at, "invalid mask value for 'nofpclass'");
            }
            self.expect(b')')?;
            return Ok(mask);
        }
        if self.is(b')') {
            return self.fault("expected classes of floating-point numbers");
        }
        let words = FP_CLASSES.map(|(_, word)| word);
        let mut mask = 0;
        while let Some(at) = self.eat_one_of(&words) {
            mask |= FP_CLASSES.get(at).map_or(0, |&(bits, _)| bits);
        }
        self.expect(b')')?;
        Ok(mask)
    }

    /// Parses `range(i32 1, 4)` or `initializes((0, 4), (8, 12))`.
    fn range_attribute(&mut self, kind: u32) -> Parsed<Attribute> {
        let (mut bounds, at) = (Vec::new(), self.at);
        let mut width = 64;
        self.expect(b'(')?;
        if kind == RANGE {
            let at = self.at;
            let ty = self.ty()?;
            width = match self.module.types.get(ty) {
                crate::types::Type::Integer(width) => width,
                _ => return self.fault_at(at, "the range must have integer type!"),
            };
            self.part_of_all(width, &mut bounds)?;
            self.expect(b')')?;
        } else if self.is(b')') {
            return self.fault("expected '('");
        } else {
            self.list(b')', |parser| {
                parser.expect(b'(')?;
                parser.part_of_all(64, &mut bounds)?;
                parser.expect(b')')
            })?;
        }
        let is_ordered = |pair: &[u64]| match *pair {
            [one, next] => one.cast_signed() < next.cast_signed(),
            _ => true,
        };
        if kind != RANGE && !bounds.windows(2).all(is_ordered) {
            return self.fault_at(at, "invalid (unordered or overlapping) range list");
        }
        Ok(self.module.attributes.range_attribute(kind, width, &bounds))
    }

    /// Parses the bounds of a range that is neither empty nor everything.
    fn part_of_all(&mut self, width: u32, bounds: &mut Vec<u64>) -> Parsed<()> {
        let at = self.at;
        let start = bounds.len();
        self.range_bounds(width, bounds)?;
        let new = bounds.get(start..).unwrap_or_default();
        if new.get(..new.len() / 2) == new.get(new.len() / 2..) {
            return self.fault_at(at, "the range should not represent the full or empty set!");
        }
        Ok(())
    }

    /// Parses two integers of the same width.
    pub(super) fn range_bounds(&mut self, width: u32, bounds: &mut Vec<u64>) -> Parsed<()> {
        bounds.extend(self.integer_words(width)?);
        self.expect(b',')?;
        bounds.extend(self.integer_words(width)?);
        Ok(())
    }

    /// Returns the set of attributes in LLVM's order; of several of one kind the last counts.
    pub(super) fn intern_set(&mut self, attributes: Vec<Attribute>) -> AttributeSetId {
        rules::attribute_set(&mut self.module.attributes, self.version, attributes)
    }

    /// Completes all lists with the groups that they refer to.
    pub(super) fn finish_attributes(&mut self) -> Parsed<()> {
        let lists = core::mem::take(&mut self.attributes.lists);
        let mut finished = Vec::with_capacity(lists.len());
        let mut alignments = Vec::with_capacity(lists.len());
        let mut known: BTreeMap<Vec<(u32, AttributeSetId)>, AttributeListId> = BTreeMap::new();
        for list in lists {
            let mut alignment = None;
            let sets = self.complete(list, &mut alignment)?;
            alignments.push(alignment);
            finished.push(self.list_of(&mut known, sets));
        }
        let resolve =
            |list: AttributeListId| finished.get(list.index()).copied().unwrap_or(AttributeListId::NONE);
        for function in &mut self.module.functions {
            if let Some(Some(alignment)) = alignments.get(function.attributes.index())
                && function.symbol.alignment == 0
            {
                function.symbol.alignment = *alignment;
            }
            function.attributes = resolve(function.attributes);
        }
        for call in self.bodies.iter_mut().flat_map(|body| &mut body.calls) {
            call.attributes = resolve(call.attributes);
        }
        for (variable, list) in core::mem::take(&mut self.attributes.variables) {
            let mut set = self.module.attributes.of(resolve(list), index::FUNCTION);
            // The alignment in a group is no property of a variable.
            if let Some(&Some(alignment)) = alignments.get(list.index()) {
                let others = set.map_or(&[][..], |set| self.module.attributes.set(set));
                let alignment = Attribute::Integer(kind::ALIGN, 1 << alignment.saturating_sub(1));
                let attributes = [others, &[alignment]].concat();
                set = Some(self.intern_set(attributes));
            }
            if let Some(variable) = self.module.globals.get_mut(variable as usize) {
                variable.attributes = set;
            }
        }
        self.attributes.known = known;
        Ok(())
    }

    /// Gives intrinsics their attributes.
    pub(super) fn finish_intrinsics(&mut self) -> Parsed<()> {
        let mut known = core::mem::take(&mut self.attributes.known);
        for at in 0..self.module.functions.len() {
            if let Some(sets) = self.intrinsic_attributes(at)? {
                let list = self.list_of(&mut known, sets);
                if let Some(function) = self.module.functions.get_mut(at) {
                    function.attributes = list;
                }
            }
        }
        Ok(())
    }

    /// Returns the list of these sets, which is added if there is no equal one.
    fn list_of(
        &mut self,
        known: &mut BTreeMap<Vec<(u32, AttributeSetId)>, AttributeListId>,
        sets: Vec<(u32, AttributeSetId)>,
    ) -> AttributeListId {
        if let Some(&id) = known.get(&sets) {
            return id;
        }
        let id = match sets.is_empty() {
            true => AttributeListId::NONE,
            false => self.module.attributes.add_list(&mut sets.clone()),
        };
        known.insert(sets, id);
        id
    }

    /// Returns the sets of a list with its groups, and the alignment in them, which belongs to the function.
    fn complete(
        &mut self,
        list: WrittenList,
        alignment: &mut Option<u8>,
    ) -> Parsed<Vec<(u32, AttributeSetId)>> {
        let mut sets = list.sets;
        if list.groups.is_empty() {
            return Ok(sets);
        }
        let mut attributes = Vec::new();
        for number in list.groups {
            // A group that is not defined is empty.
            attributes.extend_from_slice(self.attributes.groups.get(&number).map_or(&[], Vec::as_slice));
        }
        let own = sets.iter().position(|&(of, _)| of == index::FUNCTION);
        if let Some((_, set)) = own.map(|at| sets.remove(at)) {
            attributes.extend_from_slice(self.module.attributes.set(set));
        }
        attributes.retain(|attribute| match *attribute {
            Attribute::Integer(kind::ALIGN, bytes) => {
                *alignment = Some(bytes.trailing_zeros().to_le_bytes()[0] + 1);
                false
            }
            _ => true,
        });
        if !attributes.is_empty() {
            let set = self.intern_set(attributes);
            sets.push((index::FUNCTION, set));
        }
        Ok(sets)
    }
}
