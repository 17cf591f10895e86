#include "weights/collection/ranks/rank_source.h"

#include <gtest/gtest.h>

#include <numeric>

#include "weights/collection/ranks/group.h"
#include "weights/collection/ranks/host_exchange.h"

namespace neuroshard::ranks {
namespace {

// Takes down what it is asked to do; a forward takes as many ms as its rank and what was asked
// before say.
class WrittenDown : public Exchange {
 public:
  void set_sample(std::span<const std::int64_t> dim_sums, std::int64_t batch) override {
    sum = std::accumulate(dim_sums.begin(), dim_sums.end(), std::int64_t{0});
    EXPECT_EQ(batch, 100);
  }
  float* own_columns() override { return nullptr; }
  float* own_samples() override { return nullptr; }
  double forward_ms(Clock::time_point) override {
    return static_cast<double>(10 * ++forwards + group().rank());
  }
  double backward_ms(Clock::time_point) override { return static_cast<double>(sum); }

  std::int64_t sum = 0;
  int forwards = 0;
};

TEST(RankSource, GathersEachRanksMedian) {
  WrittenDown exchange;
  const RankMeasurement measurement{group(), exchange, {.warm_up = 2, .iterations = 3}, 100};
  if (group().rank() == 0) {
    RankSource source(measurement);
    const CommCost first = source.cost({{1, 2, 3, 4}, {0.0, 1.0, 2.0, 0.0}});
    EXPECT_EQ(first.forward_ms, (std::vector<double>{40.0, 41.0, 42.0, 43.0}));
    EXPECT_EQ(first.backward_ms, std::vector<double>(4, 10.0));
    const CommCost second = source.cost({{5, 2, 3, 4}, {0.0, 1.0, 2.0, 0.0}});
    EXPECT_EQ(second.forward_ms, (std::vector<double>{90.0, 91.0, 92.0, 93.0}));
    EXPECT_EQ(second.backward_ms, std::vector<double>(4, 14.0));
    EXPECT_FALSE(source.broken());
  } else {
    serve_samples(measurement);
  }
  EXPECT_EQ(exchange.forwards, 10);
}

TEST(RankSource, MeasuresDevicesWithoutColumns) {
  const auto exchange = make_host_exchange(group());
  const RankMeasurement measurement{group(), *exchange, {.warm_up = 0, .iterations = 1}, 4};
  if (group().rank() != 0) return serve_samples(measurement);
  RankSource source(measurement);
  for (const std::vector<std::int64_t>& dim_sums :
       {std::vector<std::int64_t>{0, 0, 0, 0}, {128, 0, 0, 4}, {1, 2, 3, 4}}) {
    const CommCost cost = source.cost({dim_sums, std::vector<double>(4, 0.0)});
    for (const double ms : cost.forward_ms) EXPECT_GT(ms, 0.0);
    for (const double ms : cost.backward_ms) EXPECT_GT(ms, 0.0);
  }
}

}  // namespace
}  // namespace neuroshard::ranks
