#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "neuroshard/task_models.h"
#include "neuroshard/training_ranges.h"
#include "neuroshard/weights.h"
#include "tools/run_command.h"

namespace neuroshard::tools {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Data folders of both kinds, and a weights file to build on.
class Train : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    shared_ = new TemporaryFolder;
    ASSERT_EQ(run_command({"collect", "compute", "--backend", "analytic", "--table-configs",
                           golden("tables/table_configs.json"), "--samples", "200", "--output",
                           *shared_ / "compute"})
                  .code,
              kExitOk);
    for (const char* devices : {"2", "5"}) {
      ASSERT_EQ(run_command({"collect", "comm", "--backend", "analytic", "--devices", devices,
                             "--samples", "60", "--output", *shared_ / "comm_" + devices})
                    .code,
                kExitOk);
    }
    CostModels base;
    base.compute = load_compute_checkpoint(golden("models/compute.pt"));
    save_weights(base, *shared_ / "base.safetensors");
  }
  static void TearDownTestSuite() {
    delete shared_;
    shared_ = nullptr;
  }

  static std::string shared(const std::string& name) { return *shared_ / name; }
  std::string output() const { return folder_ / "w.safetensors"; }

  Outcome train(const std::string& kind, const std::vector<std::string>& data,
                std::vector<std::string> more) {
    std::vector<std::string> args{"train", kind, "--output", output(), "--epochs", "3"};
    for (const std::string& name : data) args.insert(args.end(), {"--data", shared(name)});
    args.insert(args.end(), more.begin(), more.end());
    return run_command(args);
  }

  TemporaryFolder folder_;

 private:
  static inline TemporaryFolder* shared_ = nullptr;
};

TEST_F(Train, ComputeModelWithLogAndScatter) {
  const Outcome outcome = train("compute", {"compute"},
                                {"--table-layers", "24,8", "--head-layers", "16,12", "--log",
                                 folder_ / "log.csv", "--scatter", folder_ / "scatter.svg"});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("160 training samples, 3 epochs"), HasSubstr("Kendall tau")));
  EXPECT_EQ(folder_.names(), (std::set<std::string>{"log.csv", "scatter.svg", "w.safetensors"}));

  const CostModels models = load_weights(output());
  EXPECT_EQ(models.compute.table_network.outputs(), 8);
  EXPECT_EQ(models.compute.head.layers.size(), 3U);
  EXPECT_EQ(models.metadata.at("compute.source"), "analytic");
  EXPECT_EQ(models.metadata.at("hardware"), "a100-sxm-80gb");
  EXPECT_EQ(models.metadata.at("batch_size"), "65536");
  EXPECT_THAT(models.metadata.at("compute.training"), StartsWith("160 training samples, 3 epochs"));
  EXPECT_THAT(models.metadata.at("compute.test"), HasSubstr("(20 costs held back)"));
  for (const char* quantity : {"row", "dim", "pooling_factor", "slices"}) {
    EXPECT_THAT(models.metadata.at(TrainingRanges::key("compute", quantity)), HasSubstr(" to "));
  }
  EXPECT_NO_THROW(TrainingRanges{models});

  const auto log = lines_of(contents_of(folder_ / "log.csv"));
  ASSERT_EQ(log.size(), 4U);
  EXPECT_THAT(log[0], StartsWith("model,network,epoch,train_loss,valid_loss"));
  EXPECT_THAT(log[3], StartsWith("compute,compute,3,"));
  EXPECT_THAT(contents_of(folder_ / "scatter.svg"), StartsWith("<svg "));
}

