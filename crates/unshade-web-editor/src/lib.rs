//! The editor for a page: a module beside `unshade-web`, with the assemblers and writers of all formats, which the page
//! loads when a program is edited for the first time.
//!
//! The crate is empty for everything but WebAssembly. Its only `unsafe` is what wasm-bindgen writes.

#![cfg(target_family = "wasm")]

use js_sys::{Array, Function, Uint8Array};
use std::cell::RefCell;
use unshade::query::{EditorInput, edit_program_json};
use wasm_bindgen::prelude::*;

thread_local! {
    /// The function that reads tables of instruction sets.
    static TABLES: RefCell<Option<Function>> = const { RefCell::new(None) };
}

/// Sets where instruction sets are read from, as the constructor of `unshade-web`'s `Workspace` does.
#[wasm_bindgen]
pub fn set_tables(tables: Function) {
    TABLES.set(Some(tables));
    unshade::sass::isa::set_loader(read_tables);
}

/// Makes an edit, which is JSON, of a program whose first byte is at offset `base`; `null` asks for its YAML. Returns an array for `unshade-web`: the
/// answer as JSON, and the bytes of the new program.
#[wasm_bindgen]
pub fn edit(program: &[u8], base: f64, edit: &str) -> Array {
    let input = EditorInput { program, base: base.clamp(0.0, 9e15) as u64, edit };
    let (json, bytes) = edit_program_json(&input);
    Array::of2(&JsValue::from_str(&json), &Uint8Array::from(&bytes[..]))
}

fn read_tables(name: &str) -> Option<Vec<u8>> {
    let read = TABLES.with_borrow(Clone::clone)?;
    let bytes = read.call1(&JsValue::NULL, &JsValue::from_str(name)).ok()?;
    bytes.dyn_into::<Uint8Array>().ok().map(|bytes| bytes.to_vec())
}
