// `collect compute --backend cuda` from its options to its files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cuda_host/host_cuda.h"
#include "tools/run_command.h"

namespace neuroshard::tools {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class CollectOnCuda : public ::testing::Test {
 protected:
  void SetUp() override { host_cuda::reset({.devices = 2}); }
  void TearDown() override { host_cuda::reset(); }

  std::vector<std::string> arguments(const std::string& samples,
                                     const std::vector<std::string>& more = {}) {
    const std::string histogram = [] {
      std::string bins;
      for (int bin = 0; bin < 17; ++bin) {
        bins += ", \"bin_" + std::to_string(bin) + "\": " + (bin == 0 ? "1.0" : "0.0");
      }
      return bins;
    }();
    std::string tables;
    for (int t = 0; t < 5; ++t) {
      tables += std::string(t == 0 ? "[" : ", ") + "{\"row\": " + std::to_string(200 + 100 * t) +
                ", \"pooling_factor\": 1.5" + histogram + "}";
    }
    std::vector<std::string> all = {"compute",
                                    "--backend",
                                    "cuda",
                                    "--table-configs",
                                    folder_.write("tables.json", tables + "]"),
                                    "--output",
                                    folder_ / "data",
                                    "--samples",
                                    samples,
                                    "--batch",
                                    "20",
                                    "--max-tables",
                                    "3",
                                    "--max-dim",
                                    "16",
                                    "--memory-gb",
                                    "0.001",
                                    "--warm-up",
                                    "1",
                                    "--iterations",
                                    "2"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  TemporaryFolder folder_;
};

TEST_F(CollectOnCuda, MeasuresAndResumes) {
  Outcome outcome = run_command("collect", arguments("8"));
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("8 samples, 8 of them new"), HasSubstr("copy within"),
                                 HasSubstr("forward"), HasSubstr("backward")));
  EXPECT_THAT(contents_of(folder_ / "data/collection.json"),
              AllOf(HasSubstr("host-executed CUDA"), HasSubstr("\"cuda\"")));
  const std::string first = contents_of(folder_ / "data/data.txt");
  std::filesystem::resize_file(folder_ / "data/data.txt", first.size() - 2);

  outcome = run_command("collect", arguments("11", {"--devices", "1"}));
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("11 samples, 4 of them new"));
  EXPECT_THAT(outcome.err, HasSubstr("not finished"));
  EXPECT_EQ(lines_of(contents_of(folder_ / "data/data.txt")).size(), 11U);
}

TEST_F(CollectOnCuda, ReportsTheBandwidthOfEachDim) {
  const Outcome outcome = run_command("collect", arguments("0", {"--report-bandwidth"}));
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("dim 16, 3 tables"), HasSubstr("dim 8, 3 tables"),
                                 HasSubstr("dim 4, 3 tables"), Not(HasSubstr("copy within"))));
}

TEST_F(CollectOnCuda, AFailedDeviceEndsTheRunAndLeavesWholeLines) {
  host_cuda::fail_after(14, 1);
  Outcome outcome = run_command("collect", arguments("40"));
  EXPECT_EQ(outcome.code, kExitBadInput);
  EXPECT_THAT(outcome.err, HasSubstr("illegal memory access"));
  const std::string log = contents_of(folder_ / "data/data.txt");
  EXPECT_TRUE(log.empty() || log.back() == '\n');
  host_cuda::reset({.devices = 2});
  outcome = run_command("collect", arguments("40"));
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(contents_of(folder_ / "data/data.txt"), HasSubstr(log));
}

TEST_F(CollectOnCuda, WithoutADeviceThereIsNoFolder) {
  host_cuda::reset({.devices = 0});
  const Outcome outcome = run_command("collect", arguments("8"));
  EXPECT_EQ(outcome.code, kExitBadInput);
  EXPECT_THAT(outcome.err, HasSubstr("no CUDA device can be used"));
  EXPECT_THAT(folder_.names(), UnorderedElementsAre("tables.json"));
}

}  // namespace
}  // namespace neuroshard::tools