TEST_F(Train, OneFileTakesTheModelsOneAfterTheOther) {
  const std::string base = shared("base.safetensors");
  Outcome outcome = train("comm", {"comm_2", "comm_5"}, {"--base", base, "--layers", "10"});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("comm.symmetric, backward"), HasSubstr("5 devices")));
  outcome = train("comm", {"comm_2", "comm_5"}, {"--base", output(), "--architecture", "dense"});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;

  const CostModels models = load_weights(output());
  EXPECT_TRUE(models.symmetric_comm);
  EXPECT_TRUE(models.dense_comm.contains(2));
  EXPECT_TRUE(models.dense_comm.contains(5));
  EXPECT_EQ(models.metadata.at("comm.symmetric.hardware"), "a100-nvlink3-hdr");
  EXPECT_TRUE(models.metadata.contains("comm.symmetric.forward.test.0005"));
  EXPECT_TRUE(models.metadata.contains("comm.5.backward.test.0005"));
  EXPECT_EQ(models.metadata.at("comm.symmetric.range.devices"), "2 to 5");
  EXPECT_EQ(models.metadata.at("comm.5.range.devices"), "5 to 5");
  EXPECT_THAT(models.metadata.at("comm.2.range.start_offset_ms"), StartsWith("0 to "));
  EXPECT_THAT(models.metadata.at("comm.2.range.dim_sum"), HasSubstr(" to "));
  // The compute model came through all this unchanged.
  CostModels untouched;
  untouched.compute = models.compute;
  EXPECT_EQ(serialize_weights(untouched), contents_of(base));
}

TEST_F(Train, CommunicationSaysWhatNetworkItKnows) {
  const std::vector<std::string> base{"--base", shared("base.safetensors"), "--layers", "10"};
  // The network has a datasheet.
  ASSERT_EQ(train("comm", {"comm_2"}, base).code, kExitOk);
  std::optional<NodeNetwork> network = known_network(load_weights(output()));
  ASSERT_TRUE(network);
  EXPECT_EQ(network->devices_per_node, 8);
  EXPECT_EQ(network->links.between_nodes_gb_s, 25.0);
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), base.begin(), base.end());
    return train("comm", {"comm_2"}, more);
  };
  // The user knows the network.
  ASSERT_EQ(
      with({"--devices-per-node", "4", "--in-node-gb-s", "12.5", "--between-nodes-gb-s", "0.125"})
          .code,
      kExitOk);
  network = known_network(load_weights(output()));
  ASSERT_TRUE(network);
  EXPECT_EQ(network->devices_per_node, 4);
  EXPECT_EQ(network->links.in_node_gb_s, 12.5);
  EXPECT_EQ(network->links.between_nodes_gb_s, 0.125);
  // Nobody knows the network.
  ASSERT_EQ(with({"--hardware", "tin cans"}).code, kExitOk);
  EXPECT_FALSE(known_network(load_weights(output())));
  // One number is no network.
  EXPECT_EQ(with({"--devices-per-node", "4"}).code, kExitBadInput);
  EXPECT_EQ(with({"--in-node-gb-s", "4"}).code, kExitBadInput);
}

TEST_F(Train, TheSameSeedGivesTheSameFileForEveryNumberOfThreads) {
  std::vector<std::string> files;
  for (const char* threads : {"1", "2", "5"}) {
    ASSERT_EQ(train("compute", {"compute"}, {"--seed", "4", "--threads", threads}).code, kExitOk);
    files.push_back(contents_of(output()));
  }
  EXPECT_EQ(files[1], files[0]);
  EXPECT_EQ(files[2], files[0]);
}

TEST_F(Train, ListsHardwareOfAllPartsOnce) {
  std::filesystem::copy(shared("compute"), folder_ / "copy");
  std::filesystem::remove(folder_ / "copy/collection.json");
  const Outcome outcome =
      run_command({"train", "compute", "--data", folder_ / "copy", "--output", output(), "--epochs",
                   "1", "--hardware", "slide rule, abacus, slide rule"});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_EQ(load_weights(output()).metadata.at("hardware"), "abacus, slide rule");
}

