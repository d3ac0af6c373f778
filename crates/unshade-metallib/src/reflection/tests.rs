//! Tests of the whole parser, on synthetic buffers and on real files.

extern crate std;

use super::schema::{Category, GROUPS, NodeType};
use super::test_support::{Tab, V, any, full, node, reflection, reflections, table};
use super::*;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use std::{eprintln, println};
use unshade_core::Diagnostics;
use unshade_core::outline::Coverage;

/// Reads everything; checks that it terminates and does not panic.
fn read_all(payload: &[u8], base: u64) {
    let Ok(reflection) = Reflection::parse_at(payload, base) else { return };
    for node in reflection.nodes().flatten() {
        node.fields().flatten().for_each(drop);
        if let Ok(fields) = reflection.struct_fields(node.id()) {
            fields.for_each(drop);
        }
        let _ = reflection.argument(node.id());
        let _ = type_name::spell(&reflection, node.id());
    }
    for function in reflection.functions().take(100).flatten() {
        print_signature(&function, &mut String::new());
    }
    let _ = reflection.function(b"no such name");
    let _ = (reflection.function_constants(), reflection.global_bindings());
    let _ = reflection.visible_function_references();
    if let Ok(allocations) = reflection.static_local_allocations() {
        allocations.for_each(drop);
    }
    let (unknown, faults, _) = outline(&reflection);
    assert_eq!(faults, Vec::<String>::new());
    assert!(unknown <= payload.len() as u64);
}

/// Returns the number of unknown bytes, the faults of the outline, and the findings.
fn outline(reflection: &Reflection<'_>) -> (u64, Vec<String>, Diagnostics) {
    let mut coverage = Coverage::starting_at(reflection.range().start);
    let mut diagnostics = Diagnostics::new();
    reflection.outline(&mut coverage, &mut diagnostics);
    (coverage.unknown_bytes(), coverage.finish(reflection.range().end), diagnostics)
}

fn signature(payload: &[u8]) -> String {
    let reflection = Reflection::parse(payload).unwrap();
    let mut text = String::new();
    for function in reflection.functions() {
        print_signature(&function.unwrap(), &mut text);
    }
    text
}

fn kernel() -> Vec<u8> {
    reflection(
        5,
        vec![
            node(
                NodeType::KERNEL_FUNCTION,
                &[
                    ("name", V::Text("reduce_sum_f32")),
                    ("arguments", V::Ids(vec![1, 2, 3, 4, 5])),
                    ("workgroup_max_size", V::Number(6)),
                ],
            ),
            node(
                NodeType::BUFFER_ARG,
                &[
                    ("location_index", V::Number(0)),
                    ("location_count", V::Number(1)),
                    ("access_qualifier", V::Byte(1)),
                    ("type_size", V::Number(4)),
                    ("type_name", V::Text("float")),
                    ("name", V::Text("in")),
                ],
            ),
            node(
                NodeType::BUFFER_ARG,
                &[
                    ("location_index", V::Number(1)),
                    ("access_qualifier", V::Byte(2)),
                    ("type_size", V::Number(4)),
                    ("type_name", V::Text("float")),
                    ("name", V::Text("out")),
                    ("unused", V::Bool(true)),
                ],
            ),
            node(
                NodeType::BUFFER_ARG,
                &[
                    ("buffer_size", V::Number(4)),
                    ("location_index", V::Number(2)),
                    ("access_qualifier", V::Byte(1)),
                    ("address_space", V::Byte(2)),
                    ("type_size", V::Number(4)),
                    ("type_name", V::Text("uint")),
                    ("name", V::Text("n")),
                ],
            ),
            node(
                NodeType::THREAD_POSITION_IN_GRID_ARG,
                &[("type_name", V::Text("uint")), ("name", V::Text("tid"))],
            ),
            node(
                NodeType::BUFFER_ARG,
                &[
                    ("location_index", V::Number(3)),
                    ("access_qualifier", V::Byte(3)),
                    ("address_space", V::Byte(3)),
                    ("type_name", V::Text("evil\u{1b}[31m")),
                    ("name", V::Text("scratch\n")),
                ],
            ),
            node(NodeType::WORKGROUP_MAX_SIZE_FN_ATTR, &[("size", V::Number(256))]),
            node(
                NodeType::FUNCTION_CONSTANT,
                &[
                    ("type_name", V::Text("bool")),
                    ("name", V::Text("has_mask")),
                    ("index", V::Number(20)),
                    ("required", V::Bool(true)),
                ],
            ),
        ],
        &[("kernel_functions", V::Ids(vec![0])), ("function_constants", V::Ids(vec![7]))],
    )
}

