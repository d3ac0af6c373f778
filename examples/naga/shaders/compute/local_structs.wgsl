// groups 1 1 1
// buffer 0 0: zero 32
struct Item { id: u32, at: vec2f, on: bool }
@group(0) @binding(0) var<storage, read_write> out: array<vec4f, 8>;

@compute @workgroup_size(8)
fn compute(@builtin(local_invocation_index) i: u32) {
    var items: array<Item, 4>;
    for (var k = 0u; k < 4u; k++) {
        items[k] = Item(k * 3u, vec2f(f32(k), f32(k * k)), (k + i) % 2u == 0u);
    }
    items[i % 4u].at.y += 0.5;
    items[(i + 1u) % 4u].on = !items[i % 4u].on;
    var sum = vec2f();
    var ids = 0u;
    for (var k = 0u; k < 4u; k++) {
        let item = items[k];
        if item.on { sum += item.at; } else { ids += item.id; }
    }
    out[i] = vec4f(sum, f32(ids), f32(items[i & 3u].id));
}
