#pragma once

#include "cuda/device/buffers.h"

namespace neuroshard::bench {

/// Time of work on a stream, as the device sees it. Belongs to the device that is the current one
/// when it is made.
class EventTimer {
 public:
  /// Calls `work`, which queues something on `stream`, and waits for it.
  template <typename Work>
  double seconds(const gpu::Stream& stream, const Work& work) {
    start_.record(stream);
    work();
    return seconds_until_now(stream);
  }

 private:
  double seconds_until_now(const gpu::Stream& stream);

  gpu::Event start_;
  gpu::Event stop_;
};

}  // namespace neuroshard::bench
