//! The parts by their names: the parser and the writer of each.

use crate::bytes::Bytes;
use crate::container::MAGIC;
use crate::cursor::{Cursor, Span, Trace, read_part};
use crate::file::DxFile;
use crate::library::{FunctionSignature, LibraryHeader};
use crate::pdb_info::PdbInfo;
use crate::program::Program;
use crate::psv0::Psv0;
use crate::rdat::Rdat;
use crate::rdef::ResourceDefinitions;
use crate::root_signature::RootSignature;
use crate::scalar::Record;
use crate::signature::{Form, Signature};
use crate::simple_parts::{CompilerVersion, DebugName, FeatureInfo, ShaderHash};
use crate::source_info::SourceInfo;
use crate::stat::Statistics;
use alloc::boxed::Box;
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, FourCc, Reader, Result};

/// Maximum nesting depth of containers; FXC's libraries need one level.
pub const MAX_DEPTH: usize = 4;

/// The contents of a part.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PartData {
    /// DXIL, ILDB, and DXC's STAT.
    Program(Program),
    /// HASH.
    Hash(ShaderHash),
    /// ILDN.
    DebugName(DebugName),
    /// VERS.
    Version(CompilerVersion),
    /// SFI0.
    Features(FeatureInfo),
    /// ISGN, OSGN, PCSG, OSG5, ISG1, OSG1, PSG1.
    Signature(Signature),
    /// PSV0.
    Psv0(Box<Psv0>),
    /// RTS0.
    RootSignature(RootSignature),
    /// RDAT.
    Rdat(Rdat),
    /// FXC's STAT.
    Statistics(Statistics),
    /// RDEF.
    Resources(Box<ResourceDefinitions>),
    /// SRCI.
    Sources(SourceInfo),
    /// PDBI.
    PdbInfo(PdbInfo),
    /// LIBH.
    LibraryHeader(LibraryHeader),
    /// LFS0.
    FunctionSignature(FunctionSignature),
    /// LIBF, and DXBC if it is one: a container of its own.
    Container(Box<DxFile>),
    /// Code for other crates, private data, undocumented parts, and parts that could not be parsed.
    Raw(Bytes),
}

/// Descriptions of the known parts.
pub const KNOWN: &[([u8; 4], &str)] = &[
    (*b"DXIL", "program (LLVM bitcode)"),
    (*b"ILDB", "program with debug information"),
    (*b"ILDN", "name of the debug information file"),
    (*b"HASH", "hash of the program"),
    (*b"VERS", "compiler"),
    (*b"SFI0", "features"),
    (*b"ISGN", "input signature"),
    (*b"OSGN", "output signature"),
    (*b"PCSG", "patch constant signature"),
    (*b"OSG5", "output signature with streams"),
    (*b"ISG1", "input signature"),
    (*b"OSG1", "output signature"),
    (*b"PSG1", "patch constant or primitive signature"),
    (*b"PSV0", "pipeline state validation"),
    (*b"RTS0", "root signature"),
    (*b"RDAT", "runtime data"),
    (*b"STAT", "statistics or reflection"),
    (*b"RDEF", "resource definitions"),
    (*b"SRCI", "sources"),
    (*b"PDBI", "program database information"),
    (*b"PRIV", "private data"),
    (*b"SHDR", "token program, shader model 4"),
    (*b"SHEX", "token program, shader model 5"),
    (*b"IFCE", "interfaces"),
    (*b"LIBF", "library function"),
    (*b"LIBH", "library functions"),
    (*b"LFS0", "parameters of a function"),
    (*b"FX10", "effect"),
    (*b"Aon9", "program for feature level 9"),
    (*b"XNAP", "program for XNA"),
    (*b"XNAS", "program for feature level 9.0"),
    (*b"XHSH", "hash"),
    (*b"SDBG", "debug information"),
    (*b"SPDB", "debug information (program database)"),
    (*b"TEXT", "text"),
    (*b"DXBC", "token program, or a container"),
];

