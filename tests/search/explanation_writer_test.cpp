#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "neuroshard/explanation_file.h"
#include "plain_table.h"

namespace neuroshard {
namespace {

// The document that docs/plan_format.md shows, and a rule of each kind.
ExplanationDocument shown_document() {
  ExplanationDocument document;
  document.task.tables = {testing::plain_table(1000, 16, 1.0), testing::plain_table(1000, 8, 1.0)};
  document.task.tables[0].name = "a";
  document.task.tables[1].name = "b\n";
  document.task.groups = {{.name = "pair", .tables = {0, 1}}};
  document.task_name = "toy";
  document.weights = "built-in";
  PlanExplanation& explained = document.explanation.emplace();
  explained.cost.cost_ms = 3.25;
  explained.cost.devices = {{.compute_ms = 1.0, .forward_ms = 1.0, .backward_ms = 1.0},
                            {.compute_ms = 1.25, .forward_ms = 1.0, .backward_ms = 1.0}};
  explained.deciding = 1;
  explained.by_cost = {1, 0};
  explained.start_offset_ms = {0.0, 0.5};
  explained.devices = {{.wait_ms = 0.2, .without_slices = ChangedCost{3.1, 0.9}}, {}};
  explained.slices = {{{.slice = 1, .held = {1, 0, 8, 0, 1000}, .without = {3.2, 2.1}}}, {}};
  explained.cuts = {{.table = 0,
                     .slices = 2,
                     .slices_here = 1,
                     .whole_device = 0,
                     .whole = ChangedCost{4.1, 4.1}}};
  RuleCosts& rules = document.rules.emplace();
  rules.with_ms = 3.25;
  rules.rules = {{.rule = {RuleKind::kNotDevices, 0, -1}, .without_ms = 3.0},
                 {.rule = {RuleKind::kTogether, -1, 0}, .without_ms = 3.25}};
  return document;
}

TEST(ExplanationWriter, WritesWhatTheDocumentationShows) {
  const std::string text = explanation_to_json(shown_document());
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(text), nlohmann::json::parse(R"({
    "format": "neuroshard.explanation", "version": 1, "task": "toy", "weights": "built-in",
    "notes": [], "cost_ms": 3.25, "deciding_device": 1, "devices_by_cost": [1, 0],
    "devices": [
      {"device": 0, "total_ms": 3.0, "compute_ms": 1.0, "forward_ms": 1.0, "backward_ms": 1.0,
       "start_offset_ms": 0.0, "wait_ms": 0.2, "without_slices": {"plan_ms": 3.1, "device_ms": 0.9},
       "slices": [{"slice": 1, "table": 1, "name": "b\n", "first_column": 0, "dim": 8,
                   "without": {"plan_ms": 3.2, "device_ms": 2.1}}]},
      {"device": 1, "total_ms": 3.25, "compute_ms": 1.25, "forward_ms": 1.0, "backward_ms": 1.0,
       "start_offset_ms": 0.5, "wait_ms": 0.0, "slices": []}],
    "cuts": [{"table": 0, "name": "a", "slices": 2, "slices_here": 1,
              "whole": {"plan_ms": 4.1, "device_ms": 4.1, "device": 0}}],
    "rules": {"with_ms": 3.25, "without": [
      {"rule": "not_devices", "table": 0, "name": "a", "without_ms": 3.0, "costs_ms": 0.25},
      {"rule": "together", "group": 0, "name": "pair", "without_ms": 3.25, "costs_ms": 0.0}]}})"));
}

TEST(ExplanationWriter, SaysWhatIsHiddenAndThatTheHostDecides) {
  ExplanationDocument document = shown_document();
  PlanCost& cost = document.explanation->cost;
  cost.devices[0].ids_ms = cost.devices[0].hidden_ms = 0.25;
  cost.devices[1].dense_ms = 1.0;
  cost.cost_ms = cost.host_ms = 7.0;
  const auto json = nlohmann::json::parse(explanation_to_json(document));
  EXPECT_EQ(json["set_by"], "host");
  EXPECT_EQ(json["devices"][0]["hidden_ms"], 0.25);
  EXPECT_EQ(json["devices"][1]["dense_ms"], 1.0);
}

TEST(ExplanationWriter, SaysWhyThereIsNoPlan) {
  ExplanationDocument document = shown_document();
  document.explanation.reset();
  document.infeasible = Infeasibility{.kind = Infeasibility::Kind::kPacking, .message = "no room"};
  document.rules = RuleCosts{};
  document.rules->rules = {{.rule = {RuleKind::kNotDevices, 0, -1}}};
  EXPECT_EQ(nlohmann::json::parse(explanation_to_json(document)), nlohmann::json::parse(R"({
    "format": "neuroshard.explanation", "version": 1, "task": "toy", "weights": "built-in",
    "notes": [], "error": {"kind": "packing", "message": "no room"},
    "rules": {"without": [{"rule": "not_devices", "table": 0, "name": "a"}]}})"));
}

}  // namespace
}  // namespace neuroshard
