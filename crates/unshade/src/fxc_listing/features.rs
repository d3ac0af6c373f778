//! Writes required device features, from SFI0 and the flags of the program.

use std::fmt::Write;
use unshade_dxbc::opcode::{Controls, Opcode};
use unshade_dxcontainer::container::Container;

/// Bit of SFI0, bit of the program's flags, description.
const FEATURES: [(Option<u32>, Option<u32>, &str); 14] = [
    (Some(0), Some(12), "Double-precision floating point"),
    (None, Some(13), "Early depth-stencil"),
    (Some(2), None, "UAVs at every shader stage"),
    (Some(3), None, "64 UAV slots"),
    (Some(4), Some(16), "Minimum-precision data types"),
    (Some(5), Some(17), "Double-precision extensions for 11.1"),
    (Some(6), Some(18), "Shader extensions for 11.1"),
    (Some(7), None, "Comparison filtering for feature level 9"),
    (Some(8), None, "Tiled resources"),
    (Some(9), None, "PS Output Stencil Ref"),
    (Some(10), None, "PS Inner Coverage"),
    (Some(11), None, "Typed UAV Load Additional Formats"),
    (Some(12), None, "Raster Ordered UAVs"),
    (Some(13), None, "SV_RenderTargetArrayIndex or SV_ViewportArrayIndex from any shader feeding rasterizer"),
];

pub(super) fn write(
    text: &mut String,
    container: &Container<'_>,
    features: u64,
    opcode_tokens: impl Iterator<Item = u32>,
) {
    let digest = container.header().digest;
    // Computing the digest takes as long as most of the listing, so it is only done if needed.
    if digest.marker().is_none() && digest != container.computed_digest() {
        text.push_str("//\n// Note: SHADER WILL ONLY WORK WITH THE DEBUG SDK LAYER ENABLED.\n//\n");
    }
    let flags = opcode_tokens
        .filter(|token| Opcode::of(*token).row().is_some_and(|row| row.controls == Controls::GlobalFlags))
        .fold(0, |flags, token| flags | token);
    let mut head = "//\n// Note: shader requires additional functionality:\n";
    for (feature, flag, words) in FEATURES {
        let needed = feature.is_some_and(|bit| features >> bit & 1 == 1);
        if needed || flag.is_some_and(|bit| flags >> bit & 1 == 1) {
            let _ = writeln!(text, "{head}//       {words}");
            head = "";
        }
    }
    if head.is_empty() {
        text.push_str("//\n");
    }
}
