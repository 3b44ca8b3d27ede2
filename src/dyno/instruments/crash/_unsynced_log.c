/* What is kept aside: the log of unsynced writes, its lock, and which files are data. */
#include "_unsynced.h"

#include <signal.h>
#include <stdlib.h>

#define MAGIC 0x44594e4fu
#define CHUNK ((size_t)1 << 20)
/* High, since programs close or count low ones. */
#define LOG_FD_LEAST 1000

struct state *state;
int undo_log = -1;
char gone[PATH_MAX - 32];
/* Old bytes on their way to the log; aligned, for descriptors with O_DIRECT. Guarded by the lock,
 * which all processes share. */
static char *old;

long call_kernel(long number, ...)
{
    long answer, of[6];
    va_list more;
    va_start(more, number);
    for (int each = 0; each < 6; each++)
        of[each] = va_arg(more, long);
    va_end(more);
#if defined(__x86_64__)
    register long fourth __asm__("r10") = of[3], fifth __asm__("r8") = of[4];
    register long sixth __asm__("r9") = of[5];
    __asm__ volatile("syscall"
                     : "=a"(answer)
                     : "a"(number), "D"(of[0]), "S"(of[1]), "d"(of[2]), "r"(fourth), "r"(fifth),
                       "r"(sixth)
                     : "rcx", "r11", "memory");
#elif defined(__aarch64__)
    register long place __asm__("x8") = number, first __asm__("x0") = of[0];
    register long second __asm__("x1") = of[1], third __asm__("x2") = of[2];
    register long fourth __asm__("x3") = of[3], fifth __asm__("x4") = of[4];
    register long sixth __asm__("x5") = of[5];
    __asm__ volatile("svc 0"
                     : "+r"(first)
                     : "r"(place), "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth)
                     : "memory");
    answer = first;
#else
#error "calls of the kernel are known on x86_64 and aarch64 only"
#endif
    if ((unsigned long)answer <= -4096ul)
        return answer;
    errno = (int)-answer;
    return -1;
}

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
    int file = (int)call_kernel(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
    if (file < 0)
        return;
    void *shared = mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    call_kernel(SYS_close, file);
    snprintf(path, sizeof path, "%s/undo", folder);
    file = (int)call_kernel(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CLOEXEC);
    old = mmap(NULL, CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || old == MAP_FAILED || file < 0)
        return;
    undo_log = fcntl(file, F_DUPFD_CLOEXEC, LOG_FD_LEAST);
    if (undo_log < 0)
        undo_log = file;
    else
        call_kernel(SYS_close, file);
    state = shared;
    make_lock();
}

static void stop_if_cut(void)
{
    while (__atomic_load_n(&state->cut, __ATOMIC_SEQ_CST)) {
        call_kernel(SYS_kill, getpid(), SIGKILL);
        pause();
    }
}

bool take_lock(void)
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

void leave_lock(bool taken)
{
    int kept = errno;
    if (taken)
        pthread_mutex_unlock(&state->lock);
    errno = kept;
}

/* Without its undo record a write could not be lost: better no engine than a wrong answer. */
void append(enum kind kind, const struct stat *file, uint64_t offset, uint64_t size,
            const void *bytes, size_t length)
{
    struct record head = {MAGIC, kind, file->st_dev, file->st_ino, offset, length, size};
    struct iovec parts[] = {{&head, sizeof head}, {(void *)bytes, length}};
    ssize_t wanted = (ssize_t)(sizeof head + length);
    if (call_kernel(SYS_writev, undo_log, parts, length ? 2 : 1) != wanted) {
        static const char words[] = "dyno: the log of unsynced writes cannot be written\n";
        call_kernel(SYS_write, 2, words, sizeof words - 1);
        abort();
    }
}

static bool is_below(const char *path, const char *folder)
{
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && path[length] == '/';
}

bool is_data_path(const char *path)
{
    size_t whole = strlen(path);
    if (!is_below(path, state->watched))
        return is_below(path, gone);
    for (const char *end = state->scratch; *end; end += strlen(end) + 1)
        if (whole >= strlen(end) && strcmp(path + whole - strlen(end), end) == 0)
            return false;
    return true;
}

bool read_path(int file, char path[PATH_MAX])
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length < 0 ? 0 : length] = 0;
    return length > 0;
}

bool is_data(int file, struct stat *found)
{
    char path[PATH_MAX];
    int kept = errno;
    bool is = state != NULL && file >= 0 && file != undo_log &&
              call_kernel(SYS_fstat, file, found) == 0 && S_ISREG(found->st_mode) &&
              found->st_nlink > 0 && read_path(file, path) && is_data_path(path);
    errno = kept;
    return is;
}

bool is_data_folder(int file, struct stat *found)
{
    char path[PATH_MAX];
    int kept = errno;
    bool is = state != NULL && call_kernel(SYS_fstat, file, found) == 0 &&
              S_ISDIR(found->st_mode) && read_path(file, path) &&
              (strcmp(path, state->watched) == 0 || is_below(path, state->watched));
    errno = kept;
    return is;
}

void note_unseen(int file, const struct stat *found)
{
    char path[PATH_MAX];
    if (read_path(file, path))
        append(UNSEEN, found, 0, 0, path, strlen(path));
}

void keep_range(int file, off64_t offset, uint64_t length)
{
    struct stat now;
    if (call_kernel(SYS_fstat, file, &now) != 0)
        return;
    uint64_t size = (uint64_t)now.st_size, at = (uint64_t)offset, end = at + length;
    bool kept = false;
    for (end = end < size ? end : size; at < end;) {
        size_t want = end - at < CHUNK ? end - at : CHUNK;
        bool direct = fcntl(file, F_GETFL) & O_DIRECT;
        long got = call_kernel(SYS_pread64, file, old, direct ? (want + 4095) & ~4095ul : want, at);
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
