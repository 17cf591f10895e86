#pragma once

#include "neuroshard/cost_models.h"
#include "neuroshard/hardware.h"

namespace neuroshard {

/// Models of hardware that none were trained on, by its datasheet (docs/model_card.md):
///
/// * compute: the trained model that is nearest, trained on with samples of analytic costs;
/// * communication: that model's, on a network that it states (hardware_network());
/// * all-reduces: those of the datasheets.
///
/// Takes a second of one core. Equal hardware gives equal models.
[[nodiscard]] CostModels scaled_weights(const Hardware& hardware);

}  // namespace neuroshard
