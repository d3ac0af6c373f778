/* The C interface of unshade. Source: crates/unshade-capi/src; its tests compare the two. */

#ifndef UNSHADE_H
#define UNSHADE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Ownership
 *
 *   UnshadeFile *                                    unshade_close
 *   const UnshadeProgram *, const UnshadeFunction *  valid until their file is closed
 *   char *                                           unshade_string_free
 *   UnshadeFindings *                                unshade_findings_free
 *   UnshadeError *                                   unshade_error_free
 *   const char *                                     valid as long as what it was asked of
 *
 * Any handle may be NULL and any index out of range: the result is NULL, 0 or false. `error` may be NULL; otherwise
 * *error receives NULL, or an error that the caller frees. Handles are read-only: several threads may use them at a
 * time, until one frees them. Strings are UTF-8. What does not fit is escaped.
 */

/* How bad a finding is. */
typedef enum UnshadeSeverity {
    /* Worth knowing. */
    UNSHADE_SEVERITY_NOTE = 0,
    /* Odd, but the program works. */
    UNSHADE_SEVERITY_WARNING = 1,
    /* Damaged. */
    UNSHADE_SEVERITY_ERROR = 2,
} UnshadeSeverity;

/* A file and the programs in it. */
typedef struct UnshadeFile UnshadeFile;

/* A program in a file. */
typedef struct UnshadeProgram UnshadeProgram;

/* A function of a program. */
typedef struct UnshadeFunction UnshadeFunction;

/* What a check found. */
typedef struct UnshadeFindings UnshadeFindings;

/* What is wrong, and where. */
typedef struct UnshadeError UnshadeError;

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the version of the library, such as "0.1.0"; valid forever. */
const char *unshade_version(void);

/* Frees a string that was returned as `char *`. */
void unshade_string_free(char *string);

/* Files and programs */

/* Opens a file and finds the GPU programs in it; NULL if the file can't be read. A file without programs is no error:
   its count is 0. */
UnshadeFile *unshade_open(const char *path, UnshadeError **error);

/* Finds the GPU programs in `size` bytes, which are copied. `name` is what paths begin with. */
UnshadeFile *unshade_open_bytes(const char *name, const uint8_t *data, size_t size, UnshadeError **error);

/* Closes a file, with its programs, functions and their strings. */
void unshade_close(UnshadeFile *file);

/* Returns the number of programs. */
size_t unshade_program_count(const UnshadeFile *file);

/* Returns a program, in the order of the file. */
const UnshadeProgram *unshade_program(const UnshadeFile *file, size_t index);

/* Returns where a program is: "app.zip!lib/libgpu.so!.nv_fatbin@0x40". */
const char *unshade_program_path(const UnshadeProgram *program);

/* Returns the name of a program's format: "Metal library", "cubin". */
const char *unshade_program_format(const UnshadeProgram *program);

/* Returns what a program is compiled for: "macOS 14.0", "ps_6_5", "sm_90"; NULL if it does not say. */
const char *unshade_program_target(const UnshadeProgram *program);

/* Writes the offset of a program's first byte in the file; returns false if it had to be unpacked. */
bool unshade_program_offset(const UnshadeProgram *program, uint64_t *offset);

/* Functions */

/* Returns the number of functions; 0 if they can't be read, and unshade_verify says why. */
size_t unshade_function_count(const UnshadeProgram *program);

/* Returns a function. */
const UnshadeFunction *unshade_function(const UnshadeProgram *program, size_t index);

/* Returns the name as it is in the file, escaped where it can't be shown. */
const char *unshade_function_name(const UnshadeFunction *function);

/* Returns the demangled name; NULL if the name is not mangled. */
const char *unshade_function_demangled(const UnshadeFunction *function);

/* Returns what sort of function it is: "kernel", "fragment", "pixel", "device". */
const char *unshade_function_kind(const UnshadeFunction *function);

/* Returns the declaration. */
char *unshade_function_signature(const UnshadeFunction *function);

/* Returns the disassembly. */
char *unshade_function_text(const UnshadeFunction *function, UnshadeError **error);

/* Returns the source: C for Kepler machine code, otherwise what the program carries. */
char *unshade_function_source(const UnshadeFunction *function, UnshadeError **error);

/* Checks */

/* Checks structure, sizes and hashes of a program. */
UnshadeFindings *unshade_verify(const UnshadeProgram *program, UnshadeError **error);

/* Returns the number of findings. */
size_t unshade_findings_count(const UnshadeFindings *findings);

/* Returns the number of findings that were left out because there are too many. */
size_t unshade_findings_suppressed(const UnshadeFindings *findings);

/* Returns how bad a finding is. */
UnshadeSeverity unshade_finding_severity(const UnshadeFindings *findings, size_t index);

/* Returns the name of the rule that is broken. */
const char *unshade_finding_rule(const UnshadeFindings *findings, size_t index);

/* Returns what is wrong, and what was expected and found. */
const char *unshade_finding_message(const UnshadeFindings *findings, size_t index);

/* Returns what it is in, outermost first; may be empty. */
const char *unshade_finding_path(const UnshadeFindings *findings, size_t index);

/* Writes the offset in the file; returns whether there is one. */
bool unshade_finding_offset(const UnshadeFindings *findings, size_t index, uint64_t *offset);

/* Frees findings and their strings. */
void unshade_findings_free(UnshadeFindings *findings);

/* Errors */

/* Returns what is wrong, and what was expected and found. */
const char *unshade_error_message(const UnshadeError *error);

/* Returns what the fault is in, outermost first: "app.zip!a.metallib: function 3 \"blur\""; may be empty. */
const char *unshade_error_path(const UnshadeError *error);

/* Returns what to do about it; NULL if nothing is known. */
const char *unshade_error_hint(const UnshadeError *error);

/* Writes the offset in the file; returns whether there is one. */
bool unshade_error_offset(const UnshadeError *error, uint64_t *offset);

/* Frees an error. */
void unshade_error_free(UnshadeError *error);

#ifdef __cplusplus
}
#endif

#endif /* UNSHADE_H */
