// The program itself, as a shell sees it: exit codes, streams, closed pipes, full disks.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "temporary_folder.h"
#include "tools/built_programs.h"
#include "tools/run_command.h"

namespace neuroshard::tools {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// Prefix that runs the rest of a command line for so long and then sends it SIGTERM, once: without
// --foreground its whole group gets a second one, which ends the program at once. It is not SIGINT,
// which programs that a shell has started in the background may have been told to ignore.
std::string interrupted_after(const std::string& seconds) {
  return "timeout --foreground --preserve-status -s TERM " + seconds + " ";
}

class Binary : public ::testing::Test {
 protected:
  // Runs the program with its streams redirected by a shell, `redirection` last.
  Outcome run(const std::vector<std::string>& args, const std::string& redirection = "",
              const std::string& prefix = "") {
    std::string command = prefix + quoted(built_program());
    for (const std::string& arg : args) command += ' ' + quoted(arg);
    command += " >" + quoted(folder_ / "out") + " 2>" + quoted(folder_ / "err") + " </dev/null ";
    command += redirection;
    const int status = std::system(command.c_str());
    Outcome outcome;
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    outcome.out = contents_of(folder_ / "out");
    outcome.err = contents_of(folder_ / "err");
    std::filesystem::remove(folder_ / "out");
    std::filesystem::remove(folder_ / "err");
    return outcome;
  }

  static std::string quoted(const std::string& text) { return "'" + text + "'"; }

  static std::vector<std::string> plan_first_golden_task(const std::vector<std::string>& more) {
    std::vector<std::string> args = golden_tasks({"--index", "0"});
    args.insert(args.begin(), "plan");
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }

  TemporaryFolder folder_;
};

TEST_F(Binary, ExitCodes) {
  EXPECT_EQ(run({"--help"}).code, 0);
  EXPECT_EQ(run({"--version"}).code, 0);
  EXPECT_EQ(run(plan_first_golden_task({})).code, 0);
  EXPECT_EQ(run(plan_first_golden_task({"--index", "1"})).code, 2);  // Given twice.
  const Outcome infeasible = run({"plan", "--tables", golden("tables/table_configs.json"),
                                  "--tasks", golden("tasks/4gpu_dim64.txt"), "--index", "0",
                                  "--devices", "4", "--memory-gb", "0.01"});
  EXPECT_EQ(infeasible.code, 1);
  EXPECT_THAT(infeasible.err, StartsWith("neuroshard: no plan: "));
  const Outcome usage = run({"plan", "--bogus"});
  EXPECT_EQ(usage.code, 2);
  EXPECT_THAT(usage.err, StartsWith("neuroshard: error: "));
  EXPECT_THAT(usage.out, IsEmpty());
}

TEST_F(Binary, DrawsNothingForPeopleIntoFiles) {
  const Outcome outcome = run(plan_first_golden_task({}));
  EXPECT_THAT(outcome.out, HasSubstr("cost"));
  for (const char byte : outcome.out) {
    ASSERT_TRUE(byte == '\n' || (byte >= ' ' && byte <= '~')) << static_cast<int>(byte);
  }
  EXPECT_THAT(outcome.err, IsEmpty());
}

TEST_F(Binary, ClosedAndBrokenOutputs) {
  // A later redirection of the shell wins over the earlier one.
  const Outcome closed = run(plan_first_golden_task({}), ">&-");
  EXPECT_EQ(closed.code, 2);
  EXPECT_THAT(closed.err, HasSubstr("standard output"));
  const Outcome no_error_stream = run({"plan", "--bogus"}, "2>&-");
  EXPECT_EQ(no_error_stream.code, 2);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);  // The reader has gone.
  const Outcome broken = run(plan_first_golden_task({}), ">&" + std::to_string(ends[1]));
  close(ends[1]);
  EXPECT_EQ(broken.code, 2);
  EXPECT_THAT(broken.err, HasSubstr("Broken pipe"));
}

