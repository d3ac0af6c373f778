//! The opcodes of Shader Model 4 to 5.1: one table that drives decoder, encoder, printer and assembler.
//!
//! A row has the number, the mnemonic, the class, the meaning of the control bits (11 to 23) of the opcode token, the
//! tokens that follow, a mask of the source operands that are converted to the precision of the destination, and a
//! short description. The tokens that follow are letters:
//!
//! | letter | tokens |
//! |---|---|
//! | `d` | a destination operand |
//! | `f`, `i`, `m` | a source operand; its immediate values are shown as floats, as integers, or by a guess from their bits |
//! | `o` | a declared operand |
//! | `n` | a number |
//! | `g` | a float |
//! | `v` | a system value |
//! | `y` | return types, four bits for each component |
//! | `p` | a register space, from Shader Model 5.1 on |
//! | `q` | the size of a constant buffer, from Shader Model 5.1 on |
//! | `x` | indexable registers: number, count, components |
//! | `c` | a call of an interface function: number of the function, operand |
//! | `b` | a function |
//! | `t` | a table of functions: number, count, functions |
//! | `j` | an interface: number, length of its tables, types and elements, tables |
//!
//! Sources: `d3d12TokenizedProgramFormat.hpp` and `ShaderBinary.cpp` of DirectX Shader Compiler; for how immediate
//! values are shown, FXC's text for programs that have each opcode.

use crate::operand::bits;

/// The class of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// Declarations and the starts of phases.
    Declaration,
    /// Floating-point arithmetic.
    Float,
    /// Integer arithmetic.
    Integer,
    /// Bitwise operations.
    Bitwise,
    /// Double-precision arithmetic.
    Double,
    /// Conversions between types.
    Conversion,
    /// Copies and selects.
    Move,
    /// Control flow.
    Flow,
    /// Textures and samplers.
    Texture,
    /// Reads and writes of memory, barriers.
    Memory,
    /// Atomic operations on memory.
    Atomic,
    /// Vertices and primitives emitted by a geometry shader.
    Emission,
}

impl Class {
    /// Every class, in the order of their declaration, with its name.
    pub const NAMED: [(Self, &'static str); 12] = [
        (Self::Declaration, "declaration"),
        (Self::Float, "float"),
        (Self::Integer, "integer"),
        (Self::Bitwise, "bitwise"),
        (Self::Double, "double"),
        (Self::Conversion, "conversion"),
        (Self::Move, "move"),
        (Self::Flow, "flow"),
        (Self::Texture, "texture"),
        (Self::Memory, "memory"),
        (Self::Atomic, "atomic"),
        (Self::Emission, "emission"),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMED.iter().find(|(class, _)| *class == self).map_or("", |(_, name)| name)
    }
}

/// The meaning of the control bits of an opcode token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Controls {
    /// Nothing, in a declaration.
    Plain,
    /// Saturation and precise components, as for every instruction that is not a declaration.
    Arithmetic,
    /// As `Arithmetic`, and whether the instruction tests for zero or for nonzero.
    Test,
    /// As `Arithmetic`, and the scopes of a barrier.
    Sync,
    /// As `Arithmetic`, and the type of the result of `resinfo`.
    ResourceInfo,
    /// As `Arithmetic`, and the type of the result of `sampleinfo`.
    SampleInfo,
    /// Global flags.
    GlobalFlags,
    /// Dimension and sample count.
    Resource,
    /// Dimension and access flags of a view.
    TypedView,
    /// Access flags of a view.
    View,
    /// Sampler mode.
    Sampler,
    /// Access pattern of a constant buffer.
    ConstantBuffer,
    /// Interpolation mode.
    Interpolation,
    /// Input primitive.
    Primitive,
    /// Output topology.
    Topology,
    /// Number of control points.
    ControlPoints,
    /// Tessellator domain.
    Domain,
    /// Tessellator partitioning.
    Partitioning,
    /// Tessellator output primitive.
    OutputPrimitive,
    /// Whether an interface is dynamically indexed.
    Interface,
    /// Class of custom data.
    CustomData,
}

