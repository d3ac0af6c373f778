//! Variables of a memory: an object, or several that are one structure.

use super::aggregates::Aggregate;
use super::{Access, Object, Objects, Region, members};
use crate::address::Address;
use crate::ir::{Function, Member, Module, Op, Space, Structure, THIS, ValueId, ValueMap};
use crate::layout;
use crate::layout::size::{align_of, size_of};
use crate::types::{Type, Types};
use std::collections::HashSet;

/// Objects that are one variable.
#[derive(Clone, Debug)]
pub(super) struct Variable {
    /// The objects, from the first to before the last.
    pub(super) first: usize,
    pub(super) end: usize,
    /// What they are together.
    pub(super) object: Object,
    /// Whether code copies it as a structure.
    is_aggregate: bool,
    /// Its type, if a pointer to it has one.
    pointed: Option<Type>,
}

/// What an address that code computes points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// What a pointer of this type points to.
    Pointer(Type),
    /// The object of a method.
    Object,
}

/// Returns the places whose address code computes.
pub(super) fn pointed(
    module: &Module<'_>,
    used: &ValueMap<bool>,
    types: &Types,
) -> Vec<(Space, u32, Target)> {
    let function = &module.function;
    let mut found = Vec::new();
    for id in function.values.keys().filter(|id| used[*id] && !function.is_replaced(*id)) {
        if let Op::Invoke(callee) = function.op(id)
            && !function.callees[callee].is_pointer()
        {
            let parameter = function.callees[callee].parameters.first();
            if parameter.is_some_and(|first| first.name.as_deref() == Some(THIS)) {
                let object = Some(function.input(id, 0)).filter(|object| *object != ValueId::NONE);
                let place = object.and_then(|object| place(function, object));
                found.extend(place.map(|(space, offset)| (space, offset, Target::Object)));
            }
        }
        if function.op(id) == Op::Add && types.of[id].is_pointer() {
            let place = place(function, id);
            found.extend(place.map(|(space, offset)| (space, offset, Target::Pointer(types.of[id]))));
        }
    }
    found.sort_by_key(|place| place.1);
    found
}

/// Returns the memory and the offset of an address in it.
fn place(function: &Function, id: ValueId) -> Option<(Space, u32)> {
    let address = Address::new(function, id);
    let Op::Special(special) = function.op(address.base?) else { return None };
    let offset = u32::try_from(address.offset).ok()?;
    special.window().filter(|_| address.terms.is_empty()).map(|space| (space, offset))
}

/// Returns the variables of a memory in order.
pub(super) fn of_region(
    region: &Region,
    aggregates: &[Aggregate],
    pointed: &[(Space, u32, Target)],
    module: &Module<'_>,
) -> Vec<Variable> {
    let single = |index: usize| Variable {
        first: index,
        end: index + 1,
        object: region.objects[index].clone(),
        is_aggregate: false,
        pointed: None,
    };
    let mut variables: Vec<Variable> = (0..region.objects.len()).map(single).collect();
    let of_pointers = pointed.iter().filter(|(space, ..)| *space == region.space);
    for &(_, start, target) in of_pointers.clone() {
        if let Target::Pointer(Type::StructurePointer(id)) = target {
            let ty = Type::Structure(id);
            let end = start.saturating_add(size_of(&module.structures, ty)).min(region.size);
            combine(&mut variables, start, end, Some(ty));
        }
    }
    for &(_, start, end) in aggregates.iter().filter(|(space, ..)| *space == region.space) {
        combine(&mut variables, start, end, None);
    }
    for (index, &(_, start, target)) in of_pointers.clone().enumerate() {
        let after = variables.partition_point(|variable| variable.object.end <= start);
        let next = of_pointers.clone().skip(index).map(|place| place.1).find(|next| *next > start);
        let limit = variables.get(after).map_or(region.size, |next| next.object.start);
        let room = next.map_or(limit, |next| next.min(limit)).saturating_sub(start);
        match target {
            _ if room == 0 => {}
            Target::Object => insert(&mut variables, after, start, start + room, None),
            Target::Pointer(pointer) => {
                let element = pointer.target().filter(|element| *element != Type::Integer(8, false));
                let bytes = element.map_or(0, |element| u32::from(element.bits()) / 8);
                if let Some(count) = room.checked_div(bytes).filter(|count| *count > 0) {
                    insert(&mut variables, after, start, start + count * bytes, element);
                }
            }
        }
    }
    variables
}

