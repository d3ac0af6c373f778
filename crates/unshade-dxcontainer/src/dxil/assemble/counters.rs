//! Counts the instructions of a module by purpose, as `dx.counters` in DXC's STAT has them.
//!
//! Every instruction counts for `insts`. An operation of DXIL or an instruction of LLVM counts for the purposes in a
//! table; branches with a condition, and loads and stores of elements of arrays, count by themselves. Bytes are those
//! of arrays in local, static and group shared variables. The table is that of DXC 1.10; older compilers did not count
//! operations that were new to them.
//!
//! Source: DXC's `DxilCounters.cpp`; the counters in real STATs.

use super::super::DxilModule;
use super::operation::{Operations, is_operation};
use super::{allocation_size, data_layout};
use alloc::vec::Vec;
use unshade_core::Result;
use unshade_llvm::constants::Constant;
use unshade_llvm::data_layout::DataLayout;
use unshade_llvm::global::Linkage;
use unshade_llvm::module::Module;
use unshade_llvm::types::Type;
use unshade_llvm::uses::Callee;
use unshade_llvm::value::ValueKind;
use unshade_llvm::{Instruction, Opcode, TypeId, ValueId};

/// The names of the counters, sorted.
const NAMES: [&str; 24] = [
    "array_local_bytes",
    "array_local_ldst",
    "array_static_bytes",
    "array_static_ldst",
    "array_tgsm_bytes",
    "array_tgsm_ldst",
    "atomic",
    "barrier",
    "branches",
    "fence",
    "floats",
    "gs_cut",
    "gs_emit",
    "insts",
    "ints",
    "sig_ld",
    "sig_st",
    "tex_bias",
    "tex_cmp",
    "tex_grad",
    "tex_load",
    "tex_norm",
    "tex_store",
    "uints",
];

/// Operations of DXIL, by counter: first and last number.
const OPERATIONS: &[(&str, &[(u32, u32)])] = &[
    ("atomic", &[(70, 70), (78, 79)]),
    ("barrier", &[(80, 80), (244, 246)]),
    ("floats", &[(6, 29), (35, 36), (47, 47), (54, 56), (162, 162), (311, 311)]),
    ("gs_cut", &[(98, 99)]),
    ("gs_emit", &[(97, 97), (99, 99)]),
    ("ints", &[(37, 38), (41, 41), (48, 48), (51, 51), (163, 163), (309, 310)]),
    ("sig_ld", &[(4, 4), (103, 104)]),
    ("sig_st", &[(5, 5), (106, 106), (171, 172)]),
    ("tex_bias", &[(61, 61)]),
    ("tex_cmp", &[(64, 65), (74, 74), (224, 224), (254, 255)]),
    ("tex_grad", &[(63, 63)]),
    ("tex_load", &[(66, 66), (68, 68), (139, 139), (303, 303)]),
    ("tex_norm", &[(60, 60), (62, 62), (73, 73), (223, 223)]),
    ("tex_store", &[(67, 67), (69, 69), (140, 140), (174, 177), (225, 225), (304, 304)]),
    ("uints", &[(30, 34), (39, 40), (42, 45), (49, 50), (52, 53), (164, 164), (309, 310)]),
];

/// Instructions of LLVM, by counter.
const INSTRUCTIONS: &[(&str, &[Opcode])] = &[
    ("atomic", &[Opcode::CmpXchg, Opcode::AtomicRmw]),
    ("fence", &[Opcode::Fence]),
    (
        "floats",
        &[
            Opcode::FAdd,
            Opcode::FSub,
            Opcode::FMul,
            Opcode::FDiv,
            Opcode::FRem,
            Opcode::FpToUi,
            Opcode::FpToSi,
            Opcode::UiToFp,
            Opcode::SiToFp,
            Opcode::FpTrunc,
            Opcode::FpExt,
            Opcode::FCmp,
        ],
    ),
    (
        "ints",
        &[
            Opcode::Add,
            Opcode::Sub,
            Opcode::Mul,
            Opcode::SDiv,
            Opcode::SRem,
            Opcode::AShr,
            Opcode::Trunc,
            Opcode::SExt,
            Opcode::ICmp,
        ],
    ),
    (
        "uints",
        &[
            Opcode::UDiv,
            Opcode::URem,
            Opcode::Shl,
            Opcode::LShr,
            Opcode::And,
            Opcode::Or,
            Opcode::Xor,
            Opcode::ZExt,
        ],
    ),
];

/// Maximum number of casts and element addresses between a pointer and its variable.
const MAX_STEPS: usize = 64;

/// Where an array is.
#[derive(Clone, Copy)]
enum Place {
    Local,
    Static,
    GroupShared,
}

impl Place {
    fn bytes(self) -> &'static str {
        match self {
            Self::Local => "array_local_bytes",
            Self::Static => "array_static_bytes",
            Self::GroupShared => "array_tgsm_bytes",
        }
    }

    fn accesses(self) -> &'static str {
        match self {
            Self::Local => "array_local_ldst",
            Self::Static => "array_static_ldst",
            Self::GroupShared => "array_tgsm_ldst",
        }
    }
}

