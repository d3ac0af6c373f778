//! What LLVM's page "DirectX Container" states, checked against the reader and the writer: the list of parts, the worked
//! example of PSV0 signature elements, and the layout rules of headers, signatures and masks.
//!
//! Where the page is wrong (alignment of string tables, the table of a domain shader), the test states what real files do.

use unshade_core::{FourCc, Reader};
use unshade_dxcontainer::bytes::{Bytes, Text};
use unshade_dxcontainer::document::{from_yaml, to_yaml};
use unshade_dxcontainer::file::OwnedPart;
use unshade_dxcontainer::part::{self, PartData};
use unshade_dxcontainer::psv0::{
    ComponentType, DependencyShape, Element, Interpolation, Psv0, RuntimeInfo, SemanticKind, Signatures,
    Stage, V1, mask_words, table_words,
};
use unshade_dxcontainer::{Container, DxFile};

/// The 24 parts of the page's list, and the start of their descriptions.
const PARTS: [(&[u8; 4], &str); 24] = [
    (b"DXIL", "program"),
    (b"HASH", "hash"),
    (b"ILDB", "program with debug information"),
    (b"ILDN", "name of the debug information file"),
    (b"ISG1", "input signature"),
    (b"ISGN", "input signature"),
    (b"OSG1", "output signature"),
    (b"OSG5", "output signature"),
    (b"OSGN", "output signature"),
    (b"PCSG", "patch constant signature"),
    (b"PDBI", "program database information"),
    (b"PRIV", "private data"),
    (b"PSG1", "patch constant"),
    (b"PSV0", "pipeline state validation"),
    (b"RDAT", "runtime data"),
    (b"RDEF", "resource definitions"),
    (b"RTS0", "root signature"),
    (b"SFI0", "features"),
    (b"SHDR", "token program"),
    (b"SHEX", "token program"),
    (b"DXBC", "token program"),
    (b"SRCI", "sources"),
    (b"STAT", "statistics"),
    (b"VERS", "compiler"),
];

/// The five elements that the output `VSOut` with the semantic `A` becomes: indices, columns, component type,
/// interpolation. Each starts at the row of its first index.
const ELEMENTS: [(&[u32], u8, ComponentType, Interpolation); 5] = [
    (&[0], 4, ComponentType::FLOAT32, Interpolation::LINEAR),
    (&[1, 2, 3, 4], 2, ComponentType::FLOAT32, Interpolation::LINEAR),
    (&[5], 4, ComponentType::FLOAT32, Interpolation::LINEAR),
    (&[6], 3, ComponentType::FLOAT32, Interpolation::LINEAR),
    (&[7], 4, ComponentType::SINT32, Interpolation::CONSTANT),
];

/// The same elements as `obj2yaml` prints them.
fn elements_as_yaml() -> String {
    ELEMENTS
        .iter()
        .map(|(indices, cols, component_type, interpolation)| {
            let row = indices[0];
            let indices = indices.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
            let component_type = component_type.name().expect("a named type");
            let interpolation = interpolation.name().expect("a named mode");
            [
                "        - Name:            A\n".to_owned(),
                format!("          Indices:         [ {indices} ]\n"),
                format!("          StartRow:        {row}\n"),
                format!("          Cols:            {cols}\n"),
                "          StartCol:        0\n".to_owned(),
                "          Allocated:       true\n".to_owned(),
                "          Kind:            Arbitrary\n".to_owned(),
                format!("          ComponentType:   {component_type}\n"),
                format!("          Interpolation:   {interpolation}\n"),
                "          DynamicMask:     0x0\n".to_owned(),
                "          Stream:          0\n".to_owned(),
            ]
            .concat()
        })
        .collect()
}

/// A container with a PSV0 part of version 1 that has the elements of the page as outputs.
fn example_as_yaml() -> String {
    let head = "--- !dxcontainer\nHeader:\n  Version:\n    Major: 1\n    Minor: 0\nParts:\n  - Name: PSV0\n    PSVInfo:\n";
    let info = "      Version: 1\n      ShaderStage: 1\n      SigOutputVectors: [ 8, 0, 0, 0 ]\n";
    format!("{head}{info}      SigOutputElements:\n{}...\n", elements_as_yaml())
}

