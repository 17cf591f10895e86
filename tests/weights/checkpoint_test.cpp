#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "neuroshard/error.h"
#include "neuroshard/weights.h"

namespace neuroshard {
namespace {

using ::testing::ElementsAre;

const std::filesystem::path kModels = std::filesystem::path(NEUROSHARD_TEST_DATA) / "golden/models";

std::vector<int> widths(const Mlp& mlp) {
  std::vector<int> sizes{mlp.inputs()};
  for (const DenseLayer& layer : mlp.layers) sizes.push_back(layer.outputs);
  return sizes;
}

TEST(Checkpoint, ReadsTheComputeModel) {
  const ComputeModel compute = load_compute_checkpoint(kModels / "compute.pt");
  EXPECT_THAT(widths(compute.table_network), ElementsAre(20, 128, 32));
  EXPECT_THAT(widths(compute.head), ElementsAre(32, 64, 1));
  EXPECT_EQ(compute.features.mean.size(), 20U);
}

TEST(Checkpoint, ReadsTheCommunicationModelsOfEveryDeviceCount) {
  for (const int devices : {2, 4, 8, 16}) {
    SCOPED_TRACE(devices);
    const std::string name = "comm_" + std::to_string(devices);
    const CommCheckpoint forward = load_comm_checkpoint(kModels / (name + "_fw.pt"));
    EXPECT_EQ(forward.devices, devices);
    EXPECT_EQ(forward.direction, CommDirection::kForward);
    EXPECT_THAT(widths(forward.network.network),
                ElementsAre(2 * devices, 128, 64, 32, 16, devices));
    const CommCheckpoint backward = load_comm_checkpoint(kModels / (name + "_bw.pt"));
    EXPECT_EQ(backward.devices, devices);
    EXPECT_EQ(backward.direction, CommDirection::kBackward);
    EXPECT_THAT(widths(backward.network.network), ElementsAre(devices, 128, 64, 32, 16, devices));
  }
}

}  // namespace
}  // namespace neuroshard
