#include "core/placement/session_pool.h"

#include <gtest/gtest.h>

#include "core/placement/plain_session.h"
#include "owned_problem.h"
#include "random_tasks.h"

namespace neuroshard {
namespace {

using testing::OwnedProblem;
using testing::random_models;

// Pieces of 64 columns and made-up embeddings, enough room for all.
OwnedProblem problem_for(int devices, int pieces, int width) {
  testing::Pieces made_up;
  for (int piece = 0; piece < pieces; ++piece) {
    made_up.dims.push_back(64);
    made_up.size_bytes.push_back(1000 + piece);
    for (int i = 0; i < width; ++i) {
      made_up.embeddings.push_back(static_cast<float>((piece * 7 + i * 3) % 11) / 11.0F);
    }
  }
  OwnedProblem problem(std::move(made_up));
  problem.devices = devices;
  problem.memory_bytes = std::int64_t{1} << 40;
  problem.dim_limits = {64L * pieces, 128L * pieces};
  return problem;
}

// Every piece once, in `count` different orders.
CandidateBatch rotations(int pieces, int count) {
  CandidateBatch batch;
  for (int c = 0; c < count; ++c) {
    std::vector<std::uint32_t> order;
    for (int i = 0; i < pieces; ++i) order.push_back(static_cast<std::uint32_t>((i + c) % pieces));
    batch.add(order);
  }
  return batch;
}

std::vector<CandidateResult> results_of(PlacementSession& session, const CandidateBatch& batch) {
  std::vector<CandidateResult> results(batch.size());
  session.place(batch, results);
  return results;
}

class SessionPoolTest : public ::testing::Test {
 protected:
  const CpuKernels& kernels_ = select_cpu_kernels("auto");
  const PackedModels models_{random_models(1)};
};

TEST_F(SessionPoolTest, ForAnyNumberOfDeviceCountsWhatWaitsKeepsToTheBound) {
  constexpr std::size_t kMost = std::size_t{2} << 20;
  SessionPool pool(kernels_, models_, kMost);
  const CandidateBatch batch = rotations(20, 8);
  for (int devices = 1; devices <= 64; ++devices) {
    const OwnedProblem problem = problem_for(devices, 20, 32);
    PlainSession plain(kernels_, models_, problem);
    EXPECT_EQ(results_of(*pool.take(problem), batch), results_of(plain, batch));
    EXPECT_LE(pool.idle_bytes(), kMost);
  }
  EXPECT_GT(pool.idle_bytes(), kMost / 2);
}

TEST_F(SessionPoolTest, TheSessionsUsedLastAreKept) {
  SessionPool unbounded(kernels_, models_);
  (void)unbounded.take(problem_for(3, 20, 32));
  const std::size_t one = unbounded.idle_bytes();
  ASSERT_GT(one, 0U);
  SessionPool pool(kernels_, models_, 3 * one + one / 2);
  for (const int devices : {3, 4, 5, 3, 6}) (void)pool.take(problem_for(devices, 20, 32));
  const std::size_t before = pool.idle_bytes();
  (void)pool.take(problem_for(3, 20, 32));  // Still there.
  EXPECT_EQ(pool.idle_bytes(), before);
}

TEST_F(SessionPoolTest, LentSessionsAreOthersAndComeBack) {
  SessionPool pool(kernels_, models_);
  const OwnedProblem problem = problem_for(4, 12, 32);
  const CandidateBatch batch = rotations(12, 3);
  auto a = pool.take(problem);
  auto b = pool.take(problem);
  EXPECT_EQ(results_of(*a, batch), results_of(*b, batch));
  EXPECT_EQ(pool.idle_bytes(), 0U);
  a.reset();
  const std::size_t one = pool.idle_bytes();
  b.reset();
  EXPECT_GT(pool.idle_bytes(), one);
}

TEST_F(SessionPoolTest, ASessionOfWideEmbeddingsKeepsToItsBound) {
  const PackedModels wide(
      random_models(2, {.table_network = {8, 2048}, .head = {4, 1}, .devices = {}}));
  const OwnedProblem problem = problem_for(3, 30, 2048);
  const CandidateBatch batch = rotations(30, 30);
  PlainSession plain(kernels_, wide, problem);
  const auto expected = results_of(plain, batch);
  constexpr std::size_t kMost = std::size_t{2} << 20;  // 256 states.
  ReuseSession bounded(kernels_, wide, problem, kMost);
  const std::size_t without_states = bounded.held_bytes();
  EXPECT_EQ(results_of(bounded, batch), expected);
  EXPECT_LE(bounded.held_bytes(), without_states + kMost + (std::size_t{1} << 18));
  ReuseSession unbounded(kernels_, wide, problem);
  EXPECT_EQ(results_of(unbounded, batch), expected);
  EXPECT_GT(unbounded.held_bytes(), without_states + 2 * kMost);
}

}  // namespace
}  // namespace neuroshard
