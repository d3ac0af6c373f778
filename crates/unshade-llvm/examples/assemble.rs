//! Assembles LLVM assembly: `assemble [--19] IN.ll OUT.bc`.

use std::error::Error;
use unshade_llvm::assemble::{self, AssembleOptions, Version};
use unshade_llvm::write::{self, WriteOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let later = arguments.first().is_some_and(|first| first == "--19");
    if later {
        arguments.remove(0);
    }
    let [input, output] = arguments.as_slice() else {
        return Err("usage: assemble [--19] IN.ll OUT.bc".into());
    };
    let text = std::fs::read(input)?;
    let (version, form) = match later {
        true => (Version::Llvm19, Version::Llvm19),
        false => (Version::Llvm14, Version::Llvm14),
    };
    let mut assembled = assemble::assemble(&text, &AssembleOptions { version })
        .map_err(|error| format!("{input}:{error}"))?;
    assembled.module.source_filename.get_or_insert_with(|| input.clone().into_bytes());
    let use_list_orders = std::env::var_os("NO_USE_LISTS").is_none();
    let options = WriteOptions { version: form, use_list_orders, ..WriteOptions::default() };
    std::fs::write(output, write::module(&assembled.input(), &options)?)?;
    Ok(())
}