#[test]
fn kernel_signature() {
    assert_eq!(
        signature(&kernel()),
        r"constant bool has_mask [[function_constant(20)]];
[[max_total_threads_per_threadgroup(256)]]
kernel void reduce_sum_f32(
    device const float*       in        [[buffer(0)]],               // read, 4-byte elements
    device float*             out       [[buffer(1)]],               // write, 4-byte elements, unused
    constant uint&            n         [[buffer(2)]],
    uint                      tid       [[thread_position_in_grid]],
    threadgroup evil\x1b[31m* scratch\n [[threadgroup(3)]])          // read and write
"
    );
}

#[test]
fn typed_view() {
    let payload = kernel();
    let reflection = Reflection::parse_at(&payload, 11).unwrap();
    assert_eq!((reflection.padding(), reflection.node_count()), (5, 8));
    assert_eq!(reflection.function(b"absent").unwrap(), None);
    let function = reflection.function(b"reduce_sum_f32").unwrap().unwrap();
    assert_eq!((function.kind, function.max_total_threads), (NodeType::KERNEL_FUNCTION, Some(256)));
    let argument = &function.arguments[1];
    assert_eq!((argument.index, argument.unused, argument.attribute()), (Some(1), true, "buffer(1)".into()));
    assert_eq!(argument.address_space, Some(schema::AddressSpace::DEVICE), "the default of the schema");
    assert_eq!(argument.kind.category(), Some(Category::Resource));
    assert_eq!(function.arguments[3].attribute(), "thread_position_in_grid");
    assert_eq!(reflection.node(NodeId(8)).unwrap_err().kind(), ErrorKind::OutOfRange);
}

fn graphics() -> Vec<u8> {
    let user = |kind, name| {
        node(
            kind,
            &[("attribute_name", V::Text(name)), ("type_name", V::Text("float2")), ("name", V::Text("uv"))],
        )
    };
    reflection(
        0,
        vec![
            node(
                NodeType::VERTEX_FUNCTION,
                &[
                    ("name", V::Text("vs::main")),
                    ("return_types", V::Ids(vec![1, 2, 3])),
                    ("arguments", V::Ids(vec![4, 5])),
                ],
            ),
            node(
                NodeType::POSITION_RET,
                &[
                    ("invariant", V::Bool(true)),
                    ("type_name", V::Text("float4")),
                    ("name", V::Text("position")),
                ],
            ),
            user(NodeType::VERTEX_OUTPUT_RET, "user(locn0)"),
            node(
                NodeType::CLIP_DISTANCE_RET,
                &[("array_size", V::Number(2)), ("type_name", V::Text("float")), ("name", V::Text("clip"))],
            ),
            node(
                NodeType::VERTEX_INPUT_ARG,
                &[
                    ("location_index", V::Number(1)),
                    ("type_name", V::Text("float3")),
                    ("name", V::Text("normal")),
                ],
            ),
            node(NodeType::VERTEX_ID_ARG, &[("type_name", V::Text("uint")), ("name", V::Text("vid"))]),
            node(
                NodeType::FRAGMENT_FUNCTION,
                &[
                    ("name", V::Text("fs_main")),
                    ("return_types", V::Ids(vec![7])),
                    ("arguments", V::Ids(vec![8, 9, 10, 11])),
                    ("early_fragment_tests", V::Bool(true)),
                    ("user_annotation", V::Number(12)),
                ],
            ),
            node(
                NodeType::RENDER_TARGET_RET,
                &[("render_target_index", V::Number(0)), ("type_name", V::Text("half4"))],
            ),
            node(
                NodeType::POSITION_ARG,
                &[("type_name", V::Text("float4")), ("name", V::Text("position")), ("unused", V::Bool(true))],
            ),
            node(
                NodeType::FRAGMENT_INPUT_ARG,
                &[
                    ("attribute_name", V::Text("generated(2uvDv2_f)")),
                    ("sampling_qualifier", V::Byte(2)),
                    ("interpolation_qualifier", V::Byte(1)),
                    ("type_name", V::Text("float2")),
                    ("name", V::Text("uv")),
                ],
            ),
            node(
                NodeType::TEXTURE_ARG,
                &[
                    ("location_index", V::Number(0)),
                    ("access_qualifier", V::Byte(4)),
                    ("type_name", V::Text("texture2d<half, sample>")),
                    ("name", V::Text("colour")),
                ],
            ),
            node(
                NodeType::SAMPLER_ARG,
                &[
                    ("location_index", V::Number(1)),
                    ("type_name", V::Text("sampler")),
                    ("name", V::Text("s")),
                ],
            ),
            node(NodeType::USER_ANNOTATION_FN_ATTR, &[("annotation", V::Text("say \"hi\""))]),
        ],
        &[("vertex_functions", V::Ids(vec![0])), ("fragment_functions", V::Ids(vec![6]))],
    )
}

#[test]
fn graphics_signatures() {
    assert_eq!(
        signature(&graphics()),
        r#"struct fs_main_in {
    float4 position [[position]];             // unused
    float2 uv       [[centroid_perspective]];
};
[[early_fragment_tests]]
[[user_annotation("say \"hi\"")]]
fragment half4 fs_main(
    fs_main_in              in     [[stage_in]],
    texture2d<half, sample> colour [[texture(0)]],
    sampler                 s      [[sampler(1)]])
struct vs__main_in {
    float3 normal [[attribute(1)]];
};
struct vs__main_out {
    float4 position [[position, invariant]];
    float2 uv       [[user(locn0)]];
    float  clip[2]  [[clip_distance]];
};
vertex vs__main_out vs::main(
    vs__main_in in  [[stage_in]],
    uint        vid [[vertex_id]])
"#
    );
}

