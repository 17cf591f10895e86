// The shortcuts to the cheapest device against a plain look at all of them.
#include "core/placement/device_board.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <random>
#include <vector>

namespace neuroshard {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class EveryCpuKernels : public ::testing::TestWithParam<const CpuKernels*> {
 protected:
  void SetUp() override {
    if (!GetParam()->supported()) GTEST_SKIP() << "this CPU cannot run it";
  }
};

INSTANTIATE_TEST_SUITE_P(Kernels, EveryCpuKernels,
                         ::testing::ValuesIn(all_cpu_kernels().begin(), all_cpu_kernels().end()),
                         [](const auto& info) { return std::string(info.param->name); });

// Few distinct values, so that ties are common.
float random_cost(std::mt19937_64& random) {
  constexpr std::array kRare = {kInfinity, -kInfinity, kNan, -1.0F, -0.0F};
  if (random() % 8 == 0) return kRare[random() % kRare.size()];
  return static_cast<float>(random() % 6) * 0.5F;
}

TEST_P(EveryCpuKernels, ChooseTheSameDeviceAsTheScalarOnes) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 20000; ++round) {
    const int devices = 1 + static_cast<int>(random() % 70);
    const auto padded = static_cast<std::size_t>(padded_width(devices));
    std::vector<float> cost_ms(padded, kInfinity);
    std::vector<std::int64_t> memory(padded);
    std::vector<std::int64_t> dim_sum(padded);
    for (std::size_t d = 0; d < static_cast<std::size_t>(devices); ++d) {
      cost_ms[d] = random_cost(random);
      memory[d] = static_cast<std::int64_t>(random() % 5) << (random() % 40);
      dim_sum[d] = static_cast<std::int64_t>(random() % 9);
    }
    const auto max_memory = static_cast<std::int64_t>(random() % 6) << (random() % 40);
    const std::int64_t max_dim_sum = static_cast<std::int64_t>(random() % 11) - 1;
    SCOPED_TRACE(round);
    ASSERT_EQ(GetParam()->choose_device(cost_ms.data(), memory.data(), dim_sum.data(), devices,
                                        max_memory, max_dim_sum),
              kScalarKernels.choose_device(cost_ms.data(), memory.data(), dim_sum.data(), devices,
                                           max_memory, max_dim_sum));
    ASSERT_EQ(GetParam()->index_of_lowest(cost_ms.data(), static_cast<int>(padded)),
              kScalarKernels.index_of_lowest(cost_ms.data(), static_cast<int>(padded)));
  }
}

struct Put {
  std::size_t device;
  std::int64_t size;
  std::int64_t dim;
  float cost_before_ms;
  bool was_empty;
  bool retired;
};

// Places pieces where the plain search would, takes some back, and goes on.
TEST_P(EveryCpuKernels, BoardChoosesLikeAPlainSearch) {
  std::mt19937_64 random(2);
  for (const int devices : {1, 2, 7, 16, 31, 32, 33, 64, 65, 200}) {
    SCOPED_TRACE(devices);
    DeviceBoard board(*GetParam(), devices);
    const auto count = static_cast<std::size_t>(devices);
    std::vector<float> cost_ms(count, 0.0F);
    std::vector<char> retired(count, 0);
    std::vector<Put> puts;
    const auto plain_choice = [&](std::int64_t max_memory, std::int64_t max_dim_sum) {
      std::vector<float> keys = cost_ms;
      for (std::size_t d = 0; d < count; ++d) {
        if (retired[d] != 0) keys[d] = kInfinity;
      }
      return kScalarKernels.choose_device(keys.data(), board.memory().data(),
                                          board.dim_sums().data(), devices, max_memory,
                                          max_dim_sum);
    };
    for (int step = 0; step < 3000; ++step) {
      if (random() % 40 == 0) {
        for (std::size_t n = random() % (puts.size() + 1); n > 0; --n, puts.pop_back()) {
          const Put& put = puts.back();
          board.take_back(put.device, put.size, put.dim, put.cost_before_ms, put.was_empty);
          cost_ms[put.device] = put.cost_before_ms;
          if (put.retired) retired[put.device] = 0;
        }
        board.refresh_blocks();
      }
      const auto max_memory = static_cast<std::int64_t>(random() % 60);
      const auto max_dim_sum = static_cast<std::int64_t>(random() % 60);
      const int chosen = plain_choice(max_memory, max_dim_sum);
      ASSERT_EQ(board.choose(max_memory, max_dim_sum), chosen);
      if (chosen < 0) continue;
      const auto device = static_cast<std::size_t>(chosen);
      const Put put{.device = device,
                    .size = 1 + static_cast<std::int64_t>(random() % 4),
                    .dim = 1 + static_cast<std::int64_t>(random() % 4),
                    .cost_before_ms = cost_ms[device],
                    .was_empty = board.memory()[device] == 0,
                    .retired = random() % 10 == 0};
      board.put(device, put.size, put.dim);
      const int other = board.choose(1000000, 1000000);
      cost_ms[device] = random_cost(random);
      board.settle(device, cost_ms[device], put.retired);
      if (put.retired) retired[device] = 1;
      puts.push_back(put);
      const int best = put.retired ? other : board.better_of(other, chosen);
      ASSERT_EQ(best, plain_choice(1000000, 1000000)) << step;
    }
  }
}

TEST_P(EveryCpuKernels, BoardChoosesFromASetLikeAPlainSearch) {
  std::mt19937_64 random(3);
  for (const int devices : {1, 7, 32, 33, 200}) {
    SCOPED_TRACE(devices);
    const auto count = static_cast<std::size_t>(devices);
    DeviceBoard board(*GetParam(), devices);
    for (int problem = 0; problem < 5; ++problem) {
      PlacementRules rules;
      rules.base_bytes.assign(count, 0);
      for (std::int64_t& bytes : rules.base_bytes) bytes = static_cast<std::int64_t>(random() % 9);
      rules.sets.resize(3, std::vector<bool>(count));
      for (std::vector<bool>& set : rules.sets) {
        for (std::size_t d = 0; d < count; ++d) set[d] = random() % 2 == 0;
      }
      board.use(&rules);
      std::vector<float> cost_ms(count, 0.0F);
      for (int step = 0; step < 300; ++step) {
        const std::size_t set = random() % rules.sets.size();
        std::vector<float> keys = cost_ms;
        for (std::size_t d = 0; d < count; ++d) {
          if (!rules.sets[set][d]) keys[d] = kInfinity;
        }
        const auto max_memory = static_cast<std::int64_t>(random() % 60);
        const auto max_dim_sum = static_cast<std::int64_t>(random() % 60);
        const int chosen =
            kScalarKernels.choose_device(keys.data(), board.memory().data(),
                                         board.dim_sums().data(), devices, max_memory, max_dim_sum);
        ASSERT_EQ(board.choose_from(set, max_memory, max_dim_sum), chosen);
        if (chosen < 0) continue;
        const auto device = static_cast<std::size_t>(chosen);
        board.put(device, 1 + static_cast<std::int64_t>(random() % 4), 1);
        cost_ms[device] = random_cost(random);
        board.settle(device, cost_ms[device], false);
      }
    }
  }
}

}  // namespace
}  // namespace neuroshard
