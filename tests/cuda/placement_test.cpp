// Greedy placements on CUDA against the plain ones of the scalar backend: equal to the last bit.
#include <gmock/gmock.h>

#include <thread>

#include "cuda/cuda_test.h"
#include "cuda/random_problems.h"
#include "golden.h"
#include "random_tasks.h"
#include "repetitions.h"

namespace neuroshard {

// For messages of GoogleTest.
static void PrintTo(const CandidateResult& result, std::ostream* out) {
  *out << result.cost_ms << " ms under limit " << result.limit;
}

namespace {

using testing::golden_models;
using testing::ProblemShape;
using testing::random_candidates;
using testing::random_models;
using testing::random_problem;

using Placement = testing::CudaTest;

struct Outcome {
  std::vector<CandidateResult> results;
  PlacementCounters counters;
};

Outcome place(const Backend& backend, const PlacementProblem& problem,
              const CandidateBatch& candidates) {
  Outcome outcome;
  outcome.results.resize(candidates.size(), {.cost_ms = -1.0, .limit = -7});
  const auto session = backend.start(problem);
  session->place(candidates, outcome.results);
  outcome.counters = session->counters();
  return outcome;
}

class PlacementPair {
 public:
  explicit PlacementPair(const CostModels& models)
      : scalar_(make_cpu_backend(models, {.name = "scalar", .reuse_work = false})),
        cuda_(make_cuda_backend(models)) {}

  /// Returns the number of placements that fit.
  std::uint64_t expect_same(std::uint64_t seed, const ProblemShape& shape, int candidates,
                            int pieces) const {
    const auto problem = random_problem(seed, shape, cuda_->embedding_width());
    const CandidateBatch batch = random_candidates(seed, problem, candidates, pieces);
    const Outcome expected = place(*scalar_, problem, batch);
    const Outcome actual = place(*cuda_, problem, batch);
    EXPECT_THAT(actual.results, ::testing::ElementsAreArray(expected.results));
    EXPECT_EQ(actual.counters.greedy_runs, expected.counters.greedy_runs);
    EXPECT_LE(actual.counters.comm_evaluations, expected.counters.comm_evaluations);
    const auto session = cuda_->start(problem);
    const auto reference = scalar_->start(problem);
    for (int limit = 0; limit < static_cast<int>(problem.dim_limits.size()); ++limit) {
      EXPECT_EQ(session->assignments(batch.pieces_of(0), limit),
                reference->assignments(batch.pieces_of(0), limit));
    }
    return expected.counters.comm_evaluations;
  }

