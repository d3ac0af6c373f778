//! NVIDIA's formats: every fixture is parsed, checked, outlined, truncated at every byte and with every byte changed;
//! known facts about each; violations of every rule.

use std::panic::{AssertUnwindSafe, catch_unwind};
use unshade_core::outline::Coverage;
use unshade_core::{Diagnostics, Reader, Severity};
use unshade_nv::attribute::Attribute;
use unshade_nv::compression::Compression;
use unshade_nv::elf::Class;
use unshade_nv::fatbin::{EntryKind, Flags, Wrapper};
use unshade_nv::function::FunctionKind;
use unshade_nv::line_table::LineTable;
use unshade_nv::{Cubin, Fatbin, info, outline, verify};
use unshade_tests::nvidia::{self, Fixture, exercise};
use unshade_tests::{mutate, parallel};

fn everything() -> Vec<Fixture> {
    ["cubin", "fatbin", "ptx"].iter().flat_map(|extension| nvidia::all(extension)).collect()
}

fn check(what: &str, work: impl FnOnce() -> Vec<String>) {
    let faults =
        catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| panic!("{what}: see the panic above"));
    assert!(faults.is_empty(), "{what}: {faults:#?}");
}

fn findings(data: &[u8]) -> Diagnostics {
    let reader = Reader::new(data);
    match Fatbin::read(reader) {
        Ok(fatbin) => verify::fatbin(&fatbin),
        Err(_) => verify::cubin(&Cubin::read(reader).expect("a cubin")),
    }
}

#[test]
fn fixtures_are_valid_and_have_no_unknown_bytes() {
    for Fixture { name, data } in everything() {
        check(&name, || exercise(&data));
        if name.ends_with(".ptx") {
            continue;
        }
        let errors: Vec<_> =
            findings(&data).iter().filter(|finding| finding.severity == Severity::Error).cloned().collect();
        assert!(errors.is_empty(), "{name}: {errors:#?}");
        let mut coverage = Coverage::starting_at(0);
        match Fatbin::read(Reader::new(&data)) {
            Ok(fatbin) => outline::fatbin(&fatbin, &mut coverage),
            Err(_) => outline::cubin(&Cubin::read(Reader::new(&data)).unwrap(), &mut coverage),
        }
        assert_eq!(coverage.unknown_bytes(), 0, "{name}");
        assert_eq!(coverage.finish(data.len() as u64), [""; 0], "{name}");
    }
}

#[test]
fn fixtures_truncated_at_every_byte() {
    parallel::for_each(&everything(), |Fixture { name, data }| {
        for length in 0..data.len() {
            check(&format!("{name} cut off at {length:#x}"), || exercise(&data[..length]));
        }
    });
}

#[test]
fn fixtures_with_every_byte_changed() {
    let exhaustive = std::env::var_os("UNSHADE_EXHAUSTIVE").is_some();
    parallel::for_each(&everything(), |Fixture { name, data }| {
        let mut changed = data.clone();
        for at in 0..data.len() {
            // Much of a file is code, zeros and text, whose bytes are interchangeable.
            if !exhaustive && at > 0x200 && at % 11 != 0 {
                continue;
            }
            for value in mutate::byte_values(data[at], exhaustive) {
                changed[at] = value;
                check(&format!("{name} with {value:#04x} at {at:#x}"), || exercise(&changed));
            }
            changed[at] = data[at];
        }
    });
}

