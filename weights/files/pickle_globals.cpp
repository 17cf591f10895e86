#include <array>

#include "neuroshard/error.h"
#include "weights/files/pickle_machine.h"

namespace neuroshard::pickle {
namespace {

struct KnownGlobal {
  std::string_view module;
  std::string_view name;
  Global global;
};
constexpr std::array<KnownGlobal, 6> kKnownGlobals = {{
    {"collections", "OrderedDict", Global::kOrderedDict},
    {"torch._utils", "_rebuild_tensor_v2", Global::kRebuildTensor},
    {"torch", "FloatStorage", Global::kFloatStorage},
    {"torch", "DoubleStorage", Global::kDoubleStorage},
    {"torch", "IntStorage", Global::kIntStorage},
    {"torch", "LongStorage", Global::kLongStorage},
}};

std::string shortened(std::string_view text) { return std::string(text.substr(0, 60)); }

}  // namespace

void Machine::push_global_of_lines() {
  const std::string_view module = take_line();
  push_global(module, take_line());
}

void Machine::push_global_of_stack() {
  const Id name_id = pop();
  const Id module_id = pop();
  const auto* name = std::get_if<std::string>(&nodes_[name_id]);
  const auto* module = std::get_if<std::string>(&nodes_[module_id]);
  if (name == nullptr || module == nullptr) fail("a global's name is not a text");
  push_global(*module, *name);
}

void Machine::push_global(std::string_view module, std::string_view name) {
  for (const KnownGlobal& known : kKnownGlobals) {
    if (known.module == module && known.name == name) {
      push(known.global);
      return;
    }
  }
  fail("asks for '" + shortened(module) + "." + shortened(name) +
       "'; only tensors of floats or integers in dicts and tuples are read, and nothing is "
       "executed");
}

void Machine::push_storage() {
  const auto* id = std::get_if<Tuple>(&nodes_[pop()]);
  if (id == nullptr || id->items.size() != 5) fail("a storage is not described by five values");
  const auto* kind = std::get_if<std::string>(&nodes_[id->items[0]]);
  const auto* type = std::get_if<Global>(&nodes_[id->items[1]]);
  const auto* key = std::get_if<std::string>(&nodes_[id->items[2]]);
  if (kind == nullptr || *kind != "storage" || type == nullptr || key == nullptr) {
    fail("a storage's description is of the wrong types");
  }
  constexpr std::size_t kMaxKey = 64;  // Else many storages with one long key would take memory.
  if (key->size() > kMaxKey) fail("a storage's key is longer than 64 characters");
  Storage storage;
  switch (*type) {
    case Global::kFloatStorage:
      storage.type = ElementType::kFloat32;
      break;
    case Global::kDoubleStorage:
      storage.type = ElementType::kFloat64;
      break;
    case Global::kIntStorage:
      storage.type = ElementType::kInt32;
      break;
    case Global::kLongStorage:
      storage.type = ElementType::kInt64;
      break;
    default:
      fail("a storage's type is not one");
  }
  storage.key = *key;
  storage.elements = integer(id->items[4], "the size of a storage");
  push(std::move(storage));
}

void Machine::reduce() {
  const Id arguments_id = pop();
  const Id callee_id = pop();
  const auto* arguments = std::get_if<Tuple>(&nodes_[arguments_id]);
  const auto* callee = std::get_if<Global>(&nodes_[callee_id]);
  if (arguments == nullptr || callee == nullptr) fail("calls something that is not known");
  if (*callee == Global::kOrderedDict && arguments->items.empty()) {
    push(Dict{});
  } else if (*callee == Global::kRebuildTensor) {
    push(rebuild_tensor(arguments->items));
  } else {
    fail("calls something that is not a constructor of tensors or dicts");
  }
}

void Machine::build() {
  // The attributes of an OrderedDict, e.g. a state_dict's version numbers. Not needed.
  const Id state = pop();
  if (!std::holds_alternative<Dict>(nodes_[state]) ||
      !std::holds_alternative<Dict>(nodes_[top()])) {
    fail("sets the state of something that is not a dict");
  }
}

TensorView Machine::rebuild_tensor(const std::vector<Id>& arguments) const {
  // storage, offset, shape, strides, requires_grad, backward_hooks[, metadata]
  if (arguments.size() < 6 || arguments.size() > 7) fail("a tensor is not described by six values");
  if (!std::holds_alternative<Storage>(nodes_[arguments[0]])) fail("a tensor has no storage");
  return {arguments[0], integer(arguments[1], "the offset of a tensor"),
          integers(arguments[2], "the shape of a tensor"),
          integers(arguments[3], "the strides of a tensor")};
}

std::int64_t Machine::integer(Id id, const char* what) const {
  const auto* value = std::get_if<std::int64_t>(&nodes_[id]);
  if (value == nullptr || *value < 0) fail(std::string(what) + " is not a count");
  return *value;
}

std::vector<std::int64_t> Machine::integers(Id id, const char* what) const {
  constexpr std::size_t kMaxRank = 8;
  const auto* tuple = std::get_if<Tuple>(&nodes_[id]);
  if (tuple == nullptr || tuple->items.size() > kMaxRank) {
    fail(std::string(what) + " is not a tuple of at most 8 counts");
  }
  std::vector<std::int64_t> values;
  for (const Id item : tuple->items) values.push_back(integer(item, what));
  return values;
}

}  // namespace neuroshard::pickle
