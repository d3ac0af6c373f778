//! The dialect of shader models 1 to 3: Direct3D 9's.
//!
//! | program | text |
//! |---|---|
//! | constants of a set | global variables with the registers that they have: `float4x4 m : register(c0)` |
//! | a texture and its sampler | one sampler: `sampler2D s : register(s0)` |
//! | the pair `sampler+texture` of a table | `Texture2D texture; SamplerState sampler;` and `texture.Sample(sampler, …)` |
//! | `texld`, `texldb`, `texldl`, `texldp`, `texldd` | `tex2D`, `tex2Dbias`, `tex2Dlod`, `tex2Dproj`, `tex2Dgrad` |
//! | `texkill` | `clip` |
//! | `mova`, then `c[a0.x]` | `array[round(x)]`, or `array[i]` where `i` is declared as an integer |
//!
//! These models compute with floats only: there are no bits of numbers. Integers and truth values of the constant table
//! that lie in registers of floats are declared as what they are, and converted where they are read. Logarithms, powers
//! and reciprocal roots take the magnitude of what they are given, so `abs` is left out there.
//!
//! FXC multiplies `VFACE` to -1 or 1 before each use; a comparison with zero gives what the register holds.

use super::declaration::{self, Naming};
use super::expression::{LANES, Text, literal, precedence as p};
use super::function::Printer;
use super::names::identifier;
use crate::ir::shader::data_type::{DataType, Scalar, ScalarKind};
use crate::ir::shader::interface::{Resource, ResourceClass, ShaderProgram, Shape, Stage};
use crate::ir::shader::{ShaderOp, vector};
use crate::ir::{Function, Op, ResourceId, ValueId, ValueMap};
use crate::shader::kinds::Kind;

/// Letters of constant registers, by the number of the buffer that stands for the set.
const SETS: [char; 3] = ['c', 'i', 'b'];

/// The number of the buffer of floats.
const FLOATS: u32 = 0;

/// What names of parameters of the entry point start with in the constant table.
const PARAMETER: char = '$';

/// Maximum number of samplers.
const MAX_SAMPLERS: u32 = 16;

/// Maximum depth of an expression that is looked through.
const MAX_DEPTH: usize = 8;

/// Bits of a float that are not its sign.
const MAGNITUDE: u64 = 0x7fff_ffff;

/// Operations that sample: the end of the name, and what follows the coordinates.
const SAMPLES: [(ShaderOp, &str, Extra); 4] = [
    (ShaderOp::Sample, "", Extra::Nothing),
    (ShaderOp::SampleBias, "bias", Extra::Last),
    (ShaderOp::SampleLevel, "lod", Extra::Last),
    (ShaderOp::SampleGradient, "grad", Extra::Derivatives),
];

/// What an operation takes besides coordinates.
#[derive(Clone, Copy, PartialEq)]
enum Extra {
    Nothing,
    /// A number in the last lane of the coordinates.
    Last,
    Derivatives,
}

/// Returns whether a program is of shader model 1, 2 or 3.
pub(super) fn is_legacy(program: &ShaderProgram) -> bool {
    program.model.0 < 4
}

/// Returns the profile to compile a program with: the least one that has all that it has.
pub(super) fn profile(program: &ShaderProgram) -> String {
    let prefix = program.stage.prefix();
    match (program.stage, program.model) {
        // FXC no longer compiles version 1 of pixel shaders.
        (Stage::Pixel, (1, _)) => "ps_2_0".into(),
        (_, (1, _)) => "vs_1_1".into(),
        (stage, (2, 1)) => {
            let is_a =
                stage == Stage::Vertex || program.functions.iter().any(|shader| needs_a(&shader.function));
            format!("{prefix}_2_{}", if is_a { 'a' } else { 'b' })
        }
        (_, (major, 255)) => format!("{prefix}_{major}_sw"),
        _ => program.profile(),
    }
}

/// Returns whether a pixel shader needs `ps_2_a`: it has derivatives.
fn needs_a(function: &Function) -> bool {
    [ShaderOp::DerivativeXCoarse, ShaderOp::DerivativeYCoarse, ShaderOp::SampleGradient]
        .into_iter()
        .any(|op| super::signature::reads(function, op))
}

