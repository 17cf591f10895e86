// Files of other programs that `convert` turns into ours.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "message_of.h"
#include "neuroshard/task_file.h"
#include "tools/files/hugectr_model.h"
#include "tools/files/torchrec_plan.h"
#include "tools/run_command.h"

namespace neuroshard::tools {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;

// Two inputs whose slots the data layer sizes together, an embedding with sizes of its own, and
// widths that are no multiples of 4.
json hugectr_model() {
  return json::parse(R"({
    "solver": {"gpu": [[0, 1, 2, 3], [0, 1, 2, 3]], "batchsize": 16384, "max_iter": 10},
    "optimizer": {"type": "Adam", "adam_hparam": {"learning_rate": 0.001}},
    "layers": [
      {"name": "data", "type": "Data", "slot_size_array": [278899, 355877, 203750, 18573, 14082],
       "label": {"top": "label", "label_dim": 1},
       "sparse": [{"top": "wide_data", "type": "DistributedSlot", "slot_num": 2,
                   "max_feature_num_per_sample": 3},
                  {"top": "deep_data", "type": "LocalizedSlot", "slot_num": 3,
                   "nnz_per_slot": [1, 2, 20]}]},
      {"type": "DistributedSlotSparseEmbeddingHash", "bottom": "wide_data", "top": "wide",
       "sparse_embedding_hparam": {"embedding_vec_size": 1, "combiner": 0}},
      {"type": "LocalizedSlotSparseEmbeddingHash", "bottom": "deep_data", "top": "deep",
       "sparse_embedding_hparam": {"embedding_vec_size": 16, "combiner": "sum",
                                   "slot_size_array": [500, 600, 700]}},
      {"type": "InnerProduct", "bottom": "deep", "top": "fc1", "fc_param": {"num_output": 1024}}]})");
}

TEST(Convert, MakesATaskOfAHugectrModel) {
  const TemporaryFolder folder;
  const std::string model = folder.write("model.json", hugectr_model().dump());
  const std::string output = folder / "task.json";
  const Outcome outcome = run_command("convert", {"--hugectr-model", model, "--output", output});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("5 tables"));
  const TaskFile task = load_task(output);
  EXPECT_EQ(task.devices, 8);
  EXPECT_EQ(task.devices_per_node, 4);
  EXPECT_EQ(task.batch_size, 16384);
  ASSERT_EQ(task.tables.size(), 5U);
  const auto expect_table = [&](std::size_t t, const char* name, int rows, int dim,
                                double lookups) {
    EXPECT_EQ(task.tables[t].name, name);
    EXPECT_EQ(task.tables[t].rows, rows);
    EXPECT_EQ(task.tables[t].dim, dim);
    EXPECT_EQ(task.tables[t].pooling_factor, lookups);
    EXPECT_EQ(task.tables[t].memory.optimizer, Optimizer::kAdam);
  };
  expect_table(0, "wide.slot_0", 278899, 4, 1.5);
  expect_table(1, "wide.slot_1", 355877, 4, 1.5);
  expect_table(2, "deep.slot_0", 500, 16, 1.0);
  expect_table(4, "deep.slot_2", 700, 16, 20.0);
  EXPECT_THAT(task.notes, AllOf(HasSubstr("4 for 1"), HasSubstr("max_feature_num_per_sample")));
  EXPECT_EQ(run_command("plan", {"--task", output, "--memory-gb", "8", "--effort", "fast"}).code,
            kExitOk);
}

