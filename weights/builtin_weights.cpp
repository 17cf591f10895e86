#include <algorithm>
#include <array>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "core/base/message_text.h"
#include "neuroshard/weights.h"
#include "weights/pretrained_weights.h"
#include "weights/scaled_weights.h"

namespace neuroshard {
namespace {

constexpr std::array<std::string_view, 3> kTrained = {"a100", "h100", "h200"};

std::string_view bytes_of(const unsigned char* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

std::array<std::string_view, kTrained.size()> files() {
  return {bytes_of(kWeightsOfA100, kWeightsOfA100Size),
          bytes_of(kWeightsOfH100, kWeightsOfH100Size),
          bytes_of(kWeightsOfH200, kWeightsOfH200Size)};
}

CostModels made_for(const Hardware& hardware) {
  const auto* const found = std::ranges::find(kTrained, hardware.name);
  if (found == kTrained.end()) return scaled_weights(hardware);
  return parse_weights(files()[static_cast<std::size_t>(found - kTrained.begin())],
                       builtin_place(hardware.name));
}

/// Models of datasheets that are not listed, the latest first.
class OwnDatasheets {
 public:
  CostModels models_of(const Hardware& hardware) {
    const std::shared_ptr<Made> made = find(hardware);
    std::call_once(made->once, [&] { made->models = made_for(hardware); });
    return made->models;
  }

 private:
  struct Made {
    explicit Made(Hardware of) : hardware(std::move(of)) {}
    Hardware hardware;
    std::once_flag once;
    CostModels models;
  };
  static constexpr std::size_t kMost = 16;

  std::shared_ptr<Made> find(const Hardware& hardware) {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find_if(
        latest_, [&](const std::shared_ptr<Made>& made) { return made->hardware == hardware; });
    if (found != latest_.end()) {
      latest_.splice(latest_.begin(), latest_, found);
    } else {
      latest_.push_front(std::make_shared<Made>(hardware));
      if (latest_.size() > kMost) latest_.pop_back();
    }
    return latest_.front();
  }

  std::mutex mutex_;
  std::list<std::shared_ptr<Made>> latest_;
};

}  // namespace

std::span<const std::string_view> trained_hardware() { return kTrained; }

std::string trained_hardware_names() { return joined(kTrained); }

const CostModels& builtin_weights(std::string_view hardware) {
  struct Named {
    std::once_flag made;
    CostModels models;
  };
  const Hardware& known = hardware_named(hardware);
  const std::span<const Hardware> all = known_hardware();
  // Never destroyed: a planner in a static object may come after them at the end of the program.
  static Named* const named = new Named[all.size()];
  Named& one = named[&known - all.data()];
  std::call_once(one.made, [&] { one.models = made_for(known); });
  return one.models;
}

CostModels builtin_weights(const Hardware& hardware) {
  validate(hardware, "hardware");
  const std::span<const Hardware> all = known_hardware();
  if (std::ranges::find(all, hardware) != all.end()) {
    return builtin_weights(std::string_view(hardware.name));
  }
  static OwnDatasheets& own = *new OwnDatasheets;
  return own.models_of(hardware);
}

std::string builtin_place(std::string_view hardware) {
  return hardware == kDefaultHardware ? "built-in weights"
                                      : "built-in weights of " + std::string(hardware);
}

}  // namespace neuroshard
