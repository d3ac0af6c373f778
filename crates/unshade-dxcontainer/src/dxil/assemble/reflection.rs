//! Derives the program of STAT: the module without the bodies of functions, for reflection.
//!
//! | named metadata | change |
//! |---|---|
//! | `dx.valver` | 0.0: not meant to be validated |
//! | `dx.counters` | added: the instructions by purpose |
//!
//! In STAT of a compiled shader are also the names and types of resources, which DXC removes from the program itself
//! (`-Qkeep_reflect_in_dxil` keeps them there). They can't be derived.
//!
//! Source: `CloneModuleForReflection` and `StripAndCreateReflectionStream` of DXC's `DxilContainerAssembler.cpp`.

use super::Assembler;
use alloc::vec::Vec;
use unshade_core::Result;
use unshade_llvm::Module;
use unshade_llvm::metadata::NamedMetadata;
use unshade_llvm::skeleton::Item;
use unshade_llvm::write::{self, Version, WriteInput, WriteOptions};

/// The named metadata with the counters.
const COUNTERS: &[u8] = b"dx.counters";

/// The named metadata that DXC writes anew, in its order.
const ORDER: [&[u8]; 11] = [
    b"dx.version",
    b"dx.valver",
    b"dx.shaderModel",
    b"dx.intermediateOptions",
    b"dx.resources",
    b"dx.typeAnnotations",
    b"dx.viewIdState",
    b"dx.dxrPayloadAnnotations",
    b"dx.subobjects",
    b"dx.entryPoints",
    COUNTERS,
];

impl Assembler<'_, '_> {
    /// Derives the bitcode of STAT.
    ///
    /// # Errors
    /// Fails if the body of a function cannot be read, or if the module has something that DXIL's form of bitcode can't
    /// hold.
    pub fn reflection(&self) -> Result<Vec<u8>> {
        let mut module = self.module.clone();
        module.remove_bodies();
        module.set_named_tuple(b"dx.valver", &[Item::Word(0), Item::Word(0)]);
        module.named_metadata.retain(|named| named.name != COUNTERS);
        self.set_counters(&mut module)?;
        // Metadata that is not written anew keeps its place.
        module.named_metadata.sort_by_key(|named: &NamedMetadata| {
            // What is not in the list comes first.
            let name = named.name.as_slice();
            ORDER.iter().position(|known| *known == name).map_or(0, |at| at.saturating_add(1))
        });
        let options = WriteOptions { version: Version::Dxc, ..WriteOptions::default() };
        write::module(&WriteInput::new(&module, &[]), &options)
    }

    /// Sets the counters of a module to those of the program.
    pub(super) fn set_counters(&self, module: &mut Module<'_>) -> Result<()> {
        let counters = self.counters()?;
        let items =
            counters.iter().flat_map(|&(name, count)| [Item::Text(name.as_bytes()), Item::Word(count)]);
        let items: Vec<Item<'_>> = items.collect();
        match items.is_empty() {
            true => module.named_metadata.retain(|named| named.name != COUNTERS),
            false => module.set_named_tuple(COUNTERS, &items),
        }
        Ok(())
    }
}
