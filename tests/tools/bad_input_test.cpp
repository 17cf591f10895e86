#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "temporary_folder.h"
#include "tools/run_command.h"

namespace neuroshard::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// Every case: exit code 2, the reason on standard error, nothing on standard output, and no file
// written, although one was asked for.
class BadInput : public ::testing::Test {
 protected:
  void expect_error(const std::string& command, std::vector<std::string> args,
                    const std::string& reason) {
    const std::set<std::string> before = folder_.names();
    args.insert(args.end(), {"--output", folder_ / "result"});
    const Outcome outcome = run_command(command, args);
    SCOPED_TRACE(outcome.err);
    EXPECT_EQ(outcome.code, kExitBadInput);
    EXPECT_THAT(outcome.err, StartsWith("neuroshard: error: "));
    EXPECT_THAT(outcome.err, HasSubstr(reason));
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_EQ(folder_.names(), before);
  }

  void expect_bad_task(const std::string& json, const std::string& reason) {
    SCOPED_TRACE(json);
    expect_error("plan", {"--task", folder_.write("task.json", json)}, reason);
  }

  // A task of one table with this text in place of its fields.
  static std::string one_table(const std::string& fields, const std::string& devices = "2") {
    return R"({"format": "neuroshard.task", "version": 1, "devices": )" + devices +
           R"(, "memory_gb": 1, "tables": [{)" + fields + "}]}";
  }

  TemporaryFolder folder_;
};

TEST_F(BadInput, Json) {
  const std::string good = one_table(R"("row": 10, "dim": 8, "pooling_factor": 1)");
  EXPECT_EQ(run_command("plan", {"--task", folder_.write("good.json", good)}).code, kExitOk);
  expect_bad_task("", "task.json");
  expect_bad_task(good.substr(0, good.size() / 2), "task.json");
  expect_bad_task("[" + good, "task.json");
  expect_bad_task("{\"format\": \"neuroshard.task\", \"version\": 99, \"tables\": []}", "version");
  expect_bad_task("\xff\xfe\x00binary", "task.json");
}

TEST_F(BadInput, Tables) {
  const std::string rest = R"(, "pooling_factor": 1)";
  expect_bad_task(one_table(R"("row": -5, "dim": 8)" + rest), "row is");
  expect_bad_task(one_table(R"("row": 0, "dim": 8)" + rest), "row is");
  expect_bad_task(one_table(R"("row": 10, "dim": 30)" + rest), "not a multiple of 4; use 28 or 32");
  expect_bad_task(one_table(R"("row": 10, "dim": -8)" + rest), "dim");
  expect_bad_task(one_table(R"("row": 10, "dim": 8, "pooling_factor": 1e999)"), "task.json");
  expect_bad_task(one_table(R"("row": 10, "dim": 8, "pooling_factor": NaN)"), "task.json");
  expect_bad_task(one_table(R"("row": 10, "dim": 8, "pooling_factor": -1)"), "pooling_factor");
  expect_bad_task(one_table(R"("row": 10, "dim": 8)"), "pooling_factor");
  expect_bad_task(one_table(R"("row": 10, "dim": 8, "colour": 3)" + rest), "colour");
  expect_bad_task(one_table(R"("num_embeddings": 10, "dim": 8)" + rest),
                  "did you mean it by 'num_embeddings'?");
  expect_bad_task(one_table(R"("row": 10, "embedding_dim": 8)" + rest),
                  "did you mean it by 'embedding_dim'?");
}

TEST_F(BadInput, Devices) {
  const std::string table = R"("row": 10, "dim": 8, "pooling_factor": 1)";
  const std::string task = folder_.write("task.json", one_table(table));
  expect_bad_task(one_table(table, "0"), "devices");
  expect_bad_task(one_table(table, "-1"), "devices");
  folder_.write("task.json", one_table(table));
  expect_error("plan", {"--task", task, "--devices", "0"}, "devices is 0");
  expect_error("plan", {"--task", task, "--devices", "many"}, "--devices");
  expect_error("plan", {"--task", task, "--devices", "99999999999999999999"}, "--devices");
  expect_error("plan", {"--task", task, "--memory-gb", "0"}, "memory");
  expect_error("plan", {"--task", task, "--memory-gb", "nan"}, "memory");
  expect_error("plan", {"--task", task, "--memory-gb", "-4"}, "memory");
  const Outcome in_mib = run_command("plan", {"--task", task, "--memory-gb", "40960"});
  EXPECT_THAT(in_mib.out, HasSubstr("devices have 40.0 TiB: memory_gb counts GiB"));
}

