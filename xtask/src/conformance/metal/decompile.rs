//! Decompiles the functions of all Metal libraries to Metal: how many become whole, and what of the others has no form.
//!
//! Text that stays with a jump, or with something that has no form in the language, is told by its cause. Nothing may make
//! the decompiler fail. `--sample N` takes every N-th function.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use rayon::prelude::*;
use unshade::llvm::Module;
use unshade::metallib::{Function, Library};
use unshade::msl;

use super::{conclude, each_library};

/// Maximum number of printed causes.
const SHOWN_CAUSES: usize = 60;

#[derive(Default)]
struct Counts {
    /// Functions with code: those of modules, with the helpers that they call.
    functions: u64,
    /// Those where everything has a form in the language.
    whole: u64,
    modules: u64,
    whole_modules: u64,
    gotos: u64,
    lines: u64,
    casts: u64,
    /// The time of all threads.
    time: Duration,
    /// Modules by what has no form, with the name of one.
    causes: BTreeMap<String, (u64, String)>,
    faults: Vec<String>,
}

pub(crate) fn run(sample: Option<usize>) -> Result<()> {
    let every = sample.unwrap_or(1).max(1);
    let counts = each_library(|name, library| read(name, library, every))?;
    counts.print();
    conclude(&counts.faults)
}

fn read(name: &str, library: &Library<'_>, every: usize) -> Counts {
    let functions: Vec<_> = library.functions().step_by(every).collect();
    let counts = functions.into_par_iter().map(|function| {
        let mut counts = Counts::default();
        match function {
            Ok(function) => {
                if let Err(error) = counts.function(library, &function) {
                    counts.faults.push(format!("{name}: {}: {error:#}", function.shown_name()));
                }
            }
            Err(error) => counts.faults.push(format!("{name}: {error}")),
        }
        counts
    });
    counts.reduce(Counts::default, super::Counts::sum)
}

impl Counts {
    fn function(&mut self, library: &Library<'_>, function: &Function<'_>) -> Result<()> {
        let Some(module) = library.module(function)? else { bail!("it has no module") };
        let bitcode = module.bitcode()?;
        let start = Instant::now();
        let module = Module::parse(bitcode.data(), bitcode.base())?;
        let metal = msl::module(&module, &|_, _| true);
        let lines = metal.text().lines().count();
        self.time += start.elapsed();
        self.modules += 1;
        self.whole_modules += u64::from(metal.unknown.is_empty());
        self.functions += metal.functions.len() as u64;
        self.whole += metal.functions.iter().filter(|function| function.unknown == 0).count() as u64;
        self.gotos += metal.gotos as u64;
        self.casts += metal.casts as u64;
        self.lines += lines as u64;
        for cause in metal.unknown_kinds() {
            let name = function.shown_name().to_string();
            self.causes.entry(cause.to_owned()).or_insert((0, name)).0 += 1;
        }
        Ok(())
    }

    fn print(&self) {
        let share = |part: u64, all: u64| 100.0 * part as f64 / all.max(1) as f64;
        println!(
            "modules: {}, whole {} ({:.2} %)",
            self.modules,
            self.whole_modules,
            share(self.whole_modules, self.modules)
        );
        println!(
            "functions: {}, whole {} ({:.2} %)",
            self.functions,
            self.whole,
            share(self.whole, self.functions)
        );
        let functions = self.functions.max(1) as f64;
        println!("gotos: {}", self.gotos);
        println!("lines per function: {:.1}", self.lines as f64 / functions);
        println!("casts per line: {:.3}", self.casts as f64 / self.lines.max(1) as f64);
        println!("functions per second and thread: {:.0}", functions / self.time.as_secs_f64().max(1e-9));
        let mut causes: Vec<_> = self.causes.iter().collect();
        causes.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        for (cause, (count, name)) in causes.into_iter().take(SHOWN_CAUSES) {
            println!("{count:8} {cause} ({name})");
        }
    }
}

impl super::Counts for Counts {
    fn add(&mut self, other: Self) {
        self.functions += other.functions;
        self.whole += other.whole;
        self.modules += other.modules;
        self.whole_modules += other.whole_modules;
        self.gotos += other.gotos;
        self.lines += other.lines;
        self.casts += other.casts;
        self.time += other.time;
        for (cause, (count, name)) in other.causes {
            self.causes.entry(cause).or_insert((0, name)).0 += count;
        }
        self.faults.extend(other.faults);
    }

    fn fault(&mut self, fault: String) {
        self.faults.push(fault);
    }
}