TEST_F(Binary, FullDisk) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "/dev/full is a Linux device";
  const Outcome standard = run(plan_first_golden_task({}), ">/dev/full");
  EXPECT_EQ(standard.code, 2);
  EXPECT_THAT(standard.err, HasSubstr("No space left"));
  const Outcome file = run(plan_first_golden_task({"--output", "/dev/full"}));
  EXPECT_EQ(file.code, 2);
  EXPECT_THAT(file.err, HasSubstr("No space left"));
}

TEST_F(Binary, ReadsATaskFromStandardInput) {
  const std::string task = NEUROSHARD_EXAMPLES "/dlrm_v2_8gpu.json";
  const Outcome named = run({"plan", "--task", task, "--effort", "fast"});
  const Outcome piped = run({"plan", "--task", "-", "--effort", "fast"}, "<" + quoted(task));
  EXPECT_EQ(piped.code, 0) << piped.err;
  EXPECT_EQ(piped.out.substr(0, piped.out.find("\nsearch ")),
            named.out.substr(0, named.out.find("\nsearch ")));
  const Outcome empty = run({"plan", "--task", "-"});
  EXPECT_EQ(empty.code, 2);
  EXPECT_THAT(empty.err, StartsWith("neuroshard: error: standard input: "));
}

TEST_F(Binary, ForcedBackends) {
  EXPECT_EQ(run(plan_first_golden_task({"--backend", "scalar"})).code, 0);
  const Outcome cuda = run(plan_first_golden_task({"--backend", "cuda"}));
  if (cuda.code != 0) {  // Without a GPU, or built without CUDA.
    EXPECT_EQ(cuda.code, 2);
    EXPECT_THAT(cuda.err, HasSubstr("cuda"));
    EXPECT_THAT(cuda.out, IsEmpty());
  }
}

TEST_F(Binary, InterruptedLeavesNoPartOfAFile) {
  std::vector<std::string> args =
      golden_tasks({"--format", "jsonl", "--output", folder_ / "plans"});
  args.insert(args.begin(), "plan");
  for (const char* seconds : {"0.02", "0.1", "0.5"}) {
    (void)run(args, "", interrupted_after(seconds));
    if (folder_.names().empty()) continue;
    EXPECT_EQ(folder_.names(), std::set<std::string>{"plans"});
    EXPECT_EQ(lines_of(contents_of(folder_ / "plans")).size(), 100U);
  }
}

// A file that must not grow further (ulimit -f) is a write error, not a signal that kills.
TEST_F(Binary, FileTooLargeLeavesNoPartOfAFile) {
  std::vector<std::string> args = golden_tasks(
      {"--format", "jsonl", "--algorithm", "dim_greedy", "--output", folder_ / "plans"});
  args.insert(args.begin(), "plan");
  const Outcome outcome = run(args, "", "ulimit -f 8; ");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("plans: cannot be written: File too large"));
  EXPECT_THAT(folder_.names(), IsEmpty());
}

