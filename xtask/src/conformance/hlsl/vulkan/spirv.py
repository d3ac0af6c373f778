# What a compute shader in SPIR-V needs of the outside: the descriptors that it is bound to.
#
# Bindings tell the classes of DirectX apart: constant buffers from 0, views from 1000, samplers from 2000, unordered access
# views from 3000, and their counters from 4000. DXC places counters elsewhere: with -fspv-reflect, a decoration says which
# view they belong to.
import struct
from dataclasses import dataclass

UBO, SSBO, UNIFORM_TEXELS, STORAGE_TEXELS, IMAGE, STORAGE_IMAGE, SAMPLER = range(7)
UAVS, COUNTERS = 3000, 4000
# How many descriptors an array without a length gets.
UNBOUNDED = 8

NAME, TYPE_INT, TYPE_FLOAT, TYPE_VECTOR = 5, 21, 22, 23
TYPE_IMAGE, TYPE_SAMPLER, TYPE_SAMPLED_IMAGE, TYPE_ARRAY, TYPE_RUNTIME_ARRAY, TYPE_POINTER = 25, 26, 27, 28, 29, 32
CONSTANT, CONSTANT_NULL, VARIABLE = 43, 46, 59
DECORATE, DECORATE_ID, DECORATE_STRING, ENTRY_POINT = 71, 332, 5632, 15
# What lavapipe has no support for in compute shaders, or what needs images of depths.
REFUSED = dict.fromkeys(range(207, 216), "derivatives")
REFUSED |= dict.fromkeys((87, 91, 305, 307), "samples at the level of derivatives")
REFUSED |= dict.fromkeys((89, 90, 93, 94, 97, 306, 309, 310, 315), "samples that are compared")
UNIFORM_CONSTANT, UNIFORM, STORAGE_BUFFER, PUSH_CONSTANT = 0, 2, 12, 9
# Storage that a program has for itself: shared by a group, of a thread, of a function.
OWN = WORKGROUP, PRIVATE, LOCAL = 4, 6, 7
BUFFER_BLOCK, BINDING, SET, COUNTER_BUFFER, USER_TYPE = 3, 33, 34, 5634, 5636
BUFFER_DIMENSION = 5


class Unsupported(Exception):
    pass


@dataclass
class Descriptor:
    kind: int
    set: int
    # Where the module wants it, and what it is called in both modules.
    binding: int
    place: int
    count: int
    # Of images: the kind of the components (`f`, `i`, `u`), the format, the dimension, whether it is an array.
    component: str = ""
    format: int = 0
    dimension: int = 0
    arrayed: bool = False
    # Whether the shader knows of three components, and writes anything or nothing to the fourth.
    is_triple: bool = False


def instructions(words):
    at = 5
    while at < len(words):
        length, opcode = words[at] >> 16, words[at] & 0xFFFF
        if length == 0:
            raise Unsupported("damaged SPIR-V")
        yield opcode, words[at + 1 : at + length]
        at += length


def text(words):
    return struct.pack("<%dI" % len(words), *words).split(b"\0")[0].decode()


def component(types, number):
    opcode, operands = types[number]
    if opcode == TYPE_VECTOR:
        return component(types, operands[1])
    if operands[1] != 32:
        raise Unsupported("images of %d-bit components" % operands[1])
    return "f" if opcode == TYPE_FLOAT else "i" if operands[2] else "u"


def reflect(data):
    """Returns the name of the entry point, and the descriptors."""
    words = struct.unpack("<%dI" % (len(data) // 4), data)
    types, constants, variables, decorations, counters, all_counters = {}, {}, [], {}, {}, set()
    entry = None
    for opcode, operands in instructions(words):
        if opcode == ENTRY_POINT:
            entry = text(operands[2:])
        elif opcode in (DECORATE, DECORATE_STRING):
            decorations.setdefault(operands[0], {})[operands[1]] = operands[2:]
        elif opcode == NAME and text(operands[1:]).startswith("counter.var."):
            all_counters.add(operands[0])
        elif opcode == DECORATE_ID and operands[1] == COUNTER_BUFFER:
            counters[operands[2]] = operands[0]
        elif opcode in REFUSED:
            raise Unsupported(REFUSED[opcode])
        elif opcode == CONSTANT:
            constants[operands[1]] = operands[2]
        elif opcode == VARIABLE:
            variables.append(operands[:3])
        elif TYPE_INT <= opcode <= TYPE_POINTER:
            types[operands[0]] = opcode, operands
    found = [descriptor(types, constants, decorations, variable) for variable in variables]
    found = {number: one for one, number in found if one}
    for counter, view in counters.items():
        if counter in found and view in found:
            found[counter].place = found[view].place + COUNTERS - UAVS
    if any(number in found and number not in counters for number in all_counters):
        raise Unsupported("a counter without its buffer")
    return entry, list(found.values())


def zeroed(data):
    """Returns the module with zeros in all memory of its own that it does not initialize."""
    words = list(struct.unpack("<%dI" % (len(data) // 4), data))
    result, nulls, pointees = words[:5], {}, {}
    for opcode, operands in instructions(words):
        if opcode == VARIABLE and len(operands) == 3 and operands[2] in OWN:
            operands.append(nulls[pointees[operands[0]]])
        result += [len(operands) + 1 << 16 | opcode, *operands]
        if opcode == TYPE_POINTER and operands[1] in OWN:
            pointee = pointees[operands[0]] = operands[2]
            if pointee not in nulls:
                # The next free number.
                nulls[pointee] = result[3]
                result[3] += 1
                result += [3 << 16 | CONSTANT_NULL, pointee, nulls[pointee]]
    return struct.pack("<%dI" % len(result), *result)


def descriptor(types, constants, decorations, variable):
    pointer, number, storage = variable
    if storage == PUSH_CONSTANT:
        raise Unsupported("push constants")
    decoration = decorations.get(number, {})
    if storage not in (UNIFORM_CONSTANT, UNIFORM, STORAGE_BUFFER) or BINDING not in decoration:
        return None, number
    inner, count = types[pointer][1][2], 1
    while types.get(inner, (0,))[0] in (TYPE_ARRAY, TYPE_RUNTIME_ARRAY):
        opcode, operands = types[inner]
        count *= constants[operands[2]] if opcode == TYPE_ARRAY else UNBOUNDED
        inner = operands[1]
    binding = decoration[BINDING][0]
    place = Descriptor(UBO, decoration.get(SET, [0])[0], binding, binding, count)
    opcode, operands = types.get(inner, (0, ()))
    if storage == STORAGE_BUFFER or BUFFER_BLOCK in decorations.get(inner, {}):
        place.kind = SSBO
    elif opcode == TYPE_SAMPLER:
        place.kind = SAMPLER
    elif opcode == TYPE_IMAGE:
        _, sampled_type, dimension, _, arrayed, multisampled, sampled, image_format = operands[:8]
        if multisampled:
            raise Unsupported("multisampled images")
        kinds = (UNIFORM_TEXELS, STORAGE_TEXELS) if dimension == BUFFER_DIMENSION else (IMAGE, STORAGE_IMAGE)
        place.kind = kinds[sampled - 1]
        place.component, place.format = component(types, sampled_type), image_format
        place.dimension, place.arrayed = dimension, bool(arrayed)
        place.is_triple = text(decoration.get(USER_TYPE, (0,))).endswith("3>")
    elif storage != UNIFORM:
        raise Unsupported("a descriptor that is no buffer, image or sampler")
    return place, number
