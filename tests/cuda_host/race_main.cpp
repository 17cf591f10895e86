// Tests of cuda_host_race_tests fail if the kernels that they execute race. Calls that order
// threads can be left out at one place of a kernel, to see whether they then do
// (delete_barriers.py):
//   --leave-out FILE:LINE
//   --list-places    says of each test its milliseconds, and the places that it comes by
#include <gtest/gtest.h>

#include <iostream>
#include <string_view>

#include "cuda_host/host_cuda.h"
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

class ListsPlaces : public ::testing::EmptyTestEventListener {
  void OnTestStart(const ::testing::TestInfo& /*test*/) override {
    (void)host_cuda::take_reached();
  }
  void OnTestEnd(const ::testing::TestInfo& test) override {
    std::cout << "places: " << test.test_suite_name() << '.' << test.name() << ' '
              << test.result()->elapsed_time();
    for (const std::string& place : host_cuda::take_reached()) std::cout << ' ' << place;
    std::cout << '\n';
  }
};

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  // Before the printer, or failures at the end of a test would come too late.
  ::testing::TestEventListeners& listeners = ::testing::UnitTest::GetInstance()->listeners();
  auto* printer = listeners.Release(listeners.default_result_printer());
  listeners.Append(new FailsOnRaces);
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--list-places") listeners.Append(new ListsPlaces);
    if (argument == "--leave-out" && i + 1 < argc) host_cuda::leave_out(argv[++i]);
  }
  listeners.Append(printer);
  return RUN_ALL_TESTS();
}
