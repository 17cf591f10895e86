// Tasks whose tables are larger than all HBM: rows wait in the memory of hosts.
#include "neuroshard/host_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "neuroshard/explanation.h"
#include "neuroshard/fingerprint.h"
#include "neuroshard/hardware.h"
#include "neuroshard/plan_check.h"
#include "neuroshard/plan_file.h"
#include "neuroshard/planner.h"
#include "neuroshard/simulator.h"
#include "neuroshard/table_configs.h"
#include "neuroshard/task_file.h"
#include "neuroshard/weights.h"
#include "repetitions.h"
#include "search/hosted_task.h"
#include "search/planned_cuts.h"
#include "search/task_texts.h"
#include "weights/collection/analytic_plan_cost.h"

namespace neuroshard {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::Gt;
using ::testing::HasSubstr;
using testing::hosted_task;
using testing::planner_of;
using ::testing::StartsWith;
using testing::task_error;
using testing::task_text_with;
using testing::task_with_table;

TEST(HostMemory, IsReadFromTaskFiles) {
  const auto read = [](const std::string& host) {
    return task_of(parse_task(task_text_with(R"("devices": 2, "memory_gb": 1, )" + host), "a.json"))
        .host;
  };
  EXPECT_EQ(read(""), HostMemory{});
  EXPECT_EQ(read(R"("host_memory": {"gb": 2, "link_gb_s": 25}, )"),
            (HostMemory{.bytes = std::int64_t{2} << 30, .link_gb_s = 25.0}));
  EXPECT_EQ(read(R"("host_memory": {"gb": 1, "link_gb_s": 25, "policy": "static"}, )").policy,
            HostPolicy::kStatic);
  EXPECT_TRUE(read(R"("host_memory": {"gb": 1, "link_gb_s": 25, "prefetch": true}, )").prefetch);
  const auto error = [](const std::string& host) {
    return task_error(task_text_with(R"("host_memory": )" + host + ", "));
  };
  EXPECT_EQ(error(R"({"gb": 1, "link_gb_s": 25, "policy": "fifo"})"),
            "a.json: host_memory: policy: there is no policy 'fifo'; use one of lru, static");
  EXPECT_THAT(error(R"({"gb": 1})"), HasSubstr("link_gb_s"));
  EXPECT_THAT(error(R"({"gb": -1, "link_gb_s": 25})"), HasSubstr("host_memory: gb"));
  EXPECT_THAT(error(R"({"gb": 1, "link_gb_s": 25, "ssd_gb": 3})"), HasSubstr("ssd_gb"));
}

TEST(HostMemory, OfNodesAndSsdsAreReadFromTaskFiles) {
  const auto read = [](const std::string& host) {
    const std::string fields = R"("devices": 2, "memory_gb": 1, "host_memory": )" + host + ", ";
    return task_of(parse_task(task_text_with(fields), "a.json")).host;
  };
  EXPECT_EQ(read(R"({"node_gb": 2, "link_gb_s": 25, "ssd_gb": 3, "ssd_gb_s": 1.5})"),
            (HostMemory{.bytes = std::int64_t{2} << 30,
                        .link_gb_s = 25.0,
                        .of_node = true,
                        .ssd_bytes = std::int64_t{3} << 30,
                        .ssd_gb_s = 1.5}));
  const auto error = [](const std::string& host) {
    return task_error(task_text_with(R"("host_memory": )" + host + ", "));
  };
  EXPECT_EQ(error(R"({"gb": 1, "node_gb": 1, "link_gb_s": 25})"),
            "a.json: host_memory: gb stands beside node_gb; give the GiB for each device or for "
            "each node");
  EXPECT_THAT(error(R"({"link_gb_s": 25})"), HasSubstr("gb"));
  EXPECT_THAT(error(R"({"gb": 1, "link_gb_s": 25, "ssd_gb": 1})"), HasSubstr("ssd_gb_s"));
  EXPECT_THAT(error(R"({"gb": 1, "link_gb_s": 25, "ssd_gb_s": 1})"), HasSubstr("ssd_gb"));
  EXPECT_THAT(error(R"({"gb": 1, "link_gb_s": 25, "ssd_gb": 1, "ssd_gb_s": 0})"),
              HasSubstr("host_memory: ssd_gb_s"));
  Task task = hosted_task(1, 0.2);
  task.host = {.ssd_bytes = 1, .ssd_gb_s = 1.0};
  EXPECT_THROW(validate(task), Error);
  task.host = {.bytes = 1, .link_gb_s = 1.0, .ssd_bytes = 1};
  EXPECT_THROW(validate(task), Error);
}

TEST(HostMemory, PopularityIsReadFromFilesAndWrittenToThem) {
  const auto text = [](const std::string& fields) {
    return task_with_table(R"({"row": 1000, "dim": 16, "pooling_factor": 6)" + fields + "}");
  };
  const auto read = [&](const std::string& fields) {
    return parse_task(text(fields), "a.json").tables.front();
  };
  EXPECT_TRUE(read("").popularity.empty());
  EXPECT_EQ(read(R"(, "popularity": [[10, 0.5], [400, 1]])").popularity,
            (std::vector<PopularRows>{{10.0, 0.5}, {400.0, 1.0}}));
  EXPECT_EQ(read(R"(, "popularity": {"zipf_exponent": 1.2})").popularity,
            zipf_popularity(1000, 1.2));
  EXPECT_TRUE(read(R"(, "rules": {"keep_in_hbm": true})").rules.keep_in_hbm);
  EXPECT_EQ(read(R"(, "rules": {"hbm_share": 0.25})").rules.hbm_share, 0.25);
  const std::vector<Table> tables{read(R"(, "popularity": [[10, 0.5], [400, 1]])"), read("")};
  const TableConfigs again =
      parse_table_configs(serialize_table_configs(tables, true, kDefaultBatchSize), "b.json");
  EXPECT_EQ(again.tables[0].popularity, tables[0].popularity);
  EXPECT_TRUE(again.tables[1].popularity.empty());
  EXPECT_THAT(task_error(text(R"(, "popularity": [[10, 0.5]])")),
              StartsWith("a.json: table 0: popularity ends with a share of 0.5; "));
  EXPECT_EQ(task_error(text(R"(, "popularity": [[10]])")),
            "a.json: table 0: popularity: point 0: give [rows, share of lookups]");
  EXPECT_THAT(task_error(text(R"(, "popularity": [])")), HasSubstr("popularity is empty"));
  EXPECT_THAT(task_error(text(R"(, "popularity": {"zipf": 1})")), HasSubstr("zipf"));
}

TEST(HostMemory, IsNotUsedWhereHbmHasRoomForAll) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    Task task = hosted_task(seed, 1.6);
    const PlanResult hosted = planner_of(Effort::kFast).plan(task);
    EXPECT_EQ(hosted.cost.hbm_shares, std::vector<double>(hosted.plan->slices.size(), 1.0));
    task.host = {};
    const PlanResult plain = planner_of(Effort::kFast).plan(task);
    EXPECT_EQ(hosted.plan, plain.plan);
    EXPECT_EQ(hosted.cost.cost_ms, plain.cost.cost_ms);
  }
}

