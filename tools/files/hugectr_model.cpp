#include "tools/files/hugectr_model.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "neuroshard/error.h"
#include "neuroshard/task.h"
#include "weights/files/json_reader.h"

namespace neuroshard::tools {
namespace {

using TaskJson = nlohmann::ordered_json;

constexpr int kMostSlots = 1'000'000;
constexpr double kMostLookups = 1e9;

/// Slots of an input, which one embedding looks up.
struct SparseInput {
  std::vector<double> lookups;      ///< [slots]: of a sample.
  std::vector<std::int64_t> sizes;  ///< [slots], or empty if the data layer states none.
};

std::vector<std::int64_t> sizes_of(const JsonObject& object, const char* field) {
  std::vector<std::int64_t> sizes;
  for (const JsonValue size : object.array(field)) {
    sizes.push_back(json_integer(
        size, object.place(field) + ": slot " + std::to_string(sizes.size()), 1, kMaxRows));
  }
  return sizes;
}

/// Sizes of slots that an object states, under their name of today or the one of old models.
std::vector<std::int64_t> stated_sizes(const JsonObject& object) {
  for (const char* field : {"slot_size_array", "slot_size"}) {
    if (object.has(field)) return sizes_of(object, field);
  }
  return {};
}

class Model {
 public:
  explicit Model(const JsonObject& file) {
    read_layers(file);
    if (file.has("solver")) read_solver(file.object("solver"));
    if (file.has("optimizer")) read_optimizer(file.object("optimizer"));
  }

  [[nodiscard]] std::string task() const {
    TaskJson task = {{"format", "neuroshard.task"}, {"version", 1}, {"name", "HugeCTR model"}};
    std::string notes = "Made from a HugeCTR model: a table a slot, by slot_size_array.";
    for (const std::string& note : notes_) notes += ' ' + note;
    task["notes"] = notes;
    if (devices_) task["devices"] = *devices_;
    if (devices_per_node_) task["devices_per_node"] = *devices_per_node_;
    if (batch_size_) task["batch_size"] = *batch_size_;
    if (!optimizer_.empty()) task["optimizer"] = optimizer_;
    task["tables"] = tables_;
    return task.dump(1) + '\n';
  }

 private:
  void note(const std::string& text) {
    if (std::ranges::find(notes_, text) == notes_.end()) notes_.push_back(text);
  }

  void read_layers(const JsonObject& file) {
    std::vector<JsonObject> embeddings;
    std::size_t number = 0;
    for (const JsonValue item : file.array("layers")) {
      JsonObject layer(item, file.where() + ": layer " + std::to_string(number++));
      if (layer.has("sparse")) read_inputs(layer);
      if (layer.has("sparse_embedding_hparam")) embeddings.push_back(std::move(layer));
    }
    for (const JsonObject& layer : embeddings) read_embedding(layer);
    if (tables_.empty()) {
      throw Error(file.place("layers") +
                  ": none has a sparse_embedding_hparam; give a model with sparse embeddings");
    }
  }

  void read_inputs(const JsonObject& layer) {
    const std::vector<std::int64_t> sizes = stated_sizes(layer);
    std::vector<SparseInput*> inputs;
    std::size_t slots = 0;
    for (const JsonValue item : layer.array("sparse")) {
      const JsonObject object(item,
                              layer.place("sparse") + ": input " + std::to_string(inputs.size()));
      SparseInput& input = inputs_[object.text("top")];
      input = {.lookups = lookups_of(object), .sizes = {}};
      inputs.push_back(&input);
      slots += input.lookups.size();
    }
    if (sizes.empty()) return;
    if (sizes.size() != slots) {
      throw Error(layer.where() + ": there are sizes of " + std::to_string(sizes.size()) +
                  " slots, but slot_num adds up to " + std::to_string(slots) +
                  "; give one size a slot");
    }
    auto next = sizes.begin();
    for (SparseInput* input : inputs) {
      const auto count = static_cast<std::ptrdiff_t>(input->lookups.size());
      input->sizes.assign(next, next + count);
      next += count;
    }
  }

  std::vector<double> lookups_of(const JsonObject& input) {
    const int slots = input.small_integer("slot_num", 1, kMostSlots);
    const auto all = [&](double lookups) {
      return std::vector<double>(static_cast<std::size_t>(slots), lookups);
    };
    if (input.has("nnz_per_slot")) {
      JsonArray list;
      if (input.value("nnz_per_slot").get(list) != simdjson::SUCCESS) {
        return all(input.number("nnz_per_slot", 0.0, kMostLookups));
      }
      std::vector<double> lookups;
      for (const JsonValue item : list) {
        lookups.push_back(json_number(item, input.place("nnz_per_slot"), 0.0, kMostLookups));
      }
      if (lookups.size() == 1) return all(lookups[0]);
      if (std::cmp_equal(lookups.size(), slots)) return lookups;
      throw Error(input.place("nnz_per_slot") + " lists " + std::to_string(lookups.size()) +
                  " slots, but slot_num is " + std::to_string(slots) + "; give one number a slot");
    }
    if (input.has("max_nnz")) {
      note("Pooling factors are what max_nnz allows at most.");
      return all(input.number("max_nnz", 0.0, kMostLookups));
    }
    if (input.has("max_feature_num_per_sample")) {
      note(
          "Pooling factors are what max_feature_num_per_sample allows at most, the same for all "
          "slots of an input.");
      return all(input.number("max_feature_num_per_sample", 0.0, kMostLookups) / slots);
    }
    note("Pooling factors are not stated; they are taken to be 1.");
    return all(1.0);
  }

