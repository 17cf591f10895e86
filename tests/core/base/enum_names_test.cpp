#include "core/base/enum_names.h"

#include <gmock/gmock.h>

namespace neuroshard {
namespace {

using testing::ElementsAre;

enum class Shape { kRound, kAlmostRound, kFp16, kX };

std::string_view name_of(Shape shape) { return name_or_unknown(shape); }

TEST(EnumNames, AreThoseOfTheEnumerators) {
  EXPECT_THAT(kNames<Shape>, ElementsAre("round", "almost_round", "fp16", "x"));
  EXPECT_THAT(kAllNamed<Shape>,
              ElementsAre(Shape::kRound, Shape::kAlmostRound, Shape::kFp16, Shape::kX));
  EXPECT_EQ(name_of(static_cast<Shape>(4)), "unknown");
  EXPECT_EQ(name_of(static_cast<Shape>(-1)), "unknown");
}

// The C interface hands them out.
TEST(EnumNames, EndWithAZero) {
  for (const std::string_view name : kNames<Shape>) EXPECT_EQ(std::string(name.data()), name);
}

}  // namespace
}  // namespace neuroshard
