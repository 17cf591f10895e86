#include "neuroshard/hardware.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "neuroshard/weights.h"
#include "tests/message_of.h"

namespace neuroshard {
namespace {

using ::testing::HasSubstr;
using testing::message_of;
using ::testing::StartsWith;

TEST(KnownHardware, IsAsListedAndTrainedOnesAreOfIt) {
  EXPECT_EQ(known_hardware_names(), "a100, h100, h200, b200, gb200, mi300x, l40s, a10, t4");
  for (const Hardware& hardware : known_hardware()) {
    EXPECT_NO_THROW(validate(hardware)) << hardware.name;
    EXPECT_EQ(hardware_named(hardware.name), hardware);
    EXPECT_EQ(gpu_named(hardware.name), hardware.gpu);
    EXPECT_EQ(gpu_named(hardware.gpu.name), hardware.gpu);
    EXPECT_EQ(network_named(hardware.network.name), hardware.network);
  }
  for (const std::string_view name : trained_hardware()) {
    EXPECT_EQ(hardware_named(name).name, name);
  }
  EXPECT_EQ(hardware_named("gb200").network.gpus_per_node, 72);
}

TEST(ParseHardware, TakesANameOrADatasheet) {
  EXPECT_EQ(parse_hardware("b200", "--hardware"), hardware_named("b200"));
  const Hardware own = parse_hardware(
      R"( {"memory_gb_s": 900, "l2_mib": 32, "multiprocessors": 90, "clock_ghz": 1.7, "in_node_gb_s": 60,
           "peer_gb_s": 20, "between_nodes_gb_s": 12.5})",
      "mine.json");
  EXPECT_EQ(own.name, "datasheet");
  EXPECT_EQ(own.gpu.multiprocessors, 90);
  EXPECT_EQ(own.gpu.clock_ghz, 1.7);
  EXPECT_EQ(own.network.gpus_per_node, 8);
  EXPECT_EQ(own.network.links,
            (NodeLinks{.in_node_gb_s = 60.0, .between_nodes_gb_s = 12.5, .peer_gb_s = 20.0}));
}

TEST(ParseHardware, SaysWhatIsWrong) {
  const auto error = [](const std::string& text) {
    return message_of([&] { (void)parse_hardware(text, "mine.json"); });
  };
  const std::string links =
      R"(, "multiprocessors": 9, "clock_ghz": 1, "in_node_gb_s": 60, "between_nodes_gb_s": 12.5)";
  EXPECT_THAT(error("abacus"), StartsWith("mine.json: no data for hardware 'abacus'; use one of"));
  EXPECT_THAT(error(R"({"l2_mib": 4)" + links + "}"),
              StartsWith("mine.json: the field 'memory_gb_s' is missing"));
  EXPECT_THAT(error(R"({"memory_gb_s": -1, "l2_mib": 4)" + links + "}"),
              HasSubstr("mine.json: memory_gb_s is -1"));
  EXPECT_THAT(error(R"({"memory_gb_s": 900, "l2_mib": 4, "multiprocessors": 9, "clock_ghz": 1,
                       "in_node_gb_s": 60})"),
              StartsWith("mine.json: the field 'between_nodes_gb_s' is missing"));
  EXPECT_THAT(error(R"({"memory_gb_s": 900, "l2_mib": 4, "hbm": 3)" + links + "}"),
              HasSubstr("hbm"));
  EXPECT_THAT(error(R"({"name": "h100", "memory_gb_s": 900, "l2_mib": 4)" + links + "}"),
              StartsWith("mine.json: name is 'h100', of which there is a datasheet; give another"));
  EXPECT_THAT(error(R"({"memory_gb_s": 900)"), StartsWith("mine.json"));
}

}  // namespace
}  // namespace neuroshard
