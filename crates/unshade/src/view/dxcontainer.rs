//! Describes a DirectX container.

use super::shown;
use serde::Serialize;
use unshade_core::{FourCc, Reader};
use unshade_dxcontainer::part::{PartData, describe, is_token_program};
use unshade_dxcontainer::program::{ProgramVersion, bitcode};
use unshade_dxcontainer::psv0::{Psv0, Stage};
use unshade_dxcontainer::rdat::{Rdat, RdatKind};
use unshade_dxcontainer::signature::Signature;
use unshade_dxcontainer::source_info::SourceInfo;
use unshade_dxcontainer::{Container, root_signature_text};

/// A container.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ContainerView {
    /// The target profile, such as `ps_6_0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Language of the program: `DXIL 1.6` or `DXBC`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Name of the entry point, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// The digest in the file.
    pub digest: String,
    /// `right`, `wrong`, `unsigned`, `bypass` or `preview bypass`.
    pub digest_is: String,
    /// Size in the container's header, in bytes.
    pub size: u32,
    /// The compiler, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compiler: Option<String>,
    /// Version of the validator that the program targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validator: Option<String>,
    /// Threads per group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<[u32; 3]>,
    /// Minimum and maximum lanes per wave, if the program requires them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wave_lanes: Option<[u32; 2]>,
    /// Properties that are specific to the stage, such as `MaxVertexCount`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stage: Vec<(String, u32)>,
    /// Names of the required features.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
    /// Names of the module's other flags.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// Functions of a library.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<ExportView>,
    /// Bound resources.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ResourceView>,
    /// Elements of all signatures.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub signatures: Vec<SignatureView>,
    /// Clauses of the root signature in HLSL's syntax.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub root_signature: Vec<String>,
    /// The version of the root signature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root_signature_version: Option<String>,
    /// Name of the file with debug information.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debug_name: Option<String>,
    /// Names of embedded sources.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// Arguments of the compiler.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// Parts in file order.
    pub parts: Vec<PartView>,
}

/// A part.
#[derive(Clone, Debug, Serialize)]
pub struct PartView {
    /// Its name.
    pub name: String,
    /// Offset of its data in the file.
    pub offset: u64,
    /// Size of its data in bytes.
    pub size: u64,
    /// Description.
    pub what: String,
}

/// A function of a library.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ExportView {
    /// Unmangled name.
    pub name: String,
    /// Mangled name, as the linker uses it.
    pub mangled: String,
    /// Kind of shader.
    pub kind: String,
    /// Threads per group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<[u32; 3]>,
    /// Bytes of the ray payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload_size: Option<u32>,
    /// Bytes of the ray attributes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attribute_size: Option<u32>,
    /// Properties as a node of a work graph.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeView>,
}

/// A function as a node of a work graph.
#[derive(Clone, Debug, Default, Serialize)]
pub struct NodeView {
    /// Launch type: `broadcasting`, `coalescing` or `thread`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub launch: Option<String>,
    /// Its name and index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Whether it is a program entry.
    pub is_program_entry: bool,
    /// Dispatch grid in groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dispatch_grid: Option<[u32; 3]>,
    /// Maximum dispatch grid in groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_dispatch_grid: Option<[u32; 3]>,
}

/// A bound resource.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ResourceView {
    /// Name, if known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Kind of resource, such as `SRVTyped`.
    pub kind: String,
    /// Shape, such as `Texture2D`; empty if unknown.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub shape: String,
    /// Registers, such as `t0` or `t0–t3`.
    pub registers: String,
    /// The register space.
    pub space: u32,
    /// Element type, such as `f32`, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub element: Option<String>,
    /// Bytes of a constant buffer, or of each element of a structured buffer, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u32>,
    /// Names of further properties.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// An element of a signature.
#[derive(Clone, Debug, Serialize)]
pub struct SignatureView {
    /// The part, such as `ISG1`.
    pub part: String,
    /// Name and index.
    pub name: String,
    /// Component type.
    pub component_type: String,
    /// The register, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub register: Option<u32>,
    /// Components, such as `xyz`.
    pub mask: String,
    /// System value; empty for none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub system_value: String,
    /// Interpolation mode; empty if unknown.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub interpolation: String,
    /// The stream of a geometry shader.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub stream: u32,
}

impl ContainerView {
    /// Describes a container.
    pub fn new(container: &Container<'_>) -> Self {
        let header = container.header();
        let digest_is = match header.digest.marker() {
            Some(sign) => sign,
            None if header.digest == container.computed_digest() => "right",
            None => "wrong",
        };
        let mut view = Self {
            digest: header.digest.to_string(),
            digest_is: digest_is.into(),
            size: header.file_size,
            ..Self::default()
        };
        for part in container.found_parts() {
            let what = describe(part.name).unwrap_or("unknown");
            view.parts.push(PartView {
                name: part.name.to_string(),
                offset: part.data.base(),
                size: part.data.data().len() as u64,
                what: what.into(),
            });
            view.read(&part.name.0, part.data);
        }
        super::dxil::add(container, &mut view);
        view
    }

