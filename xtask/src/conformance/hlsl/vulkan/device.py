# A device of Vulkan that runs compute shaders on buffers and images whose contents are given as bytes.
import vulkan as vk

from spirv import IMAGE, SAMPLER, SSBO, STORAGE_IMAGE, STORAGE_TEXELS, UBO, UNIFORM_TEXELS

# The edges of images, and the number of layers (a whole number of cubes).
EDGE, DEPTH, LAYERS = 32, 4, 18
# Unused bytes before and after each resource: Mesa 22 writes there when coordinates are out of bounds.
MARGIN = 1 << 20
# Groups of threads in each dimension.
GROUPS = (2, 2, 1)

TYPES = {
    UBO: vk.VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
    SSBO: vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
    UNIFORM_TEXELS: vk.VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER,
    STORAGE_TEXELS: vk.VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER,
    IMAGE: vk.VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE,
    STORAGE_IMAGE: vk.VK_DESCRIPTOR_TYPE_STORAGE_IMAGE,
    SAMPLER: vk.VK_DESCRIPTOR_TYPE_SAMPLER,
}
USAGES = {
    UBO: vk.VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT,
    SSBO: vk.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
    UNIFORM_TEXELS: vk.VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT,
    STORAGE_TEXELS: vk.VK_BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT,
}
# Formats of SPIR-V: that of Vulkan, and the bytes of a texel.
FORMATS = {
    1: (vk.VK_FORMAT_R32G32B32A32_SFLOAT, 16),
    2: (vk.VK_FORMAT_R16G16B16A16_SFLOAT, 8),
    3: (vk.VK_FORMAT_R32_SFLOAT, 4),
    4: (vk.VK_FORMAT_R8G8B8A8_UNORM, 4),
    5: (vk.VK_FORMAT_R8G8B8A8_SNORM, 4),
    6: (vk.VK_FORMAT_R32G32_SFLOAT, 8),
    7: (vk.VK_FORMAT_R16G16_SFLOAT, 4),
    21: (vk.VK_FORMAT_R32G32B32A32_SINT, 16),
    24: (vk.VK_FORMAT_R32_SINT, 4),
    25: (vk.VK_FORMAT_R32G32_SINT, 8),
    30: (vk.VK_FORMAT_R32G32B32A32_UINT, 16),
    33: (vk.VK_FORMAT_R32_UINT, 4),
    35: (vk.VK_FORMAT_R32G32_UINT, 8),
}
# Of dimensions of SPIR-V: the type of an image, of a view, of a view of an array; and the extent.
DIMENSIONS = {
    0: (vk.VK_IMAGE_TYPE_1D, vk.VK_IMAGE_VIEW_TYPE_1D, vk.VK_IMAGE_VIEW_TYPE_1D_ARRAY, (EDGE, 1, 1)),
    1: (vk.VK_IMAGE_TYPE_2D, vk.VK_IMAGE_VIEW_TYPE_2D, vk.VK_IMAGE_VIEW_TYPE_2D_ARRAY, (EDGE, EDGE, 1)),
    2: (vk.VK_IMAGE_TYPE_3D, vk.VK_IMAGE_VIEW_TYPE_3D, None, (EDGE, EDGE, DEPTH)),
    3: (vk.VK_IMAGE_TYPE_2D, vk.VK_IMAGE_VIEW_TYPE_CUBE, vk.VK_IMAGE_VIEW_TYPE_CUBE_ARRAY, (EDGE, EDGE, 1)),
}
CUBE = 3


def layers(one):
    return LAYERS if one.arrayed or one.dimension == CUBE else 1


def image_size(one, format):
    width, height, depth = DIMENSIONS[one.dimension][3]
    return width * height * depth * layers(one) * FORMATS[format][1]


