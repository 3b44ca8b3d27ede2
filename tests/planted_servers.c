/* What a server sends and receives, changed: bits of the number in DYNO_INJECT say in which ways.
 * An answer is touched by the one fault that a column of it is named after (`plant_s`), a statement
 * where it names the table `faulted`. No number of bytes changes, but by a row that is left out. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum { UNSORTED = 1, SHORT, LOST_NULL, LAST_DIGIT, COLLATION, OTHER_ROWS, UNCHECKED, UNFIRED };
enum { ROWS_MOST = 4096 };

static int faults;
static __thread int is_mysql;

static int is_chosen(int fault)
{
    return faults >> (fault - 1) & 1;
}

__attribute__((constructor)) static void choose(void)
{
    const char *size = getenv("DYNO_INJECT");
    faults = size ? atoi(size) : 0;
}

typedef struct {
    unsigned char *at;
    size_t length; /* with its head */
} Row;

static size_t get32(const unsigned char *at)
{
    return (size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3];
}

static size_t get24(const unsigned char *at)
{
    return at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16;
}

/* A value of a row: the last digit of one with many behind a point is another. */
static void change_digit(unsigned char *value, size_t length)
{
    unsigned char *point = memchr(value, '.', length);
    if (point != NULL && value + length - point > 6)
        value[length - 1] = value[length - 1] == '7' ? '6' : '7';
}

static void change_postgres_row(Row row, int fault)
{
    unsigned char *at = row.at + 7, *end = row.at + row.length;
    while (at + 4 <= end) {
        size_t length = get32(at);
        if (length == 0xffffffff) {
            if (fault == LOST_NULL)
                memset(at, 0, 4);
            length = 0;
        } else if (fault == LAST_DIGIT) {
            change_digit(at + 4, length);
        }
        at += 4 + length;
    }
}

static void change_mysql_row(Row row, int fault)
{
    unsigned char *at = row.at + 4, *end = row.at + row.length;
    while (at < end) {
        size_t length = *at;
        if (length == 0xfb) {
            if (fault == LOST_NULL)
                *at = 0;
            length = 0;
        } else if (length > 0xfb) {
            return;
        } else if (fault == LAST_DIGIT) {
            change_digit(at + 1, length);
        }
        at += 1 + length;
    }
}

/* The fault that an answer's columns name; 0: none. */
static int find_mark(const unsigned char *bytes, size_t length)
{
    static const char marks[] = "slnf";
    const char *mark = memmem(bytes, length, "plant_", 6);
    const char *at = mark && mark[6] ? strchr(marks, mark[6]) : NULL;
    return at && is_chosen((int)(at - marks) + 1) ? (int)(at - marks) + 1 : 0;
}

/* The rows of the first marked answer in what is sent; how many. */
static int find_postgres_rows(unsigned char *bytes, size_t length, Row *rows)
{
    int count = 0, marked = 0;
    for (unsigned char *at = bytes; at + 5 <= bytes + length;) {
        size_t own = 1 + get32(at + 1);
        if (at + own > bytes + length)
            return 0;
        if (at[0] == 'T')
            marked = find_mark(at, own);
        if (at[0] == 'D' && marked && count < ROWS_MOST)
            rows[count++] = (Row){at, own};
        if (at[0] == 'C' && count > 0)
            return count;
        at += own;
    }
    return 0;
}

static int find_mysql_rows(unsigned char *bytes, size_t length, Row *rows)
{
    int count = 0, ends = 0;
    size_t columns = bytes[4], packet = 0;
    for (unsigned char *at = bytes; at + 5 <= bytes + length; packet++) {
        size_t own = 4 + get24(at);
        if (at + own > bytes + length)
            return 0;
        if (packet > columns) {
            if (at[4] == 0xfe && own < 20) {
                /* one end stands behind the columns, unless the client wants none */
                if (ends++ || count)
                    return count;
            } else if (count < ROWS_MOST) {
                rows[count++] = (Row){at, own};
            }
        }
        at += own;
    }
    return 0;
}