/// The same part, made without YAML.
fn built_example() -> Psv0 {
    let element = |(indices, cols, component_type, interpolation): &(&[u32], u8, _, _)| Element {
        name_offset: 0,
        indices_offset: 0,
        rows: 0,
        start_row: indices[0] as u8,
        columns: cols | 0x40,
        kind: SemanticKind::ARBITRARY,
        component_type: *component_type,
        interpolation: *interpolation,
        mask_and_stream: 0,
        reserved: 0,
    };
    let outputs = ELEMENTS.iter().map(element).collect();
    let mut signatures = Signatures {
        stride: 16,
        elements: [Vec::new(), outputs, Vec::new()],
        extra: vec![Bytes::default(); 5],
        ..Signatures::default()
    };
    let names = vec![Text::from("A"); 5];
    let indices: Vec<Vec<u32>> = ELEMENTS.iter().map(|(indices, ..)| indices.to_vec()).collect();
    assert_eq!(signatures.rebuild_tables(&names, &indices, None), None);
    let v1 = V1 {
        stage: Stage::VERTEX,
        uses_view_id: 0,
        stage_info: [0; 2],
        input_count: 0,
        output_count: 5,
        patch_count: 0,
        input_vectors: 0,
        output_vectors: [8, 0, 0, 0],
    };
    let info = RuntimeInfo {
        stage_info: [0; 16],
        min_wave_lanes: 0,
        max_wave_lanes: u32::MAX,
        v1: Some(v1),
        threads: None,
        entry_name: None,
        group_shared_bytes: None,
        extra: Bytes::default(),
    };
    Psv0 {
        info,
        resource_stride: 0,
        resources: Vec::new(),
        signatures: Some(signatures),
        extra: Bytes::default(),
    }
}

fn example() -> (DxFile, Psv0) {
    let file = from_yaml(&example_as_yaml()).expect("the page's example is a document");
    let PartData::Psv0(psv0) = &file.parts[0].data else { panic!("not a PSV0") };
    let psv0 = (**psv0).clone();
    (file, psv0)
}

fn u32_at(bytes: &[u8], place: usize) -> u32 {
    u32::from_le_bytes(bytes[place..place + 4].try_into().expect("four bytes"))
}

#[test]
fn every_part_of_the_list_is_known() {
    for (name, what) in PARTS {
        let name = FourCc(*name);
        let described = part::describe(name).unwrap_or_else(|| panic!("{name} is not known"));
        assert!(described.starts_with(what), "{name}: {described}");
    }
}

#[test]
fn a_dxbc_part_holds_a_token_program() {
    // vs_4_0, 3 tokens: `ret`.
    let tokens: Vec<u8> =
        [0x0001_0040u32, 3, 0x0100_003e].iter().flat_map(|token| token.to_le_bytes()).collect();
    for name in [*b"SHDR", *b"SHEX", *b"DXBC"] {
        assert!(part::is_token_program(FourCc(name), &tokens));
        let read = PartData::read(FourCc(name), Reader::new(&tokens)).expect("tokens");
        assert_eq!(read, PartData::Raw(Bytes::from(&tokens[..])), "kept to the byte");
        assert_eq!(read.write().expect("the same tokens"), tokens);
    }
    // With the magic of a container it is one, as DXC's validator takes it.
    let inner = DxFile::default().write().expect("a container without parts");
    assert!(!part::is_token_program(FourCc(*b"DXBC"), &inner));
    let read = PartData::read(FourCc(*b"DXBC"), Reader::new(&inner)).expect("a container");
    assert!(matches!(read, PartData::Container(_)), "{read:?}");
}

#[test]
fn the_header_is_that_of_the_page() {
    let mut file = DxFile::default();
    for name in [*b"SFI0", *b"PRIV"] {
        file.parts.push(OwnedPart::from_bytes(name, &[1, 0, 0, 0, 0, 0, 0, 0]));
    }
    let bytes = file.write_signed().expect("a container");
    assert_eq!(&bytes[..4], b"DXBC", "magic");
    assert_ne!(bytes[4..20], [0; 16], "128 bits of digest");
    assert_eq!(bytes[20..24], [1, 0, 0, 0], "version 1.0");
    assert_eq!(u32_at(&bytes, 24) as usize, bytes.len(), "size of the file");
    assert_eq!(u32_at(&bytes, 28), 2, "number of parts");
    for (index, name) in [b"SFI0", b"PRIV"].into_iter().enumerate() {
        let place = u32_at(&bytes, 32 + 4 * index) as usize;
        assert_eq!(&bytes[place..place + 4], name);
        assert_eq!(u32_at(&bytes, place + 4), 8, "size of the data, without the part header");
    }
}

