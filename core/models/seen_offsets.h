#pragma once

#include "core/base/host_device.h"

namespace neuroshard {

// Devices wait for the one that is ready last, which is linear. Where that is later than any in the
// samples of a communication network, the network sees all start offsets in proportion, so that the
// last is the latest that it knows, and what devices wait beyond that is added to its costs.

/// The part of each start offset that a network sees; 1 where it knows them all.
NEUROSHARD_HOST_DEVICE inline float seen_share(float last_offset_ms, float most_offset_ms) {
  return last_offset_ms > most_offset_ms ? most_offset_ms / last_offset_ms : 1.0F;
}

/// A cost of the network for a device, with what it waits beyond the part that the network sees.
NEUROSHARD_HOST_DEVICE inline float with_unseen_wait(float cost_ms, float offset_ms,
                                                     float last_offset_ms, float share) {
  if (!(share < 1.0F)) return cost_ms;
  const float unseen_ms = (last_offset_ms - offset_ms) * (1.0F - share);
  return cost_ms + unseen_ms;
}

}  // namespace neuroshard
