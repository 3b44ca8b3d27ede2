/* A connection of the bare client: its bytes, its next request, and playing on one by itself. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "bare.h"

const struct protocol *spoken;
uint32_t ids;
uint64_t random_state;

_Noreturn void stop(const char *what, const char *cause)
{
    fprintf(stderr, "bare: %s: %s\n", what, cause);
    exit(1);
}

uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ull + now.tv_nsec;
}

void send_all(const struct connection *con, const void *bytes, size_t length)
{
    if (send(con->fd, bytes, length, MSG_NOSIGNAL) != (ssize_t)length)
        stop("cannot send", strerror(errno));
}

void read_until(struct connection *con, size_t length)
{
    if (length > sizeof con->answer)
        stop("cannot read", "an answer too long for a point select");
    while (con->filled < length) {
        ssize_t got = recv(con->fd, con->answer + con->filled, sizeof con->answer - con->filled, 0);
        if (got <= 0)
            stop("cannot read", got ? strerror(errno) : "the server closed the connection");
        con->filled += got;
    }
}

void drop(struct connection *con, size_t length)
{
    memmove(con->answer, con->answer + length, con->filled - length);
    con->filled -= length;
}

/* Marsaglia's xorshift64*, and Lemire's way to a range. */
void next_request(struct connection *con)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    uint64_t high = (random_state * 0x2545f4914f6cdd1dull) >> 32;
    spoken->put_id(con->request + con->id_at, 1 + (uint32_t)(high * ids >> 32));
    con->filled = 0;
}

uint64_t play_plain(struct connection *con, uint64_t until_ns)
{
    uint64_t queries = 0;
    for (; now_ns() < until_ns; queries++) {
        next_request(con);
        send_all(con, con->request, con->request_len);
        while (!spoken->is_whole(con))
            read_until(con, con->filled + 1);
    }
    return queries;
}
