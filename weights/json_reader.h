#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>

namespace neuroshard {

/// Strict JSON: no duplicate keys, at most 32 levels, no NaN. `where` opens every message.
/// Throws Error (kInvalidInput) with line and column.
[[nodiscard]] nlohmann::json parse_json(std::string_view text, const std::string& where);
/// The same from a file; also throws Error (kIo).
[[nodiscard]] nlohmann::json read_json_file(const std::filesystem::path& path);

/// The fields of a JSON object, by name and type. Every getter throws Error (kInvalidInput) with
/// place, fact and remedy if the field is missing, has another type or is out of range. Borrows the
/// value.
class JsonObject {
 public:
  /// `where` says which object of which file this is, e.g. "tasks/a.json: table 17".
  JsonObject(const nlohmann::json& value, std::string where);

  [[nodiscard]] bool has(const std::string& name) const;

  /// A number with a fraction of zero counts as an integer.
  [[nodiscard]] std::int64_t integer(const std::string& name, std::int64_t low,
                                     std::int64_t high) const;
  [[nodiscard]] int small_integer(const std::string& name, int low, int high) const;
  [[nodiscard]] double number(const std::string& name,
                              double low = std::numeric_limits<double>::lowest(),
                              double high = std::numeric_limits<double>::max()) const;
  [[nodiscard]] std::string text(const std::string& name) const;
  [[nodiscard]] const nlohmann::json& array(const std::string& name) const;
  [[nodiscard]] JsonObject object(const std::string& name) const;
  /// Any type.
  [[nodiscard]] const nlohmann::json& value(const std::string& name) const;

  /// Throws Error unless every field has been asked for by one of the functions above.
  void reject_unknown_fields() const;

  /// Place of a field, for messages.
  [[nodiscard]] std::string place(const std::string& name) const { return where_ + ": " + name; }
  [[nodiscard]] const std::string& where() const { return where_; }

 private:
  [[noreturn]] void fail_unknown(const std::string& name) const;

  const nlohmann::json* value_;
  std::string where_;
  mutable std::set<std::string> known_;
};

/// An integer outside of an object, e.g. an array's element. `what` names it.
[[nodiscard]] std::int64_t json_integer(const nlohmann::json& value, const std::string& what,
                                        std::int64_t low, std::int64_t high);

/// A file's first two fields: throws Error unless "format" is `format` and "version" is one that
/// this library reads, 1 to `newest_version`. Returns the version.
int check_format(const JsonObject& file, const std::string& format, int newest_version);

}  // namespace neuroshard
