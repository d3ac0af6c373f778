//! The specification of a library.

use super::SourcesSpec;

/// The numbers of library types.
pub mod library_type {
    /// Functions for pipelines.
    pub const EXECUTABLE: u8 = 0;
    /// Functions for Core Image.
    pub const CORE_IMAGE: u8 = 1;
    /// Functions for linking by other libraries.
    pub const DYNAMIC: u8 = 2;
    /// Sources and symbols of another library (`.metallibsym`).
    pub const SYMBOL_COMPANION: u8 = 3;
}

/// The numbers of function types.
pub mod function_type {
    /// `[[vertex]]`
    pub const VERTEX: u8 = 0;
    /// `[[fragment]]`
    pub const FRAGMENT: u8 = 1;
    /// `[[kernel]]`
    pub const KERNEL: u8 = 2;
    /// An ordinary function of a dynamic library.
    pub const UNQUALIFIED: u8 = 3;
    /// `[[visible]]`
    pub const VISIBLE: u8 = 4;
    /// `extern "C"`, for Core Image.
    pub const EXTERN: u8 = 5;
    /// `[[intersection]]`
    pub const INTERSECTION: u8 = 6;
    /// `[[mesh]]`
    pub const MESH: u8 = 7;
    /// `[[object]]`
    pub const OBJECT: u8 = 8;
    /// No type.
    pub const NONE: u8 = 255;
}

/// The numbers of platforms.
pub mod platform {
    /// macOS.
    pub const MACOS: u8 = 1;
    /// iOS.
    pub const IOS: u8 = 2;
    /// macCatalyst.
    pub const MAC_CATALYST: u8 = 6;
    /// visionOS.
    pub const VISIONOS: u8 = 11;
}

/// The tool to imitate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// Apple's `air-lld`: `MDSZ` after `VERS`; sizes of metadata groups include themselves.
    #[default]
    Linker,
    /// Apple's older `metallib` tool: `MDSZ` before `OFFT`; sizes of metadata groups do not include themselves.
    LegacyTool,
    /// dxmt: like the older tool, but with a single size for the whole function list.
    SharedGroup,
}

/// A tag with a 16-bit length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawTag {
    /// The code.
    pub code: [u8; 4],
    /// The content.
    pub content: Vec<u8>,
}

impl RawTag {
    /// Creates a tag from bytes.
    pub fn new(code: &[u8; 4], content: &[u8]) -> Self {
        Self { code: *code, content: content.to_vec() }
    }

    /// Creates a tag from a string, adding a NUL.
    pub fn c_string(code: &[u8; 4], text: &[u8]) -> Self {
        Self { code: *code, content: [text, b"\0"].concat() }
    }
}

/// A library.
#[derive(Clone, Debug, Default)]
pub struct LibrarySpec {
    /// The tool to imitate.
    pub dialect: Dialect,
    /// The third number of the container version: 2 to 9.
    pub version_patch: u16,
    /// Bit 15 of the container version.
    pub macos_flag: bool,
    /// See [`library_type`].
    pub library_type: u8,
    /// Bit 7 of the library type.
    pub stub: bool,
    /// See [`platform`].
    pub platform: u8,
    /// Bit 7 of the platform.
    pub is_64_bit: bool,
    /// The version of the target OS.
    pub os: (u16, u8, u8),
    /// The functions.
    pub functions: Vec<FunctionSpec>,
    /// The modules.
    pub modules: Vec<ModuleSpec>,
    /// The embedded sources.
    pub sources: Option<SourcesSpec>,
    /// Whether there is a source link (`HSRP`).
    pub source_link: bool,
    /// The dynamic header.
    pub dynamic: Option<DynamicSpec>,
    /// The names of exported variables (`VLST`).
    pub exported_variables: Vec<Vec<u8>>,
    /// The names of imported symbols (`ILST`).
    pub imported_symbols: Vec<Vec<u8>>,
    /// The reflection list.
    pub reflections: Vec<ReflectionSpec>,
    /// The pipeline scripts (`SLST`).
    pub scripts: Vec<Vec<u8>>,
    /// Unknown tags in the header extension.
    pub other_extension_tags: Vec<RawTag>,
    /// The UUID.
    pub uuid: Option<[u8; 16]>,
}

