//! Numbers, names and records: the building blocks of parts.
//!
//! [`record!`](crate::record) declares a struct whose fields are consecutive in the file. The declaration generates
//! the struct, its parser (and so its outline), its writer, and its YAML. [`model!`](crate::model) does the same
//! without the binary form, for structs that are assembled by hand.

use crate::cursor::Cursor;
use crate::yaml::{Node, Yaml};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use unshade_core::{FourCc, Reader, Result};

/// The value of a field in an outline; text and bytes are sliced from the file when shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// A group.
    None,
    /// A number in decimal.
    Number(u64),
    /// A number in hexadecimal.
    Hex(u64),
    /// Text of the file.
    Text,
    /// Bytes of the file.
    Bytes,
}

/// A value with a fixed size.
pub(crate) trait Scalar: Sized {
    /// Its size in bytes.
    const SIZE: usize;

    /// Reads it.
    fn get(reader: &mut Reader<'_>) -> Result<Self>;

    /// Writes it.
    fn put(&self, out: &mut Vec<u8>);

    /// Returns its value in an outline, and the meaning of the value.
    fn show(&self) -> (Shown, String);
}

/// Consecutive fields.
pub(crate) trait Record: Sized {
    /// The size of all fields in bytes.
    const SIZE: usize;

    /// Reads the fields.
    fn read(cursor: &mut Cursor<'_, '_>) -> Result<Self>;

    /// Writes the fields.
    fn write(&self, out: &mut Vec<u8>);
}

macro_rules! number {
    ($($type:ty, $read:ident;)*) => {$(
        impl Scalar for $type {
            const SIZE: usize = size_of::<$type>();

            fn get(reader: &mut Reader<'_>) -> Result<Self> {
                reader.$read()
            }

            fn put(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            fn show(&self) -> (Shown, String) {
                (Shown::Number(u64::from(*self)), String::new())
            }
        }
    )*};
}

number! {
    u8, u8;
    u16, u16;
    u32, u32;
    u64, u64;
}

impl Scalar for f32 {
    const SIZE: usize = 4;

    fn get(reader: &mut Reader<'_>) -> Result<Self> {
        reader.u32().map(f32::from_bits)
    }

    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_bits().to_le_bytes());
    }

    fn show(&self) -> (Shown, String) {
        (Shown::Hex(u64::from(self.to_bits())), format!("{self:?}"))
    }
}

impl Scalar for FourCc {
    const SIZE: usize = 4;

    fn get(reader: &mut Reader<'_>) -> Result<Self> {
        reader.fourcc()
    }

    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }

    fn show(&self) -> (Shown, String) {
        (Shown::Text, String::new())
    }
}

impl<const N: usize> Scalar for [u8; N] {
    const SIZE: usize = N;

    fn get(reader: &mut Reader<'_>) -> Result<Self> {
        reader.array()
    }

    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }

    fn show(&self) -> (Shown, String) {
        (Shown::Bytes, String::new())
    }
}

impl<const N: usize> Scalar for [u32; N] {
    const SIZE: usize = N.saturating_mul(4);

    fn get(reader: &mut Reader<'_>) -> Result<Self> {
        let mut words = [0; N];
        for word in &mut words {
            *word = reader.u32()?;
        }
        Ok(words)
    }

    fn put(&self, out: &mut Vec<u8>) {
        for word in self {
            word.put(out);
        }
    }

    fn show(&self) -> (Shown, String) {
        (Shown::Bytes, format!("{self:?}"))
    }
}

/// A number in hexadecimal notation: offset, flags, mask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hex32(pub u32);

impl Scalar for Hex32 {
    const SIZE: usize = 4;

    fn get(reader: &mut Reader<'_>) -> Result<Self> {
        reader.u32().map(Self)
    }

    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }

    fn show(&self) -> (Shown, String) {
        (Shown::Hex(u64::from(self.0)), String::new())
    }
}

impl Yaml for Hex32 {
    fn node(&self) -> Node<'_> {
        Node::hex(self.0.into())
    }

    fn from_node(node: &Node<'_>) -> Result<Self> {
        u32::from_node(node).map(Self)
    }
}

