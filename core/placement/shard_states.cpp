#include "core/placement/shard_states.h"

#include <algorithm>
#include <cstddef>

#include "core/base/heap_bytes.h"

namespace neuroshard {
namespace {

// So many take 72 MiB with embeddings of 32 floats. With wide ones the bound on bytes comes first.
constexpr std::size_t kMostStates = std::size_t{1} << 19;

}  // namespace

ShardStates::ShardStates(const CpuKernels& kernels, const PackedComputeModel& model,
                         const PlacementProblem& problem, std::size_t most_bytes)
    : kernels_(kernels),
      problem_(problem),
      width_(padded_width(model.table_network.outputs())),
      head_(kernels, model.head, /*relu_last=*/false),
      two_layer_head_(model.head.layers.size() == 2 && model.head.layers[0].outputs > 1),
      hidden_(model.head.layers.front().view()),
      output_(model.head.layers.back().view()),
      most_states_(
          std::min(kMostStates,
                   most_bytes / (static_cast<std::size_t>(width_) * sizeof(float) + sizeof(Node)))),
      sums_(static_cast<std::size_t>(width_), 0.0F) {
  clear();
}

ShardStates::Next ShardStates::score_new(Id from, std::uint32_t piece) {
  const auto width = static_cast<std::size_t>(width_);
  const Id state = static_cast<Id>(states_++);
  if (nodes_.size() < states_) make_room();
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

// Doubles, but not beyond the bound unless a single candidate takes more.
void ShardStates::make_room() {
  const std::size_t states =
      states_ > most_states_ ? states_ + states_ / 4 : std::min(2 * states_, most_states_);
  const std::size_t floats = states * static_cast<std::size_t>(width_);
  nodes_.reserve(states);
  sums_.reserve(floats);
  nodes_.resize(states);
  sums_.resize(floats);
}

std::size_t ShardStates::held_bytes() const {
  return head_.held_bytes() + heap_bytes(sums_) + heap_bytes(nodes_) + heap_bytes(first_by_piece_);
}

void ShardStates::clear() {
  states_ = 1;
  if (nodes_.empty()) nodes_.resize(1);
  first_by_piece_.assign(problem_.dims.size(), kNone);
}

}  // namespace neuroshard
