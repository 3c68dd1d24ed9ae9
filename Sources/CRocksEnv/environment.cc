#include "CRocksEnv.h"

#include <cstdarg>
#include <memory>
#include <string>

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

/* What RocksDB's C interface keeps a logger and an environment in. */
struct rocksdb_logger_t {
  std::shared_ptr<rocksdb::Logger> rep;
};
struct rocksdb_env_t {
  rocksdb::Env *rep;
  bool is_default;
};

namespace {
class SilentLogger final : public rocksdb::Logger {
 public:
  SilentLogger() : rocksdb::Logger(rocksdb::InfoLogLevel::FATAL_LEVEL) {}
  using rocksdb::Logger::Logv;
  void Logv(const char *, va_list) override {}
  void LogHeader(const char *, va_list) override {}
};

thread_local bool keeps_tables = false;

/* Whether the path is that of one of the database's own tables: these have numbers alone for names. */
bool is_table(const std::string &path) {
  size_t begin = path.rfind('/') + 1, end = path.size();
  if (end < begin + 5 || path.compare(end - 4, 4, ".sst") != 0) return false;
  return path.find_first_not_of("0123456789", begin) == end - 4;
}

class KeepingFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  using rocksdb::FileSystemWrapper::FileSystemWrapper;
  const char *Name() const override { return "ruled"; }
  rocksdb::IOStatus DeleteFile(const std::string &path, const rocksdb::IOOptions &options, rocksdb::IODebugContext *context) override {
    if (keeps_tables && is_table(path)) return rocksdb::IOStatus::OK();
    return rocksdb::FileSystemWrapper::DeleteFile(path, options, context);
  }
};
}  // namespace

rocksdb_logger_t *cre_silent_logger(void) {
  static rocksdb_logger_t logger{std::make_shared<SilentLogger>()};
  return &logger;
}

rocksdb_env_t *cre_environment(void) {
  static std::unique_ptr<rocksdb::Env> environment =
      rocksdb::NewCompositeEnv(std::make_shared<KeepingFileSystem>(rocksdb::FileSystem::Default()));
  static rocksdb_env_t wrapped{environment.get(), false};
  return &wrapped;
}

rocksdb_env_t *cre_environment_over(rocksdb_env_t *base) {
  auto files = std::make_shared<KeepingFileSystem>(base->rep->GetFileSystem());
  return new rocksdb_env_t{rocksdb::NewCompositeEnv(files).release(), false};
}

void cre_environment_destroy(rocksdb_env_t *environment) {
  delete environment->rep;
  delete environment;
}

void cre_keep_tables(bool keeps) { keeps_tables = keeps; }
