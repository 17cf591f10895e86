#include "weights/collection/ranks/rank_source.h"

#include <gtest/gtest.h>

#include <algorithm>
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
  void set_replicas(std::int64_t weights) override { sum = weights; }
  float* own_columns() override { return nullptr; }
  float* own_samples() override { return nullptr; }
  float* gradients() override { return nullptr; }
  float* weights() override { return nullptr; }
  double forward_ms(Clock::time_point) override {
    return static_cast<double>(10 * ++forwards + group().rank());
  }
  double backward_ms(Clock::time_point) override { return static_cast<double>(sum); }
  double all_reduce_ms(Clock::time_point) override {
    return static_cast<double>(sum) + (group().rank() == 2 ? 0.0 : group().rank());
  }

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

TEST(RankSource, AllReducesTakeAsLongAsForTheRankInTheMiddle) {
  WrittenDown exchange;
  const RankMeasurement measurement{group(), exchange, {.warm_up = 0, .iterations = 2}, 100};
  if (group().rank() != 0) return serve_samples(measurement);
  RankSource source(measurement);
  // 1,000 weights; ranks take 1000, 1001, 1000 and 1003 ms.
  EXPECT_EQ(source.all_reduce_ms(4000), 1000.0);
  EXPECT_EQ(source.cost({{1, 2, 3, 4}, {0.0, 0.0, 0.0, 0.0}}).backward_ms,
            std::vector<double>(4, 10.0));
}

TEST(HostExchange, ReplicasStepByTheSumOfAllGradients) {
  const auto exchange = make_host_exchange(group());
  for (const std::int64_t count : {5, 3}) {  // Fewer later: memory of more is there already.
    exchange->set_replicas(count);
    std::fill_n(exchange->weights(), 5, 1.0F);
    std::fill_n(exchange->gradients(), 5, static_cast<float>(group().rank()));
    EXPECT_GT(exchange->all_reduce_ms(group().common_start(kAgreementTime)), 0.0);
    for (std::int64_t i = 0; i < 5; ++i) {
      const bool stepped = i < count;
      EXPECT_EQ(exchange->gradients()[i], stepped ? 6.0F : static_cast<float>(group().rank()));
      EXPECT_FLOAT_EQ(exchange->weights()[i], stepped ? 1.0F - kReplicaLearningRate * 6.0F : 1.0F);
    }
  }
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
