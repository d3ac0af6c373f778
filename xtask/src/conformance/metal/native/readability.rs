//! `cargo xtask conformance metal-readability`: decompiled kernels beside their true sources.
//!
//! Kernels are those of `air` in UNSHADE_CORPUS, one of each function or template of a source; `--sample N` takes N of them,
//! spread over all. A source is what its headers make of it, without Metal's own; what is counted of it are the kernel and the
//! functions that it names, and that these name. Of functions with the same name the shortest counts, and operators do not,
//! so that a source is rather too short. Of the decompiled text, all functions count.
//!
//! | column | |
//! |---|---|
//! | source, ours, ratio | statements ([`statements`]) |
//! | loops | of both: those that the compiler unrolled are gone |
//! | names | arguments that have the same name, of all in the text |
//! | types | arguments that have the same type, or that of a template's parameter |
//! | vectors | vectors that are built or declared, of both |
//! | structs | structures of arguments, of both |

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Result, ensure};
use rayon::prelude::*;

use super::super::super::statements::{self, median};
use super::cases::{self, Case};
use super::decompiled::Decompiler;
use super::llvm_text::split;
use super::tools::Tools;
use crate::sh;

/// The kernels that are compared, unless a number is given.
const KERNELS: usize = 30;

/// Words before a parenthesis that are no names of functions.
const CONTROL: [&str; 6] = ["if", "for", "while", "switch", "catch", "operator"];

/// The functions of a text: names with parameters and bodies.
struct Functions<'t>(BTreeMap<&'t str, Vec<(&'t str, &'t str)>>);

/// The name and the type of an argument.
type Argument = (String, String);

/// What is compared of a text.
#[derive(Default)]
struct Measures {
    statements: usize,
    loops: usize,
    vectors: usize,
    structs: BTreeSet<String>,
    arguments: Vec<Argument>,
}

pub(in super::super::super) fn run(sample: Option<usize>) -> Result<()> {
    let Some(tools) = Tools::find()? else { return Ok(()) };
    let decompiler = Decompiler::build()?;
    let mut cases: BTreeMap<String, Case> = BTreeMap::new();
    for case in cases::with_sources(&tools, usize::MAX)? {
        let Some((_, expression)) = &case.source else { continue };
        cases.entry(base(expression).to_owned()).or_insert(case);
    }
    let wanted = sample.unwrap_or(KERNELS).min(cases.len()).max(1);
    ensure!(!cases.is_empty(), "the corpus has no kernels with sources");
    let all: Vec<(String, Case)> = cases.into_iter().collect();
    let chosen: Vec<&(String, Case)> = (0..wanted).map(|index| &all[index * all.len() / wanted]).collect();
    let rows = chosen.par_iter().map(|(name, case)| row(&decompiler, name, case));
    let rows: Vec<Option<(String, f64)>> = rows.collect::<Result<_>>()?;
    println!(
        "\n{:<34} {:>6} {:>6} {:>6} {:>9} {:>7} {:>7} {:>9} {:>7}",
        "kernel", "source", "ours", "ratio", "loops", "names", "types", "vectors", "structs"
    );
    let mut ratios = Vec::new();
    for (text, ratio) in rows.into_iter().flatten() {
        println!("{text}");
        ratios.push(ratio);
    }
    println!("\n{} kernels, median {:.2}", ratios.len(), median(&mut ratios));
    Ok(())
}

