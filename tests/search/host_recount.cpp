#include "search/host_recount.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "core/tables/row_popularity.h"

namespace neuroshard::testing {
namespace {

// docs/host_memory.md, in numbers of its own. The popularity of a table that does not state it is
// the library's, and so is no more of this.

struct Needs {
  double hbm = 0.0;
  double fetched = 0.0;
  double host = 0.0;    ///< Elsewhere than in HBM.
  double on_ssd = 0.0;  ///< There if host memory ends where rows are as old.
  double ssd = 0.0;     ///< Read from the SSD, and written to it.
};

struct Rows {
  double there = 0.0;
  double missed = 0.0;
};

/// If they stay in HBM for so many batches. A cache has none of a table whose missing rows are
/// looked up half a time in these: that is whole.
Rows rows_of(const Task& task, const Table& table, double batches) {
  const bool lru = task.host.policy == HostPolicy::kLru;
  double there = 0.0;
  double missed = 0.0;
  PopularRows before;
  for (const auto& [rows, share] : popularity_of(table)) {
    const double count = rows - before.rows;
    const double rate = static_cast<double>(task.batch_size) * table.pooling_factor *
                        (share - before.share) / (rows - before.rows);
    before = {rows, share};
    const double touched = 1.0 - std::exp(-rate);
    if (lru) {
      there += count * (1.0 - std::exp(-rate * batches));
      missed += count * touched * std::exp(-rate * batches);
    } else if (rate * batches >= 1.0) {
      there += count;
    } else {
      missed += count * touched;
    }
  }
  const auto all = static_cast<double>(table.rows);
  const bool is_whole =
      lru && table.rules.hbm_share == 0.0 && missed * batches > 0.5 * (all - there);
  return is_whole ? Rows{.there = all} : Rows{.there = there, .missed = missed};
}

/// If HBM has room for a share of them, which the table's rules say.
Rows rows_of_share(const Task& task, const Table& table) {
  const double room = table.rules.hbm_share * static_cast<double>(table.rows);
  double low = 1e-9;
  double high = 1e15;
  for (int i = 0; i < 60; ++i) {
    const double middle = std::sqrt(low * high);
    (rows_of(task, table, middle).there <= room ? low : high) = middle;
  }
  const Rows fewer = rows_of(task, table, low);
  const Rows more = rows_of(task, table, high);
  const double step = more.there - fewer.there;
  const double of_step = step > 0.0 ? std::clamp((room - fewer.there) / step, 0.0, 1.0) : 0.0;
  return {.there = room, .missed = std::lerp(fewer.missed, more.missed, of_step)};
}

/// `rows`: of the whole table.
Needs needs_of(const Task& task, const Table& table, const TableSlice& slice,
               const StoredBytes& stored, const Rows& rows, double link_gb_s) {
  const bool lru = task.host.policy == HostPolicy::kLru;
  const double part = static_cast<double>(slice.rows) / static_cast<double>(table.rows);
  const double there = rows.there * part;
  const double missed = rows.missed * part;
  const bool is_given = table.rules.hbm_share > 0.0;
  const double bytes = static_cast<double>(stored.rows) / static_cast<double>(slice.rows);
  const double in_hbm =
      lru ? there * (bytes + 16.0) + 4.0 * static_cast<double>(slice.rows) : there * bytes;
  if (table.rules.keep_in_hbm || (!is_given && in_hbm >= static_cast<double>(stored.rows))) {
    return {.hbm = static_cast<double>(stored.buffers + stored.rows)};
  }
  // A cache copies rows that are all in the host, and tables whose share is given are there alone.
  const bool may_be_on_ssd = task.host.ssd_bytes > 0 && !is_given;
  const double elsewhere = static_cast<double>(stored.rows) - there * bytes;
  return {.hbm = static_cast<double>(stored.buffers) + in_hbm,
          .fetched = 2.0 * missed * std::max(bytes, 21.0 * link_gb_s),
          .host = lru && !may_be_on_ssd ? static_cast<double>(stored.rows) : elsewhere,
          .on_ssd = may_be_on_ssd ? elsewhere : 0.0,
          .ssd = may_be_on_ssd ? missed * (std::max(bytes, 4096.0) + bytes) : 0.0};
}

/// A share of a range of values on curves at points half as far again.
struct Range {
  double sooner;
  double later;
};
constexpr double kFirst = 0.05;
constexpr double kForGood = 1e300;
Range range_about(double batches) {
  const double last = kFirst * std::pow(1.5, 37);
  return {.sooner = batches < kFirst ? 0.0 : std::min(batches / 1.51, last),
          .later = batches > last ? kForGood : std::max(batches * 1.51, kFirst * 1.01)};
}

/// The most batches of which `fits` is true.
template <typename Fits>
double most_batches(const Fits& fits) {
  double low = 0.0;
  double high = 1e15;
  for (int i = 0; i < 120; ++i) {
    const double middle = low < 1e-3 ? (low + high) / 2.0 : std::sqrt(low * high);
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace

HostMemory host_on(const Task& task, std::size_t device) {
  HostMemory host = task.host;
  if (task.device_list.empty()) return host;
  const Device& of = task.device_list[device];
  if (of.host_bytes > 0) host.bytes = of.host_bytes;
  if (of.host_link_gb_s > 0.0) host.link_gb_s = of.host_link_gb_s;
  if (of.ssd_bytes > 0) host.ssd_bytes = of.ssd_bytes;
  if (of.ssd_gb_s > 0.0) host.ssd_gb_s = of.ssd_gb_s;
  return host;
}

void expect_fetches(const Task& task, const Plan& plan, const PlanCost& cost, std::size_t device,
                    const std::vector<StoredBytes>& stored, std::int64_t room_bytes) {
  const HostMemory here = host_on(task, device);
  std::vector<std::optional<Rows>> given;
  for (std::size_t i = 0; i < stored.size(); ++i) {
    const auto index = static_cast<std::size_t>(plan.shards[device][i]);
    const Table& table = task.tables[static_cast<std::size_t>(plan.slices[index].table)];
    given.push_back(table.rules.hbm_share > 0.0 ? std::optional(rows_of_share(task, table))
                                                : std::nullopt);
  }
  const auto needs = [&](double batches) {
    Needs sum;
    for (std::size_t i = 0; i < stored.size(); ++i) {
      const auto index = static_cast<std::size_t>(plan.shards[device][i]);
      const TableSlice& slice = plan.slices[index];
      const Table& table = task.tables[static_cast<std::size_t>(slice.table)];
      const Rows rows = given[i] ? *given[i] : rows_of(task, table, batches);
      const Needs of_slice = needs_of(task, table, slice, stored[i], rows, here.link_gb_s);
      sum.hbm += of_slice.hbm;
      sum.fetched += of_slice.fetched;
      sum.host += of_slice.host;
      sum.on_ssd += of_slice.on_ssd;
      sum.ssd += of_slice.ssd;
    }
    return sum;
  };
  const auto room = static_cast<double>(room_bytes);
  const auto slack = static_cast<double>(4 * stored.size() + 4);  // Curves are rounded up.
  ASSERT_LE(needs(0.0).hbm, room + slack) << "device " << device;
  const auto [sooner, later] =
      range_about(most_batches([&](double batches) { return needs(batches).hbm <= room; }));
  const double ms_per_byte = 1.0 / (here.link_gb_s * 1e6);
  const DeviceCost& of_device = cost.devices[device];
  const double link_ms = of_device.fetch_ms - of_device.ssd_ms;
  EXPECT_LE(link_ms, (needs(sooner).fetched * (1.0 + 1e-6) + slack) * ms_per_byte)
      << "device " << device;
  EXPECT_GE(link_ms, (needs(later).fetched * (1.0 - 1e-6) - slack) * ms_per_byte)
      << "device " << device;
  const auto elsewhere = static_cast<double>(of_device.host_bytes + of_device.ssd_bytes);
  EXPECT_LE(elsewhere, needs(sooner).host * (1.0 + 1e-6) + slack);
  if (task.host.ssd_bytes > 0 &&
      later < kForGood) {  // Then rows that nobody looks up are there, too.
    EXPECT_GE(elsewhere, needs(later).host * (1.0 - 1e-6) - slack);
  }
  const bool equal_parts = task.host.of_node && task.host.ssd_bytes > 0;
  const std::int64_t host =
      here.bytes / (equal_parts ? std::min(task.devices_per_node, task.devices) : 1);
  EXPECT_LE(of_device.host_bytes, host);
  EXPECT_LE(of_device.ssd_bytes, here.ssd_bytes);
  EXPECT_GE(of_device.free_bytes, 0);
  if (of_device.ssd_bytes == 0) {
    EXPECT_LT(of_device.ssd_ms, 1e-6 * (1.0 + of_device.fetch_ms));
    return;
  }
  EXPECT_GE(of_device.host_bytes, host - 1) << "device " << device;  // The SSD has the rest.
  const auto on_ssd = static_cast<double>(of_device.ssd_bytes);
  const auto [sooner_there, later_there] =
      range_about(most_batches([&](double batches) { return needs(batches).on_ssd > on_ssd; }));
  const double ms_per_ssd_byte = 1.0 / (here.ssd_gb_s * 1e6);
  EXPECT_LE(of_device.ssd_ms, (needs(sooner_there).ssd * (1.0 + 1e-6) + slack) * ms_per_ssd_byte);
  EXPECT_GE(of_device.ssd_ms, (needs(later_there).ssd * (1.0 - 1e-6) - slack) * ms_per_ssd_byte);
}

}  // namespace neuroshard::testing
