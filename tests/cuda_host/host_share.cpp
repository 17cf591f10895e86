// Measures what plans on a GPU cost the host: CPU time of the published search, one plan at a time
// and in batches, beside a device whose answers are played back (host_cuda::Work). It has what the
// library does before a launch and after the wait; not what CUDA's driver does in its calls, which
// are counted.
#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "bench/common_options.h"
#include "bench/json_report.h"
#include "bench/markdown_table.h"
#include "bench/statistics.h"
#include "bench/stopwatch.h"
#include "cuda_host/host_cuda.h"
#include "neuroshard/column_halvings.h"
#include "neuroshard/error.h"
#include "neuroshard/planner.h"
#include "neuroshard/simulator.h"
#include "search/piece_catalog.h"
#include "search/published_search.h"
#include "search/split_state.h"
#include "tools/command_line/arguments.h"
#include "weights/files/atomic_file.h"

namespace neuroshard::bench {
namespace {

using host_cuda::Work;

constexpr double kWantedPlansPerSecond = 20'000.0;

struct ShareOptions {
  CommonOptions common;
  std::vector<std::string> sets = {"4gpu_dim128"};
  std::size_t max_tasks = 8;
  std::size_t batch = 64;
  int rounds = 9;
  int plans = 2000;
  bool execute = false;
};

struct Share {
  std::vector<Elapsed> rounds;  ///< Times of a plan, without the device.
  double launches = 0.0;        ///< A plan, as are the next ones.
  double waits = 0.0;
  double copies = 0.0;

  [[nodiscard]] std::vector<double> cpu_ms() const {
    std::vector<double> all;
    for (const Elapsed& round : rounds) all.push_back(round.cpu_ms);
    return all;
  }
};

using Outcomes = std::vector<PlanOutcome>;

void require_same(const Outcomes& actual, const Outcomes& expected, const std::string& set) {
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (actual[i]->plan == expected[i]->plan &&
        actual[i]->cost.cost_ms == expected[i]->cost.cost_ms && actual[i]->stats.warning.empty()) {
      continue;
    }
    throw Error(set + " task " + std::to_string(i) + ": not the plan of the CPU; nothing was timed",
                ErrorKind::kBackend);
  }
}

// Buffers grow in the first call of `make`; the second one has the device's answers.
template <typename Make>
Share share_of(const Make& make, const Outcomes& expected, const std::string& set,
               const ShareOptions& options) {
  host_cuda::set_work(Work::kDone);
  require_same(make(), expected, set);
  if (!options.execute) {
    host_cuda::set_work(Work::kRecorded);
    require_same(make(), expected, set);
    host_cuda::set_work(Work::kPlayed);
  }
  const int repeats =
      options.execute ? 1 : std::max(1, options.plans / static_cast<int>(expected.size()));
  const double plans = static_cast<double>(repeats) * static_cast<double>(expected.size());
  Share share;
  for (int round = 0; round < options.rounds; ++round) {
    const host_cuda::Usage before = host_cuda::usage();
    const Stopwatch watch;
    for (int i = 0; i < repeats; ++i) require_same(make(), expected, set);
    const Elapsed elapsed = watch.elapsed();
    const host_cuda::Usage after = host_cuda::usage();
    const double device_ms = after.devices_cpu_ms - before.devices_cpu_ms;
    share.rounds.push_back(
        {(elapsed.wall_ms - device_ms) / plans, (elapsed.cpu_ms - device_ms) / plans});
    share.launches = static_cast<double>(after.launches - before.launches) / plans;
    share.waits = static_cast<double>(after.synchronisations - before.synchronisations) / plans;
    share.copies = static_cast<double>(after.copies - before.copies) / plans;
  }
  return share;
}

/// Work of the library for a plan, made again from the task and its plan by the same functions.
class Parts {
 public:
  Parts(const Backend& backend, const Task& task, const Plan& plan, const SearchOptions& options)
      : backend_(backend),
        task_(task),
        catalog_(backend, task),
        search_(backend, task, options, catalog_),
        plan_(plan) {
    SplitState state(catalog_, task.tables.size());
    const HalvedPlan halved = halvings_of(plan).value();
    for (const int slice : halved.column_splits) {
      state.split(catalog_, static_cast<std::uint32_t>(slice));
    }
    state.append_ordered_pieces(order_);
  }

