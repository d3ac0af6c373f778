// Metal's types for clang++ on a CPU, with the sizes and alignments of the Metal Shading Language Specification, sections
// 2.1 to 2.13: just enough to lay out structures. Functions of these types do not matter.

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;
typedef unsigned long size_t;
typedef long ptrdiff_t;
typedef _Float16 half;
struct bfloat { unsigned short bits; };

typedef int atomic_int;
typedef unsigned int atomic_uint;
typedef float atomic_float;
typedef bool atomic_bool;
typedef unsigned long atomic_ulong;

// A vector of three has the size and the alignment of one of four; a packed one those of its elements.
template <typename T, unsigned N> struct alignas(sizeof(T) * (N == 3 ? 4 : N)) vector {
    T elements[N == 3 ? 4 : N];
};
template <typename T, unsigned N> struct packed_vector {
    T elements[N];
};
// A matrix has columns, each a vector.
template <typename T, unsigned C, unsigned R> struct matrix {
    vector<T, R> columns[C];
};

#define VECTORS(T)                                                                                                     \
    typedef vector<T, 2> T##2;                                                                                         \
    typedef vector<T, 3> T##3;                                                                                         \
    typedef vector<T, 4> T##4;                                                                                         \
    typedef packed_vector<T, 2> packed_##T##2;                                                                         \
    typedef packed_vector<T, 3> packed_##T##3;                                                                         \
    typedef packed_vector<T, 4> packed_##T##4;
#define MATRICES(T)                                                                                                    \
    typedef matrix<T, 2, 2> T##2x2;                                                                                    \
    typedef matrix<T, 2, 3> T##2x3;                                                                                    \
    typedef matrix<T, 2, 4> T##2x4;                                                                                    \
    typedef matrix<T, 3, 2> T##3x2;                                                                                    \
    typedef matrix<T, 3, 3> T##3x3;                                                                                    \
    typedef matrix<T, 3, 4> T##3x4;                                                                                    \
    typedef matrix<T, 4, 2> T##4x2;                                                                                    \
    typedef matrix<T, 4, 3> T##4x3;                                                                                    \
    typedef matrix<T, 4, 4> T##4x4;

VECTORS(bool)
VECTORS(char)
VECTORS(uchar)
VECTORS(short)
VECTORS(ushort)
VECTORS(half)
VECTORS(bfloat)
VECTORS(int)
VECTORS(uint)
VECTORS(float)
VECTORS(long)
VECTORS(ulong)
MATRICES(half)
MATRICES(float)

// In an argument buffer, textures and other objects are handles of eight bytes.
struct handle { ulong number; };
enum class access { sample, read, write, read_write };
#define TEXTURE(name) template <typename T, access A = access::sample> struct name : handle {};
TEXTURE(texture1d)
TEXTURE(texture1d_array)
TEXTURE(texture2d)
TEXTURE(texture2d_array)
TEXTURE(texture2d_ms)
TEXTURE(texture2d_ms_array)
TEXTURE(texture3d)
TEXTURE(texturecube)
TEXTURE(texturecube_array)
TEXTURE(texture_buffer)
TEXTURE(depth2d)
TEXTURE(depth2d_array)
TEXTURE(depth2d_ms)
TEXTURE(depth2d_ms_array)
TEXTURE(depthcube)
TEXTURE(depthcube_array)
struct sampler : handle {};
struct command_buffer : handle {};
struct render_pipeline_state : handle {};
struct triangle_data {};
struct instancing {};
struct world_space_data {};
struct primitive_motion {};
struct instance_motion {};
struct extended_limits {};
struct curve_data {};
template <typename... Tags> struct visible_function_table : handle {};
template <typename... Tags> struct intersection_function_table : handle {};
struct instance_acceleration_structure : handle {};
struct primitive_acceleration_structure : handle {};

#define device
#define constant
#define threadgroup
#define thread
