#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "neuroshard/sharding_kind.h"
#include "neuroshard/task.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// Measured costs of table combinations. Sample `s` is the fused embedding operator over the tables
/// `table_ids[offsets[s] .. offsets[s + 1])`.
struct ComputeSamples {
  std::vector<Table> tables;            ///< A table at two dims is two entries.
  std::vector<std::size_t> offsets{0};  ///< samples + 1 entries.
  std::vector<std::uint32_t> table_ids;
  std::vector<float> cost_ms;
  /// Samples that each operator serves, [size()]; empty: all serve kDefaultBatchSize.
  std::vector<std::int64_t> served;

  [[nodiscard]] std::size_t size() const { return cost_ms.size(); }
  [[nodiscard]] std::int64_t served_by(std::size_t sample) const {
    return served.empty() ? kDefaultBatchSize : served[sample];
  }
  /// An operator of tables `ids`; `served` is the caller's.
  void add(std::span<const int> ids, double ms) {
    table_ids.insert(table_ids.end(), ids.begin(), ids.end());
    offsets.push_back(table_ids.size());
    cost_ms.push_back(static_cast<float>(ms));
  }
  /// Leaves the first `count` samples.
  void cut_to(std::size_t count) {
    offsets.resize(count + 1);
    table_ids.resize(offsets.back());
    cost_ms.resize(count);
    if (!served.empty()) served.resize(count);
  }
};

/// Measured costs of the all-to-all between `devices` devices; all arrays are [samples, devices].
struct CommSamples {
  int devices = 0;
  std::vector<std::int64_t> dim_sums;
  std::vector<float> start_offsets_ms;  ///< Offsets of the forward pass.
  std::vector<float> forward_ms;
  std::vector<float> backward_ms;

  [[nodiscard]] std::size_t size() const {
    return devices == 0 ? 0 : dim_sums.size() / static_cast<std::size_t>(devices);
  }
};

/// Measured costs of a collective: the all-reduce of dense gradients with the optimizer's pass over
/// all weights, or the exchange of ids. All arrays are [samples].
struct CollectiveSamples {
  std::string kind = "all-reduce";  ///< Or "ids".
  std::vector<int> devices;
  std::vector<double> bytes;
  std::vector<float> cost_ms;

  [[nodiscard]] std::size_t size() const { return cost_ms.size(); }
};

/// Costs of shards of some kinds of sharding (KindPrice), each with what it sends.
struct KindSample {
  int devices = 0;           ///< The table is in so many even blocks, or replicated on so many.
  std::int64_t samples = 0;  ///< Samples of an iteration, on all devices together.
  int dim = 0;
  double pooling_factor = 0.0;  ///< Pooling factor of the table.
  float cost_ms = 0.0F;  ///< Cost of a block, or of the replica on a device but for its gradients.
};
using KindSamples = std::map<ShardingKind, std::vector<KindSample>>;

// All readers take data folders, the first two published ones. They throw Error: kIo if a file
// cannot be read, kInvalidInput with file and line if it is malformed, or if a cost is NaN,
// infinite or negative.

/// `table_configs.json` (every table at every dim it was measured with) and `data.txt`, a line
/// `id,id,... cost_ms` a sample; ids are positions in the same folder's `table_configs.json`. A
/// third group, `samples`, says how many the operator serves; without it they are
/// kDefaultBatchSize. Samples of all folders, one after the other.
[[nodiscard]] ComputeSamples read_compute_samples(std::span<const std::filesystem::path> folders);

/// `data.txt`, a line `dim_sum,... start_ms,... forward_ms,... backward_ms,...` a sample, each
/// group with one number per device. All lines of a folder have the same number of devices; folders
/// with the same number are put together. Ascending by device count.
[[nodiscard]] std::vector<CommSamples> read_comm_samples(
    std::span<const std::filesystem::path> folders);

/// `data.txt`, a line `devices bytes cost_ms` a sample.
/// `kind`: CollectiveSamples::kind.
[[nodiscard]] CollectiveSamples read_collective_samples(
    std::span<const std::filesystem::path> folders, std::string_view kind = "all-reduce");

/// `data.txt`, a line `kind devices samples dim pooling_factor cost_ms` a sample; `kind` is row,
/// table_row or replicate.
[[nodiscard]] KindSamples read_kind_samples(std::span<const std::filesystem::path> folders);

}  // namespace neuroshard
#pragma GCC visibility pop
