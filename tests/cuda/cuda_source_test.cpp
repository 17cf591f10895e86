// Compute costs measured on a device.
#include "cuda/operators/cuda_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "cuda/cuda_test.h"
#include "message_of.h"
#include "weights/collection/collect_samples.h"
#include "weights/lookups/random_tables.h"

namespace neuroshard {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::message_of;
using CudaSources = testing::CudaTest;

std::vector<Table> some_tables() {
  Random random(41);
  std::vector<Table> tables;
  for (int i = 0; i < 6; ++i) {
    tables.push_back(random_table(random, 128));
    tables.back().rows = 1000 + 500 * i;
    tables.back().pooling_factor = std::min(tables.back().pooling_factor, 3.0);
  }
  return tables;
}

constexpr std::int64_t kBatch = 40;

TEST_F(CudaSources, MeasureEveryShard) {
  const std::vector<Table> base = some_tables();
  const std::vector<Table> tables = augment_dims(base, 64);
  StreamStore streams(base, kBatch, 4, std::size_t{1} << 30);
  const auto source =
      make_cuda_source(tables, streams, base.size(), 0,
                       {.protocol = {.warm_up = 1, .iterations = 2}, .memory_bytes = 20 << 20});
  EXPECT_EQ(source->traffic().forward_ms, 0.0);
  for (const std::vector<int>& ids : {std::vector<int>{0}, {29, 0, 7, 7}, {1, 2, 3, 4, 5, 20}}) {
    const double before = source->traffic().forward_bytes;
    const double cost = source->cost_ms(ids);
    EXPECT_TRUE(std::isfinite(cost));
    EXPECT_GT(cost, 0.0);
    EXPECT_GT(source->traffic().forward_bytes, before);
  }
  EXPECT_GT(source->traffic().backward_bytes, 0.0);
  EXPECT_GT(source->traffic().backward_ms, 0.0);
  EXPECT_GT(source->copy_gb_per_s(), 0.0);
}

TEST_F(CudaSources, CountTheBytesOfTheTimedRunsAlone) {
  std::vector<Table> base(1);
  base[0].rows = 100;
  base[0].dim = 8;
  base[0].pooling_factor = 2.0;
  base[0].access_histogram[1] = 1.0;  // Every row touched is touched twice.
  StreamStore streams(base, kBatch, 4, std::size_t{1} << 30);
  const auto source = make_cuda_source(
      base, streams, 1, 0, {.protocol = {.warm_up = 3, .iterations = 1}, .memory_bytes = 1 << 20});
  (void)source->cost_ms(std::vector<int>{0});
  // 80 lookups of 8 + 32 bytes; 40 offsets and outputs of 8 and 32.
  EXPECT_EQ(source->traffic().forward_bytes, 80 * 40 + 40 * 40);
  // Offsets; indices in, pairs out; digits; one pass of pairs in and out; pairs and gradients; 40
  // rows in and out.
  EXPECT_EQ(source->traffic().backward_bytes,
            40 * 8 + 80 * 16 + 80 * 4 + 80 * 16 + 80 * (8 + 32) + 40 * 2 * 32);
}

TEST_F(CudaSources, RefuseWhatDoesNotFit) {
  const std::vector<Table> base = some_tables();
  StreamStore streams(base, kBatch, 4, 0);
  const auto source =
      make_cuda_source(base, streams, base.size(), 0, {.protocol = {}, .memory_bytes = 1000});
  EXPECT_THAT(
      message_of([&] { (void)source->cost_ms(std::vector<int>{0}); }, ErrorKind::kInvalidInput),
      HasSubstr("raise --memory-gb"));
  EXPECT_THAT(message_of(
                  [&] {
                    (void)make_cuda_source(base, streams, base.size(), 0,
                                           {.protocol = {}, .memory_bytes = std::int64_t{1} << 50});
                  },
                  ErrorKind::kBackend),
              AllOf(HasSubstr("device 0"), HasSubstr("lower --memory-gb")));
}

TEST_F(CudaSources, NamesADeviceThatIsNotThere) {
  EXPECT_THAT(message_of(
                  [] {
                    (void)devices_to_measure(std::vector<int>{0, 4711});
                  },
                  ErrorKind::kBackend),
              HasSubstr("4711"));
  EXPECT_FALSE(devices_to_measure({}).empty());
}

}  // namespace
}  // namespace neuroshard
