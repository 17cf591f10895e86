#include "weights/collection/ranks/launched_rank.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "message_of.h"

namespace neuroshard::ranks {
namespace {

using ::testing::HasSubstr;

class LaunchedRankTest : public ::testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }
  static void clear() {
    for (const char* name :
         {"NEUROSHARD_RANK", "NEUROSHARD_RANKS", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
          "PMI_RANK", "PMI_SIZE", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}) {
      ::unsetenv(name);
    }
  }
  static void set(const std::string& name, const std::string& value) {
    ::setenv(name.c_str(), value.c_str(), 1);
  }
};

TEST_F(LaunchedRankTest, IsWhatTheLauncherSays) {
  EXPECT_EQ(launched_rank().size, 1);
  // Each counts for more than those before it: mpirun may run within a job of Slurm.
  const std::vector<std::pair<std::string, std::string>> launchers = {
      {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
      {"PMI_RANK", "PMI_SIZE"},
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
      {"NEUROSHARD_RANK", "NEUROSHARD_RANKS"}};
  for (std::size_t i = 0; i < launchers.size(); ++i) {
    set(launchers[i].first, std::to_string(i + 2));
    set(launchers[i].second, std::to_string(i + 5));
    EXPECT_EQ(launched_rank().rank, static_cast<int>(i + 2));
    EXPECT_EQ(launched_rank().size, static_cast<int>(i + 5));
  }
}

TEST_F(LaunchedRankTest, ABatchScriptOfSlurmIsNoRank) {
  set("SLURM_PROCID", "0");
  set("SLURM_NTASKS", "8");
  EXPECT_EQ(launched_rank().size, 1);
  ::unsetenv("SLURM_NTASKS");
}

TEST_F(LaunchedRankTest, HalfOfOurOwnVariablesIsAnError) {
  set("PMI_RANK", "1");
  set("PMI_SIZE", "2");
  for (const auto& [one, other] : {std::pair("NEUROSHARD_RANK", "NEUROSHARD_RANKS"),
                                   std::pair("NEUROSHARD_RANKS", "NEUROSHARD_RANK")}) {
    set(one, "3");
    EXPECT_EQ(
        testing::message_of([] { (void)launched_rank(); }),
        std::string("the environment has ") + one + ", but no " + other + "; set both, or none");
    ::unsetenv(one);
  }
}

TEST_F(LaunchedRankTest, NonsenseIsAnErrorThatNamesTheVariable) {
  set("PMI_SIZE", "4");
  for (const char* rank : {"4", "-1", "two", "1x", ""}) {
    set("PMI_RANK", rank);
    EXPECT_THAT(testing::message_of([] { (void)launched_rank(); }), HasSubstr("PMI_RANK")) << rank;
  }
}

}  // namespace
}  // namespace neuroshard::ranks
