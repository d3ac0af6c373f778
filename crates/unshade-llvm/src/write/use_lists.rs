//! Orders of use lists that a reader would not get by itself.
//!
//! LLVM keeps the uses of a value in a list, the last one first. A reader makes the uses in another order than the program
//! that wrote the file, so the writer predicts the reader's order, and stores a permutation where it differs. The order of
//! the writer's own list follows from the times at which uses were made.
//!
//! The reader's order follows from a numbering of everything that is used or uses something: what is read later has a
//! higher number. Users with a higher number than the value were forward references.
//!
//! Knowledge: `predictUseListOrder` of `ValueEnumerator.cpp` in LLVM 14 and 19.

use super::debug_records::{DebugParts, Place};
use super::operands;
use super::source::{Key, Scope, Source};
use super::{UseOrder, Version};
use crate::body::FunctionBody;
use crate::constants::Constant;
use crate::debug_info::NodeKind;
use crate::ids::{BlockId, MetadataId, ValueId, narrow};
use crate::instruction::{Instruction, Opcode};
use crate::metadata::Metadata;
use crate::value::{OperandKind, ValueKind};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use unshade_core::Result;

/// The value or block whose uses are permuted.
#[derive(Clone, Copy, Debug)]
pub(super) enum Used {
    Value(Key),
    Block(BlockId),
}

/// A permutation of uses.
#[derive(Clone, Debug)]
pub(super) struct Permutation {
    pub(super) used: Used,
    pub(super) order: Vec<u32>,
}

/// The permutations of the module and of each body.
#[derive(Default)]
pub(super) struct UseLists {
    pub(super) of_module: Vec<Permutation>,
    pub(super) of_bodies: Vec<Vec<Permutation>>,
}

impl UseLists {
    /// Returns the permutations of the module or of a body.
    pub(super) fn of(&self, scope: Scope) -> &[Permutation] {
        match scope.index() {
            None => &self.of_module,
            Some(index) => self.of_bodies.get(index).map_or(&[], Vec::as_slice),
        }
    }
}

/// A use in the order of the list: the negated time and operand, the number of the user.
type Use = (core::cmp::Reverse<(u32, u32)>, u32);

/// The uses of the entities. Most are met in the order that needs no permutation: of those only the last one is kept. The
/// others are found first, and their uses collected in a second pass.
struct Uses {
    /// The time and the user of the last use of each entity; user 0 if it has none.
    last: Vec<(u32, u32)>,
    /// The entities whose uses may have to be permuted.
    moves: Vec<bool>,
    /// Whether this is the second pass.
    collects: bool,
    /// The uses of those entities.
    collected: Vec<(u32, Use)>,
}

impl Uses {
    fn new(entities: usize) -> Self {
        let (last, moves) = (alloc::vec![(0, 0); entities], alloc::vec![false; entities]);
        Self { last, moves, collects: false, collected: Vec::new() }
    }

    /// Adds a use; `is_forward` if the reader puts it in front of earlier ones.
    fn add(&mut self, entity: u32, one: Use, is_forward: bool) {
        let at = entity as usize;
        if self.collects {
            if self.may_move(entity) {
                self.collected.push((entity, one));
            }
            return;
        }
        let (core::cmp::Reverse((time, _)), user) = one;
        let Some(last) = self.last.get_mut(at) else { return };
        let is_later = last.1 == 0 || (time > last.0 && user > last.1) || (time, user) == *last;
        *last = (time, user);
        if (!is_forward || !is_later)
            && let Some(moves) = self.moves.get_mut(at)
        {
            *moves = true;
        }
    }

    fn may_move(&self, entity: u32) -> bool {
        self.moves.get(entity as usize).copied().unwrap_or(false)
    }

    /// Returns the uses of an entity that may have to be permuted.
    fn of(&self, entity: u32) -> &[(u32, Use)] {
        if !self.may_move(entity) {
            return &[];
        }
        let start = self.collected.partition_point(|(of, _)| *of < entity);
        let uses = self.collected.get(start..).unwrap_or_default();
        let count = uses.partition_point(|(of, _)| *of == entity);
        uses.get(..count).unwrap_or_default()
    }
}

