#include "bench/gpu/kernel_cases.h"

#include <algorithm>

#include "bench/gpu/device_scorers.h"
#include "bench/gpu/event_timer.h"
#include "bench/gpu/fma_kernel.h"
#include "bench/markdown_table.h"
#include "bench/scoring/score_benchmarks.h"
#include "bench/scoring/score_report.h"
#include "bench/scoring/scoring_input.h"
#include "core/cpu_backend.h"
#include "core/cpu_kernels.h"
#include "cuda/beam_launches.h"
#include "cuda/chain_launches.h"
#include "cuda/comm_costs.h"
#include "cuda/current_device.h"
#include "cuda/embed_pieces.h"
#include "cuda/placement_launches.h"
#include "neuroshard/error.h"
#include "search/baselines.h"
#include "search/improvement/annealing.h"
#include "search/published_search.h"

namespace neuroshard::bench {
namespace {

using SharedContext = std::shared_ptr<const gpu::DeviceContext>;

std::string counted(std::size_t count, const char* what) {
  return with_separators(static_cast<std::int64_t>(count)) + " " + what;
}

void require_equal(std::span<const float> actual, std::span<const float> expected,
                   const char* kernel) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (actual[i] == expected[i]) continue;
    throw Error(std::string(kernel) + ": value " + std::to_string(i) + " is " +
                    std::to_string(actual[i]) + ", but " + std::to_string(expected[i]) +
                    " on the CPU; nothing was timed",
                ErrorKind::kBackend);
  }
}

/// Arrays of floats in device memory, and a stream with a timer.
class Bench {
 public:
  explicit Bench(SharedContext context)
      : context_(std::move(context)), current_(context_->device()) {}

  [[nodiscard]] const gpu::DeviceContext& context() const { return *context_; }
  [[nodiscard]] cudaStream_t stream() const { return stream_.get(); }

  float* upload(std::span<const float> values) {
    float* array = allocate(values.size());
    stream_.copy_to_device(reinterpret_cast<std::byte*>(array),
                           reinterpret_cast<const std::byte*>(values.data()), values.size_bytes());
    stream_.synchronize();
    return array;
  }
  float* allocate(std::size_t floats) {
    buffers_.push_back(std::make_unique<gpu::DeviceBuffer>());
    buffers_.back()->reserve(floats * sizeof(float));
    return reinterpret_cast<float*>(buffers_.back()->data());
  }
  std::vector<float> download(const float* array, std::size_t floats) const {
    std::vector<float> values(floats);
    stream_.copy_to_host(reinterpret_cast<std::byte*>(values.data()),
                         reinterpret_cast<const std::byte*>(array), floats * sizeof(float));
    stream_.synchronize();
    return values;
  }
  double time(const auto& launch) { return timer_.seconds(stream_, launch); }

 private:
  SharedContext context_;
  gpu::CurrentDevice current_;
  gpu::Stream stream_;
  EventTimer timer_;
  std::vector<std::unique_ptr<gpu::DeviceBuffer>> buffers_;
};

KernelCase nothing(const SharedContext& context) {
  auto bench = std::make_shared<Bench>(context);
  float* sink = bench->allocate(1);
  return {.kernel = "nothing",
          .input = "what a launch takes",
          .items = 1.0,
          .multiply_adds = 0.0,
          .check = [] {},
          .run =
              [bench, sink] {
                return bench->time([&] {
                  run_gpu_multiply_adds(bench->context().multiprocessors(), 0, sink,
                                        bench->stream());
                });
              }};
}

// ---- score_shards ----

constexpr std::size_t kPieces = 600;
constexpr std::size_t kPiecesPerShard = 16;

std::string name_of(const ScorerKind& kind) { return "score_shards, " + kind.name; }

bool is_wanted(const std::string& kernel, const KernelSizes& sizes) {
  return kernel.find(sizes.only) != std::string::npos;
}

