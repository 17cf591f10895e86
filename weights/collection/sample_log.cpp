#include "weights/collection/sample_log.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "neuroshard/error.h"
#include "weights/files/atomic_file.h"

namespace neuroshard {
namespace {

template <typename Number>
void append_list(std::string& line, std::span<const Number> numbers) {
  std::array<char, 32> digits{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::to_chars_result end{};
    if constexpr (std::is_floating_point_v<Number>) {
      end = std::to_chars(digits.data(), digits.data() + digits.size(), numbers[i],
                          std::chars_format::general, 9);
    } else {
      end = std::to_chars(digits.data(), digits.data() + digits.size(), numbers[i]);
    }
    if (i > 0) line += ',';
    line.append(digits.data(), end.ptr);
  }
}

void require_costs(std::span<const double> costs_ms) {
  for (const double cost : costs_ms) {
    if (!std::isfinite(cost) || cost <= 0.0) {
      throw Error("measured a cost of " + std::to_string(cost) +
                  " ms; costs must be finite and positive, so nothing was recorded");
    }
  }
}

}  // namespace

SampleLog::SampleLog(std::filesystem::path path) : path_(std::move(path)) {
  descriptor_ = ::open(output_target(path_).c_str(),
                       O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor_ < 0) fail("cannot be opened", errno);
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(std::exchange(descriptor_, -1));
    throw Error(path_.string() + ": is not a regular file; samples cannot be kept there",
                ErrorKind::kIo);
  }
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    const int reason = errno;
    ::close(std::exchange(descriptor_, -1));
    if (reason == EWOULDBLOCK) {
      throw Error(path_.string() + ": another run is collecting into it; give each its own folder",
                  ErrorKind::kIo);
    }
    fail("cannot be locked", reason);
  }
  try {
    repair();
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

SampleLog::~SampleLog() {
  if (descriptor_ < 0) return;
  (void)::fdatasync(descriptor_);  // A destructor has nobody to tell.
  ::close(descriptor_);
}

void SampleLog::fail(const char* what, int error_number) const {
  throw Error(path_.string() + ": " + what + ": " + std::strerror(error_number), ErrorKind::kIo);
}

void SampleLog::repair() {
  std::vector<char> buffer(std::size_t{1} << 20);
  std::uint64_t position = 0;
  std::uint64_t whole = 0;  // Bytes up to the last line end.
  while (true) {
    const ssize_t got =
        ::pread(descriptor_, buffer.data(), buffer.size(), static_cast<off_t>(position));
    if (got < 0) {
      if (errno == EINTR) continue;
      fail("cannot be read", errno);
    }
    if (got == 0) break;
    for (ssize_t i = 0; i < got; ++i) {
      if (buffer[static_cast<std::size_t>(i)] != '\n') continue;
      ++lines_;
      whole = position + static_cast<std::uint64_t>(i) + 1;
    }
    position += static_cast<std::uint64_t>(got);
  }
  size_bytes_ = whole;
  removed_bytes_ = position - whole;
  if (removed_bytes_ > 0 && ::ftruncate(descriptor_, static_cast<off_t>(whole)) != 0) {
    fail("its torn last line cannot be removed", errno);
  }
}

void SampleLog::append(std::string_view line) {
  const std::string text = std::string(line) + '\n';
  ssize_t written = -1;
  do {
    written = ::write(descriptor_, text.data(), text.size());
  } while (written < 0 && errno == EINTR);
  if (written == static_cast<ssize_t>(text.size())) {
    size_bytes_ += text.size();
    ++lines_;
    sync();
    return;
  }
  // A full disk takes part of a line: leave none of it.
  const int reason = written < 0 ? errno : ENOSPC;
  if (::ftruncate(descriptor_, static_cast<off_t>(size_bytes_)) != 0) {
    fail("cannot be written, and ends in a torn line", reason);
  }
  fail("cannot be written", reason);
}

void SampleLog::sync() {
  // Samples take milliseconds to measure, as does the disk: not after each.
  const auto now = std::chrono::steady_clock::now();
  if (now - synced_ < std::chrono::seconds(1)) return;
  if (::fdatasync(descriptor_) != 0) fail("cannot be written to the disk", errno);
  synced_ = now;
}

std::string compute_sample_line(std::span<const int> ids, double cost_ms,
                                std::optional<std::int64_t> samples) {
  require_costs({&cost_ms, 1});
  std::string line;
  append_list(line, ids);
  line += ' ';
  append_list(line, std::span<const double>(&cost_ms, 1));
  if (samples) line += ' ' + std::to_string(*samples);
  return line;
}

std::string collective_sample_line(int devices, std::int64_t bytes, double cost_ms) {
  require_costs({&cost_ms, 1});
  std::string line = std::to_string(devices) + ' ' + std::to_string(bytes) + ' ';
  append_list(line, std::span<const double>(&cost_ms, 1));
  return line;
}

std::string comm_sample_line(std::span<const std::int64_t> dim_sums,
                             std::span<const double> start_offsets_ms,
                             std::span<const double> forward_ms,
                             std::span<const double> backward_ms) {
  const std::size_t devices = dim_sums.size();
  if (start_offsets_ms.size() != devices || forward_ms.size() != devices ||
      backward_ms.size() != devices) {
    throw Error("a communication sample of " + std::to_string(devices) +
                " dim sums needs as many start offsets and costs");
  }
  require_costs(forward_ms);
  require_costs(backward_ms);
  std::string line;
  append_list(line, dim_sums);
  for (const std::span<const double> group : {start_offsets_ms, forward_ms, backward_ms}) {
    line += ' ';
    append_list(line, group);
  }
  return line;
}

}  // namespace neuroshard
