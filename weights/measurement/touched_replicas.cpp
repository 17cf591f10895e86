#include "weights/measurement/touched_replicas.h"

#include <algorithm>

namespace neuroshard::ranks {
namespace {

// The same to all.
PeerParts to_all(std::int64_t count, int ranks) {
  const auto size = static_cast<std::size_t>(ranks);
  return {std::vector<std::int64_t>(size, count), std::vector<std::int64_t>(size, 0)};
}

}  // namespace

TouchedReplicas::TouchedReplicas(const RankGroup& group, const std::vector<OperatorTable>& replicas,
                                 std::int64_t samples)
    : group_(group), replicas_(replicas) {
  const auto ranks = static_cast<std::size_t>(group.size());
  std::vector<std::int64_t> mine;  // Rows of each table.
  std::int64_t floats = 0;
  for (const OperatorTable& replica : replicas_) {
    std::vector<std::int64_t> rows(replica.indices, replica.indices + replica.offsets[samples]);
    std::vector<std::int64_t>& places = indices_.emplace_back(rows);
    std::ranges::sort(rows);
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    for (std::int64_t& row : places) {
      row = std::lower_bound(rows.begin(), rows.end(), row) - rows.begin();
    }
    rows_.insert(rows_.end(), rows.begin(), rows.end());
    mine.push_back(std::ssize(rows));
    floats += std::ssize(rows) * replica.dim;
  }
  sums_.resize(static_cast<std::size_t>(floats));
  float* sums = sums_.data();
  for (std::size_t t = 0; t < replicas_.size(); ++t) {
    const int dim = replicas_[t].dim;
    // An operator asks for a row at least.
    gradients_.push_back(
        {sums, std::max<std::int64_t>(1, mine[t]), dim, indices_[t].data(), replicas_[t].offsets});
    sums += mine[t] * dim;
  }

  counts_.resize(ranks * replicas_.size());
  group.all_to_all(mine.data(), to_all(std::ssize(mine), group.size()), counts_.data(),
                   PeerParts::packed(std::vector<std::int64_t>(ranks, std::ssize(mine))),
                   sizeof(std::int64_t));
  std::vector<std::int64_t> rows_of(ranks, 0);
  std::vector<std::int64_t> sums_of(ranks, 0);
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    rows_of[i / replicas_.size()] += counts_[i];
    sums_of[i / replicas_.size()] += counts_[i] * replicas_[i % replicas_.size()].dim;
  }
  row_parts_ = PeerParts::packed(rows_of);
  sum_parts_ = PeerParts::packed(sums_of);
  all_rows_.resize(static_cast<std::size_t>(row_parts_.total()));
  all_sums_.resize(static_cast<std::size_t>(sum_parts_.total()));
}

void TouchedReplicas::update(ThreadTeam& team, float learning_rate) {
  group_.all_to_all(rows_.data(), to_all(std::ssize(rows_), group_.size()), all_rows_.data(),
                    row_parts_, sizeof(std::int64_t));
  group_.all_to_all(sums_.data(), to_all(std::ssize(sums_), group_.size()), all_sums_.data(),
                    sum_parts_, sizeof(float));
  std::ranges::fill(sums_, 0.0F);
  // Each job has rows of its own.
  const std::size_t jobs = team.threads();
  team.run(jobs, [&](std::size_t job, std::size_t) {
    const std::int64_t* row = all_rows_.data();
    const float* sum = all_sums_.data();
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      const OperatorTable& replica = replicas_[i % replicas_.size()];
      for (std::int64_t n = 0; n < counts_[i]; ++n, ++row, sum += replica.dim) {
        if (static_cast<std::size_t>(*row) % jobs != job) continue;
        float* const weights = replica.weights + *row * replica.dim;
        for (int c = 0; c < replica.dim; ++c) weights[c] -= learning_rate * sum[c];
      }
    }
  });
}

}  // namespace neuroshard::ranks
