#include "weights/collection/collection_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/tables/table_kind.h"
#include "message_of.h"
#include "neuroshard/task_file.h"
#include "temporary_folder.h"
#include "weights/lookups/random_tables.h"

namespace neuroshard {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

std::vector<Table> tables_of_many_dims() {
  Random random(21);
  std::vector<Table> tables;
  for (int i = 0; i < 5; ++i) tables.push_back(random_table(random, 4 << i));
  return tables;
}

TEST(TableConfigs, AreReadBackAsTheyWere) {
  const std::vector<Table> tables = tables_of_many_dims();
  const TableConfigs read = parse_table_configs(serialize_table_configs(tables, true), "here");
  ASSERT_EQ(read.tables.size(), tables.size());
  for (std::size_t t = 0; t < tables.size(); ++t) {
    EXPECT_EQ(kind_of(read.tables[t]), kind_of(tables[t]));
  }
  EXPECT_THAT(serialize_table_configs(tables, false), ::testing::Not(HasSubstr("dim")));
}

TEST(PrepareCollection, SaysWhereSamplesComeFrom) {
  const TemporaryFolder folder;
  const std::filesystem::path data = folder / "new/data";
  const std::vector<Table> tables = tables_of_many_dims();
  prepare_collection(data, {{"source", "analytic"}, {"seed", "3"}}, tables);
  EXPECT_THAT(contents_of(data / "collection.json"), HasSubstr("\"source\": \"analytic\""));
  EXPECT_EQ(contents_of(data / "table_configs.json"), serialize_table_configs(tables, true));
  EXPECT_NO_THROW(prepare_collection(data, {{"source", "analytic"}, {"seed", "3"}}, tables));
}

TEST(PrepareCollection, RefusesToMixSamples) {
  const TemporaryFolder folder;
  std::vector<Table> tables = tables_of_many_dims();
  const std::filesystem::path data = folder / "data";
  prepare_collection(data, {{"source", "analytic"}, {"seed", "3"}}, tables);
  const auto error_of = [&](const std::filesystem::path& to, const CollectionDescription& of) {
    return testing::message_of([&] { prepare_collection(to, of, tables); });
  };
  EXPECT_THAT(error_of(data, {{"source", "cpu"}, {"seed", "3"}}),
              ::testing::AllOf(HasSubstr("source 'analytic'"), HasSubstr("'cpu'")));
  EXPECT_THAT(error_of(data, {{"source", "analytic"}}), HasSubstr("seed"));
  tables[0].rows += 1;
  EXPECT_THAT(error_of(data, {{"source", "analytic"}, {"seed", "3"}}), HasSubstr("other tables"));

  folder.write("data.txt", "1 2\n");
  tables.clear();
  EXPECT_THAT(error_of(folder / "", {{"source", "cpu"}}), HasSubstr("no collection.json"));
  EXPECT_THAT(folder.names(), UnorderedElementsAre("data", "data.txt"));
}

}  // namespace
}  // namespace neuroshard
