#include "tools/training/fitted_weights.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "core/base/message_text.h"
#include "neuroshard/error.h"
#include "neuroshard/hardware.h"
#include "neuroshard/task_models.h"
#include "neuroshard/weights.h"
#include "tools/training/accuracy_table.h"
#include "weights/collection/collection_folder.h"
#include "weights/training/sample_ranges.h"

namespace neuroshard::tools {
namespace {

constexpr const char* kBuiltIn = "built-in";

using Folders = std::vector<std::filesystem::path>;

/// Kinds of samples that can be fitted, as folders name them.
constexpr const char* kComputeKind = "compute";
constexpr const char* kCommKind = "comm";
constexpr const char* kAllReduceKind = "all-reduce";
constexpr const char* kIdsKind = "ids";

std::map<std::string, Folders> folders_by_kind(const Folders& folders) {
  std::map<std::string, Folders> by_kind;
  for (const std::filesystem::path& folder : folders) {
    const CollectionDescription description = read_collection_description(folder);
    const auto found = description.find("kind");
    if (found == description.end()) {
      throw Error(folder.string() +
                  ": has no collection.json that says what it holds; give it to 'train compute' or "
                  "'train comm'");
    }
    const std::string& kind = found->second;
    if (kind != kComputeKind && kind != kCommKind && kind != kAllReduceKind && kind != kIdsKind) {
      throw Error(folder.string()
                      .append(": holds samples of ")
                      .append(kind)
                      .append("; give it to 'train ")
                      .append(kind)
                      .append("'"));
    }
    by_kind[kind].push_back(folder);
  }
  return by_kind;
}

/// "calibrated", or "forward scaled, backward trained anew".
std::string recipe_text(std::span<const Fit> networks) {
  const bool alike = std::ranges::all_of(
      networks, [&](const Fit& fit) { return fit.recipe == networks.front().recipe; });
  if (alike) return std::string(name_of(networks.front().recipe));
  return joined(networks, ", ", [](const Fit& fit) {
    return fit.summary.network + ' ' + std::string(name_of(fit.recipe));
  });
}

class WeightsFit {
 public:
  explicit WeightsFit(const FitRequest& request)
      : request_(request), folders_(folders_by_kind(request.folders)) {}

  FittedWeights run() {
    std::optional<ComputeSamples> operators;
    DataOrigin origin;
    if (folders_.contains(kComputeKind)) {
      const Folders& folders = folders_.at(kComputeKind);
      origin = read_data_origin(folders, kComputeKind);
      operators = read_compute_samples(folders);
      serve_collected_batch(origin, *operators);
    }
    std::string from = request_.from;
    if (from.empty()) from = operators ? nearest_hardware(*operators) : kDefaultHardware;
    const CostModels start = start_models(from);
    fitted_.models = start;
    fitted_.from = origin_of(start, from);
    if (operators) fit(start.compute, *operators, std::move(origin));
    if (folders_.contains(kCommKind)) fit_comms(start);
    fit_collective(kAllReduceKind, start.all_reduce, fitted_.models.all_reduce);
    fit_collective(kIdsKind, start.ids, fitted_.models.ids);
    return std::move(fitted_);
  }

 private:
  void fit(const ComputeModel& start, const ComputeSamples& samples, DataOrigin origin) {
    if (!samples.served.empty()) origin.batch_size = ranges_of(samples).at("samples").text();
    FittedCompute made = fit_compute(&start, samples, request_.options);
    fitted_.models.compute = std::move(made.model);
    add("compute", std::move(origin), {std::move(made.fit)}, ranges_of(samples));
  }

  void fit_comms(const CostModels& start) {
    const Folders& folders = folders_.at(kCommKind);
    const std::vector<CommSamples> sets = read_comm_samples(folders);
    FittedComm made =
        fit_comm(start.symmetric_comm ? &*start.symmetric_comm : nullptr, sets, request_.options);
    CostModels& models = fitted_.models;
    models.symmetric_comm = std::move(made.model);
    // They would go before.
    for (const CommSamples& set : sets) models.dense_comm.erase(set.devices);
    DataOrigin origin = read_data_origin(folders, kCommKind);
    set_known_network(models, datasheet_network(origin.hardware));
    add("comm.symmetric", std::move(origin), {std::move(made.forward), std::move(made.backward)},
        ranges_of(sets));
  }

  void fit_collective(const char* kind, const std::optional<CollectiveModel>& start,
                      std::optional<CollectiveModel>& model) {
    if (!folders_.contains(kind)) return;
    const Folders& folders = folders_.at(kind);
    const CollectiveSamples samples = read_collective_samples(folders, kind);
    FittedCollective made = neuroshard::fit_collective(start ? &*start : nullptr, samples);
    model = std::move(made.model);
    const std::string part = made.fit.summary.network;
    add(part, read_data_origin(folders, kind), {std::move(made.fit)}, ranges_of(samples));
  }

  void add(const std::string& part, DataOrigin origin, std::vector<Fit> networks,
           const std::map<std::string, TrainingRange>& ranges) {
    origin.recipe = recipe_text(networks);
    const bool anew = std::ranges::all_of(
        networks, [](const Fit& made) { return made.recipe == Recipe::kTrained; });
    if (!anew) origin.calibrated_from = fitted_.from;
    std::vector<TrainedNetwork> trained;
    trained.reserve(networks.size());
    for (const Fit& made : networks) trained.push_back({made.summary, made.options});
    describe_training(fitted_.models, part, origin, trained, ranges);
    fitted_.parts.push_back({part, std::move(networks)});
  }

  const FitRequest& request_;
  std::map<std::string, Folders> folders_;
  FittedWeights fitted_;
};

}  // namespace

CostModels start_models(const std::string& from) {
  if (from == kBuiltIn) return builtin_weights();
  if (std::ranges::find(trained_hardware(), from) != trained_hardware().end()) {
    return builtin_weights(from);
  }
  if (!std::filesystem::exists(from)) {
    throw Error("--from '" + printable(from) +
                "' is neither a weights file nor built-in weights; give " + kBuiltIn + ", one of " +
                trained_hardware_names() + ", or a file");
  }
  return load_weights(from);
}

FittedWeights fit_weights(const FitRequest& request) { return WeightsFit(request).run(); }

std::vector<std::string> terms_off(const std::string& part, const TrainingSummary& summary,
                                   double max_error) {
  std::vector<std::string> terms;
  for (const TestResult& test : summary.tests) {
    // NaN exceeds it, too.
    if (test.accuracy.mape <= max_error) continue;
    terms.push_back(part + (summary.network == part ? "" : ", " + summary.network) +
                    (test.devices == 0 ? "" : ", " + test_name(test)) + ": off by " +
                    format_percent(test.accuracy.mape, 1) + " on " +
                    format_count(test.accuracy.costs) + " costs held back, more than " +
                    format_percent(max_error, 1));
  }
  return terms;
}

std::vector<std::string> terms_off(const FittedWeights& fitted, double max_error) {
  std::vector<std::string> terms;
  for (const FittedPart& part : fitted.parts) {
    for (const Fit& network : part.networks) {
      const auto some = terms_off(part.part, network.summary, max_error);
      terms.insert(terms.end(), some.begin(), some.end());
    }
  }
  return terms;
}

std::optional<NodeNetwork> datasheet_network(const std::string& hardware) {
  for (const NetworkSpec& known : known_networks()) {
    const bool is_switched = !known.nodes().shares_links() && known.links.peer_gb_s == 0.0;
    if (known.name == hardware && is_switched) return known.nodes();
  }
  return std::nullopt;
}

}  // namespace neuroshard::tools
