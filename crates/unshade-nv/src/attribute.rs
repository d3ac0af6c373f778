//! The attributes of `.nv.info`: their names, and the format of their values.
//!
//! Names are those that cuobjdump prints, without its prefix `EIATTR_`: those of version 13.5, and of earlier ones for
//! those that 13.5 does not print: 12.3 for 0x2a, 0x30, 0x35 and 0x47, 12.8 for 0x5a, 13.0 for 0x5f. Unnamed attributes
//! keep their number.

unshade_core::open_enum! {
    /// The meaning of a record of `.nv.info`.
    pub struct Attribute(u8) {
        ERROR = 0x00 => "ERROR",
        PAD = 0x01 => "PAD",
        IMAGE_SLOT = 0x02 => "IMAGE_SLOT",
        JUMPTABLE_RELOCS = 0x03 => "JUMPTABLE_RELOCS",
        CTAIDZ_USED = 0x04 => "CTAIDZ_USED",
        MAX_THREADS = 0x05 => "MAX_THREADS",
        IMAGE_OFFSET = 0x06 => "IMAGE_OFFSET",
        IMAGE_SIZE = 0x07 => "IMAGE_SIZE",
        TEXTURE_NORMALIZED = 0x08 => "TEXTURE_NORMALIZED",
        SAMPLER_INIT = 0x09 => "SAMPLER_INIT",
        PARAM_CBANK = 0x0a => "PARAM_CBANK",
        SMEM_PARAM_OFFSETS = 0x0b => "SMEM_PARAM_OFFSETS",
        CBANK_PARAM_OFFSETS = 0x0c => "CBANK_PARAM_OFFSETS",
        SYNC_STACK = 0x0d => "SYNC_STACK",
        TEXID_SAMPID_MAP = 0x0e => "TEXID_SAMPID_MAP",
        EXTERNS = 0x0f => "EXTERNS",
        REQNTID = 0x10 => "REQNTID",
        FRAME_SIZE = 0x11 => "FRAME_SIZE",
        MIN_STACK_SIZE = 0x12 => "MIN_STACK_SIZE",
        SAMPLER_FORCE_UNNORMALIZED = 0x13 => "SAMPLER_FORCE_UNNORMALIZED",
        BINDLESS_IMAGE_OFFSETS = 0x14 => "BINDLESS_IMAGE_OFFSETS",
        BINDLESS_TEXTURE_BANK = 0x15 => "BINDLESS_TEXTURE_BANK",
        BINDLESS_SURFACE_BANK = 0x16 => "BINDLESS_SURFACE_BANK",
        KPARAM_INFO = 0x17 => "KPARAM_INFO",
        SMEM_PARAM_SIZE = 0x18 => "SMEM_PARAM_SIZE",
        CBANK_PARAM_SIZE = 0x19 => "CBANK_PARAM_SIZE",
        QUERY_NUMATTRIB = 0x1a => "QUERY_NUMATTRIB",
        MAXREG_COUNT = 0x1b => "MAXREG_COUNT",
        EXIT_INSTR_OFFSETS = 0x1c => "EXIT_INSTR_OFFSETS",
        S2RCTAID_INSTR_OFFSETS = 0x1d => "S2RCTAID_INSTR_OFFSETS",
        CRS_STACK_SIZE = 0x1e => "CRS_STACK_SIZE",
        NEED_CNP_WRAPPER = 0x1f => "NEED_CNP_WRAPPER",
        NEED_CNP_PATCH = 0x20 => "NEED_CNP_PATCH",
        EXPLICIT_CACHING = 0x21 => "EXPLICIT_CACHING",
        ISTYPEP_USED = 0x22 => "ISTYPEP_USED",
        MAX_STACK_SIZE = 0x23 => "MAX_STACK_SIZE",
        SUQ_USED = 0x24 => "SUQ_USED",
        LD_CACHEMOD_INSTR_OFFSETS = 0x25 => "LD_CACHEMOD_INSTR_OFFSETS",
        LOAD_CACHE_REQUEST = 0x26 => "LOAD_CACHE_REQUEST",
        ATOM_SYS_INSTR_OFFSETS = 0x27 => "ATOM_SYS_INSTR_OFFSETS",
        COOP_GROUP_INSTR_OFFSETS = 0x28 => "COOP_GROUP_INSTR_OFFSETS",
        COOP_GROUP_MASK_REGIDS = 0x29 => "COOP_GROUP_MASK_REGIDS",
        SW1850030_WAR = 0x2a => "SW1850030_WAR",
        WMMA_USED = 0x2b => "WMMA_USED",
        HAS_PRE_V10_OBJECT = 0x2c => "HAS_PRE_V10_OBJECT",
        ATOMF16_EMUL_INSTR_OFFSETS = 0x2d => "ATOMF16_EMUL_INSTR_OFFSETS",
        ATOM16_EMUL_INSTR_REG_MAP = 0x2e => "ATOM16_EMUL_INSTR_REG_MAP",
        REGCOUNT = 0x2f => "REGCOUNT",
        SW2393858_WAR = 0x30 => "SW2393858_WAR",
        INT_WARP_WIDE_INSTR_OFFSETS = 0x31 => "INT_WARP_WIDE_INSTR_OFFSETS",
        SHARED_SCRATCH = 0x32 => "SHARED_SCRATCH",
        STATISTICS = 0x33 => "STATISTICS",
        INDIRECT_BRANCH_TARGETS = 0x34 => "INDIRECT_BRANCH_TARGETS",
        SW2861232_WAR = 0x35 => "SW2861232_WAR",
        SW_WAR = 0x36 => "SW_WAR",
        CUDA_API_VERSION = 0x37 => "CUDA_API_VERSION",
        NUM_MBARRIERS = 0x38 => "NUM_MBARRIERS",
        MBARRIER_INSTR_OFFSETS = 0x39 => "MBARRIER_INSTR_OFFSETS",
        COROUTINE_RESUME_ID_OFFSETS = 0x3a => "COROUTINE_RESUME_ID_OFFSETS",
        SAM_REGION_STACK_SIZE = 0x3b => "SAM_REGION_STACK_SIZE",
        PER_REG_TARGET_PERF_STATS = 0x3c => "PER_REG_TARGET_PERF_STATS",
        CTA_PER_CLUSTER = 0x3d => "CTA_PER_CLUSTER",
        EXPLICIT_CLUSTER = 0x3e => "EXPLICIT_CLUSTER",
        MAX_CLUSTER_RANK = 0x3f => "MAX_CLUSTER_RANK",
        INSTR_REG_MAP = 0x40 => "INSTR_REG_MAP",
        RESERVED_SMEM_USED = 0x41 => "RESERVED_SMEM_USED",
        RESERVED_SMEM_0_SIZE = 0x42 => "RESERVED_SMEM_0_SIZE",
        UCODE_SECTION_DATA = 0x43 => "UCODE_SECTION_DATA",
        UNUSED_LOAD_BYTE_OFFSET = 0x44 => "UNUSED_LOAD_BYTE_OFFSET",
        KPARAM_INFO_V2 = 0x45 => "KPARAM_INFO_V2",
        SYSCALL_OFFSETS = 0x46 => "SYSCALL_OFFSETS",
        SW_WAR_MEMBAR_SYS_INSTR_OFFSETS = 0x47 => "SW_WAR_MEMBAR_SYS_INSTR_OFFSETS",
        GRAPHICS_GLOBAL_CBANK = 0x48 => "GRAPHICS_GLOBAL_CBANK",
        SHADER_TYPE = 0x49 => "SHADER_TYPE",
        VRC_CTA_INIT_COUNT = 0x4a => "VRC_CTA_INIT_COUNT",
        TOOLS_PATCH_FUNC = 0x4b => "TOOLS_PATCH_FUNC",
        NUM_BARRIERS = 0x4c => "NUM_BARRIERS",
        TEXMODE_INDEPENDENT = 0x4d => "TEXMODE_INDEPENDENT",
        PERF_STATISTICS = 0x4e => "PERF_STATISTICS",
        AT_ENTRY_FRAGMENTS = 0x4f => "AT_ENTRY_FRAGMENTS",
        SPARSE_MMA_MASK = 0x50 => "SPARSE_MMA_MASK",
        TCGEN05_1CTA_USED = 0x51 => "TCGEN05_1CTA_USED",
        TCGEN05_2CTA_USED = 0x52 => "TCGEN05_2CTA_USED",
        GEN_ERRBAR_AT_EXIT = 0x53 => "GEN_ERRBAR_AT_EXIT",
        REG_RECONFIG = 0x54 => "REG_RECONFIG",
        ANNOTATIONS = 0x55 => "ANNOTATIONS",
        STACK_CANARY_TRAP_OFFSETS = 0x57 => "STACK_CANARY_TRAP_OFFSETS",
        STUB_FUNCTION_KIND = 0x58 => "STUB_FUNCTION_KIND",
        LOCAL_CTA_ASYNC_STORE_OFFSETS = 0x59 => "LOCAL_CTA_ASYNC_STORE_OFFSETS",
        MERCURY_FINALIZER_OPTIONS = 0x5a => "MERCURY_FINALIZER_OPTIONS",
        BLOCKS_ARE_CLUSTERS = 0x5b => "BLOCKS_ARE_CLUSTERS",
        SANITIZE = 0x5c => "SANITIZE",
        SYSCALLS_FALLBACK = 0x5d => "SYSCALLS_FALLBACK",
        CUDA_REQ = 0x5e => "CUDA_REQ",
        MERCURY_ISA_VERSION = 0x5f => "MERCURY_ISA_VERSION",
        RTCORE_ENTRY = 0x61 => "RTCORE_ENTRY",
        CLUSTER_LAUNCH_CONTROL_USED = 0x62 => "CLUSTER_LAUNCH_CONTROL_USED",
        MIN_PER_CTA_MEMORY_SIZE = 0x64 => "MIN_PER_CTA_MEMORY_SIZE",
        IGNOREOOB_CP_ASYNC_BULK_INSTR_OFFSETS = 0x65 => "IGNOREOOB_CP_ASYNC_BULK_INSTR_OFFSETS",
        LANGUAGE = 0x66 => "LANGUAGE",
        GRID_ATTRIBUTES = 0x68 => "GRID_ATTRIBUTES",
        STACK_OFFSET = 0x69 => "STACK_OFFSET",
        RT_LIVESTATE_SASS_MAP = 0x6a => "RT_LIVESTATE_SASS_MAP",
        NVSAL_SW_WAR = 0x6b => "NVSAL_SW_WAR",
        INSTR_OFFSETS = 0x6c => "INSTR_OFFSETS",
        PREEXIT_USED = 0x6d => "PREEXIT_USED",
    }
}

