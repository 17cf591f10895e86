#include "tools/python/bindings/python_error.h"

namespace neuroshard::python {
namespace {

const char* name_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalidInput:
      return "invalid_input";
    case ErrorKind::kIo:
      return "io";
    case ErrorKind::kBackend:
      return "backend";
  }
  return "";
}

}  // namespace

nanobind::object python_error_of(const Error& error) {
  return nanobind::module_::import_("neuroshard.errors")
      .attr("Error")(error.what(), name_of(error.kind()));
}

}  // namespace neuroshard::python
