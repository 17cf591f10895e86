#include "bench/json_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "bench/scoring/scorer.h"
#include "golden.h"

namespace neuroshard::bench {
namespace {

nlohmann::json report_of_two() {
  JsonReport report;
  report.add({.name = "plan/a",
              .rounds = {{2.0, 1.0}, {6.0, 3.0}, {4.0, 2.0}},
              .operations = 10,
              .threads = 2,
              .figures = {{"p50_ms", 1.5}, {"none", std::numeric_limits<double>::quiet_NaN()}},
              .label = "note"});
  report.add({.name = "plan/b", .rounds = {{1.0, 1.0}}, .figures = {}, .label = ""});
  return nlohmann::json::parse(report.str({{"commit", "abc"}, {"gpu", "x"}, {"gpu", "y"}}));
}

// Google Benchmark's compare.py reads this.
TEST(JsonReport, HasTheSchemaOfGoogleBenchmark) {
  const nlohmann::json json = report_of_two();
  ASSERT_EQ(json.at("benchmarks").size(), 3U + 1U + 1U + 1U);
  for (const auto& run : json.at("benchmarks")) {
    for (const char* key : {"name", "run_name", "run_type", "time_unit"}) {
      EXPECT_TRUE(run.at(key).is_string()) << key;
    }
    for (const char* key : {"real_time", "cpu_time", "iterations", "threads", "repetitions",
                            "family_index", "per_family_instance_index"}) {
      EXPECT_TRUE(run.at(key).is_number()) << key;
    }
  }
}

TEST(JsonReport, OneRunARoundThenTheirMedianWithTheFigures) {
  const nlohmann::json runs = report_of_two().at("benchmarks");
  EXPECT_EQ(runs[0].at("name"), "plan/a");
  EXPECT_EQ(runs[0].at("run_type"), "iteration");
  EXPECT_EQ(runs[0].at("repetition_index"), 0);
  EXPECT_EQ(runs[0].at("time_unit"), "us");
  EXPECT_DOUBLE_EQ(runs[0].at("real_time"), 2000.0);
  EXPECT_DOUBLE_EQ(runs[1].at("cpu_time"), 3000.0);
  EXPECT_EQ(runs[1].at("iterations"), 10);
  const auto& median = runs[3];
  EXPECT_EQ(median.at("name"), "plan/a_median");
  EXPECT_EQ(median.at("run_name"), "plan/a");
  EXPECT_EQ(median.at("run_type"), "aggregate");
  EXPECT_EQ(median.at("aggregate_name"), "median");
  EXPECT_DOUBLE_EQ(median.at("real_time"), 4000.0);
  EXPECT_DOUBLE_EQ(median.at("cpu_time"), 2000.0);
  EXPECT_DOUBLE_EQ(median.at("p50_ms"), 1.5);
  EXPECT_EQ(median.at("label"), "note");
  EXPECT_FALSE(median.contains("none"));
  EXPECT_NE(runs[3].at("family_index"), runs[4].at("family_index"));
}

TEST(JsonReport, ContextHasOursAndNoHostName) {
  const nlohmann::json context = report_of_two().at("context");
  EXPECT_EQ(context.at("commit"), "abc");
  EXPECT_EQ(context.at("gpu"), "x; y");
  EXPECT_TRUE(context.contains("num_cpus"));
  EXPECT_FALSE(context.contains("host_name"));
  EXPECT_FALSE(context.contains("executable"));
}

TEST(JsonReport, MachineContextSaysWhatWasBuilt) {
  const Context context = machine_context();
  std::vector<std::string> keys;
  for (const auto& [key, value] : context) {
    keys.push_back(key);
    EXPECT_FALSE(value.empty()) << key;
  }
  for (const char* key : {"time", "commit", "compiler", "build", "cpu_cores", "openblas", "gpu"}) {
    EXPECT_NE(std::find(keys.begin(), keys.end(), key), keys.end()) << key;
  }
}

TEST(JsonReport, MachineContextNamesOpenblasOrSaysThatItIsMissing) {
  const Context context = machine_context();
  const auto entry = std::find_if(context.begin(), context.end(),
                                  [](const auto& each) { return each.first == "openblas"; });
  ASSERT_NE(entry, context.end());
  if (openblas_scorers(testing::golden_models()).empty()) {
    EXPECT_EQ(entry->second, "none (nsbench was built without it: libopenblas-dev)");
  } else {
    EXPECT_THAT(entry->second,
                ::testing::ContainsRegex("[0-9]+\\.[0-9]+.*\\(core [A-Za-z0-9_]+\\)"));
  }
}

}  // namespace
}  // namespace neuroshard::bench
