// Tests what happens when CUDA is missing or fails.
#include <cuda_runtime.h>
#include <gmock/gmock.h>

#include "cuda/backend/placement_launches.h"
#include "cuda/placement/place_candidates.h"
#include "cuda/random_problems.h"
#include "cuda_host/host_cuda_test.h"
#include "golden.h"
#include "message_of.h"
#include "neuroshard/cuda_backend.h"
#include "neuroshard/planner.h"
#include "random_tasks.h"
#include "search/random_layouts.h"

namespace neuroshard {
namespace {

using ::testing::AllOf;
using testing::golden_models;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;
using testing::random_candidates;
using testing::random_problem;

class Failures : public testing::HostCudaTest {
 protected:
  static std::string backend_error() {
    return message_of([] { (void)make_cuda_backend(golden_models()); }, ErrorKind::kBackend);
  }
};

TEST_F(Failures, NoDevice) {
  host_cuda::reset({.devices = 0});
  EXPECT_THAT(cuda_devices(), IsEmpty());
  EXPECT_THAT(backend_error(), AllOf(HasSubstr("no CUDA-capable device"), HasSubstr("nvidia-smi"),
                                     HasSubstr("CPU backend")));
}

TEST_F(Failures, NoDriver) {
  host_cuda::reset({.driver_version = 0});
  EXPECT_THAT(cuda_devices(), IsEmpty());
  EXPECT_THAT(backend_error(), AllOf(HasSubstr("driver"), HasSubstr("update the NVIDIA driver")));
}

TEST_F(Failures, DeviceTooOld) {
  host_cuda::reset({.compute_capability = 75});
  ASSERT_EQ(cuda_devices().size(), 1U);
  EXPECT_FALSE(cuda_devices().front().usable);
  EXPECT_THAT(backend_error(), AllOf(HasSubstr("8.0 or later"), HasSubstr("7.5")));
}

TEST_F(Failures, DeviceThatIsNotThere) {
  EXPECT_THAT(message_of([] { (void)make_cuda_backend(golden_models(), {.devices = {3}}); },
                         ErrorKind::kBackend),
              AllOf(HasSubstr("device 3"), HasSubstr("0: host-executed CUDA")));
}

TEST_F(Failures, NoMemory) {
  host_cuda::reset({.memory_bytes = 100});
  EXPECT_THAT(backend_error(), AllOf(HasSubstr("out of memory"), HasSubstr("fewer tasks")));
}

TEST_F(Failures, MemoryRunsOut) {
  const auto cuda = make_cuda_backend(golden_models());
  host_cuda::fail_allocations(true);
  const auto problem = random_problem(1, {}, cuda->embedding_width());
  EXPECT_THAT(message_of([&] { (void)cuda->start(problem); }, ErrorKind::kBackend),
              HasSubstr("out of memory"));
  host_cuda::fail_allocations(false);
  // That was the call's failure, not the device's.
  const auto session = cuda->start(problem);
  // So many that finished placements have no room in shared memory.
  const auto batch = random_candidates(1, problem, 100, 20);
  std::vector<CandidateResult> results(batch.size());
  host_cuda::fail_allocations(true);
  EXPECT_THAT(message_of([&] { session->place(batch, results); }, ErrorKind::kBackend),
              HasSubstr("out of memory"));
  host_cuda::fail_allocations(false);
  session->place(batch, results);
  EXPECT_GE(results[0].limit, 0);
}

// Whatever buffer could not be mapped, the next call gets one that is.
TEST_F(Failures, PinnedMemoryCannotBeMapped) {
  const auto cuda = make_cuda_backend(golden_models());
  const auto cpu = make_cpu_backend(golden_models());
  const auto problem = random_problem(1, {}, cuda->embedding_width());
  const auto batch = random_candidates(1, problem, 100, 20);
  std::vector<CandidateResult> expected(batch.size());
  cpu->start(problem)->place(batch, expected);
  const auto fails = [&](const auto& work) {
    host_cuda::fail_mappings(true);
    EXPECT_THAT(message_of(work, ErrorKind::kBackend), HasSubstr("out of memory"));
    host_cuda::fail_mappings(false);
  };
  std::vector<CandidateResult> results(batch.size());
  fails([&] { cuda->start(problem)->place(batch, results); });
  const auto session = cuda->start(problem);
  fails([&] { session->place(batch, results); });
  session->place(batch, results);
  EXPECT_EQ(results, expected);
}

TEST_F(Failures, TooManyDevicesForSharedMemory) {
  host_cuda::reset({.shared_bytes_per_block = 49152});
  const auto cuda = make_cuda_backend(testing::random_models(1));
  const auto problem = random_problem(1, {.devices = 1024}, cuda->embedding_width());
  EXPECT_THAT(message_of([&] { (void)cuda->start(problem); }, ErrorKind::kBackend),
              AllOf(HasSubstr("1024 devices"), HasSubstr("shared memory")));
}

// 1,000 units take 8 KB a row, so that 32 rows exceed a block's 227 KB.
TEST_F(Failures, WideNetworksTakeShorterTiles) {
  const CostModels models = testing::random_models(
      1, {.table_network = {1000, 32}, .head = {64, 1}, .comm = {1000, 16}, .devices = {4}});
  const auto cuda = make_cuda_backend(models);
  const auto cpu = make_cpu_backend(models);
  const std::size_t pieces = 150;
  std::vector<float> features(pieces * kTableFeatures);
  for (std::size_t i = 0; i < features.size(); ++i) features[i] = static_cast<float>(i % 37);
  std::vector<float> embeddings(pieces * 32);
  std::vector<float> expected(pieces * 32);
  cuda->embed_pieces(features, embeddings);
  cpu->embed_pieces(features, expected);
  EXPECT_EQ(embeddings, expected);
}

// A row of the communication network takes nearly all of a block's memory: with as many slots as
// usual there would be room for none.
TEST_F(Failures, WideNetworksLeaveRoomForFewSlots) {
  host_cuda::reset({.multiprocessors = 132});
  constexpr int kCandidates = 50;
  std::vector<int> slots;
  int refused = 0;
  for (int width = 28'760; width <= 28'880; width += 4) {
    SCOPED_TRACE(width);
    const CostModels models = testing::random_models(1, {.comm = {width}, .devices = {2}});
    const auto cpu = make_cpu_backend(models);
    const gpu::DeviceContext context(0, models, cpu->embedding_width());
    gpu::PlacementShape shape;
    try {
      shape = gpu::choose_shape(context, kCandidates, 2, 1, width);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBackend);
      ++refused;
      continue;
    }
    EXPECT_EQ(refused, 0);
    ASSERT_GE(shape.comm_rows, 1);
    EXPECT_LE(gpu::placement_shared_bytes(shape), context.shared_bytes());
    const bool is_new = slots.empty() || slots.back() != shape.slots;
    if (!is_new) continue;
    slots.push_back(shape.slots);
    const auto problem = random_problem(1, {.devices = 2, .limits = 1}, cpu->embedding_width());
    const auto batch = random_candidates(1, problem, kCandidates, 8);
    std::vector<CandidateResult> expected(batch.size());
    std::vector<CandidateResult> results(batch.size());
    cpu->start(problem)->place(batch, expected);
    make_cuda_backend(models)->start(problem)->place(batch, results);
    EXPECT_EQ(results, expected);
  }
  EXPECT_GT(slots.front(), slots.back());
  EXPECT_GT(refused, 0);
}

TEST_F(Failures, NetworksTooWideForSharedMemory) {
  host_cuda::reset({.shared_bytes_per_block = 49152});
  EXPECT_THAT(
      message_of(
          [] {
            (void)make_cuda_backend(testing::random_models(1, {.head = {2000, 1}, .devices = {}}));
          },
          ErrorKind::kBackend),
      AllOf(HasSubstr("the head takes"), HasSubstr("49152"), HasSubstr("CPU backend")));

  const auto cuda = make_cuda_backend(
      testing::random_models(1, {.table_network = {7000, 32}, .comm = {7000}, .devices = {2}}));
  std::vector<float> costs(2);
  EXPECT_THAT(message_of([&] { cuda->backward_comm(2, std::vector<float>(2, 64.0F), costs); },
                         ErrorKind::kBackend),
              AllOf(HasSubstr("communication network takes"), HasSubstr("49152")));
  std::vector<float> embedding(32);
  EXPECT_THAT(
      message_of([&] { cuda->embed_pieces(std::vector<float>(kTableFeatures, 1.0F), embedding); },
                 ErrorKind::kBackend),
      AllOf(HasSubstr("table network takes"), HasSubstr("49152"), HasSubstr("CPU backend")));
}

TEST_F(Failures, EveryLaunchCanFail) {
  const auto problem = random_problem(1, {.devices = 4}, 32);
  const auto batch = random_candidates(1, problem, 3, 20);
  // Launches: one for the empty shard when the backend is made, then one a call.
  for (int launch = 0; launch < 6; ++launch) {
    SCOPED_TRACE(launch);
    host_cuda::reset();
    host_cuda::fail_after(launch);
    int done = 0;
    const std::string message = message_of(
        [&] {
          const auto cuda = make_cuda_backend(golden_models());
          const auto session = cuda->start(problem);
          std::vector<CandidateResult> results(batch.size());
          for (; done < 2; ++done) session->place(batch, results);
          std::vector<float> costs(4);
          for (; done < 4; ++done) cuda->backward_comm(4, std::vector<float>(4, 64.0F), costs);
          std::vector<float> rows(32);
          for (; done < 6; ++done) cuda->embed_pieces(std::vector<float>(20, 1.0F), rows);
        },
        ErrorKind::kBackend);
    EXPECT_EQ(done, std::max(0, launch - 1));
    EXPECT_THAT(message, AllOf(HasSubstr("illegal memory access"),
                               HasSubstr("cannot be used again in this process")));
  }
}

TEST_F(Failures, AFailedDeviceStaysFailed) {
  const auto cuda = make_cuda_backend(golden_models());
  const auto problem = random_problem(1, {}, cuda->embedding_width());
  const auto session = cuda->start(problem);
  const auto batch = random_candidates(1, problem, 4, 20);
  std::vector<CandidateResult> results(batch.size());
  host_cuda::fail_after(0);
  for (int attempt = 0; attempt < 3; ++attempt) {
    EXPECT_THAT(message_of([&] { session->place(batch, results); }, ErrorKind::kBackend),
                HasSubstr("illegal memory access"));
  }
}

TEST_F(Failures, PlansGoOnOnTheCpu) {
  PlannerOptions options{
      .search = {.beam_width = 2, .candidates = 3, .max_splits = 2, .grid_steps = 5},
      .backend = available_cpu_backends().front()};
  const Task task = testing::golden_task("4gpu_dim128", 1);
  const PlanResult expected = Planner(golden_models(), options).plan(task);
  options.backend = "auto";
  // Every launch of the search fails once; the first that it does not reach ends the test.
  int launch = 0;
  for (;; ++launch) {
    SCOPED_TRACE(launch);
    host_cuda::reset();
    const Planner planner(golden_models(), options);
    EXPECT_EQ(planner.backend(), "cuda");
    host_cuda::fail_after(launch);
    const PlanResult actual = planner.plan(task);
    EXPECT_EQ(actual.plan, expected.plan);
    EXPECT_EQ(actual.cost.cost_ms, expected.cost.cost_ms);
    if (actual.stats.warning.empty()) {
      EXPECT_EQ(actual.stats.backend, "cuda");
      break;
    }
    EXPECT_THAT(actual.stats.warning, HasSubstr("illegal memory access"));
    EXPECT_EQ(actual.stats.backend, expected.stats.backend);
    ASSERT_LT(launch, 100);
  }
  EXPECT_EQ(launch, 1);  // The published search; a single task's ladders are for the CPU.
}

TEST_F(Failures, BatchesOfTasksBeginOnTheGpuAndGoOnOnTheCpu) {
  PlannerOptions options{.algorithm = Algorithm::kPublished};
  options.search = {.beam_width = 1, .candidates = 1, .max_splits = 1, .grid_steps = 2};
  options.threads = 1;
  options.backend = available_cpu_backends().front();
  std::vector<Task> tasks;
  for (int i = 0; i < 16; ++i) tasks.push_back(testing::golden_task("4gpu_dim128", i));
  const std::vector<PlanOutcome> expected = Planner(golden_models(), options).plan_batch(tasks);
  options.backend = "auto";
  // Launch 0 computes all tasks' embeddings, launch 1 the costs of their pieces, the last one
  // searches.
  std::uint64_t launches = 0;
  for (const int failing : {-1, 0, 1, 2}) {
    SCOPED_TRACE(failing);
    host_cuda::reset();
    const Planner planner(golden_models(), options);
    const std::uint64_t before = host_cuda::usage().launches;
    host_cuda::fail_after(failing);
    const std::vector<PlanOutcome> actual = planner.plan_batch(tasks);
    if (failing < 0) launches = host_cuda::usage().launches - before;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      SCOPED_TRACE(i);
      EXPECT_EQ(actual[i]->plan, expected[i]->plan);
      EXPECT_EQ(actual[i]->cost.cost_ms, expected[i]->cost.cost_ms);
      EXPECT_EQ(actual[i]->stats.backend, failing < 0 ? "cuda" : expected[i]->stats.backend);
      EXPECT_EQ(actual[i]->stats.warning.empty(), failing < 0);
    }
  }
  EXPECT_EQ(launches, 3U);
}

