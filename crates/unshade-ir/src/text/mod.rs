//! The textual form of a module: what [`Module`](super::Module) prints as, and [`parse`] reads.
//!
//! ```text
//! kernel "twice" shared 0 local 0
//! parameter 0 size 8 f32*
//! b0 @0x0:
//!     v0:64 = parameter 0
//!     goto b1
//! b1 @0x0 <- b0:
//!     v1:32 = load.generic v0 @0x10
//!     v2:32 = float_add v1, v1 @0x18
//!     store.generic v0, v2 @0x20
//!     return
//! ```
//!
//! The first line has the name, the bytes of memory, and whether subnormal floats are zeros. Then come structures (name, size, members
//! with offset, name, type and counts of dimensions), the type of the result if known, parameters (offset,
//! size, type and name if known), memory objects (name, memory, offset, size, bytes and addresses in them if known), contents of
//! constant banks, functions whose addresses are taken, variables of the source code, symbols, notes, images and callees; then the blocks. A block has
//! its address and its predecessors, in the order of the inputs of its phis. A value has its width in bits, the number of its lanes if it is a vector (`v1:32 x4`), its operator,
//! its inputs, and the address of its instruction; one without a result has no number. Constants are written where they are used, with their width: `5:32`.
//! After the blocks are values of variables of the source code. Values with effects are in their order; others have none, and precede their uses where they can. Numbers of blocks
//! and values are those of the text: a block that was removed and a value that nothing uses have none.

mod cursor;
mod layout;
mod parse;
mod print;

pub use cursor::TextError;
pub use parse::parse;
pub use print::describe;

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"kernel "loop" shared 64 local 8 threads 256 flushes
structure t0 "float2" size 8 builtin (0 "x" f32, 4 "y" f32)
structure t1 "Node" size 32 (0 "at" t0, 8 "rows" i32[2][2], 24 "next" t1*)
structure t2 "" size 0 ()
result f32
parameter 0 size 8 f32*
parameter 8 size 4 i32 "count"
parameter 12 size 4 "rest"
object "table" constant.3 offset 16 size 8 bytes 0100ff
object "places" global offset 0 size 16 pointers [0 "table" 4, 8 "twice" -8]
object "picture" texture offset 32 size 4
constants 2 0000803f
pointed "twice" words 1 f32 (0 size 4 f32)
variable x0 "i" i32
variable x1 "table"
variable x2 "tile" f32[16][17] in shared offset 64 size 1088 symbol
variable x3 "rest" in local offset 8 size 24
symbol s0 "a \"name\"\n"
note n0 "BAR.SCAN"
image i0 sample 2d s0 4x32 trap
image i1 surface 1d_array 1x8 signed clamp
callee c0 "twice" words 1 f32 (0 size 4 f32)
callee c1 "" words 0 (0 size 8, 8 size 4 i32)
callee c2 "none" words 2 ()
b0 @0x0:
    v0:32 = special thread_index.x
    v1:64 = parameter 0 @0x8
    v2:64 = symbol s0
    goto b1
b1 @0x10 <- b0, b2:
    v3:32 = phi 0:32, v9
    v4:1 = less v3, 0x100:32 @0x18
    branch v4, b2, b3
b2 @0x20 <- b1:
    v5:128 = image_read i0 v3, v3 @0x28
    v6:32 = result.2 v5
    v7:32 = call fma.f32.nearest v6, v6, v0
    unlifted n0 v7 @0x30
    v8:32 = call atomic.add.u32 v2, v7
    store.shared v3, v8
    v9:32 = add v3, 1:32
    goto b1
b3 @0x40 <- b1:
    switch v0 [0: b4, 1: b5] b4
b4 @0x48 <- b3:
    v10:32 = load.constant.3 16:32
    volatile store.generic v1, v10
    v11:32 = invoke c0 v10 @0x50
    return_value v11
    return
b5 @0x50 <- b3:
    return
named x0 v3
named x1 0x100:64
signed v0
"#;

    #[test]
    fn text_prints_as_it_was_read() {
        assert_eq!(parse(TEXT).unwrap().to_string(), TEXT);
    }

    #[test]
    fn vectors_and_operations_of_shaders_have_a_form() {
        let text = "kernel \"main\" shared 0 local 0\nb0 @0x0:\n    v0:32 = shader load_input 0:32, 0:32, 0:32, 0:32\n    \
                    v1:32 x4 = vector v0, v0, v0, v0\n    v2:32 x2 = lanes.3.1 v1\n    v3:32 x2 = precise float_add v2, v0\n    \
                    shader store_output 0:32, 0:32, 0:32, v3\n    return\n";
        let module = parse(text).unwrap();
        assert_eq!(module.to_string(), text);
        assert_eq!(crate::verify::verify(&module.function), Vec::<String>::new());
    }

    #[test]
    fn comments_and_spaces_are_skipped_and_numbers_are_names() {
        let text = "; comment\nfunction \"f\"  shared 0 local 0\n\nb7 @0x0:\n  v9:32=phi none\n v3 : 32 = add v9,v9\n branch v3, b7, b7";
        let printed = parse(text).unwrap().to_string();
        assert!(
            printed
                .ends_with("b0 @0x0:\n    v0:32 = phi none\n    v1:32 = add v0, v0\n    branch v1, b0, b0\n")
        );
    }

    #[test]
    fn errors_have_a_line_and_a_column() {
        let error = |text: &str| parse(text).unwrap_err().to_string();
        let body = |line: &str| error(&format!("kernel \"f\" shared 0 local 0\nb0 @0x0:\n    {line}\n"));
        assert_eq!(error(""), "line 1, column 1: expected `kernel` or `function`");
        assert_eq!(body("v0:32 = ad 1:32"), "line 3, column 13: unknown operator `ad`");
        assert_eq!(body("return\n    return"), "line 4, column 5: the block has ended");
        assert_eq!(body("v0:32 = neg v1\n    return"), "line 3, column 17: there is no v1");
        assert_eq!(body("v0:300 = neg 1:32"), "line 3, column 8: expected a width from 1 to 128");
        assert_eq!(body("goto b1"), "line 3, column 10: there is no b1");
        assert_eq!(body("store.shared 1:32, v0 @5"), "line 3, column 28: expected a number in hexadecimal");
    }

    #[test]
    fn every_prefix_and_every_changed_byte_is_an_error_or_a_module() {
        for end in 0..TEXT.len() {
            if let Ok(module) = parse(&TEXT[..end]) {
                let _ = module.to_string();
            }
        }
        for at in 0..TEXT.len() {
            for other in ["0", "v", "\"", ":", "9999999999", "\n", "\u{e9}"] {
                let text = [&TEXT[..at], other, &TEXT[at + 1..]].concat();
                if let Ok(module) = parse(&text) {
                    let printed = module.to_string();
                    assert_eq!(parse(&printed).map(|module| module.to_string()), Ok(printed));
                }
            }
        }
    }
}
