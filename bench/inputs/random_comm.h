#pragma once

#include "neuroshard/cost_models.h"

namespace neuroshard::bench {

/// Gives `models` communication costs for `devices` devices, if they have none: a symmetric network
/// of the usual size (8-64-32-1) with random weights. Good for timing only, as plans made with it
/// mean nothing. Returns whether it had to.
bool complete_with_random_comm(CostModels& models, int devices);

}  // namespace neuroshard::bench
