#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "neuroshard/cuda_backend.h"
#include "neuroshard/evaluation.h"
#include "neuroshard/hardware.h"
#include "neuroshard/histogram_scale.h"
#include "neuroshard/table_configs.h"
#include "neuroshard/training_data.h"
#include "neuroshard/weights.h"
#include "tools/run_command.h"
#include "weights/collection/analytic_compute.h"

namespace neuroshard::tools {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::UnorderedElementsAre;

std::vector<std::string> compute(const std::string& output, const std::string& samples) {
  return {"compute",
          "--backend",
          "analytic",
          "--table-configs",
          golden("tables/table_configs.json"),
          "--output",
          output,
          "--samples",
          samples};
}

std::vector<std::string> comm(const std::string& output, const std::string& samples) {
  return {"comm",     "--backend", "analytic",  "--devices", "5",
          "--output", output,      "--samples", samples};
}

TEST(Collect, ComputesAndResumes) {
  const TemporaryFolder folder;
  for (const auto& arguments : {compute, comm}) {
    const std::string output = folder / "data";
    Outcome outcome = run_command("collect", arguments(output, "30"));
    ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("30 samples, 30 of them new"));
    const std::string first = contents_of(output + "/data.txt");

    std::filesystem::resize_file(output + "/data.txt", first.size() - 5);
    outcome = run_command("collect", arguments(output, "50"));
    ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("50 samples, 21 of them new"));
    EXPECT_THAT(outcome.err, HasSubstr("not finished"));
    EXPECT_EQ(contents_of(output + "/data.txt").substr(0, first.size()), first);
    EXPECT_EQ(lines_of(contents_of(output + "/data.txt")).size(), 50u);
    std::filesystem::remove_all(output);
  }
}

// Files have histograms of 65,536 samples; another batch touches rows less often.
TEST(Collect, CostsAreOfWhatTheirBatchTouches) {
  const TemporaryFolder folder;
  std::vector<std::string> arguments = compute(folder / "data", "5");
  arguments.insert(arguments.end(), {"--batch", "1024", "--gpu", "h100-sxm-80gb"});
  ASSERT_EQ(run_command("collect", arguments).code, kExitOk);
  std::vector<Table> tables = load_table_configs(folder / "data/table_configs.json").tables;
  const HistogramScale scale(1024.0);
  for (Table& table : tables) table.access_histogram = scale(table);
  const std::vector<std::string> lines = lines_of(contents_of(folder / "data/data.txt"));
  ASSERT_EQ(lines.size(), 5U);
  for (const std::string& line : lines) {
    std::istringstream words(line);
    std::vector<Table> shard;
    char comma = ',';
    for (std::size_t id = 0; comma == ',' && words >> id; comma = static_cast<char>(words.get())) {
      shard.push_back(tables.at(id));
    }
    double cost_ms = 0.0;
    ASSERT_TRUE(words >> cost_ms) << line;
    const double expected = analytic_compute(gpu_named("h100-sxm-80gb"), shard, 1024.0).total_ms();
    EXPECT_NEAR(cost_ms / expected, 1.0, 1e-5) << line;
  }
}

std::vector<std::string> plans(const std::string& output, const std::string& devices) {
  return {"plans",
          "--backend",
          "analytic",
          "--devices",
          devices,
          "--table-configs",
          golden("tables/table_configs.json"),
          "--tasks",
          "6",
          "--output",
          output};
}

// Samples of plans are what the weights that planned predict, within a few per cent.
TEST(Collect, PlansGiveSamplesOfBothKinds) {
  const TemporaryFolder folder;
  const Outcome outcome = run_command("collect", plans(folder / "a", "12"));
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("samples of 6 plans"));
  const std::filesystem::path root = folder / "a";
  const auto backend = make_cpu_backend(builtin_weights());
  const ComputeSamples operators =
      read_compute_samples(std::vector<std::filesystem::path>{root / "compute"});
  EXPECT_GT(operators.size(), 6U);
  EXPECT_LT(evaluate_compute(*backend, operators).accuracy.mape, 0.1);
  const std::vector<CommSamples> exchanges =
      read_comm_samples(std::vector<std::filesystem::path>{root / "comm"});
  ASSERT_EQ(exchanges.size(), 1U);
  EXPECT_EQ(exchanges[0].devices, 12);
  const CommTestResult result = evaluate_comm(*backend, exchanges[0]);
  EXPECT_LT(result.forward.accuracy.mape, 0.1);
  EXPECT_LT(result.backward.accuracy.mape, 0.1);

  ASSERT_EQ(run_command("collect", plans(folder / "b", "12")).code, kExitOk);
  for (const char* file : {"compute/data.txt", "comm/data.txt", "compute/table_configs.json"}) {
    EXPECT_EQ(contents_of(folder / (std::string("a/") + file)),
              contents_of(folder / (std::string("b/") + file)));
  }
}

