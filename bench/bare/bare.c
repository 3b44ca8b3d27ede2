/* Point selects over bare sockets, prepared, with random ids: the least that a client can spend.
 *
 *     bare postgres|mysql SOCKET USER DATABASE CONNECTIONS SECONDS IDS SEED plain|ring
 *
 * One thread serves all connections: `plain` sends and receives on one connection, `ring` serves
 * any number through io_uring. No password (trust; an empty one), no library, no statistics.
 * Prints queries, wall ns, user ns, kernel ns; start-up and log-in are not in them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "bare.h"

const struct protocol *spoken;
static uint32_t ids;
static uint64_t random_state;

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

static void connect_to(struct connection *con, const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof at.sun_path)
        stop(path, "longer than a socket's path may be");
    strcpy(at.sun_path, path);
    con->fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (con->fd < 0 || connect(con->fd, (struct sockaddr *)&at, sizeof at))
        stop(path, strerror(errno));
}

static struct connection *open_all(const struct where *where, unsigned count)
{
    struct connection *all = calloc(count, sizeof *all);
    if (!all)
        stop("cannot open the connections", strerror(errno));
    for (unsigned i = 0; i < count; i++) {
        connect_to(&all[i], where->socket);
        spoken->open(&all[i], where);
    }
    return all;
}

static uint64_t ns(struct timeval spent)
{
    return spent.tv_sec * 1000000000ull + spent.tv_usec * 1000ull;
}

static void measure(struct connection *all, unsigned count, double seconds, bool plain)
{
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    uint64_t began = now_ns(), until = began + (uint64_t)(seconds * 1e9);
    uint64_t queries = plain ? play_plain(all, until) : play_ring(all, count, until);
    uint64_t wall = now_ns() - began;
    getrusage(RUSAGE_SELF, &after);
    printf("%lu %lu %lu %lu\n", queries, wall, ns(after.ru_utime) - ns(before.ru_utime),
           ns(after.ru_stime) - ns(before.ru_stime));
}

int main(int argc, char **argv)
{
    if (argc != 10)
        stop("usage", "bare postgres|mysql SOCKET USER DATABASE CONNECTIONS SECONDS IDS SEED "
                      "plain|ring");
    struct where where = {argv[2], argv[3], argv[4]};
    unsigned count = strtoul(argv[5], NULL, 10);
    bool plain = !strcmp(argv[9], "plain");
    if (!count || (plain && count > 1))
        stop(argv[5], "connections: at least one, and only one where they are plain");
    spoken = strcmp(argv[1], mysql.name) ? &postgres : &mysql;
    ids = strtoul(argv[7], NULL, 10);
    random_state = strtoull(argv[8], NULL, 10) | 1;
    measure(open_all(&where, count), count, strtod(argv[6], NULL), plain);
}
