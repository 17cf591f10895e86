// Gradients against finite differences of the loss.
#include <gtest/gtest.h>

#include <numeric>

#include "weights/training/comm_trainee.h"
#include "weights/training/compute_trainee.h"
#include "weights/training/golden_samples.h"

namespace neuroshard::training {
namespace {

std::vector<std::uint32_t> numbers_to(std::size_t count) {
  std::vector<std::uint32_t> samples(count);
  std::iota(samples.begin(), samples.end(), 0U);
  return samples;
}

std::vector<double> sum_of(std::span<const AlignedVector<float>> parts) {
  std::vector<double> sum(parts.front().size(), 0.0);
  for (const auto& part : parts) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
  }
  return sum;
}

// Divisor of the loss for its gradient to be the trainee's: a squared error is in units of the cost
// scale there.
double unit_of(TrainingLoss loss, const CostScale& scale) {
  return loss == TrainingLoss::kSquared ? static_cast<double>(scale.std_ms) * scale.std_ms : 1.0;
}

// A ReLU that turns on or off within the step bends the loss, so a few entries may be off; a wrong
// gradient is off nearly everywhere.
template <typename Loss>
void expect_gradient(TrainableMlp& mlp, const std::vector<double>& gradient, double unit,
                     const Loss& loss) {
  constexpr float kStep = 1.0F / 512;
  double largest = 0.0;
  for (const double entry : gradient) largest = std::max(largest, std::abs(entry));
  ASSERT_GT(largest, 0.0);
  int wrong = 0;
  int checked = 0;
  for (std::size_t i = 0; i < gradient.size(); i += 3) {
    const float weight = mlp.parameters()[i];
    const auto loss_at = [&](float value) {
      mlp.parameters()[i] = value;
      mlp.parameters_changed();
      return loss();
    };
    const double slope = (loss_at(weight + kStep) - loss_at(weight - kStep)) / (2.0 * kStep);
    loss_at(weight);
    ++checked;
    if (std::abs(slope / unit - gradient[i]) > 0.02 * std::abs(gradient[i]) + 0.003 * largest) {
      ++wrong;
    }
  }
  EXPECT_GT(checked, 50);
  EXPECT_LE(wrong, checked / 50);
}

class ComputeGradient : public ::testing::TestWithParam<TrainingLoss> {};

TEST_P(ComputeGradient, IsTheSlopeOfTheLoss) {
  const ComputeSamples& samples = testing::golden_compute_samples();
  ThreadTeam team(2);
  Random random(5);
  const auto batch = numbers_to(200);
  TrainingOptions options{.batch = static_cast<int>(batch.size()), .loss = GetParam()};
  ComputeTrainee trainee(samples, batch, {.table_network = {12, 9}, .head = {10}}, options,
                         best_matrix_kernels(), team, random);
  const auto loss = [&] { return trainee.differentiate(batch); };
  loss();
  const auto table_gradient = sum_of(trainee.networks()[0].latest_gradients());
  const auto head_gradient = sum_of(trainee.networks()[1].latest_gradients());
  const double unit = unit_of(GetParam(), trainee.scale());
  expect_gradient(trainee.networks()[0].mlp, table_gradient, unit, loss);
  expect_gradient(trainee.networks()[1].mlp, head_gradient, unit, loss);
}

INSTANTIATE_TEST_SUITE_P(BothLosses, ComputeGradient,
                         ::testing::Values(TrainingLoss::kSquared, TrainingLoss::kRelative));

class CommGradient
    : public ::testing::TestWithParam<std::tuple<CommArchitecture, CommPass, TrainingLoss>> {};

TEST_P(CommGradient, IsTheSlopeOfTheLoss) {
  const auto [architecture, pass, kind] = GetParam();
  const std::span<const CommSamples> all = testing::golden_comm_samples();
  const CommRows rows(architecture == CommArchitecture::kDense ? all.subspan(1, 1) : all,
                      architecture, pass);
  ThreadTeam team(2);
  Random random(6);
  const auto batch = numbers_to(rows.samples());
  const std::vector<int> hidden{11, 9};
  CommTrainee trainee(rows, batch, hidden, kind, best_matrix_kernels(), team, random);
  const auto loss = [&] { return trainee.differentiate(batch); };
  loss();
  NetworkInTraining& network = trainee.networks().front();
  expect_gradient(network.mlp, sum_of(network.latest_gradients()), unit_of(kind, trainee.scale()),
                  loss);
}

INSTANTIATE_TEST_SUITE_P(
    AllNetworks, CommGradient,
    ::testing::Combine(::testing::Values(CommArchitecture::kDense, CommArchitecture::kSymmetric),
                       ::testing::Values(CommPass::kForward, CommPass::kBackward),
                       ::testing::Values(TrainingLoss::kSquared, TrainingLoss::kRelative)));

TEST(RelativeLoss, IsSquaredForSmallErrorsAndLinearForLargeOnes) {
  const CostLoss loss(TrainingLoss::kRelative, /*mean_ms=*/2.0F);
  EXPECT_NEAR(loss(4.0F, 0.2), 0.05 * 0.05, 1e-12);
  EXPECT_NEAR(loss(4.0F, -0.2), 0.05 * 0.05, 1e-12);
  EXPECT_NEAR(loss(0.001F, 0.002), 0.1 * 0.1, 1e-6);  // As if the cost were 1 % of the mean.
  // Twice as far, twice as much more.
  EXPECT_NEAR(loss(4.0F, 12.0) - loss(4.0F, 8.0), loss(4.0F, 8.0) - loss(4.0F, 4.0), 1e-9);
  for (const double error_ms : {-9.0, -0.1, 0.3, 0.39, 0.41, 5.0}) {
    constexpr double kStep = 1e-6;
    const double slope =
        (loss(4.0F, error_ms + kStep) - loss(4.0F, error_ms - kStep)) / (2.0 * kStep);
    EXPECT_NEAR(2.0 * loss.slope(4.0F, error_ms) * error_ms, slope, 1e-6) << error_ms;
  }
}

}  // namespace
}  // namespace neuroshard::training
