//! Operations of shaders: what they compute, read and change, independent of the format that they come from.
//!
//! One table has a row per operation: its name, its effect, and the kinds of its result and inputs as letters:
//!
//! | letter | kind | letter | kind |
//! |---|---|---|---|
//! | `f` | floating-point number | `h` | handle of a resource |
//! | `i`, `u` | signed, unsigned integer | `p` | place of a variable |
//! | `b` | boolean | `o` | object: a query, a record |
//! | `a` | any number; the result has the kind of the `a` inputs | `m` | constant that selects something |
//! | `e` | what the resource or element holds | `-` | none |
//!
//! Vectors are one input; scalars in the place of a vector count for all of its lanes. An input that is not given is
//! [`Op::Undefined`](crate::Op::Undefined). Elements of signatures and resources are named by their numbers in the
//! [interface](super::interface).
//!
//! Knowledge: the operations of DXIL (DirectXShaderCompiler's `hctdb`) and the instructions of Direct3D's shader
//! models 4 and 5, of which these are the common meaning.

use crate::intrinsic::Effect;
use crate::vocabulary::vocabulary;

vocabulary! {
    /// A reduction over the lanes of a wave.
    WaveOp {
        /// The sum.
        Sum "sum",
        /// The product.
        Product "product",
        /// The smallest number.
        Min "min",
        /// The largest number.
        Max "max",
        /// Bitwise and.
        And "and",
        /// Bitwise or.
        Or "or",
        /// Bitwise exclusive or.
        Xor "xor",
    }
}

vocabulary! {
    /// How integers are read.
    Signedness {
        /// As signed integers.
        Signed "signed",
        /// As unsigned integers.
        Unsigned "unsigned",
    }
}

vocabulary! {
    /// What an operation takes numbers for that exists for floats and for integers.
    NumberKind {
        /// Signed integers.
        Signed "signed",
        /// Unsigned integers.
        Unsigned "unsigned",
        /// Floats.
        Float "float",
    }
}

vocabulary! {
    /// A read-modify-write operation on memory.
    AtomicOp {
        /// The sum.
        Add "add",
        /// Bitwise and.
        And "and",
        /// Bitwise or.
        Or "or",
        /// Bitwise exclusive or.
        Xor "xor",
        /// The smaller signed number.
        SignedMin "signed_min",
        /// The larger signed number.
        SignedMax "signed_max",
        /// The smaller unsigned number.
        UnsignedMin "unsigned_min",
        /// The larger unsigned number.
        UnsignedMax "unsigned_max",
        /// The new value.
        Exchange "exchange",
    }
}

vocabulary! {
    /// The lane of a quad from which a value comes.
    QuadDirection {
        /// The horizontal neighbour.
        X "x",
        /// The vertical neighbour.
        Y "y",
        /// The diagonal neighbour.
        Diagonal "diagonal",
    }
}

