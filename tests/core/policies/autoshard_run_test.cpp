#include "core/policies/autoshard_run.h"

#include <numeric>

#include "core/policies/published_run.h"
#include "every_cpu_backend.h"
#include "neuroshard/policy_file.h"

namespace neuroshard {
namespace {

using nlohmann::json;
using testing::expect_near;
using testing::published_answers;
using testing::published_tables;

class AutoshardRuns : public testing::EveryCpuBackend {};

void expect_layers(const LstmState::Layers& layers, const json& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expect_near(layers[i / kPolicyState][i % kPolicyState], expected[i]);
  }
}

void expect_recorded_placement(const CpuKernels& kernels, const PackedAutoshard& networks,
                               const std::vector<Table>& tables, const json& recorded) {
  const std::size_t devices = recorded["devices"];
  AutoshardRun run(kernels, networks, tables, devices);
  EXPECT_EQ(run.order(), recorded["table_order"].get<std::vector<std::size_t>>());
  for (std::size_t t = 0; t < tables.size(); ++t) {
    expect_near(run.table_ms(t), recorded["single_cost"][t]);
  }
  std::vector<std::size_t> all(devices);
  std::iota(all.begin(), all.end(), std::size_t{0});
  for (const json& step : recorded["steps"]) {
    for (std::size_t d = 0; d < devices; ++d) {
      expect_near(run.load(d)[0], step["actions_other"][2 * d]);
      expect_near(run.load(d)[1], step["actions_other"][2 * d + 1]);
    }
    const std::span<const float> logits = run.logits();
    for (std::size_t d = 0; d < devices; ++d) expect_near(logits[d], step["logits"][d]);
    expect_near(run.baseline(), step["baseline"]);
    if (step.contains("lstm_h")) {
      expect_layers(run.state().hidden, step["lstm_h"]);
      expect_layers(run.state().cell, step["lstm_c"]);
    }
    const std::size_t chosen = step["action"];
    EXPECT_TRUE(testing::is_best(step["logits"], all, chosen, logits));
    run.place(chosen);
  }
}

TEST_P(AutoshardRuns, PlaceAsThePublishedProgramDoes) {
  testing::for_each_recorded<AutoshardPolicy, PackedAutoshard>(
      "autoshard.json", "autoshard_trained.tar",
      [&](const PackedAutoshard& networks, const std::vector<Table>& tables, const json& recorded) {
        expect_recorded_placement(select_cpu_kernels(GetParam()), networks, tables, recorded);
      });
}

TEST_P(AutoshardRuns, AgreeToTheLastBit) {
  const json answers = published_answers("autoshard.json");
  const PlacementPolicy policy = load_policy(testing::policy_path("autoshard_trained.tar"));
  const PackedAutoshard networks(std::get<AutoshardPolicy>(policy.networks));
  const auto tables = published_tables(answers["tasks"]["1"]);
  AutoshardRun run(select_cpu_kernels(GetParam()), networks, tables, 3);
  AutoshardRun scalar(kScalarKernels, networks, tables, 3);
  ASSERT_EQ(run.order(), scalar.order());
  for (std::size_t i = 0; i < tables.size(); ++i) {
    ASSERT_TRUE(std::ranges::equal(run.logits(), scalar.logits())) << i;
    ASSERT_EQ(run.baseline(), scalar.baseline());
    run.place(i % 3);
    scalar.place(i % 3);
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, AutoshardRuns, ::testing::ValuesIn(cpu_backends()));

}  // namespace
}  // namespace neuroshard