TEST_F(Failures, AGpuThatCannotBeUsedIsReportedWithEachPlan) {
  PlannerOptions options{
      .search = {.beam_width = 1, .candidates = 2, .max_splits = 1, .grid_steps = 3}};
  const std::vector<Task> tasks = {testing::golden_task("2gpu_dim128", 0)};
  const auto warning_with = [&](const host_cuda::DeviceSettings& settings) {
    host_cuda::reset(settings);
    const Planner planner(golden_models(), options);
    const PlanResult one = planner.plan(tasks.front());
    EXPECT_TRUE(one.plan.has_value());
    EXPECT_EQ(one.stats.warning, planner.plan_batch(tasks).front()->stats.warning);
    return one.stats.warning;
  };
  EXPECT_THAT(warning_with({.compute_capability = 75}),
              AllOf(HasSubstr("cannot be used"), HasSubstr("8.0 or later"), HasSubstr("CPU")));
  EXPECT_THAT(warning_with({.memory_bytes = 100}), HasSubstr("out of memory"));
  // Nothing to report: there is none, or it works.
  EXPECT_EQ(warning_with({.devices = 0}), "");
  EXPECT_EQ(warning_with({}), "");
}

TEST_F(Failures, AForcedBackendDoesNotFallBack) {
  PlannerOptions options{.backend = "cuda"};
  const Task task = testing::golden_task("4gpu_dim128", 1);
  const Planner planner(golden_models(), options);
  host_cuda::fail_after(0);
  EXPECT_THAT(message_of([&] { (void)planner.plan(task); }, ErrorKind::kBackend),
              HasSubstr("illegal memory access"));
}

