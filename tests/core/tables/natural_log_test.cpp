#include "core/tables/natural_log.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/random.h"

namespace neuroshard {
namespace {

TEST(NaturalLog, IsWithinTwoUnitsInTheLastPlace) {
  const auto expect_near = [](double x) {
    const long double expected = std::log(static_cast<long double>(x));
    const double unit = std::abs(std::nextafter(static_cast<double>(expected), 1e300) -
                                 static_cast<double>(expected));
    EXPECT_LE(std::abs(static_cast<long double>(natural_log(x)) - expected), 2.0L * unit) << x;
  };
  for (const double x : {1.0, 0.5, 2.0, 0x1p-53, 1.0 - 0x1p-53, 1.0 + 0x1p-52, 0x1p-1022, 1e300,
                         std::sqrt(0.5), std::sqrt(2.0)}) {
    expect_near(x);
    expect_near(std::nextafter(x, 4.0));
  }
  Random random(5);
  for (int i = 0; i < 100000; ++i) {
    expect_near(1.0 - random.uniform());
    expect_near(random.log_uniform(1e-300, 1e300));
    expect_near(1.0 + 1e-3 * (random.uniform() - 0.5));
  }
  EXPECT_EQ(natural_log(1.0), 0.0);
}

}  // namespace
}  // namespace neuroshard
