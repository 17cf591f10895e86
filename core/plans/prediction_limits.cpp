#include "neuroshard/prediction_limits.h"

#include "core/base/message_text.h"
#include "core/tables/table_label.h"

namespace neuroshard {
namespace {

std::string other_weights(const Task& task) {
  std::uint64_t tables = 0;
  std::string first;
  for (std::size_t t = 0; t < task.tables.size(); ++t) {
    const Table& table = task.tables[t];
    if (table.memory.weight_type == WeightType::kFp32 || tables++ > 0) continue;
    first = label_of(table, t) + " is " + std::string(name_of(table.memory.weight_type));
  }
  if (tables == 0) return {};
  if (tables > 1) first += ", and " + counted(tables - 1, "other table") + " not fp32";
  return first + ": memory counts that, predicted costs of operators are those of fp32";
}

std::string shared_tables(const Task& task) {
  std::uint64_t tables = 0;
  std::string first;
  for (std::size_t t = 0; t < task.tables.size(); ++t) {
    const Table& table = task.tables[t];
    if (table.features == 1.0 || tables++ > 0) continue;
    first = label_of(table, t) + " has features " + shortest_text(table.features);
  }
  if (tables == 0) return {};
  if (tables > 1) first += ", and so have " + counted(tables - 1, "other table");
  return first +
         ": memory and exchanges count them, predicted costs of operators are those of one feature";
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
       {follow_traffic ? "" : other_weights(task), follow_traffic ? "" : shared_tables(task),
        other_batches(task)}) {
    if (limit.empty()) continue;
    limits += limits.empty() ? limit : "; " + limit;
  }
  return limits;
}

}  // namespace neuroshard
