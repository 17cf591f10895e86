#include "core/base/enum_names.h"

#include "core/tables/exchange_fields.h"
#include "neuroshard/host_memory.h"
#include "neuroshard/pooling.h"
#include "neuroshard/replica_gradients.h"
#include "neuroshard/rules.h"
#include "neuroshard/sharding_kind.h"
#include "neuroshard/table_memory.h"

namespace neuroshard {

std::span<const HostPolicy> all_host_policies() { return kAllNamed<HostPolicy>; }
std::string_view name_of(HostPolicy policy) { return name_or_unknown(policy); }
HostPolicy host_policy_from_name(std::string_view name) {
  return named(all_host_policies(), name, "policy");
}

std::string_view name_of(Keep keep) { return name_or_unknown(keep); }
Keep keep_from_name(std::string_view name) {
  return named<Keep>(kAllNamed<Keep>, name, "way to keep tables");
}

std::span<const Optimizer> all_optimizers() { return kAllNamed<Optimizer>; }
std::string_view name_of(Optimizer optimizer) { return name_or_unknown(optimizer); }
Optimizer optimizer_from_name(std::string_view name) {
  return named(all_optimizers(), name, "optimizer");
}

std::span<const Pooling> all_poolings() { return kAllNamed<Pooling>; }
std::string_view name_of(Pooling pooling) { return name_or_unknown(pooling); }
Pooling pooling_from_name(std::string_view name) { return named(all_poolings(), name, "pooling"); }

std::span<const ReplicaGradients> all_replica_gradients() { return kAllNamed<ReplicaGradients>; }
std::string_view name_of(ReplicaGradients gradients) { return name_or_unknown(gradients); }
ReplicaGradients replica_gradients_from_name(std::string_view name) {
  return named(all_replica_gradients(), name, "kind of replica gradients");
}

std::span<const ShardingKind> all_sharding_kinds() { return kAllNamed<ShardingKind>; }
std::string_view name_of(ShardingKind kind) { return name_or_unknown(kind); }
ShardingKind sharding_kind_from_name(std::string_view name) {
  return named(all_sharding_kinds(), name, "kind of sharding");
}

std::span<const WeightType> all_weight_types() { return kAllNamed<WeightType>; }
std::string_view name_of(WeightType type) { return name_or_unknown(type); }
WeightType weight_type_from_name(std::string_view name) {
  return named(all_weight_types(), name, "weight type");
}

std::string_view name_of(WireType type) { return name_or_unknown(type); }
WireType wire_type_from_name(const WireTypeField& field, std::string_view name) {
  return named(field.known, name, "type on the wire");
}

}  // namespace neuroshard
