#include "neuroshard/cuda_backend.h"

#include <algorithm>
#include <atomic>
#include <string>

#include "cuda/backend/beam_launches.h"
#include "cuda/backend/cuda_session.h"
#include "cuda/backend/device_context.h"
#include "cuda/backend/placement_launches.h"
#include "cuda/device/check.h"
#include "cuda/device/cuda_devices.h"
#include "neuroshard/error.h"

namespace neuroshard {
namespace gpu {
namespace {

class CudaBackend final : public Backend {
 public:
  CudaBackend(const CostModels& models, const std::vector<int>& devices)
      : Backend(models), cpu_(make_cpu_backend(models)) {
    contexts_.reserve(devices.size());
    for (const int device : devices) {
      contexts_.push_back(std::make_unique<DeviceContext>(device, models, embedding_width()));
    }
  }

  [[nodiscard]] std::string_view name() const override { return kCudaBackend; }

  void embed_pieces(std::span<const float> features, std::span<float> embeddings) const override {
    next_context().embed_pieces(features, embeddings);
  }

  void score_shards(std::span<const float> embeddings, const ShardBatch& shards,
                    std::span<float> cost_ms) const override {
    next_context().score_shards(embeddings, shards, cost_ms);
  }

  void forward_comm(int devices, std::span<const float> dim_sums,
                    std::span<const float> start_offsets_ms,
                    std::span<float> cost_ms) const override {
    const DeviceContext& context = next_context();
    context.comm_costs(context.models().comm_for(devices).forward, devices, dim_sums,
                       start_offsets_ms, cost_ms);
  }

  void backward_comm(int devices, std::span<const float> dim_sums,
                     std::span<float> cost_ms) const override {
    const DeviceContext& context = next_context();
    context.comm_costs(context.models().comm_for(devices).backward, devices, dim_sums, {}, cost_ms);
  }

  [[nodiscard]] std::unique_ptr<CostRunner> cost_runner(int devices) const override {
    return cpu_->cost_runner(devices);
  }

  [[nodiscard]] std::unique_ptr<PlacementSession> start(
      const PlacementProblem& problem) const override {
    if (problem.rules != nullptr) {
      throw Error("the GPU places on equal devices only; use a CPU backend");
    }
    return std::make_unique<CudaSession>(next_context(), *cpu_, problem);
  }

  void place(std::span<const Request> requests) const override { run(dealt(requests)); }

  [[nodiscard]] int launches_for(std::span<const Request> requests) const override {
    return count(dealt(requests));
  }

  [[nodiscard]] bool search_beams(std::span<const BeamRequest> requests) const override {
    run(dealt(requests));
    return true;
  }

  [[nodiscard]] int launches_for(std::span<const BeamRequest> requests) const override {
    return count(dealt(requests));
  }

 private:
  [[nodiscard]] std::vector<PlacementLaunches> dealt(std::span<const Request> requests) const {
    return dealt<PlacementLaunches>(
        requests, [](PlacementLaunches& launches, const Request& request) {
          launches.add(session_of(request), *request.candidates, request.results);
        });
  }

  [[nodiscard]] std::vector<BeamLaunches> dealt(std::span<const BeamRequest> requests) const {
    return dealt<BeamLaunches>(requests, [](BeamLaunches& launches, const BeamRequest& request) {
      launches.add(session_of(request), *request.beam, *request.outcome);
    });
  }

  /// Deals the requests to the devices; leaves out devices that get none.
  template <class OfKind, typename OfRequest, typename Add>
  [[nodiscard]] std::vector<OfKind> dealt(std::span<const OfRequest> requests,
                                          const Add& add) const {
    std::vector<OfKind> of_devices;
    of_devices.reserve(contexts_.size());
    for (const auto& context : contexts_) {
      const auto here = [&](const OfRequest& request) {
        return &session_of(request).context() == context.get();
      };
      if (std::none_of(requests.begin(), requests.end(), here)) continue;
      OfKind& launches = of_devices.emplace_back(*context);
      for (const OfRequest& request : requests) {
        if (here(request)) add(launches, request);
      }
    }
    return of_devices;
  }

  /// Starts it on each device, then waits.
  template <class OfKind>
  static void run(std::vector<OfKind> of_devices) {
    for (OfKind& launches : of_devices) launches.start();
    for (OfKind& launches : of_devices) launches.finish();
  }

  template <class OfKind>
  [[nodiscard]] static int count(std::vector<OfKind> of_devices) {
    int total = 0;
    for (OfKind& launches : of_devices) total += launches.launches();
    return total;
  }

  static CudaSession& session_of(const auto& request) {
    return static_cast<CudaSession&>(*request.session);
  }

  /// Calls and tasks are dealt to the devices in turn.
  const DeviceContext& next_context() const {
    return *contexts_[next_.fetch_add(1, std::memory_order_relaxed) % contexts_.size()];
  }

  std::unique_ptr<Backend> cpu_;  ///< For what is no work for a GPU.
  std::vector<std::unique_ptr<DeviceContext>> contexts_;
  mutable std::atomic<unsigned> next_{0};
};

std::vector<int> usable_devices(const CudaOptions& options) {
  int count = 0;
  NEUROSHARD_CUDA_CHECK(cudaGetDeviceCount(&count));
  const std::vector<CudaDevice> devices = cuda_devices();
  std::string seen;
  std::vector<int> usable;
  for (const CudaDevice& device : devices) {
    seen += (seen.empty() ? "" : "; ") + std::to_string(device.index) + ": " + device.name +
            ", compute capability " + std::to_string(device.compute_capability / 10) + "." +
            std::to_string(device.compute_capability % 10);
    if (device.usable) usable.push_back(device.index);
  }
  if (usable.empty()) {
    throw Error("cuda backend: no device has compute capability " +
                    std::to_string(kLeastComputeCapability / 10) + "." +
                    std::to_string(kLeastComputeCapability % 10) + " or later (" +
                    (seen.empty() ? "none found" : seen) + "); use a CPU backend",
                ErrorKind::kBackend);
  }
  for (const int wanted : options.devices) {
    if (std::find(usable.begin(), usable.end(), wanted) == usable.end()) {
      throw Error(
          "cuda backend: device " + std::to_string(wanted) + " cannot be used; there are " + seen,
          ErrorKind::kBackend);
    }
  }
  return options.devices.empty() ? usable : options.devices;
}

}  // namespace
}  // namespace gpu

bool cuda_backend_built() noexcept { return true; }

std::unique_ptr<Backend> make_cuda_backend(const CostModels& models, const CudaOptions& options) {
  validate(models);
  return std::make_unique<gpu::CudaBackend>(models, gpu::usable_devices(options));
}

}  // namespace neuroshard
