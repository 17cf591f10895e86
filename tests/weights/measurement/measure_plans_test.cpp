#include "weights/measurement/measure_plans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>

#include "weights/collection/ranks/local_group.h"
#include "weights/measurement/memory_check.h"
#include "weights/measurement/training_case.h"

namespace neuroshard::ranks {
namespace {

using ::testing::HasSubstr;

std::vector<MeasuredPlan> measure_locally(int ranks, const std::vector<PlanRun>& runs,
                                          const PlanMeasurement& measurement) {
  std::vector<MeasuredPlan> measured;
  run_local_ranks(ranks, [&](RankGroup& group) {
    const auto exchange = make_host_exchange(group);
    auto mine = measure_plans(group, *exchange, runs, measurement);
    EXPECT_EQ(mine.size(), group.rank() == 0 ? runs.size() : 0U);
    if (group.rank() == 0) measured = std::move(mine);
  });
  return measured;
}

PlanMeasurement few_runs() {
  PlanMeasurement measurement;
  measurement.protocol = {.warm_up = 1, .iterations = 3};
  measurement.threads = 1;
  measurement.flush_caches = false;
  return measurement;
}

TEST(SpreadOf, IsMedianAndQuartiles) {
  const Spread odd = spread_of({5.0, 1.0, 2.0, 4.0, 3.0});
  EXPECT_EQ(odd.median_ms, 3.0);
  EXPECT_EQ(odd.low_ms, 2.0);
  EXPECT_EQ(odd.high_ms, 4.0);
  const Spread even = spread_of({1.0, 2.0});
  EXPECT_EQ(even.median_ms, 1.5);
  EXPECT_EQ(even.low_ms, 1.25);
  EXPECT_EQ(even.high_ms, 1.75);
  EXPECT_EQ(spread_of({7.0}).high_ms, 7.0);
}

TEST(MeasurePlans, MeasuresEveryPlanInEveryRound) {
  TrainingCase first(4, random_plan(4, 1));
  TrainingCase second(4, random_plan(4, 2));
  PlanMeasurement measurement = few_runs();
  measurement.rounds = 2;
  int measured_so_far = 0;
  measurement.on_measured = [&] { ++measured_so_far; };
  const auto measured = measure_locally(4,
                                        {{first.task, first.plan, first.streams, 1e-3F},
                                         {second.task, second.plan, second.streams, 1e-3F}},
                                        measurement);
  EXPECT_EQ(measured_so_far, 4);
  ASSERT_EQ(measured.size(), 2U);
  for (const MeasuredPlan& plan : measured) {
    EXPECT_FALSE(plan.lack);
    ASSERT_EQ(plan.devices.size(), 4U);
    double slowest = 0.0;
    for (const MeasuredDevice& device : plan.devices) {
      EXPECT_LE(device.total.low_ms, device.total.median_ms);
      EXPECT_LE(device.total.median_ms, device.total.high_ms);
      slowest = std::max(slowest, device.total.low_ms);
    }
    // In each iteration the slowest is no faster than any.
    EXPECT_GE(plan.cost.low_ms, slowest);
  }
}

TEST(MeasurePlans, LackOfMemoryIsAResultWithADevice) {
  Task large = TrainingCase::small_task(2);
  large.tables.resize(2);
  large.tables[1].rows = std::int64_t{1} << 31;
  large.tables[1].dim = 1 << 12;  // 32 TiB.
  StreamStore streams(large.tables, TrainingCase::kBatch, 0, std::size_t{1} << 20);
  const Plan plan{whole_tables(large), {{0}, {1}}};
  TrainingCase small(2, random_plan(2, 5));
  const auto measured = measure_locally(
      2, {{large, plan, streams, 1e-3F}, {small.task, small.plan, small.streams, 1e-3F}},
      few_runs());
  ASSERT_TRUE(measured[0].lack);
  EXPECT_EQ(measured[0].lack->device, 1);
  EXPECT_THAT(measured[0].lack->message, HasSubstr("device 1 needs 32.0 TiB"));
  EXPECT_FALSE(measured[1].lack);  // The others are measured all the same.
}

TEST(MemoryCheck, CountsTheWeightsOfADeviceAndDenseGradientsOfReplicas) {
  const Task task = TrainingCase::small_task(2);
  const Plan plan{{{0, 0, 32, 0, 100}, {0, 0, 32, 100, 200}}, {{0}, {1}}, {1, 2, 3, 4, 5}};
  std::int64_t replicas = 0;
  for (std::size_t t = 1; t < task.tables.size(); ++t) {
    const bool dense = task.tables[t].replica_gradients == ReplicaGradients::kDense;
    replicas += (dense ? 2 : 1) * task.tables[t].rows * task.tables[t].dim;
  }
  EXPECT_EQ(weights_needed(task, plan, 0), 32 * 100 + replicas);
  EXPECT_EQ(weights_needed(task, plan, 1), 32 * 200 + replicas);
  StreamStore streams(task.tables, TrainingCase::kBatch, 0, 0);
  EXPECT_GT(bytes_needed({task, plan, streams}, 2, 1), 4 * weights_needed(task, plan, 1));
}

TEST(MemoryCheck, CountsWhatAddsUpGradientsOfReplicas) {
  // Of one table, on two devices: with the batch of the test, a rank has 35 samples.
  Task task = TrainingCase::small_task(2);
  task.tables.resize(1);
  const Plan plan{{}, {{}, {}}, {0}};
  StreamStore streams(task.tables, TrainingCase::kBatch, 0, 0);
  const auto needed = [&](ReplicaGradients gradients) {
    task.tables[0].replica_gradients = gradients;
    return bytes_needed({task, plan, streams}, 2, 0);
  };
  const std::int64_t floats = task.tables[0].rows * task.tables[0].dim;
  const std::int64_t sums = 4 * floats;
  // Lookups of a rank, no more rows than those; as many of each rank.
  const std::int64_t lookups = 3 * 35;
  const std::int64_t touched = 3 * lookups * (8 + 4 * task.tables[0].dim) + 2 * 8 * lookups;
  EXPECT_EQ(needed(ReplicaGradients::kDense) - needed(ReplicaGradients::kTouched),
            4 * floats + sums - touched);
}

TEST(MemoryCheck, CountsTheLookupsThatAProcessKeeps) {
  const Task task = TrainingCase::small_task(2);
  const Plan plan{whole_tables(task), {{0, 1, 2}, {3, 4, 5}}};
  StreamStore all(task.tables, TrainingCase::kBatch, 0, std::size_t{1} << 20);
  const PlanRun run{task, plan, all};
  const std::int64_t before = stream_bytes_needed(run);
  for (std::size_t t = 0; t < task.tables.size(); ++t) (void)all.stream(t);
  EXPECT_EQ(before, static_cast<std::int64_t>(all.bytes()));
  EXPECT_EQ(stream_bytes_needed(run), 0);  // They are there.

  // One at a time, and the largest; replicas hold theirs.
  StreamStore none(task.tables, TrainingCase::kBatch, 0, 0);
  const std::int64_t largest = 8 * (6 * 70 + 70 + 1);
  EXPECT_EQ(stream_bytes_needed({task, plan, none}), largest);
  const Plan replicas{{}, {{}, {}}, {0, 1, 2, 3, 4, 5}};
  EXPECT_EQ(stream_bytes_needed({task, replicas, none}), before + largest);
}

// Rank 0 of two on a machine that has `available` bytes.
class MachineOfTwo : public RankGroup {
 public:
  MachineOfTwo(double available, bool in_one_process) : available_(available) {
    size_ = 2;
    machines_ = {0, 0};
    in_one_process_ = in_one_process;
  }
  void broadcast(std::span<std::byte>) const override {}
  std::vector<double> gather(double) const override { return {available_, available_}; }
  bool any(bool value) const override { return value; }
  void all_to_all(const void*, const PeerParts&, void*, const PeerParts&,
                  std::size_t) const override {}
  void add_up(std::span<float>) const override {}
  Clock::time_point common_start(std::chrono::nanoseconds) const override { return Clock::now(); }