TEST(HostMemory, IsNoWorseToHaveWhereHbmHasJustRoomForAll) {
  const Planner planner = planner_of(Effort::kFast);
  int used = 0;
  for (const std::uint64_t seed : testing::Seeds(testing::drawn_tasks(8))) {
    Task task = hosted_task(seed, 1.02);
    const double hosted_ms = planner.plan(task).cost.cost_ms;
    task.host = {};
    const double plain_ms = planner.plan(task).cost.cost_ms;
    EXPECT_LE(hosted_ms, plain_ms);
    used += hosted_ms < 0.98 * plain_ms ? 1 : 0;
  }
  EXPECT_TRUE(used > 0 || testing::kFewTasks);
}

TEST(HostMemory, HoldsWhatHbmHasNoRoomFor) {
  for (const std::uint64_t seed : testing::Seeds(testing::drawn_tasks(8))) {
    Task task = hosted_task(seed, 0.3);
    task.host.policy = seed % 2 == 0 ? HostPolicy::kLru : HostPolicy::kStatic;
    task.host.prefetch = seed % 4 < 2;
    const Planner planner = planner_of(Effort::kFast);
    const PlanResult result = planner.plan(task);
    ASSERT_TRUE(result.plan);
    EXPECT_TRUE(result.cost.fits_memory);
    EXPECT_THAT(check_plan(*result.plan, task), ::testing::IsEmpty());
    double fetch_ms = 0.0;
    for (const DeviceCost& device : result.cost.devices) {
      EXPECT_GE(device.compute_ms, device.fetch_ms);
      EXPECT_LE(device.memory_bytes, task.memory_bytes);
      fetch_ms = std::max(fetch_ms, device.fetch_ms);
    }
    EXPECT_GT(fetch_ms, 0.0);
    ASSERT_EQ(result.cost.hbm_shares.size(), result.plan->slices.size());
    EXPECT_LT(std::ranges::min(result.cost.hbm_shares), 1.0);
    EXPECT_GE(std::ranges::min(result.cost.hbm_shares), 0.0);
    EXPECT_EQ(planner.explain(task, *result.plan).cost.cost_ms, result.cost.cost_ms);
    // Analytic prices have the same of it.
    const Hardware& hardware = hardware_named("h100");
    const PlanCost analytic =
        analytic_plan_cost(hardware.gpu, hardware.network, task, *result.plan);
    EXPECT_EQ(analytic.hbm_shares, result.cost.hbm_shares);
    EXPECT_EQ(analytic.devices[0].fetch_ms, result.cost.devices[0].fetch_ms);
    const PlanDocument document{.task = task, .plan = *result.plan, .cost = result.cost};
    const std::string json = plan_to_json(document);
    EXPECT_THAT(json, AllOf(HasSubstr("\"fetch_ms\""), HasSubstr("\"hbm_share\""),
                            HasSubstr("\"host_bytes\"")));
    EXPECT_EQ(parse_plans(json, "a.json").front().shards(), result.plan->shards);
  }
}