TEST(Collect, RefusesPlansItCannotPrice) {
  const TemporaryFolder folder;
  std::vector<std::string> measured = plans(folder / "a", "4");
  measured[2] = "cuda";
  EXPECT_THAT(run_command("collect", measured).err, HasSubstr("give analytic"));
  EXPECT_EQ(run_command("collect", plans(folder / "a", "0")).code, kExitBadInput);
  std::vector<std::string> tiny = plans(folder / "a", "2");
  tiny.insert(tiny.end(), {"--memory-gb", "0.000001"});
  EXPECT_THAT(run_command("collect", tiny).err, HasSubstr("no task of these tables fits"));
  for (const char* kind : {"compute", "comm"}) {
    EXPECT_TRUE(std::filesystem::is_empty(folder / (std::string("a/") + kind)));
  }
}

// Tasks that do not fit show that nothing was planned before.
TEST(Collect, PlansAreNotMadeForFoldersThatCannotTakeThem) {
  const TemporaryFolder folder;
  const auto with = [](std::vector<std::string> arguments, const std::vector<std::string>& more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_command("collect", arguments);
  };
  const std::vector<std::string> usual = plans(folder / "a", "2");
  ASSERT_EQ(with(usual, {}).code, kExitOk);
  const std::string operators = contents_of(folder / "a/compute/data.txt");
  const std::string exchanges = contents_of(folder / "a/comm/data.txt");
  EXPECT_THAT(with(usual, {}).out, HasSubstr("has these samples already"));
  using Options = std::vector<std::string>;
  for (const auto& [options, field] :
       std::vector<std::pair<Options, std::string>>{{{"--memory-gb", "0.000001"}, "memory_bytes"},
                                                    {{"--effort", "default"}, "effort"},
                                                    {{"--max-tables", "20"}, "max_tables"},
                                                    {{"--compute-devices", "1"}, "compute_devices"},
                                                    {{"--variants", "2"}, "variants"},
                                                    {{"--gpu", "h100-sxm-80gb"}, "gpu"},
                                                    {{"--network", "h100-nvlink4-ndr"}, "network"},
                                                    {{"--hardware", "h100"}, "weights"}}) {
    const Outcome outcome = with(usual, options);
    EXPECT_EQ(outcome.code, kExitBadInput) << field;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("collection.json"), HasSubstr("with " + field)));
  }
  EXPECT_EQ(contents_of(folder / "a/compute/data.txt"), operators);
  EXPECT_EQ(contents_of(folder / "a/comm/data.txt"), exchanges);

  folder.write("file", "");
  const Outcome no_folder = with(plans(folder / "file", "2"), {"--memory-gb", "0.000001"});
  EXPECT_NE(no_folder.code, kExitOk);
  EXPECT_THAT(no_folder.err, HasSubstr("cannot be created"));
}

TEST(Collect, RefusesANegativeNumberOfSamples) {
  const TemporaryFolder folder;
  const Outcome outcome = run_command("collect", comm(folder / "data", "-1"));
  EXPECT_EQ(outcome.code, kExitBadInput);
  EXPECT_THAT(outcome.err, HasSubstr("--samples"));
  EXPECT_FALSE(std::filesystem::exists(folder / "data"));
}

TEST(Collect, KeepsCollectionsApart) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_command("collect", comm(folder / "data", "3")).code, kExitOk);
  auto other = comm(folder / "data", "6");
  other.insert(other.end(), {"--network", "h100-nvlink4-ndr"});
  const Outcome outcome = run_command("collect", other);
  EXPECT_EQ(outcome.code, kExitBadInput);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("a100-nvlink3-hdr"), HasSubstr("h100-nvlink4-ndr")));
}

