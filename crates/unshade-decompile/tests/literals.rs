//! The text of a constant has the type of C's literal, which need not be that of the value.

use unshade_decompile::ir::text::parse;
use unshade_decompile::{Cache, Options, decompile_module};

/// Returns the statement that stores `v9`, computed from the 32-bit parameters `v1` and `v2`.
fn stored(values: &str) -> String {
    let text = format!(
        "kernel \"store\" shared 0 local 0\nparameter 0 size 8\nparameter 8 size 4\nparameter 12 size 4\nb0 @0x0:\n    \
         v0:64 = parameter 0\n    v1:32 = parameter 8\n    v2:32 = parameter 12\n    {}\n    \
         store.generic v0, v9\n    return\nsigned v1\n",
        values.replace("; ", "\n    ")
    );
    let module = parse(&text).unwrap();
    let found = decompile_module(module, &Options::default(), &mut Cache::default(), &mut |_, _| {});
    let text = found.text();
    text.lines().find(|line| line.contains("*param_1 = ")).unwrap_or(&text).trim().to_owned()
}

#[test]
fn a_choice_of_literals_is_signed() {
    // `>>` of an `int` would copy the sign.
    let choices = "v3:1 = less v2, 9:32; v4:32 = select v3, 6:32, 4:32; v5:1 = less v2, 7:32; v6:32 = select v5, 5:32, 8:32";
    assert_eq!(
        stored(&format!("{choices}; v7:32 = sub v4, v6; v9:32 = shr v7, 24:32")),
        "*param_1 = (unsigned int)(param_3 < 9 ? 6 : 4) - (param_3 < 7 ? 5 : 8) >> 24;"
    );
    // A choice inside of a choice needs no cast.
    let nested = "v3:1 = less v2, 9:32; v4:1 = less v2, 5:32; v5:32 = select v4, 2:32, 3:32";
    assert_eq!(
        stored(&format!("{nested}; v6:32 = select v3, v5, 1:32; v9:32 = urem v6, v2")),
        "*param_1 = (unsigned int)(param_3 < 9 ? (param_3 < 5 ? 2 : 3) : 1) % param_3;"
    );
}

#[test]
fn a_literal_minus_a_signed_number_is_unsigned_where_it_is_used_so() {
    // `|` would copy the sign of an `int` into the upper half.
    assert_eq!(
        stored(
            "v3:32 = leading_zeros v2; v4:32 = sub 31:32, v3; v8:64 = concat v2, v4; v9:64 = urem v8, 9:64"
        ),
        "*param_1 = ((unsigned long long)param_3 << 32 | 31u - __clz(param_3)) % 9;"
    );
    assert_eq!(
        stored("v3:32 = leading_zeros v2; v4:32 = sub 31:32, v3; v9:32 = sub 31:32, v4"),
        "*param_1 = __clz(param_3);"
    );
}

#[test]
fn a_shifted_literal_is_unsigned() {
    let shifted = "v3:32 = and v2, 31:32; v4:32 = shr 5:32, v3; v5:32 = sub v4, v1";
    assert_eq!(
        stored(&format!("{shifted}; v9:32 = shr v5, 24:32")),
        "*param_1 = (5u >> (param_3 & 31)) - param_2 >> 24;"
    );
}

#[test]
fn a_negative_literal_of_64_bits_is_signed() {
    // Beyond `long long`, a literal would have 128 bits.
    assert_eq!(
        stored("v3:64 = sar 0xe5da564598c40848:64, v2; v9:32 = low v3"),
        "*param_1 = (unsigned int)shift_right_signed(-1884098637185415096ll, param_3);"
    );
}

#[test]
fn memory_has_the_type_that_constants_look_like() {
    assert_eq!(stored("v9:32 = or 0:32, 0x3f000000:32"), "*param_1 = 0.5f;");
    assert_eq!(stored("v9:32 = or 0:32, 0x3f3f3f3f:32"), "*param_1 = 0x3f3f3f3f;");
    let choice = |one, other| stored(&format!("v3:1 = less v2, 9:32; v9:32 = select v3, {one}, {other}"));
    assert_eq!(choice("0x3dcccccd:32", "0:32"), "*param_1 = param_3 < 9 ? 0.1f : 0.0f;");
    assert_eq!(choice("0x40000000:32", "7:32"), "*param_1 = param_3 < 9 ? 0x40000000 : 7;");
    // A double whose upper half is chosen.
    assert_eq!(
        stored(
            "v3:1 = less v2, 9:32; v4:32 = select v3, 0x3ff00000:32, 0xbff00000:32; v9:64 = concat v4, 0:32"
        ),
        "*param_1 = param_3 < 9 ? 1.0 : -1.0;"
    );
}
