//! Splits the semantics of an encoding into pieces.
//!
//! A program is cut where choices begin and end, so that each piece only has constructors for the modifiers that
//! affect it, and equal pieces of many encodings are shared as one table.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;

use super::Writer;
use super::stacks::{TargetSource, target_sources};
use crate::lower::{Class, Code, NATIVE, PLACES, Pcode, Program, SIGNS, Step, Test, Value};
use crate::model::{Bits, Encoding, Kind, Part};

/// The values that groups of bits may have in a constructor.
type Conditions = BTreeMap<Vec<(u32, u32)>, Vec<u128>>;

/// A constructor before it is written: its conditions, and its steps with all choices resolved.
#[derive(Clone)]
struct Leaf {
    conditions: Conditions,
    steps: Vec<ResolvedStep>,
}

/// A step without choices.
#[derive(Clone)]
pub(super) enum ResolvedStep {
    Do(Pcode),
    If(Value, Vec<ResolvedStep>, Vec<ResolvedStep>),
}

impl Writer<'_> {
    /// Returns the tables for the semantics of an encoding, in order.
    pub(super) fn pieces(&mut self, encoding: &Encoding) -> Vec<String> {
        let program = self.isa.programs[encoding.operation].clone();
        let mut tables = Vec::new();
        let cut = cut(&program.steps);
        let shared = shared_names(&cut);
        let mut names =
            Names { program: &program, shared: HashMap::new(), counts: BTreeMap::new(), is_shared: shared };
        for steps in cut {
            let leaves =
                self.leaves(encoding, steps, Leaf { conditions: Conditions::new(), steps: Vec::new() });
            let table = self.piece(encoding, leaves, &mut names);
            tables.extend(table);
        }
        for (bytes, count) in names.counts {
            let most = self.scratch.entry(bytes).or_insert(0);
            *most = (*most).max(count);
        }
        tables.extend(self.push(encoding, &program.steps));
        tables.extend(self.join(encoding));
        tables
    }

    /// Returns the bits that a test depends on and the numbers for which it is true; or the result, if it is the same
    /// for the whole encoding.
    fn tested(&self, encoding: &Encoding, test: &Test) -> Result<(Bits, Vec<u128>, Vec<u128>), bool> {
        let operation = &self.isa.operations[encoding.operation];
        if test.slot == crate::lower::BACKEND {
            return Err(true);
        }
        if test.slot == "form" {
            return Err(test.values.contains(&operation.forms[encoding.form].name));
        }
        let by_name = |bits: &Bits, modifier: usize, order: &[Option<usize>]| {
            let values = &self.isa.modifiers[modifier].values;
            let all: Vec<u128> =
                (0..order.len() as u128).filter(|number| order[*number as usize].is_some()).collect();
            let holds = |number: &u128| {
                order[*number as usize].is_some_and(|value| test.values.contains(&values[value].name))
            };
            (bits.clone(), all.iter().copied().filter(holds).collect(), all.clone())
        };
        if let Some(index) = encoding.operand(&test.slot) {
            let operand = &encoding.operands[index];
            if let Some(sign) = SIGNS.iter().find(|sign| test.values.iter().any(|value| value == sign.0)) {
                return operand.part(sign.1).map(|bits| (bits.clone(), vec![1], vec![0, 1])).ok_or(false);
            }
            return match (operand.part(Part::Select), operand.modifier(Part::Select)) {
                (Some(bits), Some(entry)) => Ok(by_name(bits, entry.modifier, &entry.order)),
                _ => Err(false),
            };
        }
        if operation.operands.iter().any(|role| role.name == test.slot) {
            return Err(false);
        }
        match encoding.choice(&test.slot) {
            Some(index) => {
                let choice = &encoding.choices[index];
                Ok(by_name(&choice.bits, choice.modifier, &choice.order))
            }
            None => {
                let declared =
                    operation.modifiers.iter().find(|entry| entry.0 == test.slot).map(|entry| entry.1);
                Err(declared.is_some_and(|modifier| {
                    let number = crate::rust_tables::default_number(self.isa, modifier);
                    test.values.contains(&self.isa.modifiers[modifier].values[number].name)
                }))
            }
        }
    }

    /// Returns the steps for all combinations of choices.
    fn leaves(&self, encoding: &Encoding, steps: &[Step], start: Leaf) -> Vec<Leaf> {
        let mut leaves = vec![start];
        for step in steps {
            let mut next = Vec::new();
            for mut leaf in leaves {
                match step {
                    Step::Do(pcode) => {
                        leaf.steps.push(ResolvedStep::Do(pcode.clone()));
                        next.push(leaf);
                    }
                    Step::If(value, yes, no) => {
                        let inner = |steps, conditions: &Conditions| {
                            self.leaves(
                                encoding,
                                steps,
                                Leaf { conditions: conditions.clone(), steps: Vec::new() },
                            )
                        };
                        for then in inner(yes, &leaf.conditions) {
                            for otherwise in inner(no, &then.conditions) {
                                let mut with =
                                    Leaf { conditions: otherwise.conditions, steps: leaf.steps.clone() };
                                with.steps.push(ResolvedStep::If(
                                    value.clone(),
                                    then.steps.clone(),
                                    otherwise.steps,
                                ));
                                next.push(with);
                            }
                        }
                    }
                    Step::When(test, yes, no) => match self.tested(encoding, test) {
                        Err(true) => next.extend(self.leaves(encoding, yes, leaf)),
                        Err(false) => next.extend(self.leaves(encoding, no, leaf)),
                        Ok((bits, holds, all)) => {
                            let (ranges, now) =
                                joined(&mut leaf.conditions, &bits, &all, (encoding.mask, encoding.value));
                            let key = Bits { ranges: ranges.clone(), ..Bits::default() };
                            for (steps, wanted) in [(yes, true), (no, false)] {
                                let holds =
                                    |number: &u128| holds.contains(&bits.extract(placed(&key, *number)));
                                let left: Vec<u128> =
                                    now.iter().copied().filter(|number| holds(number) == wanted).collect();
                                if left.is_empty() {
                                    continue;
                                }
                                let mut with = leaf.clone();
                                with.conditions.insert(ranges.clone(), left);
                                next.extend(self.leaves(encoding, steps, with));
                            }
                        }
                    },
                }
            }
            leaves = next;
        }
        leaves
    }

    /// Removes unused steps, and comparisons with a known result.
    fn without_unread(&self, encoding: &Encoding, steps: &mut Vec<ResolvedStep>, shared: &HashSet<usize>) {
        loop {
            let mut read = HashSet::new();
            reads(steps, &mut read);
            let wanted = |value: &Value| match value {
                Value::Temporary(index) => shared.contains(index) || read.contains(index),
                Value::Operand { slot, .. } => encoding.operand(slot).is_some(),
                _ => true,
            };
            if !sweep(steps, &wanted) {
                return;
            }
        }
    }

    fn piece(&mut self, encoding: &Encoding, leaves: Vec<Leaf>, names: &mut Names<'_>) -> Option<String> {
        let mut bodies: Vec<(Vec<String>, String, Vec<Conditions>)> = Vec::new();
        for mut leaf in leaves {
            self.without_unread(encoding, &mut leaf.steps, &names.is_shared);
            // A jump to a popped address is a branch if the context has the address, otherwise a call of a function
            // that returns it.
            let sources = match self.goes_by(&leaf.steps) {
                Some(field) => Vec::from(target_sources(field)),
                None => vec![TargetSource { by: None, unset: Vec::new() }],
            };
            for source in sources {
                let pattern = source.unset.iter().map(|field| format!("{field}=0")).collect();
                let mut body = Body { by: source.by, pattern, ..Body::default() };
                self.statements(encoding, &leaf.steps, names, &mut body);
                let locals: String =
                    body.locals.values().map(|(name, bytes)| format!(" local {name}:{bytes};")).collect();
                let code = format!("{locals}{}", body.code);
                body.pattern.sort();
                body.pattern.dedup();
                match bodies.iter_mut().find(|entry| entry.0 == body.pattern && entry.1 == code) {
                    Some(entry) => entry.2.push(leaf.conditions.clone()),
                    None => bodies.push((body.pattern, code, vec![leaf.conditions.clone()])),
                }
            }
        }
        if bodies.iter().all(|body| body.1.is_empty()) {
            return None;
        }
        // Ignore choices that do not affect any body.
        let mut text = String::new();
        let several = bodies.len() > 1;
        for (pattern, code, conditions) in &bodies {
            let conditions = if several { merged(conditions.clone()) } else { vec![Conditions::new()] };
            for condition in conditions {
                let mut parts: Vec<String> = Vec::new();
                for (ranges, numbers) in &condition {
                    parts.push(self.condition(ranges, numbers));
                }
                parts.extend(pattern.iter().cloned());
                let parts = if parts.is_empty() { String::from("epsilon") } else { parts.join(" & ") };
                let _ = writeln!(text, "@: is {parts} {{{code} export 0:1; }}");
            }
        }
        Some(self.table('s', &text))
    }

    fn condition(&mut self, ranges: &[(u32, u32)], numbers: &[u128]) -> String {
        let bits = Bits { ranges: ranges.to_vec(), ..Bits::default() };
        let each: Vec<String> = numbers.iter().map(|number| self.equals(&bits, *number)).collect();
        match each.as_slice() {
            [one] => one.clone(),
            _ => format!("({})", each.iter().map(|one| format!("({one})")).collect::<Vec<_>>().join(" | ")),
        }
    }

    fn statements(
        &mut self,
        encoding: &Encoding,
        steps: &[ResolvedStep],
        names: &mut Names<'_>,
        body: &mut Body,
    ) {
        let mut steps = steps.iter().peekable();
        while let Some(step) = steps.next() {
            if let (Some(by), Some(_)) = (body.by, self.pops(step, steps.peek().copied())) {
                let (code, table) = self.goto_popped(by);
                body.code.push_str(&code);
                body.pattern.push(table);
                steps.next();
                continue;
            }
            match step {
                // The context keeps the pushed address.
                ResolvedStep::Do(pcode) if self.pushed(encoding, pcode).is_some() => {}
                ResolvedStep::Do(pcode) => self.statement(encoding, pcode, names, body),
                ResolvedStep::If(value, yes, no) => {
                    let condition = self.input(encoding, value, names, body);
                    if yes.is_empty() && no.is_empty() {
                        continue;
                    }
                    let label = body.labels;
                    body.labels += 1;
                    let (otherwise, end) = (format!("<no{label}>"), format!("<end{label}>"));
                    if yes.is_empty() {
                        let _ = write!(body.code, " if ({condition}) goto {end};");
                        self.statements(encoding, no, names, body);
                    } else {
                        let target = if no.is_empty() { &end } else { &otherwise };
                        let _ = write!(body.code, " if (!{condition}) goto {target};");
                        self.statements(encoding, yes, names, body);
                        if !no.is_empty() {
                            let _ = write!(body.code, " goto {end}; {otherwise}");
                            self.statements(encoding, no, names, body);
                        }
                    }
                    let _ = write!(body.code, " {end}");
                }
            }
        }
    }

    fn statement(&mut self, encoding: &Encoding, pcode: &Pcode, names: &mut Names<'_>, body: &mut Body) {
        let label = matches!(pcode.code, Code::Goto | Code::Call)
            .then(|| self.direct_target(encoding, pcode.inputs.first()))
            .flatten();
        let inputs: Vec<String> = match label {
            Some(_) => Vec::new(),
            None => pcode.inputs.iter().map(|input| self.input(encoding, input, names, body)).collect(),
        };
        let text = match &pcode.code {
            Code::Native(index) => {
                let bytes = pcode.output.as_ref().map_or(4, |output| names.bytes(output));
                let mut text = NATIVE[*index]
                    .sleigh
                    .replace("{n}", &bytes.to_string())
                    .replace("{b}", &(bytes * 4).to_string());
                for (index, input) in inputs.iter().enumerate() {
                    text = text.replace(&format!("{{{index}}}"), input);
                }
                text
            }
            Code::Function(index) => format!("{}({})", self.isa.functions[*index].name, inputs.join(", ")),
            Code::Load(space) => {
                let space = space_name(space);
                let bytes = pcode.output.as_ref().map_or(4, |output| names.bytes(output));
                format!("*[{space}]:{bytes} {}", inputs[0])
            }
            Code::Store(space) => {
                let space = space_name(space);
                let bytes = pcode.inputs.get(1).map_or(4, |value| names.bytes(value));
                let _ = write!(body.code, " *[{space}]:{bytes} {} = {};", inputs[0], inputs[1]);
                return;
            }
            Code::Goto | Code::Call => {
                let verb = if pcode.code == Code::Goto { "goto" } else { "call" };
                if pcode.code == Code::Call {
                    body.code.push_str(" return_address = inst_next;");
                }
                match label {
                    Some(table) => {
                        let _ = write!(body.code, " {verb} {table};");
                        body.pattern.push(table);
                    }
                    None => {
                        let _ = write!(body.code, " {verb} [{}];", inputs[0]);
                    }
                }
                return;
            }
            Code::Return => {
                body.code.push_str(" return [return_address];");
                return;
            }
            Code::Exit => {
                body.code.push_str(" return [exit_address];");
                return;
            }
        };
        match &pcode.output {
            Some(output) => {
                let place = self.output(encoding, output, names, body);
                if *output == Value::Flag(String::from("carry")) {
                    for place in PLACES {
                        let _ = write!(body.code, " {place} = 0;");
                    }
                }
                let _ = write!(body.code, " {place} = {text};");
            }
            None => {
                let _ = write!(body.code, " {text};");
            }
        }
    }

    /// Returns the table of a target that is encoded in the word.
    fn direct_target(&mut self, encoding: &Encoding, target: Option<&Value>) -> Option<String> {
        let Some(Value::Operand { slot, .. }) = target else { return None };
        let operand = encoding.operands.get(encoding.operand(slot)?)?.clone();
        matches!(operand.kind, Kind::Relative | Kind::Absolute).then(|| self.target(&operand))
    }

    fn input(
        &mut self,
        encoding: &Encoding,
        value: &Value,
        names: &mut Names<'_>,
        body: &mut Body,
    ) -> String {
        let bytes = names.bytes(value);
        let table = match value {
            Value::Temporary(index) => return names.name(*index, body),
            Value::Number(number, width) => {
                return format!("{:#x}:{}", number & crate::model::ones(*width), width.div_ceil(8));
            }
            Value::Flag(name) => return flag(name).to_owned(),
            Value::Next => {
                if !body.code.contains("local next:8") {
                    body.code.push_str(" local next:8 = inst_next;");
                }
                return String::from("next");
            }
            Value::Operand { slot, width, lane, class } => self.value(encoding, slot, *width, *lane, *class),
            Value::Choice(slot) => {
                let table = self.choice_number(encoding, slot);
                if table.is_none() {
                    let operation = &self.isa.operations[encoding.operation];
                    let declared =
                        operation.modifiers.iter().find(|entry| &entry.0 == slot).map(|entry| entry.1);
                    return format!(
                        "{}:1",
                        declared.map_or(0, |modifier| crate::rust_tables::default_number(self.isa, modifier))
                    );
                }
                table
            }
            Value::Select(slot) => self.part_number(encoding, slot, Part::Select),
            Value::Negated(slot) => self.part_number(encoding, slot, Part::Negate),
            Value::Index(slot) => self.part_number(encoding, slot, Part::Value),
        };
        match table {
            Some(table) => {
                body.pattern.push(table.clone());
                table
            }
            // Without a part to select, the whole register is selected.
            None if matches!(value, Value::Select(_)) => format!("{:#x}:{bytes}", u8::MAX),
            None => format!("0:{bytes}"),
        }
    }

    fn output(
        &mut self,
        encoding: &Encoding,
        value: &Value,
        names: &mut Names<'_>,
        body: &mut Body,
    ) -> String {
        match value {
            Value::Temporary(index) => names.name(*index, body),
            Value::Flag(name) => flag(name).to_owned(),
            Value::Operand { slot, width, lane, class: Class::Raw } => {
                let operand = encoding.operand(slot).map(|index| encoding.operands[index].clone());
                let Some(operand) = operand else { return String::from("nowhere") };
                let bits = operand.part(Part::Value).cloned().unwrap_or_default();
                let set = match (width, operand.kind) {
                    (_, Kind::Predicate | Kind::OptionalPredicate) => 'p',
                    (64, _) => 'w',
                    _ => 'g',
                };
                let field = self.register_field(&bits, set, *lane);
                body.pattern.push(field.clone());
                field
            }
            _ => String::from("nowhere"),
        }
    }
}

