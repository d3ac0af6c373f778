//! Builds a container from the DXIL module in it: derives the parts that describe the program.
//!
//! | part | derived from |
//! |---|---|
//! | SFI0 | flags of the entry point |
//! | ISG1, OSG1, PSG1 | signatures of the entry point |
//! | PSV0 | signatures, resources, properties, `dx.viewIdState`, group shared memory |
//! | RDAT | of a library: resources, functions and what their bodies do |
//! | RTS0 | property of the entry point, or given |
//! | HASH | MD5 of the bitcode, from validator version 1.5 on |
//! | DXIL | the bitcode, with shader model and DXIL version |
//!
//! The version of the validator that a module targets (`dx.valver`) decides which form a part has. Parts that do not
//! follow from the program (VERS, STAT, ILDB, ILDN, PRIV) are given by the caller. From a program that has not been a
//! compiler's output yet, such as assembled text, STAT, ILDB and ILDN can be derived too.
//!
//! The order of the parts is DXC's. Source: DXC's `DxilContainerAssembler.cpp`; `cargo xtask conformance dxil-parts`
//! compares with the parts of real containers.

mod compatibility;
mod counters;
mod debug_info;
mod dependencies;
mod form;
mod function;
mod module_flags;
mod operation;
mod psv0;
mod rdat;
mod rdat_shader;
mod reflection;
mod replace;
mod signature;

use self::form::Form;
use super::{DxilModule, EntryPoint, flags};
use crate::bytes::Bytes;
use crate::digest::{Digest, md5};
use crate::file::{DxFile, OwnedPart};
use crate::part::PartData;
use crate::program::{Program, ProgramVersion, ShaderKind};
use crate::psv0::{Psv0, Stage};
use crate::rdat::Rdat;
use crate::signature::Signature;
use crate::simple_parts::{FeatureInfo, ShaderHash};
use crate::verify::features_of_module;
use alloc::boxed::Box;
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Result};
use unshade_llvm::data_layout::DataLayout;
use unshade_llvm::{Module, TypeId};

pub use self::replace::{Lost, Replaced, replace};

/// The address space of group shared memory.
const GROUP_SHARED: u32 = 3;

/// The names of the signature parts, in the order of [`EntryPoint::signatures`].
const SIGNATURES: [[u8; 4]; 3] = [*b"ISG1", *b"OSG1", *b"PSG1"];

/// What a container holds besides what follows from its program.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// RTS0 instead of the root signature in the module.
    pub root_signature: Option<Vec<u8>>,
    /// RDAT whose subobjects are used instead of those in the module: DXC removes them from the program in a container.
    pub subobjects: Option<Rdat>,
    /// Further parts, which are placed as DXC does: VERS, ILDB, STAT, ILDN, PRIV.
    pub parts: Vec<OwnedPart>,
    /// Whether STAT is derived, unless it is given.
    pub reflection: bool,
    /// Whether debug information moves from the program to ILDB, unless that is given, and gets a name in ILDN.
    pub split_debug: bool,
}

/// Parts that the caller may give, with the part that each precedes in DXC's order.
const PLACES: [([u8; 4], [u8; 4]); 4] =
    [(*b"VERS", *b"RDAT"), (*b"ILDB", *b"HASH"), (*b"STAT", *b"HASH"), (*b"ILDN", *b"HASH")];

/// Builds a container from DXIL bitcode. [`DxFile::write_signed`] writes it with its digest.
///
/// # Errors
/// Fails if the bitcode is no DXIL module, or if its metadata is not sound enough to derive a part.
///
/// ```
/// use unshade_dxcontainer::dxil::assemble::{Options, assemble};
/// use unshade_dxcontainer::{Container, program};
///
/// # let file = include_bytes!("../../../../../tests/fixtures/dxcontainer/pixel_1_6.dxbc");
/// # let container = Container::parse(file)?;
/// # let (_, bitcode) = program::bitcode(container.find(b"DXIL").unwrap().data)?;
/// let built = assemble(bitcode.data(), &Options::default())?.write_signed()?;
/// assert!(Container::parse(&built)?.find(b"PSV0").is_some());
/// # Ok::<(), unshade_core::Error>(())
/// ```
pub fn assemble(bitcode: &[u8], options: &Options) -> Result<DxFile> {
    let split = if options.split_debug { debug_info::split(bitcode)? } else { None };
    let program = split.as_deref().unwrap_or(bitcode);
    let module = Module::parse(program, 0)?;
    let assembler = Assembler::new(&module)?;
    let mut file = assembler.parts(options)?;
    let mut parts = options.parts.clone();
    let is_given = |parts: &[OwnedPart], name: &[u8; 4]| parts.iter().any(|part| part.name.0 == *name);
    let digest = md5(bitcode).0;
    if split.is_some() && !is_given(&parts, b"ILDB") {
        parts.push(OwnedPart::new(*b"ILDB", PartData::Program(assembler.program(bitcode))));
    }
    if options.reflection && !is_given(&parts, b"STAT") {
        let reflection = assembler.program(&assembler.reflection()?);
        parts.push(OwnedPart::new(*b"STAT", PartData::Program(reflection)));
    }
    if split.is_some() && !is_given(&parts, b"ILDN") && assembler.form.validator.at_least(1, 1) {
        parts.push(OwnedPart::new(*b"ILDN", PartData::DebugName(debug_info::name(digest))));
    }
    if assembler.form.validator.at_least(1, 5) {
        // The hash of a program with debug information includes the names and lines of its source.
        let flags = if split.is_some() { ShaderHash::INCLUDES_SOURCE } else { 0 };
        file.parts.push(OwnedPart::new(*b"HASH", PartData::Hash(ShaderHash { flags, digest })));
    }
    file.parts.push(OwnedPart::new(*b"DXIL", PartData::Program(assembler.program(program))));
    for part in &parts {
        let before = PLACES.iter().find(|(name, _)| *name == part.name.0).map(|(_, before)| *before);
        // DXC writes the hash only from validator version 1.5 on; before, the program follows.
        let at = |name: [u8; 4]| file.parts.iter().position(|part| part.name.0 == name);
        let at = before.and_then(|name| at(name).or_else(|| at(*b"DXIL"))).unwrap_or(file.parts.len());
        file.parts.insert(at, part.clone());
    }
    Ok(file)
}

