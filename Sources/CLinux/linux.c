#define _GNU_SOURCE
#include "CLinux.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

int cl_allocate(int descriptor, int64_t length) { return fallocate(descriptor, 0, 0, (off_t)length); }

void cl_begin_sync(int descriptor, int64_t offset, int64_t length) {
  (void)sync_file_range(descriptor, (off_t)offset, (off_t)length, SYNC_FILE_RANGE_WRITE);
}

void cl_lower_priority(void) { (void)!nice(5); }

void cl_name_thread(const char *name) { (void)prctl(PR_SET_NAME, name); }
