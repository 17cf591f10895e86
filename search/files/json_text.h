#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <string>
#include <string_view>
#include <vector>

#include "neuroshard/plan.h"

namespace neuroshard::json_text {

// Text is put together without nlohmann::json's values: their destructors allocate memory, and end
// the process where there is none.

template <std::integral Number>
void append(std::string& text, Number number) {
  std::array<char, 24> digits{};
  text.append(digits.data(),
              std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
}

inline void append(std::string& text, bool value) { text += value ? "true" : "false"; }

/// As many digits as tell it from all others; with a point, so that it is a fraction to every
/// reader.
void append(std::string& text, double number);

/// Names may hold any bytes; what is not UTF-8 becomes U+FFFD.
void append(std::string& text, std::string_view name);

inline void append(std::string& text, const std::string& name) {
  append(text, std::string_view(name));
}

/// May be empty.
[[nodiscard]] inline const std::string& name_of_table(const Task& task, int table) {
  return task.tables[static_cast<std::size_t>(table)].name;
}

/// [table, first_column, dim, first_row, rows]
void append(std::string& text, const TableSlice& slice);

/// [table, rows], or [table, rows, node_rows]
void append(std::string& text, const HotRows& hot);

/// Notes of a document: `notes`, and `warning` if there is one.
[[nodiscard]] inline std::vector<std::string> all_notes(std::vector<std::string> notes,
                                                        const std::string& warning) {
  if (!warning.empty()) notes.push_back(warning);
  return notes;
}

class Fields;
void append(std::string& text, const Fields& object);

template <typename T>
void append(std::string& text, const std::vector<T>& items) {
  text += '[';
  const char* separator = "";
  for (const T& item : items) {
    append(text += separator, item);
    separator = ",";
  }
  text += ']';
}

/// A JSON object. A document has each field on a line of its own, to which the caller adds others.
class Fields {
 public:
  enum class Style { kCompact, kLines };
  explicit Fields(Style style = Style::kCompact) : style_(style) {}

  template <typename T>
  Fields& add(std::string_view name, const T& value) {
    append(key(name), value);
    return *this;
  }
  Fields& add(std::string_view name, const char* value) {
    return add(name, std::string_view(value));
  }

  /// None if `text` is empty.
  Fields& add_if_any(std::string_view name, const std::string& text) {
    return text.empty() ? *this : add(name, text);
  }

  [[nodiscard]] std::string text() const {
    return style_ == Style::kLines ? "{\n" + fields_ + "\n}\n" : '{' + fields_ + '}';
  }
  /// Text between the braces, for callers to append to.
  std::string& fields() { return fields_; }

 private:
  std::string& key(std::string_view name) {
    const bool lines = style_ == Style::kLines;
    if (!fields_.empty()) fields_ += lines ? ",\n" : ",";
    if (lines) fields_ += "  ";
    append(fields_, name);
    return fields_ += lines ? ": " : ":";
  }

  Style style_;
  std::string fields_;
};

inline void append(std::string& text, const Fields& object) { text += object.text(); }

/// Times that are hidden or are those of host memory, if there are any.
void add_hidden_and_host(Fields& fields, const DeviceCost& cost);

}  // namespace neuroshard::json_text
