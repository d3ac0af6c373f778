//! The check of a DXContainer with what only its module can tell: whether SFI0 names the features that it needs.

use unshade_core::{Diagnostics, Error, ErrorKind};
use unshade_dxcontainer::program::{ProgramVersion, ShaderKind, bitcode};
use unshade_dxcontainer::small::{FEATURES, FeatureInfo};
use unshade_dxcontainer::verify::features_of_module;
use unshade_dxcontainer::{Container, PartData, verify};
use unshade_llvm::metadata::Metadata;
use unshade_llvm::module::Module;

/// The property of an entry point that holds the module's flags.
const FLAGS_TAG: u64 = 0;

/// Checks a container and its module.
pub fn check(container: &Container<'_>) -> Diagnostics {
    let mut diagnostics = verify::container(container);
    features(container, &mut diagnostics);
    diagnostics.sort_by_offset();
    diagnostics
}

fn features(container: &Container<'_>, diagnostics: &mut Diagnostics) {
    let (Some(dxil), Some(sfi0)) = (container.find(b"DXIL"), container.find(b"SFI0")) else { return };
    let Ok((header, bitcode)) = bitcode(dxil.data) else { return };
    let Ok(PartData::Features(found)) = PartData::read(sfi0.name, sfi0.data) else { return };
    if ProgramVersion(header.version).kind() == ShaderKind::LIBRARY {
        return;
    }
    // A module that can't be read is for `dis` to tell of.
    let Ok(module) = Module::parse(bitcode.data(), bitcode.base()) else { return };
    let needed = FeatureInfo { flags: features_of_module(module_flags(&module)) };
    if needed != found {
        diagnostics.error(
            "dx-features",
            Error::new(ErrorKind::BadValue, sfi0.data.base(), "features are not those that the module needs")
                .expected(words(&needed))
                .found(words(&found))
                .within(sfi0.label()),
        );
    }
}

/// The flags of the first entry point; 0 if none are written down.
fn module_flags(module: &Module<'_>) -> u64 {
    let Some(entry) = module.named(b"dx.entryPoints").first() else { return 0 };
    let Some(properties) = module.node_operands(*entry).nth(4).flatten() else { return 0 };
    let operands: Vec<_> = module.node_operands(properties).collect();
    let integer = |id| match module.metadata(None, id)?.0 {
        Metadata::Value { value, .. } => module.integer(None, value),
        _ => None,
    };
    for pair in operands.chunks_exact(2) {
        if let [Some(tag), Some(value)] = pair
            && integer(*tag) == Some(FLAGS_TAG)
        {
            return integer(*value).unwrap_or_default();
        }
    }
    0
}

fn words(features: &FeatureInfo) -> String {
    let known: Vec<&str> = features
        .features()
        .filter_map(|(bit, _)| FEATURES.get(bit as usize))
        .map(|feature| feature.name)
        .collect();
    if known.is_empty() {
        format!("{:#x}", features.flags)
    } else {
        format!("{:#x} ({})", features.flags, known.join(", "))
    }
}
