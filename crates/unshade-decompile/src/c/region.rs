//! Memories without pointers: shared and local memory, and constant banks. Each is an array, or a structure whose members
//! are its variables.

use super::access::{bracketed, pointer_name};
use super::language::SharedMemory;
use super::member::{address_of_member, member_lines};
use super::type_name::{TypeNames, type_name};
use super::{Printer, spelling};
use crate::address::Address;
use crate::ir::id_lists::entry;
use crate::ir::{Member, Op, Space, Structure, ValueId};
use crate::types::Type;

impl Printer<'_, '_> {
    /// Returns the memory of an access.
    pub(super) fn region_of(&self, space: Space, address: ValueId) -> Space {
        if space == Space::Generic && self.function.width(address) == 32 { Space::Shared } else { space }
    }

    /// Returns the type of a memory's elements, if it is an array.
    fn region_type(&self, space: Space) -> Option<Type> {
        let found = self.types.region(space);
        found.map(|(bits, kind)| Type::of(bits, kind))
    }

    /// Returns the type of the element or member that an address refers to.
    pub(super) fn region_element(&self, space: Space, address: ValueId) -> Option<Type> {
        match self.objects.structure(space) {
            Some(id) => self.object_type(id, self.objects.member(space, address)?, &self.parts(address)),
            None => self.region_type(space),
        }
    }

    /// Returns the structure that a memory is, if it is one.
    fn region_structure(&self, space: Space) -> Option<&Structure> {
        self.module.structures.get(self.objects.structure(space)?)
    }

    /// Returns the address of a memory.
    pub(super) fn region_address(&mut self, space: Space) -> String {
        self.region(space, 0);
        let name = spelling::array(space);
        if self.region_structure(space).is_some() { format!("&{name}") } else { name.into_owned() }
    }

    /// Returns an access as an lvalue of a type.
    pub(super) fn region_access(
        &mut self,
        space: Space,
        address: ValueId,
        found: &Address,
        ty: Type,
    ) -> String {
        if let Space::Constant(0) = space {
            return self.parameter_access(found, ty);
        }
        let end = found.offset + i64::from(ty.bits() / 8);
        self.region(space, end);
        let pointer = pointer_name(ty, space == Space::Shared && self.has_volatile_shared);
        match self.objects.structure(space) {
            Some(_) => self.object_access(space, address, found, ty, &pointer),
            None => self.array_access(space, found, ty, &pointer),
        }
    }

    /// Returns an access of a memory that is an array.
    fn array_access(&mut self, space: Space, found: &Address, ty: Type, pointer: &str) -> String {
        let name = spelling::array(space);
        let element = self.region_type(space).unwrap_or(Type::Integer(32, false));
        let bytes = i64::from(ty.bits() / 8).max(1);
        let is_same =
            matches!((element, ty), (Type::Integer(a, _), Type::Integer(b, _)) if a == b) || element == ty;
        if is_same && self.fits(found, bytes) {
            let index = self.index(found, bytes);
            return format!("{name}[{index}]");
        }
        let step = i64::from(element.bits() / 8).max(1);
        if self.fits(found, step) {
            self.casts += 1;
            let index = self.index(found, step);
            let place = if index == "0" { name.to_string() } else { format!("&{name}[{index}]") };
            return format!("*({pointer}){place}");
        }
        let index = bracketed(self.index(found, 1));
        self.casts += 2;
        format!("*({pointer})((char *){name} + {index})")
    }

    /// Returns an access of a memory that is a structure: a member, or bytes of it.
    fn object_access(
        &mut self,
        space: Space,
        address: ValueId,
        found: &Address,
        ty: Type,
        pointer: &str,
    ) -> String {
        let name = spelling::array(space);
        let object = self.objects.structure(space).zip(self.objects.member(space, address));
        if let Some((id, member)) = object
            && let Some((text, has)) = self.object(&name, id, member, found)
        {
            if has == ty {
                return text;
            }
            self.casts += 1;
            return format!("*({pointer}){}", address_of_member(&text));
        }
        let index = bracketed(self.index(found, 1));
        self.casts += 2;
        format!("*({pointer})((char *)&{name} + {index})")
    }

