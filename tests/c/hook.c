/* What a hook can do that a shell cannot:
 *
 *     hook leave         tries to leave its group and its session, and says in "got" whether it is where it was
 *     hook group         leaves a child in a group of its own
 *     hook zombies N     has N children that have ended and are not waited for, and ends
 *     hook hang N        the same, and does not end
 *     hook trace         traces its launcher, where that is allowed, and does not end */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(const char *text) {
    int got = open("got", O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (got < 0 || write(got, text, strlen(text)) < 0)
        exit(90);
    close(got);
}

static void bury_nobody(int number) {
    while (number-- > 0) {
        siginfo_t end;
        pid_t child = fork();
        if (child < 0)
            exit(91);
        if (child == 0)
            _exit(0);
        if (waitid(P_PID, child, &end, WEXITED | WNOWAIT))
            exit(92);
    }
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "leave")) {
        int refused = setpgid(0, 0) && setpgid(0, getpgid(getppid())) && setsid() < 0;
        say(refused && getpgrp() == getpid() && getsid(0) == getpid() ? "stayed\n" : "left\n");
    } else if (!strcmp(what, "group")) {
        pid_t child = fork();
        if (child < 0)
            return 94;
        if (child == 0) {
            setpgid(0, 0);
            execlp("sleep", "sleep", "330", NULL);
            _exit(93);
        }
        while (getpgid(child) != child)
            usleep(100);
    } else if (!strcmp(what, "zombies") || !strcmp(what, "hang")) {
        bury_nobody(atoi(argv[2]));
        say("had them\n");
        while (!strcmp(what, "hang"))
            pause();
    } else if (!strcmp(what, "trace")) {
        ptrace(PTRACE_SEIZE, getppid(), NULL, NULL);
        for (;;)
            pause();
    } else {
        return 95;
    }
    return 0;
}
