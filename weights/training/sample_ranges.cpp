#include "weights/training/sample_ranges.h"

namespace neuroshard {
namespace {

class RangesByName {
 public:
  void add(const char* quantity, double value) {
    ranges_.try_emplace(quantity, TrainingRange{value, value}).first->second.extend(value);
  }
  [[nodiscard]] std::map<std::string, TrainingRange> take() && { return std::move(ranges_); }

 private:
  std::map<std::string, TrainingRange> ranges_;
};

}  // namespace

std::map<std::string, TrainingRange> ranges_of(const ComputeSamples& samples) {
  RangesByName ranges;
  std::vector<bool> used(samples.tables.size(), false);
  for (const std::uint32_t id : samples.table_ids) used[id] = true;
  for (std::size_t id = 0; id < used.size(); ++id) {
    if (!used[id]) continue;
    const Table& table = samples.tables[id];
    ranges.add("row", static_cast<double>(table.rows));
    ranges.add("dim", table.dim);
    ranges.add("pooling_factor", table.pooling_factor);
  }
  for (const std::int64_t served : samples.served) {
    ranges.add("samples", static_cast<double>(served));
  }
  for (std::size_t sample = 0; sample < samples.size(); ++sample) {
    ranges.add("slices",
               static_cast<double>(samples.offsets[sample + 1] - samples.offsets[sample]));
  }
  return std::move(ranges).take();
}

std::map<std::string, TrainingRange> ranges_of(const CollectiveSamples& samples) {
  RangesByName ranges;
  for (const int devices : samples.devices) ranges.add("devices", devices);
  for (const double bytes : samples.bytes) ranges.add("bytes", bytes);
  return std::move(ranges).take();
}

std::map<std::string, TrainingRange> ranges_of(const KindSamples& samples) {
  RangesByName ranges;
  for (const auto& [kind, of_kind] : samples) {
    for (const KindSample& sample : of_kind) {
      ranges.add("devices", sample.devices);
      ranges.add("samples", static_cast<double>(sample.samples));
      ranges.add("dim", sample.dim);
      ranges.add("pooling_factor", sample.pooling_factor);
    }
  }
  return std::move(ranges).take();
}

std::map<std::string, TrainingRange> ranges_of(std::span<const CommSamples> samples) {
  RangesByName ranges;
  for (const CommSamples& set : samples) {
    ranges.add("devices", set.devices);
    for (const std::int64_t dim_sum : set.dim_sums) {
      ranges.add("dim_sum", static_cast<double>(dim_sum));
    }
    for (const float offset : set.start_offsets_ms) ranges.add("start_offset_ms", offset);
  }
  return std::move(ranges).take();
}

}  // namespace neuroshard
