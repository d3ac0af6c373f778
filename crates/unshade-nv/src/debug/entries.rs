//! Reads the tree of entries.
//!
//! A type is referred to before it is read, so references are first offsets and then become indices. An entry belongs
//! to the function, structure, array or lexical block around it. An inlined function's copy of a variable refers to the
//! original by `DW_AT_abstract_origin`, which has the name and type.

use super::place::{self, Location};
use super::{DebugFunction, DebugInfo, DebugType, DebugVariable, MAX_ENTRIES, Member, TypeIndex, TypeKind};
use crate::cubin::Cubin;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use gimli::constants as dw;
use gimli::{AttributeValue, DebugAbbrev, DebugStr, DebuggingInformationEntry, EndianSlice, LittleEndian};
use unshade_core::{Error, ErrorKind, Reader, Result};

type Slice<'a> = EndianSlice<'a, LittleEndian>;
type Entry<'a> = DebuggingInformationEntry<Slice<'a>>;

/// The attributes of mangled names: that of DWARF 2, and the standard one.
const LINKAGE_NAMES: [gimli::DwAt; 2] = [dw::DW_AT_MIPS_linkage_name, dw::DW_AT_linkage_name];

impl DebugInfo {
    /// Reads the section; `None` if the cubin has none.
    ///
    /// # Errors
    /// If a section is outside the file, is not valid DWARF, or has more than [`MAX_ENTRIES`] entries.
    pub fn of(cubin: &Cubin<'_>) -> Result<Option<Self>> {
        const NAME: &str = ".debug_info";
        let Some(section) = cubin.elf().section_named(NAME.as_bytes()) else { return Ok(None) };
        let data = cubin.elf().bytes(&section).map_err(|error| error.within(NAME))?;
        let sections = Sections {
            info: data,
            abbreviations: part(cubin, b".debug_abbrev"),
            strings: part(cubin, b".debug_str"),
            locations: part(cubin, b".debug_loc"),
        };
        sections.read().map_err(|error| error.within(NAME)).map(Some)
    }
}

/// Returns the bytes of a section; none if it is missing or outside the file.
fn part<'a>(cubin: &Cubin<'a>, name: &[u8]) -> Reader<'a> {
    let section = cubin.elf().section_named(name);
    section
        .and_then(|section| cubin.elf().bytes(&section).ok())
        .unwrap_or_else(|| Reader::at(&[], cubin.elf().file().base()))
}

/// The sections that describe a program.
struct Sections<'a> {
    info: Reader<'a>,
    abbreviations: Reader<'a>,
    strings: Reader<'a>,
    locations: Reader<'a>,
}

impl<'a> Sections<'a> {
    fn read(&self) -> Result<DebugInfo> {
        let slice = |reader: Reader<'a>| EndianSlice::new(reader.data(), LittleEndian);
        let info = gimli::DebugInfo::from(slice(self.info));
        let abbreviations = DebugAbbrev::from(slice(self.abbreviations));
        let mut tree = Tree {
            sections: self,
            strings: DebugStr::from(slice(self.strings)),
            debug: DebugInfo::default(),
            types: BTreeMap::new(),
            variables: BTreeMap::new(),
            scopes: Vec::new(),
            unit: 0,
            seen: 0,
        };
        let fault = |error: gimli::Error| {
            Error::new(
                ErrorKind::BadValue,
                self.info.base(),
                format!("invalid debugging information: {error}"),
            )
        };
        let mut units = info.units();
        while let Some(unit) = units.next().map_err(fault)? {
            tree.unit = unit.debug_info_offset().map_or(0, |offset| offset.0 as u64);
            let abbreviations = unit.abbreviations(&abbreviations).map_err(fault)?;
            let mut entries = unit.entries(&abbreviations);
            while let Some(entry) = entries.next_dfs().map_err(fault)? {
                tree.entry(entry);
                if tree.seen > MAX_ENTRIES {
                    let limit = format!("at most {MAX_ENTRIES}");
                    let base = self.info.base();
                    return Err(Error::new(ErrorKind::Limit, base, "too many entries").expected(limit));
                }
            }
        }
        Ok(tree.debug)
    }
}

/// What an entry's children belong to.
#[derive(Clone, Copy)]
enum Scope {
    Function(usize),
    /// A block in a function, or a function that was inlined into it.
    Block(usize),
    Type(TypeIndex),
    Other,
}

/// The state of reading a tree.
struct Tree<'a, 's> {
    sections: &'s Sections<'a>,
    strings: DebugStr<Slice<'a>>,
    debug: DebugInfo,
    /// The types by offset of their entry, or of a reference to it.
    types: BTreeMap<u64, TypeIndex>,
    /// The names and types of variables by offset of their entry.
    variables: BTreeMap<u64, (String, Option<TypeIndex>)>,
    /// The depth and scope of each entry around the current one.
    scopes: Vec<(isize, Scope)>,
    /// The offset of the current unit.
    unit: u64,
    seen: usize,
}

