#include <algorithm>
#include <array>
#include <cstddef>
#include <mutex>
#include <string>

#include "neuroshard/error.h"
#include "neuroshard/weights.h"
#include "weights/pretrained_weights.h"

namespace neuroshard {
namespace {

constexpr std::array<std::string_view, 3> kHardware = {"a100", "h100", "h200"};

std::string_view bytes_of(const unsigned char* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

std::array<std::string_view, kHardware.size()> files() {
  return {bytes_of(kWeightsOfA100, kWeightsOfA100Size),
          bytes_of(kWeightsOfH100, kWeightsOfH100Size),
          bytes_of(kWeightsOfH200, kWeightsOfH200Size)};
}

}  // namespace

std::span<const std::string_view> builtin_hardware() { return kHardware; }

std::string builtin_hardware_names() {
  std::string names;
  for (const std::string_view name : kHardware)
    names.append(names.empty() ? "" : ", ").append(name);
  return names;
}

const CostModels& builtin_weights(std::string_view hardware) {
  const auto* const found = std::ranges::find(kHardware, hardware);
  if (found == kHardware.end()) {
    throw Error("there are no built-in weights of '" + std::string(hardware) + "'; use one of " +
                builtin_hardware_names() + ", or train weights of your own");
  }
  const auto i = static_cast<std::size_t>(found - kHardware.begin());
  // Never destroyed: a planner in a static object may come after them at the end of the program.
  static std::array<std::once_flag, kHardware.size()>& read =
      *new std::array<std::once_flag, kHardware.size()>();
  static std::array<CostModels, kHardware.size()>& models =
      *new std::array<CostModels, kHardware.size()>();
  std::call_once(read[i], [&] { models[i] = parse_weights(files()[i], builtin_place(hardware)); });
  return models[i];
}

std::string builtin_place(std::string_view hardware) {
  return hardware == kDefaultHardware ? "built-in weights"
                                      : "built-in weights of " + std::string(hardware);
}

}  // namespace neuroshard
