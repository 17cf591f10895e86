#include <array>
#include <string>
#include <utility>

#include "neuroshard/error.h"
#include "neuroshard/plan_request.h"
#include "neuroshard/plan_result.h"
#include "neuroshard/search_options.h"

namespace neuroshard {
namespace {

// The names, and by them the lists of all values. No default: a value without a name does not
// compile.
constexpr std::string_view text_of(Algorithm algorithm) {
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
  }
  return "";
}

constexpr std::string_view text_of(Effort effort) {
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

constexpr std::string_view text_of(SearchStage stage) {
  switch (stage) {
    case SearchStage::kUniform:
      return "uniform";
    case SearchStage::kGreedy:
      return "greedy";
    case SearchStage::kCoarseLadder:
      return "coarse_ladder";
    case SearchStage::kShortImprovement:
      return "short_improvement";
    case SearchStage::kFineLadder:
      return "fine_ladder";
    case SearchStage::kPublished:
      return "published";
    case SearchStage::kPacking:
      return "packing";
    case SearchStage::kImprovement:
      return "improvement";
    case SearchStage::kLongImprovement:
      return "long_improvement";
  }
  return "";
}

template <typename Value>
std::string_view name_or_unknown(Value value) {
  const std::string_view text = text_of(value);
  return text.empty() ? "unknown" : text;
}

template <typename Value>
constexpr std::size_t count_named() {
  std::size_t count = 0;
  while (!text_of(static_cast<Value>(count)).empty()) ++count;
  return count;
}

template <typename Value>
constexpr auto all_named() {
  std::array<Value, count_named<Value>()> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<Value>(i);
  return all;
}

constexpr auto kAlgorithms = all_named<Algorithm>();
constexpr auto kEfforts = all_named<Effort>();
constexpr auto kSearchStages = all_named<SearchStage>();

// The one of `all` that is called `name`; throws Error listing their names.
template <typename Value>
Value named(std::span<const Value> all, std::string_view name, const std::string& kind) {
  std::string known;
  for (const Value value : all) {
    if (name_of(value) == name) return value;
    known += (known.empty() ? "" : ", ") + std::string(name_of(value));
  }
  throw Error("there is no " + kind + " '" + std::string(name) + "'; use one of " + known);
}

}  // namespace

std::span<const Algorithm> all_algorithms() { return kAlgorithms; }

std::string_view name_of(Algorithm algorithm) { return name_or_unknown(algorithm); }

Algorithm algorithm_from_name(std::string_view name) {
  return named(all_algorithms(), name, "algorithm");
}

std::span<const Effort> all_efforts() { return kEfforts; }

std::string_view name_of(Effort effort) { return name_or_unknown(effort); }

Effort effort_from_name(std::string_view name) { return named(all_efforts(), name, "effort"); }

std::span<const SearchStage> all_search_stages() { return kSearchStages; }

std::string_view name_of(SearchStage stage) { return name_or_unknown(stage); }

std::string_view name_of(Infeasibility::Kind kind) {
  switch (kind) {
    case Infeasibility::Kind::kTotalMemory:
      return "total_memory";
    case Infeasibility::Kind::kPieceTooLarge:
      return "piece_too_large";
    case Infeasibility::Kind::kPacking:
      return "packing";
    case Infeasibility::Kind::kNoTime:
      return "no_time";
  }
  return "unknown";
}

}  // namespace neuroshard
