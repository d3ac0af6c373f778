//! Shaders: the operations that graphics and compute shaders have besides arithmetic, and what a shader declares.
//!
//! | module | contents |
//! |---|---|
//! | [`operation`] | operations by meaning |
//! | [`interface`] | stage, signatures, resources, variables: what a front end reads from a container |
//! | [`node`] | nodes of work graphs |
//! | [`data_type`] | types as a shading language has them: vectors, matrices, arrays, structures |
//! | [`vector`] | vectors from scalars |

pub mod data_type;
pub mod interface;
pub mod node;
pub mod operation;
pub mod vector;

pub use operation::{AtomicOp, NumberKind, OperandKind, QuadDirection, ShaderOp, Signedness, WaveOp};
