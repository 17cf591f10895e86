#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/message_text.h"
#include "core/base/nearest_name.h"
#include "neuroshard/error.h"

namespace neuroshard {

// For enums whose values count from 0 and whose names `text_of(Value)` has: a switch without a
// default, so that a value without a name does not compile, and "" for all other numbers. By it the
// names are the list of all values.

template <typename Value>
std::string_view name_or_unknown(Value value) {
  const std::string_view text = text_of(value);
  return text.empty() ? "unknown" : text;
}

template <typename Value>
constexpr std::size_t count_named() {
  std::size_t count = 0;
  while (!text_of(static_cast<Value>(count)).empty()) ++count;
  return count;
}

template <typename Value>
constexpr auto all_named() {
  std::array<Value, count_named<Value>()> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<Value>(i);
  return all;
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
