//! Slots of metadata nodes: their numbers in the text.
//!
//! LLVM numbers nodes when it first visits them: the operands of named metadata, then function by function the
//! attachments of the function and of its instructions, each node before its operands. Expressions and argument
//! lists are written inline and get no slot. Equal source locations share a slot.

use crate::body::{FunctionBody, Location};
use crate::debug_info::NodeKind;
use crate::hash::{Hash, HashIndex};
use crate::ids::{MetadataId, narrow};
use crate::metadata::{Metadata, MetadataTable, Node};
use crate::module::Module;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;

/// No slot.
const NONE: u32 = u32::MAX;
/// The owner of module-level metadata; other owners are function indices.
pub(super) const MODULE: u32 = u32::MAX;

/// A reference to metadata of a module or of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MetadataReference {
    /// The function whose table holds the entry, or [`MODULE`].
    pub(super) owner: u32,
    /// Its id in that table.
    pub(super) id: MetadataId,
}

impl MetadataReference {
    const NONE: Self = Self { owner: MODULE, id: MetadataId::NONE };
}

/// A source location whose references are valid across functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GlobalLocation {
    pub(super) line: u32,
    /// The column, in the 16 bits that LLVM stores.
    pub(super) column: u16,
    pub(super) implicit: bool,
    pub(super) scope: MetadataReference,
    pub(super) inlined_at: MetadataReference,
    /// The group of the atom, and its rank in the lowest [`RANK_BITS`] bits.
    atom: u64,
}

/// A location as it is stored: a module has hundreds of thousands. The owner of its references follows from their ids
/// and the function that the location is of, if one of them is of a function.
#[derive(Clone, Copy, Debug)]
struct StoredLocation {
    line: u32,
    column: u16,
    implicit: bool,
    owner: u32,
    scope: MetadataId,
    inlined_at: MetadataId,
    slot: u32,
}

/// Locations by number.
#[derive(Default)]
struct Locations {
    list: Vec<StoredLocation>,
    /// The atom of each, up to the last that has one.
    atoms: Vec<u64>,
}

impl Locations {
    /// Returns a location and its slot; `reference` finds the owner of an id.
    fn get(
        &self,
        at: u32,
        reference: impl Fn(u32, MetadataId) -> MetadataReference,
    ) -> Option<(GlobalLocation, u32)> {
        let &StoredLocation { line, column, implicit, owner, scope, inlined_at, slot } =
            self.list.get(at as usize)?;
        let reference =
            |id: MetadataId| if id.is_some() { reference(owner, id) } else { MetadataReference::NONE };
        let atom = self.atoms.get(at as usize).copied().unwrap_or(0);
        let (scope, inlined_at) = (reference(scope), reference(inlined_at));
        Some((GlobalLocation { line, column, implicit, scope, inlined_at, atom }, slot))
    }

    /// Adds a location.
    fn push(&mut self, location: &GlobalLocation, slot: u32) {
        let &GlobalLocation { line, column, implicit, scope, inlined_at, atom } = location;
        if atom != 0 {
            self.atoms.resize(self.list.len(), 0);
            self.atoms.push(atom);
        }
        let owner = if scope.owner == MODULE { inlined_at.owner } else { scope.owner };
        let (scope, inlined_at) = (scope.id, inlined_at.id);
        self.list.push(StoredLocation { line, column, implicit, owner, scope, inlined_at, slot });
    }
}

/// The bits of an atom that are its rank.
const RANK_BITS: u32 = 3;

impl GlobalLocation {
    /// Returns the group of instructions that a debugger steps over as one, or 0.
    pub(super) fn atom_group(&self) -> u64 {
        self.atom >> RANK_BITS
    }

    /// Returns the precedence in the group, or 0.
    pub(super) fn atom_rank(&self) -> u64 {
        self.atom & ((1 << RANK_BITS) - 1)
    }

    fn hash(&self) -> u64 {
        let reference = |hash: Hash, reference: MetadataReference| {
            hash.word(u64::from(reference.owner)).word(u64::from(reference.id.0))
        };
        let hash =
            Hash::new().word(u64::from(self.line)).word(u64::from(self.column)).word(self.atom >> RANK_BITS);
        reference(reference(hash, self.scope), self.inlined_at).word(u64::from(self.implicit)).0
    }
}

/// What a slot holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum MetadataSlot {
    /// A node of a table.
    Node(MetadataReference),
    /// The location of an instruction.
    Location(GlobalLocation),
}

/// The owner in a reference that stands for a location: its id is an index into the locations.
const LOCATION: u32 = u32::MAX - 1;

/// All slots assigned so far.
pub(super) struct MetadataSlots<'m, 'a> {
    module: &'m Module<'a>,
    /// The metadata of functions that have their own, without instructions.
    kept: Vec<Option<Rc<FunctionBody>>>,
    /// Whether operands are visited in LLVM 3.7's order.
    old: bool,
    /// Whether locations have atoms, as since LLVM 21.
    atoms: bool,
    /// Slots of the numbered entries of the module's table.
    of_module: Vec<u32>,
    /// Slots of the unnumbered entries of the module's table.
    unnumbered: Vec<u32>,
    of_functions: Vec<Vec<u32>>,
    /// The nodes, and as references with the owner [`LOCATION`] the locations.
    slots: Vec<MetadataReference>,
    /// A buffer for stacks, empty between uses.
    stack: Vec<Visit>,
    /// Distinct locations and their slots; `index` finds them by content.
    locations: Locations,
    index: HashIndex,
}

