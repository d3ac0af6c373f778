//! The AIRR schema as data: node types and their slots, and the root table.
//!
//! Decoder, outline and typed view all read these tables; nothing else in the crate knows a slot number. The facts
//! were read off the declarations in a public reader of the format (`floor_llvm`, of which no code is used) and
//! checked against the reflections of real libraries. Slot `n` of a table is the entry at byte `4 + 2n` of its vtable.

mod arguments;
mod enums;
mod functions;
mod types;

pub(super) use arguments::BUILTIN;
pub use enums::*;

use core::fmt;

/// The `file_identifier` of the schema.
pub const IDENTIFIER: [u8; 4] = *b"AIRR";

/// The number of a node's type. Numbers without a name survive; those with one have a [`NodeSchema`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeType(pub u32);

impl NodeType {
    /// The name in the schema, such as `BufferArg`.
    pub fn name(self) -> Option<&'static str> {
        self.schema().map(|schema| schema.table.name)
    }

    /// The type of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        let mut all = GROUPS.iter().flat_map(|group| group.iter());
        all.find(|schema| schema.table.name == name).map(|schema| schema.kind)
    }

    /// What is known of the type.
    pub fn schema(self) -> Option<&'static NodeSchema> {
        // The groups are sorted, and within a group the numbers follow each other but for a few gaps.
        let group = GROUPS.iter().find(|group| group.last().is_some_and(|last| self.0 <= last.kind.0))?;
        let index = group.binary_search_by_key(&self.0, |schema| schema.kind.0).ok()?;
        group.get(index)
    }

    /// What the node is for.
    pub fn category(self) -> Option<Category> {
        self.schema().map(|schema| schema.category)
    }
}

impl fmt::Display for NodeType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => write!(f, "{:#x} (unknown)", self.0),
        }
    }
}

/// What a node is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Category {
    /// An entry point.
    Function,
    /// Something that is said of a function as a whole.
    FunctionAttribute,
    /// A value that a function returns, or writes to a mesh.
    Return,
    /// An argument that the application binds: a buffer, a texture and so on.
    Resource,
    /// An argument that the hardware fills in.
    Builtin,
    /// An argument that comes from an earlier stage, or is fetched for this one.
    StageInput,
    /// An argument of a Core Image kernel.
    CoreImageArgument,
    /// Function constants, layouts, bindings.
    Information,
    /// A type.
    Type,
    /// A part of a record type, or something said of one.
    TypePart,
    /// How mesh functions are emulated where the hardware has none.
    MeshEmulation,
}

/// A node type.
#[derive(Debug, PartialEq, Eq)]
pub struct NodeSchema {
    /// Its number.
    pub kind: NodeType,
    /// What it is for.
    pub category: Category,
    /// How Metal source spells it: an attribute without its brackets, where `@` stands for the index
    /// (`buffer(@)`, `thread_position_in_grid`), or a type (`texture2d`). Empty where source has no word for it.
    pub spelling: &'static str,
    /// Its name and its slots.
    pub table: TableSchema,
}

/// A table's name and its slots.
#[derive(Debug, PartialEq, Eq)]
pub struct TableSchema {
    /// The name in the schema.
    pub name: &'static str,
    /// The slots, from 0 on.
    pub slots: &'static [Slot],
}

impl TableSchema {
    /// The number of the slot of this name.
    pub fn slot_named(&self, name: &str) -> Option<usize> {
        self.slots.iter().position(|slot| slot.name == name)
    }
}

/// A slot of a table.
#[derive(Debug, PartialEq, Eq)]
pub struct Slot {
    /// The field's name.
    pub name: &'static str,
    /// How the field is stored.
    pub kind: FieldKind,
    /// The value of a number that is absent.
    pub default: u8,
}

/// A slot whose default is 0.
const fn slot(name: &'static str, kind: FieldKind) -> Slot {
    Slot { name, kind, default: 0 }
}

