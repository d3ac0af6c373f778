//! The state of a function that is lowered, its frames, and the entry point.
//!
//! Functions are inlined where they are called: DXIL's compilers do the same, and neither target lets a function take
//! a texture as an argument. Each call has a frame, which holds what its expressions are.

use crate::error::{Error, Result, unsupported};
use crate::interface::{self, Interface};
use crate::memory::{Place, Root, Storage};
use crate::target::Target;
use crate::types::{Shape, Types};
use naga::proc::TypeResolution;
use naga::valid::{FunctionInfo, ModuleInfo};
use naga::{
    AddressSpace, Block, Expression, Function, FunctionArgument, GlobalVariable, Handle, LocalVariable,
    Module, Statement,
};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use unshade_llvm::build::IntPredicate;
use unshade_llvm::{BlockId, ValueId};

/// The most calls that are inlined into an entry point.
const MAX_CALLS: u32 = 4096;

/// What an expression is.
#[derive(Clone, Debug)]
pub enum Operand {
    /// A value: its scalars.
    Values(Vec<ValueId>),
    /// A pointer.
    Place(Place),
    /// A texture or sampler.
    Resource(Handle<GlobalVariable>),
}

/// A function that is lowered: the entry point or one that is inlined.
pub struct Frame<'a> {
    /// The function.
    pub function: &'a Function,
    /// What naga found out about it.
    pub info: &'a FunctionInfo,
    /// The expressions that have been evaluated.
    pub operands: HashMap<Handle<Expression>, Operand>,
    /// The variables.
    pub locals: HashMap<Handle<LocalVariable>, Rc<Storage>>,
    /// The arguments.
    pub arguments: Vec<Operand>,
    /// Where `return` goes.
    pub exit: BlockId,
    /// Where the result is left.
    pub result: Option<Place>,
    /// Whether anything goes to the exit.
    pub returns: bool,
    /// Where `break` and `continue` go, innermost last.
    pub loops: Vec<Targets>,
}

/// Where `break` and `continue` go.
#[derive(Clone, Copy)]
pub struct Targets {
    /// The block after the loop or `switch`.
    pub merge: BlockId,
    /// The block that ends an iteration.
    pub next: Option<BlockId>,
    /// Whether anything breaks.
    pub breaks: bool,
    /// Whether anything continues.
    pub continues: bool,
}

/// Lowers an entry point.
pub struct Lower<'m, 'a, T: Target<'m>> {
    /// The body that is built.
    pub b: T::Body,
    /// The target.
    pub target: T,
    /// The module.
    pub module: &'a Module,
    /// Its types.
    pub types: Types<'a>,
    /// The function that is lowered.
    pub frame: Frame<'a>,
    info: &'a ModuleInfo,
    /// The block of variables.
    entry: BlockId,
    globals: HashMap<Handle<GlobalVariable>, Rc<Storage>>,
    calls: u32,
}

/// Lowers an entry point into a body that has an entry block.
///
/// # Errors
/// If something is not in the subset.
pub fn lower<'m, T: Target<'m>>(
    mut b: T::Body,
    target: T,
    module: &Module,
    info: &ModuleInfo,
    entry_index: usize,
    interface: &Interface,
) -> Result<()> {
    let point = &module.entry_points[entry_index];
    let entry = b.current_block().ok_or_else(|| Error::new("no entry block"))?;
    let (start, exit) = (b.block("start"), b.block("exit"));
    let frame = Frame::new(&point.function, info.get_entry_point(entry_index), exit);
    let types = Types { module };
    let globals = HashMap::new();
    let mut lower = Lower { b, target, module, types, frame, info, entry, globals, calls: 0 };
    lower.b.select_block(start)?;
    lower.globals()?;
    lower.frame.arguments = lower.inputs(interface)?;
    if let Some(result) = &point.function.result {
        let shape = types.shape(result.ty)?;
        let storage = lower.variable(shape, true, "result")?;
        lower.frame.result = Some(Place::new(Root::Memory(storage), shape));
    }
    lower.body(&point.function)?;
    if lower.frame.returns {
        lower.b.select_block(exit)?;
        let values = match lower.frame.result.clone() {
            Some(place) => lower.load(&place)?,
            None => Vec::new(),
        };
        let outputs = interface::split(&interface.outputs, &values)?;
        lower.target.finish(&mut lower.b, &outputs)?;
    }
    lower.b.select_block(entry)?;
    lower.b.br(start)?;
    T::end(lower.b)
}

