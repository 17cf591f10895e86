#include "weights/collection/collect_samples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "neuroshard/error.h"
#include "temporary_folder.h"
#include "weights/lookups/random_tables.h"

namespace neuroshard {
namespace {

std::vector<Table> augmented_tables() {
  Random random(22);
  std::vector<Table> tables;
  for (int i = 0; i < 20; ++i) tables.push_back(random_table(random, 128));
  return augment_dims(tables);
}

const GpuSpec& gpu() { return gpu_named(kDefaultGpu); }

std::string collect(const std::vector<Table>& tables, std::size_t sources, std::uint64_t samples) {
  const TemporaryFolder folder;
  SampleLog log(folder / "data.txt");
  std::vector<std::unique_ptr<ComputeCostSource>> all;
  for (std::size_t i = 0; i < sources; ++i) {
    all.push_back(make_analytic_compute_source(gpu(), tables, kDefaultBatchSize));
  }
  collect_compute_samples(all, tables, {}, {.samples = samples, .seed = 5}, log);
  return contents_of(folder / "data.txt");
}

TEST(CollectCompute, LogsTheSameSamplesWhateverTheNumberOfSources) {
  const std::vector<Table> tables = augmented_tables();
  const std::string one = collect(tables, 1, 600);
  EXPECT_EQ(std::count(one.begin(), one.end(), '\n'), 600);
  EXPECT_EQ(collect(tables, 3, 600), one);
}

TEST(CollectCompute, GoesOnWhereAStoppedRunEnded) {
  const std::vector<Table> tables = augmented_tables();
  const TemporaryFolder folder;
  std::vector<std::unique_ptr<ComputeCostSource>> sources;
  sources.push_back(make_analytic_compute_source(gpu(), tables, kDefaultBatchSize));
  CollectionRun run{.samples = 100, .seed = 5};
  std::uint64_t seen = 0;
  run.progress = [&](std::uint64_t samples) { seen = samples; };
  run.should_stop = [&] { return seen == 40; };
  {
    SampleLog log(folder / "data.txt");
    collect_compute_samples(sources, tables, {}, run, log);
    EXPECT_EQ(log.size(), 40u);
  }
  std::filesystem::resize_file(folder / "data.txt",
                               std::filesystem::file_size(folder / "data.txt") - 3);
  SampleLog log(folder / "data.txt");
  EXPECT_EQ(log.size(), 39u);
  run.should_stop = nullptr;
  collect_compute_samples(sources, tables, {}, run, log);
  EXPECT_EQ(contents_of(folder / "data.txt"), collect(tables, 1, 100));
}

// Fails at its n-th sample, or is slow.
class TroubledSource : public ComputeCostSource {
 public:
  TroubledSource(int good_samples, bool slow) : left_(good_samples), slow_(slow) {}
  double cost_ms(std::span<const int>) override {
    if (left_-- == 0) throw Error("device lost", ErrorKind::kBackend);
    if (slow_) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return 1.5;
  }

 private:
  int left_;
  bool slow_;
};

TEST(CollectCompute, KeepsWhatWasMeasuredBeforeADeviceFails) {
  const std::vector<Table> tables = augmented_tables();
  const TemporaryFolder folder;
  SampleLog log(folder / "data.txt");
  std::vector<std::unique_ptr<ComputeCostSource>> sources;
  sources.push_back(std::make_unique<TroubledSource>(1000, true));
  sources.push_back(std::make_unique<TroubledSource>(7, false));
  EXPECT_THROW(collect_compute_samples(sources, tables, {}, {.samples = 1000}, log), Error);
  EXPECT_GE(log.size(), 7u);
  EXPECT_LT(log.size(), 1000u);
}

TEST(CollectCompute, OtherNumbersOfSamplesAreForSourcesThatKnowThem) {
  const std::vector<Table> tables = augmented_tables();
  const TemporaryFolder folder;
  SampleLog log(folder / "data.txt");
  const ComputeDrawOptions draw{.samples = ComputeDrawOptions::Samples::kIterations};
  std::vector<std::unique_ptr<ComputeCostSource>> sources;
  sources.push_back(std::make_unique<TroubledSource>(1000, false));
  EXPECT_THROW(collect_compute_samples(sources, tables, draw, {.samples = 10}, log), Error);
  sources.front() = make_analytic_compute_source(gpu(), tables, kDefaultBatchSize);
  collect_compute_samples(sources, tables, draw, {.samples = 10}, log);
  EXPECT_EQ(log.size(), 10u);
  const std::string first = contents_of(folder / "data.txt");
  EXPECT_EQ(std::ranges::count(first.substr(0, first.find('\n')), ' '), 2);
}

class WrongSource : public ComputeCostSource {
 public:
  double cost_ms(std::span<const int>) override { return -1.0; }
};

TEST(CollectCompute, RecordsNoImpossibleCost) {
  const std::vector<Table> tables = augmented_tables();
  const TemporaryFolder folder;
  SampleLog log(folder / "data.txt");
  std::vector<std::unique_ptr<ComputeCostSource>> sources;
  sources.push_back(std::make_unique<WrongSource>());
  EXPECT_THROW(collect_compute_samples(sources, tables, {}, {.samples = 10}, log), Error);
  EXPECT_EQ(log.size(), 0u);
}

TEST(CollectComm, LogsOneSampleALine) {
  const TemporaryFolder folder;
  const auto source = make_analytic_comm_source(network_named(kDefaultNetwork), kDefaultBatchSize);
  SampleLog log(folder / "data.txt");
  collect_comm_samples(*source, {.devices = 3}, {.samples = 50}, log);
  collect_comm_samples(*source, {.devices = 3}, {.samples = 50}, log);
  const std::string text = contents_of(folder / "data.txt");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 50);
  EXPECT_EQ(std::count(text.begin(), text.end(), ' '), 150);
  EXPECT_EQ(std::count(text.begin(), text.end(), ','), 400);
}

}  // namespace
}  // namespace neuroshard
