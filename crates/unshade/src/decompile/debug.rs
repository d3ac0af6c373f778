//! Debugging information for the decompiler: names and types of parameters, and the registers of local variables.

use super::header::Header;
use super::parameters;
use super::structures::{StructureNames, Structures};
use std::collections::HashMap;
use unshade_core::Diagnostics;
use unshade_decompile::Source;
use unshade_decompile::c::identifier;
use unshade_decompile::ir::{SourceVariable, Space, VariablePlace};
use unshade_decompile::sass::{Local, LocalRegister};
use unshade_decompile::types::Type;
use unshade_nv::Cubin;
use unshade_nv::debug::{
    DebugFunction, DebugInfo, DebugVariable, Location, Place, RegisterMap, RegisterRange,
};

/// Number of bytes before the start of a location in which its register may be set.
const SLACK: u64 = 16;

/// The debugging information of a cubin, empty if it has none, and the declarations of a header.
#[derive(Default)]
pub(super) struct SourceNames<'h> {
    header: Option<&'h Header>,
    info: DebugInfo,
    structures: StructureNames,
    registers: RegisterMap,
    /// Whether the names and types of parameters are used.
    has_parameters: bool,
}

impl<'h> SourceNames<'h> {
    /// Reads the information; faults are reported. Parameters are only described if `has_parameters` is set.
    pub(super) fn new(
        cubin: &Cubin<'_>,
        has_parameters: bool,
        header: Option<&'h Header>,
        diagnostics: &mut Diagnostics,
    ) -> Self {
        let Some(Some(info)) = diagnostics.take("nv-debug-info", DebugInfo::of(cubin)) else {
            return Self { header, ..Self::default() };
        };
        let structures = StructureNames::new(&info, header.map(|header| &header.names));
        Self { header, info, structures, registers: RegisterMap::of(cubin), has_parameters }
    }

    /// Adds what a header says about the parameters of a function. Returns what contradicts the file.
    pub(super) fn declare(
        &self,
        symbol: &str,
        demangled: Option<&str>,
        source: &mut Source<'_>,
    ) -> Vec<String> {
        let count = source.parameters.len();
        let Some(header) = self.header else { return Vec::new() };
        let Some(function) = header.function(symbol, demangled, count) else { return Vec::new() };
        let mut faults = Vec::new();
        if function.parameters.len() != count && source.is_kernel {
            faults.push(format!("it has {count} parameters, but {} are declared", function.parameters.len()));
        }
        let known = std::mem::take(&mut source.structures);
        let mut structures = Structures::new(&header.info, &header.names, known);
        if !source.is_kernel && source.parameters.is_empty() {
            let is_number = |ty: &Type| !matches!(ty, Type::StructurePointer(_) | Type::Structure(_));
            let types =
                function.parameters.iter().map(|parameter| structures.ty(parameter.ty).filter(is_number));
            source.parameters = parameters::placed(types, 0).unwrap_or_default();
        }
        if function.parameters.len() == source.parameters.len() {
            for (index, (parameter, variable)) in
                source.parameters.iter_mut().zip(&function.parameters).enumerate()
            {
                parameter.name = name_of(variable).or(parameter.name.take());
                let Some(ty) = structures.ty(variable.ty) else { continue };
                let size = match ty {
                    Type::Structure(id) => structures.size(id),
                    ty => u32::from(ty.bits()) / 8,
                };
                match ty {
                    // The prototype of a device function has no structures.
                    Type::StructurePointer(_) | Type::Structure(_) if !source.is_kernel => {}
                    ty if size == parameter.size => parameter.ty = Some(ty),
                    _ => {
                        let expected = parameter.size;
                        faults
                            .push(format!("parameter {index} has {expected} bytes, but {size} are declared"));
                    }
                }
            }
        }
        source.structures = structures.finish();
        faults
    }

    /// Adds what is known of a function, of which `symbol` is the name in the file.
    pub(super) fn describe(&self, symbol: &str, source: &mut Source<'_>) {
        let Some(function) = self.info.function(symbol) else { return };
        let known = std::mem::take(&mut source.structures);
        let mut structures = Structures::new(&self.info, &self.structures, known);
        source.code.locals.extend(self.locals(symbol, function, source.code.local_size, &mut structures));
        if self.has_parameters && source.parameters.len() == function.parameters.len() {
            for (parameter, variable) in source.parameters.iter_mut().zip(&function.parameters) {
                parameter.name = name_of(variable);
                let ty = structures.ty(variable.ty).filter(|ty| match ty {
                    // The prototype of a device function has no structures.
                    Type::StructurePointer(_) | Type::Structure(_) if !source.is_kernel => false,
                    Type::Structure(id) => structures.size(*id) == parameter.size,
                    ty => u32::from(ty.bits()) == parameter.size * 8,
                });
                let is_number = |ty: &Type| !matches!(ty, Type::StructurePointer(_));
                parameter.ty = parameter.ty.filter(is_number).or(ty);
            }
        }
        source.structures = structures.finish();
    }

