// `measure --exchange tcp` really run, with 4 processes of this machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "tools/built_programs.h"
#include "tools/measuring/measured_task.h"
#include "tools/start_process.h"

namespace neuroshard::tools {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr int kTcpRanks = 4;
constexpr int kStillRuns = -1;

class MeasureOverTcp : public ::testing::Test {
 protected:
  ~MeasureOverTcp() override {
    for (const pid_t rank : ranks_) {
      if (rank == 0) continue;
      ::kill(rank, SIGKILL);
      ::waitpid(rank, nullptr, 0);
    }
  }

  std::string file_of(const char* stream, int rank) const {
    return folder_ / (stream + std::to_string(rank));
  }
  std::string error_of(int rank) const { return contents_of(file_of("err", rank)); }

  // The next of `ranks`.
  void start(int ranks, const std::vector<std::string>& more) {
    const int rank = static_cast<int>(ranks_.size());
    std::vector<std::string> args = quickly({built_program(), "measure", "--exchange", "tcp",
                                             "--rendezvous", meeting_, "--task", task_});
    args.insert(args.end(), more.begin(), more.end());
    ranks_.push_back(start_process(
        args, file_of("out", rank), file_of("err", rank),
        {{"NEUROSHARD_RANK", std::to_string(rank)}, {"NEUROSHARD_RANKS", std::to_string(ranks)}}));
  }

  // Whether the file by which the ranks meet has come to be there, or has gone, in good time.
  bool meeting_becomes(bool there) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::filesystem::exists(meeting_) != there) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
  }

  std::string errors() const {
    std::string all;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      all += "rank " + std::to_string(rank) + ": " + error_of(static_cast<int>(rank)) + '\n';
    }
    return all;
  }

  // The exit codes of all ranks, 128 and the signal of those that one has killed.
  std::vector<int> finish(std::chrono::seconds patience) {
    std::vector<int> codes(ranks_.size(), kStillRuns);
    const auto end = std::chrono::steady_clock::now() + patience;
    do {
      for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
        int status = 0;
        if (ranks_[rank] == 0 || ::waitpid(ranks_[rank], &status, WNOHANG) == 0) continue;
        codes[rank] = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        ranks_[rank] = 0;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    } while (std::chrono::steady_clock::now() < end &&
             std::ranges::find(codes, kStillRuns) != codes.end());
    return codes;
  }

  TemporaryFolder folder_;
  std::string task_ = folder_.write("task.json", std::string(kMeasuredTask));
  std::string plan_ = folder_.write("plan.jsonl", in_one_line(kMeasuredPlan));
  std::string meeting_ = folder_ / "ranks";
  std::vector<pid_t> ranks_;
};

TEST_F(MeasureOverTcp, MeasuresEveryDevice) {
  const std::string file = folder_ / "measured.json";
  for (int rank = 0; rank < kTcpRanks; ++rank) start(kTcpRanks, {"--plan", plan_, "--json", file});
  const std::vector<int> codes = finish(std::chrono::seconds(120));
  for (int rank = 0; rank < kTcpRanks; ++rank) {
    ASSERT_EQ(codes[static_cast<std::size_t>(rank)], kExitOk) << error_of(rank);
    if (rank == 0) continue;
    EXPECT_EQ(contents_of(file_of("out", rank)), "");
  }
  EXPECT_THAT(contents_of(file_of("out", 0)), HasSubstr("4 ranks of 1 thread on 1 machine"));
  const json document = json::parse(contents_of(file));
  EXPECT_EQ(document["exchange"], "tcp");
  const json& devices = document["plans"][0]["devices"];
  ASSERT_EQ(devices.size(), 4U);
  for (const json& device : devices) {
    for (const char* term :
         {"total_ms", "compute_ms", "forward_ms", "backward_ms", "ids_ms", "all_reduce_ms"}) {
      EXPECT_GT(device["measured"][term]["median"], 0.0) << term;
    }
  }
}

TEST_F(MeasureOverTcp, AKilledRankEndsTheOthers) {
  constexpr std::size_t kKilled = 2;
  const std::vector<std::string> for_days = {"--plan", plan_, "--rounds", "1000000"};
  start(kTcpRanks, for_days);
  if (!meeting_becomes(true)) FAIL() << "rank 0 waits for nobody\n" << errors();
  for (int rank = 1; rank < kTcpRanks; ++rank) start(kTcpRanks, for_days);
  if (!meeting_becomes(false)) FAIL() << "the ranks have not met\n" << errors();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));  // Amid the iterations, mostly.
  ASSERT_EQ(::kill(ranks_[kKilled], SIGKILL), 0);
  const std::vector<int> codes = finish(std::chrono::seconds(120));
  EXPECT_EQ(codes[kKilled], 128 + SIGKILL);
  for (int rank = 0; rank < kTcpRanks; ++rank) {
    if (rank == kKilled) continue;
    EXPECT_EQ(codes[static_cast<std::size_t>(rank)], kExitBadInput);
    EXPECT_THAT(error_of(rank), HasSubstr("is gone; its own message says why"));
    EXPECT_EQ(contents_of(file_of("out", rank)), "");
  }
}

