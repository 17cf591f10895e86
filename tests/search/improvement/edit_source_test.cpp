#include "search/improvement/edit_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "random_tasks.h"
#include "repetitions.h"
#include "search/random_layouts.h"

namespace neuroshard {
namespace {

using testing::CatalogedTask;
using testing::cpu_backend_of;
using testing::random_layout;
using testing::random_models;
using testing::random_task;
using testing::repetitions;

using Columns = std::map<std::uint32_t, std::int64_t>;

// Tables of 64 columns, different ones.
Task even_task(int tables, int devices) {
  Task task;
  task.devices = devices;
  task.memory_bytes = bytes_from_gib(4.0);
  for (int t = 0; t < tables; ++t) {
    Table& table = task.tables.emplace_back();
    table.rows = 1000 * (t + 1);
    table.dim = 64;
    table.pooling_factor = 2.0;
    table.access_histogram[0] = 1.0;
  }
  return task;
}

void expect_valid(const WorkingPlan& plan, const PlanEdit& edit) {
  const PieceCatalog& catalog = plan.catalog();
  const auto on_its_devices = [&](std::uint32_t device) {
    return device == edit.device(0) || device == edit.device(1);
  };
  Columns removed;
  Columns added;
  std::set<std::uint32_t> once;
  for (const std::uint32_t index : edit.removed()) {
    ASSERT_LT(index, plan.layout().size());
    EXPECT_TRUE(once.insert(index).second);
    const PlacedSlice& slice = plan.slice(index);
    EXPECT_TRUE(on_its_devices(slice.device));
    removed[slice.table] += catalog.dim(slice.piece);
  }
  for (const PlacedSlice& slice : edit.added()) {
    EXPECT_TRUE(on_its_devices(slice.device));
    added[slice.table] += catalog.dim(slice.piece);
  }
  EXPECT_FALSE(edit.removed().empty());
  EXPECT_EQ(removed, added);
}

// Whether of the slices that an edit brings two, or one and one that was there, are halves of one
// slice on one device.
bool leaves_halves_apart(const WorkingPlan& plan, const PlanEdit& edit) {
  if (edit.removed().size() == PlanEdit::kMostRemoved) return false;
  for (std::size_t i = 0; i < edit.added().size(); ++i) {
    const PlacedSlice& half = edit.added()[i];
    if (plan.catalog().whole(half.table) == half.piece) continue;
    if (std::count(edit.added().begin(), edit.added().end(), half) > 1) return true;
    for (const std::uint32_t other : plan.of_table(half.table)) {
      const bool stays =
          std::find(edit.removed().begin(), edit.removed().end(), other) == edit.removed().end();
      if (stays && plan.slice(other) == half) return true;
    }
  }
  return false;
}

TEST(EditSource, DrawsEditsThatKeepEveryColumn) {
  const CpuBackend backend = cpu_backend_of(random_models(51));
  std::mt19937_64 random(51);
  int apart = 0;
  for (std::uint64_t seed = 0; seed < repetitions(60); ++seed) {
    SCOPED_TRACE(seed);
    const CatalogedTask cataloged(backend, random_task(seed));
    // Not joined at first: halves that the random layout puts on one device.
    WorkingPlan plan(cataloged.catalog, cataloged.task.devices,
                     random_layout(cataloged, 3.0, random));
    const Halves halves = seed % 2 == 0 ? Halves::kJoined : Halves::kKept;
    EditSource source(plan, halves, 2, seed);
    for (int step = 0; step < 200; ++step) {
      SCOPED_TRACE(step);
      const auto device = static_cast<std::uint32_t>(random() % plan.devices());
      const std::optional<PlanEdit> edit =
          source.draw({.slowest = device, .last_ready = device, .widest = device});
      if (!edit) continue;
      expect_valid(plan, *edit);
      if (HasFatalFailure()) return;
      const bool are_apart = leaves_halves_apart(plan, *edit);
      EXPECT_FALSE(halves == Halves::kJoined && are_apart);
      apart += are_apart ? 1 : 0;
      plan.apply(*edit);
    }
  }
  EXPECT_GT(apart, 0);  // Where they are kept.
}

TEST(EditSource, DrawsEveryKindAndMostlyOnCriticalDevices) {
  const CpuBackend backend = cpu_backend_of(random_models(52));
  std::mt19937_64 random(52);
  const CatalogedTask cataloged(backend, even_task(60, 16));
  const WorkingPlan plan(cataloged.catalog, 16, random_layout(cataloged, 1.0, random));
  EditSource source(plan, Halves::kJoined, 3, 0);
  const CriticalDevices critical{.slowest = 3, .last_ready = 5, .widest = 7};
  int edits = 0;
  int aimed = 0;
  int moves = 0;
  int swaps = 0;
  int more_slices = 0;
  int fewer_slices = 0;
  int keep_columns = 0;
  for (int step = 0; step < 3000; ++step) {
    const std::optional<PlanEdit> edit = source.draw(critical);
    if (!edit) continue;
    ++edits;
    const auto is_critical = [&](std::uint32_t d) { return d == 3 || d == 5 || d == 7; };
    aimed += is_critical(edit->device(0)) || is_critical(edit->device(1)) ? 1 : 0;
    const std::size_t removed = edit->removed().size();
    const std::size_t added = edit->added().size();
    moves += removed == 1 && added == 1 ? 1 : 0;
    swaps += removed == 2 && added == 2 ? 1 : 0;
    more_slices += added > removed ? 1 : 0;
    fewer_slices += added < removed ? 1 : 0;
    std::vector<float> sums(2 * cataloged.catalog.embedding_width());
    keep_columns +=
        plan.outcome(*edit, sums.data()).dim_sum[0] == plan.dim_sum(edit->device(0)) ? 1 : 0;
  }
  EXPECT_GT(edits, 1500);
  EXPECT_GT(aimed, edits * 3 / 4);
  for (const int kind : {moves, swaps, more_slices, fewer_slices}) EXPECT_GT(kind, edits / 20);
  EXPECT_GT(keep_columns, edits / 4);
}

TEST(EditSource, HasNothingToDrawForOneDeviceButJoins) {
  const CpuBackend backend = cpu_backend_of(random_models(53));
  const CatalogedTask cataloged(backend, even_task(2, 1));
  const std::uint32_t half = cataloged.catalog.whole(0) + 1;
  const WorkingPlan plan(cataloged.catalog, 1,
                         {{half, 0, 0}, {half, 0, 0}, {cataloged.catalog.whole(1), 1, 0}});
  EditSource source(plan, Halves::kJoined, 4, 0);
  int edits = 0;
  for (int step = 0; step < 300; ++step) {
    const std::optional<PlanEdit> edit = source.draw({});
    if (!edit) continue;
    ++edits;
    EXPECT_THAT(edit->removed(), ::testing::UnorderedElementsAre(0U, 1U));
    EXPECT_THAT(edit->added(), ::testing::ElementsAre(PlacedSlice{half - 1, 0, 0}));
  }
  EXPECT_GT(edits, 0);
}

TEST(EditSource, DrawsTheSameAgainAndAnotherStreamOthers) {
  const CpuBackend backend = cpu_backend_of(random_models(54));
  std::mt19937_64 random(54);
  const CatalogedTask cataloged(backend, even_task(20, 4));
  const WorkingPlan plan(cataloged.catalog, 4, random_layout(cataloged, 1.0, random));
  const auto drawn = [&](std::uint64_t stream) {
    EditSource source(plan, Halves::kJoined, 5, stream);
    std::vector<std::uint32_t> slices;
    for (int step = 0; step < 50; ++step) {
      const std::optional<PlanEdit> edit = source.draw({});
      if (edit) slices.insert(slices.end(), edit->removed().begin(), edit->removed().end());
    }
    return slices;
  };
  EXPECT_EQ(drawn(1), drawn(1));
  EXPECT_NE(drawn(1), drawn(2));
}

TEST(JoinHalves, JoinsUpTheWholeTree) {
  const CpuBackend backend = cpu_backend_of(random_models(55));
  const CatalogedTask cataloged(backend, even_task(1, 2));
  const std::uint32_t whole = cataloged.catalog.whole(0);
  // 32, 16, 8 and 4 columns on device 0, 4 on device 1.
  const WorkingPlan plan(cataloged.catalog, 2,
                         {{whole + 1, 0, 0},
                          {whole + 2, 0, 0},
                          {whole + 3, 0, 0},
                          {whole + 4, 0, 0},
                          {whole + 4, 0, 1}});
  PlanEdit edit(1, 0);
  edit.remove(4);
  edit.add({whole + 4, 0, 0});
  join_halves(plan, edit);
  EXPECT_THAT(edit.added(), ::testing::ElementsAre(PlacedSlice{whole, 0, 0}));
  EXPECT_THAT(edit.removed(), ::testing::UnorderedElementsAre(0U, 1U, 2U, 3U, 4U));
}

}  // namespace
}  // namespace neuroshard
