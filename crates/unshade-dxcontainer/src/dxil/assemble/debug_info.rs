//! Moves debug information out of a program: DXC keeps the whole program in ILDB, and one without it in DXIL.
//!
//! What goes besides LLVM's debug information: the named metadata `dx.source.*`, and the flags of the module that
//! state versions of debug information.
//!
//! Source: `DxilModule::StripDebugRelatedCode` and `DxilContainerAssembler.cpp` of DXC.

use crate::bytes::Text;
use crate::simple_parts::DebugName;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;
use unshade_core::Result;
use unshade_llvm::MetadataId;
use unshade_llvm::metadata::{Metadata, NamedMetadata};
use unshade_llvm::module::Module;
use unshade_llvm::tree::Tree;
use unshade_llvm::write::{self, Version, WriteInput, WriteOptions};

/// The flags of a module that go.
const FLAGS: [&[u8]; 2] = [b"Dwarf Version", b"Debug Info Version"];

/// Returns the program without its debug information; `None` if it has none.
///
/// # Errors
/// Fails if the bitcode is damaged, or has something that DXIL's form of bitcode can't hold.
pub(super) fn split(bitcode: &[u8]) -> Result<Option<Vec<u8>>> {
    let has_debug_info = |module: &Module<'_>| {
        let mut named = module.named_metadata.iter();
        named.any(|named| named.name.starts_with(b"llvm.dbg."))
            || flags(module, |name| FLAGS.contains(&name)) > 0
    };
    if !has_debug_info(&Module::parse(bitcode, 0)?) {
        return Ok(None);
    }
    let mut tree = Tree::read(bitcode, 0)?;
    tree.strip_debug_info()?;
    let stripped = tree.write()?;
    let mut module = Module::parse(&stripped, 0)?;
    let bodies = module.bodies()?;
    remove_sources(&mut module);
    let options = WriteOptions { version: Version::Dxc, ..WriteOptions::default() };
    write::module(&WriteInput::new(&module, &bodies), &options).map(Some)
}

/// Removes the sources of a program and the flags of its debug information.
fn remove_sources(module: &mut Module<'_>) {
    let mut named = core::mem::take(&mut module.named_metadata);
    named.retain(|named| !named.name.starts_with(b"dx.source."));
    for flags in named.iter_mut().filter(|named| named.name == b"llvm.module.flags") {
        flags.nodes.retain(|&node| !flag_name(module, node).is_some_and(|name| FLAGS.contains(&name)));
    }
    named.retain(|named: &NamedMetadata| named.name != b"llvm.module.flags" || !named.nodes.is_empty());
    module.named_metadata = named;
}

/// Returns how many flags of a module have a name that `is_meant`.
fn flags(module: &Module<'_>, is_meant: impl Fn(&[u8]) -> bool) -> usize {
    let nodes = module.named(b"llvm.module.flags").iter();
    nodes.filter_map(|&node| flag_name(module, node)).filter(|name| is_meant(name)).count()
}

/// Returns the name of a flag: the second operand of `!{behavior, name, value}`.
fn flag_name<'m>(module: &'m Module<'_>, node: MetadataId) -> Option<&'m [u8]> {
    let name = module.node_operands(node).nth(1).flatten()?;
    match module.metadata(None, name)? {
        (Metadata::String(name), table) => Some(table.string(name)),
        _ => None,
    }
}

/// Returns the name of the file with debug information: the digest of the program.
pub(super) fn name(digest: [u8; 16]) -> DebugName {
    let hex = digest.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    DebugName::new(Text(format!("{hex}.pdb").into_bytes()))
}
