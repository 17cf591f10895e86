#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace neuroshard {

/// A zip file in memory, read only. Every function throws Error naming the file.
class ZipArchive {
 public:
  /// Borrows `bytes`.
  ZipArchive(std::string_view bytes, std::string where);
  ~ZipArchive();
  ZipArchive(const ZipArchive&) = delete;
  ZipArchive& operator=(const ZipArchive&) = delete;

  /// Sorted.
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] bool contains(const std::string& name) const { return indices_.contains(name); }

  /// A whole entry, unpacked and with its checksum verified. Throws Error before it takes more than
  /// `max_bytes`, whatever the entry says of its size.
  [[nodiscard]] std::string read(const std::string& name, std::size_t max_bytes) const;

 private:
  class Unpacker;

  std::string where_;
  std::unique_ptr<Unpacker> unpacker_;
  std::map<std::string, std::uint64_t> indices_;
};

}  // namespace neuroshard
