#include "tools/options/exchange_option.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <string_view>
#include <system_error>

#include "core/base/message_text.h"
#include "core/tables/exchange_fields.h"
#include "neuroshard/error.h"

namespace neuroshard::tools {
namespace {

constexpr const char* kOption = "--exchange-types";

double share_of(std::string_view text) {
  double share = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), share);
  if (error == std::errc{} && end == text.data() + text.size()) return share;
  throw Error("'" + printable(text) + "' is no number; give a share, 0.001 to 1");
}

void apply_field(std::string_view name, std::string_view value, ExchangeTypes& exchange) {
  std::string names;
  for (const WireTypeField& field : kWireTypeFields) {
    if (name == field.name) {
      exchange.*field.type = wire_type_from_name(field, value);
      return;
    }
    names.append(field.name).append(", ");
  }
  for (const auto& [known, share] : kSentShareFields) {
    if (name == known) {
      exchange.*share = share_of(value);
      return;
    }
    names.append(known).append(", ");
  }
  names.resize(names.size() - 2);
  throw Error("there is no '" + printable(name) + "'; use " + names);
}

}  // namespace

void add_exchange_option(CLI::App& command, std::vector<std::string>& stated,
                         const std::string& group) {
  command
      .add_option(kOption, stated,
                  "How values and ids are sent, in place of the task file's: forward, backward "
                  "(fp32, fp16, bf16, fp8), ids (int64, int32), forward_share, backward_share, "
                  "e.g. forward=fp16,backward=bf16")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("FIELD=VALUE,...")
      ->group(group);
}

void apply_exchange(const std::vector<std::string>& stated, ExchangeTypes& exchange) {
  try {
    for (const std::string& field : stated) {
      const std::size_t equals = field.find('=');
      if (equals == std::string::npos) {
        throw Error("'" + printable(field) + "' says nothing; give FIELD=VALUE, e.g. forward=fp16");
      }
      const std::string_view text = field;
      apply_field(text.substr(0, equals), text.substr(equals + 1), exchange);
    }
    if (const auto problem = exchange_problem_of(exchange)) throw Error(*problem);
  } catch (const Error& error) {
    throw Error(std::string(kOption) + ": " + error.what());
  }
}

}  // namespace neuroshard::tools
