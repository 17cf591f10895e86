#include <gmock/gmock.h>

#include <functional>

#include "core/tables/table_rules.h"
#include "message_of.h"
#include "neuroshard/column_halvings.h"
#include "neuroshard/plan_check.h"
#include "neuroshard/task.h"

namespace neuroshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;

Task three_devices() {
  return {.tables = {{"a", 100, 32, 1.0, {}}, {"b", 100, 8, 1.0, {}}},
          .devices = 3,
          .memory_bytes = 13000};
}

std::string error_after(const std::function<void(Task&)>& change) {
  Task task = three_devices();
  change(task);
  return message_of([&] { validate(task, "a.json"); });
}

// So that one rule can be given to all tables.
TEST(RuleValidation, AMinWidthThatATableDoesNotHaveLeavesItWhole) {
  Task task = three_devices();
  task.tables[1].rules.min_width = 16;
  EXPECT_NO_THROW(validate(task));
  EXPECT_EQ(narrowest_dim(task.tables[1]), 8);
  EXPECT_TRUE(check_plan({.slices = whole_tables(task), .shards = {{0}, {1}, {}}}, task).empty());
  const Plan halved{.slices = {{0, 0, 32, 0, 100}, {1, 0, 4, 0, 100}, {1, 4, 4, 0, 100}},
                    .shards = {{0}, {1}, {2}}};
  EXPECT_EQ(check_plan(halved, task).size(), 2U);
}

TEST(RuleValidation, ErrorsNameTableRulesAndRemedy) {
  using T = Task;
  EXPECT_EQ(error_after([](T& t) {
              t.tables[1].rules.devices = {0, 3};
            }),
            "a.json: table 1 ('b'): the rule devices names device 3, but there are 3 devices; "
            "count from 0");
  EXPECT_THAT(error_after([](T& t) { t.tables[1].rules.not_devices = {-1}; }),
              HasSubstr("the rule not_devices names device -1"));
  EXPECT_EQ(error_after([](T& t) {
              t.tables[0].rules.devices = {1, 2};
              t.tables[0].rules.not_devices = {2};
            }),
            "a.json: table 0 ('a'): the rules devices and not_devices contradict each other: both "
            "name device 2; take it out of one");
  EXPECT_EQ(error_after([](T& t) {
              t.tables[0].rules.not_devices = {2, 1, 0};
            }),
            "a.json: table 0 ('a'): the rule not_devices names all 3 devices, so that none is "
            "left; take one out");
  EXPECT_THAT(error_after([](T& t) { t.tables[1].rules.min_width = -4; }),
              HasSubstr("the rule min_width is -4"));
  EXPECT_THAT(error_after([](T& t) { t.tables[1].rules.max_slices = -1; }),
              HasSubstr("the rule max_slices is -1"));
  EXPECT_THAT(error_after([](T& t) { t.tables[1].rules.hbm_share = 1.0; }),
              HasSubstr("the rule hbm_share is 1; give a share of the rows, over 0 and below 1"));
  EXPECT_THAT(error_after([](T& t) {
                t.tables[1].rules.keep_in_hbm = true;
                t.tables[1].rules.hbm_share = 0.5;
              }),
              HasSubstr("the rules hbm_share and keep_in_hbm contradict"));
  EXPECT_THAT(error_after([](T& t) { t.tables[1].rules.hbm_share = 0.5; }),
              HasSubstr("but the task states none; give host_memory"));
}

