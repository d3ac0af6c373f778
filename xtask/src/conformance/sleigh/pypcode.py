# What pypcode reads of words: `sleigh.py BYTES LDEFS LANGUAGE WORDS`.
#
# WORDS is a file of words of BYTES bytes, at addresses from 0. For each a line `= MNEMONIC|OPERANDS` is printed, or `!` if
# it is no instruction; with `-p` after BYTES, then a line per operation of p-code: its name, its output, its inputs, each
# space:offset:bytes, and `-` for no output. With `-c`, words set the context of others, which pypcode does only where it makes
# p-code.
import sys

import pypcode

size = int(sys.argv[1])
p_code = sys.argv[2] == "-p"
sets_context = sys.argv[2] == "-c"
ldefs, language, path = sys.argv[-3:]
arch = pypcode.Arch("NVIDIA", ldefs)
context = pypcode.Context(next(entry for entry in arch.languages if entry.id == language))
words = open(path, "rb").read()


def varnode(node, to_space=False):
    if node is None:
        return "-"
    if to_space:
        return "space:%s:8" % node.getSpaceFromConst().name
    return "%s:%d:%d" % (node.space.name, node.offset, node.size)


def set_context(word, at):
    try:
        context.translate(word, at)
    except pypcode.UnimplError:
        # There is none, but the context is set before.
        pass


out = []
for at in range(0, len(words), size):
    word = words[at : at + size]
    try:
        read = context.disassemble(word, at).instructions[0]
        out.append("= %s|%s" % (read.mnem, read.body))
        if p_code:
            for op in context.translate(word, at).ops:
                name = op.opcode.name
                memory = name in ("LOAD", "STORE")
                inputs = " ".join(varnode(node, memory and index == 0) for index, node in enumerate(op.inputs))
                if name != "IMARK":
                    out.append("%s %s %s" % (name, varnode(op.output), inputs))
        if sets_context:
            set_context(word, at)
    except Exception as error:
        out.append("! %s" % str(error).replace("\n", " "))
    if len(out) > 100000:
        sys.stdout.write("\n".join(out) + "\n")
        out = []
sys.stdout.write("\n".join(out) + "\n")
