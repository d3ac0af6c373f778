//! Runs NVIDIA's cuobjdump, in all available versions, and parses its output.
//!
//! `UNSHADE_CUDA_TOOLS` lists folders with a `cuobjdump` in each, separated as in `PATH`, which is searched as well. No
//! version knows every chip: the first one with output for a file is used.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context as _, Result};

use crate::sh;

/// The tools of a toolkit.
pub(super) struct Tool {
    folder: PathBuf,
    /// The version, such as `V11.2.152`.
    pub(super) version: String,
}

/// Returns all available versions, and prints them.
pub(super) fn find_all() -> Vec<Tool> {
    let mut tools: Vec<Tool> = Vec::new();
    for variable in ["UNSHADE_CUDA_TOOLS", "PATH"] {
        let Some(value) = env::var_os(variable) else { continue };
        for folder in env::split_paths(&value).filter(|folder| folder.join("cuobjdump").is_file()) {
            let output = Command::new(folder.join("cuobjdump")).arg("--version").output();
            let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
            let version = text.ok().and_then(|text| {
                let word = text.split_whitespace().find(|word| word.starts_with("V1"));
                word.map(str::to_owned)
            });
            let Some(version) = version else { continue };
            if tools.iter().all(|tool| tool.version != version) {
                println!("comparing with cuobjdump {version}");
                tools.push(Tool { folder, version });
            }
        }
    }
    if tools.is_empty() {
        println!("skipped: no cuobjdump in UNSHADE_CUDA_TOOLS or PATH; nothing is compared");
    }
    tools
}

/// A temporary folder, removed on drop.
pub(super) struct Scratch(pub(super) PathBuf);

impl Scratch {
    pub(super) fn new() -> Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = sh::root().join(format!("target/conformance-nv/{}-{number}", std::process::id()));
        fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Remaining files do no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Tool {
    /// Returns whether the tool is newer than the chip: an older one reads what it can, but counts some of it
    /// differently.
    pub(super) fn knows(&self, chip: u32) -> bool {
        chip <= if self.version.starts_with("V11.") { 86 } else { u32::MAX }
    }

    /// Returns whether its resource usage counts textures, surfaces and samplers: since version 12 it prints 0 for
    /// every function, even if the listing has the relocations that version 11 counted.
    pub(super) fn counts_textures(&self) -> bool {
        self.version.starts_with("V11.")
    }

    /// Returns its output for a file; none if it does not recognise the file.
    pub(super) fn run(&self, arguments: &[&str], file: &Path, folder: &Path) -> Option<String> {
        // It looks for its helper programs in PATH.
        let mut path = self.folder.clone().into_os_string();
        if let Some(rest) = env::var_os("PATH") {
            path.push(":");
            path.push(rest);
        }
        let mut command = Command::new(self.folder.join("cuobjdump"));
        let output = command.args(arguments).arg(file).current_dir(folder).env("PATH", path).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.success() && text.lines().any(|line| !line.trim().is_empty())).then_some(text)
    }
}

/// A function in `--dump-resource-usage`, or `Common`: the name, and the number for each key.
pub(super) type Usage = (String, Vec<(String, u64)>);

/// Parses `--dump-resource-usage`: functions, with `Common` first.
pub(super) fn usages(text: &str) -> Vec<Usage> {
    let mut usages: Vec<Usage> = Vec::new();
    for line in text.lines() {
        let line = line.trim();
        if line == "Common:" {
            usages.push(("Common".into(), Vec::new()));
        } else if let Some(name) = line.strip_prefix("Function ") {
            usages.push((name.trim_end_matches(':').into(), Vec::new()));
        } else if let Some((_, values)) = usages.last_mut() {
            let pairs = line.split_whitespace().filter_map(|pair| pair.rsplit_once(':'));
            values.extend(pairs.filter_map(|(key, value)| Some((key.to_owned(), value.parse().ok()?))));
        }
    }
    usages
}

/// The parsed output of `-elf` for a cubin.
#[derive(Default)]
pub(super) struct ElfText {
    /// Offset, size, entry size, alignment, flags, link, info and name of each section.
    pub(super) sections: Vec<([u64; 7], String)>,
    /// Value, size and name of each symbol.
    pub(super) symbols: Vec<(u64, u64, String)>,
    /// Section and attribute of each record.
    pub(super) attributes: Vec<(String, String)>,
    /// Ordinal, offset and size of each parameter, by section.
    pub(super) parameters: Vec<(String, [u64; 3])>,
    /// Section, offset, type and symbol of each relocation.
    pub(super) relocations: Vec<(String, u64, String, String)>,
}

