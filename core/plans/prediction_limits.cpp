#include "neuroshard/prediction_limits.h"

#include "core/base/message_text.h"
#include "core/tables/table_label.h"

namespace neuroshard {
namespace {

/// "table 2 ('t') is int8, and 1 other table not fp32: memory counts that": says so of the first
/// table that `is_other`, `and_others(tables)` of those after it, and what it means. Empty: none
/// is.
template <typename IsOther, typename Says, typename AndOthers>
std::string other_tables(const Task& task, const IsOther& is_other, const Says& says,
                         const AndOthers& and_others, const char* meaning) {
  std::uint64_t tables = 0;
  std::string text;
  for (std::size_t t = 0; t < task.tables.size(); ++t) {
    const Table& table = task.tables[t];
    if (!is_other(table) || tables++ > 0) continue;
    text = label_of(table, t) + " " + says(table);
  }
  if (tables > 1) text += ", and " + and_others(counted(tables - 1, "other table"));
  return tables == 0 ? text : text + ": " + meaning;
}

std::string other_weights(const Task& task) {
  return other_tables(
      task, [](const Table& table) { return table.memory.weight_type != WeightType::kFp32; },
      [](const Table& table) { return "is " + std::string(name_of(table.memory.weight_type)); },
      [](const std::string& others) { return others + " not fp32"; },
      "memory counts that, predicted costs of operators are those of fp32");
}

std::string other_optimizers(const Task& task) {
  return other_tables(
      task, [](const Table& table) { return table.memory.optimizer != Optimizer::kSgd; },
      [](const Table& table) {
        return "is updated by " + std::string(name_of(table.memory.optimizer));
      },
      [](const std::string& others) { return others + " not by sgd"; },
      "memory counts its state, predicted costs of updates are those of sgd");
}

std::string shared_tables(const Task& task) {
  return other_tables(
      task, [](const Table& table) { return table.features != 1.0; },
      [](const Table& table) { return "has features " + shortest_text(table.features); },
      [](const std::string& others) { return "so have " + others; },
      "memory and exchanges count them, predicted costs of operators are those of one feature");
}

bool is_summed(const Table& table) { return table.pooling == Pooling::kSum && !table.weighted; }

std::string other_poolings(const Task& task) {
  return other_tables(
      task, [](const Table& table) { return !is_summed(table); },
      [](const Table& table) {
        return std::string(table.pooling == Pooling::kNone   ? "is not pooled"
                           : table.pooling == Pooling::kMean ? "is pooled by mean"
                                                             : "is weighted");
      },
      [](const std::string& others) { return others + " not plainly summed"; },
      "memory and exchanges count that, predicted costs of operators are those of sums");
}

std::string unused_deduplication(const Task& task) {
  if (!task.exchange.deduplicate_ids || has_unpooled_tables(task)) return {};
  return "deduplicate_ids of exchange makes no difference: all tables are pooled, and ids of "
         "unpooled ones alone are deduplicated";
}

std::string other_batches(const Task& task) {
  for (const Table& table : task.tables) {
    const std::int64_t batch = table.memory.batch_size;
    if (batch == 0 || batch == task.batch_size) continue;
    return "memory is of batches of " + format_count(static_cast<std::uint64_t>(batch)) +
           " samples, predicted costs of " +
           format_count(static_cast<std::uint64_t>(task.batch_size));
  }
  return {};
}

}  // namespace

std::string prediction_limits(const Task& task, bool follow_traffic) {
  std::string limits;
  for (const std::string& limit :
       {follow_traffic ? "" : other_weights(task), follow_traffic ? "" : other_optimizers(task),
        follow_traffic ? "" : shared_tables(task), follow_traffic ? "" : other_poolings(task),
        other_batches(task), unused_deduplication(task)}) {
    if (limit.empty()) continue;
    limits += limits.empty() ? limit : "; " + limit;
  }
  return limits;
}

}  // namespace neuroshard
