/* Prints bitcode as assembly, or assembles it, with LLVM's library: what llvm-dis and llvm-as do, without a process for
   each file. `llvm print|assemble FILE...` works through all files twice and prints the seconds that the second time took. */

#include <llvm-c/BitReader.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
    char *data;
    size_t size;
} Input;

static Input load(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(2);
    }
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    Input input = {malloc((size_t)size + 1), (size_t)size};
    if (!input.data || fread(input.data, 1, input.size, file) != input.size) {
        exit(2);
    }
    input.data[size] = 0;
    fclose(file);
    return input;
}

static size_t print_one(LLVMContextRef context, const Input *input) {
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRange(input->data, input->size, "input", 0);
    LLVMModuleRef module;
    if (LLVMParseBitcodeInContext2(context, buffer, &module)) {
        exit(1);
    }
    char *text = LLVMPrintModuleToString(module);
    size_t size = strlen(text);
    LLVMDisposeMessage(text);
    LLVMDisposeModule(module);
    LLVMDisposeMemoryBuffer(buffer);
    return size;
}

static size_t assemble_one(LLVMContextRef context, const Input *input) {
    /* The parser takes the buffer. */
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRange(input->data, input->size, "input", 1);
    LLVMModuleRef module;
    char *message = NULL;
    if (LLVMParseIRInContext(context, buffer, &module, &message)) {
        fprintf(stderr, "%s\n", message);
        exit(1);
    }
    LLVMMemoryBufferRef bitcode = LLVMWriteBitcodeToMemoryBuffer(module);
    size_t size = LLVMGetBufferSize(bitcode);
    LLVMDisposeMemoryBuffer(bitcode);
    LLVMDisposeModule(module);
    return size;
}

int main(int count, char **arguments) {
    if (count < 3) {
        return 2;
    }
    size_t (*work)(LLVMContextRef, const Input *) = strcmp(arguments[1], "print") ? assemble_one : print_one;
    int files = count - 2;
    Input *inputs = malloc(sizeof(Input) * (size_t)files);
    for (int at = 0; at < files; at++) {
        inputs[at] = load(arguments[at + 2]);
    }
    double seconds = 0;
    size_t written = 0;
    for (int round = 0; round < 2; round++) {
        struct timespec start, end;
        clock_gettime(CLOCK_MONOTONIC, &start);
        written = 0;
        for (int at = 0; at < files; at++) {
            LLVMContextRef context = LLVMContextCreate();
            written += work(context, &inputs[at]);
            LLVMContextDispose(context);
        }
        clock_gettime(CLOCK_MONOTONIC, &end);
        seconds = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
    }
    printf("%.6f %zu\n", seconds, written);
    return 0;
}
