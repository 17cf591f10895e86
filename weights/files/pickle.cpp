#include "weights/files/pickle.h"

#include <algorithm>

#include "neuroshard/error.h"
#include "weights/files/pickle_machine.h"

namespace neuroshard::pickle {
namespace {

bool is_key(const Pickle& pickle, Id id, std::string_view key) {
  const auto* text = pickle.get_if<std::string>(id);
  return text != nullptr && *text == key;
}

}  // namespace

Pickle parse(std::string_view bytes, const std::string& where) {
  return Machine(bytes, where).run();
}

bool contains(const Pickle& pickle, const Dict& dict, std::string_view key) {
  return std::any_of(dict.items.begin(), dict.items.end(),
                     [&](const auto& item) { return is_key(pickle, item.first, key); });
}

Id find(const Pickle& pickle, const Dict& dict, std::string_view key, const std::string& where) {
  const auto matches = [&](const auto& item) { return is_key(pickle, item.first, key); };
  const auto found = std::find_if(dict.items.begin(), dict.items.end(), matches);
  if (found == dict.items.end()) {
    throw Error(where + ": the entry '" + std::string(key) + "' is missing");
  }
  if (std::find_if(found + 1, dict.items.end(), matches) != dict.items.end()) {
    throw Error(where + ": the entry '" + std::string(key) + "' occurs twice");
  }
  return found->second;
}

}  // namespace neuroshard::pickle
