//! The tables of instruction sets, which a module of the page reads when it needs them. Each module of the page has this
//! file: modules share no memory.

use js_sys::{Function, Uint8Array};
use std::cell::RefCell;
use wasm_bindgen::prelude::*;

thread_local! {
    /// The function that reads tables of instruction sets.
    static TABLES: RefCell<Option<Function>> = const { RefCell::new(None) };
}

/// Sets the function that returns a `Uint8Array` with the packed instruction sets of a family of chips, or `undefined`.
pub(crate) fn set(tables: Function) {
    TABLES.set(Some(tables));
    unshade::sass::isa::set_loader(read);
}

fn read(name: &str) -> Option<Vec<u8>> {
    let read = TABLES.with_borrow(Clone::clone)?;
    let bytes = read.call1(&JsValue::NULL, &JsValue::from_str(name)).ok()?;
    bytes.dyn_into::<Uint8Array>().ok().map(|bytes| bytes.to_vec())
}