/// How a field is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// A byte, 0 or 1.
    Bool,
    /// A 32-bit number.
    U32,
    /// `struct UIntValue { u32 }`, which unlike a plain number can be told apart from an absent one when it is 0.
    UIntValue,
    /// `struct BoolValue { bool }`.
    BoolValue,
    /// `struct NodeId { u32 }`: an index into the root's nodes.
    NodeId,
    /// `struct Version { u32 major, minor, sub_minor }`.
    Version,
    /// `struct BitfieldInfo { u32 bit_offset, bit_size, storage_size }`.
    Bitfield,
    /// A byte with named values.
    Enum(&'static EnumNames),
    /// A string.
    Text,
    /// A vector of `NodeId`.
    NodeIds,
    /// A vector of 64-bit numbers.
    Numbers,
    /// A vector of strings.
    Texts,
    /// A table.
    Table(&'static TableSchema),
    /// A vector of tables.
    Tables(&'static TableSchema),
    /// The vector of nodes, which are tables of the schema [`NODE`].
    Nodes,
    /// A node's type: a 32-bit number.
    NodeType,
    /// A node's body: a table whose schema the node's type says.
    NodeBody,
}

impl FieldKind {
    /// How many bytes the field takes inside of its table; what it points at is elsewhere.
    pub fn width(self) -> usize {
        match self {
            FieldKind::Bool | FieldKind::BoolValue | FieldKind::Enum(_) => 1,
            FieldKind::Version | FieldKind::Bitfield => 12,
            _ => 4,
        }
    }

    /// Whether the field is an offset to something outside of its table.
    pub fn is_reference(self) -> bool {
        matches!(
            self,
            FieldKind::Text
                | FieldKind::NodeIds
                | FieldKind::Numbers
                | FieldKind::Texts
                | FieldKind::Table(_)
                | FieldKind::Tables(_)
                | FieldKind::Nodes
                | FieldKind::NodeBody
        )
    }
}

/// The version of the schema that a writer followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version {
    /// The first number.
    pub major: u32,
    /// The second number.
    pub minor: u32,
    /// The third number.
    pub sub_minor: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.sub_minor)
    }
}

/// Where in a record a bit field is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bitfield {
    /// The first bit.
    pub bit_offset: u32,
    /// How many bits it has.
    pub bit_size: u32,
    /// How many bits the unit has that it is stored in, as the file says it.
    pub storage_size: u32,
}

/// The names of an enumeration's values.
pub struct EnumNames {
    /// The enumeration's name.
    pub name: &'static str,
    /// The name of a value, where it has one.
    pub value_name: fn(u8) -> Option<&'static str>,
}

