#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace neuroshard::pickle {

/// Index of a node. Nodes refer to each other by index: a hostile file may build cycles, which then
/// neither leak nor recurse.
using Id = std::uint32_t;

enum class ElementType { kFloat32, kFloat64, kInt32, kInt64 };

[[nodiscard]] constexpr std::int64_t element_bytes(ElementType type) {
  return type == ElementType::kFloat32 || type == ElementType::kInt32 ? 4 : 8;
}

/// The only globals that mean anything here; each stands for itself and is never called.
enum class Global {
  kOrderedDict,    ///< collections.OrderedDict
  kRebuildTensor,  ///< torch._utils._rebuild_tensor_v2
  kFloatStorage,   ///< torch.FloatStorage
  kDoubleStorage,  ///< torch.DoubleStorage
  kIntStorage,     ///< torch.IntStorage
  kLongStorage,    ///< torch.LongStorage
};

struct None {};
struct Tuple {
  std::vector<Id> items;
};
struct List {
  std::vector<Id> items;
};
/// A dict or an OrderedDict; keys in the order in which they were set, repeated ones included.
struct Dict {
  std::vector<std::pair<Id, Id>> items;
};
/// Numbers kept elsewhere, under `key`.
struct Storage {
  ElementType type = ElementType::kFloat32;
  std::string key;
  std::int64_t elements = 0;
};
/// A view of a storage; counts and strides in elements. Nothing is checked yet.
struct TensorView {
  Id storage = 0;
  std::int64_t offset = 0;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
};

using Node = std::variant<None, bool, std::int64_t, double, std::string, Tuple, List, Dict, Global,
                          Storage, TensorView>;

struct Pickle {
  std::vector<Node> nodes;
  Id root = 0;

  [[nodiscard]] const Node& operator[](Id id) const { return nodes[id]; }
  template <typename T>
  [[nodiscard]] const T* get_if(Id id) const {
    return std::get_if<T>(&nodes[id]);
  }
};

/// Largest pickle that is read; a checkpoint's has a few KB.
inline constexpr std::size_t kMaxPickleBytes = std::size_t{1} << 20;

/// Reads what `torch.save` writes (protocol 2 and later) for dicts of numbers, texts, lists and
/// tensors. Throws Error naming `where` and the byte on anything else. Executes nothing.
[[nodiscard]] Pickle parse(std::string_view bytes, const std::string& where);

/// The value of `key` in `dict`. Throws Error if the key is missing or set twice.
[[nodiscard]] Id find(const Pickle& pickle, const Dict& dict, std::string_view key,
                      const std::string& where);
[[nodiscard]] bool contains(const Pickle& pickle, const Dict& dict, std::string_view key);

}  // namespace neuroshard::pickle
