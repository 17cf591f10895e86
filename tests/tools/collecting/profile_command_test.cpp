#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "neuroshard/table_configs.h"
#include "tools/run_command.h"

namespace neuroshard::tools {
namespace {

using ::testing::HasSubstr;

// What `generate` says of its tables is what `profile` finds in their lookups, to the last bit.
TEST(Profile, FindsInGeneratedLookupsWhatGenerateSays) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_command("generate", {"--count", "30", "--batch", "512", "--row-scale", "0.01",
                                     "--streams", "--output", folder / "t"})
                .code,
            kExitOk);
  const Outcome outcome =
      run_command("profile", {folder / "t/indices.npy", "--lengths", folder / "t/lengths.npy"});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("30 tables, batch 512"));
  // A table never looked up has as many rows as its profile can show: 100.
  std::istringstream found(outcome.out);
  std::istringstream said(contents_of(folder / "t/table_configs.json"));
  int differences = 0;
  for (std::string a, b; std::getline(found, a, '}') && std::getline(said, b, '}');) {
    if (a == b) continue;
    EXPECT_THAT(a, HasSubstr("\"row\":100,\"pooling_factor\":0.0"));
    EXPECT_THAT(b, HasSubstr("\"pooling_factor\":0.0"));
    ++differences;
  }
  EXPECT_LE(differences, 3);
}

TEST(Profile, WritesRowSharesThatTasksRead) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_command("generate", {"--count", "5", "--batch", "512", "--row-scale", "0.01",
                                     "--streams", "--output", folder / "t"})
                .code,
            kExitOk);
  const Outcome outcome =
      run_command("profile", {folder / "t/indices.npy", "--lengths", folder / "t/lengths.npy",
                              "--row-parts", "8", "--output", folder / "configs.json"});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  const TableConfigs configs = load_table_configs(folder / "configs.json");
  ASSERT_EQ(configs.tables.size(), 5U);
  for (const Table& table : configs.tables) {
    EXPECT_EQ(table.row_shares.size(), table.pooling_factor > 0.0 ? 8U : 0U);
    if (table.row_shares.empty()) continue;
    const double all = std::accumulate(table.row_shares.begin(), table.row_shares.end(), 0.0);
    EXPECT_NEAR(all, 1.0, 1e-12);
  }
  EXPECT_EQ(serialize_table_configs(configs.tables, false), contents_of(folder / "configs.json"));
}

TEST(Profile, RefusesOptionsThatDoNotFitTogether) {
  const TemporaryFolder folder;
  const std::string output = folder / "out.json";
  const std::vector<std::vector<std::string>> bad = {
      {"a.npy"},
      {"a.npy", "--lengths", "b.npy", "--offsets", "c.npy"},
      {"a.npy", "--offsets", "c.npy"},
      {"a.npy", "--lengths", "c.npy", "--batch", "3"},
      {"a.pt", "--lengths", "c.npy"},
      {"a.npy", "--lengths", "c.npy", "--row-parts", "0"},
      {"a.npy", "--lengths", "c.npy", "--row-parts", "1025"},
      {"/nonexistent/a.pt"},
  };
  for (std::vector<std::string> arguments : bad) {
    arguments.insert(arguments.end(), {"--output", output});
    const Outcome outcome = run_command("profile", arguments);
    EXPECT_EQ(outcome.code, kExitBadInput);
    EXPECT_THAT(outcome.err, HasSubstr("neuroshard: error: "));
  }
  EXPECT_TRUE(folder.names().empty());
}

}  // namespace
}  // namespace neuroshard::tools
