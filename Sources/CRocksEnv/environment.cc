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

/* Whether this thread ingests files, and whether one of these could not be read meanwhile. */
thread_local bool ingests = false;
thread_local bool has_failed_to_read = false;

/* Whether the path is that of one of the database's own tables, whose names are numbers. */
bool is_table(const std::string &path) {
  size_t begin = path.rfind('/') + 1, end = path.size();
  if (end < begin + 5 || path.compare(end - 4, 4, ".sst") != 0) return false;
  return path.find_first_not_of("0123456789", begin) == end - 4;
}

/* A file to be ingested. It notes a failed read: RocksDB ignores the status of the read that finds the file's first and last key, and would ingest the file
 * with bounds that exclude its keys. */
class WatchedFile final : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  using rocksdb::FSRandomAccessFileOwnerWrapper::FSRandomAccessFileOwnerWrapper;
  rocksdb::IOStatus Read(
      uint64_t offset, size_t count, const rocksdb::IOOptions &options, rocksdb::Slice *result, char *scratch,
      rocksdb::IODebugContext *context) const override {
    return noted(rocksdb::FSRandomAccessFileOwnerWrapper::Read(offset, count, options, result, scratch, context));
  }
  rocksdb::IOStatus MultiRead(
      rocksdb::FSReadRequest *requests, size_t count, const rocksdb::IOOptions &options, rocksdb::IODebugContext *context) override {
    auto done = noted(rocksdb::FSRandomAccessFileOwnerWrapper::MultiRead(requests, count, options, context));
    for (size_t index = 0; index < count; index++) (void)noted(requests[index].status);
    return done;
  }

 private:
  static rocksdb::IOStatus noted(rocksdb::IOStatus done) {
    if (!done.ok()) has_failed_to_read = true;
    return done;
  }
};

class KeepingFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  using rocksdb::FileSystemWrapper::FileSystemWrapper;
  const char *Name() const override { return "ruled"; }
  rocksdb::IOStatus DeleteFile(const std::string &path, const rocksdb::IOOptions &options, rocksdb::IODebugContext *context) override {
    if (ingests && is_table(path)) return rocksdb::IOStatus::OK();
    return rocksdb::FileSystemWrapper::DeleteFile(path, options, context);
  }
  rocksdb::IOStatus NewRandomAccessFile(
      const std::string &path, const rocksdb::FileOptions &options, std::unique_ptr<rocksdb::FSRandomAccessFile> *result,
      rocksdb::IODebugContext *context) override {
    auto opened = rocksdb::FileSystemWrapper::NewRandomAccessFile(path, options, result, context);
    if (opened.ok() && ingests && !is_table(path)) *result = std::make_unique<WatchedFile>(std::move(*result));
    return opened;
  }
  rocksdb::IOStatus LinkFile(
      const std::string &path, const std::string &target, const rocksdb::IOOptions &options, rocksdb::IODebugContext *context) override {
    if (ingests && has_failed_to_read) return rocksdb::IOStatus::IOError("a file to be taken over could not be read", path);
    return rocksdb::FileSystemWrapper::LinkFile(path, target, options, context);
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

void cre_set_ingesting(bool is_ingesting) {
  ingests = is_ingesting;
  has_failed_to_read = false;
}
