#pragma once

#include "cuda/device_context.h"
#include "cuda/placement_views.h"
#include "neuroshard/backend.h"

namespace neuroshard::gpu {

/// One task in device memory. Belongs to one device, for good.
class CudaSession final : public PlacementSession {
 public:
  /// Throws Error (kBackend) if a placement does not fit in the device's shared memory.
  CudaSession(const DeviceContext& context, const PlacementProblem& problem);

  void place(const CandidateBatch& candidates, std::span<CandidateResult> results) override;
  [[nodiscard]] PlacementCounters counters() const override { return counters_; }

  [[nodiscard]] const DeviceContext& context() const { return context_; }
  [[nodiscard]] int devices() const { return devices_; }
  [[nodiscard]] int limits() const { return limits_; }
  [[nodiscard]] int comm_width() const { return comm_width_; }
  /// The task in device memory. The first caller's stream brings it there.
  [[nodiscard]] const SessionView* view(const Stream& stream);
  void count(const ResultView& result);

 private:
  const DeviceContext& context_;
  int devices_;
  int limits_;
  int comm_width_;
  ObjectPool<SessionMemory>::Lease memory_;
  std::size_t upload_bytes_ = 0;  ///< 0: done.
  PlacementCounters counters_;
};

}  // namespace neuroshard::gpu
