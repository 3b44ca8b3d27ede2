/* A bare loop of point selects over one prepared statement: the peer of the driver's.
 *
 * point_select LIBRARY DATABASE PRAGMAS TABLE_SIZE SECONDS SEED
 * prints: selects, wall ns, CPU ns. The library is opened by path, as the driver opens it. */

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { OK = 0, ROW = 100, OPEN_READWRITE = 2, OPEN_NOMUTEX = 0x8000, LOOKS = 256 };

static int (*open_v2)(const char *, void **, int, const char *);
static int (*exec)(void *, const char *, void *, void *, void *);
static int (*prepare_v2)(void *, const char *, int, void **, const char **);
static int (*bind_int64)(void *, int, int64_t);
static int (*step)(void *);
static int (*reset)(void *);
static const unsigned char *(*column_text)(void *, int);
static int (*column_bytes)(void *, int);

static void load(const char *path)
{
    void *library = dlopen(path, RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    *(void **)&open_v2 = dlsym(library, "sqlite3_open_v2");
    *(void **)&exec = dlsym(library, "sqlite3_exec");
    *(void **)&prepare_v2 = dlsym(library, "sqlite3_prepare_v2");
    *(void **)&bind_int64 = dlsym(library, "sqlite3_bind_int64");
    *(void **)&step = dlsym(library, "sqlite3_step");
    *(void **)&reset = dlsym(library, "sqlite3_reset");
    *(void **)&column_text = dlsym(library, "sqlite3_column_text");
    *(void **)&column_bytes = dlsym(library, "sqlite3_column_bytes");
}

static int64_t now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static uint64_t next(uint64_t *state) /* xorshift64* */
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 2685821657736338717ULL;
}

static uint64_t select_one(void *statement, int64_t id)
{
    uint64_t bytes = 0;
    bind_int64(statement, 1, id);
    while (step(statement) == ROW)
        bytes += column_text(statement, 0)[0] + column_bytes(statement, 0);
    reset(statement);
    return bytes;
}

int main(int count, char **words)
{
    void *database, *statement;
    if (count != 7)
        return 64;
    load(words[1]);
    if (open_v2(words[2], &database, OPEN_READWRITE | OPEN_NOMUTEX, NULL) != OK
        || exec(database, words[3], NULL, NULL, NULL) != OK
        || prepare_v2(database, "SELECT c FROM sbtest1 WHERE id=?", -1, &statement, NULL) != OK)
        return 1;
    uint64_t rows = strtoull(words[4], NULL, 10), state = strtoull(words[6], NULL, 10) | 1;
    uint64_t selects = 0, bytes = 0;
    int64_t began = now_ns(CLOCK_MONOTONIC), cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    int64_t end = began + (int64_t)(atof(words[5]) * 1e9);
    while (now_ns(CLOCK_MONOTONIC) < end)
        for (int i = 0; i < LOOKS; i++, selects++)
            bytes += select_one(statement, (int64_t)(next(&state) % rows + 1));
    int64_t wall = now_ns(CLOCK_MONOTONIC) - began;
    cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    printf("%llu %lld %lld %llu\n", (unsigned long long)selects, (long long)wall, (long long)cpu,
           (unsigned long long)bytes);
    return 0;
}