    fn read(&mut self, name: &[u8; 4], data: Reader<'_>) {
        match name {
            b"DXIL" | b"ILDB" => {
                if let Ok((header, _)) = bitcode(data) {
                    self.profile.get_or_insert(ProgramVersion(header.version).to_string());
                    self.code.get_or_insert(format!("DXIL {}.{}", header.dxil_major, header.dxil_minor));
                }
                return;
            }
            b"SHDR" | b"SHEX" | b"DXBC" if is_token_program(FourCc(*name), data.data()) => {
                let mut reader = data;
                if let Ok(version) = reader.u32() {
                    self.profile = Some(ProgramVersion(version).to_string());
                    self.code = Some("DXBC".into());
                }
                return;
            }
            // The program in STAT is larger than all the rest, and not needed here.
            b"STAT" => return,
            _ => {}
        }
        let Ok(read) = PartData::read(FourCc(*name), data) else { return };
        match read {
            PartData::Version(version) => self.compiler = Some(format!("DXC {}", shown(&version.version.0))),
            PartData::Features(features) => {
                let text = |(bit, feature): (u32, Option<&unshade_dxcontainer::simple_parts::Feature>)| {
                    feature.map_or_else(|| format!("bit {bit}"), |feature| feature.text.into())
                };
                self.features = features.features().map(text).collect();
            }
            PartData::DebugName(name) => self.debug_name = Some(shown(&name.name.0)),
            PartData::Psv0(psv0) => self.psv0(&psv0),
            PartData::Signature(signature) => self.signature(name, &signature),
            PartData::RootSignature(root) => {
                self.root_signature = root_signature_text::clauses(&root);
                self.root_signature_version = root.version_text().map(Into::into);
            }
            PartData::Rdat(rdat) => self.rdat(&rdat),
            PartData::Resources(definitions) => {
                self.compiler.get_or_insert(shown(&definitions.creator.0));
                for binding in &definitions.bindings {
                    let fields = &binding.fields;
                    let class = match fields.input_type.0 {
                        0 => 'b',
                        3 => 's',
                        1 | 2 | 5 | 7 => 't',
                        _ => 'u',
                    };
                    self.resources.push(ResourceView {
                        name: shown(&binding.name.0),
                        kind: fields.input_type.to_string(),
                        shape: String::new(),
                        registers: registers(class, fields.register, last(fields.register, fields.count)),
                        space: binding.space.as_ref().map_or(0, |space| space.space),
                        ..ResourceView::default()
                    });
                }
            }
            PartData::Sources(info) => self.sources(&info),
            _ => {}
        }
    }

    fn psv0(&mut self, psv0: &Psv0) {
        self.entry = psv0.entry_name().filter(|name| !name.is_empty()).map(shown);
        if let (Some(threads), Some(Stage::COMPUTE | Stage::MESH | Stage::AMPLIFICATION | Stage::NODE)) =
            (psv0.info.threads, psv0.stage())
        {
            self.threads = Some(threads);
        }
        if psv0.info.min_wave_lanes != 0 || psv0.info.max_wave_lanes != u32::MAX {
            self.wave_lanes = Some([psv0.info.min_wave_lanes, psv0.info.max_wave_lanes]);
        }
        if let Some(stage) = psv0.stage() {
            self.stage = psv0.info.stage_values(stage).map(|(name, value)| (name.into(), value)).collect();
        }
        for resource in &psv0.resources {
            let class = match resource.binding.resource_type.0 {
                1 => 's',
                2 => 'b',
                3..=5 => 't',
                _ => 'u',
            };
            self.resources.push(ResourceView {
                name: String::new(),
                kind: resource.binding.resource_type.to_string(),
                shape: resource.kind.as_ref().map(|kind| kind.kind.to_string()).unwrap_or_default(),
                registers: registers(class, resource.binding.lower_bound, resource.binding.upper_bound),
                space: resource.binding.space,
                ..ResourceView::default()
            });
        }
    }

    fn signature(&mut self, part: &[u8; 4], signature: &Signature) {
        for element in &signature.elements {
            let core = &element.core;
            let mask =
                "xyzw".chars().zip(0..).filter(|(_, bit)| core.mask >> bit & 1 == 1).map(|(name, _)| name);
            self.signatures.push(SignatureView {
                part: String::from_utf8_lossy(part).into_owned(),
                name: format!("{}{}", shown(&element.name.0), core.index),
                component_type: core.component_type.to_string(),
                register: (core.register != u32::MAX).then_some(core.register),
                mask: mask.collect(),
                system_value: if core.system_value.0 == 0 {
                    String::new()
                } else {
                    core.system_value.to_string()
                },
                interpolation: String::new(),
                stream: element.stream,
            });
        }
    }

    fn rdat(&mut self, rdat: &Rdat) {
        let kind = RdatKind::FUNCTION_TABLE;
        for row in rdat.table(kind).into_iter().flat_map(|table| &table.rows) {
            let text = |field| rdat.value(kind, row, field).and_then(|offset| rdat.text(offset));
            let [name, mangled] =
                ["UnmangledName", "Name"].map(|field| shown(text(field).unwrap_or_default()));
            let stage = rdat.value(kind, row, "ShaderKind").unwrap_or(u32::MAX);
            let stage = unshade_dxcontainer::program::ShaderKind(u16::try_from(stage).unwrap_or(u16::MAX));
            self.functions.push(ExportView {
                name,
                mangled,
                kind: stage.to_string(),
                ..ExportView::default()
            });
        }
    }

    fn sources(&mut self, info: &SourceInfo) {
        for file in info.files().unwrap_or_default() {
            self.sources.push(shown(&file.name.0));
        }
        for (name, value) in info.arguments() {
            self.arguments.push(format!("-{} {}", shown(&name.0), shown(&value.0)).trim_end().into());
        }
    }
}

/// Returns the last register of a range, or the highest number if it is unbounded.
fn last(first: u32, count: u32) -> u32 {
    match count {
        0 => u32::MAX,
        count => first.saturating_add(count - 1),
    }
}

fn registers(class: char, first: u32, last: u32) -> String {
    match last {
        u32::MAX if first != last => format!("{class}{first}–∞"),
        last if last == first => format!("{class}{first}"),
        last => format!("{class}{first}–{class}{last}"),
    }
}
