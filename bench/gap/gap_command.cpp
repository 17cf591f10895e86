#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>

#include "bench/commands.h"
#include "bench/common_options.h"
#include "bench/gap/gap_report.h"
#include "bench/markdown_table.h"
#include "neuroshard/error.h"
#include "weights/files/atomic_file.h"

namespace neuroshard::bench {
namespace {

constexpr const char* kGapFooter =
    R"(How far our plans are from the best known ones. 'uniform' is the best plan of slices of one width;
'annealed' is the better of the two after so many steps of simulated annealing, which shares the
cost models with the planner and none of its search. Costs are those that the models predict.
Without --golden, --sets or --random: all table sets, and 50 random tasks.

Examples:
  nsbench gap --steps 0                                  # uniform widths only: a minute
  nsbench gap --steps 0 --stages                         # what each part of the search finds
  nsbench gap --random 50 --steps 400000
  nsbench gap --sets kdd12_nasrec,criteo_kaggle --devices 16,64 --svg gap.svg
  nsbench gap --golden 4gpu_dim128 --tasks 20 --weights checkpoints)";

struct GapOptions {
  CommonOptions common;
  PlannerOptions planner;
  std::string algorithm = "neuroshard";
  std::string effort = "default";
  std::vector<std::string> golden;
  std::size_t max_tasks = 100000;
  std::vector<std::string> sets;
  std::string set_folder = "bench/data/table_sets";
  std::vector<int> devices = {8, 16, 32, 64, 128, 256, 512, 1024};
  double memory_gib = 40.0;
  int random = 50;
  std::uint64_t seed = 1;
  AnnealingOptions annealing;
  int annealed_devices = 64;
  std::string svg;
  bool stages = false;
  bool with_golden = false;
  bool with_sets = false;
  bool with_random = false;
};

struct Group {
  std::string title;
  std::vector<GapCase> cases;
};

std::vector<Group> groups_of(const GapOptions& options) {
  const bool choice = options.with_golden || options.with_sets || options.with_random;
  std::vector<Group> groups;
  if (options.with_golden) {
    groups.push_back({"Published tasks", golden_cases(GoldenFolder(options.common.data),
                                                      options.golden, options.max_tasks)});
  }
  if (options.with_sets || !choice) {
    groups.push_back(
        {"Table sets, devices of " + three_digits(options.memory_gib) + " GiB",
         table_set_cases(options.set_folder, options.sets, options.devices, options.memory_gib)});
  }
  if (options.with_random || !choice) {
    groups.push_back(
        {"Random tasks, devices of 16 GiB",
         random_cases(GoldenFolder(options.common.data).tables(), options.random, options.seed)});
  }
  return groups;
}

std::string moves_table(std::span<const GapResult> results) {
  MarkdownTable table({"moves", "tried", "accepted", "to a new best"});
  for (std::size_t i = 0; i < kMoves; ++i) {
    std::int64_t tried = 0;
    std::int64_t accepted = 0;
    std::int64_t improved = 0;
    for (const GapResult& result : results) {
      tried += result.annealing.tried[i];
      accepted += result.annealing.accepted[i];
      improved += result.annealing.improved[i];
    }
    table.add_row({std::string(name_of(static_cast<Move>(i))), with_separators(tried),
                   with_separators(accepted), with_separators(improved)});
  }
  return table.str();
}

void run_gap(const GapOptions& options, std::ostream& out) {
  const CostModels models = load_models(options.common);
  PlannerOptions our_options = options.planner;
  our_options.algorithm = algorithm_from_name(options.algorithm);
  our_options.effort = effort_from_name(options.effort);
  // As annealing does, which knows nothing else.
  our_options.cuts = Cuts::kColumns;
  PlannerOptions uniform_options = options.planner;
  uniform_options.algorithm = Algorithm::kUniform;
  const Planner planner(models, our_options);
  const Planner uniform(models, uniform_options);
  const CpuBackend backend(select_cpu_kernels("auto"), models, /*reuse_work=*/true);

  Context context = machine_context();
  context.emplace_back("algorithm", options.algorithm);
  context.emplace_back("effort", options.effort);
  context.emplace_back("search", text_of(our_options.search));
  context.emplace_back("threads", std::to_string(our_options.threads));
  context.emplace_back("annealing", with_separators(options.annealing.steps) + " steps, seed " +
                                        std::to_string(options.annealing.seed));
  out << context_block(context) << std::flush;
  JsonReport report;
  std::vector<GapResult> all;
  for (const Group& group : groups_of(options)) {
    std::vector<GapResult> results;
    std::size_t left_out = 0;
    for (const GapCase& gap_case : group.cases) {
      AnnealingOptions annealing = options.annealing;
      if (gap_case.task.devices > options.annealed_devices) annealing.steps = 0;
      GapResult result = measure_gap(backend, planner, uniform, gap_case, annealing);
      if (options.stages) result.stages = find_stage_costs(planner, gap_case.task);
      if (!result.ours && !result.uniform) {
        ++left_out;
        continue;
      }
      add_to_report(report, result, our_options.threads);
      results.push_back(std::move(result));
    }
    out << "\n## " << group.title << "\n\n";
    if (left_out > 0) out << left_out << " cases for which there is no plan are left out.\n\n";
    if (results.empty()) continue;
    out << gap_table(results) << "\n" << gap_summary(results);
    if (options.stages) out << "\n" << stages_table(results);
    if (options.annealing.steps > 0) out << "\n" << moves_table(results);
    out << std::flush;
    all.insert(all.end(), results.begin(), results.end());
  }
  if (!options.common.json.empty()) write_file(options.common.json, report.str(context));
  if (!options.svg.empty()) write_file(options.svg, gap_chart(all));
}

}  // namespace