/// The state of the prediction. An *entity* is a value (by its key), a block, or an instruction without a result.
struct Prediction<'p, 'i, 'a> {
    source: &'p Source<'i, 'a>,
    times: &'p UseOrder,
    version: Version,
    /// The number of each entity; 0 if the reader does not meet it.
    numbers: Vec<u32>,
    next: u32,
    /// The numbers of symbols.
    symbols: core::ops::Range<u32>,
    /// The first block, and the first instruction without a result, of each body.
    starts: Vec<(u32, u32)>,
    uses: Uses,
    /// The uses of entities whose orders were given.
    given: BTreeMap<u32, Vec<Use>>,
    done: Vec<bool>,
    lists: UseLists,
    /// Whether orders of uses were given.
    has_orders: bool,
}

/// Predicts the orders of all use lists.
pub(super) fn predict(source: &Source<'_, '_>, times: &UseOrder, version: Version) -> Result<UseLists> {
    let mut starts = Vec::new();
    let mut end = source.value_count() as u32;
    for body in source.bodies {
        let blocks = end;
        let instructions = blocks + narrow(body.blocks.len() as u64);
        starts.push((blocks, instructions));
        end = instructions + narrow(body.instructions.len() as u64);
    }
    let mut prediction = Prediction {
        source,
        times,
        version,
        numbers: alloc::vec![0; end as usize],
        next: 1,
        symbols: 0..0,
        starts,
        uses: Uses::new(end as usize),
        given: BTreeMap::new(),
        done: alloc::vec![false; end as usize],
        lists: UseLists { of_bodies: alloc::vec![Vec::new(); source.bodies.len()], ..UseLists::default() },
        has_orders: !times.module_lists.is_empty() || times.body_lists.iter().any(|lists| !lists.is_empty()),
    };
    prediction.number_all()?;
    match prediction.has_orders {
        true => prediction.uses.moves.fill(true),
        false => prediction.add_uses()?,
    }
    prediction.uses.collects = true;
    if prediction.uses.moves.contains(&true) {
        prediction.add_uses()?;
        prediction.uses.collected.sort_unstable();
    }
    prediction.apply_orders()?;
    prediction.predict_all()?;
    // LLVM writes the last order first.
    prediction.lists.of_module.reverse();
    prediction.lists.of_bodies.iter_mut().for_each(|lists| lists.reverse());
    Ok(prediction.lists)
}

impl<'i> Prediction<'_, 'i, '_> {
    fn block(&self, scope: usize, block: BlockId) -> u32 {
        self.starts.get(scope).map_or(0, |(blocks, _)| blocks.saturating_add(block.0))
    }

    fn instruction(&self, index: usize, at: u32, instruction: &Instruction) -> Result<u32> {
        if instruction.result.is_some() {
            return Ok(self.source.value_key(Scope::body(index), instruction.result)?.key);
        }
        Ok(self.starts.get(index).map_or(0, |(_, instructions)| instructions.saturating_add(at)))
    }

    fn is_symbol(&self, key: Key) -> Result<bool> {
        let kind = self.source.value(key)?.kind;
        Ok(matches!(kind, ValueKind::Global(_) | ValueKind::Function(_) | ValueKind::Alias(_)))
    }

    fn is_constant(&self, key: Key) -> Result<bool> {
        Ok(matches!(self.source.value(key)?.kind, ValueKind::Constant(_) | ValueKind::Unresolved))
    }

