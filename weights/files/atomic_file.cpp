#include "weights/files/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "neuroshard/error.h"
#include "weights/files/write_all.h"

namespace neuroshard {

namespace fs = std::filesystem;

namespace {

std::string name_in_proc(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

// The kernel's own rule for links in world-writable folders (fs.protected_symlinks).
bool may_follow(const fs::path& link) {
  const fs::path folder = link.has_parent_path() ? link.parent_path() : fs::path(".");
  struct stat of_folder {};
  struct stat of_link {};
  if (::stat(folder.c_str(), &of_folder) != 0 || ::lstat(link.c_str(), &of_link) != 0) return true;
  if ((of_folder.st_mode & S_ISVTX) == 0) return true;
  return of_link.st_uid == ::geteuid() || of_link.st_uid == of_folder.st_uid;
}

}  // namespace

// Not fs::canonical: the link may point to a file that is yet to be written.
fs::path output_target(const fs::path& path) {
  constexpr int kMaxLinks = 40;
  fs::path target = path;
  std::error_code ignored;
  for (int link = 0; link < kMaxLinks && fs::is_symlink(target, ignored); ++link) {
    if (!may_follow(target)) {
      throw Error(path.string() + ": cannot be written: " + target.string() +
                      " is a link of another user in a shared folder; give a path without it",
                  ErrorKind::kIo);
    }
    target = target.parent_path() / fs::read_symlink(target, ignored);
  }
  return target;
}

AtomicFile::AtomicFile(fs::path path, mode_t mode)
    : mode_(mode), path_(std::move(path)), target_(output_target(path_)) {
  struct stat existing {};
  const bool exists = ::stat(path_.c_str(), &existing) == 0;
  if (exists && S_ISDIR(existing.st_mode)) fail(EISDIR);
  if (exists && !S_ISREG(existing.st_mode)) {  // E.g. /dev/stdout: never replace it by a file.
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail(errno);
    return;
  }
  renames_ = true;
  open_unnamed();
  if (descriptor_ < 0) open_temporary();
  // Who may read the file stays the same, if possible.
  if (exists) ::fchmod(descriptor_, existing.st_mode & (mode_ | 0111));
}

void AtomicFile::open_unnamed() {
#ifdef O_TMPFILE
  const fs::path folder = target_.has_parent_path() ? target_.parent_path() : fs::path(".");
  descriptor_ = ::open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, mode_);
  // It gets its name through /proc, which a container may lack.
  if (descriptor_ >= 0 && ::access(name_in_proc(descriptor_).c_str(), F_OK) != 0) {
    ::close(std::exchange(descriptor_, -1));
  }
#endif
}

template <typename Make>
int AtomicFile::make_temporary(Make make) {
  static std::atomic<unsigned> files{0};
  const std::string suffix = ".tmp-" + std::to_string(::getpid()) + "-";
  int made = -1;
  do {
    temporary_ = target_;
    temporary_ += suffix + std::to_string(files++);
    made = make(temporary_.c_str());
  } while (made < 0 && errno == EEXIST);
  if (made < 0) {
    const int reason = errno;
    temporary_.clear();
    fail(reason);
  }
  return made;
}

void AtomicFile::open_temporary() {
  descriptor_ = make_temporary([this](const char* name) {
    return ::open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode_);
  });
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::write(std::string_view bytes) {
  if (const int error_number = write_all(descriptor_, bytes); error_number != 0) fail(error_number);
}

void AtomicFile::commit() {
  // Without it, a crash soon after could leave an empty file under the final name.
  if (renames_ && ::fsync(descriptor_) != 0) fail(errno);
  if (renames_ && temporary_.empty()) {
    // A link cannot replace an existing file, a rename can.
    make_temporary([this](const char* name) {
      return ::linkat(AT_FDCWD, name_in_proc(descriptor_).c_str(), AT_FDCWD, name,
                      AT_SYMLINK_FOLLOW);
    });
  }
  if (::close(std::exchange(descriptor_, -1)) != 0) fail(errno);
  if (renames_ && ::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
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

void create_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw Error(folder.string() + ": cannot be created: " + error.message(), ErrorKind::kIo);
  }
}

}  // namespace neuroshard