/// Patches, intersection, mesh, object, visible, stitchable and Core Image functions, for which no real
/// reflection is available.
fn rare() -> Vec<u8> {
    let named =
        |kind, type_name, name| node(kind, &[("type_name", V::Text(type_name)), ("name", V::Text(name))]);
    let nodes = vec![
        node(
            NodeType::VERTEX_FUNCTION,
            &[
                ("name", V::Text("tessellated")),
                ("return_types", V::Ids(vec![1])),
                ("arguments", V::Ids(vec![2, 4])),
                ("patch", V::Number(5)),
            ],
        ),
        named(NodeType::POSITION_RET, "float4", "position"),
        node(NodeType::CONTROL_POINT_INPUT_ARG, &[("fields", V::Ids(vec![3]))]),
        node(
            NodeType::CONTROL_POINT_FIELD,
            &[("location_index", V::Number(2)), ("type_name", V::Text("float3")), ("name", V::Text("p"))],
        ),
        named(NodeType::POSITION_IN_PATCH_ARG, "float2", "uv"),
        node(NodeType::PATCH_FN_ATTR, &[("kind", V::Byte(1)), ("control_points", V::Number(16))]),
        // 6
        node(
            NodeType::INTERSECTION_FUNCTION,
            &[
                ("name", V::Text("sphere")),
                ("return_types", V::Ids(vec![7, 8])),
                ("arguments", V::Ids(vec![9, 10])),
                ("primitive_kind", V::Byte(1)),
                ("instancing", V::Bool(true)),
                ("world_space_data", V::Bool(true)),
                ("multi_level_instancing", V::Number(2)),
            ],
        ),
        named(NodeType::ACCEPT_INTERSECTION_RET, "bool", "accept"),
        named(NodeType::DISTANCE_RET, "float", "distance"),
        named(NodeType::ORIGIN_ARG, "float3", "origin"),
        named(NodeType::PAYLOAD_ARG, "Payload", "payload"),
        // 11
        node(NodeType::MESH_FUNCTION, &[("name", V::Text("meshes")), ("arguments", V::Ids(vec![12]))]),
        node(
            NodeType::MESH_ARG,
            &[
                ("mesh_type_info", V::Number(13)),
                ("type_name", V::Text("mesh<V, P, 64, 124, topology::triangle>")),
                ("name", V::Text("out")),
            ],
        ),
        node(
            NodeType::MESH_TYPE_INFO,
            &[
                ("vertex_types", V::Ids(vec![1])),
                ("primitive_types", V::Ids(vec![14])),
                ("max_vertices", V::Number(64)),
                ("max_primitives", V::Number(124)),
                ("topology", V::Byte(3)),
            ],
        ),
        named(NodeType::PRIMITIVE_CULLED_RET, "bool", "culled"),
        // 15
        node(
            NodeType::OBJECT_FUNCTION,
            &[
                ("name", V::Text("objects")),
                ("arguments", V::Ids(vec![16])),
                ("workgroup_size", V::Number(17)),
                ("max_mesh_workgroups", V::Number(18)),
            ],
        ),
        named(NodeType::MESH_GRID_PROPERTIES_ARG, "mesh_grid_properties", "grid"),
        node(NodeType::WORKGROUP_SIZE_FN_ATTR, &[("width", V::Number(32))]),
        node(NodeType::MAX_MESH_WORKGROUPS_FN_ATTR, &[("workgroups", V::Number(8))]),
        // 19
        node(NodeType::VISIBLE_FUNCTION, &[("name", V::Text("plain"))]),
        node(
            NodeType::VISIBLE_FUNCTION,
            &[
                ("name", V::Text("stitched")),
                ("stitching_info", V::Table(Tab(vec![Some(V::Number(22)), Some(V::Ids(vec![25]))]))),
            ],
        ),
        node(NodeType::FLOAT_TYPE, &[]),
        node(NodeType::VECTOR_TYPE, &[("element_type", V::Number(21)), ("num_elements", V::Number(4))]),
        node(
            NodeType::TEXTURE_2D_TYPE,
            &[
                ("qualifiers", V::Ids(vec![24])),
                ("channel_type", V::Number(21)),
                ("access_qualifier", V::Byte(3)),
            ],
        ),
        node(NodeType::ADDRESS_SPACE_TYPE_QUAL, &[("address_space", V::Byte(1))]),
        node(NodeType::STITCHING_ARGUMENT, &[("type", V::Number(26)), ("name", V::Text("t"))]),
        node(NodeType::LVALUE_REFERENCE_TYPE, &[("pointee_type", V::Number(23))]),
        // 27
        node(
            NodeType::CI_FUNCTION,
            &[
                ("name", V::Text("filter")),
                ("return_types", V::Ids(vec![28])),
                ("arguments", V::Ids(vec![29])),
            ],
        ),
        named(NodeType::CI_BUILTIN_RET, "float4", "result"),
        named(NodeType::CI_SAMPLER_ARG, "coreimage::sampler", "image"),
        Tab(vec![Some(V::Number(0x4200b)), Some(V::Table(Tab(vec![Some(V::Number(7))])))]),
        // 31
        node(NodeType::KERNEL_FUNCTION, &[("name", V::Text("odd")), ("arguments", V::Ids(vec![30]))]),
    ];
    let lists = [
        ("vertex_functions", V::Ids(vec![0])),
        ("intersection_functions", V::Ids(vec![6])),
        ("mesh_functions", V::Ids(vec![11])),
        ("object_functions", V::Ids(vec![15])),
        ("visible_functions", V::Ids(vec![19, 20])),
        ("ci_functions", V::Ids(vec![27])),
        ("kernel_functions", V::Ids(vec![31])),
    ];
    reflection(12, nodes, &lists)
}

