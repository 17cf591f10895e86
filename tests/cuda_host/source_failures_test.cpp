// Cost collection when devices run out of memory or fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "cuda/operators/cuda_source.h"
#include "cuda_host/host_cuda_test.h"
#include "message_of.h"
#include "temporary_folder.h"
#include "weights/collection/collect_samples.h"
#include "weights/lookups/random_tables.h"

namespace neuroshard {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::message_of;

class SourceFailures : public testing::HostCudaTest {
 protected:
  SourceFailures() {
    Random random(17);
    for (int i = 0; i < 8; ++i) {
      base_.push_back(random_table(random, 32));
      base_.back().rows = 300;
      base_.back().pooling_factor = 2.0;
    }
    tables_ = augment_dims(base_, 32);
  }

  std::vector<std::unique_ptr<ComputeCostSource>> sources(StreamStore& streams, int devices) {
    std::vector<std::unique_ptr<ComputeCostSource>> all;
    for (int device = 0; device < devices; ++device) {
      all.push_back(make_cuda_source(
          tables_, streams, base_.size(), device,
          {.protocol = {.warm_up = 0, .iterations = 1}, .memory_bytes = std::int64_t{1} << 20}));
    }
    return all;
  }

  std::vector<Table> base_;
  std::vector<Table> tables_;
  ComputeDrawOptions draw_{.max_tables = 4, .memory_bytes = std::int64_t{1} << 20};
};

// Ids of the samples in a log, without their costs.
std::vector<std::string> ids_of(const std::string& log) {
  std::vector<std::string> ids;
  for (std::size_t at = 0; at < log.size(); at = log.find('\n', at) + 1) {
    ids.push_back(log.substr(at, log.find(' ', at) - at));
  }
  return ids;
}

TEST_F(SourceFailures, SeveralDevicesLogInOrder) {
  host_cuda::reset({.devices = 3});
  EXPECT_EQ(devices_to_measure({}).size(), 3U);
  StreamStore streams(base_, 20, 5, std::size_t{1} << 30);
  std::vector<std::vector<std::string>> ids;
  for (const int devices : {1, 3}) {
    const TemporaryFolder folder;
    SampleLog log(folder / "data.txt");
    collect_compute_samples(sources(streams, devices), tables_, draw_, {.samples = 25, .seed = 3},
                            log);
    ids.push_back(ids_of(contents_of(folder / "data.txt")));
    EXPECT_EQ(ids.back().size(), 25U);
  }
  EXPECT_EQ(ids[0], ids[1]);
}

TEST_F(SourceFailures, DevicesThatAreNotMeasuredGetNoContext) {
  host_cuda::reset({.devices = 2});
  StreamStore streams(base_, 20, 5, std::size_t{1} << 30);
  {
    const auto source = make_cuda_source(
        tables_, streams, base_.size(), 1,
        {.protocol = {.warm_up = 0, .iterations = 1}, .memory_bytes = std::int64_t{1} << 20});
    const int shard[] = {0, 9};
    EXPECT_GE(source->cost_ms(shard), 0.0);
  }
  EXPECT_THAT(host_cuda::usage().devices_with_context, ::testing::ElementsAre(1));
}

TEST_F(SourceFailures, ALogGoesOnAfterADeviceHasFailed) {
  StreamStore streams(base_, 20, 5, std::size_t{1} << 30);
  const TemporaryFolder folder;
  const CollectionRun run{.samples = 12, .seed = 3};
  {
    SampleLog log(folder / "data.txt");
    auto all = sources(streams, 1);
    host_cuda::fail_after(30);
    EXPECT_THAT(message_of([&] { collect_compute_samples(all, tables_, draw_, run, log); },
                           ErrorKind::kBackend),
                HasSubstr("illegal memory access"));
    EXPECT_GT(log.size(), 0U);
    EXPECT_LT(log.size(), 12U);
  }
  host_cuda::reset();
  SampleLog log(folder / "data.txt");
  EXPECT_EQ(log.removed_bytes(), 0U);
  collect_compute_samples(sources(streams, 1), tables_, draw_, run, log);
  EXPECT_EQ(log.size(), 12U);
  const TemporaryFolder other;
  SampleLog whole(other / "data.txt");
  collect_compute_samples(sources(streams, 1), tables_, draw_, run, whole);
  EXPECT_EQ(ids_of(contents_of(folder / "data.txt")), ids_of(contents_of(other / "data.txt")));
}

TEST_F(SourceFailures, SayWhatASampleNeeds) {
  StreamStore streams(base_, 20'000, 5, std::size_t{1} << 30);
  host_cuda::reset({.memory_bytes = std::size_t{4} << 20});
  const auto all = sources(streams, 1);
  EXPECT_THAT(message_of(
                  [&] {
                    (void)all[0]->cost_ms(std::vector<int>{0, 1, 2});
                  },
                  ErrorKind::kBackend),
              AllOf(HasSubstr("device 0"), HasSubstr("3 tables"), HasSubstr("GiB"),
                    HasSubstr("--max-tables")));
  // That was one sample's failure.
  EXPECT_GT(all[0]->cost_ms(std::vector<int>{31}), 0.0);
}

TEST_F(SourceFailures, MemoryThatEarlierSamplesTookIsGivenBack) {
  StreamStore streams(base_, NEUROSHARD_SANITIZED ? 100 : 1'500, 5, std::size_t{1} << 30);
  const std::vector<int> wide = {0, 1, 2, 3};  // Takes memory for activations,
  std::vector<int> many;                       // and this for lookups and keys.
  for (int i = 0; i < 16; ++i) many.push_back(24 + i % 8);
  const auto fits = [&](std::size_t memory_bytes, const std::vector<std::vector<int>>& samples) {
    host_cuda::reset({.memory_bytes = memory_bytes});
    try {
      const auto all = sources(streams, 1);
      for (const std::vector<int>& ids : samples) (void)all[0]->cost_ms(ids);
    } catch (const Error&) {
      return false;
    }
    return true;
  };
  // The least memory that has room for either: what the one has grown to leaves none for the other.
  constexpr std::size_t kStep = std::size_t{1} << 16;
  std::size_t too_little = 0;  // Steps.
  std::size_t enough = 1024;
  while (enough - too_little > 1) {
    const std::size_t steps = std::midpoint(too_little, enough);
    const bool both = fits(steps * kStep, {wide}) && fits(steps * kStep, {many});
    (both ? enough : too_little) = steps;
  }
  ASSERT_LT(enough, 1024U);
  EXPECT_TRUE(fits(enough * kStep, {wide, many, wide}));
}

TEST_F(SourceFailures, EveryAllocationCanFail) {
  StreamStore streams(base_, 20, 5, std::size_t{1} << 30);
  host_cuda::fail_allocations(true);
  EXPECT_THAT(message_of([&] { (void)sources(streams, 1); }, ErrorKind::kBackend),
              HasSubstr("out of memory"));
  host_cuda::fail_allocations(false);
  const auto all = sources(streams, 1);
  host_cuda::fail_allocations(true);
  EXPECT_THAT(message_of([&] { (void)all[0]->cost_ms(std::vector<int>{0}); }, ErrorKind::kBackend),
              HasSubstr("out of memory"));
  host_cuda::fail_allocations(false);
  EXPECT_GT(all[0]->cost_ms(std::vector<int>{0}), 0.0);
}

}  // namespace
}  // namespace neuroshard
