/* io_uring by its bare system calls: one thread issues and reaps, completions run when it waits. */
#include <errno.h>
#include <linux/io_uring.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <stdlib.h>

#include "bare.h"

static struct {
    int fd;
    unsigned mask, tail, *shared_tail, to_submit;
    unsigned done_mask, *done_head, *done_tail;
    struct io_uring_sqe *requests;
    struct io_uring_cqe *done;
} ring;

static void *map(off_t what, size_t size)
{
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring.fd, what);
    if (at == MAP_FAILED)
        stop("cannot map the ring", strerror(errno));
    return at;
}

static void check(long result, const char *what)
{
    if (result < 0)
        stop(what, strerror(errno));
}

/* Files and the ring itself are registered: no look-up of a descriptor per request. */
static void register_files(struct connection *all, unsigned count)
{
    int *files = calloc(count, sizeof *files);
    for (unsigned i = 0; i < count; i++)
        files[i] = all[i].fd;
    check(syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_FILES, files, count),
          "cannot register the sockets");
    free(files);
    struct io_uring_rsrc_update self = {.offset = -1u, .data = ring.fd};
    check(syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_RING_FDS, &self, 1),
          "cannot register the ring");
    ring.fd = self.offset;
}

static void open_ring(struct connection *all, unsigned count)
{
    struct io_uring_params params = {.flags = IORING_SETUP_SINGLE_ISSUER |
                                              IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CLAMP};
    ring.fd = syscall(SYS_io_uring_setup, 2 * count, &params);
    check(ring.fd, "cannot make a ring");
    char *sq = map(IORING_OFF_SQ_RING, params.sq_off.array + params.sq_entries * sizeof(unsigned));
    char *cq = map(IORING_OFF_CQ_RING,
                   params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe));
    ring.requests = map(IORING_OFF_SQES, params.sq_entries * sizeof(struct io_uring_sqe));
    ring.mask = params.sq_entries - 1;
    ring.shared_tail = (unsigned *)(sq + params.sq_off.tail);
    unsigned *array = (unsigned *)(sq + params.sq_off.array);
    for (unsigned i = 0; i < params.sq_entries; i++)
        array[i] = i;
    ring.done = (struct io_uring_cqe *)(cq + params.cq_off.cqes);
    ring.done_mask = params.cq_entries - 1;
    ring.done_head = (unsigned *)(cq + params.cq_off.head);
    ring.done_tail = (unsigned *)(cq + params.cq_off.tail);
    register_files(all, count);
}

static struct io_uring_sqe *put(unsigned opcode, unsigned file, void *bytes, size_t length)
{
    struct io_uring_sqe *request = &ring.requests[ring.tail++ & ring.mask];
    *request = (struct io_uring_sqe){.opcode = opcode, .flags = IOSQE_FIXED_FILE, .fd = file,
                                     .addr = (uintptr_t)bytes, .len = length, .user_data = file};
    ring.to_submit++;
    return request;
}

/* `first`: nothing can have come yet, so poll before reading. */
static void receive(struct connection *con, unsigned file, bool first)
{
    size_t room = sizeof con->answer - con->filled;
    struct io_uring_sqe *request = put(IORING_OP_RECV, file, con->answer + con->filled, room);
    request->ioprio = first ? IORING_RECVSEND_POLL_FIRST : 0;
}

/* A send is heard of only where it failed. */
static void ask(struct connection *con, unsigned file)
{
    next_request(con);
    struct io_uring_sqe *request = put(IORING_OP_SEND, file, con->request, con->request_len);
    request->flags |= IOSQE_CQE_SKIP_SUCCESS;
    request->msg_flags = MSG_NOSIGNAL | MSG_WAITALL;
    receive(con, file, true);
}

static void submit_and_wait(void)
{
    __atomic_store_n(ring.shared_tail, ring.tail, __ATOMIC_RELEASE);
    long took = syscall(SYS_io_uring_enter, ring.fd, ring.to_submit, 1,
                        IORING_ENTER_GETEVENTS | IORING_ENTER_REGISTERED_RING, NULL, 0);
    if (took < 0 && errno != EINTR)
        stop("cannot enter the ring", strerror(errno));
    ring.to_submit -= took > 0 ? took : 0;
}

static bool take(struct connection *con, const struct io_uring_cqe *done)
{
    if (done->res <= 0)
        stop("the connection is lost", strerror(-done->res));
    con->filled += done->res;
    return spoken->is_whole(con);
}

uint64_t play_ring(struct connection *all, unsigned count, uint64_t until_ns)
{
    uint64_t queries = 0;
    open_ring(all, count);
    for (unsigned i = 0; i < count; i++)
        ask(&all[i], i);
    for (unsigned waiting = count; waiting;) {
        submit_and_wait();
        bool over = now_ns() >= until_ns;
        unsigned head = *ring.done_head, tail = __atomic_load_n(ring.done_tail, __ATOMIC_ACQUIRE);
        for (; head != tail; head++) {
            const struct io_uring_cqe *done = &ring.done[head & ring.done_mask];
            unsigned i = done->user_data;
            if (!take(&all[i], done)) {
                receive(&all[i], i, false);
                continue;
            }
            queries++;
            if (over)
                waiting--;
            else
                ask(&all[i], i);
        }
        __atomic_store_n(ring.done_head, head, __ATOMIC_RELEASE);
    }
    return queries;
}
