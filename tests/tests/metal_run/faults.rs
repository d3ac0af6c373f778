//! Faults, which name the instruction and the thread.

use super::{fault, module, run};
use unshade_emulate::metal::Reason;

#[test]
fn accesses_out_of_bounds() {
    let body = "  %far = getelementptr i32, i32 addrspace(1)* %place, i64 2
  %result = load i32, i32 addrspace(1)* %far";
    let message = fault(body, "", &[0; 3]);
    assert_eq!(
        message,
        "reads 4 bytes at byte 12 of words, which has 12, in f at 0x4, thread (1,0,0) of group (0,0,0)"
    );
    let body = "  %slot = alloca [2 x i16]
  %beyond = getelementptr [2 x i16], [2 x i16]* %slot, i64 0, i32 %own
  store i16 0, i16* %beyond
  %result = add i32 0, 0";
    let message = fault(body, "", &[1, u32::MAX]);
    assert!(
        message.starts_with("writes 2 bytes at byte -2 of a variable of the thread, which has 4"),
        "{message}"
    );
    let body = "  %pointer = inttoptr i64 64 to i32 addrspace(1)*
  %result = load i32, i32 addrspace(1)* %pointer";
    let message = fault(body, "", &[1]);
    assert!(message.starts_with("reads 4 bytes at 0x40, where no variable is"), "{message}");
}

#[test]
fn constants_stay() {
    let body = "  %wrong = addrspacecast [1 x i32] addrspace(2)* @table to [1 x i32] addrspace(1)*
  %first = getelementptr [1 x i32], [1 x i32] addrspace(1)* %wrong, i64 0, i64 0
  store i32 1, i32 addrspace(1)* %first
  %result = add i32 0, 0";
    let message = fault(body, "@table = internal addrspace(2) constant [1 x i32] [i32 5]", &[1]);
    assert!(message.starts_with("writes to table, which is constant"), "{message}");
}

#[test]
fn variables_of_a_function_end_with_it() {
    let body = "  %dangling = call i32* @local()
  %result = load i32, i32* %dangling";
    let rest = "define internal i32* @local() {\n  %slot = alloca i32\n  ret i32* %slot\n}";
    let message = fault(body, rest, &[1]);
    assert!(message.contains("where no variable is"), "{message}");
}

#[test]
fn divisions() {
    let body = "  %result = sdiv i32 %own, %index";
    assert!(fault(body, "", &[1]).starts_with("divides an integer by zero, in f at 0x3, thread (0,0,0)"));
    let body = "  %minus = sub i32 %index, 1\n  %result = srem i32 %own, %minus";
    assert!(fault(body, "", &[1 << 31]).starts_with("divides the least integer by -1"));
}

#[test]
fn recursion() {
    let body = "  %result = call i32 @down(i32 %own)";
    let rest = "define internal i32 @down(i32 %n) {
  %less = sub i32 %n, 1
  %more = call i32 @down(i32 %less)
  ret i32 %more
}";
    let message = fault(body, rest, &[3]);
    assert!(message.starts_with("down calls itself, in down at 0x1, called by f at 0x3"), "{message}");
}

#[test]
fn endless_loops() {
    let body = "  br label %loop
loop:
  br label %loop
never:
  %result = add i32 0, 0";
    assert!(fault(body, "", &[3]).starts_with("more steps than the limit"));
}

#[test]
fn barriers_that_not_all_threads_get_to() {
    let rest = "declare void @air.wg.barrier(i32, i32)";
    let some = "  %is_first = icmp eq i32 %index, 0
  br i1 %is_first, label %wait, label %done
wait:
  call void @air.wg.barrier(i32 2, i32 1)
  br label %done
done:
  %result = add i32 %own, 0";
    let message = fault(some, rest, &[1, 2]);
    assert!(message.starts_with("not all threads of the threadgroup get to the barrier, in f"), "{message}");
    let two = "  %is_first = icmp eq i32 %index, 0
  br i1 %is_first, label %wait, label %other
wait:
  call void @air.wg.barrier(i32 2, i32 1)
  br label %done
other:
  call void @air.wg.barrier(i32 1, i32 1)
  br label %done
done:
  %result = add i32 %own, 0";
    let fault = run(&module(two, rest), &[1, 2], 2).unwrap_err();
    assert_eq!(fault.reason, Reason::DivergentBarrier);
    assert_eq!(fault.place.unwrap().thread, [1, 0, 0]);
}

#[test]
fn arguments_have_to_fit() {
    use super::program;
    use unshade_emulate::metal::{Argument, Grid, Limits, Machine};
    let program = program(&module("  %result = add i32 %own, 1", ""));
    let mut machine = Machine::new(&program, Limits::default());
    let grid = Grid { groups: [1; 3], threads: [1; 3] };
    let run = |machine: &mut Machine<'_>, name: &str, grid, arguments: &[Argument]| {
        machine.run(name, grid, arguments).unwrap_err().to_string()
    };
    assert_eq!(run(&mut machine, "g", grid, &[]), "there is no kernel g");
    assert_eq!(run(&mut machine, "f", grid, &[]), "f takes 2 arguments, not 0");
    let arguments = [Argument::Position, Argument::Position];
    assert_eq!(run(&mut machine, "f", grid, &arguments), "no value for the argument words [[buffer(0)]]");
    let large = Grid { groups: [1; 3], threads: [64; 3] };
    assert_eq!(run(&mut machine, "f", large, &arguments), "a threadgroup of 262144 threads, of at most 1024");
}
