//! Types of textures, samplers and tables that helper functions take.
//!
//! Metadata has them for entry points only: a module's type says which shape a texture has, not which numbers are in it and how
//! it is accessed. So what an entry point passes on says what a parameter of a function is. Functions that are called with
//! several types were templates in the source; they get the first one.

use crate::ir::metal::interface::MetalProgram;
use crate::ir::metal::types::ValueType;
use crate::ir::{Function, Op, ShaderOp, ValueId};

/// Gives the parameters of helper functions the types of what is passed to them. `order` has the functions after those that
/// they call.
pub(super) fn name(program: &mut MetalProgram, order: &[usize]) {
    for &caller in order.iter().rev() {
        let function = &program.functions[caller].function;
        let mut found = Vec::new();
        for (id, value) in function.values.entries() {
            let Op::Invoke(callee) = value.op else { continue };
            if function.is_replaced(id) {
                continue;
            }
            let name = &function.callees[callee].name;
            let Some(callee) = program.function_index(name) else {
                continue;
            };
            for (number, input) in function.inputs(id).iter().enumerate() {
                let argument = argument(function, function.resolve(*input));
                let parameter = argument.and_then(|number| program.functions[caller].parameters.get(number));
                if let Some(parameter) = parameter
                    && !parameter.type_name.is_empty()
                {
                    found.push((callee, number, parameter.type_name.clone()));
                }
            }
        }
        for (callee, number, type_name) in found {
            let types = &program.types;
            let Some(parameter) = program.functions[callee].parameters.get_mut(number) else { continue };
            let pointee = types.pointee(parameter.ty).map(|found| types.get(found.1));
            if parameter.type_name.is_empty() && matches!(pointee, Some(ValueType::Named(_))) {
                parameter.type_name = type_name;
            }
        }
    }
}

/// Returns the number of the parameter that a value is.
fn argument(function: &Function, id: ValueId) -> Option<usize> {
    if function.op(id) != Op::Shader(ShaderOp::Argument) {
        return None;
    }
    usize::try_from(function.number(function.input(id, 0))?).ok()
}
