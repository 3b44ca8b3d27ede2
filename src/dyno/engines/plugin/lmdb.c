/* LMDB as an engine of Dyno: cc -O2 -g -fPIC -shared -o lmdb.so lmdb.c -llmdb
 *
 * Settings: sync=on (the default) flushes each commit, sync=off leaves that to the kernel. */
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dyno_engine.h"

struct database {
    MDB_env *env;
    MDB_dbi rows;
    unsigned flags;
};

static MDB_val to_val(struct dyno_bytes it) { return (MDB_val){it.length, (void *)it.data}; }

static struct dyno_bytes to_bytes(MDB_val it) {
    return (struct dyno_bytes){it.mv_data, it.mv_size};
}

/* `answer`, or what a code of LMDB's means; a key that is not there, or is, is no error. */
static int conclude(int code, int answer, char *error) {
    if (!code || code == MDB_NOTFOUND || code == MDB_KEYEXIST)
        return code ? 0 : answer;
    snprintf(error, DYNO_ERROR_BYTES, "%s", mdb_strerror(code));
    return DYNO_FAILED;
}

/* The transaction that is open, or one of its own, which `leave` ends. */
static int enter(void *database, void *open, unsigned flags, MDB_txn **txn) {
    *txn = open;
    return open ? 0 : mdb_txn_begin(((struct database *)database)->env, NULL, flags, txn);
}

static int leave(void *open, MDB_txn *txn, int code, int answer, char *error) {
    if (!open && code)
        mdb_txn_abort(txn);
    else if (!open)
        code = mdb_txn_commit(txn);
    return conclude(code, answer, error);
}

static const char *version(void) { return MDB_VERSION_STRING + strlen("LMDB "); }

static int open_database(const char *folder, const struct dyno_setting *settings, size_t count,
                         void **database, char *error) {
    struct database *db = *database = calloc(1, sizeof *db);
    MDB_txn *txn;
    for (size_t i = 0; i < count; i++) {
        int off = !strcmp(settings[i].value, "off"), on = !strcmp(settings[i].value, "on");
        if (strcmp(settings[i].name, "sync") || !(on || off)) {
            snprintf(error, DYNO_ERROR_BYTES, "no setting %s=%s: sync=on or sync=off",
                     settings[i].name, settings[i].value);
            return DYNO_FAILED;
        }
        db->flags = off ? MDB_NOSYNC : 0;
    }
    int code = mdb_env_create(&db->env);
    /* the most that a database may take; valgrind, which `dyno count` runs, cannot map much more */
    code = code ? code : mdb_env_set_mapsize(db->env, (size_t)1 << 34);
    code = code ? code : mdb_env_open(db->env, folder, db->flags, 0644);
    code = code ? code : mdb_txn_begin(db->env, NULL, 0, &txn);
    code = code ? code : mdb_dbi_open(txn, NULL, MDB_CREATE, &db->rows);
    return conclude(code ? code : mdb_txn_commit(txn), 0, error);
}

static void close_database(void *database) {
    mdb_env_close(((struct database *)database)->env);
    free(database);
}

static int begin(void *database, void **transaction, char *error) {
    return conclude(enter(database, NULL, 0, (MDB_txn **)transaction), 0, error);
}

static int commit(void *database, void *transaction, char *error) {
    return conclude(mdb_txn_commit(transaction), 0, error);
}

static int rollback(void *database, void *transaction, char *error) {
    mdb_txn_abort(transaction);
    return 0;
}

static int get(void *database, void *open, struct dyno_bytes key, dyno_row *row, void *to,
               char *error) {
    MDB_val name = to_val(key), value;
    MDB_txn *txn;
    int code = enter(database, open, MDB_RDONLY, &txn);
    code = code ? code : mdb_get(txn, ((struct database *)database)->rows, &name, &value);
    if (!code)
        row(to, key, to_bytes(value));
    return leave(open, txn, code, 1, error);
}

static int put(void *database, void *open, struct dyno_bytes key, struct dyno_bytes value, int how,
               char *error) {
    MDB_dbi rows = ((struct database *)database)->rows;
    MDB_val name = to_val(key), bytes = to_val(value), old;
    unsigned flags = how == DYNO_INSERT ? MDB_NOOVERWRITE : 0;
    MDB_txn *txn;
    int code = enter(database, open, 0, &txn);
    if (!code && how == DYNO_UPDATE)
        code = mdb_get(txn, rows, &name, &old);
    code = code ? code : mdb_put(txn, rows, &name, &bytes, flags);
    return leave(open, txn, code, 1, error);
}

static int remove_row(void *database, void *open, struct dyno_bytes key, char *error) {
    MDB_val name = to_val(key);
    MDB_txn *txn;
    int code = enter(database, open, 0, &txn);
    code = code ? code : mdb_del(txn, ((struct database *)database)->rows, &name, NULL);
    return leave(open, txn, code, 1, error);
}

static int scan(void *database, void *open, struct dyno_bytes first, size_t limit, dyno_row *row,
                void *to, char *error) {
    MDB_val name = to_val(first), value;
    MDB_cursor *cursor = NULL;
    MDB_txn *txn;
    int code = enter(database, open, MDB_RDONLY, &txn);
    code = code ? code : mdb_cursor_open(txn, ((struct database *)database)->rows, &cursor);
    code = code ? code : mdb_cursor_get(cursor, &name, &value, MDB_SET_RANGE);
    while (!code && limit-- && !row(to, to_bytes(name), to_bytes(value)))
        code = mdb_cursor_get(cursor, &name, &value, MDB_NEXT);
    if (cursor)
        mdb_cursor_close(cursor);
    return leave(open, txn, code, 0, error);
}

static void stats(void *database, dyno_stat *tell, void *to) {
    tell(to, "sync", ((struct database *)database)->flags & MDB_NOSYNC ? "off" : "on");
}

const struct dyno_engine dyno_engine = {
    .abi = DYNO_ENGINE_ABI, .name = "LMDB", .version = version, .open = open_database,
    .close = close_database, .begin = begin, .commit = commit, .rollback = rollback,
    .get = get, .put = put, .remove = remove_row, .scan = scan, .stats = stats,
};
