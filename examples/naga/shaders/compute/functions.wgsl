// groups 1 1 1
// buffer 0 0: f32 ramp 8 -2 0.75
// buffer 0 1: zero 16
@group(0) @binding(0) var<storage> a: array<f32, 8>;
@group(0) @binding(1) var<storage, read_write> out: array<vec2f, 8>;

struct State { value: f32, steps: i32 }

fn advance(state: ptr<function, State>, by: f32) {
    if by < 0.0 { return; }
    (*state).value += by;
    (*state).steps += 1;
}

fn polynomial(x: f32) -> f32 {
    if x < 0.0 { return -polynomial_of(-x); }
    return polynomial_of(x);
}

fn polynomial_of(x: f32) -> f32 { return (2.0 * x + 1.0) * x - 3.0; }

fn both(x: f32) -> State {
    var state = State(x, 0);
    for (var i = 0; i < 3; i++) { advance(&state, f32(i) - 0.5); }
    return state;
}

@compute @workgroup_size(8)
fn compute(@builtin(local_invocation_index) i: u32) {
    let s = both(a[i]);
    out[i] = vec2f(polynomial(a[i]) + s.value, f32(s.steps));
}
