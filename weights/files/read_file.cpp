#include "weights/files/read_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "neuroshard/error.h"

namespace neuroshard {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& reason) {
  throw Error(path.string() + ": cannot be read: " + reason, ErrorKind::kIo);
}

}  // namespace

std::string read_file(const std::filesystem::path& path, std::size_t max_bytes) {
  if (path.empty()) throw Error("no file name given", ErrorKind::kIo);
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
  if (!file) fail(path, std::strerror(errno));
  // In pieces, since pipes do not tell their size.
  constexpr std::size_t kPiece = std::size_t{1} << 16;
  std::string bytes;
  std::size_t used = 0;
  while (true) {
    bytes.resize(used + kPiece);
    const std::size_t got = std::fread(bytes.data() + used, 1, kPiece, file.get());
    used += got;
    if (used > max_bytes) {
      fail(path, "it has more than " + std::to_string(max_bytes) + " bytes; is it the right file?");
    }
    if (got < kPiece) break;
  }
  if (std::ferror(file.get()) != 0) fail(path, std::strerror(errno));
  bytes.resize(used);
  return bytes;
}

}  // namespace neuroshard