TEST_F(MeasureOverTcp, WhatOneRankCannotReadEndsAll) {
  const std::string missing = folder_ / "missing.jsonl";
  const auto expect_rank_0_speaks = [&](const std::string& first, const std::string& second,
                                        const char* error) {
    ranks_.clear();
    start(2, {"--plan", first});
    start(2, {"--plan", second});
    EXPECT_EQ(finish(std::chrono::seconds(120)), std::vector<int>(2, kExitBadInput));
    EXPECT_THAT(error_of(0), HasSubstr(error));
    EXPECT_EQ(error_of(1), "");
  };
  // Rank 0, whose plan is for 4 devices, speaks for both.
  expect_rank_0_speaks(plan_, missing, "is for 4 devices, but 2 ranks were started");
  // That the other can read its inputs.
  const std::string task_for_two = folder_.write("task2.json", R"({"format": "neuroshard.task",
      "version": 1, "devices": 2, "memory_gb": 1, "batch_size": 1024,
      "tables": [{"row": 100, "dim": 4, "pooling_factor": 1}]})");
  const std::string plan_for_two = folder_.write(
      "plan2.jsonl", R"({"task": 0, "tables": 1, "slices": [[0, 0, 4, 0, 50], [0, 0, 4, 50, 50]],)"
                     R"( "shards": [[0], [1]]})");
  task_ = task_for_two;
  expect_rank_0_speaks(missing, plan_for_two, "missing.jsonl");
  task_ = folder_ / "task.json";

  ranks_.clear();
  for (int rank = 0; rank < kTcpRanks; ++rank)
    start(kTcpRanks, {"--plan", rank == 3 ? missing : plan_});
  EXPECT_EQ(finish(std::chrono::seconds(120)), std::vector<int>(kTcpRanks, kExitBadInput));
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_THAT(error_of(rank), HasSubstr("is gone; its own message says why"));
  }
  EXPECT_THAT(error_of(3), HasSubstr("missing.jsonl"));
}

// Ranks that went on would wait for each other, or take what others sent for something else.
TEST_F(MeasureOverTcp, OtherInputsOfOneRankEndAll) {
  const auto replaced = [](std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  struct Difference {
    std::vector<std::string> options{};  // Of rank 3.
    std::string named{};
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
      {.options = {plan_}, .named = "the plans"},
      {.named = "the tasks",
       .task = replaced(task, "\"pooling_factor\": 3", "\"pooling_factor\": 5")},
      {.options = {"--batch", "2048"}, .named = "the batch"},
      {.options = {"--seed", "1"}, .named = "--seed"},
      {.options = {"--rounds", "2"}, .named = "--rounds"},
      {.options = {"--seed", "1", "--rounds", "2"}, .named = "--seed, --rounds"}};
  for (const Difference& other : differences) {
    SCOPED_TRACE(other.named);
    ranks_.clear();
    const std::string same_task = task_;
    for (int rank = 0; rank < kTcpRanks; ++rank) {
      std::vector<std::string> more = {"--plan", plan_};
      if (rank == 3) {
        if (!other.task.empty()) task_ = folder_.write("other.json", other.task);
        if (!other.plan.empty()) more[1] = folder_.write("other.jsonl", other.plan);
        more.insert(more.end(), other.options.begin(), other.options.end());
      }
      start(kTcpRanks, more);
    }
    task_ = same_task;
    EXPECT_EQ(finish(std::chrono::seconds(120)), std::vector<int>(kTcpRanks, kExitBadInput));
    EXPECT_THAT(error_of(3), HasSubstr("rank 3 has other inputs than rank 0: " + other.named +
                                       "; give all ranks the same files and options"));
    for (int rank = 0; rank < 3; ++rank) {
      EXPECT_THAT(error_of(rank), HasSubstr("is gone; its own message says why"));
    }
    EXPECT_EQ(contents_of(file_of("out", 0)), "");
  }
}

TEST_F(MeasureOverTcp, RecordedLookupsAreComparedByWhatFilesHold) {
  ASSERT_EQ(run_command("generate", {"--count", "3", "--batch", "1030", "--row-scale", "0.001",
                                     "--streams", "--output", folder_ / "t"})
                .code,
            kExitOk);
  task_ = folder_.write("recorded.json", R"({"format": "neuroshard.task", "version": 1,
      "devices": 4, "memory_gb": 1, "tables": [
      {"row": 20000, "dim": 16, "pooling_factor": 4}, {"row": 20000, "dim": 8, "pooling_factor": 4},
      {"row": 20000, "dim": 32, "pooling_factor": 4}]})");
  plan_ =
      folder_.write("recorded.jsonl", R"({"task": 0, "steps": [], "shards": [[0], [1], [2], []]})"
                                      "\n");
  std::string indices = contents_of(folder_ / "t/indices.npy");
  const auto expect_codes = [&](const std::string& of_last, int code) {
    ranks_.clear();
    for (int rank = 0; rank < kTcpRanks; ++rank) {
      start(kTcpRanks, {"--plan", plan_, "--lengths", folder_ / "t/lengths.npy", "--access",
                        rank == 3 ? of_last : folder_ / "t/indices.npy"});
    }
    EXPECT_EQ(finish(std::chrono::seconds(120)), std::vector<int>(kTcpRanks, code)) << errors();
  };
  expect_codes(folder_.write("copy.npy", indices), kExitOk);
  indices[indices.size() - 8] ^= 1;  // Of one of the last indices.
  expect_codes(folder_.write("changed.npy", indices), kExitBadInput);
  EXPECT_THAT(error_of(3), HasSubstr("than rank 0: the lookups of --access; give"));
}

}  // namespace
}  // namespace neuroshard::tools
