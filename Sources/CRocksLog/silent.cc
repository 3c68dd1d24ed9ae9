#include "CRocksLog.h"

#include <cstdarg>
#include <memory>

#include <rocksdb/env.h>

/* What RocksDB's C interface keeps a logger in. */
struct rocksdb_logger_t {
  std::shared_ptr<rocksdb::Logger> rep;
};

namespace {
class SilentLogger final : public rocksdb::Logger {
 public:
  SilentLogger() : rocksdb::Logger(rocksdb::InfoLogLevel::FATAL_LEVEL) {}
  using rocksdb::Logger::Logv;
  void Logv(const char *, va_list) override {}
  void LogHeader(const char *, va_list) override {}
};
}  // namespace

rocksdb_logger_t *crl_silent_logger(void) {
  static rocksdb_logger_t logger{std::make_shared<SilentLogger>()};
  return &logger;
}