class Device:
    def __init__(self):
        application = vk.VkApplicationInfo(pApplicationName="unshade", apiVersion=vk.VK_MAKE_VERSION(1, 3, 0))
        instance = vk.vkCreateInstance(vk.VkInstanceCreateInfo(pApplicationInfo=application), None)
        devices = vk.vkEnumeratePhysicalDevices(instance)
        is_cpu = lambda one: vk.vkGetPhysicalDeviceProperties(one).deviceType == vk.VK_PHYSICAL_DEVICE_TYPE_CPU
        physical = next((one for one in devices if is_cpu(one)), None)
        if physical is None:
            raise SystemExit("error: Vulkan has no device on the CPU")
        # All features that there are.
        robustness = vk.VkPhysicalDeviceRobustness2FeaturesEXT()
        newest = vk.VkPhysicalDeviceVulkan13Features(pNext=robustness)
        newer = vk.VkPhysicalDeviceVulkan12Features(pNext=newest)
        new = vk.VkPhysicalDeviceVulkan11Features(pNext=newer)
        features = vk.VkPhysicalDeviceFeatures2(pNext=new)
        vk.vkGetPhysicalDeviceFeatures2(physical, vk.ffi.addressof(features))
        self.name = vk.vkGetPhysicalDeviceProperties(physical).deviceName
        queue = vk.VkDeviceQueueCreateInfo(queueFamilyIndex=0, pQueuePriorities=[1.0])
        extensions = ["VK_EXT_robustness2"]
        self.device = vk.vkCreateDevice(
            physical,
            vk.VkDeviceCreateInfo(pNext=features, pQueueCreateInfos=[queue], ppEnabledExtensionNames=extensions),
            None,
        )
        self.queue = vk.vkGetDeviceQueue(self.device, 0, 0)
        pool = vk.VkCommandPoolCreateInfo(queueFamilyIndex=0)
        self.commands = vk.vkCreateCommandPool(self.device, pool, None)
        # All memory of a driver on the CPU is visible.
        self.memory_type = 0

    def pipeline(self, code, entry, descriptors):
        return Pipeline(self, code, entry, descriptors)

    def memory(self, requirements):
        size = requirements.size + 2 * MARGIN
        info = vk.VkMemoryAllocateInfo(allocationSize=size, memoryTypeIndex=self.memory_type)
        return vk.vkAllocateMemory(self.device, info, None)


class Pipeline:
    """A compute shader that can be run on contents: bytes by (set, place)."""

    def __init__(self, device, code, entry, descriptors):
        self.owner, self.device, self.descriptors = device, device.device, descriptors
        module = vk.vkCreateShaderModule(
            self.device, vk.VkShaderModuleCreateInfo(codeSize=len(code), pCode=code), None
        )
        count = 1 + max((one.set for one in descriptors), default=-1)
        self.layouts = [self.layout(number) for number in range(count)]
        info = vk.VkPipelineLayoutCreateInfo(pSetLayouts=self.layouts or None)
        self.pipeline_layout = vk.vkCreatePipelineLayout(self.device, info, None)
        stage = vk.VkPipelineShaderStageCreateInfo(
            stage=vk.VK_SHADER_STAGE_COMPUTE_BIT, module=module, pName=entry
        )
        info = vk.VkComputePipelineCreateInfo(stage=stage, layout=self.pipeline_layout)
        self.pipeline = vk.vkCreateComputePipelines(self.device, None, 1, [info], None)[0]

    def layout(self, number):
        bindings = [
            vk.VkDescriptorSetLayoutBinding(
                binding=one.binding,
                descriptorType=TYPES[one.kind],
                descriptorCount=one.count,
                stageFlags=vk.VK_SHADER_STAGE_COMPUTE_BIT,
            )
            for one in self.descriptors
            if one.set == number
        ]
        info = vk.VkDescriptorSetLayoutCreateInfo(pBindings=bindings or None)
        return vk.vkCreateDescriptorSetLayout(self.device, info, None)

    def run(self, contents, formats):
        """Runs the shader, and returns what is in each buffer and image after it."""
        run = Run(self, contents, formats)
        try:
            return run.execute()
        finally:
            run.free()