impl fmt::Debug for EnumNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for EnumNames {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for EnumNames {}

/// Makes a [`FieldKind::Enum`] constant of each enumeration.
macro_rules! enum_kinds {
    ($($constant:ident = $name:ident;)*) => {
        $(
            const $constant: FieldKind = FieldKind::Enum(&EnumNames {
                name: stringify!($name),
                value_name: |value| $name(value).name(),
            });
        )*
    };
}

enum_kinds! {
    ACCESS = Access;
    ADDRESS_SPACE = AddressSpace;
    SAMPLING = Sampling;
    INTERPOLATION = Interpolation;
    DEPTH_QUALIFIER = DepthQualifier;
    PATCH_KIND = PatchKind;
    PRIMITIVE_KIND = PrimitiveKind;
    ROUNDING_MODE = RoundingMode;
    TOPOLOGY = Topology;
    IMAGEBLOCK_LAYOUT = ImageblockLayout;
    TENSOR_KIND = TensorKind;
}

/// Declares node types: a constant of [`NodeType`] each, and the row of the group's table.
macro_rules! nodes {
    ($group:ident: $($constant:ident = $number:literal, $name:literal, $category:ident, $spelling:literal,
        $slots:expr;)*) => {
        impl NodeType {
            $(
                #[doc = concat!("`", stringify!($number), "`: ", $name, ".")]
                pub const $constant: Self = Self($number);
            )*
        }

        pub(super) const $group: &[NodeSchema] = &[$(
            NodeSchema {
                kind: NodeType($number),
                category: Category::$category,
                spelling: $spelling,
                table: TableSchema { name: $name, slots: $slots },
            },
        )*];
    };
}
use nodes;

/// All node types, by number: groups in order, each sorted.
pub static GROUPS: &[&[NodeSchema]] = &[
    functions::FUNCTIONS,
    functions::FUNCTION_ATTRIBUTES,
    functions::VERTEX_RETURNS,
    functions::FRAGMENT_RETURNS,
    functions::INTERSECTION_RETURNS,
    functions::MESH_RETURNS,
    functions::CORE_IMAGE_RETURNS,
    arguments::RESOURCES,
    arguments::KERNEL,
    arguments::VERTEX,
    arguments::FRAGMENT,
    arguments::TILE,
    arguments::INTERSECTION,
    arguments::MESH,
    arguments::MESH_GRID,
    arguments::CORE_IMAGE,
    types::INFORMATION,
    types::LANGUAGE_TYPES,
    types::METAL_TYPES,
    types::QUALIFIERS,
    types::FIELD_ATTRIBUTES,
    types::MESH_EMULATION,
];

/// A node: which type, and that type's table.
pub static NODE: TableSchema = TableSchema {
    name: "Node",
    slots: &[slot("type", FieldKind::NodeType), slot("body", FieldKind::NodeBody)],
};

/// A table of which nothing is known.
pub static UNKNOWN_TABLE: TableSchema = TableSchema { name: "table of an unknown type", slots: &[] };

/// A block of threadgroup memory that the functions declare.
const LOCAL_ALLOCATION: TableSchema = TableSchema {
    name: "LocalAllocation",
    slots: &[slot("size", FieldKind::U32), slot("alignment", FieldKind::U32)],
};

/// The root table. Any slot may be absent: a dynamic library's reflection may hold its version alone.
pub static ROOT: TableSchema = TableSchema {
    name: "Reflection",
    slots: &[
        slot("version", FieldKind::Version),
        slot("nodes", FieldKind::Nodes),
        slot("fragment_functions", FieldKind::NodeIds),
        slot("intersection_functions", FieldKind::NodeIds),
        slot("kernel_functions", FieldKind::NodeIds),
        slot("vertex_functions", FieldKind::NodeIds),
        slot("visible_functions", FieldKind::NodeIds),
        slot("mesh_functions", FieldKind::NodeIds),
        slot("object_functions", FieldKind::NodeIds),
        slot("function_constants", FieldKind::NodeIds),
        slot("static_local_allocations", FieldKind::Tables(&LOCAL_ALLOCATION)),
        slot("emulations", FieldKind::NodeIds),
        slot("global_bindings", FieldKind::NodeIds),
        slot("visible_function_references", FieldKind::NodeIds),
        slot("ci_functions", FieldKind::NodeIds),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec::Vec;

    #[test]
    fn sorted_and_found() {
        let all: Vec<_> = GROUPS.iter().flat_map(|group| group.iter()).collect();
        assert_eq!(all.len(), 253);
        assert!(all.windows(2).all(|pair| pair[0].kind < pair[1].kind));
        for schema in all {
            assert_eq!(schema.kind.schema(), Some(schema));
            let mut names: Vec<_> = schema.table.slots.iter().map(|slot| slot.name).collect();
            names.sort_unstable();
            assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{}", schema.table.name);
        }
        for number in [0, 9, 0xfff, 0x1007, 0x4200b, 0x43009, 0x8202e, 0x85007, u32::MAX] {
            assert_eq!(NodeType(number).schema(), None);
        }
        assert_eq!(NodeType::BUFFER_ARG.to_string(), "BufferArg");
        assert_eq!(NodeType(0x4200b).to_string(), "0x4200b (unknown)");
    }
}
