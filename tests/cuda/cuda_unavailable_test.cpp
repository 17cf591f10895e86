#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "message_of.h"
#include "neuroshard/cuda_backend.h"
#include "neuroshard/cuda_training.h"
#include "neuroshard/error.h"

namespace neuroshard {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(CudaUnavailable, SaysHowToGetTheBackend) {
  if (cuda_backend_built()) GTEST_SKIP() << "this library has the CUDA backend";
  EXPECT_THAT(cuda_devices(), IsEmpty());
  try {
    (void)make_cuda_backend(CostModels{});
    FAIL() << "expected an Error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBackend);
    EXPECT_THAT(error.what(), HasSubstr("NEUROSHARD_CUDA=ON"));
  }
}

TEST(CudaUnavailable, SaysHowToTrain) {
  if (cuda_backend_built()) GTEST_SKIP() << "this library has the CUDA backend";
  EXPECT_THAT(testing::message_of([] { (void)make_cuda_training(); }, ErrorKind::kBackend),
              AllOf(HasSubstr("NEUROSHARD_CUDA=ON"), HasSubstr("--backend cpu")));
}

}  // namespace
}  // namespace neuroshard
