#include "core/placement/fallback_backend.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "neuroshard/task.h"

namespace neuroshard {
namespace {

// From so many pieces on, a GPU computes their embeddings and costs. One core would take about
// 0.15 ms (a task has some 150 pieces), the GPU two launches and two waits. Not yet measured on a
// GPU.
constexpr std::size_t kLeastPiecesForGpu = 1024;

// Fewer shards, such as the devices of most plans, are for the CPU: for a row each, the embeddings
// of all pieces would go to the GPU.
constexpr std::size_t kLeastShardsForGpu = 1025;

// Time that placing takes, in ns, by which the side is chosen. Measured on an H100 beside a 2 GHz
// Xeon (docs/performance.md): a level of the published search in 60 us on 4 devices, some 35 steps
// long, and in 110 us on 8, twice as long; on one core 12 and 10 ns for each piece and limit, most
// of whose steps are shared.
constexpr double kLaunchNs = 30'000;
constexpr double kGpuNsOfStep = 1000;
constexpr double kCpuNsOfStep = 10;
// Least time, in ns, that a launch must save a single plan, which has few of them. A whole beam
// search saves more (docs/kernels.md).
constexpr double kLeastSavingNs = 1'000'000;
// Whole beam searches, by the model of docs/kernels.md: a step as measured, and the rest of a
// level.
constexpr double kGpuNsOfBeamStep = 550;
constexpr double kGpuNsOfBeamLevel = 12'000;
// A launch cannot be stopped; whoever may stop a plan waits for so long at most.
constexpr std::chrono::nanoseconds kLongestWait{1'000'000};
// A thread of a team that has fewer costs more than it brings
// (core/placement/team_backend.cpp).
constexpr std::size_t kCandidatesOfThread = 4;

}  // namespace

/// Session of a problem on both sides, each of which places what is for it.
class FallbackBackend::Session final : public PlacementSession {
 public:
  Session(const FallbackBackend& backend, const PlacementProblem& problem)
      : backend_(backend), problem_(problem) {
    if (problem_.rules != nullptr) return;  // A GPU knows of equal devices only.
    (void)backend_.gpu_does([&] { on_gpu_ = backend_.gpu_.start(problem_); });
  }

  void place(const CandidateBatch& candidates, std::span<CandidateResult> results) override {
    const Request request{this, &candidates, results};
    backend_.place({&request, 1});
  }

  std::optional<std::vector<std::uint32_t>> assignments(std::span<const std::uint32_t> pieces,
                                                        int limit) override {
    return on_cpu().assignments(pieces, limit);
  }

  [[nodiscard]] bool can_search(const BeamProblem& beam) const override {
    return has_gpu() && on_gpu_->can_search(beam) && ends_in_time(beam);
  }

  [[nodiscard]] PlacementCounters counters() const override {
    PlacementCounters total;
    for (const auto* session : {&on_gpu_, &on_cpu_}) {
      if (*session) total += (*session)->counters();
    }
    return total;
  }

  [[nodiscard]] std::size_t limits() const { return problem_.dim_limits.size(); }
  /// Whether the GPU has the problem, and works.
  [[nodiscard]] bool has_gpu() const { return on_gpu_ && backend_.gpu_works(); }
  [[nodiscard]] PlacementSession& on_gpu() { return *on_gpu_; }
  /// Opened when asked for.
  [[nodiscard]] PlacementSession& on_cpu() {
    if (!on_cpu_) on_cpu_ = backend_.inner().start(problem_);
    return *on_cpu_;
  }

 private:
  /// Nobody can stop the search, or it ends soon.
  [[nodiscard]] bool ends_in_time(const BeamProblem& beam) const {
    if (problem_.stop == nullptr || !problem_.stop->possible()) return true;
    if (backend_.launches_ == nullptr) return false;  // How many others go with it is not known.
    const double level_ns =
        kGpuNsOfBeamLevel + kGpuNsOfBeamStep * static_cast<double>(beam.pieces.size());
    const std::chrono::nanoseconds takes(
        static_cast<std::int64_t>(kLaunchNs + (1.0 + beam.max_splits) * level_ns));
    StopCondition by_then = *problem_.stop;
    by_then.keep(takes);
    return takes <= kLongestWait && !by_then.reached();
  }

