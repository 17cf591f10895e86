// usage: fuzz_seeds FOLDER
// Writes small valid inputs of every reader, made from the test data, into FOLDER/TARGET/.
#include <filesystem>
#include <iostream>
#include <sstream>

#include "golden.h"
#include "neuroshard/column_halvings.h"
#include "neuroshard/plan_file.h"
#include "neuroshard/policy_file.h"
#include "neuroshard/table_configs.h"
#include "neuroshard/weights.h"
#include "random_policies.h"
#include "random_tasks.h"
#include "weights/files/atomic_file.h"
#include "weights/files/read_file.h"
#include "weights/files/torch_writer.h"
#include "weights/lookups/access_files.h"

namespace {

using namespace neuroshard;           // NOLINT(google-build-using-namespace)
using namespace neuroshard::testing;  // NOLINT(google-build-using-namespace)

class Seeds {
 public:
  explicit Seeds(std::filesystem::path folder) : folder_(std::move(folder)) {}

  void add(const std::string& target, std::string_view bytes) {
    const std::filesystem::path folder = folder_ / target;
    std::filesystem::create_directories(folder);
    write_file(folder / ("seed_" + std::to_string(count_++)), bytes);
  }

 private:
  std::filesystem::path folder_;
  int count_ = 0;
};

std::string first_lines(const std::string& text, int lines) {
  std::istringstream all(text);
  std::string some;
  std::string line;
  while (lines-- > 0 && std::getline(all, line)) some += line + '\n';
  return some;
}

std::string two_files(const std::string& first, const std::string& second) {
  const char length[] = {static_cast<char>(first.size() & 0xFFU),
                         static_cast<char>(first.size() >> 8U)};
  return std::string(length, 2) + first + second;
}

void add_tasks_and_plans(Seeds& seeds) {
  seeds.add("task", read_file(NEUROSHARD_EXAMPLES "/dlrm_v2_8gpu.json"));
  const std::vector<Table> tables = golden_tables({0, 1, 2}, {8, 64, 128});
  const std::string small = R"({"format": "neuroshard.task", "version": 1, "tables": )";
  seeds.add("task", small + R"([{"row": 5, "dim": 4, "pooling_factor": 1, "name": "a"}]})");
  seeds.add("task", small + serialize_table_configs(tables, true) + "}");
  seeds.add("task", small + R"([{"row": 5, "dim": 4, "pooling_factor": 1, "weight_type": "int8"}],
      "optimizer": "adam", "batch_size": 9, "reserved_gb": 0.5, "reserved_share": 0.15,
      "exchange": {"forward": "fp16", "backward": "bf16", "ids": "int32", "forward_share": 0.5,
                   "deduplicate_ids": true},
      "overlap": {"ids": true, "dense_ms": 3.5, "host_ms": 7}})");
  seeds.add(
      "task",
      small + R"([{"row": 5, "dim": 8, "pooling_factor": 1, "popularity": [[2, 0.75], [4, 1]]},
      {"row": 9, "dim": 4, "pooling_factor": 2, "popularity": {"zipf_exponent": 1.1},
       "rules": {"keep_in_hbm": true}}], "memory_gb": 1,
      "devices": [{}, {"host_gb": 1, "host_link_gb_s": 50, "ssd_gb": 1, "ssd_gb_s": 2}],
      "host_memory": {"gb": 2, "link_gb_s": 25, "policy": "static", "prefetch": true,
                      "ssd_gb": 3, "ssd_gb_s": 1.5}})");
  seeds.add(
      "task",
      small +
          R"([{"row": 5, "dim": 8, "pooling_factor": 1, "pooling": "none", "rules": {"no_split": true,
      "min_width": 4, "max_slices": 2, "devices": [0, 1], "not_devices": [2],
      "kinds": ["table", "row", "replicate"]}}], "devices_per_node": 2,
      "devices": [{"count": 2, "base_ms": 1.5}, {"memory_gb": 4, "base_gb": 0.5}, {"class": "a"}],
      "classes": {"a": {"speed": 1.5, "base_gb": 1}}, "memory_gb": 2})");
  seeds.add("table_configs", serialize_table_configs(tables, true));
  seeds.add("table_configs", serialize_table_configs(tables, false));
  seeds.add("table_configs", R"([{"row": 5, "pooling_factor": 1e2, "zipf_exponent": 1.05}])");
  seeds.add("table_configs", serialize_table_configs(tables, false, 4096));
  seeds.add("table_configs",
            R"({"tables": [{"index": 0, "row": 5, "dim": 4, "pooling_factor": 1}]})");
  seeds.add("task_lines", "0,1,2 8,64,128\n\n1,1 4,8\n");
  seeds.add("task_lines", R"({"train": [[0, 1, 2], [1]], "test": [[2, 2]]})");
  seeds.add("hugectr_model", R"({"solver": {"gpu": [[0, 1], [0, 1]], "batchsize": 4096},
    "optimizer": {"type": "SGD"}, "layers": [
      {"slot_size_array": [7, 8, 9], "sparse": [{"top": "a", "slot_num": 2, "max_nnz": 3},
                                                {"top": "b", "slot_num": 1, "nnz_per_slot": [2]}]},
      {"bottom": "a", "top": "x", "sparse_embedding_hparam": {"embedding_vec_size": 11}},
      {"bottom": "b", "top": "y", "slot_size": [4], "sparse_embedding_hparam": {"embedding_vec_size": 4}}]})");
  seeds.add("torchrec_plan", R"({"plan": {"ebc": {
    "a": {"sharding_type": "column_wise", "compute_kernel": "fused_uvm", "sharding_spec": {"shards": [
      {"shard_offsets": [0, 0], "shard_sizes": [1000, 32], "placement": "rank:0/cuda:0"},
      {"shard_offsets": [0, 32], "shard_sizes": [1000, 32], "placement": {"rank": 1}}]}},
    "b": {"sharding_type": "data_parallel", "sharding_spec": null}}, "": {
    "c": {"sharding_type": "row_wise", "sharding_spec": {"shards": [
      {"shard_offsets": [0, 0], "shard_sizes": [600, 64], "placement": "rank:0/cuda:0"},
      {"shard_offsets": [600, 0], "shard_sizes": [400, 64], "placement": "rank:1/cuda:1"}]}}}}})");
  seeds.add("task_lines", first_lines(read_file(golden_path("tasks/2gpu_dim64.txt")), 2));

  Task task{.devices = 2, .memory_bytes = 1 << 30};
  for (int i = 0; i < 3; ++i) task.tables.push_back({"", 1000, 64, 1.0, {}});
  const Plan plan = plan_from_halvings(task, {{0, 1}, {{0, 2, 4}, {1, 3}}});
  // Columns of any widths; a grid; row blocks.
  const Plan grid{{{0, 0, 16, 0, 1000},
                   {0, 16, 32, 0, 1000},
                   {0, 48, 16, 0, 1000},
                   {1, 0, 32, 0, 300},
                   {1, 0, 32, 300, 700},
                   {1, 32, 32, 0, 1000},
                   {2, 0, 64, 0, 500},
                   {2, 0, 64, 500, 500}},
                  {{0, 2, 4, 6}, {1, 3, 5, 7}}};
  PlanCost cost;
  cost.devices.resize(2);
  seeds.add("plan", plan_to_json({task, plan, cost}));
  seeds.add("plan", plan_to_json_line(0, task, plan, cost));
  seeds.add("plan", plan_to_json({task, grid, cost}));
  seeds.add("plan", plan_to_json_line(0, task, grid, cost));
  seeds.add("plan", first_lines(read_file(golden_path("plans/2gpu_dim64.jsonl")), 2));
}

