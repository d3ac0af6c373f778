//! Checks Direct3D effects outside of a container: the contents of an FX10 part, or a file of the Direct3D 9 compilers.
//!
//! | offset | type | meaning |
//! |---|---|---|
//! | 0 | u32 | version: `0xFEFF0901` fx_2_0, `0xFEFF1001` fx_4_0, `0xFEFF1011` fx_4_1, `0xFEFF2001` fx_5_0 |
//! | 4 | u32 | fx_2_0: offset of the tables, from the end of this head of 8 bytes |
//! | 32 | u32 | from fx_4_0 on: size of the data after a head of 76 bytes, in fx_5_0 of 96 |
//!
//! An effect contains its shaders unchanged: token programs of Shader Model 1 to 3, later DXContainers. Carving finds
//! them as in any other bytes. The names of techniques and passes are read only of effects in containers.
//!
//! Source: Wine's `d3dx9_36/effect.c` and `d3d10/effect.c`.

use crate::fields::Fields;

/// Returns the name of the effect version that the bytes begin like: `fx_5_0`.
pub(crate) fn profile(data: &[u8]) -> Option<&'static str> {
    let fields = Fields::little(data);
    let (profile, head, size_at) = match fields.u32(0)? {
        0xfeff_0901 => ("fx_2_0", 8, 4),
        0xfeff_1001 => ("fx_4_0", 76, 32),
        0xfeff_1011 => ("fx_4_1", 76, 32),
        0xfeff_2001 => ("fx_5_0", 96, 32),
        _ => return None,
    };
    let size = u64::from(fields.u32(size_at)?);
    (size.checked_add(head)? <= data.len() as u64).then_some(profile)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effects_are_named() {
        let mut effect = 0xfeff_2001_u32.to_le_bytes().to_vec();
        effect.resize(96 + 12, 0);
        effect[32] = 12;
        assert_eq!(profile(&effect), Some("fx_5_0"));
        effect[32] = 13;
        assert_eq!(profile(&effect), None, "its data leave the file");
        assert_eq!(profile(&effect[..32]), None);
    }
}
