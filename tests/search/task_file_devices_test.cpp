#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "message_of.h"
#include "neuroshard/task_file.h"
#include "search/task_texts.h"

namespace neuroshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;
using ::testing::StartsWith;
using testing::task_error;
using testing::task_text_with;
using testing::task_with_table;

TEST(TaskFile, ReadsDevicesAndRules) {
  const TaskFile file = parse_task(
      R"({"format": "neuroshard.task", "version": 1, "memory_gb": 2,
          "devices": [{"count": 2, "base_ms": 1.5}, {"memory_gb": 4, "base_gb": 0.5}],
          "tables": [{"row": 5, "dim": 8, "pooling_factor": 1,
                      "rules": {"no_split": true, "devices": [2]}},
                     {"row": 5, "dim": 8, "pooling_factor": 1,
                      "rules": {"min_width": 4, "max_slices": 2, "not_devices": [0, 1],
                                "kinds": ["table_row", "column"]}}]})",
      "a.json");
  EXPECT_EQ(file.devices, 3);
  const Device first{.memory_bytes = 2LL << 30, .base_ms = 1.5};
  const Device last{.memory_bytes = 4LL << 30, .base_bytes = 1LL << 29};
  EXPECT_THAT(file.device_list, ElementsAre(first, first, last));
  EXPECT_EQ(file.tables[0].rules, (TableRules{.no_split = true, .devices = {2}}));
  EXPECT_EQ(file.tables[1].rules,
            (TableRules{.min_width = 4,
                        .max_slices = 2,
                        .not_devices = {0, 1},
                        .kinds = {ShardingKind::kTableRow, ShardingKind::kColumn}}));

  EXPECT_THAT(task_of(file).device_list, ElementsAre(first, first, last));
  const Task roomy = task_of(file, {.memory_bytes = 8LL << 30});
  EXPECT_EQ(room_bytes(roomy, 2), 15LL << 29);
  const Task equal = task_of(file, {.devices = 4});
  EXPECT_TRUE(equal.device_list.empty());
  EXPECT_EQ(equal.memory_bytes, 2LL << 30);
  EXPECT_THAT(message_of([&] { validate(task_of(file, {.devices = 2})); }),
              HasSubstr("table 0: the rule devices names device 2, but there are 2 devices"));
}

TEST(TaskFile, ReadsHostsOfDevices) {
  const std::string ssd =
      R"("host_memory": {"gb": 2, "link_gb_s": 25, "ssd_gb": 3, "ssd_gb_s": 1}, )";
  const Task task = task_of(parse_task(
      task_text_with(ssd + R"("memory_gb": 1, "classes": {"a": {"host_gb": 4, "ssd_gb_s": 2}},
                              "devices": [{}, {"class": "a", "host_link_gb_s": 50, "ssd_gb": 5}], )"),
      "a.json"));
  EXPECT_THAT(task.device_list,
              ElementsAre(Device{.memory_bytes = 1LL << 30}, Device{.memory_bytes = 1LL << 30,
                                                                    .host_bytes = 4LL << 30,
                                                                    .host_link_gb_s = 50.0,
                                                                    .ssd_bytes = 5LL << 30,
                                                                    .ssd_gb_s = 2.0}));
  EXPECT_EQ(room_bytes(task, 0), 6LL << 30);
  EXPECT_EQ(room_bytes(task, 1), 10LL << 30);
  EXPECT_EQ(total_room_bytes(task), 16LL << 30);
  const auto error = [](const std::string& host, const std::string& devices) {
    return task_error(task_text_with(host + R"("memory_gb": 1, "devices": [)" + devices + "], "));
  };
  EXPECT_THAT(error(ssd, R"({"host_gb": 0})"), StartsWith("a.json: devices: entry 0: host_gb"));
  EXPECT_THAT(error(ssd, R"({"host_link_gb_s": 0})"), HasSubstr("entry 0: host_link_gb_s is 0"));
  const std::string host = R"("host_memory": {"gb": 2, "link_gb_s": 25}, )";
  const auto refused = [](const std::string& text) {
    return message_of([&] { validate(task_of(parse_task(text, "a.json")), "a.json"); });
  };
  EXPECT_THAT(refused(task_text_with(host + R"("memory_gb": 1, "devices": [{"ssd_gb": 1}], )")),
              HasSubstr("device 0: its SSD is stated, but none of the task; give ssd_gb"));
  EXPECT_THAT(
      refused(task_text_with(R"("memory_gb": 1, "devices": [{}, {"host_gb": 1}], )")),
      HasSubstr("device 1: its host memory is stated, but none of the task; give host_memory"));
  std::string nine;
  for (int i = 1; i < 10; ++i) {
    nine +=
        (i == 1 ? R"({"host_link_gb_s": )" : R"(, {"host_link_gb_s": )") + std::to_string(i) + "}";
  }
  EXPECT_THAT(refused(task_text_with(host + R"("memory_gb": 1, "devices": [)" + nine + "], ")),
              HasSubstr("devices have more than 8 different host_link_gb_s"));
}

