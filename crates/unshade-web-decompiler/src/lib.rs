//! The decompiler and the emulator for a page: a module beside `unshade-web`, which the page loads when decompiled text
//! is asked for, or something is run, for the first time.
//!
//! The crate is empty for everything but WebAssembly. Its only `unsafe` is what wasm-bindgen writes.

#![cfg(target_family = "wasm")]

#[path = "../../unshade-web/src/tables.rs"]
mod tables;

use js_sys::{Function, Object, Reflect, Uint8Array};
use unshade::query::{DecompilerInput, decompile_json, response_json, run_answer};
use unshade::run::RunJob;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = performance, js_name = now)]
    fn performance_now() -> f64;
}

/// Sets where instruction sets are read from, as the constructor of `unshade-web`'s `Workspace` does.
#[wasm_bindgen]
pub fn set_tables(tables: Function) {
    tables::set(tables);
}

/// Decompiles the function of a symbol of a cubin, a shader, which has no symbol, or a module of bitcode, whose number is the
/// symbol. The first byte is at offset `base`.
/// Returns JSON for `unshade-web`.
#[wasm_bindgen]
pub fn decompile(program: &[u8], base: f64, symbol: Option<u32>) -> String {
    decompile_json(&DecompilerInput { program, base: base.clamp(0.0, 9e15) as u64, symbol })
}

/// Runs what `run_job` of `unshade-web` returned. Returns the JSON of the answer.
#[wasm_bindgen]
pub fn run(job: &Object) -> String {
    let get = |name: &str| Reflect::get(job, &JsValue::from_str(name)).unwrap_or(JsValue::UNDEFINED);
    let bytes =
        |value: JsValue| value.dyn_into::<Uint8Array>().map(|bytes| bytes.to_vec()).unwrap_or_default();
    let number = |value: JsValue| value.as_f64().map(|number| number.clamp(0.0, 9e15) as u64);
    let mut parsed = RunJob {
        program: bytes(get("program")),
        base: number(get("base")),
        module: number(get("module")).unwrap_or(0) as u32,
        kernel: get("kernel").as_string().unwrap_or_default(),
        ..RunJob::default()
    };
    let files = get("files").as_string().unwrap_or_default();
    for file in files.split(' ').filter_map(|file| file.parse::<u32>().ok()) {
        parsed.files.insert(file, bytes(get(&format!("file {file}"))));
    }
    let answer = match get("launch").as_string() {
        Some(json) => parsed.set_launch_json(&json),
        None => Ok(()),
    };
    response_json(answer.and_then(|()| run_answer(&parsed, performance_now, || false)))
}
