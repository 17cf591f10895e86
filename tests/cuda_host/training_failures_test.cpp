// Tests what `train --backend cuda` says and leaves behind where it cannot train.
#include <gmock/gmock.h>

#include "cuda_host/host_cuda_test.h"
#include "cuda_host/plain_blas.h"
#include "message_of.h"
#include "neuroshard/cuda_training.h"
#include "neuroshard/error.h"

namespace neuroshard {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

template <typename Action>
std::string backend_message_of(const Action& action) {
  return testing::message_of(action, ErrorKind::kBackend);
}

class TrainingFailures : public testing::HostCudaTest {
 protected:
  void TearDown() override {
    host_cuda::set_cublas_found(true);
    HostCudaTest::TearDown();
  }
};

CommSamples samples() {
  CommSamples two;
  two.devices = 2;
  for (int s = 0; s < 40; ++s) {
    two.dim_sums.insert(two.dim_sums.end(), {s, 40 - s});
    two.start_offsets_ms.insert(two.start_offsets_ms.end(), 2, 0.0F);
    two.forward_ms.insert(two.forward_ms.end(), {1.0F + s, 2.0F});
    two.backward_ms.insert(two.backward_ms.end(), {1.0F, 1.0F + s});
  }
  return two;
}

TrainedComm train(const TrainingOptions& options) {
  const CommSamples two = samples();
  return train_comm(std::span(&two, 1), {}, options);
}

TEST_F(TrainingFailures, WithoutADevice) {
  host_cuda::reset({.devices = 0});
  EXPECT_THAT(backend_message_of([] { (void)make_cuda_training(); }),
              AllOf(HasSubstr("no CUDA device can be used"), HasSubstr("--backend cpu")));
}

TEST_F(TrainingFailures, OnADeviceThatIsTooOld) {
  host_cuda::reset({.compute_capability = 70});
  EXPECT_THAT(backend_message_of([] { (void)make_cuda_training(); }),
              HasSubstr("no CUDA device can be used"));
}

TEST_F(TrainingFailures, WithoutCublas) {
  host_cuda::set_cublas_found(false);
  EXPECT_THAT(backend_message_of([] { (void)make_cuda_training(); }),
              AllOf(HasSubstr("cuBLAS"), HasSubstr("LD_LIBRARY_PATH")));
}

TEST_F(TrainingFailures, ADeviceThatFailsEndsTraining) {
  for (const int launches : {0, 3, 20, 150}) {
    SCOPED_TRACE(launches);
    host_cuda::reset();
    TrainingOptions options{
        .epochs = 20, .batch = 10, .threads = 1, .backend = make_cuda_training()};
    host_cuda::fail_after(launches);
    EXPECT_THAT(backend_message_of([&] { (void)train(options); }),
                HasSubstr("illegal memory access"));
  }
  host_cuda::reset();
}

TEST_F(TrainingFailures, WithoutMemory) {
  TrainingOptions options{.threads = 1, .backend = make_cuda_training()};
  host_cuda::fail_allocations(true);
  EXPECT_THAT(backend_message_of([&] { (void)train(options); }), HasSubstr("free device memory"));
}

}  // namespace
}  // namespace neuroshard