    /// Returns the operands of a constant or symbol, by their index in LLVM.
    fn operands_of(&self, key: Key) -> Result<Vec<Key>> {
        let module = self.source.module;
        let value = self.source.value(key)?;
        let of_module = |id: ValueId| self.source.value_key(Scope::MODULE, id);
        match value.kind {
            ValueKind::Global(index) => {
                let initializer = module.globals.get(index as usize).and_then(|global| global.initializer);
                initializer.into_iter().map(of_module).collect()
            }
            ValueKind::Alias(index) => {
                let target = module.aliases.get(index as usize).map(|alias| alias.target);
                target.into_iter().map(of_module).collect()
            }
            ValueKind::Function(index) => {
                let Some(function) = module.functions.get(index as usize) else { return Ok(Vec::new()) };
                let data = [function.personality, function.prefix, function.prologue];
                if data.iter().all(Option::is_none) {
                    return Ok(Vec::new());
                }
                data.into_iter().map(|id| id.map_or(Ok(self.source.known_placeholder()), of_module)).collect()
            }
            _ => match self.source.constant(key, value) {
                Some((constant, constants)) => {
                    let mut operands = self.source.operands_of(constant, constants).as_slice().to_vec();
                    if self.mask_of(key)?.is_some() {
                        operands.truncate(2);
                    }
                    operands.into_iter().map(|id| self.source.value_key(key.scope, id)).collect()
                }
                None => Ok(Vec::new()),
            },
        }
    }

    /// Returns the mask of a constant `shufflevector`, which is no operand.
    fn mask_of(&self, key: Key) -> Result<Option<Key>> {
        let value = self.source.value(key)?;
        let Some((Constant::Expression(index), constants)) = self.source.constant(key, value) else {
            return Ok(None);
        };
        let expression = constants.expression(index).filter(|found| found.opcode == Opcode::ShuffleVector);
        let mask = expression.and_then(|found| constants.values(found.operands).get(2).copied());
        mask.map(|id| self.source.value_key(key.scope, id)).transpose()
    }

    fn number(&mut self, entity: u32) {
        if let Some(number @ 0) = self.numbers.get_mut(entity as usize) {
            *number = self.next;
            self.next += 1;
        }
    }

    fn number_of(&self, entity: u32) -> u32 {
        self.numbers.get(entity as usize).copied().unwrap_or(0)
    }

    /// Numbers a constant or symbol after the constants that it is made of.
    fn number_value(&mut self, key: Key) -> Result<()> {
        if self.number_of(key.key) != 0 {
            return Ok(());
        }
        let mut stack = alloc::vec![(key, None::<Vec<Key>>)];
        while let Some((key, pending)) = stack.last_mut() {
            let key = *key;
            if self.number_of(key.key) != 0 {
                stack.pop();
                continue;
            }
            if pending.is_none() {
                let skips = self.version == Version::Llvm14 && self.is_symbol(key)?;
                let mut operands = if skips { Vec::new() } else { self.operands_of(key)? };
                operands.extend(self.mask_of(key)?);
                operands.reverse();
                if let Some((_, pending)) = stack.last_mut() {
                    *pending = Some(operands);
                }
                continue;
            }
            match pending.as_mut().and_then(Vec::pop) {
                Some(operand) => {
                    if !self.is_symbol(operand)? && self.number_of(operand.key) == 0 {
                        stack.push((operand, None));
                    }
                }
                None => {
                    stack.pop();
                    self.number(key.key);
                }
            }
        }
        Ok(())
    }

    fn number_all(&mut self) -> Result<()> {
        if self.version == Version::Llvm14 {
            self.number_module_14()?;
        } else {
            self.number_module_19()?;
        }
        for index in 0..self.source.bodies.len() {
            self.number_body(index)?;
        }
        Ok(())
    }

    /// Returns the symbols: variables, aliases, ifuncs, functions.
    fn symbols(&self) -> Result<[Vec<Key>; 4]> {
        let module = self.source.module;
        let aliases = |indirect| {
            let aliases = module.aliases.iter().filter(move |alias| alias.indirect == indirect);
            aliases.map(|alias| alias.symbol.value).collect::<Vec<_>>()
        };
        let variables = module.globals.iter().map(|global| global.symbol.value).collect();
        let functions = module.functions.iter().map(|function| function.symbol.value).collect();
        let lists: [Vec<ValueId>; 4] = [variables, aliases(false), aliases(true), functions];
        let mut keys = [const { Vec::new() }; 4];
        for (keys, ids) in keys.iter_mut().zip(lists) {
            *keys =
                ids.into_iter().map(|id| self.source.value_key(Scope::MODULE, id)).collect::<Result<_>>()?;
        }
        Ok(keys)
    }

