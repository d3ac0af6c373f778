//! Recognises inlined functions of CUDA's mathematical library, by the values they compute.
//!
//! Two constants of a function of the library show where to look (`table`). Each value that depends on both is a
//! possible result: what it is computed from is searched for the operands, one or two values on which
//! everything else depends (`slice`). The blocks and values between are executed on many numbers (`region`): special
//! ones, ordinary ones, random bits, and the neighbours of all constants (`trials`). If all results are those of the
//! function, bit for bit, the value is a call of the function. Blocks that nothing needs any more are removed.
//!
//! Code for `-ftz=true` computes what the function computes between two flushes of subnormal floats, and is replaced
//! by that. Other variants of a function, those of `-use_fast_math` and of other releases of the library whose
//! results differ in any bit, stay as they are.

mod region;
mod removal;
mod slice;
mod table;
mod trials;

use crate::ir::dominators::Graph;
use crate::ir::evaluate::operate;
use crate::ir::hash::FastMap;
use crate::ir::id_lists::IdLists;
use crate::ir::math::machine;
use crate::ir::{
    Function, IdVec, Intrinsic, MemoryObject, Module, Op, Space, Special, Value, ValueId, ValueMap,
};
use crate::pass::{hoist, sweep};
use region::{Extent, Marks, Memory, Region};
use slice::{AllParts, Conversion, Leaf, Slice};
use table::{Constant, FUNCTIONS, LibraryFunction};
use trials::{TrialLists, Trials, near};

/// Maximum number of values to examine that depend on one constant.
const MAX_DEPENDENTS: usize = 160;

/// Maximum number of values from a call to a larger region that is a call of the same function.
const MAX_BEYOND: usize = 6;

/// Maximum number of steps from the constant that is near the result to the result.
const MAX_DISTANCE: usize = 16;

/// Maximum number of regions per function. Those in the cache count, too: the result must not depend on what was found in
/// other functions.
const MAX_REGIONS: usize = 20_000;

/// Maximum number of regions in the cache.
const MAX_CACHED: usize = 1024;

/// The cache of executed regions.
#[derive(Debug, Default)]
pub struct Cache {
    /// The call that a region is, given the conversions of its leaves, if it is one of some functions: indices in
    /// [`FUNCTIONS`].
    calls: FastMap<(Region, Conversions, Vec<usize>), Option<Call>>,
    trials: TrialLists,
    memory: Memory,
}

/// How the leaves are converted that are integers.
type Conversions = Vec<Option<Conversion>>;

/// A call of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Call {
    /// The index in [`FUNCTIONS`].
    function: usize,
    operands: [Operand; 2],
    /// Whether operands and result are flushed.
    flushes: bool,
}

/// An operand of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operand {
    /// A leaf, after an operation on its sign.
    Leaf(usize, Sign),
    Constant(u64),
}

/// An operation on the sign of a leaf. A compiler moves these into the function's body, and drops branches that a
/// number without a sign never takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Kept,
    Negated,
    Absolute,
}

const SIGNS: [Sign; 3] = [Sign::Kept, Sign::Negated, Sign::Absolute];

impl Sign {
    /// Returns a number with its changed sign.
    fn apply(self, number: u64, width: u8) -> u64 {
        let bit = 1 << (width - 1);
        match self {
            Self::Kept => number,
            Self::Negated => number ^ bit,
            Self::Absolute => number & !bit,
        }
    }

    /// Returns the operator.
    fn op(self) -> Option<Op> {
        match self {
            Self::Kept => None,
            Self::Negated => Some(Op::FloatNegate),
            Self::Absolute => Some(Op::FloatAbs),
        }
    }
}

/// A value that is a call.
struct Found {
    root: ValueId,
    leaves: Vec<Leaf>,
    call: Call,
    extent: Extent,
    writes_local: bool,
}