/// A row of the opcode table.
#[derive(Clone, Copy, Debug)]
pub struct OpcodeRow {
    /// The number.
    pub number: u16,
    /// The mnemonic.
    pub mnemonic: &'static str,
    /// The class.
    pub class: Class,
    /// The meaning of the control bits.
    pub controls: Controls,
    /// The tokens that follow, as letters; see the module.
    pub body: &'static str,
    /// Source operands that are converted to the precision of the destination, one bit each.
    pub converts: u8,
    /// A short description.
    pub meaning: &'static str,
}

impl OpcodeRow {
    /// Returns the number of destination operands.
    pub fn destinations(&self) -> usize {
        self.body.bytes().filter(|letter| *letter == b'd').count()
    }

    /// Returns the letters of the operands, in order.
    pub fn operand_letters(&self) -> impl Iterator<Item = u8> {
        self.body.bytes().filter(|letter| matches!(letter, b'd' | b'f' | b'i' | b'm' | b'o' | b'c'))
    }
}

macro_rules! rows {
    ($($number:literal $mnemonic:literal $class:ident $controls:ident $body:literal $converts:literal $meaning:literal,)*) => {
        /// Every opcode, ascending by number.
        pub const TABLE: &[OpcodeRow] = &[$(OpcodeRow {
            number: $number,
            mnemonic: $mnemonic,
            class: Class::$class,
            controls: Controls::$controls,
            body: $body,
            converts: $converts,
            meaning: $meaning,
        }),*];
    };
}