/// Declares vertex inputs that only choose registers of constants as integers, and takes factors out of addresses.
pub(super) fn prepare(program: &mut ShaderProgram) {
    if !is_legacy(program) || program.stage != Stage::Vertex {
        return;
    }
    choosers(program);
    for shader in &mut program.functions {
        let is_integer: Vec<bool> =
            shader.inputs.iter().map(|element| element.scalar.kind == ScalarKind::Signed).collect();
        scale_addresses(&mut shader.function, &is_integer);
    }
}

/// Makes addresses that are multiples of integers products of integers: `round(3 * i)` is `3 * i`.
fn scale_addresses(function: &mut Function, is_integer: &[bool]) {
    for id in function.values.keys().collect::<Vec<_>>() {
        if function.is_replaced(id) || function.lanes(id) != 1 {
            continue;
        }
        let (vector, lane) = lane_of(function, id);
        let rounded = function.input_or_self(vector, 0);
        if function.op(vector) != Op::Shader(ShaderOp::FloatToSigned)
            || function.op(rounded) != Op::Shader(ShaderOp::RoundEven)
        {
            continue;
        }
        let (product, lane) = part(function, function.input(rounded, 0), lane);
        if function.op(product) != Op::FloatMul {
            continue;
        }
        let sides = [0, 1].map(|index| part(function, function.input(product, index), lane));
        let factor = |side: usize| function.number(sides[side].0).and_then(whole_number);
        let (factor, (leaf, lane)) = match (factor(0), factor(1)) {
            (Some(factor), None) => (factor, sides[1]),
            (None, Some(factor)) => (factor, sides[0]),
            _ => continue,
        };
        let number = function.number(function.input_or_self(leaf, 0)).map(|number| number as usize);
        let is_known = function.op(leaf) == Op::Shader(ShaderOp::LoadInput)
            && number.is_some_and(|number| is_integer.get(number) == Some(&true));
        if !is_known {
            continue;
        }
        let (block, address) = (function.values[id].block, function.values[id].address);
        let index = vector::lane(function, block, address, leaf, lane);
        let index = function.add(Op::Shader(ShaderOp::RoundEven), 32, block, address, &[index]);
        let index = function.add(Op::Shader(ShaderOp::FloatToSigned), 32, block, address, &[index]);
        let factor = function.constant(u64::from(factor as u32), 32);
        function.set_op(id, Op::Mul, &[index, factor]);
    }
    function.settle();
}

/// Returns the vector that a value is a lane of, and the lane.
fn lane_of(function: &Function, id: ValueId) -> (ValueId, u8) {
    match function.op(id) {
        Op::Lanes(lanes) => (function.input(id, 0), lanes.numbers().first().copied().unwrap_or(0)),
        _ => (id, 0),
    }
}

/// Returns where a lane of a value comes from, through selections and vectors that are put together.
fn part(function: &Function, id: ValueId, lane: u8) -> (ValueId, u8) {
    let (mut id, mut lane) = (id, lane);
    for _ in 0..MAX_DEPTH {
        match function.op(id) {
            Op::Lanes(lanes) => {
                lane = lanes.numbers().get(usize::from(lane)).copied().unwrap_or(0);
                id = function.input(id, 0);
            }
            Op::Vector => {
                let mut left = u16::from(lane);
                let parts = (0..function.inputs(id).len()).map(|index| function.input(id, index));
                let found = parts.into_iter().find(|part| {
                    let lanes = function.lanes(*part);
                    let is_here = left < lanes;
                    left = if is_here { left } else { left - lanes };
                    is_here
                });
                let Some(found) = found else { break };
                (id, lane) = (found, left as u8);
            }
            _ => break,
        }
    }
    (id, lane)
}

/// Declares vertex inputs that only choose registers of constants as integers.
fn choosers(program: &mut ShaderProgram) {
    for shader in &mut program.functions {
        let function = &shader.function;
        let users = users(function);
        for (number, element) in (0_u64..).zip(&mut shader.inputs) {
            let loads = function.values.keys().filter(|id| {
                function.op(*id) == Op::Shader(ShaderOp::LoadInput)
                    && !function.is_replaced(*id)
                    && function.number(function.input(*id, 0)) == Some(number)
            });
            let mut loads = loads.filter(|id| !users[*id].is_empty()).peekable();
            if loads.peek().is_some() && loads.all(|load| only_chooses(function, &users, load, 0)) {
                element.scalar = Scalar::INT;
            }
        }
    }
}

