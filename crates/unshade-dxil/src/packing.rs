//! Gives the elements of a signature their registers, as DXC does by default.
//!
//! | signature | places |
//! |---|---|
//! | input of a vertex shader | each element has registers of its own, in order |
//! | output of a pixel shader | a target has the register of its index; depth, coverage and the like have none |
//! | others | the first register with room, in order, so that the places of a prefix of elements do not depend on the rest |
//!
//! What shares a register has one interpolation mode and one width, and values that the system generates are to the
//! right of the others. Tessellation factors and arrays take a column of several registers. Distances to clip and cull
//! planes share one or two registers that hold nothing else.
//!
//! Knowledge: DirectXShaderCompiler's documentation of signature packing; the signatures of the modules that DXC
//! writes.

use crate::refused;
use crate::signature::{Interpretation, MAX_ROWS, Placed, Point};
use alloc::vec::Vec;
use unshade_core::Result;
use unshade_dxcontainer::dxil::ComponentType;
use unshade_dxcontainer::psv0::Interpolation;

/// Number of components of a register.
const COLUMNS: u8 = 4;
/// Number of registers for clip and cull distances.
const CLIP_CULL_ROWS: usize = 2;

/// Gives all elements their places.
pub(crate) fn pack(elements: &mut [Placed], point: Point, native_16_bit: bool) -> Result<()> {
    match point {
        Point::VertexInput => pack_in_order(elements),
        Point::PixelOutput => pack_targets(elements),
        Point::GeometryOutput => {
            for stream in 0..4 {
                pack_registers(elements, native_16_bit, |placed| placed.element.stream == stream)?;
            }
            Ok(())
        }
        _ => pack_registers(elements, native_16_bit, |_| true),
    }
}

fn pack_in_order(elements: &mut [Placed]) -> Result<()> {
    let mut row = 0u32;
    for placed in elements {
        placed.start = Some((row, 0));
        row += placed.element.rows;
    }
    if row > MAX_ROWS { full() } else { Ok(()) }
}

fn pack_targets(elements: &mut [Placed]) -> Result<()> {
    let mut taken = 0u32;
    for placed in elements.iter_mut().filter(|placed| placed.interpretation == Interpretation::Target) {
        for row in placed.element.index..placed.element.index.saturating_add(placed.element.rows) {
            if row >= 8 || taken >> row & 1 == 1 {
                return refused("a render target is used twice, or there is no such target");
            }
            taken |= 1 << row;
        }
        placed.start = Some((placed.element.index, 0));
    }
    Ok(())
}

fn full<T>() -> Result<T> {
    refused("the elements of a signature do not fit into its registers")
}

/// Kinds of elements that matter for what is beside them in a register, as bits.
mod bit {
    pub(super) const OCCUPIED: u8 = 1;
    pub(super) const ARBITRARY: u8 = 1 << 1;
    pub(super) const GENERATED: u8 = 1 << 2;
    pub(super) const SYSTEM: u8 = 1 << 3;
    pub(super) const FACTOR: u8 = 1 << 4;
    pub(super) const CLIP_CULL: u8 = 1 << 5;
    /// What is not in registers that are indexed at run time.
    pub(super) const NOT_INDEXED: u8 = GENERATED | SYSTEM;
}

fn bit_of(interpretation: Interpretation) -> u8 {
    match interpretation {
        Interpretation::SystemValue => bit::SYSTEM,
        Interpretation::Generated => bit::GENERATED,
        Interpretation::ClipCull => bit::CLIP_CULL,
        Interpretation::TessellationFactor => bit::FACTOR,
        _ => bit::ARBITRARY,
    }
}

/// How a register is tied to its neighbours by an array.
mod tie {
    pub(super) const UP: u8 = 1;
    pub(super) const DOWN: u8 = 2;
}

/// What an element needs of registers.
#[derive(Clone, Copy)]
struct Shape {
    kind: u8,
    rows: usize,
    columns: u8,
    interpolation: Interpolation,
    width: u8,
}

impl Shape {
    fn of(placed: &Placed, native_16_bit: bool) -> Self {
        let is_small =
            matches!(placed.element.component, ComponentType::I16 | ComponentType::U16 | ComponentType::F16);
        Self {
            kind: bit_of(placed.interpretation),
            rows: placed.element.rows as usize,
            columns: placed.element.columns,
            interpolation: placed.interpolation,
            width: if is_small && native_16_bit { 16 } else { 32 },
        }
    }

    fn ties(&self, row: usize) -> u8 {
        let up = if row > 0 { tie::UP } else { 0 };
        up | if row + 1 < self.rows { tie::DOWN } else { 0 }
    }
}

/// A register while elements are placed.
#[derive(Clone, Copy, Default)]
struct Register {
    /// What is in a component; if nothing is, what can't be.
    components: [u8; COLUMNS as usize],
    ties: u8,
    are_ties_fixed: bool,
    interpolation: Option<Interpolation>,
    width: Option<u8>,
}

impl Register {
    fn takes(&self, shape: &Shape, ties: u8) -> bool {
        let is_indexed = self.ties != 0 && shape.kind & bit::NOT_INDEXED != 0;
        let is_fixed = self.are_ties_fixed && ties | self.ties != self.ties;
        let splits_factor = shape.kind & bit::FACTOR != 0 && ties | self.ties != ties;
        let is_other = self.interpolation.is_some_and(|known| known != shape.interpolation)
            || self.width.is_some_and(|known| known != shape.width);
        !(is_indexed || is_fixed || splits_factor || is_other)
    }

