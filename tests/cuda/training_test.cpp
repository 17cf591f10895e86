// Training on CUDA devices against the CPU's trainer: the same steps, sums in another order.
#include "neuroshard/training.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <numeric>
#include <utility>
#include <variant>

#include "core/base/thread_team.h"
#include "cuda/cuda_test.h"
#include "cuda/device/device_blas.h"
#include "neuroshard/cuda_training.h"
#include "weights/training/comm_trainee.h"
#include "weights/training/compute_trainee.h"
#include "weights/training/training_backend.h"

namespace neuroshard::training {
namespace {

class Training : public testing::CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (!gpu::cublas_found()) {
      if (std::getenv("NEUROSHARD_REQUIRE_GPU") != nullptr) FAIL() << gpu::cublas_description();
      GTEST_SKIP() << gpu::cublas_description();
    }
    backend_ = make_cuda_training();
  }

  std::shared_ptr<const TrainingBackend> backend_;
};

// Some of them empty, some with a table twice.
ComputeSamples compute_samples(std::size_t count, bool any_batch) {
  Random random(3);
  ComputeSamples samples;
  for (int t = 0; t < 23; ++t) {
    Table table;
    table.rows = 1000 + static_cast<std::int64_t>(random.below(1000000));
    table.dim = 4 << random.below(6);
    table.pooling_factor = 1.0 + 30.0 * random.uniform();
    table.access_histogram[random.below(8)] += 0.5;
    table.access_histogram[random.below(8)] += 0.5;
    samples.tables.push_back(table);
  }
  for (std::size_t s = 0; s < count; ++s) {
    double cost = 0.2;
    const std::uint64_t tables = s % 11 == 5 ? 0 : 1 + random.below(6);
    for (std::uint64_t k = 0; k < tables; ++k) {
      const auto id = static_cast<std::uint32_t>(random.below(samples.tables.size()));
      samples.table_ids.push_back(id);
      cost += 2e-3 * samples.tables[id].dim * std::sqrt(samples.tables[id].pooling_factor);
    }
    samples.offsets.push_back(samples.table_ids.size());
    const std::int64_t served = any_batch ? 16384 << random.below(3) : kDefaultBatchSize;
    if (any_batch) samples.served.push_back(served);
    samples.cost_ms.push_back(
        static_cast<float>(cost * static_cast<double>(served) / kDefaultBatchSize));
  }
  return samples;
}

CommSamples comm_samples(int devices, std::size_t count) {
  Random random(static_cast<std::uint64_t>(devices));
  CommSamples samples;
  samples.devices = devices;
  for (std::size_t s = 0; s < count; ++s) {
    std::int64_t most = 0;
    for (int d = 0; d < devices; ++d) {
      samples.dim_sums.push_back(4 * static_cast<std::int64_t>(random.below(200)));
      samples.start_offsets_ms.push_back(static_cast<float>(10.0 * random.uniform()));
      most = std::max(most, samples.dim_sums.back());
    }
    for (int d = 0; d < devices; ++d) {
      const auto at = s * static_cast<std::size_t>(devices) + static_cast<std::size_t>(d);
      samples.backward_ms.push_back(0.5F + 0.01F * static_cast<float>(most + samples.dim_sums[at]));
      samples.forward_ms.push_back(samples.backward_ms.back() + 10.0F -
                                   samples.start_offsets_ms[at]);
    }
  }
  return samples;
}

std::vector<std::uint32_t> numbers(std::size_t count) {
  std::vector<std::uint32_t> all(count);
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

// Looks at nothing: the host's trainee is up to date then.
class NoVisitor final : public StateVisitor {
 public:
  void floats(const std::string& /*name*/, std::span<float> /*values*/) override {}
  void numbers(const std::string& /*name*/, std::vector<double>& /*values*/) override {}
};

void expect_close(std::span<const float> actual, std::span<const float> expected, float share) {
  ASSERT_EQ(actual.size(), expected.size());
  float largest = 0.0F;
  for (const float x : expected) largest = std::max(largest, std::abs(x));
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i], share * largest) << i;
  }
}