TEST_F(BadInput, NoCommunicationModelForTheDeviceCount) {
  const std::string models = golden("models/");
  const std::vector<std::string> trio = {"--compute-model",       models + "compute.pt",
                                         "--forward-comm-model",  models + "comm_2_fw.pt",
                                         "--backward-comm-model", models + "comm_2_bw.pt"};
  expect_error("plan", golden_tasks(trio), "no communication model for 4 devices");
}

TEST_F(BadInput, PublishedFiles) {
  const std::string tables = golden("tables/table_configs.json");
  const auto with_lines = [&](const std::string& lines) {
    return std::vector<std::string>{
        "--tables",  tables, "--tasks",     folder_.write("t.txt", lines),
        "--devices", "4",    "--memory-gb", "4"};
  };
  EXPECT_EQ(run_command("plan", with_lines("0,1 8,8\n")).code, kExitOk);
  expect_error("plan", with_lines("0,1 8\n0,856 8,8\n"), "line 1");  // Not one valid task.
  expect_error("plan", with_lines("0,-1 8,8\n"), "t.txt");
  expect_error("plan", with_lines("0,1 8\n"), "t.txt");
  expect_error("plan", with_lines("0,1 8,7\n"), "7");
  expect_error("plan", with_lines("0;1 8;8\n"), "t.txt");
  expect_error("plan", with_lines(""), "t.txt");
  expect_error("plan", golden_tasks({"--index", "100"}), "--index 100");
  expect_error("plan", golden_tasks({"--index", "-1"}), "--index -1");
}

TEST_F(BadInput, WeightsFile) {
  const std::string models = golden("models/");
  const std::string good = folder_ / "good.safetensors";
  ASSERT_EQ(run_command({"convert", "--compute-model", models + "compute.pt",
                         "--forward-comm-model", models + "comm_4_fw.pt", "--backward-comm-model",
                         models + "comm_4_bw.pt", "--output", good})
                .code,
            kExitOk);
  const std::string bytes = contents_of(good);
  const auto with_weights = [&](const std::string& damaged) {
    return golden_tasks({"--weights", folder_.write("bad.safetensors", damaged), "--index", "0"});
  };
  EXPECT_EQ(run_command("plan", golden_tasks({"--weights", good, "--index", "0"})).code, kExitOk);
  for (const std::size_t length : {std::size_t{0}, std::size_t{7}, std::size_t{8}, std::size_t{100},
                                   bytes.size() / 2, bytes.size() - 1}) {
    SCOPED_TRACE(length);
    expect_error("plan", with_weights(bytes.substr(0, length)), "bad.safetensors");
  }
  std::string huge_header = bytes;
  huge_header.replace(0, 8, "\xff\xff\xff\xff\xff\xff\xff\x7f", 8);
  expect_error("plan", with_weights(huge_header), "bad.safetensors");
  std::string not_finite = bytes;
  not_finite.replace(not_finite.size() - 4, 4, std::string("\0\0\xc0\x7f", 4));  // An fp32 NaN.
  expect_error("plan", with_weights(not_finite), "NaN");
  std::string wrong_shape = bytes;
  const std::size_t shape = wrong_shape.find("\"shape\":[128,20]");
  ASSERT_NE(shape, std::string::npos);
  wrong_shape.replace(shape, 16, "\"shape\":[20,128]");
  expect_error("plan", with_weights(wrong_shape), "bad.safetensors");
}

TEST_F(BadInput, Checkpoints) {
  const std::string models = golden("models/");
  const std::string bytes = contents_of(models + "compute.pt");
  const auto trio = [&](const std::string& compute) {
    return std::vector<std::string>{"--compute-model",       compute,
                                    "--forward-comm-model",  models + "comm_4_fw.pt",
                                    "--backward-comm-model", models + "comm_4_bw.pt"};
  };
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{4}, bytes.size() / 2, bytes.size() - 1}) {
    SCOPED_TRACE(length);
    const std::string damaged = folder_.write("bad.pt", bytes.substr(0, length));
    expect_error("convert", trio(damaged), "bad.pt");
    expect_error("plan", golden_tasks(trio(damaged)), "bad.pt");
  }
  // Networks that do not belong where they are given.
  expect_error("convert", trio(models + "comm_4_fw.pt"), "comm_4_fw.pt");
  expect_error("convert",
               {"--compute-model", models + "compute.pt", "--forward-comm-model",
                models + "comm_4_fw.pt", "--backward-comm-model", models + "comm_8_bw.pt"},
               "comm_");
  expect_error("convert",
               {"--compute-model", models + "compute.pt", "--forward-comm-model",
                models + "comm_4_bw.pt", "--backward-comm-model", models + "comm_4_fw.pt"},
               "comm_4");
}

