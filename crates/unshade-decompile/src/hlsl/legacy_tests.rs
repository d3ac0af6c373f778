//! Tests with programs of Direct3D 9, assembled from text.

use super::Hlsl;

fn printed(text: &str) -> Hlsl {
    let program = unshade_dxbc::d3d9::assemble(text).unwrap();
    let hlsl = super::print(crate::d3d9::lift(&program).unwrap());
    assert_eq!(hlsl.unknown, Vec::<String>::new(), "{}", hlsl.text());
    hlsl
}

/// Checks that the text of a program has some lines.
fn has(text: &str, lines: &[&str]) {
    let found = printed(text).text();
    for line in lines {
        assert!(found.lines().any(|one| one.trim() == *line), "no {line:?} in\n{found}");
    }
}

#[test]
fn samplers_are_one_thing() {
    has(
        "ps_2_0\ndcl t0.xy\ndcl_2d s1\ntexld r0, t0, s1\nmul r0, r0, c3\nmov oC0, r0\n",
        &[
            "float4 c3 : register(c3);",
            "sampler2D s1 : register(s1);",
            "float4 main(float2 texcoord : TEXCOORD0) : COLOR0",
            "return tex2D(s1, texcoord) * c3;",
        ],
    );
}

#[test]
fn coordinates_hold_bias_level_and_divisor() {
    has(
        "ps_3_0\ndcl_texcoord v0\ndcl_2d s0\ndcl_cube s1\ntexldb r0, v0, s0\ntexldl r1, v0, s1\ntexldp r2, v0, s0\n\
         add r0, r0, r1\nadd oC0, r0, r2\n",
        &["float4 v0 = tex2Dbias(s0, texcoord);", "float4 v1 = texCUBElod(s1, texcoord);"],
    );
    let text = printed("ps_2_0\ndcl t0\ndcl_2d s0\ntexldp r0, t0, s0\nmov oC0, r0\n").text();
    assert!(text.contains("tex2Dproj(s0, texcoord)"), "{text}");
}

#[test]
fn numbers_are_floats() {
    // A selection between constants has no kind of its own.
    has(
        "ps_2_0\ndef c1, 0, 1, 0, 0\ndcl t0\ncmp r0, t0.x, c1.x, c1.y\nmov oC0, r0\n",
        &["float v0 = 0.0 <= texcoord.x ? 0.0 : 1.0;"],
    );
}

#[test]
fn magnitudes_are_implied() {
    let text = printed("ps_2_0\ndcl t0\nrsq r0, t0.x\nlog r1, t0.y\nadd r0, r0, r1\nmov oC0, r0\n").text();
    assert!(text.contains("rsqrt(texcoord.x)") && text.contains("log2(texcoord.y)"), "{text}");
}

#[test]
fn products_with_a_sum_keep_their_order() {
    let text = printed(
        "ps_2_0\ndcl t0\ndcl t1\nmul r0, t0, c0\nmad r0, t1, c1, r0\nmad r0, t0, c2, r0\nmov oC0, r0\n",
    );
    assert!(text.text().contains("texcoord * c2 + (texcoord1 * c1 + texcoord * c0)"), "{}", text.text());
}

#[test]
fn loops_count_up_to_a_constant() {
    has(
        "ps_3_0\ndcl_texcoord v0\nmov r0, v0\nrep i3\nmul r0, r0, v0\nendrep\nmov oC0, r0\n",
        &["int i3 : register(i3);", "[loop] while (n0 < i3)"],
    );
}

#[test]
fn addresses_choose_elements() {
    has(
        "vs_2_0\ndcl_position v0\ndcl_blendindices v1\nmova a0.x, v1.x\nadd oPos, v0, c4[a0.x]\n",
        &[
            "float4 c4[252] : register(c4);",
            "float4 main(float4 position : POSITION0, int4 blendindices : BLENDINDICES0) : POSITION0",
        ],
    );
}

#[test]
fn defined_constants_may_be_an_array() {
    has(
        "vs_2_0\ndef c1, 1, 2, 3, 4\ndef c2, 5, 6, 7, 8\ndcl_position v0\nmova a0.x, v0.x\nadd oPos, v0, c1[a0.x]\n",
        &["static const float4 table[2] = { { 1.0, 2.0, 3.0, 4.0 }, { 5.0, 6.0, 7.0, 8.0 } };"],
    );
}

#[test]
fn pixels_are_clipped() {
    has("ps_2_0\ndcl t0\ntexkill t0\nmov oC0, t0\n", &["clip(texcoord.xyzw);"]);
}

#[test]
fn truth_values_are_conditions() {
    has(
        "ps_3_0\ndcl_texcoord v0\nmov r0, v0\nif b2\nmul r0, r0, r0\ntexkill r0\nendif\nmov oC0, r0\n",
        &["bool b2 : register(b2);", "if (!b2)"],
    );
}

#[test]
fn coordinates_of_version_1_are_computed() {
    let hlsl = printed("ps_1_1\ntex t0\ntexm3x2pad t1, t0\ntexm3x2tex t2, t0\nmov r0, t2\n");
    assert_eq!(hlsl.profile, "ps_2_0");
    let text = hlsl.text();
    assert!(text.contains("sampler2D s2 : register(s2);") && text.matches("dot(").count() == 2, "{text}");
    has(
        "ps_1_1\ntex t0\ntexbem t1, t0\nmov r0, t1\n",
        &["float4 bump_matrix1 : register(c10);", "// bump_matrix1 is state of a texture stage"],
    );
}

#[test]
fn predicated_outputs_keep_what_they_were() {
    let text =
        printed("ps_3_0\ndcl_texcoord v0\nmov oC0, v0\nsetp_gt p0, v0, c0.x\n(p0) mov oC0, c1\n").text();
    assert!(text.contains("c0.x < texcoord ? c1 : texcoord"), "{text}");
}

#[test]
fn infinities_are_reported() {
    let text = "ps_2_0\ndcl t0\ndef c0, 1, 0, 0, 0\nmul r0, t0, c0.x\nmov oC0, r0\n";
    let mut program = unshade_dxbc::d3d9::assemble(text).unwrap();
    for instruction in &mut program.instructions {
        for value in instruction.values.iter_mut().filter(|value| **value == 1_f32.to_bits()) {
            *value = f32::INFINITY.to_bits();
        }
    }
    let hlsl = super::print(crate::d3d9::lift(&program).unwrap());
    assert_eq!(hlsl.unknown, ["the number inf"]);
}
