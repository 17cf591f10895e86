#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

// All fields of a struct that is kept in pickles, const or not, in their order. A struct that gets
// another one keeps it, too.

namespace neuroshard::python {

/// Stands for a field of any type, where only their number is looked at.
struct AnyField {
  std::size_t index;
  template <typename T>
  operator T() const;
};

template <typename S, std::size_t... kIndex>
constexpr bool has_fields(std::index_sequence<kIndex...>) {
  return requires { S{AnyField{kIndex}...}; };
}

/// The most fields that can be given to make an `S`.
template <typename S, std::size_t kMost = 24>
constexpr std::size_t count_fields() {
  if constexpr (has_fields<S>(std::make_index_sequence<kMost>())) {
    return kMost;
  } else {
    return count_fields<S, kMost - 1>();
  }
}

template <typename S>
auto fields_of(S& s) {
  constexpr std::size_t kFields = count_fields<std::remove_const_t<S>>();
  if constexpr (kFields == 2) {
    auto& [a, b] = s;
    return std::tie(a, b);
  } else if constexpr (kFields == 3) {
    auto& [a, b, c] = s;
    return std::tie(a, b, c);
  } else if constexpr (kFields == 4) {
    auto& [a, b, c, d] = s;
    return std::tie(a, b, c, d);
  } else if constexpr (kFields == 5) {
    auto& [a, b, c, d, e] = s;
    return std::tie(a, b, c, d, e);
  } else if constexpr (kFields == 6) {
    auto& [a, b, c, d, e, f] = s;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (kFields == 7) {
    auto& [a, b, c, d, e, f, g] = s;
    return std::tie(a, b, c, d, e, f, g);
  } else if constexpr (kFields == 8) {
    auto& [a, b, c, d, e, f, g, h] = s;
    return std::tie(a, b, c, d, e, f, g, h);
  } else if constexpr (kFields == 9) {
    auto& [a, b, c, d, e, f, g, h, i] = s;
    return std::tie(a, b, c, d, e, f, g, h, i);
  } else if constexpr (kFields == 10) {
    auto& [a, b, c, d, e, f, g, h, i, j] = s;
    return std::tie(a, b, c, d, e, f, g, h, i, j);
  } else if constexpr (kFields == 12) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l] = s;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l);
  } else if constexpr (kFields == 15) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = s;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o);
  } else {
    static_assert(kFields == 23, "no struct has had so many fields: give it a case");
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, t, u, v, w, x] = s;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, t, u, v, w, x);
  }
}

}  // namespace neuroshard::python
