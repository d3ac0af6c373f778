// Runs kernels on memory at given addresses: those that the emulator has it at, so that pointers are the same numbers.
#pragma once
#include "cuda_host.h"
#include <unistd.h>

namespace cuda_host {

struct Range {
    unsigned long long address;
    unsigned size;
    void *place() const { return (void *)(address & ~4095ull); }
    size_t length() const { return (size_t)((address + size + 4095 & ~4095ull) - (address & ~4095ull)); }
};

// Runs the cases of a file, and writes what is in their memory afterwards.
//
// A case is: name of the kernel, six sizes of grid and block, ranges of memory (address of 64 bits, bytes), arguments
// (bytes). Other numbers have 32 bits; bytes have their count before them.
template <size_t K> static int run_placed(const Kernel (&kernels)[K], int count, char **words) {
    if (count != 3) return 1;
    FILE *in = fopen(words[1], "rb"), *out = fopen(words[2], "wb");
    if (!in || !out) return 1;
    for (unsigned cases = take_number(in); cases > 0; cases--) {
        // A kernel that never ends is a failure like any other.
        alarm(20);
        std::string name = take_name(in);
        unsigned sizes[6];
        for (unsigned &size : sizes) size = take_number(in);
        grid_size = unshade::Size(sizes[0], sizes[1], sizes[2]);
        block_size = unshade::Size(sizes[3], sizes[4], sizes[5]);
        std::vector<Range> ranges(take_number(in));
        for (Range &range : ranges) {
            if (fread(&range.address, 8, 1, in) != 1) return 3;
            std::vector<unsigned char> bytes = take(in, take_number(in));
            range.size = (unsigned)bytes.size();
            if (range.size == 0) continue;
            void *place = mmap(range.place(), range.length(), PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
            if (place != range.place()) {
                fprintf(stderr, "no memory at %llx\n", range.address);
                return 4;
            }
            memcpy((void *)range.address, bytes.data(), bytes.size());
        }
        std::vector<Argument> arguments(take_number(in));
        for (Argument &argument : arguments) {
            argument.is_buffer = false;
            argument.bytes = take(in, take_number(in));
        }
        bool found = false;
        for (const Kernel &kernel : kernels)
            if (kernel.name && name == kernel.name) {
                kernel.run(arguments);
                found = true;
                break;
            }
        if (!found) {
            fprintf(stderr, "no kernel %s\n", name.c_str());
            return 1;
        }
        for (const Range &range : ranges) {
            fwrite((void *)range.address, 1, range.size, out);
            if (range.size) munmap(range.place(), range.length());
        }
    }
    return fclose(out) == 0 ? 0 : 5;
}

} // namespace cuda_host
