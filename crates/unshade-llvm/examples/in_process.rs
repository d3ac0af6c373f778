//! Prints bitcode as assembly, or assembles it, without a process for each file.
//!
//! ```text
//! in_process print|assemble FILE...
//! ```
//!
//! Works through all files twice, and prints the seconds that the second time took and the bytes that were written. Text is
//! that of LLVM 14.

use std::error::Error;
use std::time::Instant;
use unshade_llvm::assemble::{self, AssembleOptions};
use unshade_llvm::print::{self, PrintMemory, PrintOptions};
use unshade_llvm::write::{self, WriteOptions};
use unshade_llvm::{Module, ReadMemory};

/// What the next module uses again.
#[derive(Default)]
struct Memory {
    read: ReadMemory,
    print: PrintMemory,
    text: String,
}

fn print_one(bytes: &[u8], memory: &mut Memory) -> Result<usize, Box<dyn Error>> {
    memory.text.clear();
    let module = Module::parse_with(bytes, 0, &mut memory.read)?;
    print::module_with(&module, &PrintOptions::default(), &mut memory.text, &mut memory.print);
    Ok(memory.text.len())
}

fn assemble_one(text: &[u8]) -> Result<usize, Box<dyn Error>> {
    let assembled =
        assemble::assemble(text, &AssembleOptions::default()).map_err(|error| error.to_string())?;
    // LLVM's library writes no orders of uses unless a program asks for them.
    let options = WriteOptions { use_list_orders: false, ..WriteOptions::default() };
    let bitcode = write::module(&assembled.input(), &options)?;
    Ok(bitcode.len())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let is_print = match arguments.next().as_deref() {
        Some("print") => true,
        Some("assemble") => false,
        _ => return Err("usage: in_process print|assemble FILE...".into()),
    };
    let files = arguments.map(std::fs::read).collect::<Result<Vec<_>, _>>()?;
    let mut memory = Memory::default();
    let mut result = (0.0, 0);
    for _ in 0..2 {
        let start = Instant::now();
        let mut written = 0;
        for file in &files {
            written += if is_print { print_one(file, &mut memory)? } else { assemble_one(file)? };
        }
        result = (start.elapsed().as_secs_f64(), written);
    }
    println!("{:.6} {}", result.0, result.1);
    Ok(())
}
