//! Generates C and C++, compiled with every available clang: modules of all shapes without a package.
//!
//! Each source has types, tables, strings, loops, switches, calls, vectors, atomics and inline assembly, in amounts
//! that depend on its number. The compiled files stay in `target/conformance/bitcode-dump`.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use rayon::prelude::*;

use super::{Input, Place};
use crate::sh;

/// Number of sources.
const SOURCES: usize = 16;

const COMPILERS: [&str; 2] = ["clang-14", "clang-19"];

/// The compiler settings: a name, and options.
const OPTIONS: [(&str, &[&str]); 8] = [
    ("O0", &["-O0"]),
    ("O0g", &["-O0", "-g"]),
    ("O2", &["-O2"]),
    ("O2g", &["-O2", "-g"]),
    ("Os-dwarf4", &["-Os", "-gdwarf-4", "-gline-tables-only"]),
    ("thin", &["-O1", "-flto=thin"]),
    ("full", &["-O2", "-flto=full"]),
    ("uselists", &["-O2", "-Xclang", "-emit-llvm-uselists"]),
];

/// Returns the modules that could be compiled.
pub(super) fn modules() -> Result<Vec<Input>> {
    let folder = sh::root().join("target/conformance/bitcode-dump");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut jobs = Vec::new();
    for compiler in COMPILERS {
        if Command::new(compiler).arg("--version").output().is_err() {
            println!("skipped: {compiler} is not installed");
            continue;
        }
        for number in 0..SOURCES {
            jobs.extend(OPTIONS.iter().map(|(name, options)| (compiler, number, *name, *options)));
        }
    }
    for number in 0..SOURCES {
        fs::write(source_path(&folder, number), source(number)).context("cannot write a source")?;
    }
    let compile = |&(compiler, number, name, options): &(&str, usize, &str, &[&str])| {
        let path = folder.join(format!("{number}.{compiler}.{name}.bc"));
        let mut command = Command::new(compiler);
        command
            .args(["-c", "-emit-llvm", "-w", "-o"])
            .arg(&path)
            .args(options)
            .arg(source_path(&folder, number));
        sh::capture(&mut command)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Input { name, place: Place::File(path) })
    };
    jobs.par_iter().map(compile).collect()
}

/// Returns the path of a source. Every other source is C++.
fn source_path(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("{number}.{}", if is_cpp(number) { "cpp" } else { "c" }))
}

fn is_cpp(number: usize) -> bool {
    number % 2 == 1
}

fn source(number: usize) -> String {
    let mut text = String::from("typedef float float4 __attribute__((vector_size(16)));\n");
    if is_cpp(number) {
        text.push_str(
            "namespace { struct Hidden { virtual ~Hidden() {} virtual int run(int x) { return x; } }; }\n\
             struct Base { virtual int run(int x) = 0; virtual ~Base() {} int kept; };\n\
             struct Derived : Base { int run(int x) override { if (x > 9) throw x; return kept + x; } };\n\
             template <typename T> T largest(T a, T b) { return a < b ? b : a; }\n\
             int guarded(int x) { Derived d; d.kept = x; try { return d.run(x); } catch (int e) { return e; } }\n\
             int hidden(int x) { Hidden h; return h.run(largest(x, 3)); }\n\
             extern \"C\" {\n",
        );
    }
    text.push_str("extern int sink(const char *text, ...);\nextern __thread int per_thread;\n");
    for index in 0..=number {
        let size = 3 + (index * 7 + number) % 40;
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "struct Row{index} {{ int id; double weight; char name[{size}]; struct Row{index} *next; unsigned low : 3, high : 9; }};\n\
             static const short table{index}[{size}] = {{ 1, {index}, 3 }};\n\
             __attribute__((weak)) int shared{index} = {number};\n\
             float4 lanes{index}(float4 a, float4 b) {{ return a * b + {index}.5f; }}\n\
             int walk{index}(struct Row{index} *row, int limit) {{\n\
             \x20 int sum = 0;\n\
             \x20 for (int i = 0; row && i < limit; row = row->next, i++) {{\n\
             \x20   switch (row->id & 7) {{\n\
             \x20   case 0: sum += table{index}[i % {size}]; break;\n\
             \x20   case 1: sum -= (int)(row->weight * {index}.25); break;\n\
             \x20   case 5: sum ^= row->high; break;\n\
             \x20   default: sum += sink(\"row {index} of {number}: %s\\n\", row->name);\n\
             \x20   }}\n\
             \x20   __atomic_fetch_add(&shared{index}, sum, __ATOMIC_SEQ_CST);\n\
             \x20 }}\n\
             \x20 __asm__ volatile(\"\" : \"+r\"(sum));\n\
             \x20 return sum + per_thread;\n\
             }}"
        );
    }
    if is_cpp(number) {
        text.push_str("}\n");
    }
    text
}