void add_gap_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<GapOptions>();
  options->planner.threads = 1;
  options->common.weights = "builtin";
  options->annealing.steps = 100000;
  CLI::App* command =
      program.add_subcommand("gap", "How far plans are from uniform widths and from annealing");
  command->footer(kGapFooter);
  add_common_options(*command, options->common);
  const auto add = [&](const char* name, auto& value, const char* description) {
    return command->add_option(name, value, description)->capture_default_str();
  };
  // An option with a list of names, or without one for all of them.
  const auto add_names = [&](const char* name, std::vector<std::string>& values, bool& given,
                             const char* description) {
    command
        ->add_option_function<std::vector<std::string>>(
            name,
            [&values, &given](const std::vector<std::string>& names) {
              given = true;
              values = names;
              std::erase(values, "");
            },
            description)
        ->delimiter(',')
        ->expected(0, -1)
        ->type_name("[NAME,...]");
  };
  add_names("--golden", options->golden, options->with_golden,
            "Published tasks of --data: those of these task sets, or all");
  add("--tasks", options->max_tasks, "At most so many tasks of each task set")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1000000}));
  add_names("--sets", options->sets, options->with_sets,
            "Table sets of --set-folder: these, or all");
  add("--set-folder", options->set_folder, "Folder of table sets")->type_name("FOLDER");
  add("--devices", options->devices, "Numbers of devices that table sets are planned on")
      ->delimiter(',')
      ->check(CLI::Range(1, kMaxDevices));
  add("--memory-gb", options->memory_gib, "Memory of each of these devices (GiB)")
      ->check(CLI::Range(0.001, 1e6));
  command
      ->add_option_function<int>(
          "--random",
          [options](int count) {
            options->with_random = true;
            options->random = count;
          },
          "So many tasks drawn at random")
      ->check(CLI::Range(1, 1000000))
      ->type_name("N");
  add("--seed", options->seed, "Seed of the random tasks");
  add("--steps", options->annealing.steps, "Steps of annealing; 0: none")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40));
  add("--annealing-seed", options->annealing.seed, "Seed of annealing");
  add("--annealed-devices", options->annealed_devices, "Most devices of a task that is annealed")
      ->check(CLI::Range(1, kMaxDevices));
  add("--rounds", options->annealing.rounds, "Rounds of annealing, each cooler than the one before")
      ->check(CLI::Range(1, 1000));
  add("--hottest", options->annealing.hottest, "First temperature, as a share of the cost")
      ->check(CLI::Range(1e-9, 1.0));
  add("--coldest", options->annealing.coldest, "Last temperature")->check(CLI::Range(1e-12, 1.0));
  add("--algorithm", options->algorithm, "Whose plans are judged");
  add("--effort", options->effort, "Effort, if that is neuroshard");
  command->add_flag("--stages", options->stages,
                    "Also tell what each part of the search contributes (of neuroshard)");
  add("--backend", options->planner.backend, "Backend of the planner");
  add("--threads", options->planner.threads, "Threads of one plan")->check(CLI::Range(1, 1024));
  add("--svg", options->svg, "Chart by device count")->type_name("FILE");
  add_search_options(*command, options->planner.search);
  command->callback(
      [options, &chosen] { chosen = [options](std::ostream& out) { run_gap(*options, out); }; });
}

}  // namespace neuroshard::bench
