#include "neuroshard/task_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <variant>

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

TEST(TaskModels, ModelsOfPublishedFeaturesKnowOneBatch) {
  EXPECT_EQ(batch_error(kTableFeatures, 65536), "");
  EXPECT_THAT(batch_error(kTableFeatures, 4096),
              HasSubstr("batch_size is 4096, but these cost models know batches of 65,536"));
}

TEST(TaskModels, OthersKnowARange) {
  for (const std::int64_t batch : {1024, 5000, 65536, 4194304}) {
    EXPECT_EQ(batch_error(kOperatorFeatures, batch), "") << batch;
  }
  for (const std::int64_t batch : {1, 1023, 4194305}) {
    EXPECT_THAT(batch_error(kOperatorFeatures, batch), HasSubstr("1,024 to 4,194,304")) << batch;
  }
}

TEST(TaskModels, ReplicasNeedAnyBatchAndAllReduces) {
  CostModels models = random_models(1, {.any_batch = true});
  EXPECT_NO_THROW(require_replicas(*make_cpu_backend(models)));
  models.all_reduce.reset();
  EXPECT_THAT(message_of([&] { require_replicas(*make_cpu_backend(models)); }),
              HasSubstr("do not price all-reduces"));
  models = random_models(1);
  models.all_reduce = CollectiveModel{.lines = {{8, {}}}};
  EXPECT_THAT(message_of([&] { require_replicas(*make_cpu_backend(models)); }),
              HasSubstr("part of the batch"));
}

TEST(TaskModels, ModelsOfAnotherBatchHaveScaledAllToAlls) {
  for (const std::vector<int>& dense : {std::vector<int>{4}, std::vector<int>{}}) {
    const CostModels models = random_models(2, {.devices = dense, .any_batch = true});
    const auto backend = make_cpu_backend(models);
    const auto doubled =
        make_cpu_backend(models_for(models, {.batch_size = 2 * kDefaultBatchSize}));
    EXPECT_EQ(doubled->comm_setting().batch_size, 2 * kDefaultBatchSize);
    const std::vector<float> columns = {8.0F, 120.0F, 0.0F, 64.0F};
    std::vector<float> once(4);
    std::vector<float> none(4);
    std::vector<float> got(4);
    backend->backward_comm(4, columns, once);
    backend->backward_comm(4, std::vector<float>(4, 0.0F), none);
    doubled->backward_comm(4, columns, got);
    for (std::size_t d = 0; d < 4; ++d) EXPECT_NEAR(got[d], 2.0F * once[d] - none[d], 1e-4F);
  }
  EXPECT_EQ(models_for(random_models(2), {}).setting.batch_size, kDefaultBatchSize);
}

// The cost of nothing is a constant then, and needs no network of its own.
TEST(TaskModels, ModelsOfAnotherBatchAreAsLargeForANumberOfDevices) {
  const CostModels models = random_models(2, {.any_batch = true});
  const CommSetting any{.batch_size = kDefaultBatchSize / 4};
  CommSetting of_four = any;
  of_four.devices = 4;
  const CostModels for_any = models_for(models, any);
  const CostModels for_four = models_for(models, of_four);
  const auto outputs_of_first = [](const CostModels& of) {
    const auto& network = std::get<SymmetricCommNetwork>(of.symmetric_comm->forward);
    return network.network.layers.front().outputs;
  };
  EXPECT_EQ(outputs_of_first(for_four), outputs_of_first(models));
  EXPECT_EQ(outputs_of_first(for_any), 2 * outputs_of_first(models));
  const std::vector<float> columns = {8.0F, 120.0F, 0.0F, 64.0F};
  const std::vector<float> offsets_ms = {0.0F, 0.5F, 2.0F, 0.25F};
  std::vector<float> by_any(4);
  std::vector<float> by_four(4);
  make_cpu_backend(for_any)->forward_comm(4, columns, offsets_ms, by_any);
  make_cpu_backend(for_four)->forward_comm(4, columns, offsets_ms, by_four);
  for (std::size_t d = 0; d < 4; ++d) EXPECT_NEAR(by_four[d], by_any[d], 1e-5F);
}

