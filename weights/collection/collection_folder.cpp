#include "weights/collection/collection_folder.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>

#include "neuroshard/error.h"
#include "neuroshard/table_configs.h"
#include "weights/files/atomic_file.h"
#include "weights/files/json_reader.h"
#include "weights/files/read_file.h"

namespace neuroshard {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDescriptionFile = "collection.json";
constexpr const char* kFormat = "neuroshard collection";
constexpr int kVersion = 1;

CollectionDescription read_description(const fs::path& path) {
  const JsonDocument document = read_json_file(path);
  const JsonObject file(document.root(), path.string());
  check_format(file, kFormat, kVersion);
  const JsonObject fields = file.object("description");
  CollectionDescription description;
  for (const std::string_view key : fields.names()) {
    description[std::string(key)] = fields.text(key);
  }
  return description;
}

std::string text_of(const CollectionDescription& description, const std::string& key) {
  const auto found = description.find(key);
  return found == description.end() ? "not given" : "'" + found->second + "'";
}

void require_same(const CollectionDescription& there, const CollectionDescription& here,
                  const std::string& where) {
  CollectionDescription keys = there;
  keys.insert(here.begin(), here.end());
  const auto other = std::find_if(keys.begin(), keys.end(), [&](const auto& entry) {
    return text_of(there, entry.first) != text_of(here, entry.first);
  });
  if (other == keys.end()) return;
  const std::string& key = other->first;
  throw Error(where + ": its samples were collected with " + key + " " + text_of(there, key) +
              ", this run has " + text_of(here, key) +
              "; resume with the same options or give another folder");
}

}  // namespace

CollectionDescription read_collection_description(const fs::path& folder) {
  const fs::path path = folder / kDescriptionFile;
  std::error_code ignored;
  return fs::exists(path, ignored) ? read_description(path) : CollectionDescription();
}

bool has_collection(const fs::path& folder, const CollectionDescription& description) {
  create_folder(folder);
  const fs::path samples = folder / "data.txt";
  std::error_code error;
  const bool has_samples = fs::exists(samples, error) && fs::file_size(samples, error) > 0;
  const fs::path description_path = folder / kDescriptionFile;
  if (fs::exists(description_path, error)) {
    require_same(read_description(description_path), description, description_path.string());
    return has_samples;
  }
  if (has_samples) {
    throw Error(samples.string() +
                ": has samples, but no collection.json says where they come from; give another "
                "folder");
  }
  return false;
}

void prepare_collection(const fs::path& folder, const CollectionDescription& description,
                        std::span<const Table> tables) {
  (void)has_collection(folder, description);
  const fs::path description_path = folder / kDescriptionFile;
  const fs::path tables_path = folder / "table_configs.json";
  const std::string configs = tables.empty() ? "" : serialize_table_configs(tables, true);
  std::error_code error;
  if (fs::exists(description_path, error)) {
    if (!tables.empty() && read_file(tables_path) != configs) {
      throw Error(tables_path.string() +
                  ": the samples beside it were collected with other tables; resume with the same "
                  "tables or give another folder");
    }
    return;
  }
  if (!tables.empty()) write_file(tables_path, configs);
  const nlohmann::ordered_json file = {
      {"format", kFormat}, {"version", kVersion}, {"description", description}};
  write_file(description_path, file.dump(2) + '\n');
}

}  // namespace neuroshard
