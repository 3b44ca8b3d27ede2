/* Measures the locks of an embedded engine, or of any program of threads, preloaded by Dyno.
 *
 * Seen are mutexes, read-write locks and spin locks of the C library, and locks of files: flock(2)
 * and fcntl(2). Of each lock, by its address (a file's: by file and first byte), and of each way of
 * taking it: how often it was taken, found taken, what was waited for it and how long it was held.
 * A wait for a condition gives its mutex back meanwhile. A lock that a thread takes again while it
 * has it counts once. Not seen: what an engine makes of atomics or futexes itself, and what its
 * libraries call without the procedure linkage table, and locks that are taken with a time limit.
 *
 * Each thread counts in a table of its own, without locks or shared lines; all tables of a process
 * lie in a file in the folder $DYNO_LOCK_CALLS, named by its pid, which may be read at any time.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS 256
#define ROWS 512 /* a power of two; the last one takes what has no row */
#define HELD 64
#define ENDED UINT64_MAX
#define MODULES 64
#define PATH 504
#define MUTEX 1 /* and so on as `KINDS` of src/dyno/profile/lock_calls.py */
#define WRITE 2
#define READ 3
#define SPIN 4
#define FILE_WRITE 5
#define FILE_READ 6

/* As `ROW` and `TABLES` of lock_calls.py read them; `site` is where the lock was first taken: the
 * module's number in the upper 16 bits, the place in it in the others. */
struct row {
    uint64_t lock, site, kind, acquired, contended, waited_ns, held_ns;
};
struct table {
    uint64_t thread; /* whose it is: 0, nobody's yet; ENDED, its counts stay */
    struct row rows[ROWS];
};
static struct tables {
    struct module {
        uint64_t base;
        char path[PATH];
    } modules[MODULES];
    struct table threads[THREADS];
} *tables;
struct held {
    struct row *row;
    uint64_t lock, since_ns, times;
};
static __thread struct table *own __attribute__((tls_model("initial-exec")));
static __thread struct held held[HELD] __attribute__((tls_model("initial-exec")));
static __thread int count __attribute__((tls_model("initial-exec")));
static __thread int has_ended __attribute__((tls_model("initial-exec")));
static pthread_key_t ending;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void leave(void *table)
{
    has_ended = 1;
    own = NULL;
    __atomic_store_n(&((struct table *)table)->thread, ENDED, __ATOMIC_RELEASE);
}

static void leave_parent(void) { own = NULL; }

__attribute__((constructor)) static void open_tables(void)
{
    const char *folder = getenv("DYNO_LOCK_CALLS");
    char path[4096];
    if (folder == NULL)
        return;
    snprintf(path, sizeof path, "%s/%d", folder, (int)getpid());
    int flags = O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC;
    int file = (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0600);
    if (file < 0)
        return;
    if (ftruncate(file, sizeof *tables) == 0 && pthread_key_create(&ending, leave) == 0) {
        int rights = PROT_READ | PROT_WRITE;
        void *shared = mmap(NULL, sizeof *tables, rights, MAP_SHARED, file, 0);
        pthread_atfork(NULL, NULL, leave_parent);
        if (shared != MAP_FAILED)
            tables = shared;
    }
    syscall(SYS_close, file);
}

/* Threads beyond THREADS at one time are not counted. A lock was taken by as many threads as there
 * are tables with it, so the table of a thread that has ended is taken last. */
static struct table *claim(void)
{
    uint64_t thread = (uint64_t)syscall(SYS_gettid);
    for (int at = 0; at < 2 * THREADS; at++) {
        struct table *table = &tables->threads[at % THREADS];
        uint64_t nobody = at < THREADS ? 0 : ENDED;
        if (__atomic_compare_exchange_n(&table->thread, &nobody, thread, 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED)) {
            own = table;
            pthread_setspecific(ending, own);
            return own;
        }
    }
    has_ended = 1;
    return NULL;
}

