#ifndef CROCKSENV_H
#define CROCKSENV_H

#include <stdbool.h>

/* Functions that RocksDB's C interface lacks. */

#ifdef __cplusplus
extern "C" {
#endif

struct rocksdb_logger_t;
struct rocksdb_env_t;

/* A logger for rocksdb_options_set_info_log that writes nothing; it lives as long as the process.
 *
 * Debian builds RocksDB with assertions, and its own logger writes on after a write that failed: on a full disk a line of LOG aborts
 * the process. No level silences its lines on opening. */
struct rocksdb_logger_t *cre_silent_logger(void);

/* The environment for rocksdb_options_set_env; it lives as long as the process. */
struct rocksdb_env_t *cre_environment(void);

/* Such an environment over the files of another, which it must not outlive. */
struct rocksdb_env_t *cre_environment_over(struct rocksdb_env_t *base);
void cre_environment_destroy(struct rocksdb_env_t *environment);

/* Begins or ends an ingestion of files by this thread. Meanwhile,
 *
 * - its calls keep the database's tables (*.sst in the folder of a MANIFEST) instead of deleting them: when the sync of a MANIFEST fails, RocksDB deletes the
 *   table that it ingested, although the MANIFEST may name it, and then can't open the database again. The next opening deletes the tables that no MANIFEST
 *   names;
 * - each file to be ingested is read whole when RocksDB opens it: it does not look at the errors of later reads, and would find none of the file's keys, or
 *   fail an assertion. */
void cre_set_ingesting(bool is_ingesting);

#ifdef __cplusplus
}
#endif

#endif