TEST_F(Train, SaysWhatTheDataAreIfTheFolderDoesNot) {
  std::filesystem::copy(shared("compute"), folder_ / "copy");
  std::filesystem::remove(folder_ / "copy/collection.json");
  const Outcome outcome =
      run_command({"train", "compute", "--data", folder_ / "copy", "--output", output(), "--epochs",
                   "1", "--source", "stopwatch", "--hardware", "abacus"});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  const CostModels models = load_weights(output());
  EXPECT_EQ(models.metadata.at("source"), "stopwatch");
  EXPECT_EQ(models.metadata.at("hardware"), "abacus");
  EXPECT_FALSE(models.metadata.contains("batch_size"));
}

TEST_F(Train, RefusesWhatDoesNotFit) {
  const std::string base = shared("base.safetensors");
  const auto message = [](const Outcome& outcome) {
    EXPECT_EQ(outcome.code, kExitBadInput);
    return outcome.err;
  };
  EXPECT_THAT(message(train("comm", {"comm_2"}, {})), HasSubstr("--base"));
  EXPECT_THAT(message(train("compute", {"comm_2"}, {})), HasSubstr("for 'train comm'"));
  EXPECT_THAT(message(train("comm", {"compute"}, {"--base", base})),
              HasSubstr("for 'train compute'"));
  EXPECT_THAT(message(train("comm", {"comm_2"}, {"--base", base, "--architecture", "round"})),
              HasSubstr("'round'"));
  EXPECT_THAT(message(train("comm", {"absent"}, {"--base", base})), HasSubstr("absent"));
  EXPECT_THAT(message(train("compute", {"compute"}, {"--learning-rate", "0"})),
              HasSubstr("learning rate"));
  EXPECT_THAT(message(run_command({"train", "compute", "--data", shared("compute"), "--output",
                                   folder_ / "no_folder/w"})),
              HasSubstr("no_folder/w"));
  EXPECT_TRUE(folder_.names().empty());
}

TEST_F(Train, PricesOfKinds) {
  std::string lines;
  for (int i = 0; i < 20; ++i) {
    const std::string dim = std::to_string(4 + 4 * (i % 7));
    lines += "row 8 65536 " + dim + " " + std::to_string(1 + i) + " 0.5\n";
    lines += "table_row 4 65536 " + dim + " " + std::to_string(1 + i) + " 0.25\n";
  }
  std::filesystem::create_directory(folder_ / "kinds");
  (void)folder_.write("kinds/data.txt", lines);
  const auto train_kinds = [&](std::vector<std::string> more) {
    std::vector<std::string> args{"train",           "kinds",    "--data",
                                  folder_ / "kinds", "--output", output()};
    args.insert(args.end(), more.begin(), more.end());
    return run_command(args);
  };
  EXPECT_THAT(train_kinds({}).err, HasSubstr("train one first and give its file as --base"));
  const Outcome outcome = train_kinds({"--base", shared("base.safetensors"), "--source", "there"});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  const CostModels models = load_weights(output());
  ASSERT_EQ(models.kind_prices.size(), 2U);
  EXPECT_NEAR(models.kind_prices.at(ShardingKind::kRow).ms[0], 0.5, 1e-5);
  EXPECT_NEAR(models.kind_prices.at(ShardingKind::kTableRow).ms[0], 0.25, 1e-5);
  EXPECT_EQ(models.metadata.at("kinds.source"), "there");
  EXPECT_THAT(models.metadata.at("kinds.row.test"), HasSubstr("(4 costs held back)"));
  EXPECT_EQ(models.metadata.at(TrainingRanges::key("kinds", "dim")), "4 to 28");
}

