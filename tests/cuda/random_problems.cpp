#include "cuda/random_problems.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

namespace neuroshard::testing {

OwnedProblem random_problem(std::uint64_t seed, const ProblemShape& shape, int width) {
  std::mt19937_64 random(seed * 77 + 5);
  Pieces pieces;
  constexpr int kDims[] = {4, 8, 16, 32, 64, 128};
  std::uniform_real_distribution<float> element(-0.2F, 1.0F);
  std::int64_t dim_total = 0;
  std::int64_t size_total = 0;
  for (int p = 0; p < shape.pieces; ++p) {
    if (shape.one_in_equal > 0 && p > 0 && random() % shape.one_in_equal == 0) {
      const auto other = static_cast<std::size_t>(random() % static_cast<std::uint64_t>(p));
      pieces.dims.push_back(pieces.dims[other]);
      pieces.size_bytes.push_back(pieces.size_bytes[other]);
      for (int i = 0; i < width; ++i) {
        const float x =
            pieces
                .embeddings[other * static_cast<std::size_t>(width) + static_cast<std::size_t>(i)];
        pieces.embeddings.push_back(x);
      }
    } else {
      pieces.dims.push_back(kDims[random() % 6]);
      pieces.size_bytes.push_back(pieces.dims.back() *
                                  static_cast<std::int64_t>(1 + random() % 5'000'000'000U));
      for (int i = 0; i < width; ++i) {
        pieces.embeddings.push_back(std::max(0.0F, element(random)));
      }
    }
    dim_total += pieces.dims.back();
    size_total += pieces.size_bytes.back();
  }
  OwnedProblem problem(std::move(pieces));
  problem.devices = shape.devices;
  problem.memory_bytes = static_cast<std::int64_t>(static_cast<double>(size_total) *
                                                   shape.memory_slack / shape.devices);
  const double mean_dim = static_cast<double>(dim_total) / shape.devices;
  for (int i = 0; i < shape.limits; ++i) {
    const double scale = shape.limits == 1 ? 1.25 : 1.0 + i * 0.5 / (shape.limits - 1);
    problem.dim_limits.push_back(static_cast<std::int64_t>(std::floor(scale * mean_dim)));
  }
  return problem;
}

CandidateBatch random_candidates(std::uint64_t seed, const PlacementProblem& problem,
                                 int candidates, int pieces) {
  std::mt19937_64 random(seed * 31 + 7);
  CandidateBatch batch;
  for (int c = 0; c < candidates; ++c) {
    std::vector<std::uint32_t> order;
    // A piece may come twice, like the equal halves of a table.
    while (c != 1 && static_cast<int>(order.size()) < pieces) {
      order.push_back(static_cast<std::uint32_t>(
          order.size() < problem.pieces() && random() % 4 != 0 ? order.size()
                                                               : random() % problem.pieces()));
    }
    std::shuffle(order.begin(), order.end(), random);
    batch.add(order);
  }
  return batch;
}

}  // namespace neuroshard::testing
