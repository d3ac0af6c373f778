//! Checks Direct3D 9 shaders: token programs of Shader Model 1 to 3.
//!
//! They have no magic number but a version token, such as `0x0101FFFE`. It is searched for at multiples of four,
//! because compilers align what they embed. Each instruction after it must exist in that version and have the right
//! number of operands, at least one must compute something, and an end token must follow. In 2.3 GB of wheels this
//! finds 14 programs, all shaders of ANGLE and SDL for Direct3D 9.

/// Returns whether a run of bytes is such a program and nothing else. The rules are weaker than in the middle of other
/// bytes.
pub(crate) fn is_program(bytes: &[u8]) -> bool {
    unshade_dxbc::d3d9::measure(bytes) == Some(bytes.len())
}
