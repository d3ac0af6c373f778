//! Generates the files of the module other than specifications.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use crate::model::Isa;

/// Generates every file of the module: its path and its text.
pub fn module(isa: &Isa) -> Vec<(PathBuf, String)> {
    let languages = PathBuf::from("data/languages");
    let mut files = vec![
        (PathBuf::from("Module.manifest"), String::new()),
        (languages.join("nvidia.ldefs"), definitions(isa)),
        (languages.join("nvidia.opinion"), opinion(isa)),
        (languages.join("nvidia.cspec"), compiler()),
        (languages.join("functions.sinc"), functions(isa)),
    ];
    for generation in &isa.generations {
        files.push((
            languages.join(format!("{}.slaspec", generation.name)),
            super::specification(isa, generation),
        ));
        files.push((languages.join(format!("{}.pspec", generation.name)), processor(isa)));
    }
    files
}

const XML: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- Written by `cargo xtask codegen` from isa/nvidia. Do not edit. -->\n";

fn definitions(isa: &Isa) -> String {
    let mut out = format!("{XML}<language_definitions>\n");
    for generation in &isa.generations {
        let name = &generation.name;
        let _ = write!(
            out,
            "  <language processor=\"NVIDIA\" endian=\"little\" size=\"64\" variant=\"{name}\" version=\"1.0\" \
             slafile=\"{name}.sla\" processorspec=\"{name}.pspec\" id=\"NVIDIA:LE:64:{name}\">\n    <description>NVIDIA {}\
             </description>\n    <compiler name=\"CUDA\" spec=\"nvidia.cspec\" id=\"default\"/>\n  </language>\n",
            generation.title
        );
    }
    out.push_str("</language_definitions>\n");
    out
}

/// Generates the opinion file. Cubins are ELF files of machine 190, whose flags have the architecture in the lowest
/// byte.
fn opinion(isa: &Isa) -> String {
    let mut out = format!(
        "{XML}<opinions>\n  <constraint loader=\"Executable and Linking Format (ELF)\" compilerSpecID=\"default\">\n"
    );
    for generation in &isa.generations {
        for architecture in &generation.architectures {
            let _ = writeln!(
                out,
                "    <constraint primary=\"190\" secondary=\"0b .... .... .... .... .... .... {}\" processor=\"NVIDIA\" \
                 endian=\"little\" size=\"64\" variant=\"{}\"/>",
                nibbles(*architecture),
                generation.name
            );
        }
    }
    out.push_str("  </constraint>\n</opinions>\n");
    out
}

fn nibbles(number: u32) -> String {
    format!("{:04b} {:04b}", number >> 4 & 15, number & 15)
}

/// Generates the compiler specification. Parameters are in constant bank 0 from 0x140.
fn compiler() -> String {
    format!(
        "{XML}<compiler_spec>\n  <data_organization>\n    <pointer_size value=\"8\"/>\n    <integer_size value=\"4\"/>\n    \
         <long_size value=\"8\"/>\n    <long_long_size value=\"8\"/>\n    <float_size value=\"4\"/>\n    <double_size \
         value=\"8\"/>\n    <size_alignment_map>\n      <entry size=\"1\" alignment=\"1\"/>\n      <entry size=\"2\" \
         alignment=\"2\"/>\n      <entry size=\"4\" alignment=\"4\"/>\n      <entry size=\"8\" alignment=\"8\"/>\n    \
         </size_alignment_map>\n  </data_organization>\n  <global>\n    <range space=\"ram\"/>\n    <range \
         space=\"shared\"/>\n    <range space=\"special\"/>\n    <range space=\"constant\"/>\n  </global>\n  <stackpointer \
         register=\"SP\" space=\"local_memory\"/>\n  <returnaddress>\n    <varnode space=\"register\" offset=\"{RETURN_ADDRESS:#x}\" size=\"8\"/>\n  \
         </returnaddress>\n  <default_proto>\n    <prototype name=\"kernel\" extrapop=\"0\" stackshift=\"0\">\n      \
         <input>\n        <pentry minsize=\"1\" maxsize=\"4096\" align=\"4\">\n          <addr space=\"constant\" \
         offset=\"0x140\"/>\n        </pentry>\n      </input>\n      <output>\n        <pentry minsize=\"1\" \
         maxsize=\"4\">\n          <register name=\"R4\"/>\n        </pentry>\n      </output>\n    </prototype>\n  \
         </default_proto>\n</compiler_spec>\n"
    )
}

/// The special registers and their names in CUDA.
const SPECIAL: [(&str, &str); 12] = [
    ("tid_x", "threadIdx.x"),
    ("tid_y", "threadIdx.y"),
    ("tid_z", "threadIdx.z"),
    ("ctaid_x", "blockIdx.x"),
    ("ctaid_y", "blockIdx.y"),
    ("ctaid_z", "blockIdx.z"),
    ("laneid", "laneId"),
    ("eqmask", "laneMaskEq"),
    ("ltmask", "laneMaskLt"),
    ("lemask", "laneMaskLe"),
    ("gtmask", "laneMaskGt"),
    ("gemask", "laneMaskGe"),
];

