#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <new>
#include <span>
#include <string>

#include "neuroshard/c_api.h"
#include "neuroshard/error.h"

namespace neuroshard::c_api {

/// Keeps `message` for ns_last_error() on this thread, as far as memory allows. Returns `status`.
ns_status failed(ns_status status, const char* message) noexcept;

[[nodiscard]] ns_status status_of(ErrorKind kind);

/// Runs `work` and returns its status. No exception leaves this: it becomes a status with its
/// message.
template <typename Work>
ns_status guarded(const Work& work) noexcept {
  try {
    return work();
  } catch (const Error& error) {
    return failed(status_of(error.kind()), error.what());
  } catch (const std::bad_alloc&) {
    return failed(NS_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception& error) {
    return failed(NS_INTERNAL, error.what());
  } catch (...) {
    return failed(NS_INTERNAL, "an exception of unknown type");
  }
}

/// `*argument`, called `name` in the error if it is NULL.
template <typename T>
T& required(T* argument, const char* name) {
  if (argument == nullptr) throw Error(std::string(name) + " is NULL");
  return *argument;
}

/// `count`, called `name` in the error if it is more than `most`: what a negative number or a wrong
/// multiplication makes of it would be read or written far beyond an array.
inline std::size_t required_count(std::size_t count, std::size_t most, const char* name) {
  if (count <= most) return count;
  throw Error(std::string(name) + " is " + std::to_string(count) + "; give at most " +
              std::to_string(most));
}

/// Clears the argument through which a function returns a handle: NULL until it is made.
template <typename T>
void clear_handle(T** handle, const char* name) {
  required(handle, name) = nullptr;
}

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
