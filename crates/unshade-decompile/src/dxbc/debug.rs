//! Names of the source code for registers, from the debug information of FXC (SPDB).
//!
//! It says from the end of which instruction on a component of a register holds a component of a variable. The value that
//! the register has there gets the name. Names in angle brackets are FXC's own, such as `<f return value>`.

use super::lifter::Lifter;
use std::collections::HashMap;
use unshade_dxbc::operand::OperandKind;
use unshade_dxcontainer::Container;
use unshade_dxcontainer::debug::{DebugInfo, Location};
use unshade_ir::Label;
use unshade_ir::shader::interface::LocalName;

/// Bytes of a register, and of a component.
const REGISTER_SIZE: u32 = 16;
const COMPONENT_SIZE: u32 = 4;

/// The most names that a function gets: instructions of subroutines are lifted several times.
const MAX_LABELS: usize = 1 << 20;

/// The variables of the source code that registers hold.
#[derive(Debug, Default)]
pub(super) struct SourceVariables {
    info: DebugInfo,
    /// The names, by number.
    pub(super) names: Vec<LocalName>,
    /// What registers hold from the end of an instruction on, by its offset in bytes.
    places: HashMap<u32, Vec<Place>>,
    /// The names of indexable registers, by number.
    pub(super) arrays: HashMap<u32, String>,
}

/// A component of a temporary register that holds a variable, or a component of one.
#[derive(Clone, Copy, Debug)]
struct Place {
    register: u32,
    component: u8,
    /// The number of the name, and the component of the variable.
    variable: u32,
    lane: Option<u8>,
    /// The index of the location.
    location: usize,
}

impl SourceVariables {
    /// Reads the debug information of a container; there may be none, and an invalid one has no names.
    pub(super) fn read(container: &Container<'_>) -> Self {
        let Some(part) = container.find(b"SPDB") else { return Self::default() };
        let Ok(info) = DebugInfo::read_spdb(part.data) else { return Self::default() };
        let mut found = Self { info, ..Self::default() };
        let mut numbers: HashMap<LocalName, u32> = HashMap::new();
        let locations = std::mem::take(&mut found.info.locations);
        for (index, location) in locations.iter().enumerate() {
            found.add(&mut numbers, index, location);
        }
        found.info.locations = locations;
        found
    }

    /// Returns the names of the source files.
    pub(super) fn files(&self) -> Vec<String> {
        self.info.files.iter().map(|file| String::from_utf8_lossy(&file.name).into_owned()).collect()
    }

    fn add(&mut self, numbers: &mut HashMap<LocalName, u32>, index: usize, location: &Location) {
        let (name, lane) = component(&location.name);
        let [first] = location.indices[..] else { return };
        if name.is_empty() || name.starts_with('<') || location.fault.is_some() {
            return;
        }
        let is = |kind: OperandKind| location.register_kind == u16::from(kind.0);
        if is(OperandKind::INDEXABLE_TEMP) {
            self.arrays.entry(first).or_insert_with(|| name.to_owned());
        }
        if !is(OperandKind::TEMP) {
            return;
        }
        let name = LocalName { name: name.to_owned(), depth: u32::from(location.scope.is_some()) };
        let next = self.names.len() as u32;
        let variable = *numbers.entry(name.clone()).or_insert(next);
        if variable == next {
            self.names.push(name);
        }
        let place = Place {
            register: first / REGISTER_SIZE,
            component: (first % REGISTER_SIZE / COMPONENT_SIZE) as u8,
            variable,
            lane,
            location: index,
        };
        for start in &location.starts {
            self.places.entry(*start).or_default().push(place);
        }
    }
}

/// Splits the component off the name of a variable: `color.x`.
fn component(name: &str) -> (&str, Option<u8>) {
    let split = name.rsplit_once('.').and_then(|(base, last)| {
        let lane = ["x", "y", "z", "w"].iter().position(|letter| *letter == last)?;
        Some((base, lane as u8))
    });
    split.map_or((name, None), |(base, lane)| (base, Some(lane)))
}

impl Lifter<'_> {
    /// Names the values that registers have after an instruction, by its offset and that of the next one in bytes.
    pub(super) fn name_registers(&mut self, offset: u32, next: u32) {
        let variables = &self.interface.source;
        let (Some(block), Some(places)) = (self.block, variables.places.get(&next)) else { return };
        for place in places {
            let is_valid = variables.info.is_in_scope(&variables.info.locations[place.location], offset);
            if !is_valid || self.function().labels.len() >= MAX_LABELS {
                continue;
            }
            if let Some(register) = self.register(u64::from(place.register), place.component) {
                let value = self.builder.read(block, register);
                let (variable, lane) = (place.variable, place.lane);
                self.function().labels.push(Label { variable, lane, value });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_components() {
        assert_eq!(component("light.color.x"), ("light.color", Some(0)));
        assert_eq!(component("depth"), ("depth", None));
        assert_eq!(component("corners[0].uv.w"), ("corners[0].uv", Some(3)));
    }
}
