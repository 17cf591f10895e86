// RankIteration over processes; tests/weights/measurement/ has the same over threads.
#include <gtest/gtest.h>

#include "weights/collection/ranks/group.h"
#include "weights/measurement/training_case.h"

namespace neuroshard::ranks {
namespace {

TEST(MpiIteration, TrainsRandomPlansAsAnUnshardedOperatorDoes) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(seed);
    TrainingCase test(group().size(), random_plan(group().size(), seed));
    train_and_check(group(), test);
  }
}

}  // namespace
}  // namespace neuroshard::ranks
