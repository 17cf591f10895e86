#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "neuroshard/task_file.h"
#include "tools/run_command.h"

namespace neuroshard::tools {
namespace {

using ::testing::HasSubstr;
using testing::UnorderedElementsAre;

TEST(Generate, WritesTablesAndShowsTheirStatistics) {
  const TemporaryFolder folder;
  const std::string output = folder / "tables";
  const Outcome outcome = run_command(
      "generate", {"--count", "40", "--batch", "256", "--row-scale", "0.01", "--output", output});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("pooling_factor"));
  EXPECT_THAT(outcome.out, HasSubstr("published"));
  const TableConfigs configs = load_table_configs(output + "/table_configs.json");
  EXPECT_EQ(configs.tables.size(), 40u);
  EXPECT_EQ(configs.tables[0].dim, 0);
}

TEST(Generate, WritesTheLookupsThatTheTablesDescribe) {
  const TemporaryFolder folder;
  const Outcome outcome = run_command("generate", {"--count", "5", "--batch", "64", "--row-scale",
                                                   "0.01", "--streams", "--output", folder / "t"});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  double lookups = 0.0;
  for (const Table& table : load_table_configs(folder / "t/table_configs.json").tables) {
    lookups += table.pooling_factor * 64.0;
  }
  const std::string indices = contents_of(folder / "t/indices.npy");
  EXPECT_EQ(indices.size() % 64, static_cast<std::size_t>(lookups) * 8 % 64);
  EXPECT_THAT(indices.substr(0, 128),
              HasSubstr("'shape': (" + std::to_string(static_cast<int>(lookups)) + ","));
  EXPECT_EQ(contents_of(folder / "t/lengths.npy").size(), 128u + 5u * 64u * 8u);
}

TEST(Generate, DrawsTablesOfEveryKind) {
  const TemporaryFolder folder;
  const Outcome outcome =
      run_command("generate", {"--wide", "--count", "30", "--output", folder / "wide"});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_EQ(load_table_configs(folder / "wide/table_configs.json").tables.size(), 30u);
}

TEST(Generate, WritesBatchesByZipfsLaw) {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"--count",     "4",          "--batch",   "50",
                                          "--row-scale", "0.001",      "--batches", "3",
                                          "--output",    folder / name};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = run_command("generate", arguments);
    EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("4 tables, 3 batches of 50 samples, "));
    return contents_of(folder / name + "/indices.npy");
  };
  const std::string indices = write("a", {});
  EXPECT_EQ(write("b", {"--zipf", "1.05", "--drift", "0"}), indices);
  EXPECT_NE(write("c", {"--drift", "0.1"}), indices);
  EXPECT_NE(write("d", {"--zipf", "0.5"}), indices);
  EXPECT_EQ(contents_of(folder / "a/lengths.npy").size(), 128U + 4U * 150U * 8U);
  for (const Table& table : load_table_configs(folder / "a/table_configs.json").tables) {
    EXPECT_EQ(table.popularity.empty(), table.pooling_factor == 0.0);
  }
}

TEST(Generate, DrawsTasks) {
  const TemporaryFolder folder;
  const std::string tables = golden("tables/table_configs.json");
  const Outcome outcome =
      run_command("generate", {"--tasks", "7", "--table-configs", tables, "--devices", "4",
                               "--max-dim", "64", "--output", folder / "tasks.txt"});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  const auto tasks = load_task_lines(folder / "tasks.txt", load_table_configs(tables));
  EXPECT_EQ(tasks.size(), 7u);
  for (const TaskFile& task : tasks) {
    EXPECT_GE(task.tables.size(), 10u);
    EXPECT_LT(task.tables.size(), 60u);
  }
}

TEST(Generate, LeavesNothingBehindOnBadInput) {
  const TemporaryFolder folder;
  const std::vector<std::vector<std::string>> bad = {
      {"--count", "0", "--output", folder / "a"},
      {"--wide", "--count", "0", "--output", folder / "a"},
      {"--wide", "--streams", "--output", folder / "a"},
      {"--batch", "0", "--output", folder / "a"},
      {"--wide", "--batches", "3", "--output", folder / "a"},
      {"--batches", "0", "--output", folder / "a"},
      {"--batches", "3", "--drift", "1.5", "--output", folder / "a"},
      {"--batches", "3", "--zipf", "17", "--output", folder / "a"},
      {"--zipf", "1", "--output", folder / "a"},
      {"--drift", "0.1", "--output", folder / "a"},
      {"--tasks", "3", "--output", folder / "a"},
      {"--tasks", "0", "--table-configs", golden("tables/table_configs.json"), "--output",
       folder / "a"},
      {"--tasks", "3", "--table-configs", golden("tables/table_configs.json"), "--memory-gb",
       "0.0001", "--output", folder / "a"},
      {"--table-configs", golden("tables/table_configs.json"), "--output", folder / "a"}};
  for (const auto& arguments : bad) {
    const Outcome outcome = run_command("generate", arguments);
    EXPECT_EQ(outcome.code, kExitBadInput);
    EXPECT_THAT(outcome.err, HasSubstr("neuroshard: error: "));
  }
  EXPECT_THAT(folder.names(), UnorderedElementsAre());
}

}  // namespace
}  // namespace neuroshard::tools