TEST(TaskFile, ReadsDevicesOfANode) {
  EXPECT_EQ(task_of(parse_task(task_text_with(R"("devices": 4, "memory_gb": 1, )"), "a.json"))
                .devices_per_node,
            8);
  const TaskFile file = parse_task(
      task_text_with(R"("devices": 8, "memory_gb": 1, "devices_per_node": 4, )"), "a.json");
  EXPECT_EQ(task_of(file).devices_per_node, 4);
  EXPECT_EQ(task_of(file, {.devices = 2}).devices_per_node, 4);
  for (const char* wrong : {"0", "16385", "2.5"}) {
    EXPECT_THAT(task_error(task_text_with(std::string(R"("devices_per_node": )") + wrong + ", ")),
                StartsWith(std::string("a.json: devices_per_node is ") + wrong));
  }
}

TEST(TaskFile, ReadsLinks) {
  const std::string devices = R"("devices": 8, "memory_gb": 1, )";
  EXPECT_FALSE(task_of(parse_task(task_text_with(devices), "a.json")).links);
  const TaskFile file = parse_task(
      task_text_with(devices + R"("links": {"in_node_gb_s": 31.5, "node_gb_s": 50}, )"), "a.json");
  EXPECT_EQ(task_of(file).links, (NodeLinks{.in_node_gb_s = 31.5, .node_gb_s = 50.0}));
  EXPECT_EQ(task_of(file, {.devices = 2}).links, task_of(file).links);
  const auto error_of = [&](const std::string& links) {
    return task_error(task_text_with(devices + R"("links": )" + links + ", "));
  };
  for (const char* wrong : {"0", "-3", "1e7"}) {
    EXPECT_THAT(error_of(R"({"between_nodes_gb_s": )" + std::string(wrong) + "}"),
                StartsWith("a.json: links: between_nodes_gb_s is "));
  }
  EXPECT_THAT(error_of(R"({"node_gbs": 3})"), HasSubstr("did you mean 'node_gb_s'"));
  EXPECT_THAT(error_of("25"), StartsWith("a.json: links"));
}

TEST(TaskFile, ReadsLevelsOfLinks) {
  const std::string devices = R"("devices": 64, "devices_per_node": 4, "memory_gb": 1, )";
  const auto task_with = [&](const std::string& levels) {
    return task_text_with(devices + R"("links": {"levels": [)" + levels + "]}, ");
  };
  const TaskFile file = parse_task(
      task_with(R"({"devices": 16, "gb_s": 25}, {"devices": 128, "gb_s": 3.5})"), "a.json");
  EXPECT_EQ(task_of(file).links->levels, (std::vector<LinkLevel>{{16, 25.0}, {128, 3.5}}));
  const auto error_of = [&](const std::string& levels) {
    return message_of([&] {
      const TaskFile stated = parse_task(task_with(levels), "a.json");
      validate(task_of(stated), stated.where);
    });
  };
  EXPECT_EQ(
      error_of(R"({"devices": 6, "gb_s": 25})"),
      "a.json: links: level 0: devices is 6; give a multiple of the 4 of a block of the level "
      "before, or of a node, up to 16384");
  EXPECT_THAT(error_of(R"({"devices": 8, "gb_s": 25}, {"devices": 12, "gb_s": 5})"),
              HasSubstr("level 1: devices is 12; give a multiple of the 8"));
  EXPECT_THAT(error_of(R"({"devices": 24, "gb_s": 25})"),
              HasSubstr("level 0: devices is 24, and the 64 of the task do not fill such blocks"));
  EXPECT_THAT(error_of(R"({"devices": 16, "gb_s": 0})"), HasSubstr("level 0: gb_s is 0"));
  EXPECT_THAT(error_of(R"({"devices": 16, "gbs": 1})"), HasSubstr("level 0"));
  EXPECT_THAT(error_of("7"), HasSubstr("level 0"));
}

