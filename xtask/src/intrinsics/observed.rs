//! The attributes of intrinsics, as `llvm-as` and `llvm-dis` print them.

use std::collections::{BTreeMap, HashMap};
use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

/// An attribute that stays only on functions that are no intrinsics of the program.
const UNKNOWN: &str = "\"unknown\"";

/// Parameters of each declaration: more than those of any intrinsic.
pub(crate) const PARAMETERS: usize = 32;

/// Names of one run.
const OF_ONE_RUN: usize = 400;

/// The attributes of a function.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(super) struct Attributes {
    /// Attributes of the function; `None` if the name means nothing to this version.
    pub(super) function: Option<String>,
    /// Attributes of parameters and of the result (`r`), as `0:immarg|r:noalias`.
    pub(super) parameters: String,
}

/// The types of all parameters and of the result. LLVM drops attributes that do not fit a type, and upgrades some
/// declarations unless they use `bfloat`.
pub(crate) const TYPES: [&str; 4] = ["i32", "i64", "i8*", "bfloat"];

/// Declares intrinsics with one type for all parameters.
pub(crate) fn declarations(names: &[String], ty: &str) -> String {
    let parameters = vec![ty; PARAMETERS].join(", ");
    let declare = |name: &String| format!("declare {ty} @{name}({parameters}) {UNKNOWN}\n");
    names.iter().map(declare).collect()
}

/// The attributes of intrinsics by target and by the rest of the name.
pub(super) type Observed = BTreeMap<String, BTreeMap<String, Attributes>>;

/// Returns the attributes of all names that a version can read.
pub(super) fn attributes(version: u32, names: &[String]) -> Result<Observed> {
    let mut result = Observed::new();
    for ty in TYPES {
        // Opaque pointers replace typed ones.
        let ty = if version >= 15 && ty == "i8*" { "ptr" } else { ty };
        for names in names.chunks(OF_ONE_RUN) {
            observe(version, names, ty, &mut result)?;
        }
    }
    Ok(result)
}

/// Some declarations stop LLVM: a run that fails is repeated with its halves.
fn observe(version: u32, names: &[String], ty: &str, result: &mut Observed) -> Result<()> {
    let module =
        run(&format!("llvm-as-{version}"), &["-disable-verify"], declarations(names, ty).as_bytes())?;
    let text = match module {
        Some(module) => run(&format!("llvm-dis-{version}"), &[], &module)?,
        None => None,
    };
    let Some(text) = text else {
        if let [name] = names {
            println!("LLVM {version} fails on a declaration of {name}");
            return Ok(());
        }
        let (first, second) = names.split_at(names.len() / 2);
        observe(version, first, ty, result)?;
        return observe(version, second, ty, result);
    };
    let text = String::from_utf8(text).context("llvm-dis prints UTF-8")?;
    let groups: HashMap<&str, &str> = text.lines().filter_map(group).collect();
    for (name, attributes) in text.lines().filter_map(|line| declared(line, ty, &groups)) {
        // LLVM upgrades some declarations to other intrinsics.
        let same = names.iter().any(|asked| asked.strip_prefix("llvm.") == Some(&name));
        if let (true, Some((target, name))) = (same, name.split_once('.')) {
            let names = result.entry(target.to_owned()).or_default();
            let known = names.entry(name.to_owned()).or_insert_with(|| attributes.clone());
            known.parameters = merged(&known.parameters, &attributes.parameters);
        }
    }
    Ok(())
}

/// Parses `attributes #0 = { nounwind }`.
fn group(line: &str) -> Option<(&str, &str)> {
    let (name, attributes) = line.strip_prefix("attributes ")?.split_once(" = { ")?;
    Some((name, attributes.trim_end_matches('}').trim_end()))
}

/// Parses a declaration. Functions that LLVM renamed are another function's concern.
fn declared(line: &str, ty: &str, groups: &HashMap<&str, &str>) -> Option<(String, Attributes)> {
    let (result, rest) = line.strip_prefix("declare ")?.split_once(" @llvm.")?;
    let result = result.strip_suffix(ty)?;
    let (name, rest) = rest.split_once('(')?;
    let (parameters, group) = rest.rsplit_once(')')?;
    let function = groups.get(group.trim()).copied().unwrap_or("");
    if function == UNKNOWN {
        return Some((name.to_owned(), Attributes::default()));
    }
    let mut parts: Vec<String> = parameters
        .split(", ")
        .enumerate()
        .filter_map(|(at, parameter)| {
            Some(format!("{at}:{}", parameter.strip_prefix(ty)?.strip_prefix(' ')?))
        })
        .collect();
    if !result.is_empty() {
        parts.push(format!("r:{}", result.trim_end()));
    }
    Some((name.to_owned(), Attributes { function: Some(function.to_owned()), parameters: parts.join("|") }))
}

/// Merges what two declarations show of the parameters: for each the longer list, as the other lacks what does not fit
/// its type.
fn merged(one: &str, other: &str) -> String {
    let mut merged: BTreeMap<(usize, &str), &str> = BTreeMap::new();
    for (place, attributes) in one.split('|').chain(other.split('|')).filter_map(|part| part.split_once(':'))
    {
        let longest = merged.entry((place.len(), place)).or_default();
        *longest = if attributes.len() > longest.len() { attributes } else { *longest };
    }
    let parts: Vec<String> =
        merged.iter().map(|((_, place), attributes)| format!("{place}:{attributes}")).collect();
    parts.join("|")
}

/// Runs a filter; `None` if it fails or does not end.
fn run(program: &str, options: &[&str], input: &[u8]) -> Result<Option<Vec<u8>>> {
    let mut command = Command::new(program);
    command.args(options).args(["-", "-o", "-"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot start {program}"))?;
    let mut stdin = child.stdin.take().context("no standard input")?;
    let mut stdout = child.stdout.take().context("no standard output")?;
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input));
        let output = scope.spawn(move || {
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut stdout, &mut bytes).map(|_| bytes)
        });
        let success = ends_well(&mut child)?;
        let output = output.join().ok().context("the reader stopped")??;
        Ok(success.then_some(output))
    })
}

/// Waits for a program, but not forever.
fn ends_well(child: &mut Child) -> Result<bool> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        if start.elapsed() > Duration::from_secs(60) {
            child.kill()?;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
