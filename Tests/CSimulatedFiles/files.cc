#include "CSimulatedFiles.h"

#include <memory>
#include <string>
#include <vector>

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

/* What RocksDB's C interface keeps an environment in. */
struct rocksdb_env_t {
  rocksdb::Env *rep;
  bool is_default;
};

namespace {
using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;
using std::string;

IOStatus status(int64_t result, const string &path) {
  if (result >= 0) return IOStatus::OK();
  if (result == CSF_NO_SPACE) return IOStatus::NoSpace("No space left on device", path);
  if (result == CSF_MISSING) return IOStatus::PathNotFound("No such file or directory", path);
  return IOStatus::IOError("Input/output error", path);
}

/* An open file, closed when it goes. */
class Handle {
 public:
  Handle(const csf_files &files, int64_t file, const string &path) : files_(files), file_(file), path_(path) {}
  ~Handle() { files_.close(files_.context, file_); }
  Handle(const Handle &) = delete;
  IOStatus read(uint64_t offset, size_t count, Slice *result, char *scratch) const {
    int64_t got = files_.read(files_.context, file_, offset, scratch, count);
    *result = Slice(scratch, got < 0 ? 0 : size_t(got));
    return status(got, path_);
  }
  IOStatus write(uint64_t offset, const Slice &bytes) {
    return status(files_.write(files_.context, file_, offset, bytes.data(), bytes.size()), path_);
  }
  IOStatus resize(uint64_t size) { return status(files_.resize(files_.context, file_, size), path_); }
  IOStatus sync() { return status(files_.sync(files_.context, file_), path_); }
  IOStatus size(uint64_t *result) const {
    int64_t size = files_.size(files_.context, file_);
    *result = size < 0 ? 0 : uint64_t(size);
    return status(size, path_);
  }

 private:
  const csf_files &files_;
  int64_t file_;
  string path_;
};

class SequentialFile final : public rocksdb::FSSequentialFile {
 public:
  SequentialFile(const csf_files &files, int64_t file, const string &path) : handle_(files, file, path) {}
  IOStatus begin() { return IOStatus::OK(); }
  IOStatus Read(size_t count, const IOOptions &, Slice *result, char *scratch, IODebugContext *) override {
    IOStatus done = handle_.read(place_, count, result, scratch);
    place_ += result->size();
    return done;
  }
  IOStatus Skip(uint64_t count) override {
    place_ += count;
    return IOStatus::OK();
  }

 private:
  Handle handle_;
  uint64_t place_ = 0;
};

class RandomAccessFile final : public rocksdb::FSRandomAccessFile {
 public:
  RandomAccessFile(const csf_files &files, int64_t file, const string &path) : handle_(files, file, path) {}
  IOStatus begin() { return IOStatus::OK(); }
  IOStatus Read(uint64_t offset, size_t count, const IOOptions &, Slice *result, char *scratch, IODebugContext *) const override {
    return handle_.read(offset, count, result, scratch);
  }

 private:
  Handle handle_;
};

class WritableFile final : public rocksdb::FSWritableFile {
 public:
  WritableFile(const csf_files &files, int64_t file, const string &path) : handle_(files, file, path) {}
  IOStatus begin() { return handle_.size(&end_); }
  using rocksdb::FSWritableFile::Append;
  using rocksdb::FSWritableFile::PositionedAppend;
  IOStatus Append(const Slice &bytes, const IOOptions &, IODebugContext *) override {
    IOStatus done = handle_.write(end_, bytes);
    if (done.ok()) end_ += bytes.size();
    return done;
  }
  IOStatus PositionedAppend(const Slice &bytes, uint64_t offset, const IOOptions &, IODebugContext *) override {
    IOStatus done = handle_.write(offset, bytes);
    if (done.ok()) end_ = offset + bytes.size();
    return done;
  }
  IOStatus Truncate(uint64_t size, const IOOptions &, IODebugContext *) override {
    IOStatus done = handle_.resize(size);
    if (done.ok()) end_ = size;
    return done;
  }
  IOStatus Close(const IOOptions &, IODebugContext *) override { return IOStatus::OK(); }
  IOStatus Flush(const IOOptions &, IODebugContext *) override { return IOStatus::OK(); }
  IOStatus Sync(const IOOptions &, IODebugContext *) override { return handle_.sync(); }
  IOStatus Fsync(const IOOptions &, IODebugContext *) override { return handle_.sync(); }
  bool IsSyncThreadSafe() const override { return true; }
  uint64_t GetFileSize(const IOOptions &, IODebugContext *) override { return end_; }
  IOStatus Allocate(uint64_t, uint64_t, const IOOptions &, IODebugContext *) override { return IOStatus::OK(); }

