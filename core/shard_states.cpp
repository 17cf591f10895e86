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
      sums_(static_cast<std::size_t>(width_), 0.0F),
      entries_(std::size_t{1} << kInitialBits, Entry{kFree, 0, 0.0F}),
      mask_(entries_.size() - 1),
      shift_(64 - kInitialBits) {}

ShardStates::Next ShardStates::score_new(std::uint64_t key, std::size_t slot) {
  const auto width = static_cast<std::size_t>(width_);
  const auto from = static_cast<std::size_t>(key >> 32);
  const auto piece = static_cast<std::size_t>(key & 0xFFFFFFFFU);
  const Id state = static_cast<Id>(states_++);
  if (sums_.size() < states_ * width) sums_.resize(2 * states_ * width);
  float* sum = sums_.data() + state * width;
  kernels_.add(sums_.data() + from * width, problem_.embeddings.data() + piece * width, width_,
               sum);
  Entry& entry = entries_[slot];
  entry.key = key;
  entry.state = state;
  head_.run(sum, width_, 1, &entry.cost_ms, 1);
  ++scored_;
  const Next next{state, entry.cost_ms};
  if (2 * states_ > entries_.size()) grow();
  return next;
}

void ShardStates::grow() {
  std::vector<Entry> old(2 * entries_.size(), Entry{kFree, 0, 0.0F});
  old.swap(entries_);
  mask_ = entries_.size() - 1;
  --shift_;
  for (const Entry& entry : old) {
    if (entry.key == kFree) continue;
    std::size_t slot = slot_of(entry.key);
    while (entries_[slot].key != kFree) slot = (slot + 1) & mask_;
    entries_[slot] = entry;
  }
}

void ShardStates::clear() {
  states_ = 1;
  std::fill(entries_.begin(), entries_.end(), Entry{kFree, 0, 0.0F});
}

}  // namespace neuroshard
