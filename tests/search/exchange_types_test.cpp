// Tasks that say how values and ids are sent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "message_of.h"
#include "neuroshard/planner.h"
#include "neuroshard/simulator.h"
#include "neuroshard/task_file.h"
#include "neuroshard/task_models.h"
#include "neuroshard/weights.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/task_texts.h"

namespace neuroshard {
namespace {

using testing::drawn_tasks;
using ::testing::HasSubstr;
using testing::message_of;
using testing::random_models;
using testing::random_task;
using ::testing::StartsWith;
using testing::task_error;
using testing::task_text_with;

constexpr ExchangeTypes kNarrow{
    .forward = WireType::kFp16, .backward = WireType::kBf16, .ids = WireType::kInt32};

Task task_with_types(std::uint64_t seed, const ExchangeTypes& exchange) {
  Task task = random_task(seed);
  task.devices = 16;
  task.memory_bytes = std::int64_t{1} << 40;
  task.reserved = {};
  task.exchange = exchange;
  return task;
}

TEST(ExchangeTypes, AreReadFromTaskFiles) {
  const std::string devices = R"("devices": 8, "memory_gb": 1, )";
  const auto file_with = [&](const std::string& exchange) {
    return parse_task(task_text_with(devices + exchange), "a.json");
  };
  EXPECT_EQ(task_of(file_with("")).exchange, ExchangeTypes{});
  const TaskFile file = file_with(
      R"("exchange": {"forward": "fp16", "backward": "fp8", "ids": "int32",
                      "backward_share": 0.05}, )");
  EXPECT_EQ(task_of(file).exchange, (ExchangeTypes{.forward = WireType::kFp16,
                                                   .backward = WireType::kFp8,
                                                   .ids = WireType::kInt32,
                                                   .backward_share = 0.05}));
  EXPECT_EQ(task_of(file, {.devices = 2}).exchange, task_of(file).exchange);
  const auto error_of = [&](const std::string& exchange) {
    return task_error(task_text_with(devices + R"("exchange": )" + exchange + ", "));
  };
  EXPECT_EQ(error_of(R"({"forward": "fp64"})"),
            "a.json: exchange: forward: there is no type on the wire 'fp64'; "
            "use one of fp32, fp16, bf16, fp8");
  EXPECT_THAT(error_of(R"({"ids": "fp16"})"), StartsWith("a.json: exchange: ids: "));
  EXPECT_THAT(error_of(R"({"ids": "fp16"})"), HasSubstr("use one of int64, int32"));
  EXPECT_THAT(error_of(R"({"backward": 16})"), StartsWith("a.json: exchange: backward"));
  for (const char* wrong : {"0", "-0.5", "1.5", "\"all\""}) {
    EXPECT_THAT(error_of(R"({"forward_share": )" + std::string(wrong) + "}"),
                StartsWith("a.json: exchange: forward_share"));
  }
  EXPECT_THAT(error_of(R"({"foward": "fp16"})"), HasSubstr("did you mean 'forward'"));
  EXPECT_THAT(error_of(R"("fp16")"), StartsWith("a.json: exchange"));
}

TEST(ExchangeTypes, PlansFollowThem) {
  const Planner planner(builtin_weights(), {.threads = 1});
  double unaware_ms = 0.0;
  double aware_ms = 0.0;
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(4))) {
    const Task task = task_with_types(seed, {.forward_share = 0.01, .backward_share = 0.05});
    Task unaware = task;
    unaware.exchange = {};
    const PlanResult with = planner.plan(task);
    const PlanResult without = planner.plan(unaware);
    ASSERT_TRUE(with.plan && without.plan);
    EXPECT_EQ(planner.simulate(task, *with.plan).cost_ms, with.cost.cost_ms);
    EXPECT_EQ(planner.explain(task, *with.plan).cost.cost_ms, with.cost.cost_ms);
    EXPECT_LT(planner.simulate(task, *without.plan).cost_ms, without.cost.cost_ms);
    const std::vector<Task> both{task, unaware};
    const std::vector<PlanOutcome> batch = planner.plan_batch(both);
    EXPECT_EQ(batch[0]->plan, with.plan);
    EXPECT_EQ(batch[1]->plan, without.plan);
    EXPECT_NE(planner.fingerprint(task), planner.fingerprint(unaware));
    unaware_ms += planner.simulate(task, *without.plan).cost_ms;
    aware_ms += with.cost.cost_ms;
  }
  EXPECT_LT(aware_ms, 0.99 * unaware_ms);
}

