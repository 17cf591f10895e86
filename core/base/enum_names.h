#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/message_text.h"
#include "core/base/nearest_name.h"
#include "neuroshard/error.h"

namespace neuroshard {

// Enums whose values count from 0. Their names, in files, options and messages, are those of the
// enumerators, which the compiler knows: kRowwiseAdagrad is "rowwise_adagrad". So the names are the
// list of all values. Static variables are not exported, as others are of public enums.

/// "kRowwiseAdagrad"; empty if `kValue` is none of the enumerators.
template <auto kValue>
constexpr std::string_view enumerator() {
  // It ends in "kValue = neuroshard::Optimizer::kAdam]", or "...; ...]" by gcc. A number that is no
  // enumerator is "(neuroshard::Optimizer)8".
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find("kValue = "));
  text = text.substr(0, text.find_first_of(";]"));
  text.remove_prefix(text.rfind(':') + 1);
  return text.starts_with('k') ? text : std::string_view();
}

/// "rowwise_adagrad", with a zero behind it.
template <auto kValue>
static constexpr auto kNameOfValue = [] {
  constexpr std::string_view kSpelt = enumerator<kValue>();
  std::array<char, 2 * kSpelt.size()> name{};
  std::size_t end = 0;
  for (const char letter : kSpelt.substr(1)) {
    const bool is_capital = letter >= 'A' && letter <= 'Z';
    if (is_capital && end > 0) name[end++] = '_';
    name[end++] = is_capital ? static_cast<char>(letter - 'A' + 'a') : letter;
  }
  return name;
}();

template <typename Value, std::size_t kIndex = 0>
constexpr std::size_t count_named() {
  if constexpr (enumerator<static_cast<Value>(kIndex)>().empty()) {
    return kIndex;
  } else {
    return count_named<Value, kIndex + 1>();
  }
}

template <typename Value>
static constexpr auto kAllNamed = []<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
  return std::array{static_cast<Value>(kIndex)...};
}
(std::make_index_sequence<count_named<Value>()>{});

template <typename Value>
static constexpr auto kNames = []<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
  return std::array{std::string_view(kNameOfValue<static_cast<Value>(kIndex)>.data())...};
}
(std::make_index_sequence<count_named<Value>()>{});

template <typename Value>
std::string_view name_or_unknown(Value value) {
  const auto index = static_cast<std::size_t>(value);
  return index < kNames<Value>.size() ? kNames<Value>[index] : "unknown";
}

/// "fp32, fp16".
template <typename Values>
std::string listed_names(const Values& all) {
  return joined(all, ", ", [](auto value) { return name_of(value); });
}

/// The one of `all` that is called `name`; throws Error with the nearest name, or all of them.
template <typename Value>
Value named(std::span<const Value> all, std::string_view name, const std::string& kind) {
  std::vector<std::string> known;
  for (const Value value : all) {
    if (name_of(value) == name) return value;
    known.emplace_back(name_of(value));
  }
  const std::string_view nearest = nearest_name(name, known);
  throw Error("there is no " + kind + " '" + std::string(name) + "'; " +
              (nearest.empty() ? "" : "did you mean '" + std::string(nearest) + "'? ") +
              "use one of " + listed_names(all));
}

}  // namespace neuroshard
