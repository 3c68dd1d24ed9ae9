// Makes chosen calls of a program on chosen files fail, or kills or stops it right before or after one; sets its clock off. Preloaded into the
// daemon. The driver chooses at run time, through a page of memory that both map (`TORTURE_CONTROL` names its file).
//
// A failed sync may also drop the writes since the last successful one, as a real system may: each write since then saves the bytes
// that it overwrites, and for some of the pages they are restored.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum call {
  PWRITE = 1 << 0, WRITE = 1 << 1, FDATASYNC = 1 << 2, FSYNC = 1 << 3, FTRUNCATE = 1 << 4, RENAME = 1 << 5, OPEN = 1 << 6,
  LINK = 1 << 7, UNLINK = 1 << 8, FALLOCATE = 1 << 9, SYNC_RANGE = 1 << 10, MMAP = 1 << 11, PREAD = 1 << 12, SEND = 1 << 13, RECEIVE = 1 << 14,
};

enum action {
  FAIL = 0,         // fails with the rule's error, without effect
  FAIL_DROPPING,    // as above, and some pages lose the writes since the last successful sync
  FAIL_AFTER,       // takes effect, and then fails, as a sync that reports an earlier error does
  SHORT,            // writes a part
  KILL_BEFORE,      // kills the process instead of the call
  KILL_AFTER,       // kills the process after the call
  FLIP,             // a read that returns one wrong bit
  DELAY,            // takes so many milliseconds longer as the rule's error says
  STOP_BEFORE,      // stops the process before the call, until somebody lets it go on
  STOP_AFTER,       // stops the process after the call
};

struct rule {
  uint32_t armed;
  uint32_t calls;
  uint32_t action;
  uint32_t error;
  int32_t skip;     // matching calls that succeed first
  int32_t left;     // calls that are hit after that; -1: all
  uint32_t chance;  // of 65,536
  uint32_t arms;    // the rule that this one arms when it hits, from 1; 0: none
  uint64_t hits;
  char pattern[128];
};

struct control {
  uint32_t magic;
  uint32_t count;
  uint32_t tracks;  // whether writes are recorded, for FAIL_DROPPING
  uint32_t seed;
  struct rule rules[16];
  int64_t clock_offset;  // in seconds; monotonic clocks stay as they are
};

static struct control *control;

// MARK: The real calls

static struct {
  ssize_t (*pwrite)(int, const void *, size_t, off_t);
  ssize_t (*pwritev)(int, const struct iovec *, int, off_t);
  ssize_t (*write)(int, const void *, size_t);
  ssize_t (*pread)(int, void *, size_t, off_t);
  int (*fdatasync)(int);
  int (*fsync)(int);
  int (*ftruncate)(int, off_t);
  int (*rename)(const char *, const char *);
  int (*open)(const char *, int, ...);
  int (*link)(const char *, const char *);
  int (*unlink)(const char *);
  int (*fallocate)(int, int, off_t, off_t);
  int (*posix_fallocate)(int, off_t, off_t);
  int (*sync_file_range)(int, off64_t, off64_t, unsigned int);
  void *(*mmap)(void *, size_t, int, int, int, off_t);
  int (*clock_gettime)(clockid_t, struct timespec *);
  ssize_t (*send)(int, const void *, size_t, int);
  ssize_t (*recv)(int, void *, size_t, int);
} real;

static void map_control(void) {
  const char *path = getenv("TORTURE_CONTROL");
  int descriptor = path ? real.open(path, O_RDWR | O_CLOEXEC) : -1;
  if (descriptor < 0) return;
  void *page = real.mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (page != MAP_FAILED) control = page;
  close(descriptor);
}

