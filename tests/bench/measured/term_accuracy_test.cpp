#include "bench/measured/term_accuracy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <variant>
#include <vector>

#include "bench/measured/analytic_times.h"
#include "bench/measured/measurements.h"
#include "weights/collection/analytic_comm.h"

namespace neuroshard::bench {
namespace {

std::filesystem::path measured_folder() {
  return std::filesystem::path(NEUROSHARD_TEST_DATA) / "../../bench/data/measured";
}

TEST(TermAccuracy, SumsUpRatiosByTermInTheirOrder) {
  const std::vector<TermRatio> ratios = {{"b", 4.0}, {"a", 0.5}, {"b", 1.0}};
  const auto terms = accuracy_by_term(ratios);
  ASSERT_EQ(terms.size(), 2U);
  EXPECT_EQ(terms[0].term, "b");
  EXPECT_EQ(terms[0].measurements, 2U);
  EXPECT_DOUBLE_EQ(terms[0].mean, 2.0);
  EXPECT_DOUBLE_EQ(terms[0].spread, 2.0);
  EXPECT_EQ(terms[0].least, 1.0);
  EXPECT_EQ(terms[0].most, 4.0);
  EXPECT_EQ(terms[1].term, "a");
  EXPECT_DOUBLE_EQ(terms[1].spread, 1.0);
}

TEST(TermAccuracy, LimitsHoldMeansAndSpreads) {
  const AccuracyLimits limits{.least_mean = 0.5, .most_mean = 2.0, .most_spread = 1.5};
  EXPECT_TRUE(limits.hold({.term = "", .mean = 0.5, .spread = 1.5}));
  EXPECT_FALSE(limits.hold({.term = "", .mean = 0.49, .spread = 1.0}));
  EXPECT_FALSE(limits.hold({.term = "", .mean = 2.01, .spread = 1.0}));
  EXPECT_FALSE(limits.hold({.term = "", .mean = 1.0, .spread = 1.51}));
}

// Sends of a device, its own part included: of 8 devices 7 parts of 8 go over the links.
TEST(AnalyticTimes, BytesOfAnAllToAllIncludeADevicesOwnPart) {
  const auto us = [](double bytes, int devices, double gb_s) {
    const NetworkSpec network{"test", 8, {gb_s, 10.0}};
    return *analytic_us({.term = "",
                         .setup = "",
                         .what = MeasuredCollective{.collective = Collective::kAllToAll,
                                                    .network = network,
                                                    .devices = devices,
                                                    .bytes = bytes}},
                        "");
  };
  const double transfer_us = us(8e9, 8, 100.0) - us(4e9, 8, 100.0);
  const double exchange_us =
      1e3 * (analytic_comm({"test", 8, {100.0, 10.0}}, std::vector<std::int64_t>(8, 1000),
                           std::vector<double>(8, 0.0), 1e6)
                 .backward_ms[0] -
             analytic_comm({"test", 8, {100.0, 10.0}}, std::vector<std::int64_t>(8, 0),
                           std::vector<double>(8, 0.0), 1e6)
                 .backward_ms[0]);
  // 1,000 fp32 columns of 125,000 samples to each of 7: 7/8 of 4e9 bytes.
  EXPECT_NEAR(transfer_us, exchange_us, 1e-6 * exchange_us);
}

TEST(Measurements, EachExceptionIsOfATermThatIsJudged) {
  const auto measurements = read_measurements(measured_folder());
  for (const TermException& one : term_exceptions()) {
    const auto has_it = [&](const MeasuredTime& measurement) {
      return measurement.term.starts_with(one.term);
    };
    EXPECT_GE(std::ranges::count_if(measurements, has_it),
              static_cast<std::ptrdiff_t>(kFewestJudged))
        << one.term;
  }
}

TEST(Measurements, AnalyticTimesAreNearThem) {
  std::vector<TermRatio> ratios;
  for (const MeasuredTime& one : read_measurements(measured_folder())) {
    // Too few have an analytic time to be judged, and plans take a while.
    if (std::holds_alternative<MeasuredIteration>(one.what)) continue;
    const std::optional<double> us = analytic_us(one, measured_folder());
    ASSERT_TRUE(us && std::isfinite(*us) && *us > 0.0) << one.term << ", " << one.setup;
    ratios.push_back({one.term, *us / one.us});
  }
  int judged = 0;
  for (const TermAccuracy& term : accuracy_by_term(ratios)) {
    if (term.measurements < kFewestJudged) continue;
    ++judged;
    const AccuracyLimits limits = limits_of(term.term);
    EXPECT_TRUE(limits.hold(term)) << term.term << ": mean " << term.mean << ", spread "
                                   << term.spread << "; limits " << limits.str();
  }
  EXPECT_GT(judged, 0);
}

}  // namespace
}  // namespace neuroshard::bench