TEST(Convert, SaysWhatAHugectrModelLacks) {
  const auto error = [](const std::function<void(json&)>& change) {
    json model = hugectr_model();
    change(model);
    return message_of([&] { (void)task_of_hugectr_model(model.dump(), "m.json"); });
  };
  EXPECT_NO_THROW((void)task_of_hugectr_model(hugectr_model().dump(), "m.json"));
  EXPECT_EQ(
      error([](json& m) { m["layers"][0].erase("slot_size_array"); }),
      "m.json: layer 1: says nothing of the rows of its slots; give slot_size_array there, in "
      "sparse_embedding_hparam, or in the data layer");
  EXPECT_THAT(error([](json& m) { m["layers"][0]["slot_size_array"].push_back(7); }),
              HasSubstr("m.json: layer 0: there are sizes of 6 slots, but slot_num adds up to 5"));
  EXPECT_THAT(
      error([](json& m) { m["layers"][2]["sparse_embedding_hparam"]["slot_size_array"] = {1}; }),
      HasSubstr("layer 2: there are sizes of 1 slots, but 'deep_data' has 3"));
  EXPECT_THAT(error([](json& m) { m["layers"][0]["slot_size_array"][1] = 0; }),
              HasSubstr("m.json: layer 0: slot_size_array: slot 1 is 0"));
  EXPECT_THAT(error([](json& m) { m["layers"][1]["bottom"] = "dense"; }),
              HasSubstr("layer 1: bottom is \"dense\", which is no sparse input"));
  EXPECT_THAT(error([](json& m) {
                m["layers"][0]["sparse"][1]["nnz_per_slot"] = {1, 2};
              }),
              HasSubstr("nnz_per_slot lists 2 slots, but slot_num is 3"));
  EXPECT_THAT(error([](json& m) { m["layers"] = json::array(); }),
              HasSubstr("m.json: layers: none has a sparse_embedding_hparam"));
  EXPECT_THAT(error([](json& m) { m.erase("layers"); }), HasSubstr("'layers' is missing"));
  EXPECT_THAT(error([](json& m) { m["solver"]["gpu"] = json::array(); }),
              HasSubstr("m.json: solver: gpu lists 0 GPUs; give 1 to 16384"));
}

const char* const kTask = R"({"format": "neuroshard.task", "version": 1, "devices": 2,
  "memory_gb": 1, "tables": [
    {"name": "ebc.user", "row": 1000, "dim": 64, "pooling_factor": 2},
    {"name": "item", "row": 500, "dim": 32, "pooling_factor": 3},
    {"name": "ebc.small", "row": 10, "dim": 8, "pooling_factor": 1}]})";

// As json.dumps(dataclasses.asdict(plan), default=str) writes it.
json torchrec_plan() {
  return json::parse(R"({"plan": {"ebc": {
    "user": {"sharding_type": "column_wise", "compute_kernel": "fused", "ranks": [0, 1],
             "sharding_spec": {"shards": [
               {"shard_offsets": [0, 0], "shard_sizes": [1000, 32], "placement": "rank:0/cuda:0"},
               {"shard_offsets": [0, 32], "shard_sizes": [1000, 32], "placement": "rank:1/cuda:1"}]},
             "cache_params": null},
    "item": {"sharding_type": "row_wise", "compute_kernel": "fused_uvm_caching", "ranks": [0, 1],
             "sharding_spec": {"shards": [
               {"shard_offsets": [0, 0], "shard_sizes": [500, 32], "placement": "rank:1/cuda:1"},
               {"shard_offsets": [500, 0], "shard_sizes": [0, 32], "placement": "rank:0/cuda:0"}]}},
    "small": {"sharding_type": "data_parallel", "compute_kernel": "dense", "ranks": [0, 1],
              "sharding_spec": null}}}})");
}

TEST(Convert, MakesAPlanOfATorchrecPlan) {
  const TemporaryFolder folder;
  const std::string task = folder.write("task.json", kTask);
  const std::string output = folder / "plan.jsonl";
  const Outcome outcome =
      run_command("convert", {"--torchrec-plan", folder.write("t.json", torchrec_plan().dump()),
                              "--task", task, "--output", output});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("1 table with the compute kernel fused_uvm_caching"));
  const json line = json::parse(contents_of(output));
  EXPECT_EQ(line["slices"], json::parse("[[1,0,32,0,500],[0,0,32,0,1000],[0,32,32,0,1000]]"));
  EXPECT_EQ(line["shards"], json::parse("[[1],[0,2]]"));
  EXPECT_EQ(line["replicas"], json({2}));
  const Outcome priced =
      run_command("simulate", {"--task", task, "--plan", output, "--format", "json"});
  EXPECT_EQ(priced.code, kExitOk) << priced.err;
}

