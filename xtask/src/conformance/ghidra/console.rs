//! Drives Ghidra's decompiler: writes a program as a saved state of its console program, and a script.
//!
//! The saved state also names the core types, as Ghidra's own user interface does; alone, the console program calls a
//! float `float4`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::sh;

/// Ghidra's names of types, with size and kind.
const CORE_TYPES: [(&str, u8, &str); 16] = [
    ("undefined", 1, "unknown"),
    ("undefined2", 2, "unknown"),
    ("undefined4", 4, "unknown"),
    ("undefined8", 8, "unknown"),
    ("bool", 1, "bool"),
    ("char", 1, "int"),
    ("short", 2, "int"),
    ("int", 4, "int"),
    ("long", 8, "int"),
    ("uchar", 1, "uint"),
    ("ushort", 2, "uint"),
    ("uint", 4, "uint"),
    ("ulong", 8, "uint"),
    ("float", 4, "float"),
    ("double", 8, "float"),
    ("code", 1, "code"),
];

/// Spellings of types that the console program does not parse, longest first.
const SPELLINGS: [(&str, &str); 5] = [
    ("unsigned long long", "ulong"),
    ("unsigned int", "uint"),
    ("unsigned short", "ushort"),
    ("unsigned char", "uchar"),
    ("long long", "long"),
];

/// Bytes of a program.
pub(super) struct Chunk {
    /// The name of the space.
    pub(super) space: String,
    pub(super) offset: u64,
    pub(super) is_read_only: bool,
    pub(super) bytes: Vec<u8>,
}

/// The value of a register of the context at some addresses.
pub(super) struct Context {
    pub(super) register: String,
    pub(super) value: u64,
    pub(super) start: u64,
    pub(super) length: u64,
}

/// A program for the decompiler.
#[derive(Default)]
pub(super) struct Program {
    /// The identifier of the language and of the compiler.
    pub(super) language: String,
    pub(super) chunks: Vec<Chunk>,
    pub(super) contexts: Vec<Context>,
    /// The entry points and names of functions. The first is decompiled.
    pub(super) functions: Vec<(u64, String)>,
    /// The prototype of the first function.
    pub(super) prototype: String,
}

impl Program {
    /// Returns a program of code alone, with a function at address 0.
    pub(super) fn of_code(name: &str, language: &str, bytes: Vec<u8>, prototype: &str) -> Self {
        let code = Chunk { space: String::from("ram"), offset: 0, is_read_only: true, bytes };
        Self {
            language: String::from(language),
            chunks: vec![code],
            functions: vec![(0, String::from(name))],
            prototype: String::from(prototype),
            ..Self::default()
        }
    }

    /// Returns the saved state.
    fn state(&self) -> String {
        let language = &self.language;
        let mut out = format!(
            "<xml_savefile name=\"program\" target=\"{language}\" adjustvma=\"0\">\n<binaryimage arch=\"{language}\">\n"
        );
        for chunk in &self.chunks {
            let _ = writeln!(
                out,
                "<bytechunk space=\"{}\" offset=\"{:#x}\" readonly=\"{}\">\n{}\n</bytechunk>",
                chunk.space,
                chunk.offset,
                chunk.is_read_only,
                sh::hex(&chunk.bytes)
            );
        }
        out.push_str("</binaryimage>\n<coretypes>\n<void/>\n");
        for (index, (name, size, kind)) in CORE_TYPES.iter().enumerate() {
            let character = if *name == "char" { " char=\"true\"" } else { "" };
            let _ = writeln!(
                out,
                "<type name=\"{name}\" size=\"{size}\" metatype=\"{kind}\"{character} core=\"true\" id=\"{}\"/>",
                index + 1
            );
        }
        out.push_str("</coretypes>\n</xml_savefile>\n");
        out
    }

    /// Returns the commands that decompile the program in a saved state.
    fn script(&self, state: &Path) -> Result<String> {
        let (_, name) = self.functions.first().context("a program without functions")?;
        let mut out = format!("restore {}\noption maxlinewidth 120\n", state.display());
        for Context { register, value, start, length } in &self.contexts {
            let _ = writeln!(
                out,
                "set context {register} {value:#x} [ram,{start:#x}] [ram,{:#x}]",
                start + length
            );
        }
        for (address, name) in &self.functions {
            let _ = writeln!(out, "map function [ram,{address:#x}] {name}");
        }
        let mut prototype = self.prototype.clone();
        for (spelling, known) in SPELLINGS {
            prototype = prototype.replace(spelling, known);
        }
        let _ = writeln!(out, "parse line extern {prototype};");
        let _ = writeln!(out, "load function {name}\ndecompile\n{PRINT}\nquit");
        Ok(out)
    }
}

/// The command that prints the C.
const PRINT: &str = "print C";

/// Ghidra's decompiler, and where to find its languages and put files.
pub(super) struct Console<'a> {
    pub(super) decompiler: &'a Path,
    pub(super) languages: &'a Path,
    pub(super) folder: &'a Path,
}

impl Console<'_> {
    /// Returns the C of a program's first function.
    pub(super) fn decompile(&self, program: &Program) -> Result<String> {
        let (state, script) = (self.folder.join("program.xml"), self.folder.join("script"));
        fs::write(&state, program.state())?;
        fs::write(&script, program.script(&state)?)?;
        let output = Command::new(self.decompiler)
            .arg("-s")
            .arg(self.languages)
            .stdin(Stdio::from(fs::File::open(&script)?))
            .output()
            .with_context(|| self.decompiler.display().to_string())?;
        let said = String::from_utf8_lossy(&output.stdout);
        // Commands are echoed after the prompt.
        let printed = said.split_once(&format!("> {PRINT}\n")).map(|parts| parts.1);
        let fault = said.lines().find(|line| line.to_lowercase().contains("error"));
        match (printed, fault) {
            (Some(printed), None) => Ok(printed.lines().take_while(|line| !line.ends_with("> quit")).fold(
                String::new(),
                |mut text, line| {
                    text.push_str(line);
                    text.push('\n');
                    text
                },
            )),
            (_, fault) => bail!(
                "Ghidra's decompiler: {} {}",
                fault.unwrap_or("no C"),
                String::from_utf8_lossy(&output.stderr)
            ),
        }
    }
}
