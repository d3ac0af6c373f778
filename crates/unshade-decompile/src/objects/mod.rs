//! The variables in local and shared memory: objects at constant offsets, of which accesses give the types.
//!
//! Machine code has one local memory per thread and one shared memory per block; the variables in them are offsets. Symbols
//! and debugging information describe some variables. `partition` divides the rest by its accesses before types are
//! inferred: bytes that are accessed at a constant offset are an object, and so is everything that an access with an index
//! may reach. When types are known, `aggregates` finds the objects that are words of one structure, and `members` gives each
//! object its type.
//!
//! A memory with several objects becomes one structure, whose members they are. So no object moves, and an address that leads
//! from one object into the next one does so in C, too. An access that doesn't agree with the members is printed with a
//! cast.

mod aggregates;
mod members;
mod partition;
#[cfg(test)]
mod tests;
mod variable;

use crate::address::Address;
use crate::ir::hash::FastMap;
use crate::ir::{Function, Member, Module, Op, Space, StructureId, ValueId, ValueMap};
use crate::types::{Type, Types, address_of};

/// An object of a memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Object {
    start: u32,
    end: u32,
    /// The bytes after which its contents repeat: the smallest scale of an index. 0 if there is no index.
    unit: u32,
    /// The variable of the module that it is.
    variable: Option<usize>,
}

/// The slot that an access refers to: the object, and the offset in it, or in its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot {
    /// The memory.
    pub space: Space,
    /// The number of the object.
    object: usize,
    /// The offset in bytes.
    offset: u32,
}

/// The memories of a function and their objects.
#[derive(Debug, Default)]
pub struct Objects {
    regions: Vec<Region>,
    /// The slot of each address, by memory and address.
    slots: FastMap<(Space, ValueId), Slot>,
}

/// A memory with objects.
#[derive(Debug)]
struct Region {
    space: Space,
    /// Its size in bytes.
    size: u32,
    /// The objects in order, without overlap.
    objects: Vec<Object>,
    /// The variables that the memory consists of, in order: objects, or several of them.
    members: Vec<Member>,
    /// The index of the member that contains each object.
    member_of: Vec<Option<usize>>,
    /// The structure with these members, unless the memory is one array.
    structure: Option<StructureId>,
}

/// An access of a memory without pointers.
#[derive(Clone, Debug)]
struct Access {
    space: Space,
    /// The operation.
    id: ValueId,
    address: ValueId,
    offset: i64,
    /// The scales of its indices.
    scales: Vec<u64>,
    bytes: u32,
    /// The address of its instruction.
    instruction: u32,
    is_store: bool,
}

impl Objects {
    /// Divides the memories of a function into objects. `without_source` ignores debugging information.
    pub fn new(module: &Module<'_>, used: &ValueMap<bool>, without_source: bool) -> Self {
        let accesses = accesses(&module.function, used);
        let mut objects = Self::default();
        for (space, size) in sizes(module) {
            let own: Vec<&Access> = accesses.iter().filter(|access| access.space == space).collect();
            let known = known(module, space, without_source);
            if size == 0 {
                continue;
            }
            let Some(found) = partition::objects(&own, &known, size, space == Space::Local) else { continue };
            objects.add(space, size, found, &own);
        }
        objects
    }

    fn add(&mut self, space: Space, size: u32, objects: Vec<Object>, accesses: &[&Access]) {
        for access in accesses {
            let Some(number) = at(&objects, access.offset) else { continue };
            let object = &objects[number];
            let inside = (access.offset - i64::from(object.start)) as u32;
            let offset = inside.checked_rem(object.unit).unwrap_or(inside);
            self.slots.insert((space, access.address), Slot { space, object: number, offset });
        }
        let member_of = vec![None; objects.len()];
        self.regions.push(Region { space, size, objects, members: Vec::new(), member_of, structure: None });
    }

    /// Returns the slot of an access.
    pub fn slot(&self, space: Space, address: ValueId) -> Option<Slot> {
        self.slots.get(&(space, address)).copied()
    }

    /// Returns whether all accesses of a slot are of the same bytes.
    pub fn is_fixed(&self, slot: Slot) -> bool {
        self.object(slot).is_some_and(|object| object.unit == 0)
    }

    fn object(&self, slot: Slot) -> Option<&Object> {
        self.region(slot.space)?.objects.get(slot.object)
    }

    fn region(&self, space: Space) -> Option<&Region> {
        self.regions.iter().find(|region| region.space == space)
    }

    /// Returns the structure that a memory is, if it is one.
    pub fn structure(&self, space: Space) -> Option<StructureId> {
        self.region(space)?.structure
    }

    /// Returns the index of the member that contains the object of an access.
    pub fn member(&self, space: Space, address: ValueId) -> Option<usize> {
        let slot = self.slot(space, address)?;
        *self.region(space)?.member_of.get(slot.object)?
    }

