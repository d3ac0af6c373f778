//! Tests on the textual form: what memories are in C.

use crate::ir::text::parse;
use crate::{Cache, Options, decompile_module};

/// Returns the lines of the decompiled body, with single spaces.
fn decompiled(head: &str, body: &str, options: &Options) -> String {
    let text = format!("kernel \"f\" {head}\nb0 @0x0:\n{body}    return\n");
    let module = parse(&text).expect("it is a module");
    let found = decompile_module(module, options, &mut Cache::default(), &mut |_, _| {});
    found.text().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn shown(head: &str, body: &str) -> String {
    decompiled(head, body, &Options::default())
}

/// A kernel that reads a pointer and an index.
const START: &str = "    v0:64 = parameter 0\n    v1:32 = special thread_index.x\n";

#[test]
fn words_that_are_copied_together_are_a_structure() {
    // The words are loaded before the first is stored, the last one first; then one is a number of its own.
    let body = "    v2:64 = add v0, 4:64\n    v3:32 = load.generic v0\n    v4:32 = load.generic v2\n    \
                store.local 12:32, v4\n    store.local 8:32, v3\n    v5:32 = load.local 12:32\n    \
                v6:32 = float_add v5, v5\n    store.local 4:32, v6\n    v7:32 = load.local 8:32\n    \
                v8:32 = load.local 4:32\n    v9:32 = float_mul v7, v8\n    store.generic v0, v9\n";
    let text = shown("shared 0 local 16\nparameter 0 size 8", &format!("{START}{body}"));
    assert!(
        text.contains("struct { unsigned char padding_0[4]; float at_4; float2 at_8; } local;"),
        "{text}"
    );
    assert!(text.contains("local.at_8.y = "), "{text}");
}

#[test]
fn words_that_are_copied_one_after_the_other_are_numbers() {
    let body = "    v2:64 = add v0, 4:64\n    v3:32 = load.generic v0\n    store.local 8:32, v3\n    \
                v4:32 = load.generic v2\n    store.local 12:32, v4\n    v5:32 = load.local 12:32\n    \
                v6:32 = load.local 8:32\n    v7:32 = float_mul v5, v6\n    store.generic v0, v7\n";
    let text = shown("shared 0 local 16\nparameter 0 size 8", &format!("{START}{body}"));
    assert!(text.contains("float at_8, at_12; } local;"), "{text}");
}

#[test]
fn an_index_reaches_up_to_bytes_of_another_kind() {
    // `a[i]`, and a number of 8 bytes after it.
    let body = "    v2:32 = shl v1, 2:32\n    v3:32 = load.generic v0\n    store.local v2, v3\n    \
                v4:64 = load.generic v0\n    store.local 32:32, v4\n    v5:32 = load.local 4:32\n    \
                v6:32 = float_add v5, v5\n    v7:64 = load.local 32:32\n    v8:64 = add v7, 1:64\n    \
                store.generic v0, v8\n    store.generic v0, v6\n";
    let text = shown("shared 0 local 40\nparameter 0 size 8", &format!("{START}{body}"));
    assert!(text.contains("struct { float at_0[8]; unsigned long long at_32; } local;"), "{text}");
    assert!(text.contains("local.at_0[threadIdx.x]"), "{text}");
}

#[test]
fn two_arrays_that_look_like_one_are_one() {
    // `a[i]` and `b[i]`, or `a[i + 4]`: the memory stays an array, in which no access moves.
    let body = "    v2:32 = shl v1, 2:32\n    v3:32 = add v2, 16:32\n    v4:32 = load.generic v0\n    \
                store.local v2, v4\n    v5:32 = load.local v3\n    store.generic v0, v5\n";
    let text = shown("shared 0 local 32\nparameter 0 size 8", &format!("{START}{body}"));
    assert!(text.contains("unsigned int local[8];"), "{text}");
    assert!(text.contains("local[threadIdx.x + 4]"), "{text}");
}

const TILES: &str = "shared 1088 local 0\nparameter 0 size 8\n\
                     variable x0 \"tile\" in shared offset 0 size 1024 symbol\n\
                     variable x1 \"sums\" in shared offset 1024 size 64 symbol";

#[test]
fn scales_give_the_dimensions_of_known_variables() {
    let body = "    v2:32 = special thread_index.y\n    v3:32 = mul v2, 64:32\n    v4:32 = shl v1, 2:32\n    \
                v5:32 = add v3, v4\n    v6:32 = load.generic v0\n    v7:32 = float_add v6, v6\n    \
                store.shared v5, v7\n    v8:32 = add v4, 1024:32\n    store.shared v8, v7\n";
    let text = shown(TILES, &format!("{START}{body}"));
    assert!(text.contains("struct { float tile[16][16]; float sums[16]; } shared;"), "{text}");
    assert!(text.contains("shared.tile[threadIdx.y][threadIdx.x] = "), "{text}");
    assert!(text.contains("shared.sums[threadIdx.x] = "), "{text}");
}

#[test]
fn an_index_may_lead_past_the_end_of_a_variable() {
    // The last word of `tile` and the word after it, at the same index.
    let body = "    v2:32 = shl v1, 2:32\n    v3:32 = add v2, 1020:32\n    v4:32 = load.generic v0\n    \
                v5:32 = float_add v4, v4\n    store.shared v3, v5\n    v6:32 = add v2, 1024:32\n    \
                v7:32 = load.shared v6\n    store.generic v0, v7\n";
    let text = shown(TILES, &format!("{START}{body}"));
    // Both are in one structure, in which `sums` follows `tile`.
    assert!(text.contains("struct { float tile[256]; float sums[16]; } shared;"), "{text}");
    assert!(text.contains("shared.tile[threadIdx.x + 255] = "), "{text}");
}

const NAMED: &str = "shared 0 local 16\nparameter 0 size 8\n\
                     variable x0 \"pair\" f32[2] in local offset 0 size 8\n\
                     variable x1 \"count\" i32 in local offset 8 size 4";

#[test]
fn debugging_information_gives_names_and_types() {
    let body = "    v2:32 = load.generic v0\n    store.local 4:32, v2\n    store.local 8:32, v1\n    \
                v3:32 = load.local 8:32\n    v4:32 = load.local 4:32\n    v5:64 = add v0, 4:64\n    \
                store.generic v0, v4\n    store.generic v5, v3\n";
    let body = format!("{START}{body}");
    let text = shown(NAMED, &body);
    assert!(text.contains("struct { float pair[2]; int count;"), "{text}");
    assert!(text.contains("local.pair[1]"), "{text}");
    // Held back, they leave no trace.
    let options = Options { without_source: true, ..Options::default() };
    let text = decompiled(NAMED, &body, &options);
    assert!(!text.contains("pair") && !text.contains("count"), "{text}");
}
