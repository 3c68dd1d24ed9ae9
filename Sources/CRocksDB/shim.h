/* The one header through which RocksDB's C interface is imported. */
#include <rocksdb/c.h>
