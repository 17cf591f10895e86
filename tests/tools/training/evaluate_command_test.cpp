#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "neuroshard/backend.h"
#include "neuroshard/weights.h"
#include "tools/run_command.h"

namespace neuroshard::tools {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<std::string> published_models(const std::string& devices) {
  return {"--compute-model",       golden("models/compute.pt"),
          "--forward-comm-model",  golden("models/comm_" + devices + "_fw.pt"),
          "--backward-comm-model", golden("models/comm_" + devices + "_bw.pt")};
}

Outcome evaluate(const std::string& kind, std::vector<std::string> args,
                 const std::vector<std::string>& more) {
  args.insert(args.begin(), kind);
  args.insert(args.end(), more.begin(), more.end());
  return run_command("evaluate", std::move(args));
}

TEST(Evaluate, PublishedComputeModelOnItsOwnCosts) {
  const TemporaryFolder folder;
  auto tables = nlohmann::json::parse(contents_of(golden("tables/table_configs.json")));
  nlohmann::json augmented = nlohmann::json::array();
  for (const int dim : {128, 64, 32, 16, 8, 4}) {
    for (nlohmann::json table : tables) {
      table["dim"] = dim;
      augmented.push_back(std::move(table));
    }
  }
  folder.write("table_configs.json", augmented.dump());
  folder.write("data.txt", contents_of(golden("cost/compute/data.txt")));
  const Outcome outcome =
      evaluate("compute", published_models("2"),
               {"--data", folder / "", "--json", "--scatter", folder / "a.svg"});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  const auto results = nlohmann::json::parse(outcome.out)["results"];
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0]["network"], "compute");
  EXPECT_EQ(results[0]["costs"], 2000);
  // The published training reports 0.028 ms^2 on its test samples.
  EXPECT_LT(results[0]["mse_ms2"], 0.05);
  EXPECT_LT(results[0]["mape"], 0.1);
  EXPECT_GT(results[0]["kendall_tau"], 0.95);
  EXPECT_THAT(contents_of(folder / "a.svg"), StartsWith("<svg "));
}

// As plans of that batch are: by the networks for 65,536 samples, scaled.
TEST(Evaluate, CommunicationOfTheBatchThatItWasCollectedWith) {
  const TemporaryFolder folder;
  std::vector<std::string> data;
  for (const std::string batch : {"4096", "1048576"}) {
    const Outcome collected =
        run_command("collect", {"comm", "--backend", "analytic", "--devices", "8", "--samples",
                                "60", "--wide", "--batch", batch, "--output", folder / batch});
    ASSERT_EQ(collected.code, kExitOk) << collected.err;
    data.insert(data.end(), {"--data", folder / batch});
  }
  data.emplace_back("--json");
  const Outcome outcome = evaluate("comm", {}, data);
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  const auto document = nlohmann::json::parse(outcome.out);
  ASSERT_EQ(document["results"].size(), 4U);
  for (const auto& result : document["results"]) EXPECT_LT(result["mape"], 0.05) << result;
  EXPECT_EQ(document["results"][0]["batch_size"], 4096);
  EXPECT_EQ(document["results"][3]["batch_size"], 1048576);
  data.back() = "--scatter=" + folder / "a.svg";
  const Outcome page = evaluate("comm", {}, data);
  ASSERT_EQ(page.code, kExitOk) << page.err;
  EXPECT_THAT(page.out,
              AllOf(HasSubstr("forward, batch 4,096"), HasSubstr("backward, batch 1,048,576")));
  EXPECT_THAT(contents_of(folder / "a.svg"), HasSubstr("8 devices"));
}

TEST(Evaluate, RefusesCommunicationOfBatchesThatHaveNoPrice) {
  const TemporaryFolder folder;
  const Outcome collected =
      run_command("collect", {"comm", "--backend", "analytic", "--devices", "2", "--samples", "3",
                              "--batch", "64", "--output", folder / "few"});
  ASSERT_EQ(collected.code, kExitOk) << collected.err;
  EXPECT_THAT(evaluate("comm", {}, {"--data", folder / "few"}).err,
              AllOf(HasSubstr(folder / "few"), HasSubstr("batch_size is 64")));
}

TEST(Evaluate, CommunicationByDeviceCount) {
  const Outcome outcome =
      evaluate("comm", published_models("4"), {"--data", golden("cost/comm_4")});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("forward"), HasSubstr("backward"),
                                 HasSubstr("4 devices"), HasSubstr("1,600")));
}