impl Objects {
    /// Returns the accesses of each variable.
    pub(super) fn lists(
        &self,
        region: &Region,
        variables: &[Variable],
        module: &Module<'_>,
        accesses: &[Access],
        types: &Types,
    ) -> Vec<Vec<layout::Access>> {
        let mut lists = vec![Vec::new(); variables.len()];
        for access in accesses.iter().filter(|access| access.space == region.space) {
            let Some(slot) = self.slot(access.space, access.address) else { continue };
            let after = variables.partition_point(|variable| variable.end <= slot.object);
            let Some(variable) = variables.get(after).filter(|variable| variable.first <= slot.object) else {
                continue;
            };
            lists[after].push(layout::Access {
                offset: access.offset - i64::from(variable.object.start),
                scales: access.scales.clone(),
                ty: members::type_of(&module.function, types, access.id, access.bytes),
                hint: members::hint(&module.function, access.id),
                bytes: access.bytes,
                instruction: access.instruction,
            });
        }
        lists
    }
}

/// Makes the objects in some bytes one variable, unless one of them is known or has an index. `ty` is its type.
fn combine(variables: &mut Vec<Variable>, start: u32, end: u32, ty: Option<Type>) {
    let first = variables.partition_point(|variable| variable.object.end <= start);
    let last = variables.partition_point(|variable| variable.object.start < end);
    if let [only] = &mut variables[first..last]
        && (only.object.start, only.object.end) == (start, end)
    {
        only.is_aggregate = true;
        only.pointed = only.pointed.or(ty);
        return;
    }
    let is_free = |variable: &Variable| {
        variable.object.start >= start
            && variable.object.end <= end
            && variable.object.unit == 0
            && variable.object.variable.is_none()
            && variable.pointed.is_none()
    };
    if end <= start || !variables[first..last].iter().all(is_free) || first == last && ty.is_none() {
        return;
    }
    let objects = variables[first..last].first().map_or(0, |variable| variable.first);
    let objects = if first == last {
        variables.get(first).map_or_else(|| variables.last().map_or(0, |last| last.end), |next| next.first)
    } else {
        objects
    };
    let object_end = variables[first..last].last().map_or(objects, |variable| variable.end);
    let object = Object { start, end, unit: 0, variable: None };
    let variable = Variable { first: objects, end: object_end, object, is_aggregate: true, pointed: ty };
    variables.splice(first..last, [variable]);
}

/// Adds a variable of which only the address is used: numbers, or an object of a class.
fn insert(variables: &mut Vec<Variable>, index: usize, start: u32, end: u32, element: Option<Type>) {
    let last = || variables.last().map_or(0, |last| last.end);
    let objects = variables.get(index).map_or_else(last, |next| next.first);
    let variable = Variable {
        first: objects,
        end: objects,
        object: Object { start, end, unit: 0, variable: None },
        is_aggregate: element.is_none(),
        pointed: element,
    };
    variables.insert(index, variable);
}

