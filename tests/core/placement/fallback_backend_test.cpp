// A GPU with a CPU beside it, and a GPU that fails at the n-th call.
#include "core/placement/fallback_backend.h"

#include <gmock/gmock.h>

#include <functional>
#include <thread>

#include "failing_backend.h"
#include "message_of.h"
#include "owned_problem.h"
#include "random_tasks.h"

namespace neuroshard {
namespace {

using testing::FailingBackend;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;
using testing::OwnedProblem;

constexpr int kNeverFails = 1'000'000;
constexpr std::uint32_t kPieces = 40;
constexpr std::size_t kManyPieces = 1100;
constexpr std::uint32_t kCandidates = 80;  // Worth a launch.

// All that a GPU does for a search, in an order in which a search might ask for it.
struct Work {
  std::vector<float> embeddings;
  std::vector<float> cost_ms;
  std::vector<std::vector<CandidateResult>> results;
  std::vector<std::optional<std::vector<std::uint32_t>>> assignments;
  std::uint64_t greedy_runs = 0;

  friend bool operator==(const Work&, const Work&) = default;
};

class FallbackBackendTest : public ::testing::Test {
 protected:
  static OwnedProblem problem(int devices) {
    testing::Pieces pieces;
    for (std::uint32_t piece = 0; piece < kPieces; ++piece) {
      pieces.dims.push_back(4 << piece % 6);
      pieces.size_bytes.push_back(100 + piece * piece % 37);
      for (std::uint32_t i = 0; i < 32; ++i) {
        pieces.embeddings.push_back(static_cast<float>((piece * 7 + i * 3) % 11) / 11.0F);
      }
    }
    OwnedProblem problem(std::move(pieces));
    problem.devices = devices;
    problem.memory_bytes = 100'000;
    for (const int columns : {1600, 2000, 2400}) problem.dim_limits.push_back(columns / devices);
    return problem;
  }

  static CandidateBatch candidates(std::uint32_t first, std::uint32_t count = kCandidates) {
    CandidateBatch batch;
    for (std::uint32_t c = first; c < first + count; ++c) {
      std::vector<std::uint32_t> pieces;
      for (std::uint32_t i = 0; i < kPieces; ++i) pieces.push_back((i * 3 + c) % kPieces);
      batch.add(pieces);
    }
    return batch;
  }

  static Work work(const Backend& backend) {
    Work done;
    std::vector<float> features(kManyPieces * kTableFeatures);
    for (std::size_t i = 0; i < features.size(); ++i) features[i] = static_cast<float>(i % 31);
    done.embeddings.resize(kManyPieces * static_cast<std::size_t>(backend.embedding_width()));
    backend.embed_pieces(features, done.embeddings);
    std::vector<std::uint32_t> ids(kManyPieces + 1);
    for (std::uint32_t i = 0; i < ids.size(); ++i) ids[i] = i;
    done.cost_ms.resize(kManyPieces);
    backend.score_shards(done.embeddings, {ids, std::span(ids).first(kManyPieces)}, done.cost_ms);

    const OwnedProblem problems[] = {problem(2), problem(4)};
    std::unique_ptr<PlacementSession> sessions[2];
    for (std::size_t s = 0; s < 2; ++s) sessions[s] = backend.start(problems[s]);
    for (const std::uint32_t level : {0U, kCandidates}) {
      const CandidateBatch batch = candidates(level);
      std::vector<CandidateResult> results[2];
      std::vector<Backend::Request> requests;
      for (std::size_t s = 0; s < 2; ++s) {
        results[s].resize(batch.size());
        requests.push_back({sessions[s].get(), &batch, results[s]});
      }
      backend.place(requests);
      done.results.insert(done.results.end(), {results[0], results[1]});
    }
    for (const auto& session : sessions) {
      const CandidateBatch batch = candidates(7);
      done.assignments.push_back(session->assignments(batch.pieces_of(0), 2));
      session->place(batch, done.results.emplace_back(batch.size()));
      done.greedy_runs += session->counters().greedy_runs;
    }
    return done;
  }