/// The contents of constant bank 0 on Kepler.
const CONSTANTS: [(u32, &str); 6] = [
    (0x28, "blockDim.x"),
    (0x2c, "blockDim.y"),
    (0x30, "blockDim.z"),
    (0x34, "gridDim.x"),
    (0x38, "gridDim.y"),
    (0x3c, "gridDim.z"),
];

fn processor(isa: &Isa) -> String {
    let mut out =
        format!("{XML}<processor_spec>\n  <programcounter register=\"pc\"/>\n  <default_symbols>\n");
    let registers = isa.modifier("sreg").map(|index| &isa.modifiers[index].values);
    for (number, value) in registers.into_iter().flatten().enumerate() {
        let name = SPECIAL
            .iter()
            .find(|entry| entry.0 == value.name)
            .map_or(value.spelling.as_str(), |entry| entry.1);
        let _ = writeln!(
            out,
            "    <symbol name=\"{name}\" address=\"special:{:#x}\" entry=\"false\" type=\"code_ptr\"/>",
            number * 4
        );
    }
    for (offset, name) in CONSTANTS {
        let _ = writeln!(
            out,
            "    <symbol name=\"{name}\" address=\"constant:{offset:#x}\" entry=\"false\" type=\"code_ptr\"/>"
        );
    }
    out.push_str("  </default_symbols>\n</processor_spec>\n");
    out.replace(" type=\"code_ptr\"", "")
}

fn functions(isa: &Isa) -> String {
    let mut out = String::from("# Written by `cargo xtask codegen` from isa/nvidia. Do not edit.\n\n");
    for function in &isa.functions {
        let _ = writeln!(out, "# {}\ndefine pcodeop {};", function.meaning, function.name);
    }
    out
}

/// The offset of the registers for temporaries that several pieces share.
const SCRATCH: u32 = 0x2000;
/// The offset of Ghidra's context register.
const CONTEXT: u32 = 0x4000;
/// The offset of predicates and flags.
const PREDICATES: u32 = 0x1000;
/// The offset of the return address of calls.
const RETURN_ADDRESS: u32 = 0x1110;

/// Writes the spaces and registers of a specification.
pub(super) fn spaces_and_registers(out: &mut String, zero: u32, scratch: &BTreeMap<u32, usize>) {
    out.push_str(
        "define endian=little;\ndefine alignment=8;\ndefine space ram type=ram_space size=8 default;\ndefine space local_memory \
         type=ram_space size=4;\ndefine space shared type=ram_space size=4;\ndefine space constant type=ram_space \
         size=4;\ndefine space special type=ram_space size=4;\ndefine space register type=register_space size=4;\n\n",
    );
    let name = |number: u32, suffix: &str| {
        if number == zero { format!("RZ{suffix}") } else { format!("R{number}{suffix}") }
    };
    let list = |from: u32, step: usize, suffix: &str| {
        (from..=zero).step_by(step).map(|number| name(number, suffix)).collect::<Vec<_>>().join(" ")
    };
    let _ = writeln!(out, "define register offset=0 size=4 [ {} ];", list(0, 1, ""));
    let _ = writeln!(out, "define register offset=0 size=8 [ {} ];", list(0, 2, "_64"));
    let _ = writeln!(out, "define register offset=4 size=8 [ {} ];", list(1, 2, "_64"));
    let _ = writeln!(
        out,
        "define register offset={PREDICATES:#x} size=1 [ P0 P1 P2 P3 P4 P5 P6 PT CF ZF SF OF ];"
    );
    let _ = writeln!(out, "define register offset={:#x} size=8 [ pc SP ];", PREDICATES + 0x100);
    let _ = writeln!(
        out,
        "define register offset={RETURN_ADDRESS:#x} size=8 [ return_address exit_address whole ];"
    );
    let _ = writeln!(
        out,
        "define register offset={:#x} size=4 [ whole_factor whole_power ];",
        RETURN_ADDRESS + 0x18
    );
    for (bytes, count) in scratch {
        let names: Vec<String> = (0..*count).map(|number| format!("t{bytes}_{number}")).collect();
        let _ = writeln!(
            out,
            "define register offset={:#x} size={bytes} [ {} ];",
            SCRATCH + bytes * 0x100,
            names.join(" ")
        );
    }
    super::stacks::context(out, CONTEXT);
    out.push('\n');
}

/// Returns the names of the registers for the numbers in a field.
pub(super) fn attached(set: char, bits: u32, lane: u32, zero: u32) -> String {
    let count = 1_u32 << bits;
    let names = (0..count).map(|number| match set {
        'p' if number == 7 => String::from("PT"),
        'p' => format!("P{number}"),
        _ => {
            let suffix = if set == 'w' { "_64" } else { "" };
            let shifted = number + lane;
            if number >= zero || shifted >= zero {
                format!("RZ{suffix}")
            } else {
                format!("R{shifted}{suffix}")
            }
        }
    });
    names.collect::<Vec<_>>().join(" ")
}