#[test]
fn kernels_parameters_and_resources() {
    let data = nvidia::one("two_relocatable_sm_35.cubin");
    let cubin = Cubin::read(Reader::new(&data)).unwrap();
    assert_eq!((cubin.arch(), cubin.toolkit(), cubin.virtual_arch()), (35, Some(112), Some(35)));
    assert_eq!(cubin.common_constants().collect::<Vec<_>>(), [(3, 16)]);
    let functions: Vec<_> = cubin.functions().collect();
    let heads: Vec<_> = functions.iter().map(|function| (function.name(), function.kind)).collect();
    assert_eq!(heads, [(&b"twice"[..], FunctionKind::Device), (&b"bounded"[..], FunctionKind::Kernel)]);
    let kernel = &functions[1];
    let resources = kernel.resources(&cubin);
    assert_eq!((resources.registers, resources.shared, resources.barriers), (Some(5), 512, Some(1)));
    assert_eq!(resources.constants, [(0, 356)]);
    let parameters: Vec<_> = kernel.parameters(&cubin).iter().map(|(at, one)| (*at, one.size)).collect();
    assert_eq!(parameters, [(0x140, 8), (0x148, 24), (0x160, 4)]);
    let details = kernel.details(&cubin);
    assert_eq!((details.max_threads, details.max_registers), (Some([128, 2, 1]), Some(128)));
    assert_eq!(kernel.code(&cubin).unwrap().data().len(), 128);
    let names: Vec<_> = kernel.relocations(&cubin).map(|(_, one)| one.kind.to_string()).collect();
    assert!(names.contains(&"R_CUDA_CONST_FIELD19_23".to_owned()), "{names:?}");
}

#[test]
fn functions_inside_a_kernel_are_labels_in_its_code() {
    let data = nvidia::one("calls_sm_35.cubin");
    let cubin = Cubin::read(Reader::at(&data, 0x1000)).unwrap();
    let kernel = cubin.functions().find(|function| function.kind == FunctionKind::Kernel).unwrap();
    let labels: Vec<_> = kernel.labels(&cubin).iter().map(|label| (label.offset, label.name)).collect();
    assert_eq!(
        labels,
        [
            (0, &b"calls"[..]),
            (304, b"$calls$_Z4facti"),
            (1280, b"$calls$_Z4polyfff"),
            (1312, b"$calls$_Z5poly2fff")
        ]
    );
    let inner = cubin.functions().find(|function| function.kind == FunctionKind::Inner).unwrap();
    assert_eq!(inner.own_name(), b"_Z4polyfff");
    assert_eq!(kernel.code(&cubin).unwrap().base(), 0x1000 + 0x640);
}

#[test]
fn textures_are_identified_by_their_relocations() {
    let data = nvidia::one("texture_sm_37.cubin");
    let cubin = Cubin::read(Reader::new(&data)).unwrap();
    let kernel = cubin.functions().find(|function| function.name() == b"texk").unwrap();
    assert_eq!(kernel.binding_counts(&cubin).textures, 2);
    let bound: Vec<_> = kernel.bound(&cubin).iter().map(|symbol| symbol.name).collect();
    assert_eq!(bound, [b"tex2", b"tex1"]);
}

#[test]
fn line_tables_of_three_toolkits() {
    let sources: [(&str, &[(u64, u32)]); 3] = [
        ("add_sm_35.cubin", &[(0, 1), (16, 5), (48, 6)]),
        ("add_sm_90.cubin", &[(0, 3)]),
        ("add_sm_120.cubin", &[(0, 3)]),
    ];
    for (name, expected) in sources {
        let data = nvidia::one(name);
        let cubin = Cubin::read(Reader::new(&data)).unwrap();
        let kernel = cubin.functions().next().unwrap();
        let table = LineTable::of(&cubin).unwrap().unwrap();
        assert_eq!(table.files[0].name, b"add.cu");
        let section = u32::from(kernel.symbol.section);
        for (offset, line) in expected.iter().skip(usize::from(name == "add_sm_35.cubin")) {
            assert_eq!(table.at(section, *offset).map(|row| row.line), Some(*line), "{name} at {offset}");
        }
        let end = table.rows_of(section).last().unwrap();
        assert!(end.is_end && end.offset == kernel.symbol.size, "{name}: {end:?}");
        assert!(LineTable::of_ptx(&cubin).unwrap().unwrap().rows.len() > 2);
    }
}