// Two equal trainees, one of which is taken over: losses and, by Adam's means, gradients.
void expect_same_steps(CpuTrainee& cpu, CpuTrainee& host, const TrainingBackend& backend,
                       std::span<const std::uint32_t> order, std::size_t batch) {
  const auto cuda = backend.take_over(host, batch);
  EXPECT_NEAR(cuda->mean_loss(order), cpu.mean_loss(order), 1e-5 * cpu.mean_loss(order));
  // The second step is the shorter one.
  const std::size_t first = std::min(batch, order.size());
  for (Trainee* trainee : {static_cast<Trainee*>(&cpu), cuda.get()}) {
    trainee->begin_epoch(order);
    trainee->queue_step(first, 1e-3);
  }
  EXPECT_NEAR(cuda->epoch_loss(), cpu.epoch_loss(), 1e-5 * cpu.epoch_loss());
  const auto compare = [&](float of_gradients, float of_weights) {
    NoVisitor visitor;
    cuda->visit_state("", visitor);
    for (std::size_t i = 0; i < cpu.networks().size(); ++i) {
      SCOPED_TRACE(i);
      NetworkInTraining& expected = cpu.networks()[i];
      NetworkInTraining& actual = host.networks()[i];
      expect_close(actual.adam.mean(), expected.adam.mean(), of_gradients);
      expect_close(actual.mlp.parameters(), expected.mlp.parameters(), of_weights);
      EXPECT_EQ(actual.adam.steps(), expected.adam.steps());
    }
  };
  compare(1e-5F, 1e-4F);
  if (first < order.size()) {
    for (Trainee* trainee : {static_cast<Trainee*>(&cpu), cuda.get()}) {
      trainee->queue_step(order.size() - first, 1e-3);
    }
    EXPECT_NEAR(cuda->epoch_loss(), cpu.epoch_loss(), 1e-5 * cpu.epoch_loss());
    compare(1e-4F, 1e-4F);
  }
  cuda->remember_weights();
  const std::vector<float> predicted = cuda->predict(order);
  expect_close(predicted, cpu.predict(order), 1e-4F);
  // Remembered weights are recalled, here and in the host's trainee.
  cuda->begin_epoch(order);
  cuda->queue_step(first, 0.5);
  cuda->recall_weights();
  EXPECT_EQ(host.predict(order), predicted);
  EXPECT_NEAR(cuda->mean_loss(order), host.mean_loss(order), 1e-5 * host.mean_loss(order));
}

TEST_F(Training, StepsOfTheComputeModel) {
  for (const int features : {kTableFeatures, kOperatorFeatures}) {
    const ComputeSamples samples = compute_samples(40, features == kOperatorFeatures);
    for (const TrainingLoss loss : {TrainingLoss::kSquared, TrainingLoss::kRelative}) {
      for (const std::size_t batch : {1, 39, 40}) {
        SCOPED_TRACE(features);
        SCOPED_TRACE(batch);
        TrainingOptions options{.batch = static_cast<int>(batch), .loss = loss};
        const ComputeNetworkSizes sizes{features, {13, 12, 9}, {10, 7}};
        const auto order = numbers(samples.size());
        ThreadTeam team(1);
        Random random(5);
        ComputeTrainee cpu(samples, order, sizes, options, best_matrix_kernels(), team, random);
        random = Random(5);
        ComputeTrainee host(samples, order, sizes, options, best_matrix_kernels(), team, random);
        // The sixth sample has no tables.
        const std::size_t taken = batch == 1 ? 1 : order.size();
        expect_same_steps(cpu, host, *backend_, std::span(order).subspan(batch == 1 ? 5 : 0, taken),
                          batch);
      }
    }
  }
}

TEST_F(Training, StepsOfCommunicationNetworks) {
  const std::vector<CommSamples> sets = {comm_samples(2, 9), comm_samples(5, 8),
                                         comm_samples(19, 7)};
  for (const CommArchitecture architecture :
       {CommArchitecture::kSymmetric, CommArchitecture::kDense}) {
    const bool dense = architecture == CommArchitecture::kDense;
    for (const CommPass pass : {CommPass::kForward, CommPass::kBackward}) {
      for (const TrainingLoss loss : {TrainingLoss::kSquared, TrainingLoss::kRelative}) {
        SCOPED_TRACE(dense);
        const CommRows rows(dense ? std::span(sets).subspan(1, 1) : std::span(sets), architecture,
                            pass);
        const auto order = numbers(rows.samples());
        const std::vector<int> hidden = {15, 8};
        ThreadTeam team(1);
        Random random(6);
        CommTrainee cpu(rows, order, hidden, loss, best_matrix_kernels(), team, random);
        random = Random(6);
        CommTrainee host(rows, order, hidden, loss, best_matrix_kernels(), team, random);
        expect_same_steps(cpu, host, *backend_, order, order.size() - 1);
      }
    }
  }
}

// Losses of each epoch, in training and validation, and what came of them.
struct Course {
  std::vector<double> losses;
  std::vector<std::string> states;
  int best_epoch = 0;
  double test_mse = 0.0;
  std::vector<float> weights;
};