  [[nodiscard]] std::size_t pieces() const { return catalog_.size(); }

  void make_catalog() const { (void)PieceCatalog(task_, backend_.table_features()); }
  /// And its catalog.
  void embed() const {
    PieceCatalog catalog(task_, backend_.table_features());
    PieceCatalog::embed(backend_, {&catalog, 1});
  }
  /// Under the widest limit.
  void place() const {
    const PlacementProblem& problem = search_.problem();
    const int limit = static_cast<int>(problem.dim_limits.size()) - 1;
    (void)backend_.start(problem)->assignments(order_, limit);
  }
  void price() const { (void)simulate(backend_, task_, plan_); }

 private:
  const Backend& backend_;
  const Task& task_;
  PieceCatalog catalog_;
  PublishedSearch search_;
  const Plan& plan_;
  std::vector<std::uint32_t> order_;
};

struct PartTimes {
  double catalog_us = 0.0;
  double embed_us = 0.0;
  double place_us = 0.0;
  double price_us = 0.0;
  double pieces = 0.0;
};

// Means of all tasks; of rounds the median.
PartTimes times_of_parts(const CostModels& models, const TaskSet& set, const Outcomes& outcomes,
                         const ShareOptions& options) {
  const std::unique_ptr<Backend> backend = make_cpu_backend(models);
  const SearchOptions search;
  PartTimes times;
  for (std::size_t i = 0; i < set.tasks.size(); ++i) {
    if (!outcomes[i]->plan) continue;
    const Parts parts(*backend, set.tasks[i], *outcomes[i]->plan, search);
    const auto us = [&](void (Parts::*part)() const) {
      std::vector<double> rounds;
      for (int round = 0; round < options.rounds; ++round) {
        const Stopwatch watch;
        for (int repeat = 0; repeat < options.plans; ++repeat) (parts.*part)();
        rounds.push_back(1e3 * watch.elapsed().cpu_ms / options.plans);
      }
      return median(rounds) / static_cast<double>(set.tasks.size());
    };
    const double catalog_us = us(&Parts::make_catalog);
    times.catalog_us += catalog_us;
    times.embed_us += us(&Parts::embed) - catalog_us;
    times.place_us += us(&Parts::place);
    times.price_us += us(&Parts::price);
    times.pieces += static_cast<double>(parts.pieces()) / static_cast<double>(set.tasks.size());
  }
  return times;
}

// Mean over all tasks, in each round.
Share mean_of(const std::vector<Share>& of_tasks) {
  const auto tasks = static_cast<double>(of_tasks.size());
  Share mean;
  mean.rounds.resize(of_tasks.front().rounds.size());
  for (const Share& share : of_tasks) {
    for (std::size_t i = 0; i < mean.rounds.size(); ++i) {
      mean.rounds[i].wall_ms += share.rounds[i].wall_ms / tasks;
      mean.rounds[i].cpu_ms += share.rounds[i].cpu_ms / tasks;
    }
    mean.launches += share.launches / tasks;
    mean.waits += share.waits / tasks;
    mean.copies += share.copies / tasks;
  }
  return mean;
}

// So many tasks, those of the set again and again.
std::vector<Task> batch_of(const std::vector<Task>& set, std::size_t tasks) {
  std::vector<Task> batch;
  for (std::size_t i = 0; i < tasks; ++i) batch.push_back(set[i % set.size()]);
  return batch;
}

class ShareTable {
 public:
  void add(const std::string& set, std::size_t batch, const Share& share) {
    const std::vector<double> cpu_ms = share.cpu_ms();
    const double cores = median(cpu_ms) * 1e-3 * kWantedPlansPerSecond;
    table_.add_row({set, with_separators(static_cast<std::int64_t>(batch)),
                    three_digits(1e3 * median(cpu_ms)), percent(relative_spread(cpu_ms)),
                    three_digits(share.launches), three_digits(share.waits),
                    three_digits(share.copies), three_digits(cores)});
    report_.add({.name = "host_share/" + set + "/batch:" + std::to_string(batch),
                 .rounds = share.rounds,
                 .operations = static_cast<std::int64_t>(batch),
                 .figures = {{"launches", share.launches},
                             {"waits", share.waits},
                             {"copies", share.copies},
                             {"cores", cores}},
                 .label = ""});
  }
  [[nodiscard]] std::string str() const { return table_.str(); }
  [[nodiscard]] const JsonReport& report() const { return report_; }

