// Writing that fails at the n-th byte, for every command that writes: an error that names the file,
// and nothing left under its name; with room again, all is as if nothing had been.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <regex>

#include "tools/run_command.h"

namespace neuroshard::tools {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// No file may grow beyond `bytes` while one lives.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

class FullDiskOf : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { ::setenv("SOURCE_DATE_EPOCH", "1700000000", 1); }

  // `args` is everything but --output, or another `option`; `file`: the first that the command
  // writes in there.
  void expect_errors_and_no_trace(const std::vector<std::string>& args,
                                  const std::string& file = "",
                                  const std::string& option = "--output") {
    const auto run = [&](const std::string& output) {
      std::vector<std::string> all = args;
      all.insert(all.end(), {option, folder_ / output});
      return run_command(all);
    };
    const Outcome good = run("good");
    ASSERT_EQ(good.code, kExitOk) << good.err;
    const std::string expected = contents_of(folder_ / "good" + file);
    ASSERT_GT(expected.size(), 10U);
    // (Times in a plan may be a few bytes shorter the next time.)
    for (const std::size_t room : {std::size_t{0}, std::size_t{1}, expected.size() / 3,
                                   expected.size() / 2, expected.size() * 9 / 10}) {
      SCOPED_TRACE(room);
      const Outcome failed = [&] {
        const FullDisk full(room);
        return run("bad");
      }();
      EXPECT_EQ(failed.code, kExitBadInput);
      EXPECT_THAT(failed.err, AllOf(HasSubstr(folder_ / "bad"), HasSubstr("cannot be written")));
      if (file.empty()) {
        EXPECT_FALSE(std::filesystem::exists(folder_ / "bad"));
      } else if (std::filesystem::exists(folder_ / "bad" + file)) {
        const std::string kept = contents_of(folder_ / "bad" + file);
        EXPECT_EQ(kept, expected.substr(0, kept.size()));
        EXPECT_TRUE(kept.empty() || kept.back() == '\n');  // No part of a line.
      }
    }
    const Outcome again =
        run("bad");  // Where the failed runs may have left something to go on from.
    ASSERT_EQ(again.code, kExitOk) << again.err;
    EXPECT_EQ(without_times(contents_of(folder_ / "bad" + file)), without_times(expected));
  }

  static std::string without_times(const std::string& text) {
    static const std::regex time(
        R"("(search|read)_ms": ?[-+.e0-9]+|[.0-9]+ ms on backend|in [.0-9]+ ms)");
    return std::regex_replace(text, time, "");
  }

  std::string collected(const std::string& name) {
    EXPECT_EQ(run_command({"collect", "compute", "--backend", "analytic", "--table-configs",
                           golden("tables/table_configs.json"), "--samples", "100", "--output",
                           folder_ / name})
                  .code,
              kExitOk);
    return folder_ / name;
  }

  TemporaryFolder folder_;
};

TEST_F(FullDiskOf, Plan) {
  expect_errors_and_no_trace({"plan", "--task", NEUROSHARD_EXAMPLES "/dlrm_v2_8gpu.json",
                              "--effort", "fast", "--format", "json"});
}

TEST_F(FullDiskOf, Report) {
  expect_errors_and_no_trace(
      {"plan", "--task", NEUROSHARD_EXAMPLES "/dlrm_v2_8gpu.json", "--effort", "fast"}, "",
      "--report");
}

TEST_F(FullDiskOf, PlanThatCanBeResumed) {
  std::vector<std::string> args =
      first_tasks(folder_, 3, {"--format", "jsonl", "--resume", "--effort", "fast"});
  args.insert(args.begin(), "plan");
  expect_errors_and_no_trace(args);
}

TEST_F(FullDiskOf, Convert) {
  const std::string models = golden("models/");
  expect_errors_and_no_trace({"convert", "--compute-model", models + "compute.pt",
                              "--forward-comm-model", models + "comm_4_fw.pt",
                              "--backward-comm-model", models + "comm_4_bw.pt"});
}

TEST_F(FullDiskOf, Train) {
  expect_errors_and_no_trace({"train", "compute", "--data", collected("data"), "--epochs", "2"});
}

TEST_F(FullDiskOf, TrainingThatCanBeResumed) {
  expect_errors_and_no_trace(
      {"train", "compute", "--data", collected("data"), "--epochs", "2", "--resume"});
}

TEST_F(FullDiskOf, GenerateTasks) {
  expect_errors_and_no_trace({"generate", "--tasks", "7", "--table-configs",
                              golden("tables/table_configs.json"), "--devices", "4", "--max-dim",
                              "64"});
}

TEST_F(FullDiskOf, Collect) {
  expect_errors_and_no_trace({"collect", "compute", "--backend", "analytic", "--table-configs",
                              golden("tables/table_configs.json"), "--samples", "30"},
                             "/data.txt");
}

}  // namespace
}  // namespace neuroshard::tools
