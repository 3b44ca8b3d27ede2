/* An engine whose operations need one thing each in turn: cc -O2 -fPIC -shared -o known_lock.so
 * known_lock.c -I src/dyno/engines/plugin; then plugin@./known_lock.so?lock_us=20&free_us=20
 *
 * Settings: lock_us, how long each read holds a mutex; free_us, how long it works outside of it;
 * increments, of one counter that all users share. What is spun is a number of rounds, which are
 * timed when the engine is opened. */
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

static const char *version(void) { return "1"; }

static int open_database(const char *folder, const struct dyno_setting *settings, size_t count,
                         void **database, char *error) {
    struct {
        const char *name;
        long *value;
    } known[] = {{"lock_us", &lock_us}, {"free_us", &free_us}, {"increments", &increments}};
    (void)folder;
    for (size_t i = 0; i < count; i++) {
        int found = 0;
        for (size_t k = 0; k < 3; k++)
            if (!strcmp(settings[i].name, known[k].name))
                found = 1, *known[k].value = atol(settings[i].value);
        if (!found) {
            snprintf(error, DYNO_ERROR_BYTES, "no setting %s", settings[i].name);
            return DYNO_FAILED;
        }
    }
    time_rounds();
    *database = &known_mutex;
    return 0;
}

static void close_database(void *database) { (void)database; }

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

static int get(void *database, void *transaction, struct dyno_bytes key, dyno_row *row, void *to,
               char *error) {
    static const char value[120];
    (void)database, (void)transaction, (void)error;
    if (lock_us)
        hold_known_lock();
    for (long i = 0; i < increments; i++)
        __atomic_fetch_add(&counter[0], 1, __ATOMIC_RELAXED);
    spin((double)free_us * rounds_per_us);
    row(to, key, (struct dyno_bytes){value, sizeof value});
    return 1;
}

static int put(void *database, void *transaction, struct dyno_bytes key, struct dyno_bytes value,
               int how, char *error) {
    (void)database, (void)transaction, (void)key, (void)value, (void)error;
    return how == DYNO_INSERT;
}

static int remove_row(void *database, void *transaction, struct dyno_bytes key, char *error) {
    (void)database, (void)transaction, (void)key, (void)error;
    return 0;
}

static int scan(void *database, void *transaction, struct dyno_bytes first, size_t limit,
                dyno_row *row, void *to, char *error) {
    (void)database, (void)transaction, (void)first, (void)limit, (void)row, (void)to, (void)error;
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
