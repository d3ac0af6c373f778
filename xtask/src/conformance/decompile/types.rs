//! `cargo xtask conformance decompile-types`: decompiles kernels without what their debugging information says, and
//! compares the types that the decompiler infers with those of the source code.
//!
//! Cubins are those of `cuda/loop` in `UNSHADE_CORPUS`, or those named by `--kernels`, that have debugging information
//! (`nvcc -G`). A kernel's parameters, the members that it reads of structures, and its local variables count. The
//! debugging information says which values a local variable has: their names are held back from type inference and from
//! the text. A variable that has no value counts only if it is in memory: the compiler removed the others. Variables
//! with the same name and different types in one function are left out.
//!
//! A type is right if its class is: a number's kind and sign, what a pointer points to, a structure, the rank of an
//! array and its element. What is inferred for a variable in memory is the object that begins at its place.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use rayon::prelude::*;
use unshade::core::{Diagnostics, Reader};
use unshade::decompile::{self, FunctionC};
use unshade::decompiler::ir::SourceVariable;
use unshade::decompiler::types::{NumberKind, Type};
use unshade::decompiler::{Decompiled, Options};
use unshade::nv::Cubin;
use unshade::nv::debug::{DebugFunction, DebugInfo, DebugType, DebugVariable, Place, TypeIndex, TypeKind};
use unshade::nv::function::{Function, parameter_base};

use super::{of_folder, short};
use crate::sh;

/// Target: variables per 100 whose type is right.
const RIGHT: f64 = 90.0;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Parameter,
    Member,
    Local,
}

/// The counts of a set of kernels.
#[derive(Default)]
struct Score {
    kernels: usize,
    /// By part: how many types are right, and how many there are.
    parts: BTreeMap<Part, (usize, usize)>,
    /// By part, class in the source code and inferred class: how many, and the name of one.
    wrong: BTreeMap<(Part, String, String), (usize, String)>,
    /// Variables without values in the text.
    removed: usize,
    /// Variables whose name has several types.
    ambiguous: usize,
}

impl Score {
    fn count(&mut self, part: Part, place: &str, source: &str, inferred: &str) {
        let counts = self.parts.entry(part).or_default();
        counts.1 += 1;
        if source == inferred {
            counts.0 += 1;
            return;
        }
        let key = (part, source.to_owned(), inferred.to_owned());
        self.wrong.entry(key).or_insert_with(|| (0, place.to_owned())).0 += 1;
    }

    fn add(mut self, other: Self) -> Self {
        self.kernels += other.kernels;
        self.removed += other.removed;
        self.ambiguous += other.ambiguous;
        for (part, (right, all)) in other.parts {
            let counts = self.parts.entry(part).or_default();
            *counts = (counts.0 + right, counts.1 + all);
        }
        for (key, (count, name)) in other.wrong {
            self.wrong.entry(key).or_insert((0, name)).0 += count;
        }
        self
    }

    fn print(&self) -> Result<()> {
        let share = |right: usize, all: usize| 100.0 * right as f64 / all.max(1) as f64;
        println!("kernels: {}", self.kernels);
        let (mut right, mut all) = (0, 0);
        for (part, counts) in &self.parts {
            println!("{part:?}: {} of {} right, {:.1} %", counts.0, counts.1, share(counts.0, counts.1));
            (right, all) = (right + counts.0, all + counts.1);
        }
        println!("all: {right} of {all} right, {:.1} %", share(right, all));
        println!("left out: {} without a value, {} with several types", self.removed, self.ambiguous);
        let mut wrong: Vec<_> = self.wrong.iter().collect();
        wrong.sort_by_key(|entry| std::cmp::Reverse(entry.1.0));
        for ((part, source, inferred), (count, name)) in wrong {
            println!("{count:>6}  {part:?}: {source}, inferred {inferred}   {name}");
        }
        ensure!(share(right, all) >= RIGHT, "fewer than {RIGHT} % of the types are right");
        Ok(())
    }
}

