#include "tools/options/exchange_option.h"

#include <optional>
#include <string_view>

#include "core/base/message_text.h"
#include "core/base/number_in.h"
#include "core/tables/exchange_fields.h"
#include "neuroshard/error.h"
#include "tools/options/stated_fields.h"

namespace neuroshard::tools {
namespace {

constexpr FieldsOption kExchangeOption{
    "--exchange-types",
    "How values and ids are sent, in place of the task file's: forward, backward "
    "(fp32, fp16, bf16, fp8), ids (int64, int32), forward_share, backward_share, "
    "deduplicate_ids, deduplicate_by_table, hot_rows, hot_rows_by_node, e.g. "
    "forward=fp16,backward=bf16",
    "FIELD[=VALUE],..."};

double share_of(std::string_view text) {
  if (const std::optional<double> share = number_in<double>(text)) return *share;
  throw Error("'" + printable(text) + "' is no number; give a share, 0.001 to 1");
}

void set_exchange_field(std::string_view name, std::optional<std::string_view> value,
                        ExchangeTypes& exchange) {
  for (const auto& [known, flag] : kExchangeFlagFields) {
    if (name == known) {
      exchange.*flag = flag_of(name, value);
      return;
    }
  }
  if (!value) {
    throw Error("'" + printable(name) + "' says nothing; give FIELD=VALUE, e.g. forward=fp16");
  }
  for (const WireTypeField& field : kWireTypeFields) {
    if (name == field.name) {
      exchange.*field.type = wire_type_from_name(field, *value);
      return;
    }
  }
  for (const auto& [known, share] : kSentShareFields) {
    if (name == known) {
      exchange.*share = share_of(*value);
      return;
    }
  }
  reject_field(name, joined(kWireTypeFields, ", ", &WireTypeField::name) + ", " +
                         joined(kSentShareFields, ", ", &SentShareField::name) + ", " +
                         joined(kExchangeFlagFields, ", ", &ExchangeFlagField::name));
}

}  // namespace

void add_exchange_option(const command_line::OptionGroup& group, std::vector<std::string>& stated) {
  add_fields_option(group, kExchangeOption, stated);
}

void apply_exchange(const std::vector<std::string>& stated, ExchangeTypes& exchange) {
  apply_fields(
      kExchangeOption, stated,
      [&](std::string_view name, std::optional<std::string_view> value) {
        set_exchange_field(name, value, exchange);
      },
      [&] { return exchange_problem_of(exchange); });
}

}  // namespace neuroshard::tools
