//! Operations of resources: loads, stores, samples, atomics.

use super::constant_buffer::{self, Offset, Step};
use super::declaration;
use super::expression::{LANES, Text, precedence as p};
use super::function::Printer;
use super::member::Numbers;
use super::spelling;
use crate::ir::shader::ShaderOp;
use crate::ir::shader::data_type::{DataType, Packing, Scalar, ScalarKind};
use crate::ir::shader::interface::{Resource, ResourceClass, Shape, resource_of};
use crate::ir::{Op, ResourceId, ValueId};
use crate::shader::kinds::Kind;

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

/// The names of channels in gathers.
const CHANNELS: [&str; 4] = ["Red", "Green", "Blue", "Alpha"];

impl Printer<'_> {
    /// Returns the number of the resource of a handle.
    pub(super) fn resource_of(&self, handle: ValueId) -> Option<ResourceId> {
        let id = resource_of(self.function, handle)?;
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
            Some(binding) if binding.count == Some(1) && !resource.is_array => {
                self.naming.resource(id).to_owned()
            }
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
    pub(super) fn index(&mut self, id: ValueId) -> String {
        let want = match self.shown_kind(id) {
            Some(ScalarKind::Float) => Kind::Known(ScalarKind::Unsigned),
            _ => Kind::Integer,
        };
        self.value(id, want, 0)
    }

    /// Returns the coordinates of a texel: as many as the resource has, also if all are the same.
    pub(super) fn coordinates(&mut self, handle: ValueId, id: ValueId) -> String {
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
    pub(super) fn element_text(&mut self, handle: ValueId, index: ValueId, status: Option<String>) -> String {
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
    pub(super) fn element_lanes(
        &mut self,
        root: &str,
        handle: ValueId,
        offset: ValueId,
        lanes: u16,
        width: u8,
    ) -> Option<(String, ScalarKind)> {
        let element = self.found(handle)?.element.clone()?;
        let base = Offset::in_element(self.function, offset);
        let bytes: Vec<u32> = (0..u32::from(lanes)).map(|lane| lane * self.program.bytes(width)).collect();
        let numbers = Numbers { packing: Packing::Structured, base: &base, bytes: &bytes, width };
        self.member_lanes(root, &element, numbers, Kind::Any)
    }

    /// Returns the text of a matrix in an element.
    fn whole_member(&mut self, root: &str, inputs: &[ValueId]) -> Option<String> {
        let element = self.found(inputs[0])?.element.clone()?;
        let base = Offset::in_element(self.function, inputs[2]);
        let structs = &self.program.structs;
        let (steps, _) = constant_buffer::path(self.naming, structs, &element, Packing::Structured, &base)?;
        let (_, outer) = steps.split_last()?;
        Some(self.path_text(root, outer))
    }

    fn load_structured(&mut self, id: ValueId, inputs: &[ValueId]) -> Text {
        let (lanes, width) = (self.function.lanes(id), self.function.width(id));
        let status = self.status(id);
        let root = match self.copy_name(id) {
            Some(name) => name,
            None => self.element_text(inputs[0], inputs[1], status),
        };
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
        let base = Offset::in_element(self.function, inputs[2]);
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
