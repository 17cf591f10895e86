#include <array>
#include <utility>

#include "neuroshard/error.h"
#include "neuroshard/planner.h"

namespace neuroshard {
namespace {

constexpr std::array<std::pair<Algorithm, std::string_view>, 7> kAlgorithms = {{
    {Algorithm::kNeuroshard, "neuroshard"},
    {Algorithm::kRandom, "random"},
    {Algorithm::kDimGreedy, "dim_greedy"},
    {Algorithm::kSizeGreedy, "size_greedy"},
    {Algorithm::kLookupGreedy, "lookup_greedy"},
    {Algorithm::kSizeLookupGreedy, "size_lookup_greedy"},
    {Algorithm::kUniform, "uniform"},
}};

}  // namespace

std::string_view name_of(Algorithm algorithm) {
  for (const auto& [value, name] : kAlgorithms) {
    if (value == algorithm) return name;
  }
  return "unknown";
}

Algorithm algorithm_from_name(std::string_view name) {
  std::string known;
  for (const auto& [value, known_name] : kAlgorithms) {
    if (known_name == name) return value;
    known += (known.empty() ? "" : ", ") + std::string(known_name);
  }
  throw Error("there is no algorithm '" + std::string(name) + "'; use one of " + known);
}

std::string_view name_of(Infeasibility::Kind kind) {
  switch (kind) {
    case Infeasibility::Kind::kTotalMemory:
      return "total_memory";
    case Infeasibility::Kind::kPieceTooLarge:
      return "piece_too_large";
    case Infeasibility::Kind::kPacking:
      return "packing";
  }
  return "unknown";
}

}  // namespace neuroshard
