// groups 1 1 1
// buffer 0 0: zero 32
struct Cell { weight: f32, tag: u32, at: vec2f }
var<workgroup> cells: array<Cell, 8>;
var<workgroup> total: u32;
var<workgroup> untouched: array<u32, 100>;
@group(0) @binding(0) var<storage, read_write> out: array<vec4f, 8>;

@compute @workgroup_size(8)
fn compute(@builtin(local_invocation_index) i: u32) {
    cells[i] = Cell(f32(i) * 0.5, i * i, vec2f(f32(i), -1.0));
    if i == 3u { total = 42u; }
    let count = workgroupUniformLoad(&total);
    let other = cells[7u - i];
    out[i] = vec4f(other.weight + f32(untouched[i * 12u]), f32(other.tag), other.at.x, f32(count));
}