macro_rules! operations {
    ($($(#[$doc:meta])* $member:ident $(($($part:ident: $of:ty),+))?
        $text:literal, $effect:ident $result:literal $inputs:literal;)*) => {
        vocabulary! {
            /// An operation of a shader.
            ShaderOp {
                $($(#[$doc])* $member $(($($part: $of),+))? $text,)*
            }
        }

        impl ShaderOp {
            /// Returns its effect.
            #[inline]
            #[expect(unused_variables, reason = "no part has an influence")]
            pub const fn effect(self) -> Effect {
                match self {
                    $(Self::$member $(($($part),+))? => Effect::$effect,)*
                }
            }

            /// Returns the letters of its result and of its inputs.
            #[expect(unused_variables, reason = "no part has an influence")]
            const fn letters(self) -> (&'static str, &'static str) {
                match self {
                    $(Self::$member $(($($part),+))? => ($result, $inputs),)*
                }
            }
        }
    };
}

operations! {
    // Inputs and outputs.

    /// An input: element, row, column, vertex.
    LoadInput "load_input", None "e" "mumu";
    /// Sets an output: element, row, column, value.
    StoreOutput "store_output", Changes "-" "mume";
    /// An output of another control point: element, row, column, control point.
    LoadOutputControlPoint "load_output_control_point", Reads "e" "mumu";
    /// A patch constant: element, row, column.
    LoadPatchConstant "load_patch_constant", Reads "e" "mum";
    /// Sets a patch constant: element, row, column, value.
    StorePatchConstant "store_patch_constant", Changes "-" "mume";
    /// Sets an output of a vertex of a mesh: element, row, column, value, vertex.
    StoreVertexOutput "store_vertex_output", Changes "-" "mumeu";
    /// Sets an output of a primitive of a mesh: element, row, column, value, primitive.
    StorePrimitiveOutput "store_primitive_output", Changes "-" "mumeu";
    /// Sets the vertices of a primitive of a mesh: primitive, vertices.
    EmitIndices "emit_indices", Changes "-" "uu";
    /// Sets the numbers of vertices and primitives of a mesh.
    SetMeshOutputCounts "set_mesh_output_counts", Changes "-" "uu";
    /// The payload of a mesh shader.
    MeshPayload "mesh_payload", None "p" "";
    /// Starts the groups of a mesh: the three counts, payload.
    DispatchMesh "dispatch_mesh", Changes "-" "uuup";
    /// A component of the index of the thread in the dispatch.
    DispatchThreadId "dispatch_thread_id", None "u" "m";
    /// A component of the index of the group.
    GroupId "group_id", None "u" "m";
    /// A component of the index of the thread in its group.
    GroupThreadId "group_thread_id", None "u" "m";
    /// The number of the thread in its group.
    GroupIndex "group_index", None "u" "";
    /// A component of the location in the domain.
    DomainLocation "domain_location", None "f" "m";
    /// The number of the primitive.
    PrimitiveId "primitive_id", None "u" "";
    /// The number of the control point that is computed.
    OutputControlPointId "output_control_point_id", None "u" "";
    /// The instance of the geometry shader.
    GeometryInstanceId "geometry_instance_id", None "u" "";
    /// The number of the sample.
    SampleIndex "sample_index", None "u" "";
    /// The coverage mask.
    Coverage "coverage", None "u" "";
    /// Whether the pixel is covered for certain.
    InnerCoverage "inner_coverage", None "u" "";
    /// The number of the view.
    ViewId "view_id", None "u" "";
    /// The first vertex of the draw call.
    StartVertex "start_vertex", None "i" "";
    /// The first instance of the draw call.
    StartInstance "start_instance", None "u" "";
    /// Whether the lane only helps with derivatives.
    IsHelperLane "is_helper_lane", Reads "b" "";
    /// An input at a vertex, without interpolation: element, row, column, vertex.
    AttributeAtVertex "attribute_at_vertex", None "e" "mumm";
    /// An input at an offset from the centre of the pixel: element, row, column, offset.
    EvaluateSnapped "evaluate_snapped", Reads "e" "mumi";
    /// An input at a sample: element, row, column, sample.
    EvaluateAtSample "evaluate_at_sample", Reads "e" "mumu";
    /// An input at the centroid: element, row, column.
    EvaluateCentroid "evaluate_centroid", Reads "e" "mum";
    /// Drops the pixel if a condition holds.
    Discard "discard", Changes "-" "b";
    /// Appends a vertex to a stream.
    EmitVertex "emit_vertex", Changes "-" "m";
    /// Ends the strip of a stream.
    CutStrip "cut_strip", Changes "-" "m";

    // Barriers.

    /// Waits for memory or threads: the bits of [`barrier`].
    Barrier "barrier", Changes "-" "m";
    /// Waits for kinds of memory: their bits, and those of the meaning.
    BarrierByMemoryType "barrier_by_memory_type", Changes "-" "mm";
    /// Waits for the memory of a resource: the bits of the meaning.
    BarrierByHandle "barrier_by_handle", Changes "-" "hm";

    // Floating-point numbers.

    /// The nearest number between 0 and 1; 0 for NaN.
    Saturate "saturate", None "f" "f";
    /// The sine.
    Sine "sine", None "f" "f";
    /// The cosine.
    Cosine "cosine", None "f" "f";
    /// The tangent.
    Tangent "tangent", None "f" "f";
    /// The arc sine.
    ArcSine "arc_sine", None "f" "f";
    /// The arc cosine.
    ArcCosine "arc_cosine", None "f" "f";
    /// The arc tangent.
    ArcTangent "arc_tangent", None "f" "f";
    /// The hyperbolic sine.
    HyperbolicSine "hyperbolic_sine", None "f" "f";
    /// The hyperbolic cosine.
    HyperbolicCosine "hyperbolic_cosine", None "f" "f";
    /// The hyperbolic tangent.
    HyperbolicTangent "hyperbolic_tangent", None "f" "f";
    /// Two to the power of a number.
    Exp2 "exp2", None "f" "f";
    /// The logarithm to the base two.
    Log2 "log2", None "f" "f";
    /// The natural exponential function.
    Exp "exp", None "f" "f";
    /// The natural logarithm.
    Log "log", None "f" "f";
    /// The logarithm to the base ten.
    Log10 "log10", None "f" "f";
    /// A power: base, exponent.
    Power "power", None "f" "ff";
    /// The part after the point, from 0 to 1.
    Fraction "fraction", None "f" "f";
    /// The reciprocal of the square root.
    ReciprocalSqrt "reciprocal_sqrt", None "f" "f";
    /// An approximation of the reciprocal.
    Reciprocal "reciprocal", None "f" "f";
    /// The nearest integer, of two the even one.
    RoundEven "round_even", None "f" "f";
    /// The next integer below.
    Floor "floor", None "f" "f";
    /// The next integer above.
    Ceiling "ceiling", None "f" "f";
    /// The next integer towards zero.
    Truncate "truncate", None "f" "f";
    /// The remainder of a division, with the sign of the dividend.
    FloatRemainder "float_remainder", None "f" "ff";
    /// Whether it is not a number.
    IsNan "is_nan", None "b" "f";
    /// Whether it is infinite.
    IsInfinite "is_infinite", None "b" "f";
    /// Whether it is neither infinite nor not a number.
    IsFinite "is_finite", None "b" "f";
    /// Whether it is normal.
    IsNormal "is_normal", None "b" "f";
    /// The smaller number.
    FloatMin "float_min", None "f" "ff";
    /// The larger number.
    FloatMax "float_max", None "f" "ff";
    /// A product and a sum, rounded once or twice.
    MultiplyAdd "multiply_add", None "f" "fff";
    /// A product and a sum, rounded once.
    Fma "fma", None "f" "fff";
    /// The dot product of two vectors.
    Dot "dot", None "f" "ff";
    /// A vector with the same direction and length 1.
    Normalize "normalize", None "f" "f";
    /// The length of a vector.
    Length "length", None "f" "f";
    /// The first number plus a part of the difference to the second one.
    Lerp "lerp", None "f" "fff";
    /// The cross product.
    Cross "cross", None "f" "ff";
    /// The sign as -1, 0 or 1.
    Sign "sign", None "i" "f";
    /// The derivative along x, the same for a whole quad.
    DerivativeXCoarse "derivative_x_coarse", Reads "f" "f";
    /// The derivative along y, the same for a whole quad.
    DerivativeYCoarse "derivative_y_coarse", Reads "f" "f";
    /// The derivative along x in each row of a quad.
    DerivativeXFine "derivative_x_fine", Reads "f" "f";
    /// The derivative along y in each column of a quad.
    DerivativeYFine "derivative_y_fine", Reads "f" "f";
    /// The next signed integer towards zero.
    FloatToSigned "float_to_signed", None "i" "f";
    /// The next unsigned integer towards zero.
    FloatToUnsigned "float_to_unsigned", None "u" "f";
    /// The number with the bits of a half.
    HalfToFloat "half_to_float", None "f" "u";
    /// The bits of a half.
    FloatToHalf "float_to_half", None "u" "f";
    /// The double with two halves: low, high.
    MakeDouble "make_double", None "f" "uu";
    /// The two halves of a double: low, high.
    SplitDouble "split_double", Reads "u" "f";

    // Integers.

    /// The smaller signed number.
    SignedMin "signed_min", None "i" "ii";
    /// The larger signed number.
    SignedMax "signed_max", None "i" "ii";
    /// The smaller unsigned number.
    UnsignedMin "unsigned_min", None "u" "uu";
    /// The larger unsigned number.
    UnsignedMax "unsigned_max", None "u" "uu";
    /// The absolute value.
    SignedAbs "signed_abs", None "i" "i";
    /// A product and a sum.
    IntegerMultiplyAdd(signedness: Signedness) "integer_multiply_add", None "a" "aaa";
    /// The upper half of a product.
    MultiplyHigh(signedness: Signedness) "multiply_high", None "a" "aa";
    /// The bits in the opposite order.
    ReverseBits "reverse_bits", None "u" "u";
    /// The number of bits that are set.
    CountBits "count_bits", None "u" "u";
    /// The number of the lowest bit that is set; -1 if none is.
    FirstBitLow "first_bit_low", None "u" "u";
    /// The number of zeros above the highest bit that is set; -1 if none is.
    LeadingZeros "leading_zeros", None "u" "u";
    /// The number of equal bits from the top, less one, to the highest bit that differs from the sign; -1 if none does.
    LeadingSigns "leading_signs", None "u" "i";
    /// The number of the highest bit that is set; -1 if none is.
    FirstBitHighUnsigned "first_bit_high_unsigned", None "u" "u";
    /// The number of the highest bit that differs from the sign; -1 if none does.
    FirstBitHighSigned "first_bit_high_signed", None "u" "i";
    /// Bits of a number: width, lowest bit, number.
    ExtractBits(signedness: Signedness) "extract_bits", None "a" "uua";
    /// A number with some bits replaced: width, lowest bit, new bits, number.
    InsertBits "insert_bits", None "u" "uuuu";
    /// The sum of absolute differences of bytes: reference, source, sum.
    MaskedSumOfDifferences "masked_sum_of_differences", None "u" "uuu";
    /// The dot product of two vectors of four bytes, and a sum: sum, vectors.
    Dot4Add(signedness: Signedness) "dot4_add", None "a" "auu";
    /// The dot product of two vectors of two halves, and a sum: sum, vectors.
    Dot2Add "dot2_add", None "f" "fff";
    /// Four bytes of a word as four integers.
    Unpack(signedness: Signedness) "unpack", None "a" "u";
    /// Four integers as bytes of a word, without their upper bits.
    PackTruncate "pack_truncate", None "u" "a";
    /// Four integers as the nearest bytes of a word.
    PackClamp(signedness: Signedness) "pack_clamp", None "u" "i";

    // Lanes of a wave.

    /// Whether it is the first active lane.
    WaveIsFirstLane "wave_is_first_lane", Reads "b" "";
    /// The number of the lane.
    WaveLaneIndex "wave_lane_index", Reads "u" "";
    /// The number of lanes of a wave.
    WaveLaneCount "wave_lane_count", Reads "u" "";
    /// Whether a condition holds in any active lane.
    WaveAnyTrue "wave_any_true", Reads "b" "b";
    /// Whether a condition holds in all active lanes.
    WaveAllTrue "wave_all_true", Reads "b" "b";
    /// Whether a value is the same in all active lanes.
    WaveAllEqual(kind: NumberKind) "wave_all_equal", Reads "b" "a";
    /// The active lanes in which a condition holds.
    WaveBallot "wave_ballot", Reads "u" "b";
    /// The value of a lane: value, lane.
    WaveReadLaneAt "wave_read_lane_at", Reads "a" "au";
    /// The value of the first active lane.
    WaveReadLaneFirst "wave_read_lane_first", Reads "a" "a";
    /// A reduction over all active lanes.
    WaveReduce(op: WaveOp, kind: NumberKind) "wave_reduce", Reads "a" "a";
    /// A reduction over the active lanes before this one.
    WavePrefix(op: WaveOp, kind: NumberKind) "wave_prefix", Reads "a" "a";
    /// The number of active lanes in which a condition holds.
    WaveCountBits "wave_count_bits", Reads "u" "b";
    /// The number of active lanes before this one in which a condition holds.
    WavePrefixCountBits "wave_prefix_count_bits", Reads "u" "b";
    /// The lanes with the same value.
    WaveMatch(kind: NumberKind) "wave_match", Reads "u" "a";
    /// A reduction over the lanes of a mask before this one: value, mask.
    WaveMultiPrefix(op: WaveOp, kind: NumberKind) "wave_multi_prefix", Reads "a" "au";
    /// The number of lanes of a mask before this one in which a condition holds: condition, mask.
    WaveMultiPrefixCountBits "wave_multi_prefix_count_bits", Reads "u" "bu";
    /// The value of a lane of the quad: value, lane.
    QuadReadLaneAt "quad_read_lane_at", Reads "a" "au";
    /// The value of a neighbour in the quad.
    QuadRead(direction: QuadDirection) "quad_read", Reads "a" "a";
    /// Whether a condition holds in any lane of the quad.
    QuadAny "quad_any", Reads "b" "b";
    /// Whether a condition holds in all lanes of the quad.
    QuadAll "quad_all", Reads "b" "b";

    // Variables.

    /// The place of a variable.
    Variable "variable", None "p" "m";
    /// The place of an element of an array, or of a lane of a vector: place, index.
    Element "element", None "p" "pu";
    /// The place of a member of a structure: place, number of the member.
    Field "field", None "p" "pm";
    /// A parameter of the function: its number.
    Argument "argument", None "a" "m";
    /// A place that a parameter of the function refers to: its number.
    ArgumentPlace "argument_place", None "p" "m";
    /// Changes a variable, and returns its earlier value: place, value.
    AtomicVariable(op: AtomicOp) "atomic_variable", Changes "a" "pa";
    /// Sets a variable if it has a value, and returns its earlier value: place, expected value, new value.
    CompareExchangeVariable "compare_exchange_variable", Changes "a" "paa";

    // Resources.

    /// The handle of a resource: its number, and the index if it is an array or comes from a heap.
    Handle "handle", None "h" "mu";
    /// An index that differs between the lanes of a wave.
    NonUniform "non_uniform", None "u" "u";
    /// Sixteen bytes of a constant buffer: handle, row.
    LoadConstant "load_constant", None "a" "hu";
    /// The sum of rows of a constant buffer, each times a lane of a vector: handle, first row, vector.
    CombineRows "combine_rows", None "f" "huf";
    /// The dot products of rows of a constant buffer with a vector: handle, first row, vector. The rows have as many
    /// lanes as the vector.
    DotRows "dot_rows", None "f" "huf";
    /// A number of a constant buffer: handle, offset in bytes.
    LoadConstantAt "load_constant_at", None "a" "hu";
    /// An element of a typed buffer: handle, index.
    LoadBuffer "load_buffer", Reads "e" "hu";
    /// Sets an element of a typed buffer: handle, index, value.
    StoreBuffer "store_buffer", Changes "-" "hue";
    /// Words of a byte address buffer: handle, offset.
    LoadRaw "load_raw", Reads "a" "hu";
    /// Sets words of a byte address buffer: handle, offset, value.
    StoreRaw "store_raw", Changes "-" "hua";
    /// Words of an element of a structured buffer: handle, index, offset.
    LoadStructured "load_structured", Reads "a" "huu";
    /// Sets words of an element of a structured buffer: handle, index, offset, value.
    StoreStructured "store_structured", Changes "-" "huua";
    /// A texel: handle, coordinates, level or sample, offset.
    LoadTexture "load_texture", Reads "e" "huui";
    /// Sets a texel: handle, coordinates, value, sample.
    StoreTexture "store_texture", Changes "-" "hueu";
    /// Samples: texture, sampler, coordinates, offset, clamp.
    Sample "sample", Reads "e" "hhfif";
    /// Samples: texture, sampler, coordinates, offset, bias, clamp.
    SampleBias "sample_bias", Reads "e" "hhfiff";
    /// Samples: texture, sampler, coordinates, offset, level.
    SampleLevel "sample_level", Reads "e" "hhfif";
    /// Samples: texture, sampler, coordinates, offset, derivatives, clamp.
    SampleGradient "sample_gradient", Reads "e" "hhfifff";
    /// Samples and compares: texture, sampler, coordinates, offset, reference, clamp.
    SampleCompare "sample_compare", Reads "f" "hhfiff";
    /// Samples and compares at level zero: texture, sampler, coordinates, offset, reference.
    SampleCompareLevelZero "sample_compare_level_zero", Reads "f" "hhfif";
    /// Samples and compares: texture, sampler, coordinates, offset, reference, level.
    SampleCompareLevel "sample_compare_level", Reads "f" "hhfiff";
    /// Samples and compares: texture, sampler, coordinates, offset, reference, bias, clamp.
    SampleCompareBias "sample_compare_bias", Reads "f" "hhfifff";
    /// Samples and compares: texture, sampler, coordinates, offset, reference, derivatives, clamp.
    SampleCompareGradient "sample_compare_gradient", Reads "f" "hhfiffff";
    /// A channel of four texels: texture, sampler, coordinates, offset, channel.
    Gather "gather", Reads "e" "hhfim";
    /// Four comparisons: texture, sampler, coordinates, offset, channel, reference.
    GatherCompare "gather_compare", Reads "f" "hhfimf";
    /// Four whole texels as words: texture, sampler, coordinates, offset.
    GatherRaw "gather_raw", Reads "u" "hhfi";
    /// The level that sampling would use: texture, sampler, coordinates, whether it is clamped.
    CalculateLevel "calculate_level", Reads "f" "hhfm";
    /// The sizes of a resource and its number of levels or samples: handle, level.
    Dimensions "dimensions", Reads "u" "hu";
    /// The position of a sample of a texture: handle, sample.
    SamplePosition "sample_position", Reads "f" "hu";
    /// The position of a sample of the render target.
    RenderTargetSamplePosition "render_target_sample_position", Reads "f" "u";
    /// The number of samples of the render target.
    RenderTargetSampleCount "render_target_sample_count", Reads "u" "";
    /// Whether all texels of an access are resident: status.
    IsResident "is_resident", None "b" "u";
    /// Changes memory of a resource, and returns its earlier contents: handle, coordinates, value.
    AtomicResource(op: AtomicOp) "atomic_resource", Changes "a" "hua";
    /// Sets memory of a resource if it has a value, and returns its earlier contents: handle, coordinates, expected
    /// value, new value.
    CompareExchangeResource "compare_exchange_resource", Changes "a" "huaa";
    /// Changes the counter of a buffer by 1 or -1: handle, step. Returns the number of the element.
    UpdateCounter "update_counter", Changes "u" "hm";
    /// Records a sampling: feedback map, texture, sampler, coordinates, clamp.
    WriteFeedback "write_feedback", Changes "-" "hhhff";
    /// Records a sampling: feedback map, texture, sampler, coordinates, bias, clamp.
    WriteFeedbackBias "write_feedback_bias", Changes "-" "hhhfff";
    /// Records a sampling: feedback map, texture, sampler, coordinates, level.
    WriteFeedbackLevel "write_feedback_level", Changes "-" "hhhff";
    /// Records a sampling: feedback map, texture, sampler, coordinates, derivatives, clamp.
    WriteFeedbackGradient "write_feedback_gradient", Changes "-" "hhhffff";

    // Ray tracing.

    /// A component of the index of the ray in its dispatch.
    DispatchRaysIndex "dispatch_rays_index", None "u" "m";
    /// A component of the size of the dispatch.
    DispatchRaysDimensions "dispatch_rays_dimensions", None "u" "m";
    /// The flags of the ray.
    RayFlags "ray_flags", None "u" "";
    /// The smallest parameter of the ray.
    RayTMin "ray_t_min", None "f" "";
    /// The parameter of the nearest hit so far.
    RayTCurrent "ray_t_current", Reads "f" "";
    /// A component of the origin in world space.
    WorldRayOrigin "world_ray_origin", None "f" "m";
    /// A component of the direction in world space.
    WorldRayDirection "world_ray_direction", None "f" "m";
    /// A component of the origin in object space.
    ObjectRayOrigin "object_ray_origin", None "f" "m";
    /// A component of the direction in object space.
    ObjectRayDirection "object_ray_direction", None "f" "m";
    /// An entry of the matrix from object to world space: row, column.
    ObjectToWorld "object_to_world", None "f" "mm";
    /// An entry of the matrix from world to object space: row, column.
    WorldToObject "world_to_object", None "f" "mm";
    /// The index of the primitive.
    PrimitiveIndex "primitive_index", None "u" "";
    /// The user's number of the instance.
    InstanceId "instance_id", None "u" "";
    /// The index of the instance.
    InstanceIndex "instance_index", None "u" "";
    /// The kind of the hit.
    HitKind "hit_kind", None "u" "";
    /// The index of the geometry.
    GeometryIndex "geometry_index", None "u" "";
    /// Traces a ray: structure, flags, mask, offset, stride, miss shader, origin, minimum, direction, maximum, payload.
    TraceRay "trace_ray", Changes "-" "huuuuuffffp";
    /// Reports a hit: parameter, kind, attributes.
    ReportHit "report_hit", Changes "b" "fup";
    /// Calls a shader: its index, argument.
    CallShader "call_shader", Changes "-" "up";
    /// Ignores the hit, and ends the shader.
    IgnoreHit "ignore_hit", Changes "-" "";
    /// Accepts the hit, and ends the search.
    AcceptHitAndEndSearch "accept_hit_and_end_search", Changes "-" "";

    // Ray queries. The first input is the query.

    /// A new query with constant flags.
    NewRayQuery "new_ray_query", Changes "o" "mm";
    /// Starts a query: structure, flags, mask, origin, minimum, direction, maximum.
    TraceRayInline "trace_ray_inline", Changes "-" "ohuuffff";
    /// Continues; whether there is a candidate.
    RayQueryProceed "ray_query_proceed", Changes "b" "o";
    /// Ends the query.
    RayQueryAbort "ray_query_abort", Changes "-" "o";
    /// Accepts the triangle.
    CommitTriangle "commit_triangle", Changes "-" "o";
    /// Accepts a procedural primitive: parameter.
    CommitProcedural "commit_procedural", Changes "-" "of";
    /// A number of the query that is an unsigned integer: which one.
    RayQueryInteger "ray_query_integer", Reads "u" "om";
    /// A number of the query that is a floating-point number: which one, component, row.
    RayQueryFloat "ray_query_float", Reads "f" "ommm";
    /// A truth of the query: which one.
    RayQueryBool "ray_query_bool", Reads "b" "om";

    // Vectors.

    /// A lane of a vector, by a computed index: vector, index.
    ExtractLane "extract_lane", None "a" "au";
    /// A vector with one lane replaced, by a computed index: vector, index, new value.
    InsertLane "insert_lane", Reads "a" "aua";
    /// Whether all lanes of a vector of conditions hold.
    AllLanes "all_lanes", None "b" "b";
    /// Whether any lane of a vector of conditions holds.
    AnyLane "any_lane", None "b" "b";

    // Nodes of work graphs.

    /// The records of an input of a node: its number.
    NodeInput "node_input", None "o" "m";
    /// An output of a node: its number, and the index in an array of outputs.
    NodeOutput "node_output", None "o" "mu";
    /// New records of an output: output, their number, whether each thread has its own.
    AllocateRecords "allocate_records", Changes "o" "oum";
    /// The place of a record: records, index.
    Record "record", None "p" "ou";
    /// Sends records: records.
    CompleteRecords "complete_records", Changes "-" "o";
    /// Sends records without contents: output, their number, whether each thread sends its own.
    SendEmptyRecords "send_empty_records", Changes "-" "oum";
    /// The number of records of an input.
    RecordCount "record_count", Reads "u" "o";
    /// Whether an output leads to a node.
    HasTarget "has_target", Reads "b" "o";
    /// Whether all other groups have finished with a record.
    FinishSharing "finish_sharing", Changes "b" "o";
    /// The number of levels that a node may still recur.
    RemainingRecursion "remaining_recursion", Reads "u" "";
    /// Waits for the memory of records: the bits of the meaning.
    BarrierByRecord "barrier_by_record", Changes "-" "om";

    // Hits of rays as objects.

    /// A hit object for which nothing is done.
    EmptyHit "empty_hit", None "o" "";
    /// A hit object of a miss: flags, miss shader, origin, minimum, direction, maximum.
    MissHit "miss_hit", None "o" "uuffff";
    /// Traces a ray: structure, flags, mask, offset, stride, miss shader, origin, minimum, direction, maximum, payload.
    TraceHit "trace_hit", Changes "o" "huuuuuffffp";
    /// The committed hit of a ray query.
    QueryHit "query_hit", Reads "o" "o";
    /// The committed hit of a ray query with attributes: query, kind, attributes.
    QueryHitWithAttributes "query_hit_with_attributes", Reads "o" "oup";
    /// Calls the shader of a hit: hit, payload.
    InvokeHit "invoke_hit", Changes "-" "op";
    /// Lets threads change places, by a hit and a number: hit, number, how many of its bits count.
    ReorderThreads "reorder_threads", Changes "-" "ouu";
    /// A number of a hit that is an unsigned integer: which one.
    HitInteger "hit_integer", None "u" "om";
    /// A number of a hit that is a floating-point number: which one, component, row.
    HitFloat "hit_float", None "f" "ommm";
    /// A truth of a hit: which one.
    HitBool "hit_bool", None "b" "om";
    /// A hit with another index of the shader table: hit, index.
    SetShaderTableIndex "set_shader_table_index", Reads "o" "ou";
    /// A constant of the local root table of a hit: hit, offset.
    HitRootConstant "hit_root_constant", Reads "u" "ou";
    /// Copies the attributes of a hit to a variable: hit, variable.
    HitAttributes "hit_attributes", Changes "-" "op";
    /// The three vertices of the triangle that was hit, in object space.
    TrianglePosition "triangle_position", Reads "f" "";
    /// The three vertices of the triangle of a ray query or hit: which one.
    TrianglePositionOf "triangle_position_of", Reads "f" "om";
    /// The user's number of the cluster.
    ClusterId "cluster_id", Reads "u" "";

    // Waves of a group, and debuggers.

    /// The number of the wave in its group.
    GroupWaveIndex "group_wave_index", Reads "u" "";
    /// The number of waves of a group.
    GroupWaveCount "group_wave_count", Reads "u" "";
    /// Stops in a debugger.
    DebugBreak "debug_break", Changes "-" "";
    /// Whether a debugger is there.
    IsDebugging "is_debugging", Reads "b" "";
}

/// The bits of [`ShaderOp::Barrier`].
pub mod barrier {
    /// All threads of the group wait.
    pub const GROUP_SYNC: u64 = 1;
    /// Memory of resources, for all threads.
    pub const DEVICE_MEMORY: u64 = 2;
    /// Memory of resources, for the threads of the group.
    pub const DEVICE_MEMORY_OF_GROUP: u64 = 4;
    /// Shared memory of the group.
    pub const GROUP_MEMORY: u64 = 8;
}

/// The kind of a result or input of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandKind {
    /// None.
    None,
    /// A floating-point number.
    Float,
    /// A signed integer.
    Signed,
    /// An unsigned integer.
    Unsigned,
    /// A boolean.
    Bool,
    /// Any number.
    Any,
    /// What the resource or element holds.
    Element,
    /// A handle of a resource.
    Handle,
    /// The place of a variable.
    Place,
    /// An object.
    Object,
    /// A constant that selects something.
    Constant,
}

impl OperandKind {
    fn of_letter(letter: u8) -> Self {
        match letter {
            b'f' => Self::Float,
            b'i' => Self::Signed,
            b'u' => Self::Unsigned,
            b'b' => Self::Bool,
            b'a' => Self::Any,
            b'e' => Self::Element,
            b'h' => Self::Handle,
            b'p' => Self::Place,
            b'o' => Self::Object,
            b'm' => Self::Constant,
            _ => Self::None,
        }
    }
}

impl ShaderOp {
    /// Returns the kind of its result.
    pub fn result(self) -> OperandKind {
        self.letters().0.bytes().next().map_or(OperandKind::None, OperandKind::of_letter)
    }

    /// Returns the kind of an input; [`OperandKind::None`] if it has fewer.
    pub fn input(self, index: usize) -> OperandKind {
        self.letters()
            .1
            .as_bytes()
            .get(index)
            .map_or(OperandKind::None, |letter| OperandKind::of_letter(*letter))
    }

    /// Returns the number of its inputs.
    pub fn input_count(self) -> usize {
        self.letters().1.len()
    }

    /// Returns whether a language writes it as a name, perhaps with an index or a member: inputs, places, resources,
    /// constants of a buffer.
    pub fn is_name(self) -> bool {
        matches!(self.result(), OperandKind::Place | OperandKind::Handle)
            || matches!(
                self,
                Self::LoadInput
                    | Self::LoadConstant
                    | Self::NonUniform
                    | Self::Argument
                    | Self::NodeInput
                    | Self::NodeOutput
            )
            || self.effect() == Effect::None
                && (0..self.input_count()).all(|index| self.input(index) == OperandKind::Constant)
    }

    /// Returns whether a language writes it as a statement that sets variables: it can't be part of an expression.
    pub fn sets_variables(self) -> bool {
        matches!(
            self,
            Self::Dimensions
                | Self::SplitDouble
                | Self::InsertLane
                | Self::AllocateRecords
                | Self::SetShaderTableIndex
                | Self::TrianglePosition
                | Self::TrianglePositionOf
        )
    }

    /// Returns what it takes numbers for, if it exists for floats and for integers.
    pub fn number_kind(self) -> Option<NumberKind> {
        match self {
            Self::WaveAllEqual(kind)
            | Self::WaveMatch(kind)
            | Self::WaveReduce(_, kind)
            | Self::WavePrefix(_, kind)
            | Self::WaveMultiPrefix(_, kind) => Some(kind),
            _ => None,
        }
    }

    /// Returns the signedness that it reads integers with, if it says one.
    pub fn signedness(self) -> Option<Signedness> {
        match self {
            Self::IntegerMultiplyAdd(signedness)
            | Self::MultiplyHigh(signedness)
            | Self::ExtractBits(signedness)
            | Self::Dot4Add(signedness)
            | Self::Unpack(signedness)
            | Self::PackClamp(signedness) => Some(signedness),
            Self::AtomicResource(op) | Self::AtomicVariable(op) => match op {
                AtomicOp::SignedMin | AtomicOp::SignedMax => Some(Signedness::Signed),
                AtomicOp::UnsignedMin | AtomicOp::UnsignedMax => Some(Signedness::Unsigned),
                _ => None,
            },
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_identify_operations() {
        for op in ShaderOp::all() {
            assert_eq!(ShaderOp::by_name(&op.to_string()), Some(op));
        }
        assert_eq!(ShaderOp::by_name("sample.x"), None);
    }

    #[test]
    fn every_input_has_a_kind() {
        for op in ShaderOp::all() {
            let kinds: Vec<OperandKind> = (0..op.input_count()).map(|index| op.input(index)).collect();
            assert!(!kinds.contains(&OperandKind::None), "{op}: {kinds:?}");
        }
    }
}
