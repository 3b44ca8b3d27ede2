/* MySQL's protocol 10, as much as a prepared point select takes. */
#include <endian.h>
#include <string.h>

#include "bare.h"

enum {
    LONG_PASSWORD = 1, WITH_DATABASE = 8, PROTOCOL_41 = 512, TRANSACTIONS = 8192,
    SECURE_CONNECTION = 32768, PLUGIN_AUTH = 1 << 19,
    STMT_PREPARE = 0x16, STMT_EXECUTE = 0x17, TYPE_LONG = 3, HEADER = 4,
};

static void put_u32(unsigned char *at, uint32_t value)
{
    value = htole32(value);
    memcpy(at, &value, 4);
}

static uint32_t get_u24(const unsigned char *at)
{
    return at[0] | at[1] << 8 | at[2] << 16;
}

static void refuse_error(const struct connection *con, size_t at)
{
    if (con->answer[at + HEADER] == 0xff)
        stop("the server refuses", (const char *)con->answer + at + HEADER + 3);
}

/* A result set ends with its second EOF packet, the first follows the columns. Rows begin with 0 */
static bool is_whole(const struct connection *con)
{
    int ends = 0;
    for (size_t at = 0; at + HEADER < con->filled;) {
        uint32_t length = get_u24(con->answer + at);
        refuse_error(con, at);
        ends += con->answer[at + HEADER] == 0xfe && length < 9;
        at += HEADER + length;
        if (ends == 2)
            return at == con->filled;
    }
    return false;
}

/* Waits for one packet and answers its length, header included. */
static size_t await_packet(struct connection *con)
{
    read_until(con, HEADER);
    size_t length = HEADER + get_u24(con->answer);
    read_until(con, length);
    refuse_error(con, 0);
    return length;
}

static void log_in(struct connection *con, const struct where *where)
{
    unsigned char message[256] = {0};
    unsigned char *at = message + HEADER + 32;
    drop(con, await_packet(con));
    if (strlen(where->user) + strlen(where->database) > 128)
        stop(where->user, "too long a name");
    put_u32(message + HEADER, LONG_PASSWORD | WITH_DATABASE | PROTOCOL_41 | TRANSACTIONS |
                                  SECURE_CONNECTION | PLUGIN_AUTH);
    put_u32(message + HEADER + 4, 1 << 24);
    message[HEADER + 8] = 33; /* utf8 */
    at = (unsigned char *)stpcpy((char *)at, where->user) + 1;
    *at++ = 0; /* an empty password is an empty answer, whatever the method */
    at = (unsigned char *)stpcpy((char *)at, where->database) + 1;
    at = (unsigned char *)stpcpy((char *)at, "mysql_native_password") + 1;
    message[0] = at - message - HEADER;
    message[3] = 1;
    send_all(con, message, at - message);
    size_t length = await_packet(con);
    if (con->answer[HEADER] == 0xfe) { /* another method, please: still empty */
        unsigned char empty[HEADER] = {0, 0, 0, con->answer[3] + 1};
        drop(con, length);
        send_all(con, empty, HEADER);
        length = await_packet(con);
    }
    drop(con, length);
}

/* Prepares, and answers the statement's number; one parameter and one column are described. */
static uint32_t prepare(struct connection *con)
{
    static const char sql[] = POINT_SELECT "?";
    unsigned char message[128] = {sizeof sql, 0, 0, 0, STMT_PREPARE};
    memcpy(message + 5, sql, sizeof sql - 1);
    send_all(con, message, HEADER + sizeof sql);
    size_t length = await_packet(con);
    uint32_t statement;
    memcpy(&statement, con->answer + HEADER + 1, 4);
    drop(con, length);
    for (int packet = 0; packet < 4; packet++)
        drop(con, await_packet(con));
    return statement;
}

static void open_connection(struct connection *con, const struct where *where)
{
    /* after the number: no cursor, one iteration, no NULL, types follow, a signed long, a value */
    unsigned char first[] = {18, 0, 0, 0, STMT_EXECUTE, 0, 0, 0, 0, 0, 1, 0,
                             0,  0, 0, 1, TYPE_LONG,    0, 1, 0, 0, 0};
    log_in(con, where);
    uint32_t statement = prepare(con);
    memcpy(first + 5, &statement, 4);
    send_all(con, first, sizeof first);
    while (!is_whole(con))
        read_until(con, con->filled + 1);
    /* types are sent once */
    memcpy(con->request, first, 15);
    con->request[0] = 16;
    con->request_len = 20;
    con->id_at = 16;
}

const struct protocol mysql = {"mysql", open_connection, put_u32, is_whole};
