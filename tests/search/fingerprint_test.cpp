#include "neuroshard/fingerprint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "neuroshard/error.h"
#include "neuroshard/task_models.h"

namespace neuroshard {
namespace {

DenseLayer layer(int inputs, int outputs) {
  DenseLayer made{.inputs = inputs, .outputs = outputs, .weight = {}, .bias = {}};
  for (int i = 0; i < inputs * outputs; ++i) {
    made.weight.push_back(static_cast<float>(i % 7) * 0.25F);
  }
  made.bias.assign(static_cast<std::size_t>(outputs), -0.5F);
  return made;
}

// Small numbers that every machine has exactly.
CostModels exact_models() {
  CostModels models;
  models.compute.features.mean.assign(kTableFeatures, 1.0F);
  models.compute.features.std.assign(kTableFeatures, 2.0F);
  models.compute.table_network.layers = {layer(kTableFeatures, 4)};
  models.compute.head.layers = {layer(4, 1)};
  SymmetricCommNetwork comm;
  comm.features.mean.assign(kSymmetricCommFeatures, 0.5F);
  comm.features.std.assign(kSymmetricCommFeatures, 4.0F);
  comm.network.layers = {layer(kSymmetricCommFeatures, 1)};
  models.symmetric_comm = CommModel{comm, comm};
  return models;
}

Task small_task() {
  return {.tables = {{"a", 1000, 64, 1.5, {0.5, 0.25, 0.25}},
                     {"b", 1LL << 33, 128, 20.0, {0.0, 0.0, 0.0, 1.0}},
                     {"c", 7, 4, 0.0, {}}},
          .devices = 4,
          .memory_bytes = 1LL << 34};
}

// These values are kept by others: a change here loses them their plans.
TEST(PlanFingerprint, StaysWhatItIs) {
  PlannerOptions options;
  EXPECT_EQ(fingerprint_text(fingerprint(small_task(), options, exact_models())),
            "5eb9de7ae49c170c");
  Task other_memory = small_task();
  for (Table& table : other_memory.tables) {
    table.memory = {WeightType::kFp16, Optimizer::kRowwiseAdagrad, 65536};
  }
  EXPECT_EQ(fingerprint_text(fingerprint(other_memory, options, exact_models())),
            "a570de5b7cceaaeb");
  options.algorithm = Algorithm::kRandom;
  options.seed = 7;
  EXPECT_EQ(fingerprint_text(fingerprint(small_task(), options, exact_models())),
            "9798126b25e00de8");
}

TEST(PlanFingerprint, DoesNotHeedWhatChangesNoPlan) {
  const std::uint64_t plain = fingerprint(small_task(), {}, exact_models());
  Task task = small_task();
  std::ranges::reverse(task.tables);
  for (Table& table : task.tables) table.name += "'";
  task.tables[0].pooling_factor = -0.0;
  task.tables[2].access_histogram[0] += 1e-15;  // Another machine's std::pow.
  CostModels models = exact_models();
  models.metadata["hardware"] = "a100";
  models.dense_comm[8] = {};
  // The reserved memory leaves as much as there was.
  task.reserved = {.bytes = 1LL << 33, .share = 0.5};
  task.memory_bytes = 3LL << 34;
  const PlannerOptions options{.backend = "scalar", .threads = 3, .seed = 5, .reuse_work = false};
  EXPECT_EQ(fingerprint(task, options, models), plain);
}

TEST(PlanFingerprint, HeedsEverythingElse) {
  std::set<std::uint64_t> seen = {fingerprint(small_task(), {}, exact_models())};
  const auto is_new = [&](const auto& change) {
    Task task = small_task();
    PlannerOptions options;
    CostModels models = exact_models();
    change(task, options, models);
    return seen.insert(fingerprint(task, options, models)).second;
  };
  using T = Task;
  using O = PlannerOptions;
  using M = CostModels;
  EXPECT_TRUE(is_new([](T& t, O&, M&) { t.devices = 5; }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { ++t.memory_bytes; }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { ++t.tables[1].rows; }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { t.tables[1].dim += 4; }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { t.tables[1].pooling_factor *= 1.001; }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { std::swap(t.tables[0].dim, t.tables[1].dim); }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { t.tables[0].access_histogram = {0.25, 0.5, 0.25}; }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { t.reserved.bytes = 1; }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { t.reserved.share = 0.15; }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { t.tables[0].memory.weight_type = WeightType::kFp16; }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { t.tables[0].memory.weight_type = WeightType::kBf16; }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { t.tables[0].memory.optimizer = Optimizer::kAdam; }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { t.tables[0].memory.batch_size = 65536; }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { t.tables.pop_back(); }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { t.tables[0].rules.no_split = true; }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { t.tables[0].row_shares = {0.5, 0.5}; }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { t.tables[0].row_shares = {0.75, 0.25}; }));
  EXPECT_TRUE(
      is_new([](T& t, O&, M&) { t.tables[0].replica_gradients = ReplicaGradients::kTouched; }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { t.tables[0].rules.min_width = 4; }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { t.tables[0].rules.max_slices = 4; }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { t.tables[0].rules.devices = {0, 1}; }));
  using enum ShardingKind;
  EXPECT_TRUE(is_new([](T& t, O&, M&) { t.tables[0].rules.kinds = {kTable, kRow}; }));
  EXPECT_FALSE(is_new([](T& t, O&, M&) { t.tables[0].rules.kinds = {kRow, kTable, kRow}; }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { t.tables[0].rules.kinds = {kRow}; }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { t.devices_per_node = 4; }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { t.tables[0].rules.nodes = {0}; }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) {
    t.host = {.bytes = 1 << 20, .link_gb_s = 25.0};
    t.tables[0].rules.hbm_share = 0.5;
  }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { t.exchange.forward = WireType::kFp16; }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { t.exchange.backward = WireType::kFp16; }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { t.exchange.backward = WireType::kBf16; }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { t.exchange.ids = WireType::kInt32; }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { t.exchange.forward_share = 0.5; }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { t.exchange.backward_share = 0.5; }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { t.overlap.ids = true; }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { t.overlap.dense_ms = 0.5; }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { t.overlap.dense_beside_outputs_ms = 0.5; }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { t.overlap.dense_beside_gradients_ms = 0.5; }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { t.overlap.host_ms = 0.5; }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { t.links = NodeLinks{}; }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { t.links = NodeLinks{.in_node_gb_s = 25.0}; }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { t.links = NodeLinks{.node_gb_s = 25.0}; }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { t.links = NodeLinks{.levels = {{16, 25.0}}}; }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { t.links = NodeLinks{.levels = {{16, 12.5}}}; }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { t.links = NodeLinks{.peer_gb_s = 25.0}; }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { t.links = NodeLinks{.host_gb_s = 25.0}; }));
  EXPECT_TRUE(is_new([](T&, O&, M& m) { set_hardware_network(m, {8, {300.0, 25.0}}); }));
  EXPECT_TRUE(is_new([](T&, O&, M& m) { set_hardware_network(m, {72, {300.0, 25.0}}); }));
  EXPECT_TRUE(is_new([](T& t, O&, M& m) {
    t.links = NodeLinks{.node_gb_s = 25.0};
    set_known_network(m, NodeNetwork{8, {300.0, 25.0}});
  }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { t.tables[0].rules.not_devices = {0, 1}; }));
  EXPECT_FALSE(is_new([](T& t, O&, M&) { t.tables[0].rules.not_devices = {1, 0, 1}; }));
  const auto list = [](Task& task) -> Device& {
    task.device_list.assign(static_cast<std::size_t>(task.devices),
                            {.memory_bytes = task.memory_bytes + 1, .base_bytes = 1});
    return task.device_list[1];
  };
  EXPECT_FALSE(is_new([&](T& t, O&, M&) { (void)list(t); }));
  EXPECT_TRUE(is_new([&](T& t, O&, M&) { list(t).base_ms = 1.0; }));
  EXPECT_TRUE(is_new([&](T& t, O&, M&) { --list(t).memory_bytes; }));
  EXPECT_TRUE(is_new([&](T& t, O&, M&) { list(t).speed = 2.0; }));
  EXPECT_TRUE(is_new([](T& t, O&, M&) { t.tables.push_back(t.tables[0]); }));
  EXPECT_TRUE(is_new([](T&, O& o, M&) { o.effort = Effort::kFast; }));
  EXPECT_TRUE(is_new([](T&, O& o, M&) { o.equal_widths = true; }));
  EXPECT_TRUE(is_new([](T&, O& o, M&) { o.algorithm = Algorithm::kPublished; }));
  EXPECT_TRUE(is_new([](T&, O& o, M&) { o.algorithm = Algorithm::kRandom; }));
  EXPECT_TRUE(is_new([](T&, O& o, M&) { o.search.beam_width = 4; }));
  EXPECT_TRUE(is_new([](T&, O& o, M&) { o.search.memory_splits = false; }));
  EXPECT_TRUE(is_new([](T&, O&, M& m) { m.compute.head.layers[0].bias[0] = 0.5F; }));
  EXPECT_TRUE(is_new([](T&, O&, M& m) { m.kind_prices[kRow] = {}; }));
  EXPECT_TRUE(is_new([](T&, O&, M& m) { m.kind_prices[kRow].ms[2] = 1.0; }));
  EXPECT_TRUE(is_new([](T&, O&, M& m) { m.kind_prices[kReplicate].ms[2] = 1.0; }));
  EXPECT_TRUE(is_new([](T&, O&, M& m) {
    std::get<SymmetricCommNetwork>(m.symmetric_comm->forward).features.mean[0] = 9.0F;
  }));
}

TEST(PlanFingerprint, HeedsGroupsButNotTheirNamesAndOrder) {
  const auto with = [](std::vector<TableGroup> groups) {
    Task task = small_task();
    while (task.tables.size() < 4) task.tables.push_back(task.tables.front());
    task.groups = std::move(groups);
    return fingerprint(task, {}, exact_models());
  };
  const TableGroup together{.name = "x", .tables = {0, 1}, .keep = Keep::kTogether};
  const TableGroup apart{.name = "y", .tables = {1, 2}, .keep = Keep::kApart};
  const std::set<std::uint64_t> different = {with({}),
                                             with({together}),
                                             with({apart}),
                                             with({together, apart}),
                                             with({{.tables = {0, 1}, .keep = Keep::kApart}}),
                                             with({{.tables = {0, 1, 2}, .keep = Keep::kApart}})};
  EXPECT_EQ(different.size(), 6U);
  EXPECT_EQ(with({together, apart}), with({{.tables = {2, 1}, .keep = Keep::kApart},
                                           {.tables = {1, 0}, .keep = Keep::kTogether}}));
  EXPECT_EQ(fingerprint_text(with({together, apart})), "74bd27b129ba0ae0");
}

TEST(PlanFingerprint, RejectsWhatCannotBePlanned) {
  Task task = small_task();
  task.tables[0].dim = 3;
  EXPECT_THROW((void)fingerprint(task, {}, exact_models()), Error);
  CostModels models = exact_models();
  models.symmetric_comm.reset();
  EXPECT_THROW((void)fingerprint(small_task(), {}, models), Error);
}

}  // namespace
}  // namespace neuroshard
