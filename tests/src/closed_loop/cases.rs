//! The table of kernels, and their random inputs.

/// A scalar type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// An integer: its size in bytes, and whether it is signed.
    Integer(usize, bool),
    /// Single precision.
    Single,
    /// Double precision.
    Double,
}

impl Scalar {
    fn read(text: &str) -> Option<Self> {
        Some(match text {
            "f32" => Self::Single,
            "f64" => Self::Double,
            _ => {
                let (sign, bits) = text.split_at_checked(1)?;
                let bytes = bits.parse::<usize>().ok()? / 8;
                (bytes.is_power_of_two() && bytes <= 8).then_some(Self::Integer(bytes, sign == "i"))?
            }
        })
    }

    /// Returns the size in bytes.
    pub fn size(self) -> usize {
        match self {
            Self::Integer(bytes, _) => bytes,
            Self::Single => 4,
            Self::Double => 8,
        }
    }
}

/// The error in units in the last place that is allowed in some or all elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tolerance {
    /// The number of units.
    pub units: u64,
    /// The elements as (remainder, modulus) of their indices; all elements if absent.
    pub elements: Option<(usize, usize)>,
}

/// A parameter of a kernel, or a global variable.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The types of the members of an element: one, or those of a structure.
    pub members: Vec<Scalar>,
    /// The number of elements of a buffer; none if passed by value.
    pub count: Option<usize>,
    /// The shape of a texture or surface.
    pub image: Option<ImageShape>,
    range: Option<(f64, f64)>,
    fixed: Option<f64>,
    /// The allowed errors.
    pub tolerances: Vec<Tolerance>,
}

/// The shape of a texture or surface whose elements have the type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageShape {
    /// The number of elements along x, y and z.
    pub size: [u32; 3],
    /// Whether it is a surface, whose contents are compared after a run.
    pub is_surface: bool,
}

/// A kernel and its launch configuration.
#[derive(Clone, Debug)]
pub struct Case {
    /// The base name of the source and the cubin.
    pub file: String,
    /// The name of the kernel in the cubin.
    pub kernel: String,
    /// The C++ expression for the kernel.
    pub expression: String,
    /// The number of blocks in x, y and z.
    pub blocks: [u32; 3],
    /// The number of threads in x, y and z.
    pub threads: [u32; 3],
    /// The size of dynamic shared memory in bytes.
    pub shared: u32,
    /// The parameters.
    pub parameters: Vec<Parameter>,
    /// Global variables that are set before a run and, unless constant, compared after it.
    pub variables: Vec<(String, Parameter)>,
}

/// The inputs of a case: the bytes of each parameter and variable.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// The values of the parameters.
    pub parameters: Vec<Vec<u8>>,
    /// The values of the variables.
    pub variables: Vec<Vec<u8>>,
}

/// The results of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Results {
    /// The contents of the buffers among the parameters.
    pub buffers: Vec<Vec<u8>>,
    /// The contents of the variables.
    pub variables: Vec<Vec<u8>>,
    /// The output of `printf`.
    pub printed: Vec<u8>,
}

/// Parses a table of cases.
///
/// # Panics
/// If a line is malformed: the table is part of the tests.
pub fn read(table: &str) -> Vec<Case> {
    let lines = table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| case(line).unwrap_or_else(|| panic!("can't read {line:?}"))).collect()
}

/// Returns all cases for our kernels.
pub fn all() -> Vec<Case> {
    read(&std::fs::read_to_string(super::folder().join("cases.txt")).expect("the table is a fixture"))
}

fn case(line: &str) -> Option<Case> {
    let mut words = line.split_whitespace();
    let file = words.next()?.to_owned();
    let kernel = words.next()?;
    let (kernel, expression) = kernel.split_once('=').unwrap_or((kernel, kernel));
    let blocks = sizes(words.next()?)?;
    let threads = words.next()?;
    let (threads, shared) = threads.split_once('+').unwrap_or((threads, "0"));
    let mut case = Case {
        file,
        kernel: kernel.to_owned(),
        expression: expression.to_owned(),
        blocks,
        threads: sizes(threads)?,
        shared: shared.parse().ok()?,
        parameters: Vec::new(),
        variables: Vec::new(),
    };
    for word in words {
        match word.split_once(':') {
            Some((name, rest)) => case.variables.push((name.to_owned(), parameter(rest)?)),
            None => case.parameters.push(parameter(word)?),
        }
    }
    Some(case)
}

fn sizes(text: &str) -> Option<[u32; 3]> {
    let mut sizes = [1; 3];
    for (size, word) in sizes.iter_mut().zip(text.split('x')) {
        *size = word.parse().ok()?;
    }
    Some(sizes)
}

