// `train --backend cuda` from its options to its files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cuda_host/host_cuda_test.h"
#include "cuda_host/plain_blas.h"
#include "golden.h"
#include "neuroshard/weights.h"
#include "tools/run_command.h"

namespace neuroshard::tools {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class TrainOnCuda : public testing::HostCudaTest {
 protected:
  void SetUp() override {
    HostCudaTest::SetUp();
    ASSERT_EQ(run_command("collect", {"compute", "--backend", "analytic", "--table-configs",
                                      golden("tables/table_configs.json"), "--samples", "60",
                                      "--output", data_ / "compute"})
                  .code,
              kExitOk);
    ASSERT_EQ(run_command("collect", {"comm", "--backend", "analytic", "--devices", "3",
                                      "--samples", "30", "--output", data_ / "comm"})
                  .code,
              kExitOk);
  }
  void TearDown() override {
    host_cuda::set_cublas_found(true);
    HostCudaTest::TearDown();
  }

  Outcome train(const std::string& kind, std::vector<std::string> more = {}) {
    std::vector<std::string> args{kind,       "--backend",   "cuda",     "--data", data_ / kind,
                                  "--output", folder_ / "w", "--epochs", "2"};
    args.insert(args.end(), more.begin(), more.end());
    return run_command("train", args);
  }

  TemporaryFolder data_;
  TemporaryFolder folder_;
};

TEST_F(TrainOnCuda, BothModelsAndResumes) {
  Outcome outcome = train("compute", {"--table-layers", "12,8", "--head-layers", "8", "--resume"});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("48 training samples, 2 epochs"));
  EXPECT_GT(host_cuda::usage().launches, 10U);
  outcome = train("comm", {"--layers", "8", "--base", folder_ / "w"});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(folder_.names(), UnorderedElementsAre("w"));
  const CostModels models = load_weights(folder_ / "w");
  EXPECT_EQ(models.compute.table_network.outputs(), 8);
  EXPECT_TRUE(models.symmetric_comm.has_value());
}

TEST_F(TrainOnCuda, WithoutADeviceOrCublasNothingIsWritten) {
  host_cuda::set_cublas_found(false);
  Outcome outcome = train("compute");
  EXPECT_EQ(outcome.code, kExitBadInput);
  EXPECT_THAT(outcome.err, HasSubstr("cuBLAS"));
  host_cuda::reset({.devices = 0});
  outcome = train("compute");
  EXPECT_EQ(outcome.code, kExitBadInput);
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("no CUDA device can be used"), HasSubstr("--backend cpu")));
  EXPECT_THAT(folder_.names(), UnorderedElementsAre());
}

}  // namespace
}  // namespace neuroshard::tools
