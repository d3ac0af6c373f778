//! Textures and surfaces: the p-code steps of an instruction as one access.
//!
//! A texture instruction refers to the word of constant bank 0 that holds the handle, which belongs to a reference (a
//! relocation has its name) or to a parameter; or to none, and the handle is in its first register. The layer, the
//! coordinates and the level of detail follow.
//!
//! Kepler computes the addresses of surface elements with dedicated instructions, from a descriptor of eight words:
//! base (in units of 256 bytes), format, and the bounds and strides:
//!
//! | offset | word |
//! |---|---|
//! | 0x00 | base |
//! | 0x04 | format |
//! | 0x08 | x |
//! | 0x0c | pitch |
//! | 0x10 | y |
//! | 0x14 | layer stride |
//! | 0x18 | z, or layer |
//! | 0x1c | z stride |
//!
//! For a reference, the descriptor is in constant bank 0; the handle of an object is its address. The order was
//! determined from the code of `ptxas` 11.2 for PTX's `suld` and `sust`. The address computation is traced back to
//! the coordinates.

use super::banks::PARAMETERS;
use super::lifter::{CallResult, Lifter, PendingImages, SurfaceAccess};
use crate::ir::{
    BlockId, Boundary, Function, Image, ImageAccess, ImageId, ImageShape, Intrinsic, MemoryObject,
    NO_ADDRESS, ObjectSpace, Op, Space, SymbolId, ValueId,
};

/// Texture shapes, by the number of the modifier `tex_target`; volumes have no layers.
const SHAPES: [Option<ImageShape>; 8] = [
    Some(ImageShape::Line),
    Some(ImageShape::LineArray),
    Some(ImageShape::Plane),
    Some(ImageShape::PlaneArray),
    Some(ImageShape::Volume),
    None,
    Some(ImageShape::Cube),
    Some(ImageShape::CubeArray),
];

/// Offsets of words in a surface descriptor.
const X: u64 = 8;
const Y: u64 = 0x10;
const Z: u64 = 0x18;