static uint64_t place_site(void *site)
{
    Dl_info found;
    if (dladdr(site, &found) == 0 || found.dli_fname == NULL)
        return 0;
    for (uint64_t at = 0; at < MODULES; at++) {
        struct module *module = &tables->modules[at];
        uint64_t base = 0, wanted = (uint64_t)found.dli_fbase;
        if (__atomic_compare_exchange_n(&module->base, &base, wanted, 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE)) {
            snprintf(module->path, PATH, "%s", found.dli_fname);
            base = wanted;
        }
        if (base == wanted)
            return at << 48 | ((uint64_t)site - wanted);
    }
    return 0;
}

static struct row *find_row(uint64_t lock, uint64_t kind, void *site)
{
    if (own == NULL && claim() == NULL)
        return NULL;
    uint64_t at = (lock * 0x9e3779b97f4a7c15u >> 32) + kind;
    for (int tried = 0; tried < 16; tried++, at++) {
        struct row *row = &own->rows[at % (ROWS - 1)];
        if (row->lock == lock && row->kind == kind)
            return row;
        if (row->kind == 0) {
            row->lock = lock, row->site = place_site(site), row->kind = kind;
            return row;
        }
    }
    own->rows[ROWS - 1].kind = kind;
    return &own->rows[ROWS - 1];
}

static struct held *find_held(uint64_t lock)
{
    for (int at = count - 1; at >= 0; at--)
        if (held[at].lock == lock)
            return &held[at];
    return NULL;
}

/* A lock was taken now; `since_ns` is when it was found taken, 0 where it was free. */
static void take(uint64_t lock, uint64_t kind, void *site, uint64_t since_ns)
{
    if (tables == NULL || has_ended)
        return;
    struct held *place = find_held(lock);
    if (place != NULL) {
        place->times++;
        return;
    }
    struct row *row = find_row(lock, kind, site);
    if (row == NULL)
        return;
    uint64_t got_ns = now_ns();
    row->acquired++;
    if (since_ns) {
        row->contended++;
        row->waited_ns += got_ns - since_ns;
    }
    if (count < HELD)
        held[count++] = (struct held){row, lock, got_ns, 1};
}

static void end_hold(struct held *place)
{
    place->row->held_ns += now_ns() - place->since_ns;
    *place = held[--count];
}

/* Right before the lock is given back: nobody waits for our reading of the clock. */
static void give(uint64_t lock)
{
    struct held *place = tables != NULL && !has_ended ? find_held(lock) : NULL;
    if (place != NULL && --place->times == 0)
        end_hold(place);
}

