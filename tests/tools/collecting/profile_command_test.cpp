#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "core/base/random.h"
#include "core/tables/access_statistics.h"
#include "neuroshard/table_configs.h"
#include "tools/run_command.h"
#include "weights/lookups/npy_writer.h"

namespace neuroshard::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

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
}

// Profiles so many samples of lookups that are always drawn in the same way; what the file says is
// in `text`.
Table profiled(std::int64_t samples, std::string& text) {
  constexpr double kRows = 200'000.0;
  const TemporaryFolder folder;
  Random random(1);
  std::vector<std::int64_t> ids(static_cast<std::size_t>(samples));
  for (std::int64_t& id : ids)
    id = static_cast<std::int64_t>(kRows * std::pow(random.uniform(), 3));
  ids[0] = static_cast<std::int64_t>(kRows) - 1;
  NpyWriter indices(folder / "indices.npy", {samples});
  indices.write(ids);
  indices.commit();
  NpyWriter lengths(folder / "lengths.npy", {1, samples});
  lengths.write(std::vector<std::int64_t>(static_cast<std::size_t>(samples), 1));
  lengths.commit();
  EXPECT_EQ(run_command("profile", {folder / "indices.npy", "--lengths", folder / "lengths.npy",
                                    "--output", folder / "configs.json"})
                .code,
            kExitOk);
  text = contents_of(folder / "configs.json");
  return load_table_configs(folder / "configs.json").tables.at(0);
}

// However many samples were recorded, 65,536 of them are taken to touch as many rows.
TEST(Profile, SaysOfWhichBatchBinsAreAndReadersRescaleThem) {
  std::string text;
  const double whole = access_profile(profiled(65536, text), 65536.0).distinct_rows;
  EXPECT_THAT(text, Not(HasSubstr("bin_batch_size")));
  for (const int samples : {8192, 262'144}) {
    SCOPED_TRACE(samples);
    const Table table = profiled(samples, text);
    EXPECT_THAT(text, HasSubstr("\"bin_batch_size\":" + std::to_string(samples)));
    EXPECT_NEAR(access_profile(table, 65536.0).distinct_rows / whole, 1.0, 0.06);
  }
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
