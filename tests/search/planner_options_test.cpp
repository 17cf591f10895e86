#include "search/planner_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "message_of.h"
#include "neuroshard/backend.h"
#include "neuroshard/cuda_backend.h"
#include "neuroshard/planner.h"
#include "neuroshard/weights.h"

namespace neuroshard {
namespace {

using neuroshard::testing::message_of;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class BackendChoice : public ::testing::Test {
 protected:
  BackendChoice() {
    if (const char* value = ::getenv(kName)) before_ = value;
  }
  ~BackendChoice() override { ::setenv(kName, before_.c_str(), 1); }

  static constexpr const char* kName = "NEUROSHARD_BACKEND";
  std::string before_;
};

TEST_F(BackendChoice, EnvironmentDecidesWhereTheOptionDoesNot) {
  ::setenv(kName, "scalar", 1);
  EXPECT_EQ(Planner(builtin_weights()).backend(), "scalar");
  EXPECT_EQ(chosen_backend("auto"), "scalar");
  EXPECT_EQ(chosen_backend("cuda"), "cuda");
  ::setenv(kName, "", 1);
  EXPECT_EQ(chosen_backend("auto"), "auto");
  ::unsetenv(kName);
  EXPECT_EQ(chosen_backend("auto"), "auto");
  EXPECT_EQ(Planner(builtin_weights(), {.backend = "scalar"}).backend(), "scalar");
}

TEST_F(BackendChoice, PrefersTheGpuThenTheOrderOfTheCpuBackends) {
  std::vector<std::string> expected{"cuda"};
  for (const std::string& name : cpu_backends()) expected.push_back(name);
  EXPECT_EQ(backends(), expected);
  ::unsetenv(kName);
  const std::vector<std::string> available = available_cpu_backends();
  const std::string_view automatic = Planner(builtin_weights()).backend();
  EXPECT_EQ(automatic, automatic == kCudaBackend ? kCudaBackend : available.front());
}

TEST_F(BackendChoice, UnknownNamesAreErrors) {
  ::unsetenv(kName);
  const std::string option = message_of([] { Planner(builtin_weights(), {.backend = "gpu"}); });
  EXPECT_THAT(option, StartsWith("there is no backend 'gpu'; use auto, "));
  for (const std::string& name : backends()) EXPECT_THAT(option, HasSubstr(name));
  ::setenv(kName, "abacus", 1);
  EXPECT_THAT(message_of([] { Planner planner(builtin_weights()); }),
              StartsWith("NEUROSHARD_BACKEND: there is no backend 'abacus'"));
}

}  // namespace
}  // namespace neuroshard
