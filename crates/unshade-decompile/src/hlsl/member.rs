//! Members of constant and structured buffers: the text of numbers by their offsets.

use super::constant_buffer::{Index, Offset, Step};
use super::declaration;
use super::expression::{LANES, Text, precedence as p};
use super::function::Printer;
use crate::ir::shader::ShaderOp;
use crate::ir::shader::data_type::{DataType, Packing, Scalar, ScalarKind, StructTypes};
use crate::ir::{Op, ValueId};
use crate::shader::kinds::Kind;

/// Numbers in memory.
#[derive(Clone, Copy)]
pub(super) struct Numbers<'n> {
    pub(super) packing: Packing,
    /// Where the first one may be.
    pub(super) base: &'n Offset,
    /// The distance of each from there, in bytes.
    pub(super) bytes: &'n [u32],
    /// The width of each in bits.
    pub(super) width: u8,
}

impl Printer<'_> {
    /// Returns the offset of a row of a constant buffer.
    fn row(&self, load: ValueId) -> Offset {
        let is_row = self.function.op(load) == Op::Shader(ShaderOp::LoadConstant);
        Offset::of(self.function, self.function.input(load, 1), if is_row { 16 } else { 1 })
    }

    /// Returns lanes of a row of a constant buffer.
    pub(super) fn constant_lanes(&mut self, load: ValueId, lanes: &[u8], want: Kind) -> Text {
        let handle = self.function.input(load, 0);
        let width = self.function.width(load);
        let base = self.row(load);
        let bytes: Vec<u32> = lanes.iter().map(|lane| u32::from(*lane) * self.program.bytes(width)).collect();
        let Some(id) = self.resource_of(handle) else {
            return Text::new(self.handle(handle), p::POSTFIX, self.kinds[load]);
        };
        let is_global = self.naming.has_global_members(id);
        let root = if is_global { String::new() } else { self.handle(handle) };
        let element = self.program.resources[id].element.clone();
        let numbers = Numbers { packing: Packing::Constant, base: &base, bytes: &bytes, width };
        if let Some(element) = &element
            && let Some((text, kind)) = self.member_lanes(&root, element, numbers, want)
        {
            return Text::new(text, p::POSTFIX, kind);
        }
        if element.is_none() {
            let root = self.handle(handle);
            let row = self.function.input(load, 1);
            let row = self.index(row);
            let names: String = lanes.iter().map(|lane| LANES[usize::from(*lane & 3)]).collect();
            return Text::new(format!("{root}[{row}].{names}"), p::POSTFIX, ScalarKind::Unsigned);
        }
        self.unknown.push("a member of a constant buffer".into());
        Text::new("0", p::POSTFIX, self.kinds[load])
    }

    /// Returns the double whose halves are two words of a buffer that follow each other.
    pub(super) fn double_member(&mut self, id: ValueId) -> Option<String> {
        let function = self.function;
        let word = |index: usize| {
            let half = function.input(id, index);
            match function.op(half) {
                Op::Lanes(lanes) if lanes.numbers().len() == 1 => {
                    Some((function.input(half, 0), u32::from(lanes.numbers()[0])))
                }
                _ => None,
            }
        };
        let ((load, low), (other, high)) = (word(0)?, word(1)?);
        if load != other || high != low + 1 || function.op(load) != Op::Shader(ShaderOp::LoadConstant) {
            return None;
        }
        let handle = function.input(load, 0);
        let resource = self.resource_of(handle)?;
        let element = self.program.resources[resource].element.clone()?;
        let root = if self.naming.has_global_members(resource) { String::new() } else { self.handle(handle) };
        let base = self.row(load);
        self.member_lanes(
            &root,
            &element,
            Numbers { packing: Packing::Constant, base: &base, bytes: &[4 * low], width: 64 },
            Kind::Any,
        )
        .map(|found| found.0)
    }

    /// Returns the kind that the interface says of a value.
    pub(super) fn declared_kind(&self, id: ValueId) -> Option<ScalarKind> {
        super::declared::declared(self.program, self.info, self.naming, self.function, id)
    }

    /// Returns the text of numbers at some offsets: one member with lanes, or a vector that is put together.
    pub(super) fn member_lanes(
        &mut self,
        root: &str,
        ty: &DataType,
        numbers: Numbers<'_>,
        want: Kind,
    ) -> Option<(String, ScalarKind)> {
        let Numbers { packing, base, bytes, width } = numbers;
        let mut found: Vec<(Vec<Step>, Scalar)> = Vec::new();
        for byte in bytes {
            let (steps, scalar, within) = self.number_at(ty, packing, base, *byte)?;
            if within > 0 || scalar.bytes() != self.program.bytes(width) {
                return if width == 32 { self.words(root, ty, packing, base, bytes) } else { None };
            }
            found.push((steps, scalar));
        }
        let (_, scalar) = found.first()?.clone();
        // Numbers of minimum precision are whole words in memory.
        if width == 32 && scalar.is_minimum {
            let (text, kind) = self.lanes_of(root, ty, found, want)?;
            let wide = self.type_of(kind, width, bytes.len() as u16);
            return Some((format!("{wide}({text})"), kind));
        }
        self.lanes_of(root, ty, found, want)
    }

    /// Returns the text of numbers by the paths to them.
    fn lanes_of(
        &mut self,
        root: &str,
        ty: &DataType,
        found: Vec<(Vec<Step>, Scalar)>,
        want: Kind,
    ) -> Option<(String, ScalarKind)> {
        let (first, scalar) = found.first()?.clone();
        let (last, prefix) =
            first.split_last().map_or((None, &[][..]), |(last, prefix)| (Some(last), prefix));
        let is_together = found.iter().all(|(steps, _)| {
            steps.len() == first.len() && steps.split_last().map_or(&[][..], |(_, prefix)| prefix) == prefix
        });
        // One number.
        if found.len() == 1 {
            let text = self.path_text(root, &first);
            return Some((text, scalar.kind));
        }
        if is_together && last.is_some_and(|step| step.lane().is_some()) {
            let base = self.path_text(root, prefix);
            let is_in_order =
                (0..).zip(&found).all(|(lane, (steps, _))| steps.last().and_then(Step::lane) == Some(lane));
            let lanes = vector_at(&self.program.structs, ty, prefix, self.naming);
            if is_in_order && lanes.is_some_and(|lanes| usize::from(lanes) == found.len()) {
                return Some((base, scalar.kind));
            }
            let names: String = found
                .iter()
                .filter_map(|(steps, _)| match steps.last() {
                    Some(Step::Lane(lane)) => LANES.get(usize::from(*lane)).copied(),
                    _ => None,
                })
                .collect();
            if names.len() == found.len() {
                return Some((self.swizzled(base, ty, prefix, &names), scalar.kind));
            }
        }
        if is_together
            && matches!(last, Some(Step::Entry(..)))
            && scalar.kind != ScalarKind::Bool
            && let Some(text) = self.entries(root, prefix, &found)
        {
            return Some((text, scalar.kind));
        }
        // Numbers of several members.
        let kind = match want {
            Kind::Known(kind) => kind,
            _ => scalar.kind,
        };
        let ty = self.type_of(kind, scalar.bits, found.len() as u16);
        let mut parts = Vec::new();
        for (steps, scalar) in &found {
            let text = Text::new(self.path_text(root, steps), p::POSTFIX, scalar.kind);
            parts.push(self.converted(text, Kind::Known(kind), scalar.bits, 1).text);
        }
        Some((format!("{ty}({})", parts.join(", ")), kind))
    }

    /// Returns lanes of a vector; the vector itself if these are all of its lanes in order.
    pub(super) fn swizzled(&self, base: String, root: &DataType, prefix: &[Step], names: &str) -> String {
        let lanes = vector_at(&self.program.structs, root, prefix, self.naming);
        match lanes {
            Some(lanes) if usize::from(lanes) == names.len() && "xyzw".starts_with(names) => base,
            _ => format!("{base}.{names}"),
        }
    }

    /// Returns entries of one matrix: a row, or a selection.
    fn entries(&mut self, root: &str, prefix: &[Step], found: &[(Vec<Step>, Scalar)]) -> Option<String> {
        let mut pairs = Vec::new();
        for (steps, _) in found {
            let Some(Step::Entry(row, column)) = steps.last() else { return None };
            pairs.push((row.clone(), column.clone()));
        }
        let base = self.path_text(root, prefix);
        let is_constant = pairs.iter().all(|(row, column)| row.terms.is_empty() && column.terms.is_empty());
        // A row of the matrix.
        let (row, _) = pairs[0].clone();
        let columns_are_constant = pairs.iter().all(|(_, column)| column.terms.is_empty());
        if columns_are_constant && pairs.iter().all(|pair| pair.0 == row) {
            let row = self.index_text(&row);
            let names: String =
                pairs.iter().filter_map(|(_, column)| LANES.get(column.constant as usize).copied()).collect();
            return Some(format!("{base}[{row}].{names}"));
        }
        if is_constant {
            let names: String =
                pairs.iter().map(|(row, column)| format!("_m{}{}", row.constant, column.constant)).collect();
            return Some(format!("{base}.{names}"));
        }
        None
    }

    fn index_text(&mut self, index: &Index) -> String {
        self.terms_text(&index.terms, index.constant)
    }

    /// Returns values times numbers, plus a constant.
    fn terms_text(&mut self, terms: &[(ValueId, u32)], constant: u32) -> String {
        let mut parts = Vec::new();
        for &(id, factor) in terms {
            let want = match self.shown_kind(id) {
                Some(ScalarKind::Float) => Kind::Known(ScalarKind::Signed),
                _ => Kind::Integer,
            };
            parts.push(match factor {
                1 => self.value(id, want, if terms.len() > 1 || constant > 0 { p::SUM } else { 0 }),
                factor => format!("{} * {factor}", self.value(id, want, p::PRODUCT)),
            });
        }
        if parts.is_empty() || constant > 0 {
            parts.push((constant as i32).to_string());
        }
        parts.join(" + ")
    }

    /// Returns the text of a path.
    pub(super) fn path_text(&mut self, root: &str, steps: &[Step]) -> String {
        let mut text = root.to_owned();
        for step in steps {
            match step {
                // The members of a base are those of the structure.
                Step::Name(name) if name.is_empty() => {}
                Step::Name(name) if text.is_empty() => text.push_str(name),
                Step::Name(name) => {
                    text.push('.');
                    text.push_str(name);
                }
                Step::Index(terms, constant) => {
                    let index = self.terms_text(terms, *constant);
                    text = format!("{text}[{index}]");
                }
                Step::Entry(row, column) => {
                    let (row, column) = (self.index_text(row), self.index_text(column));
                    text = format!("{text}[{row}][{column}]");
                }
                Step::LongLane(lane) => text = format!("{text}[{lane}]"),
                Step::Lane(lane) => match LANES.get(usize::from(*lane)) {
                    Some(name) => {
                        text.push('.');
                        text.push(*name);
                    }
                    None => text = format!("{text}[{lane}]"),
                },
            }
        }
        text
    }
}

/// Returns the type at a path of members and elements.
pub(super) fn type_at<'t>(
    structs: &'t StructTypes,
    root: &'t DataType,
    steps: &[Step],
    naming: &declaration::Naming,
) -> Option<&'t DataType> {
    let mut ty = root;
    for step in steps {
        ty = match (step, ty) {
            (Step::Index(..), DataType::Array(element, _)) => element,
            (Step::Name(name), DataType::Struct(id)) => {
                let fields = &structs.get(*id)?.fields;
                let index = (0..fields.len()).find(|index| naming.field(*id, *index) == name)?;
                &fields[index].ty
            }
            _ => return None,
        };
    }
    Some(ty)
}

/// Returns the number of lanes of the vector at a path.
pub(super) fn vector_at(
    structs: &StructTypes,
    root: &DataType,
    steps: &[Step],
    naming: &declaration::Naming,
) -> Option<u16> {
    match type_at(structs, root, steps, naming)? {
        DataType::Vector(_, lanes) => Some(*lanes),
        _ => None,
    }
}
