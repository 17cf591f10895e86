#include "golden.h"

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "neuroshard/weights.h"

namespace neuroshard::testing {
namespace {

std::ifstream open(const std::string& name) {
  std::ifstream file(golden_path(name));
  if (!file) throw std::runtime_error("cannot open golden file " + name);
  return file;
}

std::vector<int> numbers(const std::string& text) {
  std::vector<int> values;
  std::stringstream stream(text);
  for (std::string field; std::getline(stream, field, ',');) values.push_back(std::stoi(field));
  return values;
}

}  // namespace

std::string golden_path(const std::string& name) {
  // Programs that run on another machine than they were built on say where the data is.
  const char* data = std::getenv("NEUROSHARD_TEST_DATA");
  return std::string(data != nullptr ? data : NEUROSHARD_TEST_DATA) + "/golden/" + name;
}

const CostModels& golden_models() {
  static const CostModels models = [] {
    CostModels loaded;
    loaded.compute = load_compute_checkpoint(golden_path("models/compute.pt"));
    for (const int devices : {2, 4, 8, 16}) {
      const std::string stem = "models/comm_" + std::to_string(devices);
      loaded.dense_comm[devices] = {load_comm_checkpoint(golden_path(stem + "_fw.pt")).network,
                                    load_comm_checkpoint(golden_path(stem + "_bw.pt")).network};
    }
    validate(loaded);
    return loaded;
  }();
  return models;
}

const std::vector<Table>& golden_tables() {
  static const std::vector<Table> tables = [] {
    std::vector<Table> read;
    for (const auto& entry : nlohmann::json::parse(open("tables/table_configs.json"))) {
      Table table{.rows = entry.at("row"), .pooling_factor = entry.at("pooling_factor")};
      for (int bin = 0; bin < kHistogramBins; ++bin) {
        table.access_histogram[static_cast<std::size_t>(bin)] =
            entry.at("bin_" + std::to_string(bin));
      }
      read.push_back(table);
    }
    return read;
  }();
  return tables;
}

std::vector<Table> golden_tables(const std::vector<int>& ids, const std::vector<int>& dims) {
  std::vector<Table> tables;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    tables.push_back(golden_tables().at(static_cast<std::size_t>(ids[i])));
    tables.back().dim = dims.at(i);
  }
  return tables;
}

Task golden_task(const std::string& set, int index) {
  std::ifstream file = open("tasks/" + set + ".txt");
  std::string line;
  for (int i = 0; i <= index; ++i) std::getline(file, line);
  const std::size_t space = line.find(' ');
  Task task{.tables =
                golden_tables(numbers(line.substr(0, space)), numbers(line.substr(space + 1)))};
  task.devices = std::stoi(set);  // "4gpu_dim128"
  task.memory_bytes = bytes_from_gib(4.0);
  return task;
}

std::vector<GoldenPlan> golden_plans(const std::string& set) {
  std::ifstream file = open("plans/" + set + ".jsonl");
  std::vector<GoldenPlan> plans;
  for (std::string line; std::getline(file, line);) {
    const auto entry = nlohmann::json::parse(line);
    GoldenPlan golden;
    golden.task = entry.at("task");
    golden.seconds = entry.at("seconds");
    if (!entry.at("cost").is_null()) {
      golden.cost_ms = entry.at("cost");
      golden.plan = HalvedPlan{entry.at("steps"), entry.at("shards")};
    }
    plans.push_back(golden);
  }
  return plans;
}

const std::vector<std::string>& golden_sets() {
  static const std::vector<std::string> sets = {"2gpu_dim64",  "2gpu_dim128", "4gpu_dim32",
                                                "4gpu_dim64",  "4gpu_dim128", "8gpu_dim64",
                                                "8gpu_dim128", "16gpu_dim128"};
  return sets;
}

nlohmann::json golden_scores() { return nlohmann::json::parse(open("scores.json")); }

}  // namespace neuroshard::testing
