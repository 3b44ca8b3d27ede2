/* RocksDB as an engine of Dyno: cc -O2 -g -fPIC -shared -o rocksdb.so rocksdb.c -lrocksdb
 *
 * Settings: sync=on flushes each commit's log, sync=off (the default) leaves that to the kernel.
 * Transactions lock the rows that they write; one that waits too long for another is a conflict. */
#include <rocksdb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dyno_engine.h"

#ifndef ROCKSDB_VERSION /* its C header has none: -DROCKSDB_VERSION='"7.8.3"' */
#define ROCKSDB_VERSION "by its C API"
#endif

struct database {
    rocksdb_transactiondb_t *rows;
    rocksdb_readoptions_t *reading;
    rocksdb_writeoptions_t *writing;
    rocksdb_transaction_options_t *locking;
    int sync;
};

/* `answer`, or what RocksDB's words mean. */
static int conclude(char *words, int answer, char *error) {
    if (!words)
        return answer;
    int busy = strstr(words, "Busy") || strstr(words, "TimedOut") || strstr(words, "timed out");
    snprintf(error, DYNO_ERROR_BYTES, "%s", words);
    rocksdb_free(words);
    return busy ? DYNO_CONFLICT : DYNO_FAILED;
}

static const char *version(void) { return ROCKSDB_VERSION; }

static int open_database(const char *folder, const struct dyno_setting *settings, size_t count,
                         void **database, char *error) {
    struct database *db = *database = calloc(1, sizeof *db);
    char *words = NULL;
    for (size_t i = 0; i < count; i++) {
        int off = !strcmp(settings[i].value, "off"), on = !strcmp(settings[i].value, "on");
        if (strcmp(settings[i].name, "sync") || !(on || off)) {
            snprintf(error, DYNO_ERROR_BYTES, "no setting %s=%s: sync=on or sync=off",
                     settings[i].name, settings[i].value);
            return DYNO_FAILED;
        }
        db->sync = on;
    }
    rocksdb_options_t *options = rocksdb_options_create();
    rocksdb_options_set_create_if_missing(options, 1);
    db->reading = rocksdb_readoptions_create();
    db->writing = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(db->writing, db->sync);
    db->locking = rocksdb_transaction_options_create();
    db->rows =
        rocksdb_transactiondb_open(options, rocksdb_transactiondb_options_create(), folder, &words);
    return conclude(words, 0, error);
}

static void close_database(void *database) {
    rocksdb_transactiondb_close(((struct database *)database)->rows);
    free(database);
}

static int begin(void *database, void **transaction, char *error) {
    struct database *db = database;
    *transaction = rocksdb_transaction_begin(db->rows, db->writing, db->locking, NULL);
    return 0;
}

static int commit(void *database, void *transaction, char *error) {
    char *words = NULL;
    rocksdb_transaction_commit(transaction, &words);
    rocksdb_transaction_destroy(transaction);
    return conclude(words, 0, error);
}

static int rollback(void *database, void *transaction, char *error) {
    char *words = NULL;
    rocksdb_transaction_rollback(transaction, &words);
    rocksdb_transaction_destroy(transaction);
    return conclude(words, 0, error);
}

static int get(void *database, void *open, struct dyno_bytes key, dyno_row *row, void *to,
               char *error) {
    struct database *db = database;
    char *words = NULL, *found;
    struct dyno_bytes value = {0};
    found = open ? rocksdb_transaction_get(open, db->reading, key.data, key.length, &value.length,
                                           &words)
                 : rocksdb_transactiondb_get(db->rows, db->reading, key.data, key.length,
                                             &value.length, &words);
    value.data = found;
    if (found)
        row(to, key, value);
    rocksdb_free(found);
    return conclude(words, found != NULL, error);
}

/* Writes or (without a value) deletes a row, where it is there or is not as `how` wants it.
 *
 * RocksDB can write without that look. Where no workload deletes, an update may leave it out. */
static int change(struct database *db, void *txn, struct dyno_bytes key,
                  const struct dyno_bytes *value, int how, char *error) {
    char *words = NULL;
    size_t length;
    char *old = rocksdb_transaction_get_for_update(txn, db->reading, key.data, key.length, &length,
                                                   1, &words);
    int fits = (old != NULL) == (how == DYNO_UPDATE);
    rocksdb_free(old);
    if (!words && fits && value)
        rocksdb_transaction_put(txn, key.data, key.length, value->data, value->length, &words);
    else if (!words && fits)
        rocksdb_transaction_delete(txn, key.data, key.length, &words);
    return conclude(words, fits, error);
}

/* The same in the transaction that is open, or in one of its own. */
static int change_within(void *database, void *open, struct dyno_bytes key,
                         const struct dyno_bytes *value, int how, char *error) {
    void *txn = open;
    if (!open)
        begin(database, &txn, error);
    int answer = change(database, txn, key, value, how, error);
    int ended = open ? 0 : (answer > 0 ? commit : rollback)(database, txn, error);
    return ended ? ended : answer;
}

static int put(void *database, void *open, struct dyno_bytes key, struct dyno_bytes value, int how,
               char *error) {
    return change_within(database, open, key, &value, how, error);
}

static int remove_row(void *database, void *open, struct dyno_bytes key, char *error) {
    return change_within(database, open, key, NULL, DYNO_UPDATE, error);
}

static int scan(void *database, void *open, struct dyno_bytes first, size_t limit, dyno_row *row,
                void *to, char *error) {
    struct database *db = database;
    char *words = NULL;
    rocksdb_iterator_t *at = open ? rocksdb_transaction_create_iterator(open, db->reading)
                                  : rocksdb_transactiondb_create_iterator(db->rows, db->reading);
    rocksdb_iter_seek(at, first.data, first.length);
    for (; limit && rocksdb_iter_valid(at); limit--, rocksdb_iter_next(at)) {
        struct dyno_bytes key, value;
        key.data = rocksdb_iter_key(at, &key.length);
        value.data = rocksdb_iter_value(at, &value.length);
        if (row(to, key, value))
            break;
    }
    rocksdb_iter_get_error(at, &words);
    rocksdb_iter_destroy(at);
    return conclude(words, 0, error);
}

static void stats(void *database, dyno_stat *tell, void *to) {
    tell(to, "sync", ((struct database *)database)->sync ? "on" : "off");
}

const struct dyno_engine dyno_engine = {
    .abi = DYNO_ENGINE_ABI, .name = "RocksDB", .version = version, .open = open_database,
    .close = close_database, .begin = begin, .commit = commit, .rollback = rollback,
    .get = get, .put = put, .remove = remove_row, .scan = scan, .stats = stats,
};
