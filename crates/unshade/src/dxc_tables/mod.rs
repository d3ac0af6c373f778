//! Prints the comment tables that DXC's disassembler prints before a module.
//!
//! | table | source |
//! |---|---|
//! | features | SFI0 |
//! | signatures with registers | ISG1, OSG1, PSG1 |
//! | debug name, hash | ILDN, HASH |
//! | pipeline runtime information | PSV0 |
//! | signatures with interpolation | the module's entry point |
//! | buffer definitions, resource bindings, view ID | the module in STAT, which has the names, or the program itself |
//! | subobjects | RDAT |
//!
//! The format is that of DXC 1.10. DXC 1.6 printed `Patch Constant signature signature:`, and only the stage-specific
//! part of PSV0. Names are printed as they are, except for characters that are unsafe on a terminal.
//!
//! Source: listings of 711 containers by DXC 1.6, 1.9 and 1.10; `dxcdisassembler.cpp` for cases that none of them has.

mod buffers;
mod pipeline;
mod resources;
mod signatures;
mod subobjects;
mod text;
mod view_id;

use crate::dxil::DxilModule;
use text::Table;
use unshade_core::{Diagnostics, TokenKind, TokenSink};
use unshade_dxcontainer::program::{ProgramVersion, bitcode};
use unshade_dxcontainer::simple_parts::{
    FeatureInfo, OPTIONAL_FEATURES, OPTIONAL_FEATURES_SHIFT, ShaderHash,
};
use unshade_dxcontainer::{Container, PartData};
use unshade_llvm::Module;

/// Prints the tables of a container as comments. `module` is its program, with its bitcode at `offset` in the file.
///
/// Returns reports on parts that can't be read; their tables are left out.
pub fn put(
    container: &Container<'_>,
    module: &Module<'_>,
    offset: u64,
    sink: &mut dyn TokenSink,
) -> Diagnostics {
    let mut tables =
        Tables { container, table: Table::new(container.bytes().len()), diagnostics: Diagnostics::new() };
    tables.put_parts();
    let dxil = DxilModule::read(module, offset);
    if dxil.version.is_some() {
        signatures::put_module(&dxil, &mut tables.table);
        tables.put_reflection(module, &dxil);
        if let Some(PartData::Rdat(rdat)) = tables.part(b"RDAT") {
            subobjects::put(&rdat, &mut tables.table);
        }
    }
    tables.diagnostics.append(dxil.diagnostics);
    for line in tables.table.finish().split_inclusive('\n') {
        sink.put(TokenKind::Comment, line);
    }
    tables.diagnostics
}

/// The tables of a container.
struct Tables<'t, 'a> {
    container: &'t Container<'a>,
    table: Table,
    diagnostics: Diagnostics,
}

impl Tables<'_, '_> {
    /// Returns the first part of a name, and records faults in it.
    fn part(&mut self, name: &[u8; 4]) -> Option<PartData> {
        let part = self.container.find(name)?;
        let read = PartData::read(part.name, part.data).map_err(|error| error.within(part.label()));
        self.diagnostics.take("dx-part-form", read)
    }

    /// Prints the tables that come from parts.
    fn put_parts(&mut self) {
        if let Some(PartData::Features(features)) = self.part(b"SFI0") {
            put_features(features, &mut self.table);
        }
        for (part, title, is_input) in signatures::PARTS {
            if let Some(PartData::Signature(signature)) = self.part(part) {
                signatures::put_part(title, &signature, *is_input, &mut self.table);
            }
        }
        if let Some(PartData::DebugName(name)) = self.part(b"ILDN")
            && !name.name.0.is_empty()
        {
            self.table.line(&format!(" shader debug name: {}", text::plain(&name.name.0)));
        }
        if let Some(PartData::Hash(hash)) = self.part(b"HASH") {
            put_hash(&hash, &mut self.table);
        }
        if let Some(PartData::Psv0(psv0)) = self.part(b"PSV0") {
            pipeline::put(&psv0, self.program_version(), &mut self.table);
        }
    }

    /// Returns the kind and model of the program that DXC disassembles.
    fn program_version(&self) -> Option<ProgramVersion> {
        let part = crate::dxil::main_part(self.container)?;
        bitcode(part.data).ok().map(|(header, _)| ProgramVersion(header.version))
    }

    /// Prints the tables that come from the module in STAT, or else from the program.
    fn put_reflection(&mut self, module: &Module<'_>, dxil: &DxilModule) {
        let found = self.container.find(b"STAT").and_then(|part| bitcode(part.data).ok());
        let Some((_, bitcode)) = found else { return self.put_module(module, dxil) };
        let module = Module::parse(bitcode.data(), bitcode.base());
        let Some(module) = self.diagnostics.take("llvm-module", module) else { return };
        let dxil = DxilModule::read(&module, bitcode.base());
        self.put_module(&module, &dxil);
        self.diagnostics.append(dxil.diagnostics);
    }

    fn put_module(&mut self, module: &Module<'_>, dxil: &DxilModule) {
        buffers::put(module, dxil, &mut self.table);
        resources::put(dxil, &mut self.table);
        if let (Some(state), Some(model)) = (&dxil.view_id, &dxil.model) {
            view_id::put(state, model.kind(), &mut self.table);
        }
    }
}

fn put_features(features: FeatureInfo, table: &mut Table) {
    if features.flags == 0 {
        return;
    }
    table.line("");
    table.line(" Note: shader requires additional functionality:");
    let (required, optional): (Vec<_>, Vec<_>) =
        features.features().partition(|(bit, _)| *bit < OPTIONAL_FEATURES_SHIFT);
    for (_, feature) in required {
        if let Some(feature) = feature {
            table.line(&format!("       {}", feature.dxc_text));
        }
    }
    table.line("");
    if optional.is_empty() {
        return;
    }
    table.line(" Note: shader has optional feature flags set:");
    for (bit, _) in optional {
        let index = (bit - OPTIONAL_FEATURES_SHIFT) as usize;
        if let Some(text) = OPTIONAL_FEATURES.get(index) {
            table.line(&format!("       {text}"));
        }
    }
    table.line("");
}

fn put_hash(hash: &ShaderHash, table: &mut Table) {
    let digest: String = hash.digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let source = if hash.flags & ShaderHash::INCLUDES_SOURCE != 0 { " (includes source)" } else { "" };
    table.line(&format!(" shader hash: {digest}{source}"));
}