impl<'a> Frame<'a> {
    fn new(function: &'a Function, info: &'a FunctionInfo, exit: BlockId) -> Self {
        Self {
            function,
            info,
            operands: HashMap::new(),
            locals: HashMap::new(),
            arguments: Vec::new(),
            exit,
            result: None,
            returns: false,
            loops: Vec::new(),
        }
    }
}

impl<'m, 'a, T: Target<'m>> Lower<'m, 'a, T> {
    /// Builds in the entry block, where variables and what dominates everything is.
    pub fn in_entry<R>(&mut self, build: impl FnOnce(&mut T::Body, &mut T) -> Result<R>) -> Result<R> {
        let current = self.current_block()?;
        self.b.select_block(self.entry)?;
        let built = build(&mut self.b, &mut self.target)?;
        self.b.select_block(current)?;
        Ok(built)
    }

    /// Returns the block that is built.
    pub fn current_block(&self) -> Result<BlockId> {
        self.b.current_block().ok_or_else(|| Error::new("no block is built"))
    }

    /// Returns an `i32`.
    pub fn word(&mut self, number: u32) -> Result<ValueId> {
        let int = self.b.integer(32)?;
        Ok(self.b.const_int(int, number)?)
    }

    /// Returns the shape of an expression.
    pub fn shape(&self, expression: Handle<Expression>) -> Result<Shape> {
        match &self.frame.info[expression].ty {
            TypeResolution::Handle(ty) => self.types.shape(*ty),
            TypeResolution::Value(inner) => self.types.shape_of(inner),
        }
    }

    /// Adds the variables of thread and workgroup that the entry point uses, and gives them their first values.
    fn globals(&mut self) -> Result<()> {
        let mut workgroup = Vec::new();
        for (handle, global) in self.module.global_variables.iter() {
            if self.frame.info[handle].is_empty() {
                continue;
            }
            let span = self.module.global_variables.get_span(handle);
            let name = global.name.as_deref().unwrap_or("global");
            match global.space {
                AddressSpace::Private => {
                    let shape = self.types.shape(global.ty).map_err(|e| e.at(span))?;
                    let storage = self.variable(shape, false, name).map_err(|e| e.at(span))?;
                    match global.init {
                        Some(init) => {
                            let values = self.constant(init).map_err(|e| e.at(span))?;
                            self.store(&Place::new(Root::Memory(storage.clone()), shape), &values)?;
                        }
                        None => self.zero(&storage)?,
                    }
                    self.globals.insert(handle, storage);
                }
                AddressSpace::WorkGroup => {
                    let shape = self.types.shape(global.ty).map_err(|e| e.at(span))?;
                    let storage = self.workgroup_variable(shape, name).map_err(|e| e.at(span))?;
                    workgroup.push(storage.clone());
                    self.globals.insert(handle, storage);
                }
                AddressSpace::Uniform | AddressSpace::Storage { .. } | AddressSpace::Handle => {}
                other => return unsupported(format!("variables in {other:?}")).map_err(|e| e.at(span)),
            }
        }
        self.zero_workgroup(&workgroup)
    }

    /// Stores zero to the memory of the workgroup by its first thread, for which the others wait.
    fn zero_workgroup(&mut self, variables: &[Rc<Storage>]) -> Result<()> {
        if variables.is_empty() {
            return Ok(());
        }
        let (first, others) = (self.b.block("first"), self.b.block("others"));
        let index = self.target.local_index(&mut self.b)?;
        let zero = self.word(0)?;
        let is_first = self.b.icmp(IntPredicate::Eq, index, zero)?;
        self.b.cond_br(is_first, first, others)?;
        self.b.select_block(first)?;
        for storage in variables {
            self.zero(storage)?;
        }
        self.b.br(others)?;
        self.b.select_block(others)?;
        self.target.barrier(&mut self.b, naga::Barrier::WORK_GROUP, true)
    }

    /// Returns the arguments of the entry point.
    fn inputs(&mut self, interface: &Interface) -> Result<Vec<Operand>> {
        let mut arguments = Vec::new();
        for ports in &interface.inputs {
            let mut values = Vec::new();
            for port in ports {
                values.extend(self.in_entry(|b, target| target.input(b, port))?);
            }
            arguments.push(Operand::Values(values));
        }
        Ok(arguments)
    }

    /// Lowers the body of the current frame's function; what returns goes to its exit.
    fn body(&mut self, function: &'a Function) -> Result<()> {
        let indexed = indexed_variables(function);
        for (handle, local) in function.local_variables.iter() {
            let span = function.local_variables.get_span(handle);
            let at = |error: Error| error.at(span);
            let shape = self.types.shape(local.ty).map_err(at)?;
            let name = local.name.as_deref().unwrap_or("local");
            let storage = self.variable(shape, !indexed.contains(&handle), name).map_err(at)?;
            match local.init {
                Some(init) => {
                    let values = self.values(init).map_err(at)?;
                    self.store(&Place::new(Root::Memory(storage.clone()), shape), &values)?;
                }
                None => self.zero(&storage)?,
            }
            self.frame.locals.insert(handle, storage);
        }
        if self.block(&function.body)? {
            self.frame.returns = true;
            self.b.br(self.frame.exit)?;
        }
        Ok(())
    }

    /// Inlines a call and returns its result. The second value says whether it returns at all.
    pub fn inline(
        &mut self,
        function: Handle<Function>,
        arguments: Vec<Operand>,
    ) -> Result<(Option<Vec<ValueId>>, bool)> {
        self.calls += 1;
        if self.calls > MAX_CALLS {
            return unsupported(format!("more than {MAX_CALLS} inlined calls"));
        }
        let called = &self.module.functions[function];
        let exit = self.b.block("returned");
        let mut frame = Frame::new(called, &self.info[function], exit);
        frame.arguments = arguments;
        if let Some(result) = &called.result {
            let shape = self.types.shape(result.ty)?;
            let storage = self.variable(shape, true, "result")?;
            frame.result = Some(Place::new(Root::Memory(storage), shape));
        }
        let caller = std::mem::replace(&mut self.frame, frame);
        let built = self.body(called);
        let frame = std::mem::replace(&mut self.frame, caller);
        built?;
        if !frame.returns {
            return Ok((None, false));
        }
        self.b.select_block(exit)?;
        let result = match &frame.result {
            Some(place) => Some(self.load(place)?),
            None => None,
        };
        Ok((result, true))
    }

    /// Returns the place of a variable of the module.
    pub fn global(&mut self, handle: Handle<GlobalVariable>) -> Result<Operand> {
        let global = &self.module.global_variables[handle];
        match global.space {
            AddressSpace::Handle => Ok(Operand::Resource(handle)),
            AddressSpace::Uniform | AddressSpace::Storage { .. } => {
                let shape = self.types.shape(global.ty)?;
                Ok(Operand::Place(Place::new(Root::Buffer(handle), shape)))
            }
            _ => match self.globals.get(&handle) {
                Some(storage) => {
                    let shape = self.types.shape(global.ty)?;
                    Ok(Operand::Place(Place::new(Root::Memory(storage.clone()), shape)))
                }
                None => unsupported(format!("a variable in {:?}", global.space)),
            },
        }
    }
}

