//! Tests with programs of our own, assembled from text.

use super::lift;
use unshade_ir::shader::interface::{ResourceClass, ShaderProgram, Shape};
use unshade_ir::verify::verify;
use unshade_ir::{Op, ShaderOp, ValueId};

/// Lifts a program, and checks what was lifted.
fn lifted(text: &str) -> ShaderProgram {
    let program = lift(&unshade_dxbc::d3d9::assemble(text).unwrap()).unwrap();
    let function = &program.functions[0].function;
    assert_eq!(verify(function), Vec::<String>::new(), "{function}");
    assert_eq!(function.notes.len(), 0, "{:?}", function.notes);
    program
}

fn shader(program: &ShaderProgram, op: ShaderOp) -> Vec<ValueId> {
    let function = &program.functions[0].function;
    let used = function.used();
    function.values.keys().filter(|id| used[*id] && function.op(*id) == Op::Shader(op)).collect()
}

#[test]
fn textures_are_sampled_at_declared_coordinates() {
    let program = lifted("ps_2_0\ndcl t0.xy\ndcl_2d s1\ntexld r0, t0, s1\nmul r0, r0, c3\nmov oC0, r0\n");
    let function = &program.functions[0];
    assert_eq!(function.inputs[0].semantic_text(), "TEXCOORD0");
    assert_eq!(function.outputs[0].semantic_text(), "COLOR0");
    let shapes: Vec<_> = program.resources.iter().map(|resource| (resource.class, resource.shape)).collect();
    assert_eq!(
        shapes,
        [
            (ResourceClass::ShaderResource, Shape::Texture2D),
            (ResourceClass::Sampler, Shape::Sampler),
            (ResourceClass::ConstantBuffer, Shape::ConstantBuffer),
        ]
    );
    let [sample] = shader(&program, ShaderOp::Sample)[..] else { panic!("{}", function.function) };
    assert_eq!(function.function.lanes(function.function.input(sample, 2)), 2);
    let [row] = shader(&program, ShaderOp::LoadConstant)[..] else { panic!("{}", function.function) };
    assert_eq!(function.function.number(function.function.input(row, 1)), Some(3));
}

#[test]
fn outputs_of_vertex_shaders_have_semantics() {
    let program = lifted("vs_2_0\ndcl_position v0\nm4x4 oPos, v0, c0\nmov oT1.xy, v0\nmov oD0, c4\n");
    let names: Vec<String> =
        program.functions[0].outputs.iter().map(|element| element.semantic_text()).collect();
    assert_eq!(names, ["POSITION0", "TEXCOORD1", "COLOR0"]);
    assert_eq!(shader(&program, ShaderOp::Dot).len(), 4);
}

#[test]
fn loops_count() {
    let program = lifted(
        "ps_3_0\ndefi i0, 4, 0, 1, 0\ndcl_texcoord0 v0\nmov r0, v0\nrep i0\nadd r0, r0, v0\nif_lt r0.x, v0.y\nbreak\n\
         endif\nendrep\nmov oC0, r0\n",
    );
    let function = &program.functions[0].function;
    assert!(function.blocks.iter().any(|block| block.phis.len() >= 5), "{function}");
}

#[test]
fn predicates_choose_components() {
    let program =
        lifted("ps_3_0\ndcl_texcoord0 v0\nmov r0, v0\nsetp_gt p0, v0, c0.x\n(p0) mov r0, c1\nmov oC0, r0\n");
    let function = &program.functions[0].function;
    let used = function.used();
    let selects = function.values.keys().filter(|id| used[*id] && function.op(*id) == Op::Select).count();
    assert_eq!(selects, 1, "{function}");
    assert!(!function.values.keys().any(|id| used[id] && function.op(id) == Op::NotEqual), "{function}");
}

#[test]
fn damaged_programs_do_not_panic() {
    let text = "ps_3_0\ndefi i0, 4, 0, 1, 0\ndcl_texcoord0 v0\ndcl_2d s0\nmov r0, v0\nrep i0\nadd r0, r0, v0\n\
                if_lt r0.x, v0.y\nbreak\nendif\nendrep\ntexldl r1, r0, s0\nm3x3 r0.xyz, r1, c4\nsetp_gt p0, r0, c0.x\n\
                (p0) mov r0, c1\ntexkill r0\nmov oC0, r0\n";
    let code = unshade_dxbc::d3d9::assemble(text).unwrap().write().unwrap();
    let mut state = 1_u64;
    for _ in 0..3000 {
        let mut damaged = code.clone();
        for _ in 0..3 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let place = 4 + (state >> 33) as usize % (damaged.len() - 4);
            damaged[place] = (state >> 24) as u8;
        }
        let Ok(program) = unshade_dxbc::d3d9::Program::parse(&damaged) else { continue };
        if let Ok(program) = lift(&program) {
            let function = &program.functions[0].function;
            assert_eq!(verify(function), Vec::<String>::new(), "{function}");
        }
    }
}