#[test]
fn rare_signatures() {
    assert_eq!(
        signature(&rare()),
        r#"struct sphere_out {
    bool  accept   [[accept_intersection]];
    float distance [[distance]];
};
[[intersection(bounding_box, instancing, world_space_data, max_levels<2>)]] sphere_out sphere(
    float3            origin  [[origin]],
    ray_data Payload& payload [[payload]])
kernel void odd(
    /* argument of type 0x4200b (unknown) */)
struct tessellated_control_point {
    float3 p [[attribute(2)]];
};
struct tessellated_in {
    patch_control_point<tessellated_control_point> control_points;
};
[[patch(quad, 16)]]
vertex float4 tessellated(
    tessellated_in in [[stage_in]],
    float2         uv [[position_in_patch]])
[[visible]] plain(/* types are not recorded */)
[[stitchable]] float4 stitched(
    device texture2d<float, access::read_write>& t)
struct meshes_vertex {
    float4 position [[position]];
};
struct meshes_primitive {
    bool culled [[primitive_culled]];
};
[[mesh]] void meshes(
    mesh<V, P, 64, 124, topology::triangle> out)
[[required_threads_per_threadgroup(32, 1, 1)]]
[[max_total_threadgroups_per_mesh_grid(8)]]
[[object]] void objects(
    mesh_grid_properties grid)
extern "C" float4 filter(
    coreimage::sampler image)
"#
    );
}

/// Returns a reflection with one node of every type, with every slot present.
fn everything() -> Vec<u8> {
    let nodes = GROUPS
        .iter()
        .flat_map(|group| group.iter())
        .map(|schema| Tab(vec![Some(V::Number(schema.kind.0)), Some(V::Table(full(&schema.table)))]))
        .collect();
    let lists: Vec<_> = schema::ROOT.slots[2..].iter().map(|slot| (slot.name, any(slot.kind))).collect();
    reflection(3, nodes, &lists)
}