TEST(RuleValidation, ErrorsNameDeviceAndField) {
  const auto listed = [](Task& task) -> Device& {
    task.device_list.assign(3, {.memory_bytes = 1000});
    return task.device_list[1];
  };
  EXPECT_EQ(error_after([&](Task& t) {
              (void)listed(t);
              t.device_list.pop_back();
            }),
            "a.json: devices is 3, but 2 devices are listed; give as many");
  EXPECT_EQ(error_after([&](Task& t) { listed(t).memory_bytes = 0; }),
            "a.json: device 1: memory is 0 bytes; give a positive number");
  EXPECT_THAT(error_after([&](Task& t) { listed(t).base_ms = -1.0; }),
              HasSubstr("device 1: base_ms is -1"));
  EXPECT_THAT(error_after([&](Task& t) { listed(t).base_ms = 2e6; }),
              HasSubstr("give a number between 0 and 1e6"));
  EXPECT_EQ(
      error_after([&](Task& t) { listed(t).speed = 0.0; }),
      "a.json: device 1: speed is 0.000000; give a number between 0.01 and 100: how many times "
      "as fast as the models predict the device computes");
  for (const double speed : {-1.0, 0.0099, 101.0, std::nan("")}) {
    EXPECT_THAT(error_after([&](Task& t) { listed(t).speed = speed; }),
                HasSubstr("give a number between 0.01 and 100"));
  }
  const auto hosted = [&](Task& t) -> Device& {
    t.host = {.bytes = 1, .link_gb_s = 1.0, .ssd_bytes = 1, .ssd_gb_s = 1.0};
    return listed(t);
  };
  EXPECT_THAT(error_after([&](Task& t) { hosted(t).host_bytes = -1; }),
              HasSubstr("device 1: host_gb is -"));
  EXPECT_THAT(error_after([&](Task& t) { hosted(t).host_link_gb_s = std::nan(""); }),
              HasSubstr("device 1: host_link_gb_s is nan; give the GB/s between"));
  EXPECT_THAT(error_after([&](Task& t) { hosted(t).ssd_bytes = -1; }),
              HasSubstr("device 1: ssd_gb is -"));
  EXPECT_THAT(error_after([&](Task& t) { hosted(t).ssd_gb_s = 1e7; }),
              HasSubstr("device 1: ssd_gb_s is 1e+07; give the GB/s of a device's reads"));
  EXPECT_EQ(error_after([&](Task& t) { listed(t).base_bytes = 1001; }),
            "a.json: device 1: the base load takes 1001 bytes, but the device has 1000; give a "
            "number from 0 to that");
  EXPECT_EQ(error_after([&](Task& t) {
              listed(t).base_bytes = 601;
              t.reserved = {.bytes = 150, .share = 0.25};
            }),
            "a.json: device 1: the base load takes 601 B, and 400 B are reserved, but it has "
            "1000 B; reserve less, or give more memory");
  EXPECT_THAT(error_after([&](Task& t) {
                listed(t).memory_bytes = 100;
                t.reserved.bytes = 100;
              }),
              HasSubstr("all memory of device 1, 100 B, is reserved"));
}

TEST(RuleValidation, ComputationTakesLessTimeOnFastDevices) {
  Task task = three_devices();
  task.device_list.assign(3, {.memory_bytes = 10});
  EXPECT_TRUE(has_equal_devices(task));
  task.device_list[1].speed = 4.0;
  task.device_list[2] = {.memory_bytes = 10, .base_ms = 1.5, .speed = 0.5};
  const ComputeOnDevices compute = compute_on_devices(task);
  EXPECT_EQ(compute.compute_ms(0, 3.0F), 3.0F);
  EXPECT_EQ(compute.compute_ms(1, 3.0F), 0.75F);
  EXPECT_EQ(compute.compute_ms(2, 3.0F), 7.5F);
  EXPECT_FALSE(has_equal_devices(task));
  // Alike among themselves, but not like devices that are not listed.
  task.device_list.assign(3, {.memory_bytes = 10, .speed = 4.0});
  EXPECT_FALSE(has_equal_devices(task));
}

TEST(RuleValidation, RoomIsWhatBaseLoadsLeave) {
  Task task = three_devices();
  EXPECT_EQ(total_room_bytes(task), 39000);
  EXPECT_TRUE(compute_on_devices(task).speed.empty());
  EXPECT_EQ(compute_on_devices(task).compute_ms(1, 3.0F), 3.0F);
  task.memory_bytes = std::int64_t{1} << 62;
  EXPECT_EQ(total_room_bytes(task), INT64_MAX);
  task.device_list = {{.memory_bytes = 10},
                      {.memory_bytes = 9, .base_ms = 2.0, .base_bytes = 4},
                      {.memory_bytes = 7}};
  EXPECT_EQ(total_room_bytes(task), 22);
  EXPECT_EQ(largest_room_bytes(task), 10);
  EXPECT_EQ(room_bytes(task, 1), 5);
  EXPECT_THAT(compute_on_devices(task).base_ms, ElementsAre(0.0F, 2.0F, 0.0F));
  EXPECT_THAT(compute_on_devices(task).speed, ElementsAre(1.0F, 1.0F, 1.0F));
  set_memory(task, 20);
  EXPECT_EQ(room_bytes(task, 1), 16);
  task.reserved = {.bytes = 3, .share = 0.25};
  EXPECT_EQ(rooms_bytes(task), (std::vector<std::int64_t>{12, 8, 12}));
  task.device_list[2].memory_bytes = 8;
  EXPECT_EQ(reserved_bytes(task, 2), 5);
  EXPECT_EQ(rooms_bytes(task), (std::vector<std::int64_t>{12, 8, 3}));
  EXPECT_EQ(total_room_bytes(task), 23);
}

