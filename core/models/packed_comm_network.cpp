#include "core/models/packed_comm_network.h"

#include <variant>

namespace neuroshard {
namespace {

const Mlp& mlp_of(const CommNetwork& network) {
  return std::visit([](const auto& n) -> const Mlp& { return n.network; }, network);
}

const Normalization& features_of(const CommNetwork& network) {
  return std::visit([](const auto& n) -> const Normalization& { return n.features; }, network);
}

}  // namespace

PackedCommNetwork::PackedCommNetwork(const CommNetwork& network,
                                     const std::optional<NodeColumns>& nodes, double most_offset_ms)
    : symmetric(std::holds_alternative<SymmetricCommNetwork>(network)),
      features(features_of(network)),
      mlp(mlp_of(network)),
      nodes(nodes),
      most_offset_ms(static_cast<float>(most_offset_ms)) {}

}  // namespace neuroshard