impl Lifter<'_> {
    /// Lifts a p-code function for textures or surfaces.
    pub(super) fn image_function(&mut self, name: &str, inputs: &[ValueId]) -> CallResult {
        match name {
            "texture_coordinates" => self.image.sources = inputs.to_vec(),
            "texture_arguments" => self.image.sources.extend_from_slice(inputs),
            "surface_data" => self.image.data = inputs.to_vec(),
            "texture_sample" | "texture_fetch" | "texture_gather" => {
                self.image.read = self.texture(name, inputs);
                if self.image.read.is_none() {
                    return CallResult::Unsupported;
                }
            }
            "surface_load" => self.surface(inputs, false),
            "surface_store" => self.surface(inputs, true),
            "texture_result" | "surface_result" => {
                let index = usize::try_from(self.known(inputs[0])).unwrap_or(usize::MAX);
                let Some((read, channels)) = &self.image.read else { return CallResult::Unsupported };
                let (read, channel) = (*read, channels.get(index).copied().unwrap_or(0));
                return CallResult::Value(self.make(Op::Result(channel), 32, &[read]));
            }
            _ => {
                self.image.read = None;
                return CallResult::Unsupported;
            }
        }
        CallResult::Value(ValueId::NONE)
    }

    /// Lifts a texture read; returns it and the channel of each of its results. `None` if CUDA has no function for
    /// it.
    fn texture(&mut self, name: &str, inputs: &[ValueId]) -> Option<(ValueId, Vec<u8>)> {
        let numbers: Vec<u64> = inputs.iter().map(|input| self.known(*input)).collect();
        let &[slot, target, detail, offset, compare, last, mask] = numbers.as_slice() else { return None };
        // Texel offsets, samples, depth comparisons.
        if offset != 0 || compare != 0 || name == "texture_fetch" && last != 0 {
            return None;
        }
        let shape = (*SHAPES.get(usize::try_from(target).ok()?)?)?;
        let mut sources = std::mem::take(&mut self.image.sources).into_iter();
        let (reference, handle) = self.texture_named(slot, &mut sources)?;
        let layer = if shape.is_layered() { sources.next() } else { None };
        let mut list: Vec<ValueId> =
            handle.into_iter().chain(sources.by_ref().take(shape.dimensions())).collect();
        list.extend(layer);
        let access = match (name, shape, detail) {
            ("texture_sample", _, 0) => ImageAccess::Sample,
            ("texture_sample", _, 1) => {
                list.push(self.number(0, 32));
                ImageAccess::SampleLevel
            }
            ("texture_sample", _, 3) => {
                list.push(sources.next()?);
                ImageAccess::SampleLevel
            }
            ("texture_fetch", ImageShape::Line, 0) => ImageAccess::Fetch,
            ("texture_gather", ImageShape::Plane, component) => {
                list.push(self.number(component, 32));
                ImageAccess::Gather
            }
            _ => return None,
        };
        let channels: Vec<u8> = (0..4).filter(|channel| mask >> channel & 1 != 0).collect();
        let words = if name == "texture_gather" { 4 } else { words(*channels.last()?) };
        let image =
            Image { access, shape, reference, words, bits: 32, is_signed: false, boundary: Boundary::Trap };
        let index = self.add_image(image);
        Some((self.make(Op::ImageRead(index), 128, &list), channels))
    }

    /// Returns the reference whose handle is in a word of constant bank 0, or the handle of an object: a parameter,
    /// or the first register.
    fn texture_named(
        &mut self,
        slot: u64,
        sources: &mut impl Iterator<Item = ValueId>,
    ) -> Option<(Option<SymbolId>, Option<ValueId>)> {
        if slot == 0 {
            let low = sources.next()?;
            return Some((None, Some(whole(&mut self.builder.function, low))));
        }
        let offset = slot << 2;
        let found = self
            .code
            .variables
            .iter()
            .find(|found| found.space == ObjectSpace::Texture && found.offset == offset);
        if let Some(found) = found {
            return Some((Some(self.symbol(&found.name)), None));
        }
        // The parameters of a device function are in registers.
        let offset = u32::try_from(offset.checked_sub(PARAMETERS)?).ok().filter(|_| self.is_kernel)?;
        Some((None, Some(self.leaf(Op::Parameter(offset), 64))))
    }

    fn add_image(&mut self, image: Image) -> ImageId {
        self.builder.function.images.push(image)
    }

    /// Lifts a surface access; its address is traced later.
    fn surface(&mut self, inputs: &[ValueId], is_write: bool) {
        /// Number of words, bits, and whether they are signed; by the number of the modifier `su_size`.
        const SIZES: [(u8, u8, bool); 8] = [
            (1, 8, false),
            (1, 8, true),
            (1, 16, false),
            (1, 16, true),
            (1, 32, false),
            (2, 32, false),
            (4, 32, false),
            (0, 32, false),
        ];
        let size = usize::try_from(self.known(inputs[3])).unwrap_or(7).min(7);
        let (words, bits, is_signed) = SIZES[size];
        // An access that was clamped cannot be out of bounds.
        let is_clamped = self.builder.function.number(inputs[2]) == Some(0);
        let boundary = match self.known(inputs[4]) {
            _ if is_clamped => Boundary::Clamp,
            0 => Boundary::Zero,
            3 => Boundary::Clamp,
            _ => Boundary::Trap,
        };
        let (access, shape) = (ImageAccess::Surface, ImageShape::Line);
        let image = Image { access, shape, reference: None, words, bits, is_signed, boundary };
        let index = self.add_image(image);
        let mut list = vec![inputs[0]];
        let op = if is_write {
            list.extend(self.image.data.iter().take(usize::from(words)));
            Op::ImageWrite(index)
        } else {
            Op::ImageRead(index)
        };
        let id = self.make(op, if is_write { 0 } else { 128 }, &list);
        let note = self.instruction_note();
        self.image.accesses.push(SurfaceAccess { id, note });
        if !is_write {
            self.image.read = Some((id, vec![0, 1, 2, 3]));
        }
    }

    /// Traces the addresses of surfaces, and unifies the number of words of texture references.
    pub(super) fn settle_images(
        function: &mut Function,
        pending: &PendingImages,
        variables: &[MemoryObject<'_>],
    ) {
        for access in &pending.accesses {
            let op = function.op(access.id);
            let (Op::ImageRead(index) | Op::ImageWrite(index)) = op else { continue };
            let Some(element) = Element::new(function, function.input(access.id, 0), variables) else {
                function.set_op(access.id, Op::Unlifted(access.note), &[]);
                function.values[access.id].width = 0;
                continue;
            };
            let values: Vec<ValueId> =
                (1..function.inputs(access.id).len()).map(|index| function.input(access.id, index)).collect();
            element.rewrite(function, index, access.id, &values);
        }
        for id in function.values.keys() {
            // The results of an access that is printed as a comment.
            if matches!(function.op(id), Op::Result(_))
                && matches!(function.op(function.input(id, 0)), Op::Unlifted(_))
            {
                function.set_op(id, Op::Undefined, &[]);
            }
        }
        for index in function.images.keys() {
            let same = function.images.iter().filter(|image| {
                image.reference.is_some()
                    && image.reference == function.images[index].reference
                    && !image.is_surface()
            });
            if let Some(words) = same.map(|image| image.words).max() {
                function.images[index].words = words;
            }
        }
    }
}

