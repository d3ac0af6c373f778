//! Compares two programs.
//!
//! | module | contents |
//! |---|---|
//! | `fields` | compares the fields of outlines, without layout |
//! | `listing` | compares code, ignoring numbers that only shifted |
//! | `lines` | compares lines and creates hunks |
//! | `machine_code` | compares functions of cubins |
//! | `modules` | compares modules of bitcode, function by function |
//! | `pairing` | pairs functions by name and by similar code |
//! | `token_code` | compares token programs |
//! | `tokens` | compares listings token by token, and sees through renaming |
//!
//! Functions of Metal libraries are matched by name. A removed and an added function count as renamed if no others have
//! the same module. Parts of containers are matched by name. [`LibraryDiff`] and [`ContainerDiff`] find what has
//! changed;
//! [`LibraryDiff::change`] describes one changed function, so that callers can use several threads and print results
//! early.
//!
//! ```
//! use unshade::diff::LibraryDiff;
//! use unshade::metallib::Library;
//!
//! let before = Library::parse(include_bytes!("../../../../tests/fixtures/metallib/linker_1_2_7.metallib"))?;
//! let after = Library::parse(include_bytes!("../../../../tests/fixtures/metallib/linker_1_2_8.metallib"))?;
//! let diff = LibraryDiff::new(before, after);
//! assert_eq!(diff.changed.len(), 1);
//! let change = diff.change(&diff.changed[0], 3);
//! assert_eq!(change.tags(), ["HASH", "VERS", "RBUF"]);
//! # Ok::<(), unshade::core::Error>(())
//! ```

mod fields;
mod lines;
mod listing;
mod machine_code;
mod modules;
mod pairing;
mod source;
mod token_code;
mod tokens;

pub use fields::FieldChange;
pub use lines::{Change, Hunk, HunkLine, LineDiff, MAX_LINES, MAX_SHOWN};
pub use pairing::{NamePairs, Sketch, pair_similar};
pub use tokens::{CodeLines, DiffCounts, DiffRow, TokenDiff, marks};

use crate::demangle;
use crate::program::{Code, CodeRequest, DxProgram, Program};
use crate::select::Selection;
use crate::view::signature;
use fields::FieldLine;
use listing::Listing;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use unshade_core::{Diagnostics, FourCc, TokenSink};
use unshade_dxcontainer::Container;
use unshade_llvm::Module;
use unshade_llvm::print::Dialect;
use unshade_metallib::{Function, Library};

/// Parts of a container whose bitcode is compared.
const MODULES: [&[u8; 4]; 2] = [b"DXIL", b"ILDB"];

/// Compares the code of two bitcode files or modules.
///
/// # Errors
/// If one of them can't be read.
pub fn bitcode(
    before: &[u8],
    after: &[u8],
    dialect: Dialect,
    context: usize,
) -> unshade_core::Result<LineDiff> {
    let (before, after) = (Module::parse(before, 0)?, Module::parse(after, 0)?);
    Ok(Listing::new(&before, dialect).diff(&Listing::new(&after, dialect), context))
}

/// Compares two listings of any printer, ignoring numbers that only shifted.
///
/// ```
/// use unshade::core::{TokenKind, TokenSink};
///
/// let one = |sink: &mut dyn TokenSink| sink.put(TokenKind::Keyword, "ret\nend\n");
/// let two = |sink: &mut dyn TokenSink| sink.put(TokenKind::Keyword, "ret\nnop\nend\n");
/// assert_eq!(unshade::diff::listings(one, two, 0).added, 1);
/// ```
pub fn listings(
    before: impl FnOnce(&mut dyn TokenSink),
    after: impl FnOnce(&mut dyn TokenSink),
    context: usize,
) -> LineDiff {
    let (mut one, mut two) = (Listing::default(), Listing::default());
    before(&mut one);
    after(&mut two);
    one.diff(&two, context)
}

/// A function that is only in one of two libraries.
#[derive(Clone, Debug, Serialize)]
pub struct FunctionName {
    /// Index in the function list.
    pub index: u32,
    /// Its name as in the file, escaped.
    pub name: String,
    /// Its demangled name, if it is mangled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub demangled: Option<String>,
}

impl FunctionName {
    fn new(function: &Function<'_>) -> Self {
        let name = function.name.unwrap_or_default();
        Self {
            index: function.index,
            name: unshade_core::Escaped(name).to_cow().into_owned(),
            demangled: demangle(name),
        }
    }

