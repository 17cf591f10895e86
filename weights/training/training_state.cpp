#include "weights/training/training_state.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/base/fingerprint.h"
#include "neuroshard/error.h"
#include "weights/files/safetensors.h"

namespace neuroshard::training {
namespace {

constexpr const char* kWhere = "training state";
constexpr const char* kFingerprint = "neuroshard.training_state";

[[noreturn]] void fail(const std::string& name, const std::string& what) {
  throw Error(std::string(kWhere) + ": " + name + ": " + what);
}

class StateWriter final : public StateVisitor {
 public:
  void floats(const std::string& name, std::span<float> values) override {
    contents_.tensors[name] = {{static_cast<std::int64_t>(values.size())},
                               {values.begin(), values.end()}};
  }

  // In hexadecimal: what is read is what was written, to the last bit.
  void numbers(const std::string& name, std::vector<double>& values) override {
    std::string& text = contents_.metadata[name];
    for (const double value : values) {
      char number[32];
      const auto end = std::to_chars(number, number + sizeof number, value, std::chars_format::hex);
      text.append(number, end.ptr).append(" ");
    }
  }

  std::string bytes(std::uint64_t fingerprint) {
    contents_.metadata[kFingerprint] = hex_digits(fingerprint);
    return serialize_safetensors(contents_);
  }

 private:
  Safetensors contents_;
};

class StateReader final : public StateVisitor {
 public:
  StateReader(const std::string& bytes, std::uint64_t fingerprint)
      : contents_(parse_safetensors(bytes, kWhere)) {
    const auto found = contents_.metadata.find(kFingerprint);
    if (found == contents_.metadata.end()) fail(kFingerprint, "is missing");
    if (found->second != hex_digits(fingerprint)) {
      throw Error(std::string(kWhere) +
                  ": was begun with other samples, options or another version of the program");
    }
  }

  void floats(const std::string& name, std::span<float> values) override {
    const auto found = contents_.tensors.find(name);
    if (found == contents_.tensors.end()) fail(name, "is missing");
    const std::vector<float>& stored = found->second.values;
    if (stored.size() != values.size()) {
      fail(name, "has " + std::to_string(stored.size()) + " values, not " +
                     std::to_string(values.size()));
    }
    std::copy(stored.begin(), stored.end(), values.begin());
  }

  void numbers(const std::string& name, std::vector<double>& values) override {
    const auto found = contents_.metadata.find(name);
    if (found == contents_.metadata.end()) fail(name, "is missing");
    values.clear();
    const char* at = found->second.data();
    const char* const end = at + found->second.size();
    while (at != end) {
      double value = 0.0;
      const auto [next, error] = std::from_chars(at, end, value, std::chars_format::hex);
      if (error != std::errc() || !std::isfinite(value) || next == end || *next != ' ') {
        fail(name, "is not a list of numbers");
      }
      values.push_back(value);
      at = next + 1;
    }
  }

 private:
  Safetensors contents_;
};

}  // namespace

void StateVisitor::count(const std::string& name, long& value) {
  std::vector<double> one{static_cast<double>(value)};
  numbers(name, one);
  constexpr double kMost = 1e15;
  if (one.size() != 1 || one[0] < 0.0 || one[0] > kMost || one[0] != std::floor(one[0])) {
    fail(name, "is not a count");
  }
  value = static_cast<long>(one[0]);
}

std::string write_state(std::uint64_t fingerprint, const VisitState& visit) {
  StateWriter writer;
  visit(writer);
  return writer.bytes(fingerprint);
}

void read_state(const std::string& bytes, const std::string& where, std::uint64_t fingerprint,
                const VisitState& visit) {
  try {
    StateReader reader(bytes, fingerprint);
    visit(reader);
  } catch (const Error& error) {
    throw Error(where + ": " + error.what() + "; remove it to begin anew");
  }
}

}  // namespace neuroshard::training
