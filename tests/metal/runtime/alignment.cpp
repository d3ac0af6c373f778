// Accesses whose address is not aligned: made-up numbers are strides, so that pointers to vectors are not what a program would
// have. Both compilers may or may not choose moves that fault then. Those that do are replaced by their unaligned forms, where
// they are (Intel's manual, volume 2: VMOVAPS and VMOVUPS, VMOVDQA and VMOVDQU, and the forms of the VEX prefix).

#include "alignment.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

bool allow_any_address(unsigned char *code) {
  // Two bytes of prefix, or three with a map of opcodes.
  const bool is_short = code[0] == 0xc5;
  if (!is_short && (code[0] != 0xc4 || (code[1] & 0x1f) != 1)) return false;
  unsigned char *prefix = code + (is_short ? 1 : 2), *opcode = prefix + 1;
  const unsigned operand = *prefix & 3;
  unsigned char new_opcode = *opcode, new_prefix = *prefix;
  if ((*opcode == 0x28 || *opcode == 0x29) && operand < 2)
    new_opcode = *opcode - 0x18;
  else if ((*opcode == 0x6f || *opcode == 0x7f) && operand == 1)
    new_prefix = static_cast<unsigned char>((*prefix & ~3u) | 2u);
  else
    return false;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t start = reinterpret_cast<uintptr_t>(code) & ~(page - 1);
  const size_t size = reinterpret_cast<uintptr_t>(opcode) + 1 - start;
  if (mprotect(reinterpret_cast<void *>(start), size, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return false;
  *opcode = new_opcode;
  *prefix = new_prefix;
  return true;
}
