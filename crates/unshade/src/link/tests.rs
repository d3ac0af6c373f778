use super::{DynamicLibrary, LinkInput, LinkOptions, link};
use unshade_core::Reader;
use unshade_llvm::assemble::{AssembleOptions, bitcode};
use unshade_llvm::print::{self, PrintOptions};
use unshade_llvm::{Module, verify};
use unshade_metallib::{FunctionType, Library, LibraryFile};

const HEAD: &str = r#"
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"
target triple = "air64-apple-macosx13.0.0"
!air.version = !{!90}
!air.language_version = !{!91}
!llvm.ident = !{!92}
!90 = !{i32 2, i32 5, i32 0}
!91 = !{!"Metal", i32 3, i32 0, i32 0}
!92 = !{!"Apple metal version 31001.667 (metalfe-31001.667.2)"}
"#;

/// Two kernels, one of which calls a function of another module.
const KERNELS: &str = r#"
declare i32 @_Z6doublei(i32)
define void @twice(i32 addrspace(1)* %0) {
  %2 = load i32, i32 addrspace(1)* %0
  %3 = call i32 @_Z6doublei(i32 %2)
  store i32 %3, i32 addrspace(1)* %0
  ret void
}
define void @clear(i32 addrspace(1)* %0) {
  store i32 0, i32 addrspace(1)* %0
  ret void
}
!air.kernel = !{!0, !1}
!air.source_file_name = !{!5}
!0 = !{void (i32 addrspace(1)*)* @twice, !2, !3}
!1 = !{void (i32 addrspace(1)*)* @clear, !2, !3}
!2 = !{}
!3 = !{!4}
!4 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"int", !"air.arg_name", !"data"}
!5 = !{!"kernels.metal"}
"#;

const TOOLS: &str = r#"
define i32 @_Z6doublei(i32 %0) {
  %2 = shl i32 %0, 1
  ret i32 %2
}
define hidden i32 @_Z6hiddeni(i32 %0) {
  ret i32 %0
}
"#;

fn input(name: &str, text: &str) -> LinkInput<'static> {
    let text = [HEAD, text].concat();
    let bytes =
        bitcode(text.as_bytes(), name.as_bytes(), &AssembleOptions::default()).expect("it is valid").bytes;
    LinkInput { name: name.into(), bytes: bytes.into(), is_member: false }
}

