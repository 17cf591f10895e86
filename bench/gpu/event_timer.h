#pragma once

#include <cuda_runtime.h>

namespace neuroshard::bench {

/// Time between two points of a stream, as the device sees it. Belongs to the device that is the
/// current one when it is made.
class EventTimer {
 public:
  EventTimer();
  ~EventTimer();
  EventTimer(const EventTimer&) = delete;
  EventTimer& operator=(const EventTimer&) = delete;

  void start(cudaStream_t stream);
  void stop(cudaStream_t stream);
  /// Waits for stop() to be reached; throws Error (kBackend) if the work before it failed.
  [[nodiscard]] double seconds() const;

 private:
  cudaEvent_t start_ = nullptr;
  cudaEvent_t stop_ = nullptr;
};

}  // namespace neuroshard::bench
