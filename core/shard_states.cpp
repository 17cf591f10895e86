#include "core/shard_states.h"

#include <cstddef>

namespace neuroshard {

ShardStates::ShardStates(const CpuKernels& kernels, const PackedComputeModel& model,
                         const PlacementProblem& problem)
    : kernels_(kernels),
      problem_(problem),
      width_(padded_width(model.table_network.outputs())),
      head_(kernels, model.head, /*relu_last=*/false),
      two_layer_head_(model.head.layers.size() == 2 && model.head.layers[0].outputs > 1),
      hidden_(model.head.layers.front().view()),
      output_(model.head.layers.back().view()),
      sums_(static_cast<std::size_t>(width_), 0.0F) {
  clear();
}

ShardStates::Next ShardStates::score_new(Id from, std::uint32_t piece) {
  const auto width = static_cast<std::size_t>(width_);
  const Id state = static_cast<Id>(states_++);
  if (nodes_.size() < states_) {
    nodes_.resize(2 * states_);
    sums_.resize(2 * states_ * width);
  }
  float* sum = sums_.data() + state * width;
  const float* sum_before = sums_.data() + from * width;
  const float* embedding = problem_.embeddings.data() + piece * width;
  Id& first = from == kEmpty ? first_by_piece_[piece] : nodes_[from].first_child;
  Node& node = nodes_[state];
  node = {piece, 0.0F, kNone, first};
  first = state;
  if (two_layer_head_) {
    node.cost_ms = kernels_.add_and_score(hidden_, output_, sum_before, embedding, width_, sum);
  } else {
    kernels_.add(sum_before, embedding, width_, sum);
    head_.run(sum, width_, 1, &node.cost_ms, 1);
  }
  return {state, node.cost_ms};
}

void ShardStates::clear() {
  states_ = 1;
  if (nodes_.empty()) nodes_.resize(1);
  first_by_piece_.assign(problem_.dims.size(), kNone);
}

}  // namespace neuroshard
