// `collect comm --backend mpi` really run, with 4 ranks on this machine.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>
#include <tuple>

#include "tools/run_command.h"

namespace neuroshard::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

constexpr int kRanks = 4;

struct Sample {
  std::vector<std::vector<double>> columns;  // Dim sums, offsets, forward, backward.
};

std::vector<Sample> samples_of(const std::string& path) {
  std::vector<Sample> samples;
  for (const std::string& line : lines_of(contents_of(path))) {
    samples.emplace_back();
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      samples.back().columns.emplace_back();
      std::istringstream numbers(word);
      for (std::string number; std::getline(numbers, number, ',');) {
        samples.back().columns.back().push_back(std::stod(number));
      }
    }
  }
  return samples;
}

class CollectOverMpi : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::string(NEUROSHARD_MPIRUN).empty()) GTEST_SKIP() << "built without MPI";
    if (::access(NEUROSHARD_MPIRUN, X_OK) != 0) {
      GTEST_SKIP() << NEUROSHARD_MPIRUN << " cannot be run here";
    }
    // Open MPI: more ranks than cores, and as root, which containers often are.
    ::setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 1);
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    ::setenv("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe", 1);
  }

  // Under sanitizers MPI's own leaks are not ours to fix.
  static void without_leak_check() { ::setenv("ASAN_OPTIONS", "detect_leaks=0", 1); }

  // Options of a small run, with `changes`.
  pid_t start(const std::map<std::string, std::string>& changes) {
    std::map<std::string, std::string> options = {{"--output", folder_ / "data"},
                                                  {"--batch", "1000"},
                                                  {"--warm-up", "1"},
                                                  {"--iterations", "2"},
                                                  {"--max-start-offset-ms", "6"}};
    for (const auto& [name, value] : changes) options[name] = value;
    std::vector<std::string> arguments = {NEUROSHARD_MPIRUN,  "-np",     std::to_string(kRanks),
                                          NEUROSHARD_PROGRAM, "collect", "comm",
                                          "--backend",        "mpi"};
    for (const auto& [name, value] : options) {
      arguments.push_back(name);
      arguments.push_back(value);
    }
    const std::string out = folder_ / "out";
    const std::string err = folder_ / "err";
    const pid_t child = ::fork();
    if (child != 0) return child;
    without_leak_check();
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    ::dup2(::open("/dev/null", O_RDONLY), 0);
    ::dup2(::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
    ::dup2(::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
    ::execv(pointers[0], pointers.data());
    ::_exit(127);
  }

  Outcome finish(pid_t child) {
    int status = 0;
    ::waitpid(child, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents_of(folder_ / "out"),
            contents_of(folder_ / "err")};
  }

  Outcome run(const std::map<std::string, std::string>& changes) { return finish(start(changes)); }

  TemporaryFolder folder_;
};

TEST_F(CollectOverMpi, EachRankWaitsForThoseThatStartLater) {
  const Outcome outcome = run({{"--samples", "6"}, {"--seed", "3"}});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("6 samples, 6 of them new"));
  const std::vector<Sample> samples = samples_of(folder_ / "data/data.txt");
  ASSERT_EQ(samples.size(), 6U);
  double latest = 0.0;
  for (const Sample& sample : samples) {
    ASSERT_EQ(sample.columns.size(), 4U);
    for (const auto& column : sample.columns) ASSERT_EQ(column.size(), std::size_t{kRanks});
    const std::vector<double>& dims = sample.columns[0];
    const std::vector<double>& offsets = sample.columns[1];
    double last = 0.0;  // Of those that have something to send.
    for (int r = 0; r < kRanks; ++r) {
      if (dims[r] > 0) last = std::max(last, offsets[r]);
    }
    latest = std::max(latest, last);
    for (int r = 0; r < kRanks; ++r) {
      // Nobody is done before the last has started. Files have 9 digits.
      EXPECT_GE(sample.columns[2][r], last - offsets[r] - 1e-6);
      EXPECT_GT(sample.columns[2][r], 0.0);
      EXPECT_GT(sample.columns[3][r], 0.0);
    }
  }
  EXPECT_GT(latest, 0.0);  // Else nothing was tested.
}

TEST_F(CollectOverMpi, DrawsWhatTheOtherBackendsDraw) {
  ASSERT_EQ(run({{"--samples", "5"}, {"--seed", "8"}}).code, kExitOk);
  ASSERT_EQ(run_command("collect", {"comm", "--backend", "analytic", "--devices", "4", "--output",
                                    folder_ / "analytic", "--samples", "5", "--seed", "8",
                                    "--max-start-offset-ms", "6"})
                .code,
            kExitOk);
  const std::vector<Sample> measured = samples_of(folder_ / "data/data.txt");
  const std::vector<Sample> analytic = samples_of(folder_ / "analytic/data.txt");
  ASSERT_EQ(measured.size(), analytic.size());
  for (std::size_t i = 0; i < measured.size(); ++i) {
    EXPECT_EQ(measured[i].columns[0], analytic[i].columns[0]);
    EXPECT_EQ(measured[i].columns[1], analytic[i].columns[1]);
  }
}

// Processes that `parent` has started.
std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream status(entry.path() / "status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("PPid:") && std::stol(line.substr(5)) == parent) {
        children.push_back(static_cast<pid_t>(std::stol(name)));
      }
    }
  }
  return children;
}

TEST_F(CollectOverMpi, GoesOnAfterARankWasKilled) {
  const std::string log = folder_ / "data/data.txt";
  const pid_t mpirun = start({{"--samples", "100000"}});
  bool killed = false;
  // Ends at the latest when mpirun does.
  while (!killed && ::waitpid(mpirun, nullptr, WNOHANG) == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::error_code none;
    if (std::filesystem::file_size(log, none) < 200 || none) continue;
    const std::vector<pid_t> ranks = children_of(mpirun);
    if (ranks.empty()) continue;
    killed = ::kill(ranks.front(), SIGKILL) == 0;
  }
  ASSERT_TRUE(killed) << contents_of(folder_ / "err");
  EXPECT_NE(finish(mpirun).code, kExitOk);
  // As if a power cut had torn the last line.
  std::string before = contents_of(log);
  ASSERT_FALSE(before.empty());
  std::filesystem::resize_file(log, before.size() - 3);
  before.resize(before.rfind('\n', before.size() - 2) + 1);
  const std::size_t whole = lines_of(before).size();

  const Outcome outcome = run({{"--samples", std::to_string(whole + 3)}});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("had not finished"));
  EXPECT_THAT(outcome.out, HasSubstr("3 of them new"));
  EXPECT_THAT(contents_of(log), StartsWith(before));
  EXPECT_EQ(samples_of(log).size(), whole + 3);
}

TEST_F(CollectOverMpi, BadOptionsEndAllRanksWithOneMessage) {
  const std::vector<std::tuple<std::string, std::string, std::string>> bad = {
      {"--devices", "5", "mpirun has started 4 ranks"},
      {"--batch", "3", "--batch is 3"},
      {"--iterations", "0", "0 iterations"},
  };
  for (const auto& [name, value, reason] : bad) {
    const Outcome outcome = run({{name, value}});
    EXPECT_NE(outcome.code, kExitOk);
    const std::size_t first = outcome.err.find(reason);
    ASSERT_NE(first, std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find(reason, first + 1), std::string::npos) << outcome.err;
  }
  EXPECT_THAT(folder_.names(), UnorderedElementsAre("err", "out"));
}

}  // namespace
}  // namespace neuroshard::tools
