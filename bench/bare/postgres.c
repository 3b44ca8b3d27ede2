/* PostgreSQL's protocol 3.0, as much as a prepared point select takes. */
#include <endian.h>
#include <string.h>

#include "bare.h"

static void put_u32(unsigned char *at, uint32_t value)
{
    value = htobe32(value);
    memcpy(at, &value, 4);
}

static uint32_t get_u32(const unsigned char *at)
{
    uint32_t value;
    memcpy(&value, at, 4);
    return be32toh(value);
}

/* Ends with ReadyForQuery; other messages are skipped by their length. */
static bool is_whole(const struct connection *con)
{
    for (size_t at = 0; at + 5 <= con->filled;) {
        unsigned char type = con->answer[at];
        if (type == 'E')
            stop("the server refuses", (const char *)con->answer + at + 5);
        if (type == 'R' && at + 9 <= con->filled && get_u32(con->answer + at + 5))
            stop("the server asks for a password", "only trust is spoken here");
        at += 1 + get_u32(con->answer + at + 1);
        if (type == 'Z')
            return at == con->filled;
    }
    return false;
}

static void await(struct connection *con)
{
    while (!is_whole(con))
        read_until(con, con->filled + 1);
    con->filled = 0;
}

static void log_in(struct connection *con, const struct where *where)
{
    unsigned char message[256] = {0};
    const char *words[] = {"user", where->user, "database", where->database};
    size_t length = 8;
    put_u32(message + 4, 196608);
    for (int i = 0; i < 4; i++) {
        size_t word = strlen(words[i]) + 1;
        if (length + word >= sizeof message)
            stop(words[i], "too long a name");
        memcpy(message + length, words[i], word);
        length += word;
    }
    put_u32(message, ++length);
    send_all(con, message, length);
    await(con);
}

static void prepare(struct connection *con)
{
    /* Parse: statement "s", one parameter of type int4 (OID 23); then Sync */
    static const char sql[] = POINT_SELECT "$1";
    static const unsigned char types[] = {0, 1, 0, 0, 0, 23, 'S', 0, 0, 0, 4};
    unsigned char message[128] = {'P', 0, 0, 0, 0, 's', 0};
    memcpy(message + 7, sql, sizeof sql);
    memcpy(message + 7 + sizeof sql, types, sizeof types);
    put_u32(message + 1, 4 + 2 + sizeof sql + 6);
    send_all(con, message, 7 + sizeof sql + sizeof types);
    await(con);
}

static void open_connection(struct connection *con, const struct where *where)
{
    /* Bind to the unnamed portal: a binary parameter of 4 bytes, results as text; Execute; Sync */
    static const unsigned char request[] = {
        'B', 0, 0, 0, 23, 0, 's', 0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0,
        'E', 0, 0, 0, 9, 0, 0, 0, 0, 0, 'S', 0, 0, 0, 4,
    };
    log_in(con, where);
    prepare(con);
    memcpy(con->request, request, sizeof request);
    con->request_len = sizeof request;
    con->id_at = 18;
}

const struct protocol postgres = {"postgres", open_connection, put_u32, is_whole};
