//! Operations of resources: loads, stores, samples, atomics.

use super::constant_buffer::{self, Index, Offset, Step};
use super::declaration;
use super::expression::{LANES, Text, precedence as p};
use super::function::Printer;
use super::spelling;
use crate::ir::shader::data_type::{DataType, Packing, Scalar, ScalarKind};
use crate::ir::shader::interface::{Resource, ResourceClass, Shape};
use crate::ir::shader::{AtomicOp, ShaderOp};
use crate::ir::{Op, ResourceId, ValueId};
use crate::shader::kinds::Kind;
use crate::shader::signs;

/// Methods that sample: operation, name, number of inputs between offset and clamp, whether a clamp is last.
const SAMPLES: &[(ShaderOp, &str, usize, bool)] = &[
    (ShaderOp::Sample, "Sample", 0, true),
    (ShaderOp::SampleBias, "SampleBias", 1, true),
    (ShaderOp::SampleLevel, "SampleLevel", 1, false),
    (ShaderOp::SampleGradient, "SampleGrad", 2, true),
    (ShaderOp::SampleCompare, "SampleCmp", 1, true),
    (ShaderOp::SampleCompareLevelZero, "SampleCmpLevelZero", 1, false),
    (ShaderOp::SampleCompareLevel, "SampleCmpLevel", 2, false),
    (ShaderOp::SampleCompareBias, "SampleCmpBias", 2, true),
    (ShaderOp::SampleCompareGradient, "SampleCmpGrad", 3, true),
    (ShaderOp::GatherRaw, "GatherRaw", 0, false),
];

/// Where the name of a method goes in the target of an atomic operation: no text has this.
const METHOD: char = '\u{1}';

/// The names of channels in gathers.
const CHANNELS: [&str; 4] = ["Red", "Green", "Blue", "Alpha"];

/// Numbers in memory.
#[derive(Clone, Copy)]
struct Numbers<'n> {
    packing: Packing,
    /// Where the first one may be.
    base: &'n Offset,
    /// The distance of each from there, in bytes.
    bytes: &'n [u32],
    /// The width of each in bits.
    width: u8,
}

