#include "neuroshard/exchange_types.h"

#include <algorithm>

#include "core/base/enum_names.h"
#include "core/base/message_text.h"
#include "core/tables/exchange_fields.h"

namespace neuroshard {

double wire_bytes(WireType type) {
  switch (type) {
    case WireType::kInt64:
      return 8.0;
    case WireType::kFp32:
    case WireType::kInt32:
      return 4.0;
    case WireType::kFp16:
    case WireType::kBf16:
      return 2.0;
    case WireType::kFp8:
      return 1.0;
  }
  return 0.0;
}

std::optional<std::string> exchange_problem_of(const ExchangeTypes& types) {
  for (const auto& [name, type, known] : kWireTypeFields) {
    if (std::ranges::find(known, types.*type) != known.end()) continue;
    return std::string(name) + " is " + std::string(name_of(types.*type)) + "; use one of " +
           listed_names(known);
  }
  for (const auto& [name, share] : kSentShareFields) {
    if (types.*share >= kLeastSentShare && types.*share <= 1.0) continue;
    return std::string(name) + " is " + shortest_text(types.*share) +
           "; give the share of the bytes that are sent, 0.001 to 1";
  }
  if (types.hot_rows_by_node && !types.hot_rows) {
    return "hot_rows_by_node is said without hot_rows; say both, or neither";
  }
  return std::nullopt;
}

std::string exchange_text(const ExchangeTypes& types) {
  const ExchangeTypes usual;
  std::string text;
  const auto add = [&](const char* name, std::string_view value) {
    text.append(text.empty() ? "" : ", ").append(name).append(" ").append(value);
  };
  for (const auto& [name, type, known] : kWireTypeFields) {
    if (types.*type != usual.*type) add(name, name_of(types.*type));
  }
  for (const auto& [name, share] : kSentShareFields) {
    if (types.*share != usual.*share) add(name, shortest_text(types.*share));
  }
  for (const auto& [name, flag] : kExchangeFlagFields) {
    if (types.*flag) text.append(text.empty() ? "" : ", ").append(name);
  }
  return text;
}

}  // namespace neuroshard
