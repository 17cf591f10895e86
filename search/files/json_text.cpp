#include "search/files/json_text.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace neuroshard::json_text {

void append(std::string& text, double number) {
  if (!std::isfinite(number)) {
    text += "null";
    return;
  }
  const double size = std::abs(number);
  const bool plain = number == 0.0 || (size >= 1e-4 && size < 1e15);
  std::array<char, 40> digits{};
  const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), number,
                                  plain ? std::chars_format::fixed : std::chars_format::scientific)
                        .ptr;
  const std::string_view written(digits.data(), end);
  text += written;
  if (plain && written.find('.') == std::string_view::npos) text += ".0";
}

void append(std::string& text, std::string_view name) {
  const bool plain = std::ranges::all_of(
      name, [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
  if (plain) {
    text.append("\"").append(name).append("\"");
  } else {
    using Json = nlohmann::json;
    text += Json(name).dump(-1, ' ', false, Json::error_handler_t::replace);
  }
}

void append(std::string& text, const TableSlice& slice) {
  append(text += '[', slice.table);
  append(text += ',', slice.first_column);
  append(text += ',', slice.dim);
  append(text += ',', slice.first_row);
  append(text += ',', slice.rows);
  text += ']';
}

void append(std::string& text, const HotRows& hot) {
  append(text += '[', hot.table);
  append(text += ',', hot.rows);
  if (hot.node_rows > 0) append(text += ',', hot.node_rows);
  text += ']';
}

void add_hidden_and_host(Fields& fields, const DeviceCost& cost) {
  if (cost.hidden_ms != 0.0) fields.add("hidden_ms", cost.hidden_ms);
  if (cost.fetch_ms != 0.0) fields.add("fetch_ms", cost.fetch_ms);
  if (cost.ssd_ms != 0.0) fields.add("ssd_ms", cost.ssd_ms);
  if (cost.hidden_fetch_ms != 0.0) fields.add("hidden_fetch_ms", cost.hidden_fetch_ms);
}

}  // namespace neuroshard::json_text