static void resolve(void) {
#define FIND(name) *(void **)&real.name = dlsym(RTLD_NEXT, #name)
  FIND(pwrite), FIND(pwritev), FIND(write), FIND(pread), FIND(fdatasync), FIND(fsync), FIND(ftruncate), FIND(rename), FIND(link);
  FIND(unlink), FIND(fallocate), FIND(posix_fallocate), FIND(sync_file_range), FIND(mmap), FIND(open);
  FIND(clock_gettime), FIND(send), FIND(recv);
  map_control();
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

__attribute__((constructor)) static void begin(void) { pthread_once(&once, resolve); }

// MARK: The fault for a call

static uint64_t random_number(void) {
  static _Thread_local uint64_t state;
  if (state == 0) state = ((uint64_t)control->seed << 32) ^ (uintptr_t)&state ^ ((uint64_t)getpid() << 17) ^ 0x9E3779B97F4A7C15u;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state >> 16;
}

// Whether some rule is armed for these calls: all that a call costs while none is.
static int is_armed(uint32_t call) {
  if (!control) return 0;
  for (uint32_t index = 0; index < control->count; index++)
    if (__atomic_load_n(&control->rules[index].armed, __ATOMIC_ACQUIRE) && control->rules[index].calls & call) return 1;
  return 0;
}

// The rule that hits this call, NULL when it is to go on.
static struct rule *find(uint32_t call, const char *path) {
  for (uint32_t index = 0; index < control->count; index++) {
    struct rule *rule = &control->rules[index];
    if (!__atomic_load_n(&rule->armed, __ATOMIC_ACQUIRE) || !(rule->calls & call) || fnmatch(rule->pattern, path, 0) != 0) continue;
    if (__atomic_load_n(&rule->skip, __ATOMIC_RELAXED) > 0 && __atomic_fetch_sub(&rule->skip, 1, __ATOMIC_RELAXED) > 0) continue;
    if (rule->chance < 65536 && (random_number() & 0xFFFF) >= rule->chance) continue;
    if (rule->left >= 0 && __atomic_fetch_sub(&rule->left, 1, __ATOMIC_RELAXED) <= 0) {
      rule->left = 0;
      __atomic_store_n(&rule->armed, 0, __ATOMIC_RELEASE);
      continue;
    }
    __atomic_fetch_add(&rule->hits, 1, __ATOMIC_RELAXED);
    if (rule->arms) __atomic_store_n(&control->rules[rule->arms - 1].armed, 1, __ATOMIC_RELEASE);
    return rule;
  }
  return NULL;
}

static int path_of(int descriptor, char path[PATH_MAX]) {
  char name[64];
  snprintf(name, sizeof name, "/proc/self/fd/%d", descriptor);
  ssize_t count = readlink(name, path, PATH_MAX - 1);
  if (count < 0) return 0;
  path[count] = 0;
  return path[0] == '/';
}

static struct rule *find_for(uint32_t call, int descriptor) {
  if (!is_armed(call)) return NULL;
  int error = errno;
  char path[PATH_MAX];
  struct rule *rule = path_of(descriptor, path) ? find(call, path) : NULL;
  errno = error;
  return rule;
}

// As `find_for`, for a connection over TCP: its path is `port:` and the port of the other end.
static struct rule *find_for_port(uint32_t call, int descriptor) {
  if (!is_armed(call)) return NULL;
  int error = errno;
  struct sockaddr_in peer;
  socklen_t length = sizeof peer;
  struct rule *rule = NULL;
  if (getpeername(descriptor, (struct sockaddr *)&peer, &length) == 0 && peer.sin_family == AF_INET) {
    char path[32];
    snprintf(path, sizeof path, "port:%d", ntohs(peer.sin_port));
    rule = find(call, path);
  }
  errno = error;
  return rule;
}

// MARK: The clock

int clock_gettime(clockid_t clock, struct timespec *time) {
  begin();
  int result = real.clock_gettime(clock, time);
  if (result == 0 && control && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    time->tv_sec += __atomic_load_n(&control->clock_offset, __ATOMIC_RELAXED);
  return result;
}

int gettimeofday(struct timeval *time, void *zone) {
  (void)zone;
  struct timespec precise;
  int result = clock_gettime(CLOCK_REALTIME, &precise);
  *time = (struct timeval){ .tv_sec = precise.tv_sec, .tv_usec = precise.tv_nsec / 1000 };
  return result;
}

time_t time(time_t *place) {
  struct timespec precise;
  clock_gettime(CLOCK_REALTIME, &precise);
  if (place) *place = precise.tv_sec;
  return precise.tv_sec;
}

static void die(void) {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

// Whether the call is not made at all; errno is set then.
static int is_refused(struct rule *rule) {
  if (!rule) return 0;
  if (rule->action == KILL_BEFORE) die();
  if (rule->action == STOP_BEFORE) raise(SIGSTOP);
  if (rule->action == DELAY) usleep(rule->error * 1000);
  if (rule->action != FAIL && rule->action != FAIL_DROPPING) return 0;
  errno = (int)rule->error;
  return 1;
}

// The result of a call that was made: `result`, or -1.
static long told(struct rule *rule, long result) {
  if (!rule) return result;
  if (rule->action == KILL_AFTER) die();
  if (rule->action == STOP_AFTER) raise(SIGSTOP);
  if (rule->action != FAIL_AFTER || result < 0) return result;
  errno = (int)rule->error;
  return -1;
}

// MARK: Writes since the last good sync

struct written {
  struct written *earlier;
  ino_t file;
  off_t offset;
  size_t count;
  uint64_t number;
  char before[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct written *latest;
static uint64_t numbers;

static int is_tracked(int descriptor, struct stat *status) {
  if (!control || !__atomic_load_n(&control->tracks, __ATOMIC_ACQUIRE)) return 0;
  char path[PATH_MAX];
  if (fstat(descriptor, status) != 0 || !S_ISREG(status->st_mode) || !path_of(descriptor, path)) return 0;
  return fnmatch("*.log*", path, 0) == 0 || fnmatch("*/MANIFEST-*", path, 0) == 0;
}

static void remember(int descriptor, const struct stat *status, size_t count, off_t offset) {
  struct written *written = calloc(1, sizeof *written + count);
  if (!written) return;
  *written = (struct written){ .file = status->st_ino, .offset = offset, .count = count, .number = ++numbers, .earlier = latest };
  (void)!real.pread(descriptor, written->before, count, offset);
  latest = written;
}

// Forgets the writes to a file up to a number.
static void forget_written(ino_t file, uint64_t number) {
  for (struct written **link = &latest; *link;) {
    struct written *written = *link;
    if (written->file != file || written->number > number) {
      link = &written->earlier;
      continue;
    }
    *link = written->earlier;
    free(written);
  }
}

// Restores the old content of about half of the pages that were written to since the last good sync.
static void drop(int descriptor, const struct stat *status) {
  const off_t page = 4096;
  uint64_t salt = random_number();
  for (struct written *written = latest; written; written = written->earlier) {
    if (written->file != status->st_ino) continue;
    off_t end = written->offset + (off_t)written->count;
    if (end > status->st_size) end = status->st_size;
    for (off_t begin = written->offset; begin < end;) {
      off_t next = (begin / page + 1) * page < end ? (begin / page + 1) * page : end;
      uint64_t coin = ((uint64_t)(begin / page) + salt) * 0x9E3779B97F4A7C15u;
      if (coin >> 63) (void)!real.pwrite(descriptor, written->before + (begin - written->offset), (size_t)(next - begin), begin);
      begin = next;
    }
  }
  forget_written(status->st_ino, UINT64_MAX);
}

// MARK: The calls

static size_t part(struct rule *rule, size_t count) {
  return rule && rule->action == SHORT && count > 1 ? 1 + random_number() % (count - 1) : count;
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
  begin();
  struct rule *rule = find_for(PWRITE, descriptor);
  if (is_refused(rule)) return -1;
  struct stat status;
  int tracked = is_tracked(descriptor, &status);
  if (tracked) {
    pthread_mutex_lock(&lock);
    remember(descriptor, &status, count, offset);
  }
  ssize_t done = real.pwrite(descriptor, bytes, part(rule, count), offset);
  if (tracked) pthread_mutex_unlock(&lock);
  return told(rule, done);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) { return pwrite(descriptor, bytes, count, offset); }

ssize_t pwritev(int descriptor, const struct iovec *parts, int count, off_t offset) {
  begin();
  struct rule *rule = find_for(PWRITE, descriptor);
  if (is_refused(rule)) return -1;
  struct stat status;
  int tracked = is_tracked(descriptor, &status);
  if (tracked) {
    size_t length = 0;
    for (int index = 0; index < count; index++) length += parts[index].iov_len;
    pthread_mutex_lock(&lock);
    remember(descriptor, &status, length, offset);
  }
  ssize_t done = rule && rule->action == SHORT ? real.pwrite(descriptor, parts[0].iov_base, part(rule, parts[0].iov_len), offset)
                                               : real.pwritev(descriptor, parts, count, offset);
  if (tracked) pthread_mutex_unlock(&lock);
  return told(rule, done);
}

ssize_t pwritev64(int descriptor, const struct iovec *parts, int count, off64_t offset) {
  return pwritev(descriptor, parts, count, offset);
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
  begin();
  struct rule *rule = find_for(WRITE, descriptor);
  if (is_refused(rule)) return -1;
  struct stat status;
  int tracked = is_tracked(descriptor, &status);
  if (tracked) {
    pthread_mutex_lock(&lock);
    remember(descriptor, &status, count, lseek(descriptor, 0, SEEK_CUR));
  }
  ssize_t done = real.write(descriptor, bytes, part(rule, count));
  if (tracked) pthread_mutex_unlock(&lock);
  return told(rule, done);
}

ssize_t pread(int descriptor, void *bytes, size_t count, off_t offset) {
  begin();
  struct rule *rule = find_for(PREAD, descriptor);
  if (is_refused(rule)) return -1;
  ssize_t done = real.pread(descriptor, bytes, part(rule, count), offset);
  if (rule && rule->action == FLIP && done > 0) ((uint8_t *)bytes)[random_number() % (uint64_t)done] ^= 1;
  return told(rule, done);
}

ssize_t pread64(int descriptor, void *bytes, size_t count, off64_t offset) { return pread(descriptor, bytes, count, offset); }

ssize_t send(int descriptor, const void *bytes, size_t count, int flags) {
  begin();
  struct rule *rule = find_for_port(SEND, descriptor);
  return is_refused(rule) ? -1 : told(rule, real.send(descriptor, bytes, count, flags));
}

// Only calls that get bytes count: the program has not seen them before the call returns.
ssize_t recv(int descriptor, void *bytes, size_t count, int flags) {
  begin();
  ssize_t done = real.recv(descriptor, bytes, count, flags);
  struct rule *rule = done > 0 ? find_for_port(RECEIVE, descriptor) : NULL;
  return is_refused(rule) ? -1 : told(rule, done);
}

static int sync_file(uint32_t call, int descriptor, int (*sync)(int)) {
  struct rule *rule = find_for(call, descriptor);
  struct stat status;
  int tracked = is_tracked(descriptor, &status);
  if (tracked && rule && rule->action == FAIL_DROPPING) {
    pthread_mutex_lock(&lock);
    drop(descriptor, &status);
    pthread_mutex_unlock(&lock);
  }
  if (is_refused(rule)) return -1;
  pthread_mutex_lock(&lock);
  uint64_t number = numbers;
  pthread_mutex_unlock(&lock);
  int result = sync(descriptor);
  if (tracked && result == 0) {
    pthread_mutex_lock(&lock);
    forget_written(status.st_ino, number);
    pthread_mutex_unlock(&lock);
  }
  return (int)told(rule, result);
}

int fdatasync(int descriptor) {
  begin();
  return sync_file(FDATASYNC, descriptor, real.fdatasync);
}

int fsync(int descriptor) {
  begin();
  return sync_file(FSYNC, descriptor, real.fsync);
}

#define ON_FILE(call, type, name, declared, passed) \
  type name declared { \
    begin(); \
    struct rule *rule = find_for(call, descriptor); \
    if (is_refused(rule)) return -1; \
    return (type)told(rule, real.name passed); \
  }

ON_FILE(FTRUNCATE, int, ftruncate, (int descriptor, off_t length), (descriptor, length))
ON_FILE(FALLOCATE, int, fallocate, (int descriptor, int mode, off_t offset, off_t length), (descriptor, mode, offset, length))
ON_FILE(SYNC_RANGE, int, sync_file_range, (int descriptor, off64_t offset, off64_t count, unsigned int flags),
        (descriptor, offset, count, flags))

int ftruncate64(int descriptor, off64_t length) { return ftruncate(descriptor, length); }

int fallocate64(int descriptor, int mode, off64_t offset, off64_t length) { return fallocate(descriptor, mode, offset, length); }

int posix_fallocate(int descriptor, off_t offset, off_t length) {
  begin();
  return is_refused(find_for(FALLOCATE, descriptor)) ? errno : real.posix_fallocate(descriptor, offset, length);
}

#define ON_NAMES(call, name, declared, passed, looked) \
  int name declared { \
    begin(); \
    struct rule *rule = is_armed(call) ? find(call, looked) : NULL; \
    if (is_refused(rule)) return -1; \
    return (int)told(rule, real.name passed); \
  }

ON_NAMES(RENAME, rename, (const char *from, const char *to), (from, to), to)
ON_NAMES(LINK, link, (const char *from, const char *to), (from, to), to)
ON_NAMES(UNLINK, unlink, (const char *path), (path), path)

int open(const char *path, int flags, ...) {
  begin();
  va_list rest;
  va_start(rest, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  struct rule *rule = is_armed(OPEN) ? find(OPEN, path) : NULL;
  if (is_refused(rule)) return -1;
  int descriptor = real.open(path, flags, mode);
  if (rule && rule->action == FAIL_AFTER && descriptor >= 0) close(descriptor);
  return (int)told(rule, descriptor);
}

int open64(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open(path, flags, mode);
}

void *mmap(void *address, size_t length, int protection, int flags, int descriptor, off_t offset) {
  begin();
  struct rule *rule = flags & MAP_ANONYMOUS ? NULL : find_for(MMAP, descriptor);
  if (is_refused(rule)) return MAP_FAILED;
  return real.mmap(address, length, protection, flags, descriptor, offset);
}

void *mmap64(void *address, size_t length, int protection, int flags, int descriptor, off64_t offset) {
  return mmap(address, length, protection, flags, descriptor, offset);
}
