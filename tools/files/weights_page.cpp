#include "tools/files/weights_page.h"

#include <variant>

#include "tools/text/text.h"

namespace neuroshard::tools {
namespace {

std::uint64_t parameters(const Mlp& mlp) {
  std::uint64_t count = 0;
  for (const DenseLayer& layer : mlp.layers) count += layer.weight.size() + layer.bias.size();
  return count;
}

const Mlp& network_of(const CommNetwork& network) {
  return std::visit([](const auto& kind) -> const Mlp& { return kind.network; }, network);
}

void add_network(TextTable& table, const std::string& name, const Mlp& mlp) {
  table.add_row({"  " + name, layer_sizes(mlp), format_count(parameters(mlp)) + " parameters"});
}

}  // namespace

std::string layer_sizes(const Mlp& mlp) {
  std::string text = std::to_string(mlp.inputs());
  for (const DenseLayer& layer : mlp.layers) text += " -> " + std::to_string(layer.outputs);
  return text;
}

std::string weights_page(const CostModels& models, const std::string& name) {
  using enum TextTable::Align;
  std::string text = printable(name) + ": cost models\n\n";
  TextTable networks({kLeft, kLeft, kRight});
  add_network(networks, "compute, table network", models.compute.table_network);
  add_network(networks, "compute, head", models.compute.head);
  for (const auto& [devices, comm] : models.dense_comm) {
    const std::string label = counted(static_cast<std::uint64_t>(devices), "device") + ", ";
    add_network(networks, label + "forward", network_of(comm.forward));
    add_network(networks, label + "backward", network_of(comm.backward));
  }
  if (models.symmetric_comm) {
    const bool others = !models.dense_comm.empty();
    const std::string label = others ? "any other device count, " : "any device count, ";
    add_network(networks, label + "forward", network_of(models.symmetric_comm->forward));
    add_network(networks, label + "backward", network_of(models.symmetric_comm->backward));
  }
  text += "networks\n" + networks.str();
  text += "\nmetadata\n";
  if (models.metadata.empty()) text += "  none: the file does not say how these were trained\n";
  TextTable metadata({kLeft, kLeft});
  // Hundreds of entries state errors; they come last.
  for (const bool errors : {false, true}) {
    for (const auto& [key, value] : models.metadata) {
      if ((key.find(".test") != std::string::npos) != errors) continue;
      metadata.add_row({"  " + printable(key), printable(value)});
    }
  }
  return text + metadata.str();
}

std::string compute_checkpoint_page(const ComputeModel& model, const std::string& name) {
  TextTable networks({TextTable::Align::kLeft, TextTable::Align::kLeft, TextTable::Align::kRight});
  add_network(networks, "table network", model.table_network);
  add_network(networks, "head", model.head);
  return printable(name) + ": published compute checkpoint\n\nnetworks\n" + networks.str();
}

std::string comm_checkpoint_page(const CommCheckpoint& checkpoint, const std::string& name) {
  TextTable networks({TextTable::Align::kLeft, TextTable::Align::kLeft, TextTable::Align::kRight});
  const bool forward = checkpoint.direction == CommDirection::kForward;
  add_network(networks, forward ? "forward" : "backward", checkpoint.network.network);
  return printable(name) + ": published communication checkpoint for " +
         counted(static_cast<std::uint64_t>(checkpoint.devices), "device") + "\n\nnetworks\n" +
         networks.str();
}

}  // namespace neuroshard::tools