/// The body of a constructor under construction.
#[derive(Default)]
struct Body {
    /// The context field with the popped address.
    by: Option<&'static str>,
    pattern: Vec<String>,
    code: String,
    locals: BTreeMap<usize, (String, u32)>,
    labels: usize,
}

/// The names of a program's temporaries in SLEIGH.
struct Names<'a> {
    program: &'a Program,
    is_shared: HashSet<usize>,
    shared: HashMap<usize, String>,
    counts: BTreeMap<u32, usize>,
}

impl Names<'_> {
    fn bytes(&self, value: &Value) -> u32 {
        let bits = match value {
            Value::Temporary(index) => self.program.temporaries.get(*index).copied().unwrap_or(32),
            Value::Number(_, width) | Value::Operand { width, .. } => *width,
            Value::Flag(name) => crate::lower::flag_width(name),
            Value::Next => 64,
            Value::Choice(_) | Value::Select(_) | Value::Negated(_) | Value::Index(_) => 8,
        };
        bits.div_ceil(8)
    }

    fn name(&mut self, index: usize, body: &mut Body) -> String {
        let bytes = self.bytes(&Value::Temporary(index));
        if !self.is_shared.contains(&index) {
            let count = body.locals.len();
            return body.locals.entry(index).or_insert_with(|| (format!("l{count}"), bytes)).0.clone();
        }
        if let Some(name) = self.shared.get(&index) {
            return name.clone();
        }
        let count = self.counts.entry(bytes).or_insert(0);
        let name = format!("t{bytes}_{count}");
        *count += 1;
        self.shared.insert(index, name.clone());
        name
    }
}

