//! Names the formats of programs and the kinds of containers.

use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};

/// A format of compiled GPU programs. Matches on it are exhaustive, so the compiler lists what a new format needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// One Metal library (`MTLB`).
    MetalLibrary,
    /// Metal libraries and GPU executables for several targets in one file (`0xCBFEBABE`).
    MetalUniversal,
    /// A DirectX shader container (`DXBC`): DXIL, or a token program of shader model 4 or 5.
    DxContainer,
    /// Cubins for several chips and PTX in one container (`0xBA55ED50`).
    Fatbin,
    /// Compiled code for one NVIDIA chip: an ELF file.
    Cubin,
    /// PTX: text that NVIDIA's driver compiles.
    Ptx,
    /// A token program of Shader Model 1 to 3 outside of a container.
    Direct3d9,
    /// LLVM bitcode outside of a container: a stream of modules, or Darwin's wrapper of one.
    Bitcode,
    /// A format that a caller added with [`register`](super::register).
    Registered(&'static Signature),
}

/// Describes a format that a caller registers: how its programs are recognised, and its names.
#[derive(Clone, Copy, Debug)]
pub struct Signature {
    /// The display name, which identifies the format.
    pub name: &'static str,
    /// The usual file extension.
    pub extension: &'static str,
    /// The bytes that every program of the format begins with.
    pub magic: &'static [u8],
    /// Returns the size that a program states, or [`None`] if it is no program. The argument is all bytes from the
    /// magic number on.
    pub size: fn(&[u8]) -> Option<u64>,
}

impl PartialEq for Signature {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Signature {}

impl Hash for Signature {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl PartialOrd for Signature {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Signature {
    fn cmp(&self, other: &Self) -> Ordering {
        self.name.cmp(other.name)
    }
}

impl Format {
    /// All built-in formats, in the order of declaration.
    pub const ALL: &'static [Self] = &[
        Self::MetalLibrary,
        Self::MetalUniversal,
        Self::DxContainer,
        Self::Fatbin,
        Self::Cubin,
        Self::Ptx,
        Self::Direct3d9,
        Self::Bitcode,
    ];

    /// Returns whether it is an NVIDIA format.
    pub fn is_nvidia(self) -> bool {
        matches!(self, Self::Fatbin | Self::Cubin | Self::Ptx)
    }

    /// Returns the name that users of the platform know.
    pub fn name(self) -> &'static str {
        match self {
            Self::MetalLibrary => "Metal library",
            Self::MetalUniversal => "Metal universal library",
            Self::DxContainer => "DXContainer",
            Self::Fatbin => "CUDA fat binary",
            Self::Cubin => "cubin",
            Self::Ptx => "PTX",
            Self::Direct3d9 => "Direct3D 9 shader",
            Self::Bitcode => "LLVM bitcode",
            Self::Registered(signature) => signature.name,
        }
    }

