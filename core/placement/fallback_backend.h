#pragma once

#include <atomic>
#include <mutex>

#include "core/placement/forwarding_backend.h"
#include "core/placement/plan_launches.h"
#include "neuroshard/error.h"

namespace neuroshard {

/// A GPU with a CPU beside it. The GPU runs whole searches, and places candidates and embeds pieces
/// if there are enough of them to be worth a launch; the CPU does what comes in small portions,
/// such as the costs of one plan. If the GPU fails, everything goes on where it was on the CPU,
/// open sessions too: the arithmetic is the same, so the results are. The GPU is not asked again.
/// Costs nothing to make: each call of a planner has one of its own and tries the GPU anew.
class FallbackBackend final : public ForwardingBackend {
 public:
  /// Borrows both, which are of the same models. `may_fall_back`: else a failure of the GPU is
  /// thrown to the caller, who wanted that one and no other. `cpu_threads`: those that sessions of
  /// `cpu` place with. `launches`: of a single plan, whose GPU then does what gains most of all,
  /// and not more than that; borrowed. Null: there are many plans, whose work together is worth
  /// launches.
  FallbackBackend(const Backend& gpu, const Backend& cpu, bool may_fall_back,
                  std::size_t cpu_threads = 1, PlanLaunches* launches = nullptr)
      : ForwardingBackend(cpu),
        gpu_(gpu),
        may_fall_back_(may_fall_back),
        cpu_threads_(cpu_threads),
        launches_(launches) {}

  /// Name of the GPU backend until it fails, then of the CPU's.
  [[nodiscard]] std::string_view name() const override {
    return gpu_works() ? gpu_.name() : inner().name();
  }
  /// How the GPU failed.
  [[nodiscard]] std::string warning() const override;

  void embed_pieces(std::span<const float> features, std::span<float> embeddings) const override;
  void score_shards(std::span<const float> embeddings, const ShardBatch& shards,
                    std::span<float> cost_ms) const override;
  [[nodiscard]] std::unique_ptr<PlacementSession> start(
      const PlacementProblem& problem) const override;
  void place(std::span<const Request> requests) const override;
  [[nodiscard]] bool search_beams(std::span<const BeamRequest> requests) const override;

 private:
  class Session;

  /// Whether the GPU places these sooner than the CPU does; of a single plan, by enough for one of
  /// its launches.
  [[nodiscard]] bool worth_a_launch(std::span<const Request> requests) const;
  /// Whether there are as many launches left as the GPU needs for these, of its own sessions; takes
  /// them.
  [[nodiscard]] bool takes_launches(const auto& requests) const;
  [[nodiscard]] bool gpu_works() const { return !failed_.load(std::memory_order_acquire); }
  /// Whether the GPU has done its work; false if it has failed, now or before.
  template <typename Work>
  bool gpu_does(const Work& work) const;
  void note_failure(const Error& error) const;

  const Backend& gpu_;
  bool may_fall_back_;
  std::size_t cpu_threads_;
  PlanLaunches* launches_;
  mutable std::atomic<bool> failed_{false};
  mutable std::mutex warning_mutex_;
  mutable std::string warning_;
};

}  // namespace neuroshard