// Two samples of two devices, computed by hand from what the model predicts.
TEST(Evaluate, MeasuresWhatItSays) {
  const CostModels models = load_checkpoints(
      golden("models/compute.pt"), golden("models/comm_2_fw.pt"), golden("models/comm_2_bw.pt"));
  const std::vector<float> dim_sums{300, 420, 512, 256};
  std::vector<float> backward(4);
  make_cpu_backend(models)->backward_comm(2, dim_sums, backward);
  const TemporaryFolder folder;
  std::ostringstream data;
  data.precision(9);
  for (int s = 0; s < 2; ++s) {  // Every measured cost is half of the prediction.
    const float* cost = &backward[2 * s];
    data << dim_sums[2 * s] << ',' << dim_sums[2 * s + 1] << " 0,0 1,1 " << cost[0] / 2 << ','
         << cost[1] / 2 << '\n';
  }
  folder.write("data.txt", data.str());
  const Outcome outcome =
      evaluate("comm", published_models("2"), {"--data", folder / "", "--json"});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  const auto result = nlohmann::json::parse(outcome.out)["results"][1];
  EXPECT_EQ(result["network"], "backward");
  EXPECT_EQ(result["devices"], 2);
  EXPECT_NEAR(result["mape"], 1.0, 1e-5);
  double squares = 0.0;
  for (const float cost : backward) squares += 0.25 * cost * cost / 4.0;
  EXPECT_NEAR(result["mse_ms2"], squares, 1e-4 * squares);
  EXPECT_NEAR(result["kendall_tau"], 1.0, 1e-9);
}

// Two folders have equal samples, of a batch that one folder's description has and the other's
// lines. Each is predicted as it would be alone.
TEST(Evaluate, FoldersOfSeveralMachinesAndBatches) {
  const TemporaryFolder folder;
  const auto collection = [](const std::string& gpu, const std::string& batch) {
    return nlohmann::json{
        {"format", "neuroshard collection"},
        {"version", 1},
        {"description", {{"kind", "compute"}, {"hardware", gpu}, {"batch", batch}}}}
        .dump();
  };
  const std::string tables = contents_of(golden("tables/table_configs.json"));
  nlohmann::json with_dims = nlohmann::json::parse(tables);
  for (nlohmann::json& table : with_dims) table["dim"] = 64;
  for (const char* name : {"small", "usual", "mixed"}) {
    std::filesystem::create_directory(folder / name);
    folder.write(std::string(name) + "/table_configs.json", with_dims.dump());
  }
  folder.write("small/collection.json", collection("one", "8192"));
  folder.write("small/data.txt", "0,1,2 1.5\n3 0.5\n");
  folder.write("usual/collection.json", collection("another", "65536"));
  folder.write("usual/data.txt", "0,1,2 4.5\n");
  folder.write("mixed/data.txt", "0,1,2 1.5 8192\n3 0.5 8192\n0,1,2 4.5\n");
  const auto result = [&](const std::vector<std::string>& data) {
    std::vector<std::string> args{"--json"};
    for (const std::string& name : data) args.insert(args.end(), {"--data", folder / name});
    const Outcome outcome = evaluate("compute", {}, args);
    EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
    return outcome.code == kExitOk ? nlohmann::json::parse(outcome.out)["results"][0].dump() : "";
  };
  const std::string expected = result({"mixed"});
  EXPECT_THAT(expected, HasSubstr("\"costs\":3"));
  EXPECT_EQ(result({"small", "usual"}), expected);
  EXPECT_NE(result({"usual", "usual", "usual"}), expected);

  folder.write("usual/collection.json", R"({"format": "neuroshard collection", "version": 1,
      "description": {"kind": "comm"}})");
  EXPECT_THAT(evaluate("compute", {}, {"--data", folder / "usual"}).err,
              HasSubstr("not for 'train compute'"));
}

TEST(Evaluate, SaysWhatDoesNotFit) {
  const auto error = [](const Outcome& outcome) {
    EXPECT_EQ(outcome.code, kExitBadInput);
    return outcome.err;
  };
  EXPECT_THAT(error(evaluate("comm", published_models("4"), {"--data", golden("cost/comm_8")})),
              HasSubstr("8 devices"));
  const TemporaryFolder folder;
  folder.write("data.txt", "1,2 0,0 1,1 1,1\n1,2 0,0 1,nan 1,1\n");
  EXPECT_THAT(error(evaluate("comm", published_models("2"), {"--data", folder / ""})),
              HasSubstr("data.txt:2"));
  EXPECT_THAT(error(run_command("evaluate", {"compute"})), HasSubstr("--data"));
}

}  // namespace
}  // namespace neuroshard::tools