/// Returns the used values that read each value.
fn users(function: &Function) -> ValueMap<Vec<ValueId>> {
    let used = function.used();
    let mut users = ValueMap::filled(Vec::new(), function.values.len());
    for id in function.values.keys().filter(|id| used[*id] && !function.is_replaced(*id)) {
        for index in 0..function.inputs(id).len() {
            let input = function.input(id, index);
            if input != ValueId::NONE {
                users[input].push(id);
            }
        }
    }
    users
}

/// Returns whether all users of a value make an address of it.
fn only_chooses(function: &Function, users: &ValueMap<Vec<ValueId>>, id: ValueId, depth: usize) -> bool {
    let is_whole = |id: ValueId| function.number(id).is_some_and(|bits| whole_number(bits).is_some());
    depth < MAX_DEPTH
        && users[id].iter().all(|user| match function.op(*user) {
            Op::Shader(ShaderOp::FloatToSigned) => true,
            Op::Lanes(_) | Op::Shader(ShaderOp::RoundEven) => only_chooses(function, users, *user, depth + 1),
            Op::FloatMul | Op::FloatAdd => {
                let other =
                    [0, 1].map(|index| function.input(*user, index)).into_iter().find(|other| *other != id);
                other.is_some_and(is_whole) && only_chooses(function, users, *user, depth + 1)
            }
            _ => false,
        })
}

/// Returns the integer that a float with these bits is.
fn whole_number(bits: u64) -> Option<i32> {
    let number = f32::from_bits(bits as u32);
    (number.fract() == 0.0 && number.abs() < 65536.0).then_some(number as i32)
}

/// Finds the kind of each value. All are floats but for addresses, counters, and constants of the other sets, and what
/// passes these on.
fn kinds(function: &Function, declared: &dyn Fn(ValueId) -> Option<ScalarKind>) -> ValueMap<ScalarKind> {
    let users = users(function);
    let mut kinds = ValueMap::filled(ScalarKind::Float, function.values.len());
    let mut changed = Vec::new();
    for id in function.values.keys().filter(|id| !function.is_replaced(*id)) {
        let kind = match function.op(id) {
            _ if function.width(id) == 1 => ScalarKind::Bool,
            Op::Add | Op::Sub | Op::Mul | Op::SignExtend => ScalarKind::Signed,
            Op::Shader(ShaderOp::FloatToSigned | ShaderOp::Sign) => ScalarKind::Signed,
            Op::Shader(ShaderOp::LoadConstant) => declared(id).unwrap_or(ScalarKind::Float),
            _ => continue,
        };
        if kind != ScalarKind::Float {
            kinds[id] = kind;
            changed.push(id);
        }
    }
    while let Some(id) = changed.pop() {
        for &user in &users[id] {
            let passes_on = match function.op(user) {
                Op::Phi | Op::Vector | Op::Lanes(_) | Op::Copy => true,
                Op::Select => function.input(user, 0) != id,
                _ => false,
            };
            if passes_on && kinds[user] == ScalarKind::Float && function.width(user) == function.width(id) {
                kinds[user] = kinds[id];
                changed.push(user);
            }
        }
    }
    kinds
}

/// Finds the kind of each value, if a program is of these models.
pub(super) fn known_kinds(
    program: &ShaderProgram,
    function: &Function,
    declared: &dyn Fn(ValueId) -> Option<ScalarKind>,
) -> Option<ValueMap<ScalarKind>> {
    is_legacy(program).then(|| kinds(function, declared))
}

/// Returns what precedes a loop. Loops whose number of rounds FXC knows would be unrolled without it.
pub(super) fn loop_attribute(program: &ShaderProgram) -> &'static str {
    if is_legacy(program) && program.model > (2, 0) { "[loop] " } else { "" }
}

/// Returns whether a resource is the set of constants with this number.
fn is_set(resource: &Resource, number: u32) -> bool {
    resource.class == ResourceClass::ConstantBuffer
        && resource.binding.is_some_and(|binding| binding.register == number)
}

/// Returns whether members of a resource are floats in registers, whatever their declared type.
pub(super) fn holds_floats(program: &ShaderProgram, resource: &Resource) -> bool {
    is_legacy(program) && is_set(resource, FLOATS)
}

