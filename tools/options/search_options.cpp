#include "tools/options/search_options.h"

#include <CLI/CLI.hpp>

#include "neuroshard/policy_file.h"
#include "tools/command_line/options.h"

namespace neuroshard::tools {
namespace {

constexpr const char* kSearchGroup = "Search";

}  // namespace

void add_backend_options(CLI::App& command, PlannerOptions& options) {
  const command_line::OptionGroup group(command, "Computation");
  std::string names = "auto";
  for (const std::string& name : backends()) names += ", " + name;
  group.with_default(
      "--backend", "NAME", options.backend,
      names +
          "; same plans on all. auto: what the environment variable NEUROSHARD_BACKEND "
          "names, else the fastest that works here");
  group.with_default("--threads", "N", options.threads, "CPU threads; 0: one per core");
}

PlannerOptions SearchChoice::options() const {
  PlannerOptions options = planner;
  options.algorithm = algorithm_from_name(algorithm);
  options.effort = effort_from_name(effort);
  if (!cuts.empty()) options.cuts = cuts_from_name(cuts);
  if (!policy.empty()) {
    options.policy = std::make_shared<const PlacementPolicy>(load_policy(policy));
  }
  return options;
}

void add_effort_option(CLI::App& command, SearchChoice& choice) {
  const command_line::OptionGroup search(command, kSearchGroup);
  search.with_default(
      "--effort", "NAME", choice.effort,
      "How much work the algorithm neuroshard does: fast (for what-ifs), default, or "
      "thorough (seconds). More effort never gives a dearer plan");
}

void add_cut_options(CLI::App& command, SearchChoice& choice) {
  const command_line::OptionGroup search(command, kSearchGroup);
  search.flag("--equal-widths", choice.planner.equal_widths,
              "With algorithm neuroshard: cut each table to slices of one width, as checkpoints "
              "of some training systems need");
  search.add(
      "--cuts", "NAME", choice.cuts,
      "With algorithm neuroshard: any (columns of any width, row blocks on all devices or some, "
      "and replicas, whichever costs least), columns (halved by columns alone), or torchrec (any, "
      "with --equal-widths). "
      "Default: any with the built-in weights, columns with published checkpoints");
}

void add_search_options(CLI::App& command, SearchChoice& choice) {
  const command_line::OptionGroup search(command, kSearchGroup);
  std::string baselines;
  for (const Algorithm known : all_algorithms()) {
    if (known == Algorithm::kNeuroshard) continue;
    baselines += (baselines.empty() ? "" : ", ") + std::string(name_of(known));
  }
  search.with_default(
      "--algorithm", "NAME", choice.algorithm,
      std::string(name_of(Algorithm::kNeuroshard)) + ", or to compare: " + baselines);
  search.add("--policy", "FILE", choice.policy,
             "Networks of the algorithms dreamshard and autoshard: a file of 'train policy', or "
             "a checkpoint of the published programs");
  add_effort_option(command, choice);
  add_cut_options(command, choice);
  const auto add_size = [&](const char* name, int& value, const char* help) {
    search.with_default(name, "N", value, help);
  };
  add_size("--beam-width", choice.planner.search.beam_width,
           "Published search: states of column splits kept per level");
  add_size("--candidates", choice.planner.search.candidates,
           "Published search: tables tried per state, this many largest and as many costliest");
  add_size("--max-splits", choice.planner.search.max_splits,
           "Published search: levels of column splits, beyond those that memory forces");
  add_size("--grid-steps", choice.planner.search.grid_steps,
           "Published search: limits tried on a device's columns, from 1.0 to 1.5 times the mean");
  command
      .add_flag_callback(
          "--no-memory-splits", [&choice] { choice.planner.search.memory_splits = false; },
          "With --algorithm published: do not split tables that exceed a device or find no room, "
          "but give up there, as the published program does")
      ->group(kSearchGroup);
  search.with_default("--seed", "N", choice.planner.seed, "Seed of the algorithm random");
}

void add_output_options(CLI::App& command, std::string& format, std::string& output) {
  const command_line::OptionGroup group(command, "Output");
  group.with_default(
      "--format", "NAME", format,
      "table: for people; json: one task with everything known of its plan; jsonl: a "
      "line per task");
  group.add("--output", "FILE", output,
            "Write to a file, which appears complete or not at all (default: standard output)");
}

}  // namespace neuroshard::tools
