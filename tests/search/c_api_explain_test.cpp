// Explanations through the C interface.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "neuroshard/c_api.h"
#include "search/c_api_handles.h"

namespace neuroshard::testing {
namespace {

using ::testing::HasSubstr;

/// The JSON of `ns_planner_explain`.
nlohmann::json explained(const Handle<ns_planner>& planner, const Handle<ns_plan>& plan,
                         const ns_explain_options* options, ns_status expected = NS_OK) {
  char* text = nullptr;
  EXPECT_EQ(ns_planner_explain(planner.get(), plan.get(), options, &text), expected)
      << ns_last_error();
  const Handle<char> owned(text);
  return text == nullptr ? nlohmann::json() : nlohmann::json::parse(text);
}

/// kTask, whose last table has these rules.
std::string ruled_task(std::string_view rules) {
  std::string text = kTask;
  text.insert(text.rfind('}', text.rfind(']')), R"(, "rules": )" + std::string(rules));
  return text;
}

TEST(CApiExplain, SaysWhatDecidesAndWhatSlicesCost) {
  const auto planner = new_planner();
  const auto plan = plan_of(planner, task_from(kTask));
  const nlohmann::json json = explained(planner, plan, nullptr);
  EXPECT_EQ(json["format"], "neuroshard.explanation");
  EXPECT_EQ(json["task"], "toy");
  EXPECT_THAT(json["weights"].get<std::string>(), HasSubstr("built-in"));
  EXPECT_EQ(json["notes"][0], "made up");
  const ns_plan_summary summary = summary_of(plan);
  EXPECT_EQ(json["cost_ms"], summary.cost_ms);
  EXPECT_EQ(json["devices_by_cost"][0], summary.slowest_device);
  std::size_t slices = 0;
  for (const nlohmann::json& device : json["devices"]) {
    slices += device["slices"].size();
    for (const nlohmann::json& slice : device["slices"]) {
      EXPECT_GT(slice["without"]["plan_ms"].get<double>(), 0.0);
    }
  }
  EXPECT_EQ(slices, static_cast<std::size_t>(summary.slices));
  EXPECT_FALSE(json.contains("rules"));
}

TEST(CApiExplain, SaysWhatRulesCost) {
  const auto planner = new_planner();
  const auto plan = plan_of(planner, task_from(ruled_task(R"({"devices": [1]})")));
  const ns_explain_options options = with(&ns_explain_options::rules, 1);
  const nlohmann::json rules = explained(planner, plan, &options)["rules"];
  EXPECT_EQ(rules["with_ms"], summary_of(plan).cost_ms);
  ASSERT_EQ(rules["without"].size(), 1U);
  EXPECT_EQ(rules["without"][0]["rule"], "devices");
  EXPECT_EQ(rules["without"][0]["name"], "hour");
  EXPECT_GE(rules["without"][0]["costs_ms"].get<double>(), 0.0);
}

TEST(CApiExplain, SaysWhichRuleLeavesATaskWithoutAPlan) {
  const auto planner = new_planner();
  const auto task = task_from(ruled_task(R"({"kinds": ["row"]})"));
  const auto plan = plan_of(planner, task, {}, NS_INFEASIBLE);
  const nlohmann::json alone = explained(planner, plan, nullptr, NS_INFEASIBLE);
  EXPECT_THAT(ns_last_error(), HasSubstr("hour"));
  EXPECT_EQ(alone["error"]["kind"], "rules");
  EXPECT_FALSE(alone.contains("cost_ms"));
  const ns_explain_options options = with(&ns_explain_options::rules, 1);
  const nlohmann::json rules = explained(planner, plan, &options, NS_INFEASIBLE)["rules"];
  EXPECT_FALSE(rules.contains("with_ms"));
  EXPECT_GT(rules["without"][0]["without_ms"].get<double>(), 0.0);
}

TEST(CApiExplain, WrongArgumentsAreRefused) {
  const auto planner = new_planner();
  const auto plan = plan_of(planner, task_from(kTask));
  char text[] = "";
  char* explanation = text;
  const auto status = [&](const ns_planner* of, const ns_plan* what,
                          const ns_explain_options* options) {
    explanation = text;
    return ns_planner_explain(of, what, options, &explanation);
  };
  EXPECT_EQ(status(nullptr, plan.get(), nullptr), NS_INVALID_INPUT);
  EXPECT_EQ(explanation, nullptr);
  EXPECT_EQ(status(planner.get(), nullptr, nullptr), NS_INVALID_INPUT);
  EXPECT_STREQ(ns_last_error(), "plan is NULL");
  EXPECT_EQ(ns_planner_explain(planner.get(), plan.get(), nullptr, nullptr), NS_INVALID_INPUT);
  const ns_explain_options never =
      with(&ns_explain_options::deadline_ms, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(status(planner.get(), plan.get(), &never), NS_INVALID_INPUT);
  EXPECT_THAT(ns_last_error(), HasSubstr("deadline_ms"));
  const ns_explain_options small = with(&ns_explain_options::size, 8);
  EXPECT_EQ(status(planner.get(), plan.get(), &small), NS_INVALID_INPUT);
  EXPECT_THAT(ns_last_error(), HasSubstr("ns_explain_options.size is 8"));
}

}  // namespace
}  // namespace neuroshard::testing