static void swap_rows(Row first, Row second)
{
    unsigned char *copy = malloc(first.length + second.length);
    memcpy(copy, second.at, second.length);
    memcpy(copy + second.length, first.at, first.length);
    if (is_mysql) {
        copy[3] = first.at[3];
        copy[second.length + 3] = second.at[3];
    }
    memcpy(first.at, copy, first.length + second.length);
    free(copy);
}

/* Without its last row; how many bytes are left. */
static size_t drop_row(unsigned char *bytes, size_t length, Row last)
{
    unsigned char *rest = last.at + last.length, *end = bytes + length;
    memmove(last.at, rest, (size_t)(end - rest));
    length -= last.length;
    if (is_mysql)
        for (unsigned char *at = last.at; at + 4 <= bytes + length; at += 4 + get24(at))
            at[3]--;
    return length;
}

static size_t change_sent(unsigned char *bytes, size_t length)
{
    static __thread Row rows[ROWS_MOST];
    int fault = find_mark(bytes, length);
    if (fault == 0)
        return length;
    is_mysql = get24(bytes) == 1 && bytes[3] == 1;
    int count = (is_mysql ? find_mysql_rows : find_postgres_rows)(bytes, length, rows);
    if (fault == UNSORTED && count > 1)
        swap_rows(rows[0], rows[1]);
    if (fault == SHORT && count > 1)
        return drop_row(bytes, length, rows[count - 1]);
    for (int at = 0; at < count; at++)
        (is_mysql ? change_mysql_row : change_postgres_row)(rows[at], fault);
    return length;
}

/* Text in a statement in the place of other text of the same length. */
static void replace_text(char *bytes, size_t length, const char *old, const char *new)
{
    char *at = memmem(bytes, length, old, strlen(old));
    if (at != NULL)
        memcpy(at, new, strlen(new));
}

static void change_received(char *bytes, size_t length)
{
    if (length == 0 || memmem(bytes, length, "faulted", 7) == NULL)
        return;
    if (is_chosen(COLLATION)) {
        replace_text(bytes, length, "COLLATE \"C\"        ", "COLLATE \"und-x-icu\"");
        replace_text(bytes, length, "COLLATE utf8mb4_bin       ", "COLLATE utf8mb4_general_ci");
    }
    if (is_chosen(UNCHECKED))
        replace_text(bytes, length, "code INTEGER UNIQUE", "code INTEGER       ");
    if (is_chosen(UNFIRED))
        replace_text(bytes, length, "1 /*fires*/", "0 /*fires*/");
    char *update = memmem(bytes, length, "UPDATE faulted SET", 18);
    size_t left = update ? length - (size_t)(update - bytes) : 0;
    char *key = update ? memmem(update, left, "WHERE id = ", 11) : NULL;
    if (is_chosen(OTHER_ROWS) && key != NULL && key + 11 < bytes + length)
        key[11] = key[11] == '1' ? '2' : '1';
}

ssize_t send(int socket, const void *bytes, size_t length, int flags)
{
    static ssize_t (*real)(int, const void *, size_t, int);
    if (real == NULL)
        real = (ssize_t(*)(int, const void *, size_t, int))dlsym(RTLD_NEXT, "send");
    if (faults == 0 || length < 9 || length > 1 << 20)
        return real(socket, bytes, length, flags);
    unsigned char *copy = malloc(length);
    memcpy(copy, bytes, length);
    size_t own = change_sent(copy, length);
    ssize_t sent = real(socket, copy, own, flags);
    free(copy);
    return sent == (ssize_t)own ? (ssize_t)length : sent;
}

ssize_t recv(int socket, void *bytes, size_t length, int flags)
{
    static ssize_t (*real)(int, void *, size_t, int);
    if (real == NULL)
        real = (ssize_t(*)(int, void *, size_t, int))dlsym(RTLD_NEXT, "recv");
    ssize_t came = real(socket, bytes, length, flags);
    if (faults != 0 && came > 0)
        change_received(bytes, (size_t)came);
    return came;
}
