//! The kernels of an article on Kepler in Ghidra: their disassembly and p-code, compared with committed text.
//!
//! The article shows the words and the source of `axpy` and `predicates`, compiled for sm_30. A file in
//! `tests/fixtures/nvidia/article` has for each instruction a line with its address, its word and Ghidra's text, and below
//! it the p-code ([`pcode`](super::pcode)). pypcode must read the same from the words, with the module in `ghidra/`; without
//! pypcode, a test compares the files with our own printer and semantics. `BLESS=1 cargo xtask conformance sleigh`
//! rewrites the lines below the comment.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};

use super::Reader;
use super::pcode::{Lifted, Op};
use crate::sh;

/// The instruction set of the kernels.
pub(super) const ISA: &str = "sm_30";

/// The names of the kernels, and of the files.
pub(super) const KERNELS: [&str; 2] = ["axpy", "predicates"];

/// A committed file.
struct Expected {
    /// The lines before the first instruction.
    comment: String,
    instructions: Vec<(u64, Lifted)>,
}

/// Returns the path of a file about a kernel.
pub(in crate::conformance) fn path(kernel: &str, extension: &str) -> PathBuf {
    sh::root().join("tests/fixtures/nvidia/article").join(kernel).with_extension(extension)
}

/// Returns the words of a kernel.
pub(in crate::conformance) fn words(kernel: &str) -> Result<Vec<u64>> {
    Ok(read(kernel)?.instructions.iter().map(|instruction| instruction.0).collect())
}

fn read(kernel: &str) -> Result<Expected> {
    let path = path(kernel, "pcode");
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let mut expected = Expected { comment: String::new(), instructions: Vec::new() };
    for (index, line) in text.lines().enumerate() {
        let place = || format!("{}:{}", path.display(), index + 1);
        if line.starts_with('#') {
            let _ = writeln!(expected.comment, "{line}");
        } else if let Some(op) = line.strip_prefix("    ") {
            let (_, lifted) = expected.instructions.last_mut().with_context(place)?;
            lifted.ops.push(Op::parse(op).with_context(place)?);
        } else {
            let mut columns = line.splitn(3, ' ').skip(1);
            let word = columns.next().with_context(place)?;
            let word = u64::from_str_radix(word, 16).with_context(place)?;
            let text = columns.next().unwrap_or_default().to_owned();
            expected.instructions.push((word, Lifted { text, ops: Vec::new() }));
        }
    }
    Ok(expected)
}

fn write(expected: &Expected) -> String {
    let mut out = expected.comment.clone();
    for (index, (word, lifted)) in expected.instructions.iter().enumerate() {
        let _ = writeln!(out, "{:04x} {word:016x} {}", index * 8, lifted.text);
        for op in &lifted.ops {
            let _ = writeln!(out, "    {op}");
        }
    }
    out
}

/// Compares what pypcode reads with the files, or rewrites them with `BLESS=1`. Returns the number of kernels that differ.
pub(super) fn compare(reader: &Reader<'_>) -> Result<usize> {
    let mut faults = 0;
    for kernel in KERNELS {
        let mut expected = read(kernel)?;
        let words: Vec<u128> = expected.instructions.iter().map(|instruction| instruction.0.into()).collect();
        let committed = write(&expected);
        for (instruction, found) in expected.instructions.iter_mut().zip(reader.read(&words, true)?) {
            instruction.1 = found.with_numbered_temporaries();
        }
        let found = write(&expected);
        if std::env::var_os("BLESS").is_some() {
            fs::write(path(kernel, "pcode"), &found)?;
        } else if let Some((theirs, ours)) =
            found.lines().zip(committed.lines()).find(|(theirs, ours)| theirs != ours)
        {
            println!("{kernel}: '{theirs}', the file has '{ours}'");
            faults += 1;
            continue;
        }
        println!("{ISA}: {kernel} of the article: text and p-code of {} words as in the file", words.len());
    }
    Ok(faults)
}

#[cfg(test)]
mod tests {
    use unshade::sass::control::is_scheduling;
    use unshade::sass::{Instruction, isa};

    use super::super::{Reader, compiled, differs, python, text};
    use super::{ISA, KERNELS, compare, path, read, write};

    /// Checks the committed text with our own tables: the same instructions, with the same effect on random states.
    #[test]
    fn the_files_are_right_by_our_own_semantics() {
        let isa = isa::all().find(|isa| isa.name == ISA).unwrap();
        for kernel in KERNELS {
            let expected = read(kernel).unwrap();
            assert_eq!(write(&expected), std::fs::read_to_string(path(kernel, "pcode")).unwrap(), "{kernel}");
            for (index, (word, lifted)) in expected.instructions.iter().enumerate() {
                let address = index as u64 * 8;
                if lifted.text == "SCHED" {
                    assert!(is_scheduling(isa, index as u64, u128::from(*word)), "{word:#x}");
                    assert!(lifted.ops.is_empty());
                    continue;
                }
                let instruction = Instruction::decode(isa, u128::from(*word)).unwrap();
                assert_eq!(text::ghidra(&instruction, address), lifted.text);
                assert_eq!(differs(isa, (*word).into(), address, &lifted.ops), None, "{}", lifted.text);
            }
        }
    }

    /// Checks the committed text with Ghidra's compiler and lifter.
    #[test]
    fn ghidra_reads_what_the_files_have() {
        let Some(python) = python() else {
            eprintln!("skipped: python3 with pypcode is missing (pip install pypcode==3.3.3)");
            return;
        };
        let folder = std::env::temp_dir().join(format!("unshade-article-{}", std::process::id()));
        let ldefs = compiled(&python, &folder).unwrap().join("nvidia.ldefs");
        let isa = isa::all().find(|isa| isa.name == ISA).unwrap();
        let faults = compare(&Reader { python: &python, folder: &folder, ldefs, isa });
        let _ = std::fs::remove_dir_all(&folder);
        assert_eq!(faults.unwrap(), 0);
    }
}
