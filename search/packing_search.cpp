#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/base/step_budget.h"
#include "search/packing.h"

namespace neuroshard {
namespace {

// Decisions that stand at one time, which are a recursion.
constexpr std::size_t kDeepest = 8192;

// To start a device takes a look at all classes; so many take the time of a decision.
constexpr std::uint64_t kClassesPerNode = 16;

// Steps of a node: classes that are passed over, mostly.
constexpr std::uint64_t kStepsOfNode = 256;

// Classes times devices: what is kept of each takes 8 bytes.
constexpr std::size_t kMostBytesFrom = std::size_t{1} << 22;

// Numbers kept of what was left where no packing was found; more are not remembered.
constexpr std::size_t kMostRemembered = std::size_t{1} << 20;

// A state is hashed as the sum of its numbers times odd factors, which changes with them at once.
constexpr std::uint64_t kFactorOfDevice = 0x9E3779B97F4A7C15U;
constexpr std::uint64_t factor_of(std::size_t size_class) {
  std::uint64_t factor = (size_class + 1) * 0xD1342543DE82EF95U;
  factor = (factor ^ factor >> 32) * 0xBF58476D1CE4E5B9U;
  return (factor ^ factor >> 29) | 1;
}

enum class Waste {
  kEven,     ///< No device wastes more than the mean of those left: finds most packings soonest.
  kAllowed,  ///< As much as all have to waste together: finds every packing.
};

class PackingSearch {
 public:
  PackingSearch(const PackingProblem& problem, Waste waste, std::uint64_t most_nodes,
                const StopCondition& stop)
      : problem_(problem),
        waste_(waste),
        most_nodes_(most_nodes),
        steps_(kStepsOfNode * most_nodes, stop) {
    for (const SizeClass& one : problem.classes) {
      factors_.push_back(factor_of(left_.size()));
      hash_ += factors_.back() * static_cast<std::uint64_t>(one.slices);
      left_.push_back(one.slices);
      bytes_left_ += one.size_bytes * one.slices;
    }
    bytes_from_.resize(static_cast<std::size_t>(problem.devices));
  }

  PackingSearchResult run() {
    if (left_.size() * bytes_from_.size() > kMostBytesFrom) return {PackingOutcome::kGaveUp, {}};
    if (fill_next_device()) return {PackingOutcome::kPacked, std::move(packing_)};
    return {gave_up_ ? PackingOutcome::kGaveUp : PackingOutcome::kImpossible, {}};
  }

 private:
  struct HopelessState {
    std::vector<std::int64_t> left;  ///< Slices of each class.
    std::int64_t device;             ///< The next one.
  };

  // Bytes left of each class and those after it when a device is started.
  using BytesFrom = std::vector<std::int64_t>;

  bool fill_next_device() {
    if (bytes_left_ == 0) return true;
    const std::int64_t devices_left = problem_.devices - device_;
    if (devices_left == 0) return false;
    const std::uint64_t hash = hash_ + kFactorOfDevice * static_cast<std::uint64_t>(device_);
    if (is_hopeless(hash)) return false;

    nodes_ += left_.size() / kClassesPerNode;
    if (!steps_.take(left_.size())) {
      gave_up_ = true;
      return false;
    }
    BytesFrom& bytes_from = bytes_from_[static_cast<std::size_t>(device_)];
    bytes_from.assign(left_.size() + 1, 0);
    for (std::size_t c = left_.size(); c-- > 0;) {
      bytes_from[c] = bytes_from[c + 1] + left_[c] * problem_.classes[c].size_bytes;
    }
    const auto largest = static_cast<std::size_t>(
        std::find_if(left_.begin(), left_.end(), [](std::int64_t left) { return left > 0; }) -
        left_.begin());
    if (decide(bytes_from, largest, problem_.memory_bytes, most_room(devices_left), 1)) return true;
    if (!gave_up_ && remembered_ < kMostRemembered) {  // All is left that was.
      remembered_ += left_.size() + 1;
      hopeless_.try_emplace(hash, HopelessState{left_, device_});
    }
    return false;
  }

  [[nodiscard]] bool is_hopeless(std::uint64_t hash) const {
    const auto known = hopeless_.find(hash);
    return known != hopeless_.end() && known->second.device == device_ &&
           known->second.left == left_;
  }

  // Room that a device may be left with for the others to hold the rest; negative if they cannot.
  [[nodiscard]] std::int64_t most_room(std::int64_t devices_left) const {
    if (waste_ == Waste::kEven) {
      return problem_.memory_bytes - (bytes_left_ + devices_left - 1) / devices_left;
    }
    std::int64_t others = 0;
    if (__builtin_mul_overflow(problem_.memory_bytes, devices_left - 1, &others) ||
        others >= bytes_left_) {
      return problem_.memory_bytes;
    }
    return problem_.memory_bytes - (bytes_left_ - others);
  }