/// Returns the line of a kernel, and the ratio of statements; none if it can't be decompiled.
fn row(decompiler: &Decompiler, name: &str, case: &Case) -> Result<Option<(String, f64)>> {
    let Some((source, _)) = &case.source else { return Ok(None) };
    let file = sh::temporary("air");
    fs::write(&file, &case.module)?;
    let text = decompiler.decompile(&file)?;
    fs::remove_file(&file)?;
    let text = match text {
        Ok(text) => text,
        Err(reason) => {
            println!("{}: {reason}", case.name);
            return Ok(None);
        }
    };
    let source = statements::without_comments(source);
    let Some(theirs) = of_source(&source, name) else {
        println!("{}: its source has no function {name}", case.name);
        return Ok(None);
    };
    let ours = of_text(&text, &super::entry_of(&text, &case.name));
    let ratio = ours.statements as f64 / theirs.statements.max(1) as f64;
    let same = |test: &dyn Fn(&Argument, &Argument) -> bool| {
        ours.arguments.iter().filter(|own| theirs.arguments.iter().any(|other| test(own, other))).count()
    };
    let names = same(&|own, other| own.0 == other.0);
    let types = same(&|own, other| own.0 == other.0 && is_same_type(&own.1, &other.1));
    let count = ours.arguments.len();
    let shown: String = case.name.chars().take(34).collect();
    let text = format!(
        "{shown:<34} {:>6} {:>6} {ratio:>6.2} {:>9} {:>7} {:>7} {:>9} {:>7}",
        theirs.statements,
        ours.statements,
        format!("{}/{}", ours.loops, theirs.loops),
        format!("{names}/{count}"),
        format!("{types}/{count}"),
        format!("{}/{}", ours.vectors, theirs.vectors),
        format!("{}/{}", ours.structs.len(), theirs.structs.len()),
    );
    Ok(Some((text, ratio)))
}

/// Returns the name of a function without template arguments, namespaces and the cast that chooses an overload.
fn base(expression: &str) -> &str {
    let expression = match expression.strip_prefix("static_cast<") {
        Some(cast) => cast.rsplit_once(">(").map_or(cast, |found| found.1),
        None => expression,
    };
    let plain = expression.split('<').next().unwrap_or(expression);
    plain.rsplit("::").next().unwrap_or(plain).trim()
}

/// Measures the kernel and the functions that it names.
fn of_source(source: &str, name: &str) -> Option<Measures> {
    let functions = Functions::of(source);
    let (parameters, _) = functions.0.get(name)?.first()?;
    let mut measures = Measures { arguments: arguments(parameters), ..Measures::default() };
    let mut seen = BTreeSet::new();
    let mut stack = vec![name];
    while let Some(name) = stack.pop() {
        let Some(found) = functions.0.get(name) else { continue };
        let Some((_, body)) = found.iter().min_by_key(|(_, body)| statements::count(body)) else { continue };
        if !seen.insert(name) {
            continue;
        }
        measures.add(body);
        stack.extend(statements::words(body).into_iter().map(|(_, word)| word));
    }
    measures.structs = structs(&measures.arguments);
    Some(measures)
}

/// Measures all functions of a decompiled text.
fn of_text(text: &str, kernel: &str) -> Measures {
    let functions = Functions::of(text);
    let mut measures = Measures::default();
    for (name, found) in &functions.0 {
        for (parameters, body) in found {
            measures.add(body);
            if *name == kernel {
                measures.arguments = arguments(parameters);
            }
        }
    }
    measures.structs = structs(&measures.arguments);
    measures
}

impl Measures {
    fn add(&mut self, body: &str) {
        self.statements += statements::count(body);
        self.loops += statements::loops(body);
        self.vectors += statements::words(body).iter().filter(|(_, word)| is_vector(word)).count();
    }
}

impl<'t> Functions<'t> {
    /// Finds the definitions of a text without comments.
    fn of(text: &'t str) -> Self {
        let mut functions: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
        let mut at = 0;
        while let Some(open) = text[at..].find('{').map(|found| at + found) {
            at = open + 1;
            let before = text[..open].trim_end();
            let before = before.strip_suffix("const").unwrap_or(before).trim_end();
            let Some(head) = before.strip_suffix(')') else { continue };
            let Some(start) = opening(head) else { continue };
            let named = head[..start].trim_end();
            let length =
                named.bytes().rev().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
            let name = &named[named.len() - length..];
            if name.is_empty() || CONTROL.contains(&name) {
                continue;
            }
            let end = closing(&text[open..]).map_or(text.len(), |length| open + length);
            functions.entry(name).or_default().push((&head[start + 1..], &text[open + 1..end]));
            at = end;
        }
        Self(functions)
    }
}