    /// Returns the demangled name, or the name itself if it is not mangled.
    pub fn readable(&self) -> &str {
        self.demangled.as_deref().unwrap_or(&self.name)
    }
}

/// A function in both libraries.
#[derive(Clone, Debug)]
pub struct Pair<'a> {
    /// In the first.
    pub before: Function<'a>,
    /// In the second.
    pub after: Function<'a>,
}

/// The changes of a function.
#[derive(Clone, Debug, Serialize)]
pub struct FunctionChange {
    /// The function in the first library.
    pub before: FunctionName,
    /// The function in the second library.
    pub after: FunctionName,
    /// Changed fields.
    pub fields: Vec<FieldChange>,
    /// Its declaration, if that changed.
    #[serde(skip_serializing_if = "LineDiff::is_empty")]
    pub declaration: LineDiff,
    /// Its code, if that changed.
    #[serde(skip_serializing_if = "LineDiff::is_empty")]
    pub code: LineDiff,
    /// Whether the modules differ.
    pub module_changed: bool,
    /// Why the code could not be compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

impl FunctionChange {
    /// Returns the changed tags, each once, in order.
    pub fn tags(&self) -> Vec<&str> {
        let mut tags: Vec<&str> = Vec::new();
        for tag in self.fields.iter().map(FieldChange::tag) {
            if !tags.contains(&tag) {
                tags.push(tag);
            }
        }
        tags
    }
}

/// The differences of two libraries.
#[derive(Debug)]
pub struct LibraryDiff<'a> {
    before: Library<'a>,
    after: Library<'a>,
    before_fields: BTreeMap<u32, Vec<FieldLine>>,
    after_fields: BTreeMap<u32, Vec<FieldLine>>,
    /// Fields of the library as a whole.
    pub fields: Vec<FieldChange>,
    /// Added functions.
    pub added: Vec<FunctionName>,
    /// Removed functions.
    pub removed: Vec<FunctionName>,
    /// Renamed functions.
    pub renamed: Vec<Pair<'a>>,
    /// Functions of the same name that have changed.
    pub changed: Vec<Pair<'a>>,
    /// Number of equal functions.
    pub same: u64,
    /// Whether the bytes are equal.
    pub identical: bool,
}

impl<'a> LibraryDiff<'a> {
    /// Compares two libraries.
    pub fn new(before: Library<'a>, after: Library<'a>) -> Self {
        let identical = before.file().data() == after.file().data();
        let (whole, digests) = fields::of_library(&before);
        let (other_whole, other_digests) = fields::of_library(&after);
        let matched = Matched::new(&before, &after);
        let is_same = |pair: &Pair<'a>| {
            digests.get(&pair.before.index) == other_digests.get(&pair.after.index)
                && module_bytes(&before, &pair.before) == module_bytes(&after, &pair.after)
        };
        let count = matched.pairs.len();
        let changed: Vec<Pair<'a>> = matched.pairs.into_iter().filter(|pair| !is_same(pair)).collect();
        let pairs = || changed.iter().chain(&matched.renamed);
        let wanted: BTreeSet<u32> = pairs().map(|pair| pair.before.index).collect();
        let other_wanted: BTreeSet<u32> = pairs().map(|pair| pair.after.index).collect();
        Self {
            before_fields: fields::of_functions(&before, &wanted),
            after_fields: fields::of_functions(&after, &other_wanted),
            fields: fields::changes(&whole, &other_whole),
            added: matched.added,
            removed: matched.removed,
            renamed: matched.renamed,
            same: (count - changed.len()) as u64,
            changed,
            identical,
            before,
            after,
        }
    }

    /// Returns whether nothing has changed except, perhaps, the layout.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
            && self.added.is_empty()
            && self.removed.is_empty()
            && self.renamed.is_empty()
            && self.changed.is_empty()
    }

    /// Returns the changes of a function in [`LibraryDiff::changed`] or [`LibraryDiff::renamed`], with `context` lines
    /// around each change of its code.
    pub fn change(&self, pair: &Pair<'a>, context: usize) -> FunctionChange {
        let Pair { before, after } = pair;
        let none = Vec::new();
        let lines = self.before_fields.get(&before.index).unwrap_or(&none);
        let other_lines = self.after_fields.get(&after.index).unwrap_or(&none);
        let declaration = |library, function| signature(library, function).unwrap_or_default();
        let mut change = FunctionChange {
            before: FunctionName::new(before),
            after: FunctionName::new(after),
            fields: fields::changes(lines, other_lines),
            declaration: LineDiff::of_texts(
                &declaration(&self.before, before),
                &declaration(&self.after, after),
                context,
            ),
            code: LineDiff::default(),
            module_changed: false,
            fault: None,
        };
        let (one, two) = (module_bytes(&self.before, before), module_bytes(&self.after, after));
        change.module_changed = one != two;
        if let (Some(one), Some(two), true) = (one, two, change.module_changed) {
            match bitcode(one, two, Dialect::Llvm14, context) {
                Ok(code) => change.code = code,
                Err(error) => change.fault = Some(error.to_string()),
            }
        }
        change
    }
}

