#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>

#include "neuroshard/table_configs.h"
#include "tools/collecting/access_files.h"
#include "tools/commands.h"
#include "tools/console/progress_bar.h"
#include "tools/console/result_output.h"
#include "tools/text/text.h"
#include "weights/lookups/profile_accesses.h"

namespace neuroshard::tools {
namespace {

constexpr const char* kProfileExamples = R"(Examples:
  neuroshard profile fbgemm_t856_bs65536.pt.gz --output table_configs.json
  neuroshard profile indices.npy --lengths lengths.npy --output table_configs.json
  neuroshard profile indices.npy --lengths lengths.npy --row-parts 64 \
      --output table_configs.json
  neuroshard profile indices.npy --offsets offsets.npy --batch 65536 \
      --output table_configs.json

Formats, and what is computed: docs/collecting.md.)";

struct ProfileCommand {
  AccessFiles files;
  std::string output;
  int threads = 0;
  int row_parts = 0;
};

int run_profile(const ProfileCommand& command, Console& console) {
  using Clock = std::chrono::steady_clock;
  ResultOutput output(console, command.output);
  const Clock::time_point start = Clock::now();
  const AccessData data = open_accesses(command.files);
  std::vector<Table> tables;
  {
    ProgressBar progress(console, "profiling", static_cast<std::uint64_t>(data.lookups()));
    ProfileOptions options;
    options.threads = command.threads;
    options.row_parts = command.row_parts;
    options.progress = [&](std::int64_t lookups) {
      progress.update(static_cast<std::uint64_t>(lookups));
    };
    tables = profile_accesses(data, options);
  }
  output.write(serialize_table_configs(tables, false, data.batch));
  output.finish();
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  console.err << printable(command.files.accesses) << ": " << format_count(tables.size())
              << " tables, batch " << format_count(static_cast<std::uint64_t>(data.batch)) << ", "
              << format_count(static_cast<std::uint64_t>(data.lookups())) << " lookups, "
              << format_number(seconds, 1) << " s\n";
  return kExitOk;
}

}  // namespace

void add_profile_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<ProfileCommand>();
  CLI::App* command = program.add_subcommand(
      "profile", "Make table_configs.json from a batch of lookups (row counts, histograms)");
  command->footer(kProfileExamples);
  command
      ->add_option("accesses", options->files.accesses,
                   "Published file (.pt or .pt.gz), or the indices (.npy)")
      ->type_name("FILE")
      ->required();
  command->add_option("--lengths", options->files.lengths, "Lengths [tables, batch] (.npy)")
      ->type_name("FILE");
  command->add_option("--offsets", options->files.offsets, "Or offsets, tables * batch + 1 (.npy)")
      ->type_name("FILE");
  command->add_option("--batch", options->files.batch, "Samples of the batch, with --offsets");
  command->add_option("--output", options->output, "File to write; default: standard output")
      ->type_name("FILE");
  command
      ->add_option("--row-parts", options->row_parts,
                   "Write row_shares: shares of the lookups in so many equal parts of the rows")
      ->check(CLI::Range(1, kMaxRowShares))
      ->type_name("N");
  command->add_option("--threads", options->threads, "Default: one per core");
  command->callback([options, &chosen] {
    chosen = [options](Console& console) { return run_profile(*options, console); };
  });
}

}  // namespace neuroshard::tools