/// An element of a surface.
struct Element {
    /// The surface.
    surface: Surface,
    /// The coordinates x, y and, for volumes, z; then the layer.
    coordinates: Vec<(ValueId, i64)>,
    is_layered: bool,
}

/// The name of a reference, or the handle of an object.
enum Surface {
    Named(String),
    Object(ValueId),
}

impl Element {
    /// Traces the element at an address: the lower half merges packed coordinates, the upper half adds the base.
    fn new(function: &Function, address: ValueId, variables: &[MemoryObject<'_>]) -> Option<Self> {
        let (high, low) = match function.op(address) {
            Op::Concat => (function.input(address, 0), function.input(address, 1)),
            _ => return None,
        };
        let merged = called(function, low, Intrinsic::SurfaceBitfield)?;
        let (sum, layer) = match called(function, high, Intrinsic::SurfaceAddress) {
            Some(_) => (high, None),
            // The address of the layer is added to it.
            None => {
                let high = stripped(function, high);
                let (a, b) = (function.input(high, 0), function.input(high, 1));
                let (a, b) = (stripped(function, a), stripped(function, b));
                let is_sum = |id| called(function, id, Intrinsic::SurfaceAddress).is_some();
                match function.op(high) {
                    Op::Add if is_sum(a) => (a, Some(b)),
                    Op::Add if is_sum(b) => (b, Some(a)),
                    _ => return None,
                }
            }
        };
        let base = DescriptorWord::new(function, function.input(sum, 2))?;
        let mut coordinates = Vec::new();
        let axes = [Some(X), Some(Y), (function.number(function.input(merged, 3)) == Some(1)).then_some(Z)];
        for (index, axis) in axes.into_iter().enumerate() {
            let Some(axis) = axis else { break };
            let packed = function.input(merged, index);
            if index == 1 && function.number(packed) == Some(0) {
                break;
            }
            coordinates.push(clamped(function, packed, &base.at(axis)?)?);
        }
        if let Some(layer) = layer {
            coordinates.push(inside(function, layer, &base.at(Z)?)?);
        }
        let surface = match base.object {
            Some(low) => Surface::Object(low),
            None => {
                let offset = base.offset.checked_add(PARAMETERS)?;
                let is_it =
                    |found: &&MemoryObject<'_>| found.space == ObjectSpace::Surface && found.offset == offset;
                Surface::Named(variables.iter().find(is_it)?.name.clone().into_owned())
            }
        };
        Some(Self { surface, coordinates, is_layered: layer.is_some() })
    }

    /// Turns the access into one by reference or handle, and coordinates.
    fn rewrite(self, function: &mut Function, index: ImageId, id: ValueId, values: &[ValueId]) {
        let shape = match (self.coordinates.len(), self.is_layered) {
            (1, _) => ImageShape::Line,
            (2, false) => ImageShape::Plane,
            (2, true) => ImageShape::LineArray,
            (_, false) => ImageShape::Volume,
            (_, true) => ImageShape::PlaneArray,
        };
        let mut inputs = Vec::new();
        let reference = match self.surface {
            Surface::Object(low) => {
                inputs.push(whole(function, low));
                None
            }
            Surface::Named(name) => Some(function.symbol(&name)),
        };
        let (block, address) = (function.values[id].block, function.values[id].address);
        for &(coordinate, added) in &self.coordinates {
            inputs.push(if added == 0 {
                coordinate
            } else {
                let added = function.constant(added.cast_unsigned(), 32);
                function.raw(Op::Add, 32, block, address, &[coordinate, added])
            });
        }
        inputs.extend_from_slice(values);
        function.set_inputs(id, &inputs);
        let image = &mut function.images[index];
        image.reference = reference;
        image.shape = shape;
    }
}

/// A word of a descriptor: at an offset from the parameters in constant bank 0, or from a handle in memory.
#[derive(Clone, Copy, PartialEq, Eq)]
struct DescriptorWord {
    object: Option<ValueId>,
    offset: u64,
}

impl DescriptorWord {
    fn new(function: &Function, id: ValueId) -> Option<Self> {
        match function.op(id) {
            Op::Parameter(offset) => Some(Self { object: None, offset: u64::from(offset) }),
            Op::Load(Space::Generic) => {
                let address = function.input(id, 0);
                let low = if function.op(address) == Op::Concat {
                    function.input(address, 1)
                } else {
                    return None;
                };
                let offset = function.number(function.input(low, 1));
                Some(match (function.op(low), offset) {
                    (Op::Add, Some(offset)) => Self { object: Some(function.input(low, 0)), offset },
                    _ => Self { object: Some(low), offset: 0 },
                })
            }
            _ => None,
        }
    }

