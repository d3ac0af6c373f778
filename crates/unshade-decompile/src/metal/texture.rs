//! Textures and samplers.
//!
//! AIR's functions have all operands of all forms of a function: whether there is an offset, whether the number after it is a
//! level or a bias. Those that are defaults are left out.

use super::expression::{Text, precedence as p};
use super::function::Printer;
use super::spelling::Kind;
use crate::ir::ValueId;
use crate::ir::metal::MetalOp;
use crate::ir::metal::types::ValueType;
use unshade_core::half::half_to_double;

/// The kinds of textures: name, number of coordinates, whether it is an array, whether it has a depth compare.
const KINDS: [(&str, u8, bool); 16] = [
    ("_texture_1d_t", 1, false),
    ("_texture_1d_array_t", 1, true),
    ("_texture_2d_t", 2, false),
    ("_texture_2d_array_t", 2, true),
    ("_texture_2d_ms_t", 2, false),
    ("_texture_2d_ms_array_t", 2, true),
    ("_texture_3d_t", 3, false),
    ("_texture_cube_t", 3, false),
    ("_texture_cube_array_t", 3, true),
    ("_texture_buffer_1d_t", 1, false),
    ("_depth_2d_t", 2, false),
    ("_depth_2d_array_t", 2, true),
    ("_depth_2d_ms_t", 2, false),
    ("_depth_2d_ms_array_t", 2, true),
    ("_depth_cube_t", 3, false),
    ("_depth_cube_array_t", 3, true),
];

/// A kind of texture.
#[derive(Clone, Copy)]
struct TextureKind {
    is_array: bool,
    is_depth: bool,
    is_cube: bool,
    is_multisampled: bool,
    coordinates: u8,
    has_levels: bool,
}

/// The inputs of an operation that are left.
struct Inputs {
    all: Vec<ValueId>,
    at: usize,
}

impl Inputs {
    fn take(&mut self) -> Option<ValueId> {
        let found = self.all.get(self.at).copied();
        self.at += 1;
        found
    }
}