/// Replaces inlined functions. Returns whether there were any. All values must be used.
pub fn run(module: &mut Module<'_>, graph: &Graph, cache: &mut Cache) -> bool {
    let anchors = anchors(&module.function);
    if anchors.is_empty() {
        return false;
    }
    hoist(&mut module.function, graph);
    if cache.calls.len() > MAX_CACHED {
        cache.calls.clear();
    }
    let mut search = Search {
        function: &module.function,
        objects: &module.objects,
        graph,
        parts: AllParts::new(&module.function, graph),
        marks: Marks::new(&module.function),
        budget: MAX_REGIONS,
        cache,
    };
    let users = search.parts.users();
    let mut found: Vec<Found> = Vec::new();
    for anchor in &anchors {
        search.search_from(anchor, &users, &mut found);
    }
    let function = &mut module.function;
    if !is_local_private(function, &found) {
        found.retain(|found| !found.writes_local);
    }
    for one in &found {
        replace(function, one);
    }
    function.settle();
    let extents: Vec<&Extent> = found.iter().map(|one| &one.extent).collect();
    removal::run(function, &extents);
    removal::remove_local_stores(function);
    if !found.is_empty() {
        // What was inside of removed blocks refers to values that are no more.
        let used = function.used();
        for block in &mut function.blocks {
            block.phis.retain(|phi| used[*phi]);
        }
        sweep(function);
    }
    !found.is_empty()
}

/// Functions of the library, both of whose constants a function has.
struct Anchor {
    /// The values of each constant.
    constants: [Vec<ValueId>; 2],
    /// Indices in [`FUNCTIONS`].
    rows: Vec<usize>,
}

fn anchors(function: &Function) -> Vec<Anchor> {
    let constant = |(id, value): (ValueId, &Value)| match value.op {
        Op::Constant(number) => Some(((number, value.width), id)),
        _ => None,
    };
    let mut ids: Vec<(Constant, ValueId)> = function.values.entries().filter_map(constant).collect();
    ids.sort_unstable();
    let ids_of = |constant: Constant| -> Vec<ValueId> {
        let first = ids.partition_point(|entry| entry.0 < constant);
        ids[first..].iter().take_while(|entry| entry.0 == constant).map(|entry| entry.1).collect()
    };
    let mut found: Vec<Anchor> = Vec::new();
    for (row, library_function) in FUNCTIONS.iter().enumerate() {
        let constants = library_function.constants.map(ids_of);
        if constants.iter().any(Vec::is_empty) {
            continue;
        }
        match found.iter_mut().find(|anchor| anchor.constants == constants) {
            Some(anchor) => anchor.rows.push(row),
            None => found.push(Anchor { constants, rows: vec![row] }),
        }
    }
    found
}

/// A value that may be a call.
#[derive(Clone, Copy)]
struct Root {
    value: ValueId,
    /// How many more values there may be between it and the next call.
    steps: usize,
    /// The index of the call that it depends on, if there is one.
    call: Option<usize>,
}

struct Search<'a> {
    function: &'a Function,
    objects: &'a [MemoryObject<'a>],
    graph: &'a Graph,
    parts: AllParts,
    marks: Marks,
    budget: usize,
    cache: &'a mut Cache,
}

