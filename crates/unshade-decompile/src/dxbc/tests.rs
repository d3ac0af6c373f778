//! Tests with programs of our own, assembled from text.

use super::{LiftError, lift};
use unshade_dxcontainer::bytes::Text;
use unshade_dxcontainer::file::OwnedPart;
use unshade_dxcontainer::signature::{
    ComponentType, Core, Element, Form, MinPrecision, NamePolicy, Signature, SystemValue,
};
use unshade_dxcontainer::{Container, DxFile, PartData};
use unshade_ir::shader::data_type::{DataType, Scalar};
use unshade_ir::shader::interface::{ResourceClass, Sequence, ShaderProgram, Shape, Stage};
use unshade_ir::shader::vector;
use unshade_ir::verify::verify;
use unshade_ir::{End, Function, Op, ShaderOp, ValueId};

/// An element: semantic, index, register, mask, whether it is a float.
type Entry = (&'static str, u32, u32, u8, bool);

fn signature(entries: &[Entry]) -> PartData {
    let element = |&(name, index, register, mask, is_float): &Entry| Element {
        stream: 0,
        name: Text::from(name),
        core: Core {
            name_offset: 0,
            index,
            system_value: SystemValue::UNDEFINED,
            component_type: if is_float { ComponentType::FLOAT32 } else { ComponentType::UINT32 },
            register,
            mask,
            exclusive_mask: 0,
            reserved: 0,
        },
        min_precision: MinPrecision::DEFAULT,
    };
    let elements = entries.iter().map(element).collect();
    PartData::Signature(Signature::new(Form::Plain, elements, NamePolicy::Fxc))
}

/// Lifts a program with these inputs, outputs and patch constants, and checks what was lifted.
fn lifted(text: &str, parts: [&[Entry]; 3]) -> ShaderProgram {
    let program = unshade_dxbc::assemble(text).unwrap();
    let mut file = DxFile::default();
    for (name, entries) in [*b"ISGN", *b"OSGN", *b"PCSG"].into_iter().zip(parts) {
        file.parts.push(OwnedPart::new(name, signature(entries)));
    }
    file.parts.push(OwnedPart::from_bytes(*b"SHEX", &program.write().unwrap()));
    let bytes = file.write_signed().unwrap();
    let program = lift(&Container::parse(&bytes).unwrap()).unwrap();
    for function in &program.functions {
        assert_eq!(verify(&function.function), Vec::<String>::new(), "{}", function.function);
    }
    program
}

/// Lifts a pixel shader from a register `COLOR` to a target.
fn pixel(code: &str) -> ShaderProgram {
    let text = format!("ps_5_0\ndcl_input_ps linear v0.xyzw\ndcl_output o0.xyzw\ndcl_temps 4\n{code}\nret");
    lifted(&text, [&[("COLOR", 0, 0, 15, true)], &[("SV_Target", 0, 0, 15, true)], &[]])
}

fn main_of(program: &ShaderProgram) -> &Function {
    &program.functions[0].function
}

/// Returns the values with an operator that are used or have an effect.
fn values(function: &Function, op: Op) -> Vec<ValueId> {
    let used = function.used();
    function.values.keys().filter(|id| used[*id] && function.op(*id) == op).collect()
}

fn shader(function: &Function, op: ShaderOp) -> Vec<ValueId> {
    values(function, Op::Shader(op))
}

#[test]
fn an_instruction_is_a_vector() {
    let program = pixel("mul r0.xyz, v0.xyzx, l(2.0, 2.0, 2.0, 0.0)\nmov r0.w, v0.w\nmov o0.xyzw, r0.xyzw");
    let function = main_of(&program);
    let [product] = values(function, Op::FloatMul)[..] else { panic!("{function}") };
    assert_eq!(function.lanes(product), 3);
    assert_eq!(function.number(function.input(product, 1)), Some(0x4000_0000));
    let [store] = shader(function, ShaderOp::StoreOutput)[..] else { panic!("{function}") };
    let stored = function.input(store, 3);
    assert_eq!((function.op(stored), function.lanes(stored)), (Op::Vector, 4));
    assert_eq!(function.input(stored, 0), product);
}

#[test]
fn sums_of_differences_are_numbers() {
    let program = pixel("msad r0.xyz, v0.xxxx, v0.xyzw, l(1, 2, 3, 4)\nmov r0.w, v0.w\nmov o0.xyzw, r0.xyzw");
    let function = main_of(&program);
    let sums = shader(function, ShaderOp::MaskedSumOfDifferences);
    assert_eq!(sums.len(), 3, "{function}");
    assert!(sums.iter().all(|sum| function.lanes(*sum) == 1), "{function}");
}

#[test]
fn swizzles_are_indexed_by_the_written_component() {
    let program = pixel("add r0.yw, v0.xyzw, v0.xxyz\nmov o0.xyzw, r0.yyww");
    let function = main_of(&program);
    let [sum] = values(function, Op::FloatAdd)[..] else { panic!("{function}") };
    let columns = |input: usize| -> Vec<Option<u64>> {
        let vector = function.input(sum, input);
        (0..2).map(|lane| function.number(function.input(function.input(vector, lane), 2))).collect()
    };
    assert_eq!(columns(0), [Some(1), Some(3)]);
    assert_eq!(columns(1), [Some(0), Some(2)]);
}

#[test]
fn registers_change_places_at_once() {
    let program =
        pixel("mov r0.xy, v0.xyxx\nmov r0.xy, r0.yxyy\nmov o0.xy, r0.xyxx\nmov o0.zw, l(0, 0, 0, 0)");
    let function = main_of(&program);
    let stores = shader(function, ShaderOp::StoreOutput);
    let vector = function.input(stores[0], 3);
    let column = |lane: usize| function.number(function.input(function.input(vector, lane), 2));
    assert_eq!((column(0), column(1)), (Some(1), Some(0)));
}

#[test]
fn masks_are_conditions() {
    let program = pixel(
        "lt r0.x, v0.x, v0.y\nlt r0.y, v0.z, l(0)\nand r0.x, r0.x, r0.y\nif_nz r0.x\n mov r1.x, l(1)\nelse\n \
         mov r1.x, l(2)\nendif\nand r0.y, r0.y, l(0x3f800000)\nmov o0.xyzw, r1.xxxx\nmov o0.x, r0.y",
    );
    let function = main_of(&program);
    assert!(values(function, Op::NotEqual).is_empty(), "{function}");
    let [both] = values(function, Op::BoolAnd)[..] else { panic!("{function}") };
    assert!(function.blocks.iter().any(|block| block.end.input() == Some(both)));
    let [chosen] = values(function, Op::Select)[..] else { panic!("{function}") };
    assert_eq!(function.number(function.input(chosen, 1)), Some(0x3f80_0000));
}

#[test]
fn masks_that_join_are_conditions() {
    let program = pixel(
        "lt r0.x, v0.x, v0.y\nif_nz r0.x\n lt r0.y, v0.z, l(0)\nelse\n mov r0.y, l(0)\nendif\nif_nz r0.y\n \
         mov r1.x, l(1)\nelse\n mov r1.x, l(2)\nendif\nmov o0.xyzw, r1.xxxx",
    );
    let function = main_of(&program);
    assert!(values(function, Op::NotEqual).is_empty(), "{function}");
    assert!(values(function, Op::Phi).iter().any(|phi| function.width(*phi) == 1));
}

#[test]
fn loops_and_switches_are_blocks() {
    let program = pixel(
        "mov r0.xy, l(0, 0, 0, 0)\nloop\n ige r0.z, r0.x, l(8)\n breakc_nz r0.z\n switch r0.x\n case l(1)\n case l(2)\n \
         mov r0.y, l(3)\n case l(4)\n continue\n default\n break\n endswitch\n iadd r0.x, r0.x, l(1)\nendloop\n\
         mov o0.xyzw, r0.yyyy",
    );
    let function = main_of(&program);
    let switches: Vec<&End> = function
        .blocks
        .iter()
        .map(|block| &block.end)
        .filter(|end| matches!(end, End::Switch { .. }))
        .collect();
    let [End::Switch { cases, otherwise, .. }] = switches[..] else { panic!("{function}") };
    assert_eq!(cases.iter().map(|case| case.0).collect::<Vec<_>>(), [1, 2, 4]);
    assert_eq!(cases[0].1, cases[1].1);
    assert!(otherwise.is_some());
}

#[test]
fn subroutines_are_lifted_in_the_place_of_calls() {
    let program = pixel(
        "mov r0.x, v0.x\ncall label0\ncallc_nz r0.x, label0\nmov o0.xyzw, r0.xxxx\nret\nlabel label0\nadd r0.x, r0.x, \
         l(1)",
    );
    assert_eq!(values(main_of(&program), Op::FloatAdd).len(), 2);
}

#[test]
fn endless_calls_are_too_large() {
    let text = "ps_5_0\ncall label0\nret\nlabel label0\ncall label0\nret";
    let mut file = DxFile::default();
    let code = unshade_dxbc::assemble(text).unwrap().write().unwrap();
    file.parts.push(OwnedPart::from_bytes(*b"SHEX", &code));
    let bytes = file.write_signed().unwrap();
    assert!(matches!(lift(&Container::parse(&bytes).unwrap()), Err(LiftError::TooLarge)));
}

#[test]
fn resources_have_registers_and_shapes() {
    let program = pixel(
        "dcl_constantbuffer CB1[2], dynamicIndexed\ndcl_sampler s2, mode_comparison\n\
         dcl_resource_texture2darray (float,float,float,float) t3\nftou r0.x, v0.x\n\
         sample_c_lz r0.y, v0.xyzx, t3.xxxx, s2, cb1[r0.x + 1].w\nmov o0.xyzw, r0.yyyy",
    );
    let shapes: Vec<_> = program
        .resources
        .iter()
        .map(|resource| (resource.class, resource.shape, resource.binding.map(|binding| binding.register)))
        .collect();
    assert_eq!(
        shapes,
        [
            (ResourceClass::ConstantBuffer, Shape::ConstantBuffer, Some(1)),
            (ResourceClass::Sampler, Shape::ComparisonSampler, Some(2)),
            (ResourceClass::ShaderResource, Shape::Texture2DArray, Some(3)),
        ]
    );
    let function = main_of(&program);
    let [sample] = shader(function, ShaderOp::SampleCompareLevelZero)[..] else { panic!("{function}") };
    assert_eq!((function.lanes(sample), function.lanes(function.input(sample, 2))), (1, 3));
}

#[test]
fn ranges_of_model_5_1_are_resources() {
    let text = "ps_5_1\ndcl_resource_texture2d (float,float,float,float) T0[4:7], space=2\n\
                dcl_input_ps constant v0.x\ndcl_output o0.xyzw\ndcl_temps 1\nmov r0.x, v0.x\nld r0.xyzw, l(0, 0, 0, 0), T0[r0.x + 5].xyzw\n\
                mov o0.xyzw, r0.xyzw\nret";
    let program = lifted(text, [&[("PLACE", 0, 0, 1, false)], &[("SV_Target", 0, 0, 15, true)], &[]]);
    let resource = program.resources.iter().next().unwrap();
    let binding = resource.binding.unwrap();
    assert_eq!((binding.register, binding.space, binding.count), (4, 2, Some(4)));
    let function = main_of(&program);
    let [handle] = shader(function, ShaderOp::Handle)[..] else { panic!("{function}") };
    let index = function.input(handle, 1);
    // Registers count from the first one of the array.
    assert_eq!((function.op(index), function.number(function.input(index, 1))), (Op::Add, Some(1)));
}

#[test]
fn doubles_stay_whole_between_instructions() {
    let program =
        pixel("ftod r0.xy, v0.x\ndadd r0.xy, r0.xyxy, d(1, 0)\ndtof r1.x, r0.xyxy\nmov o0.xyzw, r1.xxxx");
    let function = main_of(&program);
    assert!(shader(function, ShaderOp::MakeDouble).is_empty(), "{function}");
    let [sum] = values(function, Op::FloatAdd)[..] else { panic!("{function}") };
    assert_eq!(function.number(function.input(sum, 1)), Some(1_f64.to_bits()));
}

#[test]
fn doubles_belong_to_written_components_in_order() {
    let program = pixel("ftod r0.xy, v0.x\nftod r0.zw, v0.y\ndtof r1.yz, r0.xyzw\nmov o0.xyzw, r1.zyzz");
    let function = main_of(&program);
    let [store] = shader(function, ShaderOp::StoreOutput)[..] else { panic!("{function}") };
    let value = function.input(store, 3);
    // Of each component, the number of the component of the input that it comes from.
    let origins = [0, 1].map(|lane| {
        let (word, _) = vector::origin(function, value, lane);
        let load = function.input(function.input(word, 0), 0);
        function.number(function.input(load, 2))
    });
    assert_eq!(origins, [Some(1), Some(0)], "{function}");
}

#[test]
fn shared_memory_is_a_variable() {
    let text = "cs_5_0\ndcl_input vThreadIDInGroupFlattened\ndcl_temps 1\ndcl_tgsm_structured g0, 16, 64\n\
                dcl_thread_group 64, 1, 1\nutof r0.x, vThreadIDInGroupFlattened.x\n\
                store_structured g0.xyzw, vThreadIDInGroupFlattened.x, l(0), r0.xxxx\nsync_g_t\n\
                ld_structured r0.xy, l(1), l(8), g0.xyxx\natomic_iadd g0, l(1, 4, 0, 0), r0.x\nret";
    let program = lifted(text, [&[], &[], &[]]);
    assert_eq!(program.stage, Stage::Compute);
    let variable = program.variables.iter().next().unwrap();
    assert_eq!(variable.ty, DataType::Array(Box::new(DataType::Vector(Scalar::UINT, 4)), 64));
    let function = main_of(&program);
    let [barrier] = shader(function, ShaderOp::Barrier)[..] else { panic!("{function}") };
    assert_eq!(function.number(function.input(barrier, 0)), Some(9));
    let load = values(function, Op::Load(unshade_ir::Space::Shared))[0];
    assert_eq!(function.lanes(load), 4);
}

#[test]
fn phases_are_two_functions() {
    let text = "hs_5_0\nhs_decls\ndcl_input_control_point_count 3\ndcl_output_control_point_count 3\n\
                dcl_tessellator_domain domain_tri\ndcl_tessellator_partitioning partitioning_integer\n\
                dcl_tessellator_output_primitive output_triangle_cw\nhs_fork_phase\n\
                dcl_hs_fork_phase_instance_count 3\ndcl_input vForkInstanceID\ndcl_output_siv o0.x, \
                finalTriUeq0EdgeTessFactor\ndcl_output_siv o1.x, finalTriVeq0EdgeTessFactor\ndcl_output_siv o2.x, \
                finalTriWeq0EdgeTessFactor\ndcl_temps 1\ndcl_indexrange o0.x 3\nmov r0.x, vForkInstanceID.x\n\
                mov o[r0.x + 0].x, l(1.0)\nret\nhs_fork_phase\ndcl_output_siv o3.x, finalTriInsideTessFactor\n\
                mov o3.x, l(2.0)\nret";
    let factors = [0, 1, 2].map(|number| ("SV_TessFactor", number, number, 1, true));
    let patch = [factors[0], factors[1], factors[2], ("SV_InsideTessFactor", 0, 3, 1, true)];
    let points = [("POSITION", 0, 0, 7, true)];
    let program = lifted(text, [&points, &points, &patch]);
    let [points, constants] = &program.functions[..] else { panic!("not two functions") };
    assert_eq!((points.attributes.domain, points.attributes.patch_function), (Some("tri"), Some(1)));
    // Without a phase of their own, control points are copied.
    let copies = shader(&points.function, ShaderOp::StoreOutput);
    assert_eq!(points.function.lanes(points.function.input(copies[0], 3)), 3);
    assert_eq!(constants.patch[0].rows(), 3);
    let function = &constants.function;
    let rows: Vec<Option<u64>> = shader(function, ShaderOp::StorePatchConstant)
        .iter()
        .map(|store| function.number(function.input(*store, 1)))
        .collect();
    assert_eq!(rows, [Some(0), Some(1), Some(2), Some(0)]);
}

#[test]
fn streams_tell_outputs_with_the_same_register_apart() {
    let text = "gs_5_0\ndcl_inputprimitive point\ndcl_input v[1][0].xyzw\ndcl_temps 1\ndcl_stream m0\n\
                dcl_outputtopology pointlist\ndcl_output o0.xyzw\ndcl_maxout 1\nmov o0.xyzw, v[0][0].xyzw\n\
                emit_stream m0\ncut_stream m0\nret";
    let program = lifted(text, [&[("POSITION", 0, 0, 15, true)], &[("SV_Position", 0, 0, 15, true)], &[]]);
    let attributes = &program.functions[0].attributes;
    assert_eq!(attributes.streams, [(0, "PointStream")]);
    assert_eq!((attributes.input_primitive, attributes.max_vertices), (Some("point"), Some(1)));
    assert_eq!(shader(main_of(&program), ShaderOp::EmitVertex).len(), 1);
}

#[test]
fn instructions_without_a_meaning_are_reported() {
    let program = pixel("mov r0.x, vCycleCounter.x\nmov o0.xyzw, r0.xxxx\nabort");
    let notes: Vec<&String> = main_of(&program).notes.iter().collect();
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].contains("vCycleCounter") && notes[1].contains("abort"));
}