/// Returns the name that a resource would have: that of a sampler. Sets of constants have none, and the second resource
/// of a sampler only where it is a variable.
pub(super) fn wanted_name(program: &ShaderProgram, resource: &Resource) -> Option<String> {
    let register = resource.binding?.register;
    if let (Some(id), ResourceClass::ShaderResource) = (own_sampler(program, resource), resource.class)
        && !has_pairs(program)
    {
        return Some(format!("{}_{}", program.resources[id].name, identifier(&resource.name)));
    }
    match resource.class {
        ResourceClass::ShaderResource if resource.name.is_empty() => Some(format!("s{register}")),
        ResourceClass::ShaderResource => Some(resource.name.clone()),
        ResourceClass::Sampler if !resource.name.is_empty() && has_pairs(program) => {
            Some(resource.name.clone())
        }
        _ => None,
    }
}

/// Returns comments for notes that belong to no value.
pub(super) fn remarks(program: &ShaderProgram) -> Vec<String> {
    let mut found = Vec::new();
    for function in program.functions.iter().filter(|_| is_legacy(program)).map(|shader| &shader.function) {
        let of_values: Vec<_> = function
            .values
            .iter()
            .filter_map(|value| match value.op {
                Op::Unlifted(note) => Some(note),
                _ => None,
            })
            .collect();
        let others = function.notes.entries().filter(|(id, _)| !of_values.contains(id));
        found.extend(others.map(|(_, text)| format!("// {text}")));
    }
    found
}

/// Declares constants and samplers.
pub(super) fn resources(program: &ShaderProgram, naming: &Naming) -> Vec<String> {
    let mut lines: Vec<(String, String)> = Vec::new();
    for (id, resource) in program.resources.entries() {
        let Some(binding) = resource.binding else { continue };
        match (resource.class, &resource.element) {
            (ResourceClass::ConstantBuffer, Some(DataType::Struct(structure))) => {
                let letter = SETS.get(binding.register as usize).copied().unwrap_or('c');
                for (index, field) in program.structs[*structure].fields.iter().enumerate() {
                    if field.name.starts_with(PARAMETER) {
                        continue;
                    }
                    let declared = naming.declare(&field.ty, naming.field(*structure, index));
                    let place = format!(" : register({letter}{})", field.offset / 16);
                    // A constant may be in several sets.
                    match lines.iter_mut().find(|line| line.0 == declared) {
                        Some(line) => line.1.push_str(&place),
                        None => lines.push((declared, place)),
                    }
                }
            }
            (ResourceClass::ShaderResource, _) if pair(program, resource).is_none() => {
                let (name, element) = split_element(naming.resource(id));
                let first = binding.register.saturating_sub(element_number(element));
                let is_mixed = program.resources.iter().any(|other| {
                    split_element(&other.name).0 == split_element(&resource.name).0
                        && other.class == resource.class
                        && other.shape != resource.shape
                        && resource.size > 0
                });
                let ty = if is_mixed { "sampler" } else { sampler(resource.shape) };
                let dimension = if element.is_empty() { String::new() } else { dimension(resource) };
                let declared = format!("{ty} {name}{dimension}");
                if lines.iter().all(|line| line.0 != declared) {
                    lines.push((declared, format!(" : register(s{first})")));
                }
            }
            _ => {}
        }
    }
    lines.extend(pairs(program, naming).into_iter().map(|declared| (declared, String::new())));
    lines.into_iter().map(|(declared, places)| format!("{declared}{places};")).collect()
}

/// Returns the parameters of the entry point that are constants.
pub(super) fn parameters(program: &ShaderProgram, naming: &Naming) -> Vec<String> {
    let mut found = Vec::new();
    for resource in program.resources.iter().filter(|_| is_legacy(program)) {
        let (Some(binding), Some(DataType::Struct(structure))) = (resource.binding, &resource.element) else {
            continue;
        };
        let letter = SETS.get(binding.register as usize).copied().unwrap_or('c');
        for (index, field) in program.structs[*structure].fields.iter().enumerate() {
            if field.name.starts_with(PARAMETER) {
                let declared = naming.declare(&field.ty, naming.field(*structure, index));
                found.push(format!("uniform {declared} : register({letter}{})", field.offset / 16));
            }
        }
    }
    found
}

/// Returns the sampler of a texture that is declared as a variable of its own.
fn pair(program: &ShaderProgram, texture: &Resource) -> Option<ResourceId> {
    own_sampler(program, texture).filter(|_| has_pairs(program))
}