rows! {
    0 "add" Float Arithmetic "dff" 6 "component-wise sum of floats",
    1 "and" Bitwise Arithmetic "dii" 6 "bitwise and",
    2 "break" Flow Arithmetic "" 0 "leaves the innermost loop or switch",
    3 "breakc" Flow Test "i" 0 "leaves the innermost loop or switch if the condition holds",
    4 "call" Flow Arithmetic "i" 0 "calls a subroutine",
    5 "callc" Flow Test "ii" 0 "calls a subroutine if the condition holds",
    6 "case" Flow Arithmetic "i" 0 "a case of a switch",
    7 "continue" Flow Arithmetic "" 0 "continues with the next iteration of the loop",
    8 "continuec" Flow Test "i" 0 "continues with the next iteration of the loop if the condition holds",
    9 "cut" Emission Arithmetic "" 0 "ends the primitive strip of a geometry shader",
    10 "default" Flow Arithmetic "" 0 "the default case of a switch",
    11 "deriv_rtx" Float Arithmetic "df" 2 "derivative along the screen's x",
    12 "deriv_rty" Float Arithmetic "df" 2 "derivative along the screen's y",
    13 "discard" Flow Test "i" 0 "discards the pixel if the condition holds",
    14 "div" Float Arithmetic "dff" 6 "component-wise quotient of floats",
    15 "dp2" Float Arithmetic "dff" 6 "dot product of two components",
    16 "dp3" Float Arithmetic "dff" 6 "dot product of three components",
    17 "dp4" Float Arithmetic "dff" 6 "dot product of four components",
    18 "else" Flow Arithmetic "" 0 "starts the block that runs if the condition does not hold",
    19 "emit" Emission Arithmetic "" 0 "emits a vertex",
    20 "emit_then_cut" Emission Arithmetic "" 0 "emits a vertex and ends the primitive",
    21 "endif" Flow Arithmetic "" 0 "ends an if",
    22 "endloop" Flow Arithmetic "" 0 "ends a loop",
    23 "endswitch" Flow Arithmetic "" 0 "ends a switch",
    24 "eq" Float Arithmetic "dff" 0 "all ones where floats are equal, else zero",
    25 "exp" Float Arithmetic "df" 2 "two to the power of each component",
    26 "frc" Float Arithmetic "df" 2 "fraction of each component",
    27 "ftoi" Conversion Arithmetic "df" 0 "float to signed integer, rounded towards zero",
    28 "ftou" Conversion Arithmetic "df" 0 "float to unsigned integer, rounded towards zero",
    29 "ge" Float Arithmetic "dff" 0 "all ones where the first float is greater or equal, else zero",
    30 "iadd" Integer Arithmetic "dii" 6 "component-wise sum of integers",
    31 "if" Flow Test "i" 0 "starts a block that runs if the condition holds",
    32 "ieq" Integer Arithmetic "dii" 0 "all ones where integers are equal, else zero",
    33 "ige" Integer Arithmetic "dii" 0 "all ones where the first signed integer is greater or equal, else zero",
    34 "ilt" Integer Arithmetic "dii" 0 "all ones where the first signed integer is less, else zero",
    35 "imad" Integer Arithmetic "diii" 14 "signed product of two integers, plus a third",
    36 "imax" Integer Arithmetic "dii" 6 "signed maximum",
    37 "imin" Integer Arithmetic "dii" 6 "signed minimum",
    38 "imul" Integer Arithmetic "ddii" 12 "signed product: high halves, low halves",
    39 "ine" Integer Arithmetic "dii" 0 "all ones where integers differ, else zero",
    40 "ineg" Integer Arithmetic "di" 2 "two's complement",
    41 "ishl" Integer Arithmetic "dii" 2 "shift to the left",
    42 "ishr" Integer Arithmetic "dii" 2 "arithmetic shift to the right",
    43 "itof" Conversion Arithmetic "di" 0 "signed integer to float",
    44 "label" Flow Arithmetic "i" 0 "starts a subroutine",
    45 "ld" Texture Arithmetic "dii" 0 "reads a texel or buffer element by integer coordinates",
    46 "ldms" Texture Arithmetic "diii" 0 "reads a sample of a multisampled texel by integer coordinates",
    47 "log" Float Arithmetic "df" 2 "logarithm to base two",
    48 "loop" Flow Arithmetic "" 0 "starts a loop",
    49 "lt" Float Arithmetic "dff" 0 "all ones where the first float is less, else zero",
    50 "mad" Float Arithmetic "dfff" 14 "product of two floats, plus a third",
    51 "min" Float Arithmetic "dff" 6 "minimum of floats",
    52 "max" Float Arithmetic "dff" 6 "maximum of floats",
    53 "customdata" Declaration CustomData "" 0 "a block of data: comment, constants, message",
    54 "mov" Move Arithmetic "dm" 2 "copies components",
    55 "movc" Move Arithmetic "dmmm" 12 "selects by condition, component by component",
    56 "mul" Float Arithmetic "dff" 6 "component-wise product of floats",
    57 "ne" Float Arithmetic "dff" 0 "all ones where floats differ, else zero",
    58 "nop" Flow Arithmetic "" 0 "does nothing",
    59 "not" Bitwise Arithmetic "di" 2 "bitwise complement",
    60 "or" Bitwise Arithmetic "dii" 6 "bitwise or",
    61 "resinfo" Texture ResourceInfo "dii" 0 "dimensions of a resource",
    62 "ret" Flow Arithmetic "" 0 "returns",
    63 "retc" Flow Test "i" 0 "returns if the condition holds",
    64 "round_ne" Float Arithmetic "df" 2 "rounds to the nearest, ties to even",
    65 "round_ni" Float Arithmetic "df" 2 "rounds towards minus infinity",
    66 "round_pi" Float Arithmetic "df" 2 "rounds towards plus infinity",
    67 "round_z" Float Arithmetic "df" 2 "rounds towards zero",
    68 "rsq" Float Arithmetic "df" 2 "reciprocal square root",
    69 "sample" Texture Arithmetic "dfff" 0 "samples a texture",
    70 "sample_c" Texture Arithmetic "dffff" 0 "samples with comparison",
    71 "sample_c_lz" Texture Arithmetic "dffff" 0 "samples with comparison at the most detailed level",
    72 "sample_l" Texture Arithmetic "dffff" 0 "samples at a given level of detail",
    73 "sample_d" Texture Arithmetic "dfffff" 0 "samples with given derivatives",
    74 "sample_b" Texture Arithmetic "dffff" 0 "samples with a bias of the level of detail",
    75 "sqrt" Float Arithmetic "df" 2 "square root",
    76 "switch" Flow Arithmetic "i" 0 "selects a case by a value",
    77 "sincos" Float Arithmetic "ddf" 4 "sine and cosine",
    78 "udiv" Integer Arithmetic "ddii" 12 "unsigned quotient and remainder",
    79 "ult" Integer Arithmetic "dii" 0 "all ones where the first unsigned integer is less, else zero",
    80 "uge" Integer Arithmetic "dii" 0 "all ones where the first unsigned integer is greater or equal, else zero",
    81 "umul" Integer Arithmetic "ddii" 12 "unsigned product: high halves, low halves",
    82 "umad" Integer Arithmetic "diii" 14 "unsigned product of two integers, plus a third",
    83 "umax" Integer Arithmetic "dii" 6 "unsigned maximum",
    84 "umin" Integer Arithmetic "dii" 6 "unsigned minimum",
    85 "ushr" Integer Arithmetic "dii" 2 "logical shift to the right",
    86 "utof" Conversion Arithmetic "di" 0 "unsigned integer to float",
    87 "xor" Bitwise Arithmetic "dii" 6 "bitwise exclusive or",
    88 "dcl_resource" Declaration Resource "oyp" 0 "declares a typed resource",
    89 "dcl_constantbuffer" Declaration ConstantBuffer "oqp" 0 "declares a constant buffer",
    90 "dcl_sampler" Declaration Sampler "op" 0 "declares a sampler",
    91 "dcl_indexrange" Declaration Plain "on" 0 "declares a range of indexed registers",
    92 "dcl_outputtopology" Declaration Topology "" 0 "declares the output topology of a geometry shader",
    93 "dcl_inputprimitive" Declaration Primitive "" 0 "declares the input primitive of a geometry shader",
    94 "dcl_maxout" Declaration Plain "n" 0 "declares the maximum number of vertices that a geometry shader emits",
    95 "dcl_input" Declaration Plain "o" 0 "declares an input",
    96 "dcl_input_sgv" Declaration Plain "ov" 0 "declares an input that the system generates",
    97 "dcl_input_siv" Declaration Plain "ov" 0 "declares an input that the system interprets",
    98 "dcl_input_ps" Declaration Interpolation "o" 0 "declares an input of a pixel shader",
    99 "dcl_input_ps_sgv" Declaration Interpolation "ov" 0 "declares an input of a pixel shader that the system generates",
    100 "dcl_input_ps_siv" Declaration Interpolation "ov" 0 "declares an input of a pixel shader that the system interprets",
    101 "dcl_output" Declaration Plain "o" 0 "declares an output",
    102 "dcl_output_sgv" Declaration Plain "ov" 0 "declares an output that the system generates",
    103 "dcl_output_siv" Declaration Plain "ov" 0 "declares an output that the system interprets",
    104 "dcl_temps" Declaration Plain "n" 0 "declares temporary registers",
    105 "dcl_indexableTemp" Declaration Plain "x" 0 "declares temporary registers that can be indexed",
    106 "dcl_globalFlags" Declaration GlobalFlags "" 0 "declares the global flags of the program",
    107 "jmp" Flow Arithmetic "" 0 "reserved",
    108 "lod" Texture Arithmetic "diii" 0 "level of detail that sampling would use",
    109 "gather4" Texture Arithmetic "dfff" 0 "the four texels that bilinear filtering would read, one component of each",
    110 "samplepos" Texture Arithmetic "dii" 0 "position of a sample",
    111 "sampleinfo" Texture SampleInfo "di" 0 "number of samples",
    113 "hs_decls" Declaration Plain "" 0 "starts the declarations of a hull shader",
    114 "hs_control_point_phase" Declaration Plain "" 0 "starts the phase that runs for each control point",
    115 "hs_fork_phase" Declaration Plain "" 0 "starts a phase that runs for each patch",
    116 "hs_join_phase" Declaration Plain "" 0 "starts a phase that runs for each patch after the fork phases",
    117 "emit_stream" Emission Arithmetic "i" 0 "emits a vertex to a stream",
    118 "cut_stream" Emission Arithmetic "i" 0 "ends the primitive of a stream",
    119 "emit_then_cut_stream" Emission Arithmetic "i" 0 "emits a vertex to a stream and ends its primitive",
    120 "fcall" Flow Arithmetic "c" 0 "calls an interface function",
    121 "bufinfo" Texture Arithmetic "di" 0 "number of elements of a buffer",
    122 "deriv_rtx_coarse" Float Arithmetic "di" 2 "derivative along the screen's x, one for a quad",
    123 "deriv_rtx_fine" Float Arithmetic "di" 2 "derivative along the screen's x, for each row",
    124 "deriv_rty_coarse" Float Arithmetic "di" 2 "derivative along the screen's y, one for a quad",
    125 "deriv_rty_fine" Float Arithmetic "di" 2 "derivative along the screen's y, for each column",
    126 "gather4_c" Texture Arithmetic "dffff" 0 "gather4 with comparison",
    127 "gather4_po" Texture Arithmetic "diiii" 0 "gather4 with a programmable offset",
    128 "gather4_po_c" Texture Arithmetic "diiiii" 0 "gather4 with a programmable offset and comparison",
    129 "rcp" Float Arithmetic "di" 2 "reciprocal",
    130 "f32tof16" Conversion Arithmetic "df" 0 "float to half, in the low bits",
    131 "f16tof32" Conversion Arithmetic "di" 0 "half, in the low bits, to float",
    132 "uaddc" Integer Arithmetic "ddii" 12 "sum and carry",
    133 "usubb" Integer Arithmetic "ddii" 12 "difference and borrow",
    134 "countbits" Bitwise Arithmetic "di" 2 "number of one bits",
    135 "firstbit_hi" Bitwise Arithmetic "di" 2 "index of the first one bit from the highest",
    136 "firstbit_lo" Bitwise Arithmetic "di" 2 "index of the first one bit from the lowest",
    137 "firstbit_shi" Bitwise Arithmetic "di" 2 "index of the first bit from the highest that differs from the sign",
    138 "ubfe" Bitwise Arithmetic "diii" 2 "extracts a bit field, unsigned",
    139 "ibfe" Bitwise Arithmetic "diii" 2 "extracts a bit field, signed",
    140 "bfi" Bitwise Arithmetic "diiii" 2 "inserts a bit field",
    141 "bfrev" Bitwise Arithmetic "di" 2 "reverses the bits",
    142 "swapc" Move Arithmetic "ddmmm" 2 "swaps by condition",
    143 "dcl_stream" Declaration Plain "o" 0 "declares a stream that a geometry shader emits to",
    144 "dcl_function_body" Declaration Plain "b" 0 "declares a function",
    145 "dcl_function_table" Declaration Plain "t" 0 "declares the functions of a class",
    146 "dcl_interface" Declaration Interface "j" 0 "declares an interface and its classes",
    147 "dcl_input_control_point_count" Declaration ControlPoints "" 0 "declares the number of input control points",
    148 "dcl_output_control_point_count" Declaration ControlPoints "" 0 "declares the number of output control points",
    149 "dcl_tessellator_domain" Declaration Domain "" 0 "declares the tessellator domain",
    150 "dcl_tessellator_partitioning" Declaration Partitioning "" 0 "declares the tessellator partitioning",
    151 "dcl_tessellator_output_primitive" Declaration OutputPrimitive "" 0 "declares the tessellator output primitive",
    152 "dcl_hs_max_tessfactor" Declaration Plain "g" 0 "declares the maximum tessellation factor",
    153 "dcl_hs_fork_phase_instance_count" Declaration Plain "n" 0 "declares the instance count of a fork phase",
    154 "dcl_hs_join_phase_instance_count" Declaration Plain "n" 0 "declares the instance count of a join phase",
    155 "dcl_thread_group" Declaration Plain "nnn" 0 "declares the size of a thread group",
    156 "dcl_uav_typed" Declaration TypedView "oyp" 0 "declares a typed unordered access view",
    157 "dcl_uav_raw" Declaration View "op" 0 "declares a raw unordered access view",
    158 "dcl_uav_structured" Declaration View "onp" 0 "declares a structured unordered access view",
    159 "dcl_tgsm_raw" Declaration Plain "on" 0 "declares raw thread group shared memory",
    160 "dcl_tgsm_structured" Declaration Plain "onn" 0 "declares structured thread group shared memory",
    161 "dcl_resource_raw" Declaration Plain "op" 0 "declares a raw buffer",
    162 "dcl_resource_structured" Declaration Plain "onp" 0 "declares a structured buffer",
    163 "ld_uav_typed" Memory Arithmetic "dii" 0 "reads an element of a typed view",
    164 "store_uav_typed" Memory Arithmetic "dmm" 0 "writes an element of a typed view",
    165 "ld_raw" Memory Arithmetic "dii" 0 "reads from a raw buffer at a byte offset",
    166 "store_raw" Memory Arithmetic "dmm" 0 "writes to a raw buffer at a byte offset",
    167 "ld_structured" Memory Arithmetic "diii" 0 "reads from a structured buffer",
    168 "store_structured" Memory Arithmetic "dmmm" 0 "writes to a structured buffer",
    169 "atomic_and" Atomic Arithmetic "dii" 0 "and in memory",
    170 "atomic_or" Atomic Arithmetic "dii" 0 "or in memory",
    171 "atomic_xor" Atomic Arithmetic "dii" 0 "exclusive or in memory",
    172 "atomic_cmp_store" Atomic Arithmetic "diii" 0 "writes to memory if it equals the compared value",
    173 "atomic_iadd" Atomic Arithmetic "dii" 0 "sum in memory",
    174 "atomic_imax" Atomic Arithmetic "dii" 0 "signed maximum in memory",
    175 "atomic_imin" Atomic Arithmetic "dii" 0 "signed minimum in memory",
    176 "atomic_umax" Atomic Arithmetic "dii" 0 "unsigned maximum in memory",
    177 "atomic_umin" Atomic Arithmetic "dii" 0 "unsigned minimum in memory",
    178 "imm_atomic_alloc" Atomic Arithmetic "di" 0 "increments the hidden counter of a view, returns the old value",
    179 "imm_atomic_consume" Atomic Arithmetic "di" 0 "decrements the hidden counter of a view, returns the new value",
    180 "imm_atomic_iadd" Atomic Arithmetic "diii" 0 "sum in memory, returns the old value",
    181 "imm_atomic_and" Atomic Arithmetic "diii" 0 "and in memory, returns the old value",
    182 "imm_atomic_or" Atomic Arithmetic "diii" 0 "or in memory, returns the old value",
    183 "imm_atomic_xor" Atomic Arithmetic "diii" 0 "exclusive or in memory, returns the old value",
    184 "imm_atomic_exch" Atomic Arithmetic "diii" 0 "writes to memory, returns the old value",
    185 "imm_atomic_cmp_exch" Atomic Arithmetic "diiii" 0 "writes to memory if it equals the compared value, returns the old value",
    186 "imm_atomic_imax" Atomic Arithmetic "diii" 0 "signed maximum in memory, returns the old value",
    187 "imm_atomic_imin" Atomic Arithmetic "diii" 0 "signed minimum in memory, returns the old value",
    188 "imm_atomic_umax" Atomic Arithmetic "diii" 0 "unsigned maximum in memory, returns the old value",
    189 "imm_atomic_umin" Atomic Arithmetic "diii" 0 "unsigned minimum in memory, returns the old value",
    190 "sync" Memory Sync "" 0 "thread or memory barrier",
    191 "dadd" Double Arithmetic "dff" 6 "sum of doubles",
    192 "dmax" Double Arithmetic "dff" 6 "maximum of doubles",
    193 "dmin" Double Arithmetic "dff" 6 "minimum of doubles",
    194 "dmul" Double Arithmetic "dff" 6 "product of doubles",
    195 "deq" Double Arithmetic "dff" 0 "all ones where doubles are equal, else zero",
    196 "dge" Double Arithmetic "dff" 0 "all ones where the first double is greater or equal, else zero",
    197 "dlt" Double Arithmetic "dff" 0 "all ones where the first double is less, else zero",
    198 "dne" Double Arithmetic "dff" 0 "all ones where doubles differ, else zero",
    199 "dmov" Move Arithmetic "df" 2 "copies doubles",
    200 "dmovc" Move Arithmetic "dfff" 12 "selects doubles by condition",
    201 "dtof" Conversion Arithmetic "df" 2 "double to float",
    202 "ftod" Conversion Arithmetic "df" 0 "float to double",
    203 "eval_snapped" Float Arithmetic "dii" 2 "evaluates an input at an offset in the pixel",
    204 "eval_sample_index" Float Arithmetic "dii" 2 "evaluates an input at a sample",
    205 "eval_centroid" Float Arithmetic "di" 2 "evaluates an input at the centroid",
    206 "dcl_gsinstances" Declaration Plain "n" 0 "declares the instance count of a geometry shader",
    207 "abort" Flow Arithmetic "" 0 "aborts the program, for debugging",
    208 "debug_break" Flow Arithmetic "" 0 "breaks into the debugger",
    210 "ddiv" Double Arithmetic "dff" 6 "quotient of doubles",
    211 "dfma" Double Arithmetic "diii" 14 "product of two doubles, plus a third, rounded once",
    212 "drcp" Double Arithmetic "di" 2 "reciprocal of doubles",
    213 "msad" Integer Arithmetic "diii" 14 "masked sum of absolute differences of bytes",
    214 "dtoi" Conversion Arithmetic "di" 0 "double to signed integer",
    215 "dtou" Conversion Arithmetic "di" 0 "double to unsigned integer",
    216 "itod" Conversion Arithmetic "di" 0 "signed integer to double",
    217 "utod" Conversion Arithmetic "di" 0 "unsigned integer to double",
    219 "gather4_s" Texture Arithmetic "ddfff" 0 "gather4 that reports whether all texels were mapped",
    220 "gather4_c_s" Texture Arithmetic "ddffff" 0 "gather4_c that reports whether all texels were mapped",
    221 "gather4_po_s" Texture Arithmetic "ddiiii" 0 "gather4_po that reports whether all texels were mapped",
    222 "gather4_po_c_s" Texture Arithmetic "ddiiiii" 0 "gather4_po_c that reports whether all texels were mapped",
    223 "ld_s" Texture Arithmetic "ddii" 0 "ld that reports whether all texels were mapped",
    224 "ldms_s" Texture Arithmetic "ddiii" 0 "ldms that reports whether all texels were mapped",
    225 "ld_uav_typed_s" Memory Arithmetic "ddii" 0 "ld_uav_typed that reports whether all elements were mapped",
    226 "ld_raw_s" Memory Arithmetic "ddii" 0 "ld_raw that reports whether all bytes were mapped",
    227 "ld_structured_s" Memory Arithmetic "ddiii" 0 "ld_structured that reports whether all bytes were mapped",
    228 "sample_l_s" Texture Arithmetic "ddffff" 0 "sample_l that reports whether all texels were mapped",
    229 "sample_c_lz_s" Texture Arithmetic "ddffff" 0 "sample_c_lz that reports whether all texels were mapped",
    230 "sample_cl_s" Texture Arithmetic "ddffff" 0 "sample with a minimum level of detail that reports whether all texels were mapped",
    231 "sample_b_cl_s" Texture Arithmetic "ddfffff" 0 "sample_b with a minimum level of detail that reports whether all texels were mapped",
    232 "sample_d_cl_s" Texture Arithmetic "ddffffff" 0 "sample_d with a minimum level of detail that reports whether all texels were mapped",
    233 "sample_c_cl_s" Texture Arithmetic "ddfffff" 0 "sample_c with a minimum level of detail that reports whether all texels were mapped",
    234 "check_access_fully_mapped" Texture Arithmetic "di" 0 "all ones where the status says that all texels were mapped",
}