void add_score_cases(std::vector<KernelCase>& cases, const CostModels& models,
                     const GoldenFolder& data, const SharedContext& context,
                     const KernelSizes& sizes) {
  std::vector<ScorerKind> kinds = device_scorers(models, context);
  std::erase_if(kinds, [&](const ScorerKind& kind) {
    // "cuda_device" is one of the other kinds, chosen by size.
    return kind.name == "cuda_device" || !is_wanted(name_of(kind), sizes);
  });
  if (kinds.empty()) return;
  const std::vector<std::size_t>& batches = sizes.shards;
  const std::size_t largest = *std::max_element(batches.begin(), batches.end());
  const auto input = std::make_shared<ScoringInput>(random_scoring_input(
      *make_cpu_backend(models), data.tables(), kPieces, largest, kPiecesPerShard, 1));
  for (const ScorerKind& kind : kinds) {
    for (const std::size_t shards : batches) {
      const std::shared_ptr<Scorer> scorer = kind.make(*input);
      scorer->prepare(input->first(shards));
      cases.push_back({.kernel = name_of(kind),
                       .input = counted(shards, "shards of 16"),
                       .items = static_cast<double>(shards),
                       .multiply_adds = static_cast<double>(shards) *
                                        multiply_adds_per_shard(models.compute.head),
                       .check =
                           [kind, input, &models, shards] {
                             ScoringInput part = *input;
                             part.offsets.resize(shards + 1);
                             check_scorers({&kind, 1}, part, models);
                           },
                       // The input goes along: the scorer borrows it.
                       .run =
                           [scorer, input] {
                             scorer->score();
                             return scorer->device_seconds();
                           }});
    }
  }
}

// ---- embed_pieces ----

std::vector<float> features_of(std::span<const Table> tables, std::size_t pieces) {
  std::vector<float> features;
  for (std::size_t i = 0; i < pieces; ++i) {
    const auto row = table_features(tables[i % tables.size()], 4 << i % 6);
    features.insert(features.end(), row.begin(), row.end());
  }
  return features;
}

KernelCase embed_case(const CostModels& models, const GoldenFolder& data,
                      const SharedContext& context, std::size_t pieces) {
  auto bench = std::make_shared<Bench>(context);
  const auto features = std::make_shared<std::vector<float>>(features_of(data.tables(), pieces));
  const std::size_t floats = pieces * static_cast<std::size_t>(context->embedding_width());
  const gpu::EmbedArgs args{.features = context->models().table_features(),
                            .network = context->models().table_network(),
                            .raw_features = bench->upload(*features),
                            .embeddings = bench->allocate(floats),
                            .pieces = static_cast<int>(pieces),
                            .width = context->embedding_width()};
  const auto run = [bench, args] {
    return bench->time([&] {
      gpu::embed_pieces(args, bench->context().multiprocessors(), bench->context().shared_bytes(),
                        bench->stream());
    });
  };
  return {.kernel = "embed_pieces",
          .input = counted(pieces, "pieces"),
          .items = static_cast<double>(pieces),
          .multiply_adds =
              static_cast<double>(pieces) * multiply_adds_per_shard(models.compute.table_network),
          .check =
              [bench, args, run, features, floats, &models] {
                (void)run();
                std::vector<float> expected(floats);
                make_cpu_backend(models)->embed_pieces(*features, expected);
                require_equal(bench->download(args.embeddings, floats), expected, "embed_pieces");
              },
          .run = run};
}

// ---- comm_costs ----

const Mlp& network_of(const CommNetwork& network) {
  return std::visit([](const auto& n) -> const Mlp& { return n.network; }, network);
}

double comm_multiply_adds(const CommNetwork& network, int devices) {
  // The symmetric network has a row for each device of a placement.
  const bool symmetric = std::holds_alternative<SymmetricCommNetwork>(network);
  return multiply_adds_per_shard(network_of(network)) * (symmetric ? devices : 1);
}

