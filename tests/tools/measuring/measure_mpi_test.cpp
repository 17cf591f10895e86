// `measure --exchange mpi` really run, with 4 ranks on this machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  pid_t ended = 0;
  for (int i = 0; i < 1200 && ended == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ended = ::waitpid(mpirun, &status, WNOHANG);
  }
  if (ended == 0) ::kill(mpirun, SIGKILL);
  ASSERT_EQ(ended, mpirun);
  EXPECT_FALSE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(contents_of(folder_ / "out"), "");
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

}  // namespace
}  // namespace neuroshard::tools
