# Runs pairs of compute shaders on Vulkan, and compares what they write: `run.py JOBS FIRST`.
#
# JOBS is a text file with one pair a line: two files of SPIR-V, separated by a tab. FIRST is the number of the first pair to
# run. For each, the number is printed and then JSON: the `verdict`, and what was found.
#
# | verdict | what it means |
# |---|---|
# | same | all words that are written are the same on all sets of inputs |
# | near | some are floats that differ a little |
# | different | others differ |
# | unwritten | nothing is written: the pair shows nothing |
# | unsupported | this program or the device can't run the original |
# | refused | it can't run the recompiled shader |
import hashlib
import json
import math
import struct
import sys

import spirv
from spirv import IMAGE, SAMPLER, SSBO, STORAGE_IMAGE, STORAGE_TEXELS, UBO, UNIFORM_TEXELS

# Sets of invented inputs, the bytes of buffers, and of constant buffers.
SEEDS = 3
BUFFER, CONSTANTS = 16 << 10, 64 << 10
# How far floats may differ.
RELATIVE, ABSOLUTE = 1e-4, 1e-5
TEXELS = (UNIFORM_TEXELS, STORAGE_TEXELS, IMAGE, STORAGE_IMAGE)
FOUR_COMPONENTS = {"f": 1, "i": 21, "u": 30}


def invented(key, seed, size, component):
    """Returns contents: small integers, floats, or both in turn."""
    content = bytearray()
    stream = hashlib.shake_128(repr((key, seed)).encode()).digest(min(size, BUFFER))
    for (random,) in struct.iter_unpack("<I", stream):
        is_float = {"f": True, "i": False, "u": False}.get(component, (seed, random % 2)[seed == 2] == 1)
        if is_float:
            content += struct.pack("<f", (random >> 12) % 4096 / 512 - 4 if seed < 2 else (random >> 8) / 2.0**24)
        else:
            content += struct.pack("<I", (random >> 4) % (16, 64, 256)[seed])
    return bytes(content) * (size // len(content))


class Bound:
    """What two shaders are bound to: the kinds, formats and sizes by (set, place)."""

    def __init__(self, modules):
        self.formats, self.sizes, self.components, self.written = {}, {}, {}, {}
        declared = {}
        for one in (one for _, descriptors in modules for one in descriptors):
            for element in range(one.count):
                key = one.set, one.place + element
                if one.kind in TEXELS and one.format:
                    declared[key] = one.format
                if one.kind in TEXELS:
                    self.formats.setdefault(key, FOUR_COMPONENTS[one.component])
                    self.components[key] = one.component
                if one.kind in (SSBO, STORAGE_TEXELS, STORAGE_IMAGE):
                    self.written[key] = self.written.get(key, False) or one.is_triple
        self.formats.update(declared)
        for one in (one for _, descriptors in modules for one in descriptors):
            for element in range(one.count):
                key = one.set, one.place + element
                self.sizes[key] = max(self.sizes.get(key, 0), self.size(one, key))

    def size(self, one, key):
        if key in self.formats and self.formats[key] not in device.FORMATS:
            raise spirv.Unsupported("image format %d" % self.formats[key])
        if one.kind in (IMAGE, STORAGE_IMAGE):
            if one.dimension not in device.DIMENSIONS:
                raise spirv.Unsupported("image dimension %d" % one.dimension)
            return device.image_size(one, self.formats[key])
        return CONSTANTS if one.kind == UBO else BUFFER

    def contents(self, seed):
        return {key: invented(key, seed, size, self.components.get(key)) for key, size in self.sizes.items()}


def order(bits):
    return 0x80000000 - bits if bits >> 31 else bits


def distance(one, other):
    """Returns how many floats lie between two that are nearly the same; `None` if they are not."""
    x, y = struct.unpack("<ff", struct.pack("<II", one, other))
    if math.isnan(x) and math.isnan(y):
        return 1
    if math.isfinite(x) and math.isfinite(y) and abs(x - y) <= max(ABSOLUTE, RELATIVE * max(abs(x), abs(y))):
        return max(1, abs(order(one) - order(other)))
    return None


class Comparison:
    def __init__(self):
        self.written = self.near = self.different = self.largest = 0
        self.examples = []

    def add(self, seed, key, is_triple, before, original, recompiled):
        words = zip(*(struct.iter_unpack("<I", content) for content in (before, original, recompiled)))
        for at, ((was,), (one,), (other,)) in enumerate(words):
            if is_triple and at % 4 == 3:
                continue
            self.written += one != was
            if one == other:
                continue
            found = distance(one, other)
            if found is not None:
                self.near += 1
                self.largest = max(self.largest, found)
                continue
            self.different += 1
            if len(self.examples) < 4:
                self.examples.append(
                    "inputs %d, set %d binding %d word %d: %08x, was %08x, recompiled %08x" % (seed, *key, at, one, was, other)
                )

    def result(self):
        verdict = "different" if self.different else "unwritten" if not self.written else "near" if self.near else "same"
        return dict(
            verdict=verdict, written=self.written, differing=self.different, largest=self.largest, reason="; ".join(self.examples)
        )


def compare(on, original, recompiled):
    codes = [open(path, "rb").read() for path in (original, recompiled)]
    modules, pipelines = [], []
    for code, verdict in zip(codes, ("unsupported", "refused")):
        try:
            modules.append(spirv.reflect(code))
        except spirv.Unsupported as reason:
            return dict(verdict=verdict, reason=str(reason))
    try:
        bound = Bound(modules)
    except spirv.Unsupported as reason:
        return dict(verdict="unsupported", reason=str(reason))
    for code, (entry, descriptors), verdict in zip(map(spirv.zeroed, codes), modules, ("unsupported", "refused")):
        try:
            pipelines.append(on.pipeline(code, entry, descriptors))
        except (vk.VkError, vk.VkException) as error:
            return dict(verdict=verdict, reason="no pipeline: %s" % type(error).__name__)
    comparison = Comparison()
    for seed in range(SEEDS):
        contents = bound.contents(seed)
        found = [pipeline.run(contents, bound.formats) for pipeline in pipelines]
        for key in sorted(bound.written):
            after = [one.get(key, contents[key]) for one in found]
            comparison.add(seed, key, bound.written[key], contents[key], *after)
    return comparison.result()


if __name__ == "__main__":
    import vulkan as vk

    import device

    on = device.Device()
    with open(sys.argv[1]) as jobs:
        for number, line in enumerate(jobs):
            if number < int(sys.argv[2]):
                continue
            print(number, end=" ", flush=True)
            print(json.dumps(compare(on, *line.rstrip("\n").split("\t"))), flush=True)
    print("end", flush=True)
