/* Functions of Linux and the compiler beyond POSIX, which Swift's Glibc module does not show. */
#ifndef CLINUX_H
#define CLINUX_H

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Gives the file `length` bytes of room on the disk; 0, or -1 with errno. */
int cl_allocate(int descriptor, int64_t length);

/* The number of the file's names; -1 if it is not known. It does not ask for the file's times: after that, the next write would have to set them
   anew, which costs a third of a sync (Linux 6.13 and later). */
int64_t cl_links(int descriptor);

/* Begins to bring `length` bytes from `offset` on to the disk, and does not wait for it. */
void cl_begin_sync(int descriptor, int64_t offset, int64_t length);

/* Copies at most so many bytes from one file's position to the other's; gives how many, 0 at the end, or -1 with errno. */
int64_t cl_copy(int from, int to, size_t bytes);

/* poll(2) with a time-out in nanoseconds. */
int cl_poll(struct pollfd *polled, size_t count, uint64_t nanoseconds);

/* Lets other threads go before the calling one, and before those that it starts: the higher `nice_value`, the less processor time it gets beside them.
   With `idle_disk` its reads and writes wait for those of others, where the disk's scheduler knows priorities. */
void cl_lower_priority(int nice_value, bool idle_disk);

/* Lets the calling thread, and those that it starts, run only while a processor has nothing else to do; beside others it gets hardly any time. */
void cl_use_idle_processors(void);

/* Says that the calling thread wants the processor for so many microseconds at a time, 100 at least: the fewer, the sooner it runs after it wakes.
   Kernels before 6.12 take no notice. */
void cl_set_slice(uint32_t microseconds);

/* Locks a mutex unless another thread holds it until `end`, a time of the monotonic clock; gives whether it is locked. */
bool cl_lock_until(pthread_mutex_t *mutex, const struct timespec *end);

/* How many processors the calling thread may use, 1 at least. */
uint32_t cl_processors(void);

/* Keeps the calling thread on a processor of its own, the one at index `which` of those that the process may use; does nothing unless these are
   `count`. */
void cl_take_processor(uint32_t which, uint32_t count);

/* Names the calling thread; the kernel keeps 15 bytes. */
void cl_name_thread(const char *name);

/* The first of `count` bytes at which the `length` wanted bytes stand; NULL when there is none. */
const void *cl_find(const void *bytes, size_t count, const void *wanted, size_t length);

/* Gives threads that are started without a size of stack one of so many bytes. */
void cl_default_stack(size_t bytes);

/* Begins to bring the bytes at `address` into the processor's cache. */
static inline void cl_prefetch(const void *address) { __builtin_prefetch(address); }

#endif