TEST(TaskModels, ABackendServesTasksOfItsBatch) {
  const auto backend = make_cpu_backend(random_models(3, {.any_batch = true}));
  Task task;
  EXPECT_NO_THROW(require_setting(*backend, task));
  task.batch_size = 4096;
  EXPECT_THAT(message_of([&] { require_setting(*backend, task); }),
              HasSubstr("batch_size is 4096, but the backend has models for 65,536"));
  task.devices = 4;
  const auto of_four =
      make_cpu_backend(models_for(random_models(3, {.any_batch = true}), comm_setting(task)));
  EXPECT_NO_THROW(require_setting(*of_four, task));
  task.devices = 8;
  EXPECT_THAT(message_of([&] { require_setting(*of_four, task); }),
              HasSubstr("models for other devices"));
}

CostModels models_of_a_network(std::uint64_t seed) {
  CostModels models = random_models(seed, {.any_batch = true});
  set_known_network(models, NodeNetwork{8, {300.0, 25.0}});
  return models;
}

TEST(TaskModels, SayWhichNetworkTheyKnow) {
  CostModels models = random_models(4);
  EXPECT_FALSE(known_network(models));
  set_known_network(models, NodeNetwork{4, {31.5, 12.5}});
  const std::optional<NodeNetwork> network = known_network(models);
  ASSERT_TRUE(network);
  EXPECT_EQ(network->devices_per_node, 4);
  EXPECT_EQ(network->links.in_node_gb_s, 31.5);
  EXPECT_EQ(network->links.between_nodes_gb_s, 12.5);
  set_known_network(models, std::nullopt);
  EXPECT_FALSE(known_network(models));
}

TEST(TaskModels, RefuseANetworkThatIsNone) {
  for (const char* text : {"", "many", "0", "-3", "1e9", "12 GB/s", "nan"}) {
    CostModels models = models_of_a_network(4);
    models.metadata["network.in_node_gb_s"] = text;
    EXPECT_THAT(message_of([&] { (void)known_network(models); }),
                HasSubstr("'network.in_node_gb_s' is '" + std::string(text) +
                          "'; expected a number from 0.001 to 1e+06"));
  }
}

CostModels models_of_hardware(std::uint64_t seed, const NodeNetwork& network) {
  CostModels models = models_of_a_network(seed);
  set_hardware_network(models, network);
  return models;
}

TEST(TaskModels, SayWhichNetworkTheirHardwareHas) {
  EXPECT_FALSE(hardware_network(models_of_a_network(4)));
  const NodeNetwork pcie{4, {31.5, 12.5, 20.0, 0.0, 72.0}};
  CostModels models = models_of_hardware(4, pcie);
  EXPECT_EQ(hardware_network(models), pcie);
  models.metadata["hardware.host_gb_s"] = "-1";
  EXPECT_THAT(message_of([&] { (void)hardware_network(models); }),
              HasSubstr("'hardware.host_gb_s' is '-1'; expected a number from 0.001 to 1e+06"));
  models.metadata.erase("hardware.host_gb_s");
  models.metadata.erase("hardware.in_node_gb_s");
  EXPECT_THAT(message_of([&] { (void)hardware_network(models); }),
              HasSubstr("expected 'hardware.in_node_gb_s' and 'hardware.between_nodes_gb_s'"));
}

TEST(TaskModels, HardwareHasItsNetworkWhereTasksStateNone) {
  Task task{.devices = 16};
  const NodeNetwork switched{72, {900.0, 50.0}};
  CommSetting setting = comm_setting(task, switched);
  EXPECT_TRUE(setting.nodes_anywhere);
  EXPECT_EQ(setting.devices, 16);
  EXPECT_EQ(setting.devices_per_node, 72);
  EXPECT_EQ(setting.links, switched.links);
  const NodeNetwork shared{8, {31.5, 12.5, 12.5, 0.0, 72.0}};
  EXPECT_FALSE(comm_setting(task, shared).nodes_anywhere);
  // A task's links take the place of theirs.
  task.devices_per_node = 4;
  task.links = NodeLinks{.between_nodes_gb_s = 3.0};
  setting = comm_setting(task, shared);
  EXPECT_EQ(setting.devices_per_node, 4);
  EXPECT_EQ(setting.links, (NodeLinks{31.5, 3.0, 12.5, 0.0, 72.0}));
}