/// Returns whether textures and samplers are declared as variables of their own. No register can be given to a pair: FXC
/// chooses the one that the program has only if no sampler is also used alone or in an array, and of arrays of textures
/// the first elements are used.
fn has_pairs(program: &ShaderProgram) -> bool {
    let of_class = |class| program.resources.iter().filter(move |resource| resource.class == class);
    let paired: Vec<&str> = of_class(ResourceClass::Sampler)
        .map(|sampler| sampler.name.as_str())
        .filter(|name| !name.is_empty())
        .collect();
    !paired.is_empty()
        && of_class(ResourceClass::ShaderResource).all(|texture| {
            let (name, element) = split_element(&texture.name);
            let Some(sampler) = own_sampler(program, texture).map(|id| &program.resources[id]) else {
                return texture.size == 0 && !paired.contains(&name);
            };
            let has_element = |number: u32| {
                let other = format!("{name}[{number}]");
                let mut others = of_class(ResourceClass::ShaderResource).filter(|found| found.name == other);
                others.any(|found| {
                    own_sampler(program, found).is_some_and(|id| program.resources[id].name == sampler.name)
                })
            };
            texture.size == 0 || (0..element_number(element)).all(has_element)
        })
}

/// Returns the sampler of a texture that the program names.
fn own_sampler(program: &ShaderProgram, texture: &Resource) -> Option<ResourceId> {
    let is_its_sampler = |other: &Resource| {
        other.class == ResourceClass::Sampler && other.binding == texture.binding && !other.name.is_empty()
    };
    program.resources.entries().find(|(_, other)| is_its_sampler(other)).map(|(id, _)| id)
}

/// Declares textures with samplers that are variables of their own. FXC gives each pair the first register that is free,
/// in the order of the textures: those that stay free are taken by samplers that are not used.
fn pairs(program: &ShaderProgram, naming: &Naming) -> Vec<String> {
    let mut found: Vec<(u32, String, Option<String>)> = Vec::new();
    for (id, texture) in program.resources.entries() {
        let Some(binding) = texture.binding else { continue };
        if texture.class != ResourceClass::ShaderResource {
            continue;
        }
        let declared = pair(program, texture).and_then(|sampler| {
            let (ty, name) = (declaration::object(naming, texture)?, split_element(naming.resource(id)).0);
            Some((
                format!("{ty} {name}{}", dimension(texture)),
                format!("SamplerState {}", naming.resource(sampler)),
            ))
        });
        match declared {
            Some((texture, sampler)) => found.push((binding.register, texture, Some(sampler))),
            None => found.push((binding.register, String::new(), None)),
        }
    }
    found.sort();
    let last = found.iter().filter(|row| row.2.is_some()).map(|row| row.0).max();
    let free =
        (0..last.unwrap_or(0).min(MAX_SAMPLERS)).filter(|number| found.iter().all(|row| row.0 != *number));
    let mut lines: Vec<String> =
        free.map(|number| format!("SamplerState unused{number} : register(s{number})")).collect();
    for (_, texture, sampler) in found {
        for line in sampler.into_iter().chain((!texture.is_empty()).then_some(texture)) {
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines
}

/// Splits the number of an element off a name.
pub(super) fn split_element(name: &str) -> (&str, &str) {
    name.split_at(name.find('[').unwrap_or(name.len()))
}

/// Returns the number in brackets.
fn element_number(element: &str) -> u32 {
    element.trim_matches(['[', ']']).parse().unwrap_or(0)
}

/// Returns the dimension of the array that a texture is an element of.
fn dimension(resource: &Resource) -> String {
    match resource.size {
        0 => String::new(),
        count => format!("[{count}]"),
    }
}

fn sampler(shape: Shape) -> &'static str {
    match shape {
        Shape::Texture1D => "sampler1D",
        Shape::Texture3D => "sampler3D",
        Shape::TextureCube => "samplerCUBE",
        _ => "sampler2D",
    }
}

fn sampling(shape: Shape) -> &'static str {
    match shape {
        Shape::Texture1D => "tex1D",
        Shape::Texture3D => "tex3D",
        Shape::TextureCube => "texCUBE",
        _ => "tex2D",
    }
}