/// Builds a container from DXIL bitcode, as [`assemble`] does, and signs it. For a shader model that is not released yet,
/// the digest is the marker of preview features, as DXC writes it.
///
/// # Errors
/// Fails as [`assemble`] does.
pub fn container(bitcode: &[u8], options: &Options) -> Result<Vec<u8>> {
    finish(assemble(bitcode, options)?)
}

/// Writes a container with its digest.
fn finish(mut file: DxFile) -> Result<Vec<u8>> {
    let program = file.parts.iter().find_map(|part| match &part.data {
        PartData::Program(program) if part.name.0 == *b"DXIL" => Some(program.version()),
        _ => None,
    });
    if program.is_some_and(|version| form::is_preview([version.major(), version.minor()])) {
        file.digest = Digest::PREVIEW_BYPASS;
        return file.write();
    }
    file.write_signed()
}

/// Returns the layout of a module's types. DXC aligns vectors like their elements.
fn data_layout(module: &Module<'_>) -> DataLayout {
    module.data_layout.clone().with_packed_vectors()
}

fn allocation_size(module: &Module<'_>, layout: &DataLayout, ty: TypeId) -> u32 {
    u32::try_from(layout.allocation_size(&module.types, ty)).unwrap_or(u32::MAX)
}

/// A module whose parts are derived.
#[derive(Debug)]
pub struct Assembler<'m, 'a> {
    module: &'m Module<'a>,
    dxil: DxilModule,
    kind: ShaderKind,
    entry: EntryPoint,
    form: Form,
}

impl<'m, 'a> Assembler<'m, 'a> {
    /// Reads the metadata of a module.
    ///
    /// # Errors
    /// Fails if it has no shader model, no entry point, or metadata that cannot be read.
    pub fn new(module: &'m Module<'a>) -> Result<Self> {
        let dxil = DxilModule::read(module, 0);
        if let Some(found) = dxil.diagnostics.iter().next() {
            return Err(found.error.clone());
        }
        let missing =
            |what: &'static str| Error::new(ErrorKind::BadValue, 0, "not a DXIL module").expected(what);
        let model = dxil.model.as_ref().ok_or_else(|| missing("dx.shaderModel"))?;
        let kind = model.kind().ok_or_else(|| missing("a known shader model"))?;
        let entry = dxil.entries.first().cloned().ok_or_else(|| missing("dx.entryPoints"))?;
        let form = Form::of(&dxil);
        Ok(Self { module, dxil, kind, entry, form })
    }

    /// Returns the metadata.
    pub fn dxil(&self) -> &DxilModule {
        &self.dxil
    }

    /// Derives the parts before the program, in DXC's order.
    ///
    /// # Errors
    /// Fails as [`Assembler::psv0`] and [`Assembler::rdat`] do.
    fn parts(&self, options: &Options) -> Result<DxFile> {
        let mut file = DxFile::default();
        file.parts.push(OwnedPart::new(*b"SFI0", PartData::Features(self.features())));
        if self.kind == ShaderKind::LIBRARY {
            let rdat = self.rdat(options.subobjects.as_ref())?;
            file.parts.push(OwnedPart::new(*b"RDAT", PartData::Rdat(rdat)));
        } else {
            for (name, signature) in self.signatures() {
                file.parts.push(OwnedPart::new(name, PartData::Signature(signature)));
            }
            file.parts.push(OwnedPart::new(*b"PSV0", PartData::Psv0(Box::new(self.psv0()?))));
            if let Some(bytes) = options.root_signature.as_ref().or(self.root_signature()) {
                file.parts.push(OwnedPart::new(*b"RTS0", PartData::Raw(Bytes(bytes.clone()))));
            }
        }
        Ok(file)
    }

