#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace neuroshard {

/// The file that an output path names, links followed; it need not be there. Throws Error (kIo) if
/// that follows a link in a sticky folder which belongs neither to this user nor to the folder's
/// owner: anybody may have put it there, so that what it points to is overwritten.
[[nodiscard]] std::filesystem::path output_target(const std::filesystem::path& path);

/// A file that appears under its name whole or not at all: written without a name, where the file
/// system can do that (so that not even a kill leaves anything behind), else under a temporary name
/// in the same folder, and renamed at the end. An existing device or pipe is written to directly; a
/// symbolic link keeps pointing where it does. All functions throw Error (kIo) naming the file.
class AtomicFile {
 public:
  /// Who may read and write a new file is `mode`, less the umask; of one that exists it stays the
  /// same, but never more than `mode`.
  explicit AtomicFile(std::filesystem::path path, mode_t mode = 0666);
  /// Without a `commit` nothing remains.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view bytes);
  /// Makes the file appear, on disk and under its name. Call once, last.
  void commit();

 private:
  [[noreturn]] void fail(int error_number);
  void open_unnamed();
  void open_temporary();
  /// Calls `make(name)` with temporary names beside the target until one is not taken; its result.
  template <typename Make>
  int make_temporary(Make make);
  void discard() noexcept;

  mode_t mode_;
  std::filesystem::path path_;       ///< As given, for messages.
  std::filesystem::path target_;     ///< Links followed.
  std::filesystem::path temporary_;  ///< Empty while there is none.
  bool renames_ = false;             ///< False if written to directly.
  int descriptor_ = -1;
};

/// `AtomicFile` for contents that are at hand.
void write_file(const std::filesystem::path& path, std::string_view bytes);

/// Also creates the folders that `folder` is in; it may be there. Throws Error (kIo) naming it.
void create_folder(const std::filesystem::path& folder);

}  // namespace neuroshard
