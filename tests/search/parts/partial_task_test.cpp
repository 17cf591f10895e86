#include "search/parts/partial_task.h"

#include <gmock/gmock.h>

namespace neuroshard {
namespace {

using ::testing::ElementsAre;

std::vector<TableGroup> groups_of_five() {
  return {{.name = "a", .tables = {0, 3}, .keep = Keep::kTogether},
          {.name = "b", .tables = {4, 1, 2}, .keep = Keep::kApart}};
}

TEST(PartialTask, KeepsGroupsOfTheTablesThatAreLeft) {
  Task whole;
  whole.tables.assign(5, {.name = "", .rows = 10, .dim = 8});
  whole.devices = 2;
  whole.memory_bytes = 1000;
  whole.groups = groups_of_five();
  const PartialTask part = task_without(whole, {0, 2});
  EXPECT_THAT(part.tables, ElementsAre(1, 3, 4));
  ASSERT_EQ(part.task.groups.size(), 1U);
  EXPECT_EQ(part.task.groups[0], (TableGroup{.name = "b", .tables = {2, 0}, .keep = Keep::kApart}));
}

TEST(PartialTask, PartsOfTablesAreInTheirGroups) {
  // Table 1 is two parts.
  const std::vector<int> first_parts = {0, 1, 3, 4, 5, 6};
  const std::vector<TableGroup> groups = groups_of_parts(groups_of_five(), first_parts);
  ASSERT_EQ(groups.size(), 6U);
  EXPECT_EQ(groups[0], (TableGroup{.name = "a", .tables = {0, 4}, .keep = Keep::kTogether}));
  std::vector<std::vector<int>> pairs;
  for (std::size_t g = 1; g < groups.size(); ++g) {
    EXPECT_EQ(groups[g].keep, Keep::kApart);
    pairs.push_back(groups[g].tables);
  }
  EXPECT_THAT(pairs, ElementsAre(ElementsAre(5, 1), ElementsAre(5, 2), ElementsAre(5, 3),
                                 ElementsAre(1, 3), ElementsAre(2, 3)));
}

}  // namespace
}  // namespace neuroshard
