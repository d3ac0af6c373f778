//! What the tests of `unshade` share. Nothing here is of use outside of the project.
//!
//! | module | thing |
//! |---|---|
//! | [`encoder`] | bytes that are put together, with a note of where each number stands |
//! | [`flatbuffer`] | a writer of flatbuffers |
//! | [`metallib_builder`] | a writer of Metal libraries that shares no code with the reader |
//! | [`metallib_edits`] | every kind of edit of a Metal library, checked |
//! | [`plain_reader`] | a second reader of Metal libraries, which shares nothing with ours |
//! | [`reflections`] | reflection buffers of typical functions |
//! | [`fixtures`] | the synthetic files under `fixtures/` |
//! | [`closed_loop`] | kernels that are run several ways, and compared |
//! | [`corpus`] | real files, where there are any |
//! | [`dx_debug`] | debug parts of token programs |
//! | [`dxcontainers`] | containers of our own shaders, and everything done to any container |
//! | [`nvidia`] | fat binaries and cubins of our own sources, and everything done to any of them |
//! | [`loaders`] | files for the loaders of Apple and Microsoft, with what those should say |
//! | [`mutate`] | changes to files |
//! | [`exercise`] | everything that a reader offers, done to any bytes |
//! | [`fuzz_targets`] | what is fuzzed |
//! | [`random_kernels`] | kernels of random instructions in random graphs |
//! | [`parallel`] | work spread over the cores |
#![forbid(unsafe_code)]

pub mod closed_loop;
pub mod corpus;
pub mod dx_debug;
pub mod dx_edits;
pub mod dxcontainers;
pub mod encoder;
pub mod exercise;
pub mod fixtures;
pub mod flatbuffer;
pub mod fuzz_targets;
pub mod loaders;
pub mod metallib_builder;
pub mod metallib_edits;
pub mod mutate;
pub mod nvidia;
pub mod parallel;
pub mod plain_reader;
pub mod random_kernels;
pub mod reflections;
