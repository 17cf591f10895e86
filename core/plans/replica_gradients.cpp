#include "neuroshard/replica_gradients.h"

#include "core/base/enum_names.h"

namespace neuroshard {

static constexpr std::string_view text_of(ReplicaGradients gradients) {
  switch (gradients) {
    case ReplicaGradients::kDense:
      return "dense";
    case ReplicaGradients::kTouched:
      return "touched";
  }
  return "";
}

namespace {
constexpr auto kReplicaGradients = all_named<ReplicaGradients>();
}  // namespace

std::span<const ReplicaGradients> all_replica_gradients() { return kReplicaGradients; }

std::string_view name_of(ReplicaGradients gradients) { return name_or_unknown(gradients); }

ReplicaGradients replica_gradients_from_name(std::string_view name) {
  return named(all_replica_gradients(), name, "kind of replica gradients");
}

}  // namespace neuroshard
