//! Tests of declarations: resources, constant buffers, structures.

use crate::hlsl::print;
use crate::ir::shader::data_type::{DataType, Scalar, StructField, StructType};
use crate::ir::shader::interface::{
    Binding, Resource, ResourceClass, ShaderFunction, ShaderProgram, Shape, Stage,
};

fn field(name: &str, offset: u32, ty: DataType) -> StructField {
    StructField { name: name.into(), offset, ty, semantic: None, access: None }
}

/// Returns a program with a constant buffer of these members.
fn program(name: &str, register: u32, fields: Vec<StructField>) -> ShaderProgram {
    let mut program = ShaderProgram::new(Stage::Pixel, (5, 0));
    let size = 16 * fields.len() as u32;
    let whole = program.structs.push(StructType { name: name.into(), size, fields });
    program.resources.push(Resource {
        name: name.into(),
        binding: Some(Binding { register, space: 0, count: Some(1) }),
        element: Some(DataType::Struct(whole)),
        size,
        has_register: false,
        ..Resource::new(ResourceClass::ConstantBuffer, Shape::ConstantBuffer)
    });
    let mut entry =
        ShaderFunction { name: "main".into(), stage: Some(Stage::Pixel), ..ShaderFunction::default() };
    entry.function.block(0);
    program.functions.push(entry);
    program
}

#[test]
fn members_have_initial_values() {
    let mut program = program("$Globals", 0, vec![field("scale", 0, DataType::Vector(Scalar::FLOAT, 2))]);
    let buffer = program.resources.iter_mut().next().unwrap();
    buffer.initial_values.insert(0, vec![0x3f80_0000, 0x4000_0000]);
    let text = print(program).text();
    assert!(text.starts_with("float2 scale = { 1.0, 2.0 };\n"), "{text}");
}

#[test]
fn global_variables_keep_a_register_that_is_not_the_first() {
    let text = print(program("$Globals", 1, vec![field("scale", 0, DataType::Scalar(Scalar::FLOAT))])).text();
    assert!(text.contains("cbuffer reserved_b0 : register(b0)\n"), "{text}");
    assert!(text.contains("\nfloat scale;\n"), "{text}");
}

#[test]
fn uniform_parameters_are_parameters() {
    let text = print(program("$Params", 0, vec![field("scale", 0, DataType::Scalar(Scalar::FLOAT))])).text();
    assert!(text.contains("void main(uniform float scale)"), "{text}");
    assert!(!text.contains("cbuffer"), "{text}");
}

#[test]
fn structures_inherit_members() {
    let mut program = program("$Globals", 0, Vec::new());
    let base = StructType {
        name: "Base".into(),
        size: 4,
        fields: vec![field("a", 0, DataType::Scalar(Scalar::FLOAT))],
    };
    let base = program.structs.push(base);
    let fields =
        vec![field("$super", 0, DataType::Struct(base)), field("b", 4, DataType::Scalar(Scalar::FLOAT))];
    let own = StructType { name: "Own".into(), size: 8, fields };
    let own = program.structs.push(own);
    let whole = program.structs.iter_mut().next().unwrap();
    whole.fields.push(field("own", 0, DataType::Struct(own)));
    let text = print(program).text();
    assert!(text.contains("struct Own : Base\n{\n    float b;\n};"), "{text}");
    assert!(text.contains("\nOwn own;\n"), "{text}");
}

#[test]
fn fxc_takes_orders_of_matrices_by_name() {
    let matrix = DataType::Matrix { scalar: Scalar::INT, rows: 2, columns: 2, is_row_major: true };
    let declared = |model| {
        let mut program = ShaderProgram::new(Stage::Compute, model);
        for register in 0..2 {
            program.resources.push(Resource {
                binding: Some(Binding { register, space: 0, count: Some(1) }),
                element: Some(matrix.clone()),
                ..Resource::new(ResourceClass::UnorderedAccess, Shape::StructuredBuffer)
            });
        }
        print(program).text()
    };
    assert_eq!(
        declared((5, 0)),
        "typedef row_major int2x2 row_major_int2x2;\n\
         RWStructuredBuffer<row_major_int2x2> u0 : register(u0);\n\
         RWStructuredBuffer<row_major_int2x2> u1 : register(u1);\n\n"
    );
    assert!(declared((6, 0)).starts_with("RWStructuredBuffer<row_major int2x2> u0"), "{}", declared((6, 0)));
}

/// Returns a texture with a name and a register.
fn texture(name: &str, register: u32) -> Resource {
    Resource {
        name: name.into(),
        binding: Some(Binding { register, space: 0, count: Some(1) }),
        has_register: false,
        ..Resource::new(ResourceClass::ShaderResource, Shape::Texture2D)
    }
}

/// Returns a program with a variable whose type is a structure with a constant and, by their paths, textures.
fn lit(register: u32) -> ShaderProgram {
    let mut program = program("$Globals", 0, Vec::new());
    let fields = vec![field("color", 0, DataType::Vector(Scalar::FLOAT, 4))];
    let light = program.structs.push(StructType { name: "Light".into(), size: 16, fields });
    let whole = program.structs.iter_mut().next().unwrap();
    whole.fields.push(field("light", 0, DataType::Struct(light)));
    program.resources.push(texture("light.maps.0", register));
    program.resources.push(texture("light.maps.1", register + 1));
    program
}

#[test]
fn resources_are_members_of_structures_with_constants() {
    let text = print(lit(0)).text();
    assert!(text.contains("float4 color;\n    Texture2D<float4> maps[2];\n};"), "{text}");
    assert!(!text.contains("light_maps"), "{text}");
    // The compiler would give them the registers 0 and 1.
    let text = print(lit(3)).text();
    assert!(text.contains("Texture2D<float4> light_maps_0 : register(t3);"), "{text}");
}

#[test]
fn namespaces_hold_declarations() {
    let mut program = program("$Globals", 0, vec![field("A::scale", 0, DataType::Scalar(Scalar::FLOAT))]);
    program.resources.push(texture("A::B::map", 0));
    let text = print(program).text();
    assert!(text.contains("namespace A { float scale; }\n"), "{text}");
    assert!(text.contains("namespace A { namespace B { Texture2D<float4> map; } }\n"), "{text}");
}
