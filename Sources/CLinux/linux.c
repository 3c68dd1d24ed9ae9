#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int cl_allocate(int descriptor, int64_t length) { return fallocate(descriptor, 0, 0, (off_t)length); }

int64_t cl_links(int descriptor) {
  struct statx found;
  if (statx(descriptor, "", AT_EMPTY_PATH, STATX_NLINK, &found) != 0 || !(found.stx_mask & STATX_NLINK)) return -1;
  return found.stx_nlink;
}

void cl_begin_sync(int descriptor, int64_t offset, int64_t length) {
  (void)sync_file_range(descriptor, (off_t)offset, (off_t)length, SYNC_FILE_RANGE_WRITE);
}

int64_t cl_copy(int from, int to, size_t bytes) {
  ssize_t count = copy_file_range(from, NULL, to, NULL, bytes, 0);
  if (count >= 0 || (errno != EXDEV && errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)) return count;
  return sendfile(to, from, NULL, bytes);
}

int cl_poll(struct pollfd *polled, size_t count, uint64_t nanoseconds) {
  struct timespec time = { .tv_sec = (time_t)(nanoseconds / 1000000000), .tv_nsec = (long)(nanoseconds % 1000000000) };
  return ppoll(polled, (nfds_t)count, &time, NULL);
}

void cl_lower_priority(int nice_value, bool idle_disk) {
  setpriority(PRIO_PROCESS, 0, nice_value);
  if (idle_disk) syscall(SYS_ioprio_set, 1 /* IOPRIO_WHO_PROCESS */, 0, 3 << 13 /* IOPRIO_CLASS_IDLE */);
}

void cl_use_idle_processors(void) {
  struct sched_param none = { 0 };
  (void)sched_setscheduler(0, SCHED_IDLE, &none);
}

void cl_set_slice(uint32_t microseconds) {
  struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
  } attributes = { .size = sizeof attributes, .policy = SCHED_OTHER, .runtime = (uint64_t)microseconds * 1000 /* ns */ };
  attributes.nice = getpriority(PRIO_PROCESS, 0);
  (void)syscall(SYS_sched_setattr, 0, &attributes, 0);
}

bool cl_lock_until(pthread_mutex_t *mutex, const struct timespec *end) {
  return pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, end) == 0;
}

uint32_t cl_processors(void) {
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof usable, &usable) == 0) return (uint32_t)CPU_COUNT(&usable);
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 1 ? (uint32_t)online : 1;
}

void cl_take_processor(uint32_t which, uint32_t count) {
  cpu_set_t usable, own;
  if (sched_getaffinity(0, sizeof usable, &usable) != 0 || (uint32_t)CPU_COUNT(&usable) != count) return;
  int processor = 0;
  for (uint32_t left = which; !CPU_ISSET(processor, &usable) || left > 0; processor++) left -= CPU_ISSET(processor, &usable) ? 1 : 0;
  CPU_ZERO(&own);
  CPU_SET(processor, &own);
  (void)sched_setaffinity(0, sizeof own, &own);
}

void cl_default_stack(size_t bytes) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return;
  if (pthread_attr_setstacksize(&attributes, bytes) == 0) (void)pthread_setattr_default_np(&attributes);
  (void)pthread_attr_destroy(&attributes);
}

void cl_name_thread(const char *name) { (void)prctl(PR_SET_NAME, name); }

const void *cl_find(const void *bytes, size_t count, const void *wanted, size_t length) {
  if (length == 0 || count < length) return NULL;
  const uint8_t *first = bytes, *key = wanted;
  size_t lead = 0;  // the first wanted byte that is not zero: `memmem` takes 300 times as long where most bytes are zero
  while (lead + 1 < length && key[lead] == 0) lead++;
  const uint8_t *at = first + lead, *end = first + (count - length) + lead + 1;
  while ((at = memchr(at, key[lead], (size_t)(end - at)))) {
    if (memcmp(at - lead, wanted, length) == 0) return at - lead;
    if (++at == end) return NULL;
  }
  return NULL;
}