/// Distributes a number to its bits of a word.
fn placed(bits: &Bits, number: u128) -> u128 {
    let mut word = 0;
    let mut rest = number;
    for &(low, count) in &bits.ranges {
        word |= (rest & crate::model::ones(count)) << low;
        rest >>= count;
    }
    word
}

/// Merges the conditions on overlapping bits into one condition: the union of the bits, and the numbers that satisfy
/// all.
fn joined(
    conditions: &mut Conditions,
    bits: &Bits,
    all: &[u128],
    fixed: (u128, u128),
) -> (Vec<(u32, u32)>, Vec<u128>) {
    let overlapping: Vec<Vec<(u32, u32)>> = conditions
        .keys()
        .filter(|ranges| Bits { ranges: (*ranges).clone(), ..Bits::default() }.mask() & bits.mask() != 0)
        .cloned()
        .collect();
    let before: Vec<(Bits, Vec<u128>)> = overlapping
        .into_iter()
        .filter_map(|ranges| {
            let numbers = conditions.remove(&ranges)?;
            Some((Bits { ranges, ..Bits::default() }, numbers))
        })
        .collect();
    let mask = before.iter().fold(bits.mask(), |mask, entry| mask | entry.0.mask());
    let ranges: Vec<(u32, u32)> = match before.as_slice() {
        [] => bits.ranges.clone(),
        [(only, _)] if only.ranges == bits.ranges => bits.ranges.clone(),
        _ => super::fixed_bits(mask, 0).into_iter().map(|(low, high, _)| (low, high - low + 1)).collect(),
    };
    let key = Bits { ranges: ranges.clone(), ..Bits::default() };
    let numbers = (0..1_u128 << key.width())
        .filter(|number| {
            let word = placed(&key, *number);
            all.contains(&bits.extract(word))
                && before.iter().all(|(bits, numbers)| numbers.contains(&bits.extract(word)))
                && word & fixed.0 & mask == fixed.1 & mask
        })
        .collect();
    (ranges, numbers)
}

