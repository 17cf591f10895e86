#include "cuda/backend/cuda_session.h"

#include <algorithm>
#include <limits>

#include "core/models/symmetric_comm_features.h"
#include "cuda/backend/beam_launches.h"
#include "cuda/backend/placement_launches.h"
#include "cuda/backend/staging.h"
#include "cuda/device/current_device.h"

namespace neuroshard::gpu {
namespace {

ObjectPool<SessionMemory>::Lease memory_of(const DeviceContext& context) {
  const CurrentDevice current(context.device());
  return context.borrow_session_memory();
}

}  // namespace

CudaSession::CudaSession(const DeviceContext& context, const Backend& cpu,
                         const PlacementProblem& problem)
    : context_(context),
      cpu_(cpu),
      problem_(problem),
      devices_(problem.devices),
      limits_(static_cast<int>(problem.dim_limits.size())),
      comm_width_(0),
      memory_(memory_of(context)) {
  const CurrentDevice current(context.device());
  const CommView& comm = context.models().comm_for(devices_);
  comm_width_ = std::max(comm.forward.mlp.width, comm.backward.mlp.width);
  (void)choose_shape(context, 1, devices_, limits_, comm_width_);

  const std::size_t pieces = problem.pieces();
  ArrayPlan plan;
  const std::size_t view_at = plan.add(sizeof(SessionView));
  const std::size_t pieces_at = plan.add(pieces * sizeof(PieceView));
  const std::size_t embeddings_at = plan.add(problem.embeddings.size() * sizeof(float));
  const std::size_t limits_at = plan.add(problem.dim_limits.size() * sizeof(std::int32_t));
  memory_->host.reserve(plan.bytes());
  memory_->device.reserve(plan.bytes());
  std::byte* host = memory_->host.host();
  std::byte* device = memory_->device.data();

  *at<SessionView>(host, view_at) = {.pieces = at<PieceView>(device, pieces_at),
                                     .embeddings = at<float>(device, embeddings_at),
                                     .dim_limits = at<std::int32_t>(device, limits_at),
                                     .memory_bytes = problem.memory_bytes,
                                     .devices = devices_,
                                     .limits = limits_,
                                     .log2_devices = log2_of_devices(devices_),
                                     .comm = comm};
  for (std::size_t p = 0; p < pieces; ++p) {
    at<PieceView>(host, pieces_at)[p] = {.size_bytes = problem.size_bytes[p],
                                         .dim = problem.dims[p]};
  }
  put(host + embeddings_at, problem.embeddings);
  // A device below its limit is given one piece more.
  constexpr std::int64_t kLargest =
      std::numeric_limits<std::int32_t>::max() - static_cast<std::int64_t>(kMostOutputColumns);
  for (std::size_t i = 0; i < problem.dim_limits.size(); ++i) {
    at<std::int32_t>(host, limits_at)[i] =
        static_cast<std::int32_t>(std::clamp<std::int64_t>(problem.dim_limits[i], -1, kLargest));
  }
  upload_bytes_ = plan.bytes();
}

const SessionView* CudaSession::view(const Stream& stream) {
  if (upload_bytes_ > 0) {
    stream.copy_to_device(memory_->device.data(), memory_->host.host(), upload_bytes_);
    upload_bytes_ = 0;
  }
  return reinterpret_cast<const SessionView*>(memory_->device.data());
}

void CudaSession::place(const CandidateBatch& candidates, std::span<CandidateResult> results) {
  PlacementLaunches launches(context_);
  launches.add(*this, candidates, results);
  launches.start();
  launches.finish();
}

std::optional<std::vector<std::uint32_t>> CudaSession::assignments(
    std::span<const std::uint32_t> pieces, int limit) {
  if (!on_cpu_) on_cpu_ = cpu_.start(problem_);
  return on_cpu_->assignments(pieces, limit);
}

// Between levels a search looks whether it is to stop; a launch of all levels would not.
bool CudaSession::can_search(const BeamProblem& beam) const {
  return takes_beam(sizes_of(beam), devices_, limits_);
}

PlacementCounters CudaSession::counters() const {
  PlacementCounters total = counters_;
  if (on_cpu_) total += on_cpu_->counters();
  return total;
}

void CudaSession::count(std::uint64_t candidates, std::uint64_t heads, std::uint64_t comms) {
  counters_.greedy_runs += candidates * static_cast<std::uint64_t>(limits_);
  counters_.head_evaluations += heads;
  counters_.comm_evaluations += comms;
}

}  // namespace neuroshard::gpu