 private:
  Handle handle_;
  uint64_t end_ = 0;
};

class RandomRWFile final : public rocksdb::FSRandomRWFile {
 public:
  RandomRWFile(const csf_files &files, int64_t file, const string &path) : handle_(files, file, path) {}
  IOStatus begin() { return IOStatus::OK(); }
  IOStatus Write(uint64_t offset, const Slice &bytes, const IOOptions &, IODebugContext *) override {
    return handle_.write(offset, bytes);
  }
  IOStatus Read(uint64_t offset, size_t count, const IOOptions &, Slice *result, char *scratch, IODebugContext *) const override {
    return handle_.read(offset, count, result, scratch);
  }
  IOStatus Flush(const IOOptions &, IODebugContext *) override { return IOStatus::OK(); }
  IOStatus Sync(const IOOptions &, IODebugContext *) override { return handle_.sync(); }
  IOStatus Fsync(const IOOptions &, IODebugContext *) override { return handle_.sync(); }
  IOStatus Close(const IOOptions &, IODebugContext *) override { return IOStatus::OK(); }

 private:
  Handle handle_;
};

class Directory final : public rocksdb::FSDirectory {
 public:
  Directory(const csf_files &files, const string &path) : files_(files), path_(path) {}
  IOStatus Fsync(const IOOptions &, IODebugContext *) override {
    return status(files_.sync_folder(files_.context, path_.c_str()), path_);
  }

 private:
  const csf_files &files_;
  string path_;
};

class NoLock final : public rocksdb::FileLock {};

class SimulatedFiles final : public rocksdb::FileSystemWrapper {
 public:
  explicit SimulatedFiles(csf_files files) : rocksdb::FileSystemWrapper(rocksdb::FileSystem::Default()), files_(files) {}
  const char *Name() const override { return "simulated"; }