    /// Derives SFI0.
    pub fn features(&self) -> FeatureInfo {
        FeatureInfo { flags: features_of_module(self.dxil.flags()) }
    }

    /// Derives ISG1, OSG1, and PSG1 if there are patch constants or primitive outputs.
    pub fn signatures(&self) -> Vec<([u8; 4], Signature)> {
        let entry = &self.entry;
        let domain = entry.stage_value("TessellatorDomain").unwrap_or_default();
        let inputs = [true, false, self.kind == ShaderKind::DOMAIN];
        let parts = SIGNATURES.into_iter().zip(&entry.signatures).zip(inputs);
        parts
            .filter(|((name, elements), _)| *name != *b"PSG1" || !elements.is_empty())
            .map(|((name, elements), input)| {
                let context = signature::Context {
                    input,
                    domain,
                    min_precision: self.dxil.has_min_precision(),
                    validator: self.form.validator,
                };
                (name, signature::part(elements, context))
            })
            .collect()
    }

    /// Derives PSV0.
    ///
    /// # Errors
    /// Fails if `dx.viewIdState` does not fit the signatures, or if the program uses linear algebra, whose description
    /// in PSV0 has no public definition.
    pub fn psv0(&self) -> Result<Psv0> {
        if self.dxil.has_flag(flags::LINEAR_ALGEBRA) {
            let error = Error::new(ErrorKind::Unsupported, 0, "program uses linear algebra");
            return Err(error.within("PSV0"));
        }
        psv0::part(&self.dxil, &self.entry, Stage::from(self.kind), self.form, self.group_shared_bytes())
    }

    /// Computes the flags of the module: those that its entry point should have, see `module_flags`.
    ///
    /// # Errors
    /// Fails if the body of a function cannot be read.
    pub fn computed_flags(&self) -> Result<u64> {
        let dxr_1_1 = rdat::needs_dxr_1_1(&self.dxil.subobjects);
        let needs = compatibility::of_module(self.module, &self.dxil, self.form.validator, dxr_1_1)?;
        Ok(module_flags::compute(&self.dxil, self.kind, self.form.validator, &needs))
    }

    /// Computes the words of `dx.viewIdState`: which scalars of the outputs depend on which inputs, and on the view ID if
    /// `flags` say that the program uses it. Stages without signatures have none.
    ///
    /// # Errors
    /// Fails if the body of a function cannot be read.
    pub fn computed_view_id_state(&self, flags: u64) -> Result<Option<Vec<u32>>> {
        let uses_view_id = flags >> flags::VIEW_ID & 1 == 1;
        dependencies::words(self.module, &self.dxil, &self.entry, self.kind, uses_view_id)
    }

    /// Counts the instructions of the module by purpose: the names and values of `dx.counters`, which DXC writes into
    /// STAT, where they are not zero.
    ///
    /// # Errors
    /// Fails if the body of a function cannot be read.
    pub fn counters(&self) -> Result<Vec<(&'static str, u32)>> {
        counters::count(self.module, &self.dxil)
    }

    /// Derives RDAT of a library. Subobjects are those of the given RDAT, or else those in the module.
    ///
    /// # Errors
    /// Fails if the body of a function cannot be read.
    pub fn rdat(&self, subobjects: Option<&Rdat>) -> Result<Rdat> {
        let given = subobjects.map(rdat::subobjects_of);
        let subobjects = given.as_deref().unwrap_or(&self.dxil.subobjects);
        rdat::part(self.module, &self.dxil, self.form, subobjects)
    }

    /// Returns the bytes of all group shared memory.
    fn group_shared_bytes(&self) -> u32 {
        let globals = self.module.globals.iter();
        let shared = globals.filter(|global| global.symbol.address_space == GROUP_SHARED);
        let layout = data_layout(self.module);
        let size = |ty| allocation_size(self.module, &layout, ty);
        shared.map(|global| size(global.symbol.ty)).fold(0, u32::saturating_add)
    }

    /// Returns the root signature in the module, which DXC moves to RTS0.
    fn root_signature(&self) -> Option<&Vec<u8>> {
        self.entry.properties.root_signature.as_ref()
    }

    /// Returns the program with its header.
    pub fn program(&self, bitcode: &[u8]) -> Program {
        let [major, minor] = self.dxil.model.as_ref().map_or([6, 0], |model| model.version);
        let version = u32::from(self.kind.0) << 16 | (major & 0xf) << 4 | minor & 0xf;
        let byte = |number: u32| u8::try_from(number).unwrap_or(u8::MAX);
        let [dxil_major, dxil_minor] = self.dxil.version.unwrap_or([1, 0]).map(byte);
        Program::new(ProgramVersion(version), (dxil_major, dxil_minor), bitcode.to_vec())
    }
}
