/*
 * Lists the GPU programs in a file, their functions, and what a check finds.
 *
 *   cargo build --release -p unshade-capi
 *   cc crates/unshade-capi/examples/list.c -I crates/unshade-capi/include -L target/release -lunshade_capi -o list
 *   LD_LIBRARY_PATH=target/release ./list FILE
 */

#include <inttypes.h>
#include <stdio.h>
#include <unshade.h>

/* Prints an error and frees it. */
static void complain(UnshadeError *error) {
    uint64_t offset;
    fprintf(stderr, "%s: %s", unshade_error_path(error), unshade_error_message(error));
    if (unshade_error_offset(error, &offset)) {
        fprintf(stderr, " (at offset 0x%" PRIx64 ")", offset);
    }
    fputc('\n', stderr);
    if (unshade_error_hint(error)) {
        fprintf(stderr, "hint: %s\n", unshade_error_hint(error));
    }
    unshade_error_free(error);
}

/* Prints what a check finds; returns whether the program is sound. */
static bool verify(const UnshadeProgram *program) {
    UnshadeError *error = NULL;
    UnshadeFindings *findings = unshade_verify(program, &error);
    if (!findings) {
        complain(error);
        return false;
    }
    bool is_sound = true;
    for (size_t i = 0; i < unshade_findings_count(findings); i++) {
        static const char *const severities[] = {"note", "warning", "error"};
        UnshadeSeverity severity = unshade_finding_severity(findings, i);
        is_sound = is_sound && severity != UNSHADE_SEVERITY_ERROR;
        printf("  %s: %s: %s\n", severities[severity], unshade_finding_rule(findings, i),
               unshade_finding_message(findings, i));
    }
    unshade_findings_free(findings);
    return is_sound;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s FILE\n", argv[0]);
        return 2;
    }
    UnshadeError *error = NULL;
    UnshadeFile *file = unshade_open(argv[1], &error);
    if (!file) {
        complain(error);
        return 2;
    }
    bool is_sound = true;
    for (size_t i = 0; i < unshade_program_count(file); i++) {
        const UnshadeProgram *program = unshade_program(file, i);
        const char *target = unshade_program_target(program);
        printf("%s, %s\n", unshade_program_format(program), target ? target : "any target");
        for (size_t j = 0; j < unshade_function_count(program); j++) {
            const UnshadeFunction *function = unshade_function(program, j);
            char *signature = unshade_function_signature(function);
            printf("  %s %s\n%s\n", unshade_function_kind(function), unshade_function_name(function), signature);
            unshade_string_free(signature);
        }
        is_sound = verify(program) && is_sound;
    }
    unshade_close(file);
    return is_sound ? 0 : 1;
}
