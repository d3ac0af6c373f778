//! The kernels of MLX beside the headers from which they are compiled.
//!
//! The wheels of MLX have the library and the headers with most templates. Which template gives which kernel is in sources that
//! are not in the wheel: `air/mlx/src/instantiations` of UNSHADE_CORPUS has those of a commit near [`KNOWN_VERSION`], so they
//! are only used for it. clang's preprocessor expands both ([`cxx`](super::cxx) reads the result). The parameters that
//! `unshade show` prints are read by the same parser.
//!
//! | kernel | must have |
//! |---|---|
//! | with an instantiation | the parameters of the template with its arguments in place |
//! | without one | those of a template in the headers of the wheel, with the types of the kernel as its arguments |
//!
//! A kernel may only differ for a reason in [`CAUSES`]. One without an instantiation that fits no template is counted: its
//! source may not be in the wheel.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use rayon::prelude::*;
use unshade::metal::reflection::Source as Reflections;
use unshade::metallib::reflection::print_signature;
use unshade::metallib::{Function, Library};

use super::super::metallib::add_maps;
use super::cxx::{DEPENDENT, Parameter, Source, parameters};
use super::{clang, conclude, count, each_library_of};
use crate::{corpus, sh};

/// The packages with kernels and headers.
const PACKAGES: [&str; 2] = ["mlx", "mlx-metal"];

/// The version of the packages whose instantiations are at hand, as in the names of wheels.
const KNOWN_VERSION: &str = "-0.32.4-";

/// Of 1,000 kernels of that version, so many must have the parameters of a header.
const MINIMUM: u64 = 990;

/// Maximum number of printed names of kernels that fit no template.
const SHOWN_NAMES: usize = 12;

/// What may differ, why, and whether the reason is that the metadata does not have it.
const CAUSES: [(&str, &str, bool); 3] = [
    ("template arguments", "the metadata names the template of a structure without its arguments", true),
    ("coherence", "the metadata does not say which threads see writes", true),
    (DEPENDENT, "the header has a member of a template, which is not evaluated", false),
];

/// A difference: what differs, in the header, and as shown.
type Difference = (&'static str, String, String);

#[derive(Default)]
struct Counts {
    kernels: u64,
    /// Those with an instantiation, and those of them with its parameters.
    instantiated: u64,
    same: u64,
    /// Those without an instantiation that have the parameters of a template.
    fitting: u64,
    /// Those that only differ in what the metadata does not have.
    lost: u64,
    /// By cause: kernels that differ.
    causes: BTreeMap<&'static str, u64>,
    /// By differences: kernels, and the first of them.
    differences: BTreeMap<String, (u64, String)>,
    /// By the first part of their names: kernels that fit no template.
    unknown: BTreeMap<String, u64>,
    faults: Vec<String>,
}

pub(crate) fn run() -> Result<()> {
    let Some(clang) = clang() else { return Ok(()) };
    let Some(sources) = instantiations()? else { return Ok(()) };
    let mut faults = Vec::new();
    for wheel in corpus::cached_packages(&PACKAGES)? {
        let folder = corpus::unpack(&wheel)?;
        let include = folder.join("mlx/include");
        let name = wheel.file_stem().unwrap_or_default().to_string_lossy();
        let is_known = name.contains(KNOWN_VERSION);
        let mut all = header_files(&include)?;
        all.extend(sources.iter().filter(|_| is_known).cloned());
        let counts = read(&folder, &include, &all, &clang)?;
        counts.print(&name);
        let differ = counts.differences.iter();
        faults.extend(
            differ.map(|(text, (count, example))| format!("{count} kernels, such as {example}: {text}")),
        );
        let (right, all) = (counts.right(), counts.kernels);
        if is_known && right * 1000 < all * MINIMUM {
            faults.push(format!("{name}: only {right} of {all} kernels are as in the headers"));
        }
        faults.extend(counts.faults);
    }
    conclude(&faults)
}

/// Returns the sources that instantiate templates; prints a notice if there are none.
fn instantiations() -> Result<Option<Vec<PathBuf>>> {
    let folder = sh::env_path("UNSHADE_CORPUS").map(|corpus| corpus.join("air/mlx/src/instantiations"));
    let Some(folder) = folder.filter(|folder| folder.is_dir()) else {
        println!("skipped: UNSHADE_CORPUS has no air/mlx/src/instantiations");
        return Ok(None);
    };
    let mut files = Vec::new();
    sh::files_below(&folder, &mut files)?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "metal"));
    files.sort();
    Ok(Some(files))
}

/// Returns the headers of kernels in a package.
fn header_files(include: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    sh::files_below(&include.join("mlx/backend/metal/kernels"), &mut files)?;
    files.sort();
    Ok(files)
}

