// Cuts of all tables at once, of random tasks of everything that a task can say: what rules allow,
// what fits in total, and an end at a stop.
#include "search/starts/way_ladder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>

#include "core/base/random.h"
#include "core/tables/table_groups.h"
#include "plain_table.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/random_rules.h"
#include "search/state/task_state.h"

namespace neuroshard {
namespace {

using testing::drawn_tasks;
using ::testing::IsEmpty;
using testing::plain_table;
using ::testing::SizeIs;

/// Holds all that the ladder of a task is made of.
class Climber : private testing::TaskState {
 public:
  using TaskState::ways;

  explicit Climber(const Task& task, const WayOptions& options = {})
      : TaskState(with_rules_of_groups(task), options) {}

  [[nodiscard]] std::vector<WayLadder::Cuts> best(std::size_t most,
                                                  const StopCondition& stop = {}) {
    std::vector<WayLadder::Cuts> cuts;
    for (const WayLadder::Rung& rung : WayLadder(state, prices, stop).best(most, stop)) {
      cuts.push_back(rung.cuts);
    }
    return cuts;
  }
  [[nodiscard]] WayLadder ladder() { return {state, prices, {}}; }
  [[nodiscard]] const std::vector<int>& tables() const { return state.tables(); }
  [[nodiscard]] const Task& task() const { return canonical.task; }
  /// On all devices together.
  [[nodiscard]] std::int64_t bytes_of(const WayLadder::Cuts& cuts) {
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < cuts.size(); ++i) {
      if (cuts[i].way != Way::kReplica) continue;
      bytes += catalog.replica_load(tables()[i]).bytes * task().devices;
    }
    for_each_shard_bytes(cuts, [&](std::int64_t of_shard) { bytes += of_shard; });
    return bytes;
  }
  [[nodiscard]] std::int64_t largest_shard_bytes(const WayLadder::Cuts& cuts) {
    std::int64_t largest = 0;
    for_each_shard_bytes(cuts,
                         [&](std::int64_t of_shard) { largest = std::max(largest, of_shard); });
    return largest;
  }

 private:
  template <typename Visit>
  void for_each_shard_bytes(const WayLadder::Cuts& cuts, const Visit& visit) {
    for (std::size_t i = 0; i < cuts.size(); ++i) {
      const auto& [way, slices] = cuts[i];
      if (way == Way::kReplica) continue;
      for (const int width : ways.widths(tables()[i], way, slices)) {
        state.for_each_shard({tables()[i], width, way, 0},
                             [&](int, int shard) { visit(catalog.load(shard).bytes); });
      }
    }
  }
};

Task task_of(std::uint64_t seed) {
  Task task = testing::random_task_of_all_kinds(seed);
  Random random(seed, 91);
  testing::add_some_rules(task, seed, random);
  return task;
}

TEST(WayLadder, CutsEveryTableAsRulesAllow) {
  std::set<Way> seen;
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(150))) {
    const Task task = task_of(seed);
    if (task.devices < 2) continue;
    Climber climber(task, {.equal_widths = seed % 5 == 0, .halves = seed % 5 == 1});
    const std::vector<WayLadder::Cuts> rungs = climber.best(8);
    EXPECT_LE(rungs.size(), 8U);
    EXPECT_EQ(rungs.empty(), climber.tables().empty());
    for (const WayLadder::Cuts& cuts : rungs) {
      ASSERT_EQ(cuts.size(), climber.tables().size());
      for (std::size_t i = 0; i < cuts.size(); ++i) {
        const int table = climber.tables()[i];
        const auto& [way, slices] = cuts[i];
        EXPECT_TRUE(climber.ways.of(table).may_be(way)) << table;
        seen.insert(way);
        if (climber.ways.is_everywhere(way)) {
          EXPECT_EQ(slices, 1);
          continue;
        }
        EXPECT_LE(slices, climber.ways.of(table).most_slices(way));
        int columns = 0;
        for (const int width : climber.ways.widths(table, way, slices)) {
          columns += width;
          EXPECT_TRUE(climber.ways.may_be_wide(table, width)) << table << " " << width;
        }
        EXPECT_EQ(columns, climber.task().tables[static_cast<std::size_t>(table)].dim);
      }
    }
  }
  if (testing::kFewTasks) return;  // Too few tasks.
  EXPECT_THAT(seen, SizeIs(9));    // All but blocks on eight devices of larger nodes.
}

TEST(WayLadder, BestsAreDifferentAndFewerAreTheFirstOfMore) {
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(40))) {
    const Task task = task_of(seed);
    if (task.devices < 2) continue;
    Climber climber(task);
    const std::vector<WayLadder::Cuts> many = climber.best(100);
    for (std::size_t i = 0; i < many.size(); ++i) {
      EXPECT_EQ(std::ranges::count(many, many[i]), 1);
    }
    std::vector<WayLadder::Cuts> few = climber.best(3);
    EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
  }
}

