// Memory that runs out while training: std::bad_alloc, whatever thread it met, and never the end of
// the process. In the program that replaces operator new.
#include <gtest/gtest.h>

#include "neuroshard/training.h"
#include "neuroshard/weights.h"
#include "search/counted_allocations.h"
#include "weights/training/golden_samples.h"

namespace neuroshard {
namespace {

// The first allocations one by one, later ones, which are those of every epoch, in steps.
template <typename Train>
void fail_allocations_of(const Train& train) {
  testing::fail_allocations([](std::size_t n) { return n + (n < 60 ? 1 : 23); }, train, [] {}, 50);
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