TEST_F(Failures, AForcedBackendFailsTheTasksThatItHas) {
  PlannerOptions options{
      .search = {.beam_width = 1, .candidates = 1, .max_splits = 1, .grid_steps = 2},
      .backend = "cuda",
      .threads = 1};
  std::vector<Task> tasks(70, testing::golden_task("2gpu_dim64", 1));  // More than are in flight.
  tasks[3].tables[0].dim = 30;
  const Planner planner(golden_models(), options);
  host_cuda::fail_after(0);
  const std::vector<PlanOutcome> outcomes = planner.plan_batch(tasks);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    SCOPED_TRACE(i);
    ASSERT_FALSE(outcomes[i].has_value());
    EXPECT_THAT(outcomes[i].error().what(),
                HasSubstr(i == 3 ? "not a multiple of 4" : "illegal memory access"));
    EXPECT_EQ(outcomes[i].error().kind(), i == 3 ? ErrorKind::kInvalidInput : ErrorKind::kBackend);
  }
}

TEST_F(Failures, MorePiecesThanAreCounted) {
  const auto cuda = make_cuda_backend(golden_models());
  const float one = 0.0F;
  const std::uint32_t offsets[] = {0, 0};
  float cost_ms = 0.0F;
  // Nothing is read of them.
  const std::span<const float> embeddings(&one, std::size_t{32} << 29);
  EXPECT_THAT(message_of(
                  [&] {
                    cuda->score_shards(embeddings, {offsets, {}}, {&cost_ms, 1});
                  },
                  ErrorKind::kBackend),
              AllOf(HasSubstr("536870912 pieces"), HasSubstr("CPU backend")));
}