KernelCase comm_case(const CostModels& models, const SharedContext& context, int devices,
                     std::size_t placements) {
  auto bench = std::make_shared<Bench>(context);
  const std::size_t size = placements * static_cast<std::size_t>(devices);
  const auto dim_sums = std::make_shared<std::vector<float>>(size);
  const auto offsets = std::make_shared<std::vector<float>>(size);
  for (std::size_t i = 0; i < size; ++i) {
    (*dim_sums)[i] = static_cast<float>(4 * (i * 37 % 200));
    (*offsets)[i] = static_cast<float>(i * 13 % 50) / 8.0F;
  }
  const gpu::CommArgs args{.network = context->models().comm_for(devices).forward,
                           .devices = devices,
                           .log2_devices = gpu::log2_devices(devices),
                           .dim_sums = bench->upload(*dim_sums),
                           .start_offsets_ms = bench->upload(*offsets),
                           .cost_ms = bench->allocate(size),
                           .placements = static_cast<int>(placements)};
  const auto run = [bench, args] {
    return bench->time([&] {
      gpu::comm_costs(args, bench->context().multiprocessors(), bench->context().shared_bytes(),
                      bench->stream());
    });
  };
  return {.kernel = "comm_costs",
          .input = counted(placements, "placements on ") + std::to_string(devices) + " devices",
          .items = static_cast<double>(placements),
          .multiply_adds = static_cast<double>(placements) *
                           comm_multiply_adds(models.comm_for(devices).forward, devices),
          .check =
              [bench, args, run, dim_sums, offsets, devices, size, &models] {
                (void)run();
                std::vector<float> expected(size);
                make_cpu_backend(models)->forward_comm(devices, *dim_sums, *offsets, expected);
                require_equal(bench->download(args.cost_ms, size), expected, "comm_costs");
              },
          .run = run};
}

// ---- place_candidates, search_beams ----

// Of docs/kernels.md, modelled for an idle H100 or H200 with a warp for each of 11 limits: a step
// of a placement by either kernel; the communication networks of a level; and what search_beams
// does between two levels.
constexpr double kClockHz = 1.98e9;
constexpr double kCandidateStepCycles = 684.0;
constexpr double kBeamStepCycles = 714.0;
constexpr double kNetworkCycles = 12000.0;
constexpr double kNextLevelCycles = 11500.0;

/// The beam searches of some tasks, before their first level.
class Searches {
 public:
  Searches(const CostModels& models, const SharedContext& context, std::vector<Task> tasks)
      : context_(context),
        tasks_(std::move(tasks)),
        cpu_(select_cpu_kernels("auto"), models, true) {
    for (const Task& task : tasks_) {
      catalogs_.push_back(std::make_unique<PieceCatalog>(cpu_, task));
      searches_.push_back(start(searches_.size()));
      sessions_.push_back(
          std::make_unique<gpu::CudaSession>(*context, cpu_, searches_.back()->problem()));
    }
  }

  /// Of one call of `run`.
  [[nodiscard]] PlacementCounters work_of(const auto& run) {
    const PlacementCounters before = sum();
    (void)run();
    const PlacementCounters after = sum();
    return {.greedy_runs = after.greedy_runs - before.greedy_runs,
            .head_evaluations = after.head_evaluations - before.head_evaluations,
            .comm_evaluations = after.comm_evaluations - before.comm_evaluations};
  }

 protected:
  [[nodiscard]] std::size_t size() const { return tasks_.size(); }
  [[nodiscard]] PublishedSearch& search(std::size_t task) { return *searches_[task]; }
  [[nodiscard]] gpu::CudaSession& session(std::size_t task) { return *sessions_[task]; }
  [[nodiscard]] const gpu::DeviceContext& context() const { return *context_; }
  /// Another search of the same task.
  [[nodiscard]] std::unique_ptr<PublishedSearch> start(std::size_t task) {
    return std::make_unique<PublishedSearch>(cpu_, tasks_[task], options_, *catalogs_[task]);
  }
  [[nodiscard]] std::unique_ptr<PlacementSession> cpu_session(const PublishedSearch& search) {
    return cpu_.start(search.problem());
  }
  static std::vector<CandidateResult> placed(PlacementSession& session,
                                             const PublishedSearch& search) {
    std::vector<CandidateResult> results(search.candidates().size());
    session.place(search.candidates(), results);
    return results;
  }
  /// Seconds of the kernels alone: what they are told is copied before, results after.
  double run_timed(auto& launches) {
    launches.prepare();
    const double seconds = time(launches);
    launches.finish();
    return seconds;
  }

 private:
  double time(auto& launches) {
    const gpu::CurrentDevice current(context_->device());
    return timer_.seconds(launches.stream(), [&] { launches.launch(); });
  }
  [[nodiscard]] PlacementCounters sum() const {
    PlacementCounters total;
    for (const auto& session : sessions_) total += session->counters();
    return total;
  }

