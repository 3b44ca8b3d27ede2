/* Remembers what an engine's processes wrote and did not sync, preloaded into them by Dyno.
 *
 * A write goes to the file at once. Before that, what the range held goes to a log that all
 * processes share, in a file, so that it outlives kill -9; `undo_log.py` reads it and puts every
 * file back to its last sync. A lock in shared memory holds over both, so the order of the log is
 * that of the writes. A sync makes durable what stood in the log of its file when it began.
 *
 * Once `cut` is set, a process that comes here is killed: the power is off at one place of the log,
 * whatever the others do until Dyno kills them.
 *
 * A name that is made, moved or removed is remembered, too: the file behind a name that goes is
 * kept in the folder `gone`, so that it can come back where its folder was not synced.
 *
 * Only regular files below `watched` are remembered. Each call is made by its number, so that no
 * other library can leave it out. Not seen: stdio, calls that a program makes by number itself,
 * io_uring and io_submit. A writable shared mapping is told by name.
 *
 * No descriptor of a file that the program has open is closed here: that would drop the process's
 * POSIX locks on it (fcntl_locking(2)). So that old bytes can be read through the program's own,
 * files that it opens to write only are opened to be read, too.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/falloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* The file `state`, as `undo_log.py` makes it: its first line is Dyno's, the rest is ours. */
static struct state {
    uint32_t cut;    /* 1: the power is off */
    uint32_t silent; /* 1: a sync returns 0 and does nothing, as a disk that lies */
    char watched[4096];
    char scratch[256]; /* names that end so are no data: "-shm\0server.log\0\0" */
    uint32_t ready;    /* 0: no lock yet; 1: being made; 2: made */
    uint32_t gone;     /* files in the folder `gone`, each named by its number from 1 on */
    pthread_mutex_t lock;
} *state;

/* A record of the log, followed by `length` bytes; as `undo_log.py` reads it. */
enum kind {
    IMAGE = 1, SYNC, SYNC_ALL, FRESH, DURABLE, UNSEEN, NAMED, REMOVED, RENAMED, FOLDER_MOVED
};
struct record {
    uint32_t magic, kind;
    uint64_t device, inode;
    uint64_t offset; /* of the image, of the durable range; SYNC: the log's length as it began; of a
                        name: its folder's inode */
    uint64_t length; /* of the bytes that follow */
    uint64_t size;   /* IMAGE: the file's size before; DURABLE: the length of the range; of a name:
                        the file in `gone`, 0 for none */
};
#define MAGIC 0x44594e4fu
#define CHUNK ((size_t)1 << 20)
/* High, since programs close or count low ones. */
#define LOG_FD_LEAST 1000

static int undo_log = -1;
static char gone[PATH_MAX - 32];
/* Old bytes on their way to the log; aligned, for descriptors with O_DIRECT. Guarded by the lock,
 * which all processes share. */
static char *old;

static void make_lock(void)
{
    uint32_t none = 0;
    if (__atomic_compare_exchange_n(&state->ready, &none, 1, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST)) {
        pthread_mutexattr_t how;
        pthread_mutexattr_init(&how);
        pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED);
        pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST);
        pthread_mutexattr_settype(&how, PTHREAD_MUTEX_ERRORCHECK);
        pthread_mutex_init(&state->lock, &how);
        __atomic_store_n(&state->ready, 2, __ATOMIC_SEQ_CST);
    }
    while (__atomic_load_n(&state->ready, __ATOMIC_SEQ_CST) != 2)
        usleep(100);
}

__attribute__((constructor)) static void open_log(void)
{
    const char *folder = getenv("DYNO_CRASH");
    char path[4096];
    if (folder == NULL)
        return;
    snprintf(gone, sizeof gone, "%s/gone", folder);
    snprintf(path, sizeof path, "%s/state", folder);
    int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
    if (file < 0)
        return;
    void *shared = mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    syscall(SYS_close, file);
    snprintf(path, sizeof path, "%s/undo", folder);
    file = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CLOEXEC);
    old = mmap(NULL, CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || old == MAP_FAILED || file < 0)
        return;
    undo_log = fcntl(file, F_DUPFD_CLOEXEC, LOG_FD_LEAST);
    if (undo_log < 0)
        undo_log = file;
    else
        syscall(SYS_close, file);
    state = shared;
    make_lock();
}

