// One planner, many callers at once, with tasks of all kinds. Under ThreadSanitizer in CI.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <latch>
#include <new>
#include <optional>
#include <thread>

#include "neuroshard/error.h"
#include "neuroshard/planner.h"
#include "random_tasks.h"

namespace neuroshard {
namespace {

constexpr std::size_t kCallers = 64;
constexpr std::size_t kRounds = 3;
[[maybe_unused]] constexpr std::size_t kMoreBytes = std::size_t{4} << 20;

// Valid, infeasible and bad tasks, and what one caller of a planner of its own gets for them.
class Stress : public ::testing::Test {
 protected:
  Stress() {
    const Planner alone(models_, {.search = search_, .threads = 1});
    for (std::uint64_t seed = 0; seed < 24; ++seed) {
      tasks_.push_back(testing::random_task(seed));
      expected_.push_back(alone.plan(tasks_.back()));
    }
    invalid_ = unserved_ = tasks_.front();
    invalid_.tables.front().dim = 30;
    unserved_.devices = 3;
  }

  // Makes the request of `caller` in one round; true if it gets what it should.
  [[nodiscard]] bool call(const Planner& planner, std::size_t caller, std::size_t round) const {
    const std::size_t i = (caller + 7 * round) % tasks_.size();
    switch ((caller + round) % 4) {
      case 0:
        try {
          (void)planner.plan(caller % 8 == 0 ? invalid_ : unserved_);
          return false;
        } catch (const Error&) {
          return true;
        }
      case 1: {
        const std::size_t first = std::min(i, tasks_.size() - 3);
        const auto results = planner.plan_batch(std::span(tasks_).subspan(first, 3));
        bool right = true;
        for (std::size_t t = 0; t < 3; ++t) right &= is_expected(results[t].value(), first + t);
        return right;
      }
      case 2:
        return !expected_[i].plan ||
               planner.simulate(tasks_[i], *expected_[i].plan).cost_ms == expected_[i].cost.cost_ms;
      default:
        return is_expected(planner.plan(tasks_[i]), i);
    }
  }

  [[nodiscard]] bool is_expected(const PlanResult& result, std::size_t task) const {
    const PlanResult& expected = expected_[task];
    return result.plan == expected.plan && result.cost.cost_ms == expected.cost.cost_ms &&
           result.infeasible.has_value() == expected.infeasible.has_value();
  }

  // A small search reaches every path; many callers matter more here.
  const SearchOptions search_{.beam_width = 2, .candidates = 4, .max_splits = 3, .grid_steps = 4};
  const CostModels models_ =
      testing::random_models(3, {.devices = {1, 2, 4, 8, 16}});  // None for 3 devices.
  std::vector<Task> tasks_;
  std::vector<PlanResult> expected_;
  Task invalid_;
  Task unserved_;
};

TEST_F(Stress, ManyCallersOfOnePlannerGetWhatOneCallerGets) {
  const auto infeasible = std::count_if(expected_.begin(), expected_.end(),
                                        [](const PlanResult& r) { return r.infeasible; });
  ASSERT_GT(infeasible, 0);
  ASSERT_LT(infeasible, 20);
  const Planner planner(models_, {.search = search_, .threads = 4});
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> callers;
    for (std::size_t caller = 0; caller < kCallers; ++caller) {
      callers.emplace_back([&, caller] {
        for (std::size_t round = 0; round < kRounds; ++round) {
          wrong += call(planner, caller, round) ? 0 : 1;
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
}

// Sanitizers need address space of their own.
#if !NEUROSHARD_SANITIZED

// Lets this process have `more` bytes of address space than it has, or as much as it likes.
bool limit_memory(std::optional<std::size_t> more) {
  std::ifstream statm("/proc/self/statm");
  std::size_t pages = 0;
  rlimit limit{};
  if (!(statm >> pages) || getrlimit(RLIMIT_AS, &limit) != 0) return false;
  limit.rlim_cur =
      more ? pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + *more : limit.rlim_max;
  return setrlimit(RLIMIT_AS, &limit) == 0;
}

using StressDeathTest = Stress;

// Some calls fail for want of memory, and batches get no threads; the others are right, and so is
// every plan once there is memory again.
TEST_F(StressDeathTest, InLittleMemoryCallersFailOrGetWhatOneCallerGets) {
  const auto child = [this] {
    alarm(120);
    std::atomic<int> wrong{0};
    std::atomic<int> out_of_memory{0};
    const Planner planner(models_, {.search = search_, .threads = 4});
    {
      std::latch begin(1);
      std::vector<std::jthread> callers;
      for (std::size_t caller = 0; caller < kCallers; ++caller) {
        callers.emplace_back([&, caller] {
          begin.wait();
          for (std::size_t round = 0; round < kRounds; ++round) {
            try {
              wrong += call(planner, caller, round) ? 0 : 1;
            } catch (const std::bad_alloc&) {
              ++out_of_memory;
            }
          }
        });
      }
      if (!limit_memory(kMoreBytes)) std::_Exit(1);
      begin.count_down();
    }
    if (!limit_memory(std::nullopt)) std::_Exit(2);
    if (out_of_memory == 0) std::_Exit(3);
    if (wrong != 0) std::_Exit(4);
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      if (!is_expected(planner.plan(tasks_[i]), i)) std::_Exit(5);
    }
    std::_Exit(0);
  };
  EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "");
}

#endif

}  // namespace
}  // namespace neuroshard
