#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "message_of.h"
#include "neuroshard/training.h"
#include "numbers.h"

namespace neuroshard {
namespace {

using ::testing::HasSubstr;
using testing::kGib;
using testing::message_of;

CollectiveSamples samples_of(const CollectiveModel& model, double error) {
  CollectiveSamples samples;
  for (const auto& [devices, line] : model.lines) {
    for (int i = 0; i < 40; ++i) {
      const double bytes = std::exp2(20.0 + i / 4.0);
      const double off = 1.0 + error * (i % 2 == 0 ? 1.0 : -1.0);
      samples.devices.push_back(devices);
      samples.bytes.push_back(bytes);
      samples.cost_ms.push_back(
          static_cast<float>(off * (line.latency_ms + line.ms_per_gib * bytes / kGib)));
    }
  }
  return samples;
}

const CollectiveModel kTrueLines{.lines = {{2, {0.05, 5.0}}, {64, {0.2, 20.0}}}};

TEST(TrainCollective, FindsTheLines) {
  const TrainedCollective exact = train_collective(samples_of(kTrueLines, 0.0));
  const TrainedCollective noisy = train_collective(samples_of(kTrueLines, 0.02));
  ASSERT_EQ(exact.model.lines.size(), 2U);
  for (const auto& [devices, line] : kTrueLines.lines) {
    EXPECT_NEAR(exact.model.lines.at(devices).latency_ms, line.latency_ms, 1e-5);
    EXPECT_NEAR(exact.model.lines.at(devices).ms_per_gib, line.ms_per_gib, 1e-4);
    EXPECT_NEAR(noisy.model.lines.at(devices).latency_ms, line.latency_ms, 0.02 * line.latency_ms);
    EXPECT_NEAR(noisy.model.lines.at(devices).ms_per_gib, line.ms_per_gib, 0.02 * line.ms_per_gib);
  }
  ASSERT_EQ(noisy.summary.tests.size(), 2U);
  EXPECT_EQ(noisy.summary.test_samples, 16U);
  EXPECT_LT(noisy.summary.tests[0].accuracy.mape, 0.03);
}

// As where ranks wait for processors that others have.
TEST(TrainCollective, AFewSamplesThatTookManyTimesAsLongHardlyCount) {
  CollectiveSamples samples = samples_of(kTrueLines, 0.02);
  for (std::size_t i = 1; i < samples.size(); i += 6) samples.cost_ms[i] *= 8.0F;
  const CollectiveModel model = train_collective(samples).model;
  for (const auto& [devices, line] : kTrueLines.lines) {
    EXPECT_NEAR(model.lines.at(devices).latency_ms, line.latency_ms, 0.1 * line.latency_ms);
    EXPECT_NEAR(model.lines.at(devices).ms_per_gib, line.ms_per_gib, 0.1 * line.ms_per_gib);
  }
}

TEST(TrainCollective, RefusesSamplesThatMakeNoLine) {
  const auto error = [](auto change) {
    CollectiveSamples samples = samples_of(kTrueLines, 0.0);
    change(samples);
    return message_of([&] { (void)train_collective(samples); });
  };
  EXPECT_THAT(error([](CollectiveSamples& s) { s = {}; }), HasSubstr("no all-reduce samples"));
  EXPECT_THAT(error([](CollectiveSamples& s) { s.bytes.assign(s.size(), 8.0); }),
              HasSubstr("2 devices: all are of one size"));
  EXPECT_THAT(error([](CollectiveSamples& s) { s.devices[0] = 3; }),
              HasSubstr("3 devices: there are 1"));
  EXPECT_THAT(error([](CollectiveSamples& s) { s.cost_ms[7] = 0.0F; }),
              HasSubstr("sample 7: costs"));
}

}  // namespace
}  // namespace neuroshard