/// The number of entries of [`INDEX`]: up to the last opcode that has a row.
const NUMBERS: usize = 235;

/// The row of each opcode number, plus one; zero for none.
const INDEX: [u8; NUMBERS] = index();

#[allow(clippy::indexing_slicing, clippy::cast_possible_truncation, clippy::arithmetic_side_effects)]
const fn index() -> [u8; NUMBERS] {
    let mut index = [0; NUMBERS];
    let mut row = 0;
    while row < TABLE.len() {
        index[TABLE[row].number as usize] = row as u8 + 1;
        row += 1;
    }
    index
}

unshade_core::open_enum! {
    /// An opcode. Those that the code refers to have names here; all are in [`TABLE`].
    pub struct Opcode(u16) {
        ADD = 0 => "add",
        BREAK = 2 => "break",
        BREAKC = 3 => "breakc",
        CALL = 4 => "call",
        CALLC = 5 => "callc",
        CASE = 6 => "case",
        CONTINUE = 7 => "continue",
        CONTINUEC = 8 => "continuec",
        DEFAULT = 10 => "default",
        DISCARD = 13 => "discard",
        ELSE = 18 => "else",
        ENDIF = 21 => "endif",
        ENDLOOP = 22 => "endloop",
        ENDSWITCH = 23 => "endswitch",
        IF = 31 => "if",
        LABEL = 44 => "label",
        LOOP = 48 => "loop",
        CUSTOM_DATA = 53 => "customdata",
        MOV = 54 => "mov",
        RET = 62 => "ret",
        RETC = 63 => "retc",
        SWITCH = 76 => "switch",
        DCL_RESOURCE = 88 => "dcl_resource",
        DCL_CONSTANT_BUFFER = 89 => "dcl_constantbuffer",
        DCL_INDEX_RANGE = 91 => "dcl_indexrange",
        DCL_TEMPS = 104 => "dcl_temps",
        DCL_INDEXABLE_TEMP = 105 => "dcl_indexableTemp",
        HS_DECLS = 113 => "hs_decls",
        HS_CONTROL_POINT_PHASE = 114 => "hs_control_point_phase",
        HS_FORK_PHASE = 115 => "hs_fork_phase",
        HS_JOIN_PHASE = 116 => "hs_join_phase",
        FCALL = 120 => "fcall",
        DCL_FUNCTION_TABLE = 145 => "dcl_function_table",
        DCL_INTERFACE = 146 => "dcl_interface",
        DCL_HS_MAX_TESS_FACTOR = 152 => "dcl_hs_max_tessfactor",
        DCL_THREAD_GROUP = 155 => "dcl_thread_group",
        SYNC = 190 => "sync",
    }
}

