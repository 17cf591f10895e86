#include "bench/gpu/event_timer.h"

#include "cuda/check.h"

namespace neuroshard::bench {

EventTimer::EventTimer() {
  NEUROSHARD_CUDA_CHECK(cudaEventCreate(&start_));
  NEUROSHARD_CUDA_CHECK(cudaEventCreate(&stop_));
}

EventTimer::~EventTimer() {
  (void)cudaEventDestroy(start_);
  (void)cudaEventDestroy(stop_);
}

void EventTimer::start(cudaStream_t stream) {
  NEUROSHARD_CUDA_CHECK(cudaEventRecord(start_, stream));
}

void EventTimer::stop(cudaStream_t stream) {
  NEUROSHARD_CUDA_CHECK(cudaEventRecord(stop_, stream));
}

double EventTimer::seconds() const {
  NEUROSHARD_CUDA_CHECK(cudaEventSynchronize(stop_));
  float milliseconds = 0.0F;
  NEUROSHARD_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, start_, stop_));
  return 1e-3 * static_cast<double>(milliseconds);
}

}  // namespace neuroshard::bench