/// Parses a number with prefix `0x`, or a decimal one.
fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Parses the output of `-elf`.
pub(super) fn elf_text(text: &str) -> ElfText {
    let mut elf = ElfText::default();
    let mut section = String::new();
    let mut part = Part::Other;
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix(".section ") {
            let name = rest.split_whitespace().next().unwrap_or_default();
            part = match name {
                ".symtab" => Part::Symbols,
                _ if rest.ends_with("\tREL") || rest.ends_with("\tRELA") => Part::Relocations,
                _ => Part::Other,
            };
            section = name.into();
        } else if line == "Sections:" {
            part = Part::Sections;
        } else if line.starts_with('.') {
            section = line.trim_end().into();
            part = Part::Records;
        } else {
            elf.line(part, &section, line);
        }
    }
    elf
}

#[derive(Clone, Copy)]
enum Part {
    Sections,
    Symbols,
    Records,
    Relocations,
    Other,
}

impl ElfText {
    fn line(&mut self, part: Part, section: &str, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match part {
            Part::Sections => self.sections.extend(section_row(&words)),
            Part::Symbols => {
                if let [_, value, size, .., name] = words.as_slice()
                    && let (Some(value), Some(size)) = (number(value), number(size))
                {
                    let name = if *name == "(null)" { "" } else { name };
                    self.symbols.push((value, size, name.into()));
                }
            }
            Part::Records => {
                if let Some(name) = line.trim().strip_prefix("Attribute:") {
                    self.attributes.push((section.into(), name.trim().into()));
                } else if let Some((_, rest)) = line.split_once("Ordinal :") {
                    let numbers: Vec<u64> = rest.split_whitespace().filter_map(number).collect();
                    if let [ordinal, offset, size] = numbers[..] {
                        self.parameters.push((section.into(), [ordinal, offset, size]));
                    }
                }
            }
            Part::Relocations => {
                if let [offset, symbol, kind, ..] = words.as_slice()
                    && let Some(offset) = number(offset)
                {
                    self.relocations.push((section.into(), offset, (*kind).into(), (*symbol).into()));
                }
            }
            Part::Other => {}
        }
    }
}

/// Parses `Index Offset Size ES Align Type Flags Link Info Name`, in hexadecimal; a type may consist of two words.
fn section_row(words: &[&str]) -> Option<([u64; 7], String)> {
    let hex = |word: &str| u64::from_str_radix(word, 16).ok();
    let (numbers, rest) = words.split_at_checked(5)?;
    hex(numbers[0])?;
    let rest = if rest.first()?.ends_with(':') { rest.get(2..)? } else { rest.get(1..)? };
    let (last, name) = rest.split_at_checked(3)?;
    let mut row = [0; 7];
    for (to, word) in row.iter_mut().zip(numbers[1..].iter().chain(last)) {
        *to = hex(word)?;
    }
    Some((row, name.first().copied().unwrap_or_default().into()))
}

#[cfg(test)]
mod tests {
    use super::{elf_text, usages};

    #[test]
    fn resource_usage_is_parsed() {
        let text =
            "\nResource usage:\n Common:\n  GLOBAL:16 CONSTANT[3]:1088\n Function cst:\n  REG:13 STACK:0\n";
        let found = usages(text);
        assert_eq!(found[0], ("Common".into(), vec![("GLOBAL".into(), 16), ("CONSTANT[3]".into(), 1088)]));
        assert_eq!(found[1], ("cst".into(), vec![("REG".into(), 13), ("STACK".into(), 0)]));
    }

    #[test]
    fn elf_listing_is_parsed() {
        let text = "Sections:\nIndex Offset   Size ES Align        Type        Flags Link     Info Name\n\
            \x20   6  308  d0  8  8    CUDA_RELOCINFO       0    0        0 .nv.rel.action\n\
            \x20  17 1b90  1b0 18  8   UNKNOWN: 133 10000000    2        a .nv.merc.symtab\n\
            \n.section .symtab\n index value size info other shndx name\n   9   0   256   12   10   a   cst\n\n\
            .nv.info.cst\n\t<0x1>\n\tAttribute:\tEIATTR_KPARAM_INFO\n\tFormat:\tEIFMT_SVAL\n\
            \tValue:\tIndex : 0x0\tOrdinal : 0x1\tOffset  : 0x8\tSize    : 0x4\n\n\
            .section .rel.text.cst\tREL\n160    glob    R_CUDA_ABS32_HI_23\n";
        let elf = elf_text(text);
        assert_eq!(elf.sections[0], ([0x308, 0xd0, 8, 8, 0, 0, 0], ".nv.rel.action".into()));
        assert_eq!(elf.sections[1].0, [0x1b90, 0x1b0, 0x18, 8, 0x1000_0000, 2, 10]);
        assert_eq!(elf.symbols, [(0, 256, "cst".into())]);
        assert_eq!(elf.attributes, [(".nv.info.cst".into(), "EIATTR_KPARAM_INFO".into())]);
        assert_eq!(elf.parameters, [(".nv.info.cst".into(), [1, 8, 4])]);
        assert_eq!(elf.relocations[0].1, 160);
    }
}
