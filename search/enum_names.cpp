#include "core/base/enum_names.h"

#include "neuroshard/device_groups.h"
#include "neuroshard/plan_request.h"
#include "neuroshard/plan_result.h"
#include "neuroshard/search_options.h"

namespace neuroshard {

// The names, and by them the lists of all values (core/base/enum_names.h).
static constexpr std::string_view text_of(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kNeuroshard:
      return "neuroshard";
    case Algorithm::kPublished:
      return "published";
    case Algorithm::kUniform:
      return "uniform";
    case Algorithm::kRandom:
      return "random";
    case Algorithm::kDimGreedy:
      return "dim_greedy";
    case Algorithm::kSizeGreedy:
      return "size_greedy";
    case Algorithm::kLookupGreedy:
      return "lookup_greedy";
    case Algorithm::kSizeLookupGreedy:
      return "size_lookup_greedy";
    case Algorithm::kRecshard:
      return "recshard";
    case Algorithm::kFlexshard:
      return "flexshard";
    case Algorithm::kDreamshard:
      return "dreamshard";
    case Algorithm::kAutoshard:
      return "autoshard";
  }
  return "";
}

static constexpr std::string_view text_of(GroupLayout layout) {
  switch (layout) {
    case GroupLayout::kConsecutive:
      return "consecutive";
    case GroupLayout::kInterleaved:
      return "interleaved";
  }
  return "";
}

static constexpr std::string_view text_of(Effort effort) {
  switch (effort) {
    case Effort::kFast:
      return "fast";
    case Effort::kDefault:
      return "default";
    case Effort::kThorough:
      return "thorough";
  }
  return "";
}

static constexpr std::string_view text_of(SearchStage stage) {
  switch (stage) {
    case SearchStage::kUniform:
      return "uniform";
    case SearchStage::kGreedy:
      return "greedy";
    case SearchStage::kLadder:
      return "ladder";
    case SearchStage::kRoom:
      return "room";
    case SearchStage::kPublished:
      return "published";
    case SearchStage::kImprovement:
      return "improvement";
  }
  return "";
}

static constexpr std::string_view text_of(Cuts cuts) {
  switch (cuts) {
    case Cuts::kAny:
      return "any";
    case Cuts::kColumns:
      return "columns";
    case Cuts::kTorchrec:
      return "torchrec";
  }
  return "";
}

namespace {

constexpr auto kAlgorithms = all_named<Algorithm>();
constexpr auto kGroupLayouts = all_named<GroupLayout>();
constexpr auto kEfforts = all_named<Effort>();
constexpr auto kCuts = all_named<Cuts>();

}  // namespace

std::span<const Algorithm> all_algorithms() { return kAlgorithms; }

std::string_view name_of(Algorithm algorithm) { return name_or_unknown(algorithm); }

Algorithm algorithm_from_name(std::string_view name) {
  return named(all_algorithms(), name, "algorithm");
}

std::span<const GroupLayout> all_group_layouts() { return kGroupLayouts; }

std::string_view name_of(GroupLayout layout) { return name_or_unknown(layout); }

GroupLayout group_layout_from_name(std::string_view name) {
  return named(all_group_layouts(), name, "layout of groups");
}

std::span<const Effort> all_efforts() { return kEfforts; }

std::string_view name_of(Effort effort) { return name_or_unknown(effort); }

Effort effort_from_name(std::string_view name) { return named(all_efforts(), name, "effort"); }

std::span<const Cuts> all_cuts() { return kCuts; }

std::string_view name_of(Cuts cuts) { return name_or_unknown(cuts); }

Cuts cuts_from_name(std::string_view name) { return named(all_cuts(), name, "kind of cuts"); }

std::string_view name_of(SearchStage stage) { return name_or_unknown(stage); }

std::string_view name_of(Infeasibility::Kind kind) {
  switch (kind) {
    case Infeasibility::Kind::kTotalMemory:
      return "total_memory";
    case Infeasibility::Kind::kPieceTooLarge:
      return "piece_too_large";
    case Infeasibility::Kind::kPacking:
      return "packing";
    case Infeasibility::Kind::kRules:
      return "rules";
    case Infeasibility::Kind::kNoTime:
      return "no_time";
  }
  return "unknown";
}

}  // namespace neuroshard
