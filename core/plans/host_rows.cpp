#include "core/plans/host_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/plans/slice_tables.h"
#include "core/tables/host_shares.h"

namespace neuroshard {
namespace {

constexpr double kFirstBatches = 0.05;
constexpr double kStepOfBatches = 1.5;

/// How long rows stay in a cache whose size is given: in this range, and so exactly.
constexpr double kLeastBatches = 1e-9;
constexpr double kMostBatches = 1e15;
constexpr int kHalvingsOfBatches = 50;

/// Lookups of a row, while rows stay in a cache, from which on its table is better whole in HBM.
/// Rows that a larger cache keeps have fewer, unless popularity falls faster than by Zipf's law
/// with an exponent of 2.
constexpr double kLookupsOfWhole = 0.5;

/// Bytes beside rows that say which of them are in HBM.
struct Bookkeeping {
  double of_row;
  double of_cached_row;
};

/// FBGEMM's cache keeps 4 for each row of a table, and 16 for each row that it has room for
/// (TorchRec, _calculate_cache_aux_state_sizes). Where the most popular rows are the first ones,
/// nothing has to be kept.
Bookkeeping bookkeeping_of(HostPolicy policy) {
  return policy == HostPolicy::kLru ? Bookkeeping{4.0, 16.0} : Bookkeeping{0.0, 0.0};
}

/// A row comes, and the one whose place it takes goes back.
constexpr double kWays = 2.0;
/// An SSD reads whole blocks, and RocksDB, where FBGEMM has its rows, blocks of this size. It
/// writes many rows at once.
constexpr double kBytesOfBlock = 4096.0;
constexpr double kBytesOfGb = 1e9;
constexpr double kMsOfSecond = 1e3;
/// A scattered row takes no less, however short it is: bench/results/nvidia-h200/host_rows.md.
constexpr double kSecondsOfRow = 21e-9;

double batches_at(std::size_t point) {
  return point == 0 ? 0.0
                    : kFirstBatches * std::pow(kStepOfBatches, static_cast<double>(point - 1));
}

std::int64_t rounded_up(double bytes) { return static_cast<std::int64_t>(std::ceil(bytes)); }

RowReuse::Rows rows_after(HostPolicy policy, const RowReuse& reuse, double batches) {
  return policy == HostPolicy::kLru ? reuse.looked_up_lately(batches) : reuse.popular(batches);
}

/// A cache keeps rows of all tables for `batches`. A larger one would keep rows that are looked up
/// less than kLookupsOfWhole times meanwhile. If the missing rows of a table are looked up more
/// often, as they are where all of its rows are alike, HBM is better spent on them.
bool is_better_whole(HostPolicy policy, const Table& table, const RowReuse::Rows& rows,
                     double batches) {
  const double missing = static_cast<double>(table.rows) - rows.in_hbm;
  return policy == HostPolicy::kLru && rows.fetched * batches > kLookupsOfWhole * missing;
}

/// A cache of `room` rows keeps these for as long as that has room for them.
RowReuse::Rows rows_with_room(HostPolicy policy, const RowReuse& reuse, double room) {
  double low = std::log(kLeastBatches);
  double high = std::log(kMostBatches);
  for (int i = 0; i < kHalvingsOfBatches; ++i) {
    const double middle = std::midpoint(low, high);
    const bool fits = rows_after(policy, reuse, std::exp(middle)).in_hbm <= room;
    (fits ? low : high) = middle;
  }
  // Rows that are alike are there or not, by the static policy: a part of them has room.
  const RowReuse::Rows fewer = rows_after(policy, reuse, std::exp(low));
  const RowReuse::Rows more = rows_after(policy, reuse, std::exp(high));
  const double step = more.in_hbm - fewer.in_hbm;
  const double part = step > 0.0 ? std::clamp((room - fewer.in_hbm) / step, 0.0, 1.0) : 0.0;
  return {.in_hbm = room, .fetched = std::lerp(fewer.fetched, more.fetched, part)};
}

}  // namespace

double CurvePlace::of(const HostCurve::Bytes& bytes) const {
  const auto at = static_cast<double>(bytes[below]);
  return part == 0.0 ? at : std::lerp(at, static_cast<double>(bytes[below + 1]), part);
}

/// Where a curve that falls is at `bytes`.
static CurvePlace place_of(const HostCurve::Bytes& curve, double bytes) {
  const auto above = std::partition_point(curve.begin(), curve.end() - 1, [&](std::int64_t at) {
    return static_cast<double>(at) > bytes;
  });
  if (above == curve.begin()) return {.below = 0};
  const auto before = static_cast<double>(*(above - 1));
  return {.below = static_cast<std::size_t>(above - curve.begin()) - 1,
          .part = (before - bytes) / (before - static_cast<double>(*above))};
}

HostPoint host_point(const HostCurve& curve, std::int64_t room_bytes, const HostMemory& host) {
  HostPoint point;
  auto& [below, part] = point.hbm;
  if (curve.hbm.front() > room_bytes) {
    below = 0;
    point.missing_bytes = curve.hbm.front() - room_bytes;
  } else if (curve.hbm.back() > room_bytes) {
    const auto above = std::ranges::upper_bound(curve.hbm, room_bytes);
    below = static_cast<std::size_t>(above - curve.hbm.begin()) - 1;
    part = static_cast<double>(room_bytes - curve.hbm[below]) /
           static_cast<double>(*above - curve.hbm[below]);
  }
  const std::int64_t in_host_alone = curve.host.back();
  point.missing_bytes +=
      std::max({std::int64_t{0}, point.host_bytes(curve) - host.bytes - host.ssd_bytes,
                in_host_alone - host.bytes});
  if (host.ssd_bytes == 0) return point;
  const double on_ssd = point.hbm.of(curve.host) - static_cast<double>(host.bytes);
  if (on_ssd > 0.0) {
    point.memory = place_of(curve.host, on_ssd + static_cast<double>(in_host_alone));
  }
  return point;
}

double ssd_ms(const HostCurve& curve, const HostPoint& point, const HostMemory& host) {
  if (host.ssd_bytes == 0) return 0.0;
  return point.memory.of(curve.ssd) / (host.ssd_gb_s * kBytesOfGb) * kMsOfSecond;
}

double fetch_ms(const HostCurve& curve, const HostPoint& point, const HostMemory& host) {
  return point.hbm.of(curve.fetched) / (host.link_gb_s * kBytesOfGb) * kMsOfSecond +
         ssd_ms(curve, point, host);
}

const HostCurves::RowsOfTable& HostCurves::rows_of(const Table& table) {
  const auto [known, is_new] = tables_.try_emplace(&table);
  if (!is_new) return known->second;
  const RowReuse reuse(table, samples_);
  if (const double share = table.rules.hbm_share; share > 0.0) {
    const double room = share * static_cast<double>(table.rows);
    known->second.fill(rows_with_room(host_.policy, reuse, room));
    return known->second;
  }
  for (std::size_t i = 0; i + 1 < kHostPoints; ++i) {
    RowReuse::Rows& rows = known->second[i];
    rows = rows_after(host_.policy, reuse, batches_at(i));
    if (is_better_whole(host_.policy, table, rows, batches_at(i))) {
      rows = {.in_hbm = static_cast<double>(table.rows), .fetched = 0.0};
    }
  }
  return known->second;
}

HostCurve HostCurves::of(const Table& table, std::int64_t rows, const SliceMemory& memory,
                         double link_gb_s) {
  const std::int64_t stored = memory.weight_bytes + memory.optimizer_bytes;
  HostCurve curve;
  curve.hbm.fill(memory.total_bytes());
  if (table.rules.keep_in_hbm) return curve;
  const RowsOfTable& known = rows_of(table);
  const auto all = static_cast<double>(rows);
  const double share = all / static_cast<double>(table.rows);
  const double row_bytes = static_cast<double>(stored) / all;
  const double moved_bytes = std::max(row_bytes, kSecondsOfRow * link_gb_s * kBytesOfGb);
  const auto [of_row, of_cached_row] = bookkeeping_of(host_.policy);
  const bool is_given = table.rules.hbm_share > 0.0;
  const bool may_be_on_ssd = host_.ssd_bytes > 0 && !is_given;
  // FBGEMM's managed caches copy rows that are all in the host. Caches above an SSD do not.
  const bool copies = host_.policy == HostPolicy::kLru && !may_be_on_ssd;
  for (std::size_t i = 0; i + (is_given ? 0 : 1) < kHostPoints; ++i) {
    const double cached = known[i].in_hbm * share;
    const std::int64_t taken = rounded_up(cached * (row_bytes + of_cached_row) + all * of_row);
    // All of it takes less, here and from here on.
    if (taken >= stored && !is_given) break;
    curve.hbm[i] = taken + memory.buffer_bytes;
    curve.fetched[i] = rounded_up(known[i].fetched * share * moved_bytes * kWays);
    curve.host[i] = copies ? stored : stored - rounded_up(cached * row_bytes);
    if (!may_be_on_ssd) continue;
    const double read_bytes = std::max(row_bytes, kBytesOfBlock);
    curve.ssd[i] = rounded_up(known[i].fetched * share * (read_bytes + row_bytes));
  }
  return curve;
}

/// The share of its rows that a slice has in `hbm_bytes` of HBM, some of which wait elsewhere.
static double share_in_hbm(HostPolicy policy, std::int64_t rows, const SliceMemory& memory,
                           std::int64_t hbm_bytes) {
  const auto [of_row, of_cached_row] = bookkeeping_of(policy);
  const auto all = static_cast<double>(rows);
  const auto stored = static_cast<double>(memory.weight_bytes + memory.optimizer_bytes);
  const double cached = static_cast<double>(hbm_bytes - memory.buffer_bytes) - all * of_row;
  return std::clamp(cached / (stored + all * of_cached_row), 0.0, 1.0);
}

/// A node that lacks memory lacks it on the device that takes most of it.
static void blame_pools(const Task& task, const std::vector<std::int64_t>& in_hosts,
                        std::vector<HostedPlan::OfDevice>& devices) {
  const std::vector<std::int64_t> nodes = pooled_bytes(task, in_hosts);
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    const std::int64_t missing = std::max<std::int64_t>(0, nodes[node] - pool_bytes(task, node));
    const std::size_t first = node * static_cast<std::size_t>(task.devices_per_node);
    const std::size_t end =
        std::min(first + static_cast<std::size_t>(task.devices_per_node), devices.size());
    const auto most = std::max_element(in_hosts.begin() + static_cast<std::ptrdiff_t>(first),
                                       in_hosts.begin() + static_cast<std::ptrdiff_t>(end));
    devices[static_cast<std::size_t>(most - in_hosts.begin())].missing_bytes += missing;
  }
}

