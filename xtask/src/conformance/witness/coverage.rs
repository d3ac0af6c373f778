//! What the witnesses are witnesses of.
//!
//! A witness counts for a form of instructions ([`form`](mod@form)) if it notices when the instruction is missing: with a `NOP` in its
//! place, the result is no longer right. It should also tell the values of modifiers apart: with another value of one
//! modifier, or another sign of an operand, the result should be wrong too. Values that no witness tells apart are listed.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result};
use rayon::prelude::*;
use unshade::core::Reader;
use unshade::nv::Cubin;
use unshade::nv::function::{Function, FunctionKind};
use unshade::sass::{Instruction, assemble, instruction::encode};
use unshade_tests::closed_loop::{cases, compare, emulated, folder};
use unshade_tests::witness::form::{self, form};
use unshade_tests::witness::kernel::{self, Compiled, instructions};
use unshade_tests::witness::ptx::{self, Outcome, is_right};
use unshade_tests::witness::rows;

/// Number of inputs on which a changed program runs; those that still seem right run on the second number.
const INPUTS: [usize; 2] = [64, 512];

/// Number of random inputs for a changed kernel.
const ROUNDS: u64 = 2;

/// Number of witnesses that need not notice a change before it counts as equivalent.
const PATIENT_WITNESSES: usize = 12;

/// Number of places in a witness at which a change is tried.
pub(super) const PLACES: usize = 4;

/// How many times as many instructions as the original a changed kernel may execute.
const PATIENCE: u64 = 3;

/// The kinds of witnesses, in the order of their columns.
pub(super) const KINDS: [&str; 4] = ["PTX ISA", "ptxas", "C++", "recompiled"];
const DOCUMENT: usize = 0;
const PTXAS: usize = 1;
const CPP: usize = 2;
pub(super) const RECOMPILED: usize = 3;

/// What is known about a form.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// The kinds of witnesses that notice when the instruction is missing, by index in [`KINDS`].
    pub(super) kinds: BTreeSet<usize>,
    /// Other values of its modifiers, as the forms that they make.
    others: BTreeSet<String>,
    /// Those of them that a witness tells apart.
    told_apart: BTreeSet<String>,
}

impl Known {
    /// Returns the forms that no witness tells apart from this one.
    pub(super) fn alike(&self) -> impl Iterator<Item = &String> {
        self.others.difference(&self.told_apart)
    }

    /// Returns whether a witness was tried with other values of the form's modifiers.
    pub(super) fn was_changed(&self) -> bool {
        self.kinds.iter().any(|kind| *kind != RECOMPILED)
    }

    /// Returns whether a change could add something for these kinds.
    fn needs(&self, change: &Change, kinds: &[usize]) -> bool {
        match &change.form {
            None => kinds.iter().any(|kind| !self.kinds.contains(kind)),
            Some(form) => !self.told_apart.contains(form),
        }
    }
}

/// What is known about each form.
pub(super) type Coverage = BTreeMap<String, Known>;

/// Code that a test compares with a witness.
struct Witness<'a> {
    /// The instructions, with their places in the code.
    instructions: Vec<(usize, Instruction)>,
    /// The kinds of witnesses that compare it.
    kinds: Vec<usize>,
    /// Returns the kinds that notice a word at a place.
    noticed_by: &'a (dyn Fn(usize, u64) -> Vec<usize> + Sync),
}

/// A form, and the one that a change makes of it; none where the instruction is missing.
type ChangedForm = (String, Option<String>);

/// What is found out about the forms in one set of witnesses.
struct Search<'a> {
    coverage: &'a mut Coverage,
    /// How many witnesses did not notice a change of a form.
    unnoticed: BTreeMap<ChangedForm, usize>,
}