impl Printer<'_> {
    /// Returns an operation on a texture.
    pub(super) fn texture(&mut self, id: ValueId, op: MetalOp) -> Text {
        let function = self.function;
        let own = self.kind_of(id);
        let row = op.row();
        let all: Vec<ValueId> =
            (0..function.inputs(id).len()).map(|index| function.input(id, index)).collect();
        let mut inputs = Inputs { all, at: 1 };
        let Some(handle) = inputs.all.first().copied() else {
            return Text::new(format!("{}()", row.name), p::POSTFIX, own);
        };
        let Some(kind) = self.texture_kind(handle) else {
            if row.stem == "get_num_samples" {
                return Text::new("get_num_samples()", p::POSTFIX, Kind::Unsigned);
            }
            self.unknown.push(format!("the operation {op}"));
            return Text::new("0", p::POSTFIX, own);
        };
        let texture = self.pointer(handle).wrapped(p::POSTFIX);
        let result = match op.class {
            crate::ir::metal::Class::Signed => Kind::Signed,
            crate::ir::metal::Class::Unsigned => Kind::Unsigned,
            _ if row.stem.starts_with("get_") => Kind::Unsigned,
            _ => own,
        };
        let arguments = match row.stem.split('_').next() {
            Some("sample" | "gather") => self.sampled(&mut inputs, kind, row.stem),
            Some("read") => self.read(&mut inputs, kind),
            Some("write") => self.write(&mut inputs, kind, op),
            Some("get") => self.level_of(&mut inputs, kind),
            _ => Some(Vec::new()),
        };
        match arguments {
            Some(arguments) => {
                Text::new(format!("{texture}.{}({})", row.name, arguments.join(", ")), p::POSTFIX, result)
            }
            None => {
                self.unknown.push(format!("the operands of {op}"));
                Text::new("0", p::POSTFIX, own)
            }
        }
    }

    fn texture_kind(&self, handle: ValueId) -> Option<TextureKind> {
        let types = &self.program.types;
        let (_, pointee) = types.pointee(self.function.values[handle].ty)?;
        let ValueType::Named(number) = types.get(pointee) else { return None };
        let name = types.names.get(number as usize)?;
        let name = name.strip_prefix("struct.").unwrap_or(name);
        let name = name.split('.').next().unwrap_or(name);
        let row = KINDS.iter().find(|row| row.0 == name)?;
        let is_multisampled = name.contains("_ms");
        let is_buffer = name.contains("buffer");
        Some(TextureKind {
            is_array: row.2,
            is_depth: name.starts_with("_depth"),
            is_cube: name.contains("cube"),
            is_multisampled,
            coordinates: row.1,
            has_levels: !is_multisampled && !is_buffer && row.1 > 1,
        })
    }

    fn is_zero(&self, id: ValueId) -> bool {
        let function = self.function;
        match function.number(id) {
            Some(number) => number == 0,
            None => {
                function.inputs(id).len() > 1
                    && function.inputs(id).iter().all(|input| function.number(*input) == Some(0))
            }
        }
    }

    /// Returns the arguments of a sample or gather.
    fn sampled(&mut self, inputs: &mut Inputs, kind: TextureKind, stem: &str) -> Option<Vec<String>> {
        let function = self.function;
        let sampler = inputs.take()?;
        let mut arguments = vec![self.pointer(sampler).text];
        if kind.is_depth && function.number(*inputs.all.get(inputs.at)?).is_some() {
            inputs.take();
        }
        let coordinates = inputs.take()?;
        arguments.push(self.any(coordinates, 0));
        if kind.is_array {
            let index = inputs.take()?;
            arguments.push(self.value(index, Kind::Unsigned, 0));
        }
        if stem.contains("compare") {
            let reference = inputs.take()?;
            arguments.push(self.any(reference, 0));
        }
        let gradients = match stem {
            "sample_texture_grad" => {
                let (x, y) = (inputs.take()?, inputs.take()?);
                // Older versions of AIR have no least level.
                let has_least = inputs.all.get(inputs.at).is_some_and(|next| function.width(*next) == 32);
                Some((x, y, if has_least { inputs.take() } else { None }))
            }
            _ => None,
        };
        let mut offset = None;
        if !kind.is_cube {
            let has_offset = inputs.take()?;
            let value = inputs.take()?;
            if function.number(has_offset) != Some(0) && !self.is_zero(value) {
                offset = Some(value);
            }
        }
        if stem.starts_with("gather") {
            let offset_text = offset.map(|offset| self.value(offset, Kind::Signed, 0));
            let component = if stem == "gather_texture" { inputs.take() } else { None };
            let component = component.and_then(|component| function.number(component)).unwrap_or(0);
            match (offset_text, component) {
                (None, 0) => {}
                (offset, component) => {
                    arguments.push(offset.unwrap_or_else(|| "int2(0)".into()));
                    if component > 0 {
                        arguments
                            .push(format!("component::{}", ["x", "y", "z", "w"].get(component as usize)?));
                    }
                }
            }
            return Some(arguments);
        }
        if let Some((x, y, least)) = gradients {
            let [x, y] = [x, y].map(|gradient| self.value(gradient, Kind::Float, 0));
            let name = match kind {
                TextureKind { is_cube: true, .. } => "gradientcube",
                TextureKind { coordinates: 3, .. } => "gradient3d",
                _ => "gradient2d",
            };
            arguments.push(format!("{name}({x}, {y})"));
            if let Some(least) = least {
                self.least_level(least, &mut arguments);
            }
        } else if let (Some(is_level), Some(number)) = (inputs.take(), inputs.take()) {
            match function.number(is_level) {
                Some(0) if self.is_zero(number) => {}
                Some(is_level) => {
                    let name = if is_level != 0 { "level" } else { "bias" };
                    let number = self.value(number, Kind::Float, 0);
                    arguments.push(format!("{name}({number})"));
                }
                None => return None,
            }
            if let Some(least) = inputs.take() {
                self.least_level(least, &mut arguments);
            }
        }
        if let Some(offset) = offset {
            arguments.push(self.value(offset, Kind::Signed, 0));
        }
        Some(arguments)
    }

    /// Appends the least level of detail, if there is one.
    fn least_level(&mut self, least: ValueId, arguments: &mut Vec<String>) {
        let is_float = matches!(self.scalar_of(least), ValueType::Float(_));
        if is_float && self.function.width(least) == 32 && !self.is_zero(least) {
            let least = self.value(least, Kind::Float, 0);
            arguments.push(format!("min_lod_clamp({least})"));
        }
    }

    /// Appends coordinates of texels, with face and array index.
    fn texel(&mut self, inputs: &mut Inputs, kind: TextureKind, arguments: &mut Vec<String>) -> Option<()> {
        let coordinates = inputs.take()?;
        arguments.push(self.value(coordinates, Kind::Unsigned, 0));
        if kind.is_cube {
            let face = inputs.take()?;
            arguments.push(self.value(face, Kind::Unsigned, 0));
        }
        if kind.is_array {
            let index = inputs.take()?;
            arguments.push(self.value(index, Kind::Unsigned, 0));
        }
        Some(())
    }

    fn read(&mut self, inputs: &mut Inputs, kind: TextureKind) -> Option<Vec<String>> {
        let mut arguments = Vec::new();
        if kind.is_depth && self.function.lanes(*inputs.all.get(inputs.at)?) == 1 && kind.coordinates > 1 {
            inputs.take();
        }
        self.texel(inputs, kind, &mut arguments)?;
        if kind.is_multisampled {
            let sample = inputs.take()?;
            arguments.push(self.value(sample, Kind::Unsigned, 0));
        } else if kind.has_levels && inputs.all.len() > inputs.at + 1 {
            let level = inputs.take()?;
            if !self.is_zero(level) {
                arguments.push(self.value(level, Kind::Unsigned, 0));
            }
        }
        Some(arguments)
    }

    fn write(&mut self, inputs: &mut Inputs, kind: TextureKind, op: MetalOp) -> Option<Vec<String>> {
        let mut arguments = Vec::new();
        self.texel(inputs, kind, &mut arguments)?;
        let value = inputs.take()?;
        let wanted = match op.class {
            crate::ir::metal::Class::Signed => Kind::Signed,
            crate::ir::metal::Class::Unsigned => Kind::Unsigned,
            _ => self.kind_of(value),
        };
        arguments.insert(0, self.value(value, wanted, 0));
        if kind.has_levels && inputs.all.len() > inputs.at + 1 {
            let level = inputs.take()?;
            if !self.is_zero(level) {
                arguments.push(self.value(level, Kind::Unsigned, 0));
            }
        }
        Some(arguments)
    }

    fn level_of(&mut self, inputs: &mut Inputs, kind: TextureKind) -> Option<Vec<String>> {
        match inputs.take() {
            Some(level) if kind.has_levels && !self.is_zero(level) => {
                Some(vec![self.value(level, Kind::Unsigned, 0)])
            }
            _ => Some(Vec::new()),
        }
    }
}