impl<'a> Tree<'a, '_> {
    fn entry(&mut self, entry: &Entry<'a>) {
        self.seen = self.seen.saturating_add(1);
        while self.scopes.last().is_some_and(|scope| scope.0 >= entry.depth()) {
            self.scopes.pop();
        }
        let parent = self.scopes.last().map_or(Scope::Other, |scope| scope.1);
        let scope = match entry.tag() {
            dw::DW_TAG_subprogram => self.function(entry),
            dw::DW_TAG_formal_parameter | dw::DW_TAG_variable => {
                self.variable(entry, parent);
                Scope::Other
            }
            dw::DW_TAG_member => {
                self.member(entry, parent);
                Scope::Other
            }
            dw::DW_TAG_subrange_type => {
                self.dimension(entry, parent);
                Scope::Other
            }
            dw::DW_TAG_lexical_block | dw::DW_TAG_inlined_subroutine => match parent {
                Scope::Function(function) => Scope::Block(function),
                parent => parent,
            },
            tag => match self.kind(tag, entry) {
                Some(kind) => Scope::Type(self.ty(entry, kind)),
                None => Scope::Other,
            },
        };
        self.scopes.push((entry.depth(), scope));
    }

    /// Returns the kind of a type; its members are read later.
    fn kind(&mut self, tag: gimli::DwTag, entry: &Entry<'a>) -> Option<TypeKind> {
        Some(match tag {
            dw::DW_TAG_base_type => match number(entry, dw::DW_AT_encoding) {
                Some(encoding) => base_kind(encoding),
                None => TypeKind::Unknown,
            },
            dw::DW_TAG_unspecified_type => TypeKind::Void,
            dw::DW_TAG_pointer_type | dw::DW_TAG_reference_type | dw::DW_TAG_rvalue_reference_type => {
                TypeKind::Pointer(self.target(entry))
            }
            dw::DW_TAG_array_type => TypeKind::Array(self.target(entry), Vec::new()),
            dw::DW_TAG_structure_type | dw::DW_TAG_class_type => TypeKind::Structure(Vec::new()),
            dw::DW_TAG_union_type => TypeKind::Union(Vec::new()),
            dw::DW_TAG_enumeration_type => TypeKind::Enumeration,
            dw::DW_TAG_typedef => TypeKind::Alias(self.target(entry)),
            dw::DW_TAG_const_type => TypeKind::Constant(self.target(entry)),
            dw::DW_TAG_volatile_type => TypeKind::Volatile(self.target(entry)),
            dw::DW_TAG_subroutine_type => TypeKind::Function,
            _ => return None,
        })
    }

    fn ty(&mut self, entry: &Entry<'a>, kind: TypeKind) -> TypeIndex {
        let index = self.index_of(self.unit.saturating_add(entry.offset().0 as u64));
        let ty = DebugType {
            name: self.text(entry, dw::DW_AT_name).unwrap_or_default(),
            size: number(entry, dw::DW_AT_byte_size).unwrap_or(0),
            kind,
        };
        if let Some(at) = usize::try_from(index.0).ok().and_then(|at| self.debug.types.get_mut(at)) {
            *at = ty;
        }
        index
    }

    /// Returns the index of the type at an offset.
    fn index_of(&mut self, offset: u64) -> TypeIndex {
        let next = TypeIndex(u32::try_from(self.debug.types.len()).unwrap_or(u32::MAX));
        let index = *self.types.entry(offset).or_insert(next);
        if index == next {
            self.debug.types.push(DebugType::default());
        }
        index
    }

    /// Returns the type that an entry refers to.
    fn target(&mut self, entry: &Entry<'a>) -> Option<TypeIndex> {
        let offset = self.reference(entry, dw::DW_AT_type)?;
        Some(self.index_of(offset))
    }

    /// Returns the offset in the section that an attribute refers to.
    fn reference(&self, entry: &Entry<'a>, name: gimli::DwAt) -> Option<u64> {
        match entry.attr_value(name)? {
            AttributeValue::UnitRef(offset) => Some(self.unit.saturating_add(offset.0 as u64)),
            AttributeValue::DebugInfoRef(offset) => Some(offset.0 as u64),
            _ => None,
        }
    }

    fn text(&self, entry: &Entry<'a>, name: gimli::DwAt) -> Option<String> {
        let text = entry.attr(name)?.string_value(&self.strings)?;
        Some(String::from_utf8_lossy(text.slice()).into_owned())
    }

    fn function(&mut self, entry: &Entry<'a>) -> Scope {
        let name = self.text(entry, dw::DW_AT_name).unwrap_or_default();
        let symbol = LINKAGE_NAMES.iter().find_map(|attribute| self.text(entry, *attribute));
        let function = DebugFunction {
            symbol: symbol.unwrap_or_else(|| name.clone()),
            name,
            result: self.target(entry),
            line: number(entry, dw::DW_AT_decl_line).unwrap_or(0),
            ..DebugFunction::default()
        };
        let index = self.debug.functions.len();
        self.debug.functions.push(function);
        Scope::Function(index)
    }

    fn variable(&mut self, entry: &Entry<'a>, parent: Scope) {
        let offset = self.unit.saturating_add(entry.offset().0 as u64);
        let mut name = self.text(entry, dw::DW_AT_name).unwrap_or_default();
        let mut ty = self.target(entry);
        if let Some(origin) =
            self.reference(entry, dw::DW_AT_abstract_origin).and_then(|at| self.variables.get(&at))
        {
            (name, ty) = origin.clone();
        }
        self.variables.insert(offset, (name.clone(), ty));
        let symbol = LINKAGE_NAMES.iter().find_map(|attribute| self.text(entry, *attribute));
        let variable = DebugVariable { name, symbol, ty, locations: self.locations(entry) };
        let is_parameter = entry.tag() == dw::DW_TAG_formal_parameter;
        let functions = &mut self.debug.functions;
        let list = match parent {
            Scope::Function(index) if is_parameter => {
                functions.get_mut(index).map(|function| &mut function.parameters)
            }
            Scope::Function(index) | Scope::Block(index) => {
                functions.get_mut(index).map(|function| &mut function.locals)
            }
            Scope::Type(_) => None,
            Scope::Other => Some(&mut self.debug.variables),
        };
        if let Some(list) = list {
            list.push(variable);
        }
    }

    fn locations(&self, entry: &Entry<'a>) -> Vec<Location> {
        let class = number(entry, dw::DW_AT_address_class).unwrap_or(0);
        match entry.attr_value(dw::DW_AT_location) {
            Some(AttributeValue::Exprloc(expression)) => {
                vec![Location { range: None, place: place::expression(expression.0.slice(), class) }]
            }
            Some(AttributeValue::Block(bytes)) => {
                vec![Location { range: None, place: place::expression(bytes.slice(), class) }]
            }
            Some(AttributeValue::LocationListsRef(offset)) => {
                place::list(self.sections.locations, offset.0 as u64, class)
            }
            _ => Vec::new(),
        }
    }

    fn member(&mut self, entry: &Entry<'a>, parent: Scope) {
        let member = Member {
            name: self.text(entry, dw::DW_AT_name).unwrap_or_default(),
            ty: self.target(entry),
            offset: member_offset(entry).unwrap_or(0),
        };
        if let Some(TypeKind::Structure(members) | TypeKind::Union(members)) = self.kind_of(parent) {
            members.push(member);
        }
    }

    fn dimension(&mut self, entry: &Entry<'a>, parent: Scope) {
        let last = || number(entry, dw::DW_AT_upper_bound)?.checked_add(1);
        let count = number(entry, dw::DW_AT_count).or_else(last).unwrap_or(0);
        if let Some(TypeKind::Array(_, counts)) = self.kind_of(parent) {
            counts.push(count);
        }
    }

    fn kind_of(&mut self, scope: Scope) -> Option<&mut TypeKind> {
        let Scope::Type(index) = scope else { return None };
        Some(&mut self.debug.types.get_mut(usize::try_from(index.0).ok()?)?.kind)
    }
}

