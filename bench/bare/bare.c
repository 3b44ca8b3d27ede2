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

#include "bare.h"

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