TEST(TaskFile, ReadsRulesOnNodes) {
  const TaskFile file = parse_task(
      R"({"format": "neuroshard.task", "version": 1, "devices": 8, "memory_gb": 1,
          "devices_per_node": 4, "tables": [{"row": 10, "dim": 8, "pooling_factor": 1,
          "rules": {"nodes": [1], "not_nodes": [0]}}]})",
      "a.json");
  EXPECT_EQ(file.tables[0].rules, (TableRules{.nodes = {1}, .not_nodes = {0}}));
}

TEST(TaskFile, ReadsHardware) {
  EXPECT_FALSE(parse_task(task_text_with(""), "a.json").hardware);
  EXPECT_EQ(parse_task(task_text_with(R"("hardware": "h200", )"), "a.json").hardware,
            hardware_named("h200"));
  EXPECT_THAT(task_error(task_text_with(R"("hardware": "abacus", )")),
              StartsWith("a.json: hardware: no data for hardware 'abacus'; use one of a100, h100, "
                         "h200, b200, gb200"));
  EXPECT_THAT(task_error(task_text_with(R"("hardware": 7, )")),
              StartsWith("a.json: hardware is 7; give one of a100"));
}

TEST(TaskFile, ReadsADatasheet) {
  const std::string sheet =
      R"("hardware": {"name": "new", "memory_gb_s": 1000, "l2_mib": 8, "multiprocessors": 90,
      "clock_ghz": 1.5, "devices_per_node": 4, "in_node_gb_s": 100, "between_nodes_gb_s": 10, "host_gb_s": 50}, )";
  const TaskFile file =
      parse_task(task_text_with(sheet + R"("devices": 8, "memory_gb": 1, )"), "a.json");
  ASSERT_TRUE(file.hardware);
  EXPECT_EQ(file.hardware->name, "new");
  EXPECT_EQ(file.hardware->gpu.hbm_gb_per_s, 1000.0);
  EXPECT_EQ(file.hardware->gpu.l2_bytes, 8.0 * 1048576.0);
  EXPECT_EQ(file.hardware->gpu.multiprocessors, 90);
  EXPECT_EQ(file.hardware->gpu.clock_ghz, 1.5);
  EXPECT_EQ(file.hardware->network.links,
            (NodeLinks{.in_node_gb_s = 100.0, .between_nodes_gb_s = 10.0, .host_gb_s = 50.0}));
  EXPECT_EQ(task_of(file).devices_per_node, 4);
  const auto without = [&](const std::string& field) {
    std::string text = sheet;
    text.replace(text.find(field), field.size(), "");
    return task_error(task_text_with(text));
  };
  EXPECT_THAT(without(R"("l2_mib": 8,)"),
              StartsWith("a.json: hardware: the field 'l2_mib' is missing"));
  EXPECT_THAT(without(R"("between_nodes_gb_s": 10, )"),
              StartsWith("a.json: hardware: the field 'between_nodes_gb_s' is missing"));
}

TEST(TaskFile, NodesAreThoseOfTheHardware) {
  const std::string devices = R"("hardware": "gb200", "devices": 144, "memory_gb": 1, )";
  EXPECT_EQ(task_of(parse_task(task_text_with(devices), "a.json")).devices_per_node, 72);
  const std::string stated = devices + R"("devices_per_node": 36, )";
  EXPECT_EQ(task_of(parse_task(task_text_with(stated), "a.json")).devices_per_node, 36);
}

TEST(TaskFile, ReadsClassesOfDevices) {
  const std::string devices =
      R"("memory_gb": 2, "devices": [{"class": "slow"}, {"class": "fast", "count": 2},
         {"class": "fast", "memory_gb": 16, "speed": 2.5, "base_ms": 0}, {"speed": 0.5}],
         "classes": {"slow": {}, "fast": {"speed": 1.5, "memory_gb": 8, "base_ms": 3, "base_gb": 4}}, )";
  const Device slow{.memory_bytes = 2LL << 30};
  const Device fast{
      .memory_bytes = 8LL << 30, .base_ms = 3.0, .base_bytes = 4LL << 30, .speed = 1.5};
  const Device other{.memory_bytes = 16LL << 30, .base_bytes = 4LL << 30, .speed = 2.5};
  EXPECT_THAT(
      parse_task(task_text_with(devices), "a.json").device_list,
      ElementsAre(slow, fast, fast, other, Device{.memory_bytes = 2LL << 30, .speed = 0.5}));
}