 private:
  std::unique_ptr<Backend> scalar_;
  std::unique_ptr<Backend> cuda_;
};

TEST_F(Placement, PublishedModels) {
  const std::vector<double> slacks =
      NEUROSHARD_SANITIZED ? std::vector{1.3} : std::vector{1.05, 1.3, 3.0};
  const PlacementPair pair(golden_models());
  std::uint64_t placed = 0;
  std::uint64_t seed = 0;
  for (const int devices : {2, 4, 8, 16}) {
    // Few candidates: a warp for each limit. Many: all limits in one warp.
    for (const int candidates : {1, 5, 90}) {
      for (const double slack : slacks) {
        SCOPED_TRACE(++seed);
        placed += pair.expect_same(seed, {.devices = devices, .pieces = 30, .memory_slack = slack},
                                   candidates, 35);
      }
    }
  }
  EXPECT_GT(placed, 300 * slacks.size());
}

TEST_F(Placement, AnyNumberOfDevices) {
  // With models that know hardly any offset, too.
  const PlacementPair knowing(random_models(11));
  const PlacementPair narrow(testing::with_offsets_up_to(random_models(11), 0.01));
  for (const int devices : {1, 3, 31, 32, 33, 70, 128}) {
    const PlacementPair& pair = devices % 2 == 0 ? narrow : knowing;
    if (NEUROSHARD_SANITIZED && devices > 33) break;
    SCOPED_TRACE(devices);
    EXPECT_GT(pair.expect_same(static_cast<std::uint64_t>(devices),
                               {.devices = devices, .pieces = 4 * devices, .memory_slack = 4.0},
                               devices > 32 ? 3 : 12, 4 * devices),
              0U);
  }
}

TEST_F(Placement, AThousandDevices) {
  const PlacementPair pair(random_models(12));
  EXPECT_GT(pair.expect_same(1, {.devices = 1024, .pieces = 700, .limits = 2, .memory_slack = 40.0},
                             3, 1100),
            0U);
}

TEST_F(Placement, ManyPieces) {
  const PlacementPair pair(random_models(13));
  const int pieces = testing::runs_on_gpu() ? 16384 : 3000;
  EXPECT_GT(pair.expect_same(2, {.devices = 8, .pieces = 5000, .limits = 3, .memory_slack = 8.0}, 3,
                             pieces),
            0U);
}

TEST_F(Placement, AnyNumberOfLimits) {
  const PlacementPair pair(golden_models());
  for (const int limits : {0, 1, 2, 5, 16, 17, 70}) {
    SCOPED_TRACE(limits);
    for (const int candidates : {2, 40}) {
      (void)pair.expect_same(static_cast<std::uint64_t>(limits) + 100,
                             {.devices = 4, .pieces = 25, .limits = limits}, candidates, 25);
    }
  }
}

TEST_F(Placement, OtherLayerSizes) {
  const std::vector<int> devices = {1, 4, 40};
  const testing::ModelShape shapes[] = {
      {.table_network = {17, 12}, .head = {21, 1}, .comm = {9, 5}, .devices = devices},
      {.table_network = {40}, .head = {1}, .comm = {}, .devices = devices},
      {.table_network = {24, 48}, .head = {32, 16, 8, 1}, .comm = {6, 1, 7}, .devices = {}},
      {.table_network = {8, 1}, .head = {1, 1}, .comm = {1}, .devices = {}},
  };
  std::uint64_t seed = 50;
  for (const auto& shape : shapes) {
    const PlacementPair pair(random_models(seed, shape));
    for (const int count : devices) {
      for (const int candidates : {3, NEUROSHARD_SANITIZED ? 6 : 30}) {
        SCOPED_TRACE(++seed);
        EXPECT_GT(pair.expect_same(seed, {.devices = count, .pieces = 45, .memory_slack = 3.0},
                                   candidates, 60),
                  0U);
      }
    }
  }
}

TEST_F(Placement, EqualCandidatesArePlacedOnce) {
  const auto scalar = make_cpu_backend(golden_models(), {.name = "scalar", .reuse_work = false});
  const auto cuda = make_cuda_backend(golden_models());
  for (const int candidates : {4, 30}) {
    SCOPED_TRACE(candidates);
    const auto problem = random_problem(70, {.devices = 4}, cuda->embedding_width());
    const CandidateBatch different = random_candidates(70, problem, candidates, 24);
    CandidateBatch batch;
    for (std::size_t c = 0; c < different.size(); ++c) {
      batch.add(different.pieces_of(c));
      batch.add(different.pieces_of(c / 2));
    }
    const Outcome expected = place(*scalar, problem, batch);
    const Outcome once = place(*cuda, problem, different);
    const Outcome actual = place(*cuda, problem, batch);
    EXPECT_THAT(actual.results, ::testing::ElementsAreArray(expected.results));
    EXPECT_EQ(actual.counters.greedy_runs, expected.counters.greedy_runs);
    EXPECT_EQ(actual.counters.head_evaluations, once.counters.head_evaluations);
    EXPECT_EQ(actual.counters.comm_evaluations, once.counters.comm_evaluations);
  }
}

TEST_F(Placement, NothingFits) {
  const PlacementPair pair(golden_models());
  // Only the candidate without pieces can be placed, under each limit.
  EXPECT_EQ(pair.expect_same(3, {.devices = 4, .limits = 11, .memory_slack = 0.2}, 9, 30), 11U);
}

TEST_F(Placement, EqualPiecesTie) {
  const PlacementPair pair(golden_models());
  for (const std::uint64_t seed : testing::Seeds(6)) {
    (void)pair.expect_same(seed, {.devices = 8, .pieces = 3, .memory_slack = 40.0}, 4, 41);
  }
}

// A device whose cost is below the range of fp32 is never chosen again, as on the CPU. Were it the
// cheapest, all pieces would go there, and placements would come to an end that have none.
TEST_F(Placement, CostsThatOverflow) {
  for (const testing::ModelShape& shape :
       {testing::ModelShape{},
        testing::ModelShape{.table_network = {17, 12}, .head = {21, 1}, .comm = {9, 5}}}) {
    for (const float weight : {-3e38F, 3e38F}) {
      CostModels models = random_models(21, shape);
      auto& layers = models.compute.head.layers;
      std::fill(layers.back().weight.begin(), layers.back().weight.end(), weight);
      std::fill(layers.front().bias.begin(), layers.front().bias.end(), 2.0F);
      const PlacementPair pair(models);
      for (const int devices : {8, 40}) {
        SCOPED_TRACE(std::to_string(weight) + ", devices: " + std::to_string(devices));
        // Only the candidate without pieces can be placed.
        EXPECT_EQ(pair.expect_same(static_cast<std::uint64_t>(devices),
                                   {.devices = devices, .pieces = 30, .memory_slack = 60.0}, 12,
                                   2 * devices),
                  11U);
      }
    }
  }
}

TEST_F(Placement, ManyTasksInOneCall) {
  const auto scalar = make_cpu_backend(golden_models(), {.name = "scalar", .reuse_work = false});
  const auto cuda = make_cuda_backend(golden_models());
  std::vector<testing::OwnedProblem> problems;
  std::vector<std::unique_ptr<PlacementSession>> sessions;
  for (std::uint64_t seed = 0; seed < 14; ++seed) {
    const int devices = 2 << seed % 4;
    problems.push_back(
        random_problem(seed, {.devices = devices, .pieces = 20, .limits = seed % 5 == 0 ? 3 : 11},
                       cuda->embedding_width()));
    sessions.push_back(cuda->start(problems.back()));
  }
  // Sessions are used again and again, as in the levels of a search.
  for (std::uint64_t level = 0; level < 3; ++level) {
    std::vector<CandidateBatch> batches;
    std::vector<std::vector<CandidateResult>> results;
    std::vector<Backend::Request> requests;
    for (std::size_t s = 0; s < sessions.size(); ++s) {
      const int candidates = s == 3 ? 0 : static_cast<int>(1 + (s * 7 + level) % 13);
      batches.push_back(
          random_candidates(level * 100 + s, problems[s], candidates, static_cast<int>(20 + s)));
      results.emplace_back(batches.back().size());
    }
    for (std::size_t s = 0; s < sessions.size(); ++s) {
      requests.push_back({sessions[s].get(), &batches[s], results[s]});
    }
    cuda->place(requests);
    for (std::size_t s = 0; s < sessions.size(); ++s) {
      SCOPED_TRACE(s);
      EXPECT_THAT(results[s],
                  ::testing::ElementsAreArray(place(*scalar, problems[s], batches[s]).results));
    }
  }
}

TEST_F(Placement, ThreadsShareABackend) {
  const auto scalar = make_cpu_backend(golden_models(), {.name = "scalar", .reuse_work = false});
  const auto cuda = make_cuda_backend(golden_models());
  std::vector<std::jthread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t round = 0; round < 3; ++round) {
        const auto problem =
            random_problem(t * 10 + round, {.devices = 4, .pieces = 16}, cuda->embedding_width());
        const auto batch = random_candidates(round, problem, 6, 18);
        EXPECT_EQ(place(*cuda, problem, batch).results, place(*scalar, problem, batch).results);
      }
    });
  }
}

}  // namespace
}  // namespace neuroshard