fn module_bytes<'a>(library: &Library<'a>, function: &Function<'_>) -> Option<&'a [u8]> {
    library.module(function).ok().flatten().map(|module| module.bytes())
}

/// The matched functions of two libraries.
#[derive(Default)]
struct Matched<'a> {
    pairs: Vec<Pair<'a>>,
    renamed: Vec<Pair<'a>>,
    added: Vec<FunctionName>,
    removed: Vec<FunctionName>,
}

impl<'a> Matched<'a> {
    fn new(before: &Library<'a>, after: &Library<'a>) -> Self {
        let mut matched = Self::default();
        // Functions with the same name are matched in order.
        let mut by_name: HashMap<&[u8], Vec<Function<'a>>> = HashMap::new();
        let functions: Vec<Function<'a>> = after.functions().map_while(Result::ok).collect();
        for function in functions.into_iter().rev() {
            by_name.entry(function.name.unwrap_or_default()).or_default().push(function);
        }
        let mut gone = Vec::new();
        for function in before.functions().map_while(Result::ok) {
            let name = function.name.unwrap_or_default();
            match by_name.get_mut(name).and_then(Vec::pop) {
                Some(after) => matched.pairs.push(Pair { before: function, after }),
                None => gone.push(function),
            }
        }
        let mut new: Vec<Function<'a>> = by_name.into_values().flatten().collect();
        new.sort_by_key(|function| function.index);
        matched.rename(gone, new);
        matched
    }

    /// Finds renamed functions: pairs of a removed and an added function that alone have the same module.
    fn rename(&mut self, gone: Vec<Function<'a>>, new: Vec<Function<'a>>) {
        let mut by_hash: HashMap<&[u8; 32], [Vec<&Function<'a>>; 2]> = HashMap::new();
        for (side, functions) in [&gone, &new].into_iter().enumerate() {
            for function in functions {
                let lists = function.hash.map(|hash| by_hash.entry(hash).or_default());
                if let Some(list) = lists.and_then(|lists| lists.get_mut(side)) {
                    list.push(function);
                }
            }
        }
        let (mut old_names, mut new_names) = (BTreeSet::new(), BTreeSet::new());
        for lists in by_hash.values() {
            if let [before, after] = lists
                && let ([before], [after]) = (before.as_slice(), after.as_slice())
            {
                old_names.insert(before.index);
                new_names.insert(after.index);
                self.renamed.push(Pair { before: (*before).clone(), after: (*after).clone() });
            }
        }
        self.renamed.sort_by_key(|pair| pair.before.index);
        let rest = |functions: &[Function<'a>], renamed: &BTreeSet<u32>| -> Vec<FunctionName> {
            let rest = functions.iter().filter(|function| !renamed.contains(&function.index));
            rest.map(FunctionName::new).collect()
        };
        self.removed = rest(&gone, &old_names);
        self.added = rest(&new, &new_names);
    }
}

/// The changes of a part of a container.
#[derive(Clone, Debug, Serialize)]
pub struct PartChange {
    /// Its name; `header` for everything before the parts.
    pub part: String,
    /// Whether it was added, removed or changed.
    pub change: Change,
    /// Its fields.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FieldChange>,
    /// Its code, if that changed.
    #[serde(skip_serializing_if = "LineDiff::is_empty")]
    pub code: LineDiff,
    /// Why the code could not be compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// The differences of two containers, or of two other programs with parts.
#[derive(Clone, Debug, Serialize)]
pub struct ContainerDiff {
    /// Whether the bytes are equal.
    pub identical: bool,
    /// Changed parts.
    pub parts: Vec<PartChange>,
    /// Number of equal parts.
    pub same: u64,
}

impl ContainerDiff {
    /// Compares two containers, with `context` lines around each change of code.
    pub fn new(before: &Container<'_>, after: &Container<'_>, context: usize) -> Self {
        let identical = before.bytes() == after.bytes();
        let (before, after) = (DxProgram::new(before.clone()), DxProgram::new(after.clone()));
        Self::of_programs(&before, &after, identical, context)
    }