 private:
  double available_;
};

TEST(MemoryCheck, EachProcessKeepsLookupsOfItsOwn) {
  const Task task = TrainingCase::small_task(2);
  const Plan plan{whole_tables(task), {{0, 1, 2}, {3, 4, 5}}};
  StreamStore streams(task.tables, TrainingCase::kBatch, 0, std::size_t{1} << 20);
  const PlanRun run{task, plan, streams};
  const std::int64_t devices = bytes_needed(run, 2, 0) + bytes_needed(run, 2, 1);
  const auto lacking = [&](std::int64_t available, bool in_one_process) {
    const MachineOfTwo group(static_cast<double>(available), in_one_process);
    const std::optional<LackOfMemory> lack = lack_of_memory(group, run);
    return lack ? lack->device : -1;
  };
  const std::int64_t lookups = stream_bytes_needed(run);
  ASSERT_GT(lookups, 0);
  EXPECT_EQ(lacking(devices + lookups, true), -1);
  EXPECT_EQ(lacking(devices + lookups - 1, true), 1);
  EXPECT_EQ(lacking(devices + 2 * lookups, false), -1);
  EXPECT_EQ(lacking(devices + 2 * lookups - 1, false), 1);
}

// Of the calling thread.
int allowed_cpus() {
  cpu_set_t set;
  EXPECT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
  return CPU_COUNT(&set);
}

TEST(ThreadsOfRank, AreThoseWantedOrItsPartOfTheCpus) {
  const int cpus = allowed_cpus();
  for (const int ranks : {1, 2, 3, cpus, cpus + 1}) {
    std::atomic<int> threads{0};
    run_local_ranks(ranks, [&](RankGroup& group) {
      EXPECT_EQ(threads_of_rank(group, 3), 3);
      const int own = threads_of_rank(group, 0);
      EXPECT_GE(own, 1);
      EXPECT_LE(own, allowed_cpus());
      if (ranks <= cpus) {
        EXPECT_EQ(own, allowed_cpus());  // Each is on CPUs of its own.
      }
      threads += own;
    });
    if (ranks <= cpus) {
      EXPECT_LE(threads, cpus) << ranks << " ranks";
    } else {
      EXPECT_EQ(threads, ranks);
    }
  }
}

// As in a container that may use a part of the machine.
TEST(ThreadsOfRank, AreOfTheCpusThatTheProcessMayUse) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  for (const int ranks : {1, 2}) {
    run_local_ranks(ranks, [](RankGroup& group) { EXPECT_EQ(threads_of_rank(group, 0), 1); });
  }
  EXPECT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
}

}  // namespace
}  // namespace neuroshard::ranks
