#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <vector>

namespace neuroshard::python {

template <typename T>
using Array = nanobind::ndarray<nanobind::numpy, const T, nanobind::ndim<1>>;

/// A numpy array, not writable, that owns `values`.
template <typename T>
[[nodiscard]] Array<T> array_of(std::vector<T> values) {
  auto* kept = new std::vector<T>(std::move(values));
  const nanobind::capsule owner(
      kept, [](void* pointer) noexcept { delete static_cast<std::vector<T>*>(pointer); });
  return Array<T>(kept->data(), {kept->size()}, owner);
}

}  // namespace neuroshard::python
