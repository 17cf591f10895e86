#include "weights/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "neuroshard/error.h"

namespace neuroshard {

namespace fs = std::filesystem;

AtomicFile::AtomicFile(fs::path path) : path_(std::move(path)), target_(path_) {
  struct stat existing {};
  const bool exists = ::stat(path_.c_str(), &existing) == 0;
  if (exists && S_ISDIR(existing.st_mode)) fail(EISDIR);
  if (exists && !S_ISREG(existing.st_mode)) {  // E.g. /dev/stdout: never replace it by a file.
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail(errno);
    return;
  }
  // Not fs::canonical: the link may point to a file that is yet to be written.
  constexpr int kMaxLinks = 40;
  std::error_code ignored;
  for (int link = 0; link < kMaxLinks && fs::is_symlink(target_, ignored); ++link) {
    target_ = target_.parent_path() / fs::read_symlink(target_, ignored);
  }
  static std::atomic<unsigned> files{0};
  const std::string suffix = ".tmp-" + std::to_string(::getpid()) + "-";
  do {
    temporary_ = target_;
    temporary_ += suffix + std::to_string(files++);
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0) {
    const int reason = errno;
    temporary_.clear();
    fail(reason);
  }
  if (exists) ::fchmod(descriptor_, existing.st_mode & 0777);  // Best effort: keep who may read it.
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      fail(errno);
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void AtomicFile::commit() {
  const bool renames = !temporary_.empty();
  // Else a crash soon after could leave an empty file under the final name.
  if (renames && ::fsync(descriptor_) != 0) fail(errno);
  if (::close(std::exchange(descriptor_, -1)) != 0) fail(errno);
  if (renames && ::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
  temporary_.clear();
}

void AtomicFile::fail(int error_number) {
  discard();
  throw Error(path_.string() + ": cannot be written: " + std::strerror(error_number),
              ErrorKind::kIo);
}

void AtomicFile::discard() noexcept {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
}

void write_file(const fs::path& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

}  // namespace neuroshard