/// Returns the kind of a base type.
fn base_kind(encoding: u64) -> TypeKind {
    match u8::try_from(encoding).map(gimli::DwAte) {
        Ok(dw::DW_ATE_boolean) => TypeKind::Bool,
        Ok(dw::DW_ATE_float) => TypeKind::Float,
        Ok(dw::DW_ATE_signed | dw::DW_ATE_signed_char) => TypeKind::Signed,
        Ok(dw::DW_ATE_unsigned | dw::DW_ATE_unsigned_char | dw::DW_ATE_UTF) => TypeKind::Unsigned,
        _ => TypeKind::Unknown,
    }
}

fn number(entry: &Entry<'_>, name: gimli::DwAt) -> Option<u64> {
    entry.attr(name)?.udata_value().or_else(|| match entry.attr_value(name)? {
        AttributeValue::Encoding(encoding) => Some(u64::from(encoding.0)),
        AttributeValue::AddressClass(class) => Some(class.0),
        _ => None,
    })
}

/// Returns the offset of a member: a number, or the expression `DW_OP_plus_uconst N`.
fn member_offset(entry: &Entry<'_>) -> Option<u64> {
    let bytes = match entry.attr_value(dw::DW_AT_data_member_location)? {
        AttributeValue::Exprloc(expression) => expression.0,
        AttributeValue::Block(bytes) => bytes,
        _ => return number(entry, dw::DW_AT_data_member_location),
    };
    place::plus(bytes.slice())
}
