/* A host that is strange in the ways that its arguments say, and starts one command:
 *
 *     host spawn|fork [WAY]... -- COMMAND [ARG]...
 *
 * The file "ended" says how COMMAND ended: "exited N", "killed N", or "lost" where nobody can know. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static int status = -1;

static void leave_open(long number) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    while (number-- > 0)
        if (open("/dev/null", O_RDWR) < 0)
            exit(99);
}

/* The mask of the kernel, so that the two signals of the C library are blocked as well. */
static void block_all(void) {
    unsigned long long all = ~0ULL;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof all);
}

/* Reaps whatever there is, as soon as there is something. */
static void *reap(void *unused) {
    while (waitpid(-1, &status, 0) < 0)
        usleep(100);
    return unused;
}

int main(int argc, char **argv) {
    int reaps = 0, forks = argc > 1 && !strcmp(argv[1], "fork"), word = 2;
    const char *closed = "";
    for (; word < argc && strcmp(argv[word], "--"); word++) {
        if (!strcmp(argv[word], "pipe=default"))
            signal(SIGPIPE, SIG_DFL);
        else if (!strcmp(argv[word], "pipe=ignore"))
            signal(SIGPIPE, SIG_IGN);
        else if (!strcmp(argv[word], "child=ignore"))
            signal(SIGCHLD, SIG_IGN);
        else if (!strcmp(argv[word], "block"))
            block_all();
        else if (!strcmp(argv[word], "reap"))
            reaps = 1;
        else if (!strncmp(argv[word], "close=", 6))
            closed = argv[word] + 6;
        else if (!strncmp(argv[word], "open=", 5))
            leave_open(atol(argv[word] + 5));
        else
            return 98;
    }
    char **command = argv + word + 1;
    for (; *closed; closed++)
        close(*closed - '0');

    pthread_t reaper;
    if (reaps && pthread_create(&reaper, NULL, reap, NULL))
        return 97;
    pid_t pid;
    if (forks) {
        pid = fork();
        if (pid == 0) {
            execv(command[0], command);
            _exit(96);
        }
    } else if (posix_spawn(&pid, command[0], NULL, NULL, command, environ)) {
        return 95;
    }
    if (reaps)
        pthread_join(reaper, NULL);
    else if (waitpid(pid, &status, 0) < 0 && errno == ECHILD)
        status = -1;

    FILE *ended = fopen("ended", "w");
    if (!ended)
        return 94;
    if (status == -1)
        fprintf(ended, "lost\n");
    else if (WIFEXITED(status))
        fprintf(ended, "exited %d\n", WEXITSTATUS(status));
    else
        fprintf(ended, "killed %d\n", WTERMSIG(status));
    return fclose(ended) ? 93 : 0;
}
