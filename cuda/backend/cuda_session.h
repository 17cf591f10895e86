#pragma once

#include "cuda/backend/device_context.h"
#include "cuda/placement/placement_views.h"
#include "neuroshard/backend.h"

namespace neuroshard::gpu {

/// One task in device memory. Belongs to one device, for good.
class CudaSession final : public PlacementSession {
 public:
  /// `cpu`: a backend of the same models. Borrows both. Throws Error (kBackend) if a placement does
  /// not fit in the device's shared memory.
  CudaSession(const DeviceContext& context, const Backend& cpu, const PlacementProblem& problem);

  void place(const CandidateBatch& candidates, std::span<CandidateResult> results) override;
  /// By the CPU: a single placement is no work for a GPU.
  [[nodiscard]] std::optional<std::vector<std::uint32_t>> assignments(
      std::span<const std::uint32_t> pieces, int limit) override;
  [[nodiscard]] bool can_search(const BeamProblem& beam) const override;
  [[nodiscard]] PlacementCounters counters() const override;

  [[nodiscard]] const DeviceContext& context() const { return context_; }
  [[nodiscard]] int devices() const { return devices_; }
  [[nodiscard]] int limits() const { return limits_; }
  [[nodiscard]] int comm_width() const { return comm_width_; }
  /// The task in device memory. The first caller's stream brings it there.
  [[nodiscard]] const SessionView* view(const Stream& stream);
  [[nodiscard]] const PlacementProblem& problem() const { return problem_; }
  void count(std::uint64_t candidates, std::uint64_t heads, std::uint64_t comms);

 private:
  const DeviceContext& context_;
  const Backend& cpu_;
  PlacementProblem problem_;
  std::unique_ptr<PlacementSession> on_cpu_;  ///< From the first assignments() on.
  int devices_;
  int limits_;
  int comm_width_;
  ObjectPool<SessionMemory>::Lease memory_;
  std::size_t upload_bytes_ = 0;  ///< 0: done.
  PlacementCounters counters_;    ///< Work of the device.
};

}  // namespace neuroshard::gpu
