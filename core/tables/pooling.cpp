#include "neuroshard/pooling.h"

#include "core/base/enum_names.h"

namespace neuroshard {

static constexpr std::string_view text_of(Pooling pooling) {
  switch (pooling) {
    case Pooling::kSum:
      return "sum";
    case Pooling::kMean:
      return "mean";
    case Pooling::kNone:
      return "none";
  }
  return "";
}

namespace {
constexpr auto kPoolings = all_named<Pooling>();
}  // namespace

std::span<const Pooling> all_poolings() { return kPoolings; }

std::string_view name_of(Pooling pooling) { return name_or_unknown(pooling); }

Pooling pooling_from_name(std::string_view name) { return named(all_poolings(), name, "pooling"); }

}  // namespace neuroshard