#[test]
fn the_new_abi_identifies_its_tool() {
    let data = nvidia::one("add_sm_120.cubin");
    let cubin = Cubin::read(Reader::new(&data)).unwrap();
    assert_eq!((cubin.arch(), cubin.toolkit(), cubin.virtual_arch()), (120, Some(135), Some(50)));
    let tool = cubin.tool_info().unwrap();
    assert_eq!(tool.name, b"ptxas");
    assert_eq!(tool.arguments.trim_ascii_end(), b"-lineinfo  -arch sm_120");
    let kernel = cubin.functions().next().unwrap();
    assert_eq!(kernel.parameters(&cubin)[0].0, 0x380);
    assert!(kernel.resources(&cubin).registers.is_some());
}

#[test]
fn cubins_of_elf_class_32() {
    let data = nvidia::one("add_32_bit_sm_35.cubin");
    let cubin = Cubin::read(Reader::new(&data)).unwrap();
    assert_eq!((cubin.elf().class(), cubin.has_64_bit_addresses()), (Class::Elf32, false));
    let kernel = cubin.functions().next().unwrap();
    let sizes: Vec<_> = kernel.parameters(&cubin).iter().map(|(at, one)| (*at, one.size)).collect();
    assert_eq!(sizes, [(0x140, 4), (0x144, 4)]);
    let found = findings(&data);
    assert_eq!(found.iter().map(|finding| finding.rule).collect::<Vec<_>>(), ["nv-elf-class"]);
}

#[test]
fn entries_options_and_both_compressions() {
    let data = nvidia::one("options_11_2.fatbin");
    let fatbin = Fatbin::read(Reader::new(&data)).unwrap();
    let entries: Vec<_> = fatbin.entries().map(Result::unwrap).collect();
    assert_eq!((entries[0].kind, entries[0].compression()), (EntryKind::PTX, Compression::Lz4));
    assert_eq!(entries[0].name(), Some(&b"add.cu"[..]));
    assert_eq!(entries[0].options().unwrap().unwrap().data(), b"-v -O3");
    // fatbinary omits the tabs.
    let text = entries[0].data().unwrap().into_owned();
    let source = nvidia::one("add.ptx");
    let without_tabs = |text: &[u8]| text.iter().copied().filter(|byte| *byte != b'\t').collect::<Vec<_>>();
    assert_eq!(without_tabs(&text), without_tabs(&source));
    assert_eq!(entries[1].data().unwrap().as_ref(), nvidia::one("add_sm_35.cubin"));

    let data = nvidia::one("zstandard_13_5.fatbin");
    let fatbin = Fatbin::read(Reader::new(&data)).unwrap();
    let entries: Vec<_> = fatbin.entries().map(Result::unwrap).collect();
    let targets: Vec<_> = entries.iter().map(|entry| entry.target()).collect();
    assert_eq!(targets, ["sm_120", "compute_90a", "compute_100f"]);
    assert!(entries.iter().all(|entry| entry.compression() == Compression::Zstd));
    assert!(entries[0].flags.has(Flags::COMPATIBILITY));
    let options = entries[0].options().unwrap().unwrap();
    let names: Vec<_> = info::records(options).map(|one| one.unwrap().compatibility().to_string()).collect();
    assert_eq!(names.len(), 8);
    assert!(names.contains(&"FINALIZER_VERSION".to_owned()), "{names:?}");
    assert_eq!(entries[0].data().unwrap().as_ref(), nvidia::one("add_sm_120.cubin"));
}

#[test]
fn host_wrappers() {
    let mut section = Vec::new();
    for address in [0x1000_u64, 0x2000] {
        section.extend(0x4662_43b1_u32.to_le_bytes());
        section.extend(1_u32.to_le_bytes());
        section.extend(address.to_le_bytes());
        section.extend(0_u64.to_le_bytes());
    }
    section.extend([0; 24]);
    let wrappers: Vec<_> = Wrapper::read_all(Reader::at(&section, 0x40)).collect();
    assert_eq!(
        wrappers.iter().map(|one| (one.data, one.offset)).collect::<Vec<_>>(),
        [(0x1000, 0x40), (0x2000, 0x58)]
    );
}