    /// Returns the variables that are in registers, and those in local and shared memory.
    fn locals(
        &self,
        symbol: &str,
        function: &DebugFunction,
        local_size: u32,
        structures: &mut Structures<'_>,
    ) -> Vec<Local> {
        let ranges = own_ranges(self.registers.function(symbol));
        let local = |variable: &DebugVariable| {
            let registers: Vec<LocalRegister> =
                variable.locations.iter().flat_map(|location| registers(location, &ranges)).collect();
            let name = name_of(variable)?;
            let mut source =
                SourceVariable { name, ty: structures.ty(variable.ty), ..SourceVariable::default() };
            if registers.is_empty() {
                let (size, ty, counts) = structures.element(variable.ty)?;
                let place =
                    variable.locations.iter().find_map(|location| offset(&location.place, local_size))?;
                let size = u32::try_from(size).ok()?;
                source = SourceVariable { ty: Some(ty), counts, ..source };
                source.place = Some(VariablePlace { space: place.0, offset: place.1, size });
            }
            Some(Local { variable: source, registers })
        };
        function.parameters.iter().chain(&function.locals).filter_map(local).collect()
    }
}

/// Returns the memory and the offset of a place on a stack of `local_size` bytes, or in shared memory. The variables of the
/// source code are at the upper end of the stack, after the registers that the function saves.
fn offset(place: &Place, local_size: u32) -> Option<(Space, u32)> {
    match *place {
        Place::Shared(address) => Some((Space::Shared, u32::try_from(address).ok()?)),
        Place::Frame { size, offset } => {
            let start = u64::from(local_size).checked_sub(size)?.checked_add(offset)?;
            Some((Space::Local, u32::try_from(start).ok()?))
        }
        _ => None,
    }
}

/// Returns the name of a variable in C; none if it has none.
fn name_of(variable: &DebugVariable) -> Option<String> {
    (!variable.name.is_empty()).then(|| identifier(&variable.name))
}

/// Returns the ranges of each register of PTX, without those of the compiler's own sequences, such as that of a division. These
/// have registers with the same names, and use each for one instruction, or while the other one is in use.
fn own_ranges(ranges: &[RegisterRange]) -> HashMap<&str, Vec<&RegisterRange>> {
    let mut of: HashMap<&str, Vec<&RegisterRange>> = HashMap::new();
    for range in ranges {
        of.entry(&range.ptx).or_default().push(range);
    }
    for ranges in of.values_mut() {
        // A register of the source code is copied before it is used.
        let is_single = |range: &RegisterRange| range.end.saturating_sub(range.start) <= 16;
        if ranges.iter().any(|range| !is_single(range)) {
            ranges.retain(|range| !is_single(range));
        }
        ranges.sort_by_key(|range| (range.part, range.start, std::cmp::Reverse(range.end)));
        let mut outer = (u32::MAX, 0);
        ranges.retain(|range| {
            let is_inside = outer.0 == range.part && range.end <= outer.1;
            if !is_inside {
                outer = (range.part, range.end);
            }
            !is_inside
        });
    }
    of
}

/// Returns the registers that hold a variable where a location is valid.
fn registers<'r>(
    location: &'r Location,
    ranges: &'r HashMap<&str, Vec<&RegisterRange>>,
) -> impl Iterator<Item = LocalRegister> + 'r {
    let ranges = match &location.place {
        Place::PtxRegister(name) => ranges.get(name.as_str()).map_or(&[][..], Vec::as_slice),
        _ => &[],
    };
    let (from, to) = location.range.unwrap_or((0, u64::MAX));
    ranges.iter().filter_map(move |range| {
        // The register may be set before the variable gets its value from it.
        let start = if range.start.saturating_add(SLACK) >= from { range.start } else { from };
        let end = range.end.min(to);
        let register = LocalRegister { part: range.part, register: range.register, start, end };
        (start < end).then_some(register)
    })
}
