/* The calls that make, move or remove a name. The file behind a name that goes is kept in the
 * folder `gone`, so that it can come back where its folder was not synced. */
#include "_unsynced.h"

/* A name with its folder: which file it is, and whether that is one of ours. */
struct name {
    char path[PATH_MAX];
    struct stat folder;
    struct stat file;
};

static bool find_name(int folder, const char *path, struct name *found)
{
    const char *last = strrchr(path, '/');
    char place[PATH_MAX];
    int kept = errno;
    if (state == NULL || strlen(path) >= sizeof place)
        return false;
    snprintf(place, sizeof place, "%.*s", last ? (int)(last - path) + 1 : 1, last ? path : ".");
    int handle = (int)call_kernel(SYS_openat, folder, place, O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool is = handle >= 0 && call_kernel(SYS_fstat, handle, &found->folder) == 0 &&
              read_path(handle, found->path);
    if (handle >= 0)
        call_kernel(SYS_close, handle);
    errno = kept;
    size_t length = strlen(found->path);
    if (!is || length + strlen(path) + 2 > sizeof found->path)
        return false;
    snprintf(found->path + length, sizeof found->path - length, "/%s", last ? last + 1 : path);
    return is_data_path(found->path);
}

static bool read_file(int folder, const char *path, struct stat *found)
{
    int kept = errno;
    bool is = call_kernel(SYS_newfstatat, folder, path, found, AT_SYMLINK_NOFOLLOW) == 0;
    errno = kept;
    return is;
}

static void append_name(enum kind kind, const struct name *of, const struct stat *file,
                        const char *more, uint32_t number)
{
    char paths[2 * PATH_MAX];
    int length = snprintf(paths, sizeof paths, "%s%c%s", of->path, 0, more);
    append(kind, file, of->folder.st_ino, number, paths, (size_t)length);
}

/* Opens so that old bytes can be read; a file that is new has none, whatever its inode had. */
static int open_data(int folder, const char *path, int flags, mode_t mode)
{
    struct stat found;
    bool writes = (flags & O_ACCMODE) != O_RDONLY && !(flags & O_PATH) &&
                  (flags & O_TMPFILE) != O_TMPFILE;
    int kept = errno;
    bool is_new = writes && call_kernel(SYS_newfstatat, folder, path, &found, 0) != 0;
    errno = kept;
    if (state == NULL || !writes || !(is_new || S_ISREG(found.st_mode)))
        return (int)call_kernel(SYS_openat, folder, path, flags, mode);
    bool taken = take_lock();
    is_new = call_kernel(SYS_newfstatat, folder, path, &found, 0) != 0;
    errno = kept;
    int plain = flags & ~O_TRUNC;
    bool widened = (flags & O_ACCMODE) == O_WRONLY;
    int wide = widened ? (plain & ~O_ACCMODE) | O_RDWR : plain;
    long file = call_kernel(SYS_openat, folder, path, wide, mode);
    if (file < 0 && widened && errno == EACCES)
        file = call_kernel(SYS_openat, folder, path, plain, mode);
    struct name name;
    if (file >= 0 && is_new && is_data((int)file, &found)) {
        append(FRESH, &found, 0, 0, NULL, 0);
        if (find_name(folder, path, &name))
            append_name(NAMED, &name, &found, "", 0);
    }
    leave_lock(taken);
    if (file >= 0 && plain != flags && !is_new && ftruncate((int)file, 0) != 0) {
        kept = errno;
        call_kernel(SYS_close, file);
        errno = kept;
        return -1;
    }
    return (int)file;
}

#define OPEN(folder)                                               \
    mode_t mode = 0;                                               \
    if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) {     \
        va_list more;                                              \
        va_start(more, flags);                                     \
        mode = va_arg(more, mode_t);                               \
        va_end(more);                                              \
    }                                                              \
    return open_data(folder, path, flags, mode)