#[test]
fn unknown_attributes_are_kept() {
    let mut data = nvidia::one("constmem_sm_70.cubin");
    let cubin = Cubin::read(Reader::new(&data)).unwrap();
    let kernel = cubin.functions().find(|function| function.kind == FunctionKind::Kernel).unwrap();
    let record =
        kernel.records(&cubin).flatten().find(|one| one.attribute == Attribute::MAXREG_COUNT).unwrap();
    let place = record.range.0 as usize + 1;
    data[place] = 0xee;
    let cubin = Cubin::read(Reader::new(&data)).unwrap();
    let kernel = cubin.functions().find(|function| function.kind == FunctionKind::Kernel).unwrap();
    let details = kernel.details(&cubin);
    assert!(details.records.iter().any(|record| record.attribute.to_string() == "0xee (unknown)"));
    assert_eq!(findings(&data).iter().map(|one| one.rule).collect::<Vec<_>>(), ["nv-info-unknown"]);
}

/// Returns the position of an item in a file.
type Place = fn(&[u8]) -> usize;

/// A fixture, a position in it, the bytes to write there, and the rule that they violate.
const BREAKS: &[(&str, Place, &[u8], &str)] = &[
    ("packed_11_2.fatbin", |_| 4, &[2], "nv-fatbin-header"),
    ("packed_11_2.fatbin", |_| 8, &[0xff], "nv-fatbin-size"),
    ("packed_11_2.fatbin", |_| 16, &[9], "nv-entry-header"),
    ("packed_11_2.fatbin", |_| 16 + 8, &[0xff, 0xff], "nv-entry-size"),
    ("packed_11_2.fatbin", |_| 16 + 41, &[0xa0], "nv-entry-flags"),
    ("options_11_2.fatbin", |_| 16 + 32, &[0xff], "nv-entry-text"),
    // LZ4 data with a wrong size.
    ("packed_11_2.fatbin", |_| 16 + 56, &[1], "nv-entry-data"),
    ("packed_11_2.fatbin", |_| 16 + 63, &[1], "nv-entry-data"),
    ("packed_11_2.fatbin", |_| 16 + 28, &[37], "nv-entry-chip"),
    ("constmem_sm_70.cubin", |_| 58, &[63], "nv-elf-header"),
    ("constmem_sm_70.cubin", |_| 7, &[0], "nv-toolkit"),
    ("constmem_sm_70.cubin", |_| 20, &[1], "nv-toolkit"),
    ("constmem_sm_70.cubin", |_| 48, &[0xff], "nv-toolkit"),
    ("constmem_sm_70.cubin", |data| header(data, b".nv.constant3") + 36, &[1], "nv-section-range"),
    ("constmem_sm_70.cubin", |data| header(data, b".nv.constant3") + 24, &[0x40, 0], "nv-section-overlap"),
    ("constmem_sm_70.cubin", |data| header(data, b".nv.constant3") + 2, &[1], "nv-section-name"),
    ("constmem_sm_70.cubin", |data| header(data, b".nv.constant0.cst") + 44, &[1], "nv-section-link"),
    ("constmem_sm_70.cubin", |data| header(data, b".symtab") + 40, &[99], "nv-section-link"),
    ("constmem_sm_70.cubin", |data| segment(data) + 37, &[1, 1], "nv-segment-range"),
    ("constmem_sm_70.cubin", |data| header(data, b".symtab") + 4, &[1], "nv-symbol-table"),
    ("constmem_sm_70.cubin", |data| symbol(data, b"coef") + 6, &[99], "nv-symbol"),
    ("constmem_sm_70.cubin", |data| symbol(data, b"coef") + 8, &[0, 9], "nv-symbol"),
    ("constmem_sm_70.cubin", |data| bytes_of(data, b".rel.text.cst"), &[0xf0, 0xff], "nv-relocation"),
    ("constmem_sm_70.cubin", |data| bytes_of(data, b".rel.text.cst") + 12, &[99], "nv-relocation"),
    ("constmem_sm_70.cubin", |data| bytes_of(data, b".rel.text.cst") + 8, &[250], "nv-relocation"),
    ("constmem_sm_70.cubin", |data| bytes_of(data, b".nv.info"), &[7], "nv-info"),
    ("constmem_sm_70.cubin", |data| bytes_of(data, b".nv.info") + 4, &[99], "nv-info"),
    ("constmem_sm_70.cubin", |data| symbol(data, b"cst") + 16, &[1], "nv-function"),
    ("constmem_sm_70.cubin", |data| parameter(data) + 6, &[0xf0], "nv-parameters"),
    ("add_sm_35.cubin", |data| bytes_of(data, b".debug_line") + 4, &[9], "nv-line-table"),
    ("decompile/named_debug.cubin", |data| bytes_of(data, b".debug_info") + 4, &[9], "nv-debug-info"),
];