  SharedContext context_;
  std::vector<Task> tasks_;
  CpuBackend cpu_;
  SearchOptions options_;
  std::vector<std::unique_ptr<PieceCatalog>> catalogs_;
  std::vector<std::unique_ptr<PublishedSearch>> searches_;
  std::vector<std::unique_ptr<gpu::CudaSession>> sessions_;
  EventTimer timer_;
};

/// The first level of each: some twenty candidates.
class Level : public Searches {
 public:
  Level(const CostModels& models, const SharedContext& context, std::vector<Task> tasks)
      : Searches(models, context, std::move(tasks)) {
    for (std::size_t i = 0; i < size(); ++i) {
      const auto cpu = cpu_session(search(i));
      search(i).take(placed(*cpu, search(i)), *cpu);
      results_.emplace_back(search(i).candidates().size());
    }
  }

  double run() {
    gpu::PlacementLaunches launches(context());
    for (std::size_t i = 0; i < size(); ++i) {
      launches.add(session(i), search(i).candidates(), results_[i]);
    }
    return run_timed(launches);
  }

  void check() {
    (void)run();
    for (std::size_t i = 0; i < size(); ++i) {
      if (placed(*cpu_session(search(i)), search(i)) == results_[i]) continue;
      throw Error("place_candidates: the results of task " + std::to_string(i) +
                      " are not those of the CPU; nothing was timed",
                  ErrorKind::kBackend);
    }
  }

  /// Of the longest placement.
  [[nodiscard]] double modelled_cycles() {
    std::size_t steps = 0;
    for (std::size_t i = 0; i < size(); ++i) {
      const CandidateBatch& batch = search(i).candidates();
      for (std::size_t c = 0; c < batch.size(); ++c) {
        steps = std::max<std::size_t>(steps, batch.offsets[c + 1] - batch.offsets[c]);
      }
    }
    return static_cast<double>(steps) * kCandidateStepCycles + kNetworkCycles;
  }

 private:
  std::vector<std::vector<CandidateResult>> results_;
};

/// All levels of each, in one launch.
class WholeSearches : public Searches {
 public:
  WholeSearches(const CostModels& models, const SharedContext& context, std::vector<Task> tasks)
      : Searches(models, context, std::move(tasks)) {
    for (std::size_t i = 0; i < size(); ++i) outcomes_.emplace_back(search(i).beams().size());
  }

  double run() {
    gpu::BeamLaunches launches(context());
    for (std::size_t i = 0; i < size(); ++i) {
      for (std::size_t beam = 0; beam < outcomes_[i].size(); ++beam) {
        launches.add(session(i), search(i).beams()[beam], outcomes_[i][beam]);
      }
    }
    return run_timed(launches);
  }

  void check() {
    (void)run();
    for (std::size_t i = 0; i < size(); ++i) {
      const auto by_levels = start(i);
      const auto in_one = start(i);
      const auto cpu = cpu_session(*by_levels);
      in_one->take_beams(outcomes_[i], *cpu);
      for (PublishedSearch* one : {by_levels.get(), in_one.get()}) {
        while (one->running()) one->take(placed(*cpu, *one), *cpu);
      }
      if (by_levels->plan() == in_one->plan() &&
          by_levels->candidates_examined() == in_one->candidates_examined()) {
        continue;
      }
      throw Error("search_beams: the plan of task " + std::to_string(i) +
                      " is not that of the CPU; nothing was timed",
                  ErrorKind::kBackend);
    }
  }

  /// Of the longest search; a level's placements have one piece more than those before.
  [[nodiscard]] double modelled_cycles() {
    double most = 0.0;
    for (std::size_t i = 0; i < size(); ++i) {
      for (const BeamProblem& beam : search(i).beams()) {
        double cycles = 0.0;
        for (int level = 1; level <= beam.max_splits; ++level) {
          const auto steps = static_cast<double>(beam.pieces.size()) + level;
          cycles += steps * kBeamStepCycles + kNetworkCycles + kNextLevelCycles;
        }
        most = std::max(most, cycles);
      }
    }
    return most;
  }

 private:
  std::vector<std::vector<BeamOutcome>> outcomes_;
};