impl Search<'_> {
    /// Appends the values that are calls and depend on both constants to a list. Those that are nearest to the first
    /// constant are tried first.
    fn search_from(&mut self, anchor: &Anchor, users: &IdLists<ValueId>, found: &mut Vec<Found>) {
        let Anchor { constants, rows } = anchor;
        let direct_users = constants
            .each_ref()
            .map(|ids| ids.iter().flat_map(|id| users.of(*id)).copied().collect::<Vec<ValueId>>());
        let is_result = self.dependents(&direct_users[1], users);
        let is_user = direct_users.each_ref().map(|users| {
            let mut is_user: ValueMap<bool> = IdVec::filled(false, self.function.values.len());
            users.iter().for_each(|id| is_user[*id] = true);
            is_user
        });
        let mut is_listed: ValueMap<bool> = IdVec::filled(false, self.function.values.len());
        let mut list: Vec<Root> = Vec::new();
        let mut add = |list: &mut Vec<Root>, values: &[ValueId], steps: usize, call: Option<usize>| {
            for &value in values {
                if list.len() < MAX_DEPENDENTS && !std::mem::replace(&mut is_listed[value], true) {
                    list.push(Root { value, steps, call });
                }
            }
        };
        add(&mut list, &direct_users[0], MAX_DEPENDENTS, None);
        let mut at = 0;
        while let Some(&Root { value, mut steps, call: mut inner }) = list.get(at) {
            at += 1;
            if is_result[value] && found.iter().all(|known| known.root != value) {
                let call = match inner.and_then(|index| found.get(index)) {
                    Some(inner) => self.larger_call(value, inner, rows, &is_user),
                    None => self.call(value, rows, &is_user),
                };
                if let Some(call) = call {
                    // A compiler moves what a function does last to where some results are known.
                    (steps, inner) = (MAX_BEYOND, Some(found.len()));
                    found.push(call);
                }
            }
            if steps > 0 {
                add(&mut list, users.of(value), steps - 1, inner);
            }
        }
    }

    /// Returns which values depend on some values in a few steps, these included.
    fn dependents(&self, values: &[ValueId], users: &IdLists<ValueId>) -> ValueMap<bool> {
        let mut depends: ValueMap<bool> = IdVec::filled(false, self.function.values.len());
        let mut list: Vec<(ValueId, usize)> = values.iter().map(|id| (*id, 0)).collect();
        let mut at = 0;
        while let Some(&(id, steps)) = list.get(at) {
            at += 1;
            if !std::mem::replace(&mut depends[id], true) && steps < MAX_DISTANCE {
                list.extend(users.of(id).iter().map(|user| (*user, steps + 1)));
            }
        }
        depends
    }

    /// Returns the call that a value is. `is_user` marks the values that each constant of the functions is part of.
    fn call(&mut self, root: ValueId, rows: &[usize], is_user: &[ValueMap<bool>; 2]) -> Option<Found> {
        let function = self.function;
        let width = function.width(root);
        let rows: Vec<usize> =
            rows.iter().copied().filter(|row| may_be_call_of(function, root, *row)).collect();
        if rows.is_empty() {
            return None;
        }
        let is_pair = rows.iter().any(|row| FUNCTIONS[*row].operands == 2);
        let slice = Slice::new(function, &mut self.parts, root);
        let all = slice.leaves(function, self.graph, width, is_pair, is_user);
        all.into_iter().find_map(|leaves| self.call_with(root, leaves, rows.clone()))
    }

    /// Returns the call that a value is which depends on another call: that of the same function with the same leaves, or
    /// of another function, which may contain the first one.
    fn larger_call(
        &mut self,
        root: ValueId,
        inner: &Found,
        rows: &[usize],
        is_user: &[ValueMap<bool>; 2],
    ) -> Option<Found> {
        let row = inner.call.function;
        if may_be_call_of(self.function, root, row) {
            let slice = Slice::new(self.function, &mut self.parts, root);
            if slice.are_leaves(self.function, self.graph, &inner.leaves, is_user)
                && let Some(found) = self.call_with(root, inner.leaves.clone(), vec![row])
            {
                return Some(found);
            }
        }
        let others: Vec<usize> = rows.iter().copied().filter(|other| *other != row).collect();
        self.call(root, &others, is_user)
    }

    /// Returns the call of one of some functions that a value is, as a function of some leaves.
    fn call_with(&mut self, root: ValueId, leaves: Vec<Leaf>, rows: Vec<usize>) -> Option<Found> {
        self.budget = self.budget.checked_sub(1)?;
        let values: Vec<ValueId> = leaves.iter().map(|leaf| leaf.value).collect();
        let (region, extent) =
            Region::new(self.function, self.graph, self.objects, root, &values, &mut self.marks)?;
        let writes_local = region.writes_local();
        let call = self.call_of(region, leaves.iter().map(|leaf| leaf.conversion).collect(), rows)?;
        Some(Found { root, leaves, call, extent, writes_local })
    }

    /// Returns the first call that a region equals.
    fn call_of(&mut self, region: Region, conversions: Conversions, rows: Vec<usize>) -> Option<Call> {
        let (width, leaves) = (FUNCTIONS[*rows.first()?].width, conversions.len());
        let trials = self.cache.trials.take(width, leaves);
        let compared = self.compare_once(region, conversions, rows, &trials);
        self.cache.trials.put_back(width, leaves, trials, compared.err().flatten());
        compared.ok()
    }

    /// Returns what [`Self::compare`] does, and remembers it. For a region that is known to be no call there is no trial.
    fn compare_once(
        &mut self,
        region: Region,
        conversions: Conversions,
        rows: Vec<usize>,
        trials: &Trials,
    ) -> Result<Call, Option<usize>> {
        // A run rules out most regions, and takes less time than to look for them in the cache.
        self.compare(&region, &conversions, &rows, trials.iter().take(1).copied())?;
        let key = (region, conversions, rows);
        if let Some(known) = self.cache.calls.get(&key) {
            return known.ok_or(None);
        }
        let (region, conversions, rows) = &key;
        let width = rows.first().map_or(0, |row| FUNCTIONS[*row].width);
        let constants = region.constants(width).filter(|_| conversions.len() == 1);
        let others = constants.flat_map(|number| near(number, width)).map(|number| [number, 0]);
        let compared = self.compare(region, conversions, rows, trials.iter().copied().chain(others));
        self.cache.calls.insert(key, compared.ok());
        compared
    }

    /// Returns the first call that a region equals, or the index of the trial that rules out all of them.
    fn compare(
        &mut self,
        region: &Region,
        conversions: &[Option<Conversion>],
        rows: &[usize],
        trials: impl Iterator<Item = [u64; 2]>,
    ) -> Result<Call, Option<usize>> {
        let width = rows.first().map_or(0, |row| FUNCTIONS[*row].width);
        let mut candidates: Option<Vec<Candidate>> = None;
        for (index, trial) in trials.enumerate() {
            let (leaves, numbers) = converted(trial, conversions, width);
            let given = region.value(&leaves[..conversions.len()], &mut self.cache.memory);
            let given = given.ok_or(Some(index))?;
            // The first run rules out most regions.
            let candidates = candidates.get_or_insert_with(|| candidates_of(region, rows, conversions.len()));
            candidates.retain_mut(|candidate| candidate.agrees(numbers, given));
            if candidates.is_empty() {
                return Err(Some(index));
            }
        }
        let first = candidates.into_iter().flatten().next().ok_or(None)?;
        Ok(Call {
            function: first.row,
            operands: first.operands,
            flushes: first.is_flushed && (region.flushes() || !first.is_plain),
        })
    }
}