fn read(folder: &Path, include: &Path, sources: &[PathBuf], clang: &Path) -> Result<Counts> {
    let mut counts = Counts::default();
    let mut files = Vec::new();
    sh::files_below(folder, &mut files)?;
    for path in files.iter().filter(|path| path.extension().is_some_and(|extension| extension == "metallib"))
    {
        each_library_of(path, &mut |_, library| {
            let result = language(library).and_then(|version| headers(include, sources, clang, version));
            match result {
                Ok(headers) => super::Counts::add(&mut counts, compare(library, &headers)),
                Err(error) => counts.faults.push(format!("{}: {error:#}", path.display())),
            }
        })?;
    }
    Ok(counts)
}

/// Returns the version of the language as `__METAL_VERSION__` has it.
fn language(library: &Library<'_>) -> Result<u32> {
    let first = library.functions().next().context("there is no function")??;
    let version = first.versions.context("a function has no version")?.language;
    Ok(u32::from(version.major) * 100 + u32::from(version.minor) * 10)
}

/// Reads the sources with the headers of a package.
fn headers(include: &Path, sources: &[PathBuf], clang: &Path, version: u32) -> Result<Vec<Source>> {
    let standard = sh::temporary("headers");
    empty_headers(include, sources, &standard)?;
    let read = |path: &PathBuf| -> Result<Option<Source>> {
        let mut command = Command::new(clang);
        command.args(["-x", "c++", "-E", "-P", "-nostdinc", "-D__METAL__"]);
        command.arg(format!("-D__METAL_VERSION__={version}"));
        command.arg("-I").arg(&standard).arg("-I").arg(include).arg(path);
        let output = command.output()?;
        // A source of another version may need a header that the package does not have.
        Ok(output.status.success().then(|| Source::parse(&String::from_utf8_lossy(&output.stdout))))
    };
    let read = sources.par_iter().map(read).collect::<Result<Vec<_>>>();
    fs::remove_dir_all(&standard)?;
    let read: Vec<Source> = read?.into_iter().flatten().collect();
    println!(
        "{}: {} of {} sources are read with these headers",
        include.display(),
        read.len(),
        sources.len()
    );
    Ok(read)
}

/// Creates empty headers in place of those of the standard library.
fn empty_headers(include: &Path, sources: &[PathBuf], folder: &Path) -> Result<()> {
    let mut files = Vec::new();
    sh::files_below(include, &mut files)?;
    for path in files.iter().chain(sources) {
        let text = String::from_utf8_lossy(&fs::read(path)?).into_owned();
        let includes =
            text.lines().filter_map(|line| line.trim().strip_prefix("#include <")?.split('>').next());
        for name in includes.filter(|name| !name.contains("..")) {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap_or(folder))?;
            fs::write(path, "")?;
        }
    }
    Ok(())
}

/// Compares the kernels of a library with the headers.
fn compare(library: &Library<'_>, headers: &[Source]) -> Counts {
    let mut known: BTreeMap<&str, Vec<Vec<Parameter>>> = BTreeMap::new();
    for source in headers {
        for instantiation in &source.instantiations {
            known.entry(&instantiation.host_name).or_default().extend(source.instantiate(instantiation));
        }
        for name in source.kernels.keys() {
            known.entry(name).or_default().extend(source.plain(name));
        }
    }
    known.retain(|_, candidates| !candidates.is_empty());
    let functions: Vec<_> = library.functions().map_while(Result::ok).collect();
    let counts = functions.par_iter().map(|function| {
        let mut counts = Counts { kernels: 1, ..Counts::default() };
        let name = function.shown_name();
        match shown(library, function) {
            Ok(shown) => match known.get(name.as_str()) {
                Some(candidates) => counts.instantiated(&name, &shown, candidates),
                None => counts.inferred(&name, &shown, headers),
            },
            Err(error) => counts.faults.push(format!("{name}: {error:#}")),
        }
        counts
    });
    counts.reduce(Counts::default, super::Counts::sum)
}

/// Returns the parameters that `show` prints.
fn shown(library: &Library<'_>, function: &Function<'_>) -> Result<Vec<Parameter>> {
    let name = function.name.unwrap_or_default();
    let source = Reflections::of(library, function)?.context("there is no reflection")?;
    let described = source.function(name)?.context("the reflection does not have it")?;
    let mut text = String::new();
    print_signature(&described, &mut text);
    let without_comments: Vec<&str> =
        text.lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code)).collect();
    let text = without_comments.join("\n");
    let list = text.rsplit_once(&format!(" {}(", function.shown_name())).map(|(_, list)| list.trim_end());
    let list = list.and_then(|list| list.strip_suffix(')')).context("no list of parameters is printed")?;
    Ok(parameters(list))
}

impl Counts {
    /// Compares a kernel with its instantiations.
    fn instantiated(&mut self, name: &str, shown: &[Parameter], candidates: &[Vec<Parameter>]) {
        self.instantiated = 1;
        let all = candidates.iter().map(|header| differences(header, shown));
        let fewest = all.min_by_key(Vec::len).unwrap_or_default();
        if fewest.is_empty() {
            self.same = 1;
        } else if let Err(unnamed) = self.explain(&fewest) {
            self.differences.insert(unnamed, (1, name.to_owned()));
        }
    }

