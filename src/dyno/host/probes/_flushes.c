/* Counts what an engine's processes make the kernel write through, preloaded into them by Dyno.
 *
 * fsync(2), fdatasync(2), msync(2) with MS_SYNC and sync_file_range(2) that waits for the writing
 * are flushes; so are sync(2) and syncfs(2). A write to a descriptor that was opened with O_DSYNC
 * or O_SYNC is a synced write. Only calls that the kernel carried out count: each is made from here
 * and by its number, so that no other library can leave it out behind our back. Calls that an
 * engine makes by number itself, or through io_uring, do not come by here.
 *
 * The counts lie in the file $TMPDIR/flushes, which all processes and threads of the engine share.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* As `src/dyno/host/probes/flushes.py` reads it. */
static struct counts {
    uint64_t flushes;
    uint64_t synced_writes;
} *counts;

/* A bit for each descriptor below: was it opened to write through? */
#define DESCRIPTORS 65536
static uint8_t synced[DESCRIPTORS / 8];

/* Every program on the way to the engine (taskset, setpriv) comes by here, some as another user. */
__attribute__((constructor)) static void open_counts(void)
{
    const char *folder = getenv("TMPDIR");
    char path[4096];
    if (folder == NULL)
        return;
    snprintf(path, sizeof path, "%s/flushes", folder);
    int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0)
        return;
    (void)fchmod(file, 0666);
    if (ftruncate(file, sizeof *counts) == 0) {
        void *shared =
            mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        counts = shared == MAP_FAILED ? NULL : shared;
    }
    syscall(SYS_close, file);
}

static long count_flush(long answer)
{
    if (answer == 0 && counts != NULL)
        __atomic_fetch_add(&counts->flushes, 1, __ATOMIC_RELAXED);
    return answer;
}

int fsync(int file) { return (int)count_flush(syscall(SYS_fsync, file)); }
int fdatasync(int file) { return (int)count_flush(syscall(SYS_fdatasync, file)); }
int syncfs(int file) { return (int)count_flush(syscall(SYS_syncfs, file)); }
void sync(void) { count_flush(syscall(SYS_sync)); }

int msync(void *begin, size_t length, int flags)
{
    long answer = syscall(SYS_msync, begin, length, flags);
    return (int)(flags & MS_SYNC ? count_flush(answer) : answer);
}

int sync_file_range(int file, off64_t offset, off64_t length, unsigned flags)
{
    long answer = syscall(SYS_sync_file_range, file, offset, length, flags);
    return (int)(flags & SYNC_FILE_RANGE_WAIT_AFTER ? count_flush(answer) : answer);
}

static int mark(long file, int flags)
{
    if (file >= 0 && file < DESCRIPTORS) {
        uint8_t bit = (uint8_t)(1 << file % 8);
        if (flags & O_DSYNC) /* O_SYNC has its bit, too */
            __atomic_fetch_or(&synced[file / 8], bit, __ATOMIC_RELAXED);
        else if (__atomic_load_n(&synced[file / 8], __ATOMIC_RELAXED) & bit)
            __atomic_fetch_and(&synced[file / 8], (uint8_t)~bit, __ATOMIC_RELAXED);
    }
    return (int)file;
}

#define OPEN(...)                                          \
    mode_t mode = 0;                                       \
    if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) { \
        va_list more;                                      \
        va_start(more, flags);                             \
        mode = va_arg(more, mode_t);                       \
        va_end(more);                                      \
    }                                                      \
    return mark(syscall(SYS_openat, __VA_ARGS__, path, flags, mode), flags)

int open(const char *path, int flags, ...) { OPEN(AT_FDCWD); }
int open64(const char *path, int flags, ...) { OPEN(AT_FDCWD); }
int openat(int folder, const char *path, int flags, ...) { OPEN(folder); }
int openat64(int folder, const char *path, int flags, ...) { OPEN(folder); }
/* What a fortified program calls in the place of open, where no mode is given. */
int __open_2(const char *path, int flags) { return open(path, flags); }
int __open64_2(const char *path, int flags) { return open(path, flags); }

int close(int file)
{
    mark(file, 0);
    return (int)syscall(SYS_close, file);
}

static ssize_t count_write(int file, long answer)
{
    if (answer >= 0 && file < DESCRIPTORS && counts != NULL &&
        __atomic_load_n(&synced[file / 8], __ATOMIC_RELAXED) >> file % 8 & 1)
        __atomic_fetch_add(&counts->synced_writes, 1, __ATOMIC_RELAXED);
    return answer;
}

ssize_t write(int file, const void *bytes, size_t length)
{
    return count_write(file, syscall(SYS_write, file, bytes, length));
}

ssize_t pwrite(int file, const void *bytes, size_t length, off_t at)
{
    return count_write(file, syscall(SYS_pwrite64, file, bytes, length, at));
}

ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t at)
{
    return pwrite(file, bytes, length, at);
}

ssize_t writev(int file, const struct iovec *parts, int number)
{
    return count_write(file, syscall(SYS_writev, file, parts, number));
}

ssize_t pwritev(int file, const struct iovec *parts, int number, off_t at)
{
    return count_write(file, syscall(SYS_pwritev, file, parts, number, at, 0L));
}

ssize_t pwritev64(int file, const struct iovec *parts, int number, off64_t at)
{
    return pwritev(file, parts, number, at);
}

ssize_t pwritev2(int file, const struct iovec *parts, int number, off_t at, int flags)
{
    long answer = syscall(SYS_pwritev2, file, parts, number, at, 0L, flags);
    if (answer >= 0 && flags & (RWF_DSYNC | RWF_SYNC) && counts != NULL) {
        __atomic_fetch_add(&counts->synced_writes, 1, __ATOMIC_RELAXED);
        return answer;
    }
    return count_write(file, answer);
}

ssize_t pwritev64v2(int file, const struct iovec *parts, int number, off64_t at, int flags)
{
    return pwritev2(file, parts, number, at, flags);
}
