#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "neuroshard/cost_models.h"
#include "neuroshard/hardware.h"

#pragma GCC visibility push(default)
namespace neuroshard {

// Every function below throws Error: kIo if a file cannot be read or written, kInvalidInput if its
// contents are not what they should be. Messages open with the file's name. Nothing is executed,
// and no more memory is taken than the contents of the file account for.

/// Reads the models of a weights file (docs/weights_format.md): complete, finite, shapes that fit.
[[nodiscard]] CostModels load_weights(const std::filesystem::path& path);
/// Parses models from memory; `where` stands for the file's name in messages.
[[nodiscard]] CostModels parse_weights(std::string_view bytes, const std::string& where);

/// Writes a weights file, whole or not at all. Equal models give equal bytes.
void save_weights(const CostModels& models, const std::filesystem::path& path);
[[nodiscard]] std::string serialize_weights(const CostModels& models);

/// Models that are compiled into the library were trained on these: "a100", "h100" and "h200".
[[nodiscard]] std::span<const std::string_view> trained_hardware();
/// "a100, h100, h200", for messages.
[[nodiscard]] std::string trained_hardware_names();

/// Models for use without any file, by the name of one of known_hardware(): compiled in, or scaled
/// (below). Their metadata say what they were trained on. Made at the first call; threads may share
/// the result. Throws Error if the name is not known.
[[nodiscard]] const CostModels& builtin_weights(std::string_view hardware = kDefaultHardware);
/// Models of any hardware. If none were trained on it, they are those of the trained hardware that
/// is nearest, scaled by datasheets (docs/model_card.md). Scaling takes a second of one core,
/// always has the same result, and is kept for the next call. Their metadata's `source` says how
/// accurate they are; where that is poor there is a `warning`. Throws Error unless the hardware is
/// valid.
[[nodiscard]] CostModels builtin_weights(const Hardware& hardware);
/// The place where they were found, for origin_of() and messages.
[[nodiscard]] std::string builtin_place(std::string_view hardware = kDefaultHardware);

/// Reads checkpoints of the published training code: files of `torch.save` (PyTorch 1.6 or later).
[[nodiscard]] ComputeModel load_compute_checkpoint(const std::filesystem::path& path);
[[nodiscard]] ComputeModel parse_compute_checkpoint(std::string_view bytes,
                                                    const std::string& where);

enum class CommDirection { kForward, kBackward };

struct CommCheckpoint {
  int devices = 0;
  /// Told from the number of features: the forward network takes 2 a device, the backward one 1.
  CommDirection direction = CommDirection::kForward;
  DenseCommNetwork network;
};
[[nodiscard]] CommCheckpoint load_comm_checkpoint(const std::filesystem::path& path);
[[nodiscard]] CommCheckpoint parse_comm_checkpoint(std::string_view bytes,
                                                   const std::string& where);

/// Reads the published trio as models for one device count.
[[nodiscard]] CostModels load_checkpoints(const std::filesystem::path& compute,
                                          const std::filesystem::path& forward_comm,
                                          const std::filesystem::path& backward_comm);
/// Adds the communication model of one more device count, in place of the one there may be.
/// Throws Error (kInvalidInput) if the two files are not a forward and a backward network for the
/// same device count; `models` is then unchanged.
void add_comm_checkpoints(CostModels& models, const std::filesystem::path& forward_comm,
                          const std::filesystem::path& backward_comm);

}  // namespace neuroshard
#pragma GCC visibility pop