    fn has_room(&self, shape: &Shape, column: u8) -> bool {
        let components = self.components.iter().skip(column.into()).take(shape.columns.into());
        components.clone().count() == usize::from(shape.columns)
            && components.clone().all(|&found| found & (bit::OCCUPIED | shape.kind) == 0)
    }

    fn place(&mut self, shape: &Shape, column: u8, ties: u8) {
        self.interpolation = Some(shape.interpolation);
        self.width = Some(shape.width);
        self.ties |= ties;
        self.are_ties_fixed |= shape.kind & (bit::NOT_INDEXED | bit::FACTOR) != 0;
        let is_generated = shape.kind & bit::GENERATED != 0;
        let others = bit::ARBITRARY | bit::SYSTEM | bit::FACTOR | bit::CLIP_CULL;
        for (at, component) in (0u8..).zip(&mut self.components) {
            if *component & bit::OCCUPIED != 0 {
                continue;
            }
            match at {
                _ if at < column && !is_generated => *component |= bit::GENERATED,
                _ if at >= column && at < column + shape.columns => *component = bit::OCCUPIED | shape.kind,
                _ if at > column && is_generated => *component |= others,
                _ if at > column && shape.kind & bit::FACTOR != 0 => *component |= bit::ARBITRARY,
                _ => {}
            }
        }
    }
}

/// Finds the first place for an element and takes it.
fn place(registers: &mut [Register], shape: &Shape) -> Option<(u32, u8)> {
    let rows = 0..=registers.len().checked_sub(shape.rows)?;
    // Factors of several edges are in the last column.
    let first = if shape.kind & bit::FACTOR != 0 && shape.rows > 1 { COLUMNS - shape.columns } else { 0 };
    let columns = first..=COLUMNS - shape.columns;
    for (row, column) in rows.flat_map(|row| columns.clone().map(move |column| (row, column))) {
        let place = registers.get_mut(row..row + shape.rows)?;
        let fits = |(at, register): (usize, &Register)| {
            register.takes(shape, shape.ties(at)) && register.has_room(shape, column)
        };
        if place.iter().enumerate().all(fits) {
            for (at, register) in place.iter_mut().enumerate() {
                register.place(shape, column, shape.ties(at));
            }
            return Some((u32::try_from(row).ok()?, column));
        }
    }
    None
}

fn pack_registers(
    elements: &mut [Placed],
    native_16_bit: bool,
    is_meant: impl Fn(&Placed) -> bool,
) -> Result<()> {
    let mut registers = [Register::default(); MAX_ROWS as usize];
    let mut distances = [Register::default(); CLIP_CULL_ROWS];
    // Rows of the registers for distances.
    let mut rows: Vec<u32> = Vec::new();
    for placed in elements.iter_mut().filter(|placed| is_meant(placed)) {
        let shape = Shape::of(placed, native_16_bit);
        placed.start = match placed.interpretation {
            Interpretation::NotPacked => continue,
            Interpretation::ClipCull => {
                let Some((row, column)) = place(&mut distances, &shape) else { return full() };
                while rows.len() < row as usize + shape.rows {
                    let whole = Shape { rows: 1, columns: COLUMNS, ..shape };
                    let Some((row, _)) = place(&mut registers, &whole) else { return full() };
                    rows.push(row);
                }
                rows.get(row as usize).map(|&row| (row, column))
            }
            _ => place(&mut registers, &shape),
        };
        if placed.start.is_none() {
            return full();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signature::Element;

    fn packed(point: Point, elements: &[Element]) -> Vec<Option<(u32, u8)>> {
        let placed = |element: &Element| Placed::new(element.clone(), point).unwrap();
        let mut elements: Vec<Placed> = elements.iter().map(placed).collect();
        pack(&mut elements, point, false).unwrap();
        elements.iter().map(|placed| placed.start).collect()
    }

    #[test]
    fn elements_share_registers_of_one_mode() {
        let float = |name, columns| Element::new(name, 0, ComponentType::F32, columns);
        let elements = [
            float("A", 3),
            float("B", 2),
            float("C", 1),
            Element::new("D", 0, ComponentType::U32, 1),
            float("SV_ClipDistance", 2),
            float("SV_CullDistance", 2),
            float("E", 2),
        ];
        let places = packed(Point::VertexOutput, &elements);
        assert_eq!(places, [(0, 0), (1, 0), (0, 3), (2, 0), (3, 0), (3, 2), (1, 2)].map(Some),);
        let inputs = [float("A", 3), float("B", 1).rows(2), float("C", 1)];
        assert_eq!(packed(Point::VertexInput, &inputs), [(0, 0), (1, 0), (3, 0)].map(Some));
        let targets = [float("SV_Depth", 1), Element::new("SV_Target", 2, ComponentType::F32, 4)];
        assert_eq!(packed(Point::PixelOutput, &targets), [None, Some((2, 0))]);
    }

    #[test]
    fn too_many_elements_are_refused() {
        let element =
            |index| Placed::new(Element::new("A", index, ComponentType::F32, 4), Point::PixelInput).unwrap();
        let mut elements: Vec<Placed> = (0..33).map(element).collect();
        assert!(pack(&mut elements, Point::PixelInput, false).is_err());
    }
}