/// A field of a sampler's bits: first bit, number of bits, the default, and the texts.
struct Field {
    first: u32,
    bits: u32,
    usual: u64,
    texts: &'static [&'static str],
}

/// Fields of a sampler.
const FIELDS: [Field; 8] = [
    Field {
        first: 0,
        bits: 3,
        usual: 1,
        texts: &[
            "s_address::clamp_to_zero",
            "s_address::clamp_to_edge",
            "s_address::repeat",
            "s_address::mirrored_repeat",
            "s_address::clamp_to_border",
        ],
    },
    Field {
        first: 3,
        bits: 3,
        usual: 1,
        texts: &[
            "t_address::clamp_to_zero",
            "t_address::clamp_to_edge",
            "t_address::repeat",
            "t_address::mirrored_repeat",
            "t_address::clamp_to_border",
        ],
    },
    Field {
        first: 6,
        bits: 3,
        usual: 1,
        texts: &[
            "r_address::clamp_to_zero",
            "r_address::clamp_to_edge",
            "r_address::repeat",
            "r_address::mirrored_repeat",
            "r_address::clamp_to_border",
        ],
    },
    Field {
        first: 9,
        bits: 2,
        usual: 0,
        texts: &["mag_filter::nearest", "mag_filter::linear", "mag_filter::bicubic"],
    },
    Field {
        first: 11,
        bits: 2,
        usual: 0,
        texts: &["min_filter::nearest", "min_filter::linear", "min_filter::bicubic"],
    },
    Field {
        first: 13,
        bits: 2,
        usual: 0,
        texts: &["mip_filter::none", "mip_filter::nearest", "mip_filter::linear"],
    },
    Field { first: 15, bits: 1, usual: 0, texts: &["coord::normalized", "coord::pixel"] },
    Field {
        first: 16,
        bits: 4,
        usual: 8,
        texts: &[
            "compare_func::none",
            "compare_func::less",
            "compare_func::less_equal",
            "compare_func::greater",
            "compare_func::greater_equal",
            "compare_func::equal",
            "compare_func::not_equal",
            "compare_func::always",
            "compare_func::never",
        ],
    },
];

/// Returns the arguments of a sampler with these bits, in parentheses; nothing for the defaults.
pub(super) fn sampler(words: &[u64]) -> String {
    let Some(&bits) = words.first() else { return String::new() };
    let mut parts: Vec<String> = Vec::new();
    for field in &FIELDS {
        let value = bits >> field.first & ((1 << field.bits) - 1);
        if value != field.usual
            && let Some(text) = field.texts.get(value as usize)
        {
            parts.push((*text).to_owned());
        }
    }
    let anisotropy = (bits >> 20 & 15) + 1;
    if anisotropy > 1 {
        parts.push(format!("max_anisotropy({anisotropy})"));
    }
    let (least, most) = ((bits >> 24) as u16, (bits >> 40) as u16);
    if (least, most) != (0, 0x7bff) {
        parts.push(format!(
            "lod_clamp({:?}f, {:?}f)",
            half_to_double(least) as f32,
            half_to_double(most) as f32
        ));
    }
    match bits >> 56 & 3 {
        1 => parts.push("border_color::opaque_black".into()),
        2 => parts.push("border_color::opaque_white".into()),
        _ => {}
    }
    if parts.is_empty() { String::new() } else { format!("({})", parts.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::sampler;

    #[test]
    fn samplers_have_arguments() {
        assert_eq!(sampler(&[0x807B_FF00_0008_0049]), "");
        let linear = "(mag_filter::linear, min_filter::linear, mip_filter::linear)";
        assert_eq!(sampler(&[0x807B_FF00_0008_4A49]), linear);
        assert_eq!(sampler(&[0x807B_FF00_0008_8049]), "(coord::pixel)");
    }
}