/// A node whose operands are being visited, with the next operand.
struct Visit {
    owner: u32,
    references: [MetadataReference; 2],
    node: Option<Node>,
    next: usize,
}

impl<'m, 'a> MetadataSlots<'m, 'a> {
    pub(super) fn new(module: &'m Module<'a>, old: bool, atoms: bool) -> Self {
        Self {
            module,
            kept: vec![None; module.functions.len()],
            old,
            atoms,
            of_module: vec![NONE; module.metadata.len()],
            unnumbered: Vec::new(),
            of_functions: vec![Vec::new(); module.functions.len()],
            slots: Vec::with_capacity(module.metadata.len()),
            stack: Vec::with_capacity(16),
            locations: Locations::default(),
            index: HashIndex::default(),
        }
    }

    /// Returns the number of slots.
    pub(super) fn count(&self) -> usize {
        self.slots.len()
    }

    /// Returns what a slot holds.
    pub(super) fn slot(&self, at: usize) -> Option<MetadataSlot> {
        let &reference = self.slots.get(at)?;
        Some(match reference.owner {
            LOCATION => MetadataSlot::Location(self.location(reference.id.0)?.0),
            _ => MetadataSlot::Node(reference),
        })
    }

    /// Keeps the metadata of a function, if it has its own.
    pub(super) fn keep(&mut self, body: &FunctionBody) {
        if let Some(slot) = self.kept.get_mut(body.function as usize) {
            *slot = (!body.metadata.is_empty()).then(|| Rc::new(body.without_instructions()));
        }
    }

    /// Drops the metadata of a function, whose slots stay.
    pub(super) fn drop_kept(&mut self, owner: u32) {
        if let Some(slot) = self.kept.get_mut(owner as usize) {
            *slot = None;
        }
    }

    /// Returns the kept metadata of a function.
    pub(super) fn body(&self, owner: u32) -> Option<&Rc<FunctionBody>> {
        self.kept.get(owner as usize)?.as_ref()
    }

    fn table(&self, owner: u32) -> Option<&MetadataTable> {
        if owner == MODULE { Some(&self.module.metadata) } else { Some(&self.body(owner)?.metadata) }
    }

    /// Returns a reference to the metadata that a function (or the module) refers to by an id.
    #[inline]
    pub(super) fn reference(&self, owner: u32, id: MetadataId) -> MetadataReference {
        let of_module = id.index() < self.of_module.len() || self.module.metadata.get(id).is_some();
        MetadataReference { owner: if of_module { MODULE } else { owner }, id }
    }

    fn entry(&self, reference: MetadataReference) -> Option<Metadata> {
        self.table(reference.owner)?.get(reference.id)
    }

    fn slot_mut(&mut self, reference: MetadataReference) -> Option<&mut u32> {
        if reference.owner == MODULE {
            if reference.id.index() < self.of_module.len() {
                return self.of_module.get_mut(reference.id.index());
            }
            let at = self.module.metadata.unnumbered_index(reference.id)?;
            if self.unnumbered.len() <= at {
                self.unnumbered.resize(at + 1, NONE);
            }
            return self.unnumbered.get_mut(at);
        }
        let table = &self.kept.get(reference.owner as usize)?.as_ref()?.metadata;
        let slots = self.of_functions.get_mut(reference.owner as usize)?;
        if slots.is_empty() {
            slots.resize(table.len(), NONE);
        }
        slots.get_mut(reference.id.0.wrapping_sub(table.base()) as usize)
    }

    /// Returns the slot of a node, if it has one.
    #[inline]
    pub(super) fn get(&self, reference: MetadataReference) -> Option<u32> {
        let slot = if reference.owner == MODULE {
            match self.of_module.get(reference.id.index()) {
                Some(slot) => Some(slot),
                None => self.unnumbered.get(self.module.metadata.unnumbered_index(reference.id)?),
            }
        } else {
            // Tables of functions continue that of the module.
            let base = narrow(self.of_module.len() as u64);
            self.of_functions.get(reference.owner as usize)?.get(reference.id.0.wrapping_sub(base) as usize)
        };
        slot.copied().filter(|&slot| slot != NONE)
    }

    /// Assigns slots to a node and what it refers to.
    #[inline]
    pub(super) fn add(&mut self, owner: u32, id: MetadataId) {
        let reference = self.reference(owner, id);
        if self.get(reference).is_none() {
            self.add_new(reference);
        }
    }

    fn add_new(&mut self, reference: MetadataReference) {
        let mut stack = core::mem::take(&mut self.stack);
        self.enter(reference, &mut stack);
        self.run(stack);
    }

