#include "tools/options/overlap_option.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>

#include "core/base/message_text.h"
#include "core/tables/overlap_fields.h"
#include "neuroshard/error.h"

namespace neuroshard::tools {
namespace {

constexpr const char* kOverlapOption = "--overlap";

bool hidden_of(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  throw Error("ids is '" + printable(text) + "'; give true or false, or no value for true");
}

double ms_of(std::string_view name, std::string_view text) {
  double ms = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ms);
  if (error == std::errc{} && end == text.data() + text.size()) return ms;
  throw Error(std::string(name) + " is '" + printable(text) + "', no number; give milliseconds, " +
              "e.g. " + std::string(name) + "=3.5");
}

void apply_overlap_field(const std::string& stated, Overlap& overlap) {
  const std::string_view text = stated;
  const std::size_t equals = std::min(text.find('='), text.size());
  const std::string_view name = text.substr(0, equals);
  const std::string_view value = text.substr(std::min(equals + 1, text.size()));
  if (name == kOverlapIdsField) {
    overlap.ids = equals == text.size() || hidden_of(value);
    return;
  }
  std::string names = kOverlapIdsField;
  for (const auto& [known, ms] : kOverlapTimeFields) {
    if (name == known) {
      overlap.*ms = ms_of(name, value);
      return;
    }
    names.append(", ").append(known);
  }
  throw Error("there is no '" + printable(name) + "'; use " + names);
}

}  // namespace

void add_overlap_option(CLI::App& command, std::vector<std::string>& stated,
                        const std::string& group) {
  command
      .add_option(kOverlapOption, stated,
                  "What runs beside what, in place of the task file's: ids, dense_ms, "
                  "dense_beside_outputs_ms, dense_beside_gradients_ms, host_ms, "
                  "e.g. ids,dense_ms=3")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("FIELD[=VALUE],...")
      ->group(group);
}

void apply_overlap(const std::vector<std::string>& stated, Overlap& overlap) {
  try {
    for (const std::string& field : stated) apply_overlap_field(field, overlap);
    if (const auto problem = overlap_problem_of(overlap)) throw Error(*problem);
  } catch (const Error& error) {
    throw Error(std::string(kOverlapOption) + ": " + error.what());
  }
}

}  // namespace neuroshard::tools
