#ifndef CROCKSLOG_H
#define CROCKSLOG_H

/* A logger for RocksDB that writes nothing.
 *
 * Debian builds RocksDB with assertions, and its own logger writes on after a write that failed: on a full disk a line of LOG aborts
 * the process. C has no function that makes another logger, and no level silences what is logged on opening. */

#ifdef __cplusplus
extern "C" {
#endif

struct rocksdb_logger_t;

/* A logger for rocksdb_options_set_info_log; it lives as long as the process. */
struct rocksdb_logger_t *crl_silent_logger(void);

#ifdef __cplusplus
}
#endif

#endif
