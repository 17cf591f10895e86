#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "core/base/count_up.h"
#include "golden.h"
#include "message_of.h"
#include "neuroshard/backend.h"
#include "neuroshard/error.h"
#include "neuroshard/evaluation.h"
#include "neuroshard/training.h"
#include "neuroshard/weights.h"
#include "weights/collection/cost_sources.h"
#include "weights/collection/sample_draws.h"
#include "weights/training/compute_trainee.h"
#include "weights/training/golden_samples.h"

namespace neuroshard {
namespace {

using ::testing::AllOf;
using testing::golden_comm_samples;
using testing::golden_compute_samples;
using ::testing::HasSubstr;
using testing::message_of;

const ComputeNetworkSizes kSmallCompute{.table_network = {24, 8}, .head = {16}};

ComputeSamples first_samples(std::size_t count) {
  ComputeSamples samples = golden_compute_samples();
  samples.cut_to(count);
  return samples;
}

std::string bytes_of(const TrainedCompute& trained) {
  return serialize_weights(
      {.compute = trained.model, .dense_comm = {}, .symmetric_comm = {}, .metadata = {}});
}

std::string bytes_of(const TrainedComm& trained) {
  CostModels models = testing::golden_models();
  models.symmetric_comm = trained.model;
  return serialize_weights(models);
}

TEST(TrainCompute, LearnsThePublishedData) {
  TrainingOptions options{.epochs = NEUROSHARD_SANITIZED ? 25 : 60, .batch = 128};
  const TrainedCompute trained = train_compute(golden_compute_samples(), {}, options);
  EXPECT_EQ(trained.summary.train_samples, 1600U);
  EXPECT_EQ(trained.summary.valid_samples, 200U);
  ASSERT_EQ(trained.summary.tests.size(), 1U);
  const Accuracy& accuracy = trained.summary.tests[0].accuracy;
  EXPECT_EQ(accuracy.costs, 200U);
  // A constant prediction would have an error of several ms^2.
  EXPECT_LT(accuracy.mse, 0.25);
  EXPECT_GT(accuracy.kendall_tau, 0.92);
}

// A seed trains the same weights whatever the compiler's order of arguments.
TEST(TrainCompute, DrawsTheTableNetworkBeforeTheHead) {
  const ComputeSamples samples = first_samples(40);
  const auto numbers = count_up<std::uint32_t>(samples.size());
  ThreadTeam team(1);
  Random random(5);
  training::ComputeTrainee trainee(samples, numbers, kSmallCompute, {},
                                   training::best_matrix_kernels(), team, random);
  Random same(5);
  const training::TrainableMlp table_network({kSmallCompute.table_features, 24, 8}, true, same);
  const training::TrainableMlp head({8, 16, 1}, false, same);
  EXPECT_EQ(std::as_const(trainee.networks()[1].mlp).parameters(), head.parameters());
}

TEST(TrainCompute, CanLearnAFewSamplesByHeart) {
  TrainingOptions options{.epochs = 1500, .batch = 16};
  double train_loss = 0.0;
  options.on_epoch = [&](const EpochReport& report) { train_loss = report.train_loss; };
  (void)train_compute(first_samples(20), kSmallCompute, options);
  EXPECT_LT(train_loss, 1e-3);
}

TEST(TrainCompute, GivesTheSameBitsForEveryNumberOfThreads) {
  TrainingOptions options{.epochs = 3, .batch = 300, .seed = 11, .threads = 1};
  const std::string one = bytes_of(train_compute(golden_compute_samples(), kSmallCompute, options));
  options.threads = 3;
  EXPECT_EQ(bytes_of(train_compute(golden_compute_samples(), kSmallCompute, options)), one);
  options.seed = 12;
  EXPECT_NE(bytes_of(train_compute(golden_compute_samples(), kSmallCompute, options)), one);
}

TEST(TrainCompute, KeepsTheEpochWithTheLowestValidationError) {
  TrainingOptions options{.epochs = 30};
  options.learning_rate = 0.05;  // So rough that some later epoch is worse than an earlier one.
  options.final_learning_rate = 0.05;
  std::vector<double> errors;
  options.on_epoch = [&](const EpochReport& report) { errors.push_back(report.valid_loss); };
  const TrainedCompute trained = train_compute(first_samples(300), kSmallCompute, options);
  const auto best = std::min_element(errors.begin(), errors.end());
  ASSERT_EQ(errors.size(), 30U);
  EXPECT_EQ(trained.summary.best_epoch, best - errors.begin() + 1);
  EXPECT_EQ(trained.summary.valid_loss, *best);

  // Training only as far as the best epoch ends in the same weights.
  options.epochs = trained.summary.best_epoch;
  EXPECT_EQ(bytes_of(train_compute(first_samples(300), kSmallCompute, options)), bytes_of(trained));
}

TEST(TrainCompute, StopsWhenAskedAndKeepsTheBestSoFar) {
  TrainingOptions options{.epochs = 1000, .batch = 64};
  int steps = 0;
  options.should_stop = [&] { return ++steps >= 15; };  // In the third epoch of 5 steps.
  std::vector<double> errors;
  options.on_epoch = [&](const EpochReport& report) { errors.push_back(report.valid_loss); };
  const TrainedCompute trained = train_compute(first_samples(400), kSmallCompute, options);
  EXPECT_TRUE(trained.summary.stopped);
  EXPECT_EQ(steps, 15);
  EXPECT_EQ(errors.size(), 3U);
  EXPECT_EQ(trained.summary.valid_loss, *std::min_element(errors.begin(), errors.end()));
}

// Trains, keeping the state after every epoch; then again from each of these states.
template <typename Train>
void expect_same_bytes_from_every_state(const Train& train, TrainingOptions options) {
  std::vector<std::string> states;
  std::vector<std::string> reports;
  options.on_epoch = [&](const EpochReport& report) {
    reports.push_back(report.network + std::to_string(report.epoch) + ' ' +
                      std::to_string(report.train_loss) + ' ' + std::to_string(report.valid_loss) +
                      ' ' + std::to_string(report.best_valid_loss));
  };
  options.on_state = [&](std::string state) { states.push_back(std::move(state)); };
  const auto uninterrupted = train(options);
  const std::string bytes = bytes_of(uninterrupted);
  ASSERT_EQ(states.size(), static_cast<std::size_t>(options.epochs));
  std::vector<std::string> all_reports = std::exchange(reports, {});
  std::ranges::sort(all_reports);
  options.on_state = nullptr;
  options.threads = 2;
  for (const std::string& state : states) {
    options.resume_from = state;
    const auto resumed = train(options);
    EXPECT_EQ(bytes_of(resumed), bytes);
    std::ranges::sort(reports);
    EXPECT_EQ(std::exchange(reports, {}), all_reports);
  }
}

TEST(TrainCompute, GoesOnFromAnyStateToTheSameBits) {
  TrainingOptions options{.epochs = 4, .batch = 64};
  options.learning_rate = 0.05;  // So rough that the best epoch need not be the last.
  options.threads = 1;
  expect_same_bytes_from_every_state(
      [](const TrainingOptions& o) { return train_compute(first_samples(300), kSmallCompute, o); },
      options);
}

TEST(TrainComm, GoesOnFromAnyStateToTheSameBits) {
  TrainingOptions options{.epochs = 3, .threads = 1};
  const auto samples = std::span(golden_comm_samples()).first(2);
  expect_same_bytes_from_every_state(
      [&](const TrainingOptions& o) {
        return train_comm(samples, {CommArchitecture::kSymmetric, {8}}, o);
      },
      options);
}

TEST(TrainCompute, GoesOnAfterAStopInTheMiddleOfAnEpoch) {
  TrainingOptions options{.epochs = 4, .batch = 64};
  const std::string bytes = bytes_of(train_compute(first_samples(300), kSmallCompute, options));
  std::string last;
  int steps = 0;
  options.on_state = [&](std::string state) { last = std::move(state); };
  options.should_stop = [&] { return ++steps >= 6; };  // In the second epoch of 4 steps.
  EXPECT_TRUE(train_compute(first_samples(300), kSmallCompute, options).summary.stopped);
  options.should_stop = nullptr;
  options.resume_from = last;
  EXPECT_EQ(bytes_of(train_compute(first_samples(300), kSmallCompute, options)), bytes);
}

TEST(TrainCompute, RefusesAStateOfOtherTrainingOrADamagedOne) {
  TrainingOptions options{.epochs = 2};
  std::string last;
  options.on_state = [&](std::string state) { last = std::move(state); };
  (void)train_compute(first_samples(100), kSmallCompute, options);
  options.on_state = nullptr;
  options.resume_from = last;
  options.resume_name = "w.partial";
  const auto message = [](const TrainingOptions& o, const ComputeNetworkSizes& sizes,
                          std::size_t samples) {
    return message_of([&] { (void)train_compute(first_samples(samples), sizes, o); });
  };
  const auto other = AllOf(HasSubstr("w.partial"), HasSubstr("other samples"), HasSubstr("remove"));
  EXPECT_THAT(message(options, kSmallCompute, 99), other);
  EXPECT_THAT(message(options, {.table_network = {24, 8}, .head = {17}}, 100), other);
  TrainingOptions longer = options;
  longer.epochs = 3;
  EXPECT_THAT(message(longer, kSmallCompute, 100), other);
  for (std::size_t length = 0; length < last.size(); length += 1 + last.size() / 50) {
    if (length == 0) continue;  // An empty one is none.
    TrainingOptions cut = options;
    cut.resume_from.resize(length);
    EXPECT_THAT(message(cut, kSmallCompute, 100), HasSubstr("w.partial")) << length;
  }
  // Other bytes in the header: an error that says so, or weights, but no crash.
  for (std::size_t at = 8; at < 700; at += 7) {
    TrainingOptions changed = options;
    changed.resume_from[at] = static_cast<char>(changed.resume_from[at] ^ 1);
    try {
      (void)train_compute(first_samples(100), kSmallCompute, changed);
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("w.partial"));
    }
  }
}

// Costs from 0.05 ms to seconds, in relation to each other.
TEST(TrainCompute, OperatorFeaturesLearnOperatorsOfAnyNumberOfSamples) {
  ComputeSamples samples;
  samples.tables = augment_dims(testing::golden_tables());
  const auto source =
      make_analytic_compute_source(gpu_named(kDefaultGpu), samples.tables, kDefaultBatchSize);
  for (std::uint64_t i = 0; i < 600; ++i) {
    Random random(3, i);
    const std::vector<int> ids = draw_shard(samples.tables, {}, random);
    samples.served.push_back(std::int64_t{1024} << random.below(13));
    source->serve(samples.served.back());
    samples.add(ids, source->cost_ms(ids));
  }
  TrainingOptions options{
      .epochs = NEUROSHARD_SANITIZED ? 10 : 40, .batch = 32, .loss = TrainingLoss::kRelative};
  EXPECT_THAT(message_of([&] { (void)train_compute(samples, {}, options); }),
              HasSubstr("take those of operators"));
  const TrainedCompute trained =
      train_compute(samples, {.table_features = kOperatorFeatures}, options);
  EXPECT_TRUE(trained.model.any_batch());
  for (const DenseLayer& layer : trained.model.table_network.layers) {
    EXPECT_EQ(layer.bias, std::vector<float>(layer.bias.size(), 0.0F));
  }
  const Accuracy& accuracy = trained.summary.tests[0].accuracy;
  EXPECT_LT(accuracy.mape, NEUROSHARD_SANITIZED ? 0.5 : 0.15);
  EXPECT_GT(accuracy.kendall_tau, 0.9);
  // As a backend predicts.
  const auto backend = make_cpu_backend(
      {.compute = trained.model, .dense_comm = {}, .symmetric_comm = {}, .metadata = {}});
  const TestResult all = evaluate_compute(*backend, samples);
  EXPECT_LT(all.accuracy.mape, NEUROSHARD_SANITIZED ? 0.5 : 0.15);
}

TEST(TrainCompute, BackendsPredictWhatTheTrainerDid) {
  TrainingOptions options{.epochs = 2};
  const ComputeSamples& samples = golden_compute_samples();
  const TrainedCompute trained = train_compute(samples, {}, options);
  const auto backend = make_cpu_backend(
      {.compute = trained.model, .dense_comm = {}, .symmetric_comm = {}, .metadata = {}});
  std::vector<float> features;
  for (const Table& table : samples.tables) {
    const auto row = table_features(table, table.dim);
    features.insert(features.end(), row.begin(), row.end());
  }
  std::vector<float> embeddings(samples.tables.size() *
                                static_cast<std::size_t>(backend->embedding_width()));
  backend->embed_pieces(features, embeddings);
  const std::vector<std::uint32_t> offsets(samples.offsets.begin(), samples.offsets.end());
  std::vector<float> cost_ms(samples.size());
  backend->score_shards(embeddings, {offsets, samples.table_ids}, cost_ms);
  // The test samples are some of these; find each by its measured cost, which no two share.
  const TestResult& test = trained.summary.tests[0];
  for (std::size_t i = 0; i < test.measured_ms.size(); ++i) {
    const auto found =
        std::find(samples.cost_ms.begin(), samples.cost_ms.end(), test.measured_ms[i]);
    ASSERT_NE(found, samples.cost_ms.end());
    const float predicted = cost_ms[static_cast<std::size_t>(found - samples.cost_ms.begin())];
    EXPECT_NEAR(predicted, test.predicted_ms[i], 1e-4 * std::abs(predicted) + 1e-4);
  }
}

TEST(TrainComm, ASymmetricNetworkLearnsSeveralDeviceCountsAtOnce) {
  TrainingOptions options{.epochs = NEUROSHARD_SANITIZED ? 40 : 150, .batch = 64};
  const TrainedComm trained = train_comm(golden_comm_samples(), {}, options);
  ASSERT_EQ(trained.forward.tests.size(), 3U);
  ASSERT_EQ(trained.backward.tests.size(), 3U);
  for (const TrainingSummary* summary : {&trained.forward, &trained.backward}) {
    SCOPED_TRACE(summary->network);
    for (const TestResult& test : summary->tests) {
      SCOPED_TRACE(test.devices);
      EXPECT_EQ(test.measured_ms.size(), 40U * static_cast<std::size_t>(test.devices));
      EXPECT_LT(test.accuracy.mape, 0.05);
      EXPECT_GT(test.accuracy.kendall_tau, 0.9);
    }
  }
}

TEST(TrainComm, SymmetricCostsFollowAPermutationOfTheDevicesBitForBit) {
  TrainingOptions options{.epochs = 2};
  CostModels models = testing::golden_models();
  models.dense_comm.clear();
  models.symmetric_comm = train_comm(golden_comm_samples(), {}, options).model;
  const auto backend = make_cpu_backend(models);
  const CommSamples& samples = golden_comm_samples()[2];
  ASSERT_EQ(samples.devices, 8);
  const std::array<std::size_t, 8> order{3, 7, 0, 5, 1, 6, 2, 4};
  const std::vector<float> dim_sums(samples.dim_sums.begin(), samples.dim_sums.begin() + 8);
  const std::span offsets(samples.start_offsets_ms.data(), 8);
  std::vector<float> moved_dims;
  std::vector<float> moved_offsets;
  for (const std::size_t device : order) {
    moved_dims.push_back(dim_sums[device]);
    moved_offsets.push_back(offsets[device] / 3.0F);
  }
  std::vector<float> thirds(offsets.begin(), offsets.end());
  for (float& offset : thirds) offset /= 3.0F;
  std::vector<float> cost_ms(8);
  std::vector<float> moved_ms(8);
  backend->forward_comm(8, dim_sums, thirds, cost_ms);
  backend->forward_comm(8, moved_dims, moved_offsets, moved_ms);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(moved_ms[i], cost_ms[order[i]]);
  backend->backward_comm(8, dim_sums, cost_ms);
  backend->backward_comm(8, moved_dims, moved_ms);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(moved_ms[i], cost_ms[order[i]]);
}

TEST(TrainComm, GivesTheSameBitsForEveryNumberOfThreads) {
  TrainingOptions options{.epochs = 2, .threads = 1};
  const std::string one = bytes_of(train_comm(golden_comm_samples(), {}, options));
  options.threads = 4;
  EXPECT_EQ(bytes_of(train_comm(golden_comm_samples(), {}, options)), one);
}

TEST(TrainComm, ADenseNetworkLearnsItsDeviceCount) {
  TrainingOptions options{.epochs = NEUROSHARD_SANITIZED ? 60 : 200, .batch = 32};
  const TrainedComm trained =
      train_comm(std::span(golden_comm_samples()).first(1),
                 {.architecture = CommArchitecture::kDense, .hidden = {}}, options);
  const auto& forward = std::get<DenseCommNetwork>(trained.model.forward);
  EXPECT_EQ(forward.network.inputs(), 4);
  EXPECT_EQ(forward.network.outputs(), 2);
  EXPECT_LT(trained.forward.tests[0].accuracy.mape, 0.1);
  EXPECT_LT(trained.backward.tests[0].accuracy.mape, 0.1);
}

TEST(Training, SaysWhatIsWrongWithItsInput) {
  EXPECT_THAT(message_of([] { (void)train_compute(first_samples(9)); }),
              HasSubstr("9 compute samples; give at least 10"));
  EXPECT_THAT(message_of([] {
                (void)train_comm(golden_comm_samples(),
                                 {.architecture = CommArchitecture::kDense, .hidden = {}});
              }),
              HasSubstr("3 device counts"));
  EXPECT_THAT(message_of([] { (void)train_comm({}); }), HasSubstr("no communication samples"));
  const auto with_options = [](const auto& change) {
    TrainingOptions options;
    change(options);
    return message_of([&] { (void)train_compute(first_samples(20), {}, options); });
  };
  EXPECT_THAT(with_options([](TrainingOptions& o) { o.epochs = 0; }), HasSubstr("epochs is 0"));
  EXPECT_THAT(with_options([](TrainingOptions& o) { o.batch = -1; }), HasSubstr("batch is -1"));
  EXPECT_THAT(with_options([](TrainingOptions& o) { o.learning_rate = 0; }),
              HasSubstr("learning rate"));
  EXPECT_THAT(with_options([](TrainingOptions& o) { o.threads = -2; }), HasSubstr("threads is -2"));
  EXPECT_THAT(message_of([] {
                (void)train_compute(first_samples(20), {.table_network = {8, 0}, .head = {4}});
              }),
              HasSubstr("table network: layer width 0"));
}

}  // namespace
}  // namespace neuroshard