impl LibrarySpec {
    /// Creates an empty library for macOS, with the header fields of its version.
    pub fn new(dialect: Dialect, version_patch: u16) -> Self {
        let os = match version_patch {
            6 => (12, 0, 0),
            7 => (14, 0, 0),
            8 => (15, 0, 0),
            9 => (26, 0, 0),
            _ => (0, 0, 0),
        };
        let tells_platform = version_patch >= 6;
        Self {
            dialect,
            version_patch,
            macos_flag: true,
            platform: if tells_platform { platform::MACOS } else { 0 },
            is_64_bit: tells_platform,
            os,
            ..Self::default()
        }
    }

    /// Returns whether there is a header extension, even if it only contains `ENDT`.
    pub fn has_extension(&self) -> bool {
        self.version_patch >= 3
    }

    /// Returns the codes of the sections in the header extension, in order.
    pub fn section_codes(&self) -> Vec<[u8; 4]> {
        let sources = self.sources.as_ref().map(SourcesSpec::code);
        let others = [
            (b"HSRP", self.source_link),
            (b"HDYN", self.dynamic.is_some()),
            (b"VLST", !self.exported_variables.is_empty()),
            (b"ILST", !self.imported_symbols.is_empty()),
            (b"RLST", !self.reflections.is_empty()),
            (b"SLST", !self.scripts.is_empty()),
        ];
        let present = others.into_iter().filter(|(_, present)| *present).map(|(code, _)| *code);
        sources.into_iter().chain(present).collect()
    }

    /// Adds a function with its own module.
    #[must_use]
    pub fn with(mut self, mut function: FunctionSpec, module: ModuleSpec) -> Self {
        function.module = self.modules.len();
        self.modules.push(module);
        self.functions.push(function);
        self
    }

    /// Adds a reflection for the last function.
    #[must_use]
    pub fn reflecting(mut self, content: Vec<u8>) -> Self {
        let index = self.reflections.len();
        self.reflections.push(ReflectionSpec { code: *b"RBUF", content });
        if let Some(function) = self.functions.last_mut() {
            function.reflection = Some(index);
        }
        self
    }
}

/// A function.
#[derive(Clone, Debug, Default)]
pub struct FunctionSpec {
    /// The name.
    pub name: Vec<u8>,
    /// See [`function_type`].
    pub kind: u8,
    /// The index of its module.
    pub module: usize,
    /// The versions of AIR and the language, two numbers each.
    pub versions: [u16; 4],
    /// Whether there is an `MDSZ`.
    pub states_module_size: bool,
    /// `TESS`: bits 0–1 patch type, bits 2–7 control points.
    pub tessellation: Option<u8>,
    /// `LAYR`: a data type.
    pub layer_type: Option<u8>,
    /// The index of its source archive.
    pub source_archive: Option<usize>,
    /// The index of its reflection.
    pub reflection: Option<usize>,
    /// Unknown tags.
    pub other_tags: Vec<RawTag>,
    /// Public metadata.
    pub public: PublicSpec,
    /// Private metadata.
    pub private: PrivateSpec,
}

impl FunctionSpec {
    /// Creates a function of AIR 2.6 and Metal 3.1, as written by the tools of macOS 14.
    pub fn new(name: &str, kind: u8) -> Self {
        Self { name: name.into(), kind, versions: [2, 6, 3, 1], states_module_size: true, ..Self::default() }
    }
}

/// The public metadata of a function.
#[derive(Clone, Debug, Default)]
pub struct PublicSpec {
    /// `VATT` and `VATY`.
    pub vertex_attributes: Vec<VertexAttributeSpec>,
    /// `CNST`.
    pub constants: Vec<ConstantSpec>,
    /// Raw tags: `RETR`, `ARGR` and unknown ones.
    pub other_tags: Vec<RawTag>,
}

/// A vertex attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VertexAttributeSpec {
    /// The name.
    pub name: &'static str,
    /// The index.
    pub index: u16,
    /// 0: per vertex, 1: per patch, 2: control point.
    pub usage: u8,
    /// Whether the function uses it.
    pub active: bool,
    /// The data type.
    pub data_type: u8,
}