  // How many slices of class `c`, `least` or more, and of those after it the device gets, which has
  // `room` and ends with `most_room` or less.
  bool decide(const BytesFrom& bytes_from, std::size_t c, std::int64_t room, std::int64_t most_room,
              std::int64_t least) {
    const std::size_t from = c;
    while (c < left_.size() && (left_[c] == 0 || problem_.classes[c].size_bytes > room)) ++c;
    if (!steps_.take(1 + c - from)) gave_up_ = true;
    if (gave_up_) return false;
    if (c == left_.size()) {
      if (room > most_room) return false;
      ++device_;
      if (fill_next_device()) return true;
      --device_;
      return false;
    }
    if (give_up()) return false;
    ++depth_;
    const bool found = decide_here(bytes_from, c, room, most_room, least);
    --depth_;
    return found;
  }

  bool decide_here(const BytesFrom& bytes_from, std::size_t c, std::int64_t room,
                   std::int64_t most_room, std::int64_t least) {
    const std::int64_t size = problem_.classes[c].size_bytes;
    const std::int64_t most = std::min(left_[c], room / size);
    for (std::int64_t slices = most; slices >= least; --slices) {
      // A device with room for a slice that is left could as well have it.
      if (slices < most) most_room = std::min(most_room, size - 1);
      const std::int64_t room_after = room - slices * size;
      if (room_after - bytes_from[c + 1] > most_room) return false;
      give(c, slices);
      if (decide(bytes_from, c + 1, room_after, most_room, 0)) return true;
      give(c, -slices);
      if (gave_up_) return false;
    }
    return false;
  }

  void give(std::size_t c, std::int64_t slices) {
    left_[c] -= slices;
    hash_ -= factors_[c] * static_cast<std::uint64_t>(slices);
    bytes_left_ -= slices * problem_.classes[c].size_bytes;
    if (slices > 0) {
      packing_.push_back(
          {static_cast<std::uint32_t>(device_), static_cast<std::uint32_t>(c), slices});
    } else if (slices < 0) {
      packing_.pop_back();
    }
  }

  bool give_up() {
    if (++nodes_ > most_nodes_ || depth_ > kDeepest) gave_up_ = true;
    return gave_up_;
  }

  const PackingProblem& problem_;
  Waste waste_;
  std::uint64_t most_nodes_;
  StepBudget steps_;
  std::vector<std::int64_t> left_;  ///< Slices of each class.
  std::int64_t bytes_left_ = 0;
  std::int64_t device_ = 0;
  Packing packing_;
  std::uint64_t nodes_ = 0;
  std::size_t depth_ = 0;
  bool gave_up_ = false;
  std::vector<std::uint64_t> factors_;                         ///< Of each class, for `hash_`,
  std::uint64_t hash_ = 0;                                     ///< of `left_`.
  std::vector<BytesFrom> bytes_from_;                          ///< [devices]
  std::unordered_map<std::uint64_t, HopelessState> hopeless_;  ///< By hash, with the device's.
  std::size_t remembered_ = 0;
};

// Slices of more than half a device need one each. Those beside which a slice of `least` bytes has
// no room have it to themselves, as far as slices of `least` or more go: the others must hold all
// of these. Whatever `least` is, up to a half.
// (Martello, Toth: Lower bounds and reduction procedures for the bin packing problem, 1990.)
bool needs_more_devices(const PackingProblem& problem) {
  const std::vector<SizeClass>& classes = problem.classes;
  const std::int64_t memory = problem.memory_bytes;
  if (!classes.empty() && classes.front().size_bytes > memory) return true;
  std::size_t alone = 0;  // Of so many classes all slices have a device to themselves.
  std::int64_t devices_left = problem.devices;
  for (; alone < classes.size() && classes[alone].size_bytes > memory - memory / 2; ++alone) {
    devices_left -= classes[alone].slices;
  }
  if (devices_left < 0) return true;
  std::int64_t bytes = 0;  // Of all smaller ones, down to the least.
  for (std::size_t c = alone; c < classes.size(); ++c) {
    const auto& [least, slices] = classes[c];
    bytes += least * slices;
    for (; alone > 0 && classes[alone - 1].size_bytes <= memory - least; --alone) {
      bytes += classes[alone - 1].size_bytes * classes[alone - 1].slices;
      devices_left += classes[alone - 1].slices;
    }
    std::int64_t room = 0;
    if (!__builtin_mul_overflow(devices_left, memory, &room) && bytes > room) return true;
  }
  return false;
}

}  // namespace

PackingSearchResult search_packing(const PackingProblem& problem, std::uint64_t most_nodes,
                                   const StopCondition& stop) {
  if (needs_more_devices(problem)) return {PackingOutcome::kImpossible, {}};
  PackingSearchResult even = PackingSearch(problem, Waste::kEven, most_nodes / 2, stop).run();
  if (even.outcome == PackingOutcome::kPacked) return even;
  return PackingSearch(problem, Waste::kAllowed, most_nodes / 2, stop).run();
}

}  // namespace neuroshard