TEST(TableRules, SayHowOftenSlicesMayBeHalved) {
  Table table{"", 100, 64, 1.0, {}};
  const auto halvings = [&](const TableRules& rules) {
    table.rules = rules;
    const Halvings found = halvings_of(table);
    return std::pair(found.some, found.all);
  };
  EXPECT_EQ(halvings({}), std::pair(4, 4));
  EXPECT_EQ(halvings({.no_split = true, .max_slices = 8}), std::pair(0, 0));
  EXPECT_EQ(halvings({.min_width = 16}), std::pair(2, 2));
  EXPECT_EQ(halvings({.min_width = 17}), std::pair(1, 1));
  EXPECT_EQ(halvings({.max_slices = 1}), std::pair(0, 0));
  EXPECT_EQ(halvings({.max_slices = 3}), std::pair(2, 1));
  EXPECT_EQ(halvings({.max_slices = 4}), std::pair(3, 2));
  EXPECT_EQ(halvings({.min_width = 32, .max_slices = 100}), std::pair(1, 1));
}

TEST(PlanCheck, ListsBrokenRulesAndRoomOfEachDevice) {
  Task task = three_devices();
  task.tables[0].rules = {.min_width = 32, .max_slices = 1, .devices = {0}};
  task.tables[1].rules = {.no_split = true, .not_devices = {2}};
  task.device_list = {
      {.memory_bytes = 13000}, {.memory_bytes = 6400, .base_bytes = 1}, {.memory_bytes = 13000}};
  const HalvedPlan plan{.column_splits = {0, 1}, .shards = {{0}, {2}, {1, 3}}};
  std::vector<std::string> lines;
  for (const PlanProblem& problem : check_plan(plan, task)) {
    lines.push_back(std::string(name_of(problem.kind)) + ": " + problem.message());
  }
  EXPECT_THAT(
      lines,
      ElementsAre(
          "memory: device 1 needs 6.25 KiB, 1 B more than it has room for; move slices to other "
          "devices, or give more memory",
          "rule: table 0 ('a'): slice 0 has 16 columns, but its rule min_width is 32; split the "
          "table less",
          "rule: table 1 ('b'): slice 1 is on device 2, where its rules do not let it be (rules: "
          "no_split; not_devices 2); move it to another device",
          "rule: table 0 ('a'): slice 2 has 16 columns, but its rule min_width is 32; split the "
          "table less",
          "rule: table 0 ('a'): slice 2 is on device 1, where its rules do not let it be (rules: "
          "min_width 32; max_slices 1; devices 0); move it to another device",
          "rule: table 1 ('b'): slice 3 is on device 2, where its rules do not let it be (rules: "
          "no_split; not_devices 2); move it to another device",
          "rule: table 0 ('a'): is in 2 slices, but its rule max_slices is 1; split the table less",
          "rule: table 1 ('b'): is in 2 slices, but its rule is no_split; split the table less"));
  EXPECT_NO_THROW(validate(plan_from_halvings(task, plan), task));
}

TEST(PlanCheck, RowBlocksAreSlicesThatRulesLimit) {
  Task task = three_devices();
  task.tables[0].rules = {.max_slices = 2, .not_devices = {2}};
  task.tables[1].rules.no_split = true;
  const Plan plan{.slices = {{0, 0, 32, 0, 40},
                             {0, 0, 32, 40, 40},
                             {0, 0, 32, 80, 20},
                             {1, 0, 8, 0, 50},
                             {1, 0, 8, 50, 50}},
                  .shards = {{0, 3}, {1, 4}, {2}}};
  std::vector<std::string> lines;
  for (const PlanProblem& problem : check_plan(plan, task)) lines.push_back(problem.what);
  EXPECT_THAT(lines,
              ElementsAre("table 0 ('a'): slice 2 is on device 2, where its rules do not let it be "
                          "(rules: max_slices 2; not_devices 2)",
                          "table 0 ('a'): is in 3 slices, but its rule max_slices is 2",
                          "table 1 ('b'): is in 2 slices, but its rule is no_split"));
}

}  // namespace
}  // namespace neuroshard
