#include "CRocksEnv.h"

#include <algorithm>
#include <cstdarg>
#include <cstring>
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

/* Whether this thread ingests files. */
thread_local bool ingests = false;

/* Whether the path is that of one of the database's own tables, whose names are numbers. */
bool is_table(const std::string &path) {
  size_t begin = path.rfind('/') + 1, end = path.size();
  if (end < begin + 5 || path.compare(end - 4, 4, ".sst") != 0) return false;
  return path.find_first_not_of("0123456789", begin) == end - 4;
}

/* A file to be ingested, all of which was read when it was opened. RocksDB does not look at what the reads of the file's first and last key come to: it would
 * ingest the file with bounds that exclude its keys, or fail an assertion. */
class LoadedFile final : public rocksdb::FSRandomAccessFile {
 public:
  rocksdb::IOStatus load(rocksdb::FSRandomAccessFile &file, uint64_t size, const std::string &path) {
    bytes_ = std::make_unique<char[]>(size);
    while (size_ < size) {
      rocksdb::Slice part;
      auto done = file.Read(size_, size - size_, rocksdb::IOOptions(), &part, bytes_.get() + size_, nullptr);
      if (!done.ok()) return done;
      if (part.empty()) return rocksdb::IOStatus::IOError("a file to be taken over ends too early", path);
      size_ += part.size();
    }
    return rocksdb::IOStatus::OK();
  }
  rocksdb::IOStatus Read(
      uint64_t offset, size_t count, const rocksdb::IOOptions &, rocksdb::Slice *result, char *scratch,
      rocksdb::IODebugContext *) const override {
    size_t begin = std::min(size_t(offset), size_), length = std::min(count, size_ - begin);
    std::memcpy(scratch, bytes_.get() + begin, length);
    *result = rocksdb::Slice(scratch, length);
    return rocksdb::IOStatus::OK();
  }

 private:
  std::unique_ptr<char[]> bytes_;
  size_t size_ = 0;
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
    auto done = rocksdb::FileSystemWrapper::NewRandomAccessFile(path, options, result, context);
    if (!done.ok() || !ingests || is_table(path)) return done;
    uint64_t size = 0;
    done = GetFileSize(path, options.io_options, &size, context);
    if (!done.ok()) return done;
    auto loaded = std::make_unique<LoadedFile>();
    done = loaded->load(**result, size, path);
    if (done.ok()) *result = std::move(loaded);
    return done;
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

void cre_set_ingesting(bool is_ingesting) { ingests = is_ingesting; }
