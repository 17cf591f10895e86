#include "tools/options/overlap_option.h"

#include <optional>
#include <string_view>

#include "core/base/message_text.h"
#include "core/base/number_in.h"
#include "core/tables/overlap_fields.h"
#include "neuroshard/error.h"
#include "tools/options/stated_fields.h"

namespace neuroshard::tools {
namespace {

constexpr FieldsOption kOverlapOption{
    "--overlap",
    "Work that runs side by side, in place of the task file's: ids, dense_ms, "
    "dense_beside_outputs_ms, dense_beside_gradients_ms, host_ms, e.g. ids,dense_ms=3",
    "FIELD[=VALUE],..."};

double ms_of(std::string_view name, std::string_view text) {
  if (const std::optional<double> ms = number_in<double>(text)) return *ms;
  throw Error(std::string(name) + " is '" + printable(text) + "', no number; give milliseconds, " +
              "e.g. " + std::string(name) + "=3.5");
}

void set_overlap_field(std::string_view name, std::optional<std::string_view> value,
                       Overlap& overlap) {
  if (name == kOverlapIdsField) {
    overlap.ids = flag_of(name, value);
    return;
  }
  for (const auto& [known, ms] : kOverlapTimeFields) {
    if (name == known) {
      overlap.*ms = ms_of(name, value.value_or(""));
      return;
    }
  }
  reject_field(name, std::string(kOverlapIdsField) + ", " +
                         joined(kOverlapTimeFields, ", ", &OverlapTimeField::name));
}

}  // namespace

void add_overlap_option(const command_line::OptionGroup& group, std::vector<std::string>& stated) {
  add_fields_option(group, kOverlapOption, stated);
}

void apply_overlap(const std::vector<std::string>& stated, Overlap& overlap) {
  apply_fields(
      kOverlapOption, stated,
      [&](std::string_view name, std::optional<std::string_view> value) {
        set_overlap_field(name, value, overlap);
      },
      [&] { return overlap_problem_of(overlap); });
}

}  // namespace neuroshard::tools
