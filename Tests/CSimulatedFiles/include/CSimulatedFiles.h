#ifndef CSIMULATEDFILES_H
#define CSIMULATEDFILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Files for RocksDB that are whatever the caller's functions make of them. */

#ifdef __cplusplus
extern "C" {
#endif

struct rocksdb_env_t;

/* Each function gets the context first. What they give is negative after an error: CSF_NO_SPACE, CSF_MISSING, or another for an error of the disk. */
typedef struct {
  void *context;
  /* A handle; `mode` is 0 to read, 1 to write anew, 2 to write to what is there. */
  int64_t (*open)(void *context, const char *path, int mode);
  void (*close)(void *context, int64_t file);
  int64_t (*size)(void *context, int64_t file);
  /* How many bytes were read, fewer at the end. */
  int64_t (*read)(void *context, int64_t file, uint64_t offset, void *to, size_t count);
  int (*write)(void *context, int64_t file, uint64_t offset, const void *bytes, size_t count);
  int (*resize)(void *context, int64_t file, uint64_t size);
  int (*sync)(void *context, int64_t file);
  int (*rename)(void *context, const char *path, const char *target);
  int (*link)(void *context, const char *path, const char *target);
  int (*remove)(void *context, const char *path);
  bool (*exists)(void *context, const char *path);
  int (*create_folder)(void *context, const char *path);
  int (*sync_folder)(void *context, const char *path);
  int (*list)(void *context, const char *path, void *names, void (*found)(void *names, const char *name));
} csf_files;

enum { CSF_FAILED = -1, CSF_NO_SPACE = -2, CSF_MISSING = -3 };

/* An environment of RocksDB over these files. */
struct rocksdb_env_t *csf_environment(csf_files files);
void csf_environment_destroy(struct rocksdb_env_t *environment);

#ifdef __cplusplus
}
#endif

#endif
