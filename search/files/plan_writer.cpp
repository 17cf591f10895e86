#include "core/plans/priced_plan.h"
#include "core/plans/replicas.h"
#include "core/tables/stated_gib.h"
#include "neuroshard/cost_terms.h"
#include "neuroshard/plan_file.h"
#include "neuroshard/waiting.h"
#include "search/files/json_text.h"

namespace neuroshard {
namespace {

using json_text::add_hidden_and_host;
using json_text::all_notes;
using json_text::append;
using json_text::Fields;
using json_text::name_of_table;

/// Rows are said from version 2 on.
Fields slice_fields(const Task& task, int version, int index, const Plan& plan, int planned,
                    const PlanCost& cost) {
  const TableSlice& slice = plan.slices[static_cast<std::size_t>(planned)];
  Fields fields;
  fields.add("slice", index)
      .add("table", slice.table)
      .add_if_any("name", name_of_table(task, slice.table))
      .add("first_column", slice.first_column)
      .add("dim", slice.dim);
  if (version > 1) fields.add("first_row", slice.first_row).add("rows", slice.rows);
  fields.add("size_bytes", slice_bytes(task, slice));
  if (!cost.hbm_shares.empty())
    fields.add("hbm_share", cost.hbm_shares[static_cast<std::size_t>(planned)]);
  if (!cost.ssd_shares.empty())
    fields.add("ssd_share", cost.ssd_shares[static_cast<std::size_t>(planned)]);
  return fields;
}

/// `listed`: the task lists its devices.
Fields memory_fields(const DeviceCost& cost, bool listed) {
  Fields fields;
  fields.add("weight_bytes", cost.memory.weight_bytes)
      .add("optimizer_bytes", cost.memory.optimizer_bytes)
      .add("buffer_bytes", cost.memory.buffer_bytes)
      .add("reserved_bytes", cost.reserved_bytes);
  if (listed) fields.add("base_bytes", cost.base_bytes);
  if (cost.host_bytes != 0) fields.add("host_bytes", cost.host_bytes);
  if (cost.ssd_bytes != 0) fields.add("ssd_bytes", cost.ssd_bytes);
  return fields.add("free_bytes", cost.free_bytes);
}

Fields cost_fields(const std::vector<CostTerm>& terms, const DeviceCost& cost, double wait_ms,
                   bool replicas) {
  Fields fields;
  fields.add("total_ms", cost.total_ms());
  for (const auto& [name, ms] : terms) fields.add(std::string(name) + "_ms", cost.*ms);
  fields.add("wait_ms", wait_ms);
  add_hidden_and_host(fields, cost);
  if (replicas) fields.add("replicas_ms", cost.replicas_ms);
  return fields;
}

/// `indices` are what the file calls the slices of the device's shard; `sized`: the task that
/// memory is of.
void append_device(std::string& text, const PlanDocument& document, const Task& sized, int version,
                   const std::vector<CostTerm>& terms, double wait_ms,
                   const std::vector<int>& indices, std::size_t device) {
  const std::vector<int>& shard = document.plan.shards[device];
  const DeviceCost& cost = document.cost.devices[device];
  const bool listed = !document.task.device_list.empty();
  append(text += "    {\n      \"device\": ", static_cast<std::int64_t>(device));
  const bool replicas = has_tables_on_every_device(document.plan);
  text += ",\n      \"cost\": " + cost_fields(terms, cost, wait_ms, replicas).text();
  append(text += ",\n      \"memory_gb\": ", gib_from_bytes(cost.memory_bytes));
  text += ",\n      \"memory\": " + memory_fields(cost, listed).text();
  if (listed) {
    append(text += ",\n      \"of_memory_gb\": ", stated_gib(memory_bytes(document.task, device)));
    append(text += ",\n      \"base_ms\": ", cost.base_ms);
    append(text += ",\n      \"speed\": ", cost.speed);
  }
  append(text += ",\n      \"dim_sum\": ", cost.dim_sum);
  text += ",\n      \"shard\": [";
  const char* separator = "\n        ";
  for (std::size_t i = 0; i < shard.size(); ++i) {
    append(text += separator,
           slice_fields(sized, version, indices[i], document.plan, shard[i], document.cost));
    separator = ",\n        ";
  }
  text += shard.empty() ? "]\n    }" : "\n      ]\n    }";
}

Fields search_fields(const SearchStats& stats, bool complete, std::optional<double> read_ms) {
  Fields fields;
  fields.add("backend", stats.backend).add("complete", complete).add("search_ms", stats.search_ms);
  if (read_ms) fields.add("read_ms", *read_ms);
  fields.add("candidates", stats.candidates)
      .add("placements", stats.placements)
      .add("edits", stats.edits)
      .add("head_evaluations", stats.head_evaluations)
      .add("comm_evaluations", stats.comm_evaluations);
  return fields.add_if_any("warning", stats.warning);
}

void add_tables(Fields& fields, const Plan& plan) {
  if (!plan.replicas.empty()) fields.add("replicas", plan.replicas);
  if (!plan.deduplicated.empty()) fields.add("deduplicated", plan.deduplicated);
  if (!plan.hot_rows.empty()) fields.add("hot_rows", plan.hot_rows);
}

/// Column splits under the name that they have there, or the slices if no splits make the plan; and
/// shards.
void add_plan(Fields& fields, const char* splits_name, const Plan& plan) {
  if (const std::optional<HalvedPlan> halved = halvings_of(plan)) {
    fields.add(splits_name, halved->column_splits).add("shards", halved->shards);
  } else {
    fields.add("slices", plan.slices).add("shards", plan.shards);
    add_tables(fields, plan);
  }
}

Fields line_fields(int task_index, const Task& task, const Plan& plan, double cost_ms) {
  Fields fields;
  fields.add("task", task_index).add("tables", task.tables.size());
  add_plan(fields, "steps", plan);
  fields.add("cost", cost_ms);
  return fields;
}

Fields error_fields(std::string_view kind, std::string_view message) {
  return Fields().add("kind", kind).add("message", message);
}

/// Fields with which a document of either kind begins.
Fields document_fields(int version, const Task& task, const std::string& task_name,
                       const std::string& weights, const std::vector<std::string>& notes) {
  Fields about;
  about.add_if_any("name", task_name)
      .add("tables", task.tables.size())
      .add("size_gb", gib_from_bytes(total_bytes(task)))
      .add("devices", task.devices);
  if (task.device_list.empty()) {
    about.add("memory_gb", stated_gib(task.memory_bytes));
    if (const std::int64_t reserved = reserved_bytes(task, 0); reserved > 0) {
      about.add("reserved_gb", stated_gib(reserved));
    }
  }
  Fields fields(Fields::Style::kLines);
  fields.add("format", "neuroshard.plan")
      .add("version", version)
      .add("task", about)
      .add_if_any("weights", weights);
  if (!notes.empty()) fields.add("notes", notes);
  return fields;
}

void append_moves(std::string& text, const Task& task, const PlanMoves& moves) {
  text += ",\n  \"replan\": " + Fields()
                                    .add("running_cost_ms", moves.running_cost_ms)
                                    .add("must_move_bytes", moves.must_move_bytes)
                                    .add("moved_bytes", moves.moved_bytes)
                                    .add("unspent_bytes", moves.unspent_bytes)
                                    .text();
  text += ",\n  \"moves\": [";
  const char* separator = "\n    ";
  for (const TableMove& move : moves.moves) {
    Fields fields;
    fields.add("table", move.columns.table)
        .add_if_any("name", name_of_table(task, move.columns.table))
        .add("first_column", move.columns.first_column)
        .add("dim", move.columns.dim)
        .add("first_row", move.first_row)
        .add("rows", move.rows);
    if (move.from >= 0) fields.add("from", move.from);
    fields.add("to", move.to).add("bytes", move.bytes);
    text.append(separator).append(fields.text());
    separator = ",\n    ";
  }
  text += moves.moves.empty() ? "]" : "\n  ]";
}

}  // namespace

PlanMoves plan_moves(const ReplanResult& result) {
  return {.running_cost_ms = result.running_cost.cost_ms,
          .must_move_bytes = result.must_move_bytes,
          .moved_bytes = result.moved_bytes,
          .unspent_bytes = result.unspent_bytes,
          .moves = result.moves};
}

std::string plan_to_json(const PlanDocument& document) {
  const Task& task = document.task;
  // The oldest version that can say it, so that existing readers can.
  const std::optional<HalvedPlan> halved = halvings_of(document.plan);
  const int version = halved ? 1 : 2;
  const std::vector<std::vector<int>>& shards = halved ? halved->shards : document.plan.shards;
  Fields fields = document_fields(version, task, document.task_name, document.weights,
                                  all_notes(document.notes, document.cost.warning));
  fields.add("cost_ms", document.cost.cost_ms);
  if (document.cost.set_by_host()) fields.add("set_by", "host");
  fields.add("fits_memory", document.cost.fits_memory);
  if (document.stats) {
    fields.add("search", search_fields(*document.stats, document.complete, document.read_ms));
  }
  if (halved) fields.add("column_splits", halved->column_splits);
  add_tables(fields, document.plan);
  const std::vector<CostTerm> terms = cost_terms(document.cost);
  const std::vector<double> waits = waits_ms(document.cost);
  const PricedPlan priced(task, document.plan);
  std::string& text = fields.fields();
  text += ",\n  \"devices\": [\n";
  for (std::size_t device = 0; device < shards.size(); ++device) {
    if (device > 0) text += ",\n";
    append_device(text, document, priced.task(), version, terms, waits[device], shards[device],
                  device);
  }
  text += "\n  ]";
  const char* separator = ",\n  \"alternatives\": [\n    ";
  for (const CostedPlan& other : document.alternatives) {
    Fields alternative;
    alternative.add("cost_ms", other.cost.cost_ms);
    add_plan(alternative, "column_splits", other.plan);
    text.append(separator).append(alternative.text());
    separator = ",\n    ";
  }
  if (!document.alternatives.empty()) text += "\n  ]";
  if (document.moves) append_moves(text, task, *document.moves);
  return fields.text();
}

std::string plan_to_json(const NoPlanDocument& document) {
  const Infeasibility& infeasible = document.infeasible;
  Fields error = error_fields(name_of(infeasible.kind), infeasible.message);
  error.add("needed_bytes", infeasible.needed_bytes)
      .add("available_bytes", infeasible.available_bytes)
      .add("largest_piece_bytes", infeasible.largest_piece_bytes);
  if (infeasible.table >= 0) error.add("table", infeasible.table);
  return document_fields(1, document.task, document.task_name, document.weights, document.notes)
      .add("error", error)
      .text();
}

std::string plan_to_json_line(int task_index, const Task& task, const PlanResult& result) {
  if (!result.plan) {
    const Fields error = result.infeasible ? error_fields(name_of(result.infeasible->kind),
                                                          result.infeasible->message)
                                           : error_fields("none", "no plan");
    return Fields().add("task", task_index).add("error", error).text();
  }
  Fields fields = line_fields(task_index, task, *result.plan, result.cost.cost_ms);
  fields.add("search_ms", result.stats.search_ms);
  if (!result.complete) fields.add("complete", false);
  return fields.add_if_any("warning", result.cost.warning).text();
}

std::string error_to_json_line(int task_index, const Error& error) {
  const bool invalid = error.kind() == ErrorKind::kInvalidInput;
  return Fields()
      .add("task", task_index)
      .add("error", error_fields(invalid ? "invalid_task" : "failed", error.what()))
      .text();
}

std::string plan_to_json_line(int task_index, const Task& task, const Plan& plan,
                              const PlanCost& cost) {
  Fields fields = line_fields(task_index, task, plan, cost.cost_ms);
  return fields.add("fits_memory", cost.fits_memory).add_if_any("warning", cost.warning).text();
}

std::string problems_to_json(const std::vector<PlanProblem>& problems, const Task& task) {
  std::vector<Fields> listed;
  for (const PlanProblem& problem : problems) {
    Fields& fields = listed.emplace_back();
    fields.add("kind", name_of(problem.kind));
    if (problem.device >= 0) fields.add("device", problem.device);
    if (problem.slice >= 0) fields.add("slice", problem.slice);
    if (problem.table >= 0) {
      fields.add("table", problem.table).add_if_any("name", name_of_table(task, problem.table));
    }
    fields.add("what", problem.what).add("remedy", problem.remedy);
  }
  std::string text;
  append(text, listed);
  return text;
}

}  // namespace neuroshard