impl Printer<'_> {
    /// Returns the number of the resource of a handle.
    pub(super) fn resource_of(&self, handle: ValueId) -> Option<ResourceId> {
        let is_handle = self.function.op(handle) == Op::Shader(ShaderOp::Handle);
        let number = self.function.number(self.function.input(handle, 0)).filter(|_| is_handle)?;
        let id = ResourceId::new(u32::try_from(number).ok()?);
        self.program.resources.get(id).map(|_| id)
    }

    /// Returns the resource of a handle.
    pub(super) fn found(&self, handle: ValueId) -> Option<&Resource> {
        self.program.resources.get(self.resource_of(handle)?)
    }

    /// Returns the text of a handle: a name, perhaps with an index.
    pub(super) fn handle(&mut self, handle: ValueId) -> String {
        let Some(id) = self.resource_of(handle) else {
            self.unknown.push("a resource that is chosen while the shader runs".into());
            return "resource".into();
        };
        let resource = &self.program.resources[id];
        let index = self.function.input(handle, 1);
        match resource.binding {
            Some(binding) if binding.count == Some(1) => self.naming.resource(id).to_owned(),
            Some(_) => {
                let index = self.value(index, Kind::Integer, 0);
                format!("{}[{index}]", self.naming.resource(id))
            }
            None => {
                let index = self.value(index, Kind::Integer, 0);
                let heap = if resource.class == ResourceClass::Sampler { "Sampler" } else { "Resource" };
                let ty = match (declaration::object(self.naming, resource), &resource.element) {
                    (Some(ty), _) => ty,
                    (None, Some(element)) => format!("ConstantBuffer<{}>", self.naming.type_name(element)),
                    (None, None) => "ConstantBuffer".into(),
                };
                self.heap_object(&format!("{ty}|{heap}DescriptorHeap[{index}]"))
            }
        }
    }

    /// Returns the name of a local object of the descriptor heap, which is declared before its first use.
    fn heap_object(&mut self, key: &str) -> String {
        let (ty, heap) = key.split_once('|').unwrap_or(("", key));
        if let Some(name) = self.heap_objects.get(key) {
            return name.clone();
        }
        let name = self.names.take("heap");
        self.pending.push(format!("{ty} {name} = {heap};"));
        // An index that is a variable may change.
        if heap.chars().filter(char::is_ascii_digit).count() > 0 && !heap.contains('(') {
            self.heap_objects.insert(key.to_owned(), name.clone());
        }
        name
    }

    /// Returns the value of an operation of a resource.
    pub(super) fn resource_value(&mut self, id: ValueId, op: ShaderOp) -> Option<Text> {
        let function = self.function;
        let inputs: Vec<ValueId> =
            (0..function.inputs(id).len()).map(|index| function.input(id, index)).collect();
        let kind = self.declared_kind(id).unwrap_or(self.kinds[id]);
        if let Some(&(_, name, extra, has_clamp)) = SAMPLES.iter().find(|row| row.0 == op) {
            return Some(self.sample(id, name, &inputs, extra, has_clamp, kind));
        }
        Some(match op {
            ShaderOp::Handle => Text::new(self.handle(id), p::POSTFIX, kind),
            ShaderOp::Gather | ShaderOp::GatherCompare => self.gather(id, op, &inputs, kind),
            ShaderOp::LoadConstant => {
                let lanes: Vec<u8> = (0..function.lanes(id).min(8)).map(|lane| lane as u8).collect();
                self.constant_lanes(id, &lanes, Kind::Known(kind))
            }
            ShaderOp::LoadConstantAt => self.constant_lanes(id, &[0], Kind::Known(kind)),
            ShaderOp::LoadBuffer => {
                let (object, index) = (self.handle(inputs[0]), self.index(inputs[1]));
                match self.status(id) {
                    Some(status) => Text::new(format!("{object}.Load({index}, {status})"), p::POSTFIX, kind),
                    None => Text::new(format!("{object}[{index}]"), p::POSTFIX, kind),
                }
            }
            ShaderOp::LoadRaw => self.load_raw(id, &inputs),
            ShaderOp::LoadStructured => self.load_structured(id, &inputs),
            ShaderOp::LoadTexture => self.load_texture(id, &inputs, kind),
            ShaderOp::CalculateLevel => {
                let object = self.handle(inputs[0]);
                let sampler = self.handle(inputs[1]);
                let place = self.value(inputs[2], Kind::Known(ScalarKind::Float), 0);
                let is_clamped = function.number(inputs[3]) != Some(0);
                let name =
                    if is_clamped { "CalculateLevelOfDetail" } else { "CalculateLevelOfDetailUnclamped" };
                Text::new(format!("{object}.{name}({sampler}, {place})"), p::POSTFIX, ScalarKind::Float)
            }
            ShaderOp::SamplePosition => {
                let (object, sample) = (self.handle(inputs[0]), self.index(inputs[1]));
                Text::new(format!("{object}.GetSamplePosition({sample})"), p::POSTFIX, ScalarKind::Float)
            }
            ShaderOp::UpdateCounter => {
                let object = self.handle(inputs[0]);
                let step = function.number(inputs[1]).unwrap_or(1);
                let name = if step & 0x80 == 0 { "IncrementCounter" } else { "DecrementCounter" };
                Text::new(format!("{object}.{name}()"), p::POSTFIX, ScalarKind::Unsigned)
            }
            _ => return None,
        })
    }

    /// Returns an index or coordinates.
    fn index(&mut self, id: ValueId) -> String {
        let want = match self.shown_kind(id) {
            Some(ScalarKind::Float) => Kind::Known(ScalarKind::Unsigned),
            _ => Kind::Integer,
        };
        self.value(id, want, 0)
    }

    /// Returns the coordinates of a texel: as many as the resource has, also if all are the same.
    fn coordinates(&mut self, handle: ValueId, id: ValueId) -> String {
        let count = self.found(handle).map_or(1, |resource| resource.shape.coordinates());
        if self.function.lanes(id) > 1 || count < 2 {
            return self.index(id);
        }
        let text = self.value(id, Kind::Known(ScalarKind::Unsigned), p::UNARY);
        format!("(uint{count}){text}")
    }

    /// Returns the variable that takes the status of an access, if that is used.
    fn status(&mut self, id: ValueId) -> Option<String> {
        self.status_of.get(&id).cloned()
    }

    /// Returns an optional vector of offsets, unless all of them are zero.
    fn offset(&mut self, id: ValueId) -> Option<String> {
        let function = self.function;
        let is_zero = match function.op(id) {
            Op::Undefined => true,
            Op::Vector => {
                function.inputs(id).iter().all(|part| function.number(function.resolve(*part)) == Some(0))
            }
            _ => function.number(id) == Some(0),
        };
        (!is_zero).then(|| self.value(id, Kind::Known(ScalarKind::Signed), 0))
    }

    /// Returns optional arguments after the required ones: offset, clamp, status.
    fn optional(
        &mut self,
        arguments: &mut Vec<String>,
        handle: ValueId,
        offset: ValueId,
        clamp: Option<ValueId>,
        id: ValueId,
    ) {
        let dimensions = self.found(handle).map_or(0, |resource| resource.shape.dimensions());
        let is_cube = self
            .found(handle)
            .is_some_and(|resource| matches!(resource.shape, Shape::TextureCube | Shape::TextureCubeArray));
        let offset = self.offset(offset);
        let clamp = clamp.filter(|clamp| self.function.op(*clamp) != Op::Undefined);
        let status = self.status(id);
        let has_more = clamp.is_some() || status.is_some();
        match offset {
            Some(offset) => arguments.push(offset),
            None if has_more && !is_cube => {
                arguments.push(if dimensions == 1 { "0".into() } else { format!("(int{dimensions})0") });
            }
            None => {}
        }
        match clamp {
            Some(clamp) => arguments.push(self.value(clamp, Kind::Known(ScalarKind::Float), 0)),
            None if status.is_some() && self.has_clamp(id) => arguments.push("0.0".into()),
            None => {}
        }
        arguments.extend(status);
    }

    fn has_clamp(&self, id: ValueId) -> bool {
        let op = self.function.op(id);
        SAMPLES.iter().any(|row| Op::Shader(row.0) == op && row.3)
    }

    fn sample(
        &mut self,
        id: ValueId,
        name: &str,
        inputs: &[ValueId],
        extra: usize,
        has_clamp: bool,
        kind: ScalarKind,
    ) -> Text {
        let (object, sampler) = (self.handle(inputs[0]), self.handle(inputs[1]));
        let float = Kind::Known(ScalarKind::Float);
        let mut arguments = vec![sampler, self.value(inputs[2], float, 0)];
        for input in &inputs[4..4 + extra] {
            arguments.push(self.value(*input, float, 0));
        }
        let clamp = has_clamp.then(|| inputs[4 + extra]);
        self.optional(&mut arguments, inputs[0], inputs[3], clamp, id);
        let kind = if name == "GatherRaw" { ScalarKind::Unsigned } else { kind };
        Text::new(format!("{object}.{name}({})", arguments.join(", ")), p::POSTFIX, kind)
    }

    fn gather(&mut self, id: ValueId, op: ShaderOp, inputs: &[ValueId], kind: ScalarKind) -> Text {
        let (object, sampler) = (self.handle(inputs[0]), self.handle(inputs[1]));
        let float = Kind::Known(ScalarKind::Float);
        let channel = self.function.number(inputs[4]).unwrap_or(0) as usize;
        let mut arguments = vec![sampler, self.value(inputs[2], float, 0)];
        let compares = op == ShaderOp::GatherCompare;
        if compares {
            arguments.push(self.value(inputs[5], float, 0));
        }
        self.optional(&mut arguments, inputs[0], inputs[3], None, id);
        let compare = if compares { "Cmp" } else { "" };
        let channel = CHANNELS[channel.min(3)];
        // Shader model 4.1 has a single form.
        let name = match (self.program.model, channel) {
            ((4, _), _) | (_, "Red") => format!("Gather{compare}"),
            _ => format!("Gather{compare}{channel}"),
        };
        Text::new(format!("{object}.{name}({})", arguments.join(", ")), p::POSTFIX, kind)
    }

    fn load_texture(&mut self, id: ValueId, inputs: &[ValueId], kind: ScalarKind) -> Text {
        let object = self.handle(inputs[0]);
        let Some((is_written, is_multisampled, dimension)) = self.found(inputs[0]).map(|resource| {
            let is_written = resource.class == ResourceClass::UnorderedAccess;
            (is_written, resource.shape.is_multisampled(), resource.shape.coordinates())
        }) else {
            return Text::new(object, p::POSTFIX, kind);
        };
        let place = self.coordinates(inputs[0], inputs[1]);
        let status = self.status(id);
        let is_absent = self.function.op(inputs[2]) == Op::Undefined;
        if is_written && status.is_none() && (is_absent || !is_multisampled) {
            return Text::new(format!("{object}[{place}]"), p::POSTFIX, kind);
        }
        let level = if is_absent { "0".into() } else { self.index(inputs[2]) };
        let mut arguments = Vec::new();
        if is_multisampled {
            arguments.extend([place, level]);
        } else if is_written {
            arguments.push(place);
        } else {
            arguments.push(format!("int{}({place}, {level})", dimension + 1));
        }
        let offset = self.offset(inputs[3]);
        let dimensions = self.found(inputs[0]).map_or(2, |resource| resource.shape.dimensions());
        match offset {
            Some(offset) => arguments.push(offset),
            None if status.is_some() && !is_written => {
                arguments.push(if dimensions == 1 { "0".into() } else { format!("(int{dimensions})0") });
            }
            None => {}
        }
        arguments.extend(status);
        Text::new(format!("{object}.Load({})", arguments.join(", ")), p::POSTFIX, kind)
    }

    /// Returns a load from a byte address buffer.
    fn load_raw(&mut self, id: ValueId, inputs: &[ValueId]) -> Text {
        let (object, offset) = (self.handle(inputs[0]), self.index(inputs[1]));
        let (width, lanes) = (self.function.width(id), self.function.lanes(id));
        let status = self.status(id).map_or_else(String::new, |status| format!(", {status}"));
        if width == 32 && lanes <= 4 {
            let count = if lanes == 1 { String::new() } else { lanes.to_string() };
            return Text::new(
                format!("{object}.Load{count}({offset}{status})"),
                p::POSTFIX,
                ScalarKind::Unsigned,
            );
        }
        let kind = self.kinds[id];
        let ty = declaration::template(&self.type_of(kind, width, lanes));
        Text::new(format!("{object}.Load{ty}({offset}{status})"), p::POSTFIX, kind)
    }

    /// Returns the text of an element of a structured buffer; the status of its access goes to a variable.
    fn element_text(&mut self, handle: ValueId, index: ValueId, status: Option<String>) -> String {
        if let Some(name) = self.element_name(index) {
            return name;
        }
        let object = self.handle(handle);
        let index = self.index(index);
        match status {
            Some(status) => format!("{object}.Load({index}, {status})"),
            None => format!("{object}[{index}]"),
        }
    }

    /// Returns the text and type of lanes at an offset of an element, by the text of that.
    fn element_lanes(
        &mut self,
        root: &str,
        handle: ValueId,
        offset: ValueId,
        lanes: u16,
        width: u8,
    ) -> Option<(String, ScalarKind)> {
        let element = self.found(handle)?.element.clone()?;
        let base = match self.function.op(offset) {
            Op::Undefined => Offset::default(),
            _ => Offset::of(self.function, offset, 1),
        };
        let bytes: Vec<u32> = (0..u32::from(lanes)).map(|lane| lane * self.program.bytes(width)).collect();
        let numbers = Numbers { packing: Packing::Structured, base: &base, bytes: &bytes, width };
        self.member_lanes(root, &element, numbers, Kind::Any)
    }

    /// Returns the text of a matrix in an element.
    fn whole_member(&mut self, root: &str, inputs: &[ValueId]) -> Option<String> {
        let element = self.found(inputs[0])?.element.clone()?;
        let base = match self.function.op(inputs[2]) {
            Op::Undefined => Offset::default(),
            _ => Offset::of(self.function, inputs[2], 1),
        };
        let structs = &self.program.structs;
        let (steps, _) = constant_buffer::path(self.naming, structs, &element, Packing::Structured, &base)?;
        let (_, outer) = steps.split_last()?;
        Some(self.path_text(root, outer))
    }

    fn load_structured(&mut self, id: ValueId, inputs: &[ValueId]) -> Text {
        let (lanes, width) = (self.function.lanes(id), self.function.width(id));
        let status = self.status(id);
        let root = self.element_text(inputs[0], inputs[1], status);
        if self.matrices.contains_key(&id)
            && let Some(text) = self.whole_member(&root, inputs)
        {
            return Text::new(text, p::POSTFIX, self.kinds[id]);
        }
        match self.element_lanes(&root, inputs[0], inputs[2], lanes, width) {
            Some((text, kind)) => Text::new(text, p::POSTFIX, kind),
            None => {
                self.unknown.push("a member of a structured buffer".into());
                Text::new("0", p::POSTFIX, self.kinds[id])
            }
        }
    }

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
        super::function::declared(self.program, self.info, self.naming, self.function, id)
    }

    /// Returns the text of numbers at some offsets: one member with lanes, or a vector that is put together.
    fn member_lanes(
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
    fn swizzled(&self, base: String, root: &DataType, prefix: &[Step], names: &str) -> String {
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

    /// Prints an operation of a resource that is a statement. Returns whether it is one.
    pub(super) fn resource_statement(&mut self, id: ValueId, op: ShaderOp) -> bool {
        let function = self.function;
        let inputs: Vec<ValueId> =
            (0..function.inputs(id).len()).map(|index| function.input(id, index)).collect();
        match op {
            ShaderOp::StoreBuffer | ShaderOp::StoreTexture => {
                let (object, place) = (self.handle(inputs[0]), self.coordinates(inputs[0], inputs[1]));
                let element = self.found(inputs[0]).and_then(|resource| resource.element.clone());
                let scalar = element.as_ref().and_then(DataType::scalar);
                let lanes = match element {
                    Some(DataType::Vector(_, lanes)) => lanes,
                    Some(DataType::Scalar(_)) => 1,
                    _ => 4,
                };
                let want = scalar.map_or(Kind::Any, |scalar| Kind::Known(scalar.kind));
                let value = self.cut(inputs[2], lanes, want);
                let sample = inputs.get(3).filter(|sample| function.op(**sample) != Op::Undefined);
                let target = match sample {
                    Some(sample) => format!("{object}.sample[{}][{place}]", self.index(*sample)),
                    None => format!("{object}[{place}]"),
                };
                self.line(&format!("{target} = {value};"));
            }
            ShaderOp::StoreRaw => {
                let (object, offset) = (self.handle(inputs[0]), self.index(inputs[1]));
                let (width, lanes) = (function.width(inputs[2]), function.lanes(inputs[2]));
                if width == 32 && lanes <= 4 {
                    let value = self.value(inputs[2], Kind::Known(ScalarKind::Unsigned), 0);
                    let count = if lanes == 1 { String::new() } else { lanes.to_string() };
                    self.line(&format!("{object}.Store{count}({offset}, {value});"));
                } else {
                    let value = self.value(inputs[2], Kind::Any, 0);
                    let ty = declaration::template(&self.type_of(self.kinds[inputs[2]], width, lanes));
                    self.line(&format!("{object}.Store{ty}({offset}, {value});"));
                }
            }
            ShaderOp::UpdateCounter => return self.element_statement(id),
            ShaderOp::StoreStructured => {
                self.store_structured(id, &inputs);
                self.after_store(inputs[0], inputs[1]);
            }
            ShaderOp::AtomicResource(op) => {
                let target = self.atomic_target(inputs[0], inputs[1], inputs[2]);
                self.atomic(id, spelling::atomic(op), &target, &inputs[2..], Some(op));
            }
            ShaderOp::CompareExchangeResource => {
                let target = self.atomic_target(inputs[0], inputs[1], inputs[2]);
                self.compare_exchange(id, &target, &inputs[2..]);
            }
            ShaderOp::AtomicVariable(op) => {
                let target = self.place(inputs[0]);
                self.atomic(id, spelling::atomic(op), &target, &inputs[1..], Some(op));
            }
            ShaderOp::CompareExchangeVariable => {
                let target = self.place(inputs[0]);
                self.compare_exchange(id, &target, &inputs[1..]);
            }
            ShaderOp::Dimensions => self.dimensions(id, &inputs),
            ShaderOp::WriteFeedback
            | ShaderOp::WriteFeedbackBias
            | ShaderOp::WriteFeedbackLevel
            | ShaderOp::WriteFeedbackGradient => {
                let name = match op {
                    ShaderOp::WriteFeedback => "WriteSamplerFeedback",
                    ShaderOp::WriteFeedbackBias => "WriteSamplerFeedbackBias",
                    ShaderOp::WriteFeedbackLevel => "WriteSamplerFeedbackLevel",
                    _ => "WriteSamplerFeedbackGrad",
                };
                let object = self.handle(inputs[0]);
                let mut arguments = vec![self.handle(inputs[1]), self.handle(inputs[2])];
                for input in inputs[3..].iter().filter(|input| function.op(**input) != Op::Undefined) {
                    arguments.push(self.value(*input, Kind::Known(ScalarKind::Float), 0));
                }
                self.line(&format!("{object}.{name}({});", arguments.join(", ")));
            }
            _ => return false,
        }
        true
    }

    /// Returns the first lanes of a value.
    pub(super) fn cut(&mut self, id: ValueId, lanes: u16, want: Kind) -> String {
        if self.function.lanes(id) <= lanes {
            return self.exact(id, want);
        }
        if self.function.op(id) == Op::Vector {
            let mut parts = Vec::new();
            let mut count = 0;
            for index in 0..self.function.inputs(id).len() {
                let part = self.function.input(id, index);
                if count < lanes {
                    parts.push(self.value(part, want, 0));
                }
                count += self.function.lanes(part);
            }
            if lanes == 1 && self.function.lanes(self.function.input(id, 0)) == 1 {
                return parts.swap_remove(0);
            }
        }
        let names: String = LANES[..usize::from(lanes.min(4))].iter().collect();
        format!("{}.{names}", self.value(id, want, p::POSTFIX))
    }

    /// Stores numbers to members of an element: one statement for each member.
    fn store_structured(&mut self, id: ValueId, inputs: &[ValueId]) {
        if self.is_appended_whole(inputs[1]) {
            let object = self.handle(inputs[0]);
            let element = self.found(inputs[0]).and_then(|resource| resource.element.as_ref()?.scalar());
            let value = self.exact(inputs[3], element.map_or(Kind::Any, |scalar| Kind::Known(scalar.kind)));
            self.line(&format!("{object}.Append({value});"));
            return;
        }
        let root = self.element_text(inputs[0], inputs[1], None);
        if let Some(matrix) = self.matrix_input(id, 3)
            && let Some(target) = self.whole_member(&root, inputs)
        {
            self.line(&format!("{target} = {matrix};"));
            return;
        }
        let Some(element) = self.found(inputs[0]).and_then(|resource| resource.element.clone()) else {
            self.unknown.push("a member of a structured buffer".into());
            return;
        };
        let base = match self.function.op(inputs[2]) {
            Op::Undefined => Offset::default(),
            _ => Offset::of(self.function, inputs[2], 1),
        };
        let value = inputs[3];
        let (width, lanes) = (self.function.width(value), self.function.lanes(value));
        if width == 32 && self.store_words(&root, &element, &base, value) {
            return;
        }
        let mut groups: Vec<(Vec<Step>, Scalar, Vec<u16>)> = Vec::new();
        for lane in 0..lanes {
            let constant = base.constant.wrapping_add(u32::from(lane) * self.program.bytes(width));
            let offset = Offset { constant, terms: base.terms.clone() };
            let found = constant_buffer::path(
                self.naming,
                &self.program.structs,
                &element,
                Packing::Structured,
                &offset,
            );
            let found = found.filter(|(_, scalar)| scalar.bytes() == self.program.bytes(width));
            let Some((steps, scalar)) = found else {
                self.unknown.push("a member of a structured buffer".into());
                return;
            };
            let prefix = steps.split_last().map(|(_, prefix)| prefix.to_vec());
            match groups.last_mut() {
                Some((known, _, group))
                    if known.split_last().map(|(_, prefix)| prefix.to_vec()) == prefix
                        && steps.last().is_some_and(|step| step.lane().is_some()) =>
                {
                    group.push(lane);
                }
                _ => groups.push((steps, scalar, vec![lane])),
            }
        }
        for (steps, scalar, group) in groups {
            let want = Kind::Known(scalar.kind);
            let target = match (steps.last(), group.len()) {
                (Some(Step::Lane(0) | Step::LongLane(0)), count)
                    if self.has_lanes(&element, &steps[..steps.len() - 1], count) =>
                {
                    self.path_text(&root, &steps[..steps.len() - 1])
                }
                (Some(Step::Lane(first)), count) if usize::from(*first) + count <= 4 => {
                    let prefix = &steps[..steps.len() - 1];
                    let names: String = LANES.iter().skip(usize::from(*first)).take(count).collect();
                    let text = self.path_text(&root, prefix);
                    self.swizzled(text, &element, prefix, &names)
                }
                _ => self.path_text(&root, &steps),
            };
            let text = if group.len() == usize::from(lanes) {
                self.exact(value, want)
            } else {
                self.part(value, group[0], group.len(), want)
            };
            self.line(&format!("{target} = {text};"));
        }
    }

    /// Returns some lanes of a value that follow each other.
    pub(super) fn part(&mut self, value: ValueId, first: u16, count: usize, want: Kind) -> String {
        let function = self.function;
        if function.lanes(value) == 1 {
            return self.value(value, want, 0);
        }
        // Parts of a vector that is put together, if they end where parts do.
        if function.op(value) == Op::Vector {
            let (mut at, mut parts, mut lanes) = (0, Vec::new(), 0);
            for index in 0..function.inputs(value).len() {
                let part = function.input(value, index);
                if at >= first && usize::from(at - first) < count {
                    parts.push(part);
                    lanes += usize::from(function.lanes(part));
                }
                at += function.lanes(part);
            }
            if lanes == count {
                if let [one] = parts[..] {
                    return self.value(one, want, 0);
                }
                let kind = match want {
                    Kind::Known(kind) => kind,
                    _ => self.kinds[value],
                };
                let texts: Vec<String> = parts.into_iter().map(|part| self.value(part, want, 0)).collect();
                let ty = self.type_of(kind, function.width(value), count as u16);
                return format!("{ty}({})", texts.join(", "));
            }
        }
        let names: String = LANES.iter().skip(usize::from(first)).take(count).collect();
        format!("{}.{names}", self.value(value, want, p::POSTFIX))
    }

    /// Returns the target of an atomic operation, and its type; for a byte address buffer the method's object and offset.
    fn atomic_target(
        &mut self,
        handle: ValueId,
        coordinates: ValueId,
        value: ValueId,
    ) -> (String, Option<Scalar>) {
        let object = self.handle(handle);
        let shape = self.found(handle).map(|resource| resource.shape);
        match shape {
            Some(Shape::ByteAddressBuffer) => {
                let offset = self.index(coordinates);
                (format!("{object}.{METHOD}{offset}, "), None)
            }
            Some(Shape::StructuredBuffer) => {
                let function = self.function;
                let parts: Vec<ValueId> = match function.op(coordinates) {
                    Op::Vector => (0..function.inputs(coordinates).len())
                        .map(|index| function.input(coordinates, index))
                        .collect(),
                    _ => vec![coordinates, coordinates],
                };
                let (index, offset) = (parts[0], parts.get(1).copied().unwrap_or(parts[0]));
                let width = self.function.width(value);
                let root = self.element_text(handle, index, None);
                let lanes = self.element_lanes(&root, handle, offset, 1, width);
                let kind = lanes.as_ref().map(|found| Scalar::new(found.1, width));
                if lanes.is_none() {
                    self.unknown.push("a member of a structured buffer".into());
                }
                (lanes.map_or(object, |found| found.0), kind)
            }
            _ => {
                let scalar = self
                    .found(handle)
                    .and_then(|resource| resource.element.as_ref())
                    .and_then(DataType::scalar);
                let place = self.coordinates(handle, coordinates);
                (format!("{object}[{place}]"), scalar)
            }
        }
    }

    /// Prints a compare and exchange: that of floats compares their bits.
    fn compare_exchange(&mut self, id: ValueId, target: &(String, Option<Scalar>), values: &[ValueId]) {
        let is_float = target.1.is_some_and(|scalar| scalar.kind == ScalarKind::Float);
        let name =
            if is_float { "InterlockedCompareExchangeFloatBitwise" } else { "InterlockedCompareExchange" };
        self.atomic(id, name, target, values, None);
    }

    /// Prints an atomic operation; its earlier value goes to a variable.
    fn atomic(
        &mut self,
        id: ValueId,
        name: &str,
        target: &(String, Option<Scalar>),
        values: &[ValueId],
        op: Option<AtomicOp>,
    ) {
        let is_used = self.schedule.uses[id] > 0;
        let compared = op.and_then(signs::compared);
        let kind = compared.or(target.1.map(|scalar| scalar.kind)).unwrap_or(ScalarKind::Unsigned);
        // The type of the place says how numbers are compared. FXC compares unsigned numbers where only the place is signed.
        let is_chosen_by_value = self.program.model.0 < 6 && kind == ScalarKind::Unsigned;
        let is_other = target.1.is_some_and(|scalar| scalar.kind != kind);
        if compared.is_some() && is_other && !is_chosen_by_value {
            self.unknown.push(format!("{name}, which compares with another sign than that of the type"));
        }
        let is_method = target.0.contains(METHOD);
        let width = self.function.width(values[0]);
        let mut arguments: Vec<String> = Vec::new();
        for value in values {
            let least = if is_method && compared.is_some() { p::UNARY } else { 0 };
            let text = self.value(*value, Kind::Known(kind), least);
            // Of methods, the type of the argument says which operation it is.
            let is_untyped = is_method && compared.is_some() && self.function.number(*value).is_some();
            arguments.push(match is_untyped {
                true => format!("({}){text}", self.type_of(kind, width, 1)),
                false => text,
            });
        }
        let needs_original = name == "InterlockedExchange" || name.starts_with("InterlockedCompareExchange");
        // The call would convert the number, where the variable wants its bits.
        let own = self.kinds[self.variables.of(id)];
        let differs = (own == ScalarKind::Float) != (kind == ScalarKind::Float);
        let is_converted = is_used && (differs || is_method && compared.is_some() && own != kind);
        let mut original = None;
        if is_used && !is_converted {
            self.declare(id);
            arguments.push(self.name(id));
        } else if is_used || needs_original {
            let name = self.names.take("original");
            let ty = self.type_of(kind, width, 1);
            self.line(&format!("{ty} {name};"));
            arguments.push(name.clone());
            original = Some(name).filter(|_| is_used);
        }
        let arguments = arguments.join(", ");
        match target.0.split_once(METHOD) {
            Some((object, offset)) => {
                let wide = if self.function.width(values[0]) == 64 { "64" } else { "" };
                self.line(&format!("{object}{name}{wide}({offset}{arguments});"));
            }
            None => self.line(&format!("{name}({}, {arguments});", target.0)),
        }
        if let Some(original) = original {
            let text = self.converted(Text::new(original, p::POSTFIX, kind), Kind::Known(own), width, 1).text;
            self.assign(id, &text);
        }
    }

    /// Prints the call that returns the sizes of a resource.
    fn dimensions(&mut self, id: ValueId, inputs: &[ValueId]) {
        if self.schedule.uses[id] == 0 {
            return;
        }
        self.declare(id);
        let (object, name) = (self.handle(inputs[0]), self.name(id));
        let Some((shape, class)) = self.found(inputs[0]).map(|resource| (resource.shape, resource.class))
        else {
            return;
        };
        let lane = |index: usize| format!("{name}.{}", LANES[index]);
        let mut arguments = Vec::new();
        let has_levels = !shape.is_multisampled()
            && class == ResourceClass::ShaderResource
            && !matches!(shape, Shape::Buffer | Shape::ByteAddressBuffer | Shape::StructuredBuffer);
        if has_levels {
            let level = inputs[1];
            arguments.push(if self.function.op(level) == Op::Undefined {
                "0".into()
            } else {
                self.index(level)
            });
        }
        let sizes = match shape {
            Shape::StructuredBuffer => 2,
            Shape::TextureCube => 2,
            Shape::TextureCubeArray => 3,
            shape => shape.coordinates().clamp(1, 3),
        };
        arguments.extend((0..sizes).map(lane));
        if has_levels || shape.is_multisampled() {
            arguments.push(lane(3));
        }
        self.line(&format!("{object}.GetDimensions({});", arguments.join(", ")));
    }

    /// Returns the variable with the second result of an operation: the status of an access.
    pub(super) fn second_result(&mut self, id: ValueId) -> String {
        match self.status_of.get(&id) {
            Some(name) => name.clone(),
            None => {
                self.unknown.push("a second result".into());
                "0".into()
            }
        }
    }
}

/// Returns the number of lanes of the vector at a path.
pub(super) fn vector_at(
    structs: &crate::ir::shader::data_type::StructTypes,
    root: &DataType,
    steps: &[Step],
    naming: &declaration::Naming,
) -> Option<u16> {
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
    match ty {
        DataType::Vector(_, lanes) => Some(*lanes),
        _ => None,
    }
}
