#pragma once

#include <span>
#include <vector>

#include "neuroshard/backend.h"
#include "neuroshard/training.h"
#include "neuroshard/training_data.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// Predicts the cost of every sample by the backend's compute model, beside what was measured.
/// `devices` is 0.
[[nodiscard]] TestResult evaluate_compute(const Backend& backend, const ComputeSamples& samples);

/// Results of its communication models, for all devices of all samples.
struct CommTestResult {
  TestResult forward;
  TestResult backward;
};
/// Throws Error listing the supported device counts if the models lack `samples.devices`.
[[nodiscard]] CommTestResult evaluate_comm(const Backend& backend, const CommSamples& samples);

}  // namespace neuroshard
#pragma GCC visibility pop
