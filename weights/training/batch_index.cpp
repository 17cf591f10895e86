#include "weights/training/batch_index.h"

namespace neuroshard::training {

void BatchIndex::build(const ComputeSamples& samples, std::span<const std::uint32_t> table_ids,
                       std::span<const std::uint32_t> batch) {
  for (const std::uint32_t table : tables_) local_[table] = kAbsent;
  tables_.clear();
  positions_.clear();
  sample_offsets_.assign(1, 0);
  for (const std::uint32_t sample : batch) {
    for (std::size_t i = samples.offsets[sample]; i < samples.offsets[sample + 1]; ++i) {
      const std::uint32_t table = table_ids[i];
      if (local_[table] == kAbsent) {
        local_[table] = static_cast<std::uint32_t>(tables_.size());
        tables_.push_back(table);
      }
      positions_.push_back(local_[table]);
    }
    sample_offsets_.push_back(static_cast<std::uint32_t>(positions_.size()));
  }

  // Counting sort of (table, sample) by table; stable, so sums over samples have a fixed order.
  user_offsets_.assign(tables_.size() + 1, 0);
  for (const std::uint32_t table : positions_) ++user_offsets_[table + 1];
  for (std::size_t i = 1; i < user_offsets_.size(); ++i) user_offsets_[i] += user_offsets_[i - 1];
  users_.resize(positions_.size());
  std::vector<std::uint32_t> next(user_offsets_.begin(), user_offsets_.end() - 1);
  for (std::uint32_t i = 0; i < batch.size(); ++i) {
    for (const std::uint32_t table : tables_of(i)) users_[next[table]++] = i;
  }
}

}  // namespace neuroshard::training
