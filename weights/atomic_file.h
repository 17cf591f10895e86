#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace neuroshard {

/// A file that appears under its name whole or not at all: written under a temporary name in the
/// same folder and renamed at the end. An existing device or pipe is written to directly; a
/// symbolic link keeps pointing where it does. All functions throw Error (kIo) naming the file.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  /// Without a `commit` nothing remains.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view bytes);
  /// Makes the file appear, on disk and under its name. Call once, last.
  void commit();

 private:
  [[noreturn]] void fail(int error_number);
  void discard() noexcept;

  std::filesystem::path path_;       ///< As given, for messages.
  std::filesystem::path target_;     ///< Links followed.
  std::filesystem::path temporary_;  ///< Empty if written to directly.
  int descriptor_ = -1;
};

/// `AtomicFile` for contents that are at hand.
void write_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace neuroshard
