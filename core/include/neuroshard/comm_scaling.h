#pragma once

#include "neuroshard/cost_models.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// Ratios of the bytes of a setting's all-to-alls to those that a model was made for.
struct CommFactors {
  double forward = 1.0;
  double backward = 1.0;
  /// Networks see one column in place of so many, which has as many times the bytes.
  double column_unit = 1.0;
};

/// Adapts `model` to all-to-alls of `factors` times as many bytes on `devices` devices. 0 devices:
/// any number of them, which only symmetric models serve. An all-to-all takes a latency and a time
/// in proportion to its bytes, so
///
///     T'(columns, offsets) = f T(columns / unit, offsets / f) + (1 - f) T(0, 0),  f = factor unit
///
/// which needs nothing of the network but what it was trained on. For one number of devices T(0, 0)
/// is a constant, which joins the last bias. For any number each network becomes two side by side,
/// which take two to four times as long. A network whose factor and unit are 1 stays as it is.
/// Throws Error unless factors are positive and finite.
[[nodiscard]] CommModel scaled_comm(const CommModel& model, int devices,
                                    const CommFactors& factors);

}  // namespace neuroshard
#pragma GCC visibility pop