/// A call that a region may be.
struct Candidate {
    row: usize,
    operands: [Operand; 2],
    /// Whether all results are those of the function, and whether all are those of the function between flushes.
    is_plain: bool,
    is_flushed: bool,
}

impl Candidate {
    /// Takes in the result for the numbers of the leaves. Returns whether the region may still be the call.
    fn agrees(&mut self, leaves: [u64; 2], given: u64) -> bool {
        let row = &FUNCTIONS[self.row];
        let operands = self.operands.map(|operand| match operand {
            Operand::Leaf(index, sign) => sign.apply(leaves[index], row.width),
            Operand::Constant(number) => number,
        });
        self.is_plain = self.is_plain && is_same(row.value(&operands[..row.operands]), given, row.width);
        self.is_flushed = self.is_flushed && is_same(flushed_value(row, operands), given, row.width);
        self.is_plain || self.is_flushed
    }
}

fn candidates_of(region: &Region, rows: &[usize], leaves: usize) -> Vec<Candidate> {
    let calls = rows.iter().flat_map(|row| {
        let operands = operands(region, leaves, &FUNCTIONS[*row]);
        operands.into_iter().map(|operands| (*row, operands))
    });
    calls
        .map(|(row, operands)| Candidate {
            row,
            operands,
            is_plain: true,
            is_flushed: FUNCTIONS[row].width == 32,
        })
        .collect()
}

/// Returns the numbers of leaves for those of a trial, and what they are converted to.
fn converted(trial: [u64; 2], conversions: &[Option<Conversion>], width: u8) -> ([u64; 2], [u64; 2]) {
    let (mut leaves, mut numbers) = (trial, trial);
    for (index, conversion) in conversions.iter().enumerate() {
        if let Some(Conversion { op, mask }) = conversion {
            let value = if width == 64 {
                f64::from_bits(trial[index])
            } else {
                f64::from(f32::from_bits(trial[index] as u32))
            };
            let is_small = value.abs() < 2_147_483_648.0;
            let integer = if is_small { (value as i32).cast_unsigned() } else { trial[index] as u32 };
            leaves[index] = u64::from(integer) & mask;
            numbers[index] = operate(*op, &[leaves[index]], 32, width).unwrap_or(0);
        }
    }
    (leaves, numbers)
}

