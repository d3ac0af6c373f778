//! Runs a shader with naga's SPIR-V back end and Vulkan: on lavapipe, Mesa's software device.

use crate::case::{Buffer, Case};
use ash::vk;
use naga::back::pipeline_constants::process_overrides;
use naga::back::spv;

/// A device.
pub struct Device {
    _entry: ash::Entry,
    instance: ash::Instance,
    physical: vk::PhysicalDevice,
    device: ash::Device,
    queue: vk::Queue,
}

/// Describes a failure of Vulkan.
fn failed(error: vk::Result) -> String {
    format!("Vulkan: {error}")
}

impl Device {
    /// Opens the software device; none if there is none.
    pub fn open() -> Option<Self> {
        // SAFETY: the loader is Vulkan's, and all handles live as long as the device.
        unsafe {
            let entry = ash::Entry::load().ok()?;
            let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_2);
            let info = vk::InstanceCreateInfo::default().application_info(&application);
            let instance = entry.create_instance(&info, None).ok()?;
            let devices = instance.enumerate_physical_devices().ok()?;
            let physical = devices.into_iter().find(|&physical| {
                instance.get_physical_device_properties(physical).device_type == vk::PhysicalDeviceType::CPU
            })?;
            let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&[1.0])];
            let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues);
            let device = instance.create_device(physical, &info, None).ok()?;
            let queue = device.get_device_queue(0, 0);
            Some(Self { _entry: entry, instance, physical, device, queue })
        }
    }

    /// Runs a shader, and returns what the buffers hold afterwards.
    pub fn run(&self, case: &Case) -> Result<Vec<Buffer>, String> {
        let words = spirv(case)?;
        // SAFETY: sizes and types of what is passed are those of the shader, which naga has checked.
        unsafe { self.run_words(case, &words).map_err(failed) }
    }

    /// Allocates a buffer with these words.
    unsafe fn buffer(&self, words: &[u32]) -> Result<(vk::Buffer, vk::DeviceMemory), vk::Result> {
        let usage = vk::BufferUsageFlags::STORAGE_BUFFER | vk::BufferUsageFlags::UNIFORM_BUFFER;
        let info = vk::BufferCreateInfo::default().size(words.len() as u64 * 4).usage(usage);
        // SAFETY: as that of the callers.
        unsafe {
            let buffer = self.device.create_buffer(&info, None)?;
            let needs = self.device.get_buffer_memory_requirements(buffer);
            let types = self.instance.get_physical_device_memory_properties(self.physical);
            let wanted = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
            let fits = |&at: &u32| {
                needs.memory_type_bits >> at & 1 == 1
                    && types.memory_types[at as usize].property_flags.contains(wanted)
            };
            let kind =
                (0..types.memory_type_count).find(fits).ok_or(vk::Result::ERROR_FEATURE_NOT_PRESENT)?;
            let info = vk::MemoryAllocateInfo::default().allocation_size(needs.size).memory_type_index(kind);
            let memory = self.device.allocate_memory(&info, None)?;
            self.device.bind_buffer_memory(buffer, memory, 0)?;
            let data = self.device.map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty())?;
            std::ptr::copy_nonoverlapping(words.as_ptr(), data.cast::<u32>(), words.len());
            self.device.unmap_memory(memory);
            Ok((buffer, memory))
        }
    }

    unsafe fn run_words(&self, case: &Case, words: &[u32]) -> Result<Vec<Buffer>, vk::Result> {
        let device = &self.device;
        let groups = case.buffers.iter().map(|buffer| buffer.group + 1).max().unwrap_or(0);
        // SAFETY: as that of the callers.
        unsafe {
            let mut memories = Vec::new();
            let mut layouts = Vec::new();
            for group in 0..groups {
                let bindings: Vec<_> = case
                    .buffers
                    .iter()
                    .filter(|buffer| buffer.group == group)
                    .map(|buffer| {
                        vk::DescriptorSetLayoutBinding::default()
                            .binding(buffer.binding)
                            .descriptor_type(kind(case, buffer))
                            .descriptor_count(1)
                            .stage_flags(vk::ShaderStageFlags::COMPUTE)
                    })
                    .collect();
                let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
                layouts.push(device.create_descriptor_set_layout(&info, None)?);
            }
            let sizes = [vk::DescriptorType::STORAGE_BUFFER, vk::DescriptorType::UNIFORM_BUFFER]
                .map(|ty| vk::DescriptorPoolSize { ty, descriptor_count: 64 });
            let info = vk::DescriptorPoolCreateInfo::default().max_sets(64).pool_sizes(&sizes);
            let pool = device.create_descriptor_pool(&info, None)?;
            let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&layouts);
            let sets = device.allocate_descriptor_sets(&info)?;
            for buffer in &case.buffers {
                let (handle, memory) = self.buffer(&buffer.words)?;
                memories.push(memory);
                let info = [vk::DescriptorBufferInfo { buffer: handle, offset: 0, range: vk::WHOLE_SIZE }];
                let write = vk::WriteDescriptorSet::default()
                    .dst_set(sets[buffer.group as usize])
                    .dst_binding(buffer.binding)
                    .descriptor_type(kind(case, buffer))
                    .buffer_info(&info);
                device.update_descriptor_sets(&[write], &[]);
            }
            let shader =
                device.create_shader_module(&vk::ShaderModuleCreateInfo::default().code(words), None)?;
            let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&layouts);
            let layout = device.create_pipeline_layout(&info, None)?;
            let name = std::ffi::CString::new(case.entry.as_str()).unwrap_or_default();
            let stage = vk::PipelineShaderStageCreateInfo::default()
                .stage(vk::ShaderStageFlags::COMPUTE)
                .module(shader)
                .name(&name);
            let info = [vk::ComputePipelineCreateInfo::default().stage(stage).layout(layout)];
            let cache = vk::PipelineCache::null();
            let pipelines = device.create_compute_pipelines(cache, &info, None);
            let pipeline = pipelines.map_err(|(_, error)| error)?[0];
            let commands = device.create_command_pool(&vk::CommandPoolCreateInfo::default(), None)?;
            let info =
                vk::CommandBufferAllocateInfo::default().command_pool(commands).command_buffer_count(1);
            let command = device.allocate_command_buffers(&info)?[0];
            device.begin_command_buffer(command, &vk::CommandBufferBeginInfo::default())?;
            let point = vk::PipelineBindPoint::COMPUTE;
            device.cmd_bind_pipeline(command, point, pipeline);
            device.cmd_bind_descriptor_sets(command, point, layout, 0, &sets, &[]);
            let [x, y, z] = case.groups;
            device.cmd_dispatch(command, x, y, z);
            device.end_command_buffer(command)?;
            let list = [command];
            let submit = [vk::SubmitInfo::default().command_buffers(&list)];
            device.queue_submit(self.queue, &submit, vk::Fence::null())?;
            device.queue_wait_idle(self.queue)?;
            let mut buffers = case.buffers.clone();
            for (buffer, memory) in buffers.iter_mut().zip(memories) {
                let data = device.map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty())?;
                let words = std::slice::from_raw_parts(data.cast::<u32>(), buffer.words.len());
                buffer.words.copy_from_slice(words);
            }
            Ok(buffers)
        }
    }
}

/// Returns how a buffer is bound.
fn kind(case: &Case, buffer: &Buffer) -> vk::DescriptorType {
    let module = &case.source.module;
    let is_uniform = module.global_variables.iter().any(|(_, global)| {
        let place = global.binding.map(|binding| (binding.group, binding.binding));
        place == Some((buffer.group, buffer.binding)) && global.space == naga::AddressSpace::Uniform
    });
    match is_uniform {
        true => vk::DescriptorType::UNIFORM_BUFFER,
        false => vk::DescriptorType::STORAGE_BUFFER,
    }
}

/// Returns the SPIR-V that naga writes.
fn spirv(case: &Case) -> Result<Vec<u32>, String> {
    let stage = naga::ShaderStage::Compute;
    let entry = Some((stage, case.entry.as_str()));
    let source = &case.source;
    let (module, info) = process_overrides(&source.module, &source.info, entry, &Default::default())
        .map_err(|error| error.to_string())?;
    let options = spv::Options { lang_version: (1, 3), ..spv::Options::default() };
    let pipeline = spv::PipelineOptions { shader_stage: stage, entry_point: case.entry.clone() };
    spv::write_vec(&module, &info, &options, Some(&pipeline)).map_err(|error| error.to_string())
}
