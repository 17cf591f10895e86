#include "weights/measurement/memory_check.h"

#include <algorithm>

#include "core/base/message_text.h"
#include "weights/measurement/available_memory.h"

namespace neuroshard::ranks {
namespace {

// To send, received, arranged; and the lookups that the operator sorts, twice.
constexpr double kBytesOfLookup = 3 * 8 + 2 * 8;

// Of a stream, by its table: indices and offsets.
double stream_bytes(const Table& table, double batch) {
  return 8.0 * (table.pooling_factor * batch + batch + 1.0);
}

// What a replica's gradients take beside its weights and, if they are dense, the gradients.
double reduced_bytes(const Table& table, double batch, int ranks) {
  const auto rows = static_cast<double>(table.rows);
  if (table.replica_gradients == ReplicaGradients::kDense) return 4.0 * rows * table.dim;
  // Rows and sums of this rank, which go to all, and those of all; places of lookups.
  const double lookups = table.pooling_factor * batch / ranks;
  return (1 + ranks) * std::min(rows, lookups) * (8.0 + 4.0 * table.dim) + 2 * 8.0 * lookups;
}

// A device's bytes, with the lookups of its process if no rank before it on the machine has them.
std::int64_t bytes_of_rank(const RankGroup& group, const PlanRun& run, int rank) {
  const auto device = static_cast<std::size_t>(rank);
  const bool shares = group.in_one_process() && rank > 0;
  return bytes_needed(run, group.size(), device) + (shares ? 0 : stream_bytes_needed(run));
}

LackOfMemory lack_of(const RankGroup& group, const PlanRun& run, int device,
                     const std::string& why) {
  const auto index = static_cast<std::size_t>(device);
  return {device, "device " + std::to_string(device) + " needs " +
                      format_bytes(bytes_of_rank(group, run, device)) + ", " +
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
  double reduced = 0.0;     // Bytes.
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
    reduced += reduced_bytes(table, batch, ranks);
  }
  return 4 * weights_needed(run.task, run.plan, device) +
         static_cast<std::int64_t>(batch * (4.0 * columns + kBytesOfLookup * per_sample) + reduced);
}

std::int64_t stream_bytes_needed(const PlanRun& run) {
  const auto batch = static_cast<double>(run.streams.batch());
  double all = 0.0;
  double held = 0.0;  // While the plan runs.
  double largest = 0.0;
  for (const Table& table : run.task.tables) {
    all += stream_bytes(table, batch);
    largest = std::max(largest, stream_bytes(table, batch));
  }
  for (const int replica : run.plan.replicas) {
    held += stream_bytes(run.task.tables[static_cast<std::size_t>(replica)], batch);
  }
  // The largest may be made while all others that may be kept are.
  const double kept = std::min(all, static_cast<double>(run.streams.max_bytes()) + largest);
  const double most = std::max(kept, held + largest) - static_cast<double>(run.streams.bytes());
  return std::max<std::int64_t>(0, static_cast<std::int64_t>(most));
}

std::optional<LackOfMemory> lack_of_memory(const RankGroup& group, const PlanRun& run) {
  const std::vector<double> available = group.gather(static_cast<double>(available_memory()));
  int lacking = -1;
  std::string why;
  if (group.rank() == 0) {
    std::vector<double> left = available;  // By a machine's lowest rank.
    for (int r = 0; r < group.size() && lacking < 0; ++r) {
      const auto machine = static_cast<std::size_t>(group.machines()[static_cast<std::size_t>(r)]);
      const auto needed = static_cast<double>(bytes_of_rank(group, run, r));
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
  return lack_of(group, run, lacking, why);
}

std::optional<LackOfMemory> refused_memory(const RankGroup& group, const PlanRun& run,
                                           bool refused) {
  const std::vector<double> all = group.gather(refused ? 1.0 : 0.0);
  const auto first = std::ranges::find(all, 1.0);
  const int lacking =
      agreed(group, first == all.end() ? -1 : static_cast<int>(first - all.begin()));
  if (lacking < 0) return std::nullopt;
  return lack_of(group, run, lacking, "which its machine refuses");
}

}  // namespace neuroshard::ranks