    /// Returns the usual file extension.
    pub fn extension(self) -> &'static str {
        match self {
            Self::MetalLibrary | Self::MetalUniversal => "metallib",
            Self::DxContainer => "dxbc",
            Self::Fatbin => "fatbin",
            Self::Cubin => "cubin",
            Self::Ptx => "ptx",
            Self::Direct3d9 => "cso",
            Self::Bitcode => "bc",
            Self::Registered(signature) => signature.extension,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A kind of file that may hold GPU programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Container {
    /// A zip archive, such as a Python wheel, `.ipa`, `.jar` or `.apk`.
    Zip,
    /// A tar archive.
    Tar,
    /// gzip-compressed data.
    Gzip,
    /// bzip2-compressed data.
    Bzip2,
    /// Zstandard-compressed data.
    Zstd,
    /// xz-compressed data.
    Xz,
    /// LZMA-compressed data without the container of xz (`.lzma`).
    Lzma,
    /// LZ4-compressed data: frames.
    Lz4,
    /// zlib-compressed data: one stream, or several as in the store of a `.gputrace`.
    Zlib,
    /// A static archive (`.a`, `.lib`).
    Archive,
    /// A thin static archive: only the names of its members.
    ThinArchive,
    /// Device code for several targets, by `clang-offload-bundler`.
    OffloadBundle {
        /// Whether it is compressed.
        is_compressed: bool,
    },
    /// Device code for one or several targets, by `clang-offload-packager`.
    OffloadBinary,
    /// A Mach-O file for one architecture.
    MachO {
        /// Whether it is a 64-bit file.
        is_64: bool,
        /// Its `cputype`.
        cpu: u32,
    },
    /// A Mach-O universal file.
    MachOUniversal,
    /// An ELF file.
    Elf {
        /// Whether it is a 64-bit file.
        is_64: bool,
        /// Its `e_machine`.
        machine: u16,
    },
    /// A PE file.
    Pe {
        /// Whether it is PE32+, the 64-bit format.
        is_64: bool,
        /// Its `Machine`.
        machine: u16,
    },
    /// The index of an Xcode `.gputrace`; the programs are in the file `store0` beside it.
    GpuTraceIndex,
    /// A Direct3D effect outside of a container. From fx_4_0 on, compilers put effects into DXContainers.
    Effect {
        /// The name of its version: `fx_5_0`.
        profile: &'static str,
    },
}

impl Container {
    /// Returns whether it is one run of bytes, such as an object file with named sections, rather than a set of
    /// members.
    pub fn is_object(self) -> bool {
        matches!(self, Self::MachO { .. } | Self::Elf { .. } | Self::Pe { .. } | Self::Effect { .. })
    }
}

impl fmt::Display for Container {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = |is_64: bool| if is_64 { 64 } else { 32 };
        match *self {
            Self::Zip => f.pad("zip archive"),
            Self::Tar => f.pad("tar archive"),
            Self::Gzip => f.pad("gzip-compressed data"),
            Self::Bzip2 => f.pad("bzip2-compressed data"),
            Self::Zstd => f.pad("Zstandard-compressed data"),
            Self::Xz => f.pad("xz-compressed data"),
            Self::Lzma => f.pad("LZMA-compressed data"),
            Self::Lz4 => f.pad("LZ4-compressed data"),
            Self::Zlib => f.pad("zlib-compressed data"),
            Self::Archive => f.pad("static archive"),
            Self::ThinArchive => f.pad("thin static archive"),
            Self::OffloadBundle { is_compressed: false } => f.pad("Clang offload bundle"),
            Self::OffloadBundle { is_compressed: true } => f.pad("compressed Clang offload bundle"),
            Self::OffloadBinary => f.pad("LLVM offload binary"),
            Self::MachOUniversal => f.pad("Mach-O universal binary"),
            Self::GpuTraceIndex => f.pad("index of a .gputrace"),
            Self::Effect { profile } => write!(f, "Direct3D effect {profile} without a container"),
            Self::MachO { is_64, cpu } => match mach_cpu_name(cpu) {
                Some(name) => write!(f, "Mach-O {}-bit {name}", bits(is_64)),
                None => write!(f, "Mach-O {}-bit, processor {cpu:#x}", bits(is_64)),
            },
            Self::Elf { is_64, machine } => match elf_machine_name(machine) {
                Some(name) => write!(f, "ELF {}-bit {name}", bits(is_64)),
                None => write!(f, "ELF {}-bit, machine {machine:#x}", bits(is_64)),
            },
            Self::Pe { is_64, machine } => {
                let magic = if is_64 { "PE32+" } else { "PE32" };
                match pe_machine_name(machine) {
                    Some(name) => write!(f, "{magic} {name}"),
                    None => write!(f, "{magic}, machine {machine:#x}"),
                }
            }
        }
    }
}

/// The result of identifying a run of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A compiled GPU program.
    Program(Format),
    /// A file that may contain some.
    Container(Container),
    /// Anything else; it may still contain GPU programs anywhere.
    Unknown,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program(format) => format.fmt(f),
            Self::Container(container) => container.fmt(f),
            Self::Unknown => f.pad("unknown data"),
        }
    }
}

/// Returns Apple's name of a processor, by its `cputype`.
pub fn mach_cpu_name(cpu: u32) -> Option<&'static str> {
    Some(match cpu {
        7 => "i386",
        0x0100_0007 => "x86_64",
        12 => "arm",
        0x0100_000c => "arm64",
        0x0200_000c => "arm64_32",
        18 => "ppc",
        0x0100_0012 => "ppc64",
        0x0100_0013 => "Apple GPU",
        0x0100_0017 => "air64",
        _ => return None,
    })
}

fn elf_machine_name(machine: u16) -> Option<&'static str> {
    Some(match machine {
        3 => "x86",
        8 => "MIPS",
        20 => "PowerPC",
        21 => "PowerPC64",
        22 => "S390",
        40 => "ARM",
        62 => "x86-64",
        183 => "AArch64",
        190 => "NVIDIA CUDA",
        224 => "AMD GPU",
        243 => "RISC-V",
        258 => "LoongArch",
        _ => return None,
    })
}

fn pe_machine_name(machine: u16) -> Option<&'static str> {
    Some(match machine {
        0x014c => "x86",
        0x8664 => "x86-64",
        0x01c0 | 0x01c4 => "ARM",
        0xaa64 => "ARM64",
        0xa641 => "ARM64EC",
        0x0200 => "Itanium",
        0x0ebc => "EFI byte code",
        _ => return None,
    })
}
