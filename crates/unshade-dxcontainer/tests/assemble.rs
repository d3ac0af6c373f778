//! Containers built from the modules in real ones.

use std::path::PathBuf;

use unshade_dxcontainer::dxil::assemble::{Assembler, Options, assemble, container};
use unshade_dxcontainer::file::OwnedPart;
use unshade_dxcontainer::{Container, Digest, PartData, program, verify};
use unshade_llvm::Module;

/// Parts that do not follow from the program.
const GIVEN: [&[u8; 4]; 5] = [b"VERS", b"STAT", b"ILDB", b"ILDN", b"PRIV"];

/// Returns the fixtures with a DXIL program: name, file, bitcode.
fn fixtures() -> Vec<(String, Vec<u8>, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/dxcontainer");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let data = std::fs::read(&path).unwrap();
        let Ok(read) = Container::parse(&data) else { continue };
        let Some(part) = read.find(b"DXIL") else { continue };
        let bitcode = program::bitcode(part.data).unwrap().1.data().to_vec();
        found.push((path.file_name().unwrap().to_string_lossy().into_owned(), data, bitcode));
    }
    assert!(found.len() >= 8, "{} fixtures", found.len());
    found
}

fn given(container: &Container<'_>) -> Options {
    let mut options = Options::default();
    for part in container.found_parts() {
        let bytes = part.data.data();
        match &part.name.0 {
            b"RTS0" => options.root_signature = Some(bytes.to_vec()),
            b"RDAT" => {
                if let Ok(PartData::Rdat(rdat)) = PartData::read(part.name, part.data) {
                    options.subobjects = Some(rdat);
                }
            }
            name if GIVEN.contains(&name) => options.parts.push(OwnedPart::from_bytes(*name, bytes)),
            _ => {}
        }
    }
    options
}

#[test]
fn a_rebuilt_container_is_the_same() {
    for (name, data, bitcode) in fixtures() {
        let original = Container::parse(&data).unwrap();
        let built = assemble(&bitcode, &given(&original)).unwrap().write().unwrap();
        // A hash may include the source, which is not in the container.
        let built = Container::parse(&built).unwrap();
        for part in original.found_parts().filter(|part| part.name.0 != *b"HASH") {
            let derived = built.find(&part.name.0).unwrap_or_else(|| panic!("{name}: no {}", part.name));
            assert_eq!(derived.data.data(), part.data.data(), "{name}: {}", part.name);
        }
        assert_eq!(built.found_parts().count(), original.found_parts().count(), "{name}");
    }
}

#[test]
fn a_container_from_bitcode_alone_is_signed_and_sound() {
    for (name, _, bitcode) in fixtures() {
        let built = container(&bitcode, &Options::default()).unwrap();
        let built = Container::parse(&built).unwrap();
        assert_ne!(built.header().digest, Digest::UNSIGNED, "{name}");
        let faults = verify::container(&built);
        assert!(!faults.has_errors(), "{name}: {:?}", faults.iter().next());
    }
}

#[test]
fn flags_follow_from_the_bodies() {
    for (name, _, bitcode) in fixtures() {
        let module = Module::parse(&bitcode, 0).unwrap();
        let assembler = Assembler::new(&module).unwrap();
        assert_eq!(assembler.computed_flags().unwrap(), assembler.dxil().flags(), "{name}");
        assert!(assembler.counters().unwrap().iter().any(|(name, _)| *name == "insts"), "{name}");
    }
}

#[test]
fn a_module_that_is_not_dxil_is_refused() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/air/fragment.bc");
    let error = container(&std::fs::read(path).unwrap(), &Options::default()).unwrap_err();
    assert!(error.to_string().contains("dx.shaderModel"), "{error}");
    assert!(container(b"nonsense", &Options::default()).is_err());
}

#[test]
fn damaged_bitcode_does_not_panic() {
    for (_, _, bitcode) in fixtures() {
        let mut random = 0x9E37_79B9_7F4A_7C15u64;
        for _ in 0..60 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let mut damaged = bitcode.clone();
            let at = random as usize % damaged.len();
            damaged[at] ^= 1 << (random >> 60 & 7);
            let _ = container(&damaged, &Options::default());
            let _ = container(&bitcode[..at], &Options::default());
        }
    }
}