TEST_F(BadInput, Plans) {
  const auto with_plan = [&](const std::string& text) {
    return golden_tasks({"--index", "0", "--plan", folder_.write("plan.jsonl", text)});
  };
  expect_error("simulate", with_plan(""), "plan.jsonl");
  expect_error("simulate", with_plan(R"({"task": 0, "steps": [], "shards": [[0], [1]]})"),
               "plan.jsonl");
  expect_error("simulate", with_plan(R"({"task": 7, "steps": [], "shards": [[0], [1]]})"),
               "plan.jsonl");
  expect_error("simulate", golden_tasks({"--index", "0", "--plan", folder_ / "missing.json"}),
               "missing.json");
}

TEST_F(BadInput, MissingFiles) {
  expect_error("plan", {"--task", folder_ / "missing.json"}, "missing.json");
  expect_error("plan", {"--task", folder_ / ""}, "directory");
  expect_error("plan", golden_tasks({"--weights", folder_ / "missing.safetensors"}),
               "missing.safetensors");
  const Outcome inspect = run_command("inspect", {folder_ / "missing"});
  EXPECT_EQ(inspect.code, kExitBadInput);
  EXPECT_THAT(inspect.err, HasSubstr("missing"));
}

TEST_F(BadInput, UnwritableOutput) {
  for (const std::string& output : {folder_ / "no/such/folder/plan.json", folder_ / ""}) {
    for (const char* format : {"table", "json", "jsonl"}) {
      const Outcome outcome = run_command(
          "plan", golden_tasks({"--index", "0", "--format", format, "--output", output}));
      EXPECT_EQ(outcome.code, kExitBadInput);
      EXPECT_THAT(outcome.err, HasSubstr("cannot be written"));
      EXPECT_THAT(outcome.out, IsEmpty());
    }
  }
  EXPECT_THAT(folder_.names(), IsEmpty());
}

