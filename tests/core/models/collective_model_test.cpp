#include "neuroshard/collective_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "neuroshard/error.h"
#include "numbers.h"
#include "tests/message_of.h"

namespace neuroshard {
namespace {

using ::testing::HasSubstr;
using testing::kGib;
using testing::message_of;

const CollectiveModel kModel{.lines = {{2, {0.1, 4.0}}, {8, {0.3, 10.0}}, {16, {0.5, 50.0}}}};

TEST(CollectiveModel, IsALineForEachNumberOfDevices) {
  EXPECT_DOUBLE_EQ(kModel.cost_ms(2, kGib), 4.1);
  EXPECT_DOUBLE_EQ(kModel.cost_ms(8, kGib / 2.0), 5.3);
  EXPECT_DOUBLE_EQ(kModel.cost_ms(16, 3.0 * kGib), 150.5);
}

TEST(CollectiveModel, InterpolatesBetweenThem) {
  EXPECT_DOUBLE_EQ(kModel.cost_ms(5, kGib), (4.1 + 10.3) / 2.0);
  EXPECT_DOUBLE_EQ(kModel.cost_ms(10, kGib), 0.75 * 10.3 + 0.25 * 50.5);
}

TEST(CollectiveModel, TakesTheNearestBeyondThem) {
  EXPECT_EQ(kModel.cost_ms(1, kGib), kModel.cost_ms(2, kGib));
  EXPECT_EQ(kModel.cost_ms(1024, kGib), kModel.cost_ms(16, kGib));
}

TEST(CollectiveModel, NothingTakesNoTime) { EXPECT_EQ(kModel.cost_ms(8, 0.0), 0.0); }

TEST(CollectiveModel, RefusesWhatIsNoSize) {
  for (const double bytes :
       {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    EXPECT_THROW((void)kModel.cost_ms(8, bytes), Error);
  }
  EXPECT_THAT(message_of([] { (void)CollectiveModel{}.cost_ms(8, 1.0); }),
              HasSubstr("has no line"));
}

TEST(CollectiveModel, IsValidated) {
  EXPECT_NO_THROW(validate(kModel, "w"));
  const auto error = [](int devices, CollectiveModel::Line line) {
    return message_of([&] { validate(CollectiveModel{.lines = {{devices, line}}}, "w"); });
  };
  EXPECT_THAT(message_of([] { validate(CollectiveModel{}, "w"); }), HasSubstr("w: has no line"));
  EXPECT_THAT(error(0, {}), HasSubstr("line for 0 devices"));
  EXPECT_THAT(error(2000, {}), HasSubstr("line for 2000 devices"));
  EXPECT_THAT(error(8, {-1.0, 1.0}), HasSubstr("line for 8 devices: is -1"));
  EXPECT_THAT(error(8, {1.0, std::numeric_limits<double>::infinity()}), HasSubstr("inf ms per"));
}

}  // namespace
}  // namespace neuroshard