    fn number_module_14(&mut self) -> Result<()> {
        let [variables, aliases, ifuncs, functions] = self.symbols()?;
        for &symbol in variables.iter().chain(&aliases).chain(&ifuncs).chain(&functions) {
            for operand in self.operands_of(symbol)? {
                if !self.is_symbol(operand)? {
                    self.number_value(operand)?;
                }
            }
        }
        for index in 0..self.source.bodies.len() {
            self.number_wrapped(index)?;
        }
        let first = self.next;
        for symbol in functions.into_iter().chain(aliases).chain(ifuncs).chain(variables) {
            self.number(symbol.key);
        }
        self.symbols = first..self.next;
        Ok(())
    }

    fn number_module_19(&mut self) -> Result<()> {
        for list in self.symbols()? {
            for symbol in list.into_iter().rev() {
                self.number_value(symbol)?;
            }
        }
        self.symbols = 1..self.next;
        Ok(())
    }

    /// Numbers the constants that metadata of instructions wraps.
    fn number_wrapped(&mut self, index: usize) -> Result<()> {
        for (_, key) in self.wrapped(index)? {
            if self.is_constant(key)? {
                self.number_value(key)?;
            }
        }
        Ok(())
    }

    /// Returns the values that metadata of instructions of a body wraps, each with the index of the instruction.
    fn wrapped(&self, index: usize) -> Result<Vec<(u32, Key)>> {
        let Some(body) = self.source.bodies.get(index) else { return Ok(Vec::new()) };
        let scope = Scope::body(index);
        let mut all = Vec::new();
        let mut values = Vec::new();
        let mut records = body.debug_records.iter().peekable();
        for (at, instruction) in body.listed_instructions() {
            while let Some(record) = records.next_if(|record| record.before <= at) {
                let parts = DebugParts::of(record)?;
                match parts.place {
                    Some(Place::Value(id)) => values.push(self.source.value_key(scope, id)?),
                    Some(Place::Metadata(id)) => self.wrapped_by(scope, id, &mut values)?,
                    None => {}
                }
                if let Some(assignment) = parts.assignment {
                    self.wrapped_by(scope, assignment.address, &mut values)?;
                }
            }
            if operands::may_be_metadata(instruction) {
                let mut ids = Vec::new();
                operands::for_each(body, instruction, |operand| {
                    if let OperandKind::Metadata(id) = operand.kind() {
                        ids.push(id);
                    }
                });
                ids.into_iter().try_for_each(|id| self.wrapped_by(scope, id, &mut values))?;
            }
            all.extend(values.drain(..).map(|key| (at, key)));
        }
        Ok(all)
    }

