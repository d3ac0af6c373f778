//! LLVM bitcode.