template <class Placing>
KernelCase placement_case(const char* kernel, const CostModels& models,
                          const SharedContext& context, const std::vector<Task>& tasks,
                          const std::string& input) {
  const int devices = tasks.front().devices;
  const CommModel& comm = models.comm_for(devices);
  const double row =
      comm_multiply_adds(comm.forward, devices) + comm_multiply_adds(comm.backward, devices);
  const gpu::CurrentDevice current(context->device());
  const auto placing = std::make_shared<Placing>(models, context, tasks);
  const PlacementCounters work = placing->work_of([&] { return placing->run(); });
  return {.kernel = kernel,
          .input = input,
          .items = static_cast<double>(work.greedy_runs),
          .multiply_adds = static_cast<double>(work.head_evaluations) *
                               multiply_adds_per_shard(models.compute.head) +
                           static_cast<double>(work.comm_evaluations) * row,
          .modelled_seconds = placing->modelled_cycles() / kClockHz,
          .check = [placing] { placing->check(); },
          .run = [placing] { return placing->run(); }};
}

void add_placement_cases(std::vector<KernelCase>& cases, const CostModels& models,
                         const GoldenFolder& data, const SharedContext& context,
                         const KernelSizes& sizes) {
  const bool levels = is_wanted("place_candidates", sizes);
  const bool searches = is_wanted("search_beams", sizes);
  for (const std::string& name : sizes.task_sets) {
    const std::vector<Task> tasks = data.load_set(name, sizes.tasks, false).tasks;
    const std::string all = counted(tasks.size(), "tasks");
    if (levels) {
      cases.push_back(placement_case<Level>("place_candidates", models, context, {tasks.front()},
                                            name + ", a task's level"));
      cases.push_back(placement_case<Level>("place_candidates", models, context, tasks,
                                            name + ", " + all + "' levels"));
    }
    if (searches) {
      cases.push_back(placement_case<WholeSearches>("search_beams", models, context,
                                                    {tasks.front()}, name + ", a task's search"));
      cases.push_back(placement_case<WholeSearches>("search_beams", models, context, tasks,
                                                    name + ", " + all + "' searches"));
    }
  }
  if (!levels) return;
  Task large{.tables = data.tables(), .devices = 128, .memory_bytes = 0};
  large.tables.resize(std::min(large.tables.size(), sizes.large_tables));
  std::int64_t total = 0;
  for (std::size_t i = 0; i < large.tables.size(); ++i) {
    Table& table = large.tables[i];
    table.dim = 16 << i % 4;
    total += table.size_bytes();
    large.memory_bytes = std::max(large.memory_bytes, table.size_bytes());
  }
  large.memory_bytes = std::max(large.memory_bytes, 2 * total / large.devices);
  cases.push_back(
      placement_case<Level>("place_candidates", models, context, {large},
                            counted(large.tables.size(), "tables on 128 devices, a level")));
}

// ---- anneal_chains ----

// Of an edit, on average, by the counts of docs/kernels.md.
constexpr double kEditCycles = 4000.0;
constexpr std::size_t kChainsOfTask = 3;

/// Chains of annealing of some tasks, from plans by a baseline.
class Chains {
 public:
  Chains(const CostModels& models, const SharedContext& context, std::vector<Task> tasks,
         std::uint64_t edits)
      : context_(context), cpu_(select_cpu_kernels("auto"), models, true) {
    for (const Task& listed : tasks) {
      const std::optional<Plan> plan = place_by_baseline(listed, Algorithm::kDimGreedy, 0);
      if (!plan) continue;
      OfTask& of = *tasks_.emplace_back(std::make_unique<OfTask>(cpu_, listed));
      of.start = layout_of(of.catalog, *plan);
      of.problem = annealing_problem(cpu_, of.catalog, of.task, false).value();
      for (std::size_t i = 0; i < kChainsOfTask; ++i) {
        of.options.push_back(
            {.steps = edits, .stream = i, .halves = i % 2 == 0 ? Halves::kJoined : Halves::kKept});
        of.chains.push_back(annealing_chain(of.start, of.options.back()));
      }
      of.outcomes.resize(kChainsOfTask);
    }
  }

