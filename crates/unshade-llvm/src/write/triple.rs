//! What a target triple says that matters for files: the format of object files, the system, and the CPU of Darwin's
//! wrapper.
//!
//! Knowledge: `Triple.cpp` of LLVM 14 and 19.

use super::Version;

/// The format of a target's object files, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectFormat {
    Elf,
    MachO,
    Coff,
    Other,
}

/// The environment of Windows, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Environment {
    /// Microsoft's, or none is stated.
    Msvc,
    /// MinGW or Cygwin.
    Gnu,
    Other,
}

/// The parts of a triple.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Triple {
    pub(super) format: ObjectFormat,
    pub(super) environment: Environment,
    /// Whether the system is one of Apple's.
    pub(crate) is_darwin: bool,
    /// The CPU type in Darwin's wrapper.
    pub(super) cpu_type: u32,
    /// Whether the CPU is a 32-bit x86.
    pub(super) is_x86_32: bool,
    /// Whether the CPU is a 64-bit x86.
    pub(super) is_x86_64: bool,
}

/// The beginnings of the names of Apple's systems.
const DARWIN: [&str; 4] = ["darwin", "ios", "macos", "tvos"];
/// Further ones: LLVM 14 only knows the first.
const LATER_DARWIN: [&str; 4] = ["watchos", "driverkit", "xros", "visionos"];

/// Architectures whose object files are those of the system; those of all others but WebAssembly are ELF.
const OF_SYSTEM: [&str; 6] = ["aarch64", "arm", "thumb", "x86_64", "amd64", "xscale"];
/// Names that begin like the above, but are big-endian ones.
const BIG_ENDIAN: [&str; 5] = ["aarch64_be", "armeb", "thumbeb", "xscaleeb", "armebv"];
/// Architectures that LLVM knows. Unknown ones have object files of the system, too.
const KNOWN: [&str; 46] = [
    "powerpc",
    "powerpcspe",
    "ppc",
    "ppc32",
    "powerpcle",
    "ppcle",
    "ppc32le",
    "powerpc64",
    "ppu",
    "ppc64",
    "powerpc64le",
    "ppc64le",
    "arc",
    "avr",
    "m68k",
    "msp430",
    "mips",
    "mipsel",
    "mips64",
    "mips64el",
    "r600",
    "amdgcn",
    "riscv32",
    "riscv64",
    "hexagon",
    "s390x",
    "systemz",
    "sparc",
    "sparcel",
    "sparcv9",
    "sparc64",
    "tce",
    "tcele",
    "xcore",
    "nvptx",
    "nvptx64",
    "le32",
    "le64",
    "amdil",
    "amdil64",
    "hsail",
    "hsail64",
    "spir",
    "spir64",
    "lanai",
    "ve",
];
/// Architectures without an object file format.
const WITHOUT_FORMAT: [&str; 7] = ["wasm32", "wasm64", "spirv", "spirv32", "spirv64", "dxil", "dxilv1.0"];

impl Triple {
    pub(crate) fn parse(triple: &[u8], version: Version) -> Self {
        let mut parts =
            triple.splitn(4, |&byte| byte == b'-').map(|part| core::str::from_utf8(part).unwrap_or(""));
        let mut next = || parts.next().unwrap_or("");
        let (architecture, _vendor, system, environment) = (next(), next(), next(), next());
        let starts = |names: &[&str]| names.iter().any(|name| system.starts_with(name));
        let is_darwin = starts(&DARWIN)
            || starts(&LATER_DARWIN[..1])
            || version == Version::Llvm19 && starts(&LATER_DARWIN);
        let is_windows = system.starts_with("win32") || system.starts_with("windows");
        let of_environment = ["xcoff", "goff", "coff", "elf", "macho", "wasm"];
        let format = match of_environment.into_iter().find(|format| environment.ends_with(format)) {
            Some("coff") => ObjectFormat::Coff,
            Some("elf") => ObjectFormat::Elf,
            Some("macho") => ObjectFormat::MachO,
            Some(_) => ObjectFormat::Other,
            None => default_format(architecture, system, is_darwin, is_windows),
        };
        let is_x86_32 = matches!(architecture.as_bytes(), [b'i', b'3'..=b'9', b'8', b'6']);
        Self {
            format,
            environment: match environment {
                _ if environment.starts_with("gnu") || environment.starts_with("cygnus") => Environment::Gnu,
                _ if environment.starts_with("msvc") => Environment::Msvc,
                "" | "elf" | "coff" | "macho" => Environment::Msvc,
                _ => Environment::Other,
            },
            is_darwin,
            cpu_type: cpu_type(architecture, is_x86_32),
            is_x86_32,
            is_x86_64: matches!(architecture, "x86_64" | "x86_64h" | "amd64"),
        }
    }
}

