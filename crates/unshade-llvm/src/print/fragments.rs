//! The text of types, labels, constants and DXIL operations, as a listing has it, for other views of a module.

use super::Dialect;
use super::function::Locals;
use super::symbols::push_plain_constant;
use super::text::push_wide;
use super::types::TypeTexts;
use crate::body::FunctionBody;
use crate::constants::Constant;
use crate::dxil_operations::{CORE, EXPERIMENTAL};
use crate::ids::{BlockId, TypeId, ValueId, narrow};
use crate::module::Module;
use crate::types::Type;
use alloc::string::String;
use alloc::vec::Vec;

/// The text of every type of a module.
///
/// ```
/// use unshade_llvm::print::{Dialect, TypeNames};
/// # let bytes = include_bytes!("../../tests/fixtures/air_like.bc");
/// let module = unshade_llvm::Module::parse(bytes, 0)?;
/// let names = TypeNames::new(&module, Dialect::Llvm14);
/// assert_eq!(names.get(module.globals[0].symbol.ty), "[64 x float]");
/// # Ok::<(), unshade_core::Error>(())
/// ```
pub struct TypeNames(TypeTexts);

impl TypeNames {
    /// Formats all types. Unnamed structs are called by their type id.
    pub fn new(module: &Module<'_>, dialect: Dialect) -> Self {
        Self(TypeTexts::new(&module.types, &[], dialect.rules().opaque_pointers))
    }

    /// Returns the text of a type.
    pub fn get(&self, id: TypeId) -> &str {
        self.0.get(id)
    }
}

/// Returns the labels of a function's blocks: names, or the numbers that a listing gives them.
pub fn block_labels(module: &Module<'_>, body: &FunctionBody) -> Vec<String> {
    let mut locals = Locals::default();
    locals.fill(module, body, false);
    let blocks = 0..narrow(body.blocks.len() as u64);
    blocks.map(|block| String::from(locals.block(BlockId(block)).trim_start_matches('%'))).collect()
}

/// Returns the text of a constant that is a single word, such as the value of a `switch` case; `None` for others.
pub fn plain_constant(module: &Module<'_>, body: &FunctionBody, id: ValueId) -> Option<String> {
    let value = module.value(Some(body), id)?;
    let (constant, constants) = module.constant(Some(body), id)?;
    let mut text = String::new();
    match (constant, module.types.get(value.ty)) {
        (Constant::WideInteger(words), Type::Integer(bits)) => {
            push_wide(&mut text, constants.words(words), bits, true);
        }
        (plain, _) => push_plain_constant(&mut text, &module.types, &value, plain, false),
    }
    (!text.is_empty()).then_some(text)
}

/// Returns the name and the parameters of a DXIL operation, by its operation code.
///
/// ```
/// assert_eq!(unshade_llvm::print::dxil_operation(13), Some(("Sin", "(value)")));
/// ```
pub fn dxil_operation(number: u32) -> Option<(&'static str, &'static str)> {
    let index = (number & 0xFFFF) as usize;
    match number >> 16 {
        0 => CORE.get(index).map(|operation| (operation.name, operation.parameters)),
        0x8000 => EXPERIMENTAL.get(index).copied(),
        _ => None,
    }
}
