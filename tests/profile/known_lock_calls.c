/* Takes locks so often that it is known: threads, times each, a file, and any word where one thread
 * begins when another has ended. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t all = PTHREAD_MUTEX_INITIALIZER, twice;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t guarded = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spun;
static int times;

static void rest(long ms) { nanosleep(&(struct timespec){0, ms * 1000000}, NULL); }

__attribute__((noinline)) static void take_all(void) {
    pthread_mutex_lock(&all);
    rest(2);
    pthread_mutex_unlock(&all);
}

__attribute__((noinline)) static void take_own(pthread_mutex_t *own) {
    pthread_mutex_lock(own);
    pthread_mutex_unlock(own);
}

static void *work(void *own) {
    for (int i = 0; i < times; i++) {
        take_all();
        take_own(own);
        pthread_rwlock_rdlock(&guarded);
        pthread_rwlock_unlock(&guarded);
        pthread_rwlock_wrlock(&guarded);
        pthread_rwlock_unlock(&guarded);
        pthread_spin_lock(&spun);
        pthread_spin_unlock(&spun);
    }
    return NULL;
}

/* A lock that is taken again by its holder, and one that is given back while its holder waits. */
__attribute__((noinline)) static void wait_and_nest(void) {
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&twice, &kind);
    pthread_mutex_lock(&twice);
    pthread_mutex_lock(&twice);
    pthread_mutex_unlock(&twice);
    pthread_mutex_unlock(&twice);

    static pthread_mutex_t waited = PTHREAD_MUTEX_INITIALIZER;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    pthread_mutex_lock(&waited);
    pthread_cond_timedwait(&never, &waited, &until);
    pthread_mutex_unlock(&waited);
}

__attribute__((noinline)) static void lock_file(const char *name) {
    int file = open(name, O_RDWR | O_CREAT, 0600);
    struct flock bytes = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 120, .l_len = 1};
    fcntl(file, F_SETLK, &bytes);
    bytes.l_type = F_WRLCK;
    fcntl(file, F_SETLK, &bytes);
    bytes.l_type = F_UNLCK, bytes.l_start = 0, bytes.l_len = 0;
    fcntl(file, F_SETLK, &bytes);
    flock(file, LOCK_EX);
    flock(file, LOCK_UN);
}

int main(int count, char **words) {
    pthread_t threads[8];
    static pthread_mutex_t own[8];
    int number = atoi(words[1]);
    times = atoi(words[2]);
    pthread_spin_init(&spun, 0);
    for (int i = 0; i < number; i++) {
        pthread_mutex_init(&own[i], NULL);
        pthread_create(&threads[i], NULL, work, &own[i]);
        if (count > 4)
            pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < number && count == 4; i++)
        pthread_join(threads[i], NULL);
    wait_and_nest();
    lock_file(words[3]);
    return count < 4;
}
