#pragma once

#include "neuroshard/cost_models.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// `model` for iterations of `factor` times as many samples, on `devices` devices, or on any number
/// if that is 0, which symmetric models alone can be for. An all-to-all takes a latency and a time
/// in proportion to its bytes, so
///
///     T'(columns, offsets) = factor T(columns, offsets / factor) + (1 - factor) T(0, 0)
///
/// which needs nothing of the network but what it was trained on. For one number of devices T(0, 0)
/// is a constant, which joins the last bias; for any number each network becomes two side by side,
/// which take two to four times as long. Throws Error unless `factor` is positive and finite.
[[nodiscard]] CommModel scaled_comm(const CommModel& model, int devices, double factor);

}  // namespace neuroshard
#pragma GCC visibility pop
