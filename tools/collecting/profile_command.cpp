#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "neuroshard/error.h"
#include "neuroshard/table_configs.h"
#include "tools/collecting/access_files.h"
#include "tools/collecting/cache_statistics_file.h"
#include "tools/command_line/options.h"
#include "tools/commands.h"
#include "tools/console/progress_bar.h"
#include "tools/console/result_output.h"
#include "tools/text/text.h"
#include "weights/lookups/profile_accesses.h"
#include "weights/lookups/profile_log.h"
#include "weights/lookups/sessions.h"

namespace neuroshard::tools {
namespace {

constexpr const char* kProfileExamples = R"(Examples:
  neuroshard profile fbgemm_t856_bs65536.pt.gz --output table_configs.json
  neuroshard profile indices.npy --lengths lengths.npy --output table_configs.json
  neuroshard profile indices.npy --lengths lengths.npy --row-parts 64 \
      --output table_configs.json
  neuroshard profile indices.npy --offsets offsets.npy --batch 65536 \
      --output table_configs.json
  neuroshard profile day_0.pt day_1.pt --batches 100 --cache-statistics caches.json \
      --output table_configs.json

Formats, and what is computed: docs/collecting.md.)";

struct ProfileCommand {
  std::vector<std::string> accesses;
  std::vector<std::string> lengths;
  std::vector<std::string> offsets;
  std::vector<std::string> sessions;
  std::optional<std::int64_t> batch;
  std::int64_t batches = 1;
  bool popularity = false;
  std::string cache_statistics;
  std::string output;
  int threads = 0;
  int row_parts = 0;
};

// The n-th of the files beside the indices; "" if there are none.
std::string beside(const ProfileCommand& command, const std::vector<std::string>& files,
                   std::size_t n, const char* option) {
  if (files.empty()) return "";
  if (files.size() == command.accesses.size()) return files[n];
  throw Error(std::string(option) + " is given " + counted(files.size(), "time") + " for " +
              counted(command.accesses.size(), "file") +
              " of indices; give it once for each, in their order");
}

std::vector<AccessData> open_log(const ProfileCommand& command) {
  if (command.batches < 1) {
    throw Error("--batches is " + std::to_string(command.batches) + "; give at least 1");
  }
  std::vector<AccessData> log;
  for (std::size_t n = 0; n < command.accesses.size(); ++n) {
    log.push_back(open_accesses({.accesses = command.accesses[n],
                                 .lengths = beside(command, command.lengths, n, "--lengths"),
                                 .offsets = beside(command, command.offsets, n, "--offsets"),
                                 .batch = command.batch,
                                 .batches = command.batches}));
  }
  return log;
}

// [files][samples]; empty: samples have no sessions.
std::vector<std::vector<std::int64_t>> open_sessions(const ProfileCommand& command,
                                                     const std::vector<AccessData>& log) {
  std::vector<std::vector<std::int64_t>> sessions;
  for (std::size_t n = 0; n < log.size() && !command.sessions.empty(); ++n) {
    sessions.push_back(
        open_npy_sessions(beside(command, command.sessions, n, "--sessions"), log[n].batch));
  }
  return sessions;
}

// "12 of 26 tables have repeated samples, 3.10 for each that is left at most"
std::string repeats_text(const std::vector<Table>& tables) {
  double least = 1.0;
  std::size_t repeated = 0;
  for (const Table& table : tables) {
    least = std::min(least, table.features);
    repeated += table.features < 1.0 ? 1 : 0;
  }
  return ", " + format_count(repeated) + " with samples that sessions repeat, " +
         format_number(1.0 / least, 2) + " times at most";
}

int run_profile(const ProfileCommand& command, Console& console) {
  using Clock = std::chrono::steady_clock;
  ResultOutput output(console, command.output);
  std::optional<ResultOutput> statistics = optional_output(console, command.cache_statistics);
  const Clock::time_point start = Clock::now();
  const std::vector<AccessData> log = open_log(command);
  const std::int64_t batch = batch_of_log(log);
  const std::vector<std::vector<std::int64_t>> sessions = open_sessions(command, log);
  std::int64_t lookups = 0;
  std::int64_t batches = 0;
  for (const AccessData& data : log) {
    lookups += data.lookups();
    batches += data.batches;
  }
  if (statistics && batches < 2) {
    throw Error(
        "--cache-statistics needs batches after which rows are looked up again; give several "
        "files, or say with --batches how many batches a file has");
  }
  LogProfile profile;
  {
    ProgressBar progress(console, "profiling", static_cast<std::uint64_t>(lookups));
    ProfileOptions options;
    options.threads = command.threads;
    options.row_parts = command.row_parts;
    options.sessions = sessions;
    options.progress = [&](std::int64_t counted) {
      progress.update(static_cast<std::uint64_t>(counted));
    };
    const bool popularity = batches > 1 || command.popularity;
    if (popularity || !sessions.empty()) {
      profile = profile_log(log, options, statistics.has_value());
      for (Table& table : profile.tables) {
        if (!popularity) table.popularity.clear();
      }
    } else {
      profile.tables = profile_accesses(log.front(), options);
    }
  }
  output.finish(serialize_table_configs(profile.tables, false, batch));
  if (statistics) statistics->finish(cache_statistics_file(profile, batch));
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  console.err << printable(command.accesses.front())
              << (log.size() > 1 ? " and " + counted(log.size() - 1, "more file") : "") << ": "
              << format_count(profile.tables.size()) << " tables, ";
  if (batches > 1)
    console.err << format_count(static_cast<std::uint64_t>(batches)) << " batches of ";
  console.err << (batches > 1 ? "" : "batch ") << format_count(static_cast<std::uint64_t>(batch))
              << (batches > 1 ? " samples" : "") << ", "
              << format_count(static_cast<std::uint64_t>(lookups)) << " lookups"
              << (sessions.empty() ? "" : repeats_text(profile.tables)) << ", "
              << format_number(seconds, 1) << " s\n";
  return kExitOk;
}

}  // namespace

