/* The calls that change what files hold, sync it, or map it. */
#include "_unsynced.h"

#include <linux/falloc.h>

/* Where a write without a place of its own goes. */
static off64_t find_place(int file, const struct stat *found)
{
    struct stat now;
    if (fcntl(file, F_GETFL) & O_APPEND && call_kernel(SYS_fstat, file, &now) == 0)
        return now.st_size;
    off64_t at = call_kernel(SYS_lseek, file, 0, SEEK_CUR);
    return at < 0 ? found->st_size : at;
}

/* A call that changes `length` bytes from `at` on (< 0: from the file's own place). */
#define CHANGE(file, place, length, flags, call)                               \
    do {                                                                       \
        struct stat found;                                                     \
        if (!is_data(file, &found))                                            \
            return call;                                                       \
        bool taken = take_lock();                                              \
        off64_t at = (place) < 0 ? find_place(file, &found) : (off64_t)(place); \
        keep_range(file, at, length);                                          \
        long answer = call;                                                    \
        bool synced = (fcntl(file, F_GETFL) & O_DSYNC) || ((flags) & (RWF_DSYNC | RWF_SYNC)); \
        if (answer > 0 && synced && !state->silent)                            \
            append(DURABLE, &found, at, (uint64_t)answer, NULL, 0);            \
        leave_lock(taken);                                                     \
        return answer;                                                         \
    } while (0)

static uint64_t sum_parts(const struct iovec *parts, int number)
{
    uint64_t sum = 0;
    for (int each = 0; each < number; each++)
        sum += parts[each].iov_len;
    return sum;
}

ssize_t write(int file, const void *bytes, size_t length)
{
    CHANGE(file, -1, length, 0, call_kernel(SYS_write, file, bytes, length));
}

ssize_t pwrite(int file, const void *bytes, size_t length, off_t offset)
{
    CHANGE(file, offset, length, 0, call_kernel(SYS_pwrite64, file, bytes, length, offset));
}

ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t offset)
{
    return pwrite(file, bytes, length, offset);
}

ssize_t writev(int file, const struct iovec *parts, int number)
{
    CHANGE(file, -1, sum_parts(parts, number), 0, call_kernel(SYS_writev, file, parts, number));
}

ssize_t pwritev2(int file, const struct iovec *parts, int number, off_t offset, int flags)
{
    CHANGE(file, offset, sum_parts(parts, number), flags,
           call_kernel(SYS_pwritev2, file, parts, number, offset, 0L, flags));
}

ssize_t pwritev64v2(int file, const struct iovec *parts, int number, off64_t offset, int flags)
{
    return pwritev2(file, parts, number, offset, flags);
}

ssize_t pwritev(int file, const struct iovec *parts, int number, off_t offset)
{
    CHANGE(file, offset, sum_parts(parts, number), 0,
           call_kernel(SYS_pwritev, file, parts, number, offset, 0L));
}

ssize_t pwritev64(int file, const struct iovec *parts, int number, off64_t offset)
{
    return pwritev(file, parts, number, offset);
}

ssize_t copy_file_range(int from, off64_t *begin, int to, off64_t *place, size_t length,
                        unsigned flags)
{
    CHANGE(to, place ? *place : -1, length, 0,
           call_kernel(SYS_copy_file_range, from, begin, to, place, length, flags));
}

ssize_t sendfile(int to, int from, off_t *begin, size_t length)
{
    CHANGE(to, -1, length, 0, call_kernel(SYS_sendfile, to, from, begin, length));
}

ssize_t sendfile64(int to, int from, off64_t *begin, size_t length)
{
    return sendfile(to, from, begin, length);
}

int ftruncate(int file, off_t size)
{
    struct stat found;
    if (!is_data(file, &found))
        return (int)call_kernel(SYS_ftruncate, file, size);
    bool taken = take_lock();
    keep_range(file, size, found.st_size > size ? (uint64_t)(found.st_size - size) : 0);
    long answer = call_kernel(SYS_ftruncate, file, size);
    leave_lock(taken);
    return (int)answer;
}

int ftruncate64(int file, off64_t size) { return ftruncate(file, size); }

int truncate(const char *path, off_t size)
{
    if (state == NULL)
        return (int)call_kernel(SYS_truncate, path, size);
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0)
        return -1;
    int answer = ftruncate(file, size), kept = errno;
    call_kernel(SYS_close, file);
    errno = kept;
    return answer;
}

int truncate64(const char *path, off64_t size) { return truncate(path, size); }

int fallocate(int file, int mode, off_t offset, off_t length)
{
    struct stat found;
    if (!is_data(file, &found))
        return (int)call_kernel(SYS_fallocate, file, mode, offset, length);
    if (mode & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE)) {
        errno = EOPNOTSUPP;
        return -1;
    }
    bool taken = take_lock();
    bool keeps = !(mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE));
    keep_range(file, keeps ? found.st_size : offset, keeps ? 0 : (uint64_t)length);
    long answer = call_kernel(SYS_fallocate, file, mode, offset, length);
    leave_lock(taken);
    return (int)answer;
}

int fallocate64(int file, int mode, off64_t offset, off64_t length)
{
    return fallocate(file, mode, offset, length);
}