/// Declares an open enum that can be used in a record. YAML uses its names; numbers without a name stay numbers.
macro_rules! named {
    (
        $(#[$outer:meta])*
        pub struct $name:ident($raw:ty) { $($body:tt)* }
    ) => {
        unshade_core::open_enum! {
            $(#[$outer])*
            pub struct $name($raw) { $($body)* }
        }

        impl $crate::scalar::Scalar for $name {
            const SIZE: usize = size_of::<$raw>();

            fn get(reader: &mut unshade_core::Reader<'_>) -> unshade_core::Result<Self> {
                <$raw as $crate::scalar::Scalar>::get(reader).map(Self)
            }

            fn put(&self, out: &mut alloc::vec::Vec<u8>) {
                self.0.put(out);
            }

            fn show(&self) -> ($crate::scalar::Shown, alloc::string::String) {
                let meaning = self.name().unwrap_or_default();
                ($crate::scalar::Shown::Number(u64::from(self.0)), meaning.into())
            }
        }

        impl $crate::yaml::Yaml for $name {
            fn node(&self) -> $crate::yaml::Node<'_> {
                match self.name() {
                    Some(name) => $crate::yaml::Node::plain(name),
                    None => $crate::yaml::Node::number(u64::from(self.0)),
                }
            }

            fn from_node(node: &$crate::yaml::Node<'_>) -> unshade_core::Result<Self> {
                match Self::from_name(node.text().unwrap_or_default()) {
                    Some(value) => Ok(value),
                    None => <$raw as $crate::yaml::Yaml>::from_node(node).map(Self).map_err(|_| {
                        node.unknown_name(Self::NAMED.iter().map(|(_, name)| *name))
                    }),
                }
            }
        }
    };
}
pub(crate) use named;

/// Declares a struct with its YAML.
macro_rules! model {
    (
        $(#[$outer:meta])*
        $vis:vis struct $name:ident {
            $($(#[$inner:meta])* pub $field:ident: $type:ty => $key:literal,)*
        }
    ) => {
        $(#[$outer])*
        #[derive(Clone, Debug, PartialEq)]
        $vis struct $name {
            $($(#[$inner])* pub $field: $type,)*
        }

        impl $crate::yaml::Yaml for $name {
            fn node(&self) -> $crate::yaml::Node<'_> {
                let mut map = $crate::yaml::MapWriter::default();
                $(map.field($key, &self.$field);)*
                map.finish()
            }

            fn from_node(node: &$crate::yaml::Node<'_>) -> unshade_core::Result<Self> {
                let mut map = $crate::yaml::MapReader::new(node)?;
                let value = Self { $($field: map.field($key)?,)* };
                map.finish()?;
                Ok(value)
            }
        }
    };
}
pub(crate) use model;

/// Declares a struct whose fields are consecutive in the file.
macro_rules! record {
    (
        $(#[$outer:meta])*
        $vis:vis struct $name:ident {
            $($(#[$inner:meta])* pub $field:ident: $type:ty => $key:literal,)*
        }
    ) => {
        $crate::scalar::model! {
            $(#[$outer])*
            $vis struct $name {
                $($(#[$inner])* pub $field: $type => $key,)*
            }
        }

        impl $crate::scalar::Record for $name {
            const SIZE: usize = {
                // All sizes are compile-time constants, so an overflow would be a compile error.
                let sizes = [$(<$type as $crate::scalar::Scalar>::SIZE),*];
                $crate::scalar::sum(&sizes)
            };

            fn read(cursor: &mut $crate::cursor::Cursor<'_, '_>) -> unshade_core::Result<Self> {
                Ok(Self { $($field: cursor.scalar($key)?,)* })
            }

            fn write(&self, out: &mut alloc::vec::Vec<u8>) {
                $($crate::scalar::Scalar::put(&self.$field, out);)*
            }
        }
    };
}
pub(crate) use record;

/// Sums sizes at compile time.
pub(crate) const fn sum(sizes: &[usize]) -> usize {
    match sizes {
        [] => 0,
        [first, rest @ ..] => first.saturating_add(sum(rest)),
    }
}