TEST_F(Binary, ResumesAfterTheLinesThatWereFinished) {
  const auto plan = [&](const std::string& output, const std::string& devices,
                        const std::string& prefix, const std::string& sent_as = "fp32") {
    return run({"plan", "--tables", golden("tables/table_configs.json"), "--tasks",
                golden("tasks/4gpu_dim64.txt"), "--devices", devices, "--memory-gb", "4",
                "--algorithm", "dim_greedy", "--exchange-types", "forward=" + sent_as, "--format",
                "jsonl", "--output", folder_ / output, "--resume"},
               "", prefix);
  };
  const auto plans_in = [&](const std::string& name) {
    std::vector<std::string> lines = lines_of(contents_of(folder_ / name));
    for (std::string& line : lines) line = line.substr(0, line.find("\"search_ms\""));
    return lines;
  };
  ASSERT_NE(plan("whole", "4", "").code, 2);
  EXPECT_EQ(folder_.names(), std::set<std::string>{"whole"});
  EXPECT_EQ(plan("plans", "4", "ulimit -f 8; ").code, 2);
  EXPECT_EQ(folder_.names(), (std::set<std::string>{"whole", "plans.partial"}));
  std::string partial = contents_of(folder_ / "plans.partial");
  partial.resize(partial.rfind('\n') + 1);  // The disk was full within a line.
  const auto kept = lines_of(partial);
  EXPECT_GT(kept.size(), 3U);
  EXPECT_LT(kept.size(), 100U);
  for (const Outcome& other : {plan("plans", "2", ""), plan("plans", "4", "", "fp16")}) {
    EXPECT_EQ(other.code, 2);
    EXPECT_THAT(other.err, HasSubstr("plans.partial: was begun with other tasks"));
  }
  // The line of task 1 is deleted, and task 2 is called cheaper.
  std::string damaged = kept[0] + '\n' + kept[1] + '\n';
  for (std::size_t i = 3; i < kept.size(); ++i) damaged += kept[i] + '\n';
  const std::string field = "\"cost\":";
  const std::size_t priced = damaged.find(field, damaged.find("\"task\":2,"));
  ASSERT_LT(priced, damaged.size());
  const std::size_t digit = priced + field.size();
  damaged[digit] = damaged[digit] == '1' ? '2' : '1';
  folder_.write("plans.partial", damaged);
  const Outcome resumed = plan("plans", "4", "");
  EXPECT_NE(resumed.code, 2) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("plans.partial: 1 of its lines are damaged or double, and 2 "
                                     "missing before others"));
  EXPECT_THAT(resumed.err, HasSubstr("going on after " + std::to_string(kept.size() - 3)));
  EXPECT_EQ(folder_.names(), (std::set<std::string>{"whole", "plans"}));
  EXPECT_EQ(plans_in("plans"), plans_in("whole"));
  EXPECT_THAT(kept[1], EndsWith(lines_of(contents_of(folder_ / "plans"))[0]));
}

TEST_F(Binary, InterruptedGenerationLeavesNoTemporaryFile) {
  for (const char* seconds : {"0.1", "0.4"}) {
    const Outcome outcome =
        run({"generate", "--streams", "--batch", "8192", "--output", folder_ / "tables"}, "",
            interrupted_after(seconds));
    EXPECT_NE(outcome.code, 0) << "Nothing was interrupted.";
    std::error_code ignored;
    for (const auto& file : std::filesystem::directory_iterator(folder_ / "tables", ignored)) {
      ADD_FAILURE() << file.path() << " is left";
    }
  }
}

// The first tries may end before the first epoch does; then there is no file, not a bad one.
TEST_F(Binary, InterruptedTrainingKeepsTheBestEpochSoFar) {
  const std::string base = folder_ / "base";
  ASSERT_EQ(run({"convert", "--compute-model", golden("models/compute.pt"), "--forward-comm-model",
                 golden("models/comm_4_fw.pt"), "--backward-comm-model",
                 golden("models/comm_4_bw.pt"), "--output", base})
                .code,
            0);
  for (double seconds = 0.25; seconds < 100.0; seconds *= 2) {
    const Outcome outcome = run({"train", "comm", "--data", golden("cost/comm_2"), "--epochs",
                                 "1000000", "--base", base, "--output", folder_ / "trained"},
                                "", interrupted_after(std::to_string(seconds)));
    if (!folder_.names().contains("trained")) {
      EXPECT_NE(outcome.code, 0);
      EXPECT_EQ(folder_.names(), std::set<std::string>{"base"});
      continue;
    }
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("stopped early"));
    EXPECT_EQ(run({"inspect", folder_ / "trained"}).code, 0);
    return;
  }
  FAIL() << "no epoch was finished";
}

TEST_F(Binary, OutputFileIsWholeOrAbsent) {
  const std::string output = folder_ / "plan.json";
  EXPECT_EQ(run(plan_first_golden_task({"--format", "json", "--output", output})).code, 0);
  EXPECT_THAT(contents_of(output), StartsWith("{"));
  EXPECT_THAT(contents_of(output), ::testing::EndsWith("}\n"));
  EXPECT_EQ(folder_.names(), std::set<std::string>{"plan.json"});
}

}  // namespace
}  // namespace neuroshard::tools