TEST(HostMemory, CostsLessTheFasterItIs) {
  Task task = hosted_task(3, 0.2);
  double before_ms = 1e9;
  for (const double gb_s : {1.0, 4.0, 15.0}) {
    task.host.link_gb_s = gb_s;
    const PlanResult result = planner_of(Effort::kFast).plan(task);
    EXPECT_LT(result.cost.cost_ms, before_ms);
    before_ms = result.cost.cost_ms;
  }
}

TEST(HostMemory, ThatIsPrefetchedCostsTheLongerOfFetchingAndAllElse) {
  for (const double gb_s : {0.5, 100.0}) {
    Task task = hosted_task(4, 0.3);
    task.host.link_gb_s = gb_s;
    const Planner planner = planner_of(Effort::kFast);
    const PlanResult waits = planner.plan(task);
    task.host.prefetch = true;
    const PlanCost behind = planner.simulate(task, *waits.plan);
    EXPECT_LT(behind.cost_ms, waits.cost.cost_ms);
    for (std::size_t d = 0; d < behind.devices.size(); ++d) {
      const DeviceCost& device = behind.devices[d];
      EXPECT_EQ(device.fetch_ms, waits.cost.devices[d].fetch_ms);
      const double rest_ms = device.total_ms() + device.hidden_fetch_ms - device.fetch_ms;
      EXPECT_NEAR(device.total_ms(), std::max(rest_ms, device.fetch_ms), 1e-9);
    }
    EXPECT_LE(planner.plan(task).cost.cost_ms, behind.cost_ms * 1.02);
  }
}