/// Returns where the parenthesis is that the end of a text closes.
fn opening(text: &str) -> Option<usize> {
    let mut depth = 1_u32;
    text.bytes().enumerate().rev().find_map(|(at, byte)| {
        match byte {
            b')' => depth += 1,
            b'(' => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(at)
    })
}

/// Returns where the brace is that closes the one at the start of a text.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_u32;
    text.bytes().enumerate().find_map(|(at, byte)| {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        (depth == 0).then_some(at)
    })
}

/// Returns the names and types of parameters.
fn arguments(parameters: &str) -> Vec<Argument> {
    let parts = split(parameters, ',').into_iter().map(|part| part.split("[[").next().unwrap_or_default());
    let parts = parts.map(|part| part.split('=').next().unwrap_or_default().trim());
    parts
        .filter_map(|part| {
            let length =
                part.bytes().rev().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
            let (ty, name) = part.split_at(part.len() - length);
            (!name.is_empty()).then(|| (name.to_owned(), ty.trim().to_owned()))
        })
        .collect()
}

/// Returns whether a type is the same, or one that a template's parameter may have become.
fn is_same_type(own: &str, other: &str) -> bool {
    let plain = |ty: &str| {
        let plain = ty.replace("const ", "").replace("metal::", "").replace("_t", "");
        plain.split_whitespace().collect::<Vec<_>>().join(" ").replace(" *", "*").replace(" &", "&")
    };
    let (own, other) = (plain(own), plain(other));
    if own == other {
        return true;
    }
    // `device T*` became `device float*`.
    let parts = |ty: &str| {
        let end = ty.trim_start_matches(|c: char| c != '*' && c != '&').to_owned();
        let words: Vec<String> = ty[..ty.len() - end.len()].split(' ').map(str::to_owned).collect();
        (words, end)
    };
    let ((own, own_end), (other, other_end)) = (parts(&own), parts(&other));
    let is_parameter = other.last().is_some_and(|word| word.starts_with(|c: char| c.is_ascii_uppercase()));
    own_end == other_end
        && own.len() == other.len()
        && is_parameter
        && own[..own.len() - 1] == other[..other.len() - 1]
}

/// Returns the structures of arguments: names that are no scalars or vectors.
fn structs(arguments: &[Argument]) -> BTreeSet<String> {
    let words = arguments.iter().flat_map(|(_, ty)| statements::words(ty));
    let words = words.map(|(_, word)| word).filter(|word| word.len() > 2 && !is_vector(word));
    words.filter(|word| word.starts_with(|c: char| c.is_ascii_uppercase())).map(str::to_owned).collect()
}

/// Returns whether a word is the name of a vector.
fn is_vector(word: &str) -> bool {
    let scalar = word.strip_suffix(['2', '3', '4']).unwrap_or_default();
    ["float", "half", "bfloat", "int", "uint", "short", "ushort", "char", "uchar", "long", "ulong", "bool"]
        .contains(&scalar)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "template <typename T> T twice(T a) { return a * 2; }\n\
                          struct Op { float operator()(float a) const { return a; } };\n\
                          template <typename T, int N>\nkernel void k(device const T* a, constant Params& p, uint2 i) {\n  \
                          for (int j = 0; j < N; ++j) { a[j] = twice(a[j]); }\n}\n";

    #[test]
    fn a_kernel_has_the_functions_that_it_names() {
        let found = of_source(SOURCE, base("k<float, 4>")).unwrap();
        assert_eq!((found.statements, found.loops, found.arguments.len()), (3, 1, 3));
        assert_eq!(found.arguments[0], ("a".to_owned(), "device const T*".to_owned()));
        assert_eq!(found.structs.len(), 1);
    }

    #[test]
    fn types_are_the_same_as_those_of_parameters() {
        assert!(is_same_type("const device float*", "device const T*"));
        assert!(is_same_type("constant ulong&", "constant ulong &"));
        assert!(!is_same_type("device float*", "device half*"));
        assert!(!is_same_type("device float*", "constant T&"));
    }
}
