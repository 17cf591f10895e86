#include "core/team_backend.h"

#include <utility>
#include <vector>

#include "core/parallel_session.h"

namespace neuroshard {

void TeamBackend::embed_pieces(std::span<const float> features, std::span<float> embeddings) const {
  cpu_.embed_pieces(features, embeddings);
}

void TeamBackend::score_shards(std::span<const float> embeddings, const ShardBatch& shards,
                               std::span<float> cost_ms) const {
  cpu_.score_shards(embeddings, shards, cost_ms);
}

void TeamBackend::forward_comm(int devices, std::span<const float> dim_sums,
                               std::span<const float> start_offsets_ms,
                               std::span<float> cost_ms) const {
  cpu_.forward_comm(devices, dim_sums, start_offsets_ms, cost_ms);
}

void TeamBackend::backward_comm(int devices, std::span<const float> dim_sums,
                                std::span<float> cost_ms) const {
  cpu_.backward_comm(devices, dim_sums, cost_ms);
}

std::unique_ptr<CostRunner> TeamBackend::cost_runner(int devices) const {
  return cpu_.cost_runner(devices);
}

std::unique_ptr<PlacementSession> TeamBackend::start(const PlacementProblem& problem) const {
  std::vector<std::unique_ptr<PlacementSession>> parts;
  parts.reserve(team_.threads());
  while (parts.size() < team_.threads()) parts.push_back(cpu_.start(problem));
  return std::make_unique<ParallelSession>(team_, std::move(parts), problem.dim_limits.size());
}

}  // namespace neuroshard