impl Opcode {
    /// Returns the opcode of an opcode token.
    #[allow(clippy::cast_possible_truncation)]
    pub fn of(token: u32) -> Self {
        Self(bits(token, 0, 11) as u16)
    }

    /// Returns its row, if the number is known.
    ///
    /// ```
    /// use unshade_dxbc::opcode::Opcode;
    ///
    /// assert_eq!(Opcode(50).row().map(|row| row.mnemonic), Some("mad"));
    /// assert!(Opcode(112).row().is_none());
    /// ```
    pub fn row(self) -> Option<&'static OpcodeRow> {
        let index = usize::from(*INDEX.get(usize::from(self.0))?);
        TABLE.get(index.checked_sub(1)?)
    }

    /// Returns whether instructions with this opcode may have their length in a token of its own.
    pub fn may_be_long(self) -> bool {
        matches!(self, Self::DCL_FUNCTION_TABLE | Self::DCL_INTERFACE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_consistent() {
        for pair in TABLE.windows(2) {
            assert!(pair[0].number < pair[1].number, "{} comes twice or out of order", pair[1].number);
        }
        for row in TABLE {
            let same = TABLE.iter().filter(|other| other.mnemonic == row.mnemonic).count();
            assert_eq!(same, 1, "{} is the mnemonic of {same} opcodes", row.mnemonic);
            assert_eq!(Opcode(row.number).row().unwrap().number, row.number);
            assert!(!row.meaning.is_empty() && row.meaning.len() < 100, "{}", row.mnemonic);
            assert!(row.body.bytes().all(|letter| b"dfimongvypqxcbtj".contains(&letter)), "{}", row.mnemonic);
            let destinations = row.destinations();
            assert!(row.body.bytes().take(destinations).all(|letter| letter == b'd'), "{}", row.mnemonic);
            assert!(u32::from(row.converts) >> row.operand_letters().count() == 0, "{}", row.mnemonic);
            let declares = row.class == Class::Declaration;
            let arithmetic = matches!(
                row.controls,
                Controls::Arithmetic
                    | Controls::Test
                    | Controls::Sync
                    | Controls::ResourceInfo
                    | Controls::SampleInfo
            );
            assert_ne!(declares, arithmetic, "{}", row.mnemonic);
        }
        for (opcode, name) in Opcode::NAMED {
            let mnemonic = opcode.row().unwrap().mnemonic;
            assert_eq!(mnemonic, *name);
        }
    }
}