/// Collects the temporaries that are read.
fn reads(steps: &[ResolvedStep], found: &mut HashSet<usize>) {
    let mut one = |value: &Value| {
        if let Value::Temporary(index) = value {
            found.insert(*index);
        }
    };
    for step in steps {
        match step {
            ResolvedStep::Do(pcode) => pcode.inputs.iter().for_each(&mut one),
            ResolvedStep::If(value, ..) => one(value),
        }
    }
    for step in steps {
        if let ResolvedStep::If(_, yes, no) = step {
            reads(yes, found);
            reads(no, found);
        }
    }
}

/// Removes steps whose result is unused. Returns whether there were any.
fn sweep(steps: &mut Vec<ResolvedStep>, wanted: &impl Fn(&Value) -> bool) -> bool {
    let before = steps.len();
    let mut changed = false;
    steps.retain(|step| match step {
        ResolvedStep::Do(Pcode { code: Code::Native(_), output: Some(output), .. }) => wanted(output),
        _ => true,
    });
    for step in steps.iter_mut() {
        match step {
            ResolvedStep::Do(pcode) => {
                if pcode.output.as_ref().is_some_and(|output| !wanted(output))
                    && matches!(pcode.code, Code::Function(_))
                {
                    pcode.output = None;
                    changed = true;
                }
                decide(pcode);
            }
            ResolvedStep::If(_, yes, no) => {
                changed |= sweep(yes, wanted);
                changed |= sweep(no, wanted);
            }
        }
    }
    changed || steps.len() != before
}

