//! Debugging information for the decompiler: names and types of parameters, and the registers of local variables.

use unshade_core::Diagnostics;
use unshade_decompile::Source;
use unshade_decompile::c::identifier;
use unshade_decompile::ir::SourceVariable;
use unshade_decompile::sass::{Local, LocalRegister};
use unshade_decompile::types::{NumberKind, Type};
use unshade_nv::Cubin;
use unshade_nv::debug::{
    DebugFunction, DebugInfo, DebugType, DebugVariable, Location, Place, RegisterMap, RegisterRange,
    TypeIndex, TypeKind,
};

/// Number of bytes before the start of a location in which its register may be set.
const SLACK: u64 = 16;

/// The debugging information of a cubin; empty if it has none.
#[derive(Default)]
pub(super) struct SourceNames {
    info: DebugInfo,
    registers: RegisterMap,
    /// Whether the names and types of parameters are used.
    has_parameters: bool,
}

impl SourceNames {
    /// Reads the information; faults are reported. Parameters are only described if `has_parameters` is set.
    pub(super) fn new(cubin: &Cubin<'_>, has_parameters: bool, diagnostics: &mut Diagnostics) -> Self {
        let Some(Some(info)) = diagnostics.take("nv-debug-info", DebugInfo::of(cubin)) else {
            return Self::default();
        };
        Self { info, registers: RegisterMap::of(cubin), has_parameters }
    }

    /// Adds what is known of a function, of which `symbol` is the name in the file.
    pub(super) fn describe(&self, symbol: &str, source: &mut Source<'_>) {
        let Some(function) = self.info.function(symbol) else { return };
        source.code.locals = self.locals(symbol, function);
        if self.has_parameters && source.parameters.len() == function.parameters.len() {
            for (parameter, variable) in source.parameters.iter_mut().zip(&function.parameters) {
                parameter.name = name_of(variable);
                let ty = self.ty(variable.ty).filter(|ty| u32::from(ty.bits()) == parameter.size * 8);
                parameter.ty = parameter.ty.or(ty);
            }
        }
    }

    /// Returns the variables that are in registers.
    fn locals(&self, symbol: &str, function: &DebugFunction) -> Vec<Local> {
        let ranges = self.registers.function(symbol);
        let local = |variable: &DebugVariable| {
            let registers: Vec<LocalRegister> =
                variable.locations.iter().flat_map(|location| registers(location, ranges)).collect();
            let source = SourceVariable { name: name_of(variable)?, ty: self.ty(variable.ty) };
            (!registers.is_empty()).then_some(Local { variable: source, registers })
        };
        function.parameters.iter().chain(&function.locals).filter_map(local).collect()
    }

    /// Returns a type as the decompiler knows it.
    fn ty(&self, index: Option<TypeIndex>) -> Option<Type> {
        let ty = self.info.resolve(index)?;
        match ty.kind {
            TypeKind::Pointer(target) => {
                let element = match self.info.resolve(target) {
                    Some(DebugType { kind: TypeKind::Array(element, _), .. }) => self.info.resolve(*element),
                    target => target,
                };
                element.and_then(scalar).map(Type::pointer)
            }
            _ => scalar(ty),
        }
    }
}

/// Returns the name of a variable in C; none if it has none.
fn name_of(variable: &DebugVariable) -> Option<String> {
    (!variable.name.is_empty()).then(|| identifier(&variable.name))
}

/// Returns a number's type.
fn scalar(ty: &DebugType) -> Option<Type> {
    let bits = u8::try_from(ty.size.checked_mul(8)?).ok().filter(|bits| [8, 16, 32, 64].contains(bits))?;
    let kind = match ty.kind {
        TypeKind::Float if bits >= 32 => NumberKind::Float,
        TypeKind::Signed | TypeKind::Enumeration => NumberKind::Signed,
        TypeKind::Unsigned | TypeKind::Bool => NumberKind::Unsigned,
        _ => return None,
    };
    Some(Type::of(bits, kind))
}

/// Returns the registers that hold a variable where a location is valid.
fn registers<'r>(
    location: &'r Location,
    ranges: &'r [RegisterRange],
) -> impl Iterator<Item = LocalRegister> + 'r {
    let name = match &location.place {
        Place::PtxRegister(name) => Some(name),
        _ => None,
    };
    let (from, to) = location.range.unwrap_or((0, u64::MAX));
    ranges.iter().filter(move |range| Some(&range.ptx) == name).filter_map(move |range| {
        // The register may be set before the variable gets its value from it.
        let start = if range.start.saturating_add(SLACK) >= from { range.start } else { from };
        let end = range.end.min(to);
        let register = LocalRegister { part: range.part, register: range.register, start, end };
        (start < end).then_some(register)
    })
}