fn parameter(text: &str) -> Option<Parameter> {
    let mut parts = text.split('~');
    let head = parts.next()?;
    let tolerances = parts.map(tolerance).collect::<Option<Vec<_>>>()?;
    let is_image = head.starts_with(['@', '&']);
    let is_surface = head.starts_with('&');
    let head = head.trim_start_matches(['@', '&']);
    let (head, count, image) = match head.rsplit_once('*') {
        Some((head, size)) if is_image => (head, None, Some(ImageShape { size: sizes(size)?, is_surface })),
        Some((head, count)) => (head, Some(count.parse().ok()?), None),
        None => (head, None, None),
    };
    let (head, fixed) = match head.split_once('=') {
        Some((head, value)) => (head, Some(value.parse().ok()?)),
        None => (head, None),
    };
    let (types, range) = match head.split_once('{') {
        Some((types, range)) => {
            let (low, high) = range.strip_suffix('}')?.split_once("..")?;
            (types, Some((low.parse().ok()?, high.parse().ok()?)))
        }
        None => (head, None),
    };
    let members = types.split('.').map(Scalar::read).collect::<Option<Vec<_>>>()?;
    Some(Parameter { members, count, image, range, fixed, tolerances })
}

fn tolerance(text: &str) -> Option<Tolerance> {
    let (units, elements) = match text.split_once('@') {
        Some((units, elements)) => {
            let (remainder, modulus) = elements.split_once('/')?;
            (units, Some((remainder.parse().ok()?, modulus.parse().ok()?)))
        }
        None => (text, None),
    };
    let units = if units == "any" { super::compare::ANY } else { units.parse().ok()? };
    Some(Tolerance { units, elements })
}

/// A reproducible random number generator.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Creates a generator from a seed.
    pub fn new(seed: u64) -> Self {
        let mut random = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d);
        random.bits();
        random
    }

    /// Returns 64 random bits (xorshift*).
    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Returns a number from 0 to 1, excluding 1.
    fn fraction(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

impl Parameter {
    /// Generates the bytes of a value, or of a buffer of values.
    pub fn bytes(&self, random: &mut Random) -> Vec<u8> {
        let mut bytes = Vec::new();
        let elements = self.image.map(|image| image.size.iter().product::<u32>() as usize);
        for _ in 0..elements.or(self.count).unwrap_or(1) {
            for member in &self.members {
                bytes.extend(self.number(*member, random));
            }
        }
        bytes
    }

    fn number(&self, scalar: Scalar, random: &mut Random) -> Vec<u8> {
        if let Some(value) = self.fixed {
            return encode(scalar, value, value as i64 as u64);
        }
        let whole = matches!(scalar, Scalar::Integer(..));
        match self.range {
            Some((low, high)) if whole => {
                let count = (high as i64).wrapping_sub(low as i64) as u64 + 1;
                encode(scalar, 0.0, (low as i64 as u64).wrapping_add(random.bits() % count))
            }
            Some((low, high)) => encode(scalar, low + random.fraction() * (high - low), 0),
            // Integers of all kinds: small, arbitrary, and at the limits of their range.
            None if whole => {
                let value = match random.bits() % 8 {
                    0..=2 => (random.bits() % 2001).wrapping_sub(1000),
                    3 => 1_u64.rotate_right((random.bits() % 64) as u32),
                    4 => (1_u64 << (random.bits() % 64)).wrapping_sub(1),
                    _ => random.bits(),
                };
                encode(scalar, 0.0, value)
            }
            None => encode(scalar, random.fraction() * 200.0 - 100.0, 0),
        }
    }
}

fn encode(scalar: Scalar, float: f64, integer: u64) -> Vec<u8> {
    match scalar {
        Scalar::Integer(bytes, _) => integer.to_le_bytes()[..bytes].to_vec(),
        Scalar::Single => (float as f32).to_le_bytes().to_vec(),
        Scalar::Double => float.to_le_bytes().to_vec(),
    }
}

impl Case {
    /// Generates the inputs for a round.
    pub fn inputs(&self, round: u64) -> Inputs {
        let name =
            self.kernel.bytes().fold(round + 1, |seed, byte| seed.wrapping_mul(31).wrapping_add(byte.into()));
        let mut random = Random::new(name);
        Inputs {
            parameters: self.parameters.iter().map(|parameter| parameter.bytes(&mut random)).collect(),
            variables: self.variables.iter().map(|variable| variable.1.bytes(&mut random)).collect(),
        }
    }
}