/// Resolves unsigned comparisons with zero that are always true or false.
fn decide(pcode: &mut Pcode) {
    let Code::Native(index) = pcode.code else { return };
    let decided = match (NATIVE[index].name, pcode.inputs.as_slice()) {
        ("<", [_, Value::Number(0, _)]) => 0,
        ("<=", [Value::Number(0, _), _]) => 1,
        _ => return,
    };
    pcode.code = Code::Native(0);
    pcode.inputs = vec![Value::Number(decided, 1)];
}

/// Splits steps into pieces: consecutive choices by the same slot form a piece, and so do the steps between them.
fn cut(steps: &[Step]) -> Vec<&[Step]> {
    let slot = |step: &Step| match step {
        Step::When(test, ..) => Some(test.slot.clone()),
        _ => None,
    };
    steps.chunk_by(|first, second| slot(first) == slot(second)).collect()
}

/// Returns the temporaries that several pieces share.
fn shared_names(pieces: &[&[Step]]) -> HashSet<usize> {
    let mut first: HashMap<usize, usize> = HashMap::new();
    let mut shared = HashSet::new();
    for (number, piece) in pieces.iter().enumerate() {
        visit(piece, &mut |value| {
            if let Value::Temporary(index) = value
                && *first.entry(*index).or_insert(number) != number
            {
                shared.insert(*index);
            }
        });
    }
    shared
}