/// Counts; those that are zero are left out.
pub(super) fn count(module: &Module<'_>, dxil: &DxilModule) -> Result<Vec<(&'static str, u32)>> {
    let mut counters = Counters { counts: [0; NAMES.len()], layout: data_layout(module) };
    for (index, global) in module.globals.iter().enumerate() {
        if let Some(place) = place_of_global(module, index) {
            let size = allocation_size(module, &counters.layout, global.symbol.ty);
            counters.add(place.bytes(), size);
        }
    }
    for (index, _) in module.functions.iter().enumerate().filter(|(_, function)| !function.declaration) {
        let body = module.body(index)?;
        let operations = Operations { module, dxil, body: &body };
        for instruction in &body.instructions {
            counters.instruction(&operations, instruction);
        }
    }
    Ok(NAMES.into_iter().zip(counters.counts).filter(|(_, count)| *count > 0).collect())
}

fn is_array(module: &Module<'_>, ty: TypeId) -> bool {
    matches!(module.types.get(ty), Type::Array { .. })
}

/// Returns where a global is, if it is an array that the program may write.
fn place_of_global(module: &Module<'_>, index: usize) -> Option<Place> {
    let global = module.globals.get(index).filter(|global| is_array(module, global.symbol.ty))?;
    let local = global.symbol.linkage == Linkage::Internal && global.symbol.address_space == 0;
    match global.symbol.address_space {
        super::GROUP_SHARED => Some(Place::GroupShared),
        _ if local && !global.constant => Some(Place::Static),
        _ => None,
    }
}

struct Counters {
    counts: [u32; NAMES.len()],
    layout: DataLayout,
}

impl Counters {
    fn add(&mut self, name: &str, count: u32) {
        let at = NAMES.iter().position(|known| *known == name);
        if let Some(counter) = at.and_then(|at| self.counts.get_mut(at)) {
            *counter = counter.saturating_add(count);
        }
    }

    fn instruction(&mut self, operations: &Operations<'_>, instruction: &Instruction) {
        let Operations { module, body, .. } = *operations;
        self.add("insts", 1);
        match instruction.opcode {
            Opcode::Alloca => {
                if let Some(ty) = module.types.pointee(instruction.ty).filter(|ty| is_array(module, *ty)) {
                    self.add(Place::Local.bytes(), allocation_size(module, &self.layout, ty));
                }
            }
            Opcode::Call => {
                let callee = Callee::of(module, body, instruction);
                let Some(Callee::Function(callee)) = callee else { return };
                let function = module.functions.get(callee as usize);
                if function.is_some_and(|function| is_operation(&function.symbol.name)) {
                    self.operation(operations.opcode(instruction));
                }
            }
            Opcode::Load | Opcode::Store => {
                let at = usize::from(instruction.opcode == Opcode::Store);
                let pointer = body.operands_of(instruction).get(at).and_then(|operand| operand.as_value());
                if let Some(place) = pointer.and_then(|pointer| place(operations, pointer)) {
                    self.add(place.accesses(), 1);
                }
            }
            Opcode::Br => self.add("branches", u32::from(body.operands_of(instruction).len() > 1)),
            opcode => {
                for (name, _) in INSTRUCTIONS.iter().filter(|(_, opcodes)| opcodes.contains(&opcode)) {
                    self.add(name, 1);
                }
            }
        }
    }

    fn operation(&mut self, opcode: Option<u32>) {
        let Some(opcode) = opcode else { return };
        let counts =
            |ranges: &[(u32, u32)]| ranges.iter().any(|(first, last)| (*first..=*last).contains(&opcode));
        for (name, _) in OPERATIONS.iter().filter(|(_, ranges)| counts(ranges)) {
            self.add(name, 1);
        }
    }
}

/// Returns where the variable of a pointer is, if it is an array.
fn place(operations: &Operations<'_>, mut pointer: ValueId) -> Option<Place> {
    let Operations { module, body, .. } = *operations;
    for _ in 0..MAX_STEPS {
        match module.value(Some(body), pointer)?.kind {
            ValueKind::Global(index) => return place_of_global(module, index as usize),
            ValueKind::Instruction(index) => {
                let instruction = body.instructions.get(index as usize)?;
                match instruction.opcode {
                    Opcode::Alloca => {
                        let ty = module.types.pointee(instruction.ty)?;
                        return is_array(module, ty).then_some(Place::Local);
                    }
                    Opcode::GetElementPtr | Opcode::BitCast | Opcode::AddrSpaceCast => {
                        pointer = body.operands_of(instruction).first()?.as_value()?;
                    }
                    _ => return None,
                }
            }
            ValueKind::Constant(_) => {
                let (Constant::Expression(index), constants) = module.constant(Some(body), pointer)? else {
                    return None;
                };
                let expression = constants.expression(index)?;
                let follows = matches!(expression.opcode, Opcode::GetElementPtr | Opcode::BitCast);
                pointer = *constants.values(expression.operands).first().filter(|_| follows)?;
            }
            _ => return None,
        }
    }
    None
}
