#include "tools/collecting/comm_draw_options.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tools/command_line/options.h"

namespace neuroshard::tools {

void add_comm_draw_options(CLI::App& command, CommDrawOptions& options, std::int64_t& batch) {
  const command_line::OptionGroup general(command);
  general.with_default("--batch", batch, "Samples of a batch, all devices together");
  general.with_default("--max-dim", options.max_dim,
                       "Largest table dim; the others are its halves");
  general.with_default("--min-tables-per-device", options.min_tables_per_device,
                       "A sample has at least this many tables per device");
  general.with_default("--max-tables-per-device", options.max_tables_per_device,
                       "A sample has fewer tables per device than this");
  general.with_default("--max-start-offset-ms", options.max_start_offset_ms,
                       "Start offsets are whole milliseconds below this");
  general.with_default("--start-offset-scale", options.start_offset_scale,
                       "Factor of the start offsets");
  general.flag("--wide", options.wide,
               "Placements of every kind instead: a few columns a device or thousands, equal or "
               "uneven, empty devices, offsets of microseconds or more");
  general.with_default("--max-dim-sum", options.max_dim_sum,
                       "With --wide: largest typical number of columns of a device");
}

CollectionDescription comm_description(std::int64_t batch, std::uint64_t seed,
                                       const CommDrawOptions& options) {
  CollectionDescription description = {
      {"kind", "comm"},
      {"devices", std::to_string(options.devices)},
      {"batch", std::to_string(batch)},
      {"seed", std::to_string(seed)},
      {"max_dim", std::to_string(options.max_dim)},
      {"min_tables_per_device", nlohmann::json(options.min_tables_per_device).dump()},
      {"max_tables_per_device", nlohmann::json(options.max_tables_per_device).dump()},
      {"max_start_offset_ms", std::to_string(options.max_start_offset_ms)},
      {"start_offset_scale", nlohmann::json(options.start_offset_scale).dump()}};
  if (options.wide) {
    description["draws"] = "wide";
    description["max_dim_sum"] = std::to_string(options.max_dim_sum);
  }
  return description;
}

}  // namespace neuroshard::tools