class Run:
    def __init__(self, pipeline, contents, formats):
        self.pipeline, self.owner, self.device = pipeline, pipeline.owner, pipeline.device
        self.contents, self.formats = contents, formats
        # How to free what was made.
        self.made = []
        # Of resources by (set, place): the memory and size of the buffer with their contents.
        self.buffers = {}
        # Images with the buffers that fill them.
        self.images = []

    def keep(self, made, free):
        self.made.append(lambda: free(self.device, made, None))
        return made

    def free(self):
        for free in reversed(self.made):
            free()

    def buffer(self, key, usage):
        content = self.contents[key]
        usage |= vk.VK_BUFFER_USAGE_TRANSFER_SRC_BIT | vk.VK_BUFFER_USAGE_TRANSFER_DST_BIT
        info = vk.VkBufferCreateInfo(size=len(content), usage=usage)
        buffer = self.keep(vk.vkCreateBuffer(self.device, info, None), vk.vkDestroyBuffer)
        memory = self.owner.memory(vk.vkGetBufferMemoryRequirements(self.device, buffer))
        self.keep(memory, vk.vkFreeMemory)
        vk.vkBindBufferMemory(self.device, buffer, memory, MARGIN)
        mapped = vk.vkMapMemory(self.device, memory, MARGIN, len(content), 0)
        mapped[:] = content
        self.buffers[key] = mapped
        return buffer

    def image(self, one, key):
        format = FORMATS[self.formats[key]][0]
        image_type, view_type, array_type, extent = DIMENSIONS[one.dimension]
        flags = vk.VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT if one.dimension == CUBE else 0
        usage = vk.VK_IMAGE_USAGE_STORAGE_BIT if one.kind == STORAGE_IMAGE else vk.VK_IMAGE_USAGE_SAMPLED_BIT
        info = vk.VkImageCreateInfo(
            flags=flags,
            imageType=image_type,
            format=format,
            extent=extent,
            mipLevels=1,
            arrayLayers=layers(one),
            samples=vk.VK_SAMPLE_COUNT_1_BIT,
            usage=usage | vk.VK_IMAGE_USAGE_TRANSFER_SRC_BIT | vk.VK_IMAGE_USAGE_TRANSFER_DST_BIT,
        )
        image = self.keep(vk.vkCreateImage(self.device, info, None), vk.vkDestroyImage)
        memory = self.owner.memory(vk.vkGetImageMemoryRequirements(self.device, image))
        self.keep(memory, vk.vkFreeMemory)
        vk.vkBindImageMemory(self.device, image, memory, MARGIN)
        whole = vk.VkImageSubresourceRange(vk.VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, layers(one))
        view_type = array_type if one.arrayed else view_type
        info = vk.VkImageViewCreateInfo(image=image, viewType=view_type, format=format, subresourceRange=whole)
        view = self.keep(vk.vkCreateImageView(self.device, info, None), vk.vkDestroyImageView)
        layer = vk.VkImageSubresourceLayers(vk.VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, layers(one))
        copy = vk.VkBufferImageCopy(imageSubresource=layer, imageExtent=extent)
        self.images.append((image, self.buffer(key, 0), copy, whole))
        return vk.VkDescriptorImageInfo(imageView=view, imageLayout=vk.VK_IMAGE_LAYOUT_GENERAL)

    def sampler(self):
        info = vk.VkSamplerCreateInfo(
            magFilter=vk.VK_FILTER_LINEAR, minFilter=vk.VK_FILTER_LINEAR, maxLod=vk.VK_LOD_CLAMP_NONE
        )
        sampler = self.keep(vk.vkCreateSampler(self.device, info, None), vk.vkDestroySampler)
        return vk.VkDescriptorImageInfo(sampler=sampler)

    def write(self, sets, one, element):
        """Returns what fills a descriptor."""
        key = one.set, one.place + element
        where = dict(
            dstSet=sets[one.set],
            dstBinding=one.binding,
            dstArrayElement=element,
            descriptorCount=1,
            descriptorType=TYPES[one.kind],
        )
        if one.kind == SAMPLER:
            return vk.VkWriteDescriptorSet(pImageInfo=[self.sampler()], **where)
        if one.kind in (IMAGE, STORAGE_IMAGE):
            return vk.VkWriteDescriptorSet(pImageInfo=[self.image(one, key)], **where)
        buffer = self.buffer(key, USAGES[one.kind])
        if one.kind in (UBO, SSBO):
            info = vk.VkDescriptorBufferInfo(buffer, 0, len(self.contents[key]))
            return vk.VkWriteDescriptorSet(pBufferInfo=[info], **where)
        format = FORMATS[self.formats[key]][0]
        info = vk.VkBufferViewCreateInfo(buffer=buffer, format=format, range=len(self.contents[key]))
        view = self.keep(vk.vkCreateBufferView(self.device, info, None), vk.vkDestroyBufferView)
        return vk.VkWriteDescriptorSet(pTexelBufferView=[view], **where)

    def sets(self):
        pipeline = self.pipeline
        if not pipeline.layouts:
            return []
        counts = {}
        for one in pipeline.descriptors:
            counts[one.kind] = counts.get(one.kind, 0) + one.count
        sizes = [vk.VkDescriptorPoolSize(TYPES[kind], count) for kind, count in counts.items()]
        info = vk.VkDescriptorPoolCreateInfo(maxSets=len(pipeline.layouts), pPoolSizes=sizes)
        pool = self.keep(vk.vkCreateDescriptorPool(self.device, info, None), vk.vkDestroyDescriptorPool)
        info = vk.VkDescriptorSetAllocateInfo(descriptorPool=pool, pSetLayouts=pipeline.layouts)
        allocated = vk.vkAllocateDescriptorSets(self.device, info)
        sets = [allocated[number] for number in range(len(pipeline.layouts))]
        writes = [self.write(sets, one, element) for one in pipeline.descriptors for element in range(one.count)]
        vk.vkUpdateDescriptorSets(self.device, len(writes), writes, 0, None)
        return sets

    def execute(self):
        sets = self.sets()
        info = vk.VkCommandBufferAllocateInfo(
            commandPool=self.owner.commands, level=vk.VK_COMMAND_BUFFER_LEVEL_PRIMARY, commandBufferCount=1
        )
        commands = vk.vkAllocateCommandBuffers(self.device, info)[0]
        self.made.append(lambda: vk.vkFreeCommandBuffers(self.device, self.owner.commands, 1, [commands]))
        vk.vkBeginCommandBuffer(commands, vk.VkCommandBufferBeginInfo())
        general = vk.VK_IMAGE_LAYOUT_GENERAL
        for image, buffer, copy, whole in self.images:
            self.barrier(commands, image, whole)
            vk.vkCmdCopyBufferToImage(commands, buffer, image, general, 1, [copy])
        self.barrier(commands)
        point = vk.VK_PIPELINE_BIND_POINT_COMPUTE
        vk.vkCmdBindPipeline(commands, point, self.pipeline.pipeline)
        if sets:
            layout = self.pipeline.pipeline_layout
            vk.vkCmdBindDescriptorSets(commands, point, layout, 0, len(sets), sets, 0, None)
        vk.vkCmdDispatch(commands, *GROUPS)
        self.barrier(commands)
        for image, buffer, copy, _ in self.images:
            vk.vkCmdCopyImageToBuffer(commands, image, general, buffer, 1, [copy])
        vk.vkEndCommandBuffer(commands)
        vk.vkQueueSubmit(self.owner.queue, 1, [vk.VkSubmitInfo(pCommandBuffers=[commands])], None)
        vk.vkQueueWaitIdle(self.owner.queue)
        return {key: bytes(mapped) for key, mapped in self.buffers.items()}

    def barrier(self, commands, image=None, whole=None):
        """Orders everything, and gives an image its layout."""
        everything = vk.VK_ACCESS_MEMORY_READ_BIT | vk.VK_ACCESS_MEMORY_WRITE_BIT
        memory = vk.VkMemoryBarrier(srcAccessMask=everything, dstAccessMask=everything)
        images = []
        if image:
            images = [
                vk.VkImageMemoryBarrier(
                    dstAccessMask=everything,
                    oldLayout=vk.VK_IMAGE_LAYOUT_UNDEFINED,
                    newLayout=vk.VK_IMAGE_LAYOUT_GENERAL,
                    srcQueueFamilyIndex=vk.VK_QUEUE_FAMILY_IGNORED,
                    dstQueueFamilyIndex=vk.VK_QUEUE_FAMILY_IGNORED,
                    image=image,
                    subresourceRange=whole,
                )
            ]
        all_commands = vk.VK_PIPELINE_STAGE_ALL_COMMANDS_BIT
        vk.vkCmdPipelineBarrier(
            commands, all_commands, all_commands, 0, 1, [memory], 0, None, len(images), images or None
        )