/// Returns the description of a part, if its name is known.
pub fn describe(name: FourCc) -> Option<&'static str> {
    KNOWN.iter().find(|(known, _)| *known == name.0).map(|(_, text)| *text)
}

/// Returns whether a part is a container of its own: always LIBF, and DXBC if it begins with the magic of one.
///
/// LLVM's page lists DXBC as a part with a token program, DXC's validator accepts it as a nested container. No real
/// file has either, so the content decides.
pub fn is_container(name: FourCc, data: &[u8]) -> bool {
    match &name.0 {
        b"LIBF" => true,
        b"DXBC" => data.starts_with(&MAGIC.0),
        _ => false,
    }
}

/// Returns whether a part holds a token program (shader models 4 and 5): SHDR, SHEX, and DXBC unless it is a container.
pub fn is_token_program(name: FourCc, data: &[u8]) -> bool {
    matches!(&name.0, b"SHDR" | b"SHEX" | b"DXBC") && !is_container(name, data)
}

/// Returns whether this crate keeps a part of this name as bytes: code, private data, and unknown parts.
pub fn is_opaque(name: FourCc) -> bool {
    matches!(
        &name.0,
        b"PRIV"
            | b"SHDR"
            | b"SHEX"
            | b"DXBC"
            | b"IFCE"
            | b"FX10"
            | b"Aon9"
            | b"XNAP"
            | b"XNAS"
            | b"XHSH"
            | b"SDBG"
            | b"SPDB"
            | b"TEXT"
    ) || describe(name).is_none()
}

impl PartData {
    /// Parses a part by its name. Parts without a parser are raw.
    ///
    /// # Errors
    /// Fails if the contents do not fit the name.
    pub fn read(name: FourCc, data: Reader<'_>) -> Result<Self> {
        read_part(data, |cursor| read(name, data, cursor, MAX_DEPTH))
    }

    /// Parses a part; `depth` is the number of container levels that may still be nested.
    pub(crate) fn read_at_depth(name: FourCc, data: Reader<'_>, depth: usize) -> Result<Self> {
        read_part(data, |cursor| read(name, data, cursor, depth))
    }

    /// Writes the part.
    ///
    /// # Errors
    /// Fails if its pieces overlap or are too far apart.
    pub fn write(&self) -> Result<Vec<u8>> {
        Ok(match self {
            Self::Program(program) => program.write(),
            Self::Hash(hash) => write_record(hash),
            Self::DebugName(name) => name.write(),
            Self::Version(version) => version.write(),
            Self::Features(features) => write_record(features),
            Self::Signature(signature) => signature.write()?,
            Self::Psv0(psv0) => psv0.write(),
            Self::RootSignature(root_signature) => root_signature.write()?,
            Self::Rdat(rdat) => rdat.write()?,
            Self::Statistics(statistics) => statistics.write(),
            Self::Resources(resources) => resources.write()?,
            Self::Sources(sources) => sources.write(),
            Self::PdbInfo(info) => info.write(),
            Self::LibraryHeader(header) => header.write()?,
            Self::FunctionSignature(signature) => signature.write()?,
            Self::Container(container) => container.write()?,
            Self::Raw(bytes) => bytes.0.clone(),
        })
    }

    /// Returns the number of bytes of the part that are kept raw: bitcode, compressed sources, private data, code,
    /// and bytes that nothing in the part refers to.
    pub fn raw_bytes(&self) -> usize {
        match self {
            Self::Raw(bytes) => bytes.0.len(),
            Self::Program(program) => program.bitcode.0.len(),
            Self::Sources(sources) => sources
                .sections
                .iter()
                .map(|section| match &section.content {
                    crate::source_info::SectionContent::Contents(contents) => contents.stored.0.len(),
                    _ => 0,
                })
                .fold(0, usize::saturating_add),
            Self::PdbInfo(info) => info.stored.0.len(),
            Self::Signature(signature) => signature.slack.extra_bytes(),
            Self::RootSignature(root_signature) => root_signature.slack.extra_bytes(),
            Self::Rdat(rdat) => rdat.unread_bytes(),
            Self::Resources(resources) => resources.slack.extra_bytes(),
            Self::LibraryHeader(header) => header.slack.extra_bytes(),
            Self::FunctionSignature(signature) => signature.slack.extra_bytes(),
            Self::Container(container) => {
                container.parts.iter().map(|part| part.data.raw_bytes()).fold(0, usize::saturating_add)
            }
            _ => 0,
        }
    }
}