TEST(ExchangeTypes, ReplanningPricesBothTasksByTheirOwn) {
  const Planner planner(builtin_weights(), {.effort = Effort::kFast, .threads = 1});
  const Task before = task_with_types(3, {});
  const PlanResult running = planner.plan(before);
  ASSERT_TRUE(running.plan);
  const Task after = task_with_types(3, kNarrow);
  const ReplanResult replanned = planner.replan(after, {before, *running.plan}, {});
  ASSERT_TRUE(replanned.result.plan);
  EXPECT_EQ(replanned.running_cost.cost_ms, running.cost.cost_ms);
  EXPECT_EQ(planner.simulate(after, *replanned.result.plan).cost_ms, replanned.result.cost.cost_ms);
  EXPECT_LT(replanned.result.cost.cost_ms, running.cost.cost_ms);
}

TEST(ExchangeTypes, StayWhereLinksAreLeftOut) {
  const Planner planner(builtin_weights(), {.effort = Effort::kFast, .threads = 1});
  Task task = task_with_types(5, kNarrow);
  task.links = NodeLinks{.node_gb_s = 20.0};
  Task wide = task;
  wide.exchange = {};
  const PlanResult result = planner.plan(task);
  ASSERT_TRUE(result.plan);
  EXPECT_EQ(planner.simulate(task, *result.plan).cost_ms, result.cost.cost_ms);
  EXPECT_LT(result.cost.cost_ms, planner.simulate(wide, *result.plan).cost_ms);
}

// Models of one device count or any, that know the published features and nothing of themselves.
TEST(ExchangeTypes, PublishedModelsKnowThemAlike) {
  for (const std::vector<int>& dense : {std::vector<int>{4}, std::vector<int>{}}) {
    const CostModels models = random_models(2, {.devices = dense});
    const Planner planner(models, {.algorithm = Algorithm::kPublished, .threads = 1});
    Task task = task_with_types(1, {});
    task.devices = 4;
    const PlanResult usual = planner.plan(task);
    ASSERT_TRUE(usual.plan);
    task.exchange = {.forward = WireType::kFp16, .backward = WireType::kFp8};
    const PlanResult narrow = planner.plan(task);
    ASSERT_TRUE(narrow.plan);
    EXPECT_EQ(planner.simulate(task, *narrow.plan).cost_ms, narrow.cost.cost_ms);
    const CostModels scaled = models_for(models, comm_setting(task));
    EXPECT_EQ(simulate(*make_cpu_backend(scaled), task, *narrow.plan).cost_ms, narrow.cost.cost_ms);
    // Ids have no price, so that their type has none.
    Task other_ids = task;
    other_ids.exchange.ids = WireType::kInt32;
    EXPECT_EQ(planner.simulate(other_ids, *narrow.plan).cost_ms, narrow.cost.cost_ms);
  }
}

TEST(ExchangeTypes, AreRefusedByPricesOfOneExchange) {
  CostModels models = builtin_weights();
  models.kind_prices[ShardingKind::kRow] = {};
  const Planner planner(std::move(models), {.threads = 1});
  EXPECT_THAT(message_of([&] { (void)planner.plan(task_with_types(1, kNarrow)); }),
              HasSubstr("prices of row blocks or replicas are those of one exchange; leave "
                        "`exchange` out"));
}

}  // namespace
}  // namespace neuroshard
