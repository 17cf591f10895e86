#include "tools/training/training_metadata.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <set>
#include <string>

#include "core/base/message_text.h"
#include "core/base/number_in.h"
#include "neuroshard/error.h"
#include "neuroshard/version.h"
#include "tools/text/text.h"
#include "tools/training/accuracy_table.h"
#include "weights/collection/collection_folder.h"

namespace neuroshard::tools {
namespace {

// Takes over what one folder says, unless another folder said something else.
void agree(std::string& known, const CollectionDescription& description, const std::string& key,
           const std::filesystem::path& folder) {
  const auto found = description.find(key);
  if (found == description.end()) return;
  if (!known.empty() && known != found->second) {
    throw Error(folder.string() + ": was collected with " + key + " '" + found->second +
                "', another data folder with '" + known +
                "'; one model learns the costs of one machine and batch size");
  }
  known = found->second;
}

// SOURCE_DATE_EPOCH (seconds) takes the place of the clock in reproducible builds.
std::string today() {
  const char* fixed = std::getenv("SOURCE_DATE_EPOCH");
  const std::time_t now =
      fixed != nullptr ? static_cast<std::time_t>(std::strtoll(fixed, nullptr, 10))
                       : std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm calendar{};
  gmtime_r(&now, &calendar);
  char text[16] = "";
  (void)std::strftime(text, sizeof text, "%Y-%m-%d", &calendar);
  return text;
}

std::string training_text(const TrainingOptions& options, const TrainingSummary& summary) {
  if (options.epochs == 0) {
    return "all costs times one factor, of " + format_count(summary.train_samples) + " samples";
  }
  return format_count(summary.train_samples) + " training samples, " +
         std::to_string(summary.epochs) + " epochs, of which epoch " +
         std::to_string(summary.best_epoch) + " is kept; batch " + std::to_string(options.batch) +
         (options.loss == TrainingLoss::kRelative ? ", relative squared error" : "") +
         ", Adam, learning rate " + format_short(options.learning_rate) + " to " +
         format_short(options.final_learning_rate) + ", seed " + std::to_string(options.seed);
}

// "<part>.<...>.<field>" of all parts, each value once. A part may have several pieces of hardware.
std::string sum_up(const CostModels& models, const std::string& field) {
  std::set<std::string> values;
  for (const auto& [key, value] : models.metadata) {
    if (!key.ends_with("." + field)) continue;
    if (field != "hardware") {
      values.insert(value);
      continue;
    }
    for (std::size_t begin = 0; begin <= value.size();) {
      const std::size_t end = std::min(value.find(", ", begin), value.size());
      values.insert(value.substr(begin, end - begin));
      begin = end + 2;
    }
  }
  return joined(values);
}

}  // namespace

DataOrigin read_data_origin(std::span<const std::filesystem::path> folders,
                            const std::string& kind) {
  DataOrigin origin;
  for (const std::filesystem::path& folder : folders) {
    const CollectionDescription description = read_collection_description(folder);
    const auto found = description.find("kind");
    if (found != description.end() && found->second != kind) {
      throw Error(folder.string() + ": holds samples for 'train " + found->second +
                  "', not for 'train " + kind + "'");
    }
    agree(origin.source, description, "source", folder);
    agree(origin.hardware, description, "hardware", folder);
    agree(origin.batch_size, description, "batch", folder);
  }
  return origin;
}

std::optional<std::int64_t> batch_of_text(const std::string& text) {
  const std::optional<std::int64_t> batch = number_in<std::int64_t>(text);
  return batch && *batch >= 1 ? batch : std::nullopt;
}

void serve_collected_batch(const DataOrigin& origin, ComputeSamples& samples) {
  if (!samples.served.empty()) return;
  const std::int64_t batch = batch_of_text(origin.batch_size).value_or(kDefaultBatchSize);
  if (batch != kDefaultBatchSize) samples.served.assign(samples.size(), batch);
}

void describe_training(CostModels& models, const std::string& part, const DataOrigin& origin,
                       std::span<const TrainedNetwork> networks,
                       const std::map<std::string, TrainingRange>& ranges) {
  auto& metadata = models.metadata;
  std::erase_if(metadata, [&](const auto& entry) { return entry.first.starts_with(part + "."); });
  const auto put = [&](const std::string& key, const std::string& value) {
    if (!value.empty()) metadata[part + "." + key] = value;
  };
  put("source", origin.source);
  put("hardware", origin.hardware);
  put("batch_size", origin.batch_size);
  put("calibrated_from", origin.calibrated_from);
  put("recipe", origin.recipe);
  put("trained_on", today());
  put("program", "neuroshard " NEUROSHARD_VERSION);
  for (const auto& [quantity, range] : ranges) {
    metadata[TrainingRanges::key(part, quantity)] = range.text();
  }
  for (const auto& [summary, options] : networks) {
    const std::string network = summary.network == "compute" ? "" : summary.network + ".";
    put(network + "training", training_text(options, summary));
    for (const TestResult& test : summary.tests) {
      // With leading zeros, so that the keys are listed in order of the device count.
      char devices[16] = "";
      if (test.devices > 0) std::snprintf(devices, sizeof devices, ".%04d", test.devices);
      put(network + "test" + devices, accuracy_text(test.accuracy) + " (" +
                                          format_count(test.accuracy.costs) + " costs held back)");
    }
  }
  for (const char* field : {"source", "hardware", "batch_size"}) {
    const std::string text = sum_up(models, field);
    if (!text.empty()) metadata[field] = text;
  }
}

}  // namespace neuroshard::tools