TEST(HostMemory, IsSearchedAsWellAsAllPlansOfTinyTasks) {
  for (const std::uint64_t seed : testing::Seeds(testing::drawn_tasks(10))) {
    Task task = hosted_task(seed, 0.25);
    task.devices = 2;
    task.tables.resize(6);
    for (Table& table : task.tables) table.rules.kinds = {ShardingKind::kTable};
    task.memory_bytes = total_bytes(task) / 8;
    task.host.bytes = 2 * total_bytes(task);
    const Planner planner = planner_of(Effort::kThorough);
    double best_ms = 1e9;
    for (unsigned places = 0; places < 64; ++places) {
      Plan plan{.slices = whole_tables(task), .shards = {{}, {}}};
      for (unsigned t = 0; t < 6; ++t) {
        plan.shards[places >> t & 1U].push_back(static_cast<int>(t));
      }
      const PlanCost cost = planner.simulate(task, plan);
      if (cost.fits_memory) best_ms = std::min(best_ms, cost.cost_ms);
    }
    EXPECT_LE(planner.plan(task).cost.cost_ms, best_ms * 1.0001);
    EXPECT_LE(planner_of(Effort::kDefault).plan(task).cost.cost_ms, best_ms * 1.005);
  }
}

TEST(HostMemory, SaysWhatHasNoRoom) {
  Task task = hosted_task(5, 0.2);
  task.host.bytes = total_bytes(task) / 10 / task.devices;
  const PlanResult small = planner_of(Effort::kFast).plan(task);
  ASSERT_TRUE(small.infeasible);
  EXPECT_EQ(small.infeasible->kind, Infeasibility::Kind::kTotalMemory);
  task.host.bytes = 4 * total_bytes(task);
  for (Table& table : task.tables) table.rules.keep_in_hbm = true;
  const PlanResult kept = planner_of(Effort::kFast).plan(task);
  EXPECT_FALSE(kept.plan);
  EXPECT_TRUE(kept.infeasible);
}

std::int64_t row_bytes(const DeviceCost& device) {
  return device.memory.weight_bytes + device.memory.optimizer_bytes;
}

TEST(HostMemory, LeavesToSsdsWhatItHasNoRoomFor) {
  for (const std::uint64_t seed : testing::Seeds(testing::drawn_tasks(8))) {
    Task task = hosted_task(seed, 0.2);
    task.host.policy = seed % 2 == 0 ? HostPolicy::kLru : HostPolicy::kStatic;
    task.host.of_node = seed % 4 < 2;
    const std::int64_t total = total_bytes(task);
    task.host.bytes = total / 4 / (task.host.of_node ? 1 : task.devices);
    const Planner planner = planner_of(Effort::kFast);
    const PlanResult without = planner.plan(task);
    ASSERT_TRUE(without.infeasible);
    EXPECT_EQ(without.infeasible->kind, Infeasibility::Kind::kTotalMemory);
    task.host.ssd_bytes = total;
    task.host.ssd_gb_s = 4.0;
    const PlanResult result = planner.plan(task);
    ASSERT_TRUE(result.plan);
    EXPECT_TRUE(result.cost.fits_memory);
    EXPECT_TRUE(check_plan(*result.plan, task).empty());
    std::int64_t everywhere = 0;
    std::int64_t on_ssds = 0;
    for (const DeviceCost& device : result.cost.devices) {
      EXPECT_GE(device.fetch_ms, device.ssd_ms);
      everywhere += row_bytes(device) + device.host_bytes + device.ssd_bytes;
      on_ssds += device.ssd_bytes;
    }
    EXPECT_GT(on_ssds, total / 3);
    if (task.host.policy == HostPolicy::kStatic) {  // Caches take memory beside rows.
      EXPECT_NEAR(static_cast<double>(everywhere), static_cast<double>(total), 1e3);
    }
    double of_slices = 0.0;
    for (std::size_t i = 0; i < result.plan->slices.size(); ++i) {
      of_slices += result.cost.ssd_shares[i] *
                   static_cast<double>(slice_bytes(task, result.plan->slices[i]));
    }
    EXPECT_NEAR(of_slices, static_cast<double>(on_ssds), 1e3);
    const std::string json =
        plan_to_json({.task = task, .plan = *result.plan, .cost = result.cost});
    EXPECT_THAT(json, AllOf(HasSubstr("\"ssd_ms\""), HasSubstr("\"ssd_share\""),
                            HasSubstr("\"ssd_bytes\"")));
    EXPECT_EQ(parse_plans(json, "a.json").front().shards(), result.plan->shards);
    task.host.ssd_gb_s = 8.0;
    EXPECT_LT(planner.simulate(task, *result.plan).cost_ms, result.cost.cost_ms);
    task.host.ssd_bytes = total / 4 / task.devices;
    const PlanResult small = planner.plan(task);
    ASSERT_TRUE(small.infeasible);
    EXPECT_EQ(small.infeasible->kind, Infeasibility::Kind::kTotalMemory);
  }
}