/// Returns whether a value has the width of a function's result, and is not a call of it already.
fn may_be_call_of(function: &Function, root: ValueId, row: usize) -> bool {
    FUNCTIONS[row].width == function.width(root) && !is_call_of(function, root, row)
}

/// Returns whether a value is a call of a function already, perhaps flushed.
fn is_call_of(function: &Function, root: ValueId, row: usize) -> bool {
    let is_flushed = function.op(root) == Op::Call(Intrinsic::FlushToZero);
    let call = if is_flushed { function.input(root, 0) } else { root };
    function.op(call) == FUNCTIONS[row].op
}

/// Returns the operands to try: leaves in any order, or a leaf and a constant.
fn operands(region: &Region, leaves: usize, row: &LibraryFunction) -> Vec<[Operand; 2]> {
    use Operand::{Constant, Leaf};
    match (row.operands, leaves) {
        (1, 1) => SIGNS.map(|sign| [Leaf(0, sign); 2]).to_vec(),
        (2, 2) => {
            let pairs = SIGNS.iter().flat_map(|a| SIGNS.map(|b| [Leaf(0, *a), Leaf(1, b)]));
            pairs.flat_map(|[a, b]| [[a, b], [b, a]]).collect()
        }
        (2, 1) => {
            let pairs = |number| {
                SIGNS.into_iter().flat_map(move |sign| {
                    [[Leaf(0, sign), Constant(number)], [Constant(number), Leaf(0, sign)]]
                })
            };
            region.constants(row.width).flat_map(pairs).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns whether results are equal. All NaNs are: the front end lifts a sum with minus zero as its other operand,
/// although the machine replaces a NaN there.
fn is_same(expected: Option<u64>, given: u64, width: u8) -> bool {
    let is_nan = |bits: u64| match width {
        64 => f64::from_bits(bits).is_nan(),
        _ => f32::from_bits(bits as u32).is_nan(),
    };
    expected.is_some_and(|expected| expected == given || is_nan(expected) && is_nan(given))
}

/// Returns the result of a function whose operands and result are flushed.
fn flushed_value(row: &LibraryFunction, operands: [u64; 2]) -> Option<u64> {
    let flushed = |bits: u64| u64::from(machine::flushed(f32::from_bits(bits as u32)).to_bits());
    row.value(&operands.map(flushed)[..row.operands]).map(flushed)
}

/// Returns whether what the regions store in local memory is read by none but them.
fn is_local_private(function: &Function, found: &[Found]) -> bool {
    let mut values = function.values.entries().filter(|(id, _)| !function.is_replaced(*id));
    values.all(|(_, value)| match value.op {
        Op::Load(Space::Local) => {
            found.iter().any(|one| one.writes_local && one.extent.inner.contains(&value.block))
        }
        Op::Special(Special::LocalWindow) | Op::Invoke(_) => false,
        _ => true,
    })
}

/// Replaces a value with a call.
fn replace(function: &mut Function, found: &Found) {
    let Call { function: row, operands, flushes } = found.call;
    let row = &FUNCTIONS[row];
    let (block, address) = (function.values[found.root].block, function.values[found.root].address);
    let flush = Op::Call(Intrinsic::FlushToZero);
    let mut inputs = Vec::new();
    for operand in operands.into_iter().take(row.operands) {
        inputs.push(match operand {
            Operand::Constant(number) => function.constant(number, row.width),
            Operand::Leaf(index, sign) => {
                let Leaf { value, conversion } = found.leaves[index];
                let mut leaf = function.resolve(value);
                if let Some(Conversion { op, .. }) = conversion {
                    leaf = function.raw(op, row.width, block, address, &[leaf]);
                }
                if let Some(op) = sign.op() {
                    leaf = function.raw(op, row.width, block, address, &[leaf]);
                }
                let is_flushed = !flushes || function.op(leaf) == flush;
                if is_flushed { leaf } else { function.raw(flush, row.width, block, address, &[leaf]) }
            }
        });
    }
    let mut call = function.raw(row.op, row.width, block, address, &inputs);
    if flushes {
        call = function.raw(flush, row.width, block, address, &[call]);
    }
    function.replace(found.root, call);
}