    /// Counts the causes of differences. Returns the text of those without a cause.
    fn explain(&mut self, differences: &[Difference]) -> Result<(), String> {
        let unnamed = differences.iter().filter(|one| cause(one).is_none());
        let unnamed: Vec<_> = unnamed
            .map(|(what, header, shown)| format!("{what}: {header} in the header, {shown} shown"))
            .collect();
        if !unnamed.is_empty() {
            return Err(unnamed.join("; "));
        }
        let causes = || differences.iter().filter_map(cause);
        self.causes.extend(causes().map(|(_, why, _)| (*why, 1)));
        self.lost = u64::from(causes().all(|(.., is_lost)| *is_lost));
        Ok(())
    }

    /// Looks for a template with the parameters of a kernel.
    fn inferred(&mut self, name: &str, shown: &[Parameter], headers: &[Source]) {
        let templates = headers.iter().flat_map(|source| {
            let kernels = source.kernels.values().flatten();
            let alike = kernels.filter(|kernel| kernel.parameter_count() == shown.len());
            alike.map(|kernel| differences(&source.inferred(kernel, shown), shown))
        });
        let fewest = templates
            .min_by_key(|found| (found.iter().filter(|one| cause(one).is_none()).count(), found.len()));
        match fewest {
            Some(found) if found.is_empty() => self.fitting = 1,
            Some(found) if self.explain(&found).is_ok() => {}
            _ => count(&mut self.unknown, name.split('_').next().unwrap_or_default().to_owned()),
        }
    }

    /// Returns the number of kernels whose parameters are those of a header, as far as the metadata has them.
    fn right(&self) -> u64 {
        self.same + self.fitting + self.lost
    }

    fn print(&self, name: &str) {
        let share = self.right() as f64 * 100.0 / self.kernels.max(1) as f64;
        println!("{name}: {} of {} kernels as in the headers, {share:.2} %", self.right(), self.kernels);
        println!("  {:>8} of {} with an instantiation have its parameters", self.same, self.instantiated);
        println!("  {:>8} without one have those of a template", self.fitting);
        println!("  {:>8} only differ in what the metadata does not have", self.lost);
        println!("  {:>8} without an instantiation fit no template", self.unknown.values().sum::<u64>());
        let mut unknown: Vec<_> = self.unknown.iter().collect();
        unknown.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        for (name, count) in unknown.iter().take(SHOWN_NAMES) {
            println!("    {count:>6}  {name}…");
        }
        if unknown.len() > SHOWN_NAMES {
            println!("            and {} more names", unknown.len() - SHOWN_NAMES);
        }
        for (cause, count) in &self.causes {
            println!("  {count:>8} differ: {cause}");
        }
    }
}

/// Returns the cause of a difference.
fn cause(difference: &Difference) -> Option<&'static (&'static str, &'static str, bool)> {
    CAUSES.iter().find(|(what, ..)| *what == difference.0)
}

/// Returns all differences between the parameters in a header and those shown.
fn differences(header: &[Parameter], shown: &[Parameter]) -> Vec<Difference> {
    let mut found: Vec<Difference> = Vec::new();
    if header.len() != shown.len() {
        let names = |list: &[Parameter]| {
            list.iter().map(|parameter| parameter.name.clone()).collect::<Vec<_>>().join(" ")
        };
        found.push(("number of parameters", names(header), names(shown)));
        return found;
    }
    for (header, shown) in header.iter().zip(shown) {
        let mut check = |what, header: &str, shown: &str| {
            if header != shown {
                found.push((what, header.to_owned(), shown.to_owned()));
            }
        };
        check("name", &header.name, &shown.name);
        check("address space", &header.space, &shown.space);
        check("indirection", &header.indirection, &shown.indirection);
        check("coherence", &header.coherence, &shown.coherence);
        check("elements", &header.array.concat(), &shown.array.concat());
        check("attributes", &header.attributes.join(" "), &shown.attributes.join(" "));
        if !header.indirection.is_empty() {
            check("const", &header.is_const.to_string(), &shown.is_const.to_string());
        }
        let (ty, shown_ty) = (header.type_tokens.concat(), shown.type_tokens.concat());
        match ty.split_once('<') {
            _ if ty == DEPENDENT => check(DEPENDENT, &ty, &shown_ty),
            Some((head, _)) if head == shown_ty => check("template arguments", &ty, &shown_ty),
            _ => check("type", &ty, &shown_ty),
        }
    }
    found
}

impl super::Counts for Counts {
    fn add(&mut self, other: Self) {
        self.kernels += other.kernels;
        self.instantiated += other.instantiated;
        self.same += other.same;
        self.fitting += other.fitting;
        self.lost += other.lost;
        add_maps(&mut self.causes, other.causes);
        add_maps(&mut self.unknown, other.unknown);
        for (text, (count, example)) in other.differences {
            self.differences.entry(text).or_insert((0, example)).0 += count;
        }
        self.faults.extend(other.faults);
    }

    fn fault(&mut self, fault: String) {
        self.faults.push(fault);
    }
}