int posix_fallocate(int file, off_t offset, off_t length)
{
    int kept = errno, answer = fallocate(file, 0, offset, length) == 0 ? 0 : errno;
    errno = kept;
    return answer;
}

int posix_fallocate64(int file, off64_t offset, off64_t length)
{
    return posix_fallocate(file, offset, length);
}

/* What stood in the log when the sync began is durable once it has ended. */
#define FLUSH(file, kind, call)                                     \
    do {                                                            \
        struct stat found = {0}, log;                               \
        if (state == NULL || ((kind) == SYNC && !is_data(file, &found) && \
                              !is_data_folder(file, &found)))       \
            return call;                                            \
        if (state->silent)                                          \
            return 0;                                               \
        bool taken = take_lock();                                   \
        call_kernel(SYS_fstat, undo_log, &log);                         \
        leave_lock(taken);                                          \
        long answer = call;                                         \
        taken = take_lock();                                        \
        if (answer == 0)                                            \
            append(kind, &found, (uint64_t)log.st_size, 0, NULL, 0); \
        leave_lock(taken);                                          \
        return (int)answer;                                         \
    } while (0)

int fsync(int file) { FLUSH(file, SYNC, call_kernel(SYS_fsync, file)); }
int fdatasync(int file) { FLUSH(file, SYNC, call_kernel(SYS_fdatasync, file)); }
int syncfs(int file) { FLUSH(file, SYNC_ALL, call_kernel(SYS_syncfs, file)); }

static int sync_all(void) { FLUSH(-1, SYNC_ALL, call_kernel(SYS_sync)); }
void sync(void) { (void)sync_all(); }

void *mmap(void *begin, size_t length, int rights, int flags, int file, off_t offset)
{
    struct stat found;
    void *mapped = (void *)call_kernel(SYS_mmap, begin, length, rights, flags, file, offset);
    if (mapped != MAP_FAILED && (flags & (MAP_SHARED | MAP_SHARED_VALIDATE)) &&
        rights & PROT_WRITE && is_data(file, &found)) {
        bool taken = take_lock();
        note_unseen(file, &found);
        leave_lock(taken);
    }
    return mapped;
}

void *mmap64(void *begin, size_t length, int rights, int flags, int file, off64_t offset)
{
    return mmap(begin, length, rights, flags, file, offset);
}

/* A program that makes a call by its number makes one of ours. */
long syscall(long number, ...)
{
    long of[6];
    va_list more;
    va_start(more, number);
    for (int each = 0; each < 6; each++)
        of[each] = va_arg(more, long);
    va_end(more);
    int file = (int)of[0];
    switch (number) {
    case SYS_write: return write(file, (void *)of[1], (size_t)of[2]);
    case SYS_pwrite64: return pwrite(file, (void *)of[1], (size_t)of[2], of[3]);
    case SYS_writev: return writev(file, (void *)of[1], (int)of[2]);
    case SYS_pwritev: return pwritev(file, (void *)of[1], (int)of[2], of[3]);
    case SYS_pwritev2: return pwritev2(file, (void *)of[1], (int)of[2], of[3], (int)of[5]);
    case SYS_copy_file_range:
        return copy_file_range(file, (void *)of[1], (int)of[2], (void *)of[3], (size_t)of[4],
                               (unsigned)of[5]);
    case SYS_sendfile: return sendfile(file, (int)of[1], (void *)of[2], (size_t)of[3]);
    case SYS_ftruncate: return ftruncate(file, of[1]);
    case SYS_truncate: return truncate((char *)of[0], of[1]);
    case SYS_fallocate: return fallocate(file, (int)of[1], of[2], of[3]);
    case SYS_fsync: return fsync(file);
    case SYS_fdatasync: return fdatasync(file);
    case SYS_syncfs: return syncfs(file);
    case SYS_sync: return sync_all();
    case SYS_mmap:
        return (long)mmap((void *)of[0], (size_t)of[1], (int)of[2], (int)of[3], (int)of[4], of[5]);
    case SYS_openat: return openat(file, (char *)of[1], (int)of[2], (mode_t)of[3]);
    case SYS_unlinkat: return unlinkat(file, (char *)of[1], (int)of[2]);
    case SYS_renameat2:
        return renameat2(file, (char *)of[1], (int)of[2], (char *)of[3], (unsigned)of[4]);
    case SYS_linkat: return linkat(file, (char *)of[1], (int)of[2], (char *)of[3], (int)of[4]);
#ifdef SYS_open /* on x86_64 alone */
    case SYS_open: return open((char *)of[0], (int)of[1], (mode_t)of[2]);
    case SYS_creat: return creat((char *)of[0], (mode_t)of[1]);
    case SYS_unlink: return unlink((char *)of[0]);
    case SYS_rename: return rename((char *)of[0], (char *)of[1]);
    case SYS_link: return link((char *)of[0], (char *)of[1]);
#endif
    case SYS_renameat: return renameat(file, (char *)of[1], (int)of[2], (char *)of[3]);
    default: return call_kernel(number, of[0], of[1], of[2], of[3], of[4], of[5]);
    }
}
