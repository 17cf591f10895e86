#include "search/bundled_task.h"

#include <algorithm>
#include <utility>

#include "core/base/count_up.h"
#include "core/tables/table_groups.h"
#include "core/tables/table_rules.h"

namespace neuroshard {
namespace {

constexpr std::size_t kNoBundle = static_cast<std::size_t>(-1);

/// One of default memory that has the columns and lookups of `tables`, and as many rows as make up
/// their bytes.
Table stand_in(const std::vector<Table>& tables, const DeviceSet& allowed) {
  Table one;
  std::int64_t bytes = 0;
  double lookups = 0.0;
  bool any_device = true;
  for (const Table& table : tables) {
    bytes += table.size_bytes();
    lookups += table.dim * table.pooling_factor;
    one.dim += table.dim;
    any_device &= !table.rules.limit_devices();
  }
  one.rows = 1;
  const std::int64_t row_bytes = one.size_bytes();
  one.rows = (bytes + row_bytes - 1) / row_bytes;
  one.pooling_factor = lookups / one.dim;
  one.rules.no_split = true;
  if (!any_device) one.rules.devices = allowed.list();
  return one;
}

}  // namespace

BundledTask::BundledTask(const Task& listed)
    : BundledTask(listed, count_up<std::uint32_t>(listed.tables.size())) {}

BundledTask::BundledTask(const Task& listed, std::span<const std::uint32_t> order)
    : task(without_tables(listed)), table_of(listed.tables.size()) {
  task.tables.reserve(order.size());
  original.reserve(order.size());
  const std::vector<TableBundle> together = table_bundles(listed);
  std::vector<std::size_t> bundle_of(together.empty() ? 0 : listed.tables.size(), kNoBundle);
  for (std::size_t b = 0; b < together.size(); ++b) {
    for (const std::uint32_t table : together[b]) bundle_of[table] = b;
  }
  std::vector<std::size_t> begun(together.size(), kNoBundle);  // Index into `bundles`.
  for (const std::uint32_t index : order) {
    const std::size_t of = bundle_of.empty() ? kNoBundle : bundle_of[index];
    if (of != kNoBundle && begun[of] != kNoBundle) {
      Bundle& bundle = bundles[begun[of]];
      table_of[index] = bundle.table;
      bundle.listed.push_back(index);
      bundle.tables.push_back(listed.tables[index]);
      continue;
    }
    if (of != kNoBundle) {
      begun[of] = bundles.size();
      bundles.push_back({.table = static_cast<std::uint32_t>(task.tables.size()),
                         .listed = {index},
                         .tables = {listed.tables[index]}});
    }
    table_of[index] = static_cast<std::uint32_t>(task.tables.size());
    task.tables.push_back(listed.tables[index]);
    task.tables.back().name.clear();
    original.push_back(index);
  }
  for (const Bundle& bundle : bundles) {
    task.tables[bundle.table] =
        stand_in(bundle.tables, allowed_set(listed, {bundle.listed.begin(), bundle.listed.end()}));
  }
  for (const TableGroup& group : listed.groups) {
    if (group.keep != Keep::kApart) continue;
    TableGroup& apart = task.groups.emplace_back(group);
    for (int& table : apart.tables) {
      table = static_cast<int>(table_of[static_cast<std::size_t>(table)]);
    }
  }
}

const BundledTask::Bundle* BundledTask::bundle(std::size_t table) const {
  const auto found = std::ranges::lower_bound(bundles, table, {}, &Bundle::table);
  return found != bundles.end() && found->table == table ? &*found : nullptr;
}

std::vector<int> renumbered(std::span<const int> tables, std::span<const std::uint32_t> numbers) {
  std::vector<int> found;
  for (const int table : tables) {
    found.push_back(static_cast<int>(numbers[static_cast<std::size_t>(table)]));
  }
  std::ranges::sort(found);
  return found;
}

Plan BundledTask::plan_of_listed(const Plan& plan) const {
  Plan of_listed;
  std::vector<std::vector<int>> slices_of;  // For each slice of `plan`, its slices in `of_listed`.
  for (TableSlice slice : plan.slices) {
    std::vector<int>& own = slices_of.emplace_back();
    const auto add = [&](const TableSlice& one) {
      own.push_back(static_cast<int>(of_listed.slices.size()));
      of_listed.slices.push_back(one);
    };
    const auto t = static_cast<std::size_t>(slice.table);
    if (const Bundle* of = bundle(t)) {
      for (std::size_t i = 0; i < of->listed.size(); ++i) {
        const Table& table = of->tables[i];
        add({static_cast<int>(of->listed[i]), 0, table.dim, 0, table.rows});
      }
    } else {
      slice.table = static_cast<int>(original[t]);
      add(slice);
    }
  }
  of_listed.replicas = renumbered(plan.replicas, original);
  of_listed.deduplicated = renumbered(plan.deduplicated, original);
  for (const std::vector<int>& shard : plan.shards) {
    std::vector<int>& of_device = of_listed.shards.emplace_back();
    for (const int slice : shard) {
      const std::vector<int>& own = slices_of[static_cast<std::size_t>(slice)];
      of_device.insert(of_device.end(), own.begin(), own.end());
    }
  }
  return of_listed;
}

Plan BundledTask::plan_of_task(const Plan& listed) const {
  Plan plan;
  plan.shards.resize(listed.shards.size());
  for (std::size_t device = 0; device < listed.shards.size(); ++device) {
    for (const int index : listed.shards[device]) {
      TableSlice slice = listed.slices[static_cast<std::size_t>(index)];
      const std::uint32_t t = table_of[static_cast<std::size_t>(slice.table)];
      if (std::cmp_not_equal(original[t], slice.table)) continue;  // A bundle is its first table.
      slice.table = static_cast<int>(t);
      const Table& table = task.tables[t];
      if (bundle(t) != nullptr) slice = {slice.table, 0, table.dim, 0, table.rows};
      plan.add(slice, device);
    }
  }
  plan.replicas = renumbered(listed.replicas, table_of);
  for (const int table : listed.deduplicated) {
    const std::uint32_t t = table_of[static_cast<std::size_t>(table)];
    if (bundle(t) == nullptr) plan.deduplicated.push_back(static_cast<int>(t));
  }
  std::ranges::sort(plan.deduplicated);
  return plan;
}

}  // namespace neuroshard
