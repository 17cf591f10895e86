#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "neuroshard/placement_policy.h"

#pragma GCC visibility push(default)
namespace neuroshard {

// These functions throw Error: kIo if a file cannot be read, kInvalidInput if its contents are not
// what they should be. Messages open with the file's name.

/// Reads the policy of a file: ours (safetensors, docs/learned_strategies.md), or one that the
/// published programs save by torch.save. DreamShard saves its state_dict; AutoShard a dict of
/// model_state_dict, feature_means and feature_stds.
[[nodiscard]] PlacementPolicy load_policy(const std::filesystem::path& path);
/// Reads it from memory; `where` stands for the file's name in messages.
[[nodiscard]] PlacementPolicy parse_policy(std::string_view bytes, const std::string& where);
/// These read files of ours alone: callers need no minizip.
[[nodiscard]] PlacementPolicy load_trained_policy(const std::filesystem::path& path);
[[nodiscard]] PlacementPolicy parse_trained_policy(std::string_view bytes,
                                                   const std::string& where);

/// Makes a file of ours. Equal policies give equal bytes.
[[nodiscard]] std::string serialize_policy(const PlacementPolicy& policy);

}  // namespace neuroshard
#pragma GCC visibility pop