/// The format of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Shape {
    /// Not documented: 32-bit numbers, or bytes.
    Plain,
    /// A symbol index and a number.
    SymbolNumber,
    /// Symbol indices.
    Symbols,
    /// Instruction offsets from the start of the code.
    CodeOffsets,
    /// Groups of four numbers: the offset of an instruction on a memory barrier, the register and the displacement of
    /// its address, and a number of which bits 0–7 are the kind of instruction and 16–23 the uniform register.
    MemoryBarriers,
    /// Pairs: the offset of a load, and a mask of the bytes that the code uses of what it loads.
    LoadedBytes,
    /// Up to three numbers: x, y and z.
    Dimensions,
    /// A kernel parameter.
    Parameter,
    /// The symbol of the parameter section, the parameters' offset in it, and their size.
    ParameterBank,
    /// Indirect branches, each with its possible targets.
    BranchTargets,
}

/// The attributes whose values are not [`Shape::Plain`].
const SHAPES: &[(Attribute, Shape)] = &[
    (Attribute::MAX_THREADS, Shape::Dimensions),
    (Attribute::PARAM_CBANK, Shape::ParameterBank),
    (Attribute::EXTERNS, Shape::Symbols),
    (Attribute::REQNTID, Shape::Dimensions),
    (Attribute::FRAME_SIZE, Shape::SymbolNumber),
    (Attribute::MIN_STACK_SIZE, Shape::SymbolNumber),
    (Attribute::KPARAM_INFO, Shape::Parameter),
    (Attribute::EXIT_INSTR_OFFSETS, Shape::CodeOffsets),
    (Attribute::S2RCTAID_INSTR_OFFSETS, Shape::CodeOffsets),
    (Attribute::MAX_STACK_SIZE, Shape::SymbolNumber),
    (Attribute::LD_CACHEMOD_INSTR_OFFSETS, Shape::CodeOffsets),
    (Attribute::LOAD_CACHE_REQUEST, Shape::SymbolNumber),
    (Attribute::ATOM_SYS_INSTR_OFFSETS, Shape::CodeOffsets),
    (Attribute::COOP_GROUP_INSTR_OFFSETS, Shape::CodeOffsets),
    (Attribute::ATOMF16_EMUL_INSTR_OFFSETS, Shape::CodeOffsets),
    (Attribute::REGCOUNT, Shape::SymbolNumber),
    (Attribute::INT_WARP_WIDE_INSTR_OFFSETS, Shape::CodeOffsets),
    (Attribute::INDIRECT_BRANCH_TARGETS, Shape::BranchTargets),
    (Attribute::MBARRIER_INSTR_OFFSETS, Shape::MemoryBarriers),
    (Attribute::SAM_REGION_STACK_SIZE, Shape::SymbolNumber),
    (Attribute::CTA_PER_CLUSTER, Shape::Dimensions),
    (Attribute::UNUSED_LOAD_BYTE_OFFSET, Shape::LoadedBytes),
    (Attribute::KPARAM_INFO_V2, Shape::Parameter),
    (Attribute::SYSCALL_OFFSETS, Shape::CodeOffsets),
    (Attribute::SW_WAR_MEMBAR_SYS_INSTR_OFFSETS, Shape::CodeOffsets),
    (Attribute::STACK_CANARY_TRAP_OFFSETS, Shape::CodeOffsets),
    (Attribute::LOCAL_CTA_ASYNC_STORE_OFFSETS, Shape::CodeOffsets),
    (Attribute::IGNOREOOB_CP_ASYNC_BULK_INSTR_OFFSETS, Shape::CodeOffsets),
];

impl Attribute {
    /// Returns the format of its value.
    pub fn shape(self) -> Shape {
        SHAPES.iter().find(|(attribute, _)| *attribute == self).map_or(Shape::Plain, |(_, shape)| *shape)
    }
}