  const std::unique_ptr<Backend> cpu_ = make_cpu_backend(testing::random_models(1));
};

TEST_F(FallbackBackendTest, GoesOnWhereverTheGpuFails) {
  const Work expected = work(*cpu_);
  ASSERT_TRUE(expected.assignments[0].has_value());
  ASSERT_EQ(expected.greedy_runs, 2U * 3 * kCandidates * 3);
  int works = 0;
  for (;; ++works) {
    SCOPED_TRACE(works);
    const FailingBackend gpu(*cpu_, works);
    const FallbackBackend backend(gpu, *cpu_, /*may_fall_back=*/true);
    EXPECT_EQ(backend.name(), "failing");
    EXPECT_EQ(work(backend), expected);
    if (backend.warning().empty()) break;
    EXPECT_EQ(backend.warning(), "the GPU failed (the device is gone); went on with the CPU");
    EXPECT_EQ(backend.name(), cpu_->name());
  }
  // Two for pieces, two sessions, two levels, and one for each session alone.
  EXPECT_EQ(works, 8);
}

TEST_F(FallbackBackendTest, AGpuThatIsWantedAndNoOtherThrows) {
  for (int works = 0; works < 8; ++works) {
    SCOPED_TRACE(works);
    const FailingBackend gpu(*cpu_, works);
    const FallbackBackend backend(gpu, *cpu_, /*may_fall_back=*/false);
    EXPECT_EQ(message_of([&] { (void)work(backend); }, ErrorKind::kBackend), "the device is gone");
    EXPECT_THAT(backend.warning(), IsEmpty());
    EXPECT_EQ(backend.name(), "failing");
  }
}

TEST_F(FallbackBackendTest, BadInputIsNoFailureOfTheGpu) {
  const FailingBackend gpu(*cpu_, 2, ErrorKind::kInvalidInput);
  const FallbackBackend backend(gpu, *cpu_, /*may_fall_back=*/true);
  EXPECT_EQ(message_of([&] { (void)work(backend); }, ErrorKind::kInvalidInput),
            "the device is gone");
  EXPECT_THAT(backend.warning(), IsEmpty());
}

TEST_F(FallbackBackendTest, SmallPortionsAreForTheCpu) {
  const FailingBackend gpu(*cpu_, 0);
  const FallbackBackend backend(gpu, *cpu_, /*may_fall_back=*/false);
  std::vector<float> embeddings(1024 * 32);
  backend.embed_pieces(std::vector<float>(1023 * kTableFeatures, 1.0F),
                       std::span(embeddings).first(1023 * 32));
  // A plan for the most devices there can be.
  const std::vector<std::uint32_t> offsets(1025);
  std::vector<float> cost_ms(1024);
  backend.score_shards(embeddings, {offsets, {}}, cost_ms);
  const std::vector<float> dim_sums(1024, 64.0F);
  const std::vector<float> offsets_ms(1024);
  backend.backward_comm(1024, dim_sums, cost_ms);
  backend.forward_comm(1024, dim_sums, offsets_ms, cost_ms);
  backend.cost_runner(1024)->backward(dim_sums, cost_ms);
  const auto fails = [&](const std::function<void()>& work) {
    return message_of(work, ErrorKind::kBackend);
  };
  EXPECT_THAT(fails([&] {
                backend.embed_pieces(std::vector<float>(1024 * kTableFeatures, 1.0F), embeddings);
              }),
              HasSubstr("gone"));
  EXPECT_THAT(fails([&] { (void)backend.start(problem(2)); }), HasSubstr("gone"));
}

TEST_F(FallbackBackendTest, SmallBatchesAreForTheCpu) {
  const OwnedProblem of_four = problem(4);
  std::vector<CandidateResult> expected(kCandidates);
  cpu_->start(of_four)->place(candidates(0), expected);
  const auto places = [&](std::uint32_t count, std::size_t cpu_threads) {
    const FailingBackend gpu(*cpu_, 1);  // It has the problem, and places nothing.
    const FallbackBackend backend(gpu, *cpu_, /*may_fall_back=*/false, cpu_threads);
    const auto session = backend.start(of_four);
    const CandidateBatch batch = candidates(0, count);
    std::vector<CandidateResult> results(count);
    try {
      backend.place({{{session.get(), &batch, results}}});
    } catch (const Error&) {
      return false;
    }
    EXPECT_THAT(results, ::testing::ElementsAreArray(std::span(expected).first(count)));
    EXPECT_EQ(session->counters().greedy_runs, 3U * count);
    return true;
  };
  EXPECT_TRUE(places(1, 1));
  EXPECT_TRUE(places(5, 1));
  EXPECT_FALSE(places(kCandidates, 1));
  EXPECT_TRUE(places(kCandidates, 4));
}

// A single plan has few launches, which are for what saves much.
TEST_F(FallbackBackendTest, OnePlanHasALaunchForLargeBatchesAloneWhileThereAreAny) {
  constexpr std::uint32_t kMany = 1000;
  const OwnedProblem of_four = problem(4);
  std::vector<CandidateResult> expected(kMany);
  cpu_->start(of_four)->place(candidates(0, kMany), expected);
  const auto places = [&](std::uint32_t count, PlanLaunches& launches) {
    const FailingBackend gpu(*cpu_, 1);  // It has the problem, and places nothing.
    const FallbackBackend backend(gpu, *cpu_, /*may_fall_back=*/false, 1, &launches);
    std::vector<float> embeddings(kManyPieces * 32);
    backend.embed_pieces(std::vector<float>(kManyPieces * kTableFeatures, 1.0F), embeddings);
    const auto session = backend.start(of_four);
    const CandidateBatch batch = candidates(0, count);
    std::vector<CandidateResult> results(count);
    try {
      backend.place({{{session.get(), &batch, results}}});
    } catch (const Error&) {
      return false;
    }
    EXPECT_THAT(results, ::testing::ElementsAreArray(std::span(expected).first(count)));
    return true;
  };
  PlanLaunches launches(1);
  EXPECT_TRUE(places(kCandidates, launches));
  EXPECT_FALSE(places(kMany, launches));
  EXPECT_TRUE(places(kMany, launches));
}

TEST_F(FallbackBackendTest, ThreadsMayShareIt) {
  const Work expected = work(*cpu_);
  for (const int works : {0, 3, 17, 30, kNeverFails}) {
    SCOPED_TRACE(works);
    const FailingBackend gpu(*cpu_, works);
    const FallbackBackend backend(gpu, *cpu_, /*may_fall_back=*/true);
    std::vector<Work> done(4);
    {
      std::vector<std::jthread> threads;
      for (Work& one : done) threads.emplace_back([&] { one = work(backend); });
    }
    for (const Work& one : done) EXPECT_EQ(one, expected);
    EXPECT_EQ(backend.warning().empty(), works == kNeverFails);
  }
}

}  // namespace
}  // namespace neuroshard
