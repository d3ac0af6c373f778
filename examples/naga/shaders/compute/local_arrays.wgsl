// groups 1 1 1
// buffer 0 0: u32 5 3 8 1 9 2 7 4 6 0 15 11 12 10 14 13
// buffer 0 1: zero 16
@group(0) @binding(0) var<storage> a: array<u32, 16>;
@group(0) @binding(1) var<storage, read_write> out: array<u32, 16>;

@compute @workgroup_size(1)
fn compute() {
    var list: array<u32, 16>;
    for (var i = 0u; i < 16u; i++) { list[i] = a[i]; }
    for (var i = 1u; i < 16u; i++) {
        let x = list[i];
        var j = i;
        while j > 0u {
            if list[j - 1u] <= x { break; }
            list[j] = list[j - 1u];
            j--;
        }
        list[j] = x;
    }
    let copy = list;
    for (var i = 0u; i < 16u; i++) { out[i] = copy[i] * 10u + list[15u - i]; }
}
