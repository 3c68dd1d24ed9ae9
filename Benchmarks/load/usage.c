// Processor time of this program, of the server and of the whole host: the remainder is noise.
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "load.h"

uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static double client_seconds(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static double server_seconds(pid_t server) {
  char path[64], text[1024];
  snprintf(path, sizeof path, "/proc/%d/stat", server);
  FILE *file = server ? fopen(path, "r") : NULL;
  if (!file) return 0;
  size_t count = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[count] = 0;
  const char *after_name = strrchr(text, ')');
  unsigned long long user = 0, system = 0;
  if (after_name) sscanf(after_name + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &system);
  return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static double machine_seconds(void) {
  unsigned long long user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft = 0, steal = 0;
  FILE *file = fopen("/proc/stat", "r");
  if (!file) return 0;
  if (fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle, &wait, &irq, &soft,
             &steal) != 8)
    steal = 0;
  fclose(file);
  return (double)(user + nice + system + irq + soft + steal) / (double)sysconf(_SC_CLK_TCK);
}

struct usage usage_now(pid_t server) {
  return (struct usage){ .client = client_seconds(), .server = server_seconds(server), .machine = machine_seconds() };
}
