//! The editor for a page: a module beside `unshade-web`, with the assemblers and writers of all formats, which the page
//! loads when a program is edited for the first time.
//!
//! The crate is empty for everything but WebAssembly. Its only `unsafe` is what wasm-bindgen writes.

#![cfg(target_family = "wasm")]

#[path = "../../unshade-web/src/tables.rs"]
mod tables;

use js_sys::{Array, Function, Uint8Array};
use unshade::query::{EditorInput, edit_program_json};
use wasm_bindgen::prelude::*;

/// Sets where instruction sets are read from, as the constructor of `unshade-web`'s `Workspace` does.
#[wasm_bindgen]
pub fn set_tables(tables: Function) {
    tables::set(tables);
}

/// Makes an edit, which is JSON, of a program whose first byte is at offset `base`; `null` asks for its YAML. Returns an
/// array for `unshade-web`: the answer as JSON, and the bytes of the new program.
#[wasm_bindgen]
pub fn edit(program: &[u8], base: f64, edit: &str) -> Array {
    let input = EditorInput { program, base: base.clamp(0.0, 9e15) as u64, edit };
    let (json, bytes) = edit_program_json(&input);
    Array::of2(&JsValue::from_str(&json), &Uint8Array::from(&bytes[..]))
}
