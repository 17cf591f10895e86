#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "neuroshard/exchange_types.h"

namespace neuroshard {

inline constexpr std::array kValueTypes = {WireType::kFp32, WireType::kFp16, WireType::kBf16,
                                           WireType::kFp8};
inline constexpr std::array kIdTypes = {WireType::kInt64, WireType::kInt32};

/// A type of ExchangeTypes and its name in files and messages.
struct WireTypeField {
  const char* name;
  WireType ExchangeTypes::*type;
  std::span<const WireType> known;  ///< It may be one of these.
};

inline constexpr std::array kWireTypeFields = {
    WireTypeField{"forward", &ExchangeTypes::forward, kValueTypes},
    WireTypeField{"backward", &ExchangeTypes::backward, kValueTypes},
    WireTypeField{"ids", &ExchangeTypes::ids, kIdTypes}};

struct SentShareField {
  const char* name;
  double ExchangeTypes::*share;
};

inline constexpr std::array kSentShareFields = {
    SentShareField{"forward_share", &ExchangeTypes::forward_share},
    SentShareField{"backward_share", &ExchangeTypes::backward_share}};

struct ExchangeFlagField {
  const char* name;
  bool ExchangeTypes::*flag;
};

inline constexpr std::array kExchangeFlagFields = {
    ExchangeFlagField{"deduplicate_ids", &ExchangeTypes::deduplicate_ids},
    ExchangeFlagField{"deduplicate_by_table", &ExchangeTypes::deduplicate_by_table},
    ExchangeFlagField{"hot_rows", &ExchangeTypes::hot_rows},
    ExchangeFlagField{"hot_rows_by_node", &ExchangeTypes::hot_rows_by_node}};

/// Throws Error listing the names of types that the field may have.
[[nodiscard]] WireType wire_type_from_name(const WireTypeField& field, std::string_view name);

/// Says what of `types` no exchange can be, and what to do about it: "forward is ...". Nothing if
/// it can.
[[nodiscard]] std::optional<std::string> exchange_problem_of(const ExchangeTypes& types);

/// "forward fp16, ids int32": what is not as by default. Empty if all is.
[[nodiscard]] std::string exchange_text(const ExchangeTypes& types);

}  // namespace neuroshard
