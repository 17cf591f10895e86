// Memory that runs out while training: std::bad_alloc, whatever thread it met, and never the end of
// the process. In the program that replaces operator new.
#include <gtest/gtest.h>

#include <new>

#include "neuroshard/training.h"
#include "neuroshard/weights.h"
#include "search/counted_allocations.h"
#include "weights/training/golden_samples.h"

namespace neuroshard {
namespace {

using testing::allocation_has_failed;
using testing::fail_allocation;

// The first allocations one by one, later ones, which are those of every epoch, in steps.
template <typename Train>
void fail_allocations_of(const Train& train) {
  int thrown = 0;
  for (std::size_t n = 1;; n += n < 60 ? 1 : 23) {
    SCOPED_TRACE(n);
    fail_allocation(n);
    try {
      train();
    } catch (const std::bad_alloc&) {
      ++thrown;
    }
    const bool failed = allocation_has_failed();
    fail_allocation(0);
    if (!failed) break;
  }
  EXPECT_GT(thrown, 50);
}

TrainingOptions small_training() {
  return {.epochs = 2, .batch = 64, .threads = 2, .on_state = [](const std::string&) {}};
}

TEST(FailedAllocationsInTraining, OfAComputeModelAreReported) {
  ComputeSamples samples = testing::golden_compute_samples();
  samples.cut_to(60);
  fail_allocations_of([&] {
    (void)train_compute(samples, {.table_network = {8, 4}, .head = {4}}, small_training());
  });
}

TEST(FailedAllocationsInTraining, OfACommunicationModelAreReported) {
  const auto samples = std::span(testing::golden_comm_samples()).first(1);
  fail_allocations_of([&] {
    (void)train_comm(samples, {CommArchitecture::kSymmetric, {4}}, small_training());
  });
}

}  // namespace
}  // namespace neuroshard
