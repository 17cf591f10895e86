#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)
namespace neuroshard {

/// Decides which rows of a table are in HBM while the others wait in the host's memory.
enum class HostPolicy {
  kLru,     ///< A cache in HBM keeps the rows that were looked up last: FBGEMM's "managed caching".
  kStatic,  ///< The most popular rows are in HBM for good, as RecShard has it.
};

/// "lru", "static".
[[nodiscard]] std::span<const HostPolicy> all_host_policies();
[[nodiscard]] std::string_view name_of(HostPolicy policy);
/// Throws Error listing the names.
[[nodiscard]] HostPolicy host_policy_from_name(std::string_view name);

/// Memory of the host beside the HBM of each device, for tables that are larger than all HBM, and
/// an SSD for tables that are larger than both.
struct HostMemory {
  /// Memory for each device, or if `of_node`, of each node. 0: tables are in HBM alone.
  std::int64_t bytes = 0;
  /// Bandwidth between a device and its host in each direction, as reached: 0.001 to 1e6 GB/s (1e9
  /// bytes).
  double link_gb_s = 0.0;
  HostPolicy policy = HostPolicy::kLru;
  /// Rows are fetched behind the iteration before, as TorchRec's PrefetchTrainPipelineSparseDist
  /// does. An iteration takes the longer of that and all else.
  bool prefetch = false;
  /// The devices of a node share its memory: as they need it, or in equal parts beside an SSD.
  bool of_node = false;
  /// An SSD has rows of each device that have room neither in HBM nor in the host. 0: there is
  /// none.
  std::int64_t ssd_bytes = 0;
  /// Bandwidth of a device's reads and writes, as reached: 0.001 to 1e6 GB/s (1e9 bytes).
  double ssd_gb_s = 0.0;

  friend bool operator==(const HostMemory&, const HostMemory&) = default;
};

/// The hottest `rows` rows of a table get this share of its lookups.
struct PopularRows {
  double rows = 0.0;
  double share = 0.0;

  // clang-tidy takes the 0 that a comparison is compared with for a pointer.
  // NOLINTNEXTLINE(modernize-use-nullptr)
  friend auto operator<=>(const PopularRows&, const PopularRows&) = default;
  friend bool operator==(const PopularRows&, const PopularRows&) = default;
};

/// Points of a popularity curve that may be given.
inline constexpr int kMostPopularityPoints = 1024;

}  // namespace neuroshard
#pragma GCC visibility pop
