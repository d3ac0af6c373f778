/* Runs one program many times from where its libraries are loaded: a preloaded library that comes between the C
 * runtime and `main`. A start of llvm-dis is nearly all relocation of libLLVM; a fork is a tenth of that.
 *
 * For every byte on standard input a child runs `main` with the files `in`, `out` and `err` of the working folder as
 * its standard streams; its status, as waitpid gives it, is the answer on standard output.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int main_function(int, char **, char **);
typedef int start_function(main_function *, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);

static main_function *program;

static void redirect(int stream, const char *path, int flags) {
    int file = open(path, flags, 0600);
    if (file < 0 || dup2(file, stream) < 0 || close(file) < 0) _exit(127);
}

static int serve(int argc, char **argv, char **env) {
    char request;
    while (read(STDIN_FILENO, &request, 1) == 1) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            redirect(STDIN_FILENO, "in", O_RDONLY);
            redirect(STDOUT_FILENO, "out", O_WRONLY | O_CREAT | O_TRUNC);
            redirect(STDERR_FILENO, "err", O_WRONLY | O_CREAT | O_TRUNC);
            /* LLVM's tools have closed their output by then; the destructors of libLLVM only cost time. */
            _exit(program(argc, argv, env));
        }
        if (child < 0 || waitpid(child, &status, 0) != child) return 1;
        if (write(STDOUT_FILENO, &status, sizeof status) != sizeof status) return 1;
    }
    return 0;
}

int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*loader_fini)(void), void *stack_end) {
    start_function *start = (start_function *)dlsym(RTLD_NEXT, "__libc_start_main");
    program = main;
    return start(serve, argc, argv, init, fini, loader_fini, stack_end);
}
