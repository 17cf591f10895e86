// The archive of tools/collect_kit unpacked into an empty folder and really run: 4 ranks, a few
// tiny samples.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "tools/built_programs.h"
#include "tools/run_command.h"

namespace neuroshard::tools {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Exit codes of `collect`.
constexpr int kWrong = 2;
constexpr int kMore = 3;

class CollectKit : public ::testing::Test {
 protected:
  void SetUp() override {
    if (NEUROSHARD_SANITIZED) GTEST_SKIP() << "a program of its own C library has no sanitizers";
    ASSERT_EQ(run(std::string(NEUROSHARD_TOOLS) + "/collect_kit " + folder_ / "kit.tar.gz" + " " +
                  built_program()),
              0)
        << output();
    ASSERT_EQ(run("mkdir " + folder_ / "empty" + " && tar -C " + folder_ / "empty" + " -xf " +
                  folder_ / "kit.tar.gz"),
              0)
        << output();
  }

  // The kit's collect in a process group of its own, as a terminal starts it. Its output goes to
  // the file "first".
  pid_t start(const std::string& command) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    ::setpgid(0, 0);
    // This program may have been started to ignore them.
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_DFL);
    const std::string whole = command + " >" + folder_ / "first" + " 2>&1 </dev/null";
    ::execl("/bin/sh", "sh", "-c", whole.c_str(), nullptr);
    ::_exit(127);
  }
  // Processes whose command line names the folder of results.
  std::size_t processes() {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      std::ifstream file(entry.path() / "cmdline");
      const std::string line((std::istreambuf_iterator<char>(file)), {});
      if (line.find(results()) != std::string::npos) ++count;
    }
    return count;
  }

  // Exit code of a command of the shell; -1: ended by a signal. Its text is output().
  int run(const std::string& command) {
    const int status = std::system(("{ " + command + "; } >" + folder_ / "log" + " 2>&1").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string output() { return contents_of(folder_ / "log"); }

  // The kit's collect with `options`; results in a folder beside it. It is started in the root
  // folder and without the variables of this shell, but for PATH.
  std::string collect(int comm_samples, const std::string& options) {
    return "cd / && exec env -i PATH=\"$PATH\" " + kit() + "/collect " + results() +
           " --samples 12 --comm-samples " + std::to_string(comm_samples) +
           " --ranks 4 --table-configs " + kit() + "/table_configs.json " +
           " --compute-options '--batch 128 --warm-up 0 --iterations 1 --threads 1 "
           "--memory-gb 0.1 --max-rows 150000 --max-dim 16' --comm-options '--batch 256 "
           "--warm-up 0 --iterations 1 --max-start-offset-ms 2 --max-dim-sum 256' " +
           options;
  }
  std::string kit() { return folder_ / "empty/neuroshard-kit"; }
  std::string results() { return folder_ / "results"; }
  std::size_t samples(const std::string& name) {
    const std::string path = results() + "/" + name + "/data.txt";
    return std::filesystem::exists(path) ? lines_of(contents_of(path)).size() : 0;
  }

  TemporaryFolder folder_;
};

TEST_F(CollectKit, CollectsGoesOnAfterAnInterruptAndTrainsOnTheFileBroughtBack) {
  const std::string options = "--oversubscribe";
  const pid_t child = start(collect(1'000'000, options));
  // Ends at the latest when collect does.
  int status = 0;
  while (samples("comm_4") < 3 && ::waitpid(child, &status, WNOHANG) == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ASSERT_GE(samples("comm_4"), 3U) << contents_of(folder_ / "first");
  ASSERT_EQ(::kill(child, SIGTERM), 0);
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), kMore) << contents_of(folder_ / "first");
  EXPECT_THAT(contents_of(folder_ / "first"), HasSubstr("the same command goes on"));
  const std::string before = contents_of(results() + "/comm_4/data.txt");
  EXPECT_EQ(samples("comm_wide_4"), 0U);
  // There is something to send already.
  EXPECT_EQ(run("tar -tf " + results() + "/neuroshard-costs.tar.gz"), 0);
  EXPECT_THAT(output(), AllOf(HasSubstr("neuroshard-costs/comm_4/data.txt"),
                              HasSubstr("neuroshard-costs/compute/table_configs.json"),
                              Not(HasSubstr("comm_wide_4"))));

  const std::size_t more = samples("comm_4") + 12;
  EXPECT_EQ(run(collect(static_cast<int>(more), options)), 0) << output();
  EXPECT_THAT(output(), HasSubstr("compute: has 12 samples"));
  EXPECT_THAT(contents_of(results() + "/comm_4/data.txt"), StartsWith(before));
  EXPECT_EQ(samples("comm_4"), more);

  const std::string train = kit() + "/neuroshard train ";
  const std::string costs = folder_ / "back/neuroshard-costs/";
  const std::string weights = folder_ / "weights.safetensors";
  EXPECT_EQ(run("mkdir " + folder_ / "back" + " && tar -C " + folder_ / "back" + " -xf " +
                results() + "/neuroshard-costs.tar.gz && " + train + "compute --data " + costs +
                "compute --data " + costs + "compute_slices --features operator --epochs 2 " +
                "--output " + weights + " && " + train + "comm --data " + costs + "comm_4 --data " +
                costs + "comm_wide_4 --epochs 2 --base " + weights + " --output " + weights),
            0)
      << output();
  EXPECT_TRUE(std::filesystem::exists(weights));
}

