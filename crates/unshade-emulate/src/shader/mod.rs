//! Runs shaders of DXIL and DXBC from their intermediate representation.
//!
//! A program runs on [`Inputs`]: bytes and texels of resources by register, inputs by semantic. What is not given is
//! invented, the same for all programs with the same interface. So an original and what became of it after decompiling
//! and compiling can be compared by what they write: [`Outputs::compare`].
//!
//! | module | contents |
//! |---|---|
//! | [`dispatch`] | runs of a whole program, by stage |
//! | `machine`, `code` | waves with masks and calls; the order of steps |
//! | `number`, `lanewise`, `exchange` | operators; vectors; exchanges between lanes |
//! | `stage`, `access`, `texture` | inputs and outputs; buffers and variables; samples |
//! | [`inputs`], `fill`, `hash` | inputs, invented ones |
//! | `resource`, `variable` | memory |
//! | `record` | the trace of a thread |
//! | [`outputs`], [`fault`] | results and failures |
//!
//! The semantics are those of Direct3D where it defines them: see `number` for operators. There are no images: a sample
//! is a function of its coordinates. Nothing is filtered, rasterized or tessellated.
//!
//! ```
//! use unshade_emulate::shader::{Inputs, Limits, run};
//! use unshade_ir::shader::ShaderOp;
//! use unshade_ir::shader::data_type::{Scalar, ScalarKind};
//! use unshade_ir::shader::interface::{Element, ShaderFunction, ShaderProgram, Stage};
//! use unshade_ir::{BlockId, End, Op};
//!
//! // float main(float a : A) : B { return a + a; }
//! let element = |semantic: &str| Element {
//!     semantic: semantic.into(),
//!     indices: vec![0],
//!     columns: 1,
//!     scalar: Scalar::FLOAT,
//!     interpolation: "",
//!     stream: 0,
//!     register: Some(0),
//!     column: 0,
//!     used: 1,
//! };
//! let mut main = ShaderFunction { inputs: vec![element("A")], outputs: vec![element("B")], ..Default::default() };
//! let function = &mut main.function;
//! let block = function.block(0);
//! let zero = function.constant(0, 32);
//! let a = function.add(Op::Shader(ShaderOp::LoadInput), 32, block, 0, &[zero, zero, zero]);
//! let sum = function.add(Op::FloatAdd, 32, block, 1, &[a, a]);
//! function.add(Op::Shader(ShaderOp::StoreOutput), 0, block, 2, &[zero, zero, zero, sum]);
//! function.blocks[block].end = End::Return;
//! let mut program = ShaderProgram::new(Stage::Vertex, (6, 0));
//! program.functions.push(main);
//!
//! let mut inputs = Inputs::generated(&program, 1);
//! inputs.set_input("A", 0, vec![1.5]);
//! let outputs = run(&program, &inputs, Limits::default())?;
//! let vertex = outputs.lanes[0].as_ref().unwrap();
//! assert_eq!(vertex[&("B".to_owned(), 0, 0)].to_string(), "3.0");
//! # Ok::<(), unshade_emulate::shader::Fault>(())
//! ```

mod access;
mod code;
pub mod dispatch;
mod exchange;
pub mod fault;
mod fill;
mod hash;
pub mod inputs;
mod lanewise;
mod machine;
pub(crate) mod number;
pub mod outputs;
mod record;
mod resource;
mod stage;
#[cfg(test)]
mod tests;
mod texture;
mod variable;

pub use dispatch::{run, run_recorded};
pub use fault::{Fault, Limits, Reason};
pub use inputs::{HEAP, Inputs, Register};
pub use outputs::{Comparison, Mesh, Number, Outputs, Semantic, StreamEvent};