static void stop_if_cut(void)
{
    while (__atomic_load_n(&state->cut, __ATOMIC_SEQ_CST)) {
        syscall(SYS_kill, getpid(), SIGKILL);
        pause();
    }
}

/* False where this thread has it already: a signal handler interrupted us. */
static bool take_lock(void)
{
    stop_if_cut();
    int answer = pthread_mutex_lock(&state->lock);
    if (answer == EOWNERDEAD)
        pthread_mutex_consistent(&state->lock);
    bool taken = answer == 0 || answer == EOWNERDEAD;
    if (taken)
        stop_if_cut();
    return taken;
}

static void leave_lock(bool taken)
{
    int kept = errno;
    if (taken)
        pthread_mutex_unlock(&state->lock);
    errno = kept;
}

/* Without its undo record a write could not be lost: better no engine than a wrong answer. */
static void append(enum kind kind, const struct stat *file, uint64_t offset, uint64_t size,
                   const void *bytes, size_t length)
{
    struct record head = {MAGIC, kind, file->st_dev, file->st_ino, offset, length, size};
    struct iovec parts[] = {{&head, sizeof head}, {(void *)bytes, length}};
    ssize_t wanted = (ssize_t)(sizeof head + length);
    if (syscall(SYS_writev, undo_log, parts, length ? 2 : 1) != wanted) {
        static const char words[] = "dyno: the log of unsynced writes cannot be written\n";
        syscall(SYS_write, 2, words, sizeof words - 1);
        abort();
    }
}

static bool is_below(const char *path, const char *folder)
{
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && path[length] == '/';
}

static bool is_data_path(const char *path)
{
    size_t whole = strlen(path);
    if (!is_below(path, state->watched))
        return is_below(path, gone);
    for (const char *end = state->scratch; *end; end += strlen(end) + 1)
        if (whole >= strlen(end) && strcmp(path + whole - strlen(end), end) == 0)
            return false;
    return true;
}

static bool read_path(int file, char path[PATH_MAX])
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length < 0 ? 0 : length] = 0;
    return length > 0;
}

/* Is it a file that a crash must find? One without a name is gone then anyway. */
static bool is_data(int file, struct stat *found)
{
    char path[PATH_MAX];
    int kept = errno;
    bool is = state != NULL && file >= 0 && file != undo_log &&
              syscall(SYS_fstat, file, found) == 0 && S_ISREG(found->st_mode) &&
              found->st_nlink > 0 && read_path(file, path) && is_data_path(path);
    errno = kept;
    return is;
}

static bool is_data_folder(int file, struct stat *found)
{
    char path[PATH_MAX];
    int kept = errno;
    bool is = state != NULL && syscall(SYS_fstat, file, found) == 0 && S_ISDIR(found->st_mode) &&
              read_path(file, path) &&
              (strcmp(path, state->watched) == 0 || is_below(path, state->watched));
    errno = kept;
    return is;
}

static void note_unseen(int file, const struct stat *found)
{
    char path[PATH_MAX];
    if (read_path(file, path))
        append(UNSEEN, found, 0, 0, path, strlen(path));
}

/* Keeps what a range holds, as far as the file reaches; under the lock. */
static void keep_range(int file, off64_t offset, uint64_t length)
{
    struct stat now;
    if (syscall(SYS_fstat, file, &now) != 0)
        return;
    uint64_t size = (uint64_t)now.st_size, at = (uint64_t)offset, end = at + length;
    bool kept = false;
    for (end = end < size ? end : size; at < end;) {
        size_t want = end - at < CHUNK ? end - at : CHUNK;
        bool direct = fcntl(file, F_GETFL) & O_DIRECT;
        long got = syscall(SYS_pread64, file, old, direct ? (want + 4095) & ~4095ul : want, at);
        if (got <= 0) {
            note_unseen(file, &now);
            return;
        }
        size_t take = (size_t)got < want ? (size_t)got : want;
        append(IMAGE, &now, at, size, old, take);
        kept = true;
        at += take;
    }
    if (!kept || (uint64_t)offset + length > size)
        append(IMAGE, &now, size, size, NULL, 0);
}