impl Search<'_> {
    /// Tries the changes that could add something, each of them at the first, the last and some other places.
    fn try_changes(&mut self, witness: &Witness<'_>) {
        let mut wanted: BTreeMap<ChangedForm, Vec<(usize, u64)>> = BTreeMap::new();
        for (place, instruction) in &witness.instructions {
            let form = form(instruction);
            let known = self.coverage.entry(form.clone()).or_default();
            for change in changes(instruction) {
                known.others.extend(change.form.clone());
                if known.needs(&change, &witness.kinds) {
                    wanted.entry((form.clone(), change.form)).or_default().push((*place, change.word));
                }
            }
        }
        wanted.retain(|key, _| {
            key.1.is_none() || self.unnoticed.get(key).is_none_or(|count| *count < PATIENT_WITNESSES)
        });
        let wanted: Vec<_> = wanted.into_iter().collect();
        let found: Vec<_> = wanted
            .into_par_iter()
            .with_max_len(1)
            .map(|(key, mut places)| {
                let end = places.len() - 1;
                places.swap(end.min(1), end);
                let mut noticed: BTreeSet<usize> = BTreeSet::new();
                for (place, word) in places.into_iter().take(PLACES) {
                    noticed.extend((witness.noticed_by)(place, word));
                    if noticed.len() == witness.kinds.len() || key.1.is_some() && !noticed.is_empty() {
                        break;
                    }
                }
                (key, noticed)
            })
            .collect();
        for ((form, other), noticed) in found {
            let known = self.coverage.entry(form.clone()).or_default();
            match other {
                None => known.kinds.extend(noticed),
                Some(other) if noticed.is_empty() => {
                    *self.unnoticed.entry((form, Some(other))).or_default() += 1;
                }
                Some(other) => {
                    known.told_apart.insert(other);
                }
            }
        }
    }
}

/// Changes the instructions of all witnesses, one at a time.
pub(super) fn all(compiled: &[Compiled]) -> Result<Coverage> {
    let mut coverage = Coverage::new();
    let mut search = Search { coverage: &mut coverage, unnoticed: BTreeMap::new() };
    for compiled in compiled {
        of_program(compiled, &mut search)?;
    }
    let mut search = Search { coverage: &mut coverage, unnoticed: BTreeMap::new() };
    for case in cases::all() {
        of_case(&case, &mut search)?;
    }
    Ok(coverage)
}

/// A changed instruction: its word, and its form; none where the instruction is missing.
struct Change {
    word: u64,
    form: Option<String>,
}

/// Returns the word that takes the place of a missing instruction. What reconverges at the instruction still does.
pub(super) fn without(instruction: &Instruction) -> Option<u64> {
    let nop = if instruction.modifier("join") == Some("on") { "NOP.S" } else { "NOP" };
    assemble::instruction(instruction.isa, nop, 0, 0).ok().and_then(|word| u64::try_from(word).ok())
}

/// Returns the changes of an instruction: none in its place, and other values of its fields.
fn changes(instruction: &Instruction) -> Vec<Change> {
    let isa = instruction.isa;
    let mut changes = Vec::new();
    let mut push = |word: u128, form: Option<String>| {
        changes.extend(u64::try_from(word).ok().map(|word| Change { word, form }));
    };
    if let Some(word) = without(instruction) {
        push(word.into(), None);
    }
    let values = instruction.values();
    for field in form::fields(instruction) {
        let Some(index) = instruction.fields().position(|other| core::ptr::eq(other, field)) else {
            continue;
        };
        // Fields of more bits are numbers, such as those of special registers.
        // Flags that nothing reads may be set.
        let sets_flags = isa.text(field.slot) == "cc";
        for value in 0..1_u64 << field.width.min(6) {
            let mut changed = values.clone();
            if changed.values.get(index) == Some(&value) || sets_flags && value == 1 {
                continue;
            }
            changed.values[index] = value;
            let word = encode(isa, instruction.encoding, &changed);
            let Some(other) = Instruction::decode(isa, word) else { continue };
            let text = other.text(0);
            if core::ptr::eq(other.encoding, instruction.encoding)
                && !text.contains("INVALID")
                && !text.contains("???")
            {
                push(word, Some(form(&other)));
            }
        }
    }
    let own = form(instruction);
    changes.retain(|change| change.form.as_ref() != Some(&own));
    changes
}

