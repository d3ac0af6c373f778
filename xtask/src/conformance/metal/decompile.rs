//! Decompiles the functions of all Metal libraries to Metal: how many become whole, and what of the others has no form.
//!
//! Every function of a library has a module, with the helpers that it calls. Equal modules are decompiled once: one column
//! counts distinct modules, the other the functions of libraries, each with all that is in its module. A cause comes with the
//! number of modules that have it, and of those that have no other. Nothing may make the decompiler fail. `--sample N` takes
//! every N-th function.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::AddAssign;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use nix::sys::resource::{UsageWho, getrusage};
use rayon::prelude::*;
use unshade::llvm::Module;
use unshade::metallib::{self, Function, Library};
use unshade::msl;

use super::{conclude, each_library};

/// Maximum number of printed causes.
const SHOWN_CAUSES: usize = 40;

/// Number of modules whose time is printed.
const SHOWN_SLOWEST: usize = 5;

/// The time between two lines about progress.
const PROGRESS: Duration = Duration::from_secs(10);

/// Causes that are names after one of these are one kind.
const FAMILIES: [&str; 6] = [
    "the function __tensorops_impl_",
    "the function air.simdgroup_async_copy",
    "the function air.intersect.",
    "the function air.",
    "the function ",
    "the initial value of ",
];

/// What is counted of modules.
#[derive(Clone, Copy, Default)]
struct Sums {
    modules: u64,
    whole_modules: u64,
    /// Functions with code: those of modules, with the helpers that they call.
    functions: u64,
    whole: u64,
    gotos: u64,
    lines: u64,
    casts: u64,
}

/// What became of a module.
struct Decompiled {
    sums: Sums,
    causes: BTreeSet<String>,
    time: Duration,
}

/// The modules with a cause, or a kind of causes.
#[derive(Default)]
struct Cause {
    modules: u64,
    /// Those that have no other.
    alone: u64,
    /// The name of a function.
    example: String,
}

#[derive(Default)]
struct Counts {
    distinct: Sums,
    all: Sums,
    causes: BTreeMap<String, Cause>,
    kinds: BTreeMap<String, Cause>,
    slowest: Vec<(Duration, String)>,
    faults: Vec<String>,
}

/// A module that is or was decompiled; `None` if it fails.
type Slot = OnceLock<Option<Decompiled>>;

/// The modules that are or were decompiled, by their hash.
#[derive(Default)]
struct Known {
    modules: Mutex<HashMap<[u8; 32], Arc<Slot>>>,
    progress: Mutex<Progress>,
}

struct Progress {
    functions: u64,
    start: Instant,
    shown: Instant,
}

impl Default for Progress {
    fn default() -> Self {
        let now = Instant::now();
        Self { functions: 0, start: now, shown: now }
    }
}

pub(crate) fn run(sample: Option<usize>) -> Result<()> {
    let every = sample.unwrap_or(1).max(1);
    let known = Known::default();
    let (start, cpu) = (Instant::now(), cpu_time()?);
    let counts = each_library(|name, library| known.library(name, library, every))?;
    counts.print();
    let (elapsed, cpu) = (start.elapsed().as_secs_f64(), cpu_time()?.saturating_sub(cpu).as_secs_f64());
    println!(
        "per second of one processor, reading included: {:.0} modules, {:.0} functions ({cpu:.1} s, in {elapsed:.1} s)",
        counts.distinct.modules as f64 / cpu.max(1e-9),
        counts.distinct.functions as f64 / cpu.max(1e-9),
    );
    conclude(&counts.faults)
}

/// Returns the time that all threads have computed for: other work of the machine doesn't count.
fn cpu_time() -> Result<Duration> {
    let time = getrusage(UsageWho::RUSAGE_SELF)?.user_time();
    Ok(Duration::from_secs(time.tv_sec().try_into()?) + Duration::from_micros(time.tv_usec().try_into()?))
}

impl Known {
    fn library(&self, name: &str, library: &Library<'_>, every: usize) -> Counts {
        let functions: Vec<_> = library.functions().step_by(every).collect();
        let counts = functions.into_par_iter().map(|function| {
            let mut counts = Counts::default();
            let result = function.map_err(Into::into).and_then(|function| {
                let name = format!("{name}: {}", function.shown_name());
                self.function(&name, library, &function, &mut counts)
            });
            if let Err(error) = result {
                counts.faults.push(format!("{name}: {error:#}"));
            }
            counts
        });
        counts.reduce(Counts::default, super::Counts::sum)
    }

    fn function(
        &self,
        name: &str,
        library: &Library<'_>,
        function: &Function<'_>,
        counts: &mut Counts,
    ) -> Result<()> {
        let Some(module) = library.module(function)? else {
            bail!("{}: it has no module", function.shown_name())
        };
        let cell = {
            let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(modules.entry(module.sha256()).or_default())
        };
        let mut is_new = false;
        let decompiled = cell.get_or_init(|| {
            is_new = true;
            match catch_unwind(AssertUnwindSafe(|| decompile(&module))) {
                Ok(Ok(decompiled)) => Some(decompiled),
                Ok(Err(error)) => {
                    counts.faults.push(format!("{name}: {error:#}"));
                    None
                }
                Err(_) => {
                    counts.faults.push(format!("{name}: the decompiler panics"));
                    None
                }
            }
        });
        if let Some(decompiled) = decompiled {
            counts.all += decompiled.sums;
            if is_new {
                counts.distinct(name, decompiled);
            }
        }
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).step();
        Ok(())
    }
}