  const FallbackBackend& backend_;
  PlacementProblem problem_;
  std::unique_ptr<PlacementSession> on_gpu_;  ///< Null if that has not the problem.
  std::unique_ptr<PlacementSession> on_cpu_;
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
  if (launches_ == nullptr &&
      features.size() / static_cast<std::size_t>(table_features()) >= kLeastPiecesForGpu &&
      gpu_does([&] { gpu_.embed_pieces(features, embeddings); })) {
    return;
  }
  inner().embed_pieces(features, embeddings);
}

void FallbackBackend::score_shards(std::span<const float> embeddings, const ShardBatch& shards,
                                   std::span<float> cost_ms) const {
  if (launches_ == nullptr && shards.size() >= kLeastShardsForGpu &&
      gpu_does([&] { gpu_.score_shards(embeddings, shards, cost_ms); })) {
    return;
  }
  inner().score_shards(embeddings, shards, cost_ms);
}

std::unique_ptr<PlacementSession> FallbackBackend::start(const PlacementProblem& problem) const {
  return std::make_unique<Session>(*this, problem);
}

bool FallbackBackend::worth_a_launch(std::span<const Request> requests) const {
  std::size_t candidates = 0;
  std::size_t steps = 0;
  std::size_t longest = 0;
  for (const Request& request : requests) {
    const CandidateBatch& batch = *request.candidates;
    candidates += batch.size();
    steps += batch.piece_ids.size() * static_cast<const Session&>(*request.session).limits();
    for (std::size_t c = 0; c < batch.size(); ++c) {
      longest = std::max(longest, batch.pieces_of(c).size());
    }
  }
  const std::size_t threads =
      std::clamp<std::size_t>(candidates / kCandidatesOfThread, 1, cpu_threads_);
  const double of_cpu = kCpuNsOfStep * static_cast<double>(steps) / static_cast<double>(threads);
  const double saving = of_cpu - kLaunchNs - kGpuNsOfStep * static_cast<double>(longest);
  return saving > (launches_ == nullptr ? 0.0 : kLeastSavingNs);
}

bool FallbackBackend::takes_launches(const auto& requests) const {
  return launches_ == nullptr || (launches_->any() && launches_->take(gpu_.launches_for(requests)));
}

void FallbackBackend::place(std::span<const Request> requests) const {
  std::vector<Request> of_gpu;
  std::vector<Request> of_cpu;
  for (const Request& request : requests) {
    const bool has_gpu = static_cast<Session&>(*request.session).has_gpu();
    (has_gpu ? of_gpu : of_cpu).push_back(request);
  }
  bool placed = false;
  const auto place_on_gpu = [&] {
    std::vector<Request> inner = of_gpu;
    for (Request& request : inner) {
      request.session = &static_cast<Session&>(*request.session).on_gpu();
    }
    if (!takes_launches(std::span<const Request>(inner))) return;
    gpu_.place(inner);
    placed = true;
  };
  if (worth_a_launch(of_gpu)) (void)gpu_does(place_on_gpu);
  if (!placed) of_cpu.insert(of_cpu.end(), of_gpu.begin(), of_gpu.end());
  for (Request& request : of_cpu) {
    request.session = &static_cast<Session&>(*request.session).on_cpu();
  }
  inner().place(of_cpu);
}

bool FallbackBackend::search_beams(std::span<const BeamRequest> requests) const {
  bool searched = false;
  (void)gpu_does([&] {
    std::vector<BeamRequest> inner(requests.begin(), requests.end());
    for (BeamRequest& request : inner) {
      request.session = &static_cast<Session&>(*request.session).on_gpu();
    }
    if (!takes_launches(std::span<const BeamRequest>(inner))) return;
    searched = gpu_.search_beams(inner);
  });
  return searched;
}

}  // namespace neuroshard