  double run() {
    gpu::ChainLaunches launches(*context_, cpu_.prices_ids());
    for (const auto& of : tasks_) {
      for (std::size_t i = 0; i < kChainsOfTask; ++i) {
        of->outcomes[i].reset();
        launches.add({&of->problem, &of->chains[i], &of->outcomes[i]});
      }
    }
    launches.prepare();
    const gpu::CurrentDevice current(context_->device());
    const double seconds = timer_.seconds(launches.stream(), [&] { launches.launch(); });
    launches.finish();
    return seconds;
  }

  void check() {
    (void)run();
    for (const auto& of : tasks_) {
      for (std::size_t i = 0; i < kChainsOfTask; ++i) {
        if (of->outcomes[i] == anneal(cpu_, of->catalog, of->task, of->start, of->options[i], {})) {
          continue;
        }
        throw Error("anneal_chains: a chain is not that of the CPU; nothing was timed",
                    ErrorKind::kBackend);
      }
    }
  }

  /// Of a run before.
  [[nodiscard]] Annealed work() const {
    Annealed total;
    for (const auto& of : tasks_) {
      for (const std::optional<Annealed>& outcome : of->outcomes) {
        if (!outcome) continue;
        total.edits += outcome->edits;
        total.head_evaluations += outcome->head_evaluations;
        total.comm_evaluations += outcome->comm_evaluations;
      }
    }
    return total;
  }

 private:
  struct OfTask {
    OfTask(const Backend& backend, const Task& listed) : task(listed), catalog(backend, task) {}

    Task task;
    PieceCatalog catalog;
    Layout start;
    AnnealingProblem problem;
    std::vector<AnnealingOptions> options;
    std::vector<AnnealingChain> chains;
    std::vector<std::optional<Annealed>> outcomes;
  };

  SharedContext context_;
  CpuBackend cpu_;
  std::vector<std::unique_ptr<OfTask>> tasks_;
  EventTimer timer_;
};

void add_annealing_cases(std::vector<KernelCase>& cases, const CostModels& models,
                         const GoldenFolder& data, const SharedContext& context,
                         const KernelSizes& sizes) {
  if (!is_wanted("anneal_chains", sizes)) return;
  for (const std::string& name : sizes.task_sets) {
    const std::vector<Task> tasks = data.load_set(name, sizes.tasks, false).tasks;
    for (const std::vector<Task>& of : {std::vector<Task>{tasks.front()}, tasks}) {
      const gpu::CurrentDevice current(context->device());
      const auto chains = std::make_shared<Chains>(models, context, of, sizes.edits);
      (void)chains->run();
      const Annealed work = chains->work();
      cases.push_back(
          {.kernel = "anneal_chains",
           .input =
               name + ", chains of " + (of.size() == 1 ? "a task" : counted(of.size(), "tasks")),
           .items = static_cast<double>(work.edits),
           // Those of heads; what the networks are asked for depends on the devices.
           .multiply_adds = static_cast<double>(work.head_evaluations) *
                            multiply_adds_per_shard(models.compute.head),
           .modelled_seconds = static_cast<double>(sizes.edits) * kEditCycles / kClockHz,
           .check = [chains] { chains->check(); },
           .run = [chains] { return chains->run(); }});
    }
  }
}

}  // namespace

std::vector<KernelCase> kernel_cases(const CostModels& models, const GoldenFolder& data,
                                     const SharedContext& context, const KernelSizes& sizes) {
  std::vector<KernelCase> cases = {nothing(context)};
  add_score_cases(cases, models, data, context, sizes);
  for (const std::size_t pieces : sizes.pieces) {
    if (is_wanted("embed_pieces", sizes))
      cases.push_back(embed_case(models, data, context, pieces));
  }
  for (const std::size_t placements : sizes.placements) {
    if (!is_wanted("comm_costs", sizes)) continue;
    cases.push_back(comm_case(models, context, 4, placements));
    cases.push_back(comm_case(models, context, 128, placements));
  }
  add_placement_cases(cases, models, data, context, sizes);
  add_annealing_cases(cases, models, data, context, sizes);
  if (cases.size() == 1) {
    throw Error("--only '" + sizes.only +
                "': no kernel has this in its name; give score_shards, embed_pieces, comm_costs, "
                "place_candidates, search_beams or anneal_chains, or a part of one");
  }
  return cases;
}

}  // namespace neuroshard::bench
