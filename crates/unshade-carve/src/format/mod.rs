//! Identifies a run of bytes by its first bytes: a GPU program, a container that may hold some, or neither.
//!
//! | kind | recognised by | source |
//! |---|---|---|
//! | Metal library | `MTLB` | Metal's toolchain; every real file |
//! | Metal universal library | big-endian `0xCBFEBABE` | Metal's toolchain |
//! | DXContainer | `DXBC` | DXC's `DxilContainer.h`; every real file |
//! | CUDA fat binary | `0xBA55ED50`, version 1, header of 16 bytes | every real file |
//! | cubin | `\x7fELF` for machine 190 | the ELF specification; every real file |
//! | Direct3D 9 shader | a version token of Shader Model 1 to 3, instructions up to an end token, nothing after it | Microsoft's reference of the Direct3D shader codes |
//! | LLVM bitcode | `BC C0 DE`; the wrapper `0x0B17C0DE` | LLVM's *Bitcode File Format* |
//! | PTX | comments, `.version`, `.target` | NVIDIA's *PTX ISA* |
//! | zip | `PK\x03\x04`, or `PK\x05\x06` when empty | PKWARE's APPNOTE |
//! | gzip, zlib, bzip2, Zstandard | `1f 8b 08`; a valid two-byte header and a first block that inflates; `BZh` and a block's magic; `28 b5 2f fd` or a skippable frame | RFC 1952, RFC 1950, bzip2's manual, RFC 8878 |
//! | xz, LZ4 | `fd 37 7a 58 5a 00`; `04 22 4d 18`, or `02 21 4c 18` and the size of a block | *The .xz File Format*; *LZ4 Frame Format* |
//! | LZMA (`.lzma`) | a usual header of 13 bytes, and data that unpack | *The .lzma File Format* |
//! | tar | a header whose checksum is right | POSIX `pax` |
//! | static archive | `!<arch>\n`, thin `!<thin>\n` | `ar(5)`, GNU binutils' manual |
//! | offload bundle | `__CLANG_OFFLOAD_BUNDLE__` and a count; compressed `CCOB` | Clang's `ClangOffloadBundler.rst` |
//! | offload binary | `10 ff 10 ad`, version 1 or 2 | LLVM's `OffloadBinary.h` |
//! | Mach-O | `0xFEEDFACE`, `0xFEEDFACF` in either byte order; universal `0xCAFEBABE`, `0xCAFEBABF` | Apple's `loader.h`, `fat.h` |
//! | ELF | `\x7fELF` | the ELF specification |
//! | PE | `MZ`, and `PE\0\0` where it points | Microsoft's PE specification |
//! | index of a `.gputrace` | `xdic` | see [`carve_gputrace`](crate::carve_gputrace) |
//!
//! A magic number is enough here: a damaged file still has the *name* of its format, so that its reader can report what
//! is wrong. Carving from the middle of other bytes requires more.

mod detect;
mod kind;
pub(crate) mod magic;

pub(crate) use crate::checks::compressed::is_head;
pub use detect::detect;
pub(crate) use detect::{begins_known, detect_container};
pub use kind::{Container, Format, Kind, Signature, mach_cpu_name};
pub use magic::register;