/// Returns the variables whose elements are selected by dynamic indices, or that a function may index so.
fn indexed_variables(function: &Function) -> HashSet<Handle<LocalVariable>> {
    let mut found = HashSet::new();
    for (_, expression) in function.expressions.iter() {
        if let Expression::Access { base, .. } = *expression {
            found.extend(root_variable(function, base));
        }
    }
    passed_variables(function, &function.body, &mut found);
    found
}

/// Returns the variable that an access chain starts at.
fn root_variable(function: &Function, mut expression: Handle<Expression>) -> Option<Handle<LocalVariable>> {
    loop {
        match function.expressions[expression] {
            Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => expression = base,
            Expression::LocalVariable(variable) => return Some(variable),
            _ => return None,
        }
    }
}

/// Finds variables that calls get pointers to.
fn passed_variables(function: &Function, block: &Block, found: &mut HashSet<Handle<LocalVariable>>) {
    for statement in block.iter() {
        match statement {
            Statement::Block(block) => passed_variables(function, block, found),
            Statement::If { accept, reject, .. } => {
                passed_variables(function, accept, found);
                passed_variables(function, reject, found);
            }
            Statement::Switch { cases, .. } => {
                cases.iter().for_each(|case| passed_variables(function, &case.body, found));
            }
            Statement::Loop { body, continuing, .. } => {
                passed_variables(function, body, found);
                passed_variables(function, continuing, found);
            }
            Statement::Call { arguments, .. } => {
                found.extend(arguments.iter().filter_map(|&argument| root_variable(function, argument)));
            }
            _ => {}
        }
    }
}

/// Returns the name of an argument.
pub fn argument_name(argument: &FunctionArgument, index: usize) -> String {
    argument.name.clone().unwrap_or_else(|| format!("argument{index}"))
}