#[test]
fn damaged_programs_do_not_panic() {
    let text = "ps_5_0\ndcl_globalFlags refactoringAllowed\ndcl_constantbuffer CB0[4], dynamicIndexed\n\
                dcl_sampler s0, mode_default\ndcl_resource_texture2d (float,float,float,float) t0\n\
                dcl_resource_structured t1, 16\ndcl_input_ps linear v0.xyzw\ndcl_output o0.xyzw\ndcl_temps 3\n\
                dcl_indexableTemp x0[4], 4\nsample r0.xyzw, v0.xyxx, t0.xyzw, s0\n\
                ld_structured r1.xyzw, r0.x, l(0), t1.xyzw\nmov x0[r0.x + 1].xyzw, cb0[r0.y + 1].xyzw\nloop\n \
                breakc_nz r0.x\n switch r0.y\n case l(1)\n mov r0.x, x0[r0.x + 1].x\n break\n default\n continue\n \
                endswitch\nendloop\nif_nz r1.x\n dadd r1.xy, r1.xyxy, r1.zwzw\nelse\n udiv r2.x, r2.y, r0.x, r0.y\n\
                endif\nadd o0.xyzw, r1.xyzw, r2.xyzw\nret";
    let code = unshade_dxbc::assemble(text).unwrap().write().unwrap();
    let mut state = 1_u64;
    for _ in 0..3000 {
        let mut damaged = code.clone();
        for _ in 0..3 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let place = 8 + (state >> 33) as usize % (damaged.len() - 8);
            damaged[place] = (state >> 24) as u8;
        }
        let mut file = DxFile::default();
        file.parts.push(OwnedPart::new(*b"ISGN", signature(&[("COLOR", 0, 0, 15, true)])));
        file.parts.push(OwnedPart::new(*b"OSGN", signature(&[("SV_Target", 0, 0, 15, true)])));
        file.parts.push(OwnedPart::from_bytes(*b"SHEX", &damaged));
        let bytes = file.write_signed().unwrap();
        if let Ok(program) = lift(&Container::parse(&bytes).unwrap()) {
            for function in &program.functions {
                assert_eq!(verify(&function.function), Vec::<String>::new(), "{}", function.function);
            }
        }
    }
}