TEST(TaskModels, HardwareIsMetInTheSettingOfATask) {
  const CostModels models = models_of_hardware(4, {72, {600.0, 50.0}});
  Task task{.devices = 8};
  EXPECT_THAT(message_of([&] { (void)models_for(models, comm_setting(task)); }),
              HasSubstr("comm_setting(task, hardware_network(models))"));
  const CostModels met = models_for(models, comm_setting(task, hardware_network(models)));
  EXPECT_FALSE(met.nodes);
  // Twice as fast in a node, which 8 devices do not leave.
  std::vector<float> none(8);
  std::vector<float> known(8);
  std::vector<float> own(8);
  const std::vector<float> columns = {8.0F, 120.0F, 0.0F, 64.0F, 4.0F, 40.0F, 12.0F, 44.0F};
  make_cpu_backend(models)->backward_comm(8, std::vector<float>(8), none);
  make_cpu_backend(models)->backward_comm(8, columns, known);
  make_cpu_backend(met)->backward_comm(8, columns, own);
  for (std::size_t d = 0; d < 8; ++d) {
    EXPECT_NEAR(own[d], (known[d] + none[d]) / 2.0F, 1e-4 * (1.0 + std::abs(own[d])));
  }
  // A backend of models that have not met it does not price the task.
  task.tables = {Table{}};
  EXPECT_NO_THROW(require_setting(*make_cpu_backend(met), task));
  EXPECT_THROW(require_setting(*make_cpu_backend(models), task), Error);
}

TEST(TaskModels, LinksNeedAKnownNetwork) {
  const CommSetting setting{.devices = 16, .devices_per_node = 8, .links = {.node_gb_s = 10.0}};
  EXPECT_THAT(message_of([&] { (void)models_for(random_models(4), setting); }),
              HasSubstr("do not say which network they know; train them with --devices-per-node"));
}

TEST(TaskModels, LinksAsInTheKnownNetworkChangeNothing) {
  const CostModels models = models_of_a_network(5);
  const CostModels same = models_for(
      models, {.devices = 16, .devices_per_node = 8, .links = {.between_nodes_gb_s = 25.0}});
  EXPECT_FALSE(same.nodes);
  const std::vector<float> columns = {8.0F, 120.0F, 0.0F, 64.0F, 4.0F, 40.0F, 12.0F, 44.0F,
                                      8.0F, 20.0F,  0.0F, 16.0F, 4.0F, 40.0F, 12.0F, 44.0F};
  std::vector<float> before(16);
  std::vector<float> after(16);
  make_cpu_backend(models)->backward_comm(16, columns, before);
  make_cpu_backend(same)->backward_comm(16, columns, after);
  EXPECT_EQ(before, after);
}

// T'(c) = f T(seen c) + (1 - f) T(0), of dense and of symmetric networks.
TEST(TaskModels, OnNodesColumnsAreSeenAndBytesTakeLonger) {
  for (const std::vector<int>& dense : {std::vector<int>{4}, std::vector<int>{}}) {
    CostModels models = random_models(6, {.devices = dense, .any_batch = true});
    set_known_network(models, NodeNetwork{2, {300.0, 25.0}});
    const CostModels on_nodes =
        models_for(models, {.devices = 4, .devices_per_node = 2, .links = {.node_gb_s = 10.0}});
    ASSERT_TRUE(on_nodes.nodes);
    const double factor = on_nodes.nodes->factor();
    EXPECT_DOUBLE_EQ(factor, 5.0);
    const auto backend = make_cpu_backend(models);
    const auto slow = make_cpu_backend(on_nodes);
    EXPECT_NE(slow->nodes(4), nullptr);
    EXPECT_EQ(slow->nodes(8), nullptr);
    EXPECT_EQ(backend->nodes(4), nullptr);
    std::vector<float> once(4);
    std::vector<float> none(4);
    std::vector<float> got(4);
    backend->backward_comm(4, std::vector<float>{60.0F, 60.0F, 32.0F, 32.0F}, once);
    backend->backward_comm(4, std::vector<float>(4, 0.0F), none);
    slow->backward_comm(4, std::vector<float>{8.0F, 112.0F, 40.0F, 24.0F}, got);
    for (std::size_t d = 0; d < 4; ++d) {
      EXPECT_NEAR(got[d], factor * once[d] + (1.0 - factor) * none[d],
                  1e-4 * (1.0 + std::abs(got[d])));
    }
    // One by one as many rows at once.
    const auto runner = slow->cost_runner(4);
    std::vector<float> single(4);
    runner->backward(std::vector<float>{8.0F, 112.0F, 40.0F, 24.0F}, single);
    EXPECT_EQ(single, got);
  }
}