impl Progress {
    fn step(&mut self) {
        self.functions += 1;
        if self.shown.elapsed() >= PROGRESS {
            self.shown = Instant::now();
            eprintln!("{} functions, {:.0} s", self.functions, self.start.elapsed().as_secs_f64());
        }
    }
}

fn decompile(module: &metallib::Module<'_>) -> Result<Decompiled> {
    let bitcode = module.bitcode()?;
    let start = Instant::now();
    let module = Module::parse(bitcode.data(), bitcode.base())?;
    let metal = msl::module(&module, &|_, _| true);
    let lines = metal.text().lines().count();
    let time = start.elapsed();
    let sums = Sums {
        modules: 1,
        whole_modules: u64::from(metal.unknown.is_empty()),
        functions: metal.functions.len() as u64,
        whole: metal.functions.iter().filter(|function| function.unknown == 0).count() as u64,
        gotos: metal.gotos as u64,
        lines: lines as u64,
        casts: metal.casts as u64,
    };
    Ok(Decompiled { sums, causes: metal.unknown_kinds().into_iter().map(str::to_owned).collect(), time })
}

impl Counts {
    fn distinct(&mut self, name: &str, module: &Decompiled) {
        self.distinct += module.sums;
        self.slowest = vec![(module.time, name.to_owned())];
        let kinds: BTreeSet<&str> = module.causes.iter().map(|cause| kind(cause)).collect();
        for cause in &module.causes {
            self.causes.entry(cause.clone()).or_default().count(name, module.causes.len());
        }
        for kind in &kinds {
            self.kinds.entry((*kind).to_owned()).or_default().count(name, kinds.len());
        }
    }

    fn print(&self) {
        let (distinct, all) = (&self.distinct, &self.all);
        println!("{:<22}{:>18}{:>24}", "", "distinct modules", "functions of libraries");
        let row = |name: &str, cell: &dyn Fn(&Sums) -> String| {
            println!("{name:<22}{:>18}{:>24}", cell(distinct), cell(all));
        };
        let share = |part: u64, of: u64| format!("{part} {:6.2} %", 100.0 * part as f64 / of.max(1) as f64);
        let ratio = |part: u64, of: u64| format!("{:.3}", part as f64 / of.max(1) as f64);
        row("modules", &|sums| sums.modules.to_string());
        row("  whole", &|sums| share(sums.whole_modules, sums.modules));
        row("functions in them", &|sums| sums.functions.to_string());
        row("  whole", &|sums| share(sums.whole, sums.functions));
        row("gotos", &|sums| sums.gotos.to_string());
        row("lines per function", &|sums| ratio(sums.lines, sums.functions));
        row("casts per line", &|sums| ratio(sums.casts, sums.lines));
        for (time, name) in &self.slowest {
            println!("{:8.1} ms {name}", 1e3 * time.as_secs_f64());
        }
        print_causes("distinct modules by kind of cause; those that have no other", &self.kinds);
        print_causes("the same by cause", &self.causes);
    }
}

/// Returns what causes of the same kind begin with.
fn kind(cause: &str) -> &str {
    FAMILIES.into_iter().find(|family| cause.starts_with(family)).unwrap_or(cause)
}

fn print_causes(title: &str, causes: &BTreeMap<String, Cause>) {
    println!("{title}:");
    let mut causes: Vec<_> = causes.iter().collect();
    causes.sort_by_key(|(_, cause)| std::cmp::Reverse(cause.modules));
    let rest = causes.len().saturating_sub(SHOWN_CAUSES);
    for (text, cause) in causes.into_iter().take(SHOWN_CAUSES) {
        println!("{:8}{:8} {text} ({})", cause.modules, cause.alone, cause.example);
    }
    if rest > 0 {
        println!("  and {rest} more");
    }
}

impl Cause {
    fn count(&mut self, name: &str, causes: usize) {
        self.modules += 1;
        self.alone += u64::from(causes == 1);
        if self.example.is_empty() {
            name.clone_into(&mut self.example);
        }
    }

    fn add(&mut self, other: Self) {
        self.modules += other.modules;
        self.alone += other.alone;
        if self.example.is_empty() {
            self.example = other.example;
        }
    }
}

impl AddAssign for Sums {
    fn add_assign(&mut self, other: Self) {
        self.modules += other.modules;
        self.whole_modules += other.whole_modules;
        self.functions += other.functions;
        self.whole += other.whole;
        self.gotos += other.gotos;
        self.lines += other.lines;
        self.casts += other.casts;
    }
}

impl super::Counts for Counts {
    fn add(&mut self, other: Self) {
        self.distinct += other.distinct;
        self.all += other.all;
        for (text, cause) in other.causes {
            self.causes.entry(text).or_default().add(cause);
        }
        for (text, cause) in other.kinds {
            self.kinds.entry(text).or_default().add(cause);
        }
        self.slowest.extend(other.slowest);
        self.slowest.sort_by(|a, b| b.cmp(a));
        self.slowest.truncate(SHOWN_SLOWEST);
        self.faults.extend(other.faults);
    }

    fn fault(&mut self, fault: String) {
        self.faults.push(fault);
    }
}