void add_profile_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<ProfileCommand>();
  CLI::App* command = program.add_subcommand(
      "profile", "Make table_configs.json from batches of lookups (row counts, histograms)");
  command->footer(kProfileExamples);
  const command_line::OptionGroup general(*command);
  general
      .add("accesses", "FILE", options->accesses,
           "Published files (.pt or .pt.gz), or indices (.npy), in the order of time")
      ->required();
  general
      .add("--lengths", "FILE", options->lengths,
           "Lengths [tables, batch] (.npy), once for each file of indices")
      ->allow_extra_args(false);
  general
      .add("--offsets", "FILE", options->offsets,
           "Offsets in place of lengths, tables * batch + 1 (.npy)")
      ->allow_extra_args(false);
  general
      .add("--sessions", "FILE", options->sessions,
           "Sessions of samples [batch] (.npy), once for each file of indices: lookups that "
           "a session repeats within a batch count once")
      ->allow_extra_args(false);
  general.add("--batch", options->batch, "Samples of a file, with --offsets");
  general.with_default("--batches", "N", options->batches,
                       "Equal batches that the samples of a file make, one after the other");
  general.flag("--popularity", options->popularity,
               "Write popularity of a single batch too, which says little of cold rows; "
               "several batches always have it written");
  general.add("--cache-statistics", "FILE", options->cache_statistics,
              "Also write the misses of caches of several sizes, as JSON");
  general.add("--output", "FILE", options->output, "File to write; default: standard output");
  general
      .add("--row-parts", "N", options->row_parts,
           "Write row_shares: shares of the lookups in this many equal parts of the rows")
      ->check(CLI::Range(1, kMaxRowShares));
  general.add("--threads", options->threads, "CPU threads; default: one per core");
  command_line::run_if_given(*command, chosen, options, run_profile);
}

}  // namespace neuroshard::tools
