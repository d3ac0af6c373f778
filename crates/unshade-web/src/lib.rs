//! The query API for a page: a workspace that a worker holds, asked in JSON (`docs/query.md`).
//!
//! A function of the page reads parts of a `File` synchronously, as workers can. Sessions may be sent between threads
//! elsewhere and JavaScript functions may not, so a session holds the number of its function in a table.
//!
//! The crate is empty for everything but WebAssembly. Its only `unsafe` is what wasm-bindgen writes.

#![cfg(target_family = "wasm")]

mod tables;

use js_sys::{Array, Function, Object, Reflect, Uint8Array};
use std::cell::RefCell;
use unshade::query::{
    self, Answer, DecompiledText, DecompilerInput, EditorInput, EditorOutput, Extract, Fault, Request,
    Session, Source, fault_json, parse_decompiled, parse_edited, parse_request,
};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = performance, js_name = now)]
    fn performance_now() -> f64;
}

thread_local! {
    /// The functions that read files, by the number of the file.
    static READERS: RefCell<Vec<Option<Function>>> = const { RefCell::new(Vec::new()) };
    /// The function that decompiles.
    static DECOMPILER: RefCell<Option<Function>> = const { RefCell::new(None) };
    /// The function that edits.
    static EDITOR: RefCell<Option<Function>> = const { RefCell::new(None) };
}

/// Files that are open.
#[wasm_bindgen]
#[derive(Default)]
pub struct Workspace {
    files: query::Workspace,
    /// By file, the number of the function that reads it.
    readers: Vec<usize>,
}

#[wasm_bindgen]
impl Workspace {
    /// Returns a workspace without files. `tables(name)` returns a `Uint8Array` with the packed instruction sets of a family
    /// of chips, or `undefined`; without it, no machine code is read. `decompile(program, base, symbol)` returns the text of the
    /// function of that name in `unshade-web-decompiler`; without it, nothing is decompiled.
    /// `edit(program, base, edit)` returns the array of the function of that name in `unshade-web-editor`; without it, nothing is
    /// edited.
    #[wasm_bindgen(constructor)]
    pub fn new(tables: Option<Function>, decompile: Option<Function>, edit: Option<Function>) -> Self {
        DECOMPILER.set(decompile);
        EDITOR.set(edit);
        if let Some(tables) = tables {
            tables::set(tables);
        }
        Self::default()
    }

    /// Opens a file of this name and size. `read(offset, length)` returns a `Uint8Array` of `length` bytes; it is called
    /// only while this or `handle` runs. Returns `{"schema":1,"file":number}`, or an error.
    pub fn open(&mut self, name: &str, size: f64, read: Function) -> String {
        let number = READERS.with_borrow_mut(|readers| {
            readers.push(Some(read));
            readers.len() - 1
        });
        let size = size.clamp(0.0, 9e15) as u64;
        let reader = move |offset: u64, into: &mut [u8]| read_range(number, offset, into);
        match Source::ranged(size, Box::new(reader)) {
            Ok(source) => {
                self.readers.push(number);
                let file = self.files.open(
                    Session::new(name, source)
                        .with_clock(performance_now)
                        .with_decompiler(decompile_elsewhere)
                        .with_editor(edit_elsewhere),
                );
                format!("{{\"schema\":1,\"file\":{file}}}")
            }
            Err(fault) => {
                forget(number);
                fault_json(&fault)
            }
        }
    }

    /// Closes a file and frees its memory.
    pub fn close(&mut self, file: u32) {
        self.files.close(file);
        self.readers.get(file as usize).copied().map(forget);
    }

    /// Answers a request.
    pub fn handle(&mut self, request: &str) -> String {
        self.files.handle_json(request)
    }

    /// Returns the bytes that an `extract` request asks for; throws the JSON of an error. `handle` returns their name for
    /// the same request.
    pub fn handle_bytes(&mut self, request: &str) -> Result<Vec<u8>, JsValue> {
        let taken = parse_request(request).and_then(|request| match request {
            Request::Extract(extract) => self.take(&extract),
            _ => Err(Fault::new("only `extract` returns bytes")),
        });
        taken.map_err(|fault| JsValue::from_str(&fault_json(&fault)))
    }