/* Where a write without a place of its own goes. */
static off64_t find_place(int file, const struct stat *found)
{
    struct stat now;
    if (fcntl(file, F_GETFL) & O_APPEND && syscall(SYS_fstat, file, &now) == 0)
        return now.st_size;
    off64_t at = syscall(SYS_lseek, file, 0, SEEK_CUR);
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
    CHANGE(file, -1, length, 0, syscall(SYS_write, file, bytes, length));
}

ssize_t pwrite(int file, const void *bytes, size_t length, off_t offset)
{
    CHANGE(file, offset, length, 0, syscall(SYS_pwrite64, file, bytes, length, offset));
}

ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t offset)
{
    return pwrite(file, bytes, length, offset);
}

ssize_t writev(int file, const struct iovec *parts, int number)
{
    CHANGE(file, -1, sum_parts(parts, number), 0, syscall(SYS_writev, file, parts, number));
}

ssize_t pwritev2(int file, const struct iovec *parts, int number, off_t offset, int flags)
{
    CHANGE(file, offset, sum_parts(parts, number), flags,
           syscall(SYS_pwritev2, file, parts, number, offset, 0L, flags));
}

ssize_t pwritev64v2(int file, const struct iovec *parts, int number, off64_t offset, int flags)
{
    return pwritev2(file, parts, number, offset, flags);
}

ssize_t pwritev(int file, const struct iovec *parts, int number, off_t offset)
{
    CHANGE(file, offset, sum_parts(parts, number), 0,
           syscall(SYS_pwritev, file, parts, number, offset, 0L));
}

ssize_t pwritev64(int file, const struct iovec *parts, int number, off64_t offset)
{
    return pwritev(file, parts, number, offset);
}

ssize_t copy_file_range(int from, off64_t *begin, int to, off64_t *place, size_t length,
                        unsigned flags)
{
    CHANGE(to, place ? *place : -1, length, 0,
           syscall(SYS_copy_file_range, from, begin, to, place, length, flags));
}

ssize_t sendfile(int to, int from, off_t *begin, size_t length)
{
    CHANGE(to, -1, length, 0, syscall(SYS_sendfile, to, from, begin, length));
}

ssize_t sendfile64(int to, int from, off64_t *begin, size_t length)
{
    return sendfile(to, from, begin, length);
}

int ftruncate(int file, off_t size)
{
    struct stat found;
    if (!is_data(file, &found))
        return (int)syscall(SYS_ftruncate, file, size);
    bool taken = take_lock();
    keep_range(file, size, found.st_size > size ? (uint64_t)(found.st_size - size) : 0);
    long answer = syscall(SYS_ftruncate, file, size);
    leave_lock(taken);
    return (int)answer;
}

int ftruncate64(int file, off64_t size) { return ftruncate(file, size); }

int truncate(const char *path, off_t size)
{
    if (state == NULL)
        return (int)syscall(SYS_truncate, path, size);
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0)
        return -1;
    int answer = ftruncate(file, size), kept = errno;
    syscall(SYS_close, file);
    errno = kept;
    return answer;
}

int truncate64(const char *path, off64_t size) { return truncate(path, size); }

int fallocate(int file, int mode, off_t offset, off_t length)
{
    struct stat found;
    if (!is_data(file, &found))
        return (int)syscall(SYS_fallocate, file, mode, offset, length);
    if (mode & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE)) {
        errno = EOPNOTSUPP;
        return -1;
    }
    bool taken = take_lock();
    bool keeps = !(mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE));
    keep_range(file, keeps ? found.st_size : offset, keeps ? 0 : (uint64_t)length);
    long answer = syscall(SYS_fallocate, file, mode, offset, length);
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
        syscall(SYS_fstat, undo_log, &log);                         \
        leave_lock(taken);                                          \
        long answer = call;                                         \
        taken = take_lock();                                        \
        if (answer == 0)                                            \
            append(kind, &found, (uint64_t)log.st_size, 0, NULL, 0); \
        leave_lock(taken);                                          \
        return (int)answer;                                         \
    } while (0)

