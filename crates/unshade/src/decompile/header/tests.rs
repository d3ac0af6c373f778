use super::*;
use unshade_nv::debug::{DebugType, Member, TypeIndex};

/// Returns a type as text: `float`, `*float`, `[2][3]int`, `Body`.
fn shown(info: &DebugInfo, ty: Option<TypeIndex>) -> String {
    let Some(ty) = ty.and_then(|ty| info.ty(ty)) else { return String::from("void") };
    match &ty.kind {
        TypeKind::Pointer(target) => format!("*{}", shown(info, *target)),
        TypeKind::Array(element, counts) => {
            let counts: String = counts.iter().map(|count| format!("[{count}]")).collect();
            format!("{counts}{}", shown(info, *element))
        }
        _ => ty.name.clone(),
    }
}

/// Returns the members of a structure as text, with their offsets, and its size.
fn layout(info: &DebugInfo, name: &str) -> String {
    let found = info.types.iter().find(|ty| ty.name == name && ty.size > 0);
    let Some(DebugType { size, kind: TypeKind::Structure(members) | TypeKind::Union(members), .. }) = found
    else {
        return String::from("none");
    };
    let member = |Member { name, ty, offset }: &Member| format!("{offset} {} {name}; ", shown(info, *ty));
    members.iter().map(member).collect::<String>() + &size.to_string()
}

/// Returns the parameters of a function as text.
fn parameters(info: &DebugInfo, name: &str) -> String {
    let function = info.functions.iter().find(|function| function.name == name).unwrap();
    let texts = function.parameters.iter().map(|one| format!("{} {}", shown(info, one.ty), one.name));
    texts.collect::<Vec<_>>().join(", ")
}

#[test]
fn structures_have_the_layout_of_the_compiler() {
    let header = Header::parse(
        "#pragma once\n#include <cuda_runtime.h>\n#define SIDE 4\nenum Kind : unsigned char { NONE, SOME = 5, MORE };\n\
         typedef struct { double at; char flag; } Entry;\n\
         struct Body { float3 place; float mass; float4 color; bool isFixed; short cells[SIDE][SIDE * MORE - 20]; };\n\
         struct Node { Node *next[2]; union { float f; unsigned long u; }; Kind kind; Entry entry; };\n\
         struct __align__(16) Pair { int a, *b, c[3]; };\n\
         class Derived : public Body { public: Derived() : x(0) {} ~Derived(); int x = 3; static int count;\n\
         __device__ float length() const { return x; } bool operator==(const Derived &); void (*call)(int); };",
    );
    assert_eq!(header.faults, []);
    let info = &header.info;
    assert_eq!(layout(info, "Entry"), "0 double at; 8 char flag; 16");
    assert_eq!(
        layout(info, "Body"),
        "0 float3 place; 12 float mass; 16 float4 color; 32 bool isFixed; 34 [4][4]short cells; 80"
    );
    assert_eq!(layout(info, "Node"), "0 [2]*Node next; 16  unnamed_1; 24 Kind kind; 32 Entry entry; 48");
    assert_eq!(layout(info, "Pair"), "0 int a; 8 *int b; 16 [3]int c; 32");
    assert_eq!(layout(info, "Derived"), "0 Body unnamed_1; 80 int x; 88 *void call; 96");
}

#[test]
fn prototypes_and_variables_are_declared() {
    let header = Header::parse(
        "extern \"C\" __global__ void __launch_bounds__(256) scale(float *__restrict__ out, const float in[], int n = 4);\n\
         namespace math { using Real = double;\nstruct Grid { Real step; };\n\
         __device__ inline Real area(const Grid &grid, Real r) { return r * r * 3; } }\n\
         __constant__ float table[64]; extern __device__ int counter, limits[2];\n\
         template <> void sum<float, 4>(float *);\nvoid sum<double>(double *x, dim3 size);\n\
         unsigned long long int fold(unsigned, unsigned short x, uint64_t y, size_t, long long unsigned z, void *p, char c);",
    );
    let faults: Vec<String> = header.faults.iter().map(ToString::to_string).collect();
    assert_eq!(faults, ["line 6: templates are left out: declare `name<arguments>` instead"]);
    let info = &header.info;
    assert_eq!(parameters(info, "scale"), "*float out, *float in, int n");
    assert_eq!(parameters(info, "math::area"), "*Grid grid, double r");
    assert_eq!(
        parameters(info, "fold"),
        "unsigned int , unsigned short x, uint64_t y, size_t , unsigned long z, *void p, char c"
    );
    let elements: Vec<(&str, Type)> = header.elements().collect();
    let expected = [
        ("table", Type::Float(32)),
        ("counter", Type::Integer(32, true)),
        ("limits", Type::Integer(32, true)),
    ];
    assert_eq!(elements, expected);
    let name =
        |symbol, demangled, count| header.function(symbol, demangled, count).map(|one| one.name.as_str());
    assert_eq!(name("scale", None, 3), Some("scale"));
    assert_eq!(name("_Z5scalePfPKfi", Some("scale(float*, float const*, int)"), 3), Some("scale"));
    assert_eq!(name("_Z", Some("math::area(math::Grid const&, double)"), 2), Some("math::area"));
    assert_eq!(name("_Z", Some("void sum<double>(double*, dim3)"), 2), Some("sum<double>"));
    assert_eq!(name("_Z", Some("other::scale(int)"), 1), Some("scale"));
    assert_eq!(name("other", None, 0), None);
}

#[test]
fn what_is_left_out_is_reported_with_its_line() {
    let header = Header::parse(
        "struct Flags { unsigned a : 3; };\nvoid f(Unknown *x);\n\nstruct Shape { virtual float area(); };\n\
         int a[-1];\nint b[1 << 40][1 << 40];\nvoid g(int x;\nvoid h(int n);\n}\nstruct Open { int a;",
    );
    let faults: Vec<String> = header.faults.iter().map(ToString::to_string).collect();
    assert_eq!(
        faults,
        [
            "line 1: bit fields are left out: `Flags::a`",
            "line 2: unknown type `Unknown`",
            "line 4: `Shape` has virtual functions",
            "line 5: -1 is no count of elements",
            "line 6: the array is too large",
            "line 7: `,` or `)` is expected after a parameter, not `;`",
            "line 9: there is no scope to close",
            "line 10: `Open` has no closing brace",
        ]
    );
    assert_eq!(header.info.functions.len(), 1);
}

#[test]
fn hostile_headers_end() {
    for text in [
        "struct A { ",
        "f(int a(",
        "int a[sizeof(int[",
        "namespace a {",
        "a<",
        "(",
        "x[;",
        "(*;",
        "int x = (;",
        "__attribute__((;",
        "enum {",
        "#define A A A\nA",
    ] {
        let _ = Header::parse(&text.repeat(30_000));
    }
    let mut text = String::from("#define A0 int int\n");
    for index in 0..100 {
        text += &format!("#define A{} A{index} A{index}\n", index + 1);
    }
    let _ = Header::parse(&(text + "A100 x;"));
}
