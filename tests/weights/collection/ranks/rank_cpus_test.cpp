#include "weights/collection/ranks/rank_cpus.h"

#include <gtest/gtest.h>
#include <sched.h>

namespace neuroshard::ranks {
namespace {

using Cpus = std::vector<int>;

TEST(RankCpus, RanksGetEqualPartsOfWholeCores) {
  // Four cores of two CPUs each.
  const Cpus cpus = {0, 4, 1, 5, 2, 6, 3, 7};
  const Cpus cores = {0, 0, 1, 1, 2, 2, 3, 3};
  EXPECT_EQ(cpus_of_rank(cpus, cores, 0, 2), (Cpus{0, 4, 1, 5}));
  EXPECT_EQ(cpus_of_rank(cpus, cores, 1, 2), (Cpus{2, 6, 3, 7}));
  EXPECT_EQ(cpus_of_rank(cpus, cores, 2, 3), (Cpus{2, 6}));  // The last core is left over.
  EXPECT_EQ(cpus_of_rank(cpus, cores, 3, 4), (Cpus{3, 7}));
  EXPECT_EQ(cpus_of_rank(cpus, cores, 4, 8), (Cpus{2}));  // CPUs, where cores are too few.
  EXPECT_EQ(cpus_of_rank(cpus, cores, 5, 6), (Cpus{6}));
  EXPECT_EQ(cpus_of_rank(cpus, cores, 0, 9), Cpus{});
  EXPECT_EQ(cpus_of_rank({}, {}, 0, 1), Cpus{});
}

TEST(RankCpus, GivesBackWhatTheThreadHadBefore) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  {
    const RankCpus pinned(0, 2);
    cpu_set_t within;
    ASSERT_EQ(::sched_getaffinity(0, sizeof within, &within), 0);
    if (CPU_COUNT(&before) >= 2) {
      EXPECT_LT(CPU_COUNT(&within), CPU_COUNT(&before));
    }
  }
  cpu_set_t after;
  ASSERT_EQ(::sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

}  // namespace
}  // namespace neuroshard::ranks
