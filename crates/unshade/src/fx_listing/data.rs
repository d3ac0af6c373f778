//! Reads the data of an effect and its index.
//!
//! ```text
//! type       u32 name, u32 class (1 numeric, 2 object, 3 structure), u32 elements, u32 size, u32 stride, u32 packed
//! size
//!   numeric  u32: bits 0-2 kind (1 scalar, 2 vector, 3 matrix), 3-7 component type, 8-10 rows, 11-13 columns
//!   object   u32 kind
//! ```

use unshade_core::{Error, ErrorKind, Reader, Result};

/// Counts at the start of an effect.
pub(super) struct Header {
    version: u32,
    pub(super) buffers: u32,
    pub(super) objects: u32,
    pub(super) techniques: u32,
    pub(super) groups: u32,
}

const FX_4_0: u32 = 0xfeff_1001;
const FX_4_1: u32 = 0xfeff_1011;
const FX_5_0: u32 = 0xfeff_2001;

impl Header {
    pub(super) fn version_name(&self) -> &'static str {
        match self.version {
            FX_4_0 => "fx_4_0",
            FX_4_1 => "fx_4_1",
            _ => "fx_5_0",
        }
    }

    /// Returns whether techniques are in groups.
    pub(super) fn has_groups(&self) -> bool {
        self.version == FX_5_0
    }
}

/// Reads the header and finds the data and the index.
pub(super) fn open(mut effect: Reader<'_>) -> Result<(Header, Data<'_>, Index<'_>)> {
    let start = effect.offset();
    let unsupported =
        |what: &str| Error::new(ErrorKind::Unsupported, start, format!("an effect with {what}"));
    let version = effect.u32()?;
    if ![FX_4_0, FX_4_1, FX_5_0].contains(&version) {
        return Err(unsupported(&format!("version {version:#010x}")).expected("fx_4_0, fx_4_1 or fx_5_0"));
    }
    let mut words = [0; 18];
    for word in &mut words {
        *word = effect.u32()?;
    }
    let [buffers, _, objects, pool @ .., techniques, size, _, _, _, _, _, _, _, _, _, _] = words;
    let mut groups = [0; 5];
    if version == FX_5_0 {
        for word in &mut groups {
            *word = effect.u32()?;
        }
    }
    if pool.iter().any(|count| *count != 0) {
        return Err(unsupported("an effect pool, whose text is not known"));
    }
    let [groups, _, interfaces @ ..] = groups;
    if interfaces.iter().any(|count| *count != 0) {
        return Err(unsupported("interfaces, whose text is not known"));
    }
    let base = effect.offset();
    let rest = effect.rest();
    let cut = usize::try_from(size).ok().and_then(|size| rest.split_at_checked(size));
    let (data, index) = cut.ok_or_else(|| {
        Error::new(ErrorKind::Truncated, base, "the data of the effect ends after its part")
            .expected(format!("{size} bytes"))
            .found(format!("{}", rest.len()))
    })?;
    let header = Header { version, buffers, objects, techniques, groups };
    let index = Index { reader: Reader::at(index, base.saturating_add(u64::from(size))) };
    Ok((header, Data { bytes: data, base }, index))
}

/// Reads the index: words that describe the contents, in order.
pub(super) struct Index<'a> {
    reader: Reader<'a>,
}

impl Index<'_> {
    pub(super) fn next(&mut self) -> Result<u32> {
        self.reader.u32().map_err(|error| error.within("effect"))
    }

    pub(super) fn offset(&self) -> u64 {
        self.reader.offset()
    }
}

/// A type.
pub(super) struct Type<'a> {
    pub(super) name: &'a [u8],
    pub(super) class: u32,
    /// Number of elements, or `None` if it is not an array.
    pub(super) elements: u32,
    /// Size in a buffer, in bytes.
    pub(super) size: u32,
    /// Size of its values without padding, in bytes.
    pub(super) packed_size: u32,
    /// For numeric types the format, for objects the kind.
    pub(super) form: u32,
}

/// Classes of types.
const NUMERIC: u32 = 1;
const OBJECT: u32 = 2;
const STRING: u32 = 1;

/// A component type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Component {
    Float,
    Signed,
    Unsigned,
    Bool,
    /// For structures, and for types without a name.
    Word,
}

impl Type<'_> {
    pub(super) fn is_string(&self) -> bool {
        self.class == OBJECT && self.form == STRING
    }

    pub(super) fn component(&self) -> Component {
        match (self.class, self.form >> 3 & 31) {
            (NUMERIC, 1) => Component::Float,
            (NUMERIC, 2) => Component::Signed,
            (NUMERIC, 3) => Component::Unsigned,
            (NUMERIC, 4) => Component::Bool,
            _ => Component::Word,
        }
    }
}

/// The data that the index points to.
#[derive(Clone, Copy)]
pub(super) struct Data<'a> {
    bytes: &'a [u8],
    base: u64,
}

impl<'a> Data<'a> {
    fn at(&self, offset: u32) -> Result<Reader<'a>> {
        let rest = usize::try_from(offset).ok().and_then(|offset| self.bytes.get(offset..));
        let place = self.base.saturating_add(u64::from(offset));
        let rest = rest.ok_or_else(|| {
            Error::new(ErrorKind::OutOfRange, place, "an offset after the end of the effect's data")
                .expected(format!("at most {:#x}", self.bytes.len()))
                .found(format!("{offset:#x}"))
        })?;
        Ok(Reader::at(rest, place))
    }

    /// Returns a string that ends with a NUL.
    pub(super) fn string(&self, offset: u32) -> Result<&'a [u8]> {
        let bytes = self.at(offset)?.data();
        let end = memchr::memchr(0, bytes).ok_or_else(|| {
            Error::new(ErrorKind::BadValue, self.base.saturating_add(offset.into()), "a name without an end")
        })?;
        Ok(bytes.get(..end).unwrap_or_default())
    }

    pub(super) fn word(&self, offset: u32) -> Result<u32> {
        self.at(offset)?.u32()
    }

    /// Returns `count` words.
    pub(super) fn words(&self, offset: u32, count: u32) -> Result<Vec<u32>> {
        let mut reader = self.at(offset)?;
        // Check that the words exist before allocating memory for them.
        if u64::from(count).saturating_mul(4) > reader.data().len() as u64 {
            return Err(Error::new(
                ErrorKind::Truncated,
                reader.offset(),
                "a value ends after the effect's data",
            ));
        }
        (0..count).map(|_| reader.u32()).collect()
    }

    /// Returns the bytes of a shader, which follow its size.
    pub(super) fn shader(&self, offset: u32) -> Result<Reader<'a>> {
        let mut reader = self.at(offset)?;
        let size = reader.u32()?;
        let place = reader.offset();
        let bytes = usize::try_from(size).ok().and_then(|size| reader.rest().get(..size));
        let bytes = bytes.ok_or_else(|| {
            Error::new(ErrorKind::Truncated, place, "a shader ends after the effect's data")
        })?;
        Ok(Reader::at(bytes, place))
    }

    pub(super) fn data_type(&self, offset: u32) -> Result<Type<'a>> {
        let mut reader = self.at(offset)?;
        let (name, class, elements) = (reader.u32()?, reader.u32()?, reader.u32()?);
        let (size, _stride, packed_size) = (reader.u32()?, reader.u32()?, reader.u32()?);
        let form = reader.u32()?;
        Ok(Type { name: self.string(name)?, class, elements, size, packed_size, form })
    }
}
