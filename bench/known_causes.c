/* Work of a known length in a part of a server that is known: bench/run known-causes.
 *
 * It is preloaded as the control `inject` preloads its own library, whose count of what was spun it
 * takes over; -DWORK chooses the work, which is fixed by how fast it is at first. What it takes is
 * counted in CPU time of the thread. Both sides read that clock alike.
 */
#include "_inject.c"
#include <string.h>

#define OWN 1     /* a loop in our own recv(2), which servers call through the PLT */
#define PARSER 2  /* PostgreSQL's scanner reads a comment as long as that takes */
#define CHARSET 3 /* MySQL finds a character's place in a text, again and again */

/* Units that are timed at first: some 100 us of work. */
#if WORK == CHARSET
#define TRIED 50
#else
#define TRIED 50000
#endif

static uint64_t work_ns;

static uint64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* After `open_counts`, whose delay would be spun before each answer. */
__attribute__((constructor)) static void take_delay(void)
{
    work_ns = delay_ns;
    delay_ns = 0;
}

#if WORK == PARSER
static char *comment;

static void work(uint64_t units)
{
    static void *(*parse)(const char *, int);
    static size_t length;
    if (parse == NULL)
        parse = (void *(*)(const char *, int))dlsym(RTLD_DEFAULT, "raw_parser");
    if (comment == NULL)
        comment = malloc(1 << 22);
    if (units > (1 << 21))
        units = 1 << 21;
    if (length != units) {
        memset(comment, 'x', units + 4);
        memcpy(comment, "/*", 2);
        memcpy(comment + units + 2, "*/", 3);
        length = units;
    }
    parse(comment, 0);
}
#elif WORK == CHARSET
static void work(uint64_t units)
{
    static size_t (*find)(const void *, const char *, const char *, size_t);
    static const void **latin;
    static char text[4096];
    if (find == NULL) {
        find = (size_t(*)(const void *, const char *, const char *, size_t))
            dlsym(RTLD_DEFAULT, "my_charpos_mb4");
        latin = (const void **)dlsym(RTLD_DEFAULT, "my_charset_utf8mb4_bin");
        memset(text, 'x', sizeof text);
    }
    for (uint64_t i = 0; i < units; i++)
        find(latin, text, text + sizeof text, sizeof text - 1);
}
#else
static void work(uint64_t units)
{
    for (uint64_t i = 0; i < units; i++)
        __asm__ volatile("");
}
#endif

/* Units of work for `work_ns`: the most of five tries, since others take the core meanwhile. */
static uint64_t measure_units(void)
{
    uint64_t most = 1;
    for (int try = 0; try < 5; try++) {
        uint64_t tried = TRIED, begin = cpu_ns();
        work(tried);
        uint64_t took = cpu_ns() - begin, fit = took ? tried * work_ns / took : 1;
        most = fit > most ? fit : most;
    }
    return most;
}

static void work_once(void)
{
    static __thread uint64_t units;
    if (counts == NULL)
        return;
    if (units == 0 && work_ns)
        units = measure_units();
    uint64_t begin = cpu_ns();
    if (work_ns)
        work(units);
    uint64_t spun = cpu_ns() - begin;
    __atomic_fetch_add(&counts->spun_ns, spun, __ATOMIC_RELAXED);
}

#if WORK == PARSER
/* Once a statement, in a backend alone; the hook is PostgreSQL's own variable. */
static void after_analysis(void *state, void *query, void *jumble)
{
    (void)state, (void)query, (void)jumble;
    work_once();
}

__attribute__((constructor)) static void set_hook(void)
{
    void (**hook)(void *, void *, void *) = dlsym(RTLD_DEFAULT, "post_parse_analyze_hook");
    if (hook != NULL)
        *hook = after_analysis;
}
#else
ssize_t recv(int socket, void *bytes, size_t length, int flags)
{
    static ssize_t (*next)(int, void *, size_t, int);
    if (next == NULL)
        next = (ssize_t(*)(int, void *, size_t, int))dlsym(RTLD_NEXT, "recv");
    ssize_t got = next(socket, bytes, length, flags);
    if (got > 0)
        work_once();
    return got;
}
#endif
