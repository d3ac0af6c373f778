//! Links the program to a fixed address on Linux with glibc.
//!
//! Tables of instruction sets, records and names are 1 MB of pointers. In a program that is loaded anywhere, each is
//! relocated at the start, and every page of them copied: 0.8 of the 2 ms that `unshade --version` takes. The stack, the
//! heap and the libraries are still at random addresses. There is little to protect: but for the memory map, the project's
//! code is safe Rust.
//!
//! `cargo xtask dist`, which links the C library statically, asks the compiler for the same.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let config = |name: &str| std::env::var(format!("CARGO_CFG_{name}")).unwrap_or_default();
    let is_static = config("TARGET_FEATURE").split(',').any(|feature| feature == "crt-static");
    if config("TARGET_OS") == "linux" && config("TARGET_ENV") == "gnu" && !is_static {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