    /// Assigns slots to what the nodes on the stack refer to.
    fn run(&mut self, mut stack: Vec<Visit>) {
        while let Some(visit) = stack.last_mut() {
            let next = visit.next;
            visit.next += 1;
            let owner = visit.owner;
            let reference = match visit.node {
                Some(node) => match self.table(owner).and_then(|table| table.operand(node, next, self.old)) {
                    Some(0) => continue,
                    Some(reference) => self.reference(owner, MetadataId(narrow(reference.wrapping_sub(1)))),
                    None => {
                        stack.pop();
                        continue;
                    }
                },
                None => match visit.references.get(next) {
                    Some(reference) if !reference.id.is_some() => continue,
                    Some(&reference) => reference,
                    None => {
                        stack.pop();
                        continue;
                    }
                },
            };
            self.enter(reference, &mut stack);
        }
        self.stack = stack;
    }

    fn enter(&mut self, reference: MetadataReference, stack: &mut Vec<Visit>) {
        if self.get(reference).is_some() {
            return;
        }
        let Some(Metadata::Node(node)) = self.entry(reference) else { return };
        // LLVM 3.7 gives expressions a slot, later versions write them inline.
        if node.kind == NodeKind::ArgList || (node.kind == NodeKind::Expression && !self.old) {
            return;
        }
        let mut number = narrow(self.slots.len() as u64);
        let mut is_new = true;
        if node.kind == NodeKind::Location && !node.distinct {
            let location = self.location_of_node(reference.owner, node);
            match self.find_location(&location) {
                Some((_, slot)) => {
                    number = slot;
                    is_new = false;
                }
                None => {
                    self.insert_location(location, number);
                }
            }
        }
        if let Some(slot) = self.slot_mut(reference) {
            *slot = number;
        } else {
            return;
        }
        if is_new {
            self.slots.push(reference);
            let references = [MetadataReference::NONE; 2];
            stack.push(Visit { owner: reference.owner, references, node: Some(node), next: 0 });
        }
    }

    fn location_of_node(&self, owner: u32, node: Node) -> GlobalLocation {
        let table = self.table(owner);
        let reference = |at: usize| {
            let references = table.map_or(&[][..], |table| table.references(node));
            let id = references.get(at).and_then(|reference| reference.checked_sub(1));
            id.map_or(MetadataReference::NONE, |id| self.reference(owner, MetadataId(narrow(id))))
        };
        let numbers = table.map_or(&[][..], |table| table.numbers(node));
        let number = |at: usize| numbers.get(at).copied().unwrap_or(0);
        GlobalLocation {
            line: narrow(number(0)),
            column: (number(1) & 0xFFFF) as u16,
            scope: reference(0),
            inlined_at: reference(1),
            implicit: number(2) != 0,
            atom: self.atom(number(3), number(4)),
        }
    }

    /// Returns an atom, or 0 if the version has none.
    fn atom(&self, group: u64, rank: u64) -> u64 {
        if self.atoms { group << RANK_BITS | rank & ((1 << RANK_BITS) - 1) } else { 0 }
    }

    fn find_location(&self, location: &GlobalLocation) -> Option<(u32, u32)> {
        let is_same = |at| self.location(at).is_some_and(|(other, _)| other == *location);
        let found = self.index.find(location.hash(), is_same)?;
        self.location(found).map(|(_, slot)| (found, slot))
    }

    /// Returns a location and its slot.
    fn location(&self, at: u32) -> Option<(GlobalLocation, u32)> {
        self.locations.get(at, |owner, id| self.reference(owner, id))
    }

    fn insert_location(&mut self, location: GlobalLocation, slot: u32) -> u32 {
        let at = narrow(self.locations.list.len() as u64);
        self.locations.push(&location, slot);
        let mut index = core::mem::take(&mut self.index);
        index.insert(location.hash(), at, |at| self.location(at).map_or(0, |(location, _)| location.hash()));
        self.index = index;
        at
    }

    fn global_location(&self, owner: u32, location: &Location) -> GlobalLocation {
        let reference =
            |id: MetadataId| if id.is_some() { self.reference(owner, id) } else { MetadataReference::NONE };
        GlobalLocation {
            line: location.line,
            // LLVM stores columns in 16 bits.
            column: u16::try_from(location.column).unwrap_or(0),
            scope: reference(location.scope),
            inlined_at: reference(location.inlined_at),
            implicit: location.implicit,
            atom: self.atom(location.atom_group, location.atom_rank.into()),
        }
    }

    /// Assigns slots to the location of an instruction and what it refers to, and returns that of the location.
    pub(super) fn add_location(&mut self, owner: u32, location: &Location) -> u32 {
        let location = self.global_location(owner, location);
        if let Some((_, slot)) = self.find_location(&location) {
            return slot;
        }
        let slot = narrow(self.slots.len() as u64);
        let index = self.insert_location(location, slot);
        self.slots.push(MetadataReference { owner: LOCATION, id: MetadataId(index) });
        let references = [location.scope, location.inlined_at];
        let mut stack = core::mem::take(&mut self.stack);
        stack.push(Visit { owner, references, node: None, next: 0 });
        self.run(stack);
        slot
    }
}