/// Returns the format of object files that follows from the architecture and the system.
fn default_format(architecture: &str, system: &str, is_darwin: bool, is_windows: bool) -> ObjectFormat {
    let starts = |names: &[&str]| names.iter().any(|name| architecture.starts_with(name));
    if WITHOUT_FORMAT.contains(&architecture) {
        return ObjectFormat::Other;
    }
    let has_own = matches!((architecture, system), ("powerpc" | "powerpc64" | "ppc" | "ppc64" | "ppc32" | "ppu", _) if system.starts_with("aix"))
        || matches!(architecture, "s390x" | "systemz") && system.starts_with("zos");
    if has_own {
        return ObjectFormat::Other;
    }
    let is_known = KNOWN.contains(&architecture) || starts(&["mips", "bpf", "kalimba"]);
    let is_of_system = starts(&OF_SYSTEM) && !starts(&BIG_ENDIAN);
    match (is_of_system || !is_known && !starts(&BIG_ENDIAN), is_darwin, is_windows) {
        (true, true, _) => ObjectFormat::MachO,
        (true, _, true) => ObjectFormat::Coff,
        _ => ObjectFormat::Elf,
    }
}

/// Returns the CPU type of an architecture in Darwin's wrapper.
fn cpu_type(architecture: &str, is_x86_32: bool) -> u32 {
    const BITS_64: u32 = 1 << 24;
    const X86: u32 = 7;
    const ARM: u32 = 12;
    const POWERPC: u32 = 18;
    let is_arm = architecture.starts_with("arm") && !architecture.starts_with("arm64")
        || architecture.starts_with("thumb")
        || architecture == "xscale";
    match architecture {
        "x86_64" | "x86_64h" | "amd64" => X86 | BITS_64,
        _ if is_x86_32 => X86,
        "powerpc" | "powerpcspe" | "ppc" | "ppc32" => POWERPC,
        "powerpc64" | "ppu" | "ppc64" => POWERPC | BITS_64,
        _ if is_arm && !BIG_ENDIAN.iter().any(|name| architecture.starts_with(name)) => ARM,
        _ => u32::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_follow_from_architecture_and_system() {
        let known: &[(&str, ObjectFormat, bool, u32)] = &[
            ("x86_64-unknown-linux-gnu", ObjectFormat::Elf, false, 0x0100_0007),
            ("i686-pc-windows-msvc", ObjectFormat::Coff, false, 7),
            ("x86_64-apple-macosx10.9.0", ObjectFormat::MachO, true, 0x0100_0007),
            ("arm64-apple-ios", ObjectFormat::MachO, true, u32::MAX),
            ("armv7-apple-ios", ObjectFormat::MachO, true, 12),
            ("air64-apple-macosx12.0.0", ObjectFormat::MachO, true, u32::MAX),
            ("dxil-ms-dx", ObjectFormat::Other, false, u32::MAX),
            ("nvptx64-nvidia-cuda", ObjectFormat::Elf, false, u32::MAX),
            ("powerpc64-ibm-aix", ObjectFormat::Other, false, 0x0100_0012),
            ("wasm32-unknown-unknown", ObjectFormat::Other, false, u32::MAX),
            ("x86_64-pc-windows-macho", ObjectFormat::MachO, false, 0x0100_0007),
            ("", ObjectFormat::Elf, false, u32::MAX),
        ];
        for &(text, format, is_darwin, cpu_type) in known {
            let triple = Triple::parse(text.as_bytes(), Version::Llvm19);
            assert_eq!(
                (triple.format, triple.is_darwin, triple.cpu_type),
                (format, is_darwin, cpu_type),
                "{text}"
            );
        }
        assert!(!Triple::parse(b"arm64-apple-xros", Version::Llvm14).is_darwin);
    }
}