pub(in super::super) fn run(paths: &[PathBuf]) -> Result<()> {
    let mut folders = paths.to_vec();
    if paths.is_empty() {
        let Some(corpus) = sh::env_path("UNSHADE_CORPUS") else {
            println!("skipped: UNSHADE_CORPUS is not set");
            return Ok(());
        };
        folders.push(corpus.join("cuda/loop"));
    }
    let mut cubins = Vec::new();
    for path in &folders {
        if path.is_dir() {
            cubins.extend(of_folder(path)?);
        } else {
            cubins.push(fs::read(path).with_context(|| path.display().to_string())?);
        }
    }
    let scores = cubins.par_iter().with_max_len(1).map(|data| of_cubin(data));
    scores.reduce(Score::default, Score::add).print()
}

fn of_cubin(data: &[u8]) -> Score {
    let mut score = Score::default();
    let Ok(cubin) = Cubin::read(Reader::new(data)) else { return score };
    let Ok(Some(info)) = DebugInfo::of(&cubin) else { return score };
    let truth = Truth { info };
    let options = Options { without_source: true, ..Options::default() };
    let base = parameter_base(cubin.arch());
    let offsets = |function: &Function<'_>| {
        let offsets =
            function.parameters(&cubin).into_iter().map(|(offset, _)| u64::from(offset.saturating_sub(base)));
        (String::from_utf8_lossy(function.name()).into_owned(), offsets.collect())
    };
    let kernels: HashMap<String, Vec<u64>> = cubin
        .functions()
        .filter(|function| function.symbol.is_kernel())
        .map(|function| offsets(&function))
        .collect();
    decompile::cubin(&cubin, &|_| true, &options, &mut Diagnostics::new(), &mut |found: FunctionC| {
        let Ok(text) = &found.result else { return };
        let Some(offsets) = kernels.get(&found.name) else { return };
        if let Some(function) = truth.info.function(&found.name) {
            score.kernels += 1;
            truth.parameters(function, offsets, text, &mut score);
            truth.locals(function, text, &mut score);
        }
    });
    score
}

/// The types of the source code.
struct Truth {
    info: DebugInfo,
}

impl Truth {
    /// Compares the parameters, which are at `offsets`.
    fn parameters(&self, function: &DebugFunction, offsets: &[u64], text: &Decompiled, score: &mut Score) {
        for (variable, &offset) in function.parameters.iter().zip(offsets) {
            let name = format!("{} {}", short(&function.symbol), variable.name);
            let at = |offset: u64| text.parameters.iter().find(|one| u64::from(one.offset) == offset);
            let mut members = Vec::new();
            if let Some(structure) = self.info.resolve(variable.ty).filter(|ty| is_structure(ty)) {
                self.members(structure, offset, 0, &mut members);
                for (offset, class) in members {
                    if let Some(found) = at(offset) {
                        let inferred = found.ty.map_or_else(|| "unknown".to_owned(), class_of);
                        score.count(Part::Member, &name, &class, &inferred);
                    }
                }
                continue;
            }
            let Some(class) = self.class(variable.ty) else { continue };
            let inferred =
                at(offset).and_then(|found| found.ty).map_or_else(|| "unknown".to_owned(), class_of);
            score.count(Part::Parameter, &name, &class, &inferred);
        }
    }

    /// Lists the numbers and pointers of a structure at an offset, with their classes.
    fn members(&self, structure: &DebugType, offset: u64, depth: usize, list: &mut Vec<(u64, String)>) {
        const MAX_DEPTH: usize = 8;
        let (TypeKind::Structure(members) | TypeKind::Union(members)) = &structure.kind else { return };
        for member in members {
            let at = offset + member.offset;
            match self.info.resolve(member.ty) {
                Some(inner) if is_structure(inner) && depth < MAX_DEPTH => {
                    self.members(inner, at, depth + 1, list);
                }
                _ => list.extend(self.class(member.ty).map(|class| (at, class))),
            }
        }
    }

