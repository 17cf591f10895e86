#include "tools/measuring/measure_inputs.h"

#include <algorithm>
#include <set>

#include "core/base/message_text.h"
#include "core/tables/exchange_fields.h"
#include "core/tables/table_label.h"
#include "neuroshard/error.h"
#include "neuroshard/histogram_scale.h"
#include "neuroshard/planner.h"
#include "tools/planning/matched_plans.h"
#include "weights/measurement/available_memory.h"

namespace neuroshard::tools {
namespace {

constexpr std::int64_t kMostRows = (std::int64_t{1} << 32) - 1;  // Of the operator.

void require_measure_options(const MeasureCommand& command) {
  require_runs(command.measurement.protocol);
  if (command.measurement.rounds < 1) {
    throw Error("--rounds is " + std::to_string(command.measurement.rounds) + "; give at least 1");
  }
  if (command.measurement.threads < 0) {
    throw Error("--threads is " + std::to_string(command.measurement.threads) +
                "; give at least 1, or leave it out");
  }
  if (command.accesses.batch && command.tasks.memory.batch_size) {
    throw Error("--batch and --batch-size both say how many samples there are; give one of them");
  }
  if (command.backend != "cpu") {
    throw Error("--backend '" + command.backend + "' cannot measure plans; give cpu",
                ErrorKind::kBackend);
  }
  const AccessFiles& files = command.accesses;
  if (files.accesses.empty() && !(files.lengths.empty() && files.offsets.empty())) {
    throw Error("--lengths and --offsets belong to --access; give the indices with it");
  }
}

std::optional<AccessData> recorded_lookups(const MeasureCommand& command) {
  if (command.accesses.accesses.empty()) return std::nullopt;
  AccessData data = open_accesses(command.accesses);
  if (data.compressed || data.samples.compressed) {
    throw Error(command.accesses.accesses +
                ": is compressed, and tables are read one by one; unpack it first");
  }
  return data;
}

// Evenly shared out.
std::int64_t measured_batch(std::int64_t batch, int devices, const std::string& what) {
  if (batch < devices || batch > kMostRows) {
    throw Error(what + " is " + std::to_string(batch) + "; give at least one sample for each of " +
                std::to_string(devices) + " devices, and fewer than 2^32");
  }
  return batch - batch % devices;
}

void require_measurable(const Task& task, const Plan& plan, const PlanRecord& record) {
  const auto require_rows = [&](int table, std::int64_t rows) {
    if (rows <= kMostRows) return;
    throw Error(record.where + ": " + label_of(task, table) + ": " + std::to_string(rows) +
                " rows on one device; the measured operator takes fewer than 2^32: plan blocks of "
                "rows");
  };
  for (const TableSlice& slice : plan.slices) require_rows(slice.table, slice.rows);
  for (const int table : plan.replicas) {
    require_rows(table, task.tables[static_cast<std::size_t>(table)].rows);
  }
}

// The task with its lookups.
MeasuredTask measured_task(const MeasureCommand& command, const Task& given,
                           const std::string& title, const std::optional<AccessData>& recorded,
                           std::size_t room) {
  if (const std::string stated = exchange_text(given.exchange); !stated.empty()) {
    throw Error(title + ": exchange has " + stated +
                "; what is measured sends fp32 values and 64-bit ids: leave it out");
  }
  MeasuredTask measured;
  Task& task = measured.task;
  task = given;
  task.overlap = {};
  measured.added_up = given.overlap != task.overlap;
  const std::int64_t batch =
      recorded ? recorded->batch : command.accesses.batch.value_or(task.batch_size);
  const std::string source = recorded                 ? command.accesses.accesses + ": its batch"
                             : command.accesses.batch ? "--batch"
                                                      : title + ": batch_size";
  measured.priced_batch = batch;
  measured.batch_source = source;
  task.batch_size = measured_batch(batch, task.devices, source);
  for (std::size_t t = 0; t < task.tables.size(); ++t) {
    const Table& table = task.tables[t];
    const std::string label = title + ": " + label_of(task, static_cast<int>(t));
    if (table.memory.weight_type != WeightType::kFp32) {
      throw Error(label + ": weight_type is " + std::string(name_of(table.memory.weight_type)) +
                  "; the measured operator is of fp32: measure a task of such weights");
    }
    require_summed(table);
    if (!recorded) (void)lookups_of_batch(table, task.batch_size);
  }
  measured.drawn = task.tables;
  if (recorded) {
    measured.streams = std::make_unique<StreamStore>(measured.drawn, *recorded, room);
    return measured;
  }
  if (task.batch_size != kDefaultBatchSize) {
    const HistogramScale scale(static_cast<double>(task.batch_size));
    for (Table& table : measured.drawn) table.access_histogram = scale(table);
  }
  measured.streams =
      std::make_unique<StreamStore>(measured.drawn, task.batch_size, command.seed, room);
  return measured;
}

PlanCost predicted_cost(const Planner& planner, const MeasuredTask& measured, const Plan& plan) {
  Task task = measured.task;
  task.batch_size = measured.priced_batch;
  try {
    return planner.simulate(task, plan);
  } catch (const Error& error) {
    if (task.batch_size == kDefaultBatchSize) throw;
    throw Error(measured.batch_source + ": " + error.what(), error.kind());
  }
}

void add_notes(const MeasureCommand& command, const LoadedModels& models, MeasureInputs& inputs) {
  std::set<std::string> notes;
  std::uint64_t doubtful = 0;
  for (const PlanToMeasure& plan : inputs.plans) {
    if (!plan.plan) continue;
    const MeasuredTask& measured = inputs.tasks[plan.task];
    const Task& task = measured.task;
    if (measured.priced_batch != task.batch_size) {
      notes.insert("predictions are of " +
                   counted(static_cast<std::uint64_t>(measured.priced_batch), "sample") + ", " +
                   format_count(static_cast<std::uint64_t>(task.batch_size)) +
                   " of which devices can share out evenly, and are measured");
    }
    if (measured.added_up) {
      notes.insert(
          "what is measured runs one after the other, without a dense part: predictions leave out "
          "the task's overlap, too");
    }
    if (!plan.predicted.warning.empty()) ++doubtful;
    if (!task.device_list.empty() && !has_equal_devices(task)) {
      notes.insert("speeds and base loads of devices are predicted, not measured");
    }
    for (const Table& table : task.tables) {
      if (!table.row_shares.empty() && command.accesses.accesses.empty() &&
          has_row_blocks(task, *plan.plan)) {
        notes.insert("drawn lookups are spread evenly over the rows, whatever row_shares say");
      }
      if (table.memory.optimizer != Optimizer::kSgd) {
        notes.insert("measured with exact SGD, whatever optimizer the task has");
      }
    }
  }
  if (!models.models.prices_ids()) {
    notes.insert("the weights do not price ids, which measured totals include");
  }
  if (inputs.plans.size() == 1 && doubtful == 1) {
    notes.insert(inputs.plans[0].predicted.warning);
  } else if (doubtful > 0) {
    notes.insert("predictions of " + counted(doubtful, "plan") +
                 " are doubtful; 'neuroshard simulate' and --json say why");
  }
  inputs.notes.insert(inputs.notes.end(), notes.begin(), notes.end());
}

}  // namespace

MeasureInputs load_measure_inputs(const MeasureCommand& command, int processes) {
  require_measure_options(command);
  MeasureInputs inputs;
  inputs.loaded = load_tasks(command.tasks, command.models.hardware);
  inputs.notes = inputs.loaded.notes;
  const LoadedModels models = load_models(command.models, inputs.loaded.hardware);
  inputs.weights = models.origin;
  const std::optional<AccessData> recorded = recorded_lookups(command);
  inputs.tasks.resize(inputs.loaded.tasks.size());
  const auto room = static_cast<std::size_t>(available_memory()) / 8 / inputs.tasks.size() /
                    static_cast<std::size_t>(processes);
  const Planner planner(models.models, PlannerOptions{});
  for (const std::string& file : command.plans) {
    const std::vector<PlanRecord> records = load_plans(file);
    for (const MatchedPlan& matched : match_plans(records, inputs.loaded, file)) {
      const PlanRecord& record = *matched.record;
      PlanToMeasure& plan = inputs.plans.emplace_back();
      plan.task = matched.task;
      plan.where = record.where;
      if (!record.plan) continue;
      const std::optional<Error>& error = inputs.loaded.errors[matched.task];
      if (error) throw Error(*error);
      MeasuredTask& measured = inputs.tasks[matched.task];
      const Task& task = inputs.loaded.tasks[matched.task];
      plan.plan = plan_for(record, task);
      require_measurable(task, *plan.plan, record);
      require_comm_model(models, task.devices);
      if (measured.streams == nullptr) {
        measured = measured_task(command, task, inputs.loaded.titles[matched.task], recorded, room);
      }
      plan.predicted = predicted_cost(planner, measured, *plan.plan);
      inputs.batch = std::max(inputs.batch, measured.task.batch_size);
      if (inputs.devices == 0) inputs.devices = task.devices;
      if (task.devices != inputs.devices) {
        throw Error(record.where + ": is for " + std::to_string(task.devices) +
                    " devices, the plans before it for " + std::to_string(inputs.devices) +
                    "; measure plans of different numbers of devices one after the other");
      }
    }
  }
  add_notes(command, models, inputs);
  return inputs;
}

}  // namespace neuroshard::tools
