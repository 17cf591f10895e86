// Tasks of the C interface that say more than tables and devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "neuroshard/c_api.h"
#include "search/c_api_handles.h"

namespace neuroshard::testing {
namespace {

using ::testing::HasSubstr;

TEST(CApi, TasksSayHowValuesAndIdsAreSent) {
  std::string json = kTask;
  json.insert(json.find("\"devices\""), R"("exchange": {"forward": "fp16", "backward": "fp8"}, )");
  const auto planner = new_planner();
  const auto plan = plan_of(planner, task_from(json));
  const std::string text = json_of(plan);
  ns_plan* priced = nullptr;
  ASSERT_EQ(
      ns_planner_simulate(planner.get(), task_from(kTask).get(), text.data(), text.size(), &priced),
      NS_OK)
      << ns_last_error();
  EXPECT_LT(summary_of(plan).cost_ms, summary_of(Handle<ns_plan>(priced)).cost_ms);
  json.replace(json.find("fp16"), 4, "int4");
  ns_task* none = nullptr;
  EXPECT_EQ(ns_task_from_json(json.data(), json.size(), &none), NS_INVALID_INPUT);
  EXPECT_THAT(ns_last_error(), HasSubstr("exchange: forward: there is no type on the wire 'int4'"));
}

TEST(CApi, TasksSayWhatRunsBesideWhat) {
  std::string json = kTask;
  json.insert(json.find("\"devices\""), R"("overlap": {"ids": true, "dense_ms": 2.5}, )");
  const auto plan = plan_of(new_planner(), task_from(json));
  const std::vector<ns_device_cost> devices = all_of(ns_plan_get_devices, plan);
  const std::vector<ns_device_terms> terms = all_of(ns_plan_get_device_terms, plan);
  const std::vector<ns_device_overlap> overlaps = all_of(ns_plan_get_device_overlap, plan);
  double slowest_ms = 0.0;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    EXPECT_EQ(overlaps[d].dense_ms, 2.5);
    EXPECT_GT(overlaps[d].hidden_ms, 0.0);
    slowest_ms =
        std::max(slowest_ms, devices[d].compute_ms + devices[d].forward_ms +
                                 devices[d].backward_ms + terms[d].ids_ms + terms[d].all_reduce_ms +
                                 overlaps[d].dense_ms - overlaps[d].hidden_ms);
  }
  EXPECT_NEAR(summary_of(plan).cost_ms, slowest_ms, 1e-9);
  std::size_t count = 0;
  EXPECT_EQ(ns_plan_get_device_overlap(nullptr, nullptr, 0, &count), NS_INVALID_INPUT);
}

TEST(CApi, TasksMayHaveHostMemory) {
  const std::string json = R"({"format": "neuroshard.task", "version": 1, "devices": 2,
      "memory_gb": 1, "host_memory": {"gb": 8, "link_gb_s": 25},
      "tables": [{"row": 9000000, "dim": 64, "pooling_factor": 2},
                 {"row": 7000000, "dim": 64, "pooling_factor": 9}]})";
  const auto plan = plan_of(new_planner(), task_from(json));
  const std::vector<ns_device_host> devices = all_of(ns_plan_get_device_host, plan);
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_GT(devices[0].fetch_ms, 0.0);
  EXPECT_EQ(devices[0].hidden_fetch_ms, 0.0);
  EXPECT_GT(devices[0].host_bytes, 0);
  const std::vector<double> shares = all_of(ns_plan_get_hbm_shares, plan);
  EXPECT_EQ(shares.size(), all_of(ns_plan_get_blocks, plan).size());
  EXPECT_LT(shares[0], 1.0);
  EXPECT_GT(shares[0], 0.0);
  const auto other = plan_of(new_planner(), task_from(kTask));
  EXPECT_TRUE(all_of(ns_plan_get_hbm_shares, other).empty());
  std::size_t count = 0;
  EXPECT_EQ(ns_plan_get_device_host(nullptr, nullptr, 0, &count), NS_INVALID_INPUT);
  EXPECT_EQ(ns_plan_get_hbm_shares(nullptr, nullptr, 0, &count), NS_INVALID_INPUT);
}

TEST(CApi, TasksMayHaveSsds) {
  const std::string json = R"({"format": "neuroshard.task", "version": 1, "devices": 2,
      "memory_gb": 0.5, "host_memory": {"gb": 0.5, "link_gb_s": 25, "ssd_gb": 8, "ssd_gb_s": 2},
      "tables": [{"row": 9000000, "dim": 64, "pooling_factor": 2},
                 {"row": 7000000, "dim": 64, "pooling_factor": 9}]})";
  const auto plan = plan_of(new_planner(), task_from(json));
  const std::vector<ns_device_ssd> devices = all_of(ns_plan_get_device_ssd, plan);
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_GT(devices[0].ssd_ms, 0.0);
  EXPECT_LT(devices[0].ssd_ms, all_of(ns_plan_get_device_host, plan)[0].fetch_ms);
  EXPECT_GT(devices[0].ssd_bytes, 0);
  const std::vector<double> shares = all_of(ns_plan_get_ssd_shares, plan);
  EXPECT_EQ(shares.size(), all_of(ns_plan_get_blocks, plan).size());
  EXPECT_LT(shares[0], 1.0);
  EXPECT_GT(shares[0], 0.0);
  const auto other = plan_of(new_planner(), task_from(kTask));
  EXPECT_TRUE(all_of(ns_plan_get_ssd_shares, other).empty());
  std::size_t count = 0;
  EXPECT_EQ(ns_plan_get_device_ssd(nullptr, nullptr, 0, &count), NS_INVALID_INPUT);
  EXPECT_EQ(ns_plan_get_ssd_shares(nullptr, nullptr, 0, &count), NS_INVALID_INPUT);
}

}  // namespace
}  // namespace neuroshard::testing
