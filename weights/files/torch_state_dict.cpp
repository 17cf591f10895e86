#include "weights/files/torch_state_dict.h"

#include "neuroshard/error.h"

namespace neuroshard {
namespace {

const pickle::Dict& dict_under(const TorchFile& file, const std::string& key) {
  const pickle::Pickle& pickle = file.pickle();
  const auto* dict =
      pickle.get_if<pickle::Dict>(pickle::find(pickle, file.root(), key, file.where()));
  if (dict == nullptr) throw Error(file.where() + ": " + key + ": is not a dict");
  return *dict;
}

}  // namespace

TensorMap read_state_dict(TorchFile& file, const std::string& key) {
  const pickle::Pickle& pickle = file.pickle();
  const std::string place = key.empty() ? "" : key + ": ";
  TensorMap tensors;
  for (const auto& [id, value] : (key.empty() ? file.root() : dict_under(file, key)).items) {
    const auto* name = pickle.get_if<std::string>(id);
    if (name == nullptr) throw Error(file.where() + ": " + place + "a name is not a text");
    if (tensors.contains(*name)) {
      throw Error(file.where() + ": " + place + "'" + *name + "' occurs twice");
    }
    tensors[*name] = file.tensor(value, place + "'" + *name + "'");
  }
  return tensors;
}

float read_number(const TorchFile& file, const std::string& key, const std::string& name) {
  const pickle::Pickle& pickle = file.pickle();
  const auto id = pickle::find(pickle, dict_under(file, key), name, file.where() + ": " + key);
  if (const auto* value = pickle.get_if<double>(id)) return static_cast<float>(*value);
  if (const auto* whole = pickle.get_if<std::int64_t>(id)) return static_cast<float>(*whole);
  throw Error(file.where() + ": " + key + ": " + name + ": is not a number");
}

}  // namespace neuroshard
