//! The inputs and outputs of an entry point, as a flat list of scalars and vectors.

use crate::error::{Error, Result, unsupported};
use crate::lower::argument_name;
use crate::target::{Port, Role};
use crate::types::{Shape, Types};
use naga::{Binding, EntryPoint, Handle, Module, Type, TypeInner};
use unshade_llvm::ValueId;

/// The inputs and outputs of an entry point.
#[derive(Clone, Debug, Default)]
pub struct Interface {
    /// The inputs of each argument.
    pub inputs: Vec<Vec<Port>>,
    /// The outputs.
    pub outputs: Vec<Port>,
}

impl Interface {
    /// Collects the inputs and outputs of an entry point.
    ///
    /// # Errors
    /// If one is no scalar or vector.
    pub fn new(module: &Module, point: &EntryPoint) -> Result<Self> {
        let mut interface = Self::default();
        let mut index = 0;
        for (at, argument) in point.function.arguments.iter().enumerate() {
            let mut ports = Vec::new();
            let name = argument_name(argument, at);
            collect(module, &name, argument.ty, argument.binding.as_ref(), &mut index, &mut ports)?;
            interface.inputs.push(ports);
        }
        if let Some(result) = &point.function.result {
            let mut index = 0;
            let ports = &mut interface.outputs;
            collect(module, "result", result.ty, result.binding.as_ref(), &mut index, ports)?;
        }
        Ok(interface)
    }

    /// Returns all inputs.
    pub fn all_inputs(&self) -> impl Iterator<Item = &Port> {
        self.inputs.iter().flatten()
    }
}

fn collect(
    module: &Module,
    name: &str,
    ty: Handle<Type>,
    binding: Option<&Binding>,
    index: &mut usize,
    ports: &mut Vec<Port>,
) -> Result<()> {
    if let TypeInner::Struct { members, .. } = &module.types[ty].inner {
        for (at, member) in members.iter().enumerate() {
            let name = member.name.clone().unwrap_or_else(|| format!("{name}_{at}"));
            collect(module, &name, member.ty, member.binding.as_ref(), index, ports)?;
        }
        return Ok(());
    }
    let span = module.types.get_span(ty);
    let (scalar, count) = match (Types { module }).shape(ty).map_err(|e| e.at(span))? {
        Shape::Scalar(scalar) => (scalar, 1),
        Shape::Vector(scalar, count) => (scalar, count),
        _ => {
            return unsupported(format!("{name}: an array or matrix between stages")).map_err(|e| e.at(span));
        }
    };
    let role = match binding {
        Some(Binding::BuiltIn(builtin)) => Role::BuiltIn(*builtin),
        Some(&Binding::Location { location, interpolation, sampling, blend_src, per_primitive: false }) => {
            Role::Location { location, interpolation, sampling, blend_source: blend_src }
        }
        _ => return unsupported(format!("{name}: an input or output of this kind")),
    };
    ports.push(Port { index: *index, name: name.to_string(), role, scalar, count });
    *index += 1;
    Ok(())
}

/// Gives each output its scalars.
///
/// # Errors
/// If there are not as many as the outputs have.
pub fn split(ports: &[Port], values: &[ValueId]) -> Result<Vec<(Port, Vec<ValueId>)>> {
    let mut rest = values;
    let mut list = Vec::new();
    for port in ports {
        let Some((first, others)) = rest.split_at_checked(usize::from(port.count)) else {
            return Err(Error::new("a result of too few numbers"));
        };
        list.push((port.clone(), first.to_vec()));
        rest = others;
    }
    Ok(list)
}
