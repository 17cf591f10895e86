// Many searches in common launches, and what becomes of them when a device fails.
#include "search/search_driver.h"

#include <gmock/gmock.h>

#include "core/placement/fallback_backend.h"
#include "failing_backend.h"
#include "golden.h"

namespace neuroshard {
namespace {

using testing::FailingBackend;
using testing::golden_models;
using testing::golden_task;
using ::testing::HasSubstr;

class SearchDriverTest : public ::testing::Test {
 protected:
  SearchDriverTest() {
    for (int i = 0; i < 6; ++i) tasks_.push_back(golden_task("2gpu_dim64", i));
    tasks_[2].memory_bytes = 1000;  // Cannot fit.
    options_.algorithm = Algorithm::kPublished;
    options_.search.max_splits = 3;  // Levels of two tasks are worth a launch.
  }

  // One task after the other is added while others are under way.
  std::vector<PlanOutcome> run(const Backend& backend, std::size_t together) const {
    const PlanRequest request;
    SearchDriver driver(backend, options_, request, "a warning from before");
    std::vector<PlanOutcome> outcomes(tasks_.size());
    std::size_t next = 0;
    while (next < tasks_.size() || driver.in_flight() > 0) {
      std::vector<SearchDriver::Job> jobs;
      for (; jobs.size() < together && next < tasks_.size(); ++next) {
        jobs.push_back({tasks_[next], outcomes[next]});
      }
      if (!jobs.empty()) driver.add(jobs);
      if (driver.in_flight() > 0) driver.advance();
    }
    return outcomes;
  }

  static void expect_same(const PlanOutcome& actual, const PlanOutcome& expected) {
    ASSERT_EQ(actual.has_value(), expected.has_value());
    if (!expected) {
      EXPECT_STREQ(actual.error().what(), expected.error().what());
      return;
    }
    EXPECT_EQ(actual->plan, expected->plan);
    EXPECT_EQ(actual->cost.cost_ms, expected->cost.cost_ms);
    EXPECT_EQ(actual->infeasible.has_value(), expected->infeasible.has_value());
  }

  std::unique_ptr<Backend> cpu_ = make_cpu_backend(golden_models());
  PlannerOptions options_;
  std::vector<Task> tasks_;
};

TEST_F(SearchDriverTest, SearchesInOneLaunchFindWhatEachFindsAlone) {
  const std::vector<PlanOutcome> alone = run(*cpu_, 1);
  EXPECT_TRUE(alone[2].has_value() && alone[2]->infeasible.has_value());
  for (const std::size_t together : {2U, 6U}) {
    const std::vector<PlanOutcome> outcomes = run(*cpu_, together);
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      SCOPED_TRACE(i);
      expect_same(outcomes[i], alone[i]);
      if (!outcomes[i]) continue;
      EXPECT_EQ(outcomes[i]->stats.placements, alone[i]->stats.placements);
    }
  }
}

TEST_F(SearchDriverTest, GoesOnOnTheCpuWhereverADeviceFails) {
  const std::vector<PlanOutcome> expected = run(*cpu_, 2);
  int works = 0;
  for (bool failed = true; failed; ++works) {
    SCOPED_TRACE(works);
    const FailingBackend device(*cpu_, works);
    const FallbackBackend backend(device, *cpu_, /*may_fall_back=*/true);
    const std::vector<PlanOutcome> outcomes = run(backend, 2);
    failed = false;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      SCOPED_TRACE(i);
      expect_same(outcomes[i], expected[i]);
      if (!outcomes[i]) continue;
      EXPECT_EQ(outcomes[i]->stats.placements, expected[i]->stats.placements);
      if (outcomes[i]->stats.warning == "a warning from before") {
        EXPECT_EQ(outcomes[i]->stats.backend, "failing");
        continue;
      }
      failed = true;
      EXPECT_THAT(outcomes[i]->stats.warning, HasSubstr("the device is gone"));
      EXPECT_EQ(outcomes[i]->stats.backend, cpu_->name());
    }
    ASSERT_LT(works, 1000);
  }
  EXPECT_GT(works, 5);
}

TEST_F(SearchDriverTest, AForcedDeviceFailsTheSearchesThatItHas) {
  const std::vector<PlanOutcome> expected = run(*cpu_, 2);
  for (const int works : {0, 1, 3, 5}) {
    SCOPED_TRACE(works);
    const FailingBackend device(*cpu_, works);
    const std::vector<PlanOutcome> outcomes =
        run(FallbackBackend(device, *cpu_, /*may_fall_back=*/false), 2);
    std::size_t failed = 0;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      SCOPED_TRACE(i);
      if (outcomes[i] || !expected[i]) {
        expect_same(outcomes[i], expected[i]);
        continue;
      }
      ++failed;
      EXPECT_EQ(outcomes[i].error().kind(), ErrorKind::kBackend);
      EXPECT_STREQ(outcomes[i].error().what(), "the device is gone");
    }
    EXPECT_GT(failed, 0U);
  }
}

}  // namespace
}  // namespace neuroshard