#[test]
fn every_node_type_and_slot() {
    let payload = everything();
    let reflection = Reflection::parse_at(&payload, 0x1235).unwrap();
    assert_eq!(reflection.node_count(), 253);
    for node in reflection.nodes() {
        let node = node.unwrap();
        let schema = &node.kind().schema().unwrap().table;
        let fields: Vec<_> = node.fields().map(|field| field.unwrap().name).collect();
        assert_eq!(fields, schema.slots.iter().map(|slot| slot.name).collect::<Vec<_>>());
    }
    let allocations: Vec<_> = reflection.static_local_allocations().unwrap().map(Result::unwrap).collect();
    assert_eq!(allocations, [LocalAllocation { size: 1, alignment: 1 }; 2]);
    let (unknown, faults, diagnostics) = outline(&reflection);
    assert_eq!((unknown, faults, diagnostics.len()), (0, vec![], 0));
    read_all(&payload, 0x1235);
}

#[test]
fn unknown_types_and_slots_survive() {
    let mut body = table(&NodeType::SAMPLER_ARG.schema().unwrap().table, &[("name", V::Text("s"))]);
    body.0.resize(9, None);
    body.0[8] = Some(V::Number(0x0506_0708));
    let payload = reflection(
        0,
        vec![
            Tab(vec![Some(V::Number(NodeType::SAMPLER_ARG.0)), Some(V::Table(body))]),
            Tab(vec![Some(V::Number(0xbeef)), Some(V::Table(Tab(vec![Some(V::Number(9))])))]),
            Tab(vec![]),
        ],
        &[],
    );
    let reflection = Reflection::parse(&payload).unwrap();
    let fields: Vec<_> = reflection.node(NodeId(0)).unwrap().fields().map(Result::unwrap).collect();
    assert_eq!((fields[1].slot, fields[1].name), (8, UNKNOWN));
    assert!(matches!(fields[1].value, FieldValue::Unknown([8, 7, 6, 5])));
    assert_eq!(reflection.node(NodeId(1)).unwrap().kind().to_string(), "0xbeef (unknown)");
    assert!(reflection.node(NodeId(2)).unwrap().body().is_none());
    let (unknown, faults, diagnostics) = outline(&reflection);
    assert_eq!((unknown, faults), (8, vec![]));
    let rules: Vec<_> = diagnostics.iter().map(|finding| finding.rule).collect();
    assert_eq!(rules, ["reflection-node-type", "reflection-slot"]);
}

#[test]
fn struct_layout() {
    let NodeType(info) = NodeType::STRUCT_TYPE_INFO;
    let FieldKind::Tables(schema) = NodeType(info).schema().unwrap().table.slots[0].kind else { panic!() };
    let payload = reflection(
        0,
        vec![node(
            NodeType::STRUCT_TYPE_INFO,
            &[(
                "fields",
                V::Tables(vec![
                    table(schema, &[("size", V::Number(64)), ("field_name", V::Text("matrix"))]),
                    table(
                        schema,
                        &[
                            ("offset", V::Number(64)),
                            ("struct_type_info", V::Number(0)),
                            ("size", V::Number(16)),
                        ],
                    ),
                ]),
            )],
        )],
        &[],
    );
    let reflection = Reflection::parse(&payload).unwrap();
    let fields: Vec<_> = reflection.struct_fields(NodeId(0)).unwrap().map(Result::unwrap).collect();
    assert_eq!((fields[0].name, fields[0].offset, fields[0].size), (Some(&b"matrix"[..]), 0, 64));
    assert_eq!((fields[1].offset, fields[1].struct_type), (64, Some(NodeId(0))));
}