    fn wrapped_by(&self, scope: Scope, id: MetadataId, values: &mut Vec<Key>) -> Result<()> {
        let key = self.source.metadata_key(scope, id)?;
        match self.source.metadata(key)? {
            (Metadata::Value { value, .. }, _) => values.push(self.source.value_key(key.scope, value)?),
            (Metadata::Node(node), table) if node.kind == NodeKind::ArgList => {
                for id in table.references(node).iter().filter_map(|reference| reference.checked_sub(1)) {
                    let element = self.source.metadata_key(key.scope, MetadataId(narrow(id)))?;
                    if let (Metadata::Value { value, .. }, _) = self.source.metadata(element)? {
                        values.push(self.source.value_key(element.scope, value)?);
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn number_body(&mut self, index: usize) -> Result<()> {
        let Some(body) = self.source.bodies.get(index) else { return Ok(()) };
        for block in 0..body.blocks.len() {
            self.number(self.block(index, BlockId(narrow(block as u64))));
        }
        if self.version != Version::Llvm14 {
            self.number_wrapped(index)?;
        }
        for argument in arguments(self.source, index)? {
            self.number(argument.key);
        }
        let mut values = Vec::new();
        for (at, instruction) in body.listed_instructions() {
            values_of(body, instruction, &mut values);
            for id in values.drain(..) {
                let key = self.source.value_key(Scope::body(index), id)?;
                if self.is_constant(key)? {
                    self.number_value(key)?;
                }
            }
            if self.version != Version::Llvm14 {
                self.number(self.instruction(index, at, instruction)?);
            }
        }
        if self.version == Version::Llvm14 {
            for (at, instruction) in body.listed_instructions() {
                self.number(self.instruction(index, at, instruction)?);
            }
        }
        Ok(())
    }

    /// Adds all uses by what the reader meets.
    fn add_uses(&mut self) -> Result<()> {
        let (mut found, mut forward) = (Vec::new(), Vec::new());
        for (index, body) in self.source.bodies.iter().enumerate() {
            self.forward_times(index, body, &mut forward);
            let times = self.times.instructions.get(index).map_or(&[][..], Vec::as_slice);
            for (at, instruction) in body.listed_instructions() {
                let user = self.number_of(self.instruction(index, at, instruction)?);
                let time = times.get(at as usize).copied().unwrap_or(0);
                operands::for_each_index(body, instruction, |operand| found.push(operand));
                for (number, operand) in (0u32..).zip(found.drain(..)) {
                    let used = match body.operands.get(operand).map(|operand| operand.kind()) {
                        Some(OperandKind::Value(id)) => self.source.value_key(Scope::body(index), id)?.key,
                        Some(OperandKind::Block(id)) => self.block(index, id),
                        _ => continue,
                    };
                    let time = forward.get(operand).copied().flatten().unwrap_or(time);
                    self.add_use(used, time, number, user);
                }
            }
        }
        let scopes = core::iter::once(Scope::MODULE).chain((0..self.source.bodies.len()).map(Scope::body));
        for scope in scopes {
            for key in self.source.value_keys(scope) {
                self.add_uses_of(key)?;
            }
        }
        Ok(())
    }

    /// Finds when those operands of a body were set that were forward references, by their index.
    fn forward_times(&self, index: usize, body: &FunctionBody, times: &mut Vec<Option<u32>>) {
        times.clear();
        let index = narrow(index as u64);
        for (&(_, operand), &time) in self.times.forward.range((index, 0)..=(index, u32::MAX)) {
            if times.is_empty() {
                times.resize(body.operands.len(), None);
            }
            if let Some(slot) = times.get_mut(operand as usize) {
                *slot = Some(time);
            }
        }
    }

    /// Adds a use of an entity by what has the number `user`, unless the reader does not meet that.
    fn add_use(&mut self, entity: u32, time: u32, operand: u32, user: u32) {
        if user == 0 && !self.has_orders {
            return;
        }
        let number = self.number_of(entity);
        let is_mirrored = self.version == Version::Llvm14 && self.symbols.contains(&user);
        let is_forward = !is_mirrored && (user > number || self.symbols.contains(&number));
        self.uses.add(entity, (core::cmp::Reverse((time, operand)), user), is_forward);
    }

    /// Adds the uses by a constant or symbol.
    fn add_uses_of(&mut self, key: Key) -> Result<()> {
        let user = self.number_of(key.key);
        let Ok(value) = self.source.value(key) else { return Ok(()) };
        // Bodies only have constants of their own in modules that were read.
        let constant = match value.kind {
            ValueKind::Constant(index) if key.scope == Scope::MODULE => Some(index),
            _ => None,
        };
        let time = match value.kind {
            ValueKind::Constant(index) => self.times.constants.get(index as usize).copied(),
            ValueKind::Global(_) | ValueKind::Function(_) | ValueKind::Alias(_) => {
                self.times.symbols.get(&ValueId(key.key)).copied()
            }
            _ => return Ok(()),
        };
        // What the reader does not meet only counts for orders that were given.
        if user == 0 && !self.has_orders {
            return Ok(());
        }
        let time = time.unwrap_or(0);
        for (number, operand) in (0u32..).zip(self.operands_of(key)?) {
            let forward = match constant {
                Some(index) => self.times.constant_operands.get(&(index, number)),
                None => self.times.symbol_operands.get(&(ValueId(key.key), number)),
            };
            let time = forward.copied().unwrap_or(time);
            self.add_use(operand.key, time, number, user);
        }
        if let Some((Constant::BlockAddress { function, block }, _)) = self.source.constant(key, value)
            && let ValueKind::Function(function) =
                self.source.value(self.source.value_key(key.scope, function)?)?.kind
        {
            let index = self.source.bodies.iter().position(|body| body.function == function);
            if let Some(index) = index {
                self.add_use(self.block(index, block), time, 1, user);
            }
        }
        Ok(())
    }

    /// Permutes uses as orders say that were given with the program.
    fn apply_orders(&mut self) -> Result<()> {
        if !self.has_orders {
            return Ok(());
        }
        let (source, times) = (self.source, self.times);
        let of_module = times.module_lists.iter().zip(&source.module.use_lists);
        let mut orders: Vec<_> = of_module.map(|(&time, list)| (time, Scope::MODULE, list)).collect();
        for (index, (times, body)) in times.body_lists.iter().zip(source.bodies).enumerate() {
            let of_body = times.iter().zip(&body.use_lists);
            orders.extend(of_body.map(|(&time, list)| (time, Scope::body(index), list)));
        }
        orders.sort_by_key(|&(time, ..)| time);
        for (time, scope, list) in orders {
            let entity = match (list.block, scope.index()) {
                (true, Some(index)) => self.block(index, BlockId(list.id)),
                _ => source.value_key(scope, ValueId(list.id))?.key,
            };
            self.apply_order(entity, time, &list.order);
        }
        Ok(())
    }

    /// Permutes the uses of an entity that were made before a time, if there are as many as the order has indices.
    fn apply_order(&mut self, entity: u32, time: u32, order: &[u32]) {
        let mut uses = self
            .given
            .remove(&entity)
            .unwrap_or_else(|| self.uses.of(entity).iter().map(|&(_, one)| one).collect());
        let later = uses.iter().take_while(|(core::cmp::Reverse((made, _)), _)| *made >= time).count();
        if let Some(earlier) = uses.get_mut(later..).filter(|earlier| earlier.len() == order.len()) {
            let mut sorted: Vec<(u32, Use)> = order.iter().copied().zip(earlier.iter().copied()).collect();
            sorted.sort_by_key(|&(place, _)| place);
            for (slot, (_, used)) in earlier.iter_mut().zip(sorted) {
                *slot = used;
            }
        }
        self.given.insert(entity, uses);
    }

    fn predict_all(&mut self) -> Result<()> {
        for index in (0..self.source.bodies.len()).rev() {
            self.predict_body(index)?;
        }
        let [variables, aliases, ifuncs, functions] = self.symbols()?;
        for &symbol in variables.iter().chain(&functions).chain(&aliases).chain(&ifuncs) {
            self.predict_value(symbol, None)?;
        }
        Ok(())
    }

    fn predict_body(&mut self, index: usize) -> Result<()> {
        let Some(body) = self.source.bodies.get(index) else { return Ok(()) };
        for block in 0..body.blocks.len() {
            let block = BlockId(narrow(block as u64));
            self.permute(self.block(index, block), Used::Block(block), Some(index));
        }
        for argument in arguments(self.source, index)? {
            self.predict_value(argument, Some(index))?;
        }
        let (mut results, mut values) = (Vec::new(), Vec::new());
        let is_14 = self.version == Version::Llvm14;
        let wrapped = if is_14 { Vec::new() } else { self.wrapped(index)? };
        let mut wrapped = wrapped.into_iter().peekable();
        for (at, instruction) in body.listed_instructions() {
            while let Some((_, key)) = wrapped.next_if(|&(of, _)| of == at) {
                self.predict_value(key, Some(index))?;
            }
            values_of(body, instruction, &mut values);
            for id in values.drain(..) {
                let key = self.source.value_key(Scope::body(index), id)?;
                if !self.is_done(key) && (self.is_constant(key)? || self.is_symbol(key)?) {
                    self.predict_value(key, Some(index))?;
                }
            }
            if instruction.result.is_some() {
                let key = self.source.value_key(Scope::body(index), instruction.result)?;
                if is_14 { results.push(key) } else { self.predict_value(key, Some(index))? }
            }
        }
        results.into_iter().try_for_each(|key| self.predict_value(key, Some(index)))
    }

    fn is_done(&self, key: Key) -> bool {
        self.done.get(key.index()).copied().unwrap_or(true)
    }

    /// Predicts the order of the uses of a value, and of the constants that it is made of.
    fn predict_value(&mut self, key: Key, body: Option<usize>) -> Result<()> {
        let (mut stack, mut next) = (Vec::new(), Some(key));
        while let Some(key) = next.or_else(|| stack.pop()) {
            next = None;
            if self.is_done(key) {
                continue;
            }
            self.permute(key.key, Used::Value(key), body);
            let mut operands = self.operands_of(key)?;
            operands.extend(self.mask_of(key)?);
            stack.extend(operands.into_iter().rev());
        }
        Ok(())
    }

    /// Adds the permutation of the uses of an entity, if the reader would not get the order of the list.
    fn permute(&mut self, entity: u32, used: Used, body: Option<usize>) {
        if let Some(done) = self.done.get_mut(entity as usize) {
            *done = true;
        }
        let Some(order) = self.order_of(entity) else { return };
        let lists = match body {
            Some(index) => self.lists.of_bodies.get_mut(index),
            None => Some(&mut self.lists.of_module),
        };
        if let Some(lists) = lists {
            lists.push(Permutation { used, order });
        }
    }

    /// Returns the order in which the reader has the uses of an entity, unless it is that of the list.
    fn order_of(&self, entity: u32) -> Option<Vec<u32>> {
        let listed = self.uses.of(entity);
        let mut uses: Vec<Use> = match self.given.get(&entity) {
            Some(given) => given.clone(),
            None => listed.iter().map(|&(_, one)| one).collect(),
        };
        uses.retain(|(_, user)| *user != 0);
        if uses.len() < 2 {
            return None;
        }
        let number = self.number_of(entity);
        let symbols = &self.symbols;
        let is_symbol = symbols.contains(&number);
        let is_14 = self.version == Version::Llvm14;
        let key = |&(core::cmp::Reverse((_, operand)), user): &Use| {
            let (operand, of_user) = (i64::from(operand), i64::from(user));
            if is_14 && symbols.contains(&user) {
                // The uses by symbols keep the order of the symbols.
                let mirrored = i64::from(symbols.start) + i64::from(symbols.end) - of_user;
                return (0, -mirrored, -operand);
            }
            if is_symbol || user > number { (0, -of_user, -operand) } else { (1, of_user, operand) }
        };
        if uses.is_sorted_by_key(key) {
            return None;
        }
        let mut list: Vec<_> = (0u32..).zip(uses.iter()).map(|(at, one)| (key(one), at)).collect();
        list.sort_unstable();
        Some(list.into_iter().map(|(_, at)| at).collect())
    }
}

/// Returns the parameters of a body.
fn arguments(source: &Source<'_, '_>, index: usize) -> Result<Vec<Key>> {
    let Some(body) = source.bodies.get(index) else { return Ok(Vec::new()) };
    let numbered = (0u32..).zip(&body.values);
    let arguments = numbered.filter(|(_, value)| matches!(value.kind, ValueKind::Argument(_)));
    arguments
        .map(|(at, _)| source.value_key(Scope::body(index), ValueId(body.value_base.wrapping_add(at))))
        .collect()
}

/// Appends the values that are operands of an instruction, with the mask of a `shufflevector` at the end.
fn values_of(body: &FunctionBody, instruction: &Instruction, values: &mut Vec<ValueId>) {
    operands::for_each(body, instruction, |operand| values.extend(operand.as_value()));
    if instruction.opcode == Opcode::ShuffleVector {
        values.extend(body.operands_of(instruction).get(2).and_then(|mask| mask.as_value()));
    }
}
