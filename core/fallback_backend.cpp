#include "core/fallback_backend.h"

#include <utility>

#include "neuroshard/task.h"

namespace neuroshard {
namespace {

// From so many pieces on, a GPU computes their embeddings and costs. One core would take about
// 0.15 ms (a task has some 150 pieces), the GPU two launches and two waits. Not yet measured on a
// GPU.
constexpr std::size_t kLeastPiecesForGpu = 1024;

// Shards that are a plan's devices are for the CPU: for a row each, the embeddings of all pieces
// would go to the GPU.
constexpr std::size_t kLeastShardsForGpu = kMaxDevices + 1;

}  // namespace

/// On the GPU until that fails, which it may have done for another session; then on the CPU.
class FallbackBackend::Session final : public PlacementSession {
 public:
  Session(const FallbackBackend& backend, const PlacementProblem& problem)
      : backend_(backend), problem_(problem) {
    // A GPU knows of equal devices only.
    on_gpu_ = problem_.rules == nullptr &&
              backend_.gpu_does([&] { session_ = backend_.gpu_.start(problem_); });
    if (!on_gpu_) session_ = backend_.inner().start(problem_);
  }

  void place(const CandidateBatch& candidates, std::span<CandidateResult> results) override {
    run([&] { session_->place(candidates, results); });
  }

  std::optional<std::vector<std::uint32_t>> assignments(std::span<const std::uint32_t> pieces,
                                                        int limit) override {
    std::optional<std::vector<std::uint32_t>> devices;
    run([&] { devices = session_->assignments(pieces, limit); });
    return devices;
  }

  [[nodiscard]] bool can_search(const BeamProblem& beam) const override {
    return on_gpu_ && session_->can_search(beam);
  }

  [[nodiscard]] PlacementCounters counters() const override {
    PlacementCounters total = counters_of_gpu_;
    return total += session_->counters();
  }

  [[nodiscard]] bool on_gpu() const { return on_gpu_; }
  /// That of the GPU or of the CPU.
  [[nodiscard]] PlacementSession& inner() { return *session_; }

 private:
  template <typename Work>
  void run(const Work& work) {
    if (on_gpu_ && backend_.gpu_does(work)) return;
    if (on_gpu_) {
      auto on_cpu = backend_.inner().start(problem_);
      counters_of_gpu_ = session_->counters();
      session_ = std::move(on_cpu);
      on_gpu_ = false;
    }
    work();
  }

  const FallbackBackend& backend_;
  PlacementProblem problem_;
  bool on_gpu_ = false;
  std::unique_ptr<PlacementSession> session_;
  PlacementCounters counters_of_gpu_;  ///< Once it has failed.
};

template <typename Work>
bool FallbackBackend::gpu_does(const Work& work) const {
  if (!gpu_works()) return false;
  try {
    work();
    return true;
  } catch (const Error& error) {
    if (!may_fall_back_ || error.kind() != ErrorKind::kBackend) throw;
    note_failure(error);
    return false;
  }
}

void FallbackBackend::note_failure(const Error& error) const {
  const std::scoped_lock lock(warning_mutex_);
  if (failed_) return;
  warning_ = std::string("the GPU failed (") + error.what() + "); went on with the CPU";
  failed_.store(true, std::memory_order_release);
}

std::string FallbackBackend::warning() const {
  const std::scoped_lock lock(warning_mutex_);
  return warning_;
}

void FallbackBackend::embed_pieces(std::span<const float> features,
                                   std::span<float> embeddings) const {
  if (features.size() / static_cast<std::size_t>(table_features()) >= kLeastPiecesForGpu &&
      gpu_does([&] { gpu_.embed_pieces(features, embeddings); })) {
    return;
  }
  inner().embed_pieces(features, embeddings);
}

void FallbackBackend::score_shards(std::span<const float> embeddings, const ShardBatch& shards,
                                   std::span<float> cost_ms) const {
  if (shards.size() >= kLeastShardsForGpu &&
      gpu_does([&] { gpu_.score_shards(embeddings, shards, cost_ms); })) {
    return;
  }
  inner().score_shards(embeddings, shards, cost_ms);
}

std::unique_ptr<PlacementSession> FallbackBackend::start(const PlacementProblem& problem) const {
  return std::make_unique<Session>(*this, problem);
}

void FallbackBackend::place(std::span<const Request> requests) const {
  // While the GPU works, all sessions are on it but those that never were.
  std::vector<Request> of_gpu;
  std::vector<Request> others;
  for (const Request& request : requests) {
    const bool on_gpu = static_cast<Session&>(*request.session).on_gpu();
    (on_gpu ? of_gpu : others).push_back(request);
  }
  Backend::place(others);
  if (of_gpu.empty()) return;
  const bool placed = gpu_does([&] {
    std::vector<Request> inner = of_gpu;
    for (Request& request : inner) {
      request.session = &static_cast<Session&>(*request.session).inner();
    }
    gpu_.place(inner);
  });
  if (!placed) Backend::place(of_gpu);
}

bool FallbackBackend::search_beams(std::span<const BeamRequest> requests) const {
  bool searched = false;
  return gpu_does([&] {
           std::vector<BeamRequest> inner(requests.begin(), requests.end());
           for (BeamRequest& request : inner) {
             request.session = &static_cast<Session&>(*request.session).inner();
           }
           searched = gpu_.search_beams(inner);
         }) &&
         searched;
}

void FallbackBackend::anneal(std::span<const AnnealingRequest> requests) const {
  const bool annealed = gpu_does([&] { gpu_.anneal(requests); });
  if (annealed) return;
  for (const AnnealingRequest& request : requests) request.outcome->reset();
}

}  // namespace neuroshard
