/* A slowdown of known size, preloaded into an engine's process (control `inject`).
 *
 * It spins where an engine gives an answer: before a server's send(2), and before the unlocking
 * fcntl(2) with which a library that keeps its data in files ends a read. What it spun is added up
 * in $TMPDIR/inject, which all processes and threads of the engine share; without that file nothing
 * is spun, so that nothing is injected uncounted. $DYNO_INJECT is "NANOSECONDS EVERY": each EVERYth
 * answer of a thread is delayed; where that is each, delays below 5 us are saved up, and their mean
 * is kept.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* As `src/dyno/host/probes/inject.py` reads it. */
struct counts {
    uint64_t spun_ns;
    uint64_t answers;
};

/* A spin costs more than the clock says, since the first reading of the clock is slow. So delays
 * are saved up until SAVED_NS are owed, unless an answer's own is AT_ONCE_NS. Longer spins gain
 * nothing: what neighbours take of the caches meanwhile grows with them
 * (docs/evidence/code-choices.md). */
#define SAVED_NS 40000
#define AT_ONCE_NS 5000
/* What the host takes while we spin is counted too, as it takes its part of all else that an
 * operation does. But it is not set off against later answers (no look at the clock takes LATE_NS),
 * and nobody injected the time in which the engine stood frozen. */
#define LATE_NS 10000
#define FROZEN_NS 15000000

static struct counts *counts;
static uint64_t delay_ns;
static unsigned every = 1;
static int64_t least_ns;
static __thread unsigned turn;
/* Still to be spun; below 0: spun too much. */
static __thread int64_t owed_ns;

static uint64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* What is owed is spun at once as soon as it is worth a look at the clock. */
static void spin(void)
{
    if (counts == NULL)
        return;
    if (++turn % every == 0)
        owed_ns += (int64_t)delay_ns;
    if (owed_ns >= least_ns) {
        uint64_t begin = monotonic_ns(), spun_ns;
        do
            spun_ns = monotonic_ns() - begin;
        while ((int64_t)spun_ns < owed_ns);
        if ((int64_t)spun_ns >= owed_ns + FROZEN_NS)
            spun_ns = (uint64_t)owed_ns;
        owed_ns = (int64_t)spun_ns > owed_ns + LATE_NS ? 0 : owed_ns - (int64_t)spun_ns;
        __atomic_fetch_add(&counts->spun_ns, spun_ns, __ATOMIC_RELAXED);
    }
    __atomic_fetch_add(&counts->answers, 1, __ATOMIC_RELAXED);
}

/* Every program on the way to the engine (taskset, setpriv) comes by here, some as another user. */
__attribute__((constructor)) static void open_counts(void)
{
    const char *folder = getenv("TMPDIR"), *size = getenv("DYNO_INJECT");
    unsigned long long wait_ns;
    char path[4096];
    if (folder == NULL || size == NULL || sscanf(size, "%llu %u", &wait_ns, &every) != 2)
        return;
    delay_ns = wait_ns;
    every = every ? every : 1;
    least_ns = every > 1 || delay_ns >= AT_ONCE_NS ? 1 : SAVED_NS;
    snprintf(path, sizeof path, "%s/inject", folder);
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0)
        return;
    (void)fchmod(file, 0666);
    if (ftruncate(file, sizeof *counts) == 0) {
        void *shared =
            mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        counts = shared == MAP_FAILED ? NULL : shared;
    }
    close(file);
}

ssize_t send(int socket, const void *bytes, size_t length, int flags)
{
    static ssize_t (*next)(int, const void *, size_t, int);
    if (next == NULL)
        next = (ssize_t(*)(int, const void *, size_t, int))dlsym(RTLD_NEXT, "send");
    spin();
    return next(socket, bytes, length, flags);
}

static int unlocks(int command, const struct flock *lock)
{
    return (command == F_SETLK || command == F_SETLKW) && lock->l_type == F_UNLCK;
}

int fcntl64(int file, int command, ...)
{
    static int (*next)(int, int, ...);
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    if (next == NULL)
        next = (int (*)(int, int, ...))dlsym(RTLD_NEXT, "fcntl64");
    if (next == NULL)
        next = (int (*)(int, int, ...))dlsym(RTLD_NEXT, "fcntl");
    if (unlocks(command, argument))
        spin();
    return next(file, command, argument);
}

int fcntl(int file, int command, ...) __attribute__((alias("fcntl64")));
