#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "neuroshard/policy_file.h"
#include "neuroshard/weights.h"
#include "tools/run_command.h"
#include "weights/files/atomic_file.h"

namespace neuroshard::tools {
namespace {

using ::testing::HasSubstr;

TEST(TrainPolicyCommand, MakesAPolicyThatPlans) {
  const TemporaryFolder folder;
  const std::string policy = folder / "policy.safetensors";
  const Outcome trained =
      run_command({"train", "policy", "--algorithm", "dreamshard", "--hardware", "h100",
                   "--iterations", "1", "--resume", "--output", policy});
  ASSERT_EQ(trained.code, kExitOk) << trained.err;
  EXPECT_THAT(trained.out, HasSubstr("ms after iteration 1 of 1\nwrote "));
  EXPECT_FALSE(std::filesystem::exists(policy + ".policy.partial"));
  EXPECT_EQ(load_policy(policy).metadata.at("hardware"), "h100");

  const std::vector<std::string> plan = {"plan",
                                         "--tasks",
                                         golden("tasks/4gpu_dim32.txt"),
                                         "--tables",
                                         golden("tables/table_configs.json"),
                                         "--devices",
                                         "4",
                                         "--memory-gb",
                                         "4",
                                         "--index",
                                         "0",
                                         "--algorithm",
                                         "dreamshard"};
  std::vector<std::string> with_policy = plan;
  with_policy.insert(with_policy.end(), {"--policy", policy});
  EXPECT_EQ(run_command(with_policy).code, kExitOk) << run_command(with_policy).err;
  EXPECT_THAT(run_command(plan).err,
              HasSubstr("algorithm dreamshard needs a policy; give its file"));
}

TEST(TrainPolicyCommand, TakesCostModelsInPlaceOfHardware) {
  const TemporaryFolder folder;
  const std::string policy = folder / "policy.safetensors";
  const std::string weights = folder / "weights.safetensors";
  write_file(weights, serialize_weights(builtin_weights()));
  std::vector<std::string> args = {"train", "policy",    "--algorithm", "autoshard", "--iterations",
                                   "1",     "--weights", weights,       "--output",  policy};
  const Outcome trained = run_command(args);
  ASSERT_EQ(trained.code, kExitOk) << trained.err;
  EXPECT_EQ(load_policy(policy).metadata.at("source"), "cost models");
  args.insert(args.end(), {"--hardware", "h100"});
  EXPECT_THAT(run_command(args).err, HasSubstr("--weights excludes --hardware"));
}

TEST(TrainPolicyCommand, NamesAlgorithmsThatLearn) {
  const TemporaryFolder folder;
  const Outcome outcome = run_command(
      {"train", "policy", "--algorithm", "random", "--output", folder / "policy.safetensors"});
  EXPECT_EQ(outcome.code, kExitBadInput);
  EXPECT_THAT(outcome.err, HasSubstr("there is no policy of algorithm 'random'"));
}

}  // namespace
}  // namespace neuroshard::tools