/* The function that stands behind ours; programs may lock before our constructor. */
#define NEXT(name)                                             \
    static __typeof__(&name) next_##name;                      \
    if (next_##name == NULL)                                   \
    next_##name = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
#define SITE __builtin_return_address(0)
#define IS_TAKEN(answer) ((answer) == 0 || (answer) == EOWNERDEAD)

#define LOCK(type, name, try, kind)                            \
    int try(type *lock)                                        \
    {                                                          \
        NEXT(try);                                             \
        int answer = next_##try(lock);                         \
        if (IS_TAKEN(answer))                                  \
            take((uint64_t)lock, kind, SITE, 0);               \
        return answer;                                         \
    }                                                          \
    int name(type *lock)                                       \
    {                                                          \
        NEXT(name);                                            \
        NEXT(try);                                             \
        uint64_t since_ns = 0;                                 \
        int answer = next_##try(lock);                         \
        if (!IS_TAKEN(answer)) {                               \
            since_ns = now_ns();                               \
            answer = next_##name(lock);                        \
        }                                                      \
        if (IS_TAKEN(answer))                                  \
            take((uint64_t)lock, kind, SITE, since_ns);        \
        return answer;                                         \
    }
#define UNLOCK(type, name)                                     \
    int name(type *lock)                                       \
    {                                                          \
        NEXT(name);                                            \
        give((uint64_t)lock);                                  \
        return next_##name(lock);                              \
    }
LOCK(pthread_mutex_t, pthread_mutex_lock, pthread_mutex_trylock, MUTEX)
UNLOCK(pthread_mutex_t, pthread_mutex_unlock)
LOCK(pthread_rwlock_t, pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, READ)
LOCK(pthread_rwlock_t, pthread_rwlock_wrlock, pthread_rwlock_trywrlock, WRITE)
UNLOCK(pthread_rwlock_t, pthread_rwlock_unlock)
LOCK(pthread_spinlock_t, pthread_spin_lock, pthread_spin_trylock, SPIN)
UNLOCK(pthread_spinlock_t, pthread_spin_unlock)

#define WAIT(name, parameters, ...)                            \
    int name(pthread_cond_t *condition, pthread_mutex_t *lock parameters) \
    {                                                          \
        NEXT(name);                                            \
        give((uint64_t)lock);                                  \
        int answer = next_##name(condition, lock __VA_ARGS__); \
        take((uint64_t)lock, MUTEX, SITE, 0);                  \
        return answer;                                         \
    }
#define COMMA ,
WAIT(pthread_cond_wait, )
WAIT(pthread_cond_timedwait, COMMA const struct timespec *until, COMMA until)
WAIT(pthread_cond_clockwait, COMMA clockid_t clock COMMA const struct timespec *until,
     COMMA clock COMMA until)

/* A file's lock: the file in the upper bits, its first byte in the lower 16. */
static uint64_t name_file(int file)
{
    struct stat status;
    if (tables == NULL || fstat(file, &status) != 0)
        return 0;
    return ((uint64_t)status.st_ino * 0x9e3779b97f4a7c15u + (uint64_t)status.st_dev) << 16;
}

static void give_bytes(uint64_t file, uint64_t begin, uint64_t length)
{
    for (int at = count - 1; at >= 0; at--) {
        uint64_t byte = held[at].lock & 0xffff;
        if (held[at].lock >> 16 == file >> 16 && byte >= begin && byte - begin < length)
            end_hold(&held[at]);
    }
}

static int lock_bytes(int file, int command, int trying, struct flock *wanted, void *site)
{
    NEXT(fcntl);
    uint64_t name = name_file(file), since_ns = 0;
    int answer = next_fcntl(file, trying, wanted);
    if (answer != 0 && trying != command && (errno == EAGAIN || errno == EACCES)) {
        since_ns = now_ns();
        answer = next_fcntl(file, command, wanted);
    }
    if (answer != 0 || name == 0 || wanted->l_whence != SEEK_SET)
        return answer;
    uint64_t length = wanted->l_len == 0 ? UINT64_MAX : (uint64_t)wanted->l_len;
    uint64_t begin = (uint64_t)wanted->l_start & 0xffff;
    give_bytes(name, begin, length);
    if (wanted->l_type != F_UNLCK)
        take(name | begin, wanted->l_type == F_WRLCK ? FILE_WRITE : FILE_READ, site, since_ns);
    return answer;
}

#define CONTROL(name)                                          \
    int name(int file, int command, ...)                       \
    {                                                          \
        va_list more;                                          \
        va_start(more, command);                               \
        void *argument = va_arg(more, void *);                 \
        va_end(more);                                          \
        NEXT(name);                                            \
        if (command == F_SETLK || command == F_SETLKW)         \
            return lock_bytes(file, command, F_SETLK, argument, SITE);     \
        if (command == F_OFD_SETLK || command == F_OFD_SETLKW) \
            return lock_bytes(file, command, F_OFD_SETLK, argument, SITE); \
        return next_##name(file, command, argument);           \
    }
CONTROL(fcntl)
CONTROL(fcntl64)

int flock(int file, int operation)
{
    NEXT(flock);
    uint64_t name = name_file(file), since_ns = 0;
    int answer = next_flock(file, operation | LOCK_NB);
    if (answer != 0 && errno == EWOULDBLOCK && !(operation & LOCK_NB)) {
        since_ns = now_ns();
        answer = next_flock(file, operation);
    }
    if (answer != 0 || name == 0)
        return answer;
    give_bytes(name, 0xffff, 1);
    if (!(operation & LOCK_UN))
        take(name | 0xffff, operation & LOCK_EX ? FILE_WRITE : FILE_READ, SITE, since_ns);
    return answer;
}
