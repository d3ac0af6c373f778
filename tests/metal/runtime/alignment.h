// Accesses whose address is not aligned.
#pragma once

// Lets the instruction at an address of code access memory at any address, if it only moves a vector. Returns whether it does.
bool allow_any_address(unsigned char *code);
