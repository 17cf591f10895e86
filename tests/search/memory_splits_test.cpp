#include "search/memory_splits.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "neuroshard/column_halvings.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/infeasibility/infeasibility.h"
#include "search/random_layouts.h"

namespace neuroshard {
namespace {

using testing::CatalogedTask;
using testing::cpu_backend_of;
using testing::drawn_tasks;
using testing::random_models;
using testing::random_task;

class MemorySplits : public ::testing::Test {
 protected:
  static std::vector<std::int64_t> sizes(const PieceCatalog& catalog, const SplitState& state) {
    std::vector<std::int64_t> bytes;
    for (const std::uint32_t piece : state.pieces) bytes.push_back(catalog.size_bytes(piece));
    return bytes;
  }

  // The slices are those that the column splits say, and each has its place in the order.
  static void expect_consistent(const CatalogedTask& cataloged, const SplitState& state) {
    const std::vector<TableSlice> slices = split_columns(cataloged.task, state.column_splits);
    ASSERT_EQ(slices.size(), state.pieces.size());
    for (std::size_t i = 0; i < slices.size(); ++i) {
      EXPECT_EQ(slices[i].dim, cataloged.catalog.dim(state.pieces[i]));
    }
    std::vector<std::uint32_t> order = state.order;
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end(), [&](auto a, auto b) {
      return cataloged.catalog.cost_ms(state.pieces[a]) >
             cataloged.catalog.cost_ms(state.pieces[b]);
    }));
    std::sort(order.begin(), order.end());
    for (std::uint32_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], i);
  }

  CpuBackend cpu_ = cpu_backend_of(random_models(1));
};

TEST_F(MemorySplits, HalveOnlyWhatExceedsADevice) {
  int split = 0;
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(100))) {
    const CatalogedTask cataloged(cpu_, random_task(seed));
    const std::int64_t memory_bytes = room_bytes(cataloged.task, 0);
    if (proof_by_memory(cataloged.task)) continue;
    SplitState state(cataloged.catalog, cataloged.task.tables.size());
    split_oversized(cataloged.catalog, memory_bytes, state);
    expect_consistent(cataloged, state);
    split += state.column_splits.empty() ? 0 : 1;
    const std::vector<TableSlice> slices = split_columns(cataloged.task, state.column_splits);
    for (std::size_t i = 0; i < slices.size(); ++i) {
      EXPECT_LE(cataloged.catalog.size_bytes(state.pieces[i]), memory_bytes);
      // Twice as wide a slice would have been too large.
      const Table& table = cataloged.task.tables[static_cast<std::size_t>(slices[i].table)];
      if (slices[i].dim == table.dim) continue;
      EXPECT_GT(slice_bytes(table, 2 * slices[i].dim), memory_bytes);
    }
  }
  EXPECT_GT(split, 0);
}

TEST_F(MemorySplits, TheLadderHalvesTheLargestEachTime) {
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(20))) {
    const CatalogedTask cataloged(cpu_, random_task(seed));
    const SplitState whole(cataloged.catalog, cataloged.task.tables.size());
    const std::vector<SplitState> ladder = memory_split_ladder(cataloged.catalog, whole);
    SplitState expected = whole;
    std::vector<std::size_t> splits = {0};
    for (const SplitState& rung : ladder) {
      splits.push_back(rung.column_splits.size());
      while (expected.column_splits.size() < rung.column_splits.size()) {
        const std::vector<std::int64_t> bytes = sizes(cataloged.catalog, expected);
        std::int64_t largest = -1;
        std::uint32_t slice = 0;
        for (std::uint32_t i = 0; i < bytes.size(); ++i) {
          if (!cataloged.catalog.can_split(expected.pieces[i]) || bytes[i] <= largest) continue;
          largest = bytes[i];
          slice = i;
        }
        expected.split(cataloged.catalog, slice);
      }
      EXPECT_EQ(rung.column_splits, expected.column_splits);
      EXPECT_EQ(rung.order, expected.order);
      expect_consistent(cataloged, rung);
    }
    EXPECT_TRUE(std::is_sorted(splits.begin(), splits.end()));
    EXPECT_EQ(std::adjacent_find(splits.begin(), splits.end()), splits.end());
    if (splits.back() >= 4096) continue;
    for (const std::uint32_t piece : expected.pieces)
      EXPECT_FALSE(cataloged.catalog.can_split(piece));
  }
}

TEST_F(MemorySplits, PackingKeepsToMemoryAndFillsTheEmptiest) {
  int packed = 0;
  int failed = 0;
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(100))) {
    const CatalogedTask cataloged(cpu_, random_task(seed));
    const SplitState whole(cataloged.catalog, cataloged.task.tables.size());
    const auto devices =
        pack_by_size(cataloged.catalog, whole, cataloged.task.devices, cataloged.task.memory_bytes);
    std::vector<std::int64_t> used(static_cast<std::size_t>(cataloged.task.devices), 0);
    std::vector<std::int64_t> bytes = sizes(cataloged.catalog, whole);
    std::sort(bytes.rbegin(), bytes.rend());
    bool fits = true;
    for (const std::int64_t size : bytes) {
      const auto emptiest = std::ranges::min_element(used);
      if (!(fits = *emptiest + size <= cataloged.task.memory_bytes)) break;
      *emptiest += size;
    }
    ASSERT_EQ(devices.has_value(), fits);
    devices ? ++packed : ++failed;
    if (!devices) continue;
    std::vector<std::int64_t> actual(used.size(), 0);
    for (std::size_t i = 0; i < devices->size(); ++i) {
      actual.at(static_cast<std::size_t>((*devices)[i])) +=
          cataloged.catalog.size_bytes(whole.pieces[i]);
    }
    EXPECT_EQ(actual, used);
  }
  EXPECT_GT(packed, testing::kFewTasks ? 0 : 5);
  EXPECT_GT(failed, testing::kFewTasks ? 0 : 1);
}

}  // namespace
}  // namespace neuroshard
