//! Compiles the programs of `tests/fixtures/nvidia/witness/instructions.txt` with ptxas, which also evaluates them on
//! literals.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use rayon::prelude::*;
use unshade::core::Reader;
use unshade::nv::Cubin;
use unshade_emulate::{Device, Grid, Limits, Module};
use unshade_tests::witness::kernel::{BANK, Compiled, instructions};
use unshade_tests::witness::{rows, source};

/// Number of kernels per file.
const CHUNK: usize = 1000;

/// Number of programs per file of literals.
const PROGRAMS: usize = 40;

/// Operations of kernels whose result ptxas computed.
const MOVES: [&str; 6] = ["MOV", "MOV32I", "ST", "EXIT", "BRA", "NOP"];

/// Compiles all programs.
pub(super) fn all(ptxas: &Path, scratch: &Path) -> Result<Vec<Compiled>> {
    let programs = rows::programs();
    let mut compiled = Vec::new();
    for (index, chunk) in programs.chunks(CHUNK).enumerate() {
        let kernels: Vec<String> = chunk
            .iter()
            .enumerate()
            .map(|(at, text)| source::of_registers(&format!("k{at}"), text))
            .collect();
        let cubin = assemble(ptxas, scratch, &format!("registers{index}"), &kernels, chunk)?;
        let codes = codes(&cubin)?;
        for (at, program) in chunk.iter().enumerate() {
            let name = format!("k{at}");
            let code = codes.get(&name).with_context(|| program.clone())?.clone();
            let constants = constants(&cubin, &name)?;
            compiled.push(Compiled {
                program: program.clone(),
                code: trimmed(code),
                constants,
                folded: Vec::new(),
            });
        }
    }
    fold(ptxas, scratch, &mut compiled)?;
    Ok(compiled)
}

/// Lets ptxas evaluate each program on its first inputs.
fn fold(ptxas: &Path, scratch: &Path, compiled: &mut [Compiled]) -> Result<()> {
    compiled.par_chunks_mut(PROGRAMS).enumerate().try_for_each(|(index, chunk)| {
        let mut kernels = Vec::new();
        let mut programs = Vec::new();
        for (row, compiled) in chunk.iter().enumerate() {
            for (at, inputs) in
                rows::inputs(&compiled.program, rows::literals(&compiled.program)).iter().enumerate()
            {
                kernels.push(source::of_literals(&format!("k{row}_{at}"), &compiled.program, inputs));
                programs.push(compiled.program.clone());
            }
        }
        let cubin = assemble(ptxas, scratch, &format!("literals{index}"), &kernels, &programs)?;
        let codes = codes(&cubin)?;
        for (row, compiled) in chunk.iter_mut().enumerate() {
            for at in 0..rows::literals(&compiled.program) {
                let name = format!("k{row}_{at}");
                let code = codes.get(&name).with_context(|| name.clone())?;
                compiled.folded.push(constant(&cubin, &name, code)?);
            }
        }
        Ok(())
    })
}

/// Returns what a kernel stores, if it only moves constants.
fn constant(cubin: &[u8], name: &str, code: &[u8]) -> Result<Option<u64>> {
    if !instructions(code).iter().all(|(_, found)| MOVES.contains(&found.operation().name)) {
        return Ok(None);
    }
    let mut device = Device::new();
    let module = Module::load(&mut device, cubin).map_err(anyhow::Error::msg)?;
    let out = device.allocate(8, "out").map_err(anyhow::Error::msg)?;
    device.write(out, &[0; 8]).map_err(anyhow::Error::msg)?;
    module
        .launch(&mut device, name, Grid::new(1, 1), &[out.into()], Limits::default(), None)
        .map_err(|fault| anyhow::anyhow!("{name}: {fault}"))?;
    let bytes = device.read(out, 8).map_err(anyhow::Error::msg)?;
    Ok(bytes.try_into().ok().map(u64::from_le_bytes))
}

/// Assembles kernels, one per program, and returns the cubin.
fn assemble(
    ptxas: &Path,
    scratch: &Path,
    name: &str,
    kernels: &[String],
    programs: &[String],
) -> Result<Vec<u8>> {
    let (source, cubin) = (scratch.join(format!("{name}.ptx")), scratch.join(format!("{name}.cubin")));
    let text = source::HEADER.to_owned() + &kernels.concat();
    fs::write(&source, &text)?;
    let output = Command::new(ptxas).arg("-arch=sm_35").arg(&source).arg("-o").arg(&cubin).output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let mut wrong: Vec<String> = Vec::new();
        for line in said.lines() {
            let number =
                line.split("line ").nth(1).and_then(|rest| rest.split(';').next()?.parse::<usize>().ok());
            let kernel = number
                .map(|number| text.lines().take(number).filter(|line| line.starts_with(".visible")).count());
            let program =
                kernel.and_then(|kernel| programs.get(kernel.checked_sub(1)?)).cloned().unwrap_or_default();
            wrong.push(format!("{program}: {line}"));
        }
        bail!("ptxas rejects\n{}", wrong.join("\n"));
    }
    Ok(fs::read(&cubin)?)
}

/// Removes the padding after the last instruction.
fn trimmed(mut code: Vec<u8>) -> Vec<u8> {
    let end =
        instructions(&code).iter().rfind(|(_, found)| found.operation().name != "NOP").map(|last| last.0 + 8);
    code.truncate(end.unwrap_or(code.len()));
    code
}

/// Returns the constants of a kernel's own bank.
fn constants(cubin: &[u8], kernel: &str) -> Result<Vec<u8>> {
    let cubin = Cubin::read(Reader::new(cubin)).map_err(anyhow::Error::msg)?;
    let name = format!(".nv.constant{BANK}.{kernel}");
    let Some(section) = cubin.elf().sections().find(|section| section.name == name.as_bytes()) else {
        return Ok(Vec::new());
    };
    let mut bytes = cubin.elf().bytes(&section).map_err(anyhow::Error::msg)?.data().to_vec();
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    Ok(bytes)
}

/// Returns the machine code of each kernel.
fn codes(cubin: &[u8]) -> Result<BTreeMap<String, Vec<u8>>> {
    let cubin = Cubin::read(Reader::new(cubin)).map_err(anyhow::Error::msg)?;
    let mut codes = BTreeMap::new();
    for function in cubin.functions() {
        let name = String::from_utf8_lossy(function.name()).into_owned();
        codes.insert(name, function.code(&cubin).map_err(anyhow::Error::msg)?.data().to_vec());
    }
    Ok(codes)
}