 private:
  MarkdownTable table_{{"tasks", "batch", "host us a plan", "spread", "launches a plan", "waits",
                        "copies", "cores for 20,000 plans/s"}};
  JsonReport report_;
};

void run(const ShareOptions& options, std::ostream& out) {
  const CostModels models = load_models(options.common);
  host_cuda::reset({.multiprocessors = 132, .memory_bytes = std::size_t{8} << 30});
  const Context context = machine_context();
  out << context_block(context) << '\n';
  PlannerOptions of_planner{.algorithm = Algorithm::kPublished, .backend = "cuda", .threads = 1};
  const Planner cuda(models, of_planner);
  of_planner.backend = available_cpu_backends().front();
  const Planner cpu(models, of_planner);
  ShareTable table;
  MarkdownTable parts({"tasks", "pieces", "us a plan: catalog of pieces",
                       "their embeddings and costs", "one placement", "cost of the plan",
                       "the rest"});
  for (const std::string& name : options.sets) {
    const TaskSet set = GoldenFolder(options.common.data)
                            .load_set(name, options.max_tasks, /*published_only=*/false);
    const Outcomes expected = cpu.plan_batch(set.tasks);
    std::vector<Share> of_tasks;
    for (std::size_t i = 0; i < set.tasks.size(); ++i) {
      const auto make = [&] {
        Outcomes one(1);
        one.front() = cuda.plan(set.tasks[i]);
        return one;
      };
      of_tasks.push_back(share_of(make, {expected[i]}, name, options));
    }
    const Share alone = mean_of(of_tasks);
    table.add(name, 1, alone);
    if (!options.execute) {
      const PartTimes of_parts = times_of_parts(models, set, expected, options);
      const auto& [catalog_us, embed_us, place_us, price_us, pieces] = of_parts;
      const double rest_us =
          1e3 * median(alone.cpu_ms()) - catalog_us - embed_us - place_us - price_us;
      parts.add_row({name, three_digits(pieces), three_digits(catalog_us), three_digits(embed_us),
                     three_digits(place_us), three_digits(price_us), three_digits(rest_us)});
    }
    if (options.batch == 1) continue;
    const std::vector<Task> batch = batch_of(set.tasks, options.batch);
    const auto make = [&] { return cuda.plan_batch(batch); };
    table.add(name, batch.size(), share_of(make, cpu.plan_batch(batch), name, options));
  }
  out << table.str();
  if (!options.execute) {
    out << "\nParts of a plan by itself, each made again and again\n\n" << parts.str();
  }
  if (!options.common.json.empty()) {
    write_file(options.common.json, table.report().str(context));
  }
}

int run_program(const std::vector<std::string>& args) {
  const std::string name = "cuda_host_share";
  try {
    CLI::App program("CPU time of plans with kernels executed on the CPU, without theirs.", name);
    ShareOptions options;
    add_common_options(program, options.common);
    program.add_option("--sets", options.sets, "Task sets")->delimiter(',')->capture_default_str();
    program.add_option("--tasks", options.max_tasks, "Different tasks of each, at most")
        ->check(CLI::Range(1, 100000))
        ->capture_default_str();
    program.add_option("--batch", options.batch, "Tasks planned together, beside single ones")
        ->check(CLI::Range(1, 100000))
        ->capture_default_str();
    program.add_option("--rounds", options.rounds, "Timed rounds")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    program.add_option("--plans", options.plans, "Plans of a round, of each single task as many")
        ->check(CLI::Range(1, 10000000))
        ->capture_default_str();
    program.add_flag("--execute", options.execute,
                     "Execute kernels each time: a call a round, and caches are empty after them");
    const auto ended = command_line::parse(program, args, std::cout, std::cerr);
    if (!ended) run(options, std::cout);
    return ended.value_or(kExitOk);
  } catch (const std::exception& error) {
    return command_line::fail(std::cerr, name, error.what());
  }
}

}  // namespace
}  // namespace neuroshard::bench

int main(int argc, char** argv) {
  neuroshard::command_line::prepare_process();
  return neuroshard::bench::run_program({argv + (argc > 0 ? 1 : 0), argv + argc});
}
