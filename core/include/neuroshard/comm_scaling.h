#pragma once

#include "neuroshard/cost_models.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// `model` for iterations of `factor` times as many samples, on `devices` devices (any number if it
/// is symmetric). An all-to-all takes a latency and a time in proportion to its bytes, so
///
///     T'(columns, offsets) = factor T(columns, offsets / factor) + (1 - factor) T(0, 0)
///
/// which needs nothing of the network but what it was trained on. Each network becomes two side by
/// side. Throws Error unless `factor` is positive and finite.
[[nodiscard]] CommModel scaled_comm(const CommModel& model, int devices, double factor);

}  // namespace neuroshard
#pragma GCC visibility pop
