/* What the parts of the bare client share: a connection, and what it needs of a protocol. */
#ifndef BARE_H
#define BARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the server is, and who asks. */
struct where {
    const char *socket, *user, *database;
};

/* A connection: its request, ready but for the id, and what has come of the answer. */
struct connection {
    int fd;
    size_t request_len, id_at;
    unsigned char request[128];
    size_t filled;
    unsigned char answer[8192];
};

struct protocol {
    const char *name;
    /* Logs in, prepares the point select and makes the request ready. */
    void (*open)(struct connection *, const struct where *);
    void (*put_id)(unsigned char *at, uint32_t id);
    /* Is the answer whole? Ends the program where it is an error. */
    bool (*is_whole)(const struct connection *);
};

extern const struct protocol postgres, mysql;

/* SQL of the point select up to its parameter, which each protocol writes in its own way. */
#define POINT_SELECT "SELECT c FROM sbtest1 WHERE id="

/* Ends the program with a sentence. */
_Noreturn void stop(const char *what, const char *cause);
/* Sends all of it, blocking. */
void send_all(const struct connection *, const void *bytes, size_t length);
/* Reads until `length` bytes of the answer are there, blocking. */
void read_until(struct connection *, size_t length);
/* Forgets the first bytes of the answer. */
void drop(struct connection *, size_t length);

/* Writes the next random id into the request. */
void next_request(struct connection *);
/* Plays until CLOCK_MONOTONIC says `until_ns`; answers how many queries were answered. */
uint64_t play_plain(struct connection *, uint64_t until_ns);
uint64_t play_ring(struct connection *, unsigned count, uint64_t until_ns);
uint64_t now_ns(void);
extern const struct protocol *spoken;
/* How many rows there are to ask for, and where the random numbers stand. */
extern uint32_t ids;
extern uint64_t random_state;

#endif