  void read_embedding(const JsonObject& layer) {
    const std::string bottom = layer.text("bottom");
    const auto found = inputs_.find(bottom);
    if (found == inputs_.end()) {
      throw Error(layer.stated("bottom") +
                  ", which is no sparse input; give the top of an input of the data layer");
    }
    const SparseInput& input = found->second;
    const JsonObject hparam = layer.object("sparse_embedding_hparam");
    std::vector<std::int64_t> sizes = stated_sizes(hparam);
    if (sizes.empty()) sizes = stated_sizes(layer);
    if (sizes.empty()) sizes = input.sizes;
    if (sizes.empty()) {
      throw Error(layer.where() + ": says nothing of the rows of its slots; give " +
                  "slot_size_array there, in sparse_embedding_hparam, or in the data layer");
    }
    if (sizes.size() != input.lookups.size()) {
      throw Error(layer.where() + ": there are sizes of " + std::to_string(sizes.size()) +
                  " slots, but '" + bottom + "' has " + std::to_string(input.lookups.size()) +
                  "; give one size a slot");
    }
    const int columns = hparam.small_integer("embedding_vec_size", 1, kMaxDim);
    const int dim = (columns + kDimMultiple - 1) / kDimMultiple * kDimMultiple;
    if (dim != columns) {
      note("Columns are rounded up to multiples of 4: " + std::to_string(dim) + " for " +
           std::to_string(columns) + '.');
    }
    const std::string top = layer.text("top");
    for (std::size_t slot = 0; slot < sizes.size(); ++slot) {
      tables_.push_back({{"name", top + ".slot_" + std::to_string(slot)},
                         {"row", sizes[slot]},
                         {"dim", dim},
                         {"pooling_factor", input.lookups[slot]}});
    }
  }

  void read_solver(const JsonObject& solver) {
    if (solver.has("batchsize")) batch_size_ = solver.integer("batchsize", 1, kMaxBatchSize);
    const char* field = solver.has("vvgpu") ? "vvgpu" : "gpu";
    if (!solver.has(field)) return;
    const JsonArray gpus = solver.array(field);
    std::size_t devices = 0;
    std::optional<std::size_t> of_node;
    bool alike = true;
    for (const JsonValue item : gpus) {
      JsonArray node;
      if (item.get(node) != simdjson::SUCCESS) {  // Without nodes.
        ++devices;
        continue;
      }
      devices += node.size();
      alike = alike && of_node.value_or(node.size()) == node.size();
      of_node = node.size();
    }
    if (devices < 1 || devices > kMaxDevices) {
      throw Error(solver.place(field) + " lists " + std::to_string(devices) + " GPUs; give 1 to " +
                  std::to_string(kMaxDevices));
    }
    devices_ = devices;
    if (!of_node) return;
    if (alike && *of_node > 0) {
      devices_per_node_ = *of_node;
    } else {
      note("Nodes have different numbers of GPUs, which a task cannot say.");
    }
  }

  void read_optimizer(const JsonObject& optimizer) {
    const std::string type = optimizer.text("type");
    constexpr std::array<std::pair<std::string_view, const char*>, 3> kKnown = {
        {{"SGD", "sgd"}, {"Adam", "adam"}, {"AdaGrad", "adagrad"}}};
    const auto known = std::ranges::find(kKnown, std::string_view(type),
                                         &std::pair<std::string_view, const char*>::first);
    if (known != kKnown.end()) {
      optimizer_ = known->second;
    } else {
      note("State of the optimizer '" + type + "' does not count as memory.");
    }
  }

  std::map<std::string, SparseInput, std::less<>> inputs_;
  TaskJson tables_ = TaskJson::array();
  std::optional<std::size_t> devices_;
  std::optional<std::size_t> devices_per_node_;
  std::optional<std::int64_t> batch_size_;
  std::string optimizer_;
  std::vector<std::string> notes_;
};

}  // namespace

std::string task_of_hugectr_model(std::string_view json, const std::string& where) {
  const JsonDocument document = parse_json(json, where);
  return Model(JsonObject(document.root(), where)).task();
}

}  // namespace neuroshard::tools