TEST(Collect, RefusesBadOptionsBeforeItWritesAnything) {
  const TemporaryFolder folder;
  const auto with = [](std::vector<std::string> arguments, std::vector<std::string> more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  };
  const auto new_compute = compute(folder / "data", "3");
  const auto new_comm = comm(folder / "data", "3");
  const std::vector<std::pair<std::vector<std::string>, std::string>> bad = {
      {with(new_compute, {"--gpu", "abacus"}), "a100-sxm-80gb"},
      {with(new_compute, {"--batch", "0"}), "--batch"},
      {with(new_compute, {"--memory-gb", "-1"}), "memory"},
      {with(new_compute, {"--max-dim", "30"}), "multiple of 4"},
      {with(new_compute, {"--report-bandwidth"}), "--backend cuda"},
      {with(new_compute, {"--devices", "0"}), "--backend cuda"},
      {with(new_compute, {"--iterations", "0"}), "iterations"},
      {with(new_compute, {"--access", "a.pt"}), "--backend analytic"},
      {with(new_compute, {"--lengths", "a.npy"}), "--access"},
      {with(new_comm, {"--warm-up", "-1"}), "to warm up"},
      {with(new_comm, {"--network", "string"}), "a100-nvlink3-hdr"},
      {with(new_comm, {"--max-start-offset-ms", "0"}), "start offsets"},
      {{"comm", "--backend", "pigeon", "--devices", "2", "--output", folder / "data"}, "pigeon"},
      {{"comm", "--backend", "analytic", "--devices", "0", "--output", folder / "data"}, "devices"},
      {{"comm", "--backend", "analytic", "--output", folder / "data"}, "--devices is missing"},
      // No neuroshard-mpi lies beside this program.
      {{"comm", "--backend", "mpi", "--output", folder / "data"}, "this build has no MPI"},
      {{"comm", "--backend", "nccl", "--output", folder / "data"}, "this build has no MPI"},
      {{"comm", "--backend", "local", "--output", folder / "data"}, "--devices is missing"},
      {{"comm", "--backend", "local", "--devices", "2", "--rank-timeout-s", "9", "--output",
        folder / "data"},
       "--rank-timeout-s is for --backend mpi and nccl; leave it out"},
      {{"comm", "--backend", "mpi", "--rank-timeout-s", "-1", "--output", folder / "data"},
       "--rank-timeout-s is -1; give seconds"},
      {{"all-reduce", "--backend", "pigeon", "--output", folder / "data"}, "pigeon"},
      {{"all-reduce", "--backend", "mpi", "--output", folder / "data"}, "this build has no MPI"},
      {{"all-reduce", "--backend", "local", "--output", folder / "data"}, "--devices is missing"},
      {{"all-reduce", "--backend", "local", "--devices", "2,4", "--output", folder / "data"},
       "--devices names 2 numbers; --backend local measures between those of one"},
      {{"all-reduce", "--backend", "local", "--devices", "1", "--output", folder / "data"},
       "--devices is 1; all-reduces are measured between 2 to 1024"},
      {{"all-reduce", "--backend", "local", "--devices", "2", "--iterations", "0", "--output",
        folder / "data"},
       "0 iterations"},
      {{"all-reduce", "--backend", "analytic", "--max-bytes", "9", "--output", folder / "data"},
       "--max-bytes is 9; give 4096 to"},
  };
  for (const auto& [arguments, reason] : bad) {
    const Outcome outcome = run_command("collect", arguments);
    EXPECT_EQ(outcome.code, kExitBadInput) << reason;
    EXPECT_THAT(outcome.err, HasSubstr(reason));
  }
  EXPECT_THAT(folder.names(), UnorderedElementsAre());
}

TEST(Collect, MeasuresWithRecordedLookups) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_command("generate", {"--count", "5", "--batch", "64", "--row-scale", "0.001",
                                     "--streams", "--output", folder / "t"})
                .code,
            kExitOk);
  const std::vector<std::string> arguments = {"compute",
                                              "--backend",
                                              "cpu",
                                              "--table-configs",
                                              folder / "t/table_configs.json",
                                              "--access",
                                              folder / "t/indices.npy",
                                              "--lengths",
                                              folder / "t/lengths.npy",
                                              "--output",
                                              folder / "data",
                                              "--samples",
                                              "4",
                                              "--warm-up",
                                              "0",
                                              "--iterations",
                                              "1",
                                              "--memory-gb",
                                              "0.05"};
  const Outcome outcome = run_command("collect", arguments);
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_EQ(lines_of(contents_of(folder / "data/data.txt")).size(), 4u);
  EXPECT_THAT(contents_of(folder / "data/collection.json"),
              AllOf(HasSubstr("\"accesses\": \"indices.npy\""), HasSubstr("\"batch\": \"64\"")));

  // Drawn lookups are another collection.
  std::vector<std::string> drawn = arguments;
  drawn.erase(drawn.begin() + 5, drawn.begin() + 9);
  drawn.insert(drawn.end(), {"--batch", "64"});
  EXPECT_THAT(run_command("collect", drawn).err, HasSubstr("accesses"));
}