TEST(TaskModels, AllReducesOnNodesTakeAsLongAsTheirLinks) {
  CostModels models = models_of_a_network(7);
  models.all_reduce = CollectiveModel{.lines = {{1, {.latency_ms = 0.01, .ms_per_gib = 2.0}},
                                                {8, {.latency_ms = 0.02, .ms_per_gib = 9.0}},
                                                {64, {.latency_ms = 0.05, .ms_per_gib = 22.0}}}};
  const auto lines = [&](const NodeLinks& links) {
    return models_for(models, {.devices = 64, .devices_per_node = 8, .links = links})
        .all_reduce->lines;
  };
  // One node is half as fast; one device has no links.
  const auto half = lines({.in_node_gb_s = 150.0});
  EXPECT_EQ(half.at(1).ms_per_gib, 2.0);
  EXPECT_DOUBLE_EQ(half.at(8).ms_per_gib, 2.0 + 14.0);
  EXPECT_EQ(half.at(8).latency_ms, 0.02);
  // The longer of 7/8 over 79 % of 300 GB/s and 7/64 over 85 % of 25; then the latter over an
  // eighth of 50, or over more than it takes.
  EXPECT_NEAR(lines({.node_gb_s = 50.0}).at(64).ms_per_gib, 2.0 + 20.0 * 4.0, 1e-9);
  const double within = 7.0 / 8.0 / (0.79 * 300.0) / (7.0 / 64.0 / (0.85 * 25.0));
  EXPECT_NEAR(lines({.between_nodes_gb_s = 100.0}).at(64).ms_per_gib, 2.0 + 20.0 * within, 1e-9);
}

// A network that is fast everywhere: what is left are latencies.
TEST(TaskModels, MoreNodesTakeLongerToMeet) {
  CostModels models = models_of_a_network(8);
  models.all_reduce = CollectiveModel{.lines = {{8, {.latency_ms = 0.05, .ms_per_gib = 9.0}}}};
  const CommSetting one_node{.devices = 8, .devices_per_node = 8, .links = {}};
  CommSetting two_nodes = one_node;
  two_nodes.devices_per_node = 4;
  const auto latency_ms = [&](const CommSetting& setting) {
    std::vector<float> ms(8);
    make_cpu_backend(models_for(models, setting))
        ->backward_comm(8, std::vector<float>(8, 0.0F), ms);
    return ms.front();
  };
  EXPECT_NEAR(latency_ms(two_nodes) - latency_ms(one_node), 0.040, 1e-4);
  // Rings of 4 meet earlier than those of 8, and two nodes 5 us later.
  EXPECT_NEAR(models_for(models, two_nodes).all_reduce->lines.at(8).latency_ms,
              0.05 - 0.0105 + 0.005, 1e-9);
  EXPECT_EQ(models_for(models, one_node).all_reduce->lines.at(8).latency_ms, 0.05);
}

TEST(TaskModels, IdsTakeAsLongAsTheirLinks) {
  CostModels models = models_of_a_network(8);
  models.ids = CollectiveModel{.lines = {{8, {.latency_ms = 0.05, .ms_per_gib = 9.0}}}};
  const auto line = [&](const NodeLinks& links, int devices_per_node) {
    const CommSetting setting{
        .batch_size = 4096, .devices = 8, .devices_per_node = devices_per_node, .links = links};
    return models_for(models, setting).ids->lines.at(8);
  };
  EXPECT_DOUBLE_EQ(line({}, 8).ms_per_gib, 9.0);  // Their bytes are those of the batch.
  EXPECT_DOUBLE_EQ(line({.in_node_gb_s = 150.0}, 8).ms_per_gib, 18.0);
  EXPECT_NEAR(line({}, 4).latency_ms, 0.05 + 0.040, 1e-9);
}

