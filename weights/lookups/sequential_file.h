#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct gzFile_s;

namespace neuroshard {

/// A file read from front to back with bounded memory, unpacked on the way if it is
/// gzip-compressed. Files that are not compressed are skipped over without being read. Every
/// function throws Error (kIo, or kInvalidInput if the compressed data are damaged) naming the
/// file.
class SequentialFile {
 public:
  explicit SequentialFile(const std::filesystem::path& path);
  SequentialFile(const SequentialFile&) = delete;
  SequentialFile& operator=(const SequentialFile&) = delete;

  /// Bytes read or skipped so far, counted after unpacking.
  [[nodiscard]] std::int64_t position() const { return position_; }
  [[nodiscard]] bool compressed() const { return gzip_ != nullptr; }
  [[nodiscard]] const std::string& name() const { return name_; }

  /// Fills `bytes`; throws Error if the file ends before.
  void read(std::span<char> bytes);
  void skip_to(std::int64_t position);
  /// Throws Error if the file is too short to hold `count` more numbers of `bytes_each` bytes, as
  /// `what` claims: before memory is taken for them. A compressed file is short if no packing could
  /// have made it so small; a pipe never is.
  void require(std::int64_t count, std::int64_t bytes_each, const std::string& what) const;
  /// The next bytes without taking them: `count` (at most kMaxPeek), or fewer at the end.
  [[nodiscard]] std::string_view peek(std::size_t count);

  static constexpr std::size_t kMaxPeek = std::size_t{1} << 16;

 private:
  /// Closed even if the constructor throws.
  struct Descriptor {
    Descriptor() = default;
    ~Descriptor();
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int value = -1;
  };
  struct CloseGzip {
    void operator()(gzFile_s* file) const;
  };

  /// Appends to the buffer; false at the end of the file.
  bool refill();

  std::string name_;
  Descriptor descriptor_;
  std::int64_t most_bytes_ = 0;  ///< That the file can have, unpacked.
  std::unique_ptr<gzFile_s, CloseGzip> gzip_;
  std::int64_t position_ = 0;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  ///< Begin of what is left in the buffer,
  std::size_t end_ = 0;    ///< and the end of it.
};

}  // namespace neuroshard