impl Printer<'_> {
    /// Returns the text of a value that this dialect has another form for.
    pub(super) fn legacy_value(&mut self, id: ValueId) -> Option<Text> {
        if !is_legacy(self.program) {
            return None;
        }
        let function = self.function;
        let input = |index: usize| function.input(id, index);
        match function.op(id) {
            Op::NotEqual if function.number(input(1)) == Some(0) => self.truth(input(0)),
            Op::Select if self.chosen(input(0)).is_some() => self.choice_by_truth(id),
            Op::Select if self.is_side(id) => Some(self.computed(self.face(input(0))?, Kind::Any)),
            Op::Shader(ShaderOp::MultiplyAdd) => {
                let float = Kind::Known(ScalarKind::Float);
                let a = self.value(input(0), float, p::PRODUCT);
                let b = self.value(input(1), float, p::PRODUCT + 1);
                let sum = self.value(input(2), float, p::PRODUCT);
                let text = match sum.strip_prefix('-') {
                    Some(positive) => format!("{a} * {b} - {positive}"),
                    None => format!("{a} * {b} + {sum}"),
                };
                Some(Text::new(text, p::SUM, ScalarKind::Float))
            }
            Op::Shader(ShaderOp::Log2 | ShaderOp::ReciprocalSqrt | ShaderOp::Power) => self.of_magnitude(id),
            Op::Shader(ShaderOp::FloatToSigned) => {
                let text = self.address(input(0));
                Some(Text::new(text, p::SUM, ScalarKind::Signed))
            }
            Op::Shader(op) => {
                let &(_, name, extra) = SAMPLES.iter().find(|row| row.0 == op)?;
                if self.found(input(0)).is_some_and(|texture| pair(self.program, texture).is_some()) {
                    return None;
                }
                Some(self.legacy_sample(id, name, extra))
            }
            _ => None,
        }
    }

    /// Converts a text to another kind of number: here a conversion of the number, not of its bits.
    pub(super) fn legacy_conversion(&self, text: Text, want: ScalarKind, width: u8, lanes: u16) -> Text {
        let ty = self.type_of(want, width, lanes);
        Text::new(format!("({ty}){}", text.wrapped(p::UNARY)), p::UNARY, want)
    }

    /// Returns a truth value that is a constant.
    fn truth(&mut self, id: ValueId) -> Option<Text> {
        let load = if matches!(self.function.op(id), Op::Lanes(_)) { self.function.input(id, 0) } else { id };
        let is_constant = self.function.op(load) == Op::Shader(ShaderOp::LoadConstant);
        if !is_constant || self.declared_kind(id) != Some(ScalarKind::Bool) {
            return None;
        }
        Some(Text::new(
            self.value(id, Kind::Known(ScalarKind::Bool), p::POSTFIX),
            p::POSTFIX,
            ScalarKind::Bool,
        ))
    }

    /// Returns the truth value in a register of floats that a comparison tests, as in `0 <= -b`: whether it is false.
    fn chosen(&mut self, condition: ValueId) -> Option<Text> {
        let function = self.function;
        let negated = function.input_or_self(condition, 1);
        let is_test = function.op(condition) == Op::FloatLessEqual
            && function.number(function.input(condition, 0)).is_some_and(|bits| bits & MAGNITUDE == 0)
            && function.op(negated) == Op::FloatNegate;
        if !is_test || self.has_variable(condition) || self.has_variable(negated) {
            return None;
        }
        let tested = function.input(negated, 0);
        let load =
            if matches!(function.op(tested), Op::Lanes(_)) { function.input(tested, 0) } else { tested };
        if function.op(load) != Op::Shader(ShaderOp::LoadConstant) || self.has_variable(load) {
            return None;
        }
        let text = self.computed(tested, Kind::Any);
        (text.kind == ScalarKind::Bool).then_some(text)
    }

    /// Returns a selection by a truth value in a register of floats.
    fn choice_by_truth(&mut self, id: ValueId) -> Option<Text> {
        let function = self.function;
        let condition = self.chosen(function.input(id, 0))?.wrapped(p::CHOICE + 1);
        let kind = Kind::Known(ScalarKind::Float);
        let yes = self.value(function.input(id, 2), kind, p::CHOICE + 1);
        let no = self.value(function.input(id, 1), kind, p::CHOICE + 1);
        Some(Text::new(format!("{condition} ? {yes} : {no}"), p::CHOICE, ScalarKind::Float))
    }

    /// Returns the input that a comparison with zero tests, if it says which side of a triangle is seen.
    fn face(&self, condition: ValueId) -> Option<ValueId> {
        let function = self.function;
        let is_zero = |id: ValueId| function.number(id).is_some_and(|bits| bits & MAGNITUDE == 0);
        let tested = function.input_or_self(condition, 1);
        let is_test = function.op(condition) == Op::FloatLessEqual && is_zero(function.input(condition, 0));
        if !is_test || self.has_variable(condition) || function.op(tested) != Op::Shader(ShaderOp::LoadInput)
        {
            return None;
        }
        let number = function.number(function.input(tested, 0))?;
        let element = self.info.inputs.get(usize::try_from(number).ok()?)?;
        (element.semantic == "VFACE").then_some(tested)
    }

    /// Returns whether a selection is what FXC makes of `VFACE`: 1 or -1.
    fn is_side(&self, id: ValueId) -> bool {
        let number = |index: usize| {
            self.function.number(self.function.input(id, index)).map(|bits| f32::from_bits(bits as u32))
        };
        number(1) == Some(1.0) && number(2) == Some(-1.0) && self.face(self.function.input(id, 0)).is_some()
    }

    /// Returns a function of a magnitude, without `abs`.
    fn of_magnitude(&mut self, id: ValueId) -> Option<Text> {
        let function = self.function;
        let first = function.input(id, 0);
        if function.op(first) != Op::FloatAbs || self.has_variable(first) {
            return None;
        }
        let name = match function.op(id) {
            Op::Shader(ShaderOp::Log2) => "log2",
            Op::Shader(ShaderOp::Power) => "pow",
            _ => "rsqrt",
        };
        let mut arguments = vec![self.input(first, 0, 0)];
        for index in 1..function.inputs(id).len() {
            arguments.push(self.input(id, index, 0));
        }
        Some(Text::new(format!("{name}({})", arguments.join(", ")), p::POSTFIX, ScalarKind::Float))
    }

    fn legacy_sample(&mut self, id: ValueId, name: &str, extra: Extra) -> Text {
        let function = self.function;
        let input = |index: usize| function.input(id, index);
        let Some(resource) = self.resource_of(input(0)) else {
            return Text::new(self.handle(input(0)), p::POSTFIX, ScalarKind::Float);
        };
        let shape = self.program.resources[resource].shape;
        let object = self.naming.resource(resource).to_owned();
        let float = Kind::Known(ScalarKind::Float);
        let place = input(2);
        let text = match extra {
            Extra::Nothing => match self.projected(place, shape) {
                Some(place) => format!("{}proj({object}, {place})", sampling(shape)),
                None => format!("{}({object}, {})", sampling(shape), self.value(place, float, 0)),
            },
            Extra::Last => {
                let place = self.with_last(place, input(4), shape);
                format!("{}{name}({object}, {place})", sampling(shape))
            }
            Extra::Derivatives => {
                let [place, x, y] = [2, 4, 5].map(|index| self.value(input(index), float, 0));
                format!("{}{name}({object}, {place}, {x}, {y})", sampling(shape))
            }
        };
        Text::new(text, p::POSTFIX, ScalarKind::Float)
    }

    /// Returns coordinates that are divided by a number with that number in their last lane.
    fn projected(&mut self, place: ValueId, shape: Shape) -> Option<String> {
        let function = self.function;
        if function.op(place) != Op::FloatDiv || self.has_variable(place) {
            return None;
        }
        let (divided, divisor) = (function.input(place, 0), function.input(place, 1));
        Some(self.with_last(divided, divisor, shape))
    }

    /// Returns coordinates as four lanes, of which the last one is another number.
    fn with_last(&mut self, place: ValueId, last: ValueId, shape: Shape) -> String {
        let float = Kind::Known(ScalarKind::Float);
        let function = self.function;
        if let (Op::Lanes(first), Op::Lanes(fourth)) = (function.op(place), function.op(last)) {
            let vector = function.input(place, 0);
            let is_start = first.numbers().iter().zip(0..).all(|(number, index)| *number == index);
            let is_end = fourth.numbers().iter().all(|number| *number == 3);
            let is_one = vector == function.input(last, 0) && function.lanes(vector) == 4;
            if is_one && is_start && is_end && first.numbers().len() == shape.coordinates() {
                return self.value(vector, float, 0);
            }
        }
        let last = match function.op(last) {
            // A number that is in every lane.
            Op::Vector => function.input(last, 0),
            _ => last,
        };
        let zeros = ", 0.0".repeat(3_usize.saturating_sub(shape.coordinates()));
        let place = self.value(place, float, 0);
        let one = if function.lanes(last) > 1 { ".x" } else { "" };
        let last = self.value(last, float, if one.is_empty() { 0 } else { p::POSTFIX });
        format!("float4({place}{zeros}, {last}{one})")
    }

    /// Returns an address: the nearest integer, or the next lower one.
    fn address(&mut self, id: ValueId) -> String {
        let function = self.function;
        let rounded = match function.op(id) {
            Op::Shader(ShaderOp::RoundEven) if !self.has_variable(id) => function.input(id, 0),
            _ => return format!("(int){}", self.value(id, Kind::Known(ScalarKind::Float), p::UNARY)),
        };
        match self.integer(rounded, 0) {
            Some(text) => text.text,
            None => format!("(int)round({})", self.value(rounded, Kind::Known(ScalarKind::Float), 0)),
        }
    }

    /// Returns the text of a float as an integer, if it is computed from integers.
    fn integer(&mut self, id: ValueId, depth: usize) -> Option<Text> {
        let function = self.function;
        if let Some(bits) = function.number(id) {
            let text = literal(whole_number(bits)? as u32 as u64, ScalarKind::Signed, 32);
            return Some(Text::new(text, p::POSTFIX, ScalarKind::Signed));
        }
        if self.has_variable(id) || depth >= MAX_DEPTH {
            return None;
        }
        let (operator, level) = match function.op(id) {
            Op::FloatMul => ("*", p::PRODUCT),
            Op::FloatAdd => ("+", p::SUM),
            Op::Lanes(_) | Op::Shader(ShaderOp::LoadConstant | ShaderOp::LoadInput) => {
                let text = self.computed(id, Kind::Any);
                return (text.kind == ScalarKind::Signed).then_some(text);
            }
            _ => return None,
        };
        let [left, right] = [0, 1].map(|index| self.integer(function.input(id, index), depth + 1));
        let text = format!("{} {operator} {}", left?.wrapped(level), right?.wrapped(level + 1));
        Some(Text::new(text, level, ScalarKind::Signed))
    }

    /// Returns `clip` for a condition that holds if any of some numbers is negative.
    pub(super) fn clip(&mut self, condition: ValueId) -> Option<String> {
        let function = self.function;
        if !is_legacy(self.program) {
            return None;
        }
        let mut tested = Vec::new();
        let mut stack = vec![condition];
        while let Some(id) = stack.pop() {
            if self.has_variable(id) || tested.len() >= LANES.len() {
                return None;
            }
            match function.op(id) {
                Op::BoolOr => stack.extend([1, 0].map(|index| function.input(id, index))),
                Op::FloatLess => {
                    let zero = function.number(function.input(id, 1))?;
                    if zero & MAGNITUDE != 0 {
                        return None;
                    }
                    tested.push(function.input(id, 0));
                }
                _ => return None,
            }
        }
        let float = Kind::Known(ScalarKind::Float);
        if let [one] = tested[..] {
            return Some(format!("clip({})", self.value(one, float, 0)));
        }
        if let Some((vector, lanes)) = lanes_of_one(function, &tested)
            && function.op(vector) != Op::Shader(ShaderOp::LoadConstant)
        {
            return Some(format!("clip({}.{lanes})", self.value(vector, float, p::POSTFIX)));
        }
        let parts: Vec<String> = tested.iter().map(|id| self.value(*id, float, 0)).collect();
        Some(format!("clip(float{}({}))", parts.len(), parts.join(", ")))
    }

    /// Returns whether a value is what the program computes: no input, no constant.
    pub(super) fn is_computed(&self, id: ValueId) -> bool {
        let vector =
            if matches!(self.function.op(id), Op::Lanes(_)) { self.function.input(id, 0) } else { id };
        !matches!(
            self.function.op(vector),
            Op::Constant(_) | Op::Shader(ShaderOp::LoadInput | ShaderOp::LoadConstant)
        )
    }

    /// Returns whether a number has no literal in this dialect, which has neither infinities nor what is no number.
    pub(super) fn has_no_literal(&self, bits: u64) -> bool {
        is_legacy(self.program) && !f32::from_bits(bits as u32).is_finite()
    }
}

/// Returns the vector whose lanes some values are, and the names of these lanes.
fn lanes_of_one(function: &Function, values: &[ValueId]) -> Option<(ValueId, String)> {
    let mut names = String::new();
    let mut vector = None;
    for id in values {
        let Op::Lanes(lanes) = function.op(*id) else { return None };
        let [lane] = lanes.numbers() else { return None };
        let input = function.input(*id, 0);
        if *vector.get_or_insert(input) != input {
            return None;
        }
        names.push(*LANES.get(usize::from(*lane))?);
    }
    Some((vector?, names))
}
