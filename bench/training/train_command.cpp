#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>
#include <ostream>

#include "bench/commands.h"
#include "bench/common_options.h"
#include "bench/inputs/task_sets.h"
#include "bench/json_report.h"
#include "bench/markdown_table.h"
#include "bench/statistics.h"
#include "bench/training/training_runs.h"
#include "neuroshard/cuda_training.h"
#include "neuroshard/error.h"
#include "tools/command_line/options.h"
#include "weights/files/atomic_file.h"

namespace neuroshard::bench {
namespace {

constexpr const char* kTrainFooter =
    R"(Times whole epochs as 'neuroshard train' has them, evaluation of the validation samples
included, with the default layers and batches, on analytic costs of combinations of the tables in
--data. Baselines, in the same trainer, take their products from OpenBLAS and from the portable
kernel, which is given fewer samples as it needs the multiply-add in software on x86. The backend
cuda takes its steps on the first GPU, with products by cuBLAS.

Examples:
  nsbench train
  nsbench train --networks compute --threads 1
  nsbench train --backends cpu,cuda)";

struct TrainOptions {
  CommonOptions common;
  std::vector<std::string> networks = trained_networks();
  std::vector<std::string> backends = {"cpu"};
  std::vector<int> threads = default_thread_counts();
  std::size_t samples = 30000;
  std::size_t portable_samples = 512;
  int rounds = 5;
};

/// A way to compute the products of matrices.
struct Products {
  std::string name;
  const training::MatrixKernels* kernels = nullptr;  ///< Kernels of the CPU; unused with a backend.
  std::shared_ptr<const TrainingBackend> backend;    ///< Null: the CPU.
};

/// One network, way to multiply and number of threads.
struct Timed {
  std::string network;
  std::string products;
  int threads = 1;
  std::unique_ptr<TrainingRun> run;
  std::vector<Elapsed> rounds;