    fn locals(&self, function: &DebugFunction, text: &Decompiled, score: &mut Score) {
        let mut by_name: BTreeMap<&str, Vec<(&DebugVariable, String)>> = BTreeMap::new();
        for variable in &function.locals {
            if let Some(class) = self.class(variable.ty) {
                by_name.entry(&variable.name).or_default().push((variable, class));
            }
        }
        for (name, variables) in by_name {
            let class = &variables[0].1;
            if variables.iter().any(|other| other.1 != *class) {
                score.ambiguous += variables.len();
                continue;
            }
            let mut found = text.variables.iter().filter(|found| found.name == name);
            let place = format!("{} {name}", short(&function.symbol));
            for (variable, _) in &variables {
                let is_in_memory = || variable.locations.iter().any(|location| is_memory(&location.place));
                match found.next() {
                    Some(found) => {
                        score.count(Part::Local, &place, class, &class_of_variable(found));
                    }
                    None if is_in_memory() => score.count(Part::Local, &place, class, "not found"),
                    None => score.removed += 1,
                }
            }
        }
    }

    /// Returns the class of a type; none if it is not described.
    fn class(&self, index: Option<TypeIndex>) -> Option<String> {
        let ty = self.info.resolve(index)?;
        Some(match &ty.kind {
            TypeKind::Pointer(target) => match self.info.resolve(*target) {
                None => "pointer to void".to_owned(),
                Some(target) => format!("pointer to {}", self.element(target)),
            },
            TypeKind::Array(element, counts) => {
                let element = self.info.resolve(*element).map_or_else(String::new, |ty| self.element(ty));
                format!("array of rank {} of {element}", counts.len())
            }
            TypeKind::Unknown | TypeKind::Void => return None,
            _ => number(ty),
        })
    }

    fn element(&self, ty: &DebugType) -> String {
        match &ty.kind {
            TypeKind::Pointer(_) => "pointer".to_owned(),
            TypeKind::Array(element, _) => {
                self.info.resolve(*element).map_or_else(String::new, |ty| self.element(ty))
            }
            _ => format!("{}{}", number(ty), if is_structure(ty) { 0 } else { ty.size * 8 })
                .replace("structure0", "structure"),
        }
    }
}

fn is_structure(ty: &DebugType) -> bool {
    matches!(ty.kind, TypeKind::Structure(_) | TypeKind::Union(_))
}

fn is_memory(place: &Place) -> bool {
    matches!(place, Place::Frame { .. } | Place::Shared(_))
}

fn number(ty: &DebugType) -> String {
    let name = match ty.kind {
        TypeKind::Float => "float",
        TypeKind::Signed => "signed",
        TypeKind::Unsigned | TypeKind::Enumeration => "unsigned",
        TypeKind::Bool => "bool",
        TypeKind::Structure(_) | TypeKind::Union(_) => "structure",
        TypeKind::Function => "function",
        _ => "unknown",
    };
    name.to_owned()
}

/// Returns the class of an inferred variable.
fn class_of_variable(variable: &SourceVariable) -> String {
    let Some(ty) = variable.ty else { return "unknown".to_owned() };
    match variable.counts.len() {
        0 => class_of(ty),
        rank => format!("array of rank {rank} of {}", element_of(ty)),
    }
}

/// Returns the class of an array's elements.
fn element_of(ty: Type) -> String {
    match ty {
        ty if ty.is_pointer() => "pointer".to_owned(),
        ty @ (Type::Integer(..) | Type::Float(_)) => format!("{}{}", class_of(ty), ty.bits()),
        ty => class_of(ty),
    }
}

/// Returns the class of an inferred type.
fn class_of(ty: Type) -> String {
    match ty {
        Type::Void => "unknown".to_owned(),
        Type::Bool => "bool".to_owned(),
        Type::Integer(_, true) => "signed".to_owned(),
        Type::Integer(_, false) => "unsigned".to_owned(),
        Type::Float(_) => "float".to_owned(),
        Type::Pointer(bits, kind) => {
            let name = match kind {
                NumberKind::Float => "float",
                NumberKind::Signed => "signed",
                NumberKind::Unsigned => "unsigned",
            };
            format!("pointer to {name}{bits}")
        }
        Type::Vector(..) | Type::Structure(_) => "structure".to_owned(),
        Type::StructurePointer(_) => "pointer to structure".to_owned(),
    }
}
