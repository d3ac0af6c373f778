//! Compares what the decompiler makes of two programs: Metal of AIR, HLSL of shaders.

use super::lines::{Change, LineDiff};
use super::{ContainerDiff, LibraryDiff, Pair, PartChange, module_bytes};
use crate::{air, hlsl, msl};
use unshade_core::{Error, ErrorKind, Result};
use unshade_llvm::Module;

impl<'a> LibraryDiff<'a> {
    /// Compares the Metal of a function in [`LibraryDiff::changed`] or [`LibraryDiff::renamed`], with `context` lines around
    /// each change.
    ///
    /// # Errors
    /// One of them has no module, or it can't be read.
    pub fn source_change(&self, pair: &Pair<'a>, context: usize) -> Result<LineDiff> {
        let text = |library, function| match module_bytes(library, function) {
            Some(bytes) => metal(bytes),
            None => Err(Error::without_offset(ErrorKind::BadValue, "the function has no module")),
        };
        let (before, after) = (text(&self.before, &pair.before)?, text(&self.after, &pair.after)?);
        Ok(LineDiff::of_texts(&before, &after, context))
    }
}

impl ContainerDiff {
    /// Compares decompiled text in place of assembly: of two shaders, or of two files of AIR.
    ///
    /// # Errors
    /// One of the two can't be decompiled.
    pub fn take_source(&mut self, before: &[u8], after: &[u8], context: usize) -> Result<()> {
        let is_shader = |data: &[u8]| data.starts_with(b"DXBC") || hlsl::direct3d9(data).is_ok();
        let (language, before, after) = if is_shader(before) {
            ("HLSL", hlsl::shader(before)?.text(), hlsl::shader(after)?.text())
        } else {
            ("Metal", metal(before)?, metal(after)?)
        };
        for part in &mut self.parts {
            part.code = LineDiff::default();
        }
        self.parts
            .retain(|part| part.change != Change::Same || !part.fields.is_empty() || part.fault.is_some());
        let mut change = PartChange::one_sided(language.to_owned(), Change::Same);
        change.code = LineDiff::of_texts(&before, &after, context);
        if change.code.is_empty() {
            self.same += 1;
        } else {
            self.parts.push(change);
        }
        Ok(())
    }
}

/// Decompiles the modules of bitcode.
fn metal(bytes: &[u8]) -> Result<String> {
    let mut text = String::new();
    for module in Module::parse_all(bytes, 0)? {
        let module = module?;
        if !air::is_air(&module) {
            return Err(Error::without_offset(
                ErrorKind::Unsupported,
                "the module is LLVM bitcode, but not AIR",
            ));
        }
        text.push_str(&msl::module(&module, &|_, _| true).text());
    }
    Ok(text)
}
