#include "weights/lookups/sequential_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "neuroshard/error.h"

namespace neuroshard {
namespace {

// For a file of so many bytes: a small file does not fill a whole buffer with zeros first.
std::size_t buffer_bytes(std::int64_t bytes) {
  constexpr std::int64_t kLeast = 8192;
  constexpr std::int64_t kMost = std::int64_t{1} << 20;
  return static_cast<std::size_t>(std::clamp(bytes, kLeast, kMost));
}

}  // namespace

SequentialFile::Descriptor::~Descriptor() {
  if (value >= 0) ::close(value);
}

void SequentialFile::CloseGzip::operator()(gzFile_s* file) const { gzclose_r(file); }

SequentialFile::SequentialFile(const std::filesystem::path& path) : name_(path.string()) {
  descriptor_.value = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_.value < 0) {
    throw Error(name_ + ": cannot be opened: " + std::strerror(errno), ErrorKind::kIo);
  }
  struct stat status {};
  const bool has_size = ::fstat(descriptor_.value, &status) == 0 && S_ISREG(status.st_mode);
  most_bytes_ = has_size ? status.st_size : std::numeric_limits<std::int64_t>::max();
  buffer_.resize(buffer_bytes(most_bytes_));
  const bool packed = [&] {
    const std::string_view magic = peek(2);
    return magic == "\x1f\x8b";
  }();
  if (!packed) return;
  const std::size_t packed_bytes = buffer_.size();
  // 258 bytes in two bits: deflate's best (RFC 1951).
  constexpr std::int64_t kBestRatio = 1032;
  most_bytes_ = most_bytes_ > std::numeric_limits<std::int64_t>::max() / kBestRatio
                    ? std::numeric_limits<std::int64_t>::max()
                    : most_bytes_ * kBestRatio;
  buffer_.resize(buffer_bytes(most_bytes_));
  begin_ = end_ = 0;
  ::lseek(descriptor_.value, 0, SEEK_SET);
  gzip_.reset(gzdopen(descriptor_.value, "rb"));
  if (!gzip_) throw Error(name_ + ": no memory to unpack it", ErrorKind::kIo);
  descriptor_.value = -1;  // gzip_ closes it.
  gzbuffer(gzip_.get(), static_cast<unsigned>(packed_bytes));
}

bool SequentialFile::refill() {
  if (begin_ > 0) {
    std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
              buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
    end_ -= begin_;
    begin_ = 0;
  }
  const std::size_t room = buffer_.size() - end_;
  if (gzip_) {
    const int got = gzread(gzip_.get(), buffer_.data() + end_, static_cast<unsigned>(room));
    int error = Z_OK;
    const char* message = gzerror(gzip_.get(), &error);
    if (got < 0 || error == Z_BUF_ERROR) {  // Z_BUF_ERROR: the file ends before its data do.
      throw Error(name_ + ": cannot be unpacked after " + std::to_string(position_) +
                  " bytes: " + (error == Z_BUF_ERROR ? "it is cut short" : message));
    }
    end_ += static_cast<std::size_t>(got);
    return got > 0;
  }
  ssize_t got = -1;
  do {
    got = ::read(descriptor_.value, buffer_.data() + end_, room);
  } while (got < 0 && errno == EINTR);
  if (got < 0) throw Error(name_ + ": cannot be read: " + std::strerror(errno), ErrorKind::kIo);
  end_ += static_cast<std::size_t>(got);
  return got > 0;
}

void SequentialFile::read(std::span<char> bytes) {
  while (!bytes.empty()) {
    if (begin_ == end_ && !refill()) {
      throw Error(name_ + ": ends after " + std::to_string(position_) +
                  " bytes, in the middle of its data; it is cut short");
    }
    const std::size_t taken = std::min(bytes.size(), end_ - begin_);
    std::memcpy(bytes.data(), buffer_.data() + begin_, taken);
    bytes = bytes.subspan(taken);
    begin_ += taken;
    position_ += static_cast<std::int64_t>(taken);
  }
}

void SequentialFile::skip_to(std::int64_t position) {
  const auto buffered = static_cast<std::int64_t>(end_ - begin_);
  if (!gzip_ && position - position_ > buffered) {
    ::lseek(descriptor_.value, position - position_ - buffered, SEEK_CUR);
    begin_ = end_ = 0;
    position_ = position;
    return;
  }
  while (position_ < position) {
    if (begin_ == end_ && !refill()) {
      throw Error(name_ + ": ends after " + std::to_string(position_) + " of at least " +
                  std::to_string(position) + " bytes; it is cut short");
    }
    const auto taken = std::min(position - position_, static_cast<std::int64_t>(end_ - begin_));
    begin_ += static_cast<std::size_t>(taken);
    position_ += taken;
  }
}

void SequentialFile::require(std::int64_t count, std::int64_t bytes_each,
                             const std::string& what) const {
  const std::int64_t left = std::max<std::int64_t>(most_bytes_ - position_, 0);
  if (count >= 0 && count <= left / bytes_each) return;
  throw Error(name_ + ": claims " + std::to_string(count) + " " + what + " of " +
              std::to_string(bytes_each) + " bytes, but has room for at most " +
              std::to_string(left / bytes_each) + "; it is cut short or damaged");
}

std::string_view SequentialFile::peek(std::size_t count) {
  while (end_ - begin_ < count && refill()) {
  }
  return {buffer_.data() + begin_, std::min(count, end_ - begin_)};
}

}  // namespace neuroshard
