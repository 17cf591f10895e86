#include "tools/collecting/comm_draw_options.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace neuroshard::tools {

void add_comm_draw_options(CLI::App& command, CommDrawOptions& options, std::int64_t& batch) {
  command.add_option("--batch", batch, "Samples of a batch, all devices together")
      ->capture_default_str();
  command.add_option("--max-dim", options.max_dim, "Largest table dim; the others are its halves")
      ->capture_default_str();
  command
      .add_option("--min-tables-per-device", options.min_tables_per_device,
                  "A sample has at least this many tables per device")
      ->capture_default_str();
  command
      .add_option("--max-tables-per-device", options.max_tables_per_device,
                  "A sample has fewer tables per device than this")
      ->capture_default_str();
  command
      .add_option("--max-start-offset-ms", options.max_start_offset_ms,
                  "Start offsets are whole milliseconds below this")
      ->capture_default_str();
  command
      .add_option("--start-offset-scale", options.start_offset_scale, "Factor of the start offsets")
      ->capture_default_str();
  command.add_flag(
      "--wide", options.wide,
      "Placements of every kind instead: a few columns a device or thousands, equal or "
      "uneven, empty devices, offsets of microseconds or more");
  command
      .add_option("--max-dim-sum", options.max_dim_sum,
                  "With --wide: largest typical number of columns of a device")
      ->capture_default_str();
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