fn section(data: &[u8], name: &[u8]) -> (usize, usize) {
    let cubin = Cubin::read(Reader::new(data)).unwrap();
    let section = cubin.elf().section_named(name).expect("a section");
    (section.header_range.0 as usize, section.offset as usize)
}

fn header(data: &[u8], name: &[u8]) -> usize {
    section(data, name).0
}

fn bytes_of(data: &[u8], name: &[u8]) -> usize {
    section(data, name).1
}

fn segment(data: &[u8]) -> usize {
    Cubin::read(Reader::new(data)).unwrap().elf().segment_table().start as usize
}

fn symbol(data: &[u8], name: &[u8]) -> usize {
    let cubin = Cubin::read(Reader::new(data)).unwrap();
    let symbols = cubin.elf().symbols().unwrap();
    symbols.iter().find(|symbol| symbol.name == name).expect("a symbol").range.0 as usize
}

/// Returns the position of the record of the second parameter, which comes first.
fn parameter(data: &[u8]) -> usize {
    let cubin = Cubin::read(Reader::new(data)).unwrap();
    let kernel = cubin.functions().find(|function| function.kind == FunctionKind::Kernel).unwrap();
    let record =
        kernel.records(&cubin).flatten().find(|one| one.attribute == Attribute::KPARAM_INFO).unwrap();
    record.data.base() as usize
}

#[test]
fn every_rule_can_be_violated() {
    for (name, place, bytes, rule) in BREAKS {
        let mut data = nvidia::one(name);
        let place = place(&data);
        data[place..place + bytes.len()].copy_from_slice(bytes);
        let found: Vec<_> = findings(&data).iter().map(|finding| finding.rule).collect();
        assert!(found.contains(rule), "{name} with {bytes:?} at {place:#x}: {found:?}, not {rule}");
        check(name, || exercise(&data));
    }
    let broken: Vec<_> = BREAKS.iter().map(|(.., rule)| *rule).collect();
    let elsewhere = ["nv-elf-class", "nv-info-unknown", "nv-ptx"];
    for (rule, _) in verify::RULES {
        assert!(broken.contains(rule) || elsewhere.contains(rule), "nothing violates {rule}");
    }
}

#[test]
fn ptx_without_its_directives_is_reported() {
    let text = b".version 7.2\n.address_size 64\n\x01";
    let found = verify::ptx(&unshade_nv::Ptx::new(Reader::new(text)));
    let places: Vec<_> = found.iter().map(|one| (one.rule, one.error.offset())).collect();
    assert_eq!(places, [("nv-ptx", Some(0)), ("nv-ptx", Some(text.len() as u64 - 1))]);
}