#[test]
fn arrays_of_constant_buffers_are_indexed() {
    let text = "cs_5_1\ndcl_constantbuffer CB0[2:3][1], dynamicIndexed, space=1\ndcl_uav_raw U0[0:0], space=0\n\
                dcl_input vThreadID.x\ndcl_temps 1\ndcl_thread_group 2, 1, 1\nmov r0.x, vThreadID.x\n\
                store_raw U0[0].x, l(0), CB0[r0.x + 2][0].x\nret";
    let text = crate::hlsl::print(lifted(text, [&[], &[], &[]])).text();
    assert!(text.contains(" b2_space1[2] : register(b2, space1);"), "{text}");
    assert!(text.contains("b2_space1[thread_id.x].m0[0].x"), "{text}");
}

#[test]
fn shared_memory_has_the_sign_that_atomic_operations_compare_with() {
    for (operations, expected) in [
        ("atomic_umax g0, l(1, 0, 0, 0), r0.x", "groupshared uint "),
        ("atomic_imin g0, l(1, 0, 0, 0), r0.x", "groupshared int "),
        // The compiler takes the unsigned operation where only the place is signed.
        ("atomic_imin g0, l(1, 0, 0, 0), r0.x\natomic_umax g0, l(1, 0, 0, 0), r0.x", "groupshared int "),
    ] {
        let text = format!(
            "cs_5_0\ndcl_input vThreadIDInGroupFlattened\ndcl_temps 1\ndcl_tgsm_structured g0, 4, 64\n\
             dcl_thread_group 64, 1, 1\nmov r0.x, vThreadIDInGroupFlattened.x\n{operations}\nret"
        );
        let hlsl = crate::hlsl::print(lifted(&text, [&[], &[], &[]]));
        assert!(hlsl.text().contains(expected), "{}", hlsl.text());
        assert!(hlsl.unknown.is_empty(), "{:?}", hlsl.unknown);
    }
}

