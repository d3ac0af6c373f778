// groups 1 1 1
// buffer 0 0: zero 16
@group(0) @binding(0) var<storage, read_write> out: array<i32, 16>;

fn pick(x: i32) -> i32 {
    switch x {
        case 0: { return 100; }
        case 1, 2: { return 200 + x; }
        case 3: { if x > 2 { return 3; } }
        case default: { return -1; }
    }
    return -2;
}

@compute @workgroup_size(16)
fn compute(@builtin(local_invocation_index) i: u32) {
    var total = 0;
    for (var k = 0; k < 4; k++) {
        switch i32(i) % 5 {
            case 0: { continue; }
            case 4: { total += 7; break; }
            default: { total += k; }
        }
        total += 1;
        if total > 20 { break; }
    }
    out[i] = total * 1000 + pick(i32(i) - 1);
}