int fsync(int file) { FLUSH(file, SYNC, syscall(SYS_fsync, file)); }
int fdatasync(int file) { FLUSH(file, SYNC, syscall(SYS_fdatasync, file)); }
int syncfs(int file) { FLUSH(file, SYNC_ALL, syscall(SYS_syncfs, file)); }

static int sync_all(void) { FLUSH(-1, SYNC_ALL, syscall(SYS_sync)); }
void sync(void) { (void)sync_all(); }

void *mmap(void *begin, size_t length, int rights, int flags, int file, off_t offset)
{
    struct stat found;
    void *mapped = (void *)syscall(SYS_mmap, begin, length, rights, flags, file, offset);
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

/* A name with its folder: which file it is, and whether that is one of ours. */
struct name {
    char path[PATH_MAX];
    struct stat folder;
    struct stat file;
};

static bool find_name(int folder, const char *path, struct name *found)
{
    const char *last = strrchr(path, '/');
    char place[PATH_MAX];
    int kept = errno;
    if (state == NULL || strlen(path) >= sizeof place)
        return false;
    snprintf(place, sizeof place, "%.*s", last ? (int)(last - path) + 1 : 1, last ? path : ".");
    int handle = (int)syscall(SYS_openat, folder, place, O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool is = handle >= 0 && syscall(SYS_fstat, handle, &found->folder) == 0 &&
              read_path(handle, found->path);
    if (handle >= 0)
        syscall(SYS_close, handle);
    errno = kept;
    size_t length = strlen(found->path);
    if (!is || length + strlen(path) + 2 > sizeof found->path)
        return false;
    snprintf(found->path + length, sizeof found->path - length, "/%s", last ? last + 1 : path);
    return is_data_path(found->path);
}

static bool read_file(int folder, const char *path, struct stat *found)
{
    int kept = errno;
    bool is = syscall(SYS_newfstatat, folder, path, found, AT_SYMLINK_NOFOLLOW) == 0;
    errno = kept;
    return is;
}

static void append_name(enum kind kind, const struct name *of, const struct stat *file,
                        const char *more, uint32_t number)
{
    char paths[2 * PATH_MAX];
    int length = snprintf(paths, sizeof paths, "%s%c%s", of->path, 0, more);
    append(kind, file, of->folder.st_ino, number, paths, (size_t)length);
}

/* Opens so that old bytes can be read; a file that is new has none, whatever its inode had. */
static int open_data(int folder, const char *path, int flags, mode_t mode)
{
    struct stat found;
    bool writes = (flags & O_ACCMODE) != O_RDONLY && !(flags & O_PATH) &&
                  (flags & O_TMPFILE) != O_TMPFILE;
    int kept = errno;
    bool is_new = writes && syscall(SYS_newfstatat, folder, path, &found, 0) != 0;
    errno = kept;
    if (state == NULL || !writes || !(is_new || S_ISREG(found.st_mode)))
        return (int)syscall(SYS_openat, folder, path, flags, mode);
    bool taken = take_lock();
    is_new = syscall(SYS_newfstatat, folder, path, &found, 0) != 0;
    errno = kept;
    int plain = flags & ~O_TRUNC;
    bool widened = (flags & O_ACCMODE) == O_WRONLY;
    int wide = widened ? (plain & ~O_ACCMODE) | O_RDWR : plain;
    long file = syscall(SYS_openat, folder, path, wide, mode);
    if (file < 0 && widened && errno == EACCES)
        file = syscall(SYS_openat, folder, path, plain, mode);
    struct name name;
    if (file >= 0 && is_new && is_data((int)file, &found)) {
        append(FRESH, &found, 0, 0, NULL, 0);
        if (find_name(folder, path, &name))
            append_name(NAMED, &name, &found, "", 0);
    }
    leave_lock(taken);
    if (file >= 0 && plain != flags && !is_new && ftruncate((int)file, 0) != 0) {
        kept = errno;
        syscall(SYS_close, file);
        errno = kept;
        return -1;
    }
    return (int)file;
}

#define OPEN(folder)                                               \
    mode_t mode = 0;                                               \
    if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) {     \
        va_list more;                                              \
        va_start(more, flags);                                     \
        mode = va_arg(more, mode_t);                               \
        va_end(more);                                              \
    }                                                              \
    return open_data(folder, path, flags, mode)

int open(const char *path, int flags, ...) { OPEN(AT_FDCWD); }
int open64(const char *path, int flags, ...) { OPEN(AT_FDCWD); }
int openat(int folder, const char *path, int flags, ...) { OPEN(folder); }
int openat64(int folder, const char *path, int flags, ...) { OPEN(folder); }
int creat(const char *path, mode_t mode)
{
    return open_data(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}
int creat64(const char *path, mode_t mode) { return creat(path, mode); }
/* What a fortified program calls in the place of open, where no mode is given. */
int __open_2(const char *path, int flags) { return open_data(AT_FDCWD, path, flags, 0); }
int __open64_2(const char *path, int flags) { return open_data(AT_FDCWD, path, flags, 0); }
int __openat_2(int folder, const char *path, int flags)
{
    return open_data(folder, path, flags, 0);
}
int __openat64_2(int folder, const char *path, int flags)
{
    return open_data(folder, path, flags, 0);
}

/* Where the file of a name that goes is kept. */
static uint32_t choose_grave(char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/%u", gone, ++state->gone);
    return state->gone;
}

int unlinkat(int folder, const char *path, int flags)
{
    struct name name;
    struct stat file;
    char grave[PATH_MAX];
    if (flags & AT_REMOVEDIR || !find_name(folder, path, &name) ||
        !read_file(folder, path, &file) || !S_ISREG(file.st_mode))
        return (int)syscall(SYS_unlinkat, folder, path, flags);
    bool taken = take_lock();
    uint32_t number = choose_grave(grave);
    long answer = syscall(SYS_renameat2, folder, path, AT_FDCWD, grave, 0);
    if (answer == 0)
        append_name(REMOVED, &name, &file, "", number);
    leave_lock(taken);
    return (int)answer;
}

int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }

int remove(const char *path)
{
    int answer = unlink(path);
    return answer != 0 && errno == EISDIR ? unlinkat(AT_FDCWD, path, AT_REMOVEDIR) : answer;
}

int renameat2(int from, const char *old_path, int to, const char *path, unsigned flags)
{
    struct name name, source;
    struct stat file, over;
    char grave[PATH_MAX];
    bool is_ours = find_name(to, path, &name);
    find_name(from, old_path, &source);
    if (!is_ours || !read_file(from, old_path, &file))
        return (int)syscall(SYS_renameat2, from, old_path, to, path, flags);
    bool taken = take_lock(), goes = false;
    uint32_t number = 0;
    if (S_ISREG(file.st_mode) && read_file(to, path, &over) && S_ISREG(over.st_mode) &&
        over.st_ino != file.st_ino) {
        number = choose_grave(grave);
        goes = syscall(SYS_linkat, to, path, AT_FDCWD, grave, 0) == 0;
    }
    long answer = syscall(SYS_renameat2, from, old_path, to, path, flags);
    if (answer == 0 && S_ISREG(file.st_mode))
        append_name(RENAMED, &name, &file, source.path, goes ? number : 0);
    else if (answer == 0)
        append(FOLDER_MOVED, &file, 0, 0, NULL, 0);
    else if (goes) {
        int kept = errno;
        syscall(SYS_unlinkat, AT_FDCWD, grave, 0);
        errno = kept;
    }
    leave_lock(taken);
    return (int)answer;
}

int renameat(int from, const char *old_path, int to, const char *path)
{
    return renameat2(from, old_path, to, path, 0);
}

int rename(const char *old_path, const char *path)
{
    return renameat2(AT_FDCWD, old_path, AT_FDCWD, path, 0);
}

int linkat(int from, const char *old_path, int to, const char *path, int flags)
{
    struct name name;
    struct stat file;
    if (!find_name(to, path, &name))
        return (int)syscall(SYS_linkat, from, old_path, to, path, flags);
    bool taken = take_lock();
    long answer = syscall(SYS_linkat, from, old_path, to, path, flags);
    if (answer == 0 && read_file(to, path, &file))
        append_name(NAMED, &name, &file, "", 0);
    leave_lock(taken);
    return (int)answer;
}

int link(const char *old_path, const char *path)
{
    return linkat(AT_FDCWD, old_path, AT_FDCWD, path, 0);
}
