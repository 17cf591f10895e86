#include "tools/console/resumable_lines.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>

#include "core/base/fingerprint.h"
#include "neuroshard/error.h"
#include "weights/files/atomic_file.h"
#include "weights/files/read_file.h"
#include "weights/files/write_all.h"

namespace neuroshard::tools {
namespace {

// Parts of a line: checksum, space, number, space, the line.
constexpr std::size_t kChecksumDigits = 16;

std::string header_of(std::uint64_t fingerprint) {
  return "{\"neuroshard.partial\": \"" + hex_digits(fingerprint) + "\"}";
}

}  // namespace

ResumableLines::ResumableLines(const std::filesystem::path& output, std::uint64_t fingerprint,
                               std::size_t count)
    : output_(output),
      partial_(output.string() + ".partial"),
      header_(header_of(fingerprint)),
      lines_(count) {
  descriptor_ = ::open(output_target(partial_).c_str(),
                       O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor_ < 0) fail(errno);
  try {
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      throw Error(partial_.string() + ": another run is writing it; wait for its end");
    }
    read_earlier();
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

ResumableLines::~ResumableLines() { ::close(descriptor_); }

void ResumableLines::read_earlier() {
  const std::string text = read_file(partial_, SIZE_MAX);
  const std::size_t complete = text.rfind('\n') + 1;  // 0 if there is none.
  if (complete == 0) {
    if (::ftruncate(descriptor_, 0) != 0) fail(errno);
    write(header_ + '\n');
    return;
  }
  if (text.substr(0, text.find('\n')) != header_) {
    throw Error(partial_.string() +
                ": was begun with other tasks, weights, options or another version of the program; "
                "remove it to begin anew");
  }
  std::size_t left_out = 0;
  for (std::size_t at = header_.size() + 1; at < complete;) {
    const std::size_t end = text.find('\n', at);
    if (!take(std::string_view(text).substr(at, end - at))) ++left_out;
    at = end + 1;
  }
  // A run that is stopped leaves a gap nowhere but at the end.
  const auto last = std::find_if(lines_.rbegin(), lines_.rend(),
                                 [](const auto& line) { return line.has_value(); });
  const auto missing = std::count(last, lines_.rend(), std::nullopt);
  if (left_out > 0 || missing > 0) {
    damage_ = partial_.string() + ": " + std::to_string(left_out) +
              " of its lines are damaged or double, and " + std::to_string(missing) +
              " missing before others; what is not there is made again";
  }
  if (::ftruncate(descriptor_, static_cast<off_t>(complete)) != 0) fail(errno);
}

bool ResumableLines::take(std::string_view written) {
  if (written.size() <= kChecksumDigits) return false;
  const std::string_view numbered = written.substr(kChecksumDigits + 1);
  if (written.substr(0, kChecksumDigits) != checksum_of(numbered)) return false;
  std::size_t number = 0;
  const char* const end = numbered.data() + numbered.size();
  const auto [rest, error] = std::from_chars(numbered.data(), end, number);
  if (error != std::errc() || rest == end || number >= lines_.size() || lines_[number]) {
    return false;
  }
  lines_[number].emplace(rest + 1, end);
  return true;
}

// With the header, so that lines of other work do not agree.
std::string ResumableLines::checksum_of(std::string_view numbered) const {
  Fingerprint sum;
  sum.add(header_);
  sum.add(numbered);
  return hex_digits(sum.value());
}

void ResumableLines::add(std::size_t number, std::string line) {
  const std::string numbered = std::to_string(number) + ' ' + line;
  write(checksum_of(numbered) + ' ' + numbered + '\n');
  lines_[number] = std::move(line);
}

void ResumableLines::finish() {
  std::string text;
  for (const auto& line : lines_) text.append(line.value()).append("\n");
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
