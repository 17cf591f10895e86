#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

#include "neuroshard/c_api.h"
#include "neuroshard/error.h"

// Structs of the C interface that begin with their size, so that program and library may know of
// different numbers of fields. All fields of the interface's first version must be there.

namespace neuroshard::c_api {

inline constexpr std::size_t kLargestStruct = 4096;  // A larger size was never set.

inline void require_size(std::size_t size, std::size_t first, const char* name) {
  if (size < first || size > kLargestStruct) {
    throw Error(std::string(name) + ".size is " + std::to_string(size) + "; set it to sizeof(" +
                name + ")");
  }
}

/// The options that a caller gave, NULL for none, and defaults for fields that the caller does not
/// know. Throws Error if there are others, which this library does not know. `first`: the size of
/// `Options` in the first version.
template <typename Options>
Options options_from(const Options* given, std::size_t first, const char* name) {
  Options options{};
  if (given == nullptr) return options;
  require_size(given->size, first, name);
  std::memcpy(&options, given, std::min(given->size, sizeof options));
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  const bool unknown = std::any_of(bytes + std::min(given->size, sizeof options),
                                   bytes + given->size, [](unsigned char b) { return b != 0; });
  if (unknown || options.reserved != 0) {
    throw Error(std::string(name) + " asks for something that this library, version " +
                NEUROSHARD_VERSION +
                ", does not know; use a newer one, or set all that is not "
                "needed to 0");
  }
  return options;
}

/// Writes as much of `result` as the caller's struct has room for, and 0 to what it has beyond
/// that.
template <typename Result>
void write_to(Result* caller, const Result& result, std::size_t first, const char* name) {
  if (caller == nullptr) throw Error(std::string(name) + " is NULL");
  require_size(caller->size, first, name);
  const std::size_t size = caller->size;
  std::memcpy(caller, &result, std::min(size, sizeof result));
  if (size > sizeof result) {
    std::memset(reinterpret_cast<unsigned char*>(caller) + sizeof result, 0, size - sizeof result);
  }
  caller->size = size;
}

}  // namespace neuroshard::c_api
