#pragma once

#include "core/thread_team.h"
#include "neuroshard/backend.h"

namespace neuroshard {

/// A CPU backend with a team of threads at hand: each session's candidates are dealt out to them.
/// Everything else is the caller's thread's.
class TeamBackend final : public Backend {
 public:
  /// Borrows both.
  TeamBackend(const Backend& cpu, ThreadTeam::Lease& team)
      : Backend(cpu.embedding_width()), cpu_(cpu), team_(team) {}

  [[nodiscard]] std::string_view name() const override { return cpu_.name(); }
  [[nodiscard]] std::string warning() const override { return cpu_.warning(); }
  void embed_pieces(std::span<const float> features, std::span<float> embeddings) const override;
  void score_shards(std::span<const float> embeddings, const ShardBatch& shards,
                    std::span<float> cost_ms) const override;
  void forward_comm(int devices, std::span<const float> dim_sums,
                    std::span<const float> start_offsets_ms,
                    std::span<float> cost_ms) const override;
  void backward_comm(int devices, std::span<const float> dim_sums,
                     std::span<float> cost_ms) const override;
  [[nodiscard]] std::unique_ptr<CostRunner> cost_runner(int devices) const override;
  [[nodiscard]] std::unique_ptr<PlacementSession> start(
      const PlacementProblem& problem) const override;

 private:
  const Backend& cpu_;
  ThreadTeam::Lease& team_;
};

}  // namespace neuroshard