/// Changes the code of a program that a test compares with the document and with ptxas.
fn of_program(compiled: &Compiled, search: &mut Search<'_>) -> Result<()> {
    let program = &compiled.program;
    let letter = rows::register(program, 0).context("a result")?;
    let inputs = rows::inputs(program, INPUTS[1]);
    let expected: Vec<Outcome> = inputs
        .iter()
        .map(|inputs| ptx::run(program, inputs))
        .collect::<Result<_, _>>()
        .map_err(|error| anyhow::anyhow!("{program}: {error}"))?;
    // Whether the document, and the constants of ptxas, contradict the results of changed code.
    let contradicts = |code: &[u8]| -> [bool; 2] {
        let mut found = [false; 2];
        for count in INPUTS {
            let Ok(results) = kernel::run(code, &compiled.constants, &inputs[..count]) else {
                return [true; 2];
            };
            for (index, result) in results.iter().enumerate() {
                found[0] |= !is_right(letter, expected[index], *result);
                let constant = compiled.folded.get(index).copied().flatten();
                let outcome = constant.map(|bits| Outcome { bits, ..expected[index] });
                found[1] |= outcome.is_some_and(|outcome| !is_right(letter, outcome, *result));
            }
            if found[0] {
                break;
            }
        }
        found
    };
    let noticed_by = |place: usize, word: u64| {
        let mut code = compiled.code.clone();
        code[place..place + 8].copy_from_slice(&word.to_le_bytes());
        let [by_document, by_ptxas] = contradicts(&code);
        [by_document.then_some(DOCUMENT), by_ptxas.then_some(PTXAS)].into_iter().flatten().collect()
    };
    let mut kinds = vec![DOCUMENT];
    kinds.extend(compiled.folded.iter().any(Option::is_some).then_some(PTXAS));
    let mut instructions = instructions(&compiled.code);
    // The branch to itself after the end is never reached.
    instructions.pop();
    search.try_changes(&Witness { instructions, kinds, noticed_by: &noticed_by });
    Ok(())
}

/// Changes the code of a kernel that a test compares with C++.
fn of_case(case: &cases::Case, search: &mut Search<'_>) -> Result<()> {
    let cubin = std::fs::read(folder().join("sm_35").join(format!("{}.cubin", case.file)))?;
    let inputs: Vec<_> = (0..ROUNDS).map(|round| case.inputs(round)).collect();
    let expected =
        inputs.iter().map(|inputs| emulated::run(&cubin, case, inputs)).collect::<Result<Vec<_>, _>>();
    let expected = expected.map_err(|fault| anyhow::anyhow!("{}: {fault}", case.kernel))?;
    let is_wrong = |changed: &[u8]| {
        inputs.iter().zip(&expected).any(|(inputs, (expected, summary))| {
            match emulated::run_within(changed, case, inputs, PATIENCE * summary.steps + 1000) {
                Ok((found, _)) => compare::difference(case, expected, &found).is_some(),
                Err(_) => true,
            }
        })
    };
    let parsed = Cubin::read(Reader::new(&cubin)).map_err(anyhow::Error::msg)?;
    let mut found = Vec::new();
    for function in parsed.functions().filter(|function| is_used(function, &case.kernel)) {
        let code = function.code(&parsed).map_err(anyhow::Error::msg)?;
        let start = usize::try_from(code.range().start)?;
        found.extend(
            instructions(code.data()).into_iter().map(|(offset, instruction)| (start + offset, instruction)),
        );
    }
    let noticed_by = |place: usize, word: u64| {
        let mut changed = cubin.clone();
        changed[place..place + 8].copy_from_slice(&word.to_le_bytes());
        if is_wrong(&changed) { vec![CPP] } else { Vec::new() }
    };
    search.try_changes(&Witness { instructions: found, kinds: vec![CPP], noticed_by: &noticed_by });
    Ok(())
}

/// Returns whether a kernel may execute a function: itself, or a device function.
fn is_used(function: &Function<'_>, kernel: &str) -> bool {
    function.kind != FunctionKind::Kernel || function.name() == kernel.as_bytes()
}
