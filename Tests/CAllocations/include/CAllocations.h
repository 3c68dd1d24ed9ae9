/// Counts what a thread allocates, for tests: the program's own `malloc` and its kin stand before the library's.
#ifndef CALLOCATIONS_H
#define CALLOCATIONS_H

#include <stdbool.h>
#include <stdint.h>

/// How often the calling thread has asked for memory since it began.
uint64_t ca_count(void);

/// Whether anything is counted: under a sanitizer, which has its own `malloc`, nothing is.
bool ca_is_counting(void);

#endif
