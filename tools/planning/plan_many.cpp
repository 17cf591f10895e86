#include <algorithm>
#include <chrono>
#include <span>
#include <vector>

#include "core/base/count_up.h"
#include "core/base/fingerprint.h"
#include "core/base/thread_team.h"
#include "core/tables/table_kind.h"
#include "neuroshard/error.h"
#include "neuroshard/plan_file.h"
#include "neuroshard/version.h"
#include "tools/console/progress_bar.h"
#include "tools/console/resumable_lines.h"
#include "tools/planning/batch_end.h"
#include "tools/planning/batch_report.h"
#include "tools/planning/plan_command.h"

namespace neuroshard::tools {
namespace {

// Chunks of tasks that take about this long keep the progress bar moving and every thread, or a
// GPU, busy; and are lost if an interrupt ends the program. No chunk has fewer tasks than threads.
constexpr double kChunkSeconds = 0.25;

// A deadline is one of each task, so that they cannot be planned together.
std::vector<PlanOutcome> plan_one_by_one(const PlanCommand& command, const Planner& planner,
                                         std::span<const Task> tasks) {
  std::vector<PlanOutcome> outcomes;
  for (const Task& task : tasks) {
    try {
      outcomes.emplace_back(planner.plan(task, request_of(command)));
    } catch (const Error& error) {
      outcomes.emplace_back(error);
    }
  }
  return outcomes;
}

// Plans the tasks `numbers`, in order, and hands every outcome to `take(i, outcome)`.
template <typename Take>
void plan_in_chunks(const PlanCommand& command, const Planner& planner, const LoadedTasks& loaded,
                    std::span<const std::size_t> numbers, ProgressBar& progress, const Take& take) {
  using Clock = std::chrono::steady_clock;
  const auto least = static_cast<std::size_t>(thread_count(command.search.options().threads));
  std::size_t chunk = least;
  std::size_t done = loaded.tasks.size() - numbers.size();
  while (!numbers.empty()) {
    const auto now = numbers.first(std::min(chunk, numbers.size()));
    numbers = numbers.subspan(now.size());
    std::vector<Task> valid;
    for (const std::size_t i : now) {
      if (!loaded.errors[i]) valid.push_back(loaded.tasks[i]);
    }
    const Clock::time_point start = Clock::now();
    const std::vector<PlanOutcome> outcomes =
        command.deadline_ms ? plan_one_by_one(command, planner, valid) : planner.plan_batch(valid);
    const std::chrono::duration<double> taken = Clock::now() - start;
    chunk = taken.count() < kChunkSeconds ? 2 * chunk : std::max(least, chunk / 2);
    auto next = outcomes.begin();
    for (const std::size_t i : now) {
      take(i, loaded.errors[i] ? PlanOutcome(*loaded.errors[i]) : *next++);
    }
    progress.update(done += now.size());
  }
}

std::string line_of(int index, const Task& task, const PlanOutcome& outcome) {
  return outcome ? plan_to_json_line(index, task, *outcome)
                 : error_to_json_line(index, outcome.error());
}

void add_row(BatchReport& batch, int index, const Task& task, const PlanOutcome& outcome) {
  if (!outcome) return batch.add_error(index, outcome.error().what());
  batch.add(index, task, *outcome);
}

// All that decides the lines. A planner's fingerprint knows neither names nor order of tables, nor
// the version.
std::uint64_t fingerprint_of(const Planner& planner, const LoadedTasks& loaded) {
  Fingerprint fingerprint;
  const auto add_number = [&](auto value) {
    fingerprint.add({reinterpret_cast<const char*>(&value), sizeof value});
  };
  const auto add = [&](const auto& value) {
    if constexpr (requires { value.begin(); }) {
      add_number(value.size());
      for (const auto one : value) add_number(one);
    } else {
      add_number(value);
    }
  };
  fingerprint.add(NEUROSHARD_VERSION);
  for (std::size_t i = 0; i < loaded.tasks.size(); ++i) {
    add_number(loaded.indices[i]);
    if (loaded.errors[i]) {
      fingerprint.add(loaded.errors[i]->what());
      continue;
    }
    const Task& task = loaded.tasks[i];
    add_number(planner.fingerprint(task));
    for (const Table& table : task.tables) {
      fingerprint.add(table.name);
      std::apply([&](const auto&... fields) { (add(fields), ...); }, kind_of(table));
    }
  }
  return fingerprint.value();
}

}  // namespace

int plan_many(const PlanCommand& command, OutputFormat format, const LoadedTasks& loaded,
              const Planner& planner, const std::string& weights, Console& console) {
  ResultOutput output(console, command.output);
  BatchReport batch;
  BatchEnd end;
  {
    Console bar_console = console;  // Lines that scroll by show progress enough.
    if (format == OutputFormat::kJsonl && command.output.empty() && console.out_is_terminal) {
      bar_console.err_is_terminal = false;
    }
    ProgressBar progress(bar_console, "planning", loaded.tasks.size());
    plan_in_chunks(command, planner, loaded, count_up<std::size_t>(loaded.tasks.size()), progress,
                   [&](std::size_t i, const PlanOutcome& outcome) {
                     end.count(outcome);
                     if (format == OutputFormat::kJsonl) {
                       output.write(line_of(loaded.indices[i], loaded.tasks[i], outcome) + '\n');
                     } else {
                       add_row(batch, loaded.indices[i], loaded.tasks[i], outcome);
                     }
                   });
  }
  if (format == OutputFormat::kTable) {
    output.write(batch.page(loaded.read_ms, weights, loaded.notes, output.style()));
  }
  output.finish();
  return end.report(loaded.tasks.size(), console);
}

int plan_resumably(const PlanCommand& command, const LoadedTasks& loaded, const Planner& planner,
                   Console& console) {
  const ResultOutput probe(console, command.output);
  ResumableLines lines(command.output, fingerprint_of(planner, loaded), loaded.tasks.size());
  if (!lines.damage().empty()) warn(lines.damage(), console);
  BatchEnd end;
  std::vector<std::size_t> missing;
  for (std::size_t i = 0; i < loaded.tasks.size(); ++i) {
    if (!lines.lines()[i]) {
      missing.push_back(i);
      continue;
    }
    for (PlanRecord& record : parse_plans(*lines.lines()[i], command.output)) {
      record.where = command.output + ": line " + std::to_string(i + 1);
      end.count(record);
    }
  }
  if (missing.size() < loaded.tasks.size()) {
    console.err << "neuroshard: " << printable(command.output) << ": going on after "
                << counted(loaded.tasks.size() - missing.size(), "finished task") << '\n';
  }
  {
    ProgressBar progress(console, "planning", loaded.tasks.size());
    plan_in_chunks(command, planner, loaded, missing, progress,
                   [&](std::size_t i, const PlanOutcome& outcome) {
                     end.count(outcome);
                     lines.add(i, line_of(loaded.indices[i], loaded.tasks[i], outcome));
                   });
  }
  lines.finish();
  return end.report(loaded.tasks.size(), console);
}

}  // namespace neuroshard::tools