TEST(WayLadder, OtherCutsAreThoseThatRulesAllowOnceEach) {
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(60))) {
    const Task task = task_of(seed);
    if (task.devices < 2) continue;
    Climber climber(task);
    const WayLadder ladder = climber.ladder();
    for (const WayLadder::Rung& rung : ladder.best(3, {})) {
      const std::vector<WayLadder::OtherCut> others = ladder.other_cuts(rung, 0.3, 1000);
      for (std::size_t i = 0; i < others.size(); ++i) {
        const auto& [tables, cut] = others[i];
        ASSERT_FALSE(tables.empty());
        for (const std::size_t index : tables) {
          const int table = climber.tables()[index];
          const TableCut& now = rung.cuts[index];
          EXPECT_TRUE(climber.ways.of(table).may_be(cut.way)) << table;
          EXPECT_NE(cut, now);
          EXPECT_TRUE(cut.way != now.way || cut.slices == 2 * now.slices ||
                      now.slices == 2 * cut.slices);
          for (std::size_t k = 0; k < i && cut.way != now.way; ++k) {
            EXPECT_FALSE(std::ranges::count(others[k].tables, index) > 0 &&
                         others[k].cut.way == cut.way)
                << table;
          }
        }
      }
      // Fewer are the first of more.
      const std::vector<WayLadder::OtherCut> few = ladder.other_cuts(rung, 0.3, 3);
      ASSERT_EQ(few.size(), std::min<std::size_t>(3, others.size()));
      for (std::size_t i = 0; i < few.size(); ++i) EXPECT_EQ(few[i].cut, others[i].cut);
    }
  }
}

// The task has one table that takes nearly all, and others that take hardly anything.
TEST(WayLadder, OtherCutsOfHeavyTablesComeFirst) {
  Task task{.devices = 8, .memory_bytes = std::int64_t{1} << 36};
  for (int i = 0; i < 10; ++i) task.tables.push_back(plain_table(1000 + i, 8, 1.0));
  task.tables.push_back(plain_table(1'000'000, 128, 200.0));
  Climber climber(task);
  const WayLadder ladder = climber.ladder();
  const WayLadder::Rung rung = ladder.best(1, {}).front();
  const std::vector<WayLadder::OtherCut> others = ladder.other_cuts(rung, 3.0, 2);
  ASSERT_EQ(others.size(), 2U);
  for (const WayLadder::OtherCut& other : others) {
    const int table = climber.tables()[other.tables.front()];
    EXPECT_EQ(climber.task().tables[static_cast<std::size_t>(table)].dim, 128);
  }
}

TEST(WayLadder, OtherCutsAreOfAllTablesThatAreAlike) {
  Task task{.devices = 4, .memory_bytes = std::int64_t{1} << 36};
  for (int i = 0; i < 9; ++i) {
    task.tables.push_back(plain_table(i % 3 == 0 ? 50'000 : 70'000, 64, 3.0));
  }
  task.tables[3].rules.no_split = true;
  Climber climber(task);
  const WayLadder ladder = climber.ladder();
  for (const WayLadder::Rung& rung : ladder.best(5, {})) {
    for (const auto& [tables, cut] : ladder.other_cuts(rung, 0.3, 1000)) {
      const auto table = [&](std::size_t index) -> const Table& {
        return climber.task().tables[static_cast<std::size_t>(climber.tables()[index])];
      };
      for (std::size_t t = 0; t < climber.tables().size(); ++t) {
        const Table& first = table(tables.front());
        const Table& other = table(t);
        const bool alike = first.rows == other.rows &&
                           first.rules.no_split == other.rules.no_split &&
                           rung.cuts[t] == rung.cuts[tables.front()];
        EXPECT_EQ(std::ranges::count(tables, t), alike ? 1 : 0) << t;
      }
    }
  }
}

TEST(WayLadder, NearCutsAreThoseThatRulesAllowOfEachTableOnce) {
  std::size_t found = 0;
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(60))) {
    const Task task = task_of(seed);
    if (task.devices < 2) continue;
    Climber climber(task);
    const WayLadder ladder = climber.ladder();
    for (const WayLadder::Rung& rung : ladder.best(3, {})) {
      std::set<std::size_t> seen;
      for (const auto& [tables, cuts] : ladder.near_cuts(rung)) {
        ++found;
        EXPECT_GE(cuts.size(), 2U);
        for (const std::size_t index : tables) {
          EXPECT_TRUE(seen.insert(index).second) << index;
          EXPECT_EQ(rung.cuts[index], rung.cuts[tables.front()]);
          for (const TableCut& cut : cuts) {
            EXPECT_TRUE(climber.ways.of(climber.tables()[index]).may_be(cut.way));
            EXPECT_EQ(std::ranges::count(cuts, cut), 1);
          }
        }
      }
    }
  }
  EXPECT_GT(found, 0U);
}

