#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "neuroshard/error.h"

namespace neuroshard::fuzz {

/// Lets `read` have the input. It may throw Error; anything else ends the fuzzer, which reports it.
template <typename Read>
int run(const std::uint8_t* data, std::size_t size, Read read) {
  try {
    read(std::string_view(reinterpret_cast<const char*>(data), size));
  } catch (const Error& error) {
    if (std::string_view(error.what()).empty()) std::abort();  // Says nothing.
  }
  return 0;
}

/// A file in memory, for readers that take a path; its contents change, its path does not.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(::memfd_create("input", MFD_CLOEXEC)) {
    if (descriptor_ < 0) std::abort();
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }
  void set(std::string_view bytes) const {
    const auto size = static_cast<ssize_t>(bytes.size());
    if (::ftruncate(descriptor_, 0) != 0 ||
        ::pwrite(descriptor_, bytes.data(), bytes.size(), 0) != size) {
      std::abort();
    }
  }

 private:
  int descriptor_;
};

/// Divides an input for readers of two files: the first has as many bytes as the first two say.
struct TwoFiles {
  explicit TwoFiles(std::string_view input) {
    if (input.size() < 2) return;
    const std::size_t length = static_cast<unsigned char>(input[0]) |
                               static_cast<std::size_t>(static_cast<unsigned char>(input[1])) << 8U;
    input.remove_prefix(2);
    first = input.substr(0, length);
    second = input.substr(first.size());
  }
  std::string_view first;
  std::string_view second;
};

}  // namespace neuroshard::fuzz