TEST(HostMemory, CostsAsMuchBesideAnSsdThatIsNotNeeded) {
  for (const HostPolicy policy : all_host_policies()) {
    Task task = hosted_task(6, 0.3);
    task.host.policy = policy;
    const Planner planner = planner_of(Effort::kFast);
    const PlanResult without = planner.plan(task);
    task.host.ssd_bytes = total_bytes(task);
    task.host.ssd_gb_s = 1.0;
    ASSERT_TRUE(without.plan);
    EXPECT_TRUE(without.cost.ssd_shares.empty());
    const PlanCost beside = planner.simulate(task, *without.plan);
    EXPECT_EQ(beside.cost_ms, without.cost.cost_ms);
    EXPECT_THAT(beside.ssd_shares, Each(0.0));
    EXPECT_LT(planner.plan(task).cost.cost_ms, 1.02 * without.cost.cost_ms);
  }
}

TEST(HostMemory, IsSharedOutByRecshard) {
  const CostModels models = builtin_weights();
  const Planner recshard(models, {.algorithm = Algorithm::kRecshard});
  const Planner by_size(models, {.algorithm = Algorithm::kSizeGreedy});
  double better = 0.0;
  for (std::uint64_t seed = 0; seed < testing::drawn_tasks(8); ++seed) {
    Task task = hosted_task(seed, 0.2);
    task.host.policy = HostPolicy::kStatic;
    task.host.link_gb_s = 10.0;
    const PlanResult result = recshard.plan(task);
    ASSERT_TRUE(result.plan);
    EXPECT_EQ(result.plan->slices, whole_tables(task));
    EXPECT_LE(planner_of(Effort::kFast).plan(task).cost.cost_ms, result.cost.cost_ms * 1.0001);
    better += std::log(by_size.plan(task).cost.cost_ms / result.cost.cost_ms);
  }
  EXPECT_GT(better, 0.0);
}

TEST(HostMemory, BaselinesGiveNoPlanThatHasNoRoom) {
  Task task = hosted_task(0, 0.2);
  task.host.bytes = total_bytes(task) / task.devices;  // Caches have copies of their rows in it.
  const PlanResult none = Planner(builtin_weights(), {.algorithm = Algorithm::kUniform}).plan(task);
  EXPECT_FALSE(none.plan);
  ASSERT_TRUE(none.infeasible);
  EXPECT_EQ(none.infeasible->kind, Infeasibility::Kind::kPacking);
}

