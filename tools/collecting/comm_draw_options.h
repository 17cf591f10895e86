#pragma once

#include <cstdint>
#include <string>

#include "weights/collection/collection_folder.h"
#include "weights/collection/sample_draws.h"

namespace CLI {
class App;
}

namespace neuroshard::tools {

/// How samples of `collect comm` are drawn, all but the number of devices.
void add_comm_draw_options(CLI::App& command, CommDrawOptions& options, std::int64_t& batch);

/// All but where costs come from.
[[nodiscard]] CollectionDescription comm_description(std::int64_t batch, std::uint64_t seed,
                                                     const CommDrawOptions& options);

}  // namespace neuroshard::tools
