#include "tools/console/resumable_lines.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "core/fingerprint.h"
#include "neuroshard/error.h"
#include "weights/files/atomic_file.h"
#include "weights/files/read_file.h"
#include "weights/files/write_all.h"

namespace neuroshard::tools {
namespace {

std::string header_of(std::uint64_t fingerprint) {
  return "{\"neuroshard.partial\": \"" + hex_digits(fingerprint) + "\"}";
}

}  // namespace

ResumableLines::ResumableLines(const std::filesystem::path& output, std::uint64_t fingerprint)
    : output_(output), partial_(output.string() + ".partial") {
  descriptor_ = ::open(partial_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail(errno);
  try {
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      throw Error(partial_.string() + ": another run is writing it; wait for its end");
    }
    read_earlier(header_of(fingerprint));
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

ResumableLines::~ResumableLines() { ::close(descriptor_); }

void ResumableLines::read_earlier(const std::string& header) {
  const std::string text = read_file(partial_, SIZE_MAX);
  const std::size_t complete = text.rfind('\n') + 1;  // 0 if there is none.
  if (complete == 0) {
    if (::ftruncate(descriptor_, 0) != 0) fail(errno);
    write(header + '\n');
    return;
  }
  if (text.substr(0, text.find('\n')) != header) {
    throw Error(partial_.string() +
                ": was begun with other tasks, weights, options or another version of the program; "
                "remove it to begin anew");
  }
  for (std::size_t at = header.size() + 1; at < complete;) {
    const std::size_t end = text.find('\n', at);
    lines_.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  if (::ftruncate(descriptor_, static_cast<off_t>(complete)) != 0) fail(errno);
}

void ResumableLines::add(std::string line) {
  write(line + '\n');
  lines_.push_back(std::move(line));
}

void ResumableLines::finish() {
  std::string text;
  for (const std::string& line : lines_) text.append(line).append("\n");
  write_file(output_, text);
  std::error_code ignored;
  std::filesystem::remove(partial_, ignored);
}

void ResumableLines::write(std::string_view bytes) {
  if (const int error_number = write_all(descriptor_, bytes); error_number != 0) fail(error_number);
}

void ResumableLines::fail(int error_number) const {
  throw Error(partial_.string() + ": cannot be written: " + std::strerror(error_number),
              ErrorKind::kIo);
}

}  // namespace neuroshard::tools
