//! Emits the content of tags, depending on where they are.

use super::fields::Fields;
use crate::data_type::DataType;
use crate::function_list::{FunctionType, ShortVersion, Tessellation};
use crate::header_extension::section_name;
use crate::metadata::AttributeUse;
use crate::tag::Tag;
use alloc::format;
use alloc::string::String;
use unshade_core::outline::UNKNOWN;
use unshade_core::{Diagnostics, Result, Value};

/// Emits the content of a tag in the function list, the header extension or another plain sequence.
pub(super) fn tag_meaning<'a>(fields: &mut Fields<'a, '_>, tag: &Tag<'a>) -> Result<()> {
    match &tag.code.0 {
        b"NAME" | b"DYNL" => fields.c_string("text").map(|_| ()),
        b"TYPE" => fields.u8("function type", |v| format!("{}", FunctionType(v))).map(|_| ()),
        b"HASH" => fields.bytes("SHA-256 of the module", 32, "").map(|_| ()),
        b"OFFT" => {
            for name in ["into public metadata", "into private metadata", "into bitcode"] {
                fields.hex64(name)?;
            }
            Ok(())
        }
        b"VERS" => {
            for name in ["AIR version", "language version"] {
                fields.field(
                    name,
                    |r| Ok(ShortVersion { major: r.u16()?, minor: r.u16()? }),
                    |v| (Value::None, format!("{v}").into()),
                )?;
            }
            Ok(())
        }
        b"MDSZ" => fields.hex64("size of the module").map(|_| ()),
        b"SOFF" => fields.hex64("into the sources").map(|_| ()),
        b"RFLT" => fields.hex64("into the reflection list").map(|_| ()),
        b"TESS" => fields.u8("tessellation", |v| format!("{}", Tessellation(v))).map(|_| ()),
        b"LAYR" => fields.u8("type of the layer index", |v| format!("{}", DataType(v))).map(|_| ()),
        b"UUID" => fields.bytes("UUID", 16, "").map(|_| ()),
        b"LINK" if fields.reader.rest().iter().all(|byte| *byte == 0) => {
            let size = fields.reader.remaining() as u64;
            fields.bytes("reserved", size, "zeros in every real file").map(|_| ())
        }
        b"SARC" => {
            fields.c_string("archive id")?;
            let rest = fields.reader.remaining() as u64;
            fields.bytes("bzip2 stream", rest, "a tar archive, zero-padded").map(|_| ())
        }
        code if section_name(unshade_core::FourCc(*code)).is_some() => {
            fields.hex64("offset")?;
            fields.hex64("size").map(|_| ())
        }
        _ => unknown_content(fields),
    }
}

/// Emits the content of a tag in public metadata.
pub(super) fn public_tag<'a>(fields: &mut Fields<'a, '_>, tag: &Tag<'a>) -> Result<()> {
    match &tag.code.0 {
        b"VATT" => {
            let count = fields.u16("count", |_| String::new())?;
            for _ in 0..count {
                fields.c_string("attribute")?;
                fields.u16("index and use", |v| {
                    let usage = AttributeUse((v >> 13 & 3) as u8);
                    let active = if v & 0x8000 != 0 { "active" } else { "not active" };
                    format!("attribute({}), {usage}, {active}", v & 0x1fff)
                })?;
            }
            Ok(())
        }
        b"VATY" => {
            let count = fields.u16("count", |_| String::new())?;
            for _ in 0..count {
                fields.u8("type", |v| format!("{}", DataType(v)))?;
            }
            Ok(())
        }
        b"CNST" => {
            let count = fields.u16("count", |_| String::new())?;
            for _ in 0..count {
                fields.c_string("function constant")?;
                fields.u8("type", |v| format!("{}", DataType(v)))?;
                fields.u16("index", |_| String::new())?;
                fields.u8("active", |v| if v == 0 { "no".into() } else { "yes".into() })?;
            }
            Ok(())
        }
        b"RETR" | b"ARGR" => {
            let rest = fields.reader.remaining() as u64;
            fields.bytes("Core Image signature", rest, "undocumented").map(|_| ())
        }
        _ => unknown_content(fields),
    }
}

/// Emits the content of a tag in private metadata.
pub(super) fn private_tag<'a>(fields: &mut Fields<'a, '_>, tag: &Tag<'a>) -> Result<()> {
    match &tag.code.0 {
        b"DEBI" => {
            fields.count("line")?;
            fields.c_string("source path").map(|_| ())
        }
        b"DEPF" => fields.c_string("path of a linked .air file").map(|_| ()),
        _ => unknown_content(fields),
    }
}

/// Emits the content of a tag in one of the lists.
pub(super) fn list_tag<'a>(fields: &mut Fields<'a, '_>, tag: &Tag<'a>) -> Result<()> {
    match &tag.code.0 {
        b"NAME" => fields.c_string("symbol").map(|_| ()),
        b"RBUF" => {
            let end = fields.reader.range().end;
            let reflection =
                crate::reflection::Reflection::parse_at(fields.reader.data(), fields.reader.base())?;
            // Faults are reported by `verify`; here they show as unknown bytes.
            reflection.outline(&mut fields.sink, &mut Diagnostics::new());
            let rest = end.saturating_sub(fields.reader.offset());
            fields.reader.skip(rest)
        }
        b"SBUF" => {
            let rest = fields.reader.remaining() as u64;
            fields.bytes("pipeline script", rest, "a flatbuffer").map(|_| ())
        }
        b"RBUZ" => {
            let rest = fields.reader.remaining() as u64;
            fields.bytes("compressed reflection", rest, "").map(|_| ())
        }
        _ => unknown_content(fields),
    }
}

pub(super) fn unknown_content(fields: &mut Fields<'_, '_>) -> Result<()> {
    let rest = fields.reader.remaining() as u64;
    if rest > 0 {
        fields.bytes(UNKNOWN, rest, "undocumented tag")?;
    }
    Ok(())
}
