#include "neuroshard/batch_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "neuroshard/error.h"
#include "random_tasks.h"
#include "tests/message_of.h"

namespace neuroshard {
namespace {

using ::testing::HasSubstr;
using testing::message_of;
using testing::random_models;

CostModels models_with(int inputs) {
  CostModels models;
  models.compute.table_network.layers = {
      {.inputs = inputs, .outputs = 8, .weight = {}, .bias = {}}};
  return models;
}

std::string batch_error(int inputs, std::int64_t batch) {
  const CostModels models = models_with(inputs);
  try {
    require_batch(models, batch);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(BatchSupport, ModelsOfPublishedFeaturesKnowOneBatch) {
  EXPECT_EQ(batch_error(kTableFeatures, 65536), "");
  EXPECT_THAT(batch_error(kTableFeatures, 4096),
              HasSubstr("batch_size is 4096, but these cost models know batches of 65,536"));
}

TEST(BatchSupport, OthersKnowARange) {
  for (const std::int64_t batch : {1024, 5000, 65536, 4194304}) {
    EXPECT_EQ(batch_error(kTrafficFeatures, batch), "") << batch;
  }
  for (const std::int64_t batch : {1, 1023, 4194305}) {
    EXPECT_THAT(batch_error(kTrafficFeatures, batch), HasSubstr("1,024 to 4,194,304")) << batch;
  }
}

TEST(BatchSupport, ReplicasNeedAnyBatchAndAllReduces) {
  CostModels models = random_models(1, {.any_batch = true});
  EXPECT_NO_THROW(require_replicas(*make_cpu_backend(models)));
  models.all_reduce.reset();
  EXPECT_THAT(message_of([&] { require_replicas(*make_cpu_backend(models)); }),
              HasSubstr("do not price all-reduces"));
  models = random_models(1);
  models.all_reduce = AllReduceModel{.lines = {{8, {}}}};
  EXPECT_THAT(message_of([&] { require_replicas(*make_cpu_backend(models)); }),
              HasSubstr("part of the batch"));
}

TEST(BatchSupport, ModelsOfAnotherBatchHaveScaledAllToAlls) {
  for (const std::vector<int>& dense : {std::vector<int>{4}, std::vector<int>{}}) {
    const CostModels models = random_models(2, {.devices = dense, .any_batch = true});
    const auto backend = make_cpu_backend(models);
    const auto doubled = make_cpu_backend(models_for_batch(models, 2 * kDefaultBatchSize));
    EXPECT_EQ(doubled->batch_size(), 2 * kDefaultBatchSize);
    const std::vector<float> columns = {8.0F, 120.0F, 0.0F, 64.0F};
    std::vector<float> once(4);
    std::vector<float> none(4);
    std::vector<float> got(4);
    backend->backward_comm(4, columns, once);
    backend->backward_comm(4, std::vector<float>(4, 0.0F), none);
    doubled->backward_comm(4, columns, got);
    for (std::size_t d = 0; d < 4; ++d) EXPECT_NEAR(got[d], 2.0F * once[d] - none[d], 1e-4F);
  }
  EXPECT_EQ(models_for_batch(random_models(2), kDefaultBatchSize).batch_size, kDefaultBatchSize);
}

TEST(BatchSupport, ABackendServesTasksOfItsBatch) {
  const auto backend = make_cpu_backend(random_models(3, {.any_batch = true}));
  Task task;
  EXPECT_NO_THROW(require_batch(*backend, task));
  task.batch_size = 4096;
  EXPECT_THAT(message_of([&] { require_batch(*backend, task); }),
              HasSubstr("batch_size is 4096, but the backend has models for 65,536"));
}

TEST(BatchSupport, ModelsOfPublishedFeaturesLeaveIdsOut) {
  EXPECT_FALSE(models_with(kTableFeatures).prices_ids());
  EXPECT_TRUE(models_with(kTrafficFeatures).prices_ids());
}

}  // namespace
}  // namespace neuroshard
