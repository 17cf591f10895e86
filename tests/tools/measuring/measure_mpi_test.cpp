// `measure --exchange mpi` really run, with 4 ranks on this machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "tools/measuring/measured_task.h"
#include "tools/over_mpi.h"

namespace neuroshard::tools {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class MeasureOverMpi : public OverMpi {
 protected:
  pid_t start(int ranks, const std::vector<std::string>& more) {
    std::vector<std::string> args = quickly({"measure", "--exchange", "mpi", "--task", task_});
    args.insert(args.end(), more.begin(), more.end());
    return start_program(ranks, args);
  }

  std::string task_ = folder_.write("task.json", std::string(kMeasuredTask));
  std::string plan_ = folder_.write("plan.jsonl", in_one_line(kMeasuredPlan));
};

TEST_F(MeasureOverMpi, MeasuresEveryDevice) {
  const std::string file = folder_ / "measured.json";
  const Outcome outcome = finish(start(4, {"--plan", plan_, "--json", file}));
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("4 ranks of 1 thread on 1 machine"));
  const json document = json::parse(contents_of(file));
  const json& devices = document["plans"][0]["devices"];
  ASSERT_EQ(devices.size(), 4U);
  for (const json& device : devices) {
    for (const char* term :
         {"total_ms", "compute_ms", "forward_ms", "backward_ms", "ids_ms", "all_reduce_ms"}) {
      EXPECT_GT(device["measured"][term]["median"], 0.0) << term;
    }
  }
}

TEST_F(MeasureOverMpi, AKilledRankEndsTheOthers) {
  const pid_t mpirun = start(4, {"--plan", plan_, "--rounds", "1000000"});
  std::vector<pid_t> ranks;
  while (ranks.size() < 4 && ::waitpid(mpirun, nullptr, WNOHANG) == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ranks = children_of(mpirun);
  }
  ASSERT_EQ(ranks.size(), 4U) << contents_of(folder_ / "err");
  std::this_thread::sleep_for(std::chrono::milliseconds(500));  // Amid the iterations, mostly.
  ASSERT_EQ(::kill(ranks[2], SIGKILL), 0);
  // Ranks that went on would do so for days; a busy machine may take its time to end them.
  int status = 0;
  ASSERT_TRUE(ends_by_itself(mpirun, status));
  EXPECT_FALSE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(contents_of(folder_ / "out"), "");
}

TEST_F(MeasureOverMpi, AHungRankEndsTheRunAndIsNamed) {
  const std::string nobody_writes = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(nobody_writes.c_str(), 0600), 0);
  const auto ranks = [&](int count, const std::string& plan) {
    return Ranks{count, command_of(quickly({"measure", "--exchange", "mpi", "--task", task_,
                                            "--plan", plan, "--rank-timeout-s", "10"}))};
  };
  for (const int hung : {0, 2}) {
    SCOPED_TRACE(hung);
    std::vector<Ranks> all = {ranks(1, nobody_writes), ranks(3 - hung, plan_)};
    if (hung > 0) all.insert(all.begin(), ranks(hung, plan_));
    const pid_t mpirun = start_ranks(all);
    int status = 0;
    ASSERT_TRUE(ends_by_itself(mpirun, status)) << contents_of(folder_ / "err");
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == kExitBadInput) << status;
    const std::string error = contents_of(folder_ / "err");
    const std::string named = "have waited 10 s for rank " + std::to_string(hung) + " on ";
    const std::size_t first = error.find(named);
    ASSERT_NE(first, std::string::npos) << error;
    EXPECT_EQ(error.find(named, first + 1), std::string::npos) << error;  // One speaks.
    EXPECT_THAT(error, HasSubstr(", without an answer: it hangs, or needs more time: "
                                 "--rank-timeout-s 20"));
    EXPECT_EQ(contents_of(folder_ / "out"), "");
  }
}

TEST_F(MeasureOverMpi, ARankThatDoesNotComeToStartMpiEndsTheRun) {
  const std::vector<std::string> program = command_of(quickly(
      {"measure", "--exchange", "mpi", "--task", task_, "--plan", plan_, "--rank-timeout-s", "2"}));
  const pid_t mpirun = start_ranks({{1, program}, {1, {"/bin/sh", "-c", "kill -STOP $$"}}});
  int status = 0;
  ASSERT_TRUE(ends_by_itself(mpirun, status)) << contents_of(folder_ / "err");
  EXPECT_FALSE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_THAT(contents_of(folder_ / "err"),
              HasSubstr("the ranks have waited 2 s for all of them to start MPI: one hangs"));
}

TEST_F(MeasureOverMpi, BadInputEndsAllRanksWithOneMessage) {
  const auto expect_error = [&](int ranks, const std::vector<std::string>& args,
                                const std::string& reason) {
    const Outcome outcome = finish(start(ranks, args));
    EXPECT_NE(outcome.code, kExitOk);
    const std::size_t first = outcome.err.find(reason);
    ASSERT_NE(first, std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find(reason, first + 1), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.out, "");
  };
  expect_error(3, {"--plan", plan_}, "is for 4 devices, but 3 ranks were started");
  expect_error(2, {"--plan", folder_ / "missing.json"}, "missing.json");
  // What only rank 0 finds out.
  expect_error(4, {"--plan", plan_, "--json", folder_ / "no/such/folder.json"}, "no/such");
}