/// A function constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConstantSpec {
    /// The name.
    pub name: &'static str,
    /// The data type.
    pub data_type: u8,
    /// The index.
    pub index: u16,
    /// Whether the function uses it.
    pub active: bool,
}

impl PublicSpec {
    /// Returns the tags, in the order of the file.
    pub(super) fn tags(&self) -> Vec<RawTag> {
        let mut tags = Vec::new();
        let count = |count: usize| (count as u16).to_le_bytes().to_vec();
        if !self.vertex_attributes.is_empty() {
            let mut names = count(self.vertex_attributes.len());
            let mut types = names.clone();
            for attribute in &self.vertex_attributes {
                names.extend(attribute.name.bytes().chain([0]));
                let active = u16::from(attribute.active) << 15;
                names.extend((attribute.index | u16::from(attribute.usage) << 13 | active).to_le_bytes());
                types.push(attribute.data_type);
            }
            tags.push(RawTag { code: *b"VATT", content: names });
            tags.push(RawTag { code: *b"VATY", content: types });
        }
        if !self.constants.is_empty() {
            let mut content = count(self.constants.len());
            for constant in &self.constants {
                content.extend(constant.name.bytes().chain([0, constant.data_type]));
                content.extend(constant.index.to_le_bytes());
                content.push(u8::from(constant.active));
            }
            tags.push(RawTag { code: *b"CNST", content });
        }
        tags.extend(self.other_tags.iter().cloned());
        tags
    }
}

/// The private metadata of a function.
#[derive(Clone, Debug, Default)]
pub struct PrivateSpec {
    /// `DEBI`: the line and the path of the source.
    pub source_location: Option<(u32, &'static str)>,
    /// `DEPF`: the paths of `.air` files.
    pub dependencies: Vec<&'static str>,
    /// Unknown tags.
    pub other_tags: Vec<RawTag>,
}

impl PrivateSpec {
    /// Returns the tags, in the order of the file.
    pub(super) fn tags(&self) -> Vec<RawTag> {
        let mut tags = Vec::new();
        if let Some((line, path)) = self.source_location {
            let content = line.to_le_bytes().into_iter().chain(path.bytes()).chain([0]).collect();
            tags.push(RawTag { code: *b"DEBI", content });
        }
        tags.extend(self.dependencies.iter().map(|path| RawTag::c_string(b"DEPF", path.as_bytes())));
        tags.extend(self.other_tags.iter().cloned());
        tags
    }
}

/// A module.
#[derive(Clone, Debug)]
pub struct ModuleSpec {
    /// The assembly that the bitcode is made of, for the library's target.
    pub text: Option<&'static str>,
    /// The bitcode, without a wrapper.
    pub bitcode: Vec<u8>,
    /// Whether it is padded with zeros to a multiple of 16.
    pub padded: bool,
    /// Bytes between this module and the next that belong to neither.
    pub stray_bytes: Vec<u8>,
}

impl ModuleSpec {
    /// Returns the module in a file from `llvm-as`, which adds its own wrapper for Darwin targets.
    ///
    /// # Panics
    /// If the file is too short.
    pub fn assembled(file: &[u8]) -> Self {
        let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().expect("four bytes")) as usize;
        let bitcode = if word(0) == 0x0b17_c0de { &file[word(8)..word(8) + word(12)] } else { file };
        Self { text: None, bitcode: bitcode.to_vec(), padded: true, stray_bytes: Vec::new() }
    }
}

/// The dynamic header.
#[derive(Clone, Debug, Default)]
pub struct DynamicSpec {
    /// The install name.
    pub name: Option<Vec<u8>>,
    /// The install names of the libraries that this one is linked against.
    pub linked: Vec<Vec<u8>>,
}

/// A group of the reflection list.
#[derive(Clone, Debug)]
pub struct ReflectionSpec {
    /// `RBUF`, or `RBUZ` for a compressed one.
    pub code: [u8; 4],
    /// The flatbuffer, without its padding.
    pub content: Vec<u8>,
}
