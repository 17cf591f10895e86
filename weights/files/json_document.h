#pragma once

#include <simdjson.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace neuroshard {

/// Limits of a document, so that a hostile one costs neither time nor memory. Reading takes time
/// linear in the text, and memory of at most some 600 MiB.
inline constexpr std::size_t kMaxJsonBytes = std::size_t{1} << 26;
inline constexpr std::size_t kMaxJsonEntries = 4'000'000;  ///< Commas, as a bound of all entries.
inline constexpr int kMaxJsonDepth = 32;

/// Cheap to copy; borrows its document.
using JsonValue = simdjson::dom::element;
using JsonArray = simdjson::dom::array;

/// A JSON text that has been read.
class JsonDocument {
 public:
  [[nodiscard]] JsonValue root() const { return root_; }

 private:
  friend JsonDocument parse_json(std::string_view text, const std::string& where);

  /// The layout of a parser depends on simdjson's compile definitions, so that only one file looks
  /// into it.
  struct Delete {
    void operator()(simdjson::dom::parser* parser) const;
  };
  std::unique_ptr<simdjson::dom::parser, Delete> parser_;  ///< Owns what root_ refers to.
  JsonValue root_;
};

/// Strict JSON: no duplicate keys, at most kMaxJsonDepth levels, no NaN, numbers of 64 bits.
/// `where` opens every message. Throws Error (kInvalidInput), with line and column where the text
/// is no JSON.
[[nodiscard]] JsonDocument parse_json(std::string_view text, const std::string& where);
/// Parses a file; also throws Error (kIo).
[[nodiscard]] JsonDocument read_json_file(const std::filesystem::path& path);

/// Whether `text` is one JSON value within the limits above.
[[nodiscard]] bool is_json(std::string_view text);

}  // namespace neuroshard
