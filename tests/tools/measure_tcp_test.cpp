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

#include "tools/measured_task.h"
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
    std::vector<std::string> args = quickly({NEUROSHARD_PROGRAM, "measure", "--exchange", "tcp",
                                             "--rendezvous", meeting_, "--task", task_});
    args.insert(args.end(), more.begin(), more.end());
    ranks_.push_back(start_process(
        args, file_of("out", rank), file_of("err", rank),
        {{"NEUROSHARD_RANK", std::to_string(rank)}, {"NEUROSHARD_RANKS", std::to_string(ranks)}}));
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
  while (!std::filesystem::exists(meeting_)) std::this_thread::yield();
  for (int rank = 1; rank < kTcpRanks; ++rank) start(kTcpRanks, for_days);
  while (std::filesystem::exists(meeting_)) std::this_thread::yield();  // Until they have met.
  std::this_thread::sleep_for(std::chrono::milliseconds(500));  // Amid the iterations, mostly.
  ASSERT_EQ(::kill(ranks_[kKilled], SIGKILL), 0);
  const std::vector<int> codes = finish(std::chrono::seconds(10));
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
  start(2, {"--plan", plan_});
  start(2, {"--plan", missing});
  EXPECT_EQ(finish(std::chrono::seconds(120)), (std::vector<int>{kExitBadInput, kExitOk}));
  // Rank 0, whose plan is for 4 devices, speaks for both.
  EXPECT_THAT(error_of(0), HasSubstr("is for 4 devices, but 2 ranks were started"));
  EXPECT_EQ(error_of(1), "");

  ranks_.clear();
  for (int rank = 0; rank < kTcpRanks; ++rank)
    start(kTcpRanks, {"--plan", rank == 3 ? missing : plan_});
  EXPECT_EQ(finish(std::chrono::seconds(120)), std::vector<int>(kTcpRanks, kExitBadInput));
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_THAT(error_of(rank), HasSubstr("is gone; its own message says why"));
  }
  EXPECT_THAT(error_of(3), HasSubstr("missing.jsonl"));
}

}  // namespace
}  // namespace neuroshard::tools
