//! The states of CUDA's random number generators (cuRAND), which kernels keep in memory.
//!
//! Members are those of `curand_kernel.h` of CUDA 11.2. The constants are those of the generators: the step of the counter of
//! XORWOW (Marsaglia, "Xorshift RNGs", 2003) and of the seeds that `curand_init` stores; multipliers of MRG32k3a
//! (L'Ecuyer, "Good parameters and implementations for combined multiple recursive random number generators", 1999);
//! multipliers of Philox (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011). Sobol's generators have
//! none.

use crate::layout::known::{KnownMember, KnownStructure, KnownType};
use crate::types::Type;

const UNSIGNED: Type = Type::Integer(32, false);
const LONG: Type = Type::Integer(64, false);
const INT: Type = Type::Integer(32, true);

/// The states.
pub static STATES: &[KnownStructure] = &[
    KnownStructure {
        name: "curandStateXORWOW",
        size: 48,
        members: &[
            number("d", 0, UNSIGNED),
            array("v", 4, UNSIGNED, 5),
            number("boxmuller_flag", 24, INT),
            number("boxmuller_flag_double", 28, INT),
            number("boxmuller_extra", 32, Type::Float(32)),
            number("boxmuller_extra_double", 40, Type::Float(64)),
        ],
        constants: &[362_437, 5_783_321],
    },
    KnownStructure {
        name: "curandStateMRG32k3a",
        size: 48,
        members: &[
            array("s1", 0, UNSIGNED, 3),
            array("s2", 12, UNSIGNED, 3),
            number("boxmuller_flag", 24, INT),
            number("boxmuller_flag_double", 28, INT),
            number("boxmuller_extra", 32, Type::Float(32)),
            number("boxmuller_extra_double", 40, Type::Float(64)),
        ],
        constants: &[1_403_580, 527_612],
    },
    KnownStructure {
        name: "curandStatePhilox4_32_10",
        size: 64,
        members: &[
            vector("ctr", 0, 4),
            vector("output", 16, 4),
            vector("key", 32, 2),
            number("STATE", 40, UNSIGNED),
            number("boxmuller_flag", 44, INT),
            number("boxmuller_flag_double", 48, INT),
            number("boxmuller_extra", 52, Type::Float(32)),
            number("boxmuller_extra_double", 56, Type::Float(64)),
        ],
        constants: &[0xd251_1f53, 0xcd9e_8d57],
    },
    KnownStructure { name: "curandStateSobol32", size: 140, members: SOBOL32, constants: &[] },
    KnownStructure { name: "curandStateScrambledSobol32", size: 140, members: SOBOL32, constants: &[] },
    KnownStructure { name: "curandStateSobol64", size: 536, members: SOBOL64, constants: &[] },
    KnownStructure { name: "curandStateScrambledSobol64", size: 536, members: SOBOL64, constants: &[] },
];

const SOBOL32: &[KnownMember] = &[
    number("i", 0, UNSIGNED),
    number("x", 4, UNSIGNED),
    number("c", 8, UNSIGNED),
    array("direction_vectors", 12, UNSIGNED, 32),
];

const SOBOL64: &[KnownMember] = &[
    number("i", 0, LONG),
    number("x", 8, LONG),
    number("c", 16, LONG),
    array("direction_vectors", 24, LONG, 64),
];

const fn number(name: &'static str, offset: u32, ty: Type) -> KnownMember {
    KnownMember { name, offset, ty: KnownType::Number(ty), count: 0 }
}

const fn array(name: &'static str, offset: u32, ty: Type, count: u32) -> KnownMember {
    KnownMember { name, offset, ty: KnownType::Number(ty), count }
}

/// Returns a member that is a vector of unsigned numbers.
const fn vector(name: &'static str, offset: u32, words: u32) -> KnownMember {
    KnownMember { name, offset, ty: KnownType::Vector(UNSIGNED, words), count: 0 }
}