fn visit(steps: &[Step], found: &mut impl FnMut(&Value)) {
    for step in steps {
        match step {
            Step::Do(pcode) => pcode.inputs.iter().chain(&pcode.output).for_each(&mut *found),
            Step::When(_, yes, no) => {
                visit(yes, found);
                visit(no, found);
            }
            Step::If(value, yes, no) => {
                found(value);
                visit(yes, found);
                visit(no, found);
            }
        }
    }
}

/// Merges conditions that differ only in the numbers of one group of bits.
fn merged(mut all: Vec<Conditions>) -> Vec<Conditions> {
    let mut changed = true;
    while changed {
        changed = false;
        'search: for first in 0..all.len() {
            for second in first + 1..all.len() {
                let keys: Vec<&Vec<(u32, u32)>> = all[first].keys().collect();
                if keys != all[second].keys().collect::<Vec<_>>() {
                    continue;
                }
                let differing: Vec<Vec<(u32, u32)>> = all[first]
                    .iter()
                    .filter(|entry| all[second][entry.0] != *entry.1)
                    .map(|entry| entry.0.clone())
                    .collect();
                if let [key] = differing.as_slice() {
                    let other = all.remove(second);
                    if let Some(numbers) = all[first].get_mut(key) {
                        numbers.extend(&other[key]);
                        numbers.sort_unstable();
                        numbers.dedup();
                    }
                    changed = true;
                    break 'search;
                }
            }
        }
    }
    all
}

/// Returns the name of a space in SLEIGH, where `local` is a keyword.
fn space_name(name: &str) -> &str {
    if name == "local" { "local_memory" } else { name }
}

/// Returns the name of a flag in SLEIGH, where `carry` is an operator.
fn flag(name: &str) -> &str {
    match name {
        "carry" => "CF",
        "zero" => "ZF",
        "sign" => "SF",
        "overflow" => "OF",
        other => other,
    }
}