  IOStatus NewSequentialFile(
      const string &path, const FileOptions &, std::unique_ptr<rocksdb::FSSequentialFile> *result, IODebugContext *) override {
    return open<SequentialFile>(path, 0, result);
  }
  IOStatus NewRandomAccessFile(
      const string &path, const FileOptions &, std::unique_ptr<rocksdb::FSRandomAccessFile> *result, IODebugContext *) override {
    return open<RandomAccessFile>(path, 0, result);
  }
  IOStatus NewWritableFile(
      const string &path, const FileOptions &, std::unique_ptr<rocksdb::FSWritableFile> *result, IODebugContext *) override {
    return open<WritableFile>(path, 1, result);
  }
  IOStatus ReopenWritableFile(
      const string &path, const FileOptions &, std::unique_ptr<rocksdb::FSWritableFile> *result, IODebugContext *) override {
    return open<WritableFile>(path, 2, result);
  }
  IOStatus ReuseWritableFile(
      const string &path, const string &old, const FileOptions &options, std::unique_ptr<rocksdb::FSWritableFile> *result,
      IODebugContext *context) override {
    IOStatus renamed = RenameFile(old, path, IOOptions(), context);
    return renamed.ok() ? ReopenWritableFile(path, options, result, context) : renamed;
  }
  IOStatus NewRandomRWFile(
      const string &path, const FileOptions &, std::unique_ptr<rocksdb::FSRandomRWFile> *result, IODebugContext *) override {
    return open<RandomRWFile>(path, 2, result);
  }
  IOStatus NewDirectory(
      const string &path, const IOOptions &, std::unique_ptr<rocksdb::FSDirectory> *result, IODebugContext *) override {
    result->reset(new Directory(files_, path));
    return IOStatus::OK();
  }
  IOStatus FileExists(const string &path, const IOOptions &, IODebugContext *) override {
    return files_.exists(files_.context, path.c_str()) ? IOStatus::OK() : IOStatus::NotFound(path);
  }
  IOStatus GetChildren(const string &path, const IOOptions &, std::vector<string> *result, IODebugContext *) override {
    result->clear();
    auto found = [](void *names, const char *name) { static_cast<std::vector<string> *>(names)->push_back(name); };
    return status(files_.list(files_.context, path.c_str(), result, found), path);
  }
  IOStatus DeleteFile(const string &path, const IOOptions &, IODebugContext *) override {
    return status(files_.remove(files_.context, path.c_str()), path);
  }
  IOStatus CreateDir(const string &path, const IOOptions &, IODebugContext *) override {
    return status(files_.create_folder(files_.context, path.c_str()), path);
  }
  IOStatus CreateDirIfMissing(const string &path, const IOOptions &, IODebugContext *) override {
    return status(files_.create_folder(files_.context, path.c_str()), path);
  }
  IOStatus GetFileSize(const string &path, const IOOptions &, uint64_t *size, IODebugContext *) override {
    int64_t file = files_.open(files_.context, path.c_str(), 0);
    if (file < 0) return status(file, path);
    return Handle(files_, file, path).size(size);
  }
  IOStatus GetFileModificationTime(const string &, const IOOptions &, uint64_t *time, IODebugContext *) override {
    *time = 0;
    return IOStatus::OK();
  }
  IOStatus RenameFile(const string &path, const string &target, const IOOptions &, IODebugContext *) override {
    return status(files_.rename(files_.context, path.c_str(), target.c_str()), path);
  }
  IOStatus LinkFile(const string &path, const string &target, const IOOptions &, IODebugContext *) override {
    return status(files_.link(files_.context, path.c_str(), target.c_str()), path);
  }
  IOStatus NumFileLinks(const string &path, const IOOptions &, uint64_t *, IODebugContext *) override {
    return IOStatus::NotSupported(path);
  }
  IOStatus AreFilesSame(const string &path, const string &other, const IOOptions &, bool *same, IODebugContext *) override {
    *same = path == other;
    return IOStatus::OK();
  }
  IOStatus Truncate(const string &path, size_t size, const IOOptions &, IODebugContext *) override {
    int64_t file = files_.open(files_.context, path.c_str(), 2);
    return file < 0 ? status(file, path) : Handle(files_, file, path).resize(size);
  }
  IOStatus LockFile(const string &, const IOOptions &, rocksdb::FileLock **lock, IODebugContext *) override {
    *lock = new NoLock;
    return IOStatus::OK();
  }
  IOStatus UnlockFile(rocksdb::FileLock *lock, const IOOptions &, IODebugContext *) override {
    delete lock;
    return IOStatus::OK();
  }
  IOStatus GetAbsolutePath(const string &path, const IOOptions &, string *result, IODebugContext *) override {
    *result = path;
    return IOStatus::OK();
  }
  IOStatus IsDirectory(const string &path, const IOOptions &, bool *is, IODebugContext *) override {
    *is = files_.list(files_.context, path.c_str(), nullptr, [](void *, const char *) {}) >= 0;
    return IOStatus::OK();
  }
  IOStatus GetFreeSpace(const string &, const IOOptions &, uint64_t *bytes, IODebugContext *) override {
    *bytes = uint64_t(1) << 40;
    return IOStatus::OK();
  }

 private:
  template <class Kind, class Result>
  IOStatus open(const string &path, int mode, std::unique_ptr<Result> *result) {
    int64_t file = files_.open(files_.context, path.c_str(), mode);
    if (file < 0) return status(file, path);
    auto opened = std::make_unique<Kind>(files_, file, path);
    IOStatus begun = opened->begin();
    if (begun.ok()) *result = std::move(opened);
    return begun;
  }

  csf_files files_;
};
}  // namespace

rocksdb_env_t *csf_environment(csf_files files) {
  return new rocksdb_env_t{rocksdb::NewCompositeEnv(std::make_shared<SimulatedFiles>(files)).release(), false};
}

void csf_environment_destroy(rocksdb_env_t *environment) {
  delete environment->rep;
  delete environment;
}
