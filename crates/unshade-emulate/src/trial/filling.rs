//! Invented inputs: what buffers, textures and numbers of a trial run contain, and how many threads it has.
//!
//! Nothing says what a kernel expects, so there are many fillings, the usual ones first. Kernels that none of these suit are
//! for blocks of several dimensions, for one of a certain size, for larger arrays, or for 64-bit integers in memory.

use super::Field;
use crate::texture::Texture;

/// How numbers and buffers are filled, and the dimensions of the launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filling {
    /// What buffers contain.
    pub content: Content,
    /// The numbers in the parameters.
    pub numbers: Numbers,
    /// The value that a shuffle returns for an inactive lane.
    pub absent: u64,
    /// How far clocks advance with each instruction.
    pub ticks: u64,
    /// The bytes in local memory that were never written.
    pub unwritten: u8,
    /// The dimensions of blocks and of the grid.
    pub shape: Shape,
    /// Whether buffers are 64 times as large, and a run may take ten times as many instructions.
    pub is_large: bool,
}

/// What buffers contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Floats from 0.5 to 2.
    Floats,
    /// Integers below 16, of 32 bits.
    Integers,
    /// Integers below 16, of 64 bits.
    LongIntegers,
}

/// The numbers in the parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// All the same.
    Same(u32),
    /// From 3 to 25.
    Different,
}

/// The dimensions of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Threads per block, unless the kernel requires other numbers.
    pub threads: [u32; 3],
    /// Blocks in the grid.
    pub blocks: [u32; 3],
}

impl Shape {
    /// Returns the shape with two blocks in each dimension in which a block has several threads.
    const fn new(threads: [u32; 3]) -> Self {
        const fn blocks(threads: u32) -> u32 {
            if threads > 1 { 2 } else { 1 }
        }
        let [x, y, z] = threads;
        Self { threads, blocks: [blocks(x), blocks(y), blocks(z)] }
    }

    /// Returns the threads per block for a kernel with these bounds.
    pub(super) fn within(self, bounds: Option<[u32; 3]>) -> [u32; 3] {
        let count = |threads: [u32; 3]| threads.iter().fold(1_u32, |all, size| all.saturating_mul(*size));
        match bounds {
            // A bound on the number of threads alone is one on the first dimension.
            Some([most, 1, 1]) if self.threads[1] > 1 && count(self.threads) <= most => self.threads,
            Some(bounds) => bounds,
            None => self.threads,
        }
    }
}

/// The usual dimensions.
const USUAL: Shape = Shape::new([64, 1, 1]);

/// For kernels for one warp, and those that need more memory per thread than a buffer has for many.
const FEWER: [Shape; 2] = [Shape::new([32, 1, 1]), Shape::new([8, 1, 1])];

/// For kernels of several dimensions, and of blocks with a certain number of threads.
const OTHERS: [Shape; 5] = [
    Shape::new([16, 16, 1]),
    Shape::new([8, 8, 1]),
    Shape::new([4, 4, 4]),
    Shape::new([256, 1, 1]),
    Shape::new([32, 8, 1]),
];

const fn of_floats(numbers: Numbers) -> Filling {
    Filling {
        content: Content::Floats,
        numbers,
        absent: 0,
        ticks: 1,
        unwritten: 0,
        shape: USUAL,
        is_large: false,
    }
}

/// The usual fillings, in the order in which they are tried.
pub const FILLINGS: [Filling; 10] = {
    const fn both(numbers: Numbers) -> [Filling; 2] {
        [of_floats(numbers), Filling { content: Content::Integers, ..of_floats(numbers) }]
    }
    let [a, b] = both(Numbers::Different);
    let [c, d] = both(Numbers::Same(64));
    let [e, f] = both(Numbers::Same(4));
    let [g, h] = both(Numbers::Same(1));
    let [i, j] = both(Numbers::Same(2));
    [a, b, c, d, e, f, g, h, i, j]
};

/// Returns the fillings for kernels that none of [`FILLINGS`] suits: the same with other dimensions, then others.
pub fn further_fillings() -> impl Iterator<Item = Filling> {
    let shaped = |shape| FILLINGS.into_iter().map(move |filling| Filling { shape, ..filling });
    let small = FEWER.into_iter().chain(OTHERS).flat_map(shaped);
    let shapes = [USUAL].into_iter().chain(OTHERS);
    let large = shapes.flat_map(|shape| {
        let numbers = [Numbers::Same(16), Numbers::Different, Numbers::Same(64), Numbers::Same(0)];
        numbers.into_iter().flat_map(move |numbers| {
            let contents = [Content::Integers, Content::Floats, Content::LongIntegers];
            contents.into_iter().map(move |content| Filling {
                content,
                shape,
                is_large: true,
                ..of_floats(numbers)
            })
        })
    });
    small.chain(large)
}

/// The largest number of [`Numbers`]: each number up to it is the handle of a texture.
const TEXTURES: u32 = 64;

/// Returns the textures, whose handles are the numbers in parameters: texture objects need no inference.
pub(super) fn textures() -> Vec<Texture> {
    const SIZE: [u32; 3] = [8, 8, 4];
    let texels = SIZE.iter().product::<u32>() as usize;
    let texture = |number: u32| {
        let mut state = u64::from(number) << 32 | 1;
        let words: Vec<u32> =
            std::iter::repeat_with(|| word(&mut state, Content::Floats)).take(texels * 4).collect();
        Texture::words(SIZE, 4, &words)
    };
    (0..TEXTURES).map(texture).collect()
}

/// Returns the handle of the texture for a texture reference.
pub(super) fn texture_handle(name: &str) -> u64 {
    super::hash(name) % u64::from(TEXTURES) + 1
}

/// Returns the value of a field that is a number.
pub(super) fn number(field: &Field, index: usize, numbers: Numbers) -> u64 {
    let small = match numbers {
        Numbers::Same(number) => number,
        Numbers::Different => 3 + (index as u32 + 1) * 7 % 23,
    };
    match (field.is_float, field.size) {
        (true, 8) => f64::from(small).to_bits(),
        (true, _) => f32::to_bits(small as f32).into(),
        _ => small.into(),
    }
}

/// Generates the contents of a buffer.
pub(super) fn buffer(state: &mut u64, content: Content, size: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(size);
    while bytes.len() < size {
        bytes.extend(word(state, content).to_le_bytes());
        if content == Content::LongIntegers {
            bytes.extend([0; 4]);
        }
    }
    bytes
}

fn word(state: &mut u64, content: Content) -> u32 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    let bits = (*state >> 32) as u32;
    match content {
        Content::Floats => 0x3f00_0000 | bits & 0x00ff_ffff,
        Content::Integers | Content::LongIntegers => bits & 15,
    }
}