    /// Returns the index of the member that contains a byte.
    pub fn member_at(&self, space: Space, offset: i64) -> Option<usize> {
        let members = &self.region(space)?.members;
        let offset = u32::try_from(offset).ok()?;
        members.partition_point(|member| member.offset <= offset).checked_sub(1)
    }

    /// Returns the variable that begins at an offset: its type, or that of its elements, and its dimensions.
    pub fn found_at(&self, space: Space, offset: u32) -> Option<&Member> {
        self.region(space)?.members.iter().find(|member| member.offset == offset)
    }

    /// Gives the objects their types, and adds the structures that memories are to the module.
    pub fn declare(&mut self, module: &mut Module<'_>, used: &ValueMap<bool>, types: &Types) {
        let accesses = accesses(&module.function, used);
        let aggregates = aggregates::find(&module.function, &accesses);
        let pointed = variable::pointed(module, used, types);
        for mut region in std::mem::take(&mut self.regions) {
            let variables = variable::of_region(&region, &aggregates, &pointed, module);
            let lists = self.lists(&region, &variables, module, &accesses, types);
            for (variable, list) in variables.into_iter().zip(lists) {
                let Some(member) = variable.member(module, list) else { continue };
                let number = region.members.len();
                region.members.push(member);
                region.member_of[variable.first..variable.end].fill(Some(number));
            }
            let is_divided = pointed.iter().any(|place| place.0 == region.space)
                || region.objects.iter().any(|object| object.variable.is_some());
            region.declare(module, is_divided);
            self.regions.push(region);
        }
    }
}

/// Returns the memories that can be divided, with their sizes. Shared memory that the launch of a kernel sizes has no
/// objects that are known here.
fn sizes(module: &Module<'_>) -> [(Space, u32); 2] {
    let shared = if module.is_kernel { module.shared_size } else { 0 };
    [(Space::Local, module.local_size), (Space::Shared, u32::try_from(shared).unwrap_or(0))]
}

/// Returns the variables that are known in a memory, in order and without overlap. Debugging information precedes symbols.
fn known(module: &Module<'_>, space: Space, without_source: bool) -> Vec<Object> {
    let mut all: Vec<(bool, Object)> = Vec::new();
    for (index, variable) in module.variables.iter().enumerate() {
        let Some(place) = variable.place.filter(|place| place.space == space && place.size > 0) else {
            continue;
        };
        let Some(end) = place.offset.checked_add(place.size) else { continue };
        if variable.is_symbol || !without_source {
            let object = Object { start: place.offset, end, unit: 0, variable: Some(index) };
            all.push((variable.is_symbol, object));
        }
    }
    all.sort_by_key(|(is_symbol, object)| (object.start, *is_symbol, std::cmp::Reverse(object.end)));
    let mut kept: Vec<Object> = Vec::new();
    for (_, object) in all {
        if kept.last().is_none_or(|last| last.end <= object.start) {
            kept.push(object);
        }
    }
    kept
}

/// Returns the index of the object that contains a byte.
fn at(objects: &[Object], offset: i64) -> Option<usize> {
    let offset = u32::try_from(offset).ok()?;
    let index = objects.partition_point(|object| object.end <= offset);
    objects.get(index).filter(|object| object.start <= offset).map(|_| index)
}

/// Returns the memory that an operation with a 32-bit address accesses.
pub fn space_of(function: &Function, id: ValueId, address: ValueId) -> Option<Space> {
    if function.width(address) != 32 {
        return None;
    }
    match function.op(id) {
        Op::Load(Space::Generic) | Op::Store(Space::Generic) | Op::Call(_) => Some(Space::Shared),
        Op::Load(space) | Op::Store(space) => Some(space),
        _ => None,
    }
}

fn accesses(function: &Function, used: &ValueMap<bool>) -> Vec<Access> {
    let mut all = Vec::new();
    for id in function.values.keys().filter(|id| used[*id] && !function.is_replaced(*id)) {
        let Some(address) = address_of(function, id) else { continue };
        let Some(space) = space_of(function, id, address) else { continue };
        let bits = match function.op(id) {
            Op::Store(_) => function.width(function.input(id, 1)),
            Op::Call(call) => Type::of_operand(call.input(1)).bits().max(32),
            _ => function.width(id),
        };
        let found = Address::new(function, address);
        let scales = found.terms.iter().map(|term| term.1).collect();
        let bytes = u32::from(bits.max(8)) / 8;
        let instruction = function.values[id].address;
        let is_store = matches!(function.op(id), Op::Store(_));
        all.push(Access { space, id, address, offset: found.offset, scales, bytes, instruction, is_store });
    }
    all
}
