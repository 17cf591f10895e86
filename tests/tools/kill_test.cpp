// Programs killed at random moments: run again, they go on, and end in what they would have ended
// in at once. Nothing is lost but the line in flight.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <thread>

#include "core/base/random.h"
#include "tools/built_programs.h"
#include "tools/run_command.h"

namespace neuroshard::tools {
namespace {

using ::testing::StartsWith;
using Clock = std::chrono::steady_clock;

constexpr int kKills = NEUROSHARD_SANITIZED ? 5 : 12;
// More than they need to end on their own.
constexpr int kMostRuns = 400;

class Kill : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { ::setenv("SOURCE_DATE_EPOCH", "1700000000", 1); }

  // Exit code, or -1 if it was killed.
  int run_for(std::vector<std::string> args, Clock::duration most) {
    args.insert(args.begin(), built_program());
    std::vector<char*> argv;
    for (std::string& arg : args) argv.push_back(arg.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t streams;
    posix_spawn_file_actions_init(&streams);
    posix_spawn_file_actions_addopen(&streams, 1, (folder_ / "out").c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0666);
    posix_spawn_file_actions_addopen(&streams, 2, (folder_ / "err").c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0666);
    pid_t pid = -1;
    const int failed = ::posix_spawn(&pid, argv[0], &streams, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&streams);
    if (failed != 0) throw std::runtime_error("posix_spawn failed");
    int status = 0;
    const auto end = Clock::now() + most;
    while (::waitpid(pid, &status, WNOHANG) == 0) {
      if (Clock::now() >= end) ::kill(pid, SIGKILL);
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::string error() const { return contents_of(folder_ / "err"); }

  // Runs `args`, killed again and again, until they are done; `check` looks at what each leaves.
  void run_with_kills(const std::vector<std::string>& args, Clock::duration whole,
                      const std::function<void()>& check) {
    Random random(20);
    int kills = 0;
    for (int runs = 0; runs < kMostRuns; ++runs) {
      const auto most = kills < kKills
                            ? std::chrono::duration_cast<Clock::duration>(whole * random.uniform())
                            : Clock::duration(std::chrono::hours(1));
      const int code = run_for(args, most);
      ASSERT_NO_FATAL_FAILURE(check());
      if (code == kExitOk && kills >= kKills) return;
      if (code == kExitOk) continue;  // Done before it could be killed; again finds it done.
      ASSERT_EQ(code, -1) << error();
      ++kills;
    }
    FAIL() << "never done";
  }

  TemporaryFolder folder_;
};

TEST_F(Kill, CollectLosesNothingButTheLineInFlight) {
  const auto collect = [&](const std::string& output) {
    return std::vector<std::string>{"collect",         "compute",
                                    "--backend",       "analytic",
                                    "--table-configs", golden("tables/table_configs.json"),
                                    "--samples",       "1500",
                                    "--output",        folder_ / output};
  };
  const auto begin = Clock::now();
  ASSERT_EQ(run_for(collect("whole"), std::chrono::hours(1)), kExitOk) << error();
  const auto whole = Clock::now() - begin;

  const std::string data = folder_ / "killed/data.txt";
  std::string lines;  // Whole ones of all runs so far.
  run_with_kills(collect("killed"), whole, [&] {
    if (!std::filesystem::exists(data)) return;
    std::string now = contents_of(data);
    now.resize(now.rfind('\n') + 1);
    ASSERT_THAT(now, StartsWith(lines));
    lines = std::move(now);
  });
  EXPECT_EQ(contents_of(data), contents_of(folder_ / "whole/data.txt"));
}

TEST_F(Kill, TrainGoesOnToTheSameWeights) {
  ASSERT_EQ(run_command({"collect", "compute", "--backend", "analytic", "--table-configs",
                         golden("tables/table_configs.json"), "--samples", "300", "--output",
                         folder_ / "data"})
                .code,
            kExitOk);
  const auto train = [&](const std::string& output) {
    return std::vector<std::string>{"train",    "compute",  "--data",        folder_ / "data",
                                    "--epochs", "40",       "--batch",       "16",
                                    "--resume", "--output", folder_ / output};
  };
  const auto begin = Clock::now();
  ASSERT_EQ(run_for(train("whole"), std::chrono::hours(1)), kExitOk) << error();
  const auto whole = Clock::now() - begin;

  const std::string state = folder_ / "killed.compute.partial";
  bool kept = false;
  run_with_kills(train("killed"), whole, [&] {
    kept |= std::filesystem::exists(state);
    if (!std::filesystem::exists(folder_ / "killed")) return;
    ASSERT_EQ(contents_of(folder_ / "killed"), contents_of(folder_ / "whole"));
    std::filesystem::remove(folder_ / "killed");  // For the next run to make.
  });
  EXPECT_TRUE(kept);
  EXPECT_FALSE(std::filesystem::exists(state));
}

}  // namespace
}  // namespace neuroshard::tools