impl Variable {
    /// Returns the variable as a member of its memory.
    pub(super) fn member(&self, module: &mut Module<'_>, list: Vec<layout::Access>) -> Option<Member> {
        let known = self.object.variable.and_then(|index| module.variables.get(index)).cloned();
        let name = match &known {
            Some(known) => known.name.clone(),
            None => format!("at_{}", self.object.start),
        };
        let size = self.object.end - self.object.start;
        let member = |ty, counts| Member { name: name.clone(), offset: self.object.start, ty, counts };
        let given = known.and_then(|known| Some((known.ty?, known.counts)));
        let pointed = self.pointed.map(|ty| {
            let count = size / size_of(&module.structures, ty).max(1);
            (ty, if count == 1 { Vec::new() } else { vec![count] })
        });
        let is_whole = |(ty, counts): &(Type, Vec<u32>)| {
            let count = counts.iter().try_fold(1_u32, |all, count| all.checked_mul(*count));
            let has_members = |ty| match ty {
                Type::Structure(id) => {
                    module.structures.get(id).is_some_and(|found| !found.members.is_empty())
                }
                _ => true,
            };
            count.and_then(|count| count.checked_mul(size_of(&module.structures, *ty))) == Some(size)
                && has_members(*ty)
        };
        let found = match given.filter(is_whole).or(pointed.filter(is_whole)) {
            Some((ty, counts)) => member(ty, counts),
            None if list.is_empty() && self.first == self.end => {
                let class = Structure { size, ..Structure::default() };
                member(Type::Structure(layout::declared(module, class)), Vec::new())
            }
            None if list.is_empty() => return None,
            None => members::of_object(module, &self.object, name, list, self.is_aggregate)?,
        };
        aligned(module, found)
    }
}

/// Returns a member with a type whose alignment its offset has: the language may give its vectors a larger one than the stack
/// has here.
fn aligned(module: &mut Module<'_>, member: Member) -> Option<Member> {
    let is_aligned =
        |module: &Module<'_>, ty: Type| member.offset.is_multiple_of(align_of(&module.structures, ty).max(1));
    if is_aligned(module, member.ty) {
        return Some(member);
    }
    let Type::Structure(id) = member.ty else { return None };
    let vector = module.structures.get(id).filter(|found| found.is_builtin)?;
    let plain = Structure { name: String::new(), is_builtin: false, ..vector.clone() };
    let ty = Type::Structure(layout::declared(module, plain));
    is_aligned(module, ty).then_some(Member { ty, ..member })
}

/// Returns the array that a memory is of which code only accesses numbers of one type, and no address.
fn array(members: &[Member], size: u32) -> Option<Member> {
    let (first, last) = (members.first()?, members.last()?);
    let bytes = u32::from(first.ty.bits().max(8)) / 8;
    let is_element = |member: &Member| {
        member.ty == first.ty && member.counts.is_empty() && member.offset.is_multiple_of(bytes)
    };
    let is_number = matches!(first.ty, Type::Integer(..) | Type::Float(_));
    let is_array = first.offset == 0 && last.offset + bytes == size && members.len() > 1;
    let counts = vec![size / bytes];
    (is_array && is_number && members.iter().all(is_element)).then(|| Member { counts, ..first.clone() })
}

impl Region {
    /// Adds the structure that the memory is to the module, unless it is one array.
    pub(super) fn declare(&mut self, module: &mut Module<'_>, is_divided: bool) {
        if let Some(array) = array(&self.members, self.size).filter(|_| !is_divided) {
            self.members = vec![array];
            return;
        }
        let mut names = HashSet::new();
        for member in &mut self.members {
            let (name, mut number) = (member.name.clone(), 2_u32);
            while !names.insert(member.name.clone()) {
                member.name = format!("{name}_{number}");
                number += 1;
            }
        }
        let is_array = match &self.members[..] {
            [only] => !matches!(only.ty, Type::Structure(_)) && only.counts.len() <= 1 && only.offset == 0,
            members => members.is_empty(),
        };
        if is_array {
            return;
        }
        let members = self.members.clone();
        self.structure = Some(module.structures.push(Structure {
            name: String::new(),
            size: self.size,
            is_builtin: false,
            members,
        }));
    }
}
