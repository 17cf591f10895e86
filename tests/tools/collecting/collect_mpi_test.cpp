// `collect --backend mpi` really run, with 4 ranks on this machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>
#include <sstream>
#include <thread>
#include <tuple>

#include "tools/over_mpi.h"

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

class CollectOverMpi : public OverMpi {
 protected:
  // Options of a small run, with `changes`.
  pid_t start(const std::map<std::string, std::string>& changes) {
    std::map<std::string, std::string> options = {{"--output", folder_ / "data"},
                                                  {"--batch", "1000"},
                                                  {"--warm-up", "1"},
                                                  {"--iterations", "2"},
                                                  {"--max-start-offset-ms", "6"}};
    for (const auto& [name, value] : changes) options[name] = value;
    std::vector<std::string> arguments = {"collect", "comm", "--backend", "mpi"};
    for (const auto& [name, value] : options) {
      arguments.push_back(name);
      arguments.push_back(value);
    }
    return start_program(kRanks, arguments);
  }

  Outcome run(const std::map<std::string, std::string>& changes) { return finish(start(changes)); }
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
    double last = 0.0;  // Last offset of those that have something to send.
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

TEST_F(CollectOverMpi, AStoppedRankEndsTheRunAndWhatIsLoggedStays) {
  const std::string log = folder_ / "data/data.txt";
  const pid_t mpirun = start({{"--samples", "100000"}, {"--rank-timeout-s", "6"}});
  bool stopped = false;
  while (!stopped && ::waitpid(mpirun, nullptr, WNOHANG) == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::error_code none;
    if (std::filesystem::file_size(log, none) < 200 || none) continue;
    const std::vector<pid_t> ranks = children_of(mpirun);
    const auto second = std::ranges::find(ranks, 1, rank_of);
    stopped = second != ranks.end() && ::kill(*second, SIGSTOP) == 0;
  }
  ASSERT_TRUE(stopped) << contents_of(folder_ / "err");
  int status = 0;
  ASSERT_TRUE(ends_by_itself(mpirun, status)) << contents_of(folder_ / "err");
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == kExitBadInput) << status;
  EXPECT_THAT(contents_of(folder_ / "err"), HasSubstr("have waited 6 s for rank 1 on "));
  EXPECT_FALSE(samples_of(log).empty());
}

TEST_F(CollectOverMpi, MeasuresAllReduces) {
  const Outcome outcome = finish(start_program(
      kRanks, {"collect", "all-reduce", "--backend", "mpi", "--samples", "6", "--max-bytes",
               "65536", "--warm-up", "1", "--iterations", "2", "--output", folder_ / "data"}));
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  const std::vector<Sample> samples = samples_of(folder_ / "data/data.txt");
  ASSERT_EQ(samples.size(), 6U);
  for (const Sample& sample : samples) {
    ASSERT_EQ(sample.columns.size(), 3U);
    EXPECT_EQ(sample.columns[0][0], kRanks);
    EXPECT_GE(sample.columns[1][0], 1024.0);
    EXPECT_LE(sample.columns[1][0], 65536.0);
    EXPECT_GT(sample.columns[2][0], 0.0);
  }
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