int open(const char *path, int flags, ...) { OPEN(AT_FDCWD); }
int open64(const char *path, int flags, ...) { OPEN(AT_FDCWD); }
int openat(int folder, const char *path, int flags, ...) { OPEN(folder); }
int openat64(int folder, const char *path, int flags, ...) { OPEN(folder); }
int creat(const char *path, mode_t mode)
{
    return open_data(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}
int creat64(const char *path, mode_t mode) { return creat(path, mode); }
/* What a fortified program calls in the place of open, where no mode is given. */
int __open_2(const char *path, int flags) { return open_data(AT_FDCWD, path, flags, 0); }
int __open64_2(const char *path, int flags) { return open_data(AT_FDCWD, path, flags, 0); }
int __openat_2(int folder, const char *path, int flags)
{
    return open_data(folder, path, flags, 0);
}
int __openat64_2(int folder, const char *path, int flags)
{
    return open_data(folder, path, flags, 0);
}

/* Where the file of a name that goes is kept. */
static uint32_t choose_kept(char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/%u", gone, ++state->gone);
    return state->gone;
}

int unlinkat(int folder, const char *path, int flags)
{
    struct name name;
    struct stat file;
    char kept_as[PATH_MAX];
    if (flags & AT_REMOVEDIR || !find_name(folder, path, &name) ||
        !read_file(folder, path, &file) || !S_ISREG(file.st_mode))
        return (int)call_kernel(SYS_unlinkat, folder, path, flags);
    bool taken = take_lock();
    uint32_t number = choose_kept(kept_as);
    long answer = call_kernel(SYS_renameat2, folder, path, AT_FDCWD, kept_as, 0);
    if (answer == 0)
        append_name(REMOVED, &name, &file, "", number);
    leave_lock(taken);
    return (int)answer;
}

int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }

int remove(const char *path)
{
    int answer = unlink(path);
    return answer != 0 && errno == EISDIR ? unlinkat(AT_FDCWD, path, AT_REMOVEDIR) : answer;
}

int renameat2(int from, const char *old_path, int to, const char *path, unsigned flags)
{
    struct name name, source;
    struct stat file, over;
    char kept_as[PATH_MAX];
    bool is_ours = find_name(to, path, &name);
    find_name(from, old_path, &source);
    if (!is_ours || !read_file(from, old_path, &file))
        return (int)call_kernel(SYS_renameat2, from, old_path, to, path, flags);
    bool taken = take_lock(), goes = false;
    uint32_t number = 0;
    if (S_ISREG(file.st_mode) && read_file(to, path, &over) && S_ISREG(over.st_mode) &&
        over.st_ino != file.st_ino) {
        number = choose_kept(kept_as);
        goes = call_kernel(SYS_linkat, to, path, AT_FDCWD, kept_as, 0) == 0;
    }
    long answer = call_kernel(SYS_renameat2, from, old_path, to, path, flags);
    if (answer == 0 && S_ISREG(file.st_mode))
        append_name(RENAMED, &name, &file, source.path, goes ? number : 0);
    else if (answer == 0)
        append(FOLDER_MOVED, &file, 0, 0, NULL, 0);
    else if (goes) {
        int kept = errno;
        call_kernel(SYS_unlinkat, AT_FDCWD, kept_as, 0);
        errno = kept;
    }
    leave_lock(taken);
    return (int)answer;
}

int renameat(int from, const char *old_path, int to, const char *path)
{
    return renameat2(from, old_path, to, path, 0);
}

int rename(const char *old_path, const char *path)
{
    return renameat2(AT_FDCWD, old_path, AT_FDCWD, path, 0);
}

int linkat(int from, const char *old_path, int to, const char *path, int flags)
{
    struct name name;
    struct stat file;
    if (!find_name(to, path, &name))
        return (int)call_kernel(SYS_linkat, from, old_path, to, path, flags);
    bool taken = take_lock();
    long answer = call_kernel(SYS_linkat, from, old_path, to, path, flags);
    if (answer == 0 && read_file(to, path, &file))
        append_name(NAMED, &name, &file, "", 0);
    leave_lock(taken);
    return (int)answer;
}

int link(const char *old_path, const char *path)
{
    return linkat(AT_FDCWD, old_path, AT_FDCWD, path, 0);
}
