//! The AIRR schema as data: node types and their slots, and the root table.
//!
//! Decoder, outline and typed access all use these tables; no other code knows a slot number. The facts come from the
//! declarations in a public parser of the format (`floor_llvm`, of which no code is used) and were checked against the
//! reflections of real libraries. Slot `n` of a table is the entry at byte `4 + 2n` of its vtable.

mod arguments;
mod enums;
mod functions;
mod types;

pub(super) use arguments::BUILTIN;
pub use enums::*;

use core::fmt;

/// The `file_identifier` of the schema.
pub const IDENTIFIER: [u8; 4] = *b"AIRR";

/// The type of a node. Unknown numbers are kept; known ones have a [`NodeSchema`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeType(pub u32);

impl NodeType {
    /// Returns the name in the schema, such as `BufferArg`.
    pub fn name(self) -> Option<&'static str> {
        self.schema().map(|schema| schema.table.name)
    }

    /// Returns the type with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        let mut all = GROUPS.iter().flat_map(|group| group.iter());
        all.find(|schema| schema.table.name == name).map(|schema| schema.kind)
    }

    /// Returns the argument or return value that AIR's metadata calls `air.keyword`: its name in the schema, in lower case
    /// with underscores and without `Arg` or `Ret`, or its Metal spelling.
    ///
    /// ```
    /// use unshade_metallib::reflection::schema::NodeType;
    ///
    /// assert_eq!(NodeType::argument("thread_position_in_grid"), Some(NodeType::THREAD_POSITION_IN_GRID_ARG));
    /// assert_eq!(NodeType::argument("instance_id"), Some(NodeType::INSTANCE_ID_ARG));
    /// assert_eq!(NodeType::return_value("point_size"), Some(NodeType::POINT_SIZE_RET));
    /// ```
    pub fn argument(keyword: &str) -> Option<Self> {
        Self::of_keyword(keyword, "Arg")
    }

    /// Returns the return value that AIR's metadata calls `air.keyword`, as [`NodeType::argument`] does.
    pub fn return_value(keyword: &str) -> Option<Self> {
        Self::of_keyword(keyword, "Ret")
    }

    fn of_keyword(keyword: &str, suffix: &str) -> Option<Self> {
        let is_named = |schema: &&NodeSchema| {
            let name = schema.table.name.strip_suffix(suffix);
            name.is_some_and(|name| words(name).eq(keyword.bytes()) || schema.spelling == keyword)
        };
        GROUPS.iter().flat_map(|group| group.iter()).find(is_named).map(|schema| schema.kind)
    }

    /// Returns the schema of the type, if it is known.
    pub fn schema(self) -> Option<&'static NodeSchema> {
        // The groups are sorted by number, and so are the types in each group.
        let group = GROUPS.iter().find(|group| group.last().is_some_and(|last| self.0 <= last.kind.0))?;
        let index = group.binary_search_by_key(&self.0, |schema| schema.kind.0).ok()?;
        group.get(index)
    }

    /// Returns the category of the node.
    pub fn category(self) -> Option<Category> {
        self.schema().map(|schema| schema.category)
    }
}

/// Returns the characters of a name such as `InstanceID` as `instance_id`.
fn words(name: &str) -> impl Iterator<Item = u8> + '_ {
    let before = core::iter::once(b'A').chain(name.bytes());
    before.zip(name.bytes()).flat_map(|(before, byte)| {
        let starts_word = byte.is_ascii_uppercase() && !before.is_ascii_uppercase();
        starts_word.then_some(b'_').into_iter().chain([byte.to_ascii_lowercase()])
    })
}

impl fmt::Display for NodeType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => write!(f, "{:#x} (unknown)", self.0),
        }
    }
}

/// The purpose of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Category {
    /// An entry point.
    Function,
    /// An attribute of a function as a whole.
    FunctionAttribute,
    /// A value that a function returns or writes to a mesh.
    Return,
    /// An argument that the application binds: a buffer, a texture and so on.
    Resource,
    /// An argument that the hardware provides.
    Builtin,
    /// An argument that is produced by an earlier stage, or fetched for this one.
    StageInput,
    /// An argument of a Core Image kernel.
    CoreImageArgument,
    /// Function constants, layouts, bindings.
    Information,
    /// A type.
    Type,
    /// A part or an attribute of a record type.
    TypePart,
    /// The emulation of mesh functions on hardware without mesh shaders.
    MeshEmulation,
}