    /// Compares two programs of any format, by their outlines and their code.
    pub fn of_programs(before: &dyn Program, after: &dyn Program, identical: bool, context: usize) -> Self {
        let mut diff = Self { identical, parts: Vec::new(), same: 0 };
        if !before.has_fields() && !after.has_fields() {
            modules::compare(before, after, context, &mut diff);
            return diff;
        }
        let fields = |program: &dyn Program| fields::of_parts(|sink| program.outline(sink));
        diff.compare(fields(before), fields(after), |key, change| {
            if let (Some(one), Some(two)) = (part_module(before, key), part_module(after, key))
                && one != two
            {
                match bitcode(&one, &two, Dialect::Dxc, context) {
                    Ok(code) => change.code = code,
                    Err(error) => change.fault = Some(error.to_string()),
                }
            }
        });
        if identical {
            return diff;
        }
        let selection = Selection::default();
        let request = CodeRequest { selection: &selection, part: None, path: "" };
        // What can't be read is reported by `verify` and `dis`.
        let code = |program| Program::code(program, &request, &mut Diagnostics::new());
        match (code(before), code(after)) {
            (Code::Machine(before), Code::Machine(after)) => {
                let (changes, same) = machine_code::compare(before, after, context);
                diff.parts.extend(changes);
                diff.same += same;
            }
            (Code::Tokens(before), Code::Tokens(after)) => {
                diff.parts.extend(token_code::compare(&before, &after, context));
            }
            // Modules in parts were compared with their parts.
            (Code::Modules(_) | Code::Machine(_) | Code::Tokens(_) | Code::Unread, _) => {}
        }
        diff
    }

    fn compare(
        &mut self,
        before: Vec<(String, Vec<FieldLine>)>,
        after: Vec<(String, Vec<FieldLine>)>,
        compare_code: impl Fn(&PartKey, &mut PartChange),
    ) {
        let mut two = numbered(after);
        for (key, lines) in numbered(before) {
            let place = two.iter().position(|(other, _)| *other == key);
            let Some((_, other_lines)) = place.map(|place| two.remove(place)) else {
                self.parts.push(PartChange::one_sided(key.0, Change::Removed));
                continue;
            };
            let mut change = PartChange::one_sided(key.0.clone(), Change::Same);
            change.fields = fields::changes(&lines, &other_lines);
            compare_code(&key, &mut change);
            if change.fields.is_empty() && change.code.is_empty() && change.fault.is_none() {
                self.same += 1;
            } else {
                self.parts.push(change);
            }
        }
        self.parts.extend(two.into_iter().map(|((name, _), _)| PartChange::one_sided(name, Change::Added)));
    }
}

impl PartChange {
    fn one_sided(part: String, change: Change) -> Self {
        Self { part, change, fields: Vec::new(), code: LineDiff::default(), fault: None }
    }
}

/// Name of a part, and its number among parts of this name.
type PartKey = (String, usize);

/// Numbers the parts of each name.
fn numbered<T>(parts: Vec<(String, T)>) -> Vec<(PartKey, T)> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    let number = |(name, part): (String, T)| {
        let count = counts.entry(name.clone()).or_default();
        *count += 1;
        ((name, *count), part)
    };
    parts.into_iter().map(number).collect()
}

/// Returns the bitcode of a part, if it has any.
fn part_module(program: &dyn Program, (name, number): &PartKey) -> Option<Vec<u8>> {
    let name = FourCc(name.as_bytes().try_into().ok()?);
    if *number != 1 || !MODULES.contains(&&name.0) {
        return None;
    }
    let selection = Selection::default();
    let request = CodeRequest { selection: &selection, part: Some(name), path: "" };
    match program.code(&request, &mut Diagnostics::new()) {
        Code::Modules(groups) => {
            let unit = groups.first()?.units.first()?;
            Some(unit.bytes().ok()?.0.to_vec())
        }
        Code::Machine(_) | Code::Tokens(_) | Code::Unread => None,
    }
}
