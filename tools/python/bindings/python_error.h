#pragma once

#include <nanobind/nanobind.h>

#include "neuroshard/error.h"

namespace neuroshard::python {

/// `error` as an instance of neuroshard.Error.
[[nodiscard]] nanobind::object python_error_of(const Error& error);

}  // namespace neuroshard::python