int current_device() {
  int device = -1;
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  return device;
}

// A context takes some hundred MB of a GPU.
TEST_F(Failures, DevicesThatAreNotUsedGetNoContext) {
  host_cuda::reset({.devices = 3});
  const auto use_device_1 = [] {
    const auto cuda = make_cuda_backend(golden_models(), {.devices = {1}});
    const auto problem = random_problem(1, {.devices = 4}, cuda->embedding_width());
    const auto batch = random_candidates(1, problem, 6, 24);
    std::vector<CandidateResult> results(batch.size());
    cuda->start(problem)->place(batch, results);
    EXPECT_GE(results[0].limit, 0);
  };
  use_device_1();
  EXPECT_THAT(host_cuda::usage().devices_with_context, ::testing::ElementsAre(1));
  EXPECT_EQ(current_device(), 0);

  // The caller's choice stays.
  ASSERT_EQ(cudaSetDevice(2), cudaSuccess);
  use_device_1();
  EXPECT_EQ(current_device(), 2);
  EXPECT_THAT(host_cuda::usage().devices_with_context, ::testing::ElementsAre(1, 2));
}

TEST_F(Failures, ADeviceWithoutMemoryGetsNoneOfAnother) {
  host_cuda::reset({.devices = 2, .memory_bytes = 100});
  EXPECT_THAT(message_of([] { (void)make_cuda_backend(golden_models(), {.devices = {1}}); },
                         ErrorKind::kBackend),
              HasSubstr("out of memory"));
  EXPECT_THAT(host_cuda::usage().devices_with_context, ::testing::ElementsAre(1));
  EXPECT_EQ(current_device(), 0);
}

TEST_F(Failures, OneOfSeveralDevicesFails) {
  host_cuda::reset({.devices = 2});
  const auto cuda = make_cuda_backend(golden_models());
  const auto problem = random_problem(1, {.devices = 4}, cuda->embedding_width());
  const auto batch = random_candidates(1, problem, 6, 24);
  const auto first = cuda->start(problem);
  const auto second = cuda->start(problem);
  std::vector<CandidateResult> results_first(batch.size());
  std::vector<CandidateResult> results_second(batch.size());
  const Backend::Request requests[] = {{first.get(), &batch, results_first},
                                       {second.get(), &batch, results_second}};
  host_cuda::fail_after(0, 1);
  EXPECT_THAT(message_of([&] { cuda->place(requests); }, ErrorKind::kBackend),
              HasSubstr("illegal memory access"));
}

}  // namespace
}  // namespace neuroshard
