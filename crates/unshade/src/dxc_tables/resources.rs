//! Prints resource bindings.

use super::text::{Table, left, plain, right};
use crate::dxil::{DxilModule, Resource, ResourceClass};
use unshade_dxcontainer::psv0::ResourceKind;

/// Classes in table order: class, name, prefix of IDs, prefix of registers.
const CLASSES: [(ResourceClass, &str, &str, &str); 4] = [
    (ResourceClass::CBUFFER, "cbuffer", "CB", "cb"),
    (ResourceClass::SAMPLER, "sampler", "S", "s"),
    (ResourceClass::SRV, "texture", "T", "t"),
    (ResourceClass::UAV, "UAV", "U", "u"),
];

/// Names of shapes, by number.
const DIMENSIONS: [&str; 19] = [
    "invalid",
    "1d",
    "2d",
    "2dMS",
    "3d",
    "cube",
    "1darray",
    "2darray",
    "2darrayMS",
    "cubearray",
    "buf",
    "rawbuf",
    "structbuf",
    "cbuffer",
    "sampler",
    "tbuffer",
    "ras",
    "fbtex2d",
    "fbtex2darray",
];

pub(super) fn put(dxil: &DxilModule, table: &mut Table) {
    table.title(" Resource Bindings:");
    table
        .line(" Name                                 Type  Format         Dim      ID      HLSL Bind  Count");
    table
        .line(" ------------------------------ ---------- ------- ----------- ------- -------------- ------");
    for (class, name, id, register) in CLASSES {
        for resource in dxil.resources_of(class) {
            let id = format!("{id}{}", resource.id);
            let mut binding = format!("{register}{}", resource.lower_bound);
            if resource.space != 0 {
                binding.push_str(&format!(",space{}", resource.space));
            }
            let count = resource.count.map_or_else(|| "unbounded".into(), |count| count.to_string());
            table.line(&format!(
                " {}{}{}{}{}{}{}",
                left(&plain(&resource.name.0), 31),
                right(name, 10),
                right(format(resource), 8),
                right(&dimension(resource), 12),
                right(&id, 8),
                right(&binding, 15),
                right(&count, 6)
            ));
        }
    }
    table.line("");
}

fn is_view(resource: &Resource) -> bool {
    matches!(resource.class, ResourceClass::SRV | ResourceClass::UAV)
}

fn format(resource: &Resource) -> &'static str {
    match resource.kind {
        _ if !is_view(resource) => "NA",
        ResourceKind::RAW_BUFFER => "byte",
        ResourceKind::STRUCTURED_BUFFER => "struct",
        _ => resource.element.and_then(|element| element.name()).unwrap_or("invalid"),
    }
}

fn dimension(resource: &Resource) -> String {
    let name = DIMENSIONS.get(resource.kind.0 as usize).copied().unwrap_or("invalid");
    match resource.kind {
        _ if !is_view(resource) => "NA".into(),
        ResourceKind::RAW_BUFFER | ResourceKind::STRUCTURED_BUFFER => {
            let access = match (resource.class, resource.access.counter) {
                (ResourceClass::SRV, _) => "r/o",
                (_, false) => "r/w",
                (_, true) => "r/w+cnt",
            };
            access.into()
        }
        ResourceKind::TEXTURE2DMS | ResourceKind::TEXTURE2DMS_ARRAY if resource.samples != 0 => {
            format!("{name}{}", resource.samples)
        }
        _ => name.into(),
    }
}