std::vector<float> weights_of(const Mlp& mlp) {
  std::vector<float> all;
  for (const DenseLayer& layer : mlp.layers) {
    all.insert(all.end(), layer.weight.begin(), layer.weight.end());
    all.insert(all.end(), layer.bias.begin(), layer.bias.end());
  }
  return all;
}

std::vector<float> weights_of(const CommNetwork& network) {
  return std::visit([](const auto& each) { return weights_of(each.network); }, network);
}

template <typename Train>
Course course_of(TrainingOptions options, std::shared_ptr<const TrainingBackend> backend,
                 const Train& train) {
  Course course;
  options.backend = std::move(backend);
  options.on_epoch = [&](const EpochReport& report) {
    course.losses.insert(course.losses.end(), {report.train_loss, report.valid_loss});
  };
  options.on_state = [&](std::string state) { course.states.push_back(std::move(state)); };
  const auto [summary, weights] = train(options);
  course.best_epoch = summary.best_epoch;
  course.test_mse = summary.tests.front().accuracy.mse;
  course.weights = weights;
  return course;
}

std::pair<TrainingSummary, std::vector<float>> train_small_model(const ComputeSamples& samples,
                                                                 const TrainingOptions& options) {
  const TrainedCompute trained = train_compute(samples, {kTableFeatures, {16, 8}, {12}}, options);
  std::vector<float> weights = weights_of(trained.model.table_network);
  for (const float weight : weights_of(trained.model.head)) weights.push_back(weight);
  return {trained.summary, weights};
}

void expect_close(const Course& actual, const Course& expected) {
  ASSERT_EQ(actual.losses.size(), expected.losses.size());
  for (std::size_t i = 0; i < actual.losses.size(); ++i) {
    EXPECT_NEAR(actual.losses[i], expected.losses[i], 1e-4 * expected.losses[i]) << i;
  }
  EXPECT_EQ(actual.best_epoch, expected.best_epoch);
  EXPECT_NEAR(actual.test_mse, expected.test_mse, 1e-4 * expected.test_mse);
  expect_close(actual.weights, expected.weights, 1e-3F);
}

TEST_F(Training, WholeTrainingsAreThoseOfTheCpu) {
  TrainingOptions options{.epochs = 10};
  options.batch = 10;  // There are 81 samples: the last batch has one.
  options.learning_rate = 1e-2;
  options.threads = 1;
  const ComputeSamples samples = compute_samples(101, false);
  const auto compute = [&](const TrainingOptions& with) {
    return train_small_model(samples, with);
  };
  const Course cpu = course_of(options, nullptr, compute);
  const Course cuda = course_of(options, backend_, compute);
  expect_close(cuda, cpu);
  ASSERT_LT(cpu.losses[cpu.losses.size() - 2], 0.8 * cpu.losses.front());
  EXPECT_EQ(course_of(options, backend_, compute).losses, cuda.losses);

  const std::vector<CommSamples> sets = {comm_samples(2, 51), comm_samples(4, 60)};
  const auto comm = [&](const TrainingOptions& with) {
    const TrainedComm trained = train_comm(sets, {CommArchitecture::kSymmetric, {12}}, with);
    return std::pair(trained.forward, weights_of(trained.model.forward));
  };
  expect_close(course_of(options, backend_, comm), course_of(options, nullptr, comm));
  const auto dense = [&](const TrainingOptions& with) {
    const TrainedComm trained =
        train_comm(std::span(sets).first(1), {CommArchitecture::kDense, {12}}, with);
    return std::pair(trained.backward, weights_of(trained.model.backward));
  };
  expect_close(course_of(options, backend_, dense), course_of(options, nullptr, dense));
}

TEST_F(Training, StatesServeBoth) {
  TrainingOptions options{.epochs = 4, .batch = 16, .threads = 1};
  const ComputeSamples samples = compute_samples(60, false);
  const auto compute = [&](const TrainingOptions& with) {
    return train_small_model(samples, with);
  };
  const Course cpu = course_of(options, nullptr, compute);
  const Course cuda = course_of(options, backend_, compute);
  ASSERT_EQ(cuda.states.size(), 4U);
  options.resume_from = cpu.states[1];
  expect_close(course_of(options, backend_, compute), cpu);
  options.resume_from = cuda.states[1];
  expect_close(course_of(options, nullptr, compute), cpu);
  EXPECT_EQ(course_of(options, backend_, compute).losses, cuda.losses);
}

}  // namespace
}  // namespace neuroshard::training
