#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "search/c_api/status.h"

namespace neuroshard::c_api {

/// Writes `items` as far as there is room, and their number.
template <typename T>
ns_status write_array(std::span<const T> items, T* room, std::size_t capacity, const char* name,
                      std::size_t* count) {
  std::size_t& number = required(count, "count");
  if (capacity > 0)
    std::ranges::copy(items.first(std::min(items.size(), capacity)), &required(room, name));
  number = items.size();
  return NS_OK;
}

}  // namespace neuroshard::c_api