TEST_F(CollectKit, CtrlCLeavesNoProcessAndTheSameCommandGoesOn) {
  const std::string options = "--oversubscribe";
  for (const int signal : {SIGINT, SIGHUP}) {
    const std::size_t before = samples("comm_4");
    const pid_t child = start(collect(1'000'000, options));
    int status = 0;
    while (samples("comm_4") == before && ::waitpid(child, &status, WNOHANG) == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ASSERT_GT(samples("comm_4"), before) << contents_of(folder_ / "first");
    // collect, timeout and the program.
    EXPECT_GE(processes(), 3U);
    ASSERT_EQ(::kill(-child, signal), 0);
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), kMore) << contents_of(folder_ / "first");
    EXPECT_EQ(processes(), 0U);
  }
  EXPECT_EQ(run(collect(static_cast<int>(samples("comm_4")) + 1, options)), 0) << output();
}

TEST_F(CollectKit, SaysWhatIsWrongAndWhatHelps) {
  const auto expect_error = [&](const std::string& command, const std::vector<std::string>& parts) {
    EXPECT_EQ(run(command), kWrong) << output();
    for (const std::string& part : parts) EXPECT_THAT(output(), HasSubstr(part));
  };
  expect_error(collect(2, "--ranks 4000"),
               {"--ranks has 4000", "this machine has", "--oversubscribe"});
  expect_error(collect(2, "--oversubscribe --ranks 1"), {"--ranks has '1'"});
  // Without kernels, or without a GPU.
  expect_error(collect(2, "--backend cuda"), {"--backend cuda", "cpu"});
  expect_error(collect(2, "--oversubscribe --minutes soon"), {"--minutes is 'soon'"});
  expect_error(collect(2, "--smoke 1"), {"--smoke is not an option"});
  expect_error("cd / && " + kit() + "/collect /proc/results --ranks 2 --oversubscribe",
               {"/proc/results: cannot be written"});
  std::filesystem::create_directory(results());
  std::filesystem::copy_file(kit() + "/kit", results() + "/kit");
  ASSERT_EQ(run("sed -i 's/^version .*/version 0.0.9/' " + results() + "/kit"), 0);
  expect_error(collect(2, "--oversubscribe"),
               {"was begun with the kit of 0.0.9", "another folder"});
}

}  // namespace
}  // namespace neuroshard::tools