TEST(Convert, SaysWhatIsWrongWithATorchrecPlan) {
  const TaskFile task = parse_task(kTask, "task.json");
  const auto error = [&](const std::function<void(json&)>& change) {
    json plan = torchrec_plan();
    change(plan["plan"]["ebc"]);
    return message_of([&] { (void)plan_of_torchrec(plan.dump(), "t.json", task); });
  };
  EXPECT_NO_THROW((void)plan_of_torchrec(torchrec_plan().dump(), "t.json", task));
  EXPECT_THAT(error([](json& ebc) { ebc["other"] = ebc["small"]; }),
              HasSubstr("the task has no table 'ebc.other', nor 'other'; give the task"));
  EXPECT_THAT(error([](json& ebc) { ebc.erase("item"); }),
              HasSubstr("has no table 1 'item'; give the task"));
  const auto shard = [](json& ebc) -> json& { return ebc["user"]["sharding_spec"]["shards"][1]; };
  EXPECT_THAT(
      error([&](json& ebc) { shard(ebc)["placement"] = "cuda:1"; }),
      AllOf(HasSubstr("t.json"), HasSubstr("shards: shard 1: placement is 'cuda:1'; give")));
  EXPECT_THAT(error([&](json& ebc) { shard(ebc)["placement"] = "rank:2/cuda:2"; }),
              HasSubstr("placement is rank 2, but the task has 2 devices"));
  EXPECT_THAT(error([&](json& ebc) { shard(ebc)["shard_sizes"] = {32}; }),
              HasSubstr("shard_sizes has 1 numbers; give [rows, columns]"));
  EXPECT_THAT(error([&](json& ebc) { shard(ebc)["shard_offsets"][1] = 28; }),
              HasSubstr("the shards make no plan of the task: "));
  EXPECT_THAT(
      error([&](json& ebc) { shard(ebc)["shard_sizes"][0] = 999; }),
      AllOf(HasSubstr("t.json"),
            HasSubstr("shards of table 0 'ebc.user' have 63968 values together; in the task "
                      "it has 1000 rows of 64 columns; give the task")));
  EXPECT_THAT(error([](json& ebc) { ebc["user"]["sharding_spec"] = nullptr; }),
              HasSubstr("sharding_spec: a table of the type 'column_wise' needs shards"));
  EXPECT_THAT(error([](json& ebc) { ebc["user"].erase("sharding_type"); }),
              HasSubstr("'sharding_type' is missing"));
  // Ranks are as many as there are if the task does not say.
  TaskFile open = task;
  open.devices.reset();
  json plan = torchrec_plan();
  plan["plan"]["ebc"]["user"]["sharding_spec"]["shards"][1]["placement"] = "rank:3/cuda:3";
  const ConvertedPlan converted = plan_of_torchrec(plan["plan"].dump(), "t.json", open);
  EXPECT_EQ(json::parse(converted.line)["shards"].size(), 4U);
}

TEST(Convert, TakesOneKindOfInput) {
  const TemporaryFolder folder;
  const std::string output = folder / "out";
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{{},
                                             {"--hugectr-model", "a", "--torchrec-plan", "b"},
                                             {"--hugectr-model", "a", "--compute-model", "b"},
                                             {"--hugectr-model", "a", "--task", "b"},
                                             {"--torchrec-plan", "a"},
                                             {"--compute-model", "a"}}) {
    std::vector<std::string> all = args;
    all.insert(all.end(), {"--output", output});
    const Outcome outcome = run_command("convert", all);
    EXPECT_EQ(outcome.code, kExitBadInput);
    EXPECT_THAT(outcome.err, HasSubstr("; "));
  }
  EXPECT_THAT(folder.names(), IsEmpty());
}

}  // namespace
}  // namespace neuroshard::tools
