#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "neuroshard/error.h"
#include "weights/files/json_document.h"

namespace neuroshard {

/// The fields of a JSON object, by name and type. Every getter throws Error (kInvalidInput) with
/// place, fact and remedy if the field is missing, has another type or is out of range. Borrows the
/// value, and the names that it is asked for.
class JsonObject {
 public:
  /// Says which object of which file this is, e.g. "tasks/a.json: table 17". Asked for messages
  /// only, since putting a text together takes longer than reading a small object.
  using Where = std::function<std::string()>;

  JsonObject(JsonValue value, std::string where);

  /// For one object after the other: none until reset().
  explicit JsonObject(Where where) : where_(std::move(where)) {}
  /// Goes on to another object, at the place that `where` says from now on.
  void reset(JsonValue value);

  [[nodiscard]] bool has(std::string_view name) const;
  /// Whether every field has been asked for.
  [[nodiscard]] bool all_known() const { return unknown_ == 0; }

  /// A number with a fraction of zero counts as an integer.
  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t low,
                                     std::int64_t high) const;
  [[nodiscard]] int small_integer(std::string_view name, int low, int high) const;
  [[nodiscard]] double number(std::string_view name,
                              double low = std::numeric_limits<double>::lowest(),
                              double high = std::numeric_limits<double>::max()) const;
  /// Nothing if there is no such field.
  [[nodiscard]] std::optional<double> number_if_any(std::string_view name, double low,
                                                    double high) const;
  /// False if there is no such field.
  [[nodiscard]] bool flag_if_any(std::string_view name) const;
  [[nodiscard]] std::string text(std::string_view name) const;
  [[nodiscard]] JsonArray array(std::string_view name) const;
  [[nodiscard]] JsonObject object(std::string_view name) const;
  /// Any type.
  [[nodiscard]] JsonValue value(std::string_view name) const;

  /// Throws Error unless every field has been asked for by one of the functions above.
  void reject_unknown_fields() const;

  /// "a.json: batch_size is 3", for messages. The field is there.
  [[nodiscard]] std::string stated(std::string_view name) const;
  /// Place of a field, for messages.
  [[nodiscard]] std::string place(std::string_view name) const;
  [[nodiscard]] std::string where() const { return where_(); }
  /// Returns what `read` makes of a field. An Error that it throws gets the field's place.
  template <typename Read>
  auto read_at(std::string_view name, const Read& read) const {
    try {
      return read();
    } catch (const Error& error) {
      throw Error(place(name) + ": " + error.what());
    }
  }
  /// Sets `value` to what `from_name` makes of a text, if there is such a field.
  template <typename Value, typename FromName>
  void read_named(std::string_view field, Value& value, const FromName& from_name) const {
    if (!has(field)) return;
    const std::string name = text(field);
    value = read_at(field, [&] { return from_name(name); });
  }
  /// In the order of the text.
  [[nodiscard]] std::vector<std::string_view> names() const;

 private:
  struct Field {
    std::string_view name;
    JsonValue value;
    bool known = false;  ///< Has been asked for.
  };

  [[nodiscard]] const JsonValue* find(std::string_view name) const;
  [[nodiscard]] double number_of(JsonValue field, std::string_view name, double low,
                                 double high) const;
  [[noreturn]] void fail_missing(std::string_view name) const;
  [[noreturn]] void fail_unknown(std::string_view name) const;

  Where where_;
  mutable std::vector<Field> fields_;
  mutable std::vector<std::string_view> absent_;  ///< Asked for, and not there.
  mutable std::size_t unknown_ = 0;               ///< Fields that nobody has asked for.
  mutable std::size_t next_ = 0;                  ///< Fields are mostly asked for in their order.
};

/// An integer outside of an object, e.g. an array's element. `what` names it.
[[nodiscard]] std::int64_t json_integer(JsonValue value, const std::string& what, std::int64_t low,
                                        std::int64_t high);

/// A number outside of an object. `what` names it.
[[nodiscard]] double json_number(JsonValue value, const std::string& what, double low, double high);

/// A file's first two fields: throws Error unless "format" is `format` and "version" is one that
/// this library reads, 1 to `newest_version`. Returns the version.
int check_format(const JsonObject& file, const std::string& format, int newest_version);

}  // namespace neuroshard