// T'(c, o) = f T(c, o / f) + (1 - f) T(0, 0), each direction by its own bytes, on nodes, too.
TEST(TaskModels, TypesOnTheWireAreOtherBytesByDirection) {
  for (const bool links : {false, true}) {
    for (const std::vector<int>& dense : {std::vector<int>{4}, std::vector<int>{}}) {
      CostModels models = random_models(9, {.devices = dense, .any_batch = true});
      set_known_network(models, NodeNetwork{2, {300.0, 25.0}});
      CommSetting setting{.batch_size = 2 * kDefaultBatchSize, .devices = 4};
      if (links) {
        setting.devices_per_node = 2;
        setting.links = {.between_nodes_gb_s = 5.0};
      }
      const CostModels usual = models_for(models, setting);
      setting.exchange = {
          .forward = WireType::kFp16, .backward = WireType::kFp8, .forward_share = 0.5};
      const CostModels narrow = models_for(models, setting);
      EXPECT_DOUBLE_EQ(narrow.forward_scale, 0.25 * usual.forward_scale);
      const auto before = make_cpu_backend(usual);
      const auto after = make_cpu_backend(narrow);
      const std::vector<float> columns = {8.0F, 120.0F, 0.0F, 64.0F};
      const std::vector<float> zeros(4, 0.0F);
      const std::vector<float> offsets = {0.0F, 0.5F, 2.0F, 0.25F};
      std::vector<float> longer = offsets;
      for (float& offset : longer) offset *= 4.0F;
      std::vector<float> all(4);
      std::vector<float> none(4);
      std::vector<float> got(4);
      const auto expect_quarter = [&] {
        for (std::size_t d = 0; d < 4; ++d) {
          EXPECT_NEAR(got[d], 0.25F * all[d] + 0.75F * none[d], 2e-4F * (1.0F + std::abs(all[d])));
        }
      };
      before->backward_comm(4, columns, all);
      before->backward_comm(4, zeros, none);
      after->backward_comm(4, columns, got);
      expect_quarter();
      before->forward_comm(4, columns, longer, all);
      before->forward_comm(4, zeros, zeros, none);
      after->forward_comm(4, columns, offsets, got);
      expect_quarter();
    }
  }
}

TEST(TaskModels, TypesAsByDefaultChangeNothing) {
  const CostModels models = models_of_a_network(5);
  const CostModels same = models_for(models, {.devices = 4, .exchange = {.ids = WireType::kInt32}});
  const auto& network = std::get<SymmetricCommNetwork>(same.symmetric_comm->forward).network;
  const auto& before = std::get<SymmetricCommNetwork>(models.symmetric_comm->forward).network;
  for (std::size_t k = 0; k < before.layers.size(); ++k) {
    EXPECT_EQ(network.layers[k].weight, before.layers[k].weight);
    EXPECT_EQ(network.layers[k].bias, before.layers[k].bias);
  }
  EXPECT_EQ(same.forward_scale, 1.0);
}

TEST(TaskModels, ABackendServesTasksOfItsTypes) {
  Task task{.tables = {}, .devices = 16};
  const CostModels models = models_of_a_network(8);
  const auto usual = make_cpu_backend(models_for(models, comm_setting(task)));
  task.exchange.backward = WireType::kBf16;
  EXPECT_NO_THROW(require_setting(*make_cpu_backend(models_for(models, comm_setting(task))), task));
  EXPECT_THAT(message_of([&] { require_setting(*usual, task); }),
              HasSubstr("other nodes, links, types"));
}

TEST(TaskModels, ABackendServesTasksOfItsNodes) {
  Task task{.tables = {}, .devices = 16, .links = NodeLinks{.node_gb_s = 50.0}};
  const CostModels models = models_of_a_network(8);
  const auto backend = make_cpu_backend(models_for(models, comm_setting(task)));
  EXPECT_NO_THROW(require_setting(*backend, task));
  const auto refused = [&](const Backend& by) {
    return message_of([&] { require_setting(by, task); });
  };
  EXPECT_THAT(refused(*make_cpu_backend(models)), HasSubstr("other nodes, links, types"));
  task.devices_per_node = 4;
  EXPECT_THAT(refused(*backend), HasSubstr("other nodes, links, types"));
  task.links.reset();
  EXPECT_THAT(refused(*backend), HasSubstr("other nodes, links, types"));
}

TEST(TaskModels, ModelsOfPublishedFeaturesLeaveIdsOut) {
  EXPECT_FALSE(models_with(kTableFeatures).prices_ids());
  EXPECT_TRUE(models_with(kOperatorFeatures).prices_ids());
}

}  // namespace
}  // namespace neuroshard
