//! Indices of elements that 32 bits don't hold: C would compute them with the bits of their terms.

use unshade_decompile::ir::text::parse;
use unshade_decompile::{Cache, Options, decompile_module};

/// Returns the statement that stores a byte at `base + index + 3`, where the index is computed from a 32-bit value.
fn stored(value: &str, index: &str) -> String {
    let text = format!(
        "kernel \"store\" shared 0 local 0\nparameter 0 size 8\nparameter 8 size 4\nb0 @0x0:\n    v0:32 = {value}\n    \
         v1:64 = sign_extend v0\n    v2:64 = {index}\n    v3:64 = parameter 0\n    v4:64 = add v2, v3\n    \
         v5:64 = add v4, 3:64\n    store.generic v5, 7:8\n    return\n"
    );
    let module = parse(&text).unwrap();
    let found = decompile_module(module, &Options::default(), &mut Cache::default(), &mut |_, _| {});
    let text = found.text();
    text.lines().find(|line| line.contains("= 7;")).unwrap().trim().to_owned()
}

#[test]
fn products_and_sums_are_wide_where_they_can_overflow() {
    let parameter = "parameter 8";
    assert_eq!(stored(parameter, "mul v1, 12:64"), "param_1[(long long)param_2 * 12 + 3] = 7;");
    assert_eq!(stored(parameter, "mul v1, 1:64"), "param_1[param_2 + 3] = 7;");
    let thread = "special thread_index.x";
    assert_eq!(stored(thread, "mul v1, 12:64"), "param_1[threadIdx.x * 12 + 3] = 7;");
}
