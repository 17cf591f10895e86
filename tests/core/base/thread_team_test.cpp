#include "core/base/thread_team.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "few_threads.h"

namespace neuroshard {
namespace {

using ::testing::HasSubstr;

// A system that has `left` threads left.
ThreadTeam::StartThread start_at_most(int left) {
  return [left](std::function<void()> serve) mutable {
    if (left-- == 0) throw std::system_error(EAGAIN, std::generic_category(), "no more threads");
    return std::thread(std::move(serve));
  };
}

// How often each of `jobs` ran in one round.
std::vector<int> runs_of(ThreadTeam& team, std::size_t jobs) {
  std::vector<int> runs(jobs, 0);
  team.run(jobs, [&](std::size_t job, std::size_t) { ++runs[job]; });
  return runs;
}

TEST(ThreadTeam, RunsEveryJobOnceInEveryRound) {
  for (const int threads : {1, 2, 3, 7}) {
    SCOPED_TRACE(threads);
    ThreadTeam team(threads);
    ASSERT_EQ(team.threads(), static_cast<std::size_t>(threads));
    EXPECT_EQ(team.shortage(), "");
    for (std::size_t jobs = 0; jobs < 300; ++jobs) {
      std::vector<int> runs(jobs, 0);
      std::vector<std::size_t> by(jobs, 0);
      team.run(jobs, [&](std::size_t job, std::size_t thread) {
        ++runs[job];
        by[job] = thread;
      });
      ASSERT_EQ(runs, std::vector<int>(jobs, 1));
      for (const std::size_t thread : by) ASSERT_LT(thread, team.threads());
    }
  }
}

TEST(ThreadTeam, RunsMoreJobsThanFit16Bits) {
  ThreadTeam team(3);
  EXPECT_EQ(runs_of(team, 200'000), std::vector<int>(200'000, 1));
}

TEST(ThreadTeam, EveryThreadTakesItsJobsInAscendingOrder) {
  ThreadTeam team(3);
  std::vector<std::vector<std::size_t>> taken(team.threads());
  team.run(1000, [&](std::size_t job, std::size_t thread) { taken[thread].push_back(job); });
  for (const auto& jobs : taken) EXPECT_TRUE(std::ranges::is_sorted(jobs));
}

TEST(ThreadTeam, ThrowsWhatAJobThrewAndWorksOn) {
  for (const int threads : {1, 2, 5}) {
    SCOPED_TRACE(threads);
    ThreadTeam team(threads);
    for (int round = 0; round < 100; ++round) {
      EXPECT_THROW(team.run(20,
                            [&](std::size_t job, std::size_t) {
                              if (job == 7) throw std::out_of_range("job 7");
                            }),
                   std::out_of_range);
      ASSERT_EQ(runs_of(team, 20), std::vector<int>(20, 1));
    }
  }
}

TEST(ThreadTeam, OfSeveralFailuresThrowsTheOneOfTheFirstJob) {
  ThreadTeam team(2);
  // Both jobs have begun before either throws.
  std::atomic<int> begun{0};
  const auto job = [&](std::size_t number, std::size_t) {
    ++begun;
    while (begun < 2) std::this_thread::yield();
    throw std::runtime_error(std::to_string(number));
  };
  try {
    team.run(2, job);
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "0");
  }
}

TEST(ThreadTeam, DropsJobsAfterAFailure) {
  ThreadTeam team(2);
  std::atomic<int> begun{0};
  EXPECT_THROW(team.run(100'000,
                        [&](std::size_t, std::size_t) {
                          ++begun;
                          throw std::bad_alloc();
                        }),
               std::bad_alloc);
  EXPECT_LE(begun, 2);
}

TEST(ThreadTeam, LeasesToOneCallerAtATime) {
  ThreadTeam team(2);
  auto lease = team.try_lease();
  ASSERT_TRUE(lease);
  EXPECT_FALSE(team.try_lease());
  lease->run(4, [&](std::size_t, std::size_t) { EXPECT_FALSE(team.try_lease()); });
  auto moved = std::move(lease);
  lease.reset();
  EXPECT_FALSE(team.try_lease());
  moved.reset();
  EXPECT_TRUE(team.try_lease());
}

TEST(ThreadTeam, AJobThatAsksTheTeamRunsItsJobsItself) {
  ThreadTeam team(3);
  std::vector<std::vector<int>> runs(10);
  team.run(runs.size(), [&](std::size_t job, std::size_t) { runs[job] = runs_of(team, 5); });
  for (const auto& inner : runs) EXPECT_EQ(inner, std::vector<int>(5, 1));
}

TEST(ThreadTeam, TwoCallersAtOnceBothGetTheirWorkDone) {
  ThreadTeam team(2);
  std::jthread other([&] {
    for (int i = 0; i < 500; ++i) ASSERT_EQ(runs_of(team, 9), std::vector<int>(9, 1));
  });
  for (int i = 0; i < 500; ++i) ASSERT_EQ(runs_of(team, 9), std::vector<int>(9, 1));
}

// Threads that are about to wait, or wake late from the round before, must hear of the end.
TEST(ThreadTeam, EndsWhileThreadsAreStartingOrARoundHasJustBegun) {
  for (int i = 0; i < 300; ++i) {
    ThreadTeam team(4);
    if (i % 3 == 1) (void)runs_of(team, 2);
    if (i % 3 == 2) (void)runs_of(team, 8);
  }
}

TEST(ThreadTeam, IsSmallerWhereTheSystemHasFewerThreads) {
  for (const int left : {0, 1, 3}) {
    SCOPED_TRACE(left);
    ThreadTeam team(8, start_at_most(left));
    EXPECT_EQ(team.threads(), static_cast<std::size_t>(left) + 1);
    EXPECT_THAT(team.shortage(), HasSubstr(std::to_string(left + 1) + " of 8 threads"));
    for (int round = 0; round < 20; ++round) {
      ASSERT_EQ(runs_of(team, 50), std::vector<int>(50, 1));
    }
  }
}

TEST(ThreadTeam, IsSmallerWhereThereIsNoMemoryForAThread) {
  ThreadTeam team(3, [](std::function<void()>) -> std::thread { throw std::bad_alloc(); });
  EXPECT_EQ(team.threads(), 1U);
  EXPECT_EQ(runs_of(team, 5), std::vector<int>(5, 1));
}

// Runs `body` in a child of fork(), which has a minute, and expects that it ends well.
template <typename Body>
void expect_success_in_child(Body body) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "wait status " << status;
}

// Sanitizers keep books of threads and memory that a child, or a limit of memory, breaks.
#if !NEUROSHARD_SANITIZED
TEST(ThreadTeam, InAChildOfForkTheCallerDoesAllTheWork) {
  auto team = std::make_unique<ThreadTeam>(3);
  ASSERT_EQ(runs_of(*team, 50), std::vector<int>(50, 1));
  expect_success_in_child([&] {
    const bool worked = runs_of(*team, 50) == std::vector<int>(50, 1) && team->threads() == 1 &&
                        team->shortage().find("fork") != std::string::npos;
    team.reset();
    return worked;
  });
}

TEST(ThreadTeam, WorksWhereMemoryForStacksEnds) {
  expect_success_in_child([] {
    if (!testing::leave_room_for_two_threads()) return false;
    ThreadTeam team(64);
    return team.threads() == 3 && !team.shortage().empty() &&
           runs_of(team, 500) == std::vector<int>(500, 1);
  });
}
#endif

}  // namespace
}  // namespace neuroshard