#[test]
fn elements_are_appended_and_consumed() {
    let printed = |code: &str, sequence: Sequence| {
        let text = format!(
            "cs_5_0\ndcl_uav_structured u0, 8\ndcl_uav_raw u1\ndcl_temps 2\ndcl_thread_group 1, 1, 1\n{code}\nret"
        );
        let mut program = lifted(&text, [&[], &[], &[]]);
        let buffer = program.resources.iter_mut().next().unwrap();
        buffer.sequence = Some(sequence);
        buffer.element = Some(DataType::Vector(Scalar::UINT, 2));
        crate::hlsl::print(program).text()
    };
    let stored = "imm_atomic_alloc r0.x, u0\nstore_structured u0.xy, r0.x, l(0), l(1, 2, 0, 0)";
    let text = printed(stored, Sequence::Append);
    assert!(text.contains("AppendStructuredBuffer<uint2> u0"), "{text}");
    assert!(text.contains("    u0.Append(uint2(1, 2));\n"), "{text}");
    let apart = "imm_atomic_alloc r0.x, u0\nstore_structured u0.x, r0.x, l(0), l(1)\nstore_structured u0.x, r0.x, l(4), l(2)";
    let text = printed(apart, Sequence::Append);
    assert!(
        text.contains("uint2 element;\n    element.x = 1;\n    element.y = 2;\n    u0.Append(element);\n"),
        "{text}"
    );
    let loaded = "imm_atomic_consume r0.x, u0\nld_structured r1.xy, r0.x, l(0), u0.xyxx\nstore_raw u1.xy, l(0), r1.xyxx";
    let text = printed(loaded, Sequence::Consume);
    assert!(
        text.contains("uint2 element = u0.Consume();\n") && text.contains("u1.Store2(0, element);"),
        "{text}"
    );
    // A number that is also used otherwise is that of a counter.
    let counted = format!("{stored}\nstore_raw u1.x, l(0), r0.x");
    let text = printed(&counted, Sequence::Append);
    assert!(
        text.contains("RWStructuredBuffer<uint2> u0") && text.contains("u0.IncrementCounter()"),
        "{text}"
    );
}
