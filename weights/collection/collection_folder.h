#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "neuroshard/task.h"

namespace neuroshard {

/// Description of what was measured, where and how: source, hardware, batch, seed, ... Two runs
/// with the same description draw the same samples.
using CollectionDescription = std::map<std::string, std::string>;

/// From the `collection.json` of `folder`; empty if it has none. Throws Error if that is malformed.
[[nodiscard]] CollectionDescription read_collection_description(
    const std::filesystem::path& folder);

/// Creates `folder` and throws Error as prepare_collection() would for samples of `description`,
/// but looks at no tables and writes nothing. True if it has samples of that description.
[[nodiscard]] bool has_collection(const std::filesystem::path& folder,
                                  const CollectionDescription& description);

/// Makes `folder` ready for samples: creates it, and writes `collection.json` with the description
/// and, unless `tables` is empty, `table_configs.json`. In a folder that has them already, a run is
/// resumed: throws Error naming the difference if they are not the same, or if there are samples
/// whose origin no collection.json tells. Throws Error (kIo) if something cannot be written.
void prepare_collection(const std::filesystem::path& folder,
                        const CollectionDescription& description, std::span<const Table> tables);

}  // namespace neuroshard