TEST_F(Train, CalibratesBuiltInWeightsAndKeepsTheirOtherModels) {
  const Outcome outcome = run_command({"train", "compute", "--from", "h100", "--data",
                                       shared("compute"), "--output", output(), "--epochs", "4"});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("200 training samples, 4 epochs"));
  const CostModels models = load_weights(output());
  EXPECT_TRUE(models.compute.any_batch());
  EXPECT_TRUE(models.all_reduce);
  ASSERT_TRUE(models.symmetric_comm);
  EXPECT_THAT(models.metadata.at("compute.calibrated_from"), HasSubstr("h100"));
  EXPECT_EQ(models.metadata.at("compute.hardware"), "a100-sxm-80gb");
  EXPECT_THAT(models.metadata.at("compute.training"),
              AllOf(HasSubstr("batch 16"), HasSubstr("relative")));
  EXPECT_THAT(models.metadata.at("compute.test"), HasSubstr("(200 costs held back)"));

  // A file may be what it started from.
  const Outcome again =
      run_command({"train", "comm", "--from", output(), "--data", shared("comm_2"), "--data",
                   shared("comm_5"), "--output", output(), "--epochs", "2"});
  ASSERT_EQ(again.code, kExitOk) << again.err;
  const CostModels both = load_weights(output());
  EXPECT_EQ(both.metadata.at("compute.training"), models.metadata.at("compute.training"));
  EXPECT_EQ(both.metadata.at("comm.symmetric.range.devices"), "2 to 5");
}

// The folder says how many samples its operators served; lines that say nothing are of so many.
TEST_F(Train, SamplesOfAnotherBatchAreCalibratedAsSuch) {
  const std::filesystem::path copy = folder_ / "copy";
  std::filesystem::copy(shared("compute"), copy);
  std::string description = contents_of(copy / "collection.json");
  const std::size_t at = description.find("65536");
  ASSERT_NE(at, std::string::npos);
  (void)folder_.write("copy/collection.json", description.replace(at, 5, "4096"));
  const std::vector<std::string> rest{"--data", copy.string(), "--output",
                                      output(), "--epochs",    "1"};
  std::vector<std::string> args{"train", "compute", "--from", "built-in"};
  args.insert(args.end(), rest.begin(), rest.end());
  ASSERT_EQ(run_command(args).code, kExitOk);
  EXPECT_EQ(load_weights(output()).metadata.at(TrainingRanges::key("compute", "samples")),
            "4096 to 4096");
}

TEST_F(Train, RefusesToCalibrateWhatDoesNotFit) {
  const auto message = [&](const std::string& kind, const std::string& data,
                           std::vector<std::string> more) {
    const Outcome outcome = train(kind, {data}, std::move(more));
    EXPECT_EQ(outcome.code, kExitBadInput);
    return outcome.err;
  };
  EXPECT_THAT(message("compute", "compute", {"--from", "b200"}),
              AllOf(HasSubstr("'b200'"), HasSubstr("a100, h100, h200")));
  EXPECT_THAT(message("compute", "compute", {"--from", "built-in", "--resume"}),
              HasSubstr("--resume"));
  EXPECT_THAT(message("compute", "compute", {"--from", "built-in", "--backend", "cuda"}),
              HasSubstr("--backend"));
  EXPECT_THAT(message("compute", "compute", {"--from", "built-in", "--features", "operator"}),
              HasSubstr("--features"));
  EXPECT_THAT(message("comm", "comm_2", {"--from", "built-in", "--architecture", "dense"}),
              HasSubstr("--architecture"));
  EXPECT_THAT(message("comm", "comm_2", {"--from", shared("base.safetensors")}),
              HasSubstr("no communication model for every device count"));
  EXPECT_FALSE(std::filesystem::exists(output()));
}

TEST_F(Train, RefusesToMixHardware) {
  ASSERT_EQ(run_command({"collect", "comm", "--backend", "analytic", "--devices", "2", "--samples",
                         "20", "--network", "h100-nvlink4-ndr", "--output", folder_ / "other"})
                .code,
            kExitOk);
  const Outcome outcome =
      run_command({"train", "comm", "--data", shared("comm_2"), "--data", folder_ / "other",
                   "--base", shared("base.safetensors"), "--output", output()});
  EXPECT_EQ(outcome.code, kExitBadInput);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("h100-nvlink4-ndr"), HasSubstr("a100-nvlink3-hdr")));
}

}  // namespace
}  // namespace neuroshard::tools