#[test]
fn the_example_is_read_field_by_field() {
    let (_, psv0) = example();
    let built = PartData::Psv0(Box::new(built_example())).write();
    assert_eq!(PartData::Psv0(Box::new(psv0.clone())).write(), built, "built from fields, it is the same");
    let signatures = psv0.signatures.as_ref().expect("version 1 has elements");
    let [inputs, outputs, patch] = &signatures.elements;
    assert!(inputs.is_empty() && patch.is_empty());
    assert_eq!(outputs.len(), 5, "A becomes five elements");
    for (element, (indices, cols, component_type, interpolation)) in outputs.iter().zip(ELEMENTS) {
        assert_eq!(psv0.string(element.name_offset), Some(&b"A"[..]));
        assert_eq!(psv0.indices(element), Some(indices));
        assert_eq!(usize::from(element.rows), indices.len());
        assert_eq!(u32::from(element.start_row), indices[0], "rows equal indices in this example");
        assert_eq!((element.cols(), element.start_col()), (cols, 0));
        assert!(element.allocated());
        assert_eq!(element.kind, SemanticKind::ARBITRARY);
        assert_eq!(element.component_type, component_type);
        assert_eq!(element.interpolation, interpolation);
        assert_eq!((element.dynamic_mask(), element.stream()), (0, 0));
    }
    // The table of indices: each index of the flattened aggregate, in order.
    assert_eq!(signatures.indices, [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn the_example_has_the_bytes_of_the_page() {
    let (file, psv0) = example();
    let bytes = file.write().expect("a container");
    let container = Container::parse(&bytes).expect("a container");
    let data = container.find(b"PSV0").expect("the part").data.data();
    assert_eq!(PartData::Psv0(Box::new(psv0)).write().expect("a part"), data);

    let size = u32_at(data, 0) as usize;
    assert_eq!(size, 36, "the structure of version 1, by its size");
    // RuntimeInfo of version 1: 24 bytes of version 0, stage, view ID, 2 bytes by stage, three counts of elements,
    // vectors of inputs and of each stream's outputs.
    assert_eq!(data[4 + 24..4 + 36], [1, 0, 0, 0, 0, 5, 0, 0, 8, 0, 0, 0]);
    let mut at = 4 + size;
    assert_eq!(u32_at(data, at), 0, "no resources, and so no size of one");
    at += 4;
    let strings = u32_at(data, at) as usize;
    assert_eq!(strings % 4, 0, "padded to 32 bits, not to 32 bytes as the page has it");
    assert_eq!(data[at + 4], 0, "offset 0 is the empty string");
    let table = &data[at + 4..at + 4 + strings];
    at += 4 + strings;
    assert_eq!(u32_at(data, at), 8, "number of indices");
    let indices = at + 4;
    assert!((0..8).all(|index| u32_at(data, indices + 4 * index as usize) == index));
    at = indices + 8 * 4;
    assert_eq!(u32_at(data, at), 16, "size of an element");
    at += 4;
    for (expected, (rows, cols, component_type, interpolation)) in ELEMENTS.iter().enumerate() {
        let element = &data[at + 16 * expected..][..16];
        let name = &table[u32_at(element, 0) as usize..];
        assert_eq!(&name[..2], b"A\0");
        assert_eq!(u32_at(element, 4), rows[0], "the first of its indices");
        let flags = cols | 1 << 6;
        let kinds = [0, component_type.0, interpolation.0, 0, 0];
        assert_eq!(element[8..11], [rows.len() as u8, rows[0] as u8, flags]);
        assert_eq!(element[11..], kinds);
    }
    assert_eq!(data.len(), at + 5 * 16, "no masks: no input, and the view ID is not used");
}

#[test]
fn the_example_is_printed_as_on_the_page() {
    let (file, _) = example();
    let yaml = to_yaml(&file).expect("a document");
    let (_, printed) = yaml.split_once("      SigOutputElements:\n").expect("the elements");
    assert!(printed.starts_with(&elements_as_yaml()), "{printed}");
    assert_eq!(from_yaml(&yaml).expect("our own document"), file);
}

#[test]
fn the_example_as_a_program_signature() {
    // OSG1 has one parameter per row; `NameOffset` counts from the signature's header.
    let mut parameters = String::new();
    for (indices, cols, component_type, _) in ELEMENTS {
        let component_type = component_type.name().expect("a named type");
        let mask = (1 << cols) - 1;
        for index in indices {
            parameters += &format!(
                "        - {{ Stream: 0, Name: A, Index: {index}, SystemValue: Undefined, CompType: {component_type}, \
                 Register: {index}, Mask: {mask}, ExclusiveMask: 0, MinPrecision: Default }}\n"
            );
        }
    }
    let yaml = format!(
        "--- !dxcontainer\nParts:\n  - Name: OSG1\n    Signature:\n      Parameters:\n{parameters}...\n"
    );
    let bytes = from_yaml(&yaml).expect("a document").write().expect("a container");
    let container = Container::parse(&bytes).expect("a container");
    let data = container.find(b"OSG1").expect("the part").data.data();
    assert_eq!((u32_at(data, 0), u32_at(data, 4)), (8, 8), "ParamCount, FirstParamOffset");
    for row in 0..8u32 {
        let element = &data[8 + 32 * row as usize..][..32];
        let name = u32_at(element, 4) as usize;
        assert!(name >= 8 + 8 * 32, "names follow the elements");
        assert_eq!(&data[name..name + 2], b"A\0");
        assert_eq!((u32_at(element, 8), u32_at(element, 20)), (row, row), "index and register");
    }
    assert_eq!(data.len() % 4, 0, "padded to 32 bits");
}

#[test]
fn a_larger_structure_is_read_as_the_newest_known_one() {
    let mut psv0 = built_example();
    psv0.info.threads = Some([1, 2, 3]);
    psv0.info.entry_name = Some(0);
    psv0.info.group_shared_bytes = Some(0);
    psv0.info.extra = Bytes::from(&[0xee; 44][..]);
    let bytes = PartData::Psv0(Box::new(psv0.clone())).write().expect("a part");
    assert_eq!(u32_at(&bytes, 0), 100);
    let read = PartData::read(FourCc(*b"PSV0"), Reader::new(&bytes)).expect("a newer version");
    assert_eq!(read, PartData::Psv0(Box::new(psv0)));
}

#[test]
fn masks_have_the_sizes_of_the_page() {
    let (_, psv0) = example();
    let words = |stage, view_id, inputs, outputs, patch: u8| {
        let mut info = psv0.info.clone();
        let v1 = info.v1.as_mut().expect("version 1");
        (v1.stage, v1.uses_view_id, v1.input_vectors) = (stage, view_id, inputs);
        v1.output_vectors = outputs;
        v1.stage_info[0] = patch;
        let v1 = v1.clone();
        DependencyShape::new(&info, &v1)
    };
    // Eight vectors of four components in a word of 32 bits.
    assert_eq!([0, 1, 8, 9, 16, 17].map(mask_words), [0, 1, 1, 2, 2, 3]);
    assert_eq!(table_words(9, 3), 2 * 3 * 4, "words of a mask × inputs × 4");
    // Four streams in geometry shaders, one in all others.
    let geometry = words(Stage::GEOMETRY, 1, 2, [1, 8, 9, 0], 0);
    assert_eq!((geometry.view_id_outputs, geometry.input_to_output), ([1, 1, 2, 0], [8, 8, 16, 0]));
    let vertex = words(Stage::VERTEX, 1, 2, [1, 8, 9, 0], 0);
    assert_eq!((vertex.view_id_outputs, vertex.input_to_output), ([1, 0, 0, 0], [8, 0, 0, 0]));
    assert_eq!(words(Stage::VERTEX, 0, 2, [1, 0, 0, 0], 0).view_id_outputs, [0; 4]);
    // Hull shaders have masks of patch constants for the view ID and for the inputs.
    let hull = words(Stage::HULL, 1, 3, [2, 0, 0, 0], 9);
    assert_eq!((hull.view_id_patch, hull.input_to_patch), (2, 2 * 3 * 4));
    // The page swaps the dimensions for domain shaders: real files have a mask of the outputs for each patch constant.
    let domain = words(Stage::DOMAIN, 0, 0, [9, 0, 0, 0], 3);
    assert_eq!(domain.patch_to_output, 2 * 3 * 4);
}
