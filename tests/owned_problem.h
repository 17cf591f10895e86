#pragma once

#include <utility>

#include "neuroshard/aligned_vector.h"
#include "neuroshard/backend.h"

namespace neuroshard::testing {

/// Arrays that a PlacementProblem borrows.
struct Pieces {
  AlignedVector<float> embeddings;
  std::vector<std::int32_t> dims;
  std::vector<std::int64_t> size_bytes;
};

/// A problem that owns its pieces.
struct OwnedProblem : PlacementProblem {
  explicit OwnedProblem(Pieces owned) : pieces_(std::move(owned)) {
    embeddings = pieces_.embeddings;
    dims = pieces_.dims;
    size_bytes = pieces_.size_bytes;
  }
  // Vectors that are moved stay where they are in memory.
  OwnedProblem(OwnedProblem&&) = default;

 private:
  Pieces pieces_;
};

}  // namespace neuroshard::testing