HostedPlan hosted_plan(const Task& task, const Plan& plan) {
  HostCurves curves(task);
  HostedPlan hosted;
  hosted.hbm_shares.resize(plan.slices.size(), 1.0);
  if (task.host.ssd_bytes > 0) hosted.ssd_shares.resize(plan.slices.size(), 0.0);
  std::vector<std::int64_t> in_hosts;
  for (const TableSlice& slice : plan.slices) {
    hosted.memory.push_back(slice_memory(sized_table_of(task, slice), slice.dim));
  }
  const std::int64_t replicas = replicas_memory(task, plan).total_bytes();
  for (std::size_t device = 0; device < plan.shards.size(); ++device) {
    const HostMemory host = host_of_device(task, device);
    HostCurve sum;
    std::vector<HostCurve> of_slices;
    for (const int index : plan.shards[device]) {
      const auto i = static_cast<std::size_t>(index);
      const TableSlice& slice = plan.slices[i];
      const Table& table = task.tables[static_cast<std::size_t>(slice.table)];
      of_slices.push_back(curves.of(table, slice.rows, hosted.memory[i], host.link_gb_s));
      sum.add(of_slices.back());
    }
    const HostPoint point = host_point(sum, hbm_room_bytes(task, device) - replicas, host);
    const double on_ssd = point.ssd_bytes(sum);
    // Copies of a table that is whole in HBM in part are all of it.
    const bool copies = task.host.policy == HostPolicy::kLru && task.host.ssd_bytes == 0;
    const double elsewhere =
        copies ? static_cast<double>(point.host_bytes(sum)) : point.hbm.of(sum.host);
    hosted.devices.push_back({.fetch_ms = fetch_ms(sum, point, host),
                              .ssd_ms = ssd_ms(sum, point, host),
                              .host_bytes = static_cast<std::int64_t>(elsewhere - on_ssd),
                              .ssd_bytes = static_cast<std::int64_t>(on_ssd),
                              .missing_bytes = point.missing_bytes});
    in_hosts.push_back(point.host_bytes(sum));
    for (std::size_t s = 0; s < of_slices.size(); ++s) {
      if (point.hbm.of(of_slices[s].host) == 0.0) continue;
      const auto i = static_cast<std::size_t>(plan.shards[device][s]);
      SliceMemory& memory = hosted.memory[i];
      if (host.ssd_bytes > 0) {
        const auto stored = static_cast<double>(memory.weight_bytes + memory.optimizer_bytes);
        hosted.ssd_shares[i] = std::clamp(point.ssd_bytes(of_slices[s]) / stored, 0.0, 1.0);
      }
      const auto in_hbm = static_cast<std::int64_t>(point.hbm.of(of_slices[s].hbm));
      const double share = share_in_hbm(task.host.policy, plan.slices[i].rows, memory, in_hbm);
      hosted.hbm_shares[i] = share;
      memory.weight_bytes = std::llround(share * static_cast<double>(memory.weight_bytes));
      memory.optimizer_bytes = std::llround(share * static_cast<double>(memory.optimizer_bytes));
      memory.buffer_bytes = in_hbm - memory.weight_bytes - memory.optimizer_bytes;
    }
  }
  blame_pools(task, in_hosts, hosted.devices);
  return hosted;
}

}  // namespace neuroshard