TEST(TaskFile, ErrorsNameDeviceAndRule) {
  EXPECT_EQ(task_error(task_text_with(R"("devices": [], )")),
            "a.json: devices: is empty; give at least one");
  EXPECT_EQ(task_error(task_text_with(R"("devices": [{"memory_gb": 1}, {}], )")),
            "a.json: devices: entry 1: says nothing of memory; give memory_gb here, or once for "
            "all devices");
  EXPECT_THAT(
      task_error(task_text_with(R"("devices": [{"memory_gb": 1, "base_gb": 2}], )")),
      HasSubstr("devices: entry 0: base_gb is more than the memory of the device, 1.00 GiB; "
                "give what is really there"));
  EXPECT_EQ(task_error(task_text_with(R"("devices": [{"memory_gb": 1e-12}], )")),
            "a.json: devices: entry 0: memory_gb is 1e-12, less than a byte; give the GiB of a "
            "device, e.g. 4");
  EXPECT_EQ(task_error(task_text_with(R"("memory_gb": 1e300, )")),
            "a.json: memory_gb: memory is 1e+300 GiB; give a number above 0 and below 8589934592, "
            "e.g. 4");
  EXPECT_THAT(task_error(task_text_with(R"("devices": [{"memory_gb": 1, "base_ms": -2}], )")),
              HasSubstr("devices: entry 0: base_ms is -2"));
  EXPECT_THAT(task_error(task_text_with(R"("devices": [{"memory_gb": 1, "count": 16385}], )")),
              HasSubstr("count is 16385; give an integer between 1 and 16384"));
  EXPECT_THAT(task_error(task_text_with(R"("devices": [{"memory_gb": 1, "speed": 0}], )")),
              HasSubstr("devices: entry 0: speed is 0; give a number between 0.01 and 100"));
  EXPECT_EQ(task_error(task_text_with(R"("devices": [{"memory_gb": 1, "class": "h100"}], )")),
            "a.json: devices: entry 0: class: there is no class 'h100'; describe it under classes");
  EXPECT_EQ(task_error(task_text_with(R"("devices": [{"memory_gb": 1, "class": "h10"}],
                                    "classes": {"a100": {}, "h100": {}}, )")),
            "a.json: devices: entry 0: class: there is no class 'h10'; use one of a100, h100");
  EXPECT_THAT(task_error(task_text_with(R"("devices": [{"class": "a"}], "classes": {"a": {}}, )")),
              HasSubstr("devices: entry 0: says nothing of memory"));
  EXPECT_THAT(task_error(task_text_with(R"("devices": 2, "classes": {"a": {"count": 3}}, )")),
              HasSubstr("classes: a: unknown field 'count'"));
  EXPECT_THAT(task_error(task_text_with(R"("devices": 2, "classes": {"a": {"speed": 200}}, )")),
              HasSubstr("classes: a: speed is 200; give a number between 0.01 and 100"));
  EXPECT_THAT(task_error(task_text_with(R"("devices": 2, "classes": ["a"], )")),
              HasSubstr("classes"));
  EXPECT_THAT(task_error(task_text_with(R"("memory_gb": 1, "devices": [{"count": 9000},
                                                                   {"count": 9000}], )")),
              HasSubstr("lists more than 16384 devices"));
  const auto rule_error = [&](const std::string& rules) {
    return task_error(
        task_with_table(R"({"row": 7, "dim": 8, "pooling_factor": 1, "rules": )" + rules + "}"));
  };
  EXPECT_THAT(rule_error(R"({"no_split": 1})"),
              StartsWith("a.json: table 0: rules: no_split: give true or false"));
  EXPECT_THAT(rule_error(R"({"max_slices": 0})"), HasSubstr("rules: max_slices is 0"));
  EXPECT_THAT(rule_error(R"({"devices": []})"), HasSubstr("rules: devices is empty"));
  EXPECT_THAT(rule_error(R"({"devices": [-1]})"), HasSubstr("-1"));
  EXPECT_THAT(rule_error(R"({"kinds": []})"), HasSubstr("rules: kinds is empty"));
  EXPECT_THAT(rule_error(R"({"kinds": [3]})"), HasSubstr("rules: kinds: give names in quotes"));
  EXPECT_THAT(rule_error(R"({"kinds": "row"})"), StartsWith("a.json: table 0: rules: kinds"));
  EXPECT_THAT(rule_error(R"({"kinds": ["row_wise"]})"),
              HasSubstr("table 0: rules: kinds: there is no kind of sharding 'row_wise'; use one "
                        "of table, column, row, table_row, grid, part_row, replicate"));
  EXPECT_THAT(rule_error(R"({"pinned": 3})"), HasSubstr("rules: unknown field 'pinned'"));
}

}  // namespace
}  // namespace neuroshard