    /// Returns what `run` of `unshade-web-decompiler` needs for a `run` or `parameters` request; throws the JSON of an error.
    pub fn run_job(&mut self, request: &str) -> Result<Object, JsValue> {
        let job = parse_request(request).and_then(|request| match request {
            Request::Run(run) => self.files.run_job(&run),
            Request::Parameters(request) => self.files.parameters_job(&request),
            _ => Err(Fault::new("this request runs nothing")),
        });
        let job = job.map_err(|fault| JsValue::from_str(&fault_json(&fault)))?;
        let object = Object::new();
        let set = |name: &str, value: JsValue| Reflect::set(&object, &JsValue::from_str(name), &value);
        set("program", Uint8Array::from(job.program.as_slice()).into())?;
        set("base", job.base.map_or(JsValue::UNDEFINED, |base| JsValue::from_f64(base as f64)))?;
        set("module", job.module.into())?;
        set("kernel", JsValue::from_str(&job.kernel))?;
        set("launch", job.launch_json().map_or(JsValue::UNDEFINED, |json| JsValue::from_str(&json)))?;
        let files: Vec<String> = job.files.keys().map(u32::to_string).collect();
        set("files", JsValue::from_str(&files.join(" ")))?;
        for (number, bytes) in &job.files {
            set(&format!("file {number}"), Uint8Array::from(bytes.as_slice()).into())?;
        }
        Ok(object)
    }

    fn take(&mut self, extract: &Extract) -> Result<Vec<u8>, Fault> {
        self.files.extract(extract).map(|taken| taken.bytes)
    }
}

/// Decompiles in the page's other module.
fn decompile_elsewhere(input: &DecompilerInput<'_>) -> Answer<DecompiledText> {
    let decompile =
        DECOMPILER.with_borrow(Clone::clone).ok_or_else(|| Fault::new("the page has no decompiler"))?;
    let program = Uint8Array::from(input.program);
    let base = JsValue::from_f64(input.base as f64);
    let symbol = input.symbol.map_or(JsValue::UNDEFINED, JsValue::from);
    let answer = decompile.call3(&JsValue::NULL, &program, &base, &symbol);
    match answer.map(|answer| answer.as_string()) {
        Ok(Some(json)) => parse_decompiled(&json),
        Ok(None) => Err(Fault::new("the decompiler returned no text")),
        Err(error) => Err(Fault::new(message(&error))),
    }
}

/// Edits in the page's other module.
fn edit_elsewhere(input: &EditorInput<'_>) -> Answer<EditorOutput> {
    let edit = EDITOR.with_borrow(Clone::clone).ok_or_else(|| Fault::new("the page has no editor"))?;
    let program = Uint8Array::from(input.program);
    let answer = edit.call3(
        &JsValue::NULL,
        &program,
        &JsValue::from_f64(input.base as f64),
        &JsValue::from_str(input.edit),
    );
    let answer = answer.map_err(|error| Fault::new(message(&error)))?;
    let answer = answer.dyn_into::<Array>().map_err(|_| Fault::new("the editor returned nothing"))?;
    let bytes = answer.get(1).dyn_into::<Uint8Array>().map(|bytes| bytes.to_vec()).unwrap_or_default();
    parse_edited(&answer.get(0).as_string().unwrap_or_default(), bytes)
}

fn message(error: &JsValue) -> String {
    match error.dyn_ref::<js_sys::Error>() {
        Some(error) => String::from(error.message()),
        None => String::from("the page can't read it"),
    }
}

fn read_range(number: usize, offset: u64, into: &mut [u8]) -> Result<(), String> {
    let reader = READERS.with_borrow(|readers| readers.get(number).cloned().flatten());
    let reader = reader.ok_or("the file was closed")?;
    let (offset, length) = (JsValue::from_f64(offset as f64), JsValue::from_f64(into.len() as f64));
    let bytes = reader.call2(&JsValue::NULL, &offset, &length).map_err(|error| message(&error))?;
    let bytes = bytes.dyn_into::<Uint8Array>().map_err(|_| "the page returned no bytes")?;
    if bytes.length() as usize != into.len() {
        return Err(format!("{} bytes instead of {}", bytes.length(), into.len()));
    }
    bytes.copy_to(into);
    Ok(())
}

fn forget(number: usize) {
    READERS.with_borrow_mut(|readers| {
        if let Some(reader) = readers.get_mut(number) {
            *reader = None;
        }
    });
}