// Ranks that went on would wait for each other, or take what others sent for something else.
TEST_F(MeasureOverMpi, OtherInputsOfOneRankEndAll) {
  const auto replaced = [](std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  struct Difference {
    std::string named;
    std::vector<std::string> options{};  // Of rank 3.
    std::string task{};
    std::string plan{};
  };
  const std::string task = std::string(kMeasuredTask);
  const std::string plan = in_one_line(kMeasuredPlan);
  const std::vector<Difference> differences = {
      {.named = "the plans",
       .plan = replaced(plan, "[[0, 2, 5], [3, 6], [1, 7]", "[[3, 6], [0, 2, 5], [1, 7]")},
      {.named = "the plans",
       .plan =
           replaced(plan, "[0, 0, 12, 0, 3000], [0, 12, 52", "[0, 0, 16, 0, 3000], [0, 16, 48")},
      {.named = "the tasks",
       .task = replaced(task, "\"pooling_factor\": 3", "\"pooling_factor\": 5")},
      {.named = "the batch", .options = {"--batch", "2048"}},
      {.named = "--seed, --rounds", .options = {"--seed", "1", "--rounds", "2"}}};
  for (const Difference& other : differences) {
    SCOPED_TRACE(other.named);
    const auto command = [&](const std::string& of_task, const std::string& of_plan,
                             const std::vector<std::string>& more) {
      std::vector<std::string> args =
          quickly({"measure", "--exchange", "mpi", "--task", of_task, "--plan", of_plan});
      args.insert(args.end(), more.begin(), more.end());
      return command_of(args);
    };
    const std::string other_task =
        other.task.empty() ? task_ : folder_.write("other.json", other.task);
    const std::string other_plan =
        other.plan.empty() ? plan_ : folder_.write("other.jsonl", other.plan);
    const Outcome outcome = finish(start_ranks(
        {{3, command(task_, plan_, {})}, {1, command(other_task, other_plan, other.options)}}));
    EXPECT_NE(outcome.code, kExitOk);
    EXPECT_THAT(outcome.err, HasSubstr("rank 3 has other inputs than rank 0: " + other.named +
                                       "; give all ranks the same files and options"));
    EXPECT_EQ(outcome.out, "");
  }
}

TEST_F(MeasureOverMpi, WhatOneRankCannotReadEndsAll) {
  const auto command = [&](const std::string& plan) {
    return command_of(quickly({"measure", "--exchange", "mpi", "--task", task_, "--plan", plan}));
  };
  const Outcome outcome =
      finish(start_ranks({{3, command(plan_)}, {1, command(folder_ / "missing.jsonl")}}));
  EXPECT_NE(outcome.code, kExitOk);
  EXPECT_THAT(outcome.err, HasSubstr("missing.jsonl"));
  EXPECT_EQ(outcome.out, "");
}

TEST_F(MeasureOverMpi, RecordedLookupsAreComparedByWhatFilesHold) {
  ASSERT_EQ(run_command("generate", {"--count", "3", "--batch", "1030", "--row-scale", "0.001",
                                     "--streams", "--output", folder_ / "t"})
                .code,
            kExitOk);
  const std::string task = folder_.write("recorded.json", R"({"format": "neuroshard.task",
      "version": 1, "devices": 2, "memory_gb": 1, "tables": [
      {"row": 20000, "dim": 16, "pooling_factor": 4}, {"row": 20000, "dim": 8, "pooling_factor": 4},
      {"row": 20000, "dim": 32, "pooling_factor": 4}]})");
  const std::string plan =
      folder_.write("recorded.jsonl", R"({"task": 0, "steps": [], "shards": [[0], [1, 2]]})"
                                      "\n");
  const auto command = [&](const std::string& lookups) {
    return command_of(quickly({"measure", "--exchange", "mpi", "--task", task, "--plan", plan,
                               "--lengths", folder_ / "t/lengths.npy", "--access", lookups}));
  };
  const auto run = [&](const std::string& of_last) {
    return finish(start_ranks({{1, command(folder_ / "t/indices.npy")}, {1, command(of_last)}}));
  };
  std::string indices = contents_of(folder_ / "t/indices.npy");
  const Outcome same = run(folder_.write("copy.npy", indices));
  EXPECT_EQ(same.code, kExitOk) << same.err;
  indices[indices.size() - 8] ^= 1;  // Of one of the last indices.
  const Outcome different = run(folder_.write("changed.npy", indices));
  EXPECT_NE(different.code, kExitOk);
  EXPECT_THAT(different.err, HasSubstr("than rank 0: the lookups of --access; give"));
}

}  // namespace
}  // namespace neuroshard::tools