TEST_F(BadInput, OutputThatIsAnInput) {
  const std::string task = folder_.write("task.json", one_table(R"("row": 10, "dim": 8,
      "pooling_factor": 1)"));
  const std::string before = contents_of(task);
  const auto expect_kept = [&](const std::vector<std::string>& args, const std::string& reason) {
    const Outcome outcome = run_command(args);
    EXPECT_EQ(outcome.code, kExitBadInput);
    EXPECT_THAT(outcome.err, HasSubstr(reason));
    EXPECT_EQ(contents_of(task), before);
  };
  expect_kept({"plan", "--task", task, "--output", task}, "also what --task reads");
  std::filesystem::create_symlink(task, folder_ / "link");
  expect_kept({"plan", "--task", task, "--output", folder_ / "link"}, "also what --task reads");
  expect_kept({"plan", "--task", folder_ / "./task.json", "--output", folder_ / "link"}, "--task");
  expect_kept({"simulate", "--task", task, "--plan", "x", "--output", task}, "--task");
  expect_kept({"simulate", "--task", "x", "--plan", task, "--output", task}, "--plan");
  expect_kept({"convert", "--compute-model", "c", "--forward-comm-model", "f",
               "--forward-comm-model", task, "--backward-comm-model", "b", "--output", task},
              "--forward-comm-model");
  expect_kept({"profile", task, "--output", task}, "accesses");
  expect_kept({"profile", task, "--cache-statistics", task}, "accesses");
  expect_kept({"groups", "--task", task, "--plan-output", task}, "also what --task reads");
  expect_kept({"generate", "--tasks", "3", "--table-configs", task, "--output", task},
              "--table-configs");
  expect_kept({"evaluate", "compute", "--data", "d", "--weights", task, "--scatter", task},
              "--weights");
  expect_kept({"train", "compute", "--data", "d", "--base", task, "--output", "o", "--log", task},
              "also what --base reads");
  expect_kept(
      {"train", "compute", "--data", "d", "--from", task, "--output", "o", "--scatter", task},
      "also what --from reads");
  const std::string samples = folder_.write("data.txt", "1 2\n");
  expect_kept({"train", "compute", "--data", folder_ / "", "--output", samples}, "--data");
  expect_kept(
      {"train", "compute", "--data", "d", "--output", folder_ / "new", "--log", folder_ / "new"},
      "--log and --output are one file");
  EXPECT_EQ(contents_of(samples), "1 2\n");
}

TEST_F(BadInput, NamesFileAndFieldOfDevicesAndBatches) {
  const std::string table = one_table(R"("row": 10, "dim": 8, "pooling_factor": 1)");
  const std::string task = folder_.write("task.json", table);
  const auto with = [&](const std::string& field) {
    return folder_.write("other.json", "{" + field + ", " + table.substr(table.find('{') + 1));
  };
  for (const char* command : {"plan", "explain", "fingerprint"}) {
    expect_error(command, {"--task", with(R"("batch_size": 1023)")},
                 "other.json: batch_size is 1023; costs can be predicted for 1,024 to 4,194,304");
    expect_error(command, {"--task", task, "--batch-size", "1023"},
                 "--batch-size: batch_size is 1023; costs can be predicted for 1,024");
  }
  expect_error("plan", {"--task", task, "--batch-size", "0"}, "error: --batch-size is 0; give");
  for (const auto& [option, value, reason] :
       {std::tuple{"--devices", "0", " is 0; give a number between 1 and 16384"},
        {"--devices", "16385", " is 16385; give a number between 1 and 16384"},
        {"--devices-per-node", "0", " is 0; give a number between 1 and 16384"},
        {"--reserved-share", "1.5", " is 1.5; give a number of at least 0 and less than 1"},
        {"--reserved-share", "nan", " is nan; give"},
        {"--reserved-gb", "1e6", ": all memory of a device, "},
        {"--in-node-gb-s", "nan", " is nan; give GB/s between 0.001 and 1e6"},
        {"--node-gb-s", "nan", " is nan; give"},
        {"--link-levels", "576", " '576' is no level; give devices and GB/s, as in 576:12.5"},
        {"--link-levels", "576:x", " '576:x' is no level"}}) {
    expect_error("plan", {"--task", task, option, value}, "error: " + std::string(option) + reason);
  }
  expect_error("plan", {"--task", with(R"("reserved_share": 1)")},
               "other.json: reserved_share is 1; give a number of at least 0 and less than 1");
  expect_error("plan", {"--task", task, "--memory-gb", "1e300"},
               "--memory-gb: memory is 1e+300 GiB; give a number above 0 and below 8589934592");
  expect_error("plan", {"--task", task, "--memory-gb", "1e-12"},
               "--memory-gb: 1e-12 GiB is less than a byte; give the memory of a device");
  expect_error("plan", {"--task", task, "--devices", "4,"},
               "--devices: '4,' has an empty item; write what is missing");
}

TEST_F(BadInput, OptionsThatDoNotFitTogether) {
  const std::string task = folder_.write("task.json", one_table(R"("row": 10, "dim": 8,
      "pooling_factor": 1)"));
  expect_error("plan", {}, "--task");
  expect_error("plan", golden_tasks({"--task", task}), "--task excludes");
  expect_error("plan", {"--task", task, "--index", "0"}, "--index");
  expect_error("plan", {"--tables", golden("tables/table_configs.json")}, "belong together");
  expect_error(
      "plan",
      {"--tables", golden("tables/table_configs.json"), "--tasks", golden("tasks/4gpu_dim64.txt")},
      "--devices");
  expect_error("plan",
               {"--tables", golden("tables/table_configs.json"), "--tasks",
                golden("tasks/4gpu_dim64.txt"), "--devices", "4"},
               "--memory-gb");
  expect_error("plan", golden_tasks({"--format", "json"}), "--index");
  expect_error("plan", golden_tasks({"--list-shards"}), "--list-shards");
  expect_error("plan", golden_tasks({"--resume"}), "--resume");
  expect_error("plan", {"--task", task, "--backend", "gpu"},
               "there is no backend 'gpu'; use auto, ");
  expect_error("plan", {"--task", task, "--backend", "gpu"}, "auto, cuda, ");
  expect_error("plan", {"--task", task, "--format", "xml"}, "table, json or jsonl");
  expect_error("plan", {"--task", task, "--algorithm", "magic"}, "size_lookup_greedy");
  expect_error("plan", {"--task", task, "--backend", "abacus"}, "abacus");
  expect_error("plan", {"--task", task, "--compute-model", golden("models/compute.pt")},
               "--forward-comm-model");
  expect_error("plan",
               {"--task", task, "--weights", "w", "--compute-model", golden("models/compute.pt")},
               "--weights");
  expect_error("plan", {"--task", task, "--beam-width", "0"}, "beam");
  expect_error("plan", {"--task", task, "--candidates", "-1"}, "candidates");
  expect_error("plan", {"--task", task, "--grid-steps", "0"}, "grid");
  expect_error("plan", {"--task", task, "--max-splits", "-1"}, "split");
  expect_error("plan", {"--task", task, "--threads", "-1"}, "thread");
  expect_error("simulate", {"--task", task}, "--plan");
}

}  // namespace
}  // namespace neuroshard::tools
