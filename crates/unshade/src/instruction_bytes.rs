//! The bytes of the instructions that lines of decompiled text come from.
//!
//! A front end gives each value the address of its instruction, and a printer gives each line the addresses of its values:
//! numbers of instructions in a function of an LLVM module, offsets of tokens in a token program. Here they become ranges of
//! the file.

use crate::hlsl::Hlsl;
use crate::msl::Metal;
use std::collections::BTreeMap;
use std::ops::Range;
use unshade_core::{Diagnostics, Error, ErrorKind, Result};
use unshade_decompile::Line;
use unshade_dxbc::d3d9::Program;
use unshade_dxcontainer::Container;
use unshade_dxcontainer::dxil::main_part;
use unshade_dxcontainer::program::bitcode;
use unshade_llvm::Module;
use unshade_llvm::source_map::SourceMap;

/// Finds the instructions that lines of decompiled text come from in the file.
#[derive(Debug)]
pub struct InstructionBytes {
    /// The bytes of each instruction, by the number of its function and its address.
    ranges: BTreeMap<(u32, u32), Range<u64>>,
}

impl InstructionBytes {
    /// Maps the program of a container. The ranges are offsets of the file that the container was parsed for.
    ///
    /// # Errors
    /// If there is no program in it, or it can't be read.
    pub fn of_container(container: &Container<'_>) -> Result<Self> {
        if let Some(part) = main_part(container) {
            let (_, program) = bitcode(part.data)?;
            return Ok(Self::of_module(&Module::parse(program.rest(), program.base())?));
        }
        let part = crate::hlsl::target::token_part(container);
        let part =
            part.ok_or_else(|| Error::without_offset(ErrorKind::BadValue, "the container has no program"))?;
        let program = unshade_dxbc::decode(part.data, &mut Diagnostics::new())?;
        let tokens = program.instructions.iter().map(|one| (one.position, one.size_in_tokens()));
        Ok(Self::of_tokens(part.data.base(), tokens))
    }

    /// Maps a program of shader model 1, 2 or 3, whose first byte is at offset `base`.
    ///
    /// # Errors
    /// If the program can't be read.
    pub fn of_direct3d9(data: &[u8], base: u64) -> Result<Self> {
        let program = Program::parse(data)?;
        let tokens = program.instructions.iter().map(|one| (one.position, one.size_in_tokens()));
        Ok(Self::of_tokens(base, tokens))
    }

    /// Maps the functions of an LLVM module.
    pub fn of_module(module: &Module<'_>) -> Self {
        let mut map = SourceMap::new(module);
        let mut ranges = BTreeMap::new();
        for (index, _) in module.functions_with_bodies() {
            let Ok(body) = module.body(index) else { continue };
            map.add(module, &body);
            let function = index as u32;
            let addresses = 0..body.instructions.len() as u32;
            let known = addresses.map(|address| ((function, address), map.instruction(function, address)));
            ranges.extend(known.filter(|(_, range)| !range.is_empty()));
        }
        Self { ranges }
    }

    /// Maps tokens from their positions and sizes.
    fn of_tokens(base: u64, instructions: impl Iterator<Item = (u32, u64)>) -> Self {
        let ranges = instructions.map(|(position, size)| {
            let start = base.saturating_add(u64::from(position).saturating_mul(4));
            ((0, position.saturating_mul(4)), start..start.saturating_add(size.saturating_mul(4)))
        });
        Self { ranges: ranges.collect() }
    }

    /// Returns the bytes of an instruction of a function.
    pub fn of_instruction(&self, function: u32, address: u32) -> Option<&Range<u64>> {
        self.ranges.get(&(function, address))
    }

    /// Returns the bytes that each line of HLSL comes from, neighbours together.
    pub fn of_lines(&self, hlsl: &Hlsl) -> Vec<Vec<Range<u64>>> {
        let functions = hlsl.functions.iter().map(|function| (function.number, function.lines.clone()));
        self.of_functions(&hlsl.lines, functions)
    }

    /// Returns the bytes that each line of Metal comes from, neighbours together.
    pub fn of_metal(&self, metal: &Metal) -> Vec<Vec<Range<u64>>> {
        let functions = metal.functions.iter().map(|function| (function.number, function.lines.clone()));
        self.of_functions(&metal.lines, functions)
    }

    /// Returns the bytes of lines that functions of these numbers have.
    fn of_functions(
        &self,
        lines: &[Line],
        functions: impl Iterator<Item = (u32, Range<usize>)>,
    ) -> Vec<Vec<Range<u64>>> {
        let mut all = vec![Vec::new(); lines.len()];
        for (number, range) in functions {
            let found = lines.get(range.clone()).into_iter().flatten();
            for (line, found) in found.zip(all.iter_mut().skip(range.start)) {
                let ranges = line.addresses.iter().filter_map(|at| self.ranges.get(&(number, *at)));
                ranges.for_each(|range| join(found, range));
            }
        }
        all
    }
}

/// Returns the bytes of the words at these addresses, neighbours together.
pub fn words(addresses: &[u32], base: u64, size: u64) -> Vec<Range<u64>> {
    let mut runs = Vec::new();
    for address in addresses {
        let start = base.saturating_add((*address).into());
        join(&mut runs, &(start..start.saturating_add(size)));
    }
    runs
}

/// Appends a range; one that continues the last one, or shares a byte with it, extends it.
fn join(ranges: &mut Vec<Range<u64>>, range: &Range<u64>) {
    match ranges.last_mut() {
        Some(last) if (last.start..=last.end).contains(&range.start) => last.end = last.end.max(range.end),
        _ => ranges.push(range.clone()),
    }
}
