#include "weights/measurement/memory_check.h"

#include <algorithm>

#include "core/message_text.h"
#include "weights/measurement/available_memory.h"

namespace neuroshard::ranks {
namespace {

// To send, received, arranged; and the lookups that the operator sorts, twice.
constexpr double kBytesOfLookup = 3 * 8 + 2 * 8;

LackOfMemory lack_of(const PlanRun& run, int ranks, int device, const std::string& why) {
  const auto index = static_cast<std::size_t>(device);
  return {device, "device " + std::to_string(device) + " needs " +
                      format_bytes(bytes_needed(run, ranks, index)) + ", " +
                      format_bytes(4 * weights_needed(run.task, run.plan, index)) +
                      " of them weights, " + why +
                      "; start ranks on more machines, or measure a smaller task or batch"};
}

// Rank 0's verdict, on all ranks.
int agreed(const RankGroup& group, int device) {
  group.broadcast(std::as_writable_bytes(std::span(&device, 1)));
  return device;
}

}  // namespace

std::int64_t bytes_needed(const PlanRun& run, int ranks, std::size_t device) {
  const auto batch = static_cast<double>(run.streams.batch());
  double columns = 0.0;     // Of all samples: own columns, and all columns of own samples.
  double per_sample = 0.0;  // Lookups.
  for (std::size_t d = 0; d < run.plan.shards.size(); ++d) {
    for (const int index : run.plan.shards[d]) {
      const TableSlice& slice = run.plan.slices[static_cast<std::size_t>(index)];
      columns += static_cast<double>(slice.dim) / ranks;
      if (d != device) continue;
      const Table& table = run.task.tables[static_cast<std::size_t>(slice.table)];
      columns += slice.dim;
      per_sample += 2.0 + table.pooling_factor *  // 2: lengths and offsets.
                              lookup_share(table, slice.first_row, slice.rows);
    }
  }
  for (const int replica : run.plan.replicas) {
    const Table& table = run.task.tables[static_cast<std::size_t>(replica)];
    columns += static_cast<double>(table.dim) / ranks;
    per_sample += table.pooling_factor / ranks;
  }
  return 4 * weights_needed(run.task, run.plan, device) +
         static_cast<std::int64_t>(batch * (4.0 * columns + kBytesOfLookup * per_sample));
}

std::optional<LackOfMemory> lack_of_memory(const RankGroup& group, const PlanRun& run) {
  const std::vector<double> available = group.gather(static_cast<double>(available_memory()));
  int lacking = -1;
  std::string why;
  if (group.rank() == 0) {
    std::vector<double> left = available;  // By a machine's lowest rank.
    for (int r = 0; r < group.size() && lacking < 0; ++r) {
      const auto machine = static_cast<std::size_t>(group.machines()[static_cast<std::size_t>(r)]);
      const auto needed =
          static_cast<double>(bytes_needed(run, group.size(), static_cast<std::size_t>(r)));
      if (needed > left[machine]) {
        lacking = r;
        why = "and its machine has " + format_bytes(static_cast<std::int64_t>(left[machine])) +
              (left[machine] < available[machine] ? " left beside the devices before it" : "");
      }
      left[machine] -= needed;
    }
  }
  lacking = agreed(group, lacking);
  if (lacking < 0) return std::nullopt;
  return lack_of(run, group.size(), lacking, why);
}

std::optional<LackOfMemory> refused_memory(const RankGroup& group, const PlanRun& run,
                                           bool refused) {
  const std::vector<double> all = group.gather(refused ? 1.0 : 0.0);
  const auto first = std::ranges::find(all, 1.0);
  const int lacking =
      agreed(group, first == all.end() ? -1 : static_cast<int>(first - all.begin()));
  if (lacking < 0) return std::nullopt;
  return lack_of(run, group.size(), lacking, "which its machine refuses");
}

}  // namespace neuroshard::ranks
