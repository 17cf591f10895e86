#include "core/base/enum_names.h"

#include "neuroshard/device_groups.h"
#include "neuroshard/plan_request.h"
#include "neuroshard/plan_result.h"
#include "neuroshard/search_options.h"

namespace neuroshard {

std::span<const Algorithm> all_algorithms() { return kAllNamed<Algorithm>; }

std::string_view name_of(Algorithm algorithm) { return name_or_unknown(algorithm); }

Algorithm algorithm_from_name(std::string_view name) {
  return named(all_algorithms(), name, "algorithm");
}

std::span<const GroupLayout> all_group_layouts() { return kAllNamed<GroupLayout>; }

std::string_view name_of(GroupLayout layout) { return name_or_unknown(layout); }

GroupLayout group_layout_from_name(std::string_view name) {
  return named(all_group_layouts(), name, "layout of groups");
}

std::span<const Effort> all_efforts() { return kAllNamed<Effort>; }

std::string_view name_of(Effort effort) { return name_or_unknown(effort); }

Effort effort_from_name(std::string_view name) { return named(all_efforts(), name, "effort"); }

std::span<const Cuts> all_cuts() { return kAllNamed<Cuts>; }

std::string_view name_of(Cuts cuts) { return name_or_unknown(cuts); }

Cuts cuts_from_name(std::string_view name) { return named(all_cuts(), name, "kind of cuts"); }

std::string_view name_of(SearchStage stage) { return name_or_unknown(stage); }

std::string_view name_of(Infeasibility::Kind kind) { return name_or_unknown(kind); }

}  // namespace neuroshard