TEST(Collect, MeasuresFp32Alone) {
  const TemporaryFolder folder;
  const std::string tables = folder.write(
      "tables.json", R"([{"row": 100, "dim": 8, "pooling_factor": 2, "weight_type": "fp16"}])");
  const auto collect = [&](const std::string& backend) {
    return run_command("collect",
                       {"compute", "--backend", backend, "--table-configs", tables, "--output",
                        folder / backend, "--samples", "2", "--memory-gb", "0.01"});
  };
  EXPECT_THAT(collect("cpu").err, HasSubstr("table 0: weight_type is fp16; the measured operator"));
  EXPECT_FALSE(std::filesystem::exists(folder / "cpu"));
  const Outcome analytic = collect("analytic");
  EXPECT_EQ(analytic.code, kExitOk) << analytic.err;
  EXPECT_THAT(contents_of(folder / "analytic/table_configs.json"), HasSubstr("fp16"));
}

TEST(Collect, MeasuresAllReducesBetweenThreads) {
  const TemporaryFolder folder;
  const auto collect = [&](const std::string& backend) {
    return run_command(
        "collect", {"all-reduce", "--backend", backend, "--devices", "3", "--samples", "12",
                    "--seed", "5", "--max-bytes", "100000", "--warm-up", "0", "--iterations", "2",
                    "--output", folder / backend});
  };
  ASSERT_EQ(collect("local").code, kExitOk);
  EXPECT_THAT(contents_of(folder / "local/collection.json"),
              AllOf(HasSubstr("\"kind\": \"all-reduce\""), HasSubstr("\"source\": \"local\""),
                    HasSubstr("\"max_bytes\": \"100000\""), HasSubstr("\"iterations\": \"2\"")));
  ASSERT_EQ(collect("analytic").code, kExitOk);
  // Draws are the same, costs are not.
  const auto measured = lines_of(contents_of(folder / "local/data.txt"));
  const auto analytic = lines_of(contents_of(folder / "analytic/data.txt"));
  ASSERT_EQ(measured.size(), 12U);
  ASSERT_EQ(analytic.size(), 12U);
  for (std::size_t i = 0; i < measured.size(); ++i) {
    EXPECT_EQ(measured[i].substr(0, measured[i].rfind(' ')),
              analytic[i].substr(0, analytic[i].rfind(' ')));
    EXPECT_NE(measured[i], analytic[i]);
  }
  const std::filesystem::path data = folder / "local";
  EXPECT_EQ(read_collective_samples({&data, 1}).devices, std::vector<int>(12, 3));
}

TEST(Collect, MeasuresBetweenThreadsAndGoesOn) {
  const TemporaryFolder folder;
  const auto collect = [&](const std::string& samples) {
    return run_command("collect", {"comm", "--backend", "local", "--devices", "3", "--samples",
                                   samples, "--batch", "100", "--warm-up", "0", "--iterations", "1",
                                   "--max-start-offset-ms", "2", "--output", folder / "data"});
  };
  ASSERT_EQ(collect("2").code, kExitOk);
  const std::string before = contents_of(folder / "data/data.txt");
  EXPECT_THAT(contents_of(folder / "data/collection.json"),
              AllOf(HasSubstr("\"source\": \"local\""), HasSubstr("\"devices\": \"3\"")));
  const Outcome outcome = collect("4");
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(contents_of(folder / "data/data.txt"), ::testing::StartsWith(before));
  EXPECT_EQ(lines_of(contents_of(folder / "data/data.txt")).size(), 4u);
  // An error of rank 0 alone ends all.
  const Outcome other = run_command(
      "collect", {"comm", "--backend", "local", "--devices", "2", "--output", folder / "data"});
  EXPECT_EQ(other.code, kExitBadInput);
  EXPECT_THAT(other.err, HasSubstr("resume with the same options"));
}

TEST(Collect, SaysHowToGetTheCudaBackend) {
  if (cuda_backend_built()) GTEST_SKIP() << "this library has the CUDA backend";
  const TemporaryFolder folder;
  auto arguments = compute(folder / "data", "3");
  arguments[2] = "cuda";
  const Outcome outcome = run_command("collect", arguments);
  EXPECT_EQ(outcome.code, kExitBadInput);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("has no CUDA"), HasSubstr("NEUROSHARD_CUDA=ON")));
  EXPECT_THAT(folder.names(), UnorderedElementsAre());
}

}  // namespace
}  // namespace neuroshard::tools
