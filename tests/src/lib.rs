//! Code shared by the tests of `unshade`. Not useful outside the project.
//!
//! | module | contents |
//! |---|---|
//! | [`encoder`] | an encoder of bytes that records the positions of numbers |
//! | [`flatbuffer`] | a writer of flatbuffers |
//! | [`metallib_builder`] | a writer of Metal libraries that shares no code with the parser |
//! | [`metallib_edits`] | checks of all edits of a Metal library |
//! | [`reference_reader`] | a second parser of Metal libraries, which shares no code with the crate |
//! | [`reflections`] | reflection buffers of typical functions |
//! | [`built_modules`] | modules made by calls that bytes select |
//! | [`built_shaders`] | DirectX shaders made by calls that bytes select |
//! | [`fixtures`] | the synthetic files under `fixtures/` |
//! | [`closed_loop`] | kernels run by several implementations, and compared |
//! | [`corpus`] | real files, if available |
//! | [`dx_debug`] | debug parts of token programs |
//! | [`dxcontainers`] | containers of our own shaders; calls the whole API on any container |
//! | [`nvidia`] | fat binaries and cubins of our own sources; calls the whole API on any of them |
//! | [`loaders`] | files for the loaders of Apple and Microsoft, with the expected verdicts |
//! | [`mutate`] | mutations of files |
//! | [`exercise`] | calls the whole API of a parser on any bytes |
//! | [`fuzz_targets`] | the fuzz targets |
//! | [`random_kernels`] | kernels of random instructions with random control flow |
//! | [`parallel`] | work spread over all cores |
#![forbid(unsafe_code)]

mod air_texts;
pub mod built_modules;
pub mod built_shaders;
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
pub mod random_kernels;
pub mod reference_reader;
pub mod reflections;
pub mod witness;
