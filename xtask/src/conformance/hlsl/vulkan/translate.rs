//! Translates shaders to SPIR-V with dxil-spirv: `translate JOBS FIRST [plain]`, see `jobs.rs`.
//!
//! Unless `plain`, a resource is in the descriptor set of its space. Its binding is its register, from which its class is told apart by [`SHIFTS`].

mod jobs;

use dxil_spirv::binding::{
    Bindless, CbvVulkanBinding, D3dBinding, ResourceKind, SrvVulkanBinding, UavVulkanBinding, VulkanBinding,
    VulkanDescriptorType,
};
use dxil_spirv::options::ConverterOption;
use dxil_spirv::{Converter, ParsedBlob};

/// The first binding of constant buffers, views, samplers, unordered access views, and their counters.
const SHIFTS: [u32; 5] = [0, 1000, 2000, 3000, 4000];

/// The number of descriptor sets of a driver that has few.
const SETS: u32 = 8;

fn main() {
    let is_plain = std::env::args().len() > 3;
    jobs::run(|container, _| {
        let words = if is_plain { dxil_spirv::convert_to_spirv(container) } else { translate(container) };
        words.map(|words| words.into_iter().flat_map(u32::to_le_bytes).collect())
    });
}

fn translate(container: &[u8]) -> dxil_spirv::Result<Vec<u32>> {
    let blob = ParsedBlob::parse(container)?;
    let mut converter = Converter::new(&blob)?;
    let options = [
        ConverterOption::SsboAlignment { alignment: 1 },
        ConverterOption::TypedUavReadWithoutFormat { supported: true },
        ConverterOption::ScalarBlockLayout { supported: true, supports_per_component_robustness: false },
    ];
    for option in options {
        converter.add_option(&option)?;
    }
    converter.set_cbv_remapper(|cbv| Some(CbvVulkanBinding::Uniform(place(cbv, 0)?)));
    converter.set_srv_remapper(|srv| {
        Some(SrvVulkanBinding { buffer_binding: place(srv, 1)?, offset_binding: place(srv, 1)? })
    });
    converter.set_sampler_remapper(|sampler| place(sampler, 2));
    converter.set_uav_remapper(|uav| {
        let mut counter = place(&uav.binding, 4)?;
        counter.descriptor_type = VulkanDescriptorType::Ssbo;
        let buffer = place(&uav.binding, 3)?;
        Some(UavVulkanBinding { buffer_binding: buffer, counter_binding: counter, offset_binding: buffer })
    });
    converter.run()?;
    converter.compiled_spirv()
}

/// Returns where a resource of the class `class` is.
fn place(resource: &D3dBinding, class: usize) -> Option<VulkanBinding> {
    let is_raw = matches!(resource.kind, ResourceKind::RawBuffer | ResourceKind::StructuredBuffer);
    let fits = resource.register_space < SETS && resource.register_index < SHIFTS[1];
    fits.then_some(VulkanBinding {
        set: resource.register_space,
        binding: SHIFTS[class] + resource.register_index,
        root_constant_index: 0,
        bindless: Bindless { heap_root_offset: 0, use_heap: false },
        descriptor_type: if is_raw { VulkanDescriptorType::Ssbo } else { VulkanDescriptorType::Identity },
    })
}
