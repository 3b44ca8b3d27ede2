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
 * Only regular files below `watched` are remembered. Not seen: stdio, calls that a program makes by
 * an instruction of its own, io_uring and io_submit. A writable shared mapping is told by name.
 *
 * No descriptor of a file that the program has open is closed here: that would drop the process's
 * POSIX locks on it (fcntl_locking(2)). So that old bytes can be read through the program's own,
 * files that it opens to write only are opened to be read, too.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* A name of ours must not stand before one of the engine's. */
#pragma GCC visibility push(hidden)

/* The file `state`, as `undo_log.py` makes it: its first line is Dyno's, the rest is ours. */
struct state {
    uint32_t cut;    /* 1: the power is off */
    uint32_t silent; /* 1: a sync returns 0 and does nothing, as a disk that lies */
    char watched[4096];
    char scratch[256]; /* names that end so are no data: "-shm\0server.log\0\0" */
    uint32_t ready;    /* 0: no lock yet; 1: being made; 2: made */
    uint32_t gone;     /* files in the folder `gone`, each named by its number from 1 on */
    pthread_mutex_t lock;
};

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

extern struct state *state; /* NULL: nothing is remembered */
extern int undo_log;
extern char gone[PATH_MAX - 32];

/* syscall(2), which is ours for the engine; by its instruction no other library can leave a call
 * out. */
long call_kernel(long number, ...);

/* False where this thread has it already: a signal handler interrupted us. */
bool take_lock(void);
void leave_lock(bool taken);

void append(enum kind kind, const struct stat *file, uint64_t offset, uint64_t size,
            const void *bytes, size_t length);
/* Keeps what a range holds, as far as the file reaches; under the lock. */
void keep_range(int file, off64_t offset, uint64_t length);
void note_unseen(int file, const struct stat *found);

bool read_path(int file, char path[PATH_MAX]);
bool is_data_path(const char *path);
/* Is it a file that a crash must find? One without a name is gone then anyway. */
bool is_data(int file, struct stat *found);
bool is_data_folder(int file, struct stat *found);

#pragma GCC visibility pop
