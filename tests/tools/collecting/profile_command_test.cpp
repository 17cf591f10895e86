#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/base/random.h"
#include "core/tables/access_statistics.h"
#include "core/tables/row_popularity.h"
#include "neuroshard/table_configs.h"
#include "tools/run_command.h"
#include "weights/lookups/npy_writer.h"

namespace neuroshard::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// `profile` finds in the lookups of tables what `generate` says of them, to the last bit.
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

// Two samples that look up the same are one bag of one session, and two of two.
TEST(Profile, CountsLookupsThatSessionsRepeatOnce) {
  const TemporaryFolder folder;
  const auto write = [&](const char* name, std::vector<std::int64_t> shape,
                         std::vector<std::int64_t> numbers) {
    NpyWriter file(folder / name, shape);
    file.write(numbers);
    file.commit();
    return folder / name;
  };
  const std::string indices = write("i.npy", {7}, {5, 6, 5, 6, 5, 6, 7});
  const std::string lengths = write("l.npy", {1, 4}, {2, 2, 2, 1});
  const std::string sessions = write("s.npy", {4}, {1, 1, 2, 2});
  const std::vector<std::string> profile = {indices, "--lengths", lengths, "--sessions"};
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = profile;
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_command("profile", arguments);
  };
  const Outcome outcome = run({sessions, "--output", folder / "configs.json"});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.err,
              HasSubstr("7 lookups, 1 with samples that sessions repeat, 1.33 times at most"));
  const Table table = load_table_configs(folder / "configs.json").tables.front();
  EXPECT_EQ(table.features, 0.75);
  EXPECT_EQ(table.pooling_factor, 1.25);
  EXPECT_TRUE(table.popularity.empty());
  EXPECT_THAT(run({sessions, "--sessions", sessions}).err,
              HasSubstr("--sessions is given 2 times for 1 file of indices"));
  EXPECT_THAT(run({lengths}).err, HasSubstr("sessions are [1, 4]; give one for each of the 4"));
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

// Lookups of batches in one file and in files of their own.
class ProfileOfBatches : public ::testing::Test {
 protected:
  ProfileOfBatches() {
    const Outcome outcome =
        run_command("generate", {"--count", "6", "--batch", "200", "--row-scale", "0.002",
                                 "--batches", "20", "--zipf", "0.9", "--output", folder_ / "log"});
    EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
    indices_ = folder_ / "log/indices.npy";
    lengths_ = folder_ / "log/lengths.npy";
  }
  Outcome profile(const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {indices_, "--lengths", lengths_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_command("profile", arguments);
  }

  TemporaryFolder folder_;
  std::string indices_;
  std::string lengths_;
};

TEST_F(ProfileOfBatches, WritesThePopularityOfRows) {
  const Outcome outcome = profile({"--batches", "20", "--output", folder_ / "configs.json"});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("6 tables, 20 batches of 200 samples, "));
  const std::vector<Table> said = load_table_configs(folder_ / "log/table_configs.json").tables;
  const std::vector<Table> found = load_table_configs(folder_ / "configs.json").tables;
  ASSERT_EQ(found.size(), said.size());
  for (std::size_t t = 0; t < said.size(); ++t) {
    SCOPED_TRACE(t);
    EXPECT_EQ(found[t].pooling_factor, said[t].pooling_factor);
    EXPECT_EQ(found[t].popularity.empty(), said[t].pooling_factor == 0.0);
    if (found[t].popularity.empty()) continue;
    // Rows of a batch of as many samples.
    const double rows = RowReuse(said[t], 200.0).looked_up_lately(1.0).in_hbm;
    const double noise = 4.0 * std::sqrt(rows / 20.0);
    EXPECT_NEAR(RowReuse(found[t], 200.0).looked_up_lately(1.0).in_hbm, rows, 0.02 * rows + noise);
    EXPECT_NEAR(access_profile(found[t], kDefaultBatchSize).distinct_rows,
                access_profile(said[t], kDefaultBatchSize).distinct_rows,
                0.2 * static_cast<double>(said[t].rows));
  }
}

TEST_F(ProfileOfBatches, WritesItOfASingleBatchIfAsked) {
  EXPECT_THAT(profile({}).out, Not(HasSubstr("popularity")));
  EXPECT_THAT(profile({"--popularity"}).out, HasSubstr("\"popularity\":[["));
}

TEST_F(ProfileOfBatches, TakesFilesInOrder) {
  const Outcome once = profile({"--batches", "20"});
  const Outcome twice =
      run_command("profile", {indices_, indices_, "--lengths", lengths_, "--lengths", lengths_,
                              "--batches", "20", "--cache-statistics", folder_ / "caches.json"});
  ASSERT_EQ(twice.code, kExitOk) << twice.err;
  EXPECT_THAT(twice.err, HasSubstr("and 1 more file: 6 tables, 40 batches of 200 samples"));
  // No row of the second file is new, and each is looked up twice as often.
  EXPECT_NE(once.out, twice.out);
  const auto caches = nlohmann::json::parse(contents_of(folder_ / "caches.json"));
  for (const auto& table : caches["tables"]) EXPECT_EQ(table["first_lookups"], 0.0);
}

TEST_F(ProfileOfBatches, WritesWhatCachesMiss) {
  const Outcome outcome =
      profile({"--batches", "20", "--cache-statistics", folder_ / "caches.json"});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  const auto file = nlohmann::json::parse(contents_of(folder_ / "caches.json"));
  EXPECT_EQ(file["format"], "neuroshard-cache-statistics");
  EXPECT_EQ(file["version"], 1);
  EXPECT_EQ(file["batch"], 200);
  ASSERT_EQ(file["tables"].size(), 6U);
  for (const auto& table : file["tables"]) {
    const auto& rates = table["miss_rates"];
    EXPECT_EQ(rates.front()[0], 0.0);
    EXPECT_EQ(rates.back(), nlohmann::json({table["row"].get<double>(), 0.0}));
    if (table["expected_lookups"] == 0.0) continue;
    EXPECT_EQ(rates.front()[1], 1.0);
    double last = 1.0;
    for (const auto& point : rates) {
      EXPECT_LE(point[1].get<double>(), last);
      last = point[1];
    }
    EXPECT_GT(table["cacheability"].get<double>(), 0.0);
    EXPECT_LT(table["cacheability"].get<double>(), 1.0);
    EXPECT_LE(table["first_lookups"].get<double>(), table["expected_lookups"].get<double>());
    EXPECT_GT(table["warm_rows"].get<double>(), 0.0);
  }
}

TEST_F(ProfileOfBatches, SaysWhichOptionsBatchesNeed) {
  const auto message = [&](const std::vector<std::string>& more) {
    const Outcome outcome = profile(more);
    EXPECT_EQ(outcome.code, kExitBadInput);
    return outcome.err;
  };
  EXPECT_THAT(message({"--cache-statistics", folder_ / "c.json"}),
              HasSubstr("say with --batches how many batches a file has"));
  EXPECT_THAT(message({"--batches", "3"}), HasSubstr("4000 samples are not 3 equal batches"));
  EXPECT_THAT(message({"--batches", "0"}), HasSubstr("--batches is 0; give at least 1"));
  EXPECT_THAT(message({"--lengths", lengths_}),
              HasSubstr("--lengths is given 2 times for 1 file of indices"));
  EXPECT_FALSE(folder_.names().contains("c.json"));
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
