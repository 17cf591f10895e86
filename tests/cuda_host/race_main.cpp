// Tests of cuda_host_race_tests fail if the kernels that they execute race.
#include <gtest/gtest.h>

#include "cuda_host/race_checker.h"

namespace {

class FailsOnRaces : public ::testing::EmptyTestEventListener {
  void OnTestStart(const ::testing::TestInfo& /*test*/) override { host_cuda::watch_for_races(); }
  void OnTestEnd(const ::testing::TestInfo& test) override {
    for (const std::string& race : host_cuda::take_races()) {
      ADD_FAILURE() << test.name() << ": " << race;
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  // Before the printer, or failures at the end of a test would come too late.
  ::testing::TestEventListeners& listeners = ::testing::UnitTest::GetInstance()->listeners();
  auto* printer = listeners.Release(listeners.default_result_printer());
  listeners.Append(new FailsOnRaces);
  listeners.Append(printer);
  return RUN_ALL_TESTS();
}
