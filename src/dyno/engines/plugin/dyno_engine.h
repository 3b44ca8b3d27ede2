/* An engine of one's own for Dyno: what a shared library has to offer so that the workloads `kv`
 * and `micro` are played on it.
 *
 *     dyno engines plugin dyno_engine.h > dyno_engine.h
 *     cc -O2 -g -fPIC -shared -o mine.so mine.c
 *     dyno compare plugin@./mine.so sqlite -w kv
 *
 * The library defines one object, `dyno_engine`, every member of which is set.
 *
 * Calls. A process opens a database once and uses it from many threads at once; a transaction is
 * used by the thread that began it. Whatever is handed in is valid during the call only.
 *
 * Keys are 12 bytes, and are ordered as memcmp orders them. A value has up to a few kilobytes.
 *
 * Answers. A function that answers an int answers 0 or more where it did what it was asked for, as
 * said below. Otherwise it writes why into `error`, in one line that ends in NUL, of at most
 * DYNO_ERROR_BYTES with that, and answers DYNO_FAILED, or DYNO_CONFLICT where the same may do well
 * when it is tried again. The transaction can only be rolled back then.
 */
#ifndef DYNO_ENGINE_H
#define DYNO_ENGINE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. Dyno refuses a library that was compiled with another. */
#define DYNO_ENGINE_ABI 1

#define DYNO_ERROR_BYTES 256
#define DYNO_FAILED (-1)
#define DYNO_CONFLICT (-2)

/* How `put` writes. */
#define DYNO_INSERT 1 /* only where the key is not there yet */
#define DYNO_UPDATE 2 /* only where it is there */

struct dyno_bytes {
    const void *data;
    size_t length;
};

/* A key of a candidate, as in plugin@./mine.so?sync=off. */
struct dyno_setting {
    const char *name;
    const char *value;
};

/* Takes a row; the reader wants no more where it does not answer 0. */
typedef int dyno_row(void *to, struct dyno_bytes key, struct dyno_bytes value);

/* Takes what the engine says of itself. */
typedef void dyno_stat(void *to, const char *name, const char *value);

struct dyno_engine {
    unsigned abi; /* DYNO_ENGINE_ABI */
    const char *name;

    const char *(*version)(void);

    /* Opens the database in `folder`, which is there, and empty for a new one. `database` is handed
     * to all other functions. A setting that the engine does not know is an error. */
    int (*open)(const char *folder, const struct dyno_setting *settings, size_t count,
                void **database, char *error);

    /* Nobody uses the database any more; what was committed stays. */
    void (*close)(void *database);

    /* Begins a transaction that may write. */
    int (*begin)(void *database, void **transaction, char *error);

    /* Ends it, also where that fails. */
    int (*commit)(void *database, void *transaction, char *error);
    int (*rollback)(void *database, void *transaction, char *error);

    /* Of these four `transaction` is NULL where each is to be one by itself. */

    /* Hands the key's row over; 1: it is there, 0: it is not. */
    int (*get)(void *database, void *transaction, struct dyno_bytes key, dyno_row *row, void *to,
               char *error);

    /* Writes a row, `how` says when; 1: it was written, 0: it was not. */
    int (*put)(void *database, void *transaction, struct dyno_bytes key, struct dyno_bytes value,
               int how, char *error);

    /* Deletes a row; 1: it was there, 0: it was not. */
    int (*remove)(void *database, void *transaction, struct dyno_bytes key, char *error);

    /* Hands over at most `limit` rows in the order of their keys, from `first` on; 0. */
    int (*scan)(void *database, void *transaction, struct dyno_bytes first, size_t limit,
                dyno_row *row, void *to, char *error);

    /* Says every setting by its name as it is in force, however it was chosen, and what it counts
     * since it was opened: whole numbers by the names lock_wait_us, pages_read, page_requests,
     * pages_written, pages_spilled, rows_read, log_bytes, fsyncs. It need not say anything. */
    void (*stats)(void *database, dyno_stat *tell, void *to);
};

extern const struct dyno_engine dyno_engine;

#ifdef __cplusplus
}
#endif
#endif
