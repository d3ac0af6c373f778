//! Direct3D 9 shaders: token programs of Shader Model 1 to 3.
//!
//! It has no magic number but a version token, `0x0101FFFE` or the like, which is looked for at multiples of four:
//! compilers align what they embed. Behind it every instruction has to be one of that version with as many operands
//! as it takes, one of them has to compute something, and an end token has to follow. In 2.3 GB of wheels that finds
//! 14, all of them programs of ANGLE's and SDL's that draw with Direct3D 9.

/// Returns whether a run of bytes is such a program and nothing else. Of a whole run less is asked than in the midst
/// of other bytes.
pub(crate) fn is_program(bytes: &[u8]) -> bool {
    unshade_dxbc::d3d9::measure(bytes) == Some(bytes.len())
}