    /// Returns an address in a memory that is a structure as a pointer of a type: `&local.count`.
    pub(super) fn object_pointer(&mut self, found: &Address, ty: Type) -> Option<String> {
        let Op::Special(special) = self.function.op(found.base?) else { return None };
        let space = special.window()?;
        let id = self.objects.structure(space)?;
        let module = self.module;
        let members = &module.structures.get(id)?.members;
        let index = self.objects.member_at(space, found.offset)?;
        // An index that isn't one of an array would lead out of the member.
        let is_inside = |member: &&Member| found.terms.is_empty() || !member.counts.is_empty();
        let member = members.get(index).filter(is_inside)?;
        self.region(space, 0);
        let name = spelling::array(space);
        let is_volatile = space == Space::Shared && self.has_volatile_shared;
        let is_start = found.terms.is_empty() && i64::from(member.offset) == found.offset;
        if let (Type::Structure(inner), Type::StructurePointer(wanted), true) = (member.ty, ty, is_start)
            && inner == wanted
            && member.counts.is_empty()
            && !is_volatile
        {
            return Some(format!("&{name}.{}", member.name));
        }
        let (text, has) = self.object(&name, id, index, found)?;
        let text = address_of_member(&text).into_owned();
        if has.pointer() == ty && !has.is_pointer() && !is_volatile {
            return Some(text);
        }
        self.casts += 1;
        Some(format!("({}){text}", self.type_name(ty)))
    }

    /// Records that a memory is used up to a byte.
    pub(super) fn region(&mut self, space: Space, end: i64) {
        let known = entry(&mut self.regions, space);
        *known = end.max(*known);
    }

    /// Returns the declaration of a memory in use.
    pub(super) fn region_declaration(&self, space: Space, end: i64) -> Vec<String> {
        match self.region_structure(space) {
            Some(structure) => self.structure_declaration(space, structure),
            None => Vec::from_iter(self.array_declaration(space, end)),
        }
    }

    /// Returns the declaration of a memory that is a structure.
    fn structure_declaration(&self, space: Space, structure: &Structure) -> Vec<String> {
        let volatile = if space == Space::Shared && self.has_volatile_shared { "volatile " } else { "" };
        let (head, tail) = match (space, &self.language.shared) {
            (Space::Shared, SharedMemory::OfThread(function)) => {
                let reference = format!("{volatile}Shared &shared = *{function}<Shared>();");
                (String::from("struct Shared"), format!(";\n    {reference}"))
            }
            (Space::Shared, SharedMemory::Declared) => {
                (format!("__shared__ {volatile}struct"), String::from(" shared;"))
            }
            _ => {
                (String::from("struct"), format!(" {}{};", spelling::array(space), self.language.local_value))
            }
        };
        let mut lines = vec![format!("    {head} {{")];
        let members = member_lines(self.module, TypeNames::new(self.module), structure);
        lines.extend(members.into_iter().map(|line| format!("    {line}")));
        lines.extend(format!("    }}{tail}").lines().map(String::from));
        lines
    }

    /// Returns the declaration of a memory that is an array.
    fn array_declaration(&self, space: Space, end: i64) -> Option<String> {
        let end = end.cast_unsigned();
        let name = spelling::array(space);
        let ty = self.region_type(space).unwrap_or(Type::Integer(32, false));
        let bytes = u64::from(ty.bits() / 8).max(1);
        let volatile = if self.has_volatile_shared { "volatile " } else { "" };
        if let (Space::Shared, SharedMemory::OfThread(function)) = (space, &self.language.shared) {
            let pointer = pointer_name(ty, self.has_volatile_shared);
            let size = if self.module.is_kernel { self.module.shared_size.div_ceil(bytes) } else { 0 };
            let size = if size == 0 { String::new() } else { size.to_string() };
            return Some(format!("    {pointer}shared = {function}<{}>({size});", type_name(ty)));
        }
        Some(match space {
            // It is that of the kernel, wherever in its code the function is called.
            Space::Shared if !self.module.is_kernel => {
                let pointer = pointer_name(ty, self.has_volatile_shared);
                format!("    {pointer}shared = ({pointer})shared_memory();")
            }
            Space::Shared if self.module.shared_size == 0 => {
                let pointer = pointer_name(ty, self.has_volatile_shared);
                format!("    {pointer}shared = ({pointer})dynamic_shared;")
            }
            Space::Shared => {
                let size = self.module.shared_size.div_ceil(bytes);
                format!("    __shared__ {volatile}{} shared[{size}];", type_name(ty))
            }
            Space::Local => {
                let size = u64::from(self.module.local_size).max(end);
                let count = size.div_ceil(bytes).max(1);
                format!("    {} local[{count}]{};", type_name(ty), self.language.local_value)
            }
            Space::Constant(bank) => {
                let contents = &self.module.constants.iter().find(|entry| entry.0 == bank)?.1;
                let numbers = super::symbol::numbers(self.language, contents, ty);
                let count = numbers.len();
                format!("    static const {} {name}[{count}] = {{{}}};", type_name(ty), numbers.join(", "))
            }
            Space::Generic => return None,
        })
    }
}
