// groups 1 1 1
// buffer 0 0: zero 32
@group(0) @binding(0) var<storage, read_write> out: array<u32, 32>;

fn collatz(start: u32) -> u32 {
    var n = start;
    var steps = 0u;
    loop {
        if n <= 1u { break; }
        if n % 2u == 0u { n /= 2u; } else { n = 3u * n + 1u; }
        steps++;
    }
    return steps;
}

@compute @workgroup_size(32)
fn compute(@builtin(local_invocation_index) i: u32) {
    var sum = 0u;
    for (var a = 0u; a < i; a++) {
        if a % 3u == 0u { continue; }
        var b = a;
        while b > 0u {
            sum += b;
            b >>= 1u;
            if sum > 500u { break; }
        }
    }
    out[i] = sum * 1000u + collatz(i + 1u);
}