TEST(HostMemory, OfCopiesThatAreTooManySaysWhatNeedsLess) {
  Task task{.devices = 1, .memory_bytes = bytes_from_gib(1.0)};
  task.host = {.bytes = bytes_from_gib(2.0), .link_gb_s = 25.0};
  for (const std::int64_t rows : {6'800'000, 15'000'000}) {
    Table& table = task.tables.emplace_back();
    table.rows = rows;
    table.dim = 32;
    table.pooling_factor = 5.0;
    table.access_histogram[0] = 1.0;
  }
  const PlanResult none = planner_of(Effort::kFast).plan(task);
  ASSERT_TRUE(none.infeasible);
  EXPECT_THAT(none.infeasible->message, HasSubstr("keep_in_hbm"));
  task.tables[0].rules.keep_in_hbm = true;
  EXPECT_TRUE(planner_of(Effort::kFast).plan(task).plan);
}

TEST(HostMemory, ChecksAndCostsAgreeWhatFits) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    Task task = hosted_task(seed, 0.3);
    const Planner planner = planner_of(Effort::kFast);
    const PlanResult result = planner.plan(task);
    ASSERT_TRUE(result.plan);
    const HostMemory host = task.host;
    int fit = 0;
    for (const int part : {1, 2, 4, 8, 16, 32, 64, 128}) {
      task.host.bytes = host.bytes / part;
      const bool fits = planner.simulate(task, *result.plan).fits_memory;
      EXPECT_EQ(check_plan(*result.plan, task).empty(), fits) << part;
      fit += fits ? 1 : 0;
    }
    EXPECT_GE(fit, 1);
    EXPECT_LT(fit, 8);
    task.host = host;
    task.tables[0].rules.keep_in_hbm = true;
    EXPECT_EQ(check_plan(*result.plan, task).empty(),
              planner.simulate(task, *result.plan).fits_memory);
  }
}

TEST(HostMemory, IsPartOfTheFingerprint) {
  Task task = hosted_task(5, 0.2);
  const CostModels models = builtin_weights();
  const std::uint64_t before = fingerprint(task, {}, models);
  task.host.of_node = true;
  const std::uint64_t of_node = fingerprint(task, {}, models);
  EXPECT_NE(of_node, before);
  task.host.ssd_bytes = 1;
  task.host.ssd_gb_s = 1.0;
  const std::uint64_t with_ssd = fingerprint(task, {}, models);
  EXPECT_NE(with_ssd, of_node);
  task.host.ssd_gb_s = 2.0;
  EXPECT_NE(fingerprint(task, {}, models), with_ssd);
  task.host.policy = HostPolicy::kStatic;
  const std::uint64_t other_policy = fingerprint(task, {}, models);
  EXPECT_NE(other_policy, before);
  task.tables[0].popularity = zipf_popularity(task.tables[0].rows, 1.2);
  EXPECT_NE(fingerprint(task, {}, models), other_policy);
}

TEST(HostMemory, IsRefusedWhereIdsAreDeduplicated) {
  Task task = hosted_task(5, 0.2);
  task.exchange.deduplicate_ids = true;
  EXPECT_THROW((void)planner_of(Effort::kFast).plan(task), Error);
}

TEST(HostMemory, IsKeptWhenAJobIsReplanned) {
  const Task task = hosted_task(8, 0.3);
  const Planner planner = planner_of(Effort::kFast);
  const PlanResult running = planner.plan(task);
  ASSERT_TRUE(running.plan);
  Task more = task;
  more.tables[0].pooling_factor *= 3.0;
  const ReplanResult result =
      planner.replan(more, {.task = task, .plan = *running.plan},
                     {.plan = {}, .most_moved_bytes = total_bytes(task) / 4});
  ASSERT_TRUE(result.result.plan);
  EXPECT_TRUE(result.result.cost.fits_memory);
  EXPECT_LE(result.moved_bytes, total_bytes(task) / 4);
  EXPECT_LE(result.result.cost.cost_ms, planner.simulate(more, *running.plan).cost_ms * 1.000001);
}

}  // namespace
}  // namespace neuroshard
