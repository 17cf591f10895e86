#pragma once

#include <array>

#include "neuroshard/node_links.h"

namespace neuroshard {

/// A field of NodeLinks and its name in files and messages.
struct NodeLinkField {
  const char* name;
  double NodeLinks::*gb_s;
};

inline constexpr std::array kNodeLinkFields = {
    NodeLinkField{"in_node_gb_s", &NodeLinks::in_node_gb_s},
    NodeLinkField{"between_nodes_gb_s", &NodeLinks::between_nodes_gb_s},
    NodeLinkField{"node_gb_s", &NodeLinks::node_gb_s},
    NodeLinkField{"peer_gb_s", &NodeLinks::peer_gb_s},
    NodeLinkField{"host_gb_s", &NodeLinks::host_gb_s}};

/// Whether a datasheet need not state it: then it is no limit.
[[nodiscard]] constexpr bool may_be_left_out(const NodeLinkField& field) {
  return field.gb_s != &NodeLinks::in_node_gb_s && field.gb_s != &NodeLinks::between_nodes_gb_s;
}

}  // namespace neuroshard