void add_models(Seeds& seeds) {
  ModelShape shape{{4, 2}, {2, 1}, {3}, {}};
  const CostModels symmetric = random_models(1, shape);
  seeds.add("weights", serialize_weights(symmetric));
  shape.devices = {2};
  seeds.add("weights", serialize_weights(random_models(2, shape)));
  for (const bool float64 : {false, true}) {
    for (const bool one_storage : {false, true}) {
      const TorchStyle style{float64 ? Packing::kDeflated : Packing::kStored, float64, one_storage,
                             one_storage ? 4 : 2};
      const std::string file = make_compute_checkpoint(symmetric.compute, style);
      seeds.add("checkpoint", file);
      for (const ZipEntry& entry : read_zip(file)) {
        if (entry.name.ends_with("data.pkl")) seeds.add("pickle", entry.bytes);
      }
    }
  }
  seeds.add("checkpoint", read_file(golden_path("models/comm_2_bw.pt")));
  for (const char* name : {"dreamshard_trained.pt", "autoshard_trained.tar"}) {
    seeds.add("policy", read_file(policy_path(name)));
  }
  seeds.add("policy", serialize_policy(*random_policy(Algorithm::kDreamshard)));
  PickleWriter tensor;
  seeds.add("pickle", tensor.tensor("FloatStorage", "0", 6, 1, {2, 1}, {3, 1}).finish());
}

void add_lookups_and_samples(Seeds& seeds) {
  const Accesses accesses = random_accesses(1, 3, 3);
  const std::string count = "(" + std::to_string(accesses.indices.size()) + ",)";
  for (const int bytes : {4, 8}) {
    const std::string indices = npy_file(accesses.indices, count, bytes);
    const std::string lengths = npy_file(accesses.lengths, "(3, 3)", bytes);
    seeds.add("npy", two_files(indices, lengths));
    seeds.add("npy", two_files(gzip(indices), lengths));
    seeds.add("npy", two_files(indices, npy_file(accesses.offsets, "(10,)", bytes)));
    seeds.add("torch_stream", torch_file(accesses, bytes));
    seeds.add("torch_stream", torch_file(accesses, bytes, true));
  }
  seeds.add("torch_stream", gzip(torch_file(accesses)));
  seeds.add("samples", "0,1 3.5\n1 2\n\n0,0,0 1e-3\n");
  seeds.add("samples", first_lines(read_file(golden_path("cost/comm_2/data.txt")), 3));
  seeds.add("samples", first_lines(read_file(golden_path("cost/comm_8/data.txt")), 2));
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::cerr << "usage: fuzz_seeds FOLDER\n";
    return 2;
  }
  Seeds seeds(argv[1]);
  add_tasks_and_plans(seeds);
  add_models(seeds);
  add_lookups_and_samples(seeds);
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