/// A node type.
#[derive(Debug, PartialEq, Eq)]
pub struct NodeSchema {
    /// The number of the type.
    pub kind: NodeType,
    /// The purpose of the node.
    pub category: Category,
    /// The Metal spelling: an attribute without its brackets, in which `@` stands for the index (`buffer(@)`,
    /// `thread_position_in_grid`), or a type (`texture2d`). Empty if there is none.
    pub spelling: &'static str,
    /// The name and the slots.
    pub table: TableSchema,
}

/// The name and the slots of a table.
#[derive(Debug, PartialEq, Eq)]
pub struct TableSchema {
    /// The name in the schema.
    pub name: &'static str,
    /// The slots, starting with slot 0.
    pub slots: &'static [Slot],
}

impl TableSchema {
    /// Returns the number of the slot with this name.
    pub fn slot_named(&self, name: &str) -> Option<usize> {
        self.slots.iter().position(|slot| slot.name == name)
    }
}

/// A slot of a table.
#[derive(Debug, PartialEq, Eq)]
pub struct Slot {
    /// The name of the field.
    pub name: &'static str,
    /// The encoding of the field.
    pub kind: FieldKind,
    /// The value of a number if the field is absent.
    pub default: u8,
}

/// Returns a slot whose default is 0.
const fn slot(name: &'static str, kind: FieldKind) -> Slot {
    Slot { name, kind, default: 0 }
}

/// The encoding of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// A byte, 0 or 1.
    Bool,
    /// A 32-bit number.
    U32,
    /// `struct UIntValue { u32 }`: unlike a plain number, 0 can be distinguished from an absent field.
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
    /// A node's body: a table whose schema depends on the type of the node.
    NodeBody,
}

impl FieldKind {
    /// Returns the size of the field in its table in bytes, without its target.
    pub fn width(self) -> usize {
        match self {
            FieldKind::Bool | FieldKind::BoolValue | FieldKind::Enum(_) => 1,
            FieldKind::Version | FieldKind::Bitfield => 12,
            _ => 4,
        }
    }

    /// Returns whether the field is an offset to a target outside its table.
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

/// The versions that real files have, oldest first.
pub const KNOWN_VERSIONS: [Version; 4] = [
    Version { major: 0, minor: 1, sub_minor: 0 },
    Version { major: 0, minor: 2, sub_minor: 0 },
    Version { major: 0, minor: 3, sub_minor: 0 },
    Version { major: 0, minor: 4, sub_minor: 0 },
];

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

/// The location of a bit field in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bitfield {
    /// The first bit.
    pub bit_offset: u32,
    /// The number of bits.
    pub bit_size: u32,
    /// The number of bits in its storage unit, as given by the file.
    pub storage_size: u32,
}

/// The names of the values of an enumeration.
pub struct EnumNames {
    /// The name of the enumeration.
    pub name: &'static str,
    /// Returns the name of a value, if it has one.
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

/// Declares a [`FieldKind::Enum`] constant for each enumeration.
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

/// Declares node types: a constant of [`NodeType`] for each, and the table of the group.
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

/// All node types: groups sorted by number, each sorted.
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

/// The schema of a node: its type and its body.
pub static NODE: TableSchema = TableSchema {
    name: "Node",
    slots: &[slot("type", FieldKind::NodeType), slot("body", FieldKind::NodeBody)],
};

/// The schema of a table of unknown type.
pub static UNKNOWN_TABLE: TableSchema = TableSchema { name: "table of an unknown type", slots: &[] };

/// A block of threadgroup memory that the functions declare.
const LOCAL_ALLOCATION: TableSchema = TableSchema {
    name: "LocalAllocation",
    slots: &[slot("size", FieldKind::U32), slot("alignment", FieldKind::U32)],
};

/// The schema of the root table. Any slot may be absent: the reflection of a dynamic library may only have a version.
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
    fn node_types_are_sorted_and_can_be_looked_up() {
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
