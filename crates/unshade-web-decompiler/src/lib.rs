//! The decompiler for a page: a module beside `unshade-web`, which the page loads when decompiled text is asked for
//! the first time.
//!
//! The crate is empty for everything but WebAssembly. Its only `unsafe` is what wasm-bindgen writes.

#![cfg(target_family = "wasm")]

use js_sys::{Function, Uint8Array};
use std::cell::RefCell;
use unshade::query::{DecompilerInput, decompile_json};
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

/// Decompiles the function of a symbol of a cubin, a shader, which has no symbol, or a module of bitcode, whose number is the
/// symbol. The first byte is at offset `base`.
/// Returns JSON for `unshade-web`.
#[wasm_bindgen]
pub fn decompile(program: &[u8], base: f64, symbol: Option<u32>) -> String {
    decompile_json(&DecompilerInput { program, base: base.clamp(0.0, 9e15) as u64, symbol })
}

fn read_tables(name: &str) -> Option<Vec<u8>> {
    let read = TABLES.with_borrow(Clone::clone)?;
    let bytes = read.call1(&JsValue::NULL, &JsValue::from_str(name)).ok()?;
    bytes.dyn_into::<Uint8Array>().ok().map(|bytes| bytes.to_vec())
}
