#include "core/shard_states.h"

#include <algorithm>
#include <cstddef>

namespace neuroshard {
namespace {

constexpr int kInitialBits = 14;

}  // namespace

ShardStates::ShardStates(const CpuKernels& kernels, const PackedComputeModel& model,
                         const PlacementProblem& problem)
    : kernels_(kernels),
      problem_(problem),
      width_(padded_width(model.table_network.outputs())),
      head_(kernels, model.head, /*relu_last=*/false),
      two_layer_head_(model.head.layers.size() == 2 && model.head.layers[0].outputs > 1),
      hidden_(model.head.layers.front().view()),
      output_(model.head.layers.back().view()),
      sums_(static_cast<std::size_t>(width_), 0.0F),
      entries_(std::size_t{1} << kInitialBits) {
  clear();
}

ShardStates::Next ShardStates::score_new(std::uint64_t key, std::size_t slot) {
  const auto width = static_cast<std::size_t>(width_);
  const auto from = static_cast<std::size_t>(key >> 32);
  const auto piece = static_cast<std::size_t>(key & 0xFFFFFFFFU);
  const Id state = static_cast<Id>(states_++);
  if (sums_.size() < states_ * width) sums_.resize(2 * states_ * width);
  float* sum = sums_.data() + state * width;
  const float* sum_before = sums_.data() + from * width;
  const float* embedding = problem_.embeddings.data() + piece * width;
  Entry& entry = entries_[slot];
  entry.key = key;
  entry.state = state;
  if (two_layer_head_) {
    entry.cost_ms = kernels_.add_and_score(hidden_, output_, sum_before, embedding, width_, sum);
  } else {
    kernels_.add(sum_before, embedding, width_, sum);
    head_.run(sum, width_, 1, &entry.cost_ms, 1);
  }
  const Next next{state, entry.cost_ms};
  if (2 * states_ > mask_ + 1) grow();
  return next;
}

void ShardStates::grow() {
  const std::size_t old_size = mask_ + 1;
  const std::size_t size = 2 * old_size;
  if (spare_.size() < size) spare_.resize(size);
  std::fill_n(spare_.begin(), size, Entry{kFree, 0, 0.0F});
  entries_.swap(spare_);
  mask_ = size - 1;
  --shift_;
  for (std::size_t i = 0; i < old_size; ++i) {
    const Entry& entry = spare_[i];
    if (entry.key == kFree) continue;
    std::size_t slot = slot_of(entry.key);
    while (entries_[slot].key != kFree) slot = (slot + 1) & mask_;
    entries_[slot] = entry;
  }
}

void ShardStates::clear() {
  states_ = 1;
  mask_ = (std::size_t{1} << kInitialBits) - 1;
  shift_ = 64 - kInitialBits;
  std::fill_n(entries_.begin(), mask_ + 1, Entry{kFree, 0, 0.0F});
}

}  // namespace neuroshard