  [[nodiscard]] std::vector<double> samples_per_second() const {
    std::vector<double> rates;
    for (const Elapsed& elapsed : rounds) {
      rates.push_back(1e3 * static_cast<double>(run->samples_per_epoch()) / elapsed.wall_ms);
    }
    return rates;
  }
};

std::vector<Products> products_of(const std::vector<std::string>& backends) {
  std::vector<Products> products;
  const auto add = [&](const training::MatrixKernels* kernels) {
    products.push_back({std::string(kernels->name), kernels, nullptr});
  };
  for (const std::string& backend : backends) {
    if (backend == "cuda") {
      products.push_back({"cublas", &training::best_matrix_kernels(), make_cuda_training()});
      continue;
    }
    for (const training::MatrixKernels* each : training::all_matrix_kernels()) {
      if (each->supported()) add(each);
    }
    if (openblas_matrix_kernels() != nullptr) add(openblas_matrix_kernels());
  }
  return products;
}

// An epoch of few samples must end in the same loss, to the last bit for our own kernels.
void check(const std::string& network, const TrainingSet& set,
           const std::vector<Products>& products) {
  constexpr std::size_t kSamples = 256;
  const auto loss_of = [&](const training::MatrixKernels& kernels, const auto& backend) {
    const auto run = make_training_run(network, set, kSamples, kernels, 1, backend);
    run->run_epoch();
    return run->validation_loss();
  };
  const double expected = loss_of(training::best_matrix_kernels(), nullptr);
  for (const Products& each : products) {
    const double loss = loss_of(*each.kernels, each.backend);
    const bool ours = each.backend == nullptr && each.kernels != openblas_matrix_kernels();
    if (std::abs(loss - expected) <= (ours ? 0.0 : 1e-3 * expected)) continue;
    throw Error("'" + each.name + "' ends the first epoch of " + network + " with a loss of " +
                    std::to_string(loss) + ", not " + std::to_string(expected) +
                    "; nothing was timed",
                ErrorKind::kBackend);
  }
}

double of_baseline(const std::vector<Timed>& all, const Timed& timed, std::string_view name) {
  for (const Timed& other : all) {
    if (other.network == timed.network && other.threads == timed.threads &&
        other.products == name) {
      return median(timed.samples_per_second()) / median(other.samples_per_second());
    }
  }
  return std::nan("");
}

void run_train(const TrainOptions& options, std::ostream& out) {
  const TrainingSet set =
      draw_training_set(GoldenFolder(options.common.data).tables(), options.samples);
  const std::vector<Products> products = products_of(options.backends);
  Context context = machine_context();
  context.emplace_back("samples", with_separators(static_cast<std::int64_t>(options.samples)) +
                                      " of each network, 80 % of them trained on");
  out << context_block(context) << std::flush;

  std::vector<Timed> all;
  for (const std::string& network : options.networks) {
    check(network, set, products);
    for (const Products& each : products) {
      const std::size_t most = each.name == "portable" ? options.portable_samples : options.samples;
      const auto add = [&](int threads) {
        all.push_back({network,
                       each.name,
                       threads,
                       make_training_run(network, set, most, *each.kernels, threads, each.backend),
                       {}});
      };
      if (each.backend) {
        add(1);  // The CPU has nothing to do.
      } else {
        for (const int threads : options.threads) add(threads);
      }
    }
  }
  for (int round = 0; round <= options.rounds; ++round) {
    for (Timed& timed : all) {
      const Stopwatch watch;
      timed.run->run_epoch();
      if (round > 0) timed.rounds.push_back(watch.elapsed());  // The first one warms up.
    }
  }

  JsonReport report;
  MarkdownTable table(
      {"network", "products", "threads", "samples/s", "spread", "vs openblas", "vs portable"});
  for (const Timed& timed : all) {
    const std::vector<double> rates = timed.samples_per_second();
    const auto versus = [&](std::string_view name) {
      const double ratio = of_baseline(all, timed, name);
      return std::isfinite(ratio) ? three_digits(ratio) : std::string("-");
    };
    table.add_row({timed.network, timed.products, std::to_string(timed.threads),
                   three_digits(median(rates)), percent(relative_spread(rates)), versus("openblas"),
                   versus("portable")});
    report.add({.name = "train/" + timed.network + "/" + timed.products +
                        "/threads:" + std::to_string(timed.threads),
                .rounds = timed.rounds,
                .operations = 1,
                .threads = timed.threads,
                .figures = {{"samples_per_second", median(rates)}},
                .label = ""});
  }
  out << '\n' << table.str();
  if (!options.common.json.empty()) write_file(options.common.json, report.str(context));
}

}  // namespace

void add_train_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<TrainOptions>();
  CLI::App* command = program.add_subcommand("train", "Samples trained on per second");
  command->footer(kTrainFooter);
  const command_line::OptionGroup general(*command);
  general.with_default("--data", "FOLDER", options->common.data,
                       "Folder of tables to draw combinations of");
  general.add("--json", "FILE", options->common.json, "Results as Google Benchmark writes them");
  general.with_default("--networks", options->networks, "Networks to train")
      ->delimiter(',')
      ->check(CLI::IsMember(trained_networks()));
  general.with_default("--backends", options->backends, "Where steps are computed: cpu, cuda")
      ->delimiter(',')
      ->check(CLI::IsMember({"cpu", "cuda"}));
  general.with_default("--threads", options->threads, "Threads of the trainer")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024));
  general.with_default("--samples", options->samples, "Samples of each network")
      ->check(CLI::Range(300, 10000000));
  general
      .with_default("--portable-samples", options->portable_samples,
                    "Samples that the portable kernel trains on")
      ->check(CLI::Range(1, 10000000));
  general.with_default("--rounds", options->rounds, "Timed epochs")->check(CLI::Range(1, 1000));
  command_line::run_if_given(*command, chosen, options, run_train);
}

}  // namespace neuroshard::bench