#[test]
fn types_that_contain_themselves() {
    let payload = reflection(
        0,
        vec![
            node(NodeType::POINTER_TYPE, &[("pointee_type", V::Number(0))]),
            node(
                NodeType::FUNCTION_TYPE,
                &[("return_type", V::Number(1)), ("param_types", V::Ids(vec![1; 100]))],
            ),
        ],
        &[],
    );
    let reflection = Reflection::parse(&payload).unwrap();
    for id in [0, 1] {
        let error = type_name::spell(&reflection, NodeId(id)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
    }
}

#[test]
fn lists_that_multiply() {
    // A long list repeats the same function, whose long list repeats the same argument.
    let nodes = vec![
        node(NodeType::KERNEL_FUNCTION, &[("name", V::Text("f")), ("arguments", V::Ids(vec![1; 4_096]))]),
        node(NodeType::SAMPLER_ARG, &[]),
        node(NodeType::KERNEL_FUNCTION, &[("name", V::Text("g")), ("arguments", V::Ids(vec![1; 4_097]))]),
    ];
    let payload = reflection(0, nodes, &[("kernel_functions", V::Ids(vec![0; 10_000]))]);
    let reflection = Reflection::parse(&payload).unwrap();
    let functions: Vec<_> = reflection.functions().map(|function| function.is_ok()).collect();
    assert!(functions.len() < 30, "{}", functions.len());
    assert_eq!(functions.last(), Some(&false));
    let error = FunctionReflection::of(&reflection, NodeId(2)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
}

#[test]
fn truncated_everywhere() {
    for payload in [kernel(), graphics(), rare()] {
        for length in 0..payload.len() {
            read_all(&payload[..length], 0);
        }
    }
}

#[test]
fn every_byte_changed() {
    for mut payload in [kernel(), graphics(), rare()] {
        for at in 0..payload.len() {
            let byte = payload[at];
            for changed in [0, 0xff, 0x7f, 0x80, byte.wrapping_add(1), byte.wrapping_sub(1)] {
                payload[at] = changed;
                read_all(&payload, 7);
            }
            payload[at] = byte;
        }
    }
}

#[test]
fn every_word_changed() {
    let mut payload = kernel();
    for at in 0..payload.len() - 4 {
        let word: [u8; 4] = payload[at..at + 4].try_into().unwrap();
        for changed in [u32::MAX, i32::MAX as u32, 1 << 31, 0x3fff_ffff, 0u32.wrapping_sub(at as u32)] {
            payload[at..at + 4].copy_from_slice(&changed.to_le_bytes());
            read_all(&payload, u64::MAX - 3);
        }
        payload[at..at + 4].copy_from_slice(&word);
    }
}

#[test]
fn not_a_reflection() {
    for payload in [&b""[..], &[0; 100], b"AIRR", b"\0\0\0AIRR", b"\x08\0\0\0AIRR", b"\x01\0\x08\0\0\0AIRR"] {
        assert!(Reflection::parse(payload).is_err(), "{payload:?}");
    }
}

/// Checks all files of the corpus, and the files in `UNSHADE_REFLECTION_FILES`, separated by colons.
#[test]
fn real_files() {
    let mut paths: Vec<std::path::PathBuf> = Vec::new();
    match std::env::var("UNSHADE_CORPUS") {
        Ok(corpus) => {
            let directory = std::path::Path::new(&corpus).join("metallib");
            for entry in std::fs::read_dir(directory).expect("corpus").flatten() {
                paths.push(entry.path());
            }
        }
        Err(_) => eprintln!("skipped: real reflections (UNSHADE_CORPUS is not set)"),
    }
    if let Ok(more) = std::env::var("UNSHADE_REFLECTION_FILES") {
        paths.extend(more.split(':').map(Into::into));
    }
    let (mut buffers, mut bytes, mut nodes, mut functions) = (0, 0, 0, 0);
    for path in paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "metallib"))
    {
        let file = std::fs::read(path).unwrap();
        for found in reflections(&file) {
            let reflection = Reflection::parse_at(found.payload, found.offset).expect("readable");
            assert_eq!(reflection.buffer().base() % 16, 0);
            let mut names = Vec::new();
            for function in reflection.functions() {
                let function = function.expect("readable");
                names.push(function.name);
                assert_eq!(reflection.function(function.name).unwrap(), Some(function));
            }
            // A dynamic library's shared reflection may contain none of its functions.
            assert!(names.is_empty() || names == found.names, "{}", path.display());
            let (unknown, faults, diagnostics) = outline(&reflection);
            let findings: Vec<_> = diagnostics.iter().map(|finding| finding.error.to_string()).collect();
            assert_eq!((unknown, faults, findings), (0, vec![], vec![]), "{}", path.display());
            buffers += 1;
            bytes += found.payload.len();
            nodes += reflection.node_count();
            functions += names.len();
        }
    }
    println!("{buffers} reflections of {bytes} bytes: {nodes} nodes, {functions} functions, 0 bytes unknown");
    assert!(paths.is_empty() || buffers > 0);
}
