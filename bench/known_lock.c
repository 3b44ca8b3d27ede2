/* An engine whose operations need one thing each in turn: cc -O2 -fPIC -shared -o known_lock.so
 * known_lock.c -I src/dyno/engines/plugin; then plugin@./known_lock.so?lock_us=20&free_us=20
 *
 * Settings: lock_us, how long each read holds a mutex; free_us, how long it works outside of it;
 * increments, of one counter that all users share, spread over that work: side by side, a core
 * would do several while it has the line. What is spun is a number of rounds, which are timed when
 * the engine is opened. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dyno_engine.h"

static pthread_mutex_t known_mutex = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(128) uint64_t counter[16];
static double rounds_per_us;
static long lock_us, free_us, increments;

static double now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void spin(double rounds) {
    for (volatile long i = 0; i < (long)rounds; i++)
        ;
}

/* The fastest of several: a core that is taken away makes one longer. */
static void time_rounds(void) {
    for (int tried = 0; tried < 20; tried++) {
        double began = now_us();
        spin(200000);
        double found = 200000 / (now_us() - began);
        rounds_per_us = found > rounds_per_us ? found : rounds_per_us;
    }
}

/* Few rows, in the order of their keys; one user writes them before others read. */
static struct row {
    char key[48], value[192];
    size_t key_length, length;
} rows[256];
static size_t count;
static char path[4096];

static const char *version(void) { return "1"; }

static int open_database(const char *folder, const struct dyno_setting *settings, size_t given,
                         void **database, char *error) {
    struct {
        const char *name;
        long *value;
    } known[] = {{"lock_us", &lock_us}, {"free_us", &free_us}, {"increments", &increments}};
    for (size_t i = 0; i < given; i++) {
        int found = 0;
        for (size_t k = 0; k < 3; k++)
            if (!strcmp(settings[i].name, known[k].name))
                found = 1, *known[k].value = atol(settings[i].value);
        if (!found) {
            snprintf(error, DYNO_ERROR_BYTES, "no setting %s", settings[i].name);
            return DYNO_FAILED;
        }
    }
    snprintf(path, sizeof path, "%s/rows", folder);
    FILE *file = fopen(path, "r");
    if (file != NULL) {
        count = fread(rows, sizeof *rows, sizeof rows / sizeof *rows, file);
        fclose(file);
    }
    time_rounds();
    *database = &known_mutex;
    return 0;
}

/* Nobody reads or writes any more: the rows go into the file that they came from. */
static void close_database(void *database) {
    FILE *file = fopen(path, "w");
    (void)database;
    if (file == NULL)
        return;
    fwrite(rows, sizeof *rows, count, file);
    fclose(file);
}

static int begin(void *database, void **transaction, char *error) {
    (void)error, *transaction = database;
    return 0;
}

static int end(void *database, void *transaction, char *error) {
    (void)database, (void)transaction, (void)error;
    return 0;
}

__attribute__((noinline)) static void hold_known_lock(void) {
    pthread_mutex_lock(&known_mutex);
    spin((double)lock_us * rounds_per_us);
    pthread_mutex_unlock(&known_mutex);
}

static int order(const struct row *row, struct dyno_bytes key) {
    size_t both = row->key_length < key.length ? row->key_length : key.length;
    int found = memcmp(row->key, key.data, both);
    return found ? found : (row->key_length > key.length) - (row->key_length < key.length);
}

static size_t find(struct dyno_bytes key) {
    size_t at = 0;
    while (at < count && order(&rows[at], key) < 0)
        at++;
    return at;
}

static int is_there(size_t at, struct dyno_bytes key) {
    return at < count && !order(&rows[at], key);
}

static int get(void *database, void *transaction, struct dyno_bytes key, dyno_row *row, void *to,
               char *error) {
    size_t at = find(key);
    (void)database, (void)transaction, (void)error;
    if (lock_us)
        hold_known_lock();
    long parts = increments ? increments : 1;
    for (long i = 0; i < parts; i++) {
        if (increments)
            __atomic_fetch_add(&counter[0], 1, __ATOMIC_RELAXED);
        spin((double)free_us * rounds_per_us / (double)parts);
    }
    if (!is_there(at, key))
        return 0;
    row(to, key, (struct dyno_bytes){rows[at].value, rows[at].length});
    return 1;
}

static int put(void *database, void *transaction, struct dyno_bytes key, struct dyno_bytes value,
               int how, char *error) {
    size_t at = find(key);
    int there = is_there(at, key);
    (void)database, (void)transaction;
    if (there == (how == DYNO_INSERT))
        return 0;
    if (value.length > sizeof rows->value || key.length > sizeof rows->key || count == 256) {
        snprintf(error, DYNO_ERROR_BYTES, "255 rows of %zu bytes at most", sizeof rows->value);
        return DYNO_FAILED;
    }
    if (!there)
        memmove(&rows[at + 1], &rows[at], (count++ - at) * sizeof *rows);
    memcpy(rows[at].key, key.data, rows[at].key_length = key.length);
    memcpy(rows[at].value, value.data, value.length);
    rows[at].length = value.length;
    return 1;
}

static int remove_row(void *database, void *transaction, struct dyno_bytes key, char *error) {
    size_t at = find(key);
    (void)database, (void)transaction, (void)error;
    if (!is_there(at, key))
        return 0;
    memmove(&rows[at], &rows[at + 1], (--count - at) * sizeof *rows);
    return 1;
}

static int scan(void *database, void *transaction, struct dyno_bytes first, size_t limit,
                dyno_row *row, void *to, char *error) {
    (void)database, (void)transaction, (void)error;
    for (size_t at = find(first); at < count && limit > 0; at++, limit--)
        if (row(to, (struct dyno_bytes){rows[at].key, rows[at].key_length},
                (struct dyno_bytes){rows[at].value, rows[at].length}))
            break;
    return 0;
}

static void stats(void *database, dyno_stat *tell, void *to) {
    char number[24];
    (void)database;
    snprintf(number, sizeof number, "%ld", lock_us);
    tell(to, "lock_us", number);
    snprintf(number, sizeof number, "%ld", free_us);
    tell(to, "free_us", number);
    snprintf(number, sizeof number, "%ld", increments);
    tell(to, "increments", number);
}

const struct dyno_engine dyno_engine = {
    .abi = DYNO_ENGINE_ABI, .name = "known lock", .version = version, .open = open_database,
    .close = close_database, .begin = begin, .commit = end, .rollback = end, .get = get,
    .put = put, .remove = remove_row, .scan = scan, .stats = stats,
};
