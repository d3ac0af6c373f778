//! Debugging information of cubins: known facts about a fixture, and sections that lie.

use std::fs;
use std::path::Path;

use unshade::decompile::{self, FunctionC};
use unshade::decompiler::Options;
use unshade_core::{Diagnostics, Reader};
use unshade_nv::Cubin;
use unshade_nv::debug::{DebugInfo, DebugVariable, Place, RegisterMap, TypeIndex, TypeKind};
use unshade_tests::mutate::Random;

fn fixture() -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/nvidia/decompile/named_debug.cubin");
    fs::read(path).expect("a readable file")
}

/// Decompiles a cubin to C.
fn text(data: &[u8], options: &Options) -> (String, Diagnostics) {
    let mut diagnostics = Diagnostics::new();
    let mut text = String::new();
    if let Ok(cubin) = Cubin::read(Reader::new(data)) {
        let mut print =
            |found: FunctionC| text.push_str(&found.result.map_or_else(|_| String::new(), |c| c.text()));
        decompile::cubin(&cubin, &|_| true, options, &mut diagnostics, &mut print);
    }
    (text, diagnostics)
}

/// Describes a type as C does.
fn described(info: &DebugInfo, index: Option<TypeIndex>) -> String {
    let Some(ty) = info.resolve(index) else { return String::from("void") };
    match &ty.kind {
        TypeKind::Pointer(target) => format!("{}*", described(info, *target)),
        TypeKind::Array(element, counts) => {
            let counts: String = counts.iter().map(|count| format!("[{count}]")).collect();
            described(info, *element) + &counts
        }
        _ => ty.name.clone(),
    }
}

#[test]
fn variables_have_names_types_and_places() {
    let data = fixture();
    let cubin = Cubin::read(Reader::new(&data)).unwrap();
    let info = DebugInfo::of(&cubin).unwrap().expect("a section");
    let names = |variables: &[DebugVariable]| -> Vec<String> {
        variables
            .iter()
            .map(|variable| format!("{} {}", described(&info, variable.ty), variable.name))
            .collect()
    };
    let sums = info.function("sums").unwrap();
    assert_eq!(
        names(&sums.parameters),
        ["int* numbers", "float* results", "int count", "unsigned char step"]
    );
    let mut locals = names(&sums.locals);
    locals.sort();
    assert_eq!(
        locals,
        [
            "bool is_first",
            "float sum",
            "float[4] recent",
            "float[8][16] tile",
            "int i",
            "int i",
            "int index",
            "int total"
        ]
    );
    let bodies = info.function("bodies").unwrap();
    assert_eq!(
        names(&bodies.parameters),
        ["Body* all", "Limits limits", "double* energies", "long long rest"]
    );
    let Some(TypeKind::Structure(members)) = info.resolve(bodies.parameters[1].ty).map(|ty| &ty.kind) else {
        panic!("not a structure")
    };
    let members: Vec<_> = members.iter().map(|member| (member.name.as_str(), member.offset)).collect();
    assert_eq!(members, [("low", 0), ("high", 4), ("scale", 8), ("is_open", 16)]);
    let place = |name: &str| {
        let found = sums.locals.iter().find(|variable| variable.name == name).unwrap();
        found.locations[0].place.clone()
    };
    assert_eq!(place("recent"), Place::Frame { size: 16, offset: 0 });
    assert!(matches!(place("index"), Place::PtxRegister(name) if name.starts_with("%r")));
    assert!(matches!(place("tile"), Place::Shared(_)));
    assert!(!RegisterMap::of(&cubin).function("sums").is_empty());
}

#[test]
fn names_of_the_source_code_are_optional() {
    let data = fixture();
    let head = "sums(int *numbers, float *results, int count, unsigned char step)";
    let (named, diagnostics) = text(&data, &Options::default());
    assert!(named.contains(head) && named.contains("float sum = 0.0f;"), "{named}");
    assert!(diagnostics.is_empty());
    let (unnamed, _) = text(&data, &Options { without_source: true, ..Options::default() });
    assert!(
        !unnamed.contains("numbers") && unnamed.contains("sums(int *param_1, float *param_2"),
        "{unnamed}"
    );
}

/// Sections with changed bytes are read as far as possible, or reported; the code is decompiled all the same.
#[test]
fn sections_that_lie() {
    let data = fixture();
    let cubin = Cubin::read(Reader::new(&data)).unwrap();
    let names: [&[u8]; 6] = [
        b".debug_info",
        b".debug_abbrev",
        b".debug_loc",
        b".debug_str",
        b".nv_debug_info_reg_sass",
        b".nv_debug_info_reg_type",
    ];
    let ranges = names.iter().filter_map(|name| {
        let section = cubin.elf().section_named(name)?;
        let bytes = cubin.elf().bytes(&section).ok()?;
        Some((usize::try_from(bytes.base()).ok()?, bytes.data().len()))
    });
    let ranges: Vec<(usize, usize)> = ranges.filter(|range| range.1 > 0).collect();
    assert!(ranges.len() >= 4);
    let mut random = Random::new(19);
    let mut refused = 0;
    for _ in 0..400 {
        let mut changed = data.clone();
        let (start, length) = ranges[random.below(ranges.len())];
        for _ in 0..=random.below(4) {
            changed[start + random.below(length)] = random.number().to_le_bytes()[0];
        }
        let cubin = Cubin::read(Reader::new(&changed)).unwrap();
        refused += usize::from(DebugInfo::of(&cubin).is_err());
        RegisterMap::of(&cubin);
    }
    assert!(refused > 0);
    for _ in 0..12 {
        let mut changed = data.clone();
        for &(start, length) in &ranges {
            changed[start + random.below(length)] ^= 0x81;
        }
        assert!(text(&changed, &Options::default()).0.contains("__global__ void sums("));
    }
}