fn messages(inputs: &[LinkInput<'_>], options: &LinkOptions<'_>) -> Vec<String> {
    link(inputs, options).expect_err("there is a fault").iter().map(ToString::to_string).collect()
}

/// Returns the text of each module, all of which are sound.
fn texts(file: &LibraryFile<'_>) -> Vec<String> {
    let text = |bytes: &[u8]| {
        let findings = verify::bitcode(Reader::new(bytes));
        assert!(findings.is_empty(), "{findings:?}");
        let module = Module::parse(bytes, 0).expect("it is read");
        let mut text = String::new();
        print::module(&module, &PrintOptions::default(), &mut text);
        text
    };
    file.modules.iter().map(|module| text(&module.bytes)).collect()
}

fn tools_library() -> DynamicLibrary {
    DynamicLibrary {
        install_name: b"@rpath/libTools.metallib".to_vec(),
        exports: vec![b"_Z6doublei".to_vec()],
    }
}

#[test]
fn each_entry_point_has_a_module_with_what_it_reaches() {
    let inputs = [input("kernels.air", KERNELS), input("tools.air", TOOLS)];
    let linked = link(&inputs, &LinkOptions::default()).expect("it is linked");
    assert_eq!((linked.unchanged, linked.notes.len()), (0, 0));
    let texts = texts(&linked.file);
    assert!(
        texts[0].contains("define internal i32 @_Z6doublei") && !texts[0].contains("@clear"),
        "{}",
        texts[0]
    );
    assert!(texts[1].contains("define void @clear") && !texts[1].contains("doublei"), "{}", texts[1]);
    assert!(texts.iter().all(|text| !text.contains("hidden") && !text.contains("kernels.metal")));

    let bytes = linked.file.write().unwrap().to_vec();
    let library = Library::parse(&bytes).unwrap();
    let functions: Vec<_> = library.functions().map(Result::unwrap).collect();
    assert_eq!(functions[0].kind, Some(FunctionType::KERNEL));
    let reflection = library.reflection(&functions[0]).unwrap().expect("a reflection");
    let arguments = reflection.function(b"twice").unwrap().expect("the function").arguments;
    assert_eq!(arguments[0].name, Some(&b"data"[..]));

    // What was linked is taken as it is.
    let again: Vec<_> = linked.file.modules.iter().map(|module| module.bytes.to_vec()).collect();
    let again = again.into_iter().map(|bytes| LinkInput {
        name: "again".into(),
        bytes: bytes.into(),
        is_member: false,
    });
    let again = link(&again.collect::<Vec<_>>(), &LinkOptions::default()).expect("it is linked");
    assert_eq!((again.unchanged, again.file), (2, linked.file));
}

#[test]
fn all_faults_are_reported() {
    let found = messages(&[input("kernels.air", KERNELS)], &LinkOptions::default());
    assert_eq!(found, ["undefined symbol \"double(int)\": found \"twice\" of kernels.air needs it"]);
    let inputs = [
        input("kernels.air", KERNELS),
        input("a.air", TOOLS),
        input("b.air", &format!("{TOOLS}@x = global i32 1\n")),
    ];
    let found = messages(&inputs, &LinkOptions::default());
    assert_eq!(found, ["two definitions of \"double(int)\": found a.air and b.air"]);
    // A name is one fault, however many entry points reach it and however many modules define it.
    let inputs = [("one.air", ""), ("two.air", "@y = global i32 1\n"), ("three.air", "@z = global i32 1\n")]
        .map(|(name, more)| {
            input(name, &format!("{KERNELS}{TOOLS}{more}").replace("declare i32 @_Z6doublei(i32)", ""))
        });
    let found = messages(&inputs, &LinkOptions::default());
    let modules = "found one.air and two.air and three.air";
    let expected =
        ["double(int)", "clear", "twice"].map(|name| format!("3 definitions of \"{name}\": {modules}"));
    assert_eq!(found, expected);
    let found = messages(&inputs[..2], &LinkOptions { dynamic: true, ..LinkOptions::default() });
    assert_eq!(found.len(), 3, "{found:?}");
    let found = messages(&[input("tools.air", TOOLS)], &LinkOptions::default());
    assert!(found[0].starts_with("no input has an entry point"), "{found:?}");
    let found = messages(
        &[LinkInput { name: "x".into(), bytes: b"text".as_slice().into(), is_member: false }],
        &LinkOptions::default(),
    );
    assert!(found[0].starts_with("x: "), "{found:?}");
}

#[test]
fn a_dynamic_library_exports_what_is_visible_and_is_the_same_again() {
    let name = b"@rpath/libTools.metallib".to_vec();
    let options = LinkOptions { dynamic: true, install_name: Some(name), ..LinkOptions::default() };
    let linked = link(&[input("tools.air", TOOLS)], &options).expect("it is linked");
    let names: Vec<_> = linked.file.functions.iter().map(|function| function.name.to_vec()).collect();
    assert_eq!(names, [b"_Z6doublei"]);
    let header = linked.file.dynamic_header().expect("a dynamic header");
    assert_eq!(header.install_name.as_deref(), Some(&b"@rpath/libTools.metallib"[..]));
    assert_eq!(linked.file.reflections().len(), 1);
    let bytes = linked.file.write().unwrap().to_vec();
    assert_eq!(DynamicLibrary::read(&Library::parse(&bytes).unwrap()).unwrap(), tools_library());

    let module = linked.file.modules[0].bytes.to_vec();
    let module = LinkInput { name: "module.air".into(), bytes: module.into(), is_member: false };
    let options = LinkOptions { dynamic: true, ..LinkOptions::default() };
    let again = link(&[module.clone(), module], &options).expect("it is linked");
    assert_eq!((again.unchanged, again.file), (1, linked.file));
}

#[test]
fn imports_come_from_dynamic_libraries() {
    let options = LinkOptions { libraries: vec![tools_library()], ..LinkOptions::default() };
    let linked = link(&[input("kernels.air", KERNELS)], &options).expect("it is linked");
    let text = &texts(&linked.file)[0];
    for line in [
        "@air.dyld_lib_table = hidden global [1 x { i32, i32 }] [{ i32, i32 } { i32 0, i32 24 }], section \"air.dyld_lib_table\"",
        "@air.dyld_str_table = hidden global [25 x i8] c\"@rpath/libTools.metallib\\00\", section \"air.dyld_str_table\"",
        "@air.dyld_flat_table = hidden global [1 x i8*] [i8* bitcast (i32 (i32)* @_Z6doublei to i8*)], section \"air.dyld_flat_table\"",
        "@llvm.used = appending global [3 x i8*]",
        "declare i32 @_Z6doublei(i32)",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    // A module that imports nothing names the library, too.
    let text = &texts(&linked.file)[1];
    assert!(text.contains("@air.dyld_str_table") && !text.contains("@air.dyld_flat_table"), "{text}");
    let header = linked.file.dynamic_header().expect("a dynamic header");
    assert_eq!((header.install_name.is_none(), header.linked.len()), (true, 1));
    let bytes = linked.file.write().unwrap().to_vec();
    let imports: Vec<_> =
        Library::parse(&bytes).unwrap().imported_symbols().unwrap().map(<[u8]>::to_vec).collect();
    assert_eq!(imports, [b"_Z6doublei"]);
}

#[test]
fn members_of_archives_are_taken_if_they_are_needed() {
    let member = LinkInput { is_member: true, ..input("tools.a!tools.o", TOOLS) };
    let user = input(
        "user.air",
        "declare i32 @_Z6doublei(i32)\ndefine i32 @_Z3useb(i32 %0) {\n  %2 = call i32 @_Z6doublei(i32 %0)\n  ret i32 %2\n}\n",
    );
    let options =
        LinkOptions { dynamic: true, install_name: Some(b"lib".to_vec()), ..LinkOptions::default() };
    let linked = link(&[user, member.clone()], &options).expect("it is linked");
    let names: Vec<_> = linked.file.functions.iter().map(|function| function.name.to_vec()).collect();
    assert_eq!(names, [b"_Z3useb"]);
    assert!(texts(&linked.file)[0].contains("define internal i32 @_Z6doublei"));
}

#[test]
fn a_library_is_like_another() {
    let inputs = [input("kernels.air", KERNELS), input("tools.air", TOOLS)];
    let first = link(&inputs, &LinkOptions::default()).expect("it is linked").file;
    let bytes = first.write().unwrap().to_vec();
    let mut like = LibraryFile::parse(&bytes).unwrap();
    like.functions.reverse();
    like.set_uuid(Some([7; 16]));
    let options = LinkOptions { like: Some(like), ..LinkOptions::default() };
    let linked = link(&inputs, &options).expect("it is linked").file;
    let names: Vec<_> = linked.functions.iter().map(|function| function.name.to_vec()).collect();
    assert_eq!(names, [b"clear", b"twice"]);
    assert_eq!((linked.functions[0].module, linked.functions[1].module), (0, 1));
    // The modules are in another order, so it is another library.
    assert_ne!(linked.uuid(), Some(&[7; 16]));
}

/// Whatever the modules are, linking ends with a library or with faults.
#[test]
fn damaged_modules_are_faults() {
    let (kernels, tools) = (input("kernels.air", KERNELS), input("tools.air", TOOLS));
    let tries = |bytes: Vec<u8>, is_kernels: bool| {
        let damaged =
            LinkInput { bytes: bytes.into(), ..if is_kernels { kernels.clone() } else { tools.clone() } };
        let inputs = if is_kernels { [damaged, tools.clone()] } else { [kernels.clone(), damaged] };
        for dynamic in [false, true] {
            let options = LinkOptions { dynamic, libraries: vec![tools_library()], ..LinkOptions::default() };
            if let Ok(linked) = link(&inputs, &options) {
                let _ = linked.file.write();
            }
        }
    };
    for (input, is_kernels) in [(&kernels, true), (&tools, false)] {
        let size = input.bytes.len();
        for at in (0..size).step_by(3) {
            let mut bytes = input.bytes.to_vec();
            bytes[at] ^= 1 << (at % 8);
            tries(bytes, is_kernels);
        }
        for end in (0..size).step_by(29) {
            tries(input.bytes[..end].to_vec(), is_kernels);
        }
    }
}