/// Small tables that are cheapest as replicas, beside large ones that fill the devices.
Task tight_task(std::int64_t memory_bytes) {
  Task task{.devices = 8, .memory_bytes = memory_bytes};
  for (int i = 0; i < 6; ++i) {
    task.tables.push_back(plain_table(1'000'000 + i, 64, 2.0));
    task.tables.push_back(plain_table(5'000 + i, 128, 40.0));
  }
  return task;
}

TEST(WayLadder, FitsInTotal) {
  const auto replicas = [](const WayLadder::Cuts& cuts) {
    return std::ranges::count(cuts, Way::kReplica, &TableCut::way);
  };
  Climber ample(tight_task(std::int64_t{1} << 34));
  const std::vector<WayLadder::Cuts> with_room = ample.best(1);
  ASSERT_EQ(with_room.size(), 1U);
  EXPECT_GT(replicas(with_room.front()), 0);
  const Task one = tight_task(1);
  const std::int64_t memory_bytes = total_bytes(one) / one.devices + 1'000'000;
  ASSERT_GT(ample.bytes_of(with_room.front()), one.devices * memory_bytes);
  Climber tight(tight_task(memory_bytes));
  const std::vector<WayLadder::Cuts> rungs = tight.best(8);
  ASSERT_FALSE(rungs.empty());
  EXPECT_LE(tight.bytes_of(rungs.front()), one.devices * memory_bytes);
  EXPECT_LT(replicas(rungs.front()), replicas(with_room.front()));
}

TEST(WayLadder, SmallShardsAreThoseOfTightMemory) {
  const auto largest_share = [](Climber& climber, const WayLadder::Cuts& cuts) {
    return static_cast<double>(climber.largest_shard_bytes(cuts)) /
           static_cast<double>(climber.task().memory_bytes);
  };
  const std::int64_t bytes = total_bytes(tight_task(1));
  Climber ample(tight_task(std::int64_t{1} << 34));
  EXPECT_THAT(ample.ladder().in_small_shards(ample.ladder().best(4, {}), {}), IsEmpty());
  Climber tight(tight_task(bytes / 8 + 1'000'000));
  const WayLadder ladder = tight.ladder();
  const std::vector<WayLadder::Rung> rungs = ladder.best(4, {});
  const std::vector<WayLadder::Rung> small = ladder.in_small_shards(rungs, {});
  ASSERT_FALSE(small.empty());
  EXPECT_GT(largest_share(tight, rungs.front().cuts), 0.5);
  double least = 1.0;
  for (const WayLadder::Rung& rung : small) {
    EXPECT_LE(tight.bytes_of(rung.cuts), 8 * tight.task().memory_bytes);
    EXPECT_LE(largest_share(tight, rung.cuts), 0.5);
    least = std::min(least, largest_share(tight, rung.cuts));
    for (const WayLadder::Rung& known : rungs) EXPECT_NE(rung.cuts, known.cuts);
  }
  EXPECT_LE(least, 0.2);
  EXPECT_THAT(ladder.in_small_shards(rungs, StopCondition([] { return true; })), IsEmpty());
}

TEST(WayLadder, NarrowShardsHaveFewColumns) {
  Task task{.devices = 2, .memory_bytes = std::int64_t{1} << 36};
  task.tables = {plain_table(2'000'000, 32, 200.0), plain_table(6'000'000, 512, 0.1)};
  Climber climber(task);
  const WayLadder ladder = climber.ladder();
  const std::vector<WayLadder::Rung> rungs = ladder.best(4, {});
  const std::vector<WayLadder::Rung> narrow = ladder.in_narrow_shards(rungs, {});
  ASSERT_FALSE(narrow.empty());
  int least = 512;
  for (const WayLadder::Rung& rung : narrow) {
    ASSERT_NE(rung.cuts[1].way, Way::kReplica);
    const std::vector<int> widths =
        climber.ways.widths(climber.tables()[1], rung.cuts[1].way, rung.cuts[1].slices);
    EXPECT_LE(std::ranges::max(widths), 128);
    least = std::min(least, std::ranges::max(widths));
    for (const WayLadder::Rung& known : rungs) EXPECT_NE(rung.cuts, known.cuts);
  }
  EXPECT_EQ(least, 32);  // The narrowest of 16 slices.
  EXPECT_THAT(ladder.in_narrow_shards(rungs, StopCondition([] { return true; })), IsEmpty());
}

TEST(WayLadder, IsTheSameForAnyOrderOfTheTables) {
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(40))) {
    Task task = testing::random_task_of_all_kinds(seed);
    if (task.devices < 2) continue;
    task.tables.push_back(task.tables.front());
    const std::vector<WayLadder::Cuts> listed = Climber(task).best(8);
    std::ranges::reverse(task.tables);
    EXPECT_EQ(Climber(task).best(8), listed);
  }
}

TEST(WayLadder, EndsAtAStop) {
  Climber climber(tight_task(std::int64_t{1} << 34));
  const StopCondition at_once([] { return true; });
  EXPECT_THAT(climber.best(8, at_once), IsEmpty());
  int asked = 0;
  const StopCondition never([&] {
    ++asked;
    return false;
  });
  const std::size_t all = climber.best(1000, never).size();
  const int asked_in_all = asked;
  asked = 0;
  int asked_after = 0;
  const StopCondition halfway([&] {
    asked_after += asked > asked_in_all / 2 ? 1 : 0;
    return asked++ >= asked_in_all / 2;
  });
  EXPECT_LT(climber.best(1000, halfway).size(), all);
  EXPECT_LT(asked_after, 40);
}

}  // namespace
}  // namespace neuroshard