fn write_record<T: Record>(record: &T) -> Vec<u8> {
    let mut out = Vec::new();
    record.write(&mut out);
    out
}

/// Returns whether a STAT part is DXC's: a program.
fn is_program(data: &[u8]) -> bool {
    data.get(8..12) == Some(&crate::program::BITCODE_MAGIC.0)
}

fn read(name: FourCc, data: Reader<'_>, cursor: &mut Cursor<'_, '_>, depth: usize) -> Result<PartData> {
    if let Some(form) = Form::of(name) {
        return Signature::read(cursor, form).map(PartData::Signature);
    }
    if is_container(name, data.data()) {
        let Some(depth) = depth.checked_sub(1) else {
            return Err(Error::new(ErrorKind::Limit, data.base(), "containers are nested too deeply"));
        };
        return Ok(PartData::Container(Box::new(DxFile::read_at_depth(data, depth)?)));
    }
    Ok(match &name.0 {
        b"DXIL" | b"ILDB" => PartData::Program(Program::read(cursor)?),
        b"STAT" if is_program(data.data()) => PartData::Program(Program::read(cursor)?),
        b"STAT" => PartData::Statistics(Statistics::read(cursor)?),
        b"HASH" => PartData::Hash(exactly(cursor)?),
        b"SFI0" => PartData::Features(exactly(cursor)?),
        b"ILDN" => PartData::DebugName(DebugName::read(cursor)?),
        b"VERS" => PartData::Version(CompilerVersion::read(cursor)?),
        b"PSV0" => PartData::Psv0(Box::new(Psv0::read(cursor)?)),
        b"RTS0" => PartData::RootSignature(RootSignature::read(cursor)?),
        b"RDAT" => PartData::Rdat(Rdat::read(cursor)?),
        b"RDEF" => PartData::Resources(Box::new(ResourceDefinitions::read(cursor)?)),
        b"SRCI" => PartData::Sources(SourceInfo::read(cursor)?),
        b"PDBI" => PartData::PdbInfo(PdbInfo::read(cursor)?),
        b"LIBH" => PartData::LibraryHeader(LibraryHeader::read(cursor)?),
        b"LFS0" => PartData::FunctionSignature(FunctionSignature::read(cursor)?),
        _ => PartData::Raw(Bytes::from(cursor.rest(if is_opaque(name) && describe(name).is_some() {
            "bytes"
        } else {
            "unknown"
        })?)),
    })
}

/// Parses a part that is a single record.
fn exactly<T: Record>(cursor: &mut Cursor<'_, '_>) -> Result<T> {
    let file_offset = cursor.offset();
    let size = cursor.part_size();
    if size != T::SIZE {
        return Err(Error::new(ErrorKind::BadValue, file_offset, "part has the wrong size")
            .expected(alloc::format!("{} bytes", T::SIZE))
            .found(alloc::format!("{size}")));
    }
    T::read(cursor)
}

/// Returns the named spans of a part, and the error if its parser failed.
pub(crate) fn spans(name: FourCc, data: Reader<'_>) -> (Vec<Span>, Option<Error>) {
    let mut trace = Trace::with_spans(data.data().len());
    let result = read(name, data, &mut Cursor::new(data, &mut trace), MAX_DEPTH);
    (trace.into_spans(), result.err())
}