    /// Returns the word at an additional offset.
    fn at(&self, offset: u64) -> Option<Self> {
        Some(Self { object: self.object, offset: self.offset.checked_add(offset)? })
    }
}

/// Returns the value if it is an intrinsic.
fn called(function: &Function, id: ValueId, call: Intrinsic) -> Option<ValueId> {
    (function.op(id) == Op::Call(call)).then_some(id)
}

/// Returns the coordinate that was clamped by a word of a descriptor, and its added constant.
fn clamped(function: &Function, packed: ValueId, by: &DescriptorWord) -> Option<(ValueId, i64)> {
    let clamp = called(function, packed, Intrinsic::SurfaceClamp)?;
    let added = function.number(function.input(clamp, 2))? as u32;
    (DescriptorWord::new(function, function.input(clamp, 1))? == *by)
        .then(|| (function.input(clamp, 0), i64::from(added.cast_signed())))
}

/// Returns a value without extensions around it.
fn stripped(function: &Function, id: ValueId) -> ValueId {
    let mut id = id;
    while id != ValueId::NONE && matches!(function.op(id), Op::Low | Op::ZeroExtend) {
        id = function.input(id, 0);
    }
    id
}

/// Finds a clamped coordinate anywhere in a product.
fn inside(function: &Function, product: ValueId, by: &DescriptorWord) -> Option<(ValueId, i64)> {
    let mut list = vec![product];
    for _ in 0..16 {
        let id = list.pop()?;
        if let Some(found) = clamped(function, id, by) {
            return Some(found);
        }
        if matches!(function.op(id), Op::Mul | Op::And | Op::ZeroExtend | Op::Low) {
            list.extend((0..function.inputs(id).len()).map(|index| function.input(id, index)));
        }
    }
    None
}

/// Returns the 64-bit value that has this lower half.
fn whole(function: &mut Function, low: ValueId) -> ValueId {
    let low = function.resolve(low);
    match function.op(low) {
        Op::Parameter(offset) => function.raw(Op::Parameter(offset), 64, BlockId::ENTRY, NO_ADDRESS, &[]),
        Op::Low if function.width(function.input(low, 0)) == 64 => function.input(low, 0),
        _ => {
            let block = function.values[low].block;
            function.raw(Op::ZeroExtend, 64, block, NO_ADDRESS, &[low])
        }
    }
}

/// Returns the number of words of a vector that includes a channel.
fn words(last: u8) -> u8 {
    match last {
        0 => 1,
        1 => 2,
        _ => 4,
    }
}
