// `train` without a sub-command: all parts, each by the recipe that is best.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>

#include "neuroshard/weights.h"
#include "tools/run_command.h"

namespace neuroshard::tools {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class FitCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    collect({"compute", "--gpu", "h100-sxm-80gb", "--table-configs",
             golden("tables/table_configs.json"), "--samples", "20"},
            "compute");
    collect({"comm", "--devices", "4", "--wide", "--samples", "20"}, "comm");
    collect({"all-reduce", "--devices", "2,4", "--samples", "40"}, "all_reduce");
  }

  void collect(std::vector<std::string> what, const std::string& name) {
    what.insert(what.begin(), "collect");
    what.insert(what.end(), {"--backend", "analytic", "--output", folder_ / name});
    const Outcome outcome = run_command(what);
    ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  }
  Outcome train(const std::vector<std::string>& names, const std::vector<std::string>& more = {}) {
    std::vector<std::string> args{"train", "--output", output()};
    for (const std::string& name : names) args.insert(args.end(), {"--data", folder_ / name});
    args.insert(args.end(), more.begin(), more.end());
    return run_command(args);
  }
  std::string output() const { return folder_ / "w.safetensors"; }

  TemporaryFolder folder_;
};

TEST_F(FitCommand, MakesAllPartsAndSaysHow) {
  const Outcome outcome =
      train({"compute", "comm", "all_reduce"}, {"--from", "a100", "--report", folder_ / "w.html"});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("compute: scaled, of 20 samples"),
                                 HasSubstr("held back: scaled"), HasSubstr("4 devices")));
  const CostModels models = load_weights(output());
  EXPECT_EQ(models.metadata.at("compute.recipe"), "scaled");  // Few, and much alike.
  EXPECT_EQ(models.metadata.at("compute.hardware"), "h100-sxm-80gb");
  EXPECT_THAT(models.metadata.at("compute.calibrated_from"), StartsWith("a100"));
  EXPECT_THAT(models.metadata.at("comm.symmetric.forward.test.0004"), HasSubstr("MAPE"));
  EXPECT_TRUE(models.metadata.contains("all_reduce.recipe"));
  EXPECT_TRUE(models.all_reduce->lines.contains(4));
  EXPECT_THAT(contents_of(folder_ / "w.html"),
              AllOf(HasSubstr("compute: scaled"), HasSubstr("<svg")));
}

// As neuroshard.calibrate collects them.
TEST_F(FitCommand, IdsGetLines) {
  std::filesystem::copy(folder_ / "all_reduce", folder_ / "ids");
  std::string description = contents_of(folder_ / "ids/collection.json");
  const std::string kind = "\"all-reduce\"";
  description.replace(description.find(kind), kind.size(), "\"ids\"");
  folder_.write("ids/collection.json", description);
  const Outcome outcome = train({"ids"});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("ids: trained anew, of 40 samples"));
  const CostModels models = load_weights(output());
  EXPECT_TRUE(models.ids->lines.contains(4));
  EXPECT_TRUE(models.metadata.contains("ids.recipe"));
}

TEST_F(FitCommand, RefusesSamplesThatContradictThemselves) {
  std::istringstream lines(contents_of(folder_ / "compute/data.txt"));
  std::string changed;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t cost = line.find(' ') + 1;
    if (++number % 2 == 0) {
      line = line.substr(0, cost) + std::to_string(10.0 * std::stod(line.substr(cost)));
    }
    changed += line + '\n';
  }
  folder_.write("compute/data.txt", changed);
  const Outcome outcome = train({"compute", "comm"});
  EXPECT_EQ(outcome.code, kExitBadInput) << outcome.err;
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("; compute: off by"), HasSubstr("--max-error"),
                                 Not(HasSubstr("comm.symmetric"))));
  EXPECT_FALSE(folder_.names().contains("w.safetensors"));
  EXPECT_EQ(train({"compute"}, {"--max-error", "1000"}).code, kExitOk);
  // So does the recipe that one has chosen oneself, but the weights are one's own.
  const Outcome alone =
      run_command({"train", "compute", "--data", folder_ / "compute", "--output",
                   folder_ / "own.safetensors", "--from", "a100", "--epochs", "20"});
  EXPECT_EQ(alone.code, kExitOk);
  EXPECT_THAT(alone.err, HasSubstr("compute: off by"));
}

TEST_F(FitCommand, SaysWhatItNeeds) {
  EXPECT_THAT(run_command({"train", "--output", "x"}).err, HasSubstr("--data is missing"));
  EXPECT_THAT(run_command({"train", "--data", "x"}).err, HasSubstr("--output is missing"));
  std::filesystem::create_directory(folder_ / "published");
  folder_.write("published/data.txt", "1 2\n");
  EXPECT_THAT(train({"published"}).err, HasSubstr("give it to 'train compute'"));
  EXPECT_THAT(train({"compute"}, {"--from", "b300"}).err, HasSubstr("--from 'b300'"));
}

}  // namespace
}  // namespace neuroshard::tools
