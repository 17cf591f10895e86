#include "tools/collecting/bandwidth_report.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/count_up.h"
#include "tools/text/text.h"

namespace neuroshard::tools {
namespace {

// Bytes per nanosecond.
double gb_per_s(double bytes, double ms) { return ms > 0.0 ? bytes / ms * 1e-6 : 0.0; }

std::string beside_copy(double value, double copy) {
  return format_number(value, 0) + " GB/s (" + format_percent(value / copy, 0) + ")";
}

// Tables of one dim, in random order, as many as are asked for and fit.
std::vector<int> shard_of_level(std::span<const Table> tables, std::size_t base_tables,
                                std::size_t level, const ComputeDrawOptions& draw, Random& random) {
  std::vector<int> order = count_up<int>(level * base_tables, (level + 1) * base_tables);
  shuffle(std::span(order), random);
  std::vector<int> shard;
  std::int64_t bytes = 0;
  for (const int id : order) {
    const Table& table = tables[static_cast<std::size_t>(id)];
    const std::int64_t more = table.size_bytes();
    if (table.pooling_factor <= 0.0 || bytes + more > draw.memory_bytes) continue;
    bytes += more;
    shard.push_back(id);
    if (static_cast<int>(shard.size()) == draw.max_tables) break;
  }
  return shard;
}

}  // namespace

void print_bandwidth(std::ostream& out, const OperatorTraffic& traffic, double copy_gb_per_s) {
  const double forward = gb_per_s(traffic.forward_bytes, traffic.forward_ms);
  const double backward = gb_per_s(traffic.backward_bytes, traffic.backward_ms);
  out << "copy within device memory: " << format_number(copy_gb_per_s, 0)
      << " GB/s; operator, caches included: forward " << beside_copy(forward, copy_gb_per_s)
      << ", backward " << beside_copy(backward, copy_gb_per_s) << '\n';
}

void report_bandwidth(std::ostream& out, CudaSource& source, std::span<const Table> tables,
                      std::size_t base_tables, const ComputeDrawOptions& draw, std::uint64_t seed) {
  const double copy = source.copy_gb_per_s();
  Random random(seed);
  for (std::size_t level = 0; level * base_tables < tables.size(); ++level) {
    const std::vector<int> shard = shard_of_level(tables, base_tables, level, draw, random);
    if (shard.empty()) continue;
    const OperatorTraffic before = source.traffic();
    const double cost = source.cost_ms(shard);
    const OperatorTraffic after = source.traffic();
    out << "dim " << tables[level * base_tables].dim << ", " << shard.size()
        << " tables: " << format_number(cost, 3) << " ms, forward "
        << beside_copy(gb_per_s(after.forward_bytes - before.forward_bytes,
                                after.forward_ms - before.forward_ms),
                       copy)
        << ", backward "
        << beside_copy(gb_per_s(after.backward_bytes - before.backward_bytes,
                                after.backward_ms - before.backward_ms),
                       copy)
        << '\n';
  }
}

}  // namespace neuroshard::tools
